//! Task group counters that differ from the allocations there are. Group counters are kept from
//! going below zero (#4949), so only a recount finds that they are wrong.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::finding::{Finding, Kind, Place, Severity};
use super::{Detector, Findings, Open};
use crate::fsm::row::{Alloc, Summary};
use crate::fsm::state::State;
use crate::pack::{BadImage, Pack, Packer, Unpacker, pack};
use crate::replay::Replayed;
use crate::types::{Index, JobKey};

/// The counted allocations of a task group that belong to the summary of one CreateIndex, which is their job's.
struct Recount {
    group: Arc<str>,
    create: Index,
    counts: [i64; 3],
}

/// Where the recount of a group stands among those of its job, or where it belongs.
fn place(recounts: &[Recount], group: &str, create: Index) -> Result<usize, usize> {
    recounts.binary_search_by(|recount| (&*recount.group, recount.create).cmp(&(group, create)))
}

/// The counters that follow allocations both up and down; the others only grow.
const COUNTERS: [&str; 3] = ["Running", "Starting", "Unknown"];

/// Watches every task group.
#[derive(Default)]
pub(super) struct GroupDetector {
    /// By job, in order of group and CreateIndex; those that count nothing are left out.
    recounts: HashMap<JobKey, Vec<Recount>, RandomState>,
    open: HashMap<(JobKey, Arc<str>, usize), Open, RandomState>,
}

impl GroupDetector {
    fn count(&mut self, alloc: &Alloc, step: i64) {
        let slot = match alloc.client_status.as_str() {
            "running" => 0,
            "pending" => 1,
            "unknown" => 2,
            _ => return,
        };
        let Some(job) = &alloc.job else { return };
        let recounts = self.recounts.entry(alloc.job_key.clone()).or_default();
        let at = place(recounts, &alloc.task_group, job.create_index).unwrap_or_else(|at| {
            let (group, create) = (alloc.task_group.clone(), job.create_index);
            recounts.insert(at, Recount { group, create, counts: [0; 3] });
            at
        });
        recounts[at].counts[slot] += step;
        if recounts[at].counts == [0; 3] {
            recounts.remove(at);
            if recounts.is_empty() {
                self.recounts.remove(&alloc.job_key);
            }
        }
    }

    fn judge(&mut self, key: &JobKey, summary: Option<&Arc<Summary>>, unknown: bool, at: &Place, out: &mut Findings) {
        let groups = summary.map(|s| s.groups.as_slice()).unwrap_or_default();
        let create = summary.map_or(Index(0), |s| s.indexes.create);
        for (name, group) in groups {
            let recounts = self.recounts.get(key).map(Vec::as_slice).unwrap_or_default();
            let recount = place(recounts, name, create).map(|at| recounts[at].counts).unwrap_or_default();
            let stored = [group.running, group.starting, group.unknown];
            for slot in 0..if unknown { 3 } else { 2 } {
                self.judge_counter(key, name, slot, (stored[slot], recount[slot]), at, out);
            }
        }
        if self.open.is_empty() {
            return;
        }
        // A group that left the summary cannot be wrong any more.
        let gone = |open: &(JobKey, Arc<str>, usize)| open.0 == *key && groups.iter().all(|(name, _)| *name != open.1);
        let closed: Vec<_> = self.open.keys().filter(|k| gone(k)).cloned().collect();
        for open in closed {
            if let Some(finding) = self.open.remove(&open) {
                out.close(finding, at);
            }
        }
    }

    fn judge_counter(
        &mut self,
        key: &JobKey,
        group: &Arc<str>,
        slot: usize,
        (stored, recount): (i64, i64),
        at: &Place,
        out: &mut Findings,
    ) {
        if stored == recount && self.open.is_empty() {
            return;
        }
        let open = (key.clone(), group.clone(), slot);
        match (self.open.get(&open), stored != recount) {
            (None, true) => {
                let mut finding = Finding::new(Kind::GroupDrift, Severity::Warning, at.clone()).about_job(key);
                finding.group = Some(group.clone());
                finding.counter = Some(COUNTERS[slot]);
                finding.value = Some(stored - recount);
                finding.stored = Some(stored);
                finding.recount = Some(recount);
                finding.final_value = Some(stored - recount);
                self.open.insert(open, out.open(finding));
            }
            (Some(&finding), still) => {
                if let Some(finding) = out.get(finding) {
                    finding.final_value = Some(stored - recount);
                }
                if !still {
                    out.close(finding, at);
                    self.open.remove(&open);
                }
            }
            (None, false) => {}
        }
    }
}

pack! {
    GroupDetector { recounts, open }
    Recount { group, create, counts }
}

impl Detector for GroupDetector {
    fn base(&mut self, state: &State, at: &Place, findings: &mut Findings) {
        for alloc in state.allocs() {
            self.count(alloc, 1);
        }
        let mut keys: Vec<&JobKey> = state.summaries().map(|(key, _)| key).collect();
        keys.sort();
        for key in keys {
            // Snapshots of before 1.3 have no Unknown and no such allocation either.
            self.judge(key, state.summary(key), true, at, findings);
        }
    }

    fn entry(&mut self, entry: &Replayed<'_>, at: &Place, findings: &mut Findings) {
        let net = entry.net;
        if net.allocs.is_empty() && net.summaries.is_empty() {
            return;
        }
        let mut jobs: Vec<&JobKey> = Vec::new();
        for row in &net.allocs {
            fn counted(alloc: Option<&Arc<Alloc>>) -> Option<(&str, Option<Index>)> {
                alloc.map(|a| (a.client_status.as_str(), a.job.as_ref().map(|job| job.create_index)))
            }
            if counted(row.before) == counted(row.after) {
                continue;
            }
            for (alloc, step) in [(row.before, -1), (row.after, 1)] {
                if let Some(alloc) = alloc {
                    self.count(alloc, step);
                    jobs.push(&alloc.job_key);
                }
            }
        }
        for row in &net.summaries {
            let same =
                |a: &Arc<Summary>, b: &Arc<Summary>| a.groups == b.groups && a.indexes.create == b.indexes.create;
            if row.before.zip(row.after).is_none_or(|(before, after)| !same(before, after)) {
                jobs.push(row.key);
            }
        }
        jobs.sort_unstable();
        jobs.dedup();
        let unknown = entry.rules.unknown_client_status;
        for key in jobs {
            self.judge(key, entry.state.summary(key), unknown, at, findings);
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
