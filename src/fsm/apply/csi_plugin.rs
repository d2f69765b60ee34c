//! CSI plugins, which no message registers: they grow out of nodes, jobs and allocations (state-rows.md 6.6).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::super::Txn;
use super::super::csi::{Info, Plugin, PluginTask};
use super::super::id::Id;
use super::super::outcome::{Outcome, Refusal};
use super::super::row::{Alloc, Job, Node, Summary};
use super::super::table::{TableName, TableRow, global};
use super::Applied;
use crate::entry::body::volume::{CsiInfoBody, CsiPluginDelete};
use crate::types::JobKey;

const TABLE: TableName = TableName::CsiPlugins;

impl Txn<'_> {
    /// What a node says of a plugin.
    pub(in super::super) fn csi_info(&self, body: &CsiInfoBody<'_>) -> Arc<Info> {
        Arc::new(Info {
            plugin_id: (*body.plugin_id).into(),
            alloc_id: Id::new(&body.alloc_id),
            healthy: body.healthy,
            provider: (*body.provider).into(),
            provider_version: (*body.provider_version).into(),
            requires_controller: body.requires_controller,
            controller: body.controller_info.0.is_some(),
            node: body.node_info.0.is_some(),
            origin: self.origin(body.at),
        })
    }

    fn plugin(&self, id: &str) -> Option<Plugin> {
        self.state.row(TABLE, &global(id))?.plugin().cloned()
    }

    fn new_plugin(&self, id: &Arc<str>) -> Plugin {
        Plugin { id: id.clone(), indexes: self.written(None), ..Plugin::default() }
    }

    fn put_plugin(&mut self, mut plugin: Plugin) {
        plugin.indexes.modify = self.index;
        self.put_row(TABLE, &global(&plugin.id.clone()), TableRow::Plugin(plugin));
    }

    fn put_or_drop_plugin(&mut self, plugin: Plugin) {
        if plugin.is_empty() {
            self.delete_row(TABLE, &global(&plugin.id));
        } else {
            self.put_plugin(plugin);
        }
    }

    /// A node that registers: its plugins take what it says, and those that it no longer names lose it.
    pub(super) fn update_plugins_of_node(&mut self, node: &Node) {
        for info in node.csi_controllers.iter().chain(node.csi_nodes.iter()) {
            let mut plugin = match self.plugin(&info.plugin_id) {
                Some(plugin) => plugin,
                None if info.healthy => self.new_plugin(&info.plugin_id),
                None => continue,
            };
            plugin.add_info(&node.id, info);
            self.put_plugin(plugin);
        }
        let names = |infos: &[Arc<Info>], id: &str| infos.iter().any(|info| *info.plugin_id == *id);
        let ids: Vec<Arc<str>> = self.state.rows(TABLE).map(|(key, _)| key.id.clone()).collect();
        for id in ids {
            let Some(mut plugin) = self.plugin(&id) else { continue };
            if plugin.remove_node(&node.id, names(&node.csi_controllers, &id), names(&node.csi_nodes, &id)) {
                self.put_or_drop_plugin(plugin);
            }
        }
        self.bump("csi_plugins");
    }

    /// A node that goes leaves the plugins that it named.
    pub(super) fn remove_node_from_plugins(&mut self, node: &Node) {
        let infos = node.csi_controllers.iter().chain(node.csi_nodes.iter());
        let ids: BTreeSet<Arc<str>> = infos.map(|info| info.plugin_id.clone()).collect();
        if ids.is_empty() {
            return;
        }
        for id in ids {
            if let Some(mut plugin) = self.plugin(&id) {
                plugin.remove_node(&node.id, false, false);
                self.put_or_drop_plugin(plugin);
            }
        }
        self.bump("csi_plugins");
    }

    /// A job that is written: the shares of the row before it go, its own come. Those of a system job depend on its
    /// summary, which is not looked at here.
    pub(super) fn update_plugins_of_job(&mut self, job: &Job, before: Option<&Job>) {
        let mut plugins: BTreeMap<Arc<str>, Plugin> = BTreeMap::new();
        for (job, present) in before.map(|b| (b, false)).into_iter().chain([(job, true)]) {
            for group in job.groups.iter() {
                for task in group.csi_tasks() {
                    let plugin = plugins.entry(task.plugin_id.clone()).or_insert_with(|| {
                        self.plugin(&task.plugin_id).unwrap_or_else(|| self.new_plugin(&task.plugin_id))
                    });
                    if job.kind != "system" {
                        plugin.set_share(&job.key, task, present.then_some(group.count));
                    }
                }
            }
        }
        for (_, mut plugin) in plugins {
            plugin.sum_up();
            self.put_plugin(plugin);
        }
        self.bump("csi_plugins");
    }

    /// A summary that an allocation has changed: the plugins of its group count the job anew. No index moves.
    pub(in super::super) fn update_plugins_of_summary(&mut self, alloc: &Alloc, summary: &Summary) {
        let Some(job) = alloc.job.as_ref().and_then(|job| job.extras.clone()) else { return };
        let Some(group) = job.group(&alloc.task_group) else { return };
        for task in group.csi_tasks() {
            let mut plugin = self.plugin(&task.plugin_id).unwrap_or_else(|| self.new_plugin(&task.plugin_id));
            for group in &job.groups {
                let expected = if job.system {
                    let Some(numbers) = summary.group(&group.name) else { continue };
                    // Unknown after a reconcile: the scheduler run that decides it is not repeated.
                    numbers.running + numbers.queued.unwrap_or(0) + numbers.starting
                } else {
                    group.count
                };
                for other in group.csi_tasks().iter().filter(|other| other.plugin_id == task.plugin_id) {
                    plugin.set_share(&alloc.job_key, other, (!job.dead).then_some(expected));
                }
            }
            plugin.sum_up();
            self.put_or_drop_plugin(plugin);
        }
    }

    /// An allocation that is to stop leaves the plugins of its group. No index moves.
    pub(super) fn remove_alloc_from_plugins(&mut self, alloc: &Alloc) {
        if !alloc.is_server_terminal() {
            return;
        }
        for task in plugin_tasks(alloc) {
            // The first plugin that is not there ends it.
            let Some(mut plugin) = self.plugin(&task.plugin_id) else { return };
            plugin.remove_alloc(&alloc.node_id, &alloc.id);
            self.put_or_drop_plugin(plugin);
        }
    }

    /// A purged job leaves its plugins, and its allocations with it.
    pub(super) fn remove_job_from_plugins(&mut self, job: &Job) {
        let allocs: Vec<Arc<Alloc>> = self.state.allocs_of(&job.key).cloned().collect();
        let of_job = job.groups.iter().flat_map(|group| group.csi_tasks()).map(|task| task.plugin_id.clone());
        let of_allocs = allocs.iter().flat_map(|alloc| plugin_tasks(alloc)).map(|task| task.plugin_id);
        let ids: BTreeSet<Arc<str>> = of_job.chain(of_allocs).collect();
        let plugins: Vec<Plugin> = ids.iter().filter_map(|id| self.plugin(id)).collect();
        if !plugins.is_empty() || !self.rules.purge_keeps_csi_index {
            self.bump("csi_plugins");
        }
        for mut plugin in plugins {
            for alloc in &allocs {
                if plugin_tasks(alloc).iter().any(|task| task.plugin_id == plugin.id) {
                    plugin.remove_alloc(&alloc.node_id, &alloc.id);
                }
            }
            plugin.remove_job(&job.key);
            plugin.sum_up();
            self.put_or_drop_plugin(plugin);
        }
    }

    /// CSIPluginDelete (40): refused while something runs it. Jobs that are gone, or no longer run it, do not count.
    pub(super) fn csi_plugin_delete(&mut self, request: &CsiPluginDelete<'_>) -> Applied {
        let Some(mut plugin) = self.plugin(&request.id) else {
            return Ok(Outcome::NoEffect(format!("plugin {:?} does not exist", request.id)));
        };
        let runs_it = |key: &JobKey| {
            self.state.job(key).is_some_and(|job| {
                job.groups.iter().flat_map(|group| group.csi_tasks()).any(|task| task.plugin_id == plugin.id)
            })
        };
        let gone: Vec<JobKey> = plugin.jobs().into_iter().filter(|key| !runs_it(key)).collect();
        for key in &gone {
            plugin.remove_job(key);
        }
        if !plugin.is_empty() {
            return Err(Refusal::new(format!("plugin {:?} is in use", plugin.id)));
        }
        self.delete_row(TABLE, &global(&plugin.id));
        Ok(Outcome::Applied)
    }
}

/// The plugins that an allocation runs.
fn plugin_tasks(alloc: &Alloc) -> Vec<PluginTask> {
    let job = alloc.job.as_ref().and_then(|job| job.extras.as_ref());
    job.and_then(|job| job.group(&alloc.task_group)).map(|group| group.csi_tasks().to_vec()).unwrap_or_default()
}
