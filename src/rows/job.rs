//! Rows of Jobs, JobVersions, JobSummaries and PeriodicLaunches (state-rows.md 3).

use std::borrow::Cow;

use super::bodies::{Bodies, RowError, object};
use super::canonical;
use super::scaling;
use super::value::{Object, Value};
use crate::entry::json::text as json;
use crate::fsm::row::{self, Children, GroupSummary, Launch, Summary};
use crate::types::JobKey;

/// A job, or one version of it.
///
/// # Errors
/// When a body cannot be read again.
pub fn job(row: &row::Job, bodies: &dyn Bodies) -> Result<Object, RowError> {
    let mut job = object(bodies, "Job", row.origin)?;
    if row.canonical {
        canonical::job(&mut job);
    }
    job.set("Stop", row.stop);
    job.set("NodePool", text(&row.node_pool));
    job.set("Status", text(row.status.as_str()));
    job.set("Stable", row.stable);
    job.set("Version", row.version);
    if let Some(time) = row.submit_time {
        job.set("SubmitTime", time);
    }
    job.set("CreateIndex", row.indexes.create.0);
    job.set("ModifyIndex", row.indexes.modify.0);
    job.set("JobModifyIndex", row.job_modify_index.0);
    let tag = row.tag.as_ref().map(|tag| object(bodies, "JobVersionTag", tag.origin)).transpose()?;
    job.set("VersionTag", tag);
    for (group, known) in job.objects_mut("TaskGroups").zip(row.groups.iter()) {
        // A register may take the counts over from the job before it (PreserveCounts).
        group.set("Count", known.count);
        if let (Some(policy), Some(known)) = (group.object_mut("Scaling"), known.scaling()) {
            scaling::overlay(policy, known);
        }
    }
    if let Some(from) = &row.resources_from {
        preserve_resources(&mut job, from, bodies)?;
    }
    Ok(job)
}

/// The resources of each task are those of the task with the same name in the job before it (1.11.0 and newer).
fn preserve_resources(job: &mut Object, from: &row::Job, bodies: &dyn Bodies) -> Result<(), RowError> {
    // Each row of a chain of such registers took its resources from the one before: the first one has them.
    let mut chain = vec![from];
    while let Some(next) = chain.last().and_then(|row| row.resources_from.as_deref()) {
        chain.push(next);
    }
    for row in chain.into_iter().rev() {
        let mut before = object(bodies, "Job", row.origin)?;
        if row.canonical {
            canonical::job(&mut before);
        }
        for group in job.objects_mut("TaskGroups") {
            let name = group.text("Name").to_owned();
            let Some(old) = before.objects_mut("TaskGroups").find(|g| g.text("Name") == name) else { continue };
            for task in group.objects_mut("Tasks") {
                let name = task.text("Name").to_owned();
                let Some(old) = old.objects_mut("Tasks").find(|t| t.text("Name") == name) else { continue };
                if let Some(resources) = old.get("Resources") {
                    task.insert(Cow::Borrowed("Resources"), resources.clone());
                }
            }
        }
    }
    Ok(())
}

/// A job's summary. `Queued` is null where no replay can tell it (state-rows.md 9).
pub fn summary(key: &JobKey, row: &Summary) -> Object {
    let mut groups = Object::with_capacity(row.groups.len());
    for (name, numbers) in &row.groups {
        groups.push(Cow::Owned((**name).to_owned()), Value::from(group_summary(numbers)));
    }
    let children = row.children.map(|c| {
        let mut children = Object::with_capacity(3);
        children.set("Pending", c.pending);
        children.set("Running", c.running);
        children.set("Dead", c.dead);
        children
    });
    let mut out = Object::with_capacity(6);
    out.set("JobID", text(&key.id));
    out.set("Namespace", text(&key.namespace));
    out.set("Summary", groups);
    out.set("Children", children);
    out.set("CreateIndex", row.indexes.create.0);
    out.set("ModifyIndex", row.indexes.modify.0);
    out
}

/// Appends what [`summary`] builds, as JSON; there is no secret in it.
pub(super) fn write_summary(key: &JobKey, row: &Summary, out: &mut Vec<u8>) {
    let field = |name: &str, value: Option<i64>, out: &mut Vec<u8>| {
        out.extend_from_slice(name.as_bytes());
        match value {
            Some(n) => json::integer(out, n),
            None => out.extend_from_slice(b"null"),
        }
    };
    out.extend_from_slice(b"{\"JobID\":");
    json::string(out, &key.id);
    out.extend_from_slice(b",\"Namespace\":");
    json::string(out, &key.namespace);
    out.extend_from_slice(b",\"Summary\":{");
    for (at, (name, numbers)) in row.groups.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        json::string(out, name);
        let GroupSummary { queued, complete, failed, running, starting, lost, unknown } = *numbers;
        field(":{\"Queued\":", queued, out);
        field(",\"Complete\":", Some(complete), out);
        field(",\"Failed\":", Some(failed), out);
        field(",\"Running\":", Some(running), out);
        field(",\"Starting\":", Some(starting), out);
        field(",\"Lost\":", Some(lost), out);
        field(",\"Unknown\":", Some(unknown), out);
        out.push(b'}');
    }
    match row.children {
        Some(Children { pending, running, dead }) => {
            field("},\"Children\":{\"Pending\":", Some(pending), out);
            field(",\"Running\":", Some(running), out);
            field(",\"Dead\":", Some(dead), out);
            out.push(b'}');
        }
        None => out.extend_from_slice(b"},\"Children\":null"),
    }
    out.extend_from_slice(b",\"CreateIndex\":");
    json::unsigned(out, row.indexes.create.0);
    out.extend_from_slice(b",\"ModifyIndex\":");
    json::unsigned(out, row.indexes.modify.0);
    out.push(b'}');
}

fn group_summary(numbers: &GroupSummary) -> Object {
    let mut out = Object::with_capacity(7);
    out.set("Queued", numbers.queued);
    out.set("Complete", numbers.complete);
    out.set("Failed", numbers.failed);
    out.set("Running", numbers.running);
    out.set("Starting", numbers.starting);
    out.set("Lost", numbers.lost);
    out.set("Unknown", numbers.unknown);
    out
}

/// A periodic job's last launch, null where only the server's clock knew it (state-rows.md 9).
pub fn launch(key: &JobKey, row: &Launch) -> Object {
    let mut out = Object::with_capacity(5);
    out.set("ID", text(&key.id));
    out.set("Namespace", text(&key.namespace));
    out.set("Launch", row.launch.map(|time| time.to_string()));
    out.set("CreateIndex", row.indexes.create.0);
    out.set("ModifyIndex", row.indexes.modify.0);
    out
}

/// Text that a row holds, as a value of its own.
pub(super) fn text(text: &str) -> Value {
    Value::Text(Cow::Owned(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::fsm::row::Indexes;
    use crate::redact::{Place, Redactor};
    use crate::types::Index;

    #[test]
    fn a_summary_is_written_as_it_is_built() {
        let key = JobKey::new("default", "a \"job\"");
        let numbers = GroupSummary { complete: 12, running: -1, ..GroupSummary::default() };
        let counts = Children { pending: 0, running: -3, dead: 7 };
        let indexes = Indexes { create: Index(5), modify: Index(u64::MAX) };
        for names in [&[][..], &["web"], &["db", "web"], &["Summary", "Children"], &["Env"], &["web", "GetterSource"]] {
            for (queued, children) in [(Some(2), Some(counts)), (None, None)] {
                let numbers = GroupSummary { queued, ..numbers };
                let groups = names.iter().map(|name| (Arc::from(*name), numbers)).collect();
                let row = Summary { groups, children, indexes };
                let (mut built, mut written) = (Vec::new(), Vec::new());
                Value::from(summary(&key, &row)).write(Place::ROW, &mut Redactor::hiding(), &mut built);
                write_summary(&key, &row, &mut written);
                assert_eq!(String::from_utf8(written).unwrap(), String::from_utf8(built).unwrap());
            }
        }
    }
}
