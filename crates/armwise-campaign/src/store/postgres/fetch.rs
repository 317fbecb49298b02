//! What a journal has after an entry, in as few statements as it takes, all of them sent at once.

use super::{
    Postgres,
    link::{Asked, Value},
    rows,
};
use crate::{
    Error,
    core::{Ahead, Kind, News, Outcome, Wanted},
};
use std::collections::BTreeMap;
use tokio_postgres::{Row, types::Type};

/// The most entries at once.
const MOST: i64 = 4096;
/// With more rows in one entry, they are not read along: whoever needs them reads them.
const LARGE: i64 = 20_000;
/// From the first id of a round to that of the next.
const ROUND: i64 = 1 << 32;

/// The statements that ask for what came after an entry.
pub(super) struct Asking {
    number: i32,
    after: i64,
    until: i64,
    texts: [String; 3],
}

impl Asking {
    /// After one entry, up to another.
    pub(super) fn of(number: i32, after: u64, until: Option<u64>) -> Self {
        let after = after.cast_signed();
        let until = until.map_or_else(|| after.saturating_add(MOST), u64::cast_signed);
        let between = "campaign = $1 AND seq > $2 AND seq <= $3";
        // Rows of an entry are committed with it, so whatever comes between two statements is more, never less.
        let few = format!("(SELECT coalesce(sum(rows), 0) FROM armwise.entry WHERE {between}) <= $4");
        let entries = format!("SELECT {} FROM armwise.entry WHERE {between} AND $4 > 0 ORDER BY seq", rows::ENTRY);
        let decisions =
            format!("SELECT {} FROM armwise.decision WHERE {between} AND {few} ORDER BY id", rows::DECISION);
        let outcomes = format!(
            "SELECT seq, number, decision, reward, examined FROM armwise.outcome WHERE {between} AND {few} ORDER BY seq, number"
        );
        Self { number, after, until, texts: [entries, decisions, outcomes] }
    }

    /// As many statements as [`Postgres::news_of`] takes answers.
    pub(super) fn asked(&self) -> Vec<Asked<'_>> {
        let values = || -> Vec<Value<'_>> {
            vec![(&self.number, Type::INT4), (&self.after, Type::INT8), (&self.until, Type::INT8), (&LARGE, Type::INT8)]
        };
        self.texts.iter().map(|sql| Asked { sql, values: values() }).collect()
    }
}

impl Postgres {
    /// The entries after one, with their decisions and outcomes unless there are very many.
    pub(super) fn fetch(&self, after: u64) -> Result<News, Error> {
        let asking = Asking::of(self.number(), after, None);
        let found = self.with_link(|link| link.ask_all(&asking.asked()))?;
        self.news_of(&found)
    }

    /// What the answers to [`Asking::asked`] tell, with the newest sums of what was summed anew.
    pub(super) fn news_of(&self, found: &[Vec<Row>]) -> Result<News, Error> {
        let entries = self.taken(&found[0], rows::read_entry)?;
        let last = entries.last().map_or(0, |entry| entry.seq);
        let mut news = News { entries, ..News::default() };
        for (seq, sent) in self.taken(&found[1], rows::read_decision)? {
            if seq <= last {
                news.decisions.entry(seq).or_default().push(sent);
            }
        }
        let mut by_entry: BTreeMap<u64, Vec<(u64, i64, Outcome)>> = BTreeMap::new();
        for (seq, number, outcome) in self.taken(&found[2], rows::read_outcome)? {
            if seq <= last {
                by_entry.entry(seq).or_default().push((seq, number, outcome));
            }
        }
        for (seq, own) in by_entry {
            news.outcomes.insert(seq, self.numbered(own)?);
        }
        self.fetch_sums(&mut news)?;
        Ok(news)
    }

    /// The decisions and outcomes of rounds, and the entries with one of some keys, in one step.
    pub(super) fn fetch_ahead(&self, wanted: &Wanted) -> Result<Ahead, Error> {
        let (number, firsts) = (self.number(), wanted.rounds.iter().map(|&round| super::range(round)[0]));
        let firsts: Vec<i64> = firsts.collect();
        let decisions = format!(
            "SELECT {} FROM unnest($2::bigint[]) AS round (first) JOIN armwise.decision \
             ON campaign = $1 AND id >= first AND id < first + {ROUND} ORDER BY id",
            rows::DECISION
        );
        let heard = format!(
            "SELECT o.seq, e.kind, o.decision, o.reward, o.examined FROM unnest($2::bigint[]) AS round (first) \
             JOIN armwise.outcome o ON o.campaign = $1 AND o.decision >= first AND o.decision < first + {ROUND} \
             JOIN armwise.entry e ON e.campaign = o.campaign AND e.seq = o.seq ORDER BY o.seq, o.number"
        );
        let keyed = format!("SELECT {} FROM armwise.entry WHERE campaign = $1 AND key = ANY($2)", rows::ENTRY);
        let rounds = || -> Vec<Value<'_>> { vec![(&number, Type::INT4), (&firsts, Type::INT8_ARRAY)] };
        let keys: Vec<Value<'_>> = vec![(&number, Type::INT4), (&wanted.keys, Type::TEXT_ARRAY)];
        let (mut asked, mut ahead) = (Vec::new(), Ahead::default());
        if !firsts.is_empty() {
            asked.push(Asked { sql: &decisions, values: rounds() });
            asked.push(Asked { sql: &heard, values: rounds() });
        }
        if !wanted.keys.is_empty() {
            asked.push(Asked { sql: &keyed, values: keys });
        }
        let mut found = self.with_link(|link| link.ask_all(&asked))?.into_iter();
        if !firsts.is_empty() {
            for (seq, sent) in self.taken(&found.next().unwrap_or_default(), rows::read_decision)? {
                ahead.decisions.entry(sent.id.round).or_default().push((seq, sent));
            }
            for heard in self.taken(&found.next().unwrap_or_default(), rows::read_heard)? {
                ahead.heard.entry(heard.outcome.decision.round).or_default().push(heard);
            }
        }
        ahead.keyed = self.taken(&found.next().unwrap_or_default(), rows::read_entry)?;
        Ok(ahead)
    }

    /// The newest sums of the segments that were summed anew.
    fn fetch_sums(&self, news: &mut News) -> Result<(), Error> {
        let changed = |entry: &crate::core::Entry| -> Vec<i64> {
            if !matches!(entry.kind, Kind::Fold) {
                return Vec::new();
            }
            let changes: crate::core::Changes = serde_json::from_str(&entry.changes).unwrap_or_default();
            changes.sums.iter().map(|change| change.segment.cast_signed()).collect()
        };
        let mut segments: Vec<i64> = news.entries.iter().flat_map(changed).collect();
        segments.sort_unstable();
        segments.dedup();
        if segments.is_empty() {
            return Ok(());
        }
        let sql = "SELECT segment, bytes FROM armwise.sums WHERE campaign = $1 AND segment = ANY($2)";
        let values: [Value<'_>; 2] = [(&self.number(), Type::INT4), (&segments, Type::INT8_ARRAY)];
        news.sums = self.collect(sql, &values, rows::read_bytes)?.into_iter().collect();
        Ok(())
    }
}
