//! What `nomad job restart` would do to the state after an entry, and the same as entries of the early
//! design. Nothing is sent to any cluster.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::clock::SECOND;
use super::json::{Seconds, rfc3339};
use super::threshold::Amount;
use super::watch::is_eligible;
use super::{Kind, Moment};
use crate::entry::body::restart::NAME;
use crate::fsm::row::Alloc;
use crate::fsm::state::State;
use crate::types::{Index, JobKey, Term};

/// What is asked for, as the options of `nomad job restart` say it.
#[derive(Clone, Debug)]
pub struct Request {
    /// The job.
    pub job: JobKey,
    /// Only this task group.
    pub group: Option<String>,
    /// How many allocations together: a number, or a part of those to be restarted.
    pub batch_size: Amount,
    /// The wait between batches, nanoseconds.
    pub batch_wait: i64,
    /// Stop and replace them instead of restarting their tasks.
    pub reschedule: bool,
}

/// An allocation that would be left alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// The allocation.
    pub alloc: String,
    /// Its task group.
    pub group: Arc<str>,
    /// Why.
    pub reason: String,
}

/// What would be done.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// The job's namespace.
    pub namespace: Arc<str>,
    /// The job.
    pub job: Arc<str>,
    /// The group that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// `in_place` or `reschedule`.
    pub kind: &'static str,
    /// The state is that after this entry.
    pub index: Index,
    /// Allocations in a batch.
    pub batch_size: i64,
    /// The wait between batches.
    pub batch_wait_s: Seconds,
    /// Why nothing would be done at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Allocation IDs, batch by batch.
    pub batches: Vec<Vec<String>>,
    /// The task groups of those allocations, in the same order.
    #[serde(skip)]
    pub groups: Vec<Vec<Arc<str>>>,
    /// What would be left alone.
    pub skipped: Vec<Skipped>,
    /// How many the groups want.
    pub count: i64,
    /// How many of them run.
    pub running: i64,
    /// The fewest to expect while it goes on.
    pub lowest_running: i64,
    /// What may come otherwise, a sentence each.
    pub notes: Vec<String>,
}

/// What a plan cannot be made of.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The job is not there.
    #[error("there is no job {0} in the state after entry {1}")]
    NoJob(JobKey, Index),
    /// The job has no such group.
    #[error("job {job} has no task group {group:?}; there are {there}")]
    NoGroup {
        /// The job.
        job: JobKey,
        /// The group that was asked for.
        group: String,
        /// Those there are.
        there: String,
    },
    /// There are not so many batches.
    #[error("the plan has {batches} batches; {option} {asked} lies behind the last")]
    NoBatch {
        /// The option.
        option: &'static str,
        /// The batch that was asked for.
        asked: usize,
        /// How many there are.
        batches: usize,
    },
}

/// The plan on the state after `index`.
///
/// # Errors
/// When the job or its group is not there.
pub fn plan(state: &State, index: Index, request: &Request) -> Result<Plan, PlanError> {
    let job = state.job(&request.job).ok_or_else(|| PlanError::NoJob(request.job.clone(), index))?;
    if let Some(group) = &request.group
        && !job.groups.iter().any(|g| *g.name == **group)
    {
        let there = job.groups.iter().map(|g| g.name.to_string()).collect::<Vec<_>>().join(", ");
        return Err(PlanError::NoGroup { job: request.job.clone(), group: group.clone(), there });
    }
    let refused = refused(state, request, job.kind.as_str());
    let mut allocs: Vec<&Arc<Alloc>> = state.allocs_of(&request.job).collect();
    // The command goes through them as the server lists them.
    allocs.sort_by(|a, b| a.id.cmp(&b.id));
    let (mut taken, mut skipped) = (Vec::new(), Vec::new());
    for alloc in &allocs {
        match reason(alloc, request).or_else(|| refused.clone()) {
            None => taken.push(alloc),
            Some(reason) => {
                skipped.push(Skipped { alloc: alloc.id.to_string(), group: alloc.task_group.clone(), reason });
            }
        }
    }
    let total = i64::try_from(taken.len()).unwrap_or(i64::MAX);
    let batch_size = request.batch_size.of(total).max(1);
    let size = usize::try_from(batch_size).unwrap_or(usize::MAX);
    let batches: Vec<Vec<String>> = taken.chunks(size).map(|c| c.iter().map(|a| a.id.to_string()).collect()).collect();
    let groups: BTreeSet<&str> = match &request.group {
        Some(group) => [group.as_str()].into(),
        None => job.groups.iter().map(|g| &*g.name).collect(),
    };
    let running = allocs.iter().filter(|a| a.client_status == "running" && groups.contains(&*a.task_group)).count();
    let running = i64::try_from(running).unwrap_or(i64::MAX);
    let largest = batches.iter().map(Vec::len).max().unwrap_or(0);
    Ok(Plan {
        namespace: request.job.namespace.clone(),
        job: request.job.id.clone(),
        group: request.group.clone(),
        kind: if request.reschedule { Kind::Reschedule.name() } else { Kind::InPlace.name() },
        index,
        batch_size,
        batch_wait_s: Seconds(request.batch_wait),
        refused,
        count: job.groups.iter().filter(|g| groups.contains(&*g.name)).map(|g| g.count).sum(),
        running,
        lowest_running: running.saturating_sub(i64::try_from(largest).unwrap_or(i64::MAX)),
        notes: notes(request, batches.len()),
        groups: taken.chunks(size).map(|c| c.iter().map(|a| a.task_group.clone()).collect()).collect(),
        batches,
        skipped,
    })
}

/// Why the command would do nothing at all.
fn refused(state: &State, request: &Request, kind: &str) -> Option<String> {
    if let Some(active) = state.deployments_of(&request.job).find(|d| d.is_active()) {
        return Some(format!("an active deployment forbids it: {}, {}", active.id, active.status));
    }
    (request.reschedule && kind == "sysbatch").then(|| "allocations of a sysbatch job are not rescheduled".into())
}

/// Why an allocation would be left alone.
fn reason(alloc: &Alloc, request: &Request) -> Option<String> {
    if request.group.as_ref().is_some_and(|group| *alloc.task_group != **group) {
        return Some(format!("it is of group {}", alloc.task_group));
    }
    if !alloc.next.is_empty() {
        return Some(format!("already replaced by {}", alloc.next));
    }
    if alloc.is_client_terminal() {
        return Some(format!("terminal: {}", alloc.client_status));
    }
    if alloc.is_server_terminal() {
        return Some(format!("terminal: it is to {}", alloc.desired_status));
    }
    (!is_eligible(alloc)).then(|| format!("not running: {}", alloc.client_status))
}

fn notes(request: &Request, batches: usize) -> Vec<String> {
    let mut notes = Vec::new();
    if batches > 1 && !request.reschedule && request.batch_wait < SECOND {
        notes.push(
            "the command goes on when the old tasks have ended: without a longer wait the next batch begins before this \
             one runs again, and fewer may run"
                .into(),
        );
    }
    if batches > 1 {
        notes.push("it waits for allocations to run and not to be healthy".into());
    }
    notes
}

/// How a planned restart is to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// After the last batch.
    #[default]
    Complete,
    /// Cancelled after so many batches.
    CancelAfter(usize),
    /// Paused after so many batches, and left so.
    PauseAfter(usize),
}

/// Where the entries of a plan are to stand.
#[derive(Clone, Copy, Debug)]
pub struct Behind {
    /// The last entry of the log.
    pub last: Index,
    /// Its term.
    pub term: Term,
    /// The moment that the state was at.
    pub now: Moment,
}

/// The plan as entries of the early design, as `logs` prints them: one when the restart begins, one
/// for each batch, one at its end.
///
/// # Errors
/// When the plan has not so many batches as `end` asks for.
pub fn entries(plan: &Plan, end: End, behind: Behind) -> Result<Vec<Value>, PlanError> {
    let all = plan.batches.len();
    let (batches, last) = match end {
        End::Complete => (all, "complete"),
        End::CancelAfter(n) => (within("--cancel-after", n, all)?, "cancelled"),
        End::PauseAfter(n) => (within("--pause-after", n, all)?, "paused"),
    };
    let wait = plan.batch_wait_s.0;
    let at = |step: usize| {
        let steps = i64::try_from(step.saturating_sub(1)).unwrap_or(i64::MAX);
        behind.now.time.map(|now| now.saturating_add(wait.saturating_mul(steps)))
    };
    let mut states: Vec<(&str, usize, usize)> = vec![("running", 0, 0)];
    states.extend((1..=batches).map(|n| ("running", n, n)));
    states.push((last, batches, if last == "complete" { batches } else { batches + 1 }));
    let id = uuid(plan, end);
    let first = behind.last.next();
    let mut index = behind.last;
    let mut out = Vec::new();
    for (status, done, step) in states {
        let before = index;
        index = index.next();
        let restarted: Vec<&String> = plan.batches.iter().take(done).flatten().collect();
        let (create, modify) = if index == first { (0, 0) } else { (first.0, before.0) };
        let time = |nanos: Option<i64>| nanos.map_or_else(|| "0001-01-01T00:00:00Z".to_owned(), rfc3339);
        let mut entry = json!({
            "LogType": "LogCommand", "Term": behind.term, "Index": index, "CommandType": NAME,
        });
        if let Some(at) = at(step) {
            entry["AppendedAt"] = rfc3339(at).into();
        }
        entry["Body"] = json!({
            "AuthToken": "", "BatchSize": plan.batch_size, "BatchWait": wait_field(wait), "CreateIndex": create,
            "Forwarded": false, "ID": id, "IdempotencyToken": "", "JobID": plan.job, "ModifyIndex": modify,
            "Namespace": plan.namespace, "Region": "global",
            "RestartedAllocs": if restarted.is_empty() { Value::Null } else { json!(restarted) },
            "StartedAt": time(at(0)), "Status": status, "UpdatedAt": time(at(step)),
        });
        out.push(entry);
    }
    Ok(out)
}

fn within(option: &'static str, asked: usize, batches: usize) -> Result<usize, PlanError> {
    if asked > batches { Err(PlanError::NoBatch { option, asked, batches }) } else { Ok(asked) }
}

/// Whole seconds as the known entries have them; anything else as a Go duration.
fn wait_field(nanos: i64) -> i64 {
    if nanos % SECOND == 0 { nanos / SECOND } else { nanos }
}

/// A UUID made of what is planned, so that the same plan has the same one.
fn uuid(plan: &Plan, end: End) -> String {
    let text = serde_json::to_string(plan).unwrap_or_default();
    let hash = Sha256::digest(format!("{text} {end:?}"));
    let hex: String = hash.iter().take(16).map(|b| format!("{b:02x}")).collect();
    let parts = [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)];
    parts.map(|(from, to)| hex.get(from..to).unwrap_or_default()).join("-")
}
