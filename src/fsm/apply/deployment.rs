//! Deployments (fsm.md 2.13, state-rows.md 4.7 to 4.10).

use std::sync::Arc;

use super::super::Txn;
use super::super::id::{Id, Word};
use super::super::outcome::{Outcome, Refusal};
use super::super::row::{Alloc, Deployment, DeploymentGroup, Health, Indexes};
use super::Applied;
use super::upsert_job::RegisterOptions;
use crate::entry::body::deployment::{
    DeploymentAllocHealth, DeploymentBody, DeploymentDelete, DeploymentGroupBody, DeploymentPromote,
    DeploymentStatusUpdate, DeploymentUpdateBody,
};
use crate::entry::body::eval::EvalBody;
use crate::entry::body::job::JobBody;
use crate::entry::time::GoTime;
use crate::types::JobKey;

impl Txn<'_> {
    /// A deployment row from a body.
    pub(in super::super) fn deployment_row(&self, body: &DeploymentBody<'_>) -> Deployment {
        let mut groups: Vec<(Arc<str>, DeploymentGroup)> =
            body.groups.0.iter().map(|(name, group)| (Arc::from(&**name), self.deployment_group(group))).collect();
        groups.sort_by(|a, b| a.0.cmp(&b.0));
        Deployment {
            id: Id::new(&body.id),
            job: JobKey::new(&*body.namespace, &*body.job_id),
            job_version: body.job_version,
            job_create_index: body.job_create_index,
            job_modify_index: body.job_modify_index,
            job_spec_modify_index: body.job_spec_modify_index,
            status: Word::new(&body.status),
            description: (*body.status_description).into(),
            groups,
            modify_time: body.modify_time,
            indexes: Indexes { create: self.index, modify: self.index },
            origin: self.origin(body.at),
        }
    }

    fn deployment_group(&self, body: &DeploymentGroupBody<'_>) -> DeploymentGroup {
        DeploymentGroup {
            progress_deadline: body.progress_deadline,
            require_progress_by: Some(body.require_progress_by),
            promoted: body.promoted,
            placed_canaries: body.placed_canaries.as_ref().map(|ids| ids.iter().map(|id| Id::new(id)).collect()),
            desired_canaries: body.desired_canaries,
            placed: body.placed_allocs,
            healthy: body.healthy_allocs,
            unhealthy: body.unhealthy_allocs,
            origin: self.origin(body.at),
        }
    }

    /// Since 1.11.3 a plan's deployment keeps the counters that clients moved, and its old groups.
    pub(super) fn merge_deployment(&self, mut row: Deployment) -> Deployment {
        let Some(before) = self.state.deployment(&row.id).filter(|_| self.rules.deployment_counters_merged) else {
            return row;
        };
        for (name, old) in &before.groups {
            match row.groups.binary_search_by(|(n, _)| n.cmp(name)) {
                Ok(at) => {
                    let new = &mut row.groups[at].1;
                    new.placed = old.placed;
                    new.healthy = old.healthy;
                    new.unhealthy = old.unhealthy;
                    new.require_progress_by = old.require_progress_by;
                    new.placed_canaries.clone_from(&old.placed_canaries);
                }
                Err(at) => row.groups.insert(at, (name.clone(), old.clone())),
            }
        }
        row
    }

    /// Writes a deployment; one that is successful marks its job's version stable.
    pub(super) fn upsert_deployment(&mut self, mut row: Deployment) -> Result<(), Refusal> {
        row.indexes.modify = self.index;
        if let Some(before) = self.state.deployment(&row.id) {
            row.indexes.create = before.indexes.create;
            let taken_back = before
                .groups
                .iter()
                .find(|(name, old)| old.promoted && row.groups.iter().any(|(n, new)| n == name && !new.promoted));
            if let Some((name, _)) = taken_back.filter(|_| self.rules.deployment_counters_merged) {
                return Err(Refusal::new(format!(
                    "deployment {} would take back the promotion of its group {name:?}",
                    row.id
                )));
            }
        }
        let row = Arc::new(row);
        self.state.put_deployment(&row.id, Some(row.clone()));
        self.bump("deployment");
        if row.status == "successful" {
            self.set_stability(&row.job, row.job_version, true)?;
        }
        Ok(())
    }

    /// Counts an allocation in its deployment: its placement, or the first word on its health
    /// (state-rows.md 4.9). `before` is the row that it replaces.
    pub(super) fn count_in_deployment(&mut self, row: &mut Alloc, before: Option<&Alloc>) -> Result<(), Refusal> {
        let Some(deployment) = self.state.deployment(&row.deployment_id).filter(|_| !row.deployment_id.is_empty())
        else {
            return Ok(());
        };
        let Some(at) = deployment.groups.iter().position(|(name, _)| *name == row.task_group) else { return Ok(()) };
        let placed = before.is_none_or(|b| b.deployment_id != row.deployment_id);
        let was = before.and_then(|b| b.health).and_then(|h| h.healthy);
        let is = row.health.and_then(|h| h.healthy);
        let (healthy, unhealthy) = match (was, is) {
            _ if placed => (0, 0),
            (None, Some(true)) => (1, 0),
            (None, Some(false)) => (0, 1),
            (Some(true), Some(false)) => (-1, 1),
            _ => return Ok(()),
        };
        let mut deployment = Deployment::clone(deployment);
        let group = &mut deployment.groups[at].1;
        group.placed += i64::from(placed);
        group.healthy += healthy;
        group.unhealthy += unhealthy;
        if !placed && let Some(health) = &mut row.health {
            health.modify_index = self.index;
        }
        if row.health.is_some_and(|h| h.canary) {
            let canaries = group.placed_canaries.get_or_insert_default();
            if !canaries.contains(&row.id) {
                canaries.push(row.id.clone());
            }
        }
        set_progress(group, row, placed, healthy > 0);
        if self.rules.deployment_modify_time {
            deployment.modify_time = row.modify_time;
        }
        self.upsert_deployment(deployment)
    }

    /// Changes a deployment's status. `plan_time` is the plan's clock for updates inside a plan.
    pub(super) fn update_deployment_status(
        &mut self,
        update: &DeploymentUpdateBody<'_>,
        plan_time: Option<i64>,
    ) -> Result<(), Refusal> {
        let mut row = Deployment::clone(self.active_deployment(&update.deployment_id)?);
        let updated_at = plan_time.unwrap_or(update.updated_at);
        row.status = Word::new(&update.status);
        row.description = (*update.status_description).into();
        row.indexes.modify = self.index;
        if self.rules.deployment_modify_time {
            row.modify_time = updated_at;
        }
        let unfinished = matches!(&*update.status, "running" | "paused");
        if self.rules.status_update_resets_deadline && (unfinished || !self.rules.deadline_reset_when_unfinished) {
            for (_, group) in row.groups.iter_mut().filter(|(_, g)| g.progress_deadline != 0) {
                group.require_progress_by = Some(GoTime::from_unix_nanos(updated_at).plus(group.progress_deadline));
            }
        }
        let row = Arc::new(row);
        self.state.put_deployment(&row.id, Some(row.clone()));
        self.bump("deployment");
        if row.status == "successful" {
            self.set_stability(&row.job, row.job_version, true)?;
        }
        Ok(())
    }

    fn active_deployment(&self, id: &str) -> Result<&Arc<Deployment>, Refusal> {
        match self.state.deployment(&Id::new(id)) {
            None => Err(Refusal::new(format!("deployment {id} does not exist"))),
            Some(row) if !row.is_active() => {
                Err(Refusal::new(format!("deployment {id} has ended with status {:?}", row.status.as_str())))
            }
            Some(row) => Ok(row),
        }
    }

    /// The job to go back to and the evaluation that follow from a deployment's change.
    fn follow_deployment(&mut self, job: Option<&JobBody<'_>>, eval: Option<&EvalBody<'_>>) -> Result<(), Refusal> {
        if let Some(body) = job {
            let row = self.job_row(body, false);
            self.upsert_job(row, false, RegisterOptions::default())?;
        }
        self.nest_evals(eval);
        Ok(())
    }

    /// DeploymentStatusUpdate (14).
    pub(super) fn deployment_status_update(&mut self, request: &DeploymentStatusUpdate<'_>) -> Applied {
        self.atomically(|t| {
            t.update_deployment_status(&request.update, None)?;
            t.follow_deployment(request.job.as_ref(), request.eval.as_ref())
        })?;
        Ok(Outcome::Applied)
    }

    /// DeploymentPromote (15).
    pub(super) fn deployment_promote(&mut self, request: &DeploymentPromote<'_>) -> Applied {
        self.atomically(|t| t.promote(request))?;
        Ok(Outcome::Applied)
    }

    fn promote(&mut self, request: &DeploymentPromote<'_>) -> Result<(), Refusal> {
        let mut row = Deployment::clone(self.active_deployment(&request.deployment_id)?);
        let chosen = |group: &str| request.all || request.groups.iter().any(|g| *g == group);
        let canaries = self.healthy_canaries(&row, &chosen);
        for (name, group) in row.groups.iter().filter(|(name, _)| chosen(name)) {
            let healthy = canaries.iter().filter(|a| a.task_group == *name).count() as i64;
            if group.desired_canaries > 0 && healthy < group.desired_canaries {
                return Err(Refusal::new(format!(
                    "group {name:?} of deployment {} has {healthy} healthy canaries of {}",
                    row.id, group.desired_canaries
                )));
            }
        }
        for (_, group) in row.groups.iter_mut().filter(|(name, _)| chosen(name)) {
            group.promoted = true;
            if group.progress_deadline > 0 && group.require_progress_by.is_none_or(|t| !t.is_zero()) {
                group.require_progress_by = None;
            }
        }
        if row.status == "running" && row.groups.iter().all(|(_, g)| g.desired_canaries == 0 || g.promoted) {
            row.description = "Deployment is running".into();
        }
        if self.rules.deployment_modify_time {
            row.modify_time = request.promoted_at;
        }
        self.upsert_deployment(row)?;
        self.nest_evals(request.eval.as_ref());
        for canary in canaries {
            let mut row = Alloc::clone(&canary);
            row.indexes.modify = self.index;
            row.alloc_modify_index = self.index;
            if let Some(health) = &mut row.health {
                health.canary = false;
                health.modify_index = self.index;
            }
            self.state.put_alloc(&canary.id, Some(Arc::new(row)));
        }
        self.bump("allocs");
        Ok(())
    }

    fn healthy_canaries(&self, deployment: &Deployment, chosen: &dyn Fn(&str) -> bool) -> Vec<Arc<Alloc>> {
        let placed = deployment.groups.iter().flat_map(|(_, g)| g.placed_canaries.iter().flatten());
        let mut ids: Vec<&Id> = placed.collect();
        ids.sort();
        ids.dedup();
        ids.into_iter()
            .filter_map(|id| self.state.alloc(id))
            .filter(|a| a.deployment_id == deployment.id && chosen(&a.task_group) && !a.is_terminal())
            .filter(|a| a.health.is_some_and(|h| h.healthy == Some(true)))
            .cloned()
            .collect()
    }

    /// DeploymentAllocHealth (16).
    pub(super) fn deployment_alloc_health(&mut self, request: &DeploymentAllocHealth<'_>) -> Applied {
        self.atomically(|t| {
            let deployment = t.active_deployment(&request.deployment_id)?.id.clone();
            for (ids, healthy) in [(&request.healthy, true), (&request.unhealthy, false)] {
                for id in ids {
                    t.set_health(&deployment, id, healthy, request.timestamp)?;
                }
            }
            if let Some(update) = &request.update {
                t.update_deployment_status(update, None)?;
            }
            t.follow_deployment(request.job.as_ref(), request.eval.as_ref())
        })?;
        Ok(Outcome::Applied)
    }

    fn set_health(&mut self, deployment: &Id, id: &str, healthy: bool, timestamp: GoTime) -> Result<(), Refusal> {
        let before = match self.state.alloc(&Id::new(id)) {
            None => return Err(Refusal::new(format!("allocation {id} does not exist"))),
            Some(a) if a.deployment_id != *deployment => {
                return Err(Refusal::new(format!("allocation {id} is not part of deployment {deployment}")));
            }
            Some(a) => a.clone(),
        };
        let mut row = Alloc::clone(&before);
        let canary = row.health.is_some_and(|h| h.canary);
        row.health = Some(Health { healthy: Some(healthy), timestamp, canary, modify_index: self.index });
        row.indexes.modify = self.index;
        if self.rules.deployment_modify_time {
            row.modify_time = timestamp.unix_nanos();
        }
        self.count_in_deployment(&mut row, Some(&before))?;
        self.state.put_alloc(&before.id, Some(Arc::new(row)));
        self.bump("allocs");
        Ok(())
    }

    /// DeploymentDelete (17).
    pub(super) fn deployment_delete(&mut self, request: &DeploymentDelete<'_>) -> Applied {
        self.atomically(|t| {
            let mut deleted = 0;
            for text in &request.deployments {
                let id = Id::new(text);
                if t.state.deployment(&id).is_some() {
                    t.state.put_deployment(&id, None);
                    deleted += 1;
                } else if !t.rules.deployment_delete_skips_missing && !t.blind {
                    return Err(Refusal::new(format!("deployment {text} does not exist")));
                }
            }
            if !request.deployments.is_empty() {
                t.bump("deployment");
            }
            Ok(match deleted {
                0 => Outcome::NoEffect("none of its deployments exists".into()),
                _ => Outcome::Applied,
            })
        })
    }
}

/// Moves the moment at which a group without progress fails (state-rows.md 4.9).
fn set_progress(group: &mut DeploymentGroup, row: &Alloc, placed: bool, healthy: bool) {
    if group.progress_deadline == 0 {
        return;
    }
    if placed {
        if group.require_progress_by.is_some_and(GoTime::is_zero) {
            group.require_progress_by = Some(GoTime::from_unix_nanos(row.modify_time).plus(group.progress_deadline));
        }
    } else if healthy {
        let reported = row.health.map(|h| h.timestamp).unwrap_or_default().plus(group.progress_deadline);
        // Unknown stays unknown: which of the two is later cannot be told.
        group.require_progress_by = group.require_progress_by.map(|old| old.max(reported));
    }
}
