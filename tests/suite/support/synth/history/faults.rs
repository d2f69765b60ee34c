//! The mechanisms that make a parent's counts wrong, and planting one.

use std::fmt;
use std::str::FromStr;

use super::super::requests::{self, Eval, Job, Sort};
use super::{Child, Ended, Event, History, MILLI, Parent, SECOND};

/// A mechanism that makes a parent's counts wrong, by its `cause.rule`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// A child arrives with the status "running", or another one.
    RegisterWithStatus,
    /// A child arrives with its evaluation, in a history whose launches have it in an entry of its own. It is a fault
    /// under the rules of Nomad 1.0.3 and older.
    DoublePending,
    /// A parent is purged and registered again while it has a child; the cause is the purge.
    ParentRecreated,
    /// A child is registered again without its parent.
    LostParent,
    /// A child is stopped before it has an evaluation, or after it ended and got another one that nobody heard of.
    StatusWithoutCount,
    /// A finished child whose evaluations are collected is registered again.
    ChildReregistered,
    /// The summaries are reconciled while namesakes in two namespaces have children.
    ReconcileMergedNamespaces,
    /// A job is registered again as a parent's child. No rule has a name for it.
    Adopted,
}

/// Every mechanism with its name.
const MECHANISMS: [(&str, Mechanism); 8] = [
    ("register_with_status", Mechanism::RegisterWithStatus),
    ("double_pending", Mechanism::DoublePending),
    ("parent_recreated", Mechanism::ParentRecreated),
    ("lost_parent", Mechanism::LostParent),
    ("status_without_count", Mechanism::StatusWithoutCount),
    ("child_reregistered", Mechanism::ChildReregistered),
    ("reconcile_merged_namespaces", Mechanism::ReconcileMergedNamespaces),
    ("adopted", Mechanism::Adopted),
];

/// A fault to plant: the mechanism, and the first index at which it may be.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// What goes wrong.
    pub mechanism: Mechanism,
    /// Not before this entry.
    pub from: u64,
}

impl FromStr for Fault {
    type Err = String;

    /// `register_with_status@5000`
    fn from_str(text: &str) -> Result<Self, String> {
        let known = || MECHANISMS.map(|(name, _)| name).join(", ");
        let (name, from) = text.split_once('@').ok_or_else(|| format!("{text}: write it as NAME@INDEX"))?;
        let (_, mechanism) = MECHANISMS
            .into_iter()
            .find(|(known, _)| *known == name)
            .ok_or_else(|| format!("{name}: no such mechanism; there are {}", known()))?;
        let from = from.parse().map_err(|_| format!("{from}: not an index"))?;
        Ok(Fault { mechanism, from })
    }
}

/// The fault that a history came to hold.
#[derive(Clone, Debug)]
pub struct Planted {
    /// The guilty entry.
    pub index: u64,
    /// The parent whose counts are wrong from then on, as namespace and id.
    pub parent: (String, String),
}

impl fmt::Display for Planted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "entry {}, parent {}/{}", self.index, self.parent.0, self.parent.1)
    }
}

impl History {
    /// True once, when this mechanism is due.
    pub(super) fn takes(&mut self, mechanism: Mechanism) -> bool {
        let due = self.fault.is_some_and(|fault| fault.mechanism == mechanism && self.index + 1 >= fault.from);
        if due {
            self.fault = None;
        }
        due
    }

    pub(super) fn planted_at(&mut self, index: u64, parent: usize) {
        let job = &self.parents[parent].job;
        self.planted = Some(Planted { index, parent: (job.namespace.clone(), job.id.clone()) });
    }

    /// Plants the fault that is due, if the moment allows it; [`History::launch`] plants the one that is in a launch.
    pub(super) fn plant(&mut self) {
        let Some(fault) = self.fault.filter(|fault| self.index + 1 >= fault.from) else { return };
        match fault.mechanism {
            Mechanism::RegisterWithStatus | Mechanism::DoublePending => {}
            Mechanism::ParentRecreated => self.recreate_parent(),
            Mechanism::LostParent => self.lose_parent(),
            Mechanism::StatusWithoutCount if self.varied && self.dice.below(2) == 0 => self.stop_after_the_end(),
            Mechanism::StatusWithoutCount => self.stop_without_eval(),
            Mechanism::ChildReregistered => self.bring_back(),
            Mechanism::ReconcileMergedNamespaces => self.reconcile(),
            Mechanism::Adopted => self.adopt(),
        }
    }

    /// A child that is up, as its client has told, and not about to end.
    pub(super) fn running_child(&self) -> Option<u64> {
        let told = |child: &Child| child.runs && !child.stopped && self.now > child.started + SECOND;
        self.children
            .iter()
            .find(|(number, child)| told(child) && !self.ending.contains(number))
            .map(|(number, _)| *number)
    }

    /// The child that a fault concerns.
    fn chosen_child(&mut self) -> Option<u64> {
        if !self.varied {
            return self.running_child();
        }
        // A child that waits for its allocation will do as well.
        let living = self.children.iter().filter(|(number, child)| !child.stopped && !self.ending.contains(number));
        let living: Vec<u64> = living.map(|(number, _)| *number).collect();
        let which = self.dice.below(living.len() as u64) as usize;
        living.get(which).copied().filter(|number| !self.parents[self.children[number].parent].gone)
    }

    pub(super) fn recreate_parent(&mut self) {
        let Some(parent) = self.chosen_child().map(|number| self.children[&number].parent) else { return };
        self.fault = None;
        let job = &self.parents[parent].job;
        let by_collector = self.varied && self.dice.below(2) == 0;
        let purge = match by_collector {
            true => requests::collect_jobs(&[(job.namespace.clone(), job.id.clone())]),
            false => requests::deregister(job, true, None, self.now),
        };
        let purge = self.command(purge);
        self.planted_at(purge, parent);
        if self.varied && self.dice.below(2) == 0 {
            self.parents[parent].gone = true;
            let pause = self.dice.below(2_000) as i64;
            self.order(pause * MILLI, Event::Recreate(parent));
        } else {
            self.register_again(parent);
        }
    }

    /// A purged parent is submitted anew.
    pub(super) fn register_again(&mut self, parent: usize) {
        let mut job = self.parents[parent].job.clone();
        (job.create_index, job.modify_index, job.submitted, job.version) = (0, 0, self.now, 0);
        let index = self.command(requests::register(&job, None, false));
        (job.create_index, job.modify_index) = (index, index);
        self.parents[parent].job = job;
        self.parents[parent].gone = false;
    }

    pub(super) fn lose_parent(&mut self) {
        let Some(number) = self.chosen_child() else { return };
        self.fault = None;
        let parent = self.children[&number].parent;
        let mut job = self.children[&number].job.clone();
        job.parent = String::new();
        job.status = "";
        job.idempotency_token = String::new();
        job.submitted = self.now;
        let mut eval = self.eval(&job, "job-register");
        let index = self.command(requests::register(&job, Some(&eval), false));
        eval.create_index = index;
        self.planted_at(index, parent);
        self.command(requests::eval_complete(&eval, &job.group, 0, index, self.now));
        if let Some(child) = self.children.get_mut(&number) {
            (job.modify_index, job.version) = (index, job.version + 1);
            child.job = job;
            child.evals.push(eval.id);
        }
    }

    pub(super) fn stop_without_eval(&mut self) {
        let Some(parent) = self.parents.iter().position(|parent| parent.job.sort == Sort::Parameterized) else {
            return;
        };
        self.fault = None;
        let (job, _) = self.new_child(parent);
        let index = self.command(requests::register(&job, None, false));
        let mut eval = self.eval(&job, "job-deregister");
        let stop = self.command(requests::deregister(&job, false, Some(&eval), self.now));
        eval.create_index = stop;
        self.planted_at(stop, parent);
        self.command(requests::eval_complete(&eval, &job.group, 0, stop, self.now));
        let job = Job { create_index: index, ..job };
        let evals = vec![eval.id];
        self.ended.push_back(Ended { at: self.now, namespace: job.namespace, id: job.id, evals, allocs: Vec::new() });
    }

    /// A child that ended and is not yet collected, with its parent; of a parameterized parent only, unless faults vary.
    fn ended_child(&self) -> Option<(usize, usize)> {
        let of_parent = |parent: &Parent, ended: &Ended| {
            (self.varied || parent.job.sort == Sort::Parameterized)
                && !parent.gone
                && parent.job.namespace == ended.namespace
                && ended.id.strip_prefix(&parent.job.id).is_some_and(|rest| rest.starts_with('/'))
        };
        self.ended.iter().enumerate().find_map(|(place, ended)| {
            self.parents.iter().position(|parent| of_parent(parent, ended)).map(|parent| (place, parent))
        })
    }

    /// An ended child's request once more, and its evaluation.
    fn ended_again(&mut self, parent: usize, id: &str) -> (Job, Eval) {
        let (mut job, mut eval) = self.new_child(parent);
        job.id = id.to_owned();
        eval.job = id.to_owned();
        job.idempotency_token = String::new();
        (job, eval)
    }

    fn stop_after_the_end(&mut self) {
        let Some((place, parent)) = self.ended_child() else { return };
        let Some(mut ended) = self.ended.remove(place) else { return };
        self.fault = None;
        // Nobody computes a status for this evaluation: the child stays dead, until the stop looks at it.
        let (job, mut unheard) = self.ended_again(parent, &ended.id);
        unheard.triggered_by = "alloc-stop";
        unheard.create_index = self.command(requests::watch_deployment(&unheard));
        let mut eval = self.eval(&job, "job-deregister");
        eval.create_index = self.command(requests::deregister(&job, false, Some(&eval), self.now));
        self.planted_at(eval.create_index, parent);
        for eval in [unheard, eval] {
            self.command(requests::eval_complete(&eval, &job.group, 0, eval.create_index, self.now));
            ended.evals.push(eval.id);
        }
        self.ended.push_back(Ended { at: self.now, ..ended });
    }

    pub(super) fn bring_back(&mut self) {
        let Some((place, parent)) = self.ended_child() else { return };
        let Some(ended) = self.ended.remove(place) else { return };
        self.fault = None;
        self.command(requests::collect_evals(&ended.evals, &ended.allocs));
        let (job, mut eval) = self.ended_again(parent, &ended.id);
        let index = self.command(requests::register(&job, Some(&eval), false));
        eval.create_index = index;
        self.planted_at(index, parent);
        let child = self.keep_child(parent, job, eval, index);
        self.order(80 * MILLI, Event::Place(child));
    }

    pub(super) fn adopt(&mut self) {
        if self.services.is_empty() || self.parents.is_empty() || self.services[0].job.create_index == 0 {
            return;
        }
        self.fault = None;
        let parent = &self.parents[0].job;
        let mut job = self.services[0].job.clone();
        if job.namespace != parent.namespace {
            return;
        }
        job.parent.clone_from(&parent.id);
        let index = self.command(requests::register(&job, None, false));
        self.planted_at(index, 0);
    }

    pub(super) fn reconcile(&mut self) {
        // Both namesakes see the other's children: one running child is enough.
        let Some(parent) = self.chosen_child().map(|number| self.children[&number].parent) else { return };
        let namesake = parent ^ 1;
        if self.parents.get(namesake).is_none_or(|namesake| namesake.gone) {
            return;
        }
        self.fault = None;
        let index = self.command(requests::reconcile());
        self.planted_at(index, namesake);
    }
}
