//! Histories as wild as a log can hold: what a leader would write, in any order, and what none should have written.
//!
//! Parents are purged and registered again while children live, children come with a status, evaluations, allocations
//! and deployments name what is gone or never was, requests are refused, entries are unknown, empty or cut short. Bodies
//! hold what the state machine looks at and nothing else. The same seed gives the same history, and the next seed another.
//! `tests/model/compare.py` holds the program's replay of these against another model of the state machine.

mod cluster;
mod jobs;
mod work;

use serde_json::Value;

use super::dice::Dice;
use super::history::{Entry, LogType};
use super::msgpack::Encode;

/// 3 February 2026, in nanoseconds.
const START: i64 = 1_770_090_000_000_000_000;
/// Between two entries, in nanoseconds.
const PACE: i64 = 40_000_000;

/// A job that was registered, whether or not the state machine took it.
#[derive(Clone, Debug)]
struct Job {
    namespace: String,
    id: String,
    parent: String,
    kind: &'static str,
    periodic: bool,
    parameterized: bool,
    dispatched: bool,
    groups: Vec<&'static str>,
    token: String,
    /// About the index at which its row was made.
    created: u64,
    /// About the index at which it was last registered.
    modified: u64,
    version: u64,
}

/// An evaluation that was written.
#[derive(Clone, Debug)]
struct Eval {
    id: String,
    namespace: String,
    job: String,
}

/// An allocation that was placed.
#[derive(Clone, Debug)]
struct Alloc {
    id: String,
    job: usize,
    group: &'static str,
    eval: String,
    deployment: String,
    node: String,
}

/// A deployment that was started.
#[derive(Clone, Debug)]
struct Deployment {
    id: String,
    job: usize,
}

/// What comes next in the life of a job, if chance lets it.
#[derive(Clone, Copy, Debug)]
enum Next {
    /// A plan for the job.
    Place(usize),
    /// Its evaluation completes.
    Complete(usize),
    /// A client reports an allocation.
    Run(usize),
    /// A client reports its end.
    End(usize),
    /// The collector takes the job's evaluations and allocations, and then the job.
    Collect(usize),
}

/// A wild history: an endless iterator of entries.
pub struct Wild {
    dice: Dice,
    index: u64,
    term: u64,
    jobs: Vec<Job>,
    evals: Vec<Eval>,
    allocs: Vec<Alloc>,
    deployments: Vec<Deployment>,
    nodes: Vec<String>,
    next: Vec<Next>,
    written: Option<Entry>,
}

impl Iterator for Wild {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        while self.written.is_none() {
            self.happen();
        }
        self.written.take()
    }
}

impl Wild {
    /// The history of a seed, from its first entry.
    pub fn new(seed: u64) -> Self {
        Wild {
            // Seeds that follow each other shall not give histories that do.
            dice: Dice(Dice(seed).next()),
            index: 0,
            term: 1,
            jobs: Vec::new(),
            evals: Vec::new(),
            allocs: Vec::new(),
            deployments: Vec::new(),
            nodes: Vec::new(),
            next: Vec::new(),
            written: None,
        }
    }

    fn happen(&mut self) {
        if self.index == 0 {
            return self.write(LogType::Configuration, super::requests::configuration(&[("127.0.0.1:4647", "s1")]));
        }
        if !self.next.is_empty() && self.dice.below(100) < 55 {
            // Mostly in order, now and then not.
            let reach = if self.dice.once_in(4) { self.next.len() } else { self.next.len().min(2) };
            let next = self.next.remove(self.dice.below(reach as u64) as usize);
            return match next {
                Next::Place(job) => self.plan(Some(job)),
                Next::Complete(eval) => self.complete(eval),
                Next::Run(alloc) => self.report(&[alloc], "running"),
                Next::End(alloc) => {
                    let status = *self.dice.pick(&["complete", "complete", "complete", "failed", "lost"]);
                    self.report(&[alloc], status);
                }
                Next::Collect(job) => self.collect(job),
            };
        }
        match self.dice.below(100) {
            0..30 => self.register(),
            30..36 => self.deregister(),
            36..39 => self.batch_deregister(),
            39..45 => self.update_evals(),
            45..49 => self.delete_evals(),
            49..57 => self.plan(None),
            57..63 => self.report_any(),
            63..65 => self.legacy_alloc_update(),
            65..74 => self.deploy(),
            74..76 => self.transition(),
            76..79 => self.stability(),
            79..82 => self.version_tag(),
            82..84 => self.reconcile(),
            84..95 => self.run_cluster(),
            _ => self.damage(),
        }
    }

    fn write(&mut self, kind: LogType, data: Vec<u8>) {
        self.index += 1;
        let appended_at = (self.index > 1).then_some(START + self.index as i64 * PACE);
        self.written = Some(Entry { index: self.index, term: self.term, kind, data, appended_at });
    }

    fn command(&mut self, number: u8, body: &Value) {
        let mut data = vec![number];
        body.encode(&mut data);
        // Bytes after the body, and the ignore flag on a type that is known, change nothing.
        if self.dice.once_in(60) {
            data.extend(b"\x01\xc0 and more");
        }
        if self.dice.once_in(40) {
            data[0] |= 0x80;
        }
        self.write(LogType::Command, data);
    }

    /// Any job that was ever named, by its place.
    fn any_job(&mut self) -> Option<usize> {
        (!self.jobs.is_empty()).then(|| self.dice.below(self.jobs.len() as u64) as usize)
    }

    /// An allocation that was ever placed, mostly a late one.
    fn any_alloc(&mut self) -> Option<usize> {
        let count = self.allocs.len() as u64;
        let back = if self.dice.once_in(3) { count } else { count.min(6) };
        (count > 0).then(|| (count - 1 - self.dice.below(back)) as usize)
    }

    /// The id of an evaluation, mostly one that was written.
    fn any_eval(&mut self) -> String {
        let count = self.evals.len() as u64;
        if count == 0 || self.dice.once_in(25) {
            return self.dice.id();
        }
        let back = if self.dice.once_in(3) { count } else { count.min(8) };
        self.evals[(count - 1 - self.dice.below(back)) as usize].id.clone()
    }

    fn any_node(&mut self) -> String {
        match self.nodes.is_empty() {
            true => self.dice.id(),
            false => self.dice.pick(&self.nodes).clone(),
        }
    }

    /// A namespace that a request names.
    fn namespace_as_sent(&mut self, namespace: &str) -> String {
        if self.dice.once_in(25) { String::new() } else { namespace.to_owned() }
    }
}

/// `value`, or null.
fn or_null(value: Option<Value>) -> Value {
    value.unwrap_or(Value::Null)
}
