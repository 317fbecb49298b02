//! The tables, in the schema `armwise` of the database: those of the SQLite file with the campaign in front.
//!
//! `armwise.schema` says which version the tables have and which is the oldest version of a program that may still use
//! them. A change that old programs can live with (another table, another column that may be missing) raises `version`
//! alone, so that replicas are upgraded one after the other; one that they cannot live with raises `oldest`, too, and they
//! refuse from then on. What is written may need it, too: with the first answer that says how probable it was that the
//! arm was looked at, `oldest` grows in the same transaction. Nothing is created by hand: whoever comes first makes the tables, in one transaction.

use super::{
    link::{Link, Trouble},
    rows::Insert,
};
use crate::Error;
use std::{path::Path, sync::OnceLock};
use tokio_postgres::types::Type;

/// The version of the tables that this program makes.
const VERSION: i32 = 3;
/// The oldest version of a program that may use them.
const OLDEST: i32 = 1;
/// The oldest version of a program that knows how probable it was that an arm was looked at. Older ones go on beside it
/// until the first answer says so.
const KNOWS_EXAMINED: i32 = 3;

/// Steps from one version to the next; the first makes everything from nothing.
const STEPS: [&str; VERSION as usize] = [ONE, TWO, THREE];

const ONE: &str = "
CREATE SCHEMA armwise;
CREATE TABLE armwise.schema (
  one     boolean PRIMARY KEY DEFAULT true CHECK (one),
  version integer NOT NULL,          -- of these tables
  oldest  integer NOT NULL           -- the oldest version of a program that may use them
);
CREATE TABLE armwise.campaign (
  id   integer PRIMARY KEY,
  name text NOT NULL UNIQUE,
  seq  bigint NOT NULL,              -- the last entry
  head text NOT NULL                 -- its hash; an append replaces both, if they are what it was made against
);
CREATE TABLE armwise.entry (
  campaign integer NOT NULL REFERENCES armwise.campaign,
  seq      bigint NOT NULL,          -- 1, 2, 3, ...
  at       text NOT NULL,            -- when, UTC
  kind     text NOT NULL,
  round    bigint,
  key      text,                     -- the caller's own name for it
  body     text NOT NULL,            -- the command, JSON
  changes  text NOT NULL,            -- what it changed, JSON
  rows     bigint NOT NULL,          -- how many decisions or outcomes belong to it
  digest   text NOT NULL,            -- SHA-256 over them
  model    text NOT NULL,            -- SHA-256 of the model after it
  hash     text NOT NULL,            -- SHA-256 over the hash before and everything above
  PRIMARY KEY (campaign, seq)
);
CREATE UNIQUE INDEX entry_key ON armwise.entry (campaign, key) WHERE key IS NOT NULL;
CREATE INDEX entry_kind ON armwise.entry (campaign, kind, seq) WHERE kind NOT IN ('choose', 'learn');
CREATE TABLE armwise.decision (
  campaign    integer NOT NULL,
  id          bigint NOT NULL,       -- round * 2^32 + number
  seq         bigint NOT NULL,       -- the entry
  customer    text NOT NULL,
  promotion   text NOT NULL,
  hold_out    boolean NOT NULL,
  segment     text,
  mean        double precision NOT NULL,
  width       double precision NOT NULL,
  draw        double precision,
  score       double precision NOT NULL,
  rank        bigint NOT NULL,
  greedy      boolean,
  features    bytea NOT NULL,        -- x, little-endian f32
  probability double precision,
  PRIMARY KEY (campaign, id)
);
CREATE INDEX decision_seq ON armwise.decision (campaign, seq);
CREATE INDEX decision_customer ON armwise.decision (campaign, hashtextextended(customer, 0));
CREATE TABLE armwise.outcome (
  campaign integer NOT NULL,
  seq      bigint NOT NULL,          -- the entry, whose kind says what it means
  number   bigint NOT NULL,
  decision bigint NOT NULL,
  reward   double precision,         -- NULL: undelivered
  PRIMARY KEY (campaign, seq, number)
);
CREATE INDEX outcome_decision ON armwise.outcome (campaign, decision, seq);
CREATE TABLE armwise.original (
  campaign    integer NOT NULL,
  decision    bigint NOT NULL,
  seq         bigint NOT NULL,
  columns     text NOT NULL,         -- JSON: a text or null for each column
  probability double precision,
  PRIMARY KEY (campaign, decision)
);
CREATE INDEX original_seq ON armwise.original (campaign, seq);
CREATE TABLE armwise.arms (campaign integer NOT NULL, seq bigint NOT NULL, bytes bytea NOT NULL, PRIMARY KEY (campaign, seq));
CREATE TABLE armwise.sums (
  campaign integer NOT NULL, segment bigint NOT NULL, bytes bytea NOT NULL, PRIMARY KEY (campaign, segment));
CREATE TABLE armwise.settled (
  campaign integer NOT NULL, segment bigint NOT NULL, bytes bytea NOT NULL, PRIMARY KEY (campaign, segment));
CREATE TABLE armwise.checkpoint (
  campaign integer PRIMARY KEY, seq bigint NOT NULL, state bytea NOT NULL, model bytea NOT NULL);
CREATE FUNCTION armwise.only_grows() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  RAISE EXCEPTION 'the journal only grows';
END $$;
CREATE FUNCTION armwise.given_up() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE own bigint; BEGIN
  own := (to_jsonb(OLD) ->> TG_ARGV[0])::bigint >> 32;
  IF own = 0 OR NOT EXISTS (SELECT 1 FROM armwise.entry WHERE campaign = OLD.campaign AND kind = 'compact' AND round >= own) THEN
    RAISE EXCEPTION 'the journal only grows';
  END IF;
  RETURN OLD;
END $$;
CREATE TRIGGER entry_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON armwise.entry EXECUTE FUNCTION armwise.only_grows();
CREATE TRIGGER arms_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON armwise.arms EXECUTE FUNCTION armwise.only_grows();
CREATE TRIGGER decision_stays BEFORE UPDATE OR TRUNCATE ON armwise.decision EXECUTE FUNCTION armwise.only_grows();
CREATE TRIGGER outcome_stays BEFORE UPDATE OR TRUNCATE ON armwise.outcome EXECUTE FUNCTION armwise.only_grows();
CREATE TRIGGER original_stays BEFORE UPDATE OR TRUNCATE ON armwise.original EXECUTE FUNCTION armwise.only_grows();
CREATE TRIGGER decision_kept BEFORE DELETE ON armwise.decision FOR EACH ROW EXECUTE FUNCTION armwise.given_up('id');
CREATE TRIGGER outcome_kept BEFORE DELETE ON armwise.outcome FOR EACH ROW EXECUTE FUNCTION armwise.given_up('decision');
CREATE TRIGGER original_kept BEFORE DELETE ON armwise.original FOR EACH ROW EXECUTE FUNCTION armwise.given_up('decision');
";

const TWO: &str = "
CREATE TABLE armwise.numbers (       -- numbers of rounds that were given to a replica
  campaign integer PRIMARY KEY, next bigint NOT NULL);
CREATE TABLE armwise.lease (         -- who does what is due by the clock
  campaign integer PRIMARY KEY,
  holder   text NOT NULL,
  epoch    bigint NOT NULL,          -- one more whenever another takes it
  until    timestamptz NOT NULL
);
CREATE TABLE armwise.token (name text PRIMARY KEY, body text NOT NULL);
";

const THREE: &str = "
ALTER TABLE armwise.outcome ADD COLUMN examined double precision; -- with which the arm was looked at, below 1; NULL: it was
";

/// Has programs refuse that would not know what an answer says: it goes out with the first one, in the same transaction.
pub(super) fn needs_examined() -> Insert {
    let sql = "UPDATE armwise.schema SET oldest = $1 WHERE oldest < $1";
    Insert::new(sql).with(KNOWS_EXAMINED, Type::INT4)
}

/// A version after this one.
struct Next {
    step: &'static str,
    /// Whether programs of this version may use its tables.
    still: bool,
}

static NEXT: OnceLock<Next> = OnceLock::new();

/// Has this process be a program of the next version, whose tables have one more step. It is for one program, which shows
/// what replicas of two versions do side by side; no command calls it.
#[doc(hidden)]
pub fn be_the_next_version(step: &'static str, still: bool) {
    let _ = NEXT.set(Next { step, still });
}

/// The version of the tables that this process makes.
pub(super) fn version() -> i32 {
    VERSION + i32::from(NEXT.get().is_some())
}

/// The oldest version of a program that may use them.
fn oldest() -> i32 {
    if NEXT.get().is_some_and(|next| !next.still) { version() } else { OLDEST }
}

/// What a database has.
struct Found {
    version: i32,
    oldest: i32,
}

/// Makes the tables, or brings them to this version; refuses those of a version that this program may not use.
pub(super) fn prepare(link: &Link, path: &Path) -> Result<(), Error> {
    for _ in 0..4 {
        match found(link).map_err(|trouble| trouble.error(path))? {
            Some(Found { version, oldest }) if version >= self::version() || oldest > self::version() => {
                return usable(path, version, oldest);
            }
            older => match step_up(link, older.map_or(0, |found| found.version)) {
                Ok(()) => {}
                // Another one was faster: look again.
                Err(trouble)
                    if trouble.code().is_some_and(|code| ["42P06", "42P07", "23505"].contains(&code.code())) => {}
                Err(trouble) => return Err(trouble.error(path)),
            },
        }
    }
    Err(Error::Unavailable { path: path.to_owned(), problem: "its tables are being made by somebody else".to_owned() })
}

/// Refuses tables that this program may not use, and tells that there are none by [`Error::NoCampaign`].
pub(super) fn check(link: &Link, path: &Path) -> Result<(), Error> {
    match found(link).map_err(|trouble| trouble.error(path))? {
        None => Err(Error::NoCampaign { path: path.to_owned() }),
        Some(Found { version, oldest }) => {
            usable(path, version, oldest)?;
            if version < self::version() {
                // A reader changes nothing.
                return Err(Error::OldSchema { path: path.to_owned(), version: version.unsigned_abs() });
            }
            Ok(())
        }
    }
}

/// Refuses tables that need a newer program.
pub(super) fn usable(path: &Path, version: i32, oldest: i32) -> Result<(), Error> {
    let known = self::version();
    if oldest > known {
        return Err(Error::NewerSchema { path: path.to_owned(), version, oldest, known });
    }
    Ok(())
}

fn found(link: &Link) -> Result<Option<Found>, Trouble> {
    let there = link.ask("SELECT to_regclass('armwise.schema') IS NOT NULL", &[])?;
    if !there.first().is_some_and(|row| row.get(0)) {
        return Ok(None);
    }
    let rows = link.ask("SELECT version, oldest FROM armwise.schema", &[])?;
    Ok(rows.first().map(|row| Found { version: row.get(0), oldest: row.get(1) }))
}

/// From a version to this one, in one transaction.
fn step_up(link: &Link, from: i32) -> Result<(), Trouble> {
    let made = (|| {
        link.run("BEGIN; SET LOCAL lock_timeout = '10s'")?;
        if from > 0 {
            // Appends in flight are finished first, and only one steps up; whoever comes second finds it done.
            link.run("LOCK TABLE armwise.campaign IN EXCLUSIVE MODE")?;
            let rows = link.ask("SELECT version FROM armwise.schema FOR UPDATE", &[])?;
            if rows.first().map(|row| row.get::<_, i32>(0)) != Some(from) {
                return link.run("ROLLBACK");
            }
        }
        let next = NEXT.get().map(|next| next.step);
        for step in STEPS.into_iter().chain(next).skip(usize::try_from(from).unwrap_or(0)) {
            link.run(step)?;
        }
        let sql = if from == 0 {
            "INSERT INTO armwise.schema (version, oldest) VALUES ($1, $2)"
        } else {
            "UPDATE armwise.schema SET version = $1, oldest = greatest(oldest, $2)"
        };
        link.ask(sql, &[(&version(), Type::INT4), (&oldest(), Type::INT4)])?;
        link.run("COMMIT")
    })();
    if made.is_err() {
        let _ = link.run("ROLLBACK");
    }
    made
}
