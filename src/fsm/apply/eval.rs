//! Evaluations made, changed and collected (fsm.md 2.8, 2.9).

use std::collections::HashMap;
use std::sync::Arc;

use super::super::Txn;
use super::super::id::{Id, Word};
use super::super::outcome::{Outcome, Refusal};
use super::super::row::{Alloc, Eval, Indexes, Summary};
use super::super::state::fold;
use super::super::status::Due;
use super::Applied;
use super::eval_filter::Filter;
use crate::entry::body::eval::{EvalBody, EvalDelete, EvalUpdate};
use crate::types::JobKey;

impl Txn<'_> {
    /// An evaluation row from a body. The namespace stays as it is written.
    pub(in super::super) fn eval_row(&self, body: &EvalBody<'_>) -> Eval {
        Eval {
            id: Id::new(&body.id),
            job: JobKey::new(&*body.namespace, &*body.job_id),
            kind: Word::new(&body.kind),
            triggered_by: Word::new(&body.triggered_by),
            status: Word::new(&body.status),
            priority: body.priority,
            node_id: Id::new(&body.node_id),
            deployment_id: Id::new(&body.deployment_id),
            description: None,
            job_modify_index: None,
            modify_time: None,
            indexes: Indexes { create: self.index, modify: self.index },
            origin: self.origin(body.at),
        }
    }

    /// Stores an evaluation without looking at its job's status (fsm.md 2.8, steps 1 to 4).
    pub(super) fn nest_eval(&mut self, mut row: Eval, body: &EvalBody<'_>) {
        if let Some(existing) = self.state.eval(&row.id) {
            row.indexes.create = existing.indexes.create;
        }
        self.set_queued(&row.job, body);
        if row.status == "complete" && !body.failed_groups.0 {
            self.cancel_blocked(&row, body);
        }
        let id = row.id.clone();
        self.state.put_eval(&id, Some(Arc::new(row)));
        self.bump("evals");
    }

    fn set_queued(&mut self, job: &JobKey, body: &EvalBody<'_>) {
        let Some(summary) = self.state.summary(job).filter(|_| !body.queued.0.is_empty()) else { return };
        let mut row = Summary::clone(summary);
        for (name, queued) in &body.queued.0 {
            if let Some(group) = row.group_mut(name) {
                group.queued = Some(*queued);
            }
        }
        if row != **summary {
            row.indexes.modify = self.index;
            self.state.put_summary(job, Some(Arc::new(row)));
            self.bump("job_summary");
        }
    }

    /// A completed evaluation that placed everything makes the job's blocked ones needless.
    fn cancel_blocked(&mut self, by: &Eval, body: &EvalBody<'_>) {
        for id in self.state.blocked_evals(&fold(&by.job)) {
            let Some(blocked) = self.state.eval(&id) else { continue };
            let mut row = Eval::clone(blocked);
            row.status = Word::new("canceled");
            row.description = Some(format!("evaluation {:?} successful", by.id.to_string()).into());
            if self.rules.cancel_takes_time {
                row.modify_time = Some(body.modify_time);
            }
            row.indexes.modify = self.index;
            self.state.put_eval(&id, Some(Arc::new(row)));
        }
    }

    /// Stores evaluations and moves their jobs' statuses (fsm.md 2.8).
    pub(super) fn upsert_evals(&mut self, rows: Vec<(Eval, &EvalBody<'_>)>) -> Result<(), Refusal> {
        let mut due = Due::default();
        for (row, body) in rows {
            due.note(row.job.clone(), None);
            self.nest_eval(row, body);
        }
        self.set_job_statuses(due, false)
    }

    /// The evaluations that follow from other things; no status is looked at.
    pub(super) fn nest_evals<'b>(&mut self, bodies: impl IntoIterator<Item = &'b EvalBody<'b>>) {
        for body in bodies {
            self.nest_eval(self.eval_row(body), body);
        }
    }

    /// EvalUpdate (6).
    pub(super) fn eval_update(&mut self, request: &EvalUpdate<'_>) -> Applied {
        if request.evals.is_empty() {
            return Ok(Outcome::NoEffect("it has no evaluation".into()));
        }
        self.atomically(|t| {
            let rows = request.evals.iter().map(|e| (t.eval_row(e), e)).collect();
            t.upsert_evals(rows)
        })?;
        Ok(Outcome::Applied)
    }

    /// EvalDelete (7).
    pub(super) fn eval_delete(&mut self, request: &EvalDelete<'_>) -> Applied {
        let by_filter = self.rules.eval_delete_by_filter && !request.filter.is_empty();
        let by_user = self.rules.eval_delete_by_user && request.user_initiated;
        if (by_filter || by_user) && !self.state.pause_eval_broker() && !self.blind {
            return Err(Refusal::new("the eval broker is not paused, which deleting evaluations by hand needs"));
        }
        if by_filter {
            return self.delete_evals_by_filter(request);
        }
        let (evals, allocs) = self.atomically(|t| t.delete_evals_and_allocs(request))?;
        Ok(if evals + allocs == 0 {
            Outcome::NoEffect("none of the evaluations and allocations exists".into())
        } else {
            Outcome::Applied
        })
    }

    fn delete_evals_and_allocs(&mut self, request: &EvalDelete<'_>) -> Result<(usize, usize), Refusal> {
        let mut due = Due::default();
        let (mut evals, mut allocs) = (0, 0);
        for id in &request.evals {
            let id = Id::new(id);
            if let Some(eval) = self.state.eval(&id) {
                due.note(eval.job.clone(), None);
                self.state.put_eval(&id, None);
                evals += 1;
            }
        }
        for id in &request.allocs {
            let id = Id::new(id);
            if self.state.alloc(&id).is_some() {
                self.state.put_alloc(&id, None);
                self.drop_services_of(&id);
                allocs += 1;
            }
        }
        if evals > 0 || !self.rules.empty_delete_keeps_indexes {
            self.bump("evals");
        }
        if allocs > 0 || !self.rules.empty_delete_keeps_indexes {
            self.bump("allocs");
        }
        self.set_job_statuses(due, true)?;
        Ok((evals, allocs))
    }

    /// Deletes evaluations that a filter matches and that nothing needs any more, by creation, up
    /// to a page of them. No status is looked at (fsm.md 2.9, corrections).
    fn delete_evals_by_filter(&mut self, request: &EvalDelete<'_>) -> Applied {
        let filter = Filter::parse(&request.filter).map_err(Refusal::new)?;
        let mut rows: Vec<Arc<Eval>> = self.state.evals().cloned().collect();
        rows.sort_by(|a, b| (a.indexes.create, &a.id).cmp(&(b.indexes.create, &b.id)));
        let from = Id::new(&request.next_token);
        // An allocation counts for the evaluation that it names, whatever its job.
        let mut needed_by: HashMap<Id, Vec<Arc<Alloc>>> = HashMap::new();
        for alloc in
            self.state.allocs().filter(|a| matches!(a.client_status.as_str(), "running" | "unknown" | "failed"))
        {
            needed_by.entry(alloc.eval_id.clone()).or_default().push(alloc.clone());
        }
        let mut deleted = 0;
        for eval in rows {
            if deleted >= request.per_page {
                break;
            }
            let allocs = needed_by.get(&eval.id).map(Vec::as_slice).unwrap_or_default();
            if eval.id >= from && self.may_be_deleted(&eval, allocs) && filter.matches(&eval) {
                self.state.put_eval(&eval.id, None);
                deleted += 1;
            }
        }
        Ok(if deleted == 0 { Outcome::NoEffect("no evaluation matches".into()) } else { Outcome::Applied })
    }

    /// Nothing depends on the evaluation: its job is gone or over, or none of its allocations is at
    /// work or still to be replaced.
    fn may_be_deleted(&self, eval: &Eval, allocs: &[Arc<Alloc>]) -> bool {
        let Some(job) = self.state.job(&eval.job).filter(|job| !job.stop && job.status != "dead") else {
            return true;
        };
        allocs.iter().all(|alloc| match alloc.client_status.as_str() {
            "running" | "unknown" => false,
            "failed" => {
                let group = job.groups.iter().find(|g| g.name == alloc.task_group);
                !group.is_some_and(|g| g.reschedules) || !alloc.next.is_empty()
            }
            _ => true,
        })
    }
}
