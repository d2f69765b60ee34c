//! Job restarts in the log (fsm.md 7, contract.md 3).
//!
//! `nomad job restart` runs in the client and has no raft entry of its own. What it leaves is read
//! here and put together again:
//!
//! - in place: events of tasks inside client updates, each with the client's clock (`rings.rs`);
//! - with `-reschedule`: desired transitions, the plans and client updates that follow (`stops.rs`);
//! - in builds that had it, the entry of an early design (`recorded.rs`).
//!
//! A [`Collector`] subscribes to a replay and gathers these traces; [`Collector::finish`] clusters
//! them into batches, batches into restarts (`batches.rs`), and judges each (`judge.rs`).

pub mod collect;
pub mod json;
pub mod plan;
pub mod story;
pub mod threshold;

mod batches;
mod clock;
mod judge;
mod recorded;
mod rings;
mod stops;
mod watch;

use std::sync::Arc;

pub use collect::{Collected, Collector};

use crate::fsm::id::Id;
use crate::types::{Index, JobKey, Term};

/// How a restart was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The tasks were started again where they are.
    InPlace,
    /// The allocations were stopped and replaced (`-reschedule`).
    Reschedule,
    /// An entry of the early design.
    Entry,
}

impl Kind {
    /// Its name in output.
    pub fn name(self) -> &'static str {
        match self {
            Kind::InPlace => "in_place",
            Kind::Reschedule => "reschedule",
            Kind::Entry => "entry",
        }
    }
}

/// How a restart went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// Every allocation that was to be restarted was.
    Complete,
    /// It ended before that.
    Cancelled,
    /// It waits for somebody; only an entry tells that.
    Paused,
    /// The log ends before it does.
    Running,
    /// An allocation did not come back.
    Failed,
    /// Another word, of an entry.
    Other(Arc<str>),
}

impl Status {
    /// Its name in output.
    pub fn name(&self) -> &str {
        match self {
            Status::Complete => "complete",
            Status::Cancelled => "cancelled",
            Status::Paused => "paused",
            Status::Running => "running",
            Status::Failed => "failed",
            Status::Other(word) => word,
        }
    }

    /// The status that an entry records.
    pub fn of(word: &str) -> Self {
        match word {
            "complete" | "completed" => Status::Complete,
            "cancelled" | "canceled" => Status::Cancelled,
            "paused" => Status::Paused,
            "running" => Status::Running,
            "failed" => Status::Failed,
            other => Status::Other(other.into()),
        }
    }
}

/// A moment: the entry that shows it, and when it was. For what a client reports that is the
/// client's clock, set right where it is known to be off; else the server's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The entry.
    pub index: Index,
    /// Its term.
    pub term: Term,
    /// Its message type's number; `None` for raft's own entries.
    pub command: Option<u8>,
    /// Unix nanoseconds, where the log knows them.
    pub time: Option<i64>,
}

/// One restarted allocation.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The allocation.
    pub alloc: Id,
    /// Its task group.
    pub group: Arc<str>,
    /// It was asked to restart or to stop.
    pub asked: Moment,
    /// The plan that stopped and replaced it (`-reschedule` only).
    pub planned: Option<Moment>,
    /// Its tasks had ended.
    pub down: Option<Moment>,
    /// Its tasks, or its replacement, ran again.
    pub back: Option<Moment>,
    /// Its replacement was healthy, where a deployment looks at it.
    pub healthy: Option<Moment>,
    /// The allocation that replaced it; the last of a chain.
    pub replacement: Option<Id>,
    /// It, or its replacement, failed and did not come back.
    pub failed: bool,
    /// Its event was lost in an overflowed ring, and only the number of restarts tells.
    pub inferred: bool,
}

/// How few allocations ran at the worst moment of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worst {
    /// Running, of the groups that the restart touches.
    pub running: i64,
    /// Placed, not yet running.
    pub starting: i64,
    /// Neither, of [`Worst::count`]: what is missing.
    pub stopped: i64,
    /// How many the groups want.
    pub count: i64,
    /// The entry that shows it.
    pub index: Index,
}

/// Allocations that were restarted together.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// In the order in which they were asked.
    pub members: Vec<Member>,
    /// The first entry with a trace of it.
    pub first: Index,
    /// The entry that shows it done: everything runs again.
    pub last: Index,
    /// When it began, unix nanoseconds.
    pub started: Option<i64>,
    /// When the command could go on, unix nanoseconds: in place that is when the old tasks had
    /// ended, else when the replacements ran.
    pub finished: Option<i64>,
    /// The worst moment from its beginning to that of the next batch.
    pub worst: Option<Worst>,
    /// The next batch began before this one ran again; `None` without a next batch.
    pub next_before_running: Option<bool>,
    /// The next batch began before this one was healthy; `None` also where the log does not tell.
    pub next_before_healthy: Option<bool>,
    /// The first entry of the next batch.
    pub next: Option<Index>,
}

impl Batch {
    /// The entry that shows all of it running again.
    pub fn running(&self) -> Option<Index> {
        let all: Option<Vec<Index>> = self.members.iter().map(|m| m.back.map(|b| b.index)).collect();
        all?.into_iter().max()
    }
}

/// One entry of the early design, as far as it tells of the restart's life.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// The entry; the time is its UpdatedAt.
    pub at: Moment,
    /// Its status, as written.
    pub status: Arc<str>,
    /// The allocations that were restarted by then.
    pub restarted: Vec<Id>,
}

/// The longest time that a restart held its groups below a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Below {
    /// So many were to run.
    pub threshold: i64,
    /// So many the groups want.
    pub count: i64,
    /// The fewest that ran.
    pub lowest: i64,
    /// The entry that shows the first fall.
    pub first: Moment,
    /// The entry that shows the end of it; `None` where it lasts.
    pub until: Option<Moment>,
    /// The longest time below, nanoseconds; `None` where the log knows no times.
    pub longest: Option<i64>,
}

/// One restart of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Restart {
    /// The job.
    pub job: JobKey,
    /// The task groups that it touched, in order of name.
    pub groups: Vec<Arc<str>>,
    /// How it was done.
    pub kind: Kind,
    /// The entry's ID; for traces the job and the index at which they begin.
    pub id: String,
    /// How it went.
    pub status: Status,
    /// The log ends before it does.
    pub cut_off: bool,
    /// Its first entry.
    pub first: Index,
    /// Its last entry.
    pub last: Index,
    /// When it began, unix nanoseconds.
    pub started: Option<i64>,
    /// When it ended, unix nanoseconds.
    pub finished: Option<i64>,
    /// How many allocations a batch has: recorded, or the largest seen.
    pub batch_size: Option<u64>,
    /// The wait between batches in nanoseconds: recorded, or the median of those seen.
    pub batch_wait: Option<i64>,
    /// Its batches, in order.
    pub batches: Vec<Batch>,
    /// Its entries (the early design only).
    pub recorded: Vec<Recorded>,
    /// Allocations that could have been restarted and were not.
    pub left_out: Vec<Id>,
    /// What makes this reading less than sure, a sentence each.
    pub notes: Vec<String>,
    /// The time below a threshold, where one was asked for and it was crossed.
    pub below: Option<Below>,
}
