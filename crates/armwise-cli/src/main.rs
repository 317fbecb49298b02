//! The binary `armwise`; everything is in the library.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(armwise_cli::run(std::env::args_os()))
}
