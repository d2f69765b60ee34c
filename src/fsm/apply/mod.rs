//! One function for each message, one file for each family.

mod alloc;
mod deployment;
mod eval;
mod eval_filter;
mod job;
mod node;
mod plan;
mod reconcile;
mod registry;
mod upsert_job;

use super::Txn;
use super::outcome::{Outcome, Refusal};
use crate::entry::message::Message;

/// What a message function returns: why nothing happened, if nothing did, or why it was refused.
type Applied = Result<Outcome, Refusal>;

impl Txn<'_> {
    /// Applies a message. An error undoes nothing by itself; what an earlier transaction of the
    /// entry wrote stands, and makes the outcome a partial one.
    pub(super) fn message(&mut self, message: &Message<'_>) -> Outcome {
        let start = self.state.mark();
        let result = match message {
            Message::NodeRegister(m) => self.node_register(m),
            Message::NodeDeregister(m) => self.node_deregister(&[&m.node_id]),
            Message::NodeBatchDeregister(m) => self.node_deregister(&m.node_ids.iter().collect::<Vec<_>>()),
            Message::NodeUpdateStatus(m) => self.node_update_status(m),
            Message::NodeUpdateDrain(m) => self.node_update_drain(m),
            Message::BatchNodeUpdateDrain(m) => self.batch_node_update_drain(m),
            Message::NodeUpdateEligibility(m) => self.node_update_eligibility(m),
            Message::UpsertNodeEvents(m) => self.upsert_node_events(m),
            Message::JobRegister(m) => self.job_register(m),
            Message::JobDeregister(m) => self.job_deregister(m),
            Message::JobBatchDeregister(m) => self.job_batch_deregister(m),
            Message::JobStability(m) => self.job_stability(m),
            Message::JobVersionTag(m) => self.job_version_tag(m),
            Message::EvalUpdate(m) => self.eval_update(m),
            Message::EvalDelete(m) => self.eval_delete(m),
            Message::AllocUpdate(m) => self.alloc_update(m),
            Message::AllocClientUpdate(m) => self.alloc_client_update(m),
            Message::AllocUpdateDesiredTransition(m) => self.desired_transitions(m),
            Message::ApplyPlanResults(m) => self.plan_results(m),
            Message::DeploymentStatusUpdate(m) => self.deployment_status_update(m),
            Message::DeploymentPromote(m) => self.deployment_promote(m),
            Message::DeploymentAllocHealth(m) => self.deployment_alloc_health(m),
            Message::DeploymentDelete(m) => self.deployment_delete(m),
            Message::ReconcileJobSummaries(_) => self.reconcile_job_summaries(),
            Message::NamespaceUpsert(m) => self.namespace_upsert(m),
            Message::NamespaceDelete(m) => self.namespace_delete(m),
            Message::NodePoolUpsert(m) => self.node_pool_upsert(m),
            Message::NodePoolDelete(m) => self.node_pool_delete(m),
            Message::SchedulerConfig(m) => self.scheduler_config(m),
            Message::Other(_) => Ok(Outcome::NotModelled),
        };
        let wrote = self.state.mark() != start;
        match result {
            Ok(outcome) => outcome,
            Err(refusal) if wrote => Outcome::PartiallyApplied(refusal),
            Err(refusal) => Outcome::Refused(refusal),
        }
    }
}
