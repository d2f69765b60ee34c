//! The defaults that the FSM itself fills in, on rows (state-rows.md 7).
//!
//! The leader has canonicalized a job before it writes it, so these show only for what older writers and clients left
//! out. They are the newest Nomad's, whatever the rules: a row has the newest shape (contract.md 3, state).

mod network;
mod node;
mod service;
mod task;

use std::borrow::Cow;

pub use node::node;

use super::shape::shape;
use super::value::{Object, Value};

/// Sets empty lists and maps under these keys to null.
fn empty_to_null(object: &mut Object, keys: &[&str]) {
    for key in keys {
        if let Some(value) = object.get_mut(key).filter(|v| v.is_empty()) {
            *value = Value::Null;
        }
    }
}

/// Sets text under `key` where it is empty.
fn default_text(object: &mut Object, key: &'static str, text: impl Into<Value>) {
    if object.text(key).is_empty() {
        object.set(key, text);
    }
}

/// Sets an object under `key` where it is null.
fn default_object(object: &mut Object, key: &'static str, make: impl FnOnce() -> Object) {
    if object.get(key).is_none_or(Value::is_null) {
        object.set(key, make());
    }
}

/// A struct of the table with some of its fields set.
fn filled<const N: usize>(name: &str, fields: [(&'static str, Value); N]) -> Object {
    let mut object = shape(name).map(|s| s.zero()).unwrap_or_default();
    for (key, value) in fields {
        object.set(key, value);
    }
    object
}

fn upper(object: &mut Object, key: &'static str) {
    let text = object.text(key);
    if text.chars().any(char::is_lowercase) {
        object.set(key, text.to_uppercase());
    }
}

const SECOND: i64 = 1_000_000_000;
const HOUR: i64 = 3600 * SECOND;
const DAY: i64 = 24 * HOUR;

/// What of a job its parts refer to.
struct Job {
    id: String,
    name: String,
    namespace: String,
    kind: String,
}

/// Canonicalizes the job of a register or of a snapshot.
pub fn job(job: &mut Object) {
    empty_to_null(job, &["Meta", "Constraints", "Affinities", "Spreads"]);
    default_text(job, "Namespace", "default");
    if job.get("Datacenters").is_none_or(|v| v.is_null() || v.is_empty()) {
        job.set("Datacenters", Value::List(vec![Value::from("*")]));
    }
    if let Some(parameterized) = job.object_mut("ParameterizedJob") {
        default_text(parameterized, "Payload", "optional");
    }
    if let Some(multiregion) = job.object_mut("Multiregion") {
        default_object(multiregion, "Strategy", || filled("MultiregionStrategy", []));
        if multiregion.get("Regions").is_none_or(Value::is_null) {
            multiregion.set("Regions", Value::List(Vec::new()));
        }
    }
    let text = |key| job.text(key).to_owned();
    let facts = Job { id: text("ID"), name: text("Name"), namespace: text("Namespace"), kind: text("Type") };
    for one in job.objects_mut("TaskGroups") {
        group(&facts, one);
    }
}

fn group(job: &Job, group: &mut Object) {
    empty_to_null(group, &["Meta", "Constraints", "Affinities", "Spreads"]);
    if let Some(policy) = restart_policy(&job.kind) {
        default_object(group, "RestartPolicy", || policy);
    }
    if let Some(policy) = reschedule_policy(&job.kind) {
        default_object(group, "ReschedulePolicy", || policy);
    }
    if job.kind == "service" {
        default_object(group, "Migrate", || {
            filled(
                "MigrateStrategy",
                [
                    ("MaxParallel", Value::Int(1)),
                    ("HealthCheck", Value::from("checks")),
                    ("MinHealthyTime", Value::Int(10 * SECOND)),
                    ("HealthyDeadline", Value::Int(300 * SECOND)),
                ],
            )
        });
    }
    default_object(group, "EphemeralDisk", || filled("EphemeralDisk", [("SizeMB", Value::Int(300))]));
    if let Some(disconnect) = group.object_mut("Disconnect") {
        if disconnect.get("Replace").is_none_or(Value::is_null) {
            disconnect.set("Replace", true);
        }
        default_text(disconnect, "Reconcile", "best_score");
    }
    let name = group.text("Name").to_owned();
    if let Some(scaling) = group.object_mut("Scaling") {
        default_text(scaling, "Type", "horizontal");
        let mut target = Object::default();
        target.set("Group", name.clone());
        target.set("Job", job.id.clone());
        target.set("Namespace", job.namespace.clone());
        scaling.set("Target", target);
    }
    for one in group.objects_mut("Networks") {
        network::network(one);
    }
    for one in group.objects_mut("Services") {
        service::service(one, job, &name, None);
    }
    let restart = group.get("RestartPolicy").cloned().unwrap_or(Value::Null);
    for one in group.objects_mut("Tasks") {
        task::task(one, job, &name, &restart);
    }
}

fn restart_policy(kind: &str) -> Option<Object> {
    let (attempts, interval) = match kind {
        "service" | "system" => (2, 1800 * SECOND),
        "batch" => (3, DAY),
        _ => return None,
    };
    Some(filled(
        "RestartPolicy",
        [
            ("Attempts", Value::Int(attempts)),
            ("Interval", Value::Int(interval)),
            ("Delay", Value::Int(15 * SECOND)),
            ("Mode", Value::from("fail")),
        ],
    ))
}

fn reschedule_policy(kind: &str) -> Option<Object> {
    let fields = match kind {
        "service" => [
            ("Attempts", Value::Int(0)),
            ("Interval", Value::Int(0)),
            ("Delay", Value::Int(30 * SECOND)),
            ("DelayFunction", Value::from("exponential")),
            ("MaxDelay", Value::Int(HOUR)),
            ("Unlimited", Value::Bool(true)),
        ],
        "batch" => [
            ("Attempts", Value::Int(1)),
            ("Interval", Value::Int(DAY)),
            ("Delay", Value::Int(5 * SECOND)),
            ("DelayFunction", Value::from("constant")),
            ("MaxDelay", Value::Int(0)),
            ("Unlimited", Value::Bool(false)),
        ],
        _ => return None,
    };
    Some(filled("ReschedulePolicy", fields))
}

/// Text with Nomad's variables for a job, a group and a task replaced; `BASE` is all three with dashes.
fn interpolate<'a>(text: &'a str, job: &str, group: &str, task: Option<&str>) -> Cow<'a, str> {
    if !text.contains("${") {
        return Cow::Borrowed(text);
    }
    let task = task.unwrap_or("group");
    let base = format!("{job}-{group}-{task}");
    let mut out = text.to_owned();
    for (name, value) in [("${JOB}", job), ("${TASKGROUP}", group), ("${TASK}", task), ("${BASE}", &base)] {
        out = out.replace(name, value);
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests;
