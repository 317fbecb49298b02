//! The schema, version 2, documented for whoever queries a campaign with plain SQL.
//!
//! `event`, `decision` and `outcome` are the log and only grow (triggers refuse anything else);
//! `snapshot` is a cache that can be thrown away; the view `result` is what an analyst wants.

use super::sql;
use crate::Error;
use rusqlite::Connection;
use std::path::Path;

/// "armw", so that `file` and SQLite know what it is.
const APPLICATION: i32 = 0x6172_6d77;
/// The version of the schema.
const VERSION: i32 = 2;

/// The tables. A decision's id is `round * 2^32 + number`; people see it as `r3-17`.
const SCHEMA: &str = "
CREATE TABLE event (                 -- what happened, in order
  seq     INTEGER PRIMARY KEY,       -- 1, 2, 3, ...
  at      TEXT NOT NULL,             -- when, UTC
  kind    TEXT NOT NULL,             -- init, choose, learn, correct, undelivered, close
  round   INTEGER,                   -- of choose and close
  body    TEXT NOT NULL,             -- JSON: the frozen setup, the seed, the rounds touched, ...
  rows    INTEGER NOT NULL,          -- how many decisions or outcomes belong to it
  digest  TEXT NOT NULL,             -- SHA-256 over these rows
  model   TEXT NOT NULL,             -- SHA-256 of the model after it
  hash    TEXT NOT NULL              -- SHA-256 over the hash before and everything above
) STRICT;

CREATE TABLE decision (              -- who was chosen for what, and why
  id        INTEGER PRIMARY KEY,     -- round * 2^32 + number
  seq       INTEGER NOT NULL,        -- the event
  customer  TEXT NOT NULL,
  promotion TEXT NOT NULL,
  control   INTEGER NOT NULL,        -- 1: in the hold-out; would have been chosen, was not contacted
  segment   TEXT,
  mean      REAL NOT NULL,           -- estimated reward
  width     REAL NOT NULL,           -- its uncertainty
  draw      REAL,                    -- the random number of the round, where the algorithm draws one
  score     REAL NOT NULL,           -- what was maximised
  rank      INTEGER NOT NULL,        -- 1, 2, ... by score within the promotion
  greedy    INTEGER,                 -- 1: the estimate alone would have chosen it too
  features  BLOB NOT NULL            -- x, little-endian f32
) STRICT;
CREATE INDEX decision_customer ON decision (customer);

CREATE TABLE outcome (               -- what became of a decision; the last one counts
  seq      INTEGER NOT NULL,         -- the event, whose kind says what it means
  number   INTEGER NOT NULL,
  decision INTEGER NOT NULL,
  reward   REAL,                     -- NULL: undelivered
  PRIMARY KEY (seq, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX outcome_decision ON outcome (decision, seq);

CREATE TABLE snapshot (              -- the sums of a round, kept to save time; made anew where they do not fit
  round    INTEGER PRIMARY KEY,
  seq      INTEGER NOT NULL,         -- the event after which they were made
  model    TEXT NOT NULL,            -- JSON
  checksum TEXT NOT NULL             -- SHA-256 of seq and model
) STRICT;

CREATE VIEW result AS                -- every decision with its present reward
SELECT 'r' || (d.id >> 32) || '-' || (d.id & 0xffffffff) AS decision, d.id >> 32 AS round, d.customer, d.promotion,
  d.control, d.segment, d.mean, d.width, d.draw, d.score, d.rank,
  CASE WHEN o.seq IS NOT NULL AND o.reward IS NULL THEN 'undelivered' WHEN o.seq IS NOT NULL THEN 'answered'
       WHEN c.seq IS NOT NULL THEN 'silent' ELSE 'pending' END AS fate,
  CASE WHEN o.seq IS NOT NULL THEN o.reward WHEN c.seq IS NOT NULL
       THEN (SELECT coalesce(json_extract(body, '$.config.reward.default'), 0.0) FROM event WHERE seq = 1) END AS reward
FROM decision d
LEFT JOIN outcome o ON o.decision = d.id
  AND o.seq = (SELECT max(seq) FROM outcome WHERE decision = d.id)
LEFT JOIN event c ON c.kind = 'close' AND c.round = d.id >> 32;

CREATE TRIGGER event_stays BEFORE UPDATE ON event BEGIN SELECT raise(ABORT, 'the log only grows'); END;
CREATE TRIGGER event_kept BEFORE DELETE ON event BEGIN SELECT raise(ABORT, 'the log only grows'); END;
CREATE TRIGGER decision_stays BEFORE UPDATE ON decision BEGIN SELECT raise(ABORT, 'the log only grows'); END;
CREATE TRIGGER decision_kept BEFORE DELETE ON decision BEGIN SELECT raise(ABORT, 'the log only grows'); END;
CREATE TRIGGER outcome_stays BEFORE UPDATE ON outcome BEGIN SELECT raise(ABORT, 'the log only grows'); END;
CREATE TRIGGER outcome_kept BEFORE DELETE ON outcome BEGIN SELECT raise(ABORT, 'the log only grows'); END;
";

/// Makes the file with its tables.
pub(super) fn create(path: &Path) -> Result<Connection, Error> {
    let make = || -> rusqlite::Result<Connection> {
        let db = Connection::open(path)?;
        writing(&db)?;
        db.execute_batch(&format!(
            "BEGIN;{SCHEMA}PRAGMA application_id = {APPLICATION};PRAGMA user_version = {VERSION};COMMIT;"
        ))?;
        Ok(db)
    };
    make().map_err(|error| sql(path, error))
}

/// Every commit is on the disk before it is acknowledged.
fn writing(db: &Connection) -> rusqlite::Result<()> {
    db.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0))?;
    db.execute_batch("PRAGMA synchronous = FULL; PRAGMA busy_timeout = 2000; PRAGMA cache_size = -65536;")
}

/// Refuses what is not a campaign of a version that this program knows.
pub(super) fn check(db: &Connection, path: &Path, write: bool) -> Result<(), Error> {
    let pragma = |name: &str| db.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i32>(0));
    let found = pragma("application_id").map_err(|error| sql(path, error))?;
    if found != APPLICATION {
        let problem = format!("it is not an armwise campaign (its application id is {found:#x})");
        return Err(Error::Damaged { path: path.to_owned(), problem, cause: None });
    }
    let version = pragma("user_version").map_err(|error| sql(path, error))?;
    if version != VERSION {
        let problem = format!("its schema has version {version}; this program reads version {VERSION}");
        return Err(Error::Storage { path: path.to_owned(), problem, cause: None });
    }
    let texts = |db: &Connection| -> rusqlite::Result<Vec<Option<String>>> {
        db.prepare("SELECT sql FROM sqlite_schema ORDER BY rowid")?.query_map([], |row| row.get(0))?.collect()
    };
    // A view or a trigger that says something else would make a good log look like another one.
    let expected = Connection::open_in_memory().and_then(|fresh| {
        fresh.execute_batch(SCHEMA)?;
        texts(&fresh)
    });
    if expected.map_err(|error| sql(path, error))? != texts(db).map_err(|error| sql(path, error))? {
        let problem = "its tables and views are not those of the schema".to_owned();
        return Err(Error::Damaged { path: path.to_owned(), problem, cause: None });
    }
    if write { writing(db) } else { db.execute_batch("PRAGMA busy_timeout = 2000;") }.map_err(|error| sql(path, error))
}
