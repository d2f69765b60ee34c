//! Jobs: registers, stops, purges, versions, summaries.

use serde_json::{Value, json};

use super::super::msgpack::{Encode, Map, Pairs, with};
use super::{Eval, Job, LogType, Next, Wild, or_null};

/// Names that meet each other: one begins another, two differ in case only.
const NAMES: [&str; 12] =
    ["web", "WEB", "webber", "etl", "etl_2", "nightly", "report", "Report", "agent", "sweep", "mail", "mail/x"];
const STATUSES: [&str; 8] = ["", "", "", "", "pending", "running", "running", "dead"];

impl Wild {
    /// JobRegister: of a new job, of one that is known, or of a child.
    pub(super) fn register(&mut self) {
        let place = match self.dice.below(10) {
            0..3 => self.new_job(),
            3..8 => self.new_child(),
            _ => self.any_job(),
        };
        let Some(place) = place.or_else(|| self.new_job()) else { return };
        let body = self.job_body(place);
        let index = self.index + 1;
        let job = self.jobs[place].clone();
        let eval = (!self.dice.once_in(3)).then(|| self.new_eval(place, "pending"));
        let deployment = self.dice.once_in(6).then(|| self.new_deployment(place));
        let guess = *self.dice.pick(&[0, job.modified, job.modified, job.created, index]);
        let token = if self.dice.once_in(3) { job.token.clone() } else { String::new() };
        let namespace = self.namespace_as_sent(&job.namespace);
        let request = json!({
            "Job": body,
            "Eval": or_null(eval.map(|eval| self.eval_body(eval, "pending"))),
            "Deployment": or_null(deployment.map(|deployment| self.deployment_body(deployment))),
            "EnforceIndex": self.dice.once_in(12),
            "JobModifyIndex": guess,
            "PreserveCounts": self.dice.once_in(10),
            "PreserveResources": false,
            "IdempotencyToken": token,
            "Namespace": namespace,
            "Region": "global",
        });
        self.command(4, &request);
        let job = &mut self.jobs[place];
        (job.modified, job.version) = (index, job.version + 1);
        if job.created == 0 {
            job.created = index;
        }
        if !job.periodic && !job.parameterized {
            self.next.extend([Next::Place(place), Next::Collect(place)]);
        }
    }

    fn new_job(&mut self) -> Option<usize> {
        let id = (*self.dice.pick(&NAMES)).to_owned();
        let namespace = *self.dice.pick(&["default", "default", "default", "prod", "ghost"]);
        let known = self.jobs.iter().position(|job| job.id == id && job.namespace == namespace);
        if known.is_some() && !self.dice.once_in(8) {
            return known;
        }
        let sort = self.dice.below(8);
        let kind = *self.dice.pick(&["batch", "batch", "service", "system", "sysbatch"]);
        self.jobs.push(Job {
            namespace: namespace.into(),
            id,
            parent: String::new(),
            kind,
            periodic: sort < 3 || sort == 6,
            parameterized: (3..7).contains(&sort),
            dispatched: false,
            groups: self.dice.pick(&[vec!["work"], vec!["work", "side"], vec!["side"]]).clone(),
            token: String::new(),
            created: 0,
            modified: 0,
            version: 0,
        });
        Some(self.jobs.len() - 1)
    }

    /// A child of one that has children, launched by its clock or dispatched; of one that is itself a child, too.
    fn new_child(&mut self) -> Option<usize> {
        let parents: Vec<_> =
            (0..self.jobs.len()).filter(|job| self.jobs[*job].periodic || self.jobs[*job].parameterized).collect();
        if parents.is_empty() {
            return None;
        }
        let parent = self.jobs[*self.dice.pick(&parents)].clone();
        let time = 1_770_090_000 + 30 * (self.index + self.dice.below(3));
        let dispatched = parent.parameterized && !parent.dispatched;
        let id = match dispatched {
            true => format!("{}/dispatch-{time}-{:08x}", parent.id, self.dice.next() as u32),
            false if self.dice.once_in(30) => format!("{}/periodic-soon", parent.id),
            false => format!("{}/periodic-{time}", parent.id),
        };
        let mut child = Job {
            parent: parent.id.clone(),
            id,
            dispatched,
            periodic: dispatched && parent.periodic,
            parameterized: dispatched,
            token: if dispatched && self.dice.once_in(2) {
                format!("token-{}", self.dice.below(4))
            } else {
                String::new()
            },
            created: 0,
            modified: 0,
            version: 0,
            ..parent
        };
        // A child that is no child of its parent's kind, or of no parent at all.
        if self.dice.once_in(25) {
            child.parent = (*self.dice.pick(&["nobody", "web", "etl"])).into();
        }
        if self.dice.once_in(30) {
            child.namespace = (*self.dice.pick(&["default", "prod"])).into();
        }
        self.jobs.push(child);
        Some(self.jobs.len() - 1)
    }

    /// The body of a job, now and then with what its writer should not have put there.
    pub(super) fn job_body(&mut self, place: usize) -> Value {
        let job = self.jobs[place].clone();
        let odd = self.dice.once_in(6);
        let parent = if self.dice.once_in(20) { String::new() } else { job.parent.clone() };
        let kind = if odd && self.dice.once_in(4) { "service" } else { job.kind };
        let status = if self.dice.once_in(60) { "strange" } else { *self.dice.pick(&STATUSES) };
        let pool = *self.dice.pick(&["", "default", "default", "default", "default", "all", "gpu"]);
        let groups: Vec<_> = job.groups.iter().map(|name| self.group_body(name)).collect();
        let tag = self.dice.once_in(40).then(|| json!({"Name": "kept", "Description": "", "TaggedTime": 0}));
        let version = if odd { self.dice.below(9) } else { job.version };
        json!({
            "ID": job.id,
            "Name": job.id,
            "Namespace": self.namespace_as_sent(&job.namespace),
            "Region": "global",
            "ParentID": parent,
            "Type": kind,
            "Priority": 50,
            "Status": status,
            "Stop": self.dice.once_in(14),
            "Stable": self.dice.once_in(12),
            "Version": version,
            "Periodic": or_null(job.periodic.then(|| json!({"Enabled": !self.dice.once_in(8), "Spec": "*/30 * * * * * *", "SpecType": "cron"}))),
            "ParameterizedJob": or_null(job.parameterized.then(|| json!({"Payload": "optional"}))),
            "Dispatched": job.dispatched,
            "DispatchIdempotencyToken": job.token,
            "TaskGroups": groups,
            "NodePool": pool,
            "VersionTag": or_null(tag),
            "SubmitTime": 1_770_090_000_000_000_000_i64 + self.index as i64,
            "CreateIndex": job.created,
            "ModifyIndex": job.modified,
            "JobModifyIndex": job.modified,
        })
    }

    fn group_body(&mut self, name: &str) -> Value {
        let policy = match self.dice.below(3) {
            0 => Value::Null,
            1 => json!({"Attempts": 1, "Unlimited": false}),
            _ => json!({"Attempts": 0, "Unlimited": self.dice.once_in(2)}),
        };
        json!({"Name": name, "Count": 1 + self.dice.below(3), "ReschedulePolicy": policy, "Tasks": []})
    }

    /// An evaluation of a job, by its place.
    pub(super) fn new_eval(&mut self, place: usize, status: &str) -> usize {
        let job = &self.jobs[place];
        let (namespace, mut job_id) = (job.namespace.clone(), job.id.clone());
        if self.dice.once_in(30) {
            job_id = job_id.to_uppercase();
        }
        self.evals.push(Eval { id: self.dice.id(), namespace, job: job_id });
        let eval = self.evals.len() - 1;
        if status == "pending" || status == "blocked" {
            self.next.push(Next::Complete(eval));
        }
        eval
    }

    /// JobDeregister: a stop or a purge, with an evaluation or without.
    pub(super) fn deregister(&mut self) {
        let Some(place) = self.any_job() else { return };
        let job = self.jobs[place].clone();
        let purge = self.dice.once_in(2);
        let eval = (!self.dice.once_in(4)).then(|| self.new_eval(place, "pending"));
        let id = if self.dice.once_in(20) { "nobody".into() } else { job.id };
        let request = json!({
            "JobID": id,
            "Namespace": self.namespace_as_sent(&job.namespace),
            "Purge": purge,
            "Eval": or_null(eval.map(|eval| self.eval_body(eval, "pending"))),
            "NoShutdownDelay": self.dice.once_in(8),
            "SubmitTime": 0,
        });
        self.command(5, &request);
        if purge {
            self.jobs[place].created = 0;
            // Often enough what is purged comes again.
            self.jobs[place].version = 0;
        }
    }

    /// JobBatchDeregister as the collector writes it, and as it never would: of jobs that are not there, or not purged.
    pub(super) fn batch_deregister(&mut self) {
        let mut jobs = Vec::new();
        for _ in 0..=self.dice.below(3) {
            let Some(place) = self.any_job() else { return };
            if !jobs.contains(&place) {
                jobs.push(place);
            }
        }
        self.batch(&jobs);
    }

    fn batch(&mut self, jobs: &[usize]) {
        let mut named: Vec<(String, String, bool)> = Vec::new();
        for place in jobs {
            let job = self.jobs[*place].clone();
            if !named.iter().any(|(namespace, id, _)| *namespace == job.namespace && *id == job.id) {
                named.push((job.namespace, job.id, !self.dice.once_in(12)));
            }
            self.jobs[*place].created = 0;
        }
        let evals: Vec<_> = (0..self.dice.below(2)).map(|_| self.new_eval(jobs[0], "pending")).collect();
        let evals: Vec<_> = evals.into_iter().map(|eval| self.eval_body(eval, "pending")).collect();
        let keys = named.iter().map(|(namespace, id, purge)| {
            let key = with(move |out| Map(&[("ID", id), ("Namespace", namespace)]).encode(out));
            (key, with(move |out| Map(&[("Purge", purge)]).encode(out)))
        });
        let keys = Pairs(keys.collect());
        let mut data = vec![26];
        Map(&[("Evals", &json!(evals)), ("Jobs", &keys), ("Namespace", &""), ("SubmitTime", &0_i64)]).encode(&mut data);
        self.write(LogType::Command, data);
    }

    /// What the collector takes when a job is over: its evaluations and allocations, or the job itself.
    pub(super) fn collect(&mut self, place: usize) {
        if self.dice.once_in(3) {
            return self.batch(&[place]);
        }
        let job = self.jobs[place].clone();
        let evals: Vec<_> = self
            .evals
            .iter()
            .filter(|eval| eval.job == job.id && eval.namespace == job.namespace)
            .map(|eval| eval.id.clone())
            .collect();
        let allocs: Vec<_> =
            self.allocs.iter().filter(|alloc| alloc.job == place).map(|alloc| alloc.id.clone()).collect();
        self.command(7, &json!({"Evals": evals, "Allocs": allocs}));
        self.next.push(Next::Collect(place));
        if self.next.len() > 40 {
            self.next.drain(..20);
        }
    }

    /// JobStability.
    pub(super) fn stability(&mut self) {
        let Some(place) = self.any_job() else { return };
        let job = self.jobs[place].clone();
        let request = json!({
            "JobID": job.id,
            "Namespace": self.namespace_as_sent(&job.namespace),
            "JobVersion": self.dice.below(job.version + 1),
            "Stable": !self.dice.once_in(3),
        });
        self.command(18, &request);
    }

    /// JobVersionTag: set, moved, taken away.
    pub(super) fn version_tag(&mut self) {
        let Some(place) = self.any_job() else { return };
        let job = self.jobs[place].clone();
        let name = *self.dice.pick(&["kept", "golden"]);
        let tag = (!self.dice.once_in(4)).then(|| json!({"Name": name, "Description": "", "TaggedTime": 0}));
        let request = json!({
            "JobID": job.id,
            "Namespace": self.namespace_as_sent(&job.namespace),
            "Name": name,
            "Tag": or_null(tag),
            "Version": self.dice.below(job.version + 1),
            "Latest": self.dice.once_in(4),
        });
        self.command(61, &request);
    }

    /// ReconcileJobSummaries.
    pub(super) fn reconcile(&mut self) {
        if self.dice.once_in(2) {
            self.command(10, &json!({"Region": "global", "Namespace": "default"}));
        }
    }
}
