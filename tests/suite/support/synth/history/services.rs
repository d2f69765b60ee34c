//! Services: each version with its deployment, from the submission to its success.

use super::super::requests::{self, Alloc, ClientUpdate, Deployment, Job, Plan};
use super::children::client_update;
use super::{Event, History, MILLI, SECOND};

impl History {
    pub(super) fn deploy(&mut self, number: usize) {
        let mut job = self.services[number].job.clone();
        job.submitted = self.now;
        let submitted = Job { create_index: 0, modify_index: 0, ..job.clone() };
        let mut eval = self.eval(&job, "job-register");
        let index = self.command(requests::register(&submitted, Some(&eval), false));
        eval.create_index = index;
        if job.create_index == 0 {
            job.create_index = index;
        } else {
            job.version += 1;
        }
        job.modify_index = index;
        let service = &mut self.services[number];
        service.job = job;
        service.eval = eval;
        self.order(90 * MILLI, Event::Roll(number));
    }

    pub(super) fn roll(&mut self, number: usize) {
        let deployment = Deployment { id: self.dice.id(), created: self.now };
        let count = self.services[number].job.count as usize;
        let placed: Vec<_> = (0..count).map(|place| self.service_alloc(number, place, &deployment.id)).collect();
        let service = &mut self.services[number];
        let stopped: Vec<_> = service.allocs.iter().map(|alloc| alloc.id.clone()).collect();
        let changes = Plan { placed: &placed, stopped: &stopped, deployment: Some(&deployment), succeeded: None };
        let job = Job { status: if service.allocs.is_empty() { "pending" } else { "running" }, ..service.job.clone() };
        let plan = requests::plan(&job, &service.eval, &changes, self.now);
        let index = service.eval.create_index;
        let complete = requests::eval_complete(&service.eval, &service.job.group, count, index, self.now);
        service.done[0].push(service.eval.id.clone());
        if !service.deployment.is_empty() {
            service.done[2].push(std::mem::take(&mut service.deployment));
        }
        service.deployment = deployment.id;
        service.replaced = std::mem::replace(&mut service.allocs, placed);
        self.command(plan);
        self.command(complete);
        self.order(700 * MILLI, Event::Up(number));
    }

    pub(super) fn service_alloc(&mut self, number: usize, place: usize, deployment: &str) -> Alloc {
        let (id, node) = (self.dice.id(), self.node());
        let eval = self.services[number].eval.id.clone();
        Alloc { id, place, eval, deployment: deployment.into(), node, created: self.now }
    }

    pub(super) fn up(&mut self, number: usize) {
        let now = self.now;
        let service = &mut self.services[number];
        let before = service.started;
        service.started = now;
        let group = service.job.group.clone();
        let replaced = std::mem::take(&mut service.replaced);
        let up: Vec<_> = service.allocs.iter().map(|alloc| client_update(alloc, &group, "running", now, now)).collect();
        let down = replaced.iter().map(|alloc| client_update(alloc, &group, "complete", before, now));
        let seen: Vec<_> = up.into_iter().chain(down).collect();
        service.done[1].extend(replaced.into_iter().map(|alloc| alloc.id));
        seen.into_iter().for_each(|update| self.tell(update));
        self.order(2 * SECOND, Event::Healthy(number));
    }

    pub(super) fn healthy(&mut self, number: usize) {
        let service = &self.services[number];
        let seen: Vec<_> = service
            .allocs
            .iter()
            .map(|alloc| client_update(alloc, &service.job.group, "running", service.started, self.now))
            .collect();
        seen.into_iter().for_each(|update| self.tell(ClientUpdate { healthy: true, ..update }));
        self.order(SECOND, Event::Watch(number));
    }

    pub(super) fn watch(&mut self, number: usize) {
        let job = self.services[number].job.clone();
        let mut eval = self.eval(&job, "deployment-watcher");
        eval.deployment = self.services[number].deployment.clone();
        eval.create_index = self.command(requests::watch_deployment(&eval));
        self.services[number].eval = eval;
        self.order(100 * MILLI, Event::Succeed(number));
    }

    pub(super) fn succeed(&mut self, number: usize) {
        let service = &mut self.services[number];
        let changes = Plan { succeeded: Some(&service.deployment), ..Plan::default() };
        let job = Job { status: "running", ..service.job.clone() };
        let plan = requests::plan(&job, &service.eval, &changes, self.now);
        let index = service.eval.create_index;
        let complete = requests::eval_complete(&service.eval, &service.job.group, 0, index, self.now);
        service.done[0].push(service.eval.id.clone());
        self.command(plan);
        self.command(complete);
        let next = 120 + self.dice.below(600) as i64;
        self.order(next * SECOND, Event::Deploy(number));
    }
}
