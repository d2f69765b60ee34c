//! The rows in an image, field by field.

use crate::entry::content::Digest;
use crate::entry::time::GoTime;
use crate::fsm::csi::{Claim, Half, Info, Plugin, PluginTask, Refreshed, Volume};
use crate::fsm::row::{
    Alloc, AllocJob, AllocJobExtras, Children, Deployment, DeploymentGroup, Drain, Eval, Group, GroupExtras,
    GroupSummary, Health, Indexes, Job, LastDrain, Launch, Named, Node, NodeEvent, Origin, Scaling, Source, Summary,
    Tag, Transition, VolumeRequest,
};
use crate::fsm::table::{
    AuthMethod, BindingRule, Cluster, HostVolume, OneTimeToken, Plain, Quota, Role, RootKey, ScalingEvent,
    ScalingEvents, Scheduler, Service, Submission, Submissions, TableName, TableRow, Token, Variable, VolumeClaim,
};
use crate::pack::{BadImage, Pack, Packer, Unpacker, pack, pack_enum, pack_named};

pack! {
    Origin { source, offset }
    Indexes { create, modify }
    GoTime { seconds, nanos, zone }

    Job {
        key, parent_id, kind, stop, dispatched, periodic, parameterized_block, status, stable, version, tag, node_pool,
        dispatch_token, groups, indexes, job_modify_index, submit_time, resources_from, origin, canonical,
    }
    Tag { name, origin }
    Group { name, count, reschedules, extras }
    GroupExtras { scaling, csi_tasks, host_volumes }
    VolumeRequest { name, source, sticky }
    Scaling { id, kind, job, group, task, policy, min, max, enabled, indexes, origin }
    Summary { groups, children, indexes }
    Children { pending, running, dead }
    GroupSummary { queued, complete, failed, running, starting, lost, unknown }
    Eval {
        id, job, kind, triggered_by, status, priority, node_id, deployment_id, description, job_modify_index,
        modify_time, indexes, origin,
    }
    Alloc {
        id, job_key, job, eval_id, node_id, task_group, desired_status, desired_description, transition,
        client_status, client_description, deployment_id, health, previous, next, followup_eval, preempted_by, states,
        disconnected, task_states, network_status, indexes, alloc_modify_index, modify_time, origin,
    }
    AllocJob { create_index, version, origin, extras }
    AllocJobExtras { system, dead, groups }
    Transition { migrate, reschedule, force_reschedule, no_shutdown_delay, migrate_disable_placement }
    Health { healthy, timestamp, canary, modify_index }
    Deployment {
        id, job, job_version, job_create_index, job_modify_index, job_spec_modify_index, status, description, groups,
        modify_time, indexes, origin,
    }
    DeploymentGroup {
        progress_deadline, require_progress_by, promoted, placed_canaries, desired_canaries, placed, healthy,
        unhealthy, origin,
    }
    Node {
        id, node_pool, status, eligibility, drain, last_drain, status_updated_at, identity_signing_key_id, events,
        last_missed_heartbeat_index, last_alloc_update_index, csi_controllers, csi_nodes, host_volumes, indexes,
        origin,
    }
    Drain { started_at, origin }
    LastDrain { started_at, updated_at, status, accessor_id, meta }
    Launch { launch, indexes }
    Named { indexes, origin }

    Plain { indexes, origin }
    Token { indexes, origin, identity }
    Role { name, content, indexes, origin }
    AuthMethod { kind, default, content, indexes, origin }
    BindingRule { content, indexes, origin }
    OneTimeToken { expires_at, indexes, origin }
    Cluster { cluster_id, origin }
    Scheduler { pause_eval_broker, indexes, origin }
    RootKey { state, created, indexes, origin }
    Variable { size, lock_id, lock, created, indexes, origin }
    Quota { size, indexes }
    Service { node_id, alloc_id, content, indexes, origin }
    ScalingEvents { groups, modify_index }
    ScalingEvent { origin, create_index }
    HostVolume { name, node_id, node_pool, state, created, indexes, origin }
    VolumeClaim { job_id, task_group, alloc_id, volume_id, volume_name, indexes }
    Submission { version, job_modify_index, origin }

    Info { plugin_id, alloc_id, healthy, provider, provider_version, requires_controller, controller, node, origin }
    PluginTask { plugin_id, controller, node }
    Half { infos, jobs, healthy, expected }
    Plugin { id, provider, version, controller_required, controllers, nodes, indexes, times }

    Claim { node_id, external_node_id, mode, access_mode, attachment_mode, state }
    Refreshed {
        provider, provider_version, controller_required, controllers_healthy, controllers_expected, nodes_healthy,
        nodes_expected, schedulable,
    }
    Volume {
        external_id, plugin_id, plugin, resource_exhausted, access_mode, attachment_mode, capabilities, read_allocs,
        write_allocs, read_claims, write_claims, past_claims, rebuilt, modify_time, indexes, origin,
    }
}

pack_enum! {
    Source {
        0 Entry(index)
        1 Snapshot(index)
    }
    TableRow {
        0 Plain(row)
        1 Policy(row)
        2 Token(row)
        3 Role(row)
        4 AuthMethod(row)
        5 BindingRule(row)
        6 OneTimeToken(row)
        7 Cluster(row)
        8 Scheduler(row)
        9 RootKey(row)
        10 Variable(row)
        11 Quota(row)
        12 Service(row)
        13 ScalingEvents(row)
        14 ScalingPolicy(row)
        15 Plugin(row)
        16 Volume(row)
        17 HostVolume(row)
        18 VolumeClaim(row)
        19 Submissions(row)
        20 JobRestart(row)
    }
}

impl Pack for NodeEvent {
    fn pack(&self, out: &mut Packer) {
        match self {
            NodeEvent::Carried { origin, create_index } => {
                out.number(0);
                origin.pack(out);
                create_index.pack(out);
            }
            NodeEvent::Made { message, subsystem, timestamp, create_index } => {
                out.number(1);
                message.pack(out);
                subsystem.pack(out);
                timestamp.pack(out);
                create_index.pack(out);
            }
        }
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self, BadImage> {
        Ok(match from.number()? {
            0 => NodeEvent::Carried { origin: Pack::unpack(from)?, create_index: Pack::unpack(from)? },
            1 => NodeEvent::Made {
                message: Pack::unpack(from)?,
                subsystem: Pack::unpack(from)?,
                timestamp: Pack::unpack(from)?,
                create_index: Pack::unpack(from)?,
            },
            _ => return Err(from.bad()),
        })
    }
}

impl Pack for Digest {
    fn pack(&self, out: &mut Packer) {
        self.0.pack(out);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self, BadImage> {
        Pack::unpack(from).map(Digest)
    }
}

impl Pack for Submissions {
    fn pack(&self, out: &mut Packer) {
        self.0.pack(out);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self, BadImage> {
        Pack::unpack(from).map(Submissions)
    }
}

// A new table moves no other.
pack_named! { TableName from TableName::ALL }
