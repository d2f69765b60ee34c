//! Brings a replay to its base: reads what the evidence holds, restores the snapshot that
//! [`crate::base`] chose, and keeps the later ones to hold the replay against.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use crate::base::{Base, Holdings, Hole};
use crate::evidence::snapshot::{Snapshot, Verdict};
use crate::evidence::{DamageKind, Evidence, EvidenceError, Scanned};
use crate::fsm::Fsm;
use crate::fsm::restore::{Restore, Restored};
use crate::fsm::rules::Rules;
use crate::fsm::state::State;
use crate::notes::Notes;
use crate::replay::Checkpoints;
use crate::types::{Index, Term};

/// What the evidence holds, as far as the choice of a base depends on it. Checks each snapshot's
/// checksum; where there are snapshots, looks through the log for holes.
///
/// # Errors
/// When the log cannot be read at all.
pub fn holdings(evidence: &Evidence, mut notes: impl Notes) -> Result<Holdings, EvidenceError> {
    let mut held = Holdings { bounds: evidence.log.bounds(), ..Holdings::default() };
    for snapshot in &evidence.snapshots {
        match snapshot.verify() {
            Verdict::Bad(why) => notes.warn(format!("a snapshot is left out: {why}")),
            Verdict::Good | Verdict::NoChecksum => held.snapshots.push(snapshot.info().index),
        }
    }
    held.snapshots.sort_unstable();
    held.snapshots.dedup();
    // Without snapshots there is only one place to start from, and the replay finds the hole itself.
    if let Some((first, last)) = held.bounds.filter(|_| !held.snapshots.is_empty()) {
        evidence.log.scan(first..=last, &mut |scanned| {
            if let Scanned::Damaged(damage) = scanned
                && damage.kind != DamageKind::UndecodableEntry
            {
                let first = damage.first.unwrap_or_default();
                held.holes.push(Hole { first, last: damage.last.unwrap_or(first).max(first) });
            }
            ControlFlow::Continue(())
        })?;
    }
    Ok(held)
}

/// A replay at its base.
pub struct Start {
    /// The machine, with the base's state.
    pub fsm: Fsm,
    /// The base's index; 0 for a server before its first entry.
    pub index: Index,
    /// Its term.
    pub term: Term,
}

/// A replay at `base`.
///
/// # Errors
/// When the snapshot cannot be read.
pub fn at(evidence: &Evidence, base: Base, rules: &Rules, notes: impl Notes) -> Result<Start, EvidenceError> {
    let Base::Snapshot(index) = base else {
        return Ok(Start { fsm: Fsm::new(rules.clone()), index: Index(0), term: Term(0) });
    };
    let path = &evidence.window.path;
    let Some(snapshot) = usable(evidence, index) else {
        let detail = format!("there is no usable snapshot at index {index}");
        return Err(EvidenceError::Unreadable { path: path.clone(), detail });
    };
    let restored = restore(snapshot, rules)?;
    tell(snapshot, &restored, rules, notes);
    Ok(Start { fsm: Fsm::from_state(rules.clone(), restored.state), index, term: snapshot.info().term })
}

fn usable(evidence: &Evidence, index: Index) -> Option<&Snapshot> {
    evidence.snapshots.iter().find(|snapshot| snapshot.info().index == index && snapshot.is_usable())
}

fn restore(snapshot: &Snapshot, rules: &Rules) -> Result<Restored, EvidenceError> {
    let mut restore = Restore::new(rules, snapshot.info().index);
    snapshot.records(&mut |record| {
        restore.record(record.kind, record.offset, record.value);
        ControlFlow::Continue(())
    })?;
    Ok(restore.finish())
}

/// Says what a server of these rules would not have taken.
fn tell(snapshot: &Snapshot, restored: &Restored, rules: &Rules, mut notes: impl Notes) {
    let path = &snapshot.info().path;
    let listed = |counts: &std::collections::BTreeMap<u8, u64>| {
        counts.iter().map(|(kind, n)| format!("{n} of type {kind}")).collect::<Vec<_>>().join(", ")
    };
    if !restored.unknown.is_empty() {
        let listed = listed(&restored.unknown);
        notes.warn(format!("{path}: records that no community release writes are left out: {listed}"));
    }
    if !restored.too_new.is_empty() {
        let (listed, version) = (listed(&restored.too_new), rules.version);
        notes.warn(format!(
            "{path}: Nomad {version} would refuse this snapshot, which has records it does not know: {listed}"
        ));
    }
    if let Some((kind, offset, error)) = restored.undecodable.first() {
        let n = restored.undecodable.len();
        notes.warn(format!(
            "{path}: {n} records cannot be decoded and are left out; the first, of type {kind}, is at byte {offset}: {error}"
        ));
    }
}

/// The snapshots above a base, to hold the replay against.
pub struct Later<'e> {
    rules: &'e Rules,
    snapshots: VecDeque<&'e Snapshot>,
}

impl<'e> Later<'e> {
    /// The usable snapshots above `base`, in order.
    pub fn than(base: Index, evidence: &'e Evidence, rules: &'e Rules) -> Self {
        let mut snapshots: Vec<&Snapshot> =
            evidence.snapshots.iter().filter(|s| s.info().index > base && s.is_usable()).collect();
        snapshots.sort_by_key(|s| s.info().index);
        Later { rules, snapshots: snapshots.into() }
    }

    /// Their indexes, in order.
    pub fn indexes(&self) -> impl Iterator<Item = Index> {
        self.snapshots.iter().map(|snapshot| snapshot.info().index)
    }
}

impl Checkpoints for Later<'_> {
    fn next(&self) -> Option<Index> {
        self.snapshots.front().map(|s| s.info().index)
    }

    fn load(&mut self) -> Option<(State, Term)> {
        let snapshot = self.snapshots.pop_front()?;
        let restored = restore(snapshot, self.rules).ok()?;
        // A server of other rules than those in force wrote what these do not know: no fault of the replay.
        restored.is_accepted().then_some((restored.state, snapshot.info().term))
    }
}
