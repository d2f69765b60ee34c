//! Deployment requests: status, promotion, health, deletion (fsm.md 2.13).

use std::borrow::Cow;

use super::eval::EvalBody;
use super::job::{JobBody, Text};
use crate::entry::time::GoTime;
use crate::entry::wire::{Pairs, wire_struct};

wire_struct! {
    /// A deployment as an entry carries it.
    DeploymentBody {
        /// Its ID.
        id: Text<'a> = "ID",
        /// The job's namespace.
        namespace: Text<'a> = "Namespace",
        /// The job.
        job_id: Text<'a> = "JobID",
        /// The version that is deployed.
        job_version: u64 = "JobVersion",
        /// The job's CreateIndex.
        job_create_index: u64 = "JobCreateIndex",
        /// The job's ModifyIndex.
        job_modify_index: u64 = "JobModifyIndex",
        /// The job's JobModifyIndex.
        job_spec_modify_index: u64 = "JobSpecModifyIndex",
        /// `running`, `paused`, `successful`, `failed`, `cancelled`, …
        status: Text<'a> = "Status",
        /// Why.
        status_description: Text<'a> = "StatusDescription",
        /// Group name to its progress.
        groups: Pairs<Cow<'a, str>, DeploymentGroupBody<'a>> = "TaskGroups",
        /// The writer's clock, unix nanoseconds.
        modify_time: i64 = "ModifyTime",
        /// In a snapshot: the entry that made it.
        create_index: u64 = "CreateIndex",
        /// In a snapshot: the entry that changed it last.
        modify_index: u64 = "ModifyIndex",
    }
    /// The progress of one task group.
    DeploymentGroupBody {
        /// Fail when no progress for that long, nanoseconds; 0 for never.
        progress_deadline: i64 = "ProgressDeadline",
        /// When it fails.
        require_progress_by: GoTime = "RequireProgressBy",
        /// Its canaries were promoted.
        promoted: bool = "Promoted",
        /// IDs of canaries; nil and empty print differently.
        placed_canaries: Option<Vec<Text<'a>>> = "PlacedCanaries",
        /// How many canaries are wanted.
        desired_canaries: i64 = "DesiredCanaries",
        /// How many were placed.
        placed_allocs: i64 = "PlacedAllocs",
        /// How many are healthy.
        healthy_allocs: i64 = "HealthyAllocs",
        /// How many are not.
        unhealthy_allocs: i64 = "UnhealthyAllocs",
    }
    /// A change of a deployment's status.
    DeploymentUpdateBody {
        /// The deployment.
        deployment_id: Text<'a> = "DeploymentID",
        /// The new status.
        status: Text<'a> = "Status",
        /// Why.
        status_description: Text<'a> = "StatusDescription",
        /// The writer's clock, unix nanoseconds (1.9.2 and newer).
        updated_at: i64 = "UpdatedAt",
    }
    /// DeploymentStatusUpdateRequest (14).
    DeploymentStatusUpdate {
        /// The evaluation that follows.
        eval: Option<EvalBody<'a>> = "Eval",
        /// The change.
        update: DeploymentUpdateBody<'a> = "DeploymentUpdate",
        /// The job to go back to.
        job: Option<JobBody<'a>> = "Job",
    }
    /// ApplyDeploymentPromoteRequest (15).
    DeploymentPromote {
        /// The deployment.
        deployment_id: Text<'a> = "DeploymentID",
        /// Every group.
        all: bool = "All",
        /// The groups, where not all.
        groups: Vec<Text<'a>> = "Groups",
        /// The writer's clock, unix nanoseconds (1.9.2 and newer).
        promoted_at: i64 = "PromotedAt",
        /// The evaluation that follows.
        eval: Option<EvalBody<'a>> = "Eval",
    }
    /// ApplyDeploymentAllocHealthRequest (16).
    DeploymentAllocHealth {
        /// The deployment.
        deployment_id: Text<'a> = "DeploymentID",
        /// IDs of healthy allocations.
        healthy: Vec<Text<'a>> = "HealthyAllocationIDs",
        /// IDs of unhealthy allocations.
        unhealthy: Vec<Text<'a>> = "UnhealthyAllocationIDs",
        /// When.
        timestamp: GoTime = "Timestamp",
        /// A status change that follows.
        update: Option<DeploymentUpdateBody<'a>> = "DeploymentUpdate",
        /// The job to go back to.
        job: Option<JobBody<'a>> = "Job",
        /// The evaluation that follows.
        eval: Option<EvalBody<'a>> = "Eval",
    }
    /// DeploymentDeleteRequest (17).
    DeploymentDelete {
        /// IDs of deployments.
        deployments: Vec<Text<'a>> = "Deployments",
    }
}
