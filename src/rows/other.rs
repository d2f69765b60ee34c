//! Rows of the tables that Nomad's tool does not print: as they were carried, with what the FSM decided.

use super::acl::{as_carried, plain, set_indexes};
use super::bodies::{Bodies, RowError, field, object};
use super::job::text;
use super::value::{Object, Value};
use crate::fsm::table::{HostVolume, Plain, Quota, RowKey, Scheduler, Submission, Variable, VolumeClaim};

/// A variable, encrypted as it is.
///
/// # Errors
/// When a body cannot be read again; so for all rows of this room.
pub fn variable(row: &Variable, bodies: &dyn Bodies) -> Result<Object, RowError> {
    let mut variable = object(bodies, "VariableEncrypted", row.origin)?;
    if row.created != row.origin {
        variable.set("CreateTime", field(bodies, "VariableEncrypted", "CreateTime", row.created)?);
    }
    let lock = row.lock.map(|origin| field(bodies, "VariableEncrypted", "Lock", origin)).transpose()?;
    variable.set("Lock", lock.unwrap_or(Value::Null));
    set_indexes(&mut variable, row.indexes);
    Ok(variable)
}

/// The scheduler configuration, with the default that the FSM fills in.
///
/// # Errors
/// As [`variable`].
pub fn scheduler(row: &Scheduler, bodies: &dyn Bodies) -> Result<Object, RowError> {
    let mut config = plain(row.origin, row.indexes, bodies)?;
    if config.text("SchedulerAlgorithm").is_empty() {
        config.set("SchedulerAlgorithm", text("binpack"));
    }
    Ok(config)
}

/// A namespace's use of variables.
pub fn quota(key: &RowKey, row: &Quota) -> Object {
    let mut out = Object::with_capacity(4);
    out.set("Namespace", text(&key.id));
    out.set("Size", row.size);
    set_indexes(&mut out, row.indexes);
    out
}

/// A job restart of the early design: what its entry says, without what only a request has.
///
/// # Errors
/// As [`variable`].
pub fn job_restart(row: &Plain, bodies: &dyn Bodies) -> Result<Object, RowError> {
    let carried = as_carried(row.origin, bodies)?;
    let keys =
        ["ID", "Namespace", "JobID", "BatchSize", "BatchWait", "Status", "RestartedAllocs", "StartedAt", "UpdatedAt"];
    let mut out = Object::with_capacity(keys.len() + 2);
    for key in keys {
        out.set(key, carried.get(key).cloned().unwrap_or(Value::Null));
    }
    set_indexes(&mut out, row.indexes);
    Ok(out)
}

/// A dynamic host volume.
///
/// # Errors
/// As [`variable`].
pub fn host_volume(row: &HostVolume, bodies: &dyn Bodies) -> Result<Object, RowError> {
    let mut volume = plain(row.origin, row.indexes, bodies)?;
    volume.set("NodePool", text(&row.node_pool));
    volume.set("State", text(row.state.as_str()));
    if row.created != row.origin {
        let first = as_carried(row.created, bodies)?;
        volume.set("CreateTime", first.get("CreateTime").cloned().unwrap_or(Value::Int(0)));
    }
    Ok(volume)
}

/// A task group's claim of a host volume; its ID is null, since servers make it by chance.
pub fn volume_claim(key: &RowKey, row: &VolumeClaim) -> Object {
    let mut out = Object::with_capacity(9);
    out.set("ID", Value::Null);
    out.set("Namespace", text(&key.namespace));
    out.set("JobID", text(&row.job_id));
    out.set("TaskGroupName", text(&row.task_group));
    out.set("AllocID", row.alloc_id.to_string());
    out.set("VolumeID", text(&row.volume_id));
    out.set("VolumeName", text(&row.volume_name));
    set_indexes(&mut out, row.indexes);
    out
}

/// The submitted source of one version of a job.
///
/// # Errors
/// As [`variable`].
pub fn submission(key: &RowKey, row: &Submission, bodies: &dyn Bodies) -> Result<Object, RowError> {
    let mut submission = as_carried(row.origin, bodies)?;
    submission.set("Namespace", text(&key.namespace));
    submission.set("JobID", text(&key.id));
    submission.set("Version", row.version);
    submission.set("JobModifyIndex", row.job_modify_index.0);
    Ok(submission)
}
