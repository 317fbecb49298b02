//! `armwise serve` and `armwise token`: the service, and who may use it.

use std::{
    io::Write,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use armwise_campaign::{
    live::Journalling,
    store::{is_database, postgres::Address},
};
use armwise_server::{
    Limits, Options, Server, TlsFiles,
    access::{Scope, Token, Tokens},
    problem::Fault,
};
use clap::{Args, Subcommand};

/// Where the data lie.
#[derive(Args)]
pub(crate) struct Data {
    /// The folder with the campaigns' files and the tokens.
    #[arg(long, value_name = "FOLDER", default_value = "armwise-data")]
    data: PathBuf,
    /// A PostgreSQL database instead, which any number of servers may share: postgres://user@host/database. A password
    /// is better given in the environment: ARMWISE_STORE is taken where this is not given.
    #[arg(long, value_name = "URL")]
    store: Option<String>,
}

impl Data {
    /// The database, if one is named.
    fn store(&self) -> Result<Option<Address>, Fault> {
        let named = self.store.clone().or_else(|| std::env::var("ARMWISE_STORE").ok()).filter(|url| !url.is_empty());
        let Some(url) = named else { return Ok(None) };
        if !is_database(Path::new(&url)) {
            return Err(Fault::invalid("the store is a database: postgres://user@host/database"));
        }
        if url.contains('#') {
            return Err(Fault::invalid("the store is a database with all of its campaigns; leave out what is after #"));
        }
        Ok(Some(Address::database(&url)?))
    }

    fn tokens(&self) -> Result<Tokens, Fault> {
        Ok(match self.store()? {
            Some(address) => Tokens::in_database(&address),
            None => Tokens::of(&self.data),
        })
    }
}

/// Arguments of `serve`.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    data: Data,
    /// Where to listen. Without tokens only this machine can be served.
    #[arg(long, value_name = "ADDRESS:PORT", default_value_t = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080))]
    listen: SocketAddr,
    /// The chain of certificates for TLS, PEM.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key, PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// The largest body, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 64)]
    max_body: usize,
    /// The most arms in a decision's body.
    #[arg(long, value_name = "ARMS", default_value_t = 100_000)]
    max_arms: usize,
    /// The most requests in flight; more are told to come again.
    #[arg(long, value_name = "REQUESTS", default_value_t = 1024)]
    max_requests: usize,
    /// How many seconds an answer may take.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    time_limit: u64,
    /// Write nothing down, so that a benchmark can tell what writing costs.
    #[arg(long, hide = true)]
    without_journal: bool,
    /// Say nothing of single requests.
    #[arg(long)]
    quiet: bool,
}

#[derive(Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token and show it, once.
    #[command(after_help = "Example: armwise token add shop --scope decide,reward --campaign spring")]
    Add {
        /// Its name, by which it is listed and revoked.
        name: String,
        /// What it may do: read, decide, reward, admin, separated by commas.
        #[arg(long, value_name = "SCOPES", value_delimiter = ',', required = true)]
        scope: Vec<Scope>,
        /// A campaign that it is for; all unless given.
        #[arg(long, value_name = "NAME")]
        campaign: Vec<String>,
        /// After how many days it ends; never unless given.
        #[arg(long, value_name = "DAYS")]
        days: Option<u64>,
        #[command(flatten)]
        data: Data,
    },
    /// List the tokens.
    List {
        #[command(flatten)]
        data: Data,
        /// Print JSON instead of text.
        #[arg(long)]
        json: bool,
    },
    /// Revoke a token; a running server knows within a second.
    Revoke {
        /// Its name.
        name: String,
        #[command(flatten)]
        data: Data,
    },
}

/// Serves until it is told to stop.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Fault> {
    let level = if arguments.quiet {
        tracing_subscriber::filter::LevelFilter::WARN
    } else {
        tracing_subscriber::filter::LevelFilter::INFO
    };
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_max_level(level)
        .with_target(false)
        // A log that cannot be written, on a disk that is full, is no reason to stop serving.
        .log_internal_errors(false)
        .init();
    let tls = arguments.tls_cert.clone().zip(arguments.tls_key.clone()).map(|(cert, key)| TlsFiles { cert, key });
    let scheme = if tls.is_some() { "https" } else { "http" };
    let limits = Limits {
        body: arguments.max_body << 20,
        arms: arguments.max_arms,
        requests: arguments.max_requests,
        time: Duration::from_secs(arguments.time_limit),
        ..Limits::default()
    };
    let mut options = Options { tls, limits, ..Options::new(arguments.data.data.clone(), arguments.listen) };
    options.store = arguments.data.store()?;
    let home = options.store.as_ref().map_or_else(|| options.data.clone(), |address| address.shown().to_owned());
    if arguments.without_journal {
        options.live.journal = Journalling::OffForBenchmarks;
    }
    let server = Server::start(options).map_err(|fault| match fault.kind() {
        Server::NO_TOKENS => Fault::invalid(format!(
            "{fault}; make one first (armwise token add NAME --scope decide,reward), or listen at 127.0.0.1"
        )),
        _ => fault,
    })?;
    print(&format!("armwise serves {} at {scheme}://{}\n", home.display(), server.address()));
    server.until_signal();
    Ok(())
}

/// Prints, and ignores that nobody listens any more.
fn print(text: &str) {
    let mut out = std::io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Makes, lists and revokes tokens.
pub(crate) fn token(command: &TokenCommand) -> Result<(), Fault> {
    match command {
        TokenCommand::Add { name, scope, campaign, days, data } => {
            let tokens = in_folder(data)?;
            let ends = |days: &u64| SystemTime::now() + Duration::from_secs(days.saturating_mul(86_400).min(1 << 40));
            let seconds = |at: SystemTime| at.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
            let campaigns = (!campaign.is_empty()).then_some(campaign.as_slice());
            let (token, secret) = Token::new(name, scope, campaigns, days.as_ref().map(ends).map(seconds))?;
            tokens.add(token)?;
            eprintln!("the token {name}, which is shown this once:");
            print(&format!("{secret}\n"));
        }
        TokenCommand::List { data, json } => {
            let tokens = data.tokens()?.all()?.unwrap_or_default();
            if *json {
                let all: Vec<_> = tokens.iter().map(Token::shown).collect();
                print(&(serde_json::to_string(&all).unwrap_or_default() + "\n"));
            } else {
                tokens.iter().for_each(|token| print(&line(token)));
            }
        }
        TokenCommand::Revoke { name, data } => data.tokens()?.revoke(name)?,
    }
    Ok(())
}

/// The tokens of a database, or of a folder, which is made if it is not there.
fn in_folder(data: &Data) -> Result<Tokens, Fault> {
    let folder = &data.data;
    if data.store()?.is_none() {
        std::fs::create_dir_all(folder).map_err(|error| Fault::invalid(format!("{}: {error}", folder.display())))?;
    }
    data.tokens()
}

fn line(token: &Token) -> String {
    let scopes: Vec<&str> = token.scopes.iter().map(|scope| scope.name()).collect();
    let campaigns = token.campaigns.as_ref().map_or("all campaigns".to_owned(), |own| own.join(", "));
    let ends = match token.expires {
        _ if token.is_expired() => ", expired".to_owned(),
        Some(expires) => format!(", until {expires} (seconds since 1970)"),
        None => String::new(),
    };
    format!("{}: {} of {campaigns}{ends}\n", token.name, scopes.join(", "))
}
