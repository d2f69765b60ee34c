//! Allocations written by plans, and what clients report of them (fsm.md 2.10, 2.11).

use std::sync::Arc;

use super::super::Txn;
use super::super::id::{Id, Word};
use super::super::outcome::{Outcome, Refusal};
use super::super::row::{Alloc, AllocJob, AllocJobExtras, Eval, Group, Health, Indexes, Node, Transition};
use super::super::status::Due;
use super::Applied;
use crate::entry::body::alloc::{AllocBody, AllocUpdate, DesiredTransitions, HealthBody, TransitionBody};
use crate::entry::body::job::{GroupBody, JobBody};
use crate::types::{Index, JobKey};

impl Txn<'_> {
    /// An allocation row from a plan's body; the plan's job goes to those that carry none and are
    /// not terminal.
    pub(in super::super) fn alloc_row(&self, body: &AllocBody<'_>, plan_job: Option<&JobBody<'_>>) -> Alloc {
        let origin = self.origin(body.at);
        let mut row = Alloc {
            id: Id::new(&body.id),
            job_key: JobKey::new(&*body.namespace, &*body.job_id),
            job: None,
            eval_id: Id::new(&body.eval_id),
            node_id: Id::new(&body.node_id),
            task_group: (*body.task_group).into(),
            desired_status: Word::new(&body.desired_status),
            desired_description: (*body.desired_description).into(),
            transition: transition_row(&body.desired_transition),
            client_status: Word::new(&body.client_status),
            client_description: (*body.client_description).into(),
            deployment_id: Id::new(&body.deployment_id),
            health: body.deployment_status.as_ref().map(health_row),
            previous: Id::new(&body.previous_allocation),
            next: Id::new(&body.next_allocation),
            followup_eval: Id::new(&body.followup_eval_id),
            preempted_by: Id::new(&body.preempted_by),
            states: body.alloc_states.place.0.map(|at| self.origin(at)),
            disconnected: body.alloc_states.disconnected,
            task_states: None,
            network_status: origin,
            indexes: Indexes { create: self.index, modify: self.index },
            alloc_modify_index: self.index,
            modify_time: body.modify_time,
            origin,
        };
        let plan_job = plan_job.filter(|_| !row.is_terminal());
        row.job = body.job.as_ref().or(plan_job).map(|job| AllocJob {
            create_index: Index(job.create_index),
            version: job.version,
            origin: self.origin(job.at),
            extras: self.alloc_job_extras(job),
        });
        row
    }

    /// The groups with CSI plugins and host volumes of a job inside an allocation.
    fn alloc_job_extras(&self, job: &JobBody<'_>) -> Option<Arc<AllocJobExtras>> {
        let has_extras = |group: &&GroupBody<'_>| !group.csi_tasks.0.is_empty() || !group.host_volumes.0.is_empty();
        let groups: Vec<Group> = job.groups.iter().filter(has_extras).map(|g| self.group_row(g, None)).collect();
        (!groups.is_empty())
            .then(|| Arc::new(AllocJobExtras { system: job.kind == "system", dead: job.status == "dead", groups }))
    }

    /// Writes a plan's allocations in order and moves their jobs' statuses; the last allocation of
    /// a job decides whether it is forced to running (fsm.md 2.11).
    pub(super) fn upsert_allocs(&mut self, rows: Vec<Alloc>) -> Result<(), Refusal> {
        let mut due = Due::default();
        for row in rows {
            let before = self.state.alloc(&row.id).cloned();
            let Some(mut row) = self.merge_alloc(row, before.as_deref())? else { continue };
            self.count_in_deployment(&mut row, before.as_deref())?;
            self.count_alloc(&row, before.as_deref())?;
            if row.eval_id.is_empty() && !self.blind {
                return Err(Refusal::new(format!("allocation {} names no evaluation", row.id)));
            }
            let force = (!row.is_terminal()).then_some(Word::RUNNING);
            due.note(row.job_key.clone(), force);
            self.link_previous(&row);
            self.follow_alloc(&row);
            self.claim_sticky_volumes(&row);
            let id = row.id.clone();
            self.state.put_alloc(&id, Some(Arc::new(row)));
        }
        self.set_job_statuses(due, false)
    }

    /// What stays of the row that a plan's allocation replaces; `None` where it is left out.
    fn merge_alloc(&self, mut row: Alloc, before: Option<&Alloc>) -> Result<Option<Alloc>, Refusal> {
        row.indexes = Indexes { create: self.index, modify: self.index };
        row.alloc_modify_index = self.index;
        let Some(before) = before else {
            if row.job.is_none() {
                return Err(Refusal::new(format!("allocation {} is new and carries no job", row.id)));
            }
            let job_runs = self.state.job(&row.job_key).is_some_and(|job| !job.stop);
            if self.rules.allocs_of_stopped_jobs_skipped && !job_runs && !self.blind {
                return Ok(None);
            }
            row.next = Id::Empty;
            if let Some(health) = &mut row.health {
                health.modify_index = self.index;
            }
            return Ok(Some(row));
        };
        row.indexes.create = before.indexes.create;
        row.task_states = before.task_states;
        if self.rules.next_allocation_kept && !before.next.is_empty() {
            row.next = before.next.clone();
        }
        let from_plan =
            row.client_status == "lost" || (self.rules.unknown_client_status && row.client_status == "unknown");
        if !from_plan {
            row.client_status = before.client_status.clone();
            row.client_description = before.client_description.clone();
        }
        if row.job.is_none() {
            row.job.clone_from(&before.job);
        }
        Ok(Some(row))
    }

    /// What an allocation's write does to plugins and service registrations.
    fn follow_alloc(&mut self, row: &Alloc) {
        self.remove_alloc_from_plugins(row);
        if row.is_terminal() {
            self.drop_services_of(&row.id);
        }
    }

    fn link_previous(&mut self, row: &Alloc) {
        let Some(previous) = self.state.alloc(&row.previous).filter(|_| !row.previous.is_empty()) else { return };
        let mut previous = Alloc::clone(previous);
        previous.next = row.id.clone();
        previous.indexes.modify = self.index;
        self.state.put_alloc(&row.previous, Some(Arc::new(previous)));
    }

    /// AllocUpdate (8), of writers before 0.6.
    pub(super) fn alloc_update(&mut self, request: &AllocUpdate<'_>) -> Applied {
        if self.rules.alloc_update_ignored {
            return Ok(Outcome::NoEffect("servers ignore this type since 1.4.3".into()));
        }
        let rows = request.allocs.iter().map(|a| self.alloc_row(a, request.job.as_ref())).collect();
        self.atomically(|t| {
            t.bump("allocs");
            t.upsert_allocs(rows)
        })?;
        Ok(Outcome::Applied)
    }

    /// AllocClientUpdate (9).
    pub(super) fn alloc_client_update(&mut self, request: &AllocUpdate<'_>) -> Applied {
        if request.allocs.is_empty() {
            return Ok(Outcome::NoEffect("it has no allocation; its evaluations are not looked at".into()));
        }
        let known = if self.rules.client_updates_batched {
            self.atomically(|t| t.client_updates_at_once(request))?
        } else {
            let known = self.atomically(|t| t.client_updates_one_by_one(request))?;
            if !request.evals.is_empty() {
                let rows = request.evals.iter().map(|e| (self.eval_row(e), e)).collect();
                self.atomically(|t| t.upsert_evals(rows))?;
            }
            known
        };
        Ok(if known == 0 && request.evals.is_empty() {
            Outcome::NoEffect("none of its allocations exists".into())
        } else {
            Outcome::Applied
        })
    }

    /// Up to 2.0.0: each allocation moves its job's status by itself, and forces it to running
    /// while it is not terminal.
    fn client_updates_one_by_one(&mut self, request: &AllocUpdate<'_>) -> Result<usize, Refusal> {
        self.bump("allocs");
        let mut known = 0;
        for body in &request.allocs {
            if let Some(row) = self.client_update(body)? {
                known += 1;
                let mut due = Due::default();
                due.note(row.job_key.clone(), (!row.is_terminal()).then_some(Word::RUNNING));
                self.set_job_statuses(due, false)?;
            }
            self.note_report(&body.node_id);
        }
        Ok(known)
    }

    /// Since 2.0.1 (#27852): statuses once, at the end, by the general rule. An allocation whose
    /// update fails is passed over with what it had written by then.
    fn client_updates_at_once(&mut self, request: &AllocUpdate<'_>) -> Result<usize, Refusal> {
        self.bump("allocs");
        let mut due = Due::default();
        let mut known = 0;
        for body in &request.allocs {
            if let Ok(Some(row)) = self.client_update(body) {
                known += 1;
                due.note(row.job_key.clone(), None);
            }
            self.note_report(&body.node_id);
        }
        if !request.evals.is_empty() {
            let rows = request.evals.iter().map(|e| (self.eval_row(e), e)).collect();
            self.upsert_evals(rows)?;
        }
        self.set_job_statuses(due, false)?;
        Ok(known)
    }

    /// What a client reports of one allocation; `None` where it is not known.
    fn client_update(&mut self, body: &AllocBody<'_>) -> Result<Option<Arc<Alloc>>, Refusal> {
        let id = Id::new(&body.id);
        let Some(before) = self.state.alloc(&id).cloned() else { return Ok(None) };
        let origin = self.origin(body.at);
        let mut row = Alloc::clone(&before);
        row.client_status = Word::new(&body.client_status);
        row.client_description = (*body.client_description).into();
        row.task_states = Some(origin);
        if self.rules.network_status {
            row.network_status = origin;
        }
        row.modify_time = body.modify_time;
        row.indexes.modify = self.index;
        match (&mut row.health, body.deployment_status.as_ref().map(health_row)) {
            (Some(health), Some(reported)) if reported.healthy.is_some() && reported.healthy != health.healthy => {
                health.healthy = reported.healthy;
                health.timestamp = reported.timestamp;
                health.modify_index = self.index;
            }
            (none @ None, Some(reported)) => *none = Some(Health { modify_index: self.index, ..reported }),
            _ => {}
        }
        self.count_in_deployment(&mut row, Some(&before))?;
        self.count_alloc(&row, Some(&before))?;
        self.follow_alloc(&row);
        self.reconnect(&before, &mut row);
        let row = Arc::new(row);
        self.state.put_alloc(&id, Some(row.clone()));
        Ok(Some(row))
    }

    /// An allocation that was disconnected and is heard of again needs its follow-up no more.
    fn reconnect(&mut self, before: &Alloc, row: &mut Alloc) {
        let heard = matches!(row.client_status.as_str(), "running" | "complete" | "failed");
        if !self.rules.reconnect_cancels_eval || !before.disconnected || !heard || before.followup_eval.is_empty() {
            return;
        }
        row.followup_eval = Id::Empty;
        if let Some(eval) = self.state.eval(&before.followup_eval) {
            let mut eval = Eval::clone(eval);
            eval.status = Word::new("canceled");
            eval.description = Some("allocs reconnected".into());
            eval.indexes.modify = self.index;
            self.state.put_eval(&before.followup_eval, Some(Arc::new(eval)));
            self.bump("evals");
        }
    }

    /// The node has been heard of, whether or not the allocation is known.
    fn note_report(&mut self, node_id: &str) {
        let id = Id::new(node_id);
        let Some(node) = self.state.node(&id).filter(|_| self.rules.node_tracks_reports) else { return };
        let mut node = Node::clone(node);
        node.last_alloc_update_index = self.index.0;
        self.state.put_node(&id, Some(Arc::new(node)));
        self.bump("nodes");
    }

    /// AllocUpdateDesiredTransition (27). No job's status is looked at.
    pub(super) fn desired_transitions(&mut self, request: &DesiredTransitions<'_>) -> Applied {
        let mut known = 0;
        self.bump("allocs");
        for (id, wish) in &request.allocs.0 {
            let id = Id::new(id);
            let Some(before) = self.state.alloc(&id) else { continue };
            let mut row = Alloc::clone(before);
            merge_transition(&mut row.transition, transition_row(wish));
            row.indexes.modify = self.index;
            if self.rules.transition_moves_alloc_index {
                row.alloc_modify_index = self.index;
            }
            self.state.put_alloc(&id, Some(Arc::new(row)));
            known += 1;
        }
        self.nest_evals(&request.evals);
        Ok(if known == 0 && request.evals.is_empty() {
            Outcome::NoEffect("none of its allocations exists".into())
        } else {
            Outcome::Applied
        })
    }
}

/// The health that a body has.
pub(super) fn health_row(body: &HealthBody<'_>) -> Health {
    Health {
        healthy: body.healthy,
        timestamp: body.timestamp,
        canary: body.canary,
        modify_index: Index(body.modify_index),
    }
}

fn transition_row(body: &TransitionBody<'_>) -> Transition {
    Transition {
        migrate: body.migrate,
        reschedule: body.reschedule,
        force_reschedule: body.force_reschedule,
        no_shutdown_delay: body.no_shutdown_delay,
        migrate_disable_placement: body.migrate_disable_placement,
    }
}

/// What is asked overwrites, a `false` included; what is not asked stays.
fn merge_transition(into: &mut Transition, wish: Transition) {
    into.migrate = wish.migrate.or(into.migrate);
    into.reschedule = wish.reschedule.or(into.reschedule);
    into.force_reschedule = wish.force_reschedule.or(into.force_reschedule);
    into.no_shutdown_delay = wish.no_shutdown_delay.or(into.no_shutdown_delay);
    into.migrate_disable_placement = wish.migrate_disable_placement.or(into.migrate_disable_placement);
}
