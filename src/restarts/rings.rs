//! Restarts in place: the events of tasks in client updates.
//!
//! A client keeps the last ten events of each task and sends all of them each time, so an event is
//! new only where it was not in the ring before. Where no event of the ring before is left, some
//! were lost in between; only the number of restarts then tells of them.

use std::collections::HashMap;
use std::sync::Arc;

use crate::entry::body::task_events::{AllocTasks, RING, TaskEvent, TaskState};
use crate::fsm::id::Id;
use crate::types::{Index, Term};

/// The reasons that a user's restart gives, as clients of all versions write them: with `-task`,
/// without, with `-all-tasks`, and before 1.5. Templates, checks and Vault give others.
const USER_REASONS: &[&str] = &[
    "User requested running tasks to restart",
    "User requested task to restart",
    "User requested all tasks to restart",
    "User requested restart",
];

/// The events that matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// A user asked for a restart.
    UserSignal,
    /// Something else asked for one.
    OtherSignal,
    /// The task ended.
    Terminated,
    /// It will be started again.
    Restarting,
    /// It runs.
    Started,
    /// The client took the allocation: always the first event.
    Received,
    /// Any other.
    Other,
}

impl Event {
    fn of(event: &TaskEvent<'_>) -> Self {
        match &*event.kind {
            "Restart Signaled" if USER_REASONS.contains(&event.reason()) => Event::UserSignal,
            "Restart Signaled" => Event::OtherSignal,
            "Terminated" => Event::Terminated,
            "Restarting" => Event::Restarting,
            "Started" => Event::Started,
            "Received" => Event::Received,
            _ => Event::Other,
        }
    }
}

/// When something happened by the client's clock (unix nanoseconds), and the entry that shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub time: i64,
    pub index: Index,
    pub term: Term,
}

/// A user's restart of one task.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Signal {
    pub alloc: Id,
    pub group: Arc<str>,
    pub node: Id,
    pub task: Arc<str>,
    pub asked: Seen,
    pub down: Option<Seen>,
    pub back: Option<Seen>,
    /// The allocation failed before it ran again.
    pub failed: bool,
}

/// Restarts of which the events are lost.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Lost {
    pub alloc: Id,
    pub group: Arc<str>,
    pub node: Id,
    /// The last event before them, by the client's clock, unix nanoseconds.
    pub after: i64,
    /// The first event behind them.
    pub before: i64,
    /// The entry that shows it.
    pub index: Index,
    pub term: Term,
    /// How many restarts there were of which no event is left.
    pub restarts: u64,
}

/// A report of one allocation.
pub(super) struct Report<'a> {
    pub alloc: &'a Id,
    pub group: &'a Arc<str>,
    pub node: &'a Id,
    pub index: Index,
    pub term: Term,
    /// The allocation's client status in it.
    pub status: &'a str,
    /// When the report before it came in, unix nanoseconds; `None` where there was none.
    pub before: Option<i64>,
    /// Events that are older are of a time that the log does not tell of.
    pub oldest: Option<i64>,
}

/// What is remembered of a task.
#[derive(Debug, Default)]
struct Task {
    ring: Vec<(Event, i64)>,
    restarts: u64,
    /// Its last user restart, by position in the list of signals, while it is under way.
    open: Option<usize>,
}

/// What a report told.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// How many user restarts it shows for the first time; they stand at the end of the list.
    pub signals: usize,
    /// Restarts without events.
    pub lost: Vec<Lost>,
    /// The time of the last event that it shows for the first time, by the client's clock.
    pub newest: Option<i64>,
    /// User restarts that are older than the log.
    pub too_old: u64,
}

/// The rings of the tasks that were ever restarted.
#[derive(Debug, Default)]
pub(super) struct Rings {
    allocs: HashMap<Id, HashMap<Arc<str>, Task>>,
}

impl Rings {
    /// Forgets an allocation that is gone.
    pub(super) fn forget(&mut self, alloc: &Id) {
        self.allocs.remove(alloc);
    }

    /// Takes a report. `signals` are the job's restarts so far; those under way are moved on, and
    /// new ones are added.
    pub(super) fn report(&mut self, report: &Report<'_>, tasks: &AllocTasks<'_>, signals: &mut Vec<Signal>) -> Told {
        let mut told = Told::default();
        let known = self.allocs.entry(report.alloc.clone()).or_default();
        for (name, state) in &tasks.tasks.0 {
            let first = !known.contains_key(&**name);
            let task = known.entry((**name).into()).or_default();
            task.report(report, name, state, first, signals, &mut told);
        }
        told
    }
}

impl Task {
    fn report(
        &mut self,
        report: &Report<'_>,
        name: &str,
        state: &TaskState<'_>,
        first: bool,
        signals: &mut Vec<Signal>,
        told: &mut Told,
    ) {
        let ring: Vec<(Event, i64)> = state.events.iter().map(|e| (Event::of(e), e.time)).collect();
        let new: Vec<(Event, i64)> = ring.iter().filter(|e| !self.ring.contains(e)).copied().collect();
        if let Some(lost) = self.lost(report, state, &ring, &new, first) {
            self.open = None;
            told.lost.push(lost);
        }
        for &(event, time) in &new {
            let seen = Seen { time, index: report.index, term: report.term };
            match event {
                Event::UserSignal if report.oldest.is_some_and(|oldest| time < oldest) => told.too_old += 1,
                Event::UserSignal => {
                    self.open = Some(signals.len());
                    told.signals += 1;
                    signals.push(Signal {
                        alloc: report.alloc.clone(),
                        group: report.group.clone(),
                        node: report.node.clone(),
                        task: name.into(),
                        asked: seen,
                        down: None,
                        back: None,
                        failed: false,
                    });
                }
                _ => self.follow(event, seen, signals),
            }
        }
        // The last of the ring, not the latest by time: a clock that was set back would hide that.
        told.newest = told.newest.max(new.last().map(|(_, time)| *time));
        if report.status == "failed"
            && let Some(signal) = self.open.and_then(|open| signals.get_mut(open))
        {
            signal.failed = signal.back.is_none();
        }
        self.ring = ring;
        self.restarts = state.restarts;
    }

    /// Moves the restart that is under way on.
    fn follow(&mut self, event: Event, seen: Seen, signals: &mut [Signal]) {
        let Some(signal) = self.open.and_then(|open| signals.get_mut(open)) else { return };
        match event {
            Event::Terminated if signal.down.is_none() => signal.down = Some(seen),
            Event::Started => {
                signal.back = Some(seen);
                self.open = None;
            }
            Event::OtherSignal => self.open = None,
            _ => {}
        }
    }

    /// The restarts between this ring and the one before of which no event is left.
    fn lost(
        &self,
        report: &Report<'_>,
        state: &TaskState<'_>,
        ring: &[(Event, i64)],
        new: &[(Event, i64)],
        first: bool,
    ) -> Option<Lost> {
        let overflowed = new.len() >= RING && new.first().is_some_and(|(event, _)| *event != Event::Received);
        if !overflowed {
            return None;
        }
        // What the ring still shows of a restart is its signal, or at least its "Restarting".
        let shown = new.iter().filter(|(event, _)| *event == Event::Restarting).count() as u64;
        let restarts = state.restarts.saturating_sub(self.restarts).saturating_sub(shown);
        let headless = new.iter().find(|(e, _)| !matches!(e, Event::Other)).is_some_and(|(e, _)| {
            // The ring begins in the middle of a restart whose signal was pushed out.
            matches!(e, Event::Terminated | Event::Restarting)
        });
        let after = if first { report.before? } else { self.ring.last()?.1 };
        (restarts > 0 || headless).then(|| Lost {
            alloc: report.alloc.clone(),
            group: report.group.clone(),
            node: report.node.clone(),
            after,
            before: ring.first().map_or(after, |(_, time)| *time),
            index: report.index,
            term: report.term,
            restarts: restarts + u64::from(headless),
        })
    }
}
