//! The service as its users meet it: a server in a folder of its own, spoken to over a socket.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod auth;
mod board;
mod bodies;
mod common;
mod document;
mod errors;
mod examined;
mod limits;
mod once;
mod pages;
mod parity;
mod walk;
