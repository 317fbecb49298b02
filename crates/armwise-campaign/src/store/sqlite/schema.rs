//! The schema, version 8, documented for users who query a campaign with plain SQL.
//!
//! `entry`, `decision`, `features`, `outcome`, `original` and `arms` are the journal and only grow (triggers refuse anything
//! else; rows of single decisions may go once an entry of the kind `compact` says so); `sums`, `settled` and `checkpoint` save time and
//! can be thrown away while the rows they come from are there; the view `result` is what an analyst wants. A version is
//! the one before and a step, so a new file and one that was turned into this version have the same text. Versions 4 to 7
//! are read as they are, and the first writer takes the steps. No row changes, so the chain of hashes holds.

use super::sql;
use crate::Error;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::path::Path;

/// "armw", so that `file` and SQLite know what it is.
const APPLICATION: i32 = 0x6172_6d77;

/// The version of a file's schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(i32);

impl Version {
    pub(super) const FOUR: Self = Self(4);
    const FIVE: Self = Self(5);
    pub(super) const SIX: Self = Self(6);
    const SEVEN: Self = Self(7);
    /// The one that is written.
    pub(super) const NOW: Self = Self(8);

    /// The query for a round's decisions. Columns are read by place, since looking a column up by its name costs more
    /// than reading it.
    pub(super) fn decisions(self) -> &'static str {
        match self {
            Self::FOUR => {
                "SELECT id, seq, customer, promotion, control, segment, mean, width, draw, score, rank, greedy, features, \
                 NULL, NULL, NULL FROM decision WHERE id >= ? AND id < ? ORDER BY id"
            }
            Self::FIVE => {
                "SELECT id, seq, customer, promotion, hold_out, segment, mean, width, draw, score, rank, greedy, \
                 features, NULL, NULL, NULL FROM decision WHERE id >= ? AND id < ? ORDER BY id"
            }
            Self::SIX => {
                "SELECT id, seq, customer, promotion, hold_out, segment, mean, width, draw, score, rank, greedy, \
                 features, probability, NULL, NULL FROM decision WHERE id >= ? AND id < ? ORDER BY id"
            }
            _ => {
                "SELECT d.id, d.seq, d.customer, d.promotion, d.hold_out, d.segment, d.mean, d.width, d.draw, d.score, \
                 d.rank, d.greedy, d.features, d.probability, d.same, f.bytes \
                 FROM decision d LEFT JOIN features f ON f.id = d.same WHERE d.id >= ? AND d.id < ? ORDER BY d.id"
            }
        }
    }

    /// The query for a customer's decisions. The index is one of runs of 1,024 rounds, so that a service writes to its end
    /// only; the runs that there are are asked one after the other.
    pub(super) fn decisions_of(self) -> &'static str {
        if self < Self::SEVEN {
            return "SELECT id, customer, promotion FROM decision WHERE customer = ? ORDER BY id";
        }
        "WITH RECURSIVE run(n) AS (SELECT min(id) >> 42 FROM decision UNION ALL \
         SELECT (SELECT min(id) >> 42 FROM decision WHERE id >= (run.n + 1) << 42) FROM run WHERE run.n IS NOT NULL) \
         SELECT d.id, d.customer, d.promotion FROM run CROSS JOIN decision d \
         WHERE d.id >> 42 = run.n AND d.customer = ? ORDER BY d.id"
    }

    /// The column of an outcome with the probability with which the arm was looked at.
    pub(super) fn examined(self) -> &'static str {
        if self < Self::NOW { "NULL" } else { "o.examined" }
    }
}

/// Which entries are indexed by their kind: all but those that a service writes all the time.
pub(super) const RARE: &str = "kind NOT IN ('choose', 'learn')";

/// The tables. A decision's id is `round * 2^32 + number`; people see it as `r3-17-k7f3q2`, with the campaign's tag.
const TABLES: &str = "
CREATE TABLE entry (                 -- what happened, in order
  seq     INTEGER PRIMARY KEY,       -- 1, 2, 3, ...
  at      TEXT NOT NULL,             -- when, UTC
  kind    TEXT NOT NULL,             -- init, choose, learn, correct, undelivered, close, revoke, amend, checkpoint
  round   INTEGER,                   -- of choose, close and revoke
  key     TEXT UNIQUE,               -- the caller's own name for the request
  body    TEXT NOT NULL,             -- JSON, the command: the frozen setup, the seed, the rounds touched, ...
  changes TEXT NOT NULL,             -- JSON: counts of the rounds and hashes of the sums that it changed
  rows    INTEGER NOT NULL,          -- how many decisions or outcomes belong to it
  digest  TEXT NOT NULL,             -- SHA-256 over these rows
  model   TEXT NOT NULL,             -- SHA-256 of the model after it
  hash    TEXT NOT NULL              -- SHA-256 over the hash before and everything above
) STRICT;
CREATE UNIQUE INDEX entry_round ON entry (round, kind) WHERE round IS NOT NULL;
CREATE INDEX entry_rules ON entry (seq) WHERE kind IN ('init', 'amend');

CREATE TABLE decision (              -- who was chosen for what, and why
  id        INTEGER PRIMARY KEY,     -- round * 2^32 + number
  seq       INTEGER NOT NULL,        -- the entry
  customer  TEXT NOT NULL,
  promotion TEXT NOT NULL,
  hold_out   INTEGER NOT NULL,        -- 1: in the hold-out; would have been chosen, was not contacted
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
  seq      INTEGER NOT NULL,         -- the entry, whose kind says what it means
  number   INTEGER NOT NULL,
  decision INTEGER NOT NULL,
  reward   REAL,                     -- NULL: undelivered
  PRIMARY KEY (seq, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX outcome_decision ON outcome (decision, seq);

CREATE TABLE sums (                  -- what was learned from a segment, kept to save time; made anew where it does not fit
  segment INTEGER PRIMARY KEY,       -- a run of consecutive rounds; in a campaign the round itself
  bytes   BLOB NOT NULL              -- little-endian; its SHA-256 is in the changes of the entry that wrote it
) STRICT;

CREATE TABLE checkpoint (            -- where to begin when the campaign is opened; made anew where it does not fit
  seq   INTEGER PRIMARY KEY,         -- the entry, whose body has the SHA-256 of both
  state BLOB NOT NULL,               -- rounds, rules and hashes of the sums after the entry before
  model BLOB NOT NULL                -- the merged sums of the segments that are settled
) STRICT;

CREATE TRIGGER entry_stays BEFORE UPDATE ON entry BEGIN SELECT raise(ABORT, 'the journal only grows'); END;
CREATE TRIGGER entry_kept BEFORE DELETE ON entry BEGIN SELECT raise(ABORT, 'the journal only grows'); END;
CREATE TRIGGER decision_stays BEFORE UPDATE ON decision BEGIN SELECT raise(ABORT, 'the journal only grows'); END;
CREATE TRIGGER decision_kept BEFORE DELETE ON decision BEGIN SELECT raise(ABORT, 'the journal only grows'); END;
CREATE TRIGGER outcome_stays BEFORE UPDATE ON outcome BEGIN SELECT raise(ABORT, 'the journal only grows'); END;
CREATE TRIGGER outcome_kept BEFORE DELETE ON outcome BEGIN SELECT raise(ABORT, 'the journal only grows'); END;
";

/// What an analyst wants, in version 5. Silence of the hold-out counts only where the rules of the round say so, and a decision whose
/// answer was put aside is not silent.
const VIEW: &str = "CREATE VIEW result AS                -- every decision with its present reward
SELECT 'r' || (d.id >> 32) || '-' || (d.id & 0xffffffff) || '-' ||
    (SELECT json_extract(body, '$.tag') FROM entry WHERE seq = 1) AS decision, d.id >> 32 AS round, d.customer, d.promotion,
  d.hold_out, d.segment, d.mean, d.width, d.draw, d.score, d.rank,
  CASE WHEN v.seq IS NOT NULL THEN 'revoked'
       WHEN o.seq IS NOT NULL AND o.reward IS NULL THEN 'undelivered' WHEN o.seq IS NOT NULL THEN 'answered'
       WHEN c.seq IS NOT NULL THEN 'silent' ELSE 'pending' END AS fate,
  CASE WHEN v.seq IS NOT NULL THEN NULL WHEN o.seq IS NOT NULL THEN o.reward WHEN c.seq IS NOT NULL
       THEN coalesce(json_extract(r.body, '$.config.reward.default'), 0.0) END AS reward
FROM decision d
JOIN entry r ON r.seq = (SELECT max(seq) FROM entry WHERE kind IN ('init', 'amend') AND seq < d.seq)
LEFT JOIN outcome o ON o.decision = d.id
  AND o.seq = (SELECT max(seq) FROM outcome WHERE decision = d.id)
LEFT JOIN entry c ON c.kind = 'close' AND c.round = d.id >> 32
  AND (d.hold_out = 0 OR json_extract(r.body, '$.config.uplift.silence') = 'default')
  AND d.id NOT IN (SELECT (a.value ->> 'round') << 32 | n.value FROM entry l, json_each(l.body, '$.aside') a,
                     json_each(a.value, '$.decisions') n WHERE l.kind = 'learn')
LEFT JOIN entry v ON v.kind = 'revoke' AND v.round = d.id >> 32;";

/// The view of version 4.
const VIEW_BEFORE: &str = "CREATE VIEW result AS                -- every decision with its present reward
SELECT 'r' || (d.id >> 32) || '-' || (d.id & 0xffffffff) || '-' ||
    (SELECT json_extract(body, '$.tag') FROM entry WHERE seq = 1) AS decision, d.id >> 32 AS round, d.customer, d.promotion,
  d.control, d.segment, d.mean, d.width, d.draw, d.score, d.rank,
  CASE WHEN v.seq IS NOT NULL THEN 'revoked'
       WHEN o.seq IS NOT NULL AND o.reward IS NULL THEN 'undelivered' WHEN o.seq IS NOT NULL THEN 'answered'
       WHEN c.seq IS NOT NULL THEN 'silent' ELSE 'pending' END AS fate,
  CASE WHEN v.seq IS NOT NULL THEN NULL WHEN o.seq IS NOT NULL THEN o.reward WHEN c.seq IS NOT NULL
       THEN (SELECT coalesce(json_extract(body, '$.config.reward.default'), 0.0) FROM entry r
             WHERE r.kind IN ('init', 'amend') AND r.seq < d.seq ORDER BY r.seq DESC LIMIT 1) END AS reward
FROM decision d
LEFT JOIN outcome o ON o.decision = d.id
  AND o.seq = (SELECT max(seq) FROM outcome WHERE decision = d.id)
LEFT JOIN entry c ON c.kind = 'close' AND c.round = d.id >> 32
LEFT JOIN entry v ON v.kind = 'revoke' AND v.round = d.id >> 32;";

/// What version 5 has beside the tables of version 4.
const ORIGINAL: &str = "
CREATE TABLE original (              -- the columns of a decision's row as its table had them, for another recipe
  decision    INTEGER PRIMARY KEY,
  seq         INTEGER NOT NULL,      -- the entry, whose body names the columns and has the SHA-256 over all of them
  columns     TEXT NOT NULL,         -- JSON: a text or null for each column
  probability REAL                   -- with which it was sent, of a logged row that knows it
) STRICT;
CREATE TRIGGER original_stays BEFORE UPDATE ON original BEGIN SELECT raise(ABORT, 'the journal only grows'); END;
CREATE TRIGGER original_kept BEFORE DELETE ON original BEGIN SELECT raise(ABORT, 'the journal only grows'); END;
";

/// What version 6 has beside version 5: the probabilities of decisions, what a service writes, and rows that may go.
const SIX: &str = "
ALTER TABLE decision ADD COLUMN probability REAL; -- with which it was chosen, where it is known
CREATE INDEX entry_kind ON entry (kind, seq) WHERE kind NOT IN ('choose', 'learn');

CREATE TABLE settled (               -- the rounds of a segment that was put away, kept to save time
  segment INTEGER PRIMARY KEY,       -- a run of consecutive rounds
  bytes   BLOB NOT NULL              -- little-endian; the newest checkpoint's state has its SHA-256
) STRICT;

CREATE TABLE arms (                  -- the rows of arms that came to the catalogue, changed or went
  seq   INTEGER PRIMARY KEY,         -- the entry, whose body has the SHA-256 and says which of these it was
  bytes BLOB NOT NULL                -- an Arrow IPC stream
) STRICT;
CREATE TRIGGER arms_stay BEFORE UPDATE ON arms BEGIN SELECT raise(ABORT, 'the journal only grows'); END;
CREATE TRIGGER arms_kept BEFORE DELETE ON arms BEGIN SELECT raise(ABORT, 'the journal only grows'); END;

DROP TRIGGER decision_kept;
CREATE TRIGGER decision_kept BEFORE DELETE ON decision WHEN OLD.id >> 32 = 0 OR NOT EXISTS (SELECT 1 FROM entry
    WHERE kind = 'compact' AND kind NOT IN ('choose', 'learn') AND round >= OLD.id >> 32)
  BEGIN SELECT raise(ABORT, 'the journal only grows'); END;
DROP TRIGGER outcome_kept;
CREATE TRIGGER outcome_kept BEFORE DELETE ON outcome WHEN OLD.decision >> 32 = 0 OR NOT EXISTS (SELECT 1 FROM entry
    WHERE kind = 'compact' AND kind NOT IN ('choose', 'learn') AND round >= OLD.decision >> 32)
  BEGIN SELECT raise(ABORT, 'the journal only grows'); END;
DROP TRIGGER original_kept;
CREATE TRIGGER original_kept BEFORE DELETE ON original WHEN OLD.decision >> 32 = 0 OR NOT EXISTS (SELECT 1 FROM entry
    WHERE kind = 'compact' AND kind NOT IN ('choose', 'learn') AND round >= OLD.decision >> 32)
  BEGIN SELECT raise(ABORT, 'the journal only grows'); END;
DROP VIEW result;
";

/// What an analyst wants. A round is closed by an entry of its own, or by one for all open rounds up to one, which leaves
/// out those that are held back.
const VIEW_SIX: &str = "CREATE VIEW result AS                -- every decision with its present reward
SELECT 'r' || (d.id >> 32) || '-' || (d.id & 0xffffffff) || '-' ||
    (SELECT json_extract(body, '$.tag') FROM entry WHERE seq = 1) AS decision, d.id >> 32 AS round, d.customer, d.promotion,
  d.hold_out, d.segment, d.mean, d.width, d.draw, d.score, d.rank, d.probability,
  CASE WHEN v.seq IS NOT NULL THEN 'revoked'
       WHEN o.seq IS NOT NULL AND o.reward IS NULL THEN 'undelivered' WHEN o.seq IS NOT NULL THEN 'answered'
       WHEN c.seq IS NOT NULL THEN 'silent' ELSE 'pending' END AS fate,
  CASE WHEN v.seq IS NOT NULL THEN NULL WHEN o.seq IS NOT NULL THEN o.reward WHEN c.seq IS NOT NULL
       THEN coalesce(json_extract(r.body, '$.config.reward.default'), 0.0) END AS reward
FROM decision d
JOIN entry r ON r.seq = (SELECT max(seq) FROM entry WHERE kind IN ('init', 'amend') AND seq < d.seq)
LEFT JOIN outcome o ON o.decision = d.id
  AND o.seq = (SELECT max(seq) FROM outcome WHERE decision = d.id)
LEFT JOIN entry c ON c.seq = coalesce(
    (SELECT seq FROM entry WHERE kind = 'close' AND round = d.id >> 32),
    (SELECT e.seq FROM entry e WHERE e.kind = 'close' AND e.kind NOT IN ('choose', 'learn') AND e.seq > d.seq
       AND json_extract(e.body, '$.through') >= d.id >> 32
       AND ((SELECT json_extract(h.body, '$.hold') FROM entry h WHERE h.seq = d.seq) IS NULL
         OR EXISTS (SELECT 1 FROM entry a WHERE a.kind = 'activate' AND a.round = d.id >> 32 AND a.seq < e.seq
              AND a.at <= coalesce(json_extract(e.body, '$.activated_before'), a.at)))
     ORDER BY e.seq LIMIT 1))
  AND (d.hold_out = 0 OR json_extract(r.body, '$.config.uplift.silence') = 'default')
  AND d.id NOT IN (SELECT (a.value ->> 'round') << 32 | n.value FROM entry l, json_each(l.body, '$.aside') a,
                     json_each(a.value, '$.decisions') n WHERE l.kind = 'learn')
LEFT JOIN entry v ON v.kind = 'revoke' AND v.round = d.id >> 32;";

/// What version 7 has beside version 6: features that come again are kept once, and an index of customers that a service
/// writes to the end of. Features are shared by the decisions of 2^16 rounds, so they may go once these are given up.
const SEVEN: &str = "
ALTER TABLE decision ADD COLUMN same INTEGER; -- where x is kept in features; its own column is empty then
CREATE TABLE features (              -- x of arms that are chosen again and again
  id    INTEGER PRIMARY KEY,         -- the decision that brought it here
  bytes BLOB NOT NULL                -- x, little-endian f32
) STRICT;
CREATE TRIGGER features_stay BEFORE UPDATE ON features BEGIN SELECT raise(ABORT, 'the journal only grows'); END;
CREATE TRIGGER features_kept BEFORE DELETE ON features WHEN NOT EXISTS (SELECT 1 FROM entry
    WHERE kind = 'compact' AND kind NOT IN ('choose', 'learn') AND round >= (((OLD.id >> 48) + 1) << 16) - 1)
  BEGIN SELECT raise(ABORT, 'the journal only grows'); END;

DROP INDEX decision_customer;
CREATE INDEX decision_customer ON decision (id >> 42, customer);
";

/// What version 8 has beside version 7: the probability with which an arm was looked at.
const EIGHT: &str = "
ALTER TABLE outcome ADD COLUMN examined REAL; -- with which the arm was looked at, below 1; NULL: it was
DROP VIEW result;
";

/// The view of version 8: as in version 6, with the probability with which the arm was looked at.
fn view_eight() -> String {
    const REWARD: &str = "coalesce(json_extract(r.body, '$.config.reward.default'), 0.0) END AS reward";
    let examined = ", CASE WHEN v.seq IS NULL THEN o.examined END AS examined";
    VIEW_SIX.replace(REWARD, &[REWARD, examined].concat())
}

/// The hold-out's column in [`TABLES`], and as version 4 has it.
const COLUMN: [&str; 2] = ["  hold_out   INTEGER", "  control   INTEGER"];

/// The text of a version's schema.
fn text(version: Version) -> String {
    match version {
        Version::FOUR => TABLES.replace(COLUMN[0], COLUMN[1]) + VIEW_BEFORE,
        Version::FIVE => format!("{TABLES}{ORIGINAL}{VIEW}"),
        Version::SIX => text(Version::FIVE) + &step(Version::FIVE),
        Version::SEVEN => text(Version::SIX) + &step(Version::SIX),
        _ => text(Version::SEVEN) + &step(Version::SEVEN),
    }
}

/// What turns a version into the next one.
fn step(from: Version) -> String {
    match from {
        Version::FOUR => {
            format!("DROP VIEW result;ALTER TABLE decision RENAME COLUMN control TO hold_out;{ORIGINAL}{VIEW}")
        }
        Version::FIVE => format!("{SIX}{VIEW_SIX}"),
        Version::SIX => SEVEN.to_owned(),
        _ => EIGHT.to_owned() + &view_eight(),
    }
}

/// Makes the tables in an empty file; messages call it `path`.
pub(super) fn create(file: &Path, path: &Path) -> Result<Connection, Error> {
    let make = || -> rusqlite::Result<Connection> {
        let db = Connection::open(file)?;
        writing(&db)?;
        db.execute_batch(&format!(
            "BEGIN;{}PRAGMA application_id = {APPLICATION};PRAGMA user_version = {};COMMIT;",
            text(Version::NOW),
            Version::NOW.0
        ))?;
        Ok(db)
    };
    make().map_err(|error| sql(path, error))
}

/// Every commit is on the disk before it is acknowledged.
fn writing(db: &Connection) -> rusqlite::Result<()> {
    db.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0))?;
    // Pages that a service writes again and again go from the log into the file less often: every 16 MB.
    db.execute_batch(
        "PRAGMA synchronous = FULL; PRAGMA busy_timeout = 2000; PRAGMA cache_size = -65536; \
         PRAGMA wal_autocheckpoint = 4096;",
    )
}

/// The version of a campaign's schema; refuses what is not a campaign.
pub(super) fn version(db: &Connection, path: &Path) -> Result<i32, Error> {
    let pragma = |name: &str| db.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i32>(0));
    let found = pragma("application_id").map_err(|error| sql(path, error))?;
    if found != APPLICATION {
        let problem = format!("it is not an armwise campaign (its application id is {found:#x})");
        return Err(Error::Damaged { path: path.to_owned(), problem, cause: None });
    }
    pragma("user_version").map_err(|error| sql(path, error))
}

/// Refuses what is not a campaign of a version that is read, and tells the version.
pub(super) fn check(db: &Connection, path: &Path) -> Result<Version, Error> {
    let version = version(db, path)?;
    if version == super::old::VERSION {
        return Err(Error::OldSchema { path: path.to_owned(), version: version.unsigned_abs() });
    }
    if !(Version::FOUR.0..=Version::NOW.0).contains(&version) {
        let (first, last) = (Version::FOUR.0, Version::NOW.0);
        let problem = format!("its schema has version {version}; this program reads {first} to {last}");
        return Err(Error::Storage { path: path.to_owned(), problem, cause: None });
    }
    let version = Version(version);
    let texts = |db: &Connection| -> rusqlite::Result<Vec<Option<String>>> {
        db.prepare("SELECT sql FROM sqlite_schema ORDER BY type, name")?.query_map([], |row| row.get(0))?.collect()
    };
    // An altered view or trigger could make a good journal look different.
    let expected = Connection::open_in_memory().and_then(|fresh| {
        fresh.execute_batch(&text(version))?;
        texts(&fresh)
    });
    if expected.map_err(|error| sql(path, error))? != texts(db).map_err(|error| sql(path, error))? {
        let problem = "its tables and views are not those of the schema".to_owned();
        return Err(Error::Damaged { path: path.to_owned(), problem, cause: None });
    }
    Ok(version)
}

/// Turns a file of an earlier version into one of this version, in one transaction. Triggers guard rows, and no row
/// changes.
pub(super) fn upgrade(db: &Connection, path: &Path, from: Version) -> Result<(), Error> {
    let change = || -> rusqlite::Result<()> {
        let transaction = Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
        for version in from.0..Version::NOW.0 {
            transaction.execute_batch(&step(Version(version)))?;
        }
        transaction.pragma_update(None, "user_version", Version::NOW.0)?;
        transaction.commit()
    };
    change().map_err(|error| sql(path, error))?;
    check(db, path).map(|_| ())
}

/// Prepares a connection to write, or to read in one transaction, which shows one state of the file.
pub(super) fn prepare(db: &Connection, path: &Path, write: bool) -> Result<(), Error> {
    if write { writing(db) } else { db.execute_batch("PRAGMA busy_timeout = 2000; BEGIN;") }
        .map_err(|error| sql(path, error))
}
