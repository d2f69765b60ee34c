//! Task group counters that differ from the allocations there are. Group counters are kept from
//! going below zero (#4949), so only a recount finds that they are wrong.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::finding::{Finding, Kind, Place, Severity};
use super::{Detector, Findings, Open};
use crate::fsm::row::{Alloc, Summary};
use crate::fsm::state::State;
use crate::pack::{BadImage, Pack, Packer, Unpacker, pack};
use crate::replay::Replayed;
use crate::types::{Index, JobKey};

/// Allocations are counted with the summary whose CreateIndex their job has.
type Key = (JobKey, Arc<str>, Index);

/// The counters that follow allocations both up and down; the others only grow.
const COUNTERS: [&str; 3] = ["Running", "Starting", "Unknown"];

/// Watches every task group.
#[derive(Default)]
pub(super) struct GroupDetector {
    recounts: HashMap<Key, [i64; 3], RandomState>,
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
        let key = (alloc.job_key.clone(), alloc.task_group.clone(), job.create_index);
        let counts = self.recounts.entry(key.clone()).or_default();
        counts[slot] += step;
        if *counts == [0; 3] {
            self.recounts.remove(&key);
        }
    }

    fn judge(&mut self, key: &JobKey, summary: Option<&Arc<Summary>>, unknown: bool, at: &Place, out: &mut Findings) {
        let groups = summary.map(|s| s.groups.as_slice()).unwrap_or_default();
        for (name, group) in groups {
            let create = summary.map_or(Index(0), |s| s.indexes.create);
            let recount = self.recounts.get(&(key.clone(), name.clone(), create)).copied().unwrap_or_default();
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

pack! { GroupDetector { recounts, open } }

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
        let mut jobs: BTreeSet<&JobKey> = BTreeSet::new();
        for row in &net.allocs {
            let counted = |a: &Arc<Alloc>| (a.client_status.clone(), a.job.as_ref().map(|j| j.create_index));
            if row.before.map(counted) == row.after.map(counted) {
                continue;
            }
            for (alloc, step) in [(row.before, -1), (row.after, 1)] {
                if let Some(alloc) = alloc {
                    self.count(alloc, step);
                    jobs.insert(&alloc.job_key);
                }
            }
        }
        for row in &net.summaries {
            let groups = |s: Option<&Arc<Summary>>| s.map(|s| (s.groups.clone(), s.indexes.create));
            if groups(row.before) != groups(row.after) {
                jobs.insert(row.key);
            }
        }
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
