//! Rows of Evals and Deployments (state-rows.md 4.1, 4.8 to 4.10).

use std::borrow::Cow;

use super::bodies::{Bodies, RowError, object};
use super::job::text;
use super::value::{Object, Value};
use crate::fsm::row::{Deployment, DeploymentGroup, Eval};

/// An evaluation.
///
/// # Errors
/// When its body cannot be read again.
pub fn eval(row: &Eval, bodies: &dyn Bodies) -> Result<Object, RowError> {
    let mut eval = object(bodies, "Evaluation", row.origin)?;
    eval.set("Status", text(row.status.as_str()));
    if let Some(description) = &row.description {
        eval.set("StatusDescription", text(description));
    }
    if let Some(index) = row.job_modify_index {
        eval.set("JobModifyIndex", index.0);
    }
    if let Some(time) = row.modify_time {
        eval.set("ModifyTime", time);
    }
    eval.set("DeploymentID", row.deployment_id.to_string());
    eval.set("RelatedEvals", Value::Null);
    eval.set("CreateIndex", row.indexes.create.0);
    eval.set("ModifyIndex", row.indexes.modify.0);
    Ok(eval)
}

/// A deployment. `RequireProgressBy` is null where only the server's clock knew it (state-rows.md 9).
///
/// # Errors
/// When a body cannot be read again.
pub fn deployment(row: &Deployment, bodies: &dyn Bodies) -> Result<Object, RowError> {
    let mut deployment = object(bodies, "Deployment", row.origin)?;
    deployment.set("JobVersion", row.job_version);
    deployment.set("JobModifyIndex", row.job_modify_index);
    deployment.set("JobSpecModifyIndex", row.job_spec_modify_index);
    deployment.set("JobCreateIndex", row.job_create_index);
    if !row.groups.is_empty() {
        let mut groups = Object::with_capacity(row.groups.len());
        for (name, group) in &row.groups {
            groups.push(Cow::Owned((**name).to_owned()), Value::from(progress(group, bodies)?));
        }
        deployment.set("TaskGroups", groups);
    }
    deployment.set("Status", text(row.status.as_str()));
    deployment.set("StatusDescription", text(&row.description));
    deployment.set("CreateIndex", row.indexes.create.0);
    deployment.set("ModifyIndex", row.indexes.modify.0);
    deployment.set("ModifyTime", row.modify_time);
    Ok(deployment)
}

fn progress(row: &DeploymentGroup, bodies: &dyn Bodies) -> Result<Object, RowError> {
    let mut group = object(bodies, "DeploymentState", row.origin)?;
    group.set("ProgressDeadline", row.progress_deadline);
    group.set("RequireProgressBy", row.require_progress_by.map(|time| time.to_string()));
    group.set("Promoted", row.promoted);
    let canaries = row.placed_canaries.as_ref();
    let canaries = canaries.map(|ids| Value::List(ids.iter().map(|id| Value::from(id.to_string())).collect()));
    group.set("PlacedCanaries", canaries);
    group.set("DesiredCanaries", row.desired_canaries);
    group.set("PlacedAllocs", row.placed);
    group.set("HealthyAllocs", row.healthy);
    group.set("UnhealthyAllocs", row.unhealthy);
    Ok(group)
}
