//! Where two states disagree in what statuses and counts depend on: jobs, summaries, evaluations,
//! allocations. What a clock or a scheduler run decided is not compared (contract.md 3,
//! `snapshot_mismatch`).

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use super::row::{Alloc, Eval, GroupSummary, Job, Summary};
use super::state::State;
use crate::types::JobKey;

/// One row on which two states disagree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The table, as `state` prints it.
    pub table: &'static str,
    /// The row: `namespace/id` of a job, else the ID.
    pub row: String,
    /// What the first state holds; `None` where the row is not there.
    pub ours: Option<String>,
    /// What the second state holds.
    pub theirs: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |side: &Option<String>| side.clone().unwrap_or_else(|| "no row".into());
        write!(f, "{} {}: {} here, {} there", self.table, self.row, side(&self.ours), side(&self.theirs))
    }
}

/// Every difference, jobs and summaries first, each table in order.
pub fn differences(ours: &State, theirs: &State) -> Vec<Difference> {
    let mut out = Vec::new();
    let keys = |state: &State| -> BTreeSet<JobKey> {
        state.jobs().map(|job| job.key.clone()).chain(state.summaries().map(|(key, _)| key.clone())).collect()
    };
    let all: BTreeSet<JobKey> = keys(ours).into_iter().chain(keys(theirs)).collect();
    for key in &all {
        let job = |state: &State| state.job(key).map(|job| job_text(job));
        note(&mut out, "Jobs", key, job(ours), job(theirs));
        let (a, b) = (ours.summary(key), theirs.summary(key));
        if !same_summary(a.map(|s| &**s), b.map(|s| &**s)) {
            let text = |s: Option<&Arc<Summary>>| s.map(|s| summary_text(s));
            note(&mut out, "JobSummaries", key, text(a), text(b));
        }
    }
    let evals: BTreeSet<_> = ours.evals().chain(theirs.evals()).map(|eval| &eval.id).collect();
    for id in evals {
        let eval = |state: &State| state.eval(id).map(|eval| eval_text(eval));
        note(&mut out, "Evals", id, eval(ours), eval(theirs));
    }
    let allocs: BTreeSet<_> = ours.allocs().chain(theirs.allocs()).map(|alloc| &alloc.id).collect();
    for id in allocs {
        let alloc = |state: &State| state.alloc(id).map(|alloc| alloc_text(alloc));
        note(&mut out, "Allocs", id, alloc(ours), alloc(theirs));
    }
    out
}

fn note(
    out: &mut Vec<Difference>,
    table: &'static str,
    row: &dyn fmt::Display,
    ours: Option<String>,
    theirs: Option<String>,
) {
    if ours != theirs {
        out.push(Difference { table, row: row.to_string(), ours, theirs });
    }
}

fn job_text(job: &Job) -> String {
    let stop = if job.stop { ", stopped" } else { "" };
    format!("version {} {}{stop}", job.version, job.status)
}

fn eval_text(eval: &Eval) -> String {
    eval.status.to_string()
}

fn alloc_text(alloc: &Alloc) -> String {
    format!("{}/{}", alloc.desired_status, alloc.client_status)
}

/// A `Queued` that no replay can know fits any other.
fn same_summary(a: Option<&Summary>, b: Option<&Summary>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return a.is_none() && b.is_none() };
    let same_group = |x: &GroupSummary, y: &GroupSummary| match (x.queued, y.queued) {
        (Some(_), Some(_)) => x == y,
        _ => GroupSummary { queued: None, ..*x } == GroupSummary { queued: None, ..*y },
    };
    a.children == b.children
        && a.groups.len() == b.groups.len()
        && a.groups.iter().zip(&b.groups).all(|((n, x), (m, y))| n == m && same_group(x, y))
}

fn summary_text(summary: &Summary) -> String {
    let children =
        summary.children.map_or("no children".into(), |c| format!("{{{},{},{}}}", c.pending, c.running, c.dead));
    let groups = summary.groups.iter().map(|(name, g)| {
        let queued = g.queued.map_or("?".into(), |n| n.to_string());
        format!(
            " {name}[queued {queued} starting {} running {} complete {} failed {} lost {} unknown {}]",
            g.starting, g.running, g.complete, g.failed, g.lost, g.unknown
        )
    });
    std::iter::once(children).chain(groups).collect()
}
