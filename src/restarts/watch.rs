//! How many allocations of a job's groups run, from the moment of its first restart on.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::Moment;
use super::clock::SECOND;
use crate::fsm::id::Id;
use crate::fsm::row::{Alloc, Job};
use crate::replay::Replayed;
use crate::types::{Index, JobKey};

/// A job is watched for that long after its last trace.
const AWAKE: i64 = 2 * 3600 * SECOND;

/// Where the log knows no times, for so many entries.
const AWAKE_ENTRIES: u64 = 50_000;

/// The numbers of one group after an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    pub at: Moment,
    pub group: Arc<str>,
    pub running: i64,
    pub starting: i64,
    pub wanted: i64,
}

/// The allocations that a restart could take at a certain moment: running, and not replaced.
#[derive(Clone, Debug)]
pub(super) struct Eligible {
    pub at: Index,
    pub allocs: Vec<(Id, Arc<str>)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Numbers {
    running: i64,
    starting: i64,
    wanted: i64,
}

/// What is kept of a job that was restarted.
#[derive(Debug, Default)]
pub(super) struct Watch {
    groups: BTreeMap<Arc<str>, Numbers>,
    pub samples: Vec<Sample>,
    pub eligible: Vec<Eligible>,
    /// Allocations that ended or were replaced since, and the entry that did it.
    pub left: HashMap<Id, Index>,
    /// What was asked to restart since the last list of eligible allocations was made.
    asked: Vec<(super::Kind, Id)>,
    last: Option<Moment>,
    awake: bool,
}

impl Watch {
    /// A restart begins that has an entry of its own.
    pub(super) fn begin(&mut self, job: &JobKey, entry: &Replayed<'_>, at: Moment) {
        if !self.awake {
            self.wake(job, entry, at);
        }
        self.eligible.push(Eligible { at: at.index, allocs: eligible(job, entry) });
        self.asked.clear();
        self.last = Some(at);
    }

    /// A trace came in: `alloc` is asked to restart.
    pub(super) fn trace(&mut self, job: &JobKey, kind: super::Kind, alloc: &Id, entry: &Replayed<'_>, at: Moment) {
        if !self.awake {
            self.wake(job, entry, at);
        }
        let long_ago = self.last.is_some_and(|last| !is_near(last, at));
        let known = self.eligible.last().is_some_and(|e| e.allocs.iter().any(|(a, _)| a == alloc));
        let again = self.asked.iter().any(|(k, a)| *k == kind && a == alloc);
        if long_ago || !known || again {
            self.eligible.push(Eligible { at: at.index, allocs: eligible(job, entry) });
            self.asked.clear();
        }
        self.asked.push((kind, alloc.clone()));
        self.last = Some(at);
    }

    /// An entry was replayed.
    pub(super) fn entry(&mut self, job: &JobKey, entry: &Replayed<'_>, at: Moment) {
        if !self.awake {
            return;
        }
        let before = self.groups.clone();
        for row in &entry.net.allocs {
            for (alloc, step) in [(row.before, -1), (row.after, 1)] {
                if let Some(alloc) = alloc.filter(|a| a.job_key == *job) {
                    self.count(alloc, step);
                }
            }
            let was_there = row.before.is_some_and(|a| a.job_key == *job && is_eligible(a));
            if was_there && row.after.is_none_or(|a| !is_eligible(a) && a.client_status != "pending") {
                self.left.entry(row.key.clone()).or_insert(at.index);
            }
        }
        if entry.net.jobs.iter().any(|row| row.key == job) {
            self.set_wanted(entry.state.job(job).map(|j| &**j));
        }
        for (group, numbers) in &self.groups {
            if before.get(group) != Some(numbers) {
                self.samples.push(sample(at, group, *numbers));
            }
        }
        let all_run = self.groups.values().all(|n| n.running >= n.wanted);
        if all_run && self.last.is_some_and(|last| !is_near(last, at)) {
            self.awake = false;
        }
    }

    /// The state was exchanged: counts anew.
    pub(super) fn rebase(&mut self) {
        self.awake = false;
    }

    /// Counts the groups as they were before the entry.
    fn wake(&mut self, job: &JobKey, entry: &Replayed<'_>, at: Moment) {
        self.awake = true;
        self.groups.clear();
        let job_before = match entry.net.jobs.iter().find(|row| row.key == job) {
            Some(row) => row.before,
            None => entry.state.job(job),
        };
        self.set_wanted(job_before.map(|j| &**j));
        each_before(job, entry, |alloc| self.count(alloc, 1));
        let before = Moment { index: at.index.prev(), ..at };
        self.samples.extend(self.groups.iter().map(|(group, numbers)| sample(before, group, *numbers)));
    }

    fn set_wanted(&mut self, job: Option<&Job>) {
        for numbers in self.groups.values_mut() {
            numbers.wanted = 0;
        }
        for group in job.filter(|j| !j.stop).map(|j| &*j.groups).unwrap_or_default() {
            self.groups.entry(group.name.clone()).or_default().wanted = group.count;
        }
    }

    fn count(&mut self, alloc: &Alloc, step: i64) {
        let numbers = self.groups.entry(alloc.task_group.clone()).or_default();
        match alloc.client_status.as_str() {
            "running" => numbers.running += step,
            "pending" if !alloc.is_server_terminal() => numbers.starting += step,
            _ => {}
        }
    }

    /// The task group of an allocation that was eligible once; empty where it is not known.
    pub(super) fn group_of(&self, alloc: &Id) -> Arc<str> {
        let all = self.eligible.iter().flat_map(|e| &e.allocs);
        all.into_iter().find(|(id, _)| id == alloc).map_or_else(|| "".into(), |(_, group)| group.clone())
    }

    /// The eligible allocations at the beginning of a restart.
    pub(super) fn eligible_at(&self, first: Index) -> &[(Id, Arc<str>)] {
        let at = self.eligible.partition_point(|e| e.at <= first);
        self.eligible.get(at.saturating_sub(1)).map_or(&[], |e| &e.allocs)
    }
}

fn sample(at: Moment, group: &Arc<str>, numbers: Numbers) -> Sample {
    let Numbers { running, starting, wanted } = numbers;
    Sample { at, group: group.clone(), running, starting, wanted }
}

/// Whether two moments can belong to one restart.
fn is_near(one: Moment, other: Moment) -> bool {
    match (one.time, other.time) {
        (Some(a), Some(b)) => b.saturating_sub(a) <= AWAKE,
        _ => other.index.0.saturating_sub(one.index.0) <= AWAKE_ENTRIES,
    }
}

/// What `nomad job restart` takes: what runs and was not replaced.
pub(super) fn is_eligible(alloc: &Alloc) -> bool {
    alloc.client_status == "running" && !alloc.is_server_terminal() && alloc.next.is_empty()
}

/// Calls `each` with the job's allocations as they were before the entry.
fn each_before(job: &JobKey, entry: &Replayed<'_>, mut each: impl FnMut(&Alloc)) {
    let touched: HashMap<&Id, Option<&Arc<Alloc>>> = entry.net.allocs.iter().map(|row| (row.key, row.before)).collect();
    for alloc in entry.state.allocs_of(job) {
        if !touched.contains_key(&alloc.id) {
            each(alloc);
        }
    }
    for before in touched.into_values().flatten().filter(|a| a.job_key == *job) {
        each(before);
    }
}

fn eligible(job: &JobKey, entry: &Replayed<'_>) -> Vec<(Id, Arc<str>)> {
    let mut allocs = Vec::new();
    each_before(job, entry, |alloc| {
        if is_eligible(alloc) {
            allocs.push((alloc.id.clone(), alloc.task_group.clone()));
        }
    });
    allocs.sort();
    allocs
}
