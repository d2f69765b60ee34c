//! Jobs, what is in them, and their summaries.

use std::sync::Arc;

use super::{Indexes, Origin};
use crate::entry::content::Digest;
use crate::fsm::csi::PluginTask;
use crate::fsm::id::Word;
use crate::types::{Index, JobKey};

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
        (!self.parent_id.is_empty()).then(|| JobKey::new(self.key.namespace.clone(), self.parent_id.clone()))
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
