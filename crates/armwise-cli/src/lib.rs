//! The command `armwise`: parses, calls, prints.
//!
//! Results go to stdout, progress and errors to stderr. Bad input is one message and exit
//! code 2, and nothing has been written then. Two programs are this command: the binary of this crate and the one that the
//! Python package installs. Both are [`run`] and nothing else, so that neither knows what the other does not.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "printing results is what a command is for")]

mod bars;
mod campaign;
#[cfg(feature = "serve")]
mod demo;
mod reproduce;
#[cfg(feature = "serve")]
mod serve;
mod simulate;
mod visible;

use std::{ffi::OsString, io::Write};

use armwise_campaign::table::is_guarded;
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

/// Combinatorial linear semi-bandits: campaigns on real tables, the paper's evaluation, and your own studies.
#[derive(Parser)]
#[command(name = "armwise", version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    #[command(flatten)]
    Campaign(campaign::Command),
    /// Start a server with a made-up shop that keeps deciding and learning, and open its page.
    ///
    /// The shop is a client of the server's own API; its campaigns, `shop` and `letters`, are files like any other.
    #[cfg(feature = "serve")]
    #[command(after_help = "Example: armwise demo --port 8080 --data demo")]
    Demo(demo::Arguments),
    /// Regenerate the paper's evaluation: figures, Table I, and a verdict per claim.
    ///
    /// Interrupting is safe: finished trials are kept in the folder .unfinished of the report's folder and the same
    /// command goes on from them. The report is written when everything is there.
    Reproduce(reproduce::Arguments),
    /// Run your own study, described in TOML.
    ///
    /// Interrupting is safe: finished trials are kept in a hidden folder beside the study (.experiment.toml.unfinished
    /// for experiment.toml) and the same command goes on from them; the folder goes when the study is finished. Where
    /// a list of values makes a grid, the paired differences take the setting that was best on the same trials, which
    /// flatters larger grids.
    Simulate(simulate::Arguments),
    /// Serve campaigns over HTTP: decisions, rewards, a page to watch them.
    ///
    /// A campaign is a file of the folder, as `armwise init` makes it, and can be read with `armwise status`, `why`,
    /// `report` and `verify` meanwhile. An answer of 2xx means: on the disk, once. Ctrl-C stops after what was accepted
    /// is finished.
    #[cfg(feature = "serve")]
    #[command(after_help = "Example: armwise serve --data armwise-data --listen 127.0.0.1:8080")]
    Serve(serve::Arguments),
    /// Make, list and revoke tokens for `armwise serve`.
    #[cfg(feature = "serve")]
    #[command(subcommand)]
    Token(serve::TokenCommand),
    /// Print completions for a shell.
    #[command(after_help = "Example: armwise completions bash > ~/.local/share/bash-completion/completions/armwise")]
    Completions {
        /// The shell.
        shell: Shell,
    },
}

/// Keeps the panics of table readers from the terminal: the library catches them and says which table is damaged.
fn silence_guarded_panics() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !is_guarded() {
            before(panic);
        }
    }));
}

/// Runs the command with these arguments, the first of which is the program's name, and gives its exit code. It is meant
/// for a process of its own: it sets the panic hook, and Ctrl-C is left to the process.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    silence_guarded_panics();
    let code = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => obey(arguments.command),
        // Help and the version come as errors, too; a closed pipe is not a failure.
        Err(error) => {
            let _ = error.print();
            u8::try_from(error.exit_code()).unwrap_or(2)
        }
    };
    // Where `main` is not Rust's, nobody else does.
    let _ = std::io::stdout().flush();
    code
}

fn obey(command: Command) -> u8 {
    let outcome = match command {
        Command::Campaign(command) => return campaign::run(&command),
        #[cfg(feature = "serve")]
        Command::Demo(arguments) => return served(demo::run(&arguments)),
        Command::Reproduce(arguments) => reproduce::run(&arguments),
        Command::Simulate(arguments) => simulate::run(&arguments),
        #[cfg(feature = "serve")]
        Command::Serve(arguments) => return served(serve::run(&arguments)),
        #[cfg(feature = "serve")]
        Command::Token(command) => return served(serve::token(&command)),
        Command::Completions { shell } => {
            // Not to stdout itself: on a pipe that nobody reads any more, the generator would panic.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "armwise", &mut script);
            let _ = std::io::stdout().write_all(&script);
            Ok(())
        }
    };
    match outcome {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("error: {}", visible::visible(&error.to_string()));
            2
        }
    }
}

/// The exit code of what the service said.
#[cfg(feature = "serve")]
fn served(outcome: Result<(), armwise_server::problem::Fault>) -> u8 {
    let Err(fault) = outcome else { return 0 };
    eprintln!("error: {}", visible::visible(&fault.to_string()));
    match fault.status().as_u16() {
        404 => 4,
        409 => 5,
        500.. => 6,
        _ => 2,
    }
}
