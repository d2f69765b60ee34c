//! Defaults of a task.

use super::{Job, Object, SECOND, Value, default_object, default_text, empty_to_null, filled, network, service, upper};

/// The identity that every task has, and its audience.
const IDENTITY: &str = "default";
const AUDIENCE: &str = "nomadproject.io";

/// Canonicalizes one task of `group`, whose restart policy a task without one takes over.
pub(super) fn task(task: &mut Object, job: &Job, group: &str, restart: &Value) {
    empty_to_null(task, &["Meta", "Config", "Env", "Constraints", "Affinities", "VolumeMounts"]);
    default_object(task, "Resources", || {
        filled("Resources", [("CPU", Value::Int(100)), ("MemoryMB", Value::Int(300))])
    });
    if let Some(resources) = task.object_mut("Resources") {
        empty_to_null(resources, &["Networks", "Devices"]);
        for one in resources.objects_mut("Networks") {
            network::network(one);
        }
        if let Some(numa) = resources.object_mut("NUMA") {
            default_text(numa, "Affinity", "none");
        }
    }
    if task.get("RestartPolicy").is_none_or(Value::is_null) {
        task.set("RestartPolicy", restart.clone());
    }
    if task.int("KillTimeout") == 0 {
        task.set("KillTimeout", 5 * SECOND);
    }
    if let Some(vault) = task.object_mut("Vault") {
        upper(vault, "ChangeSignal");
        default_text(vault, "ChangeMode", "restart");
    }
    for template in task.objects_mut("Templates") {
        upper(template, "ChangeSignal");
    }
    identity(task);
    let name = task.text("Name").to_owned();
    for one in task.objects_mut("Services") {
        service::service(one, job, group, Some(&name));
    }
}

/// The default identity, which may stand in the list of the others.
fn identity(task: &mut Object) {
    if let Some(Value::List(others)) = task.get_mut("Identities") {
        let is_default = |v: &Value| v.object().is_some_and(|o| o.text("Name") == IDENTITY);
        if let Some(at) = others.iter().position(is_default) {
            let moved = others.remove(at);
            if others.is_empty() {
                task.set("Identities", Value::Null);
            }
            task.set("Identity", moved);
        }
    }
    default_object(task, "Identity", || filled("WorkloadIdentity", []));
    if let Some(identity) = task.object_mut("Identity") {
        default_text(identity, "Name", IDENTITY);
        if identity.text("Name") == IDENTITY {
            identity.set("Audience", Value::List(vec![Value::from(AUDIENCE)]));
        }
    }
}
