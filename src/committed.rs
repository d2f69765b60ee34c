//! How sure it is that an entry was committed (storage.md 7, 3 and 4).
//!
//! A log proves that an entry was received, and nobody stores how far it was committed. What proves it all the same:
//! a snapshot that holds its effect, a later entry that mentions it as applied, and the logs of other servers.

use std::ops::{ControlFlow, RangeInclusive};

use serde::Serialize;

use crate::entry::message::Message;
use crate::entry::msgpack::Result as Decoded;
use crate::evidence::window::TermSpan;
use crate::evidence::{Evidence, EvidenceError, Log, LogType, Record, Scanned};
use crate::types::Index;

/// Entries so near to the end of the log may not have been committed.
const DOUBTFUL_TAIL: u64 = 64;

/// So many entries at the log's end are looked at first for one that proves others.
const LOOKED_AT: u64 = 512;

/// How sure it is that an entry was committed (contract.md 3, `committed`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Committed {
    /// A later entry refers to it as applied, or a snapshot or a majority of servers holds it.
    Proven,
    /// Far enough from the end of the log.
    Inferred,
    /// Near the end of the log.
    Unknown,
    /// A majority of servers holds another entry in its place.
    Refuted,
}

/// What is known of one server's log besides what its own entries prove.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Every entry up to this one was committed; 0 where nothing is known.
    pub proven: Index,
    /// Runs of entries, first and last, in whose place others were committed.
    pub refuted: Vec<(Index, Index)>,
}

impl Known {
    /// What the usable snapshots beside a log prove: a server had applied all that a snapshot holds.
    pub fn of_snapshots(evidence: &Evidence) -> Self {
        let usable = evidence.snapshots.iter().filter(|snapshot| snapshot.is_usable());
        Known { proven: usable.map(|snapshot| snapshot.info().index).max().unwrap_or_default(), refuted: Vec::new() }
    }

    /// How sure it is that the entry `at` was committed, in a log that ends at `last` and whose own entries prove
    /// those up to `proven`.
    pub fn of(&self, at: Index, proven: Index, last: Index) -> Committed {
        if self.refuted.iter().any(|(first, last)| (*first..=*last).contains(&at)) {
            Committed::Refuted
        } else if at <= proven.max(self.proven) {
            Committed::Proven
        } else if at.0.saturating_add(DOUBTFUL_TAIL) <= last.0 {
            Committed::Inferred
        } else {
            Committed::Unknown
        }
    }
}

/// The last entry that one evidence proves to be committed, and with it all before: by its snapshots, and by its own
/// entries. 0 where nothing is proven.
///
/// # Errors
/// When the log cannot be read at all.
pub fn proven(evidence: &Evidence, known: &Known) -> Result<Index, EvidenceError> {
    let Some((first, last)) = evidence.log.bounds() else { return Ok(known.proven) };
    let mut found = known.proven;
    let mut looked_at = LOOKED_AT;
    loop {
        let from = Index(last.0.saturating_sub(looked_at)).max(first);
        found = found.max(proven_by(&*evidence.log, from..=last, &evidence.window.terms)?);
        // An entry before these proves only what lies before it.
        if found >= from || from == first {
            return Ok(found.min(last.max(known.proven)));
        }
        looked_at = looked_at.saturating_mul(8);
    }
}

fn proven_by(log: &dyn Log, range: RangeInclusive<Index>, terms: &[TermSpan]) -> Result<Index, EvidenceError> {
    let mut found = Index(0);
    log.scan(range, &mut |scanned| {
        if let Scanned::Entry(record) = scanned {
            let message = (record.kind == LogType::Command).then(|| Message::read(record.data)).flatten();
            let term = || terms.iter().find(|span| span.term == record.term).map(|span| span.first_index);
            found = found.max(proves(&record, message.as_ref(), term).unwrap_or_default());
        }
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// The last entry that an entry proves to be committed: the leader that wrote it had applied that one. `term` tells
/// the first entry of its term.
pub fn proves(
    record: &Record<'_>,
    message: Option<&Decoded<Message<'_>>>,
    term: impl FnOnce() -> Option<Index>,
) -> Option<Index> {
    // A leader takes no change of the servers before its first entry is committed; the bootstrap has no leader.
    if record.kind == LogType::Configuration && record.index > Index(1) {
        return term().filter(|first| *first < record.index);
    }
    let applied = match message?.as_ref().ok()? {
        Message::EvalUpdate(m) => m.evals.iter().map(|eval| eval.snapshot_index).max(),
        Message::ApplyPlanResults(m) => m.job.as_ref().map(|job| job.modify_index),
        _ => None,
    }?;
    (applied < record.index.0).then_some(Index(applied))
}

/// A log as it was when it ended at an earlier entry.
pub struct UpTo<L> {
    log: L,
    last: Index,
}

impl<L: Log> UpTo<L> {
    /// `log` without what stands behind `last`.
    pub fn new(log: L, last: Index) -> Self {
        UpTo { log, last }
    }
}

impl<L: Log> Log for UpTo<L> {
    fn bounds(&self) -> Option<(Index, Index)> {
        let (first, last) = self.log.bounds()?;
        (first <= self.last).then(|| (first, last.min(self.last)))
    }

    fn scan(
        &self,
        range: RangeInclusive<Index>,
        sink: &mut dyn FnMut(Scanned<'_>) -> ControlFlow<()>,
    ) -> Result<(), EvidenceError> {
        if self.bounds().is_none() || *range.start() > self.last {
            return Ok(());
        }
        self.log.scan(*range.start()..=(*range.end()).min(self.last), sink)
    }

    fn data(&self, index: Index) -> Result<Option<Vec<u8>>, EvidenceError> {
        if index > self.last { Ok(None) } else { self.log.data(index) }
    }
}
