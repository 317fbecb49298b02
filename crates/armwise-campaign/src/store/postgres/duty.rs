//! What replicas share beside the journal: numbers for rounds, and the lease of whoever does what is due by the clock.
//!
//! The lease saves work; it is not what keeps the journal whole. Its epoch is compared inside the transaction that writes,
//! so a replica that was paused past its lease cannot write what it decided before.

use super::Postgres;
use crate::{
    Error,
    core::{Journal, Tag},
};
use std::{
    ops::Range,
    sync::{
        OnceLock,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};
use tokio_postgres::types::Type;

/// How long a lease lasts unless it is taken again.
const LEASE: Duration = Duration::from_secs(5);

/// The lease as far as this replica knows.
#[derive(Debug, Default)]
pub(super) struct Duty {
    /// The epoch that every append must still find; 0 while nothing is done by the clock.
    epoch: AtomicI64,
}

/// How long a lease lasts; tests have shorter ones.
fn lease() -> f64 {
    let own = std::env::var("ARMWISE_LEASE_MS").ok().and_then(|text| text.parse::<u64>().ok());
    own.map_or(LEASE, Duration::from_millis).as_secs_f64()
}

/// Who this process is, to people and to other replicas.
fn holder() -> &'static str {
    static ME: OnceLock<String> = OnceLock::new();
    ME.get_or_init(|| {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let host = if host.trim().is_empty() { "a machine" } else { host.trim() };
        format!("{}@{host}/{}", std::process::id(), Tag::new())
    })
}

impl Postgres {
    /// Takes the lease, or takes it again; or ends what is done under it.
    pub(super) fn take_duty(&mut self, on: bool) -> Result<bool, Error> {
        self.duty.epoch.store(0, Ordering::Relaxed);
        if !on {
            return Ok(true);
        }
        let sql = "INSERT INTO armwise.lease VALUES ($1, $2, 1, clock_timestamp() + $3 * interval '1 second') \
                   ON CONFLICT (campaign) DO UPDATE SET holder = excluded.holder, until = excluded.until, \
                   epoch = lease.epoch + CASE WHEN lease.holder = excluded.holder THEN 0 ELSE 1 END \
                   WHERE lease.holder = excluded.holder OR lease.until < clock_timestamp() RETURNING epoch";
        let (number, me, seconds) = (self.known()?, holder(), lease());
        let taken = self.ask_beside(sql, &[(&number, Type::INT4), (&me, Type::TEXT), (&seconds, Type::FLOAT8)])?;
        let epoch = taken.first().map_or(0, |row| row.get(0));
        self.duty.epoch.store(epoch, Ordering::Relaxed);
        Ok(epoch > 0)
    }

    /// Refuses an append under a lease that has gone to another. The row stays as it is until the commit.
    pub(super) fn on_duty(&self, number: i32) -> Result<(), Error> {
        let epoch = self.duty.epoch.load(Ordering::Relaxed);
        if epoch == 0 {
            return Ok(());
        }
        let sql = "SELECT epoch, holder FROM armwise.lease WHERE campaign = $1 FOR SHARE";
        match self.ask(sql, &[(&number, Type::INT4)])?.first() {
            Some(row) if row.get::<_, i64>(0) == epoch => Ok(()),
            other => {
                let holder = other.map_or_else(|| "nobody".to_owned(), |row| row.get(1));
                Err(Error::Locked { path: self.path().to_owned(), holder: format!("the replica {holder}") })
            }
        }
    }

    /// Numbers for rounds that nobody else gets. Those that are not used are left out.
    pub(super) fn reserve(&self, from: u64, count: u64) -> Result<Range<u64>, Error> {
        let sql = "INSERT INTO armwise.numbers VALUES ($1, $2 + $3) \
                   ON CONFLICT (campaign) DO UPDATE SET next = greatest(numbers.next, $2) + $3 RETURNING next";
        let (number, first, many) = (self.known()?, from.cast_signed(), count.cast_signed());
        let found = self.ask_beside(sql, &[(&number, Type::INT4), (&first, Type::INT8), (&many, Type::INT8)])?;
        let end = found.first().map_or(from, |row| row.get::<_, i64>(0).cast_unsigned());
        Ok(end.saturating_sub(count)..end)
    }
}
