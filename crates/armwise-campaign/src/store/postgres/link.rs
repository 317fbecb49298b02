//! A connection to the database, with a bound on how long anything may take.
//!
//! A connection has a small runtime of its own, which runs only while somebody waits for an answer: nothing async is seen
//! from outside. Statements are unnamed and nothing is set for a session, so a pooler may give every transaction to another
//! server process (PgBouncer's transaction mode).

use super::{
    address::Address,
    tls::{Maker, Security},
};
use crate::Error;
use futures_util::future::{join, join_all};
use std::{future::Future, io, path::Path, time::Duration};
use tokio::{runtime::Runtime, time::timeout};
use tokio_postgres::{
    Client, NoTls, Row,
    error::SqlState,
    types::{ToSql, Type},
};

/// How long a statement may take. Large rounds are written and read in parts, so none is long.
const STATEMENT: Duration = Duration::from_secs(8);
/// How long a statement may take that looks at all rows.
const SLOW: Duration = Duration::from_mins(10);

/// A value with its type.
pub(super) type Value<'a> = (&'a (dyn ToSql + Sync), Type);

/// A statement with its values.
pub(super) struct Asked<'a> {
    pub(super) sql: &'a str,
    pub(super) values: Vec<Value<'a>>,
}

/// A connection.
pub(super) struct Link {
    runtime: Runtime,
    client: Client,
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link").field("closed", &self.client.is_closed()).finish_non_exhaustive()
    }
}

/// Why the database did not answer as it should.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The database said no.
    Said(tokio_postgres::Error),
    /// There is no answer, and the connection is of no use any more.
    Lost(String),
}

impl Trouble {
    fn of(error: tokio_postgres::Error) -> Self {
        // Without a word of the database, nobody knows what became of the statement.
        match error.as_db_error() {
            Some(said) if said.severity() != "FATAL" && said.severity() != "PANIC" => Self::Said(error),
            _ => Self::Lost(error.to_string()),
        }
    }

    pub(super) fn code(&self) -> Option<&SqlState> {
        match self {
            Self::Said(error) => error.code(),
            Self::Lost(_) => None,
        }
    }

    pub(super) fn is_lost(&self) -> bool {
        matches!(self, Self::Lost(_))
    }

    /// What it means for a campaign.
    pub(super) fn error(self, path: &Path) -> Error {
        let path = path.to_owned();
        let error = match self {
            Self::Lost(problem) => return Error::Unavailable { path, problem },
            Self::Said(error) => error,
        };
        let said = error.as_db_error().map_or_else(|| error.to_string(), |said| said.message().to_owned());
        let code = error.code().cloned().unwrap_or(SqlState::INTERNAL_ERROR);
        // The two first characters of a code are its class.
        match &code.code()[..2] {
            // Connections, resources, an operator's doing, conflicts of transactions: it may go better next time. A
            // database that only reads is one that has not taken over yet.
            "08" | "40" | "55" | "57" => Error::Unavailable { path, problem: said },
            _ if code == SqlState::DISK_FULL => Error::DiskFull { path, cause: Some(Box::new(error)) },
            "53" => Error::Unavailable { path, problem: said },
            _ if code == SqlState::READ_ONLY_SQL_TRANSACTION => Error::Unavailable { path, problem: said },
            // An earlier statement of the transaction failed, and whoever asked it was told why.
            _ if code == SqlState::IN_FAILED_SQL_TRANSACTION => Error::Unavailable { path, problem: said },
            "XX" => Error::Damaged { path, problem: said, cause: Some(Box::new(error)) },
            _ => Error::Storage { path, problem: said, cause: Some(Box::new(error)) },
        }
    }
}

impl Link {
    /// Connects.
    pub(super) fn new(address: &Address) -> Result<Self, Trouble> {
        let failed = |error: io::Error| Trouble::Lost(error.to_string());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let client = runtime.block_on(async {
            match timeout(STATEMENT, connect(address)).await {
                // Who may not come in, or where there is no such database, need not try again.
                Ok(Err(error)) if error.code().is_some_and(|code| ["28", "3D"].contains(&&code.code()[..2])) => {
                    Err(Trouble::Said(error))
                }
                Ok(connected) => connected.map_err(|error| Trouble::Lost(with_cause(&error))),
                Err(_) => Err(Trouble::Lost("the database does not answer".to_owned())),
            }
        })?;
        Ok(Self { runtime, client })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    fn wait<T>(&self, answer: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T, Trouble> {
        self.wait_for(STATEMENT, answer)
    }

    fn wait_for<T>(
        &self,
        most: Duration,
        answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Trouble> {
        self.runtime.block_on(async {
            match timeout(most, answer).await {
                Ok(answer) => answer.map_err(Trouble::of),
                Err(_) => Err(Trouble::Lost("the database does not answer".to_owned())),
            }
        })
    }

    /// The rows of one statement.
    pub(super) fn ask(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, Trouble> {
        self.wait(self.client.query_typed(sql, values))
    }

    /// As [`ask`](Self::ask), of a statement that looks at all rows.
    pub(super) fn ask_slowly(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, Trouble> {
        self.wait_for(SLOW, self.client.query_typed(sql, values))
    }

    /// Several statements that go out at once, in their order; the first that fails is what fails.
    pub(super) fn ask_all(&self, all: &[Asked<'_>]) -> Result<Vec<Vec<Row>>, Trouble> {
        self.wait(async {
            let answers = join_all(all.iter().map(|asked| self.client.query_typed(asked.sql, &asked.values))).await;
            answers.into_iter().collect()
        })
    }

    /// As [`ask_all`](Self::ask_all), each with its own answer: where one fails in a transaction, those after it do too.
    pub(super) fn ask_each(&self, all: &[Asked<'_>]) -> Result<Vec<Result<Vec<Row>, Trouble>>, Trouble> {
        self.wait(async {
            let answers = join_all(all.iter().map(|asked| self.client.query_typed(asked.sql, &asked.values))).await;
            Ok(answers.into_iter().map(|answer| answer.map_err(Trouble::of)).collect())
        })
    }

    /// Texts without values, of which nothing comes back.
    pub(super) fn run(&self, sql: &str) -> Result<(), Trouble> {
        self.wait(self.client.batch_execute(sql))
    }

    /// A text without values, and statements right behind it.
    pub(super) fn run_and_ask(&self, sql: &str, then: &[Asked<'_>]) -> Result<Vec<Vec<Row>>, Trouble> {
        self.wait(async {
            let asked = join_all(then.iter().map(|asked| self.client.query_typed(asked.sql, &asked.values)));
            let (begun, asked) = join(self.client.batch_execute(sql), asked).await;
            begun?;
            asked.into_iter().collect()
        })
    }
}

/// A client whose connection is looked after by the runtime that this runs in.
async fn connect(address: &Address) -> Result<Client, tokio_postgres::Error> {
    match &address.security {
        Security::Plain => {
            let (client, connection) = address.config.connect(NoTls).await?;
            tokio::spawn(connection);
            Ok(client)
        }
        Security::Tls(config) => {
            let (client, connection) = address.config.connect(Maker(config.clone())).await?;
            tokio::spawn(connection);
            Ok(client)
        }
    }
}

/// The text of an error and of what lies behind it.
fn with_cause(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(behind) = cause {
        let own = behind.to_string();
        if !text.contains(&own) {
            text = format!("{text}: {own}");
        }
        cause = behind.source();
    }
    text
}
