//! The rows of the state: what decides statuses, counts and lookups as typed values, and for all
//! else the place in the evidence that supplied it.

use std::sync::Arc;

use super::csi::{Info, PluginTask};
use super::id::{Id, Word};
use crate::entry::content::Digest;
use crate::entry::time::GoTime;
use crate::types::{Index, JobKey};

/// Where the msgpack value stands that a row, or a part of one, was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The entry, or the snapshot.
    pub source: Source,
    /// Offset of the value in the entry's payload, or in the snapshot's stream, in bytes.
    pub offset: u64,
}

/// What an [`Origin`] points into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The payload of the entry at that index.
    Entry(Index),
    /// The stream of the snapshot at that index.
    Snapshot(Index),
}

/// The indexes that every row has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Indexes {
    /// The entry that made the row.
    pub create: Index,
    /// The entry that changed it last.
    pub modify: Index,
}

/// A job, or one version of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Its name.
    pub key: JobKey,
    /// The parent's ID in the same namespace; empty for a job of its own. Never derived from the ID (fsm.md 2.1).
    pub parent_id: Arc<str>,
    /// `service`, `batch`, `system`, `sysbatch`.
    pub kind: Word,
    /// Stopped.
    pub stop: bool,
    /// An instance of a parameterized job.
    pub dispatched: bool,
    /// The periodic block: whether launches are enabled; `None` where there is no block.
    pub periodic: Option<bool>,
    /// It has a parameterized block.
    pub parameterized_block: bool,
    /// `pending`, `running`, `dead`; anything else only in an entry that is refused.
    pub status: Word,
    /// Marked stable by a deployment.
    pub stable: bool,
    /// Its version.
    pub version: u64,
    /// The tag of this version (1.9 and newer).
    pub tag: Option<Tag>,
    /// Its node pool.
    pub node_pool: Arc<str>,
    /// The idempotency token of the dispatch that made it: a secret, so only its digest.
    pub dispatch_token: Digest,
    /// Its task groups in the order of the entry.
    pub groups: Arc<[Group]>,
    /// CreateIndex and ModifyIndex.
    pub indexes: Indexes,
    /// The last entry that changed its specification.
    pub job_modify_index: Index,
    /// SubmitTime in unix nanoseconds where a stop set it; else the body's.
    pub submit_time: Option<i64>,
    /// The task resources come from this row (PreserveResources, 1.11.0 and newer).
    pub resources_from: Option<Arc<Job>>,
    /// Where its body stands.
    pub origin: Origin,
    /// The FSM filled in defaults (registers and snapshots, not jobs in deployment messages).
    pub canonical: bool,
}

impl Job {
    /// A template for dispatches: it has the block and is no instance itself (fsm.md 2.0).
    pub fn is_parameterized(&self) -> bool {
        self.parameterized_block && !self.dispatched
    }

    /// It has a periodic block, enabled or not.
    pub fn is_periodic(&self) -> bool {
        self.periodic.is_some()
    }

    /// Launches of it happen.
    pub fn is_periodic_active(&self) -> bool {
        self.periodic == Some(true) && !self.stop && !self.is_parameterized()
    }

    /// It counts children.
    pub fn is_parent(&self) -> bool {
        self.is_parameterized() || self.is_periodic()
    }

    /// The parent's name, for a child.
    pub fn parent(&self) -> Option<JobKey> {
        (!self.parent_id.is_empty())
            .then(|| JobKey { namespace: self.key.namespace.clone(), id: self.parent_id.clone() })
    }
}

/// A version's tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Its name.
    pub name: Arc<str>,
    /// Where its body stands.
    pub origin: Origin,
}

/// A task group, as far as counts and reschedules ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name.
    pub name: Arc<str>,
    /// How many allocations it wants.
    pub count: i64,
    /// Failed allocations may still be replaced (an unlimited policy or one with attempts).
    pub reschedules: bool,
    /// What few groups have.
    pub extras: Option<Box<GroupExtras>>,
}

impl Group {
    /// Its scaling policy.
    pub fn scaling(&self) -> Option<&Arc<Scaling>> {
        self.extras.as_ref()?.scaling.as_ref()
    }

    /// Its tasks that run a CSI plugin.
    pub fn csi_tasks(&self) -> &[PluginTask] {
        self.extras.as_ref().map_or(&[], |extras| &extras.csi_tasks)
    }
}

/// What few task groups have: scaling, CSI plugins, host volumes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupExtras {
    /// Its scaling policy.
    pub scaling: Option<Arc<Scaling>>,
    /// Its tasks that run a CSI plugin.
    pub csi_tasks: Vec<PluginTask>,
    /// The host volumes that it asks for.
    pub host_volumes: Vec<VolumeRequest>,
}

/// A host volume that a group asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeRequest {
    /// Its name in the group.
    pub name: Arc<str>,
    /// The volume's name on the node.
    pub source: Arc<str>,
    /// Allocations that replace each other stay with one volume (1.10 and newer).
    pub sticky: bool,
}

/// A scaling policy (state-rows.md 6.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scaling {
    /// Its ID, which the leader made.
    pub id: Arc<str>,
    /// Its type.
    pub kind: Arc<str>,
    /// The job that it scales.
    pub job: JobKey,
    /// The task group that it scales.
    pub group: Arc<str>,
    /// The task that it scales; empty in the community edition.
    pub task: Arc<str>,
    /// The autoscaler's own settings.
    pub policy: Digest,
    /// The smallest count.
    pub min: i64,
    /// The largest count.
    pub max: i64,
    /// The autoscaler may act on it.
    pub enabled: bool,
    /// CreateIndex and ModifyIndex; in a job's copy they can be those of the entry.
    pub indexes: Indexes,
    /// Where its body stands.
    pub origin: Origin,
}

impl Scaling {
    /// It says the same as another, whatever their IDs and indexes.
    pub fn says_the_same(&self, other: &Scaling) -> bool {
        let face = |s: &Scaling| (s.min, s.max, s.enabled, s.policy);
        face(self) == face(other) && self.is_about(other)
    }

    /// It is of the same type and about the same target as another.
    pub fn is_about(&self, other: &Scaling) -> bool {
        self.kind == other.kind && self.job == other.job && self.group == other.group && self.task == other.task
    }
}

/// A job summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Group numbers, sorted by name.
    pub groups: Vec<(Arc<str>, GroupSummary)>,
    /// Children by status; `None` after a reconcile of a job that is no parent (fsm.md 2.12).
    pub children: Option<Children>,
    /// CreateIndex and ModifyIndex.
    pub indexes: Indexes,
}

impl Summary {
    /// The numbers of one group.
    pub fn group(&self, name: &str) -> Option<&GroupSummary> {
        self.groups.iter().find(|(n, _)| &**n == name).map(|(_, g)| g)
    }

    /// The numbers of one group, to change them.
    pub fn group_mut(&mut self, name: &str) -> Option<&mut GroupSummary> {
        self.groups.iter_mut().find(|(n, _)| &**n == name).map(|(_, g)| g)
    }

    /// Adds a group of zeros where it is missing; true when it was.
    pub fn ensure_group(&mut self, name: &Arc<str>) -> bool {
        match self.groups.binary_search_by(|(n, _)| n.cmp(name)) {
            Ok(_) => false,
            Err(at) => {
                self.groups.insert(at, (name.clone(), GroupSummary::default()));
                true
            }
        }
    }
}

/// A parent's children by status. Signed, and never clamped by the FSM (fsm.md 2.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Children {
    /// Children waiting.
    pub pending: i64,
    /// Children at work.
    pub running: i64,
    /// Children that ended, purged ones included: cumulative.
    pub dead: i64,
}

impl Children {
    /// The counter of a status; `None` for a word that is no job status.
    pub fn counter_mut(&mut self, status: &Word) -> Option<&mut i64> {
        match status.as_str() {
            "pending" => Some(&mut self.pending),
            "running" => Some(&mut self.running),
            "dead" => Some(&mut self.dead),
            _ => None,
        }
    }

    /// `[pending, running, dead]`.
    pub fn as_array(self) -> [i64; 3] {
        [self.pending, self.running, self.dead]
    }
}

/// A task group's allocations by client status, as the summary has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupSummary {
    /// Waiting for a place; `None` where a scheduler run inside a reconcile decided it.
    pub queued: Option<i64>,
    /// Ended well; cumulative.
    pub complete: i64,
    /// Ended badly; cumulative.
    pub failed: i64,
    /// At work.
    pub running: i64,
    /// Placed, not yet at work.
    pub starting: i64,
    /// On a node that went away.
    pub lost: i64,
    /// On a node that is disconnected (1.3 and newer).
    pub unknown: i64,
}

impl Default for GroupSummary {
    fn default() -> Self {
        GroupSummary { queued: Some(0), complete: 0, failed: 0, running: 0, starting: 0, lost: 0, unknown: 0 }
    }
}

/// An evaluation.
#[derive(Clone, Debug, PartialEq)]
pub struct Eval {
    /// Its ID.
    pub id: Id,
    /// The job it is about; the namespace as the entry has it.
    pub job: JobKey,
    /// The scheduler that handles it.
    pub kind: Word,
    /// Why it was made.
    pub triggered_by: Word,
    /// Its status.
    pub status: Word,
    /// Its priority.
    pub priority: i64,
    /// The node it is about.
    pub node_id: Id,
    /// The deployment it is about.
    pub deployment_id: Id,
    /// A description that the FSM wrote; else the body's.
    pub description: Option<Arc<str>>,
    /// JobModifyIndex where the FSM set it; else the body's.
    pub job_modify_index: Option<Index>,
    /// ModifyTime in unix nanoseconds where the FSM set it; else the body's.
    pub modify_time: Option<i64>,
    /// CreateIndex and ModifyIndex.
    pub indexes: Indexes,
    /// Where its body stands.
    pub origin: Origin,
}

impl Eval {
    /// Nothing will happen to it any more.
    pub fn is_terminal(&self) -> bool {
        matches!(self.status.as_str(), "complete" | "failed" | "canceled")
    }
}

/// An allocation.
#[derive(Clone, Debug, PartialEq)]
pub struct Alloc {
    /// Its ID.
    pub id: Id,
    /// The job it runs, as the allocation says.
    pub job_key: JobKey,
    /// The job as the scheduler saw it; `None` only in rows of old snapshots.
    pub job: Option<AllocJob>,
    /// The evaluation that placed it.
    pub eval_id: Id,
    /// Its node.
    pub node_id: Id,
    /// Its task group.
    pub task_group: Arc<str>,
    /// `run`, `stop`, `evict`.
    pub desired_status: Word,
    /// Why.
    pub desired_description: Arc<str>,
    /// What the scheduler is asked to do with it.
    pub transition: Transition,
    /// `pending`, `running`, `complete`, `failed`, `lost`, `unknown`.
    pub client_status: Word,
    /// Why.
    pub client_description: Arc<str>,
    /// Its deployment.
    pub deployment_id: Id,
    /// Its health in the deployment.
    pub health: Option<Health>,
    /// The allocation it replaces.
    pub previous: Id,
    /// The allocation that replaces it.
    pub next: Id,
    /// The evaluation that will look at it later.
    pub followup_eval: Id,
    /// The allocation that pushed it out.
    pub preempted_by: Id,
    /// Where its recorded states stand.
    pub states: Option<Origin>,
    /// The last recorded client status among them is `unknown`.
    pub disconnected: bool,
    /// The allocation value whose `TaskStates` it has; `None` while no client has reported.
    pub task_states: Option<Origin>,
    /// The allocation value whose `NetworkStatus` it has.
    pub network_status: Origin,
    /// CreateIndex and ModifyIndex.
    pub indexes: Indexes,
    /// The last entry of a server, not of a client, that changed it.
    pub alloc_modify_index: Index,
    /// The writer's clock, unix nanoseconds.
    pub modify_time: i64,
    /// Where its body stands.
    pub origin: Origin,
}

impl Alloc {
    /// The server wants it gone.
    pub fn is_server_terminal(&self) -> bool {
        matches!(self.desired_status.as_str(), "stop" | "evict")
    }

    /// The client reported its end; `unknown` is none (fsm.md 2.0).
    pub fn is_client_terminal(&self) -> bool {
        matches!(self.client_status.as_str(), "complete" | "failed" | "lost")
    }

    /// Either of the two.
    pub fn is_terminal(&self) -> bool {
        self.is_server_terminal() || self.is_client_terminal()
    }
}

/// The job inside an allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocJob {
    /// Its CreateIndex as the scheduler saw it, which ties the allocation to a summary.
    pub create_index: Index,
    /// Its version as the scheduler saw it.
    pub version: u64,
    /// Where its body stands.
    pub origin: Origin,
    /// What the jobs of few allocations have.
    pub extras: Option<Arc<AllocJobExtras>>,
}

/// What few jobs in allocations have: CSI plugins, and host volumes for the allocation's group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocJobExtras {
    /// It is a system job.
    pub system: bool,
    /// Its status is dead, as the scheduler saw it.
    pub dead: bool,
    /// Its groups that run CSI plugins or ask for host volumes.
    pub groups: Vec<Group>,
}

impl AllocJobExtras {
    /// Its group of that name, if it is among them.
    pub fn group(&self, name: &str) -> Option<&Group> {
        self.groups.iter().find(|group| &*group.name == name)
    }
}

/// What the scheduler is asked to do with an allocation; `None` is not asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transition {
    /// Drain or stop.
    pub migrate: Option<bool>,
    /// Replace it if it failed.
    pub reschedule: Option<bool>,
    /// Replace it whatever its policy.
    pub force_reschedule: Option<bool>,
    /// Skip the shutdown delay.
    pub no_shutdown_delay: Option<bool>,
    /// Stop without a replacement.
    pub migrate_disable_placement: Option<bool>,
}

/// An allocation's health in its deployment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// `None` while undecided.
    pub healthy: Option<bool>,
    /// When it was decided.
    pub timestamp: GoTime,
    /// Placed as a canary.
    pub canary: bool,
    /// The entry of the last change.
    pub modify_index: Index,
}

/// A deployment.
#[derive(Clone, Debug, PartialEq)]
pub struct Deployment {
    /// Its ID.
    pub id: Id,
    /// The job.
    pub job: JobKey,
    /// The version that is deployed.
    pub job_version: u64,
    /// The job's CreateIndex.
    pub job_create_index: u64,
    /// The job's ModifyIndex.
    pub job_modify_index: u64,
    /// The job's JobModifyIndex.
    pub job_spec_modify_index: u64,
    /// Its status.
    pub status: Word,
    /// Why.
    pub description: Arc<str>,
    /// Progress by group, sorted by name.
    pub groups: Vec<(Arc<str>, DeploymentGroup)>,
    /// ModifyTime, unix nanoseconds.
    pub modify_time: i64,
    /// CreateIndex and ModifyIndex.
    pub indexes: Indexes,
    /// Where its body stands.
    pub origin: Origin,
}

impl Deployment {
    /// It has ended.
    pub fn is_terminal(&self) -> bool {
        matches!(self.status.as_str(), "cancelled" | "failed" | "successful")
    }

    /// It may still change.
    pub fn is_active(&self) -> bool {
        matches!(self.status.as_str(), "running" | "paused" | "blocked" | "unblocking" | "initializing" | "pending")
    }
}

/// A task group's progress in a deployment.
#[derive(Clone, Debug, PartialEq)]
pub struct DeploymentGroup {
    /// Fail when no progress for that long, nanoseconds; 0 for never.
    pub progress_deadline: i64,
    /// When it fails; `None` where a server's clock decided it (state-rows.md 9).
    pub require_progress_by: Option<GoTime>,
    /// Its canaries were promoted.
    pub promoted: bool,
    /// IDs of canaries; `None` prints as null.
    pub placed_canaries: Option<Vec<Id>>,
    /// How many canaries are wanted.
    pub desired_canaries: i64,
    /// How many were placed.
    pub placed: i64,
    /// How many are healthy.
    pub healthy: i64,
    /// How many are not.
    pub unhealthy: i64,
    /// Where its body stands.
    pub origin: Origin,
}

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its ID.
    pub id: Id,
    /// Its pool.
    pub node_pool: Arc<str>,
    /// Its status.
    pub status: Word,
    /// `eligible` or `ineligible`.
    pub eligibility: Word,
    /// The drain in force.
    pub drain: Option<Drain>,
    /// The last drain (1.1.0 and newer).
    pub last_drain: Option<LastDrain>,
    /// Unix seconds, save where a plan wrote nanoseconds (state-rows.md 5.6).
    pub status_updated_at: i64,
    /// The key that signed its identity.
    pub identity_signing_key_id: Arc<str>,
    /// The last ten events.
    pub events: Vec<NodeEvent>,
    /// The last entry at which its heartbeat was missed.
    pub last_missed_heartbeat_index: u64,
    /// The last entry with a report of its allocations.
    pub last_alloc_update_index: u64,
    /// What it says of the CSI plugins that are controllers.
    pub csi_controllers: Arc<[Arc<Info>]>,
    /// What it says of the CSI plugins that are node plugins.
    pub csi_nodes: Arc<[Arc<Info>]>,
    /// Its host volumes: name, and ID for a dynamic one; sorted by name.
    pub host_volumes: Arc<[(Arc<str>, Arc<str>)]>,
    /// CreateIndex and ModifyIndex.
    pub indexes: Indexes,
    /// Where its body stands.
    pub origin: Origin,
}

/// A drain in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drain {
    /// When it began.
    pub started_at: GoTime,
    /// Where the strategy stands.
    pub origin: Origin,
}

/// The last drain of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastDrain {
    /// When it began.
    pub started_at: GoTime,
    /// When it last changed.
    pub updated_at: GoTime,
    /// `draining`, `complete`, `canceled`.
    pub status: Word,
    /// Who did it.
    pub accessor_id: Arc<str>,
    /// Where the operator's notes stand.
    pub meta: Option<Origin>,
}

/// An event of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeEvent {
    /// As an entry carried it; CreateIndex is the entry's.
    Carried {
        /// Where it stands.
        origin: Origin,
        /// Its CreateIndex.
        create_index: Index,
    },
    /// Made by the FSM itself.
    Made {
        /// The text.
        message: Word,
        /// The part of Nomad that speaks.
        subsystem: Word,
        /// `None` where a server's clock decided it.
        timestamp: Option<GoTime>,
        /// Its CreateIndex.
        create_index: Index,
    },
}

/// When a periodic job was launched last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// When it was; `None` where a server's clock decided it.
    pub launch: Option<GoTime>,
    /// CreateIndex and ModifyIndex.
    pub indexes: Indexes,
}

/// A namespace or a node pool: a name with a body somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    /// CreateIndex and ModifyIndex.
    pub indexes: Indexes,
    /// Where its body stands; `None` for the built-in ones.
    pub origin: Option<Origin>,
}
