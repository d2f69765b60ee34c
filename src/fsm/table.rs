//! The tables beside jobs, evaluations, allocations, deployments and nodes: they share one map and one kind of
//! change in the journal.

use std::sync::Arc;

use super::csi::{Plugin, Volume};
use super::id::{Id, Word};
use super::row::{Indexes, Origin, Scaling};
use crate::entry::content::Digest;
use crate::entry::time::GoTime;
use crate::types::{Index, JobKey};

/// The key of a row: its namespace, empty in a table that has none, and its ID or name within it.
pub type RowKey = JobKey;

/// The key of a row in a table without namespaces.
pub fn global(id: &str) -> RowKey {
    RowKey::new("", id)
}

macro_rules! tables {
    ($($(#[$doc:meta])* $name:ident $printed:literal,)*) => {
        /// A table, ordered by the name under which its rows are printed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum TableName {
            $($(#[$doc])* $name,)*
        }

        impl TableName {
            /// Every table.
            pub const ALL: &[TableName] = &[$(TableName::$name,)*];

            /// The name under which its rows are printed: that of `nomad operator raft state` where it prints them.
            pub fn name(self) -> &'static str {
                match self {
                    $(TableName::$name => $printed,)*
                }
            }
        }
    };
}

tables! {
    /// Auth methods, by name.
    AclAuthMethods "ACLAuthMethods",
    /// Binding rules, by ID.
    AclBindingRules "ACLBindingRules",
    /// Policies, by name.
    AclPolicies "ACLPolicies",
    /// Roles, by ID.
    AclRoles "ACLRoles",
    /// Tokens, by accessor ID.
    AclTokens "ACLTokens",
    /// The autopilot configuration; its one row has the empty ID.
    AutopilotConfig "AutopilotConfig",
    /// CSI plugins, by ID.
    CsiPlugins "CSIPlugins",
    /// CSI volumes, by namespace and ID.
    CsiVolumes "CSIVolumes",
    /// The cluster's ID; its one row has the empty ID.
    ClusterMetadata "ClusterMetadata",
    /// Dynamic host volumes, by namespace and ID.
    HostVolumes "HostVolumes",
    /// Job restarts of the early design, by ID in lower case.
    JobRestarts "JobRestarts",
    /// Submitted sources of jobs, all versions of a job in one row, by namespace and job.
    JobSubmissions "JobSubmissions",
    /// One-time tokens, by accessor ID.
    OneTimeTokens "OneTimeTokens",
    /// Keys of the keyring, by ID.
    RootKeys "RootKeys",
    /// Consul tokens up to 1.9, by accessor ID.
    SiTokenAccessors "SITokenAccessors",
    /// Scaling events, by namespace and job.
    ScalingEvents "ScalingEvents",
    /// Scaling policies, by ID.
    ScalingPolicies "ScalingPolicies",
    /// The scheduler configuration; its one row has the empty ID.
    SchedulerConfig "SchedulerConfig",
    /// Service registrations, by namespace and ID.
    ServiceRegistrations "ServiceRegistrations",
    /// Claims of host volumes by task groups, by namespace and `job/group/volume`: their IDs are made by chance.
    TaskGroupHostVolumeClaims "TaskGroupHostVolumeClaims",
    /// Encrypted variables, by namespace and path.
    Variables "Variables",
    /// Bytes of variables, by namespace.
    VariablesQuotas "VariablesQuotas",
    /// Vault tokens up to 1.9, by accessor.
    VaultAccessors "VaultAccessors",
}

macro_rules! rows {
    ($($(#[$doc:meta])* $variant:ident $get:ident($row:ty),)*) => {
        /// A row of one of these tables.
        #[derive(Clone, Debug, PartialEq)]
        pub enum TableRow {
            $($(#[$doc])* $variant($row),)*
        }

        impl TableRow {
            $(
                $(#[$doc])*
                pub fn $get(&self) -> Option<&$row> {
                    match self {
                        TableRow::$variant(row) => Some(row),
                        _ => None,
                    }
                }
            )*
        }
    };
}

rows! {
    /// A row of which the FSM looks at nothing but the indexes.
    Plain plain(Plain),
    /// An ACL policy.
    Policy policy(Plain),
    /// A job restart of the early design.
    JobRestart job_restart(Plain),
    /// An ACL token.
    Token token(Token),
    /// An ACL role.
    Role role(Role),
    /// An ACL auth method.
    AuthMethod auth_method(AuthMethod),
    /// An ACL binding rule.
    BindingRule binding_rule(BindingRule),
    /// A one-time token.
    OneTimeToken one_time_token(OneTimeToken),
    /// The cluster's metadata.
    Cluster cluster(Cluster),
    /// The scheduler configuration.
    Scheduler scheduler(Scheduler),
    /// A key of the keyring.
    RootKey root_key(RootKey),
    /// A variable.
    Variable variable(Variable),
    /// A namespace's use of variables.
    Quota quota(Quota),
    /// A service registration.
    Service service(Service),
    /// A job's scaling events.
    ScalingEvents scaling_events(ScalingEvents),
    /// A scaling policy, the same object as in its job.
    ScalingPolicy scaling_policy(Arc<Scaling>),
    /// A CSI plugin.
    Plugin plugin(Plugin),
    /// A CSI volume.
    Volume volume(Volume),
    /// A host volume.
    HostVolume host_volume(HostVolume),
    /// A claim of a host volume.
    VolumeClaim volume_claim(VolumeClaim),
    /// A job's submitted sources.
    Submissions submissions(Submissions),
}

/// A row of which the FSM looks at nothing but the indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plain {
    /// CreateIndex and ModifyIndex.
    pub indexes: Indexes,
    /// Where its body stands.
    pub origin: Origin,
}

/// An ACL token (state-rows.md 6.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// CreateIndex and ModifyIndex.
    pub indexes: Indexes,
    /// Where its body stands.
    pub origin: Origin,
    /// The token value whose SecretID and CreateTime it has: those of the first write stay.
    pub identity: Origin,
}

/// An ACL role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// Its name, unique.
    pub name: Arc<str>,
    /// What it says; a write that says the same changes nothing.
    pub content: Digest,
    /// CreateIndex and ModifyIndex.
    pub indexes: Indexes,
    /// Where its body stands.
    pub origin: Origin,
}

/// An ACL auth method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthMethod {
    /// `OIDC` or `JWT`.
    pub kind: Arc<str>,
    /// The one that logins of its type use when they name none.
    pub default: bool,
    /// What it says; a write that says the same changes nothing.
    pub content: Digest,
    /// CreateIndex and ModifyIndex.
    pub indexes: Indexes,
    /// Where its body stands.
    pub origin: Origin,
}

/// An ACL binding rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BindingRule {
    /// What it says; a write that says the same changes nothing.
    pub content: Digest,
    /// CreateIndex and ModifyIndex.
    pub indexes: Indexes,
    /// Where its body stands.
    pub origin: Origin,
}

/// A one-time token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneTimeToken {
    /// When it ends.
    pub expires_at: GoTime,
    /// CreateIndex and ModifyIndex.
    pub indexes: Indexes,
    /// Where its body stands.
    pub origin: Origin,
}

/// The cluster's metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// The cluster's ID.
    pub cluster_id: Arc<str>,
    /// Where the body stands.
    pub origin: Origin,
}

/// The scheduler configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheduler {
    /// Evaluations may be deleted by hand while it is set (1.3.2 and newer).
    pub pause_eval_broker: bool,
    /// CreateIndex and ModifyIndex.
    pub indexes: Indexes,
    /// Where the body stands.
    pub origin: Origin,
}

/// A key of the keyring (state-rows.md 6.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootKey {
    /// `active`, `inactive`, `rekeying`, `prepublished`, `deprecated`.
    pub state: Word,
    /// The key value whose CreateTime it has: that of the first write stays.
    pub created: Origin,
    /// CreateIndex and ModifyIndex.
    pub indexes: Indexes,
    /// Where its body stands.
    pub origin: Origin,
}

/// A variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// How many bytes its ciphertext has.
    pub size: i64,
    /// The ID of the lock on it; empty without one.
    pub lock_id: Arc<str>,
    /// The variable value whose Lock it has; `None` without one.
    pub lock: Option<Origin>,
    /// The variable value whose CreateTime it has: that of the first write stays.
    pub created: Origin,
    /// CreateIndex and ModifyIndex.
    pub indexes: Indexes,
    /// Where its body stands.
    pub origin: Origin,
}

/// A namespace's use of variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Bytes of ciphertext.
    pub size: i64,
    /// CreateIndex and ModifyIndex.
    pub indexes: Indexes,
}

/// A service registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// The node it runs on.
    pub node_id: Id,
    /// The allocation it belongs to.
    pub alloc_id: Id,
    /// What it says; a write that says the same changes nothing.
    pub content: Digest,
    /// CreateIndex and ModifyIndex.
    pub indexes: Indexes,
    /// Where its body stands.
    pub origin: Origin,
}

/// A job's scaling events (state-rows.md 6.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScalingEvents {
    /// Group to its events, newest first; sorted by group.
    pub groups: Vec<(Arc<str>, Vec<ScalingEvent>)>,
    /// The last entry that added one. The row has no CreateIndex.
    pub modify_index: Index,
}

/// A scaling event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScalingEvent {
    /// Where it stands.
    pub origin: Origin,
    /// The entry that brought it.
    pub create_index: Index,
}

/// A dynamic host volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostVolume {
    /// Its name, which nodes and jobs use.
    pub name: Arc<str>,
    /// The node that has it.
    pub node_id: Id,
    /// That node's pool.
    pub node_pool: Arc<str>,
    /// `pending`, `ready`, `unavailable`.
    pub state: Word,
    /// The volume value whose CreateTime it has: that of the first write stays.
    pub created: Origin,
    /// CreateIndex and ModifyIndex.
    pub indexes: Indexes,
    /// Where its body stands.
    pub origin: Origin,
}

/// A task group's claim of a host volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeClaim {
    /// The job.
    pub job_id: Arc<str>,
    /// The task group.
    pub task_group: Arc<str>,
    /// The allocation that has it.
    pub alloc_id: Id,
    /// The volume.
    pub volume_id: Arc<str>,
    /// Its name.
    pub volume_name: Arc<str>,
    /// CreateIndex and ModifyIndex.
    pub indexes: Indexes,
}

/// The submitted sources of a job's versions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Submissions(pub Vec<Submission>);

/// The submitted source of one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submission {
    /// The version.
    pub version: u64,
    /// The entry that brought it.
    pub job_modify_index: Index,
    /// Where it stands.
    pub origin: Origin,
}
