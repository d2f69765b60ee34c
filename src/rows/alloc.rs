//! Rows of Allocs (state-rows.md 4.2 to 4.7).

use std::borrow::Cow;

use super::bodies::{Bodies, RowError, field, list, object};
use super::canonical;
use super::job::text;
use super::shape::shape;
use super::value::{Object, Value};
use crate::fsm::row::{Alloc, AllocJob, Health, Source, Transition};

/// An allocation.
///
/// # Errors
/// When a body cannot be read again.
pub fn alloc(row: &Alloc, bodies: &dyn Bodies) -> Result<Object, RowError> {
    let mut alloc = object(bodies, "Allocation", row.origin)?;
    let job = row.job.as_ref().map(|job| job_of(job, bodies)).transpose()?;
    alloc.set("Job", job);
    if alloc.get("Resources").is_none_or(Value::is_null) {
        let sum = resources(&alloc);
        alloc.set("Resources", sum);
    }
    alloc.set("DesiredStatus", text(row.desired_status.as_str()));
    alloc.set("DesiredDescription", text(&row.desired_description));
    alloc.set("DesiredTransition", transition(row.transition));
    alloc.set("ClientStatus", text(row.client_status.as_str()));
    alloc.set("ClientDescription", text(&row.client_description));
    let states = row.task_states.map(|origin| field(bodies, "Allocation", "TaskStates", origin)).transpose()?;
    alloc.set("TaskStates", states);
    let states = row.states.map(|origin| list(bodies, "AllocState", origin)).transpose()?;
    alloc.set("AllocStates", states);
    alloc.set("NetworkStatus", field(bodies, "Allocation", "NetworkStatus", row.network_status)?);
    alloc.set("PreviousAllocation", row.previous.to_string());
    alloc.set("NextAllocation", row.next.to_string());
    alloc.set("DeploymentID", row.deployment_id.to_string());
    alloc.set("DeploymentStatus", row.health.map(health));
    alloc.set("FollowupEvalID", row.followup_eval.to_string());
    alloc.set("PreemptedByAllocation", row.preempted_by.to_string());
    alloc.set("CreateIndex", row.indexes.create.0);
    alloc.set("ModifyIndex", row.indexes.modify.0);
    alloc.set("AllocModifyIndex", row.alloc_modify_index.0);
    alloc.set("ModifyTime", row.modify_time);
    Ok(alloc)
}

/// The job as the plan carried it. Those in a snapshot get the FSM's defaults when it is restored (state-rows.md 7).
fn job_of(row: &AllocJob, bodies: &dyn Bodies) -> Result<Object, RowError> {
    let mut job = object(bodies, "Job", row.origin)?;
    if matches!(row.origin.source, Source::Snapshot(_)) {
        canonical::job(&mut job);
    }
    Ok(job)
}

fn transition(row: Transition) -> Object {
    let mut out = Object::with_capacity(5);
    out.set("Migrate", row.migrate);
    out.set("Reschedule", row.reschedule);
    out.set("ForceReschedule", row.force_reschedule);
    out.set("NoShutdownDelay", row.no_shutdown_delay);
    out.set("MigrateDisablePlacement", row.migrate_disable_placement);
    out
}

fn health(row: Health) -> Object {
    let mut out = Object::with_capacity(4);
    out.set("Healthy", row.healthy);
    out.set("Timestamp", row.timestamp.to_string());
    out.set("Canary", row.canary);
    out.set("ModifyIndex", row.modify_index.0);
    out
}

/// What the allocation uses in all, which the FSM adds up where the entry does not say (state-rows.md 4.5).
fn resources(alloc: &Object) -> Object {
    let mut sum = shape("Resources").map(|s| s.zero()).unwrap_or_default();
    let tasks = alloc.get("TaskResources").and_then(Value::object);
    let parts = tasks.into_iter().flat_map(Object::iter).map(|(_, part)| part);
    for part in parts.chain(alloc.get("SharedResources")).filter_map(Value::object) {
        for key in ["CPU", "Cores", "MemoryMB", "DiskMB", "SecretsMB"] {
            add(&mut sum, key, part.int(key));
        }
        let max = part.int("MemoryMaxMB");
        add(&mut sum, "MemoryMaxMB", if max > 0 { max } else { part.int("MemoryMB") });
        merge(&mut sum, part, "Networks", "Device", &["ReservedPorts", "DynamicPorts"], "MBits");
        merge(&mut sum, part, "Devices", "Name", &[], "Count");
    }
    for device in allocated_devices(alloc) {
        push(&mut sum, "Devices", device);
    }
    sum
}

fn add(sum: &mut Object, key: &'static str, n: i64) {
    let total = sum.int(key).saturating_add(n);
    sum.set(key, total);
}

fn push(sum: &mut Object, key: &'static str, item: Value) {
    match sum.get_mut(key) {
        Some(Value::List(items)) => items.push(item),
        _ => sum.set(key, Value::List(vec![item])),
    }
}

/// Appends the items of a part's list to the sum's: one with the same `id` grows by `number`, and by the items of `lists`.
fn merge(sum: &mut Object, part: &Object, key: &'static str, id: &str, lists: &[&'static str], number: &'static str) {
    let Some(Value::List(items)) = part.get(key) else { return };
    for item in items {
        let Some(new) = item.object() else { continue };
        let known = sum.objects_mut(key).find(|known| known.text(id) == new.text(id));
        let Some(known) = known else {
            push(sum, key, item.clone());
            continue;
        };
        add(known, number, new.int(number));
        for list in lists {
            let Some(Value::List(more)) = new.get(list) else { continue };
            for one in more {
                push(known, list, one.clone());
            }
        }
    }
}

/// One element for each device that the allocation was given: `vendor/type/name` and how many of it.
fn allocated_devices(alloc: &Object) -> Vec<Value> {
    let tasks = alloc.get("AllocatedResources").and_then(Value::object).and_then(|a| a.get("Tasks"));
    let tasks = tasks.and_then(Value::object);
    let mut out = Vec::new();
    for task in tasks.into_iter().flat_map(Object::iter).filter_map(|(_, task)| task.object()) {
        let Some(Value::List(devices)) = task.get("Devices") else { continue };
        for device in devices.iter().filter_map(Value::object) {
            let count = match device.get("DeviceIDs") {
                Some(Value::List(ids)) => ids.len() as i64,
                _ => 0,
            };
            let name = format!("{}/{}/{}", device.text("Vendor"), device.text("Type"), device.text("Name"));
            let mut one = shape("RequestedDevice").map(|s| s.zero()).unwrap_or_default();
            one.insert(Cow::Borrowed("Name"), Value::from(name));
            one.set("Count", count);
            out.push(Value::from(one));
        }
    }
    out
}
