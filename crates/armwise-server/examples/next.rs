//! A server over PostgreSQL of the next version of the tables, to show what replicas of two versions do side by side. Nothing
//! that is installed can do this.
//!
//! `next STORE DATA LISTEN beside|alone`: whether programs of this version may use the tables that it makes.

use armwise_campaign::store::postgres::{Address, be_the_next_version};
use armwise_server::{Options, Server};
use std::io::Write;

/// What a later version might need: another table, and another column in one of the old ones.
const STEP: &str = "
CREATE TABLE armwise.next (campaign integer PRIMARY KEY, more text NOT NULL);
ALTER TABLE armwise.entry ADD COLUMN next text;
";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [store, data, listen, how] = &arguments[..] else { return Err("next STORE DATA LISTEN beside|alone".into()) };
    be_the_next_version(STEP, how == "beside");
    let options = Options { store: Some(Address::database(store)?), ..Options::new(data.into(), listen.parse()?) };
    let server = Server::start(options).map_err(|fault| fault.to_string())?;
    writeln!(std::io::stdout(), "armwise of the next version serves at http://{}", server.address())?;
    server.until_signal();
    Ok(())
}
