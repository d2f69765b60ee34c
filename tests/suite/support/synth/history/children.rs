//! Parents' children: launched, placed, run, reported.

use super::super::requests::{self, Alloc, ClientUpdate, Eval, Job, Plan, Sort};
use super::{Child, Ended, Event, History, MILLI, Mechanism, SECOND};

impl History {
    /// A child of a parent as its register carries it, and its evaluation.
    pub(super) fn new_child(&mut self, parent: usize) -> (Job, Eval) {
        self.parents[parent].children += 1;
        let number = self.parents[parent].children;
        let mut job = self.parents[parent].job.clone();
        job.parent = std::mem::take(&mut job.id);
        job.submitted = self.now;
        let triggered_by = if job.sort == Sort::Periodic {
            job.sort = Sort::Launched;
            job.id = format!("{}/periodic-{}", job.parent, self.now / SECOND);
            "periodic-job"
        } else {
            job.sort = Sort::Dispatched;
            job.id = format!("{}/dispatch-{}-{:08x}", job.parent, self.now / SECOND, self.dice.next() as u32);
            if self.dice.below(4) == 0 {
                job.idempotency_token = format!("{}-{}-{number}", job.namespace, job.parent);
            }
            "job-register"
        };
        let eval = self.eval(&job, triggered_by);
        (job, eval)
    }

    pub(super) fn keep_child(&mut self, parent: usize, mut job: Job, eval: Eval, index: u64) -> u64 {
        (job.create_index, job.modify_index, job.status) = (index, index, "pending");
        self.child_number += 1;
        let child = Child {
            parent,
            job,
            evals: vec![eval.id.clone()],
            eval,
            alloc: None,
            started: 0,
            runs: false,
            stopped: false,
        };
        self.children.insert(self.child_number, child);
        self.child_number
    }

    pub(super) fn launch(&mut self, parent: usize) {
        let periodic = self.parents[parent].job.sort == Sort::Periodic;
        let next = if periodic { 30 * SECOND } else { (5 + self.dice.below(40) as i64) * SECOND };
        self.order(next, Event::Launch(parent));
        if self.parents[parent].gone {
            return;
        }
        let (mut job, mut eval) = self.new_child(parent);
        let mut atomic = self.atomic;
        if self.takes(Mechanism::RegisterWithStatus) {
            // "dead" would only make Dead smaller, and it may be larger than the number of dead children anyway.
            job.status = if self.varied && self.dice.below(2) == 0 { "pending" } else { "running" };
            self.planted_at(self.index + 1, parent);
        } else if !atomic && self.takes(Mechanism::DoublePending) {
            atomic = true;
            self.planted_at(self.index + 1, parent);
        }
        let index = self.command(requests::register(&job, atomic.then_some(&eval), periodic));
        eval.create_index = if atomic { index } else { self.command(requests::eval_pending(&eval)) };
        let child = self.keep_child(parent, job, eval, index);
        self.order(80 * MILLI, Event::Place(child));
    }

    pub(super) fn place(&mut self, number: u64) {
        let (id, node) = (self.dice.id(), self.node());
        let now = self.now;
        let Some(child) = self.children.get_mut(&number) else { return };
        let eval = child.eval.id.clone();
        let alloc = Alloc { id, place: 0, eval, deployment: String::new(), node, created: now };
        let placed = Plan { placed: std::slice::from_ref(&alloc), ..Plan::default() };
        let plan = requests::plan(&child.job, &child.eval, &placed, now);
        let complete = requests::eval_complete(&child.eval, &child.job.group, 1, child.eval.create_index, now);
        child.alloc = Some(alloc);
        self.command(plan);
        self.command(complete);
        let start = 200 + self.dice.below(400) as i64;
        self.order(start * MILLI, Event::Start(number));
    }

    pub(super) fn start(&mut self, number: u64) {
        let now = self.now;
        let Some(child) = self.children.get_mut(&number) else { return };
        (child.started, child.runs) = (now, true);
        self.see(number, "running");
        let length = 2 + self.dice.below(60) as i64;
        self.order(length * SECOND, Event::End(number));
    }

    pub(super) fn end(&mut self, number: u64) {
        let status = if self.dice.below(12) == 0 { "failed" } else { "complete" };
        self.see(number, status);
        self.ending.push(number);
    }

    pub(super) fn see(&mut self, number: u64, status: &'static str) {
        let now = self.now;
        let Some(child) = self.children.get(&number) else { return };
        let Some(alloc) = &child.alloc else { return };
        let seen = client_update(alloc, &child.job.group, status, child.started, now);
        self.tell(seen);
    }

    /// Reports go out in batches, as a client sends them.
    pub(super) fn tell(&mut self, seen: ClientUpdate) {
        if self.reports.is_empty() {
            self.order(200 * MILLI, Event::Report);
        }
        self.reports.push(seen);
    }

    pub(super) fn report(&mut self) {
        let reports = std::mem::take(&mut self.reports);
        for node in self.nodes.clone() {
            let its: Vec<_> = reports.iter().filter(|report| report.node == node).cloned().collect();
            if !its.is_empty() {
                self.command(requests::client_update(&its));
            }
        }
        for number in std::mem::take(&mut self.ending) {
            let Some(child) = self.children.remove(&number) else { continue };
            self.ended.push_back(Ended {
                at: self.now,
                namespace: child.job.namespace,
                id: child.job.id,
                evals: child.evals,
                allocs: child.alloc.into_iter().map(|alloc| alloc.id).collect(),
            });
        }
    }

    pub(super) fn node(&mut self) -> String {
        let which = self.dice.below(self.nodes.len() as u64) as usize;
        self.nodes[which].clone()
    }
}

pub(super) fn client_update(alloc: &Alloc, task: &str, status: &'static str, started: i64, now: i64) -> ClientUpdate {
    ClientUpdate {
        id: alloc.id.clone(),
        node: alloc.node.clone(),
        task: task.into(),
        status,
        healthy: false,
        started,
        now,
    }
}
