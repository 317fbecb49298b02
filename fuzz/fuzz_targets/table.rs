//! Any bytes as a table: an error or rows, never a panic or a hang.
//!
//! The first byte picks the format, the others are the file, so one corpus serves all three.
//! Everything that commands do with a table before they compute is done: columns, values of every type, the guess of
//! the features and the fit of the recipe.

#![no_main]

use armwise_campaign::{
    Error, Source, complete,
    config::Config,
    recipe::fit,
    table::{Format, Table, is_guarded},
};
use libfuzzer_sys::fuzz_target;
use std::{path::Path, sync::Once};

/// libFuzzer ends the process at any panic. Those of the readers are caught and become errors, so they must not count.
fn let_guarded_panics_pass() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !is_guarded() {
                before(panic);
            }
        }));
    });
}

fn read(bytes: &[u8], format: Format) -> Result<(), Error> {
    let path = std::env::temp_dir().join(format!("armwise-fuzz-table-{}", std::process::id()));
    std::fs::write(&path, bytes).expect("the temporary folder can be written");
    let table = Table::open(&path, Some(format))?;
    let columns = table.columns()?;
    for rows in table.batches(None)? {
        let rows = rows?;
        for (name, _) in &columns {
            let _ = (rows.numbers(name), rows.any_texts(name), rows.flags(name), rows.vectors(name, 2));
        }
    }
    let Some((customer, _)) = columns.first() else { return Ok(()) };
    let rules = format!("customer = {customer:?}\n[[promotion]]\nname = \"mail\"\nquota = 1\n");
    let Ok(mut config) = Config::parse(&rules, Path::new("rules")) else { return Ok(()) };
    complete(&mut config, &table)?;
    let recipe = fit(&config, &table)?;
    for rows in table.batches(None)? {
        let rows = rows?;
        let (features, _) = recipe.apply(&rows)?;
        assert_eq!(features.len(), rows.len() * recipe.dim());
        assert!(features.iter().all(|x| x.is_finite()), "a feature is not finite");
    }
    Ok(())
}

fuzz_target!(|bytes: &[u8]| {
    let_guarded_panics_pass();
    let Some((&first, rest)) = bytes.split_first() else { return };
    let format = [Format::Csv, Format::Parquet, Format::Arrow][usize::from(first) % 3];
    let _ = read(rest, format);
});
