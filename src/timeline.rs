//! Every index at which a job's status or summary changed (contract.md 3, timeline).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use crate::fsm::id::Word;
use crate::fsm::row::{Children, GroupSummary, Job, Summary};
use crate::fsm::state::State;
use crate::replay::Replayed;
use crate::types::{Index, JobKey, Term};

/// What the timeline shows of a job: two of these are compared before and after each entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobView {
    /// The job's status.
    pub status: Word,
    /// The summary's children; `None` without a summary, or where it has none.
    pub children: Option<Children>,
    /// The summary's groups by name; `None` without a summary.
    pub groups: Option<Vec<(Arc<str>, GroupSummary)>>,
}

impl JobView {
    /// The view of a job and its summary; `None` where the job is not there.
    pub fn of(job: Option<&Job>, summary: Option<&Summary>) -> Option<Self> {
        Some(JobView {
            status: job?.status.clone(),
            children: summary.and_then(|s| s.children),
            groups: summary.map(|s| s.groups.clone()),
        })
    }
}

/// One row: a job as it is from an index on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineRow {
    /// The entry.
    pub index: Index,
    /// Its term.
    pub term: Term,
    /// The message type's name, or `snapshot` for rows of the base.
    pub entry: String,
    /// The job.
    pub job: JobKey,
    /// The job from then on; `None` where it is gone.
    pub view: Option<JobView>,
}

/// The jobs that an entry changed, in order of namespace and job, each with its view after it;
/// `None` where it is gone.
pub fn changed_jobs(entry: &Replayed<'_>) -> Vec<(JobKey, Option<JobView>)> {
    let mut touched: BTreeMap<&JobKey, Before<'_>> = BTreeMap::new();
    for row in &entry.net.jobs {
        touched.entry(row.key).or_default().job = Some(row.before.map(|j| &**j));
    }
    for row in &entry.net.summaries {
        touched.entry(row.key).or_default().summary = Some(row.before.map(|s| &**s));
    }
    let changed = touched.into_iter().filter_map(|(key, before)| {
        let job = entry.state.job(key).map(|j| &**j);
        let summary = entry.state.summary(key).map(|s| &**s);
        let after = JobView::of(job, summary);
        let before = JobView::of(before.job.unwrap_or(job), before.summary.unwrap_or(summary));
        (before != after).then(|| (key.clone(), after))
    });
    changed.collect()
}

/// The rows that an entry wrote, as they were before it; `None` outside for a row it left alone,
/// inside for one that was not there.
#[derive(Default)]
struct Before<'a> {
    job: Option<Option<&'a Job>>,
    summary: Option<Option<&'a Summary>>,
}

/// Every job of a state, in order of namespace and job, with its view.
pub fn all_jobs(state: &State) -> Vec<(JobKey, Option<JobView>)> {
    let mut rows: Vec<_> = state
        .jobs()
        .map(|job| (job.key.clone(), JobView::of(Some(job), state.summary(&job.key).map(|s| &**s))))
        .collect();
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    rows
}

/// The jobs on which two states disagree, in order, each with its view in the second; `None` where
/// it is not there.
pub fn differing_jobs(before: &State, after: &State) -> Vec<(JobKey, Option<JobView>)> {
    let (old, mut new): (BTreeMap<_, _>, BTreeMap<_, _>) =
        (all_jobs(before).into_iter().collect(), all_jobs(after).into_iter().collect());
    for (key, view) in &old {
        if new.get(key) == Some(view) {
            new.remove(key);
        } else {
            new.entry(key.clone()).or_insert(None);
        }
    }
    new.into_iter().collect()
}

impl Serialize for TimelineRow {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (namespace, job) = (&*self.job.namespace, &*self.job.id);
        let head = Head { index: self.index, term: self.term, entry: &self.entry, namespace, job };
        match &self.view {
            None => Gone { head, deleted: true }.serialize(serializer),
            Some(view) => There { head, view }.serialize(serializer),
        }
    }
}

#[derive(Serialize)]
struct Head<'a> {
    index: Index,
    term: Term,
    entry: &'a str,
    namespace: &'a str,
    job: &'a str,
}

#[derive(Serialize)]
struct Gone<'a> {
    #[serde(flatten)]
    head: Head<'a>,
    deleted: bool,
}

#[derive(Serialize)]
struct There<'a> {
    #[serde(flatten)]
    head: Head<'a>,
    #[serde(flatten)]
    view: &'a JobView,
}

impl Serialize for JobView {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let groups = self.groups.as_ref().map(|groups| groups.iter().map(group_json).collect());
        View { status: self.status.as_str(), children: self.children.map(ChildrenJson::from), groups }
            .serialize(serializer)
    }
}

#[derive(Serialize)]
struct View<'a> {
    status: &'a str,
    children: Option<ChildrenJson>,
    groups: Option<BTreeMap<&'a str, GroupJson>>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct ChildrenJson {
    pending: i64,
    running: i64,
    dead: i64,
}

impl From<Children> for ChildrenJson {
    fn from(c: Children) -> Self {
        ChildrenJson { pending: c.pending, running: c.running, dead: c.dead }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct GroupJson {
    queued: Option<i64>,
    complete: i64,
    failed: i64,
    running: i64,
    starting: i64,
    lost: i64,
    unknown: i64,
}

fn group_json((name, g): &(Arc<str>, GroupSummary)) -> (&str, GroupJson) {
    let json = GroupJson {
        queued: g.queued,
        complete: g.complete,
        failed: g.failed,
        running: g.running,
        starting: g.starting,
        lost: g.lost,
        unknown: g.unknown,
    };
    (name, json)
}
