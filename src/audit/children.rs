//! Parents' counters below zero, and counters that differ from the children there are.
//!
//! For each parent, the offset of a counter is what is stored less what is counted. Each entry that
//! moves an offset is a cause; a counter can only be negative while its offset is, so the entry that
//! took the offset below zero made the negative count inevitable, however much later it shows.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::cause::{self, Contribution};
use super::finding::{Cause, Counter, Finding, Kind, Place, Rule, Severity};
use super::senders::By;
use super::{Detector, Findings, Open};
use crate::fsm::row::{Job, Summary};
use crate::fsm::state::State;
use crate::pack::{BadImage, Pack, Packer, Unpacker, pack};
use crate::replay::Replayed;
use crate::types::JobKey;

type Counts = [i64; 3];

/// Watches every parent.
#[derive(Default)]
pub(super) struct ChildrenDetector {
    parents: HashMap<JobKey, Parent, RandomState>,
}

/// A parent as it was after the last entry that concerned it.
#[derive(Default)]
struct Parent {
    /// The summary's children; `None` without a summary or without children in it.
    stored: Option<Counts>,
    /// The children there are.
    recount: Counts,
    /// Where the job was purged while it had children.
    purged: Option<Purge>,
    counters: [Watched; 3],
}

/// A purge of a parent that had children.
pub(super) struct Purge {
    pub(super) at: Place,
    /// Who sent it.
    pub(super) by: Option<By>,
    /// It happened before the base, at which the parent was gone and its children were there.
    pub(super) before_base: bool,
}

#[derive(Default)]
struct Watched {
    offset: i64,
    /// What took the offset below zero, while it is there.
    below_zero: Option<Arc<Cause>>,
    drift: Option<Open>,
    negative: Option<Open>,
}

impl Parent {
    fn is_quiet(&self) -> bool {
        self.stored.unwrap_or_default() == [0; 3] && self.recount == [0; 3] && self.purged.is_none()
    }
}

/// Where a status stands in `[pending, running, dead]`.
pub(super) fn slot(status: &str) -> Option<usize> {
    match status {
        "pending" => Some(0),
        "running" => Some(1),
        "dead" => Some(2),
        _ => None,
    }
}

pack! {
    ChildrenDetector { parents }
    Parent { stored, recount, purged, counters }
    Purge { at, by, before_base }
    Watched { offset, below_zero, drift, negative }
}

impl Detector for ChildrenDetector {
    fn base(&mut self, state: &State, at: &Place, findings: &mut Findings) {
        for job in state.jobs() {
            if let (Some(parent), Some(slot)) = (job.parent(), slot(job.status.as_str())) {
                self.parents.entry(parent).or_default().recount[slot] += 1;
            }
        }
        for (key, summary) in state.summaries() {
            if let Some(children) = summary.children.filter(|c| c.as_array() != [0; 3]) {
                self.parents.entry(key.clone()).or_default().stored = Some(children.as_array());
            } else if let Some(parent) = self.parents.get_mut(key) {
                parent.stored = summary.children.map(|c| c.as_array());
            }
        }
        let mut keys: Vec<JobKey> = self.parents.keys().cloned().collect();
        keys.sort();
        for key in keys {
            let Some(parent) = self.parents.get_mut(&key) else { continue };
            if state.job(&key).is_none() && parent.recount != [0; 3] {
                parent.purged = Some(Purge { at: at.clone(), by: None, before_base: true });
            }
            let Some(stored) = parent.stored else { continue };
            let cause = Arc::new(cause::base(at));
            let offsets = offsets(stored, parent.recount);
            let causes = [0, 1, 2].map(|_| Some(cause.clone()));
            judge(&key, parent, offsets, causes, at, findings);
        }
    }

    fn entry(&mut self, entry: &Replayed<'_>, at: &Place, findings: &mut Findings) {
        let net = entry.net;
        if net.jobs.is_empty() && net.summaries.is_empty() {
            return;
        }
        for (key, moved) in concerned(entry) {
            self.update((&key, moved), entry, at, findings);
        }
    }

    fn save(&self, out: &mut Packer) {
        self.pack(out);
    }

    fn load(&mut self, from: &mut Unpacker<'_>) -> Result<(), BadImage> {
        *self = Pack::unpack(from)?;
        Ok(())
    }
}

/// The parents whose stored or counted children the entry may have moved, in order, each with what its count moved by.
fn concerned(entry: &Replayed<'_>) -> Vec<(JobKey, Counts)> {
    let net = entry.net;
    let mut moves: Vec<(JobKey, Counts)> = Vec::new();
    for row in &net.summaries {
        let children = |s: Option<&Arc<Summary>>| s.map(|s| s.children);
        if children(row.before) != children(row.after) {
            moves.push((row.key.clone(), [0; 3]));
        }
    }
    for row in &net.jobs {
        fn seen(job: Option<&Arc<Job>>) -> Option<(&str, &str)> {
            job.map(|job| (&*job.parent_id, job.status.as_str()))
        }
        if seen(row.before) == seen(row.after) {
            continue;
        }
        let mut note = |parent: Option<JobKey>, steps: &[(Option<&Arc<Job>>, i64)]| {
            let Some(parent) = parent else { return };
            let mut counts = [0; 3];
            for (job, step) in steps {
                if let Some(slot) = job.and_then(|job| slot(job.status.as_str())) {
                    counts[slot] += step;
                }
            }
            moves.push((parent, counts));
        };
        let parent = |job: Option<&Arc<Job>>| job.and_then(|job| job.parent());
        match (row.before, row.after) {
            (Some(before), Some(after)) if before.parent_id == after.parent_id => {
                note(after.parent(), &[(row.before, -1), (row.after, 1)]);
            }
            (before, after) => {
                note(parent(before), &[(before, -1)]);
                note(parent(after), &[(after, 1)]);
            }
        }
    }
    if moves.len() > 1 {
        moves.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        moves.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                (0..3).for_each(|i| kept.1[i] += next.1[i]);
            }
            same
        });
    }
    moves
}

impl ChildrenDetector {
    fn update(
        &mut self,
        (key, moved): (&JobKey, Counts),
        entry: &Replayed<'_>,
        at: &Place,
        findings: &mut Findings<'_>,
    ) {
        let parent = self.parents.entry(key.clone()).or_default();
        let before = parent.recount;
        parent.recount = [0, 1, 2].map(|i| before[i] + moved[i]);
        parent.stored = entry.state.summary(key).and_then(|s| s.children).map(|c| c.as_array());
        if let Some(row) = entry.net.jobs.iter().find(|row| row.key == key) {
            match (row.before, row.after) {
                (Some(_), None) if parent.recount != [0; 3] => {
                    let by = findings.senders.of(entry);
                    parent.purged = Some(Purge { at: at.clone(), by, before_base: false });
                }
                (None, Some(_)) | (_, None) => {}
                _ => parent.purged = None,
            }
        }
        match parent.stored {
            None => judge(key, parent, [0; 3], [None, None, None], at, findings),
            Some(stored) => {
                let now = offsets(stored, parent.recount);
                let mut causes = explain(key, parent, before, entry, (at, now));
                causes.iter_mut().flatten().for_each(|cause| sent_by(cause, entry, at, findings));
                judge(key, parent, now, causes.map(|cause| cause.map(Arc::new)), at, findings);
            }
        }
        if parent.stored.is_some() || parent.recount == [0; 3] {
            parent.purged = None;
        }
        if parent.is_quiet() {
            self.parents.remove(key);
        }
    }
}

pub(super) fn is_child_of(job: &Job, parent: &JobKey) -> bool {
    job.parent_id == parent.id && job.key.namespace == parent.namespace
}

fn offsets(stored: Counts, recount: Counts) -> Counts {
    [0, 1, 2].map(|i| stored[i] - recount[i])
}

/// For each counter whose offset moved, the part of the entry that moved it that way.
/// `before` is the recount before the entry, `now` what the offsets came to.
fn explain(
    key: &JobKey,
    parent: &Parent,
    before: Counts,
    entry: &Replayed<'_>,
    (at, now): (&Place, Counts),
) -> [Option<Cause>; 3] {
    let moved = [0, 1, 2].map(|i| now[i] - parent.counters[i].offset);
    // More dead than there are is normal: purged children stay counted.
    if moved[0] == 0 && moved[1] == 0 && (moved[2] >= 0 || now[2] >= 0) {
        return [None, None, None];
    }
    let contributions = cause::contributions(key, entry, (at, parent.purged.as_ref()), before, now);
    [0, 1, 2].map(|i| {
        if moved[i] == 0 {
            return None;
        }
        let fits = |c: &&Contribution| c.delta[i].signum() == moved[i].signum();
        Some(contributions.iter().find(fits).map_or_else(|| cause::unexplained(at), |c| c.cause.clone()))
    })
}

/// Adds who sent the guilty entry, where that is the entry at hand.
fn sent_by(cause: &mut Cause, entry: &Replayed<'_>, at: &Place, findings: &mut Findings<'_>) {
    if cause.at == *at
        && let Some(by) = findings.senders.of(entry)
    {
        by.tell(cause);
    }
}

/// Opens, keeps and closes the findings of one parent.
fn judge(
    key: &JobKey,
    parent: &mut Parent,
    offsets: Counts,
    causes: [Option<Arc<Cause>>; 3],
    at: &Place,
    findings: &mut Findings,
) {
    let (stored, recount) = (parent.stored, parent.recount);
    for ((i, counter), cause) in Counter::ALL.iter().enumerate().zip(causes) {
        let watched = &mut parent.counters[i];
        if offsets[i] >= 0 {
            watched.below_zero = None;
        } else if watched.offset >= 0 {
            watched.below_zero.clone_from(&cause);
        }
        watched.offset = offsets[i];
        let value = stored.map_or(0, |s| s[i]);
        // Dead is cumulative: larger than counted is normal (fsm.md 2.7).
        let drifts = if *counter == Counter::Dead { offsets[i] < 0 } else { offsets[i] != 0 };
        match (watched.drift, drifts) {
            (None, true) => {
                let mut finding = Finding::new(Kind::Drift, Severity::Error, at.clone()).about_parent(key);
                finding.counter = Some(counter.name());
                finding.value = Some(offsets[i]);
                finding.stored = Some(value);
                finding.recount = Some(recount[i]);
                finding.final_value = Some(offsets[i]);
                finding.cause = Some(cause.as_deref().cloned().unwrap_or_else(|| cause::unexplained(at)));
                watched.drift = Some(findings.open(finding));
            }
            (Some(open), still) => {
                if let Some(finding) = findings.get(open) {
                    finding.final_value = Some(if still { offsets[i] } else { 0 });
                }
                if !still {
                    findings.close(open, at);
                    watched.drift = None;
                }
            }
            (None, false) => {}
        }
        match (watched.negative, value < 0) {
            (None, true) => {
                let mut finding = Finding::new(Kind::Negative, Severity::Error, at.clone()).about_parent(key);
                finding.counter = Some(counter.name());
                finding.value = Some(value);
                finding.min_value = Some(value);
                finding.cause = Some(watched.below_zero.as_deref().cloned().unwrap_or_else(|| cause::unexplained(at)));
                watched.negative = Some(findings.open(finding));
            }
            (Some(open), true) => {
                if let Some(finding) = findings.get(open) {
                    finding.min_value = finding.min_value.map(|least| least.min(value));
                }
            }
            (Some(open), false) => {
                findings.close(open, at);
                watched.negative = None;
            }
            (None, false) => {}
        }
    }
}

/// Whether a cause is one that a later replay can test.
impl Rule {
    /// `base` and `unexplained` have no entry to alter.
    pub fn can_be_proven(self) -> bool {
        !matches!(self, Rule::Base | Rule::Unexplained)
    }
}
