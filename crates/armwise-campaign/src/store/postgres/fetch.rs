//! What a journal has after an entry, in as few statements as it takes, all of them sent at once.

use super::{
    Postgres,
    link::{Asked, Value},
    rows,
};
use crate::{
    Error,
    core::{Kind, News, Outcome},
};
use std::collections::BTreeMap;
use tokio_postgres::types::Type;

/// The most entries at once.
const MOST: i64 = 4096;
/// With more rows in one entry, they are not read along: whoever needs them reads them.
const LARGE: i64 = 20_000;

impl Postgres {
    /// The entries after one, up to another, with their decisions and outcomes unless there are very many.
    pub(super) fn fetch(&self, after: u64, until: Option<u64>) -> Result<News, Error> {
        let (number, after) = (self.number(), after.cast_signed());
        let until = until.map_or_else(|| after.saturating_add(MOST), u64::cast_signed);
        let values = || -> Vec<Value<'_>> {
            vec![(&number, Type::INT4), (&after, Type::INT8), (&until, Type::INT8), (&LARGE, Type::INT8)]
        };
        let between = "campaign = $1 AND seq > $2 AND seq <= $3";
        // Rows of an entry are committed with it, so whatever comes between two statements is more, never less.
        let few = format!("(SELECT coalesce(sum(rows), 0) FROM armwise.entry WHERE {between}) <= $4");
        let entries = format!("SELECT {} FROM armwise.entry WHERE {between} AND $4 > 0 ORDER BY seq", rows::ENTRY);
        let decisions =
            format!("SELECT {} FROM armwise.decision WHERE {between} AND {few} ORDER BY id", rows::DECISION);
        let outcomes = format!(
            "SELECT seq, number, decision, reward FROM armwise.outcome WHERE {between} AND {few} ORDER BY seq, number"
        );
        let found = self.with_link(|link| {
            link.ask_all(&[
                Asked { sql: &entries, values: values() },
                Asked { sql: &decisions, values: values() },
                Asked { sql: &outcomes, values: values() },
            ])
        })?;
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
