//! Evaluations, allocations, plans, deployments.

use serde_json::{Value, json};

use super::{Alloc, Deployment, Next, Wild, or_null};

impl Wild {
    pub(super) fn eval_body(&mut self, place: usize, status: &str) -> Value {
        let eval = self.evals[place].clone();
        let mut body = json!({
            "ID": eval.id,
            "Namespace": eval.namespace,
            "JobID": eval.job,
            "Status": status,
            "Type": "batch",
            "TriggeredBy": "job-register",
            "Priority": 50,
        });
        if self.dice.once_in(3) {
            body["QueuedAllocations"] = json!({"work": self.dice.below(4), "gone": 1});
        }
        if status == "complete" && self.dice.once_in(5) {
            body["FailedTGAllocs"] = json!({"work": {"NodesEvaluated": 1}});
        }
        body
    }

    pub(super) fn complete(&mut self, eval: usize) {
        let status =
            *self.dice.pick(&["complete", "complete", "complete", "complete", "failed", "canceled", "blocked"]);
        let body = self.eval_body(eval, status);
        self.command(6, &json!({"Evals": [body], "EvalToken": ""}));
    }

    /// EvalUpdate of several, new ones and known ones.
    pub(super) fn update_evals(&mut self) {
        let mut bodies = Vec::new();
        for _ in 0..=self.dice.below(3) {
            let status = *self.dice.pick(&["pending", "blocked", "complete", "failed", "canceled"]);
            let known = self.evals.len() as u64;
            let place = if known > 0 && self.dice.once_in(2) {
                self.dice.below(known) as usize
            } else {
                let Some(job) = self.any_job() else { return };
                self.new_eval(job, status)
            };
            bodies.push(self.eval_body(place, status));
        }
        self.command(6, &json!({"Evals": bodies}));
    }

    /// EvalDelete: of ids, by an operator, or by filter.
    pub(super) fn delete_evals(&mut self) {
        let mut request = json!({"UserInitiated": self.dice.once_in(4)});
        let evals: Vec<_> = (0..self.dice.below(4)).map(|_| self.any_eval()).collect();
        let allocs: Vec<_> = (0..self.dice.below(3)).filter_map(|_| self.any_alloc()).collect();
        request["Evals"] = json!(evals);
        request["Allocs"] = json!(allocs.iter().map(|alloc| self.allocs[*alloc].id.clone()).collect::<Vec<_>>());
        if let Some(job) = self.any_job().filter(|_| self.dice.once_in(3)) {
            let id = self.jobs[job].id.clone();
            request["Filter"] = match self.dice.below(4) {
                0 => json!(format!("JobID == \"{id}\"")),
                1 => json!("JobID contains \"e\""),
                2 => json!("Status == \"complete\""),
                _ => json!("Namespace == \"default\""),
            };
            request["PerPage"] = json!(1 + self.dice.below(5));
            if self.dice.once_in(3) {
                request["NextToken"] = json!(self.any_eval());
            }
        }
        self.command(7, &request);
    }

    /// A new allocation of a job, as a plan carries it.
    fn new_alloc(&mut self, job: usize, eval: &str, deployment: &str) -> Value {
        let group = *self.dice.pick(&self.jobs[job].groups);
        let alloc = Alloc {
            id: self.dice.id(),
            job,
            group,
            eval: eval.into(),
            deployment: deployment.into(),
            node: self.any_node(),
        };
        self.allocs.push(alloc);
        let place = self.allocs.len() - 1;
        self.next.extend([Next::Run(place), Next::End(place)]);
        let status = if self.dice.once_in(12) { *self.dice.pick(&["running", "complete", "lost"]) } else { "pending" };
        let mut body = self.alloc_body(place, "run", status);
        if self.dice.once_in(5) {
            body["PreviousAllocation"] = or_null(self.any_alloc().map(|alloc| json!(self.allocs[alloc].id)));
        }
        if self.dice.once_in(5) {
            body["DeploymentStatus"] = json!({"Canary": true});
        }
        body
    }

    fn alloc_body(&mut self, place: usize, desired: &str, client: &str) -> Value {
        let alloc = self.allocs[place].clone();
        let job = self.jobs[alloc.job].clone();
        let group = if self.dice.once_in(80) { "gone" } else { alloc.group };
        let mut body = json!({
            "ID": alloc.id,
            "Namespace": job.namespace,
            "JobID": job.id,
            "Name": format!("{}.{group}[0]", job.id),
            "NodeID": alloc.node,
            "TaskGroup": group,
            "DesiredStatus": desired,
            "ClientStatus": client,
        });
        if !self.dice.once_in(60) {
            body["EvalID"] = json!(alloc.eval);
        }
        if !alloc.deployment.is_empty() {
            body["DeploymentID"] = json!(alloc.deployment);
        }
        if self.dice.once_in(6) {
            body["FollowupEvalID"] = json!(self.any_eval());
        }
        if client == "unknown" || self.dice.once_in(10) {
            let value = *self.dice.pick(&["unknown", "unknown", "running"]);
            body["AllocStates"] = json!([{"Field": 0, "Value": value}, {"Field": 1, "Value": "other"}]);
        }
        if self.dice.once_in(10) {
            body["Job"] = self.job_body(alloc.job);
        }
        body
    }

    /// ApplyPlanResults: for a job, or for any.
    pub(super) fn plan(&mut self, job: Option<usize>) {
        let Some(job) = job.or_else(|| self.any_job()) else { return };
        let eval = match self.evals.iter().rposition(|eval| eval.job == self.jobs[job].id) {
            Some(place) if !self.dice.once_in(6) => self.evals[place].id.clone(),
            _ => self.any_eval(),
        };
        let deployment = self.dice.once_in(5).then(|| self.new_deployment(job));
        let deployment_id = match (deployment, self.deployments.last()) {
            (Some(place), _) => self.deployments[place].id.clone(),
            (None, Some(last)) if last.job == job => last.id.clone(),
            _ => String::new(),
        };
        let mut updated: Vec<_> = (0..self.dice.below(3)).map(|_| self.new_alloc(job, &eval, &deployment_id)).collect();
        if let Some(alloc) = self.any_alloc().filter(|_| self.dice.once_in(3)) {
            let desired = *self.dice.pick(&["run", "stop", "evict"]);
            let client = *self.dice.pick(&["pending", "running", "lost", "unknown", "complete"]);
            updated.push(self.alloc_body(alloc, desired, client));
        }
        let stopped: Vec<_> = (0..self.dice.below(5) / 3).filter_map(|_| self.stop()).collect();
        let preempted: Vec<_> = (0..self.dice.below(9) / 8).filter_map(|_| self.preemption()).collect();
        let mut request = json!({
            "AllocsUpdated": updated,
            "AllocsStopped": stopped,
            "AllocsPreempted": preempted,
            "Job": if self.dice.once_in(12) { Value::Null } else { self.job_body(job) },
            "Deployment": or_null(deployment.map(|deployment| self.deployment_body(deployment))),
            "EvalID": if self.dice.once_in(10) { String::new() } else { eval },
            "UpdatedAt": 0,
        });
        if self.dice.once_in(6) {
            request["DeploymentUpdates"] = json!([self.deployment_update(), self.deployment_update()]);
        }
        if self.dice.once_in(8) {
            let other = self.any_job().unwrap_or(job);
            let eval = self.new_eval(other, "pending");
            request["PreemptionEvals"] = json!([self.eval_body(eval, "pending")]);
        }
        if self.dice.once_in(20) {
            request["IneligibleNodes"] = json!([self.any_node()]);
        }
        // The lists of writers before 0.9.2.
        if self.dice.once_in(15) {
            request["Alloc"] =
                json!([self.new_alloc(job, &self.evals.last().map(|e| e.id.clone()).unwrap_or_default(), "")]);
        }
        self.command(13, &request);
    }

    fn stop(&mut self) -> Option<Value> {
        let alloc = self.any_alloc()?;
        let id = if self.dice.once_in(40) { self.dice.id() } else { self.allocs[alloc].id.clone() };
        let mut body = json!({"ID": id, "DesiredDescription": "not needed"});
        if self.dice.once_in(3) {
            body["ClientStatus"] = json!(*self.dice.pick(&["lost", "unknown", "complete"]));
        }
        if self.dice.once_in(5) {
            body["FollowupEvalID"] = json!(self.any_eval());
        }
        Some(body)
    }

    fn preemption(&mut self) -> Option<Value> {
        let alloc = self.any_alloc()?;
        Some(json!({"ID": self.allocs[alloc].id, "PreemptedByAllocation": self.dice.id()}))
    }

    /// AllocClientUpdate.
    pub(super) fn report(&mut self, allocs: &[usize], status: &str) {
        let bodies: Vec<_> = allocs.iter().map(|alloc| self.client_body(*alloc, status)).collect();
        let mut request = json!({"Alloc": bodies});
        if self.dice.once_in(6) {
            let job = self.allocs[allocs[0]].job;
            let eval = self.new_eval(job, "pending");
            request["Evals"] = json!([self.eval_body(eval, "pending")]);
        }
        self.command(9, &request);
    }

    fn client_body(&mut self, place: usize, status: &str) -> Value {
        let alloc = self.allocs[place].clone();
        let status = if self.dice.once_in(10) {
            *self.dice.pick(&["pending", "running", "complete", "failed", "lost", "unknown", ""])
        } else {
            status
        };
        let id = if self.dice.once_in(50) { self.dice.id() } else { alloc.id };
        let mut body = json!({"ID": id, "NodeID": alloc.node, "ClientStatus": status, "ClientDescription": "as seen"});
        if self.dice.once_in(3) {
            let healthy = *self.dice.pick(&[Some(true), Some(true), Some(false), None]);
            body["DeploymentStatus"] = json!({"Healthy": healthy});
        }
        body
    }

    pub(super) fn report_any(&mut self) {
        let mut allocs: Vec<_> = (0..=self.dice.below(4)).filter_map(|_| self.any_alloc()).collect();
        allocs.sort_unstable();
        allocs.dedup();
        if !allocs.is_empty() {
            let status = *self.dice.pick(&["pending", "running", "running", "complete", "failed", "lost"]);
            self.report(&allocs, status);
        } else if self.dice.once_in(4) {
            self.command(9, &json!({"Alloc": []}));
        }
    }

    /// AllocUpdate, which no writer has used since 0.6.
    pub(super) fn legacy_alloc_update(&mut self) {
        let Some(job) = self.any_job() else { return };
        let eval = self.any_eval();
        let alloc = self.new_alloc(job, &eval, "");
        let request = json!({"Alloc": [alloc], "Job": self.job_body(job)});
        self.command(8, &request);
    }

    pub(super) fn new_deployment(&mut self, job: usize) -> usize {
        // Now and then one that is known already.
        let known = self.deployments.iter().rposition(|deployment| deployment.job == job);
        if let Some(known) = known.filter(|_| self.dice.once_in(3)) {
            return known;
        }
        self.deployments.push(Deployment { id: self.dice.id(), job });
        self.deployments.len() - 1
    }

    pub(super) fn deployment_body(&mut self, place: usize) -> Value {
        let deployment = self.deployments[place].clone();
        let job = self.jobs[deployment.job].clone();
        let canaries: Vec<_> = self
            .allocs
            .iter()
            .filter(|alloc| alloc.deployment == deployment.id)
            .take(self.dice.below(3) as usize)
            .map(|alloc| alloc.id.clone())
            .collect();
        let status = *self.dice.pick(&["running", "running", "running", "pending", "paused", "successful", "blocked"]);
        let state = json!({
            "Promoted": self.dice.once_in(5),
            "DesiredCanaries": self.dice.below(2),
            "DesiredTotal": 2,
            "PlacedCanaries": canaries,
        });
        json!({
            "ID": deployment.id,
            "Namespace": job.namespace,
            "JobID": job.id,
            "JobVersion": self.dice.below(job.version + 1),
            "JobCreateIndex": job.created,
            "JobModifyIndex": job.modified,
            "Status": status,
            "StatusDescription": "",
            "TaskGroups": {job.groups[0]: state},
        })
    }

    fn any_deployment(&mut self) -> String {
        let count = self.deployments.len() as u64;
        if count == 0 || self.dice.once_in(25) {
            return self.dice.id();
        }
        let back = if self.dice.once_in(3) { count } else { count.min(4) };
        self.deployments[(count - 1 - self.dice.below(back)) as usize].id.clone()
    }

    fn deployment_update(&mut self) -> Value {
        let status = *self.dice.pick(&["running", "paused", "failed", "successful", "successful", "cancelled"]);
        json!({"DeploymentID": self.any_deployment(), "Status": status, "StatusDescription": "told"})
    }

    /// A job as a deployment message carries it, and an evaluation.
    fn job_and_eval(&mut self) -> (Value, Value) {
        let Some(job) = self.any_job() else { return (Value::Null, Value::Null) };
        let body = if self.dice.once_in(4) { self.job_body(job) } else { Value::Null };
        let eval = if self.dice.once_in(2) {
            let eval = self.new_eval(job, "pending");
            self.eval_body(eval, "pending")
        } else {
            Value::Null
        };
        (body, eval)
    }

    /// The messages about deployments.
    pub(super) fn deploy(&mut self) {
        if self.deployments.is_empty() && !self.dice.once_in(5) {
            return;
        }
        let (job, eval) = self.job_and_eval();
        let deployment = self.any_deployment();
        match self.dice.below(8) {
            0..3 => {
                let request = json!({"DeploymentUpdate": self.deployment_update(), "Job": job, "Eval": eval});
                self.command(14, &request);
            }
            3 | 4 => {
                let all = self.dice.once_in(2);
                let groups = if all { json!(null) } else { json!(["work"]) };
                self.command(15, &json!({"DeploymentID": deployment, "All": all, "Groups": groups, "Eval": eval}));
            }
            5 | 6 => {
                let ids: Vec<_> = self
                    .allocs
                    .iter()
                    .filter(|alloc| alloc.deployment == deployment)
                    .map(|alloc| alloc.id.clone())
                    .collect();
                let (healthy, unhealthy) = ids.split_at(self.dice.below(ids.len() as u64 + 1) as usize);
                let mut healthy = healthy.to_vec();
                if self.dice.once_in(10) {
                    healthy.push(self.dice.id());
                }
                let update = if self.dice.once_in(3) { self.deployment_update() } else { Value::Null };
                let request = json!({
                    "DeploymentID": deployment,
                    "HealthyAllocationIDs": healthy,
                    "UnhealthyAllocationIDs": unhealthy,
                    "DeploymentUpdate": update,
                    "Job": job,
                    "Eval": eval,
                });
                self.command(16, &request);
            }
            _ => {
                let more = self.any_deployment();
                self.command(17, &json!({"Deployments": [deployment, more]}));
            }
        }
    }

    /// AllocUpdateDesiredTransition.
    pub(super) fn transition(&mut self) {
        let Some(alloc) = self.any_alloc() else { return };
        let alloc = self.allocs[alloc].clone();
        let eval = self.new_eval(alloc.job, "pending");
        let request = json!({"Allocs": {alloc.id: {"Migrate": true}}, "Evals": [self.eval_body(eval, "pending")]});
        self.command(27, &request);
    }
}
