//! Campaigns over HTTP: the same core as the command line's, with a page to watch it.
//!
//! | module | what it is |
//! |---|---|
//! | [`Server`] | a server that runs until it is told to stop |
//! | `app` | what all requests share, and the router |
//! | `routes` | the API, a file for each kind of thing |
//! | [`document()`] | the OpenAPI document of all routes |
//! | [`access`] | tokens, scopes, and the guard before every route |
//! | [`body`] | what a request brings, as rows and values |
//! | [`problem`] | the one function from an error to a status and a problem document |
//! | `around` | limits, headers, metrics and the log around every request |
//! | `campaigns` | the campaigns of the folder, opened once each |
//! | `listen` | connections, TLS, a graceful stop |
//! | `page` | the dashboard |
//!
//! A handler converts types and errors and calls `armwise_campaign`; it decides nothing. What is asynchronous ends here:
//! below, a writer thread for each campaign does the work.

#![forbid(unsafe_code)]

pub mod access;
mod app;
mod around;
pub mod body;
mod campaigns;
pub mod demo;
mod document;
mod listen;
mod meter;
mod name;
mod options;
mod page;
pub mod problem;
mod routes;
mod server;

pub use app::App;
pub use document::document;
pub use name::Name;
pub use options::{Limits, Options, TlsFiles};
#[doc(hidden)]
pub use routes::read_any;
pub use server::Server;
