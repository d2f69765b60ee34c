//! What operators do between launches, none of which makes a count wrong.

use super::super::requests::{self, Plan};
use super::{Event, History, MILLI, SECOND};

impl History {
    /// One of them, if the moment allows it.
    pub(super) fn chore(&mut self) {
        let next = 4 + self.dice.below(30) as i64;
        self.order(next * SECOND, Event::Chore);
        match self.dice.below(6) {
            0 => self.update_parent(),
            1 => self.stop_child(),
            2 => self.touch_child(),
            3 => self.recreate_childless_parent(),
            4 if self.has_no_namesakes() => {
                self.command(requests::reconcile());
            }
            _ => {
                self.command(requests::namespace("prod"));
            }
        }
    }

    /// A reconcile is harmless where no two parents share an ID.
    fn has_no_namesakes(&self) -> bool {
        self.parents.len() < 2
    }

    /// A parent is submitted again.
    fn update_parent(&mut self) {
        let parent = self.dice.below(self.parents.len() as u64) as usize;
        if self.parents[parent].gone {
            return;
        }
        let mut job = self.parents[parent].job.clone();
        job.submitted = self.now;
        job.modify_index = self.command(requests::register(&job, None, false));
        job.version += 1;
        self.parents[parent].job = job;
    }

    /// A running child is stopped: its evaluation, the plan, and soon its end.
    fn stop_child(&mut self) {
        let Some(number) = self.running_child() else { return };
        let job = self.children[&number].job.clone();
        let mut eval = self.eval(&job, "job-deregister");
        eval.create_index = self.command(requests::deregister(&job, false, Some(&eval), self.now));
        let stopped: Vec<_> = self.children[&number].alloc.iter().map(|alloc| alloc.id.clone()).collect();
        let changes = Plan { stopped: &stopped, ..Plan::default() };
        self.command(requests::plan(&job, &eval, &changes, self.now));
        self.command(requests::eval_complete(&eval, &job.group, 0, eval.create_index, self.now));
        if let Some(child) = self.children.get_mut(&number) {
            child.job.version += 1;
            child.evals.push(eval.id);
            child.stopped = true;
        }
        self.order(300 * MILLI, Event::End(number));
    }

    /// A running child is submitted again as it is.
    fn touch_child(&mut self) {
        let Some(number) = self.running_child() else { return };
        let mut job = self.children[&number].job.clone();
        (job.status, job.submitted) = ("", self.now);
        // A dispatch's token would make this one a dispatch that was sent twice.
        job.idempotency_token = String::new();
        let mut eval = self.eval(&job, "job-register");
        eval.create_index = self.command(requests::register(&job, Some(&eval), false));
        self.command(requests::eval_complete(&eval, &job.group, 0, eval.create_index, self.now));
        if let Some(child) = self.children.get_mut(&number) {
            child.job.version += 1;
            child.evals.push(eval.id);
        }
    }

    /// A parent all of whose children have been collected is purged and comes back.
    fn recreate_childless_parent(&mut self) {
        let childless = (0..self.parents.len()).find(|parent| {
            let job = &self.parents[*parent].job;
            let waits = |ended: &super::Ended| {
                ended.namespace == job.namespace && ended.id.starts_with(&format!("{}/", job.id))
            };
            !self.parents[*parent].gone
                && self.children.values().all(|child| child.parent != *parent)
                && !self.ended.iter().any(waits)
        });
        if let Some(parent) = childless {
            let purge = requests::deregister(&self.parents[parent].job, true, None, self.now);
            self.command(purge);
            self.register_again(parent);
        }
    }
}
