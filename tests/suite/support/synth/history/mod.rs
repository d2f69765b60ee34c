//! A made-up cluster's raft log, entry by entry, such that a real leader could have written it.
//!
//! Parents launch children by clock and by dispatch, services are deployed again and again, clients report, the
//! collector removes what has ended, now and then another server becomes leader. The same seed gives the same log.
//! What is remembered is what is alive or waits for the collector, so a long history needs no more memory than a short one.

mod children;
mod chores;
mod faults;
mod services;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

pub use faults::{Fault, Mechanism, Planted};

use super::dice::Dice;
use super::requests::{self, Alloc, ClientUpdate, Eval, Job, Sort};

const MILLI: i64 = 1_000_000;
const SECOND: i64 = 1_000 * MILLI;
/// 3 February 2026.
const START: i64 = 1_770_090_000 * SECOND;

/// raft's number of a log type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogType {
    /// A message for the state machine.
    Command = 0,
    /// A leader's first entry.
    Noop = 1,
    /// Waits for all before it.
    Barrier = 4,
    /// The servers of the cluster.
    Configuration = 5,
}

/// One raft log entry.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its position, from 1.
    pub index: u64,
    /// Its leader's term.
    pub term: u64,
    /// Its raft type.
    pub kind: LogType,
    /// Message type and body.
    pub data: Vec<u8>,
    /// The leader's clock in nanoseconds since 1970; none for the bootstrap entry.
    pub appended_at: Option<i64>,
}

/// How large and how faulty a history is to be.
#[derive(Clone, Copy, Debug)]
pub struct Plot {
    /// The same seed gives the same history.
    pub seed: u64,
    /// How many parents there are; half of them periodic, each with a namesake in another namespace.
    pub parents: usize,
    /// How many services.
    pub services: usize,
    /// The fault to plant, if any.
    pub fault: Option<Fault>,
    /// Operators do chores between the launches, and a fault takes any of its forms.
    pub varied: bool,
    /// A launch carries its evaluation, as of Nomad 0.12.1 and later; else that is an entry of its own.
    pub atomic: bool,
}

impl Default for Plot {
    fn default() -> Self {
        Plot { seed: 1, parents: 8, services: 2, fault: None, varied: false, atomic: true }
    }
}

/// Something that is going to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A parent gets a child.
    Launch(usize),
    /// The scheduler places a child.
    Place(u64),
    /// A client starts a child's task.
    Start(u64),
    /// A child's task ends.
    End(u64),
    /// A client tells what it saw.
    Report,
    /// A service is submitted, again or for the first time.
    Deploy(usize),
    /// The scheduler places a service's allocations.
    Roll(usize),
    /// They are up, and the ones that they replace are down.
    Up(usize),
    /// They are healthy.
    Healthy(usize),
    /// The deployment watcher asks for the last evaluation.
    Watch(usize),
    /// The scheduler declares the deployment successful.
    Succeed(usize),
    /// The collector goes round.
    Collect,
    /// Another server becomes leader.
    Elect,
    /// An operator does something harmless.
    Chore,
    /// A purged parent comes back.
    Recreate(usize),
}

struct Parent {
    job: Job,
    children: u64,
    /// It is purged, and will come back.
    gone: bool,
}

struct Child {
    parent: usize,
    job: Job,
    eval: Eval,
    /// All evaluations it ever had, for the collector.
    evals: Vec<String>,
    alloc: Option<Alloc>,
    started: i64,
    runs: bool,
    /// It was asked to end.
    stopped: bool,
}

struct Service {
    job: Job,
    eval: Eval,
    deployment: String,
    allocs: Vec<Alloc>,
    replaced: Vec<Alloc>,
    started: i64,
    /// What the collector may take: evaluations, allocations, deployments.
    done: [Vec<String>; 3],
}

/// What has ended and waits for the collector.
struct Ended {
    at: i64,
    namespace: String,
    id: String,
    evals: Vec<String>,
    allocs: Vec<String>,
}

/// A history: an endless iterator of entries.
pub struct History {
    dice: Dice,
    now: i64,
    index: u64,
    term: u64,
    due: BinaryHeap<Reverse<(i64, u64, Event)>>,
    ordered: u64,
    parents: Vec<Parent>,
    children: BTreeMap<u64, Child>,
    child_number: u64,
    services: Vec<Service>,
    nodes: Vec<String>,
    reports: Vec<ClientUpdate>,
    /// Children whose end is among the reports.
    ending: Vec<u64>,
    ended: VecDeque<Ended>,
    fault: Option<Fault>,
    varied: bool,
    atomic: bool,
    planted: Option<Planted>,
    written: VecDeque<Entry>,
}

impl Iterator for History {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        while self.written.is_empty() {
            let Reverse((time, _, event)) = self.due.pop()?;
            self.now = self.now.max(time);
            self.plant();
            self.happen(event);
        }
        self.written.pop_front()
    }
}

impl History {
    /// A history from its very first entry.
    pub fn new(plot: Plot) -> Self {
        let mut history = History {
            dice: Dice(plot.seed),
            now: START,
            index: 0,
            term: 1,
            due: BinaryHeap::new(),
            ordered: 0,
            parents: Vec::new(),
            children: BTreeMap::new(),
            child_number: 0,
            services: Vec::new(),
            nodes: Vec::new(),
            reports: Vec::new(),
            ending: Vec::new(),
            ended: VecDeque::new(),
            fault: plot.fault,
            varied: plot.varied,
            atomic: plot.atomic,
            planted: None,
            written: VecDeque::new(),
        };
        history.bootstrap();
        (0..plot.parents).for_each(|number| history.add_parent(number));
        (0..plot.services).for_each(|number| history.add_service(number));
        history.order(60 * SECOND, Event::Collect);
        history.order(900 * SECOND, Event::Elect);
        if plot.varied {
            history.order(3 * SECOND, Event::Chore);
        }
        history
    }

    /// The fault that was planted, once it has been.
    pub fn planted(&self) -> Option<&Planted> {
        self.planted.as_ref()
    }

    fn order(&mut self, after: i64, event: Event) {
        self.ordered += 1;
        self.due.push(Reverse((self.now + after, self.ordered, event)));
    }

    fn write(&mut self, kind: LogType, data: Vec<u8>) -> u64 {
        self.index += 1;
        self.now += 3 * MILLI + self.dice.below(5_000) as i64;
        let appended_at = (self.index > 1).then_some(self.now);
        self.written.push_back(Entry { index: self.index, term: self.term, kind, data, appended_at });
        self.index
    }

    fn command(&mut self, data: Vec<u8>) -> u64 {
        self.write(LogType::Command, data)
    }

    fn bootstrap(&mut self) {
        let servers = [
            ("127.0.0.1:21647", "8beab86a-50b2-f8ef-dd7b-1c81ab8d2d16"),
            ("127.0.0.1:22647", "11d99d30-98b2-e467-497b-97ee9639b51a"),
            ("127.0.0.1:23647", "ba1fe396-8359-b512-f044-9776e130b9cf"),
        ];
        self.write(LogType::Configuration, requests::configuration(&servers));
        self.lead();
        for number in 1..=3 {
            let id = self.dice.id();
            self.command(requests::node_register(&id, &format!("client{number}")));
            let ready = requests::node_ready(&id, self.now);
            self.command(ready);
            self.nodes.push(id);
        }
        self.command(requests::namespace("prod"));
    }

    fn lead(&mut self) {
        self.term += 1;
        self.write(LogType::Noop, Vec::new());
        self.write(LogType::Barrier, Vec::new());
    }

    fn add_parent(&mut self, number: usize) {
        const NAMES: [&str; 6] = ["nightly_rollup", "render_report", "stock_sync", "map_tiles", "mail_digest", "etl"];
        let sort = if number % 4 < 2 { Sort::Periodic } else { Sort::Parameterized };
        let pair = number / 2;
        let name = NAMES[pair % NAMES.len()];
        let id = if pair < NAMES.len() { name.to_owned() } else { format!("{name}_{}", pair / NAMES.len()) };
        let namespace = if number.is_multiple_of(2) { "default" } else { "prod" };
        let mut job = self.job(sort, namespace, id, "work");
        let index = self.command(requests::register(&job, None, false));
        (job.create_index, job.modify_index) = (index, index);
        self.parents.push(Parent { job, children: 0, gone: false });
        self.order((1 + number as i64) * SECOND, Event::Launch(number));
    }

    fn add_service(&mut self, number: usize) {
        let mut job = self.job(Sort::Service, "default", format!("web_{number}"), "front");
        job.count = 3;
        self.services.push(Service {
            job,
            eval: Eval::default(),
            deployment: String::new(),
            allocs: Vec::new(),
            replaced: Vec::new(),
            started: 0,
            done: Default::default(),
        });
        self.order((2 + number as i64) * SECOND, Event::Deploy(number));
    }

    fn job(&self, sort: Sort, namespace: &str, id: String, group: &str) -> Job {
        Job {
            sort,
            namespace: namespace.into(),
            id,
            parent: String::new(),
            group: group.into(),
            count: 1,
            status: "",
            create_index: 0,
            modify_index: 0,
            version: 0,
            submitted: self.now,
            idempotency_token: String::new(),
        }
    }

    fn eval(&mut self, job: &Job, triggered_by: &'static str) -> Eval {
        Eval {
            id: self.dice.id(),
            namespace: job.namespace.clone(),
            job: job.id.clone(),
            job_type: if job.sort == Sort::Service { "service" } else { "batch" },
            triggered_by,
            deployment: String::new(),
            created: self.now,
            create_index: 0,
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Launch(parent) => self.launch(parent),
            Event::Place(child) => self.place(child),
            Event::Start(child) => self.start(child),
            Event::End(child) => self.end(child),
            Event::Report => self.report(),
            Event::Deploy(service) => self.deploy(service),
            Event::Roll(service) => self.roll(service),
            Event::Up(service) => self.up(service),
            Event::Healthy(service) => self.healthy(service),
            Event::Watch(service) => self.watch(service),
            Event::Succeed(service) => self.succeed(service),
            Event::Collect => self.collect(),
            Event::Chore => self.chore(),
            Event::Recreate(parent) => self.register_again(parent),
            Event::Elect => {
                self.lead();
                let next = 600 + self.dice.below(1800) as i64;
                self.order(next * SECOND, Event::Elect);
            }
        }
    }

    fn collect(&mut self) {
        self.order(60 * SECOND, Event::Collect);
        let (mut jobs, mut evals, mut allocs) = (Vec::new(), Vec::new(), Vec::new());
        while self.ended.front().is_some_and(|ended| ended.at + 60 * SECOND < self.now) {
            let Some(ended) = self.ended.pop_front() else { break };
            jobs.push((ended.namespace, ended.id));
            evals.extend(ended.evals);
            allocs.extend(ended.allocs);
        }
        if !jobs.is_empty() {
            self.command(requests::collect_evals(&evals, &allocs));
            self.command(requests::collect_jobs(&jobs));
        }
        for number in 0..self.services.len() {
            let [evals, allocs, deployments] = std::mem::take(&mut self.services[number].done);
            // The newest evaluation stays as long as its job runs.
            let (kept, evals): (Vec<_>, Vec<_>) =
                evals.into_iter().partition(|eval| *eval == self.services[number].eval.id);
            self.services[number].done[0] = kept;
            if !allocs.is_empty() {
                self.command(requests::collect_evals(&evals, &allocs));
            } else {
                self.services[number].done[0].extend(evals);
            }
            if !deployments.is_empty() {
                self.command(requests::collect_deployments(&deployments));
            }
        }
    }
}
