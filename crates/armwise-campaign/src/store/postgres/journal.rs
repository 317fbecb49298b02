//! The journal's questions, a statement each. What is asked for several entries or rounds at once is in `fetch.rs`.

use super::{Access, Postgres, link::Value, range, rows, schema};
use crate::{
    Error,
    core::{
        Ahead, Check, EachDecision, EachEntry, Entry, Head, Heard, Journal, Kept, Kind, Named, News, Original, Outcome,
        Rows, Seal, Wanted,
    },
};
use std::path::Path;
use tokio_postgres::{Row, types::Type};

/// How many rows of a large table are read at once.
const PART: i64 = 5000;
const ROWS: usize = 5000;

impl Journal for Postgres {
    fn path(&self) -> &Path {
        self.address.shown()
    }

    fn append(
        &mut self,
        against: &Head,
        rows: &[Rows<'_>],
        seal: Seal<'_>,
        check: Check<'_>,
    ) -> Result<Vec<Entry>, Error> {
        self.append_all(against, rows, seal, check)
    }

    fn head(&self) -> Result<Head, Error> {
        let sql = "SELECT c.seq, c.head, s.version, s.oldest FROM armwise.campaign c, armwise.schema s WHERE c.id = $1";
        match self.ask(sql, &[(&self.number(), Type::INT4)])?.first() {
            None => Ok(Head::none()),
            Some(row) => {
                schema::usable(self.path(), row.get(2), row.get(3))?;
                self.head_of(row)
            }
        }
    }

    fn news(&self, after: u64) -> Result<News, Error> {
        self.fetch(after)
    }

    fn is_shared(&self) -> bool {
        self.access == Access::Write
    }

    fn ahead(&self, wanted: &Wanted) -> Result<Option<Ahead>, Error> {
        self.fetch_ahead(wanted).map(Some)
    }

    fn begin_turn(&mut self, after: u64) -> Result<Option<(Head, News)>, Error> {
        self.take_turn(after)
    }

    fn end_turn(&mut self) -> Result<(), Error> {
        self.give_turn();
        Ok(())
    }

    fn numbers(&mut self, from: u64, count: u64) -> Result<std::ops::Range<u64>, Error> {
        self.reserve(from, count)
    }

    fn duty(&mut self, on: bool) -> Result<bool, Error> {
        self.take_duty(on)
    }

    fn entry(&self, seq: u64) -> Result<Option<Entry>, Error> {
        self.one_entry("seq = $2", &[(&seq.cast_signed(), Type::INT8)])
    }

    fn keyed(&self, key: &str) -> Result<Option<Entry>, Error> {
        self.one_entry("key = $2", &[(&key, Type::TEXT)])
    }

    fn each_entry(&self, seq: u64, take: EachEntry<'_>) -> Result<(), Error> {
        let sql =
            format!("SELECT {} FROM armwise.entry WHERE campaign = $1 AND seq > $2 ORDER BY seq LIMIT $3", rows::ENTRY);
        let mut after = i64::try_from(seq).unwrap_or(i64::MAX);
        loop {
            let values: [Value<'_>; 3] = [(&self.number(), Type::INT4), (&after, Type::INT8), (&PART, Type::INT8)];
            let found = self.collect(&sql, &values, rows::read_entry)?;
            let is_last = found.len() < ROWS;
            for entry in found {
                after = entry.seq.cast_signed();
                take(entry)?;
            }
            if is_last {
                return Ok(());
            }
        }
    }

    fn of_kind(&self, kind: Kind) -> Result<Vec<Entry>, Error> {
        let sql = format!(
            "SELECT {} FROM armwise.entry WHERE campaign = $1 AND kind = $2 AND kind NOT IN ('choose', 'learn') ORDER BY seq",
            rows::ENTRY
        );
        self.collect(&sql, &[(&self.number(), Type::INT4), (&kind.name(), Type::TEXT)], rows::read_entry)
    }

    fn last_of_kind(&self, kind: Kind, until: u64) -> Result<Option<Entry>, Error> {
        let until = i64::try_from(until).unwrap_or(i64::MAX);
        let condition = "kind = $2 AND kind NOT IN ('choose', 'learn') AND seq <= $3 ORDER BY seq DESC LIMIT 1";
        self.one_entry(condition, &[(&kind.name(), Type::TEXT), (&until, Type::INT8)])
    }

    fn kept(&self) -> Result<Option<Kept>, Error> {
        let sql = "SELECT seq, state, model FROM armwise.checkpoint WHERE campaign = $1";
        let rows = self.ask(sql, &[(&self.number(), Type::INT4)])?;
        Ok(rows.first().map(|row| Kept {
            seq: row.get::<_, i64>(0).cast_unsigned(),
            state: row.get(1),
            model: row.get(2),
        }))
    }

    fn sums(&self, segment: u64) -> Result<Option<Vec<u8>>, Error> {
        self.bytes("sums", "segment", segment)
    }

    fn settled(&self, segment: u64) -> Result<Option<Vec<u8>>, Error> {
        self.bytes("settled", "segment", segment)
    }

    fn arms(&self, seq: u64) -> Result<Option<Vec<u8>>, Error> {
        self.bytes("arms", "seq", seq)
    }

    fn each_decision(&self, round: u64, take: EachDecision<'_>) -> Result<(), Error> {
        let sql = format!(
            "SELECT {} FROM armwise.decision WHERE campaign = $1 AND id >= $2 AND id < $3 ORDER BY id LIMIT $4",
            rows::DECISION
        );
        let [mut from, end] = range(round);
        loop {
            let values: [Value<'_>; 4] =
                [(&self.number(), Type::INT4), (&from, Type::INT8), (&end, Type::INT8), (&PART, Type::INT8)];
            let found = self.collect(&sql, &values, rows::read_decision)?;
            let is_last = found.len() < ROWS;
            for (seq, sent) in found {
                from = sent.id.key() + 1;
                take(seq, sent)?;
            }
            if is_last {
                return Ok(());
            }
        }
    }

    fn decisions_of(&self, customer: &str) -> Result<Vec<Named>, Error> {
        if rows::has_nul(std::iter::once(customer)) {
            return Ok(Vec::new());
        }
        let sql = "SELECT id, customer, promotion FROM armwise.decision WHERE campaign = $1 \
                   AND hashtextextended(customer, 0) = hashtextextended($2, 0) AND customer = $2 ORDER BY id";
        self.collect(sql, &[(&self.number(), Type::INT4), (&customer, Type::TEXT)], rows::read_named)
    }

    fn outcomes(&self, seq: u64) -> Result<Vec<Outcome>, Error> {
        let sql = "SELECT seq, number, decision, reward, examined FROM armwise.outcome WHERE campaign = $1 AND seq = $2 \
                   ORDER BY number";
        let values: [Value<'_>; 2] = [(&self.number(), Type::INT4), (&seq.cast_signed(), Type::INT8)];
        self.numbered(self.collect(sql, &values, rows::read_outcome)?)
    }

    fn heard(&self, round: u64) -> Result<Vec<Heard>, Error> {
        let sql = "SELECT o.seq, e.kind, o.decision, o.reward, o.examined FROM armwise.outcome o \
                   JOIN armwise.entry e ON e.campaign = o.campaign AND e.seq = o.seq \
                   WHERE o.campaign = $1 AND o.decision >= $2 AND o.decision < $3 ORDER BY o.seq, o.number";
        let [from, end] = range(round);
        let values: [Value<'_>; 3] = [(&self.number(), Type::INT4), (&from, Type::INT8), (&end, Type::INT8)];
        self.collect(sql, &values, rows::read_heard)
    }

    fn originals(&self, round: u64) -> Result<Vec<(u64, Original)>, Error> {
        let sql = "SELECT decision, seq, columns, probability FROM armwise.original \
                   WHERE campaign = $1 AND decision >= $2 AND decision < $3 ORDER BY decision";
        let [from, end] = range(round);
        let values: [Value<'_>; 3] = [(&self.number(), Type::INT4), (&from, Type::INT8), (&end, Type::INT8)];
        self.collect(sql, &values, rows::read_original)
    }

    fn count_originals(&self) -> Result<u64, Error> {
        self.counted("SELECT count(*) FROM armwise.original WHERE campaign = $1", &[(&self.number(), Type::INT4)])
    }

    fn count(&self) -> Result<(u64, u64), Error> {
        let count = |table: &str| {
            let sql = format!("SELECT count(*) FROM armwise.{table} WHERE campaign = $1");
            self.counted(&sql, &[(&self.number(), Type::INT4)])
        };
        Ok((count("decision")?, count("outcome")?))
    }

    fn count_through(&self, round: u64) -> Result<(u64, u64, u64), Error> {
        let (from, end) = (range(1)[0], range(round)[1]);
        let count = |table: &str, id: &str| {
            let sql = format!("SELECT count(*) FROM armwise.{table} WHERE campaign = $1 AND {id} >= $2 AND {id} < $3");
            self.counted(&sql, &[(&self.number(), Type::INT4), (&from, Type::INT8), (&end, Type::INT8)])
        };
        Ok((count("decision", "id")?, count("outcome", "decision")?, count("original", "decision")?))
    }

    fn problems(&self) -> Result<Vec<String>, Error> {
        let mut problems = Vec::new();
        // The row that appends are fenced by must be that of the last entry.
        let head = self.head()?;
        let last = self.one_entry("seq = (SELECT max(seq) FROM armwise.entry WHERE campaign = $1)", &[])?;
        if last.map_or_else(Head::none, |entry| entry.head()) != head {
            problems.push(format!("the campaign's row says that entry {} is the last one, and it is not", head.seq));
        }
        Ok(problems)
    }
}

impl Postgres {
    fn one_entry(&self, condition: &str, values: &[Value<'_>]) -> Result<Option<Entry>, Error> {
        let number = self.number();
        let sql = format!("SELECT {} FROM armwise.entry WHERE campaign = $1 AND {condition}", rows::ENTRY);
        let values: Vec<Value<'_>> = std::iter::once((&number as _, Type::INT4))
            .chain(values.iter().map(|(value, of)| (*value, of.clone())))
            .collect();
        Ok(self.collect(&sql, &values, rows::read_entry)?.into_iter().next())
    }

    fn bytes(&self, table: &str, by: &str, of: u64) -> Result<Option<Vec<u8>>, Error> {
        let sql = format!("SELECT {by}, bytes FROM armwise.{table} WHERE campaign = $1 AND {by} = $2");
        let found =
            self.collect(&sql, &[(&self.number(), Type::INT4), (&of.cast_signed(), Type::INT8)], rows::read_bytes)?;
        Ok(found.into_iter().next().map(|(_, bytes)| bytes))
    }

    fn counted(&self, sql: &str, values: &[Value<'_>]) -> Result<u64, Error> {
        let rows = self.with_link(|link| link.ask_slowly(sql, values))?;
        Ok(rows.first().map_or(0, |row| row.get::<_, i64>(0).cast_unsigned()))
    }

    /// The outcomes of an entry, whose numbers must be 1, 2, 3, ...
    pub(super) fn numbered(&self, found: Vec<(u64, i64, Outcome)>) -> Result<Vec<Outcome>, Error> {
        if let Some((place, (seq, number, _))) = (1_i64..).zip(&found).find(|(place, (_, number, _))| place != number) {
            return Err(self.damaged(format!("outcome {place} of entry {seq} has the number {number}")));
        }
        Ok(found.into_iter().map(|(_, _, outcome)| outcome).collect())
    }

    /// The head in the two first columns of a row.
    pub(super) fn head_of(&self, row: &Row) -> Result<Head, Error> {
        let hash = rows::hash(row.get(1)).map_err(|problem| self.damaged(problem))?;
        Ok(Head { seq: row.get::<_, i64>(0).cast_unsigned(), hash })
    }
}
