//! Restarts with `-reschedule`: allocations that a user stopped one by one, and what replaced them.

use std::collections::HashMap;
use std::sync::Arc;

use super::Moment;
use crate::fsm::id::Id;
use crate::fsm::row::Alloc;
use crate::net::Touched;
use crate::types::JobKey;

/// A user's stop of one allocation.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stop {
    pub alloc: Id,
    pub group: Arc<str>,
    pub node: Id,
    pub asked: Moment,
    pub planned: Option<Moment>,
    pub down: Option<Moment>,
    pub replacement: Option<Id>,
    pub back: Option<Moment>,
    pub healthy: Option<Moment>,
    pub failed: bool,
    system: bool,
}

/// Where a stop stands: its job, and its place in the job's list.
type Place = (JobKey, usize);

/// Finds the stop that an allocation belongs to.
#[derive(Debug, Default)]
pub(super) struct Stops {
    stopped: HashMap<Id, Place>,
    replacing: HashMap<Id, Place>,
}

impl Stops {
    /// True while no stop was seen.
    pub(super) fn is_empty(&self) -> bool {
        self.stopped.is_empty()
    }

    /// An allocation is asked to stop; false where it was before.
    pub(super) fn ask(&mut self, alloc: &Alloc, system: bool, asked: Moment, list: &mut Vec<Stop>) -> bool {
        if self.stopped.contains_key(&alloc.id) {
            return false;
        }
        self.stopped.insert(alloc.id.clone(), (alloc.job_key.clone(), list.len()));
        list.push(Stop {
            alloc: alloc.id.clone(),
            group: alloc.task_group.clone(),
            node: alloc.node_id.clone(),
            asked,
            planned: None,
            down: None,
            replacement: None,
            back: None,
            healthy: None,
            failed: false,
            system,
        });
        true
    }

    /// An entry touched an allocation. `list` gives the stops of a job.
    pub(super) fn touched<'l>(
        &mut self,
        row: &Touched<'_, Id, Alloc>,
        at: Moment,
        list: impl FnOnce(&JobKey) -> Option<&'l mut Vec<Stop>>,
    ) {
        let Some(after) = row.after else { return };
        let new = row.before.is_none();
        let place = self.stopped.get(row.key).or_else(|| self.replacing.get(row.key)).cloned();
        let follows = || {
            let previous = &after.previous;
            self.stopped.get(previous).or_else(|| self.replacing.get(previous)).cloned()
        };
        if let Some((job, place)) = place {
            if let Some(stop) = list(&job).and_then(|l| l.get_mut(place)) {
                stop.moved(row.before.map(|a| &**a), after, at);
            }
        } else if new && !after.previous.is_empty() {
            if let Some((job, place)) = follows() {
                self.replacing.insert(row.key.clone(), (job.clone(), place));
                if let Some(stop) = list(&job).and_then(|l| l.get_mut(place)) {
                    stop.replaced_by(after, at);
                }
            }
        } else if new
            && let Some(list) = list(&after.job_key)
            // A system job's new allocation does not always name the one before it.
            && let Some(place) = list.iter().position(|s| {
                s.system && s.replacement.is_none() && s.node == after.node_id && s.group == after.task_group
            })
        {
            self.replacing.insert(row.key.clone(), (after.job_key.clone(), place));
            list[place].replaced_by(after, at);
        }
    }
}

impl Stop {
    /// A new allocation takes its place.
    fn replaced_by(&mut self, new: &Alloc, at: Moment) {
        self.replacement = Some(new.id.clone());
        self.planned.get_or_insert(at);
        self.failed = false;
        if new.client_status == "running" {
            self.back.get_or_insert(at);
        }
    }

    /// The stopped allocation or its replacement changed.
    fn moved(&mut self, before: Option<&Alloc>, after: &Alloc, at: Moment) {
        if after.id == self.alloc {
            if after.is_server_terminal() {
                self.planned.get_or_insert(at);
            }
            if after.is_client_terminal() {
                self.down.get_or_insert(at);
            }
            return;
        }
        if self.replacement.as_ref() != Some(&after.id) {
            return;
        }
        match after.client_status.as_str() {
            "running" => {
                self.back.get_or_insert(at);
                self.failed = false;
            }
            "failed" | "lost" if before.is_none_or(|b| !b.is_client_terminal()) => {
                self.failed = self.back.is_none();
            }
            _ => {}
        }
        if after.health.is_some_and(|h| h.healthy == Some(true)) {
            self.healthy.get_or_insert(at);
        }
    }
}
