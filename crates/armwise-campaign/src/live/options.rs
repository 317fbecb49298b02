//! How a campaign is served.

use std::{
    fmt,
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime},
};

/// Tells the time.
pub type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// Takes what was measured, in seconds or as a count, in the thread that measured it: it must be quick.
pub type Observe = Arc<dyn Fn(Measured, f64) + Send + Sync>;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Measured {
    /// How long a choice took, in seconds.
    Choose,
    /// How long a command waited until the writer took it, in seconds.
    Queue,
    /// How long a commit took, in seconds.
    Commit,
    /// How many commands a commit had.
    Batch,
    /// How long it took until new rewards were in the model, from the first of them on, in seconds.
    Behind,
    /// How long learning took, in seconds.
    Learn,
    /// An append that came too late, since another server was faster.
    Conflict,
    /// How many entries of other servers were taken over at once.
    Followed,
    /// How long that took, in seconds.
    Follow,
}

impl Measured {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Choose,
        Self::Queue,
        Self::Commit,
        Self::Batch,
        Self::Behind,
        Self::Learn,
        Self::Conflict,
        Self::Followed,
        Self::Follow,
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Choose => "choose",
            Self::Queue => "queue",
            Self::Commit => "commit",
            Self::Batch => "batch",
            Self::Behind => "behind",
            Self::Learn => "learn",
            Self::Conflict => "conflict",
            Self::Followed => "followed",
            Self::Follow => "follow",
        }
    }
}

/// Whether decisions are written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Journalling {
    /// They are: an answer means that it is on the disk.
    #[default]
    On,
    /// They are not, so that a benchmark can tell what writing costs. Nothing is kept.
    OffForBenchmarks,
}

/// How a campaign is served.
#[derive(Clone)]
pub struct LiveOptions {
    /// How many commands may wait; more are refused with [`Error::QueueFull`](crate::Error::QueueFull).
    pub queue: usize,
    /// The least time between two times that new rewards enter the model. It is longer where learning itself takes
    /// longer, so that it never takes more than half of the writer's time.
    pub fold_every: Duration,
    /// The most arms that a request may offer.
    pub most_arms: usize,
    /// The most bytes that the campaign's file may have; none for as many as the disk has.
    pub most_bytes: Option<u64>,
    /// A folder for the newest entries that were seen of campaigns in a database, by which a server notices that an older
    /// copy was restored while it was not running; none for no such notice.
    pub seen: Option<PathBuf>,
    /// What dates entries and ends windows.
    pub clock: Clock,
    /// Whether decisions are written down.
    pub journal: Journalling,
    /// Takes what is measured.
    pub observe: Option<Observe>,
}

impl Default for LiveOptions {
    fn default() -> Self {
        Self {
            queue: 4096,
            fold_every: Duration::from_millis(200),
            most_arms: 100_000,
            most_bytes: None,
            seen: None,
            clock: Arc::new(SystemTime::now),
            journal: Journalling::On,
            observe: None,
        }
    }
}

impl LiveOptions {
    pub(super) fn measured(&self, what: Measured, value: f64) {
        if let Some(observe) = &self.observe {
            observe(what, value);
        }
    }
}

impl fmt::Debug for LiveOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveOptions").field("queue", &self.queue).finish_non_exhaustive()
    }
}
