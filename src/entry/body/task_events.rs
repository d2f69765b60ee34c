//! What a client reports of an allocation's tasks: restarts and the last ten events of each (fsm.md 7).
//!
//! The FSM does not look at them, so they are read only by who asks, from the allocation's value in
//! the entry ([`AllocBody::at`](super::alloc::AllocBody)).

use super::job::Text;
use crate::entry::msgpack::{Reader, Result};
use crate::entry::time::GoTime;
use crate::entry::wire::{Pairs, Wire, wire_struct};

/// How many events a client keeps for a task; older ones are gone.
pub const RING: usize = 10;

wire_struct! {
    /// The task states of an allocation.
    AllocTasks {
        /// Task name to its state.
        tasks: Pairs<Text<'a>, TaskState<'a>> = "TaskStates",
    }
    /// One task.
    TaskState {
        /// `pending`, `running`, `dead`.
        state: Text<'a> = "State",
        /// How often it was started again, for whatever reason.
        restarts: u64 = "Restarts",
        /// When it was started again last, by the client's clock.
        last_restart: GoTime = "LastRestart",
        /// Its last events, oldest first; the whole ring is sent each time.
        events: Vec<TaskEvent<'a>> = "Events",
    }
    /// One event of a task.
    TaskEvent {
        /// What happened, such as `Restart Signaled`.
        kind: Text<'a> = "Type",
        /// The client's clock, unix nanoseconds.
        time: i64 = "Time",
        /// Why the task is restarted.
        restart_reason: Text<'a> = "RestartReason",
        /// More of it.
        details: EventDetails<'a> = "Details",
    }
    /// The details of an event that tell why a task is restarted.
    EventDetails {
        /// Why the task is restarted.
        restart_reason: Text<'a> = "restart_reason",
    }
}

impl TaskEvent<'_> {
    /// Why the task is restarted, from wherever the writer put it; empty where it does not say.
    pub fn reason(&self) -> &str {
        if self.restart_reason.is_empty() { &self.details.restart_reason } else { &self.restart_reason }
    }
}

/// Reads the task states of the allocation whose value stands at `at` of an entry's payload.
///
/// # Errors
/// When they are not what clients write.
pub fn read(data: &[u8], at: u64) -> Result<AllocTasks<'_>> {
    let at = usize::try_from(at).unwrap_or(usize::MAX);
    AllocTasks::read(&mut Reader::at(data, at))
}
