//! How entries get into the database: all in one transaction, behind the fence.
//!
//! How the fence is taken is in `turn.rs`; what is done where nobody knows whether a commit happened, in `unknown.rs`.

use super::{
    Postgres,
    back::ReadBack,
    fetch::Asking,
    is_fenced,
    link::{Asked, Value},
    rows::{self, Insert},
    schema,
    turn::Open,
};
use crate::{
    Error,
    core::{Check, Command, Entry, Flaw, Head, Journal, Kind, Record, Rows, Seal, failpoint},
};
use std::collections::HashSet;
use tokio_postgres::{Row, types::Type};

/// With more rows, it may take longer until everything about them is ready.
const LARGE: usize = 5000;
/// One of these keys, if an entry has it.
const KEYS: &str = "SELECT key FROM armwise.entry WHERE campaign = $1 AND key = ANY($2) LIMIT 1";
/// The most rows that are written in one step with everything else.
const SMALL: usize = 4000;

impl Postgres {
    pub(super) fn append_all(
        &self,
        against: &Head,
        own: &[Rows<'_>],
        seal: Seal<'_>,
        check: Check<'_>,
    ) -> Result<Vec<Entry>, Error> {
        let (open, number) = self.begin(against)?;
        failpoint("begun");
        let rows = own.iter().map(|own| own.decisions.len() + own.outcomes.len() + own.originals.len()).sum::<usize>();
        if rows <= SMALL {
            return self.append_at_once(open, number, against, own, seal, check);
        }
        if own.iter().map(|own| own.decisions.len() + own.outcomes.len()).sum::<usize>() > LARGE {
            self.with_link(|link| link.run("SET LOCAL idle_in_transaction_session_timeout = '2min'"))?;
        }
        self.insert_all(&rows::inserts(number, own).map_err(Error::Usage)?)?;
        failpoint("rows-written");
        let records = seal()?;
        let Some(last) = records.last().map(|record| record.entry.head()) else { return Ok(Vec::new()) };
        self.keys_are_new(&records)?;
        self.insert_all(&written(number, &records)?)?;
        self.give_up(number, &records)?;
        self.go_on(number, against, &last)?;
        failpoint("entry-written");
        let asking = Asking::of(number, against.seq, Some(last.seq));
        let found = self.with_link(|link| link.ask_all(&asking.asked()))?;
        self.finish(open, against, own, &found, records, check)
    }

    /// What is small goes out in one step, with the comparison of heads and the reading back right behind it: whoever waits
    /// for the campaign's row waits the less.
    fn append_at_once(
        &self,
        open: Open<'_>,
        number: i32,
        against: &Head,
        own: &[Rows<'_>],
        seal: Seal<'_>,
        check: Check<'_>,
    ) -> Result<Vec<Entry>, Error> {
        let mut inserts = rows::inserts(number, own).map_err(Error::Usage)?;
        failpoint("rows-written");
        let records = seal()?;
        let Some(last) = records.last().map(|record| record.entry.head()) else { return Ok(Vec::new()) };
        let keys = self.keys_of(&records)?;
        if records.iter().any(|record| record.entry.kind == Kind::Compact) {
            // It takes rows out, which may take long.
            self.insert_all(&inserts)?;
            self.insert_all(&written(number, &records)?)?;
            self.give_up(number, &records)?;
            inserts = Vec::new();
        } else {
            inserts.extend(written(number, &records)?);
        }
        let (swap, asking) = (Swap::of(number, against, &last), Asking::of(number, against.seq, Some(last.seq)));
        let mut asked = vec![Asked { sql: KEYS, values: vec![(&number, Type::INT4), (&keys, Type::TEXT_ARRAY)] }];
        asked.extend(inserts.iter().map(Insert::asked));
        asked.push(swap.asked());
        let written = asked.len();
        asked.extend(asking.asked());
        let mut found = Vec::with_capacity(asked.len());
        let answers = self.with_link(|link| link.ask_each(&asked))?;
        for (place, answer) in answers.into_iter().enumerate() {
            let rows = answer.map_err(|trouble| trouble.error(self.path()))?;
            match rows.first() {
                Some(row) if place == 0 && is_fenced() => return Err(self.used(row.get(0))),
                None if place + 1 == written => return Err(self.moved(against, 0)),
                _ => found.push(rows),
            }
        }
        failpoint("entry-written");
        self.finish(open, against, own, &found[written..], records, check)
    }

    /// Reads back what was written, and commits.
    fn finish(
        &self,
        open: Open<'_>,
        against: &Head,
        own: &[Rows<'_>],
        found: &[Vec<Row>],
        records: Vec<Record>,
        check: Check<'_>,
    ) -> Result<Vec<Entry>, Error> {
        let Some(last) = records.last().map(|record| record.entry.head()) else { return Ok(Vec::new()) };
        if is_fenced() {
            check(&ReadBack::of(self, self.news_of(found)?, own)?)?;
        }
        failpoint(if against.seq == 0 { "init-before-commit" } else { "before-commit" });
        self.commit(open, against, &last)?;
        failpoint("committed");
        Ok(records.into_iter().map(|record| record.entry).collect())
    }

    /// Writes rows, as many statements at once as there are.
    fn insert_all(&self, inserts: &[Insert]) -> Result<(), Error> {
        for part in inserts.chunks(8) {
            let asked: Vec<Asked<'_>> = part.iter().map(Insert::asked).collect();
            self.with_link(|link| link.ask_all(&asked).map(drop))?;
        }
        Ok(())
    }

    fn used(&self, key: &str) -> Error {
        Error::KeyUsed { path: self.path().to_owned(), key: key.to_owned() }
    }

    /// The keys of entries, which must differ.
    fn keys_of<'a>(&self, records: &'a [Record]) -> Result<Vec<&'a str>, Error> {
        let keys: Vec<&str> = records.iter().filter_map(|record| record.entry.key.as_deref()).collect();
        let mut seen = HashSet::new();
        match keys.iter().find(|key| !seen.insert(**key)) {
            Some(twice) => Err(self.used(twice)),
            None => Ok(keys),
        }
    }

    fn keys_are_new(&self, records: &[Record]) -> Result<(), Error> {
        let keys = self.keys_of(records)?;
        if keys.is_empty() {
            return Ok(());
        }
        // Nobody else can write one now.
        let found = self.ask(KEYS, &[(&self.number(), Type::INT4), (&keys, Type::TEXT_ARRAY)])?;
        match found.first() {
            Some(row) if is_fenced() => Err(self.used(row.get(0))),
            _ => Ok(()),
        }
    }

    /// Takes rows out that an entry gives up.
    fn give_up(&self, number: i32, records: &[Record]) -> Result<(), Error> {
        for entry in records.iter().map(|record| &record.entry).filter(|entry| entry.kind == Kind::Compact) {
            let Some(round) = entry.round else { continue };
            let (from, end) = (super::range(1)[0], super::range(round)[1]);
            for (table, id) in [("decision", "id"), ("outcome", "decision"), ("original", "decision")] {
                let sql = format!("DELETE FROM armwise.{table} WHERE campaign = $1 AND {id} >= $2 AND {id} < $3");
                let values: [Value<'_>; 3] = [(&number, Type::INT4), (&from, Type::INT8), (&end, Type::INT8)];
                self.with_link(|link| link.ask_slowly(&sql, &values))?;
            }
        }
        Ok(())
    }

    /// Compares and swaps the head.
    fn go_on(&self, number: i32, against: &Head, last: &Head) -> Result<(), Error> {
        let swap = Swap::of(number, against, last);
        let found = self.with_link(|link| link.ask_all(&[swap.asked()]))?;
        if found.first().is_some_and(|rows| rows.len() == 1) { Ok(()) } else { Err(self.moved(against, 0)) }
    }
}

/// The statement that compares the head and swaps it: without it nothing that was written counts.
struct Swap {
    sql: String,
    number: i32,
    last: (i64, String),
    against: (i64, String),
    version: i32,
}

impl Swap {
    fn of(number: i32, against: &Head, last: &Head) -> Self {
        let fence = if is_fenced() { "AND seq = $4 AND head = $5" } else { "AND $4 >= 0 AND $5 <> ''" };
        // Tables that were changed since the row was locked are seen here, and cannot be changed from here on.
        let sql = format!(
            "UPDATE armwise.campaign SET seq = $2, head = $3 WHERE id = $1 {fence} \
             AND (SELECT oldest FROM armwise.schema) <= $6 RETURNING seq"
        );
        let of = |head: &Head| (head.seq.cast_signed(), head.hash.to_string());
        Self { sql, number, last: of(last), against: of(against), version: schema::version() }
    }

    fn asked(&self) -> Asked<'_> {
        let values: Vec<Value<'_>> = vec![
            (&self.number, Type::INT4),
            (&self.last.0, Type::INT8),
            (&self.last.1, Type::TEXT),
            (&self.against.0, Type::INT8),
            (&self.against.1, Type::TEXT),
            (&self.version, Type::INT4),
        ];
        Asked { sql: &self.sql, values }
    }
}

/// Whether an entry speaks of probabilities with which arms were looked at, so that older programs cannot read it. The
/// probabilities themselves are in the rows ([`rows::inserts`]).
fn speaks_of_examined(entry: &Entry) -> bool {
    // Most entries are not taken apart for this.
    entry.body.contains("examined")
        && match entry.command() {
            Ok(Command::Init(setup)) => setup.config.tables.examined_column.is_some(),
            Ok(Command::Amend(rules)) => rules.config.tables.examined_column.is_some(),
            Ok(Command::Learn(told)) => told.aside.iter().any(|put| put.flaw == Flaw::BadExamined),
            _ => false,
        }
}

/// The statements that write entries and what is kept beside them.
fn written(number: i32, records: &[Record]) -> Result<Vec<Insert>, Error> {
    let entries: Vec<Entry> = records.iter().map(|record| record.entry.clone()).collect();
    if rows::has_nul(entries.iter().flat_map(|entry| [entry.body.as_str(), entry.changes.as_str()])) {
        return Err(Error::Usage(rows::NUL.to_owned()));
    }
    let mut all = vec![rows::insert_entries(number, &entries)];
    all.extend(entries.iter().any(speaks_of_examined).then(schema::needs_examined));
    let sums: Vec<(u64, Vec<u8>)> = records.iter().flat_map(|record| record.sums.iter().cloned()).collect();
    let settled: Vec<(u64, Vec<u8>)> = records.iter().flat_map(|record| record.settled.iter().cloned()).collect();
    all.extend(rows::replace_bytes(number, "sums", &sums));
    all.extend(rows::replace_bytes(number, "settled", &settled));
    if let Some(kept) = records.iter().rev().find_map(|record| record.kept.as_ref()) {
        let sql = "INSERT INTO armwise.checkpoint VALUES ($1, $2, $3, $4) ON CONFLICT (campaign) \
                   DO UPDATE SET seq = excluded.seq, state = excluded.state, model = excluded.model";
        let insert = Insert::new(sql).with(number, Type::INT4).with(kept.seq.cast_signed(), Type::INT8);
        all.push(insert.with(kept.state.clone(), Type::BYTEA).with(kept.model.clone(), Type::BYTEA));
    }
    Ok(all)
}
