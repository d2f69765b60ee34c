//! Messages for the FSM: the type byte decides which body is read (fsm.md 1).

use super::body::{acl, alloc, cluster, deployment, eval, job, misc, node, restart, service, volume};
use super::msgpack::{Reader, Result};
use super::wire::Wire;

macro_rules! messages {
    ($($(#[$meta:meta])* $number:literal $name:ident($body:ty),)*) => {
        /// A decoded command. Types that no community release knows are [`Message::Other`].
        #[derive(Clone, Debug, PartialEq)]
        pub enum Message<'a> {
            $($(#[$meta])* $name($body),)*
            /// A job restart of an early design, whose number is not fixed.
            JobRestart(restart::JobRestart<'a>),
            /// A type that no community release knows.
            Other(u8),
        }

        impl<'a> Message<'a> {
            /// Reads a command's payload: the type byte, with or without the ignore flag, and the
            /// body. Bytes behind the body are ignored, as a server does. `None` without a byte.
            ///
            /// # Errors
            /// When the body is no message of its type.
            pub fn read(data: &'a [u8]) -> Option<Result<Self>> {
                let kind = super::split(data)?.kind;
                let mut body = Reader::at(data, 1);
                Some(match kind {
                    $($number => Wire::read(&mut body).map(Message::$name),)*
                    other => Ok(Message::Other(other)),
                })
            }

            /// Reads a command's payload whatever its number as a job restart of the early design.
            /// `None` without a byte.
            ///
            /// # Errors
            /// As [`Message::read`].
            pub fn read_restart(data: &'a [u8]) -> Option<Result<Self>> {
                super::split(data)?;
                Some(Wire::read(&mut Reader::at(data, 1)).map(Message::JobRestart))
            }
        }
    };
}

messages! {
    /// A node joins or changes.
    0 NodeRegister(node::NodeRegister<'a>),
    /// A node goes.
    1 NodeDeregister(node::NodeDeregister<'a>),
    /// A node's status.
    2 NodeUpdateStatus(node::NodeUpdateStatus<'a>),
    /// A node's drain.
    3 NodeUpdateDrain(node::NodeUpdateDrain<'a>),
    /// A job is submitted.
    4 JobRegister(job::JobRegister<'a>),
    /// A job is stopped or purged.
    5 JobDeregister(job::JobDeregister<'a>),
    /// Evaluations are made or changed.
    6 EvalUpdate(eval::EvalUpdate<'a>),
    /// Evaluations and allocations are collected.
    7 EvalDelete(eval::EvalDelete<'a>),
    /// Allocations of old writers.
    8 AllocUpdate(alloc::AllocUpdate<'a>),
    /// What clients report of allocations.
    9 AllocClientUpdate(alloc::AllocUpdate<'a>),
    /// Summaries are computed anew; the body is never read.
    10 ReconcileJobSummaries(Unread),
    /// Vault tokens are noted.
    11 VaultAccessorRegister(cluster::Accessors<'a>),
    /// Vault tokens are forgotten.
    12 VaultAccessorDeregister(cluster::Accessors<'a>),
    /// A scheduler's plan.
    13 ApplyPlanResults(Box<alloc::ApplyPlanResults<'a>>),
    /// A deployment's status.
    14 DeploymentStatusUpdate(deployment::DeploymentStatusUpdate<'a>),
    /// Canaries are promoted.
    15 DeploymentPromote(deployment::DeploymentPromote<'a>),
    /// Health by hand.
    16 DeploymentAllocHealth(deployment::DeploymentAllocHealth<'a>),
    /// Deployments are collected.
    17 DeploymentDelete(deployment::DeploymentDelete<'a>),
    /// A version is marked stable or not.
    18 JobStability(job::JobStability<'a>),
    /// ACL policies are made or changed.
    19 AclPolicyUpsert(acl::PolicyUpsert<'a>),
    /// ACL policies go.
    20 AclPolicyDelete(acl::PolicyDelete<'a>),
    /// ACL tokens are made or changed.
    21 AclTokenUpsert(acl::TokenUpsert<'a>),
    /// ACL tokens go.
    22 AclTokenDelete(acl::TokenDelete<'a>),
    /// The first management token.
    23 AclTokenBootstrap(acl::TokenBootstrap<'a>),
    /// The autopilot configuration.
    24 Autopilot(cluster::AutopilotSetConfig<'a>),
    /// Events of nodes.
    25 UpsertNodeEvents(node::UpsertNodeEvents<'a>),
    /// Many jobs are stopped or purged.
    26 JobBatchDeregister(job::JobBatchDeregister<'a>),
    /// The scheduler is asked to move allocations.
    27 AllocUpdateDesiredTransition(alloc::DesiredTransitions<'a>),
    /// A node's eligibility.
    28 NodeUpdateEligibility(node::NodeUpdateEligibility<'a>),
    /// Drains of many nodes.
    29 BatchNodeUpdateDrain(node::BatchNodeUpdateDrain<'a>),
    /// The scheduler configuration.
    30 SchedulerConfig(misc::SchedulerSetConfig<'a>),
    /// Many nodes go.
    31 NodeBatchDeregister(node::NodeBatchDeregister<'a>),
    /// The cluster's ID.
    32 ClusterMetadata(cluster::ClusterMetadata<'a>),
    /// Consul tokens are noted.
    33 SiAccessorRegister(cluster::Accessors<'a>),
    /// Consul tokens are forgotten.
    34 SiAccessorDeregister(cluster::Accessors<'a>),
    /// CSI volumes are made or changed.
    35 CsiVolumeRegister(volume::CsiVolumeRegister<'a>),
    /// CSI volumes go.
    36 CsiVolumeDeregister(volume::CsiVolumeDeregister<'a>),
    /// A CSI volume is claimed or released.
    37 CsiVolumeClaim(volume::CsiVolumeClaim<'a>),
    /// A job's scaling event.
    38 ScalingEventRegister(job::ScalingEventRegister<'a>),
    /// Many claims of CSI volumes.
    39 CsiVolumeClaimBatch(volume::CsiVolumeClaimBatch<'a>),
    /// A CSI plugin goes.
    40 CsiPluginDelete(volume::CsiPluginDelete<'a>),
    /// Event sinks were never built: the body is not read.
    41 EventSinkUpsert(Unread),
    /// As above.
    42 EventSinkDelete(Unread),
    /// As above.
    43 EventSinkProgress(Unread),
    /// A one-time token is made.
    44 OneTimeTokenUpsert(acl::OneTimeToken<'a>),
    /// One-time tokens are used.
    45 OneTimeTokenDelete(acl::OneTimeTokenDelete<'a>),
    /// One-time tokens run out.
    46 OneTimeTokenExpire(acl::OneTimeTokenExpire<'a>),
    /// Services are registered.
    47 ServiceUpsert(service::ServiceUpsert<'a>),
    /// A service goes.
    48 ServiceDeleteById(service::ServiceDeleteById<'a>),
    /// A node's services go.
    49 ServiceDeleteByNode(service::ServiceDeleteByNode<'a>),
    /// A variable is written, deleted, locked or unlocked.
    50 VarApplyState(cluster::VarApplyState<'a>),
    /// A key of the keyring, without its material.
    51 RootKeyMetaUpsert(cluster::RootKeyMetaUpsert<'a>),
    /// A key of the keyring goes.
    52 RootKeyDelete(cluster::RootKeyDelete<'a>),
    /// ACL roles are made or changed.
    53 AclRoleUpsert(acl::RoleUpsert<'a>),
    /// ACL roles go.
    54 AclRoleDelete(acl::RoleDelete<'a>),
    /// ACL auth methods are made or changed.
    55 AclAuthMethodUpsert(acl::AuthMethodUpsert<'a>),
    /// ACL auth methods go.
    56 AclAuthMethodDelete(acl::AuthMethodDelete<'a>),
    /// ACL binding rules are made or changed.
    57 AclBindingRuleUpsert(acl::BindingRuleUpsert<'a>),
    /// ACL binding rules go.
    58 AclBindingRuleDelete(acl::BindingRuleDelete<'a>),
    /// Node pools are made or changed.
    59 NodePoolUpsert(misc::NodePoolUpsert<'a>),
    /// Node pools go.
    60 NodePoolDelete(misc::NodePoolDelete<'a>),
    /// A job version gets or loses a tag.
    61 JobVersionTag(job::JobApplyTag<'a>),
    /// A key of the keyring with its wrapped material.
    62 WrappedRootKeyUpsert(cluster::WrappedRootKeyUpsert<'a>),
    /// Namespaces are made or changed.
    64 NamespaceUpsert(misc::NamespaceUpsert<'a>),
    /// Namespaces go.
    65 NamespaceDelete(misc::NamespaceDelete<'a>),
    /// A host volume is made or changed.
    75 HostVolumeRegister(volume::HostVolumeRegister<'a>),
    /// A host volume goes.
    76 HostVolumeDelete(volume::HostVolumeDelete<'a>),
    /// A claim of a host volume goes.
    77 VolumeClaimDelete(volume::VolumeClaimDelete<'a>),
}

/// A body that servers do not look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unread;

impl<'a> Wire<'a> for Unread {
    fn read(_: &mut Reader<'a>) -> Result<Self> {
        Ok(Unread)
    }
}

impl<'a, T: Wire<'a>> Wire<'a> for Box<T> {
    fn read(r: &mut Reader<'a>) -> Result<Self> {
        T::read(r).map(Box::new)
    }
}
