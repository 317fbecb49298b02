//! The command `armwise`: parses, calls, prints.
//!
//! Results go to stdout, progress and errors to stderr. Bad input is one message and exit
//! code 2, and nothing has been written then.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "printing results is what a command is for")]

mod bars;
mod campaign;
mod reproduce;
mod simulate;
mod visible;

use std::process::ExitCode;

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

fn main() -> ExitCode {
    silence_guarded_panics();
    let outcome = match Arguments::parse().command {
        Command::Campaign(command) => return campaign::run(&command),
        Command::Reproduce(arguments) => reproduce::run(&arguments),
        Command::Simulate(arguments) => simulate::run(&arguments),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Arguments::command(), "armwise", &mut std::io::stdout());
            Ok(())
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", visible::visible(&error.to_string()));
            ExitCode::from(2)
        }
    }
}
