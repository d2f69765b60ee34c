//! Allocation requests: client updates, plans, desired transitions (fsm.md 2.10, 2.11).

use std::borrow::Cow;

use super::deployment::{DeploymentBody, DeploymentUpdateBody};
use super::eval::EvalBody;
use super::job::{JobBody, Text};
use crate::entry::msgpack::{Reader, Result};
use crate::entry::time::GoTime;
use crate::entry::wire::{Pairs, Place, Wire, wire_struct};

wire_struct! {
    /// An allocation as a plan or a client update carries it; zero fields are absent on the wire.
    AllocBody {
        /// Its ID.
        id: Text<'a> = "ID",
        /// The job's namespace; absent in client updates.
        namespace: Text<'a> = "Namespace",
        /// The evaluation that placed it.
        eval_id: Text<'a> = "EvalID",
        /// The node it runs on.
        node_id: Text<'a> = "NodeID",
        /// The job.
        job_id: Text<'a> = "JobID",
        /// The job as the scheduler saw it; nil where the plan carries it once.
        job: Option<JobBody<'a>> = "Job",
        /// The task group.
        task_group: Text<'a> = "TaskGroup",
        /// `run`, `stop` or `evict`.
        desired_status: Text<'a> = "DesiredStatus",
        /// Why.
        desired_description: Text<'a> = "DesiredDescription",
        /// What the scheduler asks of the allocation.
        desired_transition: TransitionBody<'a> = "DesiredTransition",
        /// `pending`, `running`, `complete`, `failed`, `lost` or `unknown`.
        client_status: Text<'a> = "ClientStatus",
        /// Why.
        client_description: Text<'a> = "ClientDescription",
        /// The deployment it belongs to.
        deployment_id: Text<'a> = "DeploymentID",
        /// Its health in that deployment.
        deployment_status: Option<HealthBody<'a>> = "DeploymentStatus",
        /// The allocation it replaces.
        previous_allocation: Text<'a> = "PreviousAllocation",
        /// The allocation that replaces it.
        next_allocation: Text<'a> = "NextAllocation",
        /// The evaluation that will look at it later.
        followup_eval_id: Text<'a> = "FollowupEvalID",
        /// The allocation that pushes it out.
        preempted_by: Text<'a> = "PreemptedByAllocation",
        /// The states that led to a disconnect.
        alloc_states: AllocStates = "AllocStates",
        /// The writer's clock, unix nanoseconds.
        modify_time: i64 = "ModifyTime",
        /// In a snapshot: the entry that made it.
        create_index: u64 = "CreateIndex",
        /// In a snapshot: the entry that changed it last.
        modify_index: u64 = "ModifyIndex",
        /// In a snapshot: the last entry of a server that changed it.
        alloc_modify_index: u64 = "AllocModifyIndex",
        /// Where the states of its tasks stand.
        task_states: Place = "TaskStates",
    }
    /// Flags that ask the scheduler to move an allocation.
    TransitionBody {
        /// Drain or stop.
        migrate: Option<bool> = "Migrate",
        /// Replace it if it failed.
        reschedule: Option<bool> = "Reschedule",
        /// Replace it whatever its policy.
        force_reschedule: Option<bool> = "ForceReschedule",
        /// Skip the shutdown delay.
        no_shutdown_delay: Option<bool> = "NoShutdownDelay",
        /// Stop without a replacement.
        migrate_disable_placement: Option<bool> = "MigrateDisablePlacement",
    }
    /// An allocation's health in its deployment.
    HealthBody {
        /// Nil while undecided.
        healthy: Option<bool> = "Healthy",
        /// When it was decided.
        timestamp: GoTime = "Timestamp",
        /// Placed as a canary.
        canary: bool = "Canary",
        /// The index of the last change.
        modify_index: u64 = "ModifyIndex",
    }
    /// One state of an allocation: which field, what value.
    AllocStateBody {
        /// 0 is the client status.
        field: u64 = "Field",
        /// The value.
        value: Text<'a> = "Value",
    }
    /// AllocUpdateRequest (8, 9).
    AllocUpdate {
        /// The allocations.
        allocs: Vec<AllocBody<'a>> = "Alloc",
        /// Evaluations that follow from them.
        evals: Vec<EvalBody<'a>> = "Evals",
        /// The job of allocations that carry none (8 only).
        job: Option<JobBody<'a>> = "Job",
    }
    /// ApplyPlanResultsRequest (13).
    ApplyPlanResults {
        /// Stops and placements of writers before 0.9.2.
        allocs: Vec<AllocBody<'a>> = "Alloc",
        /// Stopped allocations, as differences.
        stopped: Vec<AllocBody<'a>> = "AllocsStopped",
        /// New and changed allocations.
        updated: Vec<AllocBody<'a>> = "AllocsUpdated",
        /// Preempted allocations, as differences.
        preempted: Vec<AllocBody<'a>> = "AllocsPreempted",
        /// Preempted allocations of writers before 0.9.2.
        node_preemptions: Vec<AllocBody<'a>> = "NodePreemptions",
        /// The job of allocations that carry none.
        job: Option<JobBody<'a>> = "Job",
        /// A deployment made or changed by the plan.
        deployment: Option<DeploymentBody<'a>> = "Deployment",
        /// Status changes of other deployments.
        deployment_updates: Vec<DeploymentUpdateBody<'a>> = "DeploymentUpdates",
        /// The evaluation that was planned.
        eval_id: Text<'a> = "EvalID",
        /// Evaluations for the jobs of preempted allocations.
        preemption_evals: Vec<EvalBody<'a>> = "PreemptionEvals",
        /// Nodes that rejected too many plans (1.3.2 and newer).
        ineligible_nodes: Vec<Text<'a>> = "IneligibleNodes",
        /// The leader's clock, unix nanoseconds (1.3.2 and newer).
        updated_at: i64 = "UpdatedAt",
    }
    /// AllocUpdateDesiredTransitionRequest (27).
    DesiredTransitions {
        /// Allocation ID to flags.
        allocs: Pairs<Cow<'a, str>, TransitionBody<'a>> = "Allocs",
        /// Evaluations that follow from them.
        evals: Vec<EvalBody<'a>> = "Evals",
    }
}

/// An allocation's recorded states: where they stand, and whether the last client status among
/// them says that it was disconnected (fsm.md 2.10, corrections).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllocStates {
    /// Offset of the list in the entry's payload; `None` where it is nil.
    pub place: Place,
    /// The last state of field 0 is `unknown`.
    pub disconnected: bool,
}

impl<'a> Wire<'a> for AllocStates {
    fn read(r: &mut Reader<'a>) -> Result<Self> {
        let place = Place::read(&mut r.clone())?;
        let mut disconnected = false;
        for state in Vec::<AllocStateBody<'a>>::read(r)? {
            if state.field == 0 {
                disconnected = state.value == "unknown";
            }
        }
        Ok(AllocStates { place, disconnected })
    }
}
