//! Register, deregister, stability, version tags (fsm.md 2.7).

use std::sync::Arc;

use super::super::Txn;
use super::super::outcome::{Outcome, Refusal};
use super::super::row::{Deployment, Indexes, Job, Launch, Tag};
use super::super::state::fold;
use super::Applied;
use super::upsert_job::RegisterOptions;
use crate::entry::body::deployment::DeploymentBody;
use crate::entry::body::eval::EvalBody;
use crate::entry::body::job::{JobApplyTag, JobBatchDeregister, JobDeregister, JobRegister, JobStability};
use crate::entry::content::Digest;
use crate::entry::time::GoTime;
use crate::fsm::id::{Id, Word};
use crate::types::JobKey;

impl Txn<'_> {
    /// JobRegister (4).
    pub(super) fn job_register(&mut self, request: &JobRegister<'_>) -> Applied {
        let Some(body) = &request.job else { return Err(Refusal::new("the request has no job")) };
        let job = self.job_row(body, true);
        if let Some(twin) = self.same_dispatch(&job, &request.idempotency_token) {
            return Ok(Outcome::NoEffect(format!("the dispatch made {twin} already (same idempotency token)")));
        }
        let job = self.atomically(|t| t.upsert_job(job, false, RegisterOptions::of(request)))?;
        let namespace = &*request.namespace;
        if job.is_periodic_active() {
            self.note_first_launch(namespace, &job);
        }
        if let Some(end) = self.note_child_launch(namespace, &job)? {
            return Ok(end);
        }
        let deployment = request.deployment.as_ref().filter(|_| self.rules.deployment_in_register);
        if let Some(body) = deployment {
            self.register_deployment(body, &job)?;
        }
        if let Some(eval) = &request.eval {
            let deployment = deployment.map(|d| Id::new(&d.id));
            self.embedded_eval(eval, deployment)?;
        }
        Ok(Outcome::Applied)
    }

    /// The job that an earlier dispatch with the same token made (#27353).
    fn same_dispatch(&self, job: &Job, token: &str) -> Option<JobKey> {
        if token.is_empty() || !self.rules.idempotency_in_fsm {
            return None;
        }
        let token_digest = Digest::of_text(token);
        let is_twin = |other: &&Arc<Job>| {
            other.key.namespace == job.key.namespace
                && other.parent_id == job.parent_id
                && other.dispatch_token == token_digest
        };
        if job.parent_id.is_empty() {
            return self.state.jobs().filter(is_twin).map(|j| j.key.clone()).min();
        }
        let parent = job.parent()?;
        self.state.children(&parent).filter(is_twin).map(|j| j.key.clone()).min()
    }

    /// A periodic job that has never been launched gets a launch row with the server's clock.
    fn note_first_launch(&mut self, namespace: &str, job: &Job) {
        let key = JobKey::new(namespace, job.key.id.clone());
        if self.state.launch(&key).is_none() {
            let indexes = Indexes { create: self.index, modify: self.index };
            self.state.put_launch(&key, Some(Launch { launch: None, indexes }));
            self.bump("periodic_launch");
        }
    }

    /// A periodic child moves its parent's launch to the time in its own ID. Lookups go by the
    /// request's namespace. `Some` ends the entry there: what it carries besides is dropped.
    fn note_child_launch(&mut self, namespace: &str, job: &Job) -> Result<Option<Outcome>, Refusal> {
        if job.parent_id.is_empty() {
            return Ok(None);
        }
        let key = JobKey::new(namespace, job.parent_id.clone());
        let Some(parent) = self.state.job(&key) else {
            if self.blind {
                return Ok(None);
            }
            let why = format!("the parent {key} does not exist, so what the entry carries beside the job is dropped");
            return Ok(Some(Outcome::AppliedWithout(why)));
        };
        if !parent.is_periodic() || parent.is_parameterized() {
            return Ok(None);
        }
        let launch = job.key.id.rsplit_once("/periodic-").and_then(|(_, unix)| unix.parse::<i64>().ok());
        let Some(launch) = launch else {
            return Err(Refusal::new(format!("no launch time can be read from the child's ID {:?}", job.key.id)));
        };
        let create = self.state.launch(&key).map_or(self.index, |l| l.indexes.create);
        let launch = Some(GoTime::from_unix_seconds(launch));
        let row = Launch { launch, indexes: Indexes { create, modify: self.index } };
        self.state.put_launch(&key, Some(row));
        self.bump("periodic_launch");
        Ok(None)
    }

    /// The deployment of a register replaces the job's latest one (state-rows.md 4.10).
    fn register_deployment(&mut self, body: &DeploymentBody<'_>, job: &Job) -> Result<(), Refusal> {
        let latest = self.state.deployments_of(&job.key).max_by_key(|d| (d.indexes.create, d.id.clone())).cloned();
        if let Some(latest) = latest.filter(|d| d.is_active()) {
            let mut row = Deployment::clone(&latest);
            row.status = Word::new("cancelled");
            row.description = "Cancelled due to newer version of job".into();
            self.atomically(|t| t.upsert_deployment(row))?;
        }
        let mut row = self.deployment_row(body);
        row.job_create_index = job.indexes.create.0;
        row.job_modify_index = job.indexes.modify.0;
        row.job_spec_modify_index = job.job_modify_index.0;
        row.job_version = job.version;
        self.atomically(|t| t.upsert_deployment(row))
    }

    /// The evaluation that a register or deregister carries, in a transaction of its own.
    fn embedded_eval(&mut self, body: &EvalBody<'_>, deployment: Option<Id>) -> Result<(), Refusal> {
        if !self.rules.eval_in_register {
            return Ok(());
        }
        let mut row = self.eval_row(body);
        row.job_modify_index = Some(self.index);
        if let Some(id) = deployment {
            row.deployment_id = id;
        }
        self.atomically(|t| t.upsert_evals(vec![(row, body)]))
    }

    /// JobDeregister (5). The evaluation is applied even where the rest is refused.
    pub(super) fn job_deregister(&mut self, request: &JobDeregister<'_>) -> Applied {
        let key = JobKey::new(&*request.namespace, &*request.job_id);
        let result =
            self.atomically(|t| t.deregister(&key, request.purge, request.submit_time, request.no_shutdown_delay));
        if let Some(eval) = &request.eval {
            self.embedded_eval(eval, None)?;
        }
        result.map(|()| Outcome::Applied)
    }

    /// JobBatchDeregister (26): all or nothing.
    pub(super) fn job_batch_deregister(&mut self, request: &JobBatchDeregister<'_>) -> Applied {
        self.atomically(|t| {
            for (name, options) in &request.jobs.0 {
                let key = JobKey::new(&*name.namespace, &*name.id);
                t.deregister(&key, options.purge, request.submit_time, false)?;
            }
            if !t.rules.batch_deregister_without_evals && !request.evals.is_empty() {
                let rows = request.evals.iter().map(|e| (t.eval_row(e), e)).collect();
                t.upsert_evals(rows)?;
            }
            Ok(if request.jobs.0.is_empty() { Outcome::NoEffect("it names no job".into()) } else { Outcome::Applied })
        })
    }

    /// JobStability (18).
    pub(super) fn job_stability(&mut self, request: &JobStability<'_>) -> Applied {
        let key = JobKey::new(&*request.namespace, &*request.job_id);
        let changed = self.atomically(|t| t.set_stability(&key, request.job_version, request.stable))?;
        Ok(if changed {
            Outcome::Applied
        } else {
            Outcome::NoEffect("the version does not exist or is as asked already".into())
        })
    }

    /// JobVersionTag (61).
    pub(super) fn job_version_tag(&mut self, request: &JobApplyTag<'_>) -> Applied {
        let namespace = if request.namespace.is_empty() { "default" } else { &request.namespace };
        let key = JobKey::new(namespace, &*request.job_id);
        let mut version = request.version;
        if version == 0 && request.latest && self.rules.tag_latest_version {
            // A server of these versions crashes here: it reads the version of a job that is not there.
            let Some(job) = self.state.job(&key) else {
                return Err(Refusal::new(format!("job {key} has no latest version to tag; a server crashes on it")));
            };
            version = job.version;
        }
        let mut row = Job::clone(&*self.version_to_tag(&key, request, version)?);
        row.tag = request.tag.as_ref().map(|t| Tag { name: (*t.name).into(), origin: self.origin(t.at) });
        row.indexes.modify = self.index;
        let row = Arc::new(row);
        // The row keeps the status it was stored with, which can be an older one than the job's.
        if self.state.job(&key).is_some_and(|job| job.version == row.version) {
            self.state.put_job(&key, Some(row.clone()));
        }
        self.put_version(&row);
        Ok(Outcome::Applied)
    }

    fn version_to_tag(&self, key: &JobKey, request: &JobApplyTag<'_>, version: u64) -> Result<Arc<Job>, Refusal> {
        let folded = fold(key);
        let rows = || self.state.versions(&folded).into_iter().flat_map(|v| v.rows()).filter(|j| j.key.id == key.id);
        let has = |j: &Job, name: &str| j.tag.as_ref().is_some_and(|t| *t.name == *name);
        let Some(tag) = &request.tag else {
            return rows()
                .find(|j| has(j, &request.name))
                .cloned()
                .ok_or_else(|| Refusal::new(format!("no version of job {key} has the tag {:?}", request.name)));
        };
        if let Some(other) = rows().find(|j| j.version != version && has(j, &tag.name)) {
            return Err(Refusal::new(format!(
                "the tag {:?} is on version {} of job {key} already",
                tag.name, other.version
            )));
        }
        rows()
            .find(|j| j.version == version)
            .cloned()
            .ok_or_else(|| Refusal::new(format!("job {key} has no version {version}")))
    }
}
