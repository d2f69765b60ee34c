//! Scaling policies, which come with jobs, and scaling events (state-rows.md 6.1, 6.2).

use std::sync::Arc;

use super::super::Txn;
use super::super::outcome::Outcome;
use super::super::row::{Group, Indexes, Job, Scaling};
use super::super::table::{RowKey, ScalingEvent, TableName, TableRow, global};
use super::Applied;
use crate::entry::body::job::{ScalingBody, ScalingEventRegister};
use crate::types::{Index, JobKey};

/// How many scaling events of a group are kept.
const EVENTS_KEPT: usize = 20;

impl Txn<'_> {
    /// A policy from its body. In a job that the FSM gives its defaults, the target is the job's group.
    pub(in super::super) fn scaling_row(&self, body: &ScalingBody<'_>, of: Option<(&JobKey, &str)>) -> Scaling {
        let target = &body.target;
        let (job, group, task) = match of {
            Some((job, group)) => (job.clone(), group, ""),
            None => (JobKey::new(&*target.namespace, &*target.job), &*target.group, &*target.task),
        };
        Scaling {
            id: (*body.id).into(),
            kind: if body.kind.is_empty() && of.is_some() { "horizontal" } else { &body.kind }.into(),
            job,
            group: group.into(),
            task: task.into(),
            policy: body.policy,
            min: body.min,
            max: body.max,
            enabled: body.enabled,
            indexes: Indexes { create: Index(body.create_index), modify: Index(body.modify_index) },
            origin: self.origin(body.at),
        }
    }

    /// Brings the table in line with a job that is written. A policy that is new or different gets its indexes, and
    /// the job shows them, since the two are one object; one that says the same stays as it is in both.
    pub(super) fn update_scaling_policies(&mut self, job: &mut Job) {
        let wanted: Vec<Arc<Scaling>> = job.groups.iter().filter_map(|g| g.scaling().cloned()).collect();
        let there: Vec<Arc<Scaling>> = self.state.policies_of(&job.key).cloned().collect();
        if wanted.is_empty() && there.is_empty() {
            return;
        }
        let gone = there.iter().filter(|old| {
            !wanted.iter().any(|new| (&new.kind, &new.group, &new.task) == (&old.kind, &old.group, &old.task))
        });
        for old in gone {
            self.delete_row(TableName::ScalingPolicies, &global(&old.id));
            self.bump("scaling_policy");
        }
        let groups: Vec<Group> = job.groups.iter().map(|group| self.write_policy_of(group)).collect();
        job.groups = groups.into();
    }

    fn write_policy_of(&mut self, group: &Group) -> Group {
        let Some(new) = group.scaling() else { return group.clone() };
        let existing = self.state.policies_of(&new.job).find(|old| old.is_about(new)).cloned();
        let mut row = Scaling::clone(new);
        match existing {
            Some(existing) if existing.says_the_same(new) => return group.clone(),
            Some(existing) => {
                row.id = existing.id.clone();
                row.indexes = self.written(Some(existing.indexes.create));
            }
            None => row.indexes = self.written(None),
        }
        let row = Arc::new(row);
        self.put_row(TableName::ScalingPolicies, &global(&row.id), TableRow::ScalingPolicy(row.clone()));
        self.bump("scaling_policy");
        let mut group = group.clone();
        group.extras.get_or_insert_default().scaling = Some(row);
        group
    }

    /// A stop switches the job's policies off (1.10.2 and newer).
    pub(super) fn disable_scaling(&self, job: &mut Job) {
        if !self.rules.stop_disables_scaling || job.groups.iter().all(|g| g.scaling().is_none()) {
            return;
        }
        let disabled = job.groups.iter().map(|group| {
            let mut group = group.clone();
            if let Some(policy) = group.extras.as_mut().and_then(|extras| extras.scaling.as_mut()) {
                *policy = Arc::new(Scaling { enabled: false, ..Scaling::clone(policy) });
            }
            group
        });
        job.groups = disabled.collect();
    }

    /// A purge takes the job's policies and events with it.
    pub(super) fn delete_scaling(&mut self, job: &JobKey) {
        let ids: Vec<Arc<str>> = self.state.policies_of(job).map(|policy| policy.id.clone()).collect();
        for id in ids {
            self.delete_row(TableName::ScalingPolicies, &global(&id));
            self.bump("scaling_policy");
        }
        self.delete_row(TableName::ScalingEvents, job);
        self.bump("scaling_event");
    }

    /// ScalingEventRegister (38). The job does not need to exist.
    pub(super) fn scaling_event(&mut self, request: &ScalingEventRegister<'_>) -> Applied {
        let Some(at) = request.event.0 else { return Ok(Outcome::NoEffect("it has no event".into())) };
        let key = RowKey::new(&*request.namespace, &*request.job_id);
        let before = self.state.row(TableName::ScalingEvents, &key).and_then(|r| r.scaling_events());
        let mut row = before.cloned().unwrap_or_default();
        let event = ScalingEvent { origin: self.origin(at), create_index: self.index };
        match row.groups.binary_search_by(|(name, _)| (**name).cmp(&*request.task_group)) {
            Ok(at) => {
                if let Some((_, events)) = row.groups.get_mut(at) {
                    events.insert(0, event);
                    events.truncate(EVENTS_KEPT);
                }
            }
            Err(at) => row.groups.insert(at, ((*request.task_group).into(), vec![event])),
        }
        row.modify_index = self.index;
        self.put_row(TableName::ScalingEvents, &key, TableRow::ScalingEvents(row));
        self.bump("scaling_event");
        Ok(Outcome::Applied)
    }
}
