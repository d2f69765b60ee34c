//! Dynamic host volumes, and the claims of task groups that stay with one (fsm.md 1, types 75 to 77; state-rows.md 8).

use std::sync::Arc;

use super::super::Txn;
use super::super::id::{Id, Word};
use super::super::outcome::{Outcome, Refusal};
use super::super::row::{Alloc, Indexes, Node};
use super::super::table::{HostVolume, RowKey, TableName, TableRow, VolumeClaim};
use super::{Applied, or_default};
use crate::entry::body::volume::{HostVolumeBody, HostVolumeDelete, HostVolumeRegister, VolumeClaimDelete};

const TABLE: TableName = TableName::HostVolumes;

impl Txn<'_> {
    /// A host volume's row from its body.
    pub(in super::super) fn host_volume_row(&self, body: &HostVolumeBody<'_>, indexes: Indexes) -> HostVolume {
        let origin = self.origin(body.at);
        HostVolume {
            name: (*body.name).into(),
            node_id: Id::new(&body.node_id),
            node_pool: (*body.node_pool).into(),
            state: Word::new(&body.state),
            created: origin,
            indexes,
            origin,
        }
    }

    /// HostVolumeRegister (75).
    pub(super) fn host_volume_register(&mut self, request: &HostVolumeRegister<'_>) -> Applied {
        let Some(body) = &request.volume else { return Err(Refusal::new("the request has no volume")) };
        if !self.blind && !self.state.namespaces().contains_key(&*body.namespace) {
            return Err(Refusal::new(format!(
                "host volume {} is in nonexistent namespace {:?}",
                body.id, body.namespace
            )));
        }
        let key = RowKey::new(&*body.namespace, &*body.id);
        let before = self.state.row(TABLE, &key).and_then(|r| r.host_volume());
        let mut row = self.host_volume_row(body, self.written(before.map(|b| b.indexes.create)));
        row.created = before.map_or(row.created, |b| b.created);
        match self.state.node(&row.node_id) {
            Some(node) => {
                row.node_pool = node.node_pool.clone();
                // The node may have told of the volume before the leader did.
                if row.state != "deleted" && has_volume(node, &row.name) {
                    row.state = Word::new("ready");
                }
            }
            None if self.blind => {}
            None => {
                return Err(Refusal::new(format!("host volume {key} is on node {}, which is missing", row.node_id)));
            }
        }
        self.put_row(TABLE, &key, TableRow::HostVolume(row));
        self.bump("host_volumes");
        Ok(Outcome::Applied)
    }

    /// HostVolumeDelete (76): refused while an allocation on its node that is not over asks for it.
    pub(super) fn host_volume_delete(&mut self, request: &HostVolumeDelete<'_>) -> Applied {
        let key = RowKey::new(or_default(&request.namespace), &*request.volume_id);
        if let Some(volume) = self.state.row(TABLE, &key).and_then(|r| r.host_volume()) {
            let user = self
                .state
                .allocs()
                .filter(|alloc| alloc.node_id == volume.node_id && !alloc.is_terminal() && asks_for(alloc, volume))
                .map(|alloc| &alloc.id)
                .min();
            if let Some(alloc) = user {
                return Err(Refusal::new(format!("host volume {key} is in use by allocation {alloc}")));
            }
            self.delete_row(TABLE, &key);
        }
        self.bump("host_volumes");
        Ok(Outcome::Applied)
    }

    /// A node that registers with a volume makes it ready.
    pub(super) fn update_host_volumes_of(&mut self, node: &Node) {
        if node.host_volumes.is_empty() {
            return;
        }
        let waiting: Vec<(RowKey, HostVolume)> = self
            .state
            .rows(TABLE)
            .filter_map(|(key, row)| Some((key, row.host_volume()?)))
            .filter(|(_, volume)| volume.node_id == node.id && has_volume(node, &volume.name))
            .filter(|(_, volume)| !matches!(volume.state.as_str(), "ready" | "deleted"))
            .map(|(key, volume)| (key.clone(), volume.clone()))
            .collect();
        for (key, mut volume) in waiting {
            volume.state = Word::new("ready");
            volume.indexes.modify = self.index;
            self.put_row(TABLE, &key, TableRow::HostVolume(volume));
            self.bump("host_volumes");
        }
    }

    /// A node that goes takes its volumes with it.
    pub(super) fn delete_host_volumes_of(&mut self, node: &Id) {
        let keys: Vec<RowKey> = self
            .state
            .rows(TABLE)
            .filter(|(_, row)| row.host_volume().is_some_and(|volume| volume.node_id == *node))
            .map(|(key, _)| key.clone())
            .collect();
        for key in keys {
            self.delete_row(TABLE, &key);
            self.bump("host_volumes");
        }
    }

    /// A placed allocation whose group stays with one volume claims it, or takes the claim over from the allocation
    /// before it (1.10 and newer).
    pub(super) fn claim_sticky_volumes(&mut self, alloc: &Alloc) {
        if !self.rules.sticky_volumes || alloc.is_terminal() {
            return;
        }
        let Some(job) = alloc.job.as_ref().and_then(|job| job.extras.clone()) else { return };
        let Some(extras) = job.group(&alloc.task_group).and_then(|group| group.extras.as_ref()) else { return };
        for wanted in extras.host_volumes.iter().filter(|volume| volume.sticky) {
            let Some(node) = self.state.node(&alloc.node_id) else { continue };
            let on_node = node.host_volumes.iter().find(|(name, id)| *name == wanted.source && !id.is_empty());
            let Some((name, volume_id)) = on_node.cloned() else { continue };
            self.claim_host_volume(alloc, &name, &volume_id);
        }
    }

    fn claim_host_volume(&mut self, alloc: &Alloc, name: &Arc<str>, volume_id: &Arc<str>) {
        let table = TableName::TaskGroupHostVolumeClaims;
        let id = format!("{}/{}/{volume_id}", alloc.job_key.id, alloc.task_group);
        let key = RowKey::new(alloc.job_key.namespace.clone(), id);
        let before = self.state.row(table, &key).and_then(|r| r.volume_claim());
        if before.is_some_and(|claim| claim.alloc_id == alloc.id) {
            return;
        }
        let row = VolumeClaim {
            job_id: alloc.job_key.id.clone(),
            task_group: alloc.task_group.clone(),
            alloc_id: alloc.id.clone(),
            volume_id: volume_id.clone(),
            volume_name: name.clone(),
            indexes: self.written(before.map(|claim| claim.indexes.create)),
        };
        self.put_row(table, &key, TableRow::VolumeClaim(row));
        self.bump("task_volume");
    }

    /// A purged job's claims go.
    pub(super) fn delete_volume_claims_of(&mut self, job: &RowKey) {
        let table = TableName::TaskGroupHostVolumeClaims;
        let keys: Vec<RowKey> = self
            .state
            .rows(table)
            .filter(|(key, row)| {
                key.namespace == job.namespace && row.volume_claim().is_some_and(|claim| claim.job_id == job.id)
            })
            .map(|(key, _)| key.clone())
            .collect();
        for key in keys {
            self.delete_row(table, &key);
        }
    }

    /// TaskGroupHostVolumeClaimDelete (77). Each server made the claim's ID for itself, so that no replay can tell
    /// which claim it is.
    pub(super) fn volume_claim_delete(&mut self, request: &VolumeClaimDelete<'_>) -> Applied {
        self.bump("task_volume");
        Ok(Outcome::AppliedWithout(format!(
            "which claim has the ID {} cannot be told: servers make these IDs by chance",
            request.claim_id
        )))
    }
}

fn has_volume(node: &Node, name: &str) -> bool {
    node.host_volumes.iter().any(|(known, _)| **known == *name)
}

fn asks_for(alloc: &Alloc, volume: &HostVolume) -> bool {
    let job = alloc.job.as_ref().and_then(|job| job.extras.as_ref());
    let group = job.and_then(|job| job.group(&alloc.task_group)).and_then(|group| group.extras.as_ref());
    group.is_some_and(|extras| extras.host_volumes.iter().any(|wanted| wanted.source == volume.name))
}
