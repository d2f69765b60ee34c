//! Node requests (fsm.md 2.14, state-rows.md 5).

use std::borrow::Cow;

use super::job::Text;
use super::volume::CsiInfoBody;
use crate::entry::time::GoTime;
use crate::entry::wire::{Pairs, Place, wire_struct};

wire_struct! {
    /// A node as it registers.
    NodeBody {
        /// Its ID.
        id: Text<'a> = "ID",
        /// Its pool (1.6 and newer).
        node_pool: Text<'a> = "NodePool",
        /// `initializing`, `ready`, `down` or `disconnected`.
        status: Text<'a> = "Status",
        /// `eligible` or `ineligible`.
        eligibility: Text<'a> = "SchedulingEligibility",
        /// The drain strategy, if there is one.
        drain: Option<DrainBody<'a>> = "DrainStrategy",
        /// The writer's clock, unix seconds.
        status_updated_at: i64 = "StatusUpdatedAt",
        /// The last index at which its heartbeat was missed.
        last_missed_heartbeat_index: u64 = "LastMissedHeartbeatIndex",
        /// The last index at which it reported allocations.
        last_alloc_update_index: u64 = "LastAllocUpdateIndex",
        /// The key that signed its identity (1.11 and newer).
        identity_signing_key_id: Text<'a> = "IdentitySigningKeyID",
        /// Plugin name to what it says as a controller.
        csi_controllers: Pairs<Text<'a>, CsiInfoBody<'a>> = "CSIControllerPlugins",
        /// Plugin name to what it says as a node plugin.
        csi_nodes: Pairs<Text<'a>, CsiInfoBody<'a>> = "CSINodePlugins",
        /// Volume name to the volume on the node.
        host_volumes: Pairs<Text<'a>, NodeVolumeBody<'a>> = "HostVolumes",
        /// In a snapshot: its events.
        events: Vec<NodeEventBody<'a>> = "Events",
        /// In a snapshot: its last drain.
        last_drain: Option<LastDrainBody<'a>> = "LastDrain",
        /// In a snapshot: the entry that made it.
        create_index: u64 = "CreateIndex",
        /// In a snapshot: the entry that changed it last.
        modify_index: u64 = "ModifyIndex",
    }
    /// A host volume on a node.
    NodeVolumeBody {
        /// The ID of a dynamic volume; empty for one out of the node's configuration.
        id: Text<'a> = "ID",
    }
    /// An event of a node, in a snapshot.
    NodeEventBody {
        /// The entry that brought it.
        create_index: u64 = "CreateIndex",
    }
    /// The last drain of a node, in a snapshot.
    LastDrainBody {
        /// When it began.
        started_at: GoTime = "StartedAt",
        /// When it last changed.
        updated_at: GoTime = "UpdatedAt",
        /// `draining`, `complete`, `canceled`.
        status: Text<'a> = "Status",
        /// Who did it.
        accessor_id: Text<'a> = "AccessorID",
        /// Where the operator's notes stand.
        meta: Place = "Meta",
    }
    /// NodeRegisterRequest (0).
    NodeRegister {
        /// The node.
        node: Option<NodeBody<'a>> = "Node",
        /// Make its pool if it is missing (1.6 and newer).
        create_node_pool: bool = "CreateNodePool",
    }
    /// NodeDeregisterRequest (1).
    NodeDeregister {
        /// The node.
        node_id: Text<'a> = "NodeID",
    }
    /// NodeBatchDeregisterRequest (31).
    NodeBatchDeregister {
        /// The nodes.
        node_ids: Vec<Text<'a>> = "NodeIDs",
    }
    /// NodeUpdateStatusRequest (2).
    NodeUpdateStatus {
        /// The node.
        node_id: Text<'a> = "NodeID",
        /// Its new status.
        status: Text<'a> = "Status",
        /// Where the event stands.
        event: Place = "NodeEvent",
        /// The writer's clock, unix seconds.
        updated_at: i64 = "UpdatedAt",
        /// The key that signed its identity (1.11 and newer).
        identity_signing_key_id: Text<'a> = "IdentitySigningKeyID",
    }
    /// NodeUpdateDrainRequest (3).
    NodeUpdateDrain {
        /// The node.
        node_id: Text<'a> = "NodeID",
        /// The drain strategy; nil ends the drain.
        drain: Option<DrainBody<'a>> = "DrainStrategy",
        /// Make it eligible again.
        mark_eligible: bool = "MarkEligible",
        /// Where the event stands.
        event: Place = "NodeEvent",
        /// The writer's clock, unix seconds.
        updated_at: i64 = "UpdatedAt",
        /// Who did it: an accessor ID.
        updated_by: Text<'a> = "UpdatedBy",
        /// Where the operator's notes stand.
        meta: Place = "Meta",
    }
    /// A drain strategy.
    DrainBody {
        /// When the drain began.
        started_at: GoTime = "StartedAt",
    }
    /// BatchNodeUpdateDrainRequest (29).
    BatchNodeUpdateDrain {
        /// Node ID to what happens to it.
        updates: Pairs<Cow<'a, str>, DrainUpdateBody<'a>> = "Updates",
        /// Node ID to the place of its event.
        events: Pairs<Cow<'a, str>, Place> = "NodeEvents",
        /// The writer's clock, unix seconds.
        updated_at: i64 = "UpdatedAt",
    }
    /// A drain change of one node in a batch.
    DrainUpdateBody {
        /// The strategy; nil ends the drain.
        drain: Option<DrainBody<'a>> = "DrainStrategy",
        /// Make it eligible again.
        mark_eligible: bool = "MarkEligible",
    }
    /// NodeUpdateEligibilityRequest (28).
    NodeUpdateEligibility {
        /// The node.
        node_id: Text<'a> = "NodeID",
        /// `eligible` or `ineligible`.
        eligibility: Text<'a> = "Eligibility",
        /// Where the event stands.
        event: Place = "NodeEvent",
        /// The writer's clock, unix seconds.
        updated_at: i64 = "UpdatedAt",
    }
    /// EmitNodeEventsRequest (25).
    UpsertNodeEvents {
        /// Node ID to the places of its events.
        events: Pairs<Cow<'a, str>, Vec<Place>> = "NodeEvents",
    }
}
