//! Evaluations, allocations and deployments.

use std::sync::Arc;

use super::{Group, Indexes, Origin};
use crate::entry::time::GoTime;
use crate::fsm::id::{Id, Word};
use crate::types::{Index, JobKey};

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
