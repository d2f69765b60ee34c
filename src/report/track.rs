//! The counters of parents along the log, each change of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::entry::message_type::{MessageTypes, short};
use crate::entry::split;
use crate::evidence::{LogType, Record};
use crate::fsm::row::Children;
use crate::fsm::state::State;
use crate::replay::{Rebased, Replayed, Subscriber};
use crate::types::{Index, JobKey, Term};

/// The message type that sets every summary anew (fsm.md 2.12).
const RECONCILE: u8 = 10;

/// The counters of a parent from an index on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The entry.
    pub index: Index,
    /// Its message type without the ending; `snapshot` for what a snapshot holds.
    pub entry: Arc<str>,
    /// The child that moved last, where one did.
    pub child: Option<Arc<str>>,
    /// The counters after the entry; `None` where the parent or its counters are gone.
    pub counts: Option<Children>,
}

/// An unbroken run of entries of one term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The term.
    pub term: Term,
    /// Its first entry.
    pub first: Index,
    /// Its last entry.
    pub last: Index,
}

/// The parents whose changes are kept.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Every parent.
    pub all: bool,
    /// These.
    pub parents: BTreeSet<JobKey>,
    /// Those of one of these IDs, in any namespace.
    pub ids: BTreeSet<String>,
}

/// Listens to a replay and keeps the changes of parents. A replay may come in several runs, each going on where the
/// one before it ended.
#[derive(Debug)]
pub struct Tracks {
    wanted: Wanted,
    types: MessageTypes,
    names: BTreeMap<u8, Arc<str>>,
    tracks: BTreeMap<JobKey, Vec<Change>>,
    terms: Vec<Span>,
    reconciles: Vec<Index>,
    at: Option<Index>,
}

impl Tracks {
    /// Keeps the changes of the `wanted` parents. `types` names the message types.
    pub fn new(wanted: Wanted, types: MessageTypes) -> Self {
        Tracks {
            wanted,
            types,
            names: BTreeMap::new(),
            tracks: BTreeMap::new(),
            terms: Vec::new(),
            reconciles: Vec::new(),
            at: None,
        }
    }

    /// The changes of each parent, in order of index.
    pub fn tracks(&self) -> &BTreeMap<JobKey, Vec<Change>> {
        &self.tracks
    }

    /// The same, to keep.
    pub fn into_tracks(self) -> BTreeMap<JobKey, Vec<Change>> {
        self.tracks
    }

    /// The last entry that was heard of.
    pub fn reached(&self) -> Option<Index> {
        self.at
    }

    /// The runs of one term, in order.
    pub fn terms(&self) -> &[Span] {
        &self.terms
    }

    /// The entries that set every summary anew.
    pub fn reconciles(&self) -> &[Index] {
        &self.reconciles
    }

    fn is_wanted(&self, key: &JobKey, state: &State) -> bool {
        let Wanted { all, parents, ids } = &self.wanted;
        let is_parent = || self.tracks.contains_key(key) || state.job(key).is_some_and(|job| job.is_parent());
        parents.contains(key) || ((*all || ids.contains(&*key.id)) && is_parent())
    }

    fn note(&mut self, key: &JobKey, change: Change) {
        if let Some(track) = self.tracks.get_mut(key) {
            if track.last().map(|last| last.counts) != Some(change.counts) {
                track.push(change);
            }
        } else if change.counts.is_some() {
            self.tracks.insert(key.clone(), vec![change]);
        }
    }

    /// Takes the counters as a snapshot holds them.
    fn take(&mut self, state: &State, index: Index, term: Term) {
        self.extend_terms(index, term);
        let gone: Vec<JobKey> = self.tracks.keys().filter(|key| state.summary(key).is_none()).cloned().collect();
        let change = |counts| Change { index, entry: "snapshot".into(), child: None, counts };
        for key in gone {
            self.note(&key, change(None));
        }
        for (key, summary) in state.summaries() {
            if self.is_wanted(key, state) {
                self.note(key, change(summary.children));
            }
        }
    }

    fn extend_terms(&mut self, index: Index, term: Term) {
        match self.terms.last_mut() {
            Some(span) if span.term == term => span.last = index,
            _ => self.terms.push(Span { term, first: index, last: index }),
        }
    }

    fn name(&mut self, record: &Record<'_>) -> Arc<str> {
        match (record.kind, split(record.data)) {
            (LogType::Command, Some(command)) => {
                let types = &self.types;
                let name = || short(&types.name(command.kind)).into();
                self.names.entry(command.kind).or_insert_with(name).clone()
            }
            (kind, _) => kind.name().into(),
        }
    }
}

impl Subscriber for Tracks {
    fn base(&mut self, state: &State, index: Index, term: Term) {
        // A further run begins where the last one ended.
        if self.at != Some(index) && index > Index(0) {
            self.take(state, index, term);
        }
        self.at = Some(index);
    }

    fn entry(&mut self, entry: Replayed<'_>) {
        let record = entry.record;
        self.at = Some(record.index);
        self.extend_terms(record.index, record.term);
        if record.kind == LogType::Command && split(record.data).is_some_and(|command| command.kind == RECONCILE) {
            self.reconciles.push(record.index);
        }
        for row in &entry.net.summaries {
            if !self.is_wanted(row.key, entry.state) {
                continue;
            }
            let child = entry.step.moves.iter().rev().find(|count| &count.parent == row.key);
            let child = child.map(|count| count.child.id.clone());
            let counts = row.after.and_then(|summary| summary.children);
            let change = Change { index: record.index, entry: self.name(record), child, counts };
            self.note(row.key, change);
        }
    }

    fn rebase(&mut self, rebased: Rebased<'_>) {
        self.take(rebased.state, rebased.index, rebased.term);
    }
}
