//! `armwise demo`: a server with a made-up shop, and its page in the browser.

use std::{
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use armwise_server::{
    demo::{Demo, DemoOptions},
    problem::Fault,
};
use clap::Args;

#[derive(Args)]
pub(crate) struct Arguments {
    /// The folder of the demo's campaigns; left out, a temporary one that goes with the demo.
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// The port to listen at on this machine; left out, a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Visits a second, at most 100.
    #[arg(long, default_value_t = 8.0)]
    rate: f64,
    /// What the made-up shop and its visitors are drawn from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Do not open the page in the browser.
    #[arg(long)]
    no_open: bool,
    /// Stop after so many seconds; left out, when interrupted.
    #[arg(long = "for", value_name = "SECONDS")]
    seconds: Option<u64>,
}

/// Runs the demo.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Fault> {
    let temporary = if arguments.data.is_some() {
        None
    } else {
        let made = tempfile::Builder::new().prefix("armwise-demo-").tempdir();
        Some(made.map_err(|error| Fault::invalid(format!("a temporary folder: {error}")))?)
    };
    let data = arguments.data.clone().or(temporary.as_ref().map(|folder| folder.path().to_owned()));
    let options = DemoOptions {
        data: data.unwrap_or_default(),
        seed: arguments.seed,
        rate: arguments.rate,
        port: arguments.port,
    };
    let demo = Demo::start(&options)?;
    let address = format!("http://{}/", demo.address());
    let mut out = std::io::stdout();
    // That nobody listens any more is no reason to stop.
    let _ = writeln!(out, "A made-up shop decides and learns at {address}").and_then(|()| out.flush());
    if !arguments.no_open {
        open(&address);
    }
    eprintln!("Interrupt with Ctrl-C. The campaigns are in {}.", options.data.display());
    demo.stop_after(arguments.seconds.map(Duration::from_secs))
}

/// Opens a page with whatever opens pages here; where nothing does, the address was printed.
fn open(address: &str) {
    let programs: &[&str] = if cfg!(target_os = "macos") { &["open"] } else { &["xdg-open", "gio"] };
    for program in programs {
        let mut command = Command::new(program);
        if *program == "gio" {
            command.arg("open");
        }
        let opened = command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        if opened.is_ok() {
            return;
        }
    }
}
