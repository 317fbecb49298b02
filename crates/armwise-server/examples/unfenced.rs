//! A server over PostgreSQL without the fence, to show that the checker of histories finds what then goes wrong. Nothing that
//! is installed can do this.
//!
//! `unfenced STORE DATA LISTEN`

use armwise_campaign::store::postgres::{Address, take_the_fence_away};
use armwise_server::{Options, Server};
use std::io::Write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [store, data, listen] = &arguments[..] else { return Err("unfenced STORE DATA LISTEN".into()) };
    take_the_fence_away();
    let options = Options { store: Some(Address::database(store)?), ..Options::new(data.into(), listen.parse()?) };
    let server = Server::start(options).map_err(|fault| fault.to_string())?;
    writeln!(std::io::stdout(), "armwise serves WITHOUT ITS FENCE at http://{}", server.address())?;
    server.until_signal();
    Ok(())
}
