//! Snapshot records whose structs no request carries (fsm.md 5, state-rows.md 3.6, 3.7, 6.1).

use super::job::Text;
use crate::entry::time::GoTime;
use crate::entry::wire::{Pairs, wire_struct};

wire_struct! {
    /// The last index of a table.
    IndexBody {
        /// The table.
        key: Text<'a> = "Key",
        /// The last entry that wrote to it.
        value: u64 = "Value",
    }
    /// Any row of which only the name and the indexes are looked at.
    IndexedBody {
        /// The name, where the row has one.
        name: Text<'a> = "Name",
        /// The entry that made it.
        create_index: u64 = "CreateIndex",
        /// The entry that changed it last.
        modify_index: u64 = "ModifyIndex",
    }
    /// A periodic job's last launch.
    PeriodicLaunchBody {
        /// The job.
        id: Text<'a> = "ID",
        /// Its namespace.
        namespace: Text<'a> = "Namespace",
        /// When it was.
        launch: GoTime = "Launch",
        /// The entry that made the row.
        create_index: u64 = "CreateIndex",
        /// The entry that changed it last.
        modify_index: u64 = "ModifyIndex",
    }
    /// A job's summary.
    JobSummaryBody {
        /// The job.
        job_id: Text<'a> = "JobID",
        /// Its namespace.
        namespace: Text<'a> = "Namespace",
        /// Group name to its numbers.
        groups: Pairs<Text<'a>, GroupSummaryBody<'a>> = "Summary",
        /// Children by status; nil after a reconcile of a job that is no parent.
        children: Option<ChildrenBody<'a>> = "Children",
        /// The entry that made the row.
        create_index: u64 = "CreateIndex",
        /// The entry that changed it last.
        modify_index: u64 = "ModifyIndex",
    }
    /// A group's allocations by client status.
    GroupSummaryBody {
        /// Waiting for a place.
        queued: i64 = "Queued",
        /// Ended well.
        complete: i64 = "Complete",
        /// Ended badly.
        failed: i64 = "Failed",
        /// At work.
        running: i64 = "Running",
        /// Placed, not yet at work.
        starting: i64 = "Starting",
        /// On a node that went away.
        lost: i64 = "Lost",
        /// On a node that is disconnected.
        unknown: i64 = "Unknown",
    }
    /// Children by status; never clamped, so that below zero is possible.
    ChildrenBody {
        /// Children waiting.
        pending: i64 = "Pending",
        /// Children at work.
        running: i64 = "Running",
        /// Children that ended.
        dead: i64 = "Dead",
    }
    /// A job's scaling events.
    ScalingEventsBody {
        /// The namespace.
        namespace: Text<'a> = "Namespace",
        /// The job.
        job_id: Text<'a> = "JobID",
        /// Group name to its events, newest first.
        events: Pairs<Text<'a>, Vec<ScalingEventBody<'a>>> = "ScalingEvents",
        /// The last entry that added one.
        modify_index: u64 = "ModifyIndex",
    }
    /// A scaling event.
    ScalingEventBody {
        /// The entry that brought it.
        create_index: u64 = "CreateIndex",
    }
    /// A namespace's use of variables.
    VariablesQuotaBody {
        /// The namespace.
        namespace: Text<'a> = "Namespace",
        /// Bytes of ciphertext.
        size: i64 = "Size",
        /// The entry that made the row.
        create_index: u64 = "CreateIndex",
        /// The entry that changed it last.
        modify_index: u64 = "ModifyIndex",
    }
}
