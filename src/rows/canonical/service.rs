//! Defaults of a service and its checks.

use super::{Job, Object, default_text, empty_to_null, interpolate};

/// Canonicalizes a service of a task, or of a group where `task` is `None`.
pub(super) fn service(service: &mut Object, job: &Job, group: &str, task: Option<&str>) {
    empty_to_null(service, &["Tags", "CanaryTags", "Checks", "TaggedAddresses"]);
    let name = interpolate(service.text("Name"), &job.name, group, task).into_owned();
    service.set("Name", name.clone());
    if let Some(task) = task {
        default_text(service, "TaskName", task.to_owned());
    }
    default_text(service, "Provider", "consul");
    if service.text("Provider") == "nomad" {
        service.set("Namespace", job.namespace.clone());
    } else {
        default_text(service, "Namespace", "default");
    }
    for check in service.objects_mut("Checks") {
        empty_to_null(check, &["Args", "Header"]);
        default_text(check, "Name", format!("service: {name:?} check"));
        default_text(check, "OnUpdate", "require_healthy");
        if let Some(task) = task {
            default_text(check, "TaskName", task.to_owned());
        }
    }
}
