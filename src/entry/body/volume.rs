//! Volume requests: CSI volumes and plugins, host volumes and their claims (state-rows.md 6.6, 6.7).

use std::borrow::Cow;

use super::job::Text;
use crate::entry::time::GoTime;
use crate::entry::wire::{Pairs, Place, wire_struct};

wire_struct! {
    /// What a node says of a CSI plugin that runs on it.
    CsiInfoBody {
        /// The plugin.
        plugin_id: Text<'a> = "PluginID",
        /// The allocation that runs it.
        alloc_id: Text<'a> = "AllocID",
        /// It answers.
        healthy: bool = "Healthy",
        /// The driver's name.
        provider: Text<'a> = "Provider",
        /// The driver's version.
        provider_version: Text<'a> = "ProviderVersion",
        /// Volumes need a controller.
        requires_controller: bool = "RequiresControllerPlugin",
        /// Where its capabilities as a controller stand; nil for a node plugin.
        controller_info: Place = "ControllerInfo",
        /// Where its capabilities as a node plugin stand; nil for a controller.
        node_info: Place = "NodeInfo",
    }
    /// How a volume can be used.
    CapabilityBody {
        /// How the volume is attached.
        attachment_mode: Text<'a> = "AttachmentMode",
        /// Who may use it at the same time.
        access_mode: Text<'a> = "AccessMode",
    }
    /// An allocation's claim of a volume.
    ClaimBody {
        /// The allocation.
        allocation_id: Text<'a> = "AllocationID",
        /// Its node.
        node_id: Text<'a> = "NodeID",
        /// The node as the storage provider calls it.
        external_node_id: Text<'a> = "ExternalNodeID",
        /// 0 to read, 1 to write, 2 to release.
        mode: i64 = "Mode",
        /// Who may use it at the same time.
        access_mode: Text<'a> = "AccessMode",
        /// How the volume is attached.
        attachment_mode: Text<'a> = "AttachmentMode",
        /// 0 taken, 1 node detached, 2 controller detached, 3 ready to free, 4 unpublishing.
        state: i64 = "State",
    }
    /// A CSI volume.
    CsiVolumeBody {
        /// Its ID.
        id: Text<'a> = "ID",
        /// Its namespace.
        namespace: Text<'a> = "Namespace",
        /// Its ID at the storage provider.
        external_id: Text<'a> = "ExternalID",
        /// Its plugin.
        plugin_id: Text<'a> = "PluginID",
        /// The driver's name.
        provider: Text<'a> = "Provider",
        /// The driver's version.
        provider_version: Text<'a> = "ProviderVersion",
        /// It needs a controller.
        controller_required: bool = "ControllerRequired",
        /// Controllers that answer.
        controllers_healthy: i64 = "ControllersHealthy",
        /// Controllers that there should be.
        controllers_expected: i64 = "ControllersExpected",
        /// Node plugins that answer.
        nodes_healthy: i64 = "NodesHealthy",
        /// Node plugins that there should be.
        nodes_expected: i64 = "NodesExpected",
        /// It can be claimed.
        schedulable: bool = "Schedulable",
        /// When the provider ran out of resources; zero if it has not.
        resource_exhausted: GoTime = "ResourceExhausted",
        /// Who may use it at the same time; empty before the first claim.
        access_mode: Text<'a> = "AccessMode",
        /// How it is attached; empty before the first claim.
        attachment_mode: Text<'a> = "AttachmentMode",
        /// How it can be used.
        capabilities: Vec<CapabilityBody<'a>> = "RequestedCapabilities",
        /// The allocations that read, by ID.
        read_allocs: Pairs<Cow<'a, str>, Place> = "ReadAllocs",
        /// The allocations that write, by ID.
        write_allocs: Pairs<Cow<'a, str>, Place> = "WriteAllocs",
        /// The claims of those that read, by allocation.
        read_claims: Pairs<Cow<'a, str>, ClaimBody<'a>> = "ReadClaims",
        /// The claims of those that write, by allocation.
        write_claims: Pairs<Cow<'a, str>, ClaimBody<'a>> = "WriteClaims",
        /// Claims on their way out, by allocation.
        past_claims: Pairs<Cow<'a, str>, ClaimBody<'a>> = "PastClaims",
        /// The writer's view of its CreateIndex, which an update keeps.
        create_index: u64 = "CreateIndex",
        /// In a snapshot: the entry that changed it last.
        modify_index: u64 = "ModifyIndex",
        /// The writer's clock, unix nanoseconds (1.10 and newer).
        modify_time: i64 = "ModifyTime",
    }
    /// CSIVolumeRegisterRequest (35).
    CsiVolumeRegister {
        /// The volumes.
        volumes: Vec<CsiVolumeBody<'a>> = "Volumes",
    }
    /// CSIVolumeDeregisterRequest (36).
    CsiVolumeDeregister {
        /// Their IDs.
        ids: Vec<Text<'a>> = "VolumeIDs",
        /// Claims of allocations that are over do not count.
        force: bool = "Force",
        /// The namespace of the request.
        namespace: Text<'a> = "Namespace",
    }
    /// CSIVolumeClaimRequest (37).
    CsiVolumeClaim {
        /// The volume.
        volume_id: Text<'a> = "VolumeID",
        /// The allocation.
        allocation_id: Text<'a> = "AllocationID",
        /// Its node.
        node_id: Text<'a> = "NodeID",
        /// The node as the storage provider calls it.
        external_node_id: Text<'a> = "ExternalNodeID",
        /// 0 to read, 1 to write, 2 to release.
        mode: i64 = "Claim",
        /// Who may use it at the same time.
        access_mode: Text<'a> = "AccessMode",
        /// How the volume is attached.
        attachment_mode: Text<'a> = "AttachmentMode",
        /// 0 taken, 1 node detached, 2 controller detached, 3 ready to free, 4 unpublishing.
        state: i64 = "State",
        /// The leader's clock, unix nanoseconds (1.10 and newer).
        timestamp: i64 = "Timestamp",
        /// The namespace of the request.
        namespace: Text<'a> = "Namespace",
    }
    /// CSIVolumeClaimBatchRequest (39).
    CsiVolumeClaimBatch {
        /// The claims, each in a transaction of its own.
        claims: Vec<CsiVolumeClaim<'a>> = "Claims",
    }
    /// CSIPluginDeleteRequest (40).
    CsiPluginDelete {
        /// The plugin.
        id: Text<'a> = "ID",
    }
    /// A job's share in a plugin, in a snapshot.
    JobDescriptionBody {
        /// How many allocations it wants.
        expected: i64 = "Expected",
    }
    /// A CSI plugin, in a snapshot.
    CsiPluginBody {
        /// Its ID.
        id: Text<'a> = "ID",
        /// The driver's name.
        provider: Text<'a> = "Provider",
        /// The driver's version.
        version: Text<'a> = "Version",
        /// Volumes need a controller.
        controller_required: bool = "ControllerRequired",
        /// Node ID to what it said as a controller.
        controllers: Pairs<Text<'a>, CsiInfoBody<'a>> = "Controllers",
        /// Node ID to what it said as a node plugin.
        nodes: Pairs<Text<'a>, CsiInfoBody<'a>> = "Nodes",
        /// Namespace to job ID to its share in the controllers.
        controller_jobs: Pairs<Text<'a>, Pairs<Text<'a>, JobDescriptionBody<'a>>> = "ControllerJobs",
        /// Namespace to job ID to its share in the node plugins.
        node_jobs: Pairs<Text<'a>, Pairs<Text<'a>, JobDescriptionBody<'a>>> = "NodeJobs",
        /// Controllers that answer.
        controllers_healthy: i64 = "ControllersHealthy",
        /// Controllers that there should be.
        controllers_expected: i64 = "ControllersExpected",
        /// Node plugins that answer.
        nodes_healthy: i64 = "NodesHealthy",
        /// Node plugins that there should be.
        nodes_expected: i64 = "NodesExpected",
        /// The entry that made it.
        create_index: u64 = "CreateIndex",
        /// The entry that changed it last.
        modify_index: u64 = "ModifyIndex",
        /// The clock of the server that wrote the snapshot, unix nanoseconds.
        create_time: i64 = "CreateTime",
        /// The same.
        modify_time: i64 = "ModifyTime",
    }
    /// A host volume.
    HostVolumeBody {
        /// Its ID.
        id: Text<'a> = "ID",
        /// Its namespace.
        namespace: Text<'a> = "Namespace",
        /// Its name, which nodes and jobs use.
        name: Text<'a> = "Name",
        /// The node that has it.
        node_id: Text<'a> = "NodeID",
        /// That node's pool.
        node_pool: Text<'a> = "NodePool",
        /// `pending`, `ready`, `unavailable`.
        state: Text<'a> = "State",
        /// In a snapshot: the entry that made it.
        create_index: u64 = "CreateIndex",
        /// In a snapshot: the entry that changed it last.
        modify_index: u64 = "ModifyIndex",
    }
    /// HostVolumeRegisterRequest (75).
    HostVolumeRegister {
        /// The volume.
        volume: Option<HostVolumeBody<'a>> = "Volume",
    }
    /// HostVolumeDeleteRequest (76).
    HostVolumeDelete {
        /// The volume.
        volume_id: Text<'a> = "VolumeID",
        /// The namespace of the request.
        namespace: Text<'a> = "Namespace",
    }
    /// TaskGroupVolumeClaimDeleteRequest (77).
    VolumeClaimDelete {
        /// The claim's ID, which each server made for itself.
        claim_id: Text<'a> = "ClaimID",
    }
}
