//! The rows of the three tables of changes, and how each is inserted.

use std::sync::Arc;

use rusqlite::{Result, Statement, params};

use super::spans::Row;
use crate::fsm::id::Word;
use crate::fsm::outcome::CountMove;
use crate::fsm::row::{Children, GroupSummary, Job};
use crate::types::JobKey;

/// A row of `count_change`.
pub(super) struct CountRow {
    pub(super) idx: i64,
    pub(super) parent: JobKey,
    /// The child, with the status that lost one and the one that gained one.
    pub(super) moved: Option<(Arc<str>, Word, Word)>,
    /// The counters from here on; `None` where they are gone.
    pub(super) children: Option<Children>,
}

impl CountRow {
    /// The row of one move.
    pub(super) fn of(idx: i64, m: &CountMove) -> Self {
        let moved = Some((m.child.id.clone(), m.old.clone(), m.new.clone()));
        CountRow { idx, parent: m.parent.clone(), moved, children: Some(m.after) }
    }
}

impl Row for CountRow {
    const TABLE: &'static str = "count_change";
    const INSERT: &'static str = "INSERT INTO count_change
        (id, until_idx, idx, namespace, parent, child, old_status, new_status, pending, running, dead)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

    fn insert(&self, statement: &mut Statement<'_>, id: i64, until: Option<i64>) -> Result<()> {
        let (namespace, parent) = (&*self.parent.namespace, &*self.parent.id);
        let child = self.moved.as_ref().map(|(child, ..)| &**child);
        let old = self.moved.as_ref().map(|(_, old, _)| old.as_str()).filter(|old| !old.is_empty());
        let new = self.moved.as_ref().map(|(.., new)| new.as_str());
        let [pending, running, dead] = counters(self.children);
        statement
            .execute(params![id, until, self.idx, namespace, parent, child, old, new, pending, running, dead])
            .map(drop)
    }
}

fn counters(children: Option<Children>) -> [Option<i64>; 3] {
    children.map_or([None; 3], |c| c.as_array().map(Some))
}

/// What `job_change` keeps of a job's own row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JobFacts {
    parent: Arc<str>,
    kind: Word,
    version: u64,
    stop: bool,
    pub(super) status: Word,
}

impl JobFacts {
    pub(super) fn of(job: &Job) -> Self {
        JobFacts {
            parent: job.parent_id.clone(),
            kind: job.kind.clone(),
            version: job.version,
            stop: job.stop,
            status: job.status.clone(),
        }
    }
}

/// A row of `job_change`.
pub(super) struct JobRow {
    pub(super) idx: i64,
    pub(super) key: JobKey,
    pub(super) old_status: Option<Word>,
    /// The job from here on; `None` where it is gone.
    pub(super) facts: Option<JobFacts>,
    pub(super) children: Option<Children>,
    pub(super) groups: Option<usize>,
    pub(super) in_timeline: bool,
    pub(super) from_snapshot: bool,
}

impl Row for JobRow {
    const TABLE: &'static str = "job_change";
    const INSERT: &'static str = "INSERT INTO job_change
        (id, until_idx, idx, namespace, job, parent, type, version, stop, old_status, status, pending, running, dead,
         groups, in_timeline, from_snapshot)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

    fn insert(&self, statement: &mut Statement<'_>, id: i64, until: Option<i64>) -> Result<()> {
        let facts = self.facts.as_ref();
        let [pending, running, dead] = counters(self.children);
        statement
            .execute(params![
                id,
                until,
                self.idx,
                &*self.key.namespace,
                &*self.key.id,
                facts.map(|f| &*f.parent).filter(|p| !p.is_empty()),
                facts.map(|f| f.kind.as_str()),
                facts.map(|f| int(f.version)),
                facts.map(|f| f.stop),
                self.old_status.as_ref().map(Word::as_str),
                facts.map(|f| f.status.as_str()),
                pending,
                running,
                dead,
                self.groups.map(|n| int(n as u64)),
                self.in_timeline,
                self.from_snapshot,
            ])
            .map(drop)
    }
}

/// A row of `group_change`.
pub(super) struct GroupRow {
    pub(super) idx: i64,
    pub(super) key: JobKey,
    pub(super) group: Arc<str>,
    pub(super) numbers: GroupSummary,
}

impl Row for GroupRow {
    const TABLE: &'static str = "group_change";
    const INSERT: &'static str = "INSERT INTO group_change
        (id, until_idx, idx, namespace, job, task_group, queued, complete, failed, running, starting, lost, unknown)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

    fn insert(&self, statement: &mut Statement<'_>, id: i64, until: Option<i64>) -> Result<()> {
        let (namespace, job) = (&*self.key.namespace, &*self.key.id);
        let GroupSummary { queued, complete, failed, running, starting, lost, unknown } = self.numbers;
        let group = &*self.group;
        statement
            .execute(params![
                id, until, self.idx, namespace, job, group, queued, complete, failed, running, starting, lost, unknown
            ])
            .map(drop)
    }
}

/// SQLite's integers are signed; what is larger than the largest is kept as that.
pub(super) fn int(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
