//! The command `armwise`: parses, calls, prints.
//!
//! Results go to stdout, progress and errors to stderr. Bad input is one message and exit
//! code 2, and nothing has been written then. Two programs are this command: the binary of this crate and the one that the
//! Python package installs. Both are [`run`] and nothing else, so that neither knows what the other does not.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "printing results is what a command is for")]

mod bars;
mod campaign;
mod reproduce;
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
        Command::Reproduce(arguments) => reproduce::run(&arguments),
        Command::Simulate(arguments) => simulate::run(&arguments),
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
