//! Things that wait for what never comes: live children without a parent, pending jobs without an
//! evaluation, pending evaluations without a job.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::finding::{Finding, Kind, Place, Severity};
use super::{Detector, Findings, Open};
use crate::fsm::id::Id;
use crate::fsm::row::{Eval, Job};
use crate::fsm::state::State;
use crate::pack::{BadImage, Pack, Packer, Unpacker, pack, pack_enum};
use crate::replay::Replayed;
use crate::types::{Index, JobKey};

/// How many entries something may wait before that is worth a note (contract.md 3, `orphan`).
const PATIENCE: u64 = 200;

/// Something that waits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Waiting {
    Job(JobKey),
    Eval(Id),
}

/// Watches for orphans.
#[derive(Default)]
pub(super) struct OrphanDetector {
    children: HashMap<JobKey, Open, RandomState>,
    since: HashMap<Waiting, Index, RandomState>,
    queue: VecDeque<(Waiting, Place)>,
    told: HashMap<Waiting, Open, RandomState>,
}

impl OrphanDetector {
    fn judge_child(&mut self, key: &JobKey, state: &State, at: &Place, findings: &mut Findings) {
        let parent = state.job(key).filter(|job| job.status != "dead").and_then(|job| job.parent());
        let orphan = parent.filter(|parent| state.job(parent).is_none());
        match (self.children.get(key).copied(), orphan) {
            (None, Some(parent)) => {
                let mut finding = Finding::new(Kind::Orphan, Severity::Note, at.clone()).about_parent(&parent);
                finding.job = Some(key.id.clone());
                finding.detail = Some("the child lives, and its parent is gone: nobody counts it".into());
                self.children.insert(key.clone(), findings.open(finding));
            }
            (Some(open), None) => {
                findings.close(open, at);
                self.children.remove(key);
            }
            _ => {}
        }
    }

    fn judge_job(&mut self, key: &JobKey, state: &State, at: &Place, findings: &mut Findings) {
        let waits = state.job(key).is_some_and(|job| job.status == "pending") && state.references(key).evals == 0;
        if !waits && self.since.is_empty() {
            return;
        }
        self.note(Waiting::Job(key.clone()), waits, at, findings);
    }

    fn judge_eval(&mut self, id: &Id, state: &State, at: &Place, findings: &mut Findings) {
        let waits = state.eval(id).is_some_and(|eval| {
            eval.status == "pending" && eval.triggered_by != "job-deregister" && state.job(&eval.job).is_none()
        });
        if !waits && self.since.is_empty() {
            return;
        }
        self.note(Waiting::Eval(id.clone()), waits, at, findings);
    }

    fn note(&mut self, what: Waiting, waits: bool, at: &Place, findings: &mut Findings) {
        if waits {
            if !self.since.contains_key(&what) {
                self.since.insert(what.clone(), at.index);
                self.queue.push_back((what, at.clone()));
            }
        } else if self.since.remove(&what).is_some()
            && let Some(open) = self.told.remove(&what)
        {
            findings.close(open, at);
        }
    }

    /// Tells of those whose patience is over at `now`.
    fn tell(&mut self, now: Index, state: &State, findings: &mut Findings) {
        while self.queue.front().is_some_and(|(_, at)| at.index.0 + PATIENCE <= now.0) {
            let Some((what, at)) = self.queue.pop_front() else { return };
            if self.since.get(&what) != Some(&at.index) {
                continue;
            }
            let finding = Finding::new(Kind::Orphan, Severity::Note, at.clone());
            let finding = match &what {
                Waiting::Job(key) => Finding {
                    detail: Some(format!("the job is pending and has had no evaluation for {PATIENCE} entries")),
                    ..finding.about_job(key)
                },
                Waiting::Eval(id) => {
                    let detail =
                        format!("evaluation {id} is pending, and its job has been gone for {PATIENCE} entries");
                    let finding = Finding { detail: Some(detail), ..finding };
                    state.eval(id).map(|eval| finding.clone().about_job(&eval.job)).unwrap_or(finding)
                }
            };
            self.told.insert(what, findings.open(finding));
        }
    }
}

pack! { OrphanDetector { children, since, queue, told } }

pack_enum! { Waiting { 0 Job(key) 1 Eval(id) } }

impl Detector for OrphanDetector {
    fn base(&mut self, state: &State, at: &Place, findings: &mut Findings) {
        let mut jobs: Vec<&JobKey> = state.jobs().map(|job| &job.key).collect();
        jobs.sort();
        for key in jobs {
            self.judge_child(key, state, at, findings);
            self.judge_job(key, state, at, findings);
        }
        let mut evals: Vec<&Id> = state.evals().map(|eval| &eval.id).collect();
        evals.sort();
        for id in evals {
            self.judge_eval(id, state, at, findings);
        }
    }

    fn entry(&mut self, entry: &Replayed<'_>, at: &Place, findings: &mut Findings) {
        let state = entry.state;
        for row in &entry.net.jobs {
            fn seen(job: Option<&Arc<Job>>) -> Option<(&str, &str)> {
                job.map(|job| (&*job.parent_id, job.status.as_str()))
            }
            // Whether a child's parent is there is asked when the parent comes or goes.
            if seen(row.before) != seen(row.after) {
                self.judge_child(row.key, state, at, findings);
                self.judge_job(row.key, state, at, findings);
            }
            if row.before.is_none() != row.after.is_none() {
                let children: Vec<JobKey> = state.children(row.key).map(|job| job.key.clone()).collect();
                for child in children {
                    self.judge_child(&child, state, at, findings);
                }
                let evals: Vec<Id> = state.evals_of(row.key).map(|eval| eval.id.clone()).collect();
                for id in evals {
                    self.judge_eval(&id, state, at, findings);
                }
            }
        }
        for row in &entry.net.evals {
            fn seen(eval: Option<&Arc<Eval>>) -> Option<(&JobKey, &str, &str)> {
                eval.map(|eval| (&eval.job, eval.status.as_str(), eval.triggered_by.as_str()))
            }
            if seen(row.before) == seen(row.after) {
                continue;
            }
            self.judge_eval(row.key, state, at, findings);
            // A job waits for its first evaluation.
            let job = |eval: Option<&Arc<Eval>>| eval.map(|eval| eval.job.clone());
            if job(row.before) != job(row.after) {
                for job in [job(row.before), job(row.after)].iter().flatten() {
                    self.judge_job(job, state, at, findings);
                }
            }
        }
        self.tell(at.index, state, findings);
    }

    fn save(&self, out: &mut Packer) {
        self.pack(out);
    }

    fn load(&mut self, from: &mut Unpacker<'_>) -> Result<(), BadImage> {
        *self = Pack::unpack(from)?;
        Ok(())
    }
}
