//! ApplyPlanResults (fsm.md 2.11): all or nothing.

use super::super::Txn;
use super::super::id::{Id, Word};
use super::super::outcome::{Outcome, Refusal};
use super::super::row::{Alloc, Eval};
use super::Applied;
use crate::entry::body::alloc::{AllocBody, ApplyPlanResults};
use std::sync::Arc;

impl Txn<'_> {
    /// ApplyPlanResults (13).
    pub(super) fn plan_results(&mut self, plan: &ApplyPlanResults<'_>) -> Applied {
        self.atomically(|t| t.plan(plan))?;
        Ok(Outcome::Applied)
    }

    fn plan(&mut self, plan: &ApplyPlanResults<'_>) -> Result<(), Refusal> {
        // Stops and preemptions are differences to the rows from before the entry.
        let stopped = self.apply_differences(&plan.stopped, Self::stop)?;
        let preempted = self.apply_differences(&plan.preempted, Self::preempt)?;
        if self.rules.plan_marks_nodes {
            for node in &plan.ineligible_nodes {
                self.mark_ineligible(node, plan.updated_at)?;
            }
        }
        if let Some(body) = &plan.deployment {
            let row = self.deployment_row(body);
            let row = self.merge_deployment(row);
            self.upsert_deployment(row)?;
        }
        let dated = self.rules.status_update_resets_deadline.then_some(plan.updated_at);
        for update in &plan.deployment_updates {
            // The first that fails ends the list without a word.
            if self.update_deployment_status(update, dated).is_err() {
                break;
            }
        }
        self.touch_planned_eval(&plan.eval_id)?;
        self.bump("allocs");
        let rows = self.in_order(plan, stopped, preempted)?;
        self.upsert_allocs(rows)?;
        self.nest_evals(&plan.preemption_evals);
        Ok(())
    }

    /// The allocations in the order in which they are written.
    fn in_order(
        &self,
        plan: &ApplyPlanResults<'_>,
        stopped: Vec<Alloc>,
        preempted: Vec<Alloc>,
    ) -> Result<Vec<Alloc>, Refusal> {
        let rows = |bodies: &[AllocBody<'_>]| -> Vec<Alloc> {
            bodies.iter().map(|a| self.alloc_row(a, plan.job.as_ref())).collect()
        };
        let updated = rows(&plan.updated);
        if self.rules.plan_updates_first {
            return Ok([updated, stopped, preempted].concat());
        }
        let old_preempted = self.apply_differences(&plan.node_preemptions, Self::preempt)?;
        Ok([rows(&plan.allocs), old_preempted, stopped, updated, preempted].concat())
    }

    fn apply_differences(
        &self,
        bodies: &[AllocBody<'_>],
        change: fn(&Self, &mut Alloc, &AllocBody<'_>),
    ) -> Result<Vec<Alloc>, Refusal> {
        let mut rows = Vec::with_capacity(bodies.len());
        for body in bodies {
            let Some(before) = self.state.alloc(&Id::new(&body.id)) else {
                if self.blind {
                    continue;
                }
                return Err(Refusal::new(format!("allocation {} does not exist", body.id)));
            };
            let mut row = Alloc::clone(before);
            if body.preempted_by.is_empty() {
                change(self, &mut row, body);
            } else {
                self.preempt(&mut row, body);
            }
            if body.modify_time != 0 {
                row.modify_time = body.modify_time;
            }
            rows.push(row);
        }
        Ok(rows)
    }

    fn stop(&self, row: &mut Alloc, body: &AllocBody<'_>) {
        row.desired_status = Word::new("stop");
        row.desired_description = (*body.desired_description).into();
        if !body.client_status.is_empty() {
            row.client_status = Word::new(&body.client_status);
        }
        if !body.followup_eval_id.is_empty() {
            row.followup_eval = Id::new(&body.followup_eval_id);
        }
        if self.rules.plan_updates_first {
            row.states = body.alloc_states.place.0.map(|at| self.origin(at));
            row.disconnected = body.alloc_states.disconnected;
        }
    }

    fn preempt(&self, row: &mut Alloc, body: &AllocBody<'_>) {
        row.desired_status = Word::new("evict");
        row.preempted_by = Id::new(&body.preempted_by);
        row.desired_description = format!("Preempted by alloc ID {}", body.preempted_by).into();
    }

    /// The evaluation of the plan must exist; its ModifyIndex moves.
    fn touch_planned_eval(&mut self, id: &str) -> Result<(), Refusal> {
        if id.is_empty() {
            return Ok(());
        }
        let id = Id::new(id);
        match self.state.eval(&id) {
            Some(eval) => {
                let mut row = Eval::clone(eval);
                row.indexes.modify = self.index;
                self.state.put_eval(&id, Some(Arc::new(row)));
                self.bump("evals");
                Ok(())
            }
            None if self.blind => Ok(()),
            None => Err(Refusal::new(format!("the plan's evaluation {id} does not exist"))),
        }
    }
}
