//! CSI volumes and their claims (state-rows.md 6.7).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::super::Txn;
use super::super::csi::{Claim, READ, Refreshed, TAKEN, UNPUBLISHING, Volume, WRITE};
use super::super::id::Id;
use super::super::outcome::{Outcome, Refusal};
use super::super::row::Indexes;
use super::super::table::{RowKey, TableName, TableRow, global};
use super::{Applied, or_default};
use crate::entry::body::volume::{
    ClaimBody, CsiVolumeBody, CsiVolumeClaim, CsiVolumeClaimBatch, CsiVolumeDeregister, CsiVolumeRegister,
};
use crate::entry::wire::Pairs;
use crate::types::Index;

const TABLE: TableName = TableName::CsiVolumes;

impl Txn<'_> {
    fn volume(&self, key: &RowKey) -> Option<&Volume> {
        self.state.row(TABLE, key)?.volume()
    }

    /// A volume's row from its body.
    pub(in super::super) fn volume_row(&self, body: &CsiVolumeBody<'_>, indexes: Indexes) -> Volume {
        let capabilities = body.capabilities.iter().map(|c| ((*c.attachment_mode).into(), (*c.access_mode).into()));
        Volume {
            external_id: (*body.external_id).into(),
            plugin_id: (*body.plugin_id).into(),
            plugin: Refreshed {
                provider: (*body.provider).into(),
                provider_version: (*body.provider_version).into(),
                controller_required: body.controller_required,
                controllers_healthy: body.controllers_healthy,
                controllers_expected: body.controllers_expected,
                nodes_healthy: body.nodes_healthy,
                nodes_expected: body.nodes_expected,
                schedulable: body.schedulable,
            },
            resource_exhausted: body.resource_exhausted,
            access_mode: (*body.access_mode).into(),
            attachment_mode: (*body.attachment_mode).into(),
            capabilities: capabilities.collect(),
            read_allocs: body.read_allocs.0.iter().map(|(id, _)| Id::new(id)).collect(),
            write_allocs: body.write_allocs.0.iter().map(|(id, _)| Id::new(id)).collect(),
            read_claims: claims(&body.read_claims),
            write_claims: claims(&body.write_claims),
            past_claims: claims(&body.past_claims),
            rebuilt: false,
            modify_time: body.modify_time,
            indexes,
            origin: self.origin(body.at),
        }
    }

    /// CSIVolumeRegister (35): all or nothing.
    pub(super) fn csi_volume_register(&mut self, request: &CsiVolumeRegister<'_>) -> Applied {
        self.atomically(|t| {
            for body in &request.volumes {
                t.register_volume(body)?;
            }
            t.bump("csi_volumes");
            Ok(Outcome::Applied)
        })
    }

    fn register_volume(&mut self, body: &CsiVolumeBody<'_>) -> Result<(), Refusal> {
        if !self.blind && !self.state.namespaces().contains_key(&*body.namespace) {
            return Err(Refusal::new(format!("volume {} is in nonexistent namespace {:?}", body.id, body.namespace)));
        }
        let key = RowKey::new(&*body.namespace, &*body.id);
        // Only a new row gets its CreateIndex here: an update carries the old one.
        let create = match self.volume(&key) {
            None => self.index,
            Some(old)
                if *old.external_id != *body.external_id
                    || *old.plugin_id != *body.plugin_id
                    || *old.plugin.provider != *body.provider =>
            {
                return Err(Refusal::new(format!("volume {key} is another one: its identity cannot be changed")));
            }
            Some(_) => Index(body.create_index),
        };
        let row = self.volume_row(body, self.written(Some(create)));
        self.put_row(TABLE, &key, TableRow::Volume(row));
        Ok(())
    }

    /// CSIVolumeDeregister (36): all or nothing.
    pub(super) fn csi_volume_deregister(&mut self, request: &CsiVolumeDeregister<'_>) -> Applied {
        self.atomically(|t| {
            for id in &request.ids {
                let key = RowKey::new(or_default(&request.namespace), &**id);
                let Some(volume) = t.volume(&key) else {
                    if t.blind {
                        continue;
                    }
                    return Err(Refusal::new(format!("volume {key} does not exist")));
                };
                if volume.is_in_use() && !(request.force && t.only_ended_allocs_have(volume)) {
                    return Err(Refusal::new(format!("volume {key} is in use")));
                }
                t.delete_row(TABLE, &key);
            }
            t.bump("csi_volumes");
            Ok(Outcome::Applied)
        })
    }

    fn only_ended_allocs_have(&self, volume: &Volume) -> bool {
        let mut allocs = volume.read_allocs.iter().chain(&volume.write_allocs);
        allocs.all(|id| self.state.alloc(id).is_none_or(|alloc| alloc.is_terminal()))
    }

    /// CSIVolumeClaim (37).
    pub(super) fn csi_volume_claim(&mut self, request: &CsiVolumeClaim<'_>) -> Applied {
        self.atomically(|t| t.claim_volume(request))?;
        Ok(Outcome::Applied)
    }

    /// CSIVolumeClaimBatch (39): each claim by itself, up to the first that is refused.
    pub(super) fn csi_volume_claim_batch(&mut self, request: &CsiVolumeClaimBatch<'_>) -> Applied {
        if request.claims.is_empty() {
            return Ok(Outcome::NoEffect("it has no claim".into()));
        }
        for claim in &request.claims {
            self.atomically(|t| t.claim_volume(claim))?;
        }
        Ok(Outcome::Applied)
    }

    fn claim_volume(&mut self, request: &CsiVolumeClaim<'_>) -> Result<(), Refusal> {
        let key = RowKey::new(or_default(&request.namespace), &*request.volume_id);
        let Some(volume) = self.volume(&key) else {
            return Err(Refusal::new(format!("volume {key} does not exist")));
        };
        let mut row = volume.clone();
        self.refresh_from_plugin(&mut row);
        self.release_ended(&mut row);
        row.rebuilt = true;
        let alloc = Id::new(&request.allocation_id);
        // Without an allocation the write only wakes those that watch the volume.
        if !alloc.is_empty() {
            let exists = self.state.alloc(&alloc).is_some() || self.blind;
            let claimed = row.claim(&alloc, exists, claim_of(request));
            claimed.map_err(|why| Refusal::new(format!("volume {key} cannot be claimed: {why}")))?;
        }
        row.indexes.modify = self.index;
        row.modify_time = request.timestamp;
        self.put_row(TABLE, &key, TableRow::Volume(row));
        self.bump("csi_volumes");
        Ok(())
    }

    fn refresh_from_plugin(&self, volume: &mut Volume) {
        let row = self.state.row(TableName::CsiPlugins, &global(&volume.plugin_id));
        let Some(plugin) = row.and_then(|r| r.plugin()) else {
            volume.plugin.controllers_healthy = 0;
            volume.plugin.nodes_healthy = 0;
            volume.plugin.schedulable = false;
            return;
        };
        volume.plugin = Refreshed {
            provider: plugin.provider.clone(),
            provider_version: plugin.version.clone(),
            controller_required: plugin.controller_required,
            controllers_healthy: plugin.controllers.healthy,
            controllers_expected: plugin.controllers.expected,
            nodes_healthy: plugin.nodes.healthy,
            nodes_expected: plugin.nodes.expected,
            schedulable: plugin.nodes.healthy > 0 && (!plugin.controller_required || plugin.controllers.healthy > 0),
        };
    }

    /// Claims of allocations that are gone or over get a past claim. Those of old writers lack the claim itself.
    fn release_ended(&self, volume: &mut Volume) {
        let halves: [(&BTreeSet<Id>, &mut BTreeMap<Id, Claim>, i64); 2] = [
            (&volume.read_allocs, &mut volume.read_claims, READ),
            (&volume.write_allocs, &mut volume.write_claims, WRITE),
        ];
        for (allocs, claims, mode) in halves {
            for id in allocs {
                let alloc = self.state.alloc(id);
                let claim = claims.entry(id.clone()).or_insert_with(|| Claim {
                    node_id: alloc.map(|a| a.node_id.clone()).unwrap_or_default(),
                    external_node_id: "".into(),
                    mode,
                    access_mode: "".into(),
                    attachment_mode: "".into(),
                    state: TAKEN,
                });
                if alloc.is_none_or(|a| a.is_client_terminal()) && !volume.past_claims.contains_key(id) {
                    let past = Claim { external_node_id: "".into(), state: UNPUBLISHING, ..claim.clone() };
                    volume.past_claims.insert(id.clone(), past);
                }
            }
        }
    }
}

fn claim_of(request: &CsiVolumeClaim<'_>) -> Claim {
    Claim {
        node_id: Id::new(&request.node_id),
        external_node_id: (*request.external_node_id).into(),
        mode: request.mode,
        access_mode: (*request.access_mode).into(),
        attachment_mode: (*request.attachment_mode).into(),
        state: request.state,
    }
}

fn claims(bodies: &Pairs<std::borrow::Cow<'_, str>, ClaimBody<'_>>) -> BTreeMap<Id, Claim> {
    let claim = |body: &ClaimBody<'_>| Claim {
        node_id: Id::new(&body.node_id),
        external_node_id: (*body.external_node_id).into(),
        mode: body.mode,
        access_mode: Arc::from(&*body.access_mode),
        attachment_mode: Arc::from(&*body.attachment_mode),
        state: body.state,
    };
    bodies.0.iter().map(|(id, body)| (Id::new(id), claim(body))).collect()
}
