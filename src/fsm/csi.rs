//! CSI plugins and volumes: rows that grow out of nodes, jobs and allocations (state-rows.md 6.6, 6.7).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::id::Id;
use super::row::{Indexes, Origin};
use crate::entry::time::GoTime;
use crate::types::JobKey;

/// What a node says of a plugin that runs on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// The plugin.
    pub plugin_id: Arc<str>,
    /// The allocation that runs it.
    pub alloc_id: Id,
    /// It answers.
    pub healthy: bool,
    /// The driver's name.
    pub provider: Arc<str>,
    /// The driver's version.
    pub provider_version: Arc<str>,
    /// Volumes need a controller.
    pub requires_controller: bool,
    /// It is a controller.
    pub controller: bool,
    /// It is a node plugin.
    pub node: bool,
    /// Where it stands.
    pub origin: Origin,
}

/// What makes a task a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginTask {
    /// The plugin.
    pub plugin_id: Arc<str>,
    /// It is a controller.
    pub controller: bool,
    /// It is a node plugin.
    pub node: bool,
}

/// Namespace to job ID to how many allocations the job is to have. A namespace stays when its last job goes.
pub type JobShares = BTreeMap<Arc<str>, BTreeMap<Arc<str>, i64>>;

/// One half of a plugin: its controllers or its node plugins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Half {
    /// Node to what it says.
    pub infos: BTreeMap<Id, Arc<Info>>,
    /// The jobs that run it.
    pub jobs: JobShares,
    /// How many answer.
    pub healthy: i64,
    /// How many there should be.
    pub expected: i64,
}

impl Half {
    /// Takes what a node says. A node that was not there and is not healthy is left out.
    fn add(&mut self, node: &Id, info: &Arc<Info>) {
        let before = self.infos.get(node);
        self.healthy -= before.map_or(0, |b| i64::from(b.healthy));
        self.healthy += i64::from(info.healthy);
        if before.is_some() || info.healthy {
            self.infos.insert(node.clone(), info.clone());
        }
    }

    /// Takes a node out; false when it was not there.
    fn remove(&mut self, node: &Id) -> bool {
        let Some(info) = self.infos.remove(node) else { return false };
        self.healthy -= i64::from(info.healthy);
        true
    }

    /// Takes a node out if the plugin on it is that allocation's.
    fn remove_alloc(&mut self, node: &Id, alloc: &Id) {
        if self.infos.get(node).is_some_and(|info| info.alloc_id == *alloc) {
            self.remove(node);
        }
    }

    fn set_job(&mut self, job: &JobKey, expected: Option<i64>) {
        match expected {
            Some(expected) => {
                self.jobs.entry(job.namespace.clone()).or_default().insert(job.id.clone(), expected);
            }
            None => {
                if let Some(jobs) = self.jobs.get_mut(&job.namespace) {
                    jobs.remove(&job.id);
                }
            }
        }
    }

    fn count(&self) -> i64 {
        self.jobs.values().flat_map(|jobs| jobs.values()).sum()
    }
}

/// A CSI plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plugin {
    /// Its ID.
    pub id: Arc<str>,
    /// The driver's name; empty while only a job names it.
    pub provider: Arc<str>,
    /// The driver's version.
    pub version: Arc<str>,
    /// Volumes need a controller.
    pub controller_required: bool,
    /// Its controllers.
    pub controllers: Half,
    /// Its node plugins.
    pub nodes: Half,
    /// CreateIndex and ModifyIndex.
    pub indexes: Indexes,
    /// CreateTime and ModifyTime in unix nanoseconds, where a snapshot told them: they are a server's clock.
    pub times: Option<(i64, i64)>,
}

impl Plugin {
    /// Nothing runs it and no job is to: such a row goes. The sums are what counts, not the jobs.
    pub fn is_empty(&self) -> bool {
        self.controllers.infos.is_empty()
            && self.nodes.infos.is_empty()
            && self.controllers.count() == 0
            && self.nodes.count() == 0
    }

    /// Takes what a node says of it.
    pub(super) fn add_info(&mut self, node: &Id, info: &Arc<Info>) {
        self.provider = info.provider.clone();
        self.version = info.provider_version.clone();
        if info.controller {
            self.controller_required = info.requires_controller;
            self.controllers.add(node, info);
        }
        if info.node {
            self.nodes.add(node, info);
        }
    }

    /// Takes a node out of the halves that it is no longer in; true when it was in one.
    pub(super) fn remove_node(&mut self, node: &Id, keep_controller: bool, keep_node: bool) -> bool {
        let controller = !keep_controller && self.controllers.remove(node);
        let node = !keep_node && self.nodes.remove(node);
        controller || node
    }

    /// Takes an allocation out.
    pub(super) fn remove_alloc(&mut self, node: &Id, alloc: &Id) {
        self.controllers.remove_alloc(node, alloc);
        self.nodes.remove_alloc(node, alloc);
    }

    /// Sets, or with `None` removes, a job's share for each task of it that runs this plugin.
    pub(super) fn set_share(&mut self, job: &JobKey, task: &PluginTask, expected: Option<i64>) {
        if task.controller {
            self.controllers.set_job(job, expected);
        }
        if task.node {
            self.nodes.set_job(job, expected);
        }
    }

    /// Removes a job from both halves.
    pub(super) fn remove_job(&mut self, job: &JobKey) {
        self.controllers.set_job(job, None);
        self.nodes.set_job(job, None);
    }

    /// Sums up what the jobs want.
    pub(super) fn sum_up(&mut self) {
        self.controllers.expected = self.controllers.count();
        self.nodes.expected = self.nodes.count();
    }

    /// The jobs that have a share in it.
    pub(super) fn jobs(&self) -> BTreeSet<JobKey> {
        let halves = [&self.controllers, &self.nodes];
        let jobs = halves.into_iter().flat_map(|half| &half.jobs);
        jobs.flat_map(|(namespace, jobs)| jobs.keys().map(|id| JobKey::new(namespace.clone(), id.clone()))).collect()
    }
}

/// An allocation's claim of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Its node.
    pub node_id: Id,
    /// The node as the storage provider calls it.
    pub external_node_id: Arc<str>,
    /// 0 to read, 1 to write, 2 to release.
    pub mode: i64,
    /// Who may use it at the same time.
    pub access_mode: Arc<str>,
    /// How the volume is attached.
    pub attachment_mode: Arc<str>,
    /// 0 taken, 1 node detached, 2 controller detached, 3 ready to free, 4 unpublishing.
    pub state: i64,
}

/// A claim that stands.
pub const TAKEN: i64 = 0;
/// A claim that is to be forgotten.
pub const READY_TO_FREE: i64 = 3;
/// A claim of an allocation that is over, found by the FSM.
pub const UNPUBLISHING: i64 = 4;
/// A claim to read.
pub const READ: i64 = 0;
/// A claim to write.
pub const WRITE: i64 = 1;

/// What a volume takes over from its plugin at each claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refreshed {
    /// The driver's name.
    pub provider: Arc<str>,
    /// The driver's version.
    pub provider_version: Arc<str>,
    /// It needs a controller.
    pub controller_required: bool,
    /// Controllers that answer.
    pub controllers_healthy: i64,
    /// Controllers that there should be.
    pub controllers_expected: i64,
    /// Node plugins that answer.
    pub nodes_healthy: i64,
    /// Node plugins that there should be.
    pub nodes_expected: i64,
    /// It can be claimed.
    pub schedulable: bool,
}

/// A CSI volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Its ID at the storage provider.
    pub external_id: Arc<str>,
    /// Its plugin.
    pub plugin_id: Arc<str>,
    /// What it took over from its plugin last.
    pub plugin: Refreshed,
    /// When the provider ran out of resources; zero if it has not.
    pub resource_exhausted: GoTime,
    /// Who may use it at the same time; empty before the first claim.
    pub access_mode: Arc<str>,
    /// How it is attached; empty before the first claim.
    pub attachment_mode: Arc<str>,
    /// How it can be used: attachment mode and access mode.
    pub capabilities: Vec<(Arc<str>, Arc<str>)>,
    /// The allocations that read.
    pub read_allocs: BTreeSet<Id>,
    /// The allocations that write.
    pub write_allocs: BTreeSet<Id>,
    /// The claims of those that read, by allocation.
    pub read_claims: BTreeMap<Id, Claim>,
    /// The claims of those that write, by allocation.
    pub write_claims: BTreeMap<Id, Claim>,
    /// Claims on their way out, by allocation.
    pub past_claims: BTreeMap<Id, Claim>,
    /// A claim has written the row since its body came: empty maps and lists are there where the body has none.
    pub rebuilt: bool,
    /// ModifyTime in unix nanoseconds.
    pub modify_time: i64,
    /// CreateIndex and ModifyIndex.
    pub indexes: Indexes,
    /// Where its body stands.
    pub origin: Origin,
}

impl Volume {
    /// Somebody has it.
    pub fn is_in_use(&self) -> bool {
        !self.read_allocs.is_empty() || !self.write_allocs.is_empty()
    }

    fn is_free(&self) -> bool {
        self.plugin.schedulable && self.resource_exhausted.is_zero()
    }

    /// Takes a claim, or moves one on its way out.
    ///
    /// # Errors
    /// Why the claim cannot be, in our words.
    pub(super) fn claim(&mut self, alloc: &Id, alloc_exists: bool, claim: Claim) -> Result<(), String> {
        if self.capabilities.is_empty() && !self.access_mode.is_empty() && !self.attachment_mode.is_empty() {
            self.capabilities.push((self.attachment_mode.clone(), self.access_mode.clone()));
        }
        if !self.attachment_mode.is_empty()
            && !claim.attachment_mode.is_empty()
            && self.attachment_mode != claim.attachment_mode
        {
            return Err(format!("it is attached as {:?}, not as {:?}", self.attachment_mode, claim.attachment_mode));
        }
        match (claim.state, claim.mode) {
            (TAKEN, READ) if self.read_allocs.contains(alloc) => Ok(()),
            (TAKEN, WRITE) if self.write_allocs.contains(alloc) => Ok(()),
            (TAKEN, READ | WRITE) => self.take(alloc, alloc_exists, claim),
            (READY_TO_FREE, _) => {
                self.free(alloc);
                Ok(())
            }
            _ => {
                self.past_claims.insert(alloc.clone(), claim);
                Ok(())
            }
        }
    }

    fn take(&mut self, alloc: &Id, alloc_exists: bool, claim: Claim) -> Result<(), String> {
        let write = claim.mode == WRITE;
        if !alloc_exists {
            return Err(format!("allocation {alloc} does not exist"));
        }
        if !(if write { self.may_be_written() } else { self.is_free() }) {
            return Err("it cannot be scheduled at the moment".into());
        }
        if !(if write { self.has_room_to_write() } else { self.has_room_to_read() }) {
            return Err("it has as many claims as its access mode allows".into());
        }
        self.forget(alloc);
        if self.attachment_mode.is_empty() {
            self.attachment_mode = claim.attachment_mode.clone();
        }
        if self.access_mode.is_empty() {
            self.access_mode = claim.access_mode.clone();
        }
        let (allocs, claims) = if write {
            (&mut self.write_allocs, &mut self.write_claims)
        } else {
            (&mut self.read_allocs, &mut self.read_claims)
        };
        allocs.insert(alloc.clone());
        claims.insert(alloc.clone(), claim);
        Ok(())
    }

    fn forget(&mut self, alloc: &Id) {
        self.read_allocs.remove(alloc);
        self.write_allocs.remove(alloc);
        self.read_claims.remove(alloc);
        self.write_claims.remove(alloc);
        self.past_claims.remove(alloc);
    }

    fn free(&mut self, alloc: &Id) {
        self.forget(alloc);
        if self.read_claims.is_empty() && self.write_claims.is_empty() && self.past_claims.is_empty() {
            self.access_mode = "".into();
            self.attachment_mode = "".into();
        }
    }

    fn may_be_written(&self) -> bool {
        let writer = match &*self.access_mode {
            "" => self.capabilities.iter().any(|(_, access)| is_writer(access)),
            mode => is_writer(mode),
        };
        writer && self.is_free()
    }

    fn has_room_to_read(&self) -> bool {
        match &*self.access_mode {
            "single-node-reader-only" => self.read_claims.is_empty(),
            "single-node-writer" => self.read_claims.is_empty() && self.write_claims.is_empty(),
            _ => true,
        }
    }

    fn has_room_to_write(&self) -> bool {
        match &*self.access_mode {
            "single-node-writer" | "multi-node-single-writer" => self.write_claims.is_empty(),
            "multi-node-multi-writer" | "" => true,
            _ => false,
        }
    }
}

fn is_writer(mode: &str) -> bool {
    matches!(mode, "single-node-writer" | "multi-node-single-writer" | "multi-node-multi-writer")
}
