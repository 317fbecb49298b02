//! `postgres://user:password@host:port/database?sslmode=…#campaign`: which database, how it is reached, which campaign.

use super::tls::Security;
use crate::Error;
use std::{
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
    time::Duration,
};
use tokio_postgres::config::{Config, Host, SslMode};

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(3);

/// A campaign in a database, or a database.
#[derive(Debug, Clone)]
pub struct Address {
    pub(super) config: Arc<Config>,
    pub(super) security: Security,
    /// As it was given, without the campaign.
    url: String,
    campaign: String,
    /// For messages: no user, no password.
    shown: PathBuf,
}

impl Address {
    /// Reads an address with the name of a campaign after `#`.
    ///
    /// # Errors
    /// [`Error::Usage`] for what is no address. No message repeats a password.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let address = Self::database(text)?;
        if address.campaign.is_empty() {
            let problem = format!("{}: which campaign? Write its name after #", address.shown.display());
            return Err(Error::Usage(problem));
        }
        Ok(address)
    }

    /// Reads the address of a database.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn database(text: &str) -> Result<Self, Error> {
        let (url, campaign) = text.split_once('#').unwrap_or((text, ""));
        if campaign.chars().any(char::is_control) {
            return Err(Error::Usage("the name of a campaign has no control characters".to_owned()));
        }
        // What tokio-postgres does not know of, or knows less of, is taken out first.
        let (before, query) = url.split_once('?').unwrap_or((url, ""));
        let (mut mode, mut root, mut rest) = (None, None, Vec::new());
        for part in query.split('&').filter(|part| !part.is_empty()) {
            match part.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value),
                Some(("sslrootcert", value)) => root = Some(PathBuf::from(unescaped(value))),
                _ => rest.push(part),
            }
        }
        let plain = if rest.is_empty() { before.to_owned() } else { format!("{before}?{}", rest.join("&")) };
        let bad = |problem: &dyn std::fmt::Display| Error::Usage(format!("the address of the database: {problem}"));
        let mut config = Config::from_str(&plain).map_err(|error| bad(&error))?;
        let security = Security::new(mode, root.as_deref(), is_local(&config)).map_err(|problem| bad(&problem))?;
        config.ssl_mode(if security.is_plain() { SslMode::Disable } else { SslMode::Require });
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        config.keepalives_idle(Duration::from_secs(10)).keepalives_interval(Duration::from_secs(5));
        config.keepalives_retries(2).tcp_user_timeout(Duration::from_secs(15));
        let host = match config.get_hosts().first() {
            Some(Host::Tcp(host)) => host.clone(),
            #[cfg(unix)]
            Some(Host::Unix(path)) => path.display().to_string(),
            _ => return Err(bad(&"it names no host")),
        };
        let port = config.get_ports().first().map_or(String::new(), |port| format!(":{port}"));
        let database = config.get_dbname().unwrap_or("");
        let own = if campaign.is_empty() { String::new() } else { format!("#{campaign}") };
        let shown = PathBuf::from(format!("postgres://{host}{port}/{database}{own}"));
        Ok(Self { config: Arc::new(config), security, url: url.to_owned(), campaign: campaign.to_owned(), shown })
    }

    /// The same database with another campaign.
    #[must_use]
    pub fn with(&self, campaign: &str) -> Self {
        let database = self.shown.to_str().unwrap_or_default().split('#').next().unwrap_or_default();
        let shown = PathBuf::from(format!("{database}#{campaign}"));
        Self { campaign: campaign.to_owned(), shown, ..self.clone() }
    }

    /// The campaign's name; empty for a database.
    #[must_use]
    pub fn campaign(&self) -> &str {
        &self.campaign
    }

    /// For messages.
    #[must_use]
    pub fn shown(&self) -> &Path {
        &self.shown
    }

    /// As a path that [`Place::of`](crate::store::Place::of) reads; it may hold a password.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("{}#{}", self.url, self.campaign))
    }
}

/// Whether nothing leaves this machine.
fn is_local(config: &Config) -> bool {
    config.get_hosts().iter().all(|host| match host {
        Host::Tcp(host) => host == "localhost" || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback()),
        #[cfg(unix)]
        Host::Unix(_) => true,
    })
}

/// A text without its percent signs.
fn unescaped(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.filter(|_| first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(first));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_database_and_a_campaign_and_shows_no_password() {
        let address = Address::parse("postgres://ann:s3cret@127.0.0.1:5433/shop?sslmode=disable#spring").unwrap();
        assert_eq!(
            (address.campaign(), address.shown()),
            ("spring", Path::new("postgres://127.0.0.1:5433/shop#spring"))
        );
        assert_eq!(address.path(), Path::new("postgres://ann:s3cret@127.0.0.1:5433/shop?sslmode=disable#spring"));
        assert_eq!(address.with("fall").path().to_str().unwrap().split('#').nth(1), Some("fall"));
        assert!(!format!("{}", address.shown().display()).contains("s3cret"));
    }

    #[test]
    fn what_is_no_address_is_refused_without_its_password() {
        for bad in [
            "postgres://ann:s3cret@h/shop",
            "postgres://ann:s3cret@h:x/shop#c",
            "postgres://ann:s3cret@h/shop?sslmode=maybe#c",
            "postgres://ann:s3cret@h/shop?what=1#c",
        ] {
            let error = Address::parse(bad).unwrap_err().to_string();
            assert!(!error.contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn another_machine_is_reached_by_tls_unless_told_otherwise() {
        let plain = |text: &str| Address::parse(text).unwrap().security.is_plain();
        assert!(plain("postgres://localhost/a#c") && plain("postgres://[::1]/a#c"));
        assert!(plain("postgres://db.example/a?sslmode=disable#c"));
        assert!(!plain("postgres://db.example/a?sslmode=require#c"));
    }
}
