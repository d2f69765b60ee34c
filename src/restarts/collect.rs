//! Gathers the traces of restarts from a replay.

use std::collections::{BTreeMap, BTreeSet};

use memchr::memmem::Finder;

use super::batches::{in_place, reschedule, restarts};
use super::clock::{Clocks, SECOND};
use super::judge::Bench;
use super::recorded::Books;
use super::rings::{Lost, Report, Rings, Signal};
use super::stops::{Stop, Stops};
use super::threshold::Amount;
use super::watch::Watch;
use super::{Kind, Moment, Restart};
use crate::entry::body::alloc::{AllocBody, AllocUpdate, DesiredTransitions};
use crate::entry::body::restart::JobRestart;
use crate::entry::body::task_events;
use crate::entry::message::Message;
use crate::entry::split;
use crate::evidence::LogType;
use crate::fsm::id::Id;
use crate::fsm::outcome::Outcome;
use crate::fsm::state::State;
use crate::replay::{Rebased, Replayed, Subscriber};
use crate::types::{Index, JobKey, Term};

/// What is known of one job's restarts.
#[derive(Debug, Default)]
struct Traces {
    watch: Watch,
    signals: Vec<Signal>,
    stops: Vec<Stop>,
}

/// Subscribes to a replay and gathers what restarts leave behind.
#[derive(Debug)]
pub struct Collector {
    jobs: BTreeMap<JobKey, Traces>,
    lost: BTreeMap<JobKey, Vec<Lost>>,
    rings: Rings,
    books: Books,
    stops: Stops,
    clocks: Clocks,
    /// The index that the replay started behind.
    base: Index,
    /// The first time by a server's clock, where the log does not begin at 1.
    began: Option<i64>,
    last: Moment,
    signaled: Finder<'static>,
    restarting: Finder<'static>,
    unreadable: u64,
    too_old: u64,
    strangers: BTreeSet<Id>,
}

/// What a [`Collector`] found.
#[derive(Clone, Debug, Default)]
pub struct Collected {
    /// The restarts, in order of their first entry.
    pub restarts: Vec<Restart>,
    /// Restarts of single allocations, in the same order: a restart of a job with one allocation, or
    /// one that ends after its first, leaves the same traces as `nomad alloc restart`.
    pub singles: Vec<Restart>,
    /// What could not be told from the log on the whole, a sentence each.
    pub notes: Vec<String>,
}

impl Default for Collector {
    fn default() -> Self {
        Self::new()
    }
}

impl Collector {
    /// A collector that has seen nothing.
    pub fn new() -> Self {
        Collector {
            jobs: BTreeMap::new(),
            lost: BTreeMap::new(),
            rings: Rings::default(),
            books: Books::default(),
            stops: Stops::default(),
            clocks: Clocks::default(),
            base: Index(0),
            began: None,
            last: Moment { index: Index(0), term: Term(0), command: None, time: None },
            signaled: Finder::new("Restart Signaled"),
            restarting: Finder::new("Restarting"),
            unreadable: 0,
            too_old: 0,
            strangers: BTreeSet::new(),
        }
    }

    /// The last entry that was replayed, and the time it was at.
    pub fn now(&self) -> Moment {
        self.last
    }

    /// The restarts so far. `min_running` asks for the time below a threshold.
    pub fn finish(&self, min_running: Option<Amount>) -> Collected {
        let (mut found, mut singles) = (Vec::new(), Vec::new());
        for (job, traces) in &self.jobs {
            let lost = self.lost.get(job).map(Vec::as_slice).unwrap_or_default();
            let bench = |kind, rough| Bench {
                job,
                kind,
                watch: &traces.watch,
                lost,
                clocks: &self.clocks,
                rough,
                end: self.last,
                min_running,
            };
            // What entries of the early design tell of is told once.
            let mine = self.books.of(job);
            let signals: Vec<Signal> = traces
                .signals
                .iter()
                .filter(|s| !mine.iter().any(|b| b.tells_of(&s.alloc, s.asked.index)))
                .cloned()
                .collect();
            let stops: Vec<Stop> = traces
                .stops
                .iter()
                .filter(|s| !mine.iter().any(|b| b.tells_of(&s.alloc, s.asked.index)))
                .cloned()
                .collect();
            let (clusters, rough) = in_place(&signals, &self.clocks);
            for (bench, clusters) in
                [(bench(Kind::InPlace, rough), clusters), (bench(Kind::Reschedule, false), reschedule(&stops))]
            {
                let runs = restarts(clusters, &|cluster| bench.may_lack(cluster));
                for (restart, alone) in runs.into_iter().map(|run| bench.judge(run)) {
                    found.extend(restart);
                    singles.extend(alone);
                }
            }
            let bench = bench(Kind::Entry, false);
            found.extend(mine.iter().map(|book| book.restart(&bench, &traces.signals, &traces.stops)));
        }
        for list in [&mut found, &mut singles] {
            list.sort_by(|a, b| (a.first, &a.job, a.kind).cmp(&(b.first, &b.job, b.kind)));
        }
        Collected { restarts: found, singles, notes: self.notes() }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.unreadable > 0 {
            notes.push(format!(
                "the task states of {} reports cannot be decoded; restarts that only they show are not in the answer",
                self.unreadable
            ));
        }
        if self.too_old > 0 {
            notes.push(format!(
                "{} restarts of tasks are older than the log and only show in what clients sent again; they are not in the answer",
                self.too_old
            ));
        }
        if !self.strangers.is_empty() {
            notes.push(format!(
                "clients report restarts of {} allocations that the state does not know; whose they are cannot be told",
                self.strangers.len()
            ));
        }
        notes
    }

    /// The place of an entry, and its time by the clock of the server that wrote it.
    fn moment(entry: &Replayed<'_>) -> Moment {
        let appended = entry.record.appended_at.and_then(|t| i64::try_from(t.as_nanosecond()).ok());
        let time = appended.or_else(|| written_at(entry.message?.as_ref().ok()?)).filter(|t| *t > 0);
        Moment { index: entry.record.index, term: entry.record.term, command: command_of(entry), time }
    }

    fn client_update(&mut self, update: &AllocUpdate<'_>, entry: &Replayed<'_>, at: Moment) {
        let data = entry.record.data;
        if self.signaled.find(data).is_none() && self.restarting.find(data).is_none() {
            return;
        }
        for body in &update.allocs {
            self.report(body, entry, at);
        }
    }

    /// What a client reports of one allocation.
    fn report(&mut self, body: &AllocBody<'_>, entry: &Replayed<'_>, at: Moment) {
        let id = Id::new(&body.id);
        let Ok(tasks) = task_events::read(entry.record.data, body.at) else {
            self.unreadable += 1;
            return;
        };
        let Some(alloc) = entry.state.alloc(&id) else {
            let signaled = tasks.tasks.0.iter().flat_map(|(_, t)| &t.events).any(|e| e.kind == "Restart Signaled");
            if signaled && self.base > Index(0) {
                self.strangers.insert(id);
            }
            return;
        };
        let before = entry.net.allocs.iter().find(|row| *row.key == id).and_then(|row| row.before);
        let in_log = before.is_some_and(|b| b.indexes.modify > self.base);
        let server = if body.modify_time > 0 { Some(body.modify_time) } else { at.time };
        let report = Report {
            alloc: &id,
            group: &alloc.task_group,
            node: &alloc.node_id,
            index: at.index,
            term: at.term,
            status: &body.client_status,
            before: before.map(|b| b.modify_time).filter(|t| *t > 0),
            oldest: if in_log { None } else { self.began.map(|t| t.saturating_sub(5 * SECOND)) },
        };
        let job = &alloc.job_key;
        let mut fresh = Vec::new();
        let known = self.jobs.get_mut(job);
        let signals = known.map_or(&mut fresh, |traces| &mut traces.signals);
        let told = self.rings.report(&report, &tasks, signals);
        if in_log && let (Some(server), Some(newest)) = (server, told.newest) {
            self.clocks.note(&alloc.node_id, server, newest);
        }
        self.too_old += told.too_old;
        if !told.lost.is_empty() {
            self.lost.entry(job.clone()).or_default().extend(told.lost);
        }
        if told.signals > 0 {
            let traces = self.jobs.entry(job.clone()).or_default();
            traces.signals.append(&mut fresh);
            traces.watch.trace(job, Kind::InPlace, &id, entry, at);
        }
    }

    /// Stops that a user asked for: drains and deployments give their evaluations other triggers.
    fn transitions(&mut self, request: &DesiredTransitions<'_>, entry: &Replayed<'_>, at: Moment) {
        if !request.evals.iter().any(|e| e.triggered_by == "alloc-stop") {
            return;
        }
        for (id, wish) in &request.allocs.0 {
            let Some(alloc) = entry.state.alloc(&Id::new(id)).filter(|_| wish.migrate == Some(true)) else { continue };
            let job = &alloc.job_key;
            let system = entry.state.job(job).is_some_and(|j| matches!(j.kind.as_str(), "system" | "sysbatch"));
            let traces = self.jobs.entry(job.clone()).or_default();
            if self.stops.ask(alloc, system, at, &mut traces.stops) {
                traces.watch.trace(job, Kind::Reschedule, &alloc.id, entry, at);
            }
        }
    }

    /// An entry of the early design.
    fn recorded(&mut self, request: &JobRestart<'_>, entry: &Replayed<'_>, at: Moment) {
        let job = JobKey::new(&*request.namespace, &*request.job_id);
        let traces = self.jobs.entry(job.clone()).or_default();
        if self.books.take(request, &job, at) {
            traces.watch.begin(&job, entry, at);
        }
    }

    /// Follows what became of stopped allocations, and how many of each watched group run.
    fn follow(&mut self, entry: &Replayed<'_>, at: Moment) {
        if self.jobs.is_empty() {
            return;
        }
        let mut touched: BTreeSet<&JobKey> = entry.net.jobs.iter().map(|row| row.key).collect();
        for row in &entry.net.allocs {
            touched.extend(row.after.or(row.before).map(|a| &a.job_key));
            if !self.stops.is_empty() {
                self.stops.touched(row, at, |job| self.jobs.get_mut(job).map(|t| &mut t.stops));
            }
            if row.after.is_none() {
                self.rings.forget(row.key);
            }
        }
        for job in touched {
            if let Some(traces) = self.jobs.get_mut(job) {
                traces.watch.entry(job, entry, at);
            }
        }
    }
}

/// The message type's number of a command.
fn command_of(entry: &Replayed<'_>) -> Option<u8> {
    (entry.record.kind == LogType::Command).then(|| Some(split(entry.record.data)?.kind)).flatten()
}

/// When an entry was written, by what it carries itself, unix nanoseconds: old logs know no other time.
fn written_at(message: &Message<'_>) -> Option<i64> {
    match message {
        Message::AllocClientUpdate(m) => m.allocs.iter().map(|a| a.modify_time).max(),
        Message::ApplyPlanResults(m) if m.updated_at > 0 => Some(m.updated_at),
        Message::ApplyPlanResults(m) => m.updated.iter().chain(&m.allocs).map(|a| a.modify_time).max(),
        Message::AllocUpdateDesiredTransition(m) => m.evals.iter().map(|e| e.modify_time).max(),
        Message::EvalUpdate(m) => m.evals.iter().map(|e| e.modify_time).max(),
        _ => None,
    }
}

impl Subscriber for Collector {
    fn base(&mut self, _: &State, index: Index, term: Term) {
        self.base = index;
        self.last = Moment { index, term, command: None, time: None };
    }

    fn rebase(&mut self, _: Rebased<'_>) {
        for traces in self.jobs.values_mut() {
            traces.watch.rebase();
        }
    }

    fn entry(&mut self, entry: Replayed<'_>) {
        let at = Self::moment(&entry);
        if self.base > Index(0) && self.began.is_none() {
            self.began = at.time;
        }
        match entry.message {
            Some(Ok(Message::AllocClientUpdate(m))) => self.client_update(m, &entry, at),
            Some(Ok(Message::AllocUpdateDesiredTransition(m))) => self.transitions(m, &entry, at),
            Some(Ok(Message::JobRestart(m))) if entry.step.outcome == Outcome::Applied => self.recorded(m, &entry, at),
            _ => {}
        }
        self.follow(&entry, at);
        self.last = Moment { time: at.time.or(self.last.time), ..at };
    }
}
