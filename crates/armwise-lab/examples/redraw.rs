//! Draws a report again from a stored `results.json`: `redraw results.json OUT`.
//!
//! Nothing is computed again, so this is the way to see a change of the report on real results.

use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(json), Some(out)) = (args.next(), args.next()) else {
        return Err("usage: redraw results.json OUT".into());
    };
    let results = serde_json::from_slice(&std::fs::read(json)?)?;
    armwise_lab::report::write(&results, &out)?;
    Ok(())
}
