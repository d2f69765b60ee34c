//! Job requests: register, deregister, stability, version tags, scaling events (fsm.md 2.7, 3).

use std::borrow::Cow;

use super::deployment::DeploymentBody;
use super::eval::EvalBody;
use crate::entry::content::Digest;
use crate::entry::msgpack::{Reader, Result};
use crate::entry::wire::{Pairs, Place, Wire, wire_struct};

/// Text that is borrowed from the entry where it is UTF-8.
pub type Text<'a> = Cow<'a, str>;

wire_struct! {
    /// A job as an entry carries it; only what decides statuses, counts and lookups.
    JobBody {
        /// The namespace; empty in old entries, where it means `default`.
        namespace: Text<'a> = "Namespace",
        /// The job ID.
        id: Text<'a> = "ID",
        /// The parent's ID, empty for a job of its own.
        parent_id: Text<'a> = "ParentID",
        /// `service`, `batch`, `system` or `sysbatch`.
        kind: Text<'a> = "Type",
        /// The status that the writer put in: the heart of #10145.
        status: Text<'a> = "Status",
        /// Stopped by a deregister.
        stop: bool = "Stop",
        /// An instance of a parameterized job.
        dispatched: bool = "Dispatched",
        /// Marked stable by a deployment.
        stable: bool = "Stable",
        /// The writer's version number.
        version: u64 = "Version",
        /// The node pool (1.6 and newer), empty before.
        node_pool: Text<'a> = "NodePool",
        /// The token of the dispatch that made this job (1.1.3 and newer).
        dispatch_token: Text<'a> = "DispatchIdempotencyToken",
        /// The periodic block, if there is one.
        periodic: Option<PeriodicBody<'a>> = "Periodic",
        /// Where the parameterized block stands.
        parameterized: Place = "ParameterizedJob",
        /// The task groups.
        groups: Vec<GroupBody<'a>> = "TaskGroups",
        /// The tag of this version (1.9 and newer).
        version_tag: Option<TagBody<'a>> = "VersionTag",
        /// The writer's view; the FSM assigns its own, save inside allocations.
        create_index: u64 = "CreateIndex",
        /// The writer's view.
        modify_index: u64 = "ModifyIndex",
        /// The writer's view.
        job_modify_index: u64 = "JobModifyIndex",
    }
    /// A job's periodic block.
    PeriodicBody {
        /// Whether launches happen.
        enabled: bool = "Enabled",
    }
    /// A task group.
    GroupBody {
        /// Its name.
        name: Text<'a> = "Name",
        /// How many allocations it wants.
        count: i64 = "Count",
        /// When failed allocations are replaced.
        reschedule: Option<RescheduleBody<'a>> = "ReschedulePolicy",
        /// How it is scaled.
        scaling: Option<ScalingBody<'a>> = "Scaling",
        /// Its tasks that run a CSI plugin.
        csi_tasks: CsiTasks<'a> = "Tasks",
        /// The host volumes that it asks for.
        host_volumes: HostVolumes<'a> = "Volumes",
    }
    /// A scaling policy (state-rows.md 6.2).
    ScalingBody {
        /// Its ID, which the leader made.
        id: Text<'a> = "ID",
        /// `horizontal`; empty in old entries, where it means that.
        kind: Text<'a> = "Type",
        /// What it scales.
        target: ScalingTargetBody<'a> = "Target",
        /// The autoscaler's own settings, free-form.
        policy: Digest = "Policy",
        /// The smallest count.
        min: i64 = "Min",
        /// The largest count.
        max: i64 = "Max",
        /// The autoscaler may act on it.
        enabled: bool = "Enabled",
        /// The writer's view.
        create_index: u64 = "CreateIndex",
        /// The writer's view.
        modify_index: u64 = "ModifyIndex",
    }
    /// What a scaling policy is about.
    ScalingTargetBody {
        /// The namespace.
        namespace: Text<'a> = "Namespace",
        /// The job.
        job: Text<'a> = "Job",
        /// The task group.
        group: Text<'a> = "Group",
        /// The task; empty in the community edition.
        task: Text<'a> = "Task",
    }
    /// What makes a task a CSI plugin.
    CsiPluginConfigBody {
        /// The plugin.
        id: Text<'a> = "ID",
        /// `controller`, `node` or `monolith`.
        kind: Text<'a> = "Type",
    }
    /// A task, as far as CSI plugins ask.
    TaskBody {
        /// The plugin that it runs.
        csi: Option<CsiPluginConfigBody<'a>> = "CSIPluginConfig",
    }
    /// A volume that a group asks for.
    VolumeRequestBody {
        /// Its name in the group.
        name: Text<'a> = "Name",
        /// `host` or `csi`.
        kind: Text<'a> = "Type",
        /// The volume's name.
        source: Text<'a> = "Source",
        /// Allocations that replace each other stay with one volume (1.10 and newer).
        sticky: bool = "Sticky",
    }
    /// A reschedule policy, as far as deleting evaluations by filter asks (fsm.md 2.9).
    RescheduleBody {
        /// Replacements for each interval.
        attempts: i64 = "Attempts",
        /// No limit on replacements.
        unlimited: bool = "Unlimited",
    }
    /// A version tag.
    TagBody {
        /// The tag's name, unique among a job's versions.
        name: Text<'a> = "Name",
    }
    /// JobRegisterRequest (4).
    JobRegister {
        /// The job; a request without one is refused.
        job: Option<JobBody<'a>> = "Job",
        /// Compare JobModifyIndex first (decided in the FSM since 2.0.1).
        enforce_index: bool = "EnforceIndex",
        /// The index to compare with.
        job_modify_index: u64 = "JobModifyIndex",
        /// Keep the group counts of the existing job.
        preserve_counts: bool = "PreserveCounts",
        /// Keep the task resources of the existing job.
        preserve_resources: bool = "PreserveResources",
        /// The evaluation that goes with it (0.12.1 and newer).
        eval: Option<EvalBody<'a>> = "Eval",
        /// The deployment that goes with it (1.5.0 and newer).
        deployment: Option<DeploymentBody<'a>> = "Deployment",
        /// The namespace of the request.
        namespace: Text<'a> = "Namespace",
        /// The dispatch token of the request.
        idempotency_token: Text<'a> = "IdempotencyToken",
        /// Where the job's source stands (1.6 and newer).
        submission: Place = "Submission",
    }
    /// JobDeregisterRequest (5).
    JobDeregister {
        /// The job.
        job_id: Text<'a> = "JobID",
        /// Remove it, rather than stop it.
        purge: bool = "Purge",
        /// The evaluation that goes with it.
        eval: Option<EvalBody<'a>> = "Eval",
        /// Skip the shutdown delay of its allocations.
        no_shutdown_delay: bool = "NoShutdownDelay",
        /// When the stop was submitted, in unix nanoseconds; 0 in old entries.
        submit_time: i64 = "SubmitTime",
        /// The namespace of the request; not defaulted.
        namespace: Text<'a> = "Namespace",
    }
    /// JobBatchDeregisterRequest (26).
    JobBatchDeregister {
        /// The jobs with what to do to each.
        jobs: Pairs<JobName<'a>, DeregisterOptions<'a>> = "Jobs",
        /// Evaluations, applied up to 1.7 only (#20510).
        evals: Vec<EvalBody<'a>> = "Evals",
        /// When the stop was submitted, in unix nanoseconds; 0 in old entries.
        submit_time: i64 = "SubmitTime",
    }
    /// A job's name as a map key.
    JobName {
        /// The namespace.
        namespace: Text<'a> = "Namespace",
        /// The job ID.
        id: Text<'a> = "ID",
    }
    /// What a batch deregister does to one job.
    DeregisterOptions {
        /// Remove it, rather than stop it.
        purge: bool = "Purge",
    }
    /// JobStabilityRequest (18).
    JobStability {
        /// The job.
        job_id: Text<'a> = "JobID",
        /// The version.
        job_version: u64 = "JobVersion",
        /// The new value.
        stable: bool = "Stable",
        /// The namespace of the request; not defaulted.
        namespace: Text<'a> = "Namespace",
    }
    /// JobApplyTagRequest (61).
    JobApplyTag {
        /// The job.
        job_id: Text<'a> = "JobID",
        /// The tag to take away, where `tag` is nil.
        name: Text<'a> = "Name",
        /// The tag to set.
        tag: Option<TagBody<'a>> = "Tag",
        /// The version to tag.
        version: u64 = "Version",
        /// Tag the current version (2.0.1 and newer).
        latest: bool = "Latest",
        /// The namespace of the request; empty means `default`.
        namespace: Text<'a> = "Namespace",
    }
    /// ScalingEventRequest (38).
    ScalingEventRegister {
        /// The namespace.
        namespace: Text<'a> = "Namespace",
        /// The job.
        job_id: Text<'a> = "JobID",
        /// The task group.
        task_group: Text<'a> = "TaskGroup",
        /// Where the event stands.
        event: Place = "ScalingEvent",
    }
}

/// The plugins that the tasks of a group run; most groups run none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CsiTasks<'a>(pub Vec<CsiPluginConfigBody<'a>>);

impl<'a> Wire<'a> for CsiTasks<'a> {
    fn read(r: &mut Reader<'a>) -> Result<Self> {
        let mut out = Vec::new();
        r.items(|r| {
            out.extend(TaskBody::read(r)?.csi);
            Ok(())
        })?;
        Ok(CsiTasks(out))
    }
}

/// The host volumes among those that a group asks for; most groups ask for none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostVolumes<'a>(pub Vec<VolumeRequestBody<'a>>);

impl<'a> Wire<'a> for HostVolumes<'a> {
    fn read(r: &mut Reader<'a>) -> Result<Self> {
        let mut out = Vec::new();
        r.fields(|_, r| {
            let request = VolumeRequestBody::read(r)?;
            if request.kind == "host" {
                out.push(request);
            }
            Ok(())
        })?;
        Ok(HostVolumes(out))
    }
}
