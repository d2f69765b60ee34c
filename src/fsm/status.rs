//! What status a job has, and what a change of it does (fsm.md 2.2, 2.3).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Txn;
use super::id::Word;
use super::outcome::Refusal;
use super::row::Job;
use super::state::fold;
use crate::types::JobKey;

/// Jobs whose status is due, each with the status to force on it, if any.
#[derive(Default)]
pub(super) struct Due(BTreeMap<JobKey, Option<Word>>);

impl Due {
    /// Notes a job; the last word on it wins.
    pub(super) fn note(&mut self, key: JobKey, force: Option<Word>) {
        self.0.insert(key, force);
    }
}

impl Txn<'_> {
    /// The status that a job has by its references (fsm.md 2.3). `eval_delete` says that the
    /// caller deletes evaluations, which makes a job without live ones dead.
    pub(super) fn job_status(&self, job: &Job, eval_delete: bool) -> Word {
        if job.kind == "system" || job.is_parent() {
            return if job.stop { Word::DEAD } else { Word::RUNNING };
        }
        let own = self.state.references(&job.key);
        if (self.rules.deployment_keeps_running && own.live_deployments > 0) || own.live_allocs > 0 {
            return Word::RUNNING;
        }
        let (live_evals, any_eval) = if self.rules.stop_is_dead && !self.rules.exact_job_evals {
            self.state
                .references_by_prefix(&job.key)
                .fold((false, false), |(live, any), (_, r)| (live || r.live_evals > 0, any || r.evals > 0))
        } else {
            (own.live_evals > 0, own.evals > 0)
        };
        if live_evals {
            return Word::PENDING;
        }
        let ended = if self.rules.stop_is_dead { job.stop } else { own.allocs > 0 };
        if eval_delete || any_eval || ended { Word::DEAD } else { Word::PENDING }
    }

    /// Computes the status of each job that is due; jobs that are gone are passed over.
    pub(super) fn set_job_statuses(&mut self, due: Due, eval_delete: bool) -> Result<(), Refusal> {
        for (key, force) in due.0 {
            if let Some(job) = self.state.job(&key).cloned() {
                self.set_job_status(&job, eval_delete, force)?;
            }
        }
        Ok(())
    }

    /// Moves a job to its status and its parent's counters with it (fsm.md 2.2). Returns the new
    /// row where the status changed.
    pub(super) fn set_job_status(
        &mut self,
        job: &Arc<Job>,
        eval_delete: bool,
        force: Option<Word>,
    ) -> Result<Option<Arc<Job>>, Refusal> {
        let forget = !self.rules.new_job_status_kept && job.indexes.create == self.index;
        let old = if forget { Word::EMPTY } else { job.status.clone() };
        let new = force.unwrap_or_else(|| self.job_status(job, eval_delete));
        if old == new {
            return Ok(None);
        }
        let mut row = Job::clone(job);
        row.status = new.clone();
        row.indexes.modify = self.index;
        let row = Arc::new(row);
        self.state.put_job(&row.key, Some(row.clone()));
        self.bump("jobs");
        self.move_child(&row, &old, &new)?;
        if self.rules.version_row_follows_status {
            self.put_version(&row);
        }
        Ok(Some(row))
    }

    /// Stores a version's row and prunes the oldest beyond six (fsm.md 2.6).
    pub(super) fn put_version(&mut self, job: &Arc<Job>) {
        const TRACKED: usize = 6;
        let folded = fold(&job.key);
        self.state.put_version(&folded, job.version, Some(job.clone()));
        self.bump("job_version");
        if self.state.versions(&folded).is_none_or(|rows| rows.len() <= TRACKED) {
            return;
        }
        let tags_count = self.rules.version_tags;
        let mut rows: Vec<&Arc<Job>> = self
            .state
            .versions(&folded)
            .into_iter()
            .flat_map(|rows| rows.rows().rev())
            .filter(|row| row.key.id == job.key.id && !(tags_count && row.tag.is_some()))
            .collect();
        if rows.len() <= TRACKED {
            return;
        }
        // The newest stable version is worth more than the newest of the old ones.
        if rows.iter().position(|row| row.stable) == Some(TRACKED) {
            rows.swap(TRACKED - 1, TRACKED);
        }
        let doomed = rows[TRACKED].version;
        self.state.put_version(&folded, doomed, None);
    }
}
