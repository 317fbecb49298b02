//! Who may do what: tokens with scopes, and the guard before every route.
//!
//! What a route needs is said once, in its description for the OpenAPI document (`security`), and the guard reads it there;
//! a route that the document does not have is refused, whoever asks.

mod database;
mod file;
mod guard;
mod rights;
mod scope;
mod token;

pub use file::Tokens;
pub use guard::Caller;
pub(crate) use guard::{Follower, PAGE_COOKIE, cookie, guard, is_from_elsewhere};
pub use rights::{ALL_CAMPAIGNS, Need, Rights, SCHEME};
pub use scope::Scope;
pub use token::Token;
pub(crate) use token::now;
