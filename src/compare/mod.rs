//! Do the servers of one cluster hold the same log, and where do they part (storage.md 7, 4)?
//!
//! The logs are walked side by side in windows of indexes, so memory does not grow with their length.

mod judge;
mod report;
mod tally;
mod walk;

use std::sync::Arc;

use crate::evidence::snapshot::SnapshotInfo;
use crate::evidence::window::{StoreKind, last_entry};
use crate::evidence::{Evidence, EvidenceError};
use crate::types::{Index, Term};

pub use report::{
    Committed, Comparison, Configuration, Difference, DifferenceKind, Group, Missing, Newest, Proof, ServerSummary,
    Shared, Standing, Verdict, Why,
};

/// The evidence of one server.
pub struct Given {
    /// What the user called it: the path as it was typed.
    pub name: Arc<str>,
    /// What the path holds.
    pub evidence: Evidence,
}

impl Given {
    /// The snapshots whose description can be believed.
    fn snapshots(&self) -> impl Iterator<Item = &SnapshotInfo> {
        self.evidence.snapshots.iter().map(|snapshot| snapshot.info()).filter(|info| info.problems.is_empty())
    }

    /// The newest of them.
    fn snapshot(&self) -> Option<&SnapshotInfo> {
        self.snapshots().max_by_key(|info| info.index)
    }

    /// Where the server stands in an election: the term and index of its last entry, or of its newest
    /// snapshot where that reaches further (storage.md 7, 4).
    fn position(&self) -> Option<(Term, Index)> {
        let log = last_entry(&*self.evidence.log);
        let snapshot = self.snapshot().map(|info| (info.index, info.term));
        log.into_iter().chain(snapshot).max_by_key(|(index, _)| *index).map(|(index, term)| (term, index))
    }

    /// True for a server's own files; a parcel of its state or what a tool printed of its log is no vote.
    fn shows_what_it_holds(&self) -> bool {
        matches!(self.evidence.window.store, StoreKind::Boltdb | StoreKind::Wal)
    }

    /// The last entry of which it is known that the server had applied it.
    fn applied(&self) -> Index {
        self.snapshot().map_or(Index(0), |info| info.index)
    }
}

/// Compares the logs of two or more servers; `seen` is called with each index in order.
///
/// Each raft.db or write-ahead log is taken for another server of the cluster.
///
/// # Errors
/// When a log cannot be read on.
pub fn compare(given: &[Given], seen: &mut dyn FnMut(Index)) -> Result<Comparison, EvidenceError> {
    let positions: Vec<Option<(Term, Index)>> = given.iter().map(Given::position).collect();
    let mut tally = tally::Tally::new(given, &positions);
    let traced = walk::walk(given, &mut |index, row| {
        seen(index);
        tally.row(index, row);
    })?;
    Ok(judge::judge(given, &positions, &traced, tally))
}
