//! Evaluation requests: update, delete (fsm.md 2.8, 2.9).

use std::borrow::Cow;

use super::job::Text;
use crate::entry::wire::{NotEmpty, Pairs, wire_struct};

wire_struct! {
    /// An evaluation as an entry carries it.
    EvalBody {
        /// Its ID.
        id: Text<'a> = "ID",
        /// The job's namespace.
        namespace: Text<'a> = "Namespace",
        /// The job.
        job_id: Text<'a> = "JobID",
        /// The scheduler: the job's type.
        kind: Text<'a> = "Type",
        /// Why it was made, such as `job-register`.
        triggered_by: Text<'a> = "TriggeredBy",
        /// `pending`, `blocked`, `complete`, `failed` or `canceled`.
        status: Text<'a> = "Status",
        /// The node it is about, if any.
        node_id: Text<'a> = "NodeID",
        /// The deployment it is about, if any.
        deployment_id: Text<'a> = "DeploymentID",
        /// Its priority.
        priority: i64 = "Priority",
        /// Groups that could not be placed.
        failed_groups: NotEmpty = "FailedTGAllocs",
        /// Group name to the number of allocations still queued.
        queued: Pairs<Cow<'a, str>, i64> = "QueuedAllocations",
        /// The scheduler's clock, unix nanoseconds.
        modify_time: i64 = "ModifyTime",
        /// The state that the scheduler saw; proves that index committed (storage.md 7, 3).
        snapshot_index: u64 = "SnapshotIndex",
        /// In a snapshot: the entry that made it.
        create_index: u64 = "CreateIndex",
        /// In a snapshot: the entry that changed it last.
        modify_index: u64 = "ModifyIndex",
    }
    /// EvalUpdateRequest (6).
    EvalUpdate {
        /// The evaluations.
        evals: Vec<EvalBody<'a>> = "Evals",
    }
    /// EvalDeleteRequest and EvalReapRequest (7).
    EvalDelete {
        /// IDs of evaluations.
        evals: Vec<Text<'a>> = "Evals",
        /// IDs of allocations.
        allocs: Vec<Text<'a>> = "Allocs",
        /// By an operator; needs the eval broker paused (1.3.2 and newer).
        user_initiated: bool = "UserInitiated",
        /// A filter expression instead of IDs (1.4.3 and newer).
        filter: Text<'a> = "Filter",
        /// How many to delete by filter.
        per_page: i64 = "PerPage",
        /// The ID to start the walk at.
        next_token: Text<'a> = "NextToken",
    }
}
