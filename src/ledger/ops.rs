//! What is to be written, handed from the replay to the thread that writes.

use jiff::Timestamp;

use super::rows::{CountRow, GroupRow, JobRow};
use crate::evidence::LogType;
use crate::fsm::state::Image;

/// One thing to write. Rows get their ids in order of their coming.
pub(super) enum Op {
    /// A row of `entry`.
    Entry(EntryRow),
    /// A row of `count_change` that is in force from now on.
    Count(CountRow),
    /// A row of `count_change` ends.
    EndCount { id: i64, idx: i64 },
    /// A row of `job_change`; one that tells of a job's end is never in force.
    Job(JobRow),
    /// A row of `job_change` ends.
    EndJob { id: i64, idx: i64 },
    /// A row of `group_change` that is in force from now on.
    Group(GroupRow),
    /// A row of `group_change` ends.
    EndGroup { id: i64, idx: i64 },
    /// A row of `snapshot`.
    Snapshot(SnapshotRow),
    /// A row of `image`.
    Image(Box<ImageRow>),
}

/// A row of `entry`.
pub(super) struct EntryRow {
    pub(super) idx: i64,
    pub(super) term: i64,
    pub(super) log_type: LogType,
    /// The message type of a command.
    pub(super) kind: Option<u8>,
    pub(super) bytes: i64,
    pub(super) appended_at: Option<Timestamp>,
    pub(super) outcome: &'static str,
    pub(super) detail: Option<String>,
    pub(super) hash: u64,
}

/// A row of `snapshot`.
pub(super) struct SnapshotRow {
    pub(super) idx: i64,
    pub(super) term: i64,
    pub(super) role: &'static str,
    pub(super) differences: Option<i64>,
}

/// A row of `image`.
pub(super) struct ImageRow {
    pub(super) idx: i64,
    pub(super) term: i64,
    /// The image that this one goes on top of; `None` for one of all rows.
    pub(super) from_idx: Option<i64>,
    /// It stays when a later one is written.
    pub(super) stays: bool,
    pub(super) rows: Image,
    /// What the audit knew there.
    pub(super) audit: Option<Vec<u8>>,
}

/// How many are handed over at once.
const BATCH: usize = 256;

/// Collects what is to be written and hands it over in batches.
pub(super) struct Ops {
    batch: Vec<Op>,
    to: std::sync::mpsc::SyncSender<Vec<Op>>,
    refused: bool,
}

impl Ops {
    pub(super) fn new(to: std::sync::mpsc::SyncSender<Vec<Op>>) -> Self {
        Ops { batch: Vec::with_capacity(BATCH), to, refused: false }
    }

    pub(super) fn push(&mut self, op: Op) {
        self.batch.push(op);
        if self.batch.len() >= BATCH {
            self.hand_over();
        }
    }

    /// True when nobody writes any more, because it failed.
    pub(super) fn is_refused(&self) -> bool {
        self.refused
    }

    /// Hands over what is left, and ends.
    pub(super) fn finish(mut self) {
        self.hand_over();
    }

    fn hand_over(&mut self) {
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
        self.refused |= self.to.send(batch).is_err();
    }
}
