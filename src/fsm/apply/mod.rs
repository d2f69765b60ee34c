//! One function for each message, one file for each family.

mod acl;
mod alloc;
mod cluster;
mod csi_plugin;
mod csi_volume;
mod deployment;
mod eval;
mod eval_filter;
mod host_volume;
mod job;
mod node;
mod plan;
mod reconcile;
mod registry;
mod restart;
mod scaling;
mod service;
mod upsert_job;
mod variable;

use super::Txn;
use super::outcome::{Outcome, Refusal};
use super::table::TableName;
use crate::entry::message::Message;
pub(super) use cluster::accessor_key;

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
            Message::VaultAccessorRegister(m) => self.accessors_register(TableName::VaultAccessors, m),
            Message::VaultAccessorDeregister(m) => self.accessors_deregister(TableName::VaultAccessors, m),
            Message::SiAccessorRegister(m) => self.accessors_register(TableName::SiTokenAccessors, m),
            Message::SiAccessorDeregister(m) => self.accessors_deregister(TableName::SiTokenAccessors, m),
            Message::AclPolicyUpsert(m) => self.acl_policy_upsert(m),
            Message::AclPolicyDelete(m) => self.acl_delete(TableName::AclPolicies, "acl_policy", &m.names),
            Message::AclTokenUpsert(m) => self.acl_token_upsert(m),
            Message::AclTokenDelete(m) => self.acl_delete(TableName::AclTokens, "acl_token", &m.accessor_ids),
            Message::AclTokenBootstrap(m) => self.acl_bootstrap(m),
            Message::AclRoleUpsert(m) => self.acl_role_upsert(m),
            Message::AclRoleDelete(m) => self.acl_delete_known(TableName::AclRoles, "acl_roles", &m.ids),
            Message::AclAuthMethodUpsert(m) => self.acl_auth_method_upsert(m),
            Message::AclAuthMethodDelete(m) => {
                self.acl_delete_known(TableName::AclAuthMethods, "acl_auth_methods", &m.names)
            }
            Message::AclBindingRuleUpsert(m) => self.acl_binding_rule_upsert(m),
            Message::AclBindingRuleDelete(m) => {
                self.acl_delete_known(TableName::AclBindingRules, "acl_binding_rules", &m.ids)
            }
            Message::OneTimeTokenUpsert(m) => self.one_time_token_upsert(m),
            Message::OneTimeTokenDelete(m) => self.one_time_token_delete(&m.accessor_ids),
            Message::OneTimeTokenExpire(m) => self.one_time_token_expire(m),
            Message::Autopilot(m) => self.autopilot(m),
            Message::ClusterMetadata(m) => self.cluster_metadata(m),
            Message::RootKeyMetaUpsert(m) => self.root_key_upsert(m.key.as_ref(), m.rekey),
            Message::WrappedRootKeyUpsert(m) => self.root_key_upsert(m.key.as_ref(), m.rekey),
            Message::RootKeyDelete(m) => self.root_key_delete(m),
            Message::VarApplyState(m) => self.var_apply_state(m),
            Message::ScalingEventRegister(m) => self.scaling_event(m),
            Message::ServiceUpsert(m) => self.service_upsert(m),
            Message::ServiceDeleteById(m) => self.service_delete(m),
            Message::ServiceDeleteByNode(m) => self.services_of_node_delete(m),
            Message::CsiVolumeRegister(m) => self.csi_volume_register(m),
            Message::CsiVolumeDeregister(m) => self.csi_volume_deregister(m),
            Message::CsiVolumeClaim(m) => self.csi_volume_claim(m),
            Message::CsiVolumeClaimBatch(m) => self.csi_volume_claim_batch(m),
            Message::CsiPluginDelete(m) => self.csi_plugin_delete(m),
            Message::HostVolumeRegister(m) => self.host_volume_register(m),
            Message::HostVolumeDelete(m) => self.host_volume_delete(m),
            Message::VolumeClaimDelete(m) => self.volume_claim_delete(m),
            Message::EventSinkUpsert(_) | Message::EventSinkDelete(_) | Message::EventSinkProgress(_) => {
                Ok(Outcome::NoEffect("servers ignore this type".into()))
            }
            // No rules know a type that this program does not know, so that this is never reached in a replay.
            Message::JobRestart(m) => self.job_restart(m),
            Message::Other(number) => Err(Refusal::new(format!("type {number} is not known"))),
        };
        let wrote = self.state.mark() != start;
        match result {
            Ok(outcome) => outcome,
            Err(refusal) if wrote => Outcome::PartiallyApplied(refusal),
            Err(refusal) => Outcome::Refused(refusal),
        }
    }
}

/// The namespace that a request means.
fn or_default(namespace: &str) -> &str {
    if namespace.is_empty() { "default" } else { namespace }
}
