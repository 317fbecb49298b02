//! What a server keeps in the database beside journals: the names of its campaigns are there, and its tokens.
//!
//! Tokens are texts that the server makes and reads; there is nothing secret in them but a hash.

use super::{Address, link::Link, schema};
use crate::Error;
use std::{cell::RefCell, time::Duration};
use tokio_postgres::types::Type;

thread_local! {
    /// The connection of a thread that asks every second.
    static KEPT: RefCell<Option<(std::path::PathBuf, Link)>> = const { RefCell::new(None) };
}

/// Does something with a connection of this thread, which is made anew once if it is lost.
fn with<T>(address: &Address, act: impl Fn(&Link) -> Result<T, Error>) -> Result<T, Error> {
    let path = address.path();
    for last in [false, true] {
        let kept = KEPT.with_borrow_mut(Option::take).filter(|(own, link)| *own == path && !link.is_closed());
        let link = if let Some((_, link)) = kept {
            link
        } else {
            let link = Link::new(address).map_err(|trouble| trouble.error(address.shown()))?;
            schema::prepare(&link, address.shown())?;
            link
        };
        match act(&link) {
            Err(Error::Unavailable { .. }) if !last => std::thread::sleep(Duration::from_millis(50)),
            done => {
                if done.is_ok() {
                    KEPT.with_borrow_mut(|kept| *kept = Some((path, link)));
                }
                return done;
            }
        }
    }
    Err(Error::Unavailable { path: address.shown().to_owned(), problem: "the connection was lost".to_owned() })
}

/// The names of all campaigns of a database, which gets its tables if it has none.
///
/// # Errors
/// [`Error::Unavailable`], [`Error::NewerSchema`].
pub fn names(address: &Address) -> Result<Vec<String>, Error> {
    with(address, |link| {
        let rows = link.ask("SELECT name FROM armwise.campaign ORDER BY name", &[]);
        Ok(rows.map_err(|trouble| trouble.error(address.shown()))?.iter().map(|row| row.get(0)).collect())
    })
}

/// All tokens, each with its name.
///
/// # Errors
/// As [`names`].
pub fn tokens(address: &Address) -> Result<Vec<(String, String)>, Error> {
    with(address, |link| {
        let rows = link.ask("SELECT name, body FROM armwise.token ORDER BY name", &[]);
        let rows = rows.map_err(|trouble| trouble.error(address.shown()))?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    })
}

/// Adds a token, or takes one away where there is no text; says whether there was room for it, or whether it was there.
///
/// # Errors
/// As [`names`].
pub fn put_token(address: &Address, name: &str, body: Option<&str>) -> Result<bool, Error> {
    with(address, |link| {
        let changed = match body {
            Some(body) => link.ask(
                "INSERT INTO armwise.token VALUES ($1, $2) ON CONFLICT (name) DO NOTHING RETURNING name",
                &[(&name, Type::TEXT), (&body, Type::TEXT)],
            ),
            None => link.ask("DELETE FROM armwise.token WHERE name = $1 RETURNING name", &[(&name, Type::TEXT)]),
        };
        Ok(!changed.map_err(|trouble| trouble.error(address.shown()))?.is_empty())
    })
}
