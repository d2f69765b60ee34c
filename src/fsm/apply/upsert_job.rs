//! Writing and deleting job rows (fsm.md 2.1, 2.7).

use std::cmp::Reverse;
use std::sync::Arc;

use super::super::Txn;
use super::super::csi::PluginTask;
use super::super::id::Word;
use super::super::outcome::Refusal;
use super::super::row::{Group, GroupExtras, Indexes, Job, Origin, Tag, VolumeRequest};
use super::super::state::{Versions, fold};
use super::super::table::{Submission, TableName, TableRow};
use crate::entry::body::job::{CsiPluginConfigBody, GroupBody, JobBody, JobRegister, VolumeRequestBody};
use crate::entry::content::Digest;
use crate::entry::wire::Place;
use crate::types::{Index, JobKey};

/// How many submitted sources of a job are kept.
const SUBMISSIONS_KEPT: usize = 6;

/// What a register asks of the write, beside the job itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RegisterOptions {
    /// The JobModifyIndex to hold the existing job against, where that is asked for.
    enforce: Option<u64>,
    preserve_counts: bool,
    preserve_resources: bool,
    /// Where the job's source stands.
    submission: Place,
}

impl RegisterOptions {
    /// The options of a request.
    pub(super) fn of(request: &JobRegister<'_>) -> Self {
        RegisterOptions {
            enforce: request.enforce_index.then_some(request.job_modify_index),
            preserve_counts: request.preserve_counts,
            preserve_resources: request.preserve_resources,
            submission: request.submission,
        }
    }
}

impl Txn<'_> {
    /// A job row from a body; an empty namespace is `default`. `canonical` says whether the FSM
    /// fills in defaults for this one (fsm.md 3).
    pub(in super::super) fn job_row(&self, body: &JobBody<'_>, canonical: bool) -> Job {
        let namespace = if body.namespace.is_empty() { "default" } else { &body.namespace };
        let key = JobKey::new(namespace, &*body.id);
        // Children share most texts with each other by way of their parent.
        Job {
            parent_id: (*body.parent_id).into(),
            kind: Word::new(&body.kind),
            stop: body.stop,
            dispatched: body.dispatched,
            periodic: body.periodic.as_ref().map(|p| p.enabled),
            parameterized_block: body.parameterized.0.is_some(),
            status: Word::new(&body.status),
            stable: body.stable,
            version: body.version,
            tag: body.version_tag.as_ref().map(|t| Tag { name: (*t.name).into(), origin: self.origin(t.at) }),
            node_pool: (*body.node_pool).into(),
            dispatch_token: Digest::of_text(&body.dispatch_token),
            groups: body.groups.iter().map(|g| self.group_row(g, canonical.then_some(&key))).collect(),
            indexes: Indexes { create: Index(body.create_index), modify: Index(body.modify_index) },
            job_modify_index: Index(body.job_modify_index),
            submit_time: None,
            resources_from: None,
            origin: self.origin(body.at),
            canonical,
            key,
        }
    }

    /// A task group's row. `canonical` is the job's name where the FSM fills in its defaults.
    pub(super) fn group_row(&self, body: &GroupBody<'_>, canonical: Option<&JobKey>) -> Group {
        let (scaling, tasks, volumes) = (&body.scaling, &body.csi_tasks.0, &body.host_volumes.0);
        let plain = scaling.is_none() && tasks.is_empty() && volumes.is_empty();
        let extras = || {
            Box::new(GroupExtras {
                scaling: scaling
                    .as_ref()
                    .map(|scaling| Arc::new(self.scaling_row(scaling, canonical.map(|job| (job, &*body.name))))),
                csi_tasks: tasks.iter().map(plugin_task).collect(),
                host_volumes: volumes.iter().map(volume_request).collect(),
            })
        };
        Group {
            name: (*body.name).into(),
            count: body.count,
            reschedules: body.reschedule.as_ref().is_some_and(|r| r.unlimited || r.attempts > 0),
            extras: (!plain).then(extras),
        }
    }

    /// Writes a job: made anew, or as the next version of the existing one unless `keep_version`
    /// (fsm.md 2.1). Returns the row that stands.
    pub(super) fn upsert_job(
        &mut self,
        mut job: Job,
        keep_version: bool,
        options: RegisterOptions,
    ) -> Result<Arc<Job>, Refusal> {
        self.check_namespace_and_pool(&mut job)?;
        let existing = self.state.job(&job.key).cloned();
        self.check_enforced_index(existing.as_deref(), options)?;
        let submission = self.submission_of(&job, existing.as_deref(), keep_version, options);
        let mut job = match &existing {
            Some(existing) => self.next_version(job, existing, keep_version),
            None => self.first_version(job)?,
        };
        self.update_scaling_policies(&mut job);
        self.update_plugins_of_job(&job, existing.as_deref());
        if let Some(existing) = existing.filter(|_| self.rules.preserve_in_fsm) {
            preserve(&mut job, existing, options);
        }
        let job = Arc::new(job);
        self.ensure_summary(&job);
        self.put_version(&job);
        if let Some(origin) = submission {
            self.put_submission(&job, origin);
        }
        self.state.put_job(&job.key, Some(job.clone()));
        self.bump("jobs");
        Ok(job)
    }

    /// The source to keep for the version that is written: the request's, or where the job goes back to an older
    /// version, that one's (1.6 and newer).
    fn submission_of(&self, job: &Job, existing: Option<&Job>, keep: bool, options: RegisterOptions) -> Option<Origin> {
        if !self.rules.job_submissions {
            return None;
        }
        if let Some(at) = options.submission.0 {
            return Some(self.origin(at));
        }
        existing.filter(|existing| !keep && job.version <= existing.version)?;
        let row = self.state.row(TableName::JobSubmissions, &job.key)?.submissions()?;
        row.0.iter().find(|s| s.version == job.version).map(|s| s.origin)
    }

    fn put_submission(&mut self, job: &Job, origin: Origin) {
        let row = self.state.row(TableName::JobSubmissions, &job.key).and_then(|r| r.submissions());
        let mut row = row.cloned().unwrap_or_default();
        row.0.retain(|s| s.version != job.version);
        row.0.push(Submission { version: job.version, job_modify_index: self.index, origin });
        row.0.sort_by_key(|s| Reverse((s.job_modify_index, s.version)));
        row.0.truncate(SUBMISSIONS_KEPT);
        self.put_row(TableName::JobSubmissions, &job.key, TableRow::Submissions(row));
    }

    fn check_namespace_and_pool(&self, job: &mut Job) -> Result<(), Refusal> {
        let namespace = &job.key.namespace;
        if !self.blind && !self.state.namespaces().contains_key(namespace) {
            return Err(Refusal::new(format!("job {:?} is in nonexistent namespace {namespace:?}", job.key.id)));
        }
        if self.rules.node_pools {
            if job.node_pool.is_empty() {
                job.node_pool = "default".into();
            }
            if !self.blind && !self.state.node_pools().contains_key(&job.node_pool) {
                return Err(Refusal::new(format!(
                    "job {:?} is in nonexistent node pool {:?}",
                    job.key.id, job.node_pool
                )));
            }
        }
        Ok(())
    }

    fn check_enforced_index(&self, existing: Option<&Job>, options: RegisterOptions) -> Result<(), Refusal> {
        let Some(wanted) = options.enforce.filter(|_| self.rules.enforce_index_in_fsm) else { return Ok(()) };
        match existing.map(|job| job.job_modify_index.0) {
            None if wanted == 0 || self.blind => Ok(()),
            Some(stored) if wanted == stored && wanted != 0 => Ok(()),
            None => Err(Refusal::new(format!("enforcing job modify index {wanted}: the job does not exist"))),
            Some(stored) if wanted == 0 => {
                Err(Refusal::new(format!("enforcing job modify index 0: the job exists, its index is {stored}")))
            }
            Some(stored) => {
                Err(Refusal::new(format!("enforcing job modify index {wanted}: the job's index is {stored}")))
            }
        }
    }

    fn next_version(&self, mut job: Job, existing: &Job, keep: bool) -> Job {
        job.indexes = Indexes { create: existing.indexes.create, modify: self.index };
        if !keep {
            job.job_modify_index = self.index;
            if job.version <= existing.version || !self.rules.incoming_version_kept {
                job.version = existing.version.saturating_add(1);
            }
        }
        // By the incoming job's type and blocks; the parent hears nothing of it (fsm.md 2.15 e).
        job.status = self.job_status(&job, false);
        job
    }

    fn first_version(&mut self, mut job: Job) -> Result<Job, Refusal> {
        job.indexes = Indexes { create: self.index, modify: self.index };
        job.job_modify_index = self.index;
        if !self.rules.first_version_kept {
            job.version = 0;
        }
        if self.rules.reset_child_status {
            job.status = Word::EMPTY;
        }
        let job = Arc::new(job);
        let changed = self.set_job_status(&job, false, None)?;
        Ok(Job::clone(&changed.unwrap_or(job)))
    }

    /// Stops or purges a job (fsm.md 2.7).
    pub(super) fn deregister(
        &mut self,
        key: &JobKey,
        purge: bool,
        submit_time: i64,
        no_shutdown_delay: bool,
    ) -> Result<(), Refusal> {
        if no_shutdown_delay && self.rules.no_shutdown_delay {
            self.skip_shutdown_delay(key);
        }
        if purge {
            self.delete_job(key)?;
            if self.state.launch(key).is_some() {
                self.state.put_launch(key, None);
                self.bump("periodic_launch");
            }
            return Ok(());
        }
        let Some(existing) = self.state.job(key) else {
            return Err(Refusal::new(format!(
                "job {:?} in namespace {:?} doesn't exist to be deregistered",
                key.id, key.namespace
            )));
        };
        let mut job = Job::clone(existing);
        job.stop = true;
        if submit_time != 0 && self.rules.stop_sets_submit_time {
            job.submit_time = Some(submit_time);
        }
        self.disable_scaling(&mut job);
        self.upsert_job(job, false, RegisterOptions::default())?;
        Ok(())
    }

    fn skip_shutdown_delay(&mut self, key: &JobKey) {
        let Some(created) = self.state.job(key).map(|j| j.indexes.create) else { return };
        let allocs: Vec<_> = self
            .state
            .allocs_of(key)
            .filter(|a| a.job.as_ref().is_some_and(|j| j.create_index == created))
            .cloned()
            .collect();
        for alloc in &allocs {
            let mut row = super::super::row::Alloc::clone(alloc);
            row.transition.no_shutdown_delay = Some(true);
            row.indexes.modify = self.index;
            row.alloc_modify_index = self.index;
            self.state.put_alloc(&row.id.clone(), Some(Arc::new(row)));
            self.bump("allocs");
        }
    }

    /// Removes a job with its versions and its summary, whose children counts are lost with it
    /// (fsm.md 2.7). Children of the job are not touched.
    fn delete_job(&mut self, key: &JobKey) -> Result<(), Refusal> {
        let Some(job) = self.state.job(key).cloned() else {
            return Err(Refusal::new(format!("job {:?} in namespace {:?} not found", key.id, key.namespace)));
        };
        self.count_purged_child(&job)?;
        self.state.put_job(key, None);
        let folded = fold(key);
        let versions: Vec<u64> = self
            .state
            .versions(&folded)
            .into_iter()
            .flat_map(Versions::iter)
            .filter(|(_, row)| row.key.id == key.id)
            .map(|(version, _)| version)
            .collect();
        for version in versions {
            self.state.put_version(&folded, version, None);
        }
        for table in ["jobs", "job_version", "job_summary"] {
            self.bump(table);
        }
        self.remove_job_from_plugins(&job);
        self.delete_scaling(key);
        self.delete_row(TableName::JobSubmissions, key);
        self.delete_volume_claims_of(key);
        if self.rules.purge_cleans_up {
            self.clean_up_purged(key);
        }
        if self.state.summary(key).is_some() {
            self.state.put_summary(key, None);
        }
        Ok(())
    }

    fn clean_up_purged(&mut self, key: &JobKey) {
        let deployments: Vec<_> = self.state.deployments_of(key).map(|d| d.id.clone()).collect();
        for id in &deployments {
            self.state.put_deployment(id, None);
            self.bump("deployment");
        }
        let by_prefix = self.rules.stop_is_dead && !self.rules.exact_job_evals;
        let names: Vec<JobKey> = if by_prefix {
            self.state.references_by_prefix(key).map(|(name, _)| name).collect()
        } else {
            vec![key.clone()]
        };
        let pending: Vec<_> = names
            .iter()
            .flat_map(|name| self.state.evals_of(name))
            .filter(|e| e.status == "pending")
            .cloned()
            .collect();
        for eval in pending {
            let mut row = super::super::row::Eval::clone(&eval);
            row.status = Word::new("complete");
            row.description = Some(format!("job {} deleted", key.id).into());
            self.state.put_eval(&eval.id, Some(Arc::new(row)));
            self.bump("evals");
        }
        let allocs: Vec<_> = self.state.allocs_of(key).map(|a| a.id.clone()).collect();
        for id in &allocs {
            self.state.put_alloc(id, None);
        }
        self.bump("allocs");
    }

    /// Marks a version stable or not, which writes that version's body into the job's row, whatever
    /// the current version is (fsm.md 2.7). The lookup folds case and compares no ID.
    pub(super) fn set_stability(&mut self, key: &JobKey, version: u64, stable: bool) -> Result<bool, Refusal> {
        let Some(row) = self.state.versions(&fold(key)).and_then(|rows| rows.get(version)) else { return Ok(false) };
        if row.stable == stable {
            return Ok(false);
        }
        let mut job = Job::clone(row);
        job.stable = stable;
        self.upsert_job(job, true, RegisterOptions::default())?;
        Ok(true)
    }
}

/// What a register takes over from the job before it (1.11.0 and newer): the counts of its groups, the resources of
/// its tasks.
fn preserve(job: &mut Job, existing: Arc<Job>, options: RegisterOptions) {
    if options.preserve_counts {
        let count_of = |name: &str| existing.groups.iter().find(|g| &*g.name == name).map(|g| g.count);
        let groups = job.groups.iter().map(|g| Group { count: count_of(&g.name).unwrap_or(g.count), ..g.clone() });
        job.groups = groups.collect();
    }
    if options.preserve_resources {
        job.resources_from = Some(existing);
    }
}

fn plugin_task(body: &CsiPluginConfigBody<'_>) -> PluginTask {
    PluginTask {
        plugin_id: (*body.id).into(),
        controller: matches!(&*body.kind, "controller" | "monolith"),
        node: matches!(&*body.kind, "node" | "monolith"),
    }
}

fn volume_request(body: &VolumeRequestBody<'_>) -> VolumeRequest {
    VolumeRequest { name: (*body.name).into(), source: (*body.source).into(), sticky: body.sticky }
}
