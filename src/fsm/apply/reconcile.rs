//! ReconcileJobSummaries (fsm.md 2.12): every summary is computed anew.

use std::collections::HashMap;
use std::sync::Arc;

use super::super::Txn;
use super::super::outcome::{Outcome, Refusal};
use super::super::row::{Children, GroupSummary, Indexes, Job, Summary};
use super::Applied;

impl Txn<'_> {
    /// ReconcileJobSummaries (10).
    pub(super) fn reconcile_job_summaries(&mut self) -> Applied {
        let mut jobs: Vec<Arc<Job>> = self.state.jobs().cloned().collect();
        jobs.sort_by(|a, b| a.key.cmp(&b.key));
        let children = count_children(&jobs);
        for job in &jobs {
            let row = if job.is_parent() {
                if self.state.summary(&job.key).is_none() {
                    continue;
                }
                let counted = children.get(&*job.key.id).copied().unwrap_or_default();
                Summary { groups: Vec::new(), children: Some(counted), indexes: self.reconciled(job) }
            } else {
                self.recount(job)
            };
            self.state.put_summary(&job.key, Some(Arc::new(row)));
        }
        self.bump("job_summary");
        // The summaries stand all the same: the scheduler runs after they are written (fsm.md 8).
        if !self.rules.sysbatch && jobs.iter().any(|job| job.kind == "sysbatch" && !job.is_parent()) {
            return Err(Refusal::new("a job of type \"sysbatch\" has no scheduler in this version"));
        }
        Ok(Outcome::Applied)
    }

    fn reconciled(&self, job: &Job) -> Indexes {
        Indexes { create: job.indexes.create, modify: self.index }
    }

    /// A job's summary from its allocations. How many are queued, a scheduler run decides that no
    /// replay can repeat.
    fn recount(&self, job: &Job) -> Summary {
        let mut row = Summary { groups: Vec::new(), children: None, indexes: self.reconciled(job) };
        for group in job.groups.iter() {
            row.ensure_group(&group.name);
        }
        for alloc in self.state.allocs_of(&job.key) {
            if alloc.job.as_ref().is_none_or(|j| j.create_index != job.indexes.create) {
                continue;
            }
            row.ensure_group(&alloc.task_group);
            let Some(group) = row.group_mut(&alloc.task_group) else { continue };
            match alloc.client_status.as_str() {
                "failed" => group.failed += 1,
                "lost" => group.lost += 1,
                "unknown" if self.rules.unknown_client_status => group.unknown += 1,
                "complete" => group.complete += 1,
                "running" => group.running += 1,
                "pending" => group.starting += 1,
                _ => {}
            }
        }
        for (_, group) in &mut row.groups {
            *group = GroupSummary { queued: None, ..*group };
        }
        row
    }
}

/// Children by their ParentID alone: those of namesakes in other namespaces are counted together,
/// as every version does (fsm.md 2.12).
fn count_children(jobs: &[Arc<Job>]) -> HashMap<&str, Children> {
    let mut counts: HashMap<&str, Children> = HashMap::new();
    for job in jobs.iter().filter(|job| !job.parent_id.is_empty()) {
        if let Some(counter) = counts.entry(&*job.parent_id).or_default().counter_mut(&job.status) {
            *counter += 1;
        }
    }
    counts
}
