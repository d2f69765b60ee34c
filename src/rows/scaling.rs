//! Rows of ScalingEvents and ScalingPolicies (state-rows.md 6.1, 6.2).

use std::borrow::Cow;

use super::bodies::{Bodies, RowError, object};
use super::job::text;
use super::value::{Object, Value};
use crate::fsm::row::Scaling;
use crate::fsm::table::{RowKey, ScalingEvents};

/// A job's scaling events, newest first.
///
/// # Errors
/// When a body cannot be read again.
pub fn events(key: &RowKey, row: &ScalingEvents, bodies: &dyn Bodies) -> Result<Object, RowError> {
    let mut groups = Object::with_capacity(row.groups.len());
    for (name, events) in &row.groups {
        let mut list = Vec::with_capacity(events.len());
        for event in events {
            let mut shown = object(bodies, "ScalingEvent", event.origin)?;
            shown.set("CreateIndex", event.create_index.0);
            list.push(Value::from(shown));
        }
        groups.push(Cow::Owned((**name).to_owned()), Value::List(list));
    }
    let mut out = Object::with_capacity(4);
    out.set("Namespace", text(&key.namespace));
    out.set("JobID", text(&key.id));
    out.set("ScalingEvents", groups);
    out.set("ModifyIndex", row.modify_index.0);
    Ok(out)
}

/// A scaling policy.
///
/// # Errors
/// When its body cannot be read again.
pub fn policy(row: &Scaling, bodies: &dyn Bodies) -> Result<Object, RowError> {
    let mut policy = object(bodies, "ScalingPolicy", row.origin)?;
    overlay(&mut policy, row);
    policy.set("Type", text(&row.kind));
    let mut target = Object::with_capacity(4);
    for (key, value) in
        [("Namespace", &row.job.namespace), ("Job", &row.job.id), ("Group", &row.group), ("Task", &row.task)]
    {
        if !value.is_empty() {
            target.set(key, text(value));
        }
    }
    target.sort();
    policy.set("Target", target);
    Ok(policy)
}

/// What the FSM decides of a policy, also where it stands in its job: the two are one object.
pub(super) fn overlay(policy: &mut Object, row: &Scaling) {
    policy.set("ID", text(&row.id));
    policy.set("Enabled", row.enabled);
    policy.set("CreateIndex", row.indexes.create.0);
    policy.set("ModifyIndex", row.indexes.modify.0);
}
