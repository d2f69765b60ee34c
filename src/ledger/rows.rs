//! The rows of the three tables of changes, and their values.

use std::sync::Arc;

use rusqlite::Result;

use super::insert::Insert;
use super::shown::Facts;
use super::spans::SpanRow;
use crate::fsm::id::Word;
use crate::fsm::outcome::CountMove;
use crate::fsm::row::{Children, GroupSummary};
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

impl SpanRow for CountRow {
    const TABLE: &'static str = "count_change";
    const INSERT: &'static str = "INSERT INTO count_change
        (idx, until_idx, namespace, parent, child, old_status, new_status, pending, running, dead)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

    fn idx(&self) -> i64 {
        self.idx
    }

    fn values(&self, out: &mut Insert<'_>) -> Result<()> {
        out.word(Some(&self.parent.namespace))?;
        out.word(Some(&self.parent.id))?;
        match &self.moved {
            Some((child, old, new)) => {
                out.text(Some(child))?;
                out.word(Some(old.as_str()).filter(|old| !old.is_empty()))?;
                out.word(Some(new.as_str()))?;
            }
            None => {
                out.text(None)?;
                out.word(None)?;
                out.word(None)?;
            }
        }
        counters(out, self.children)
    }
}

fn counters(out: &mut Insert<'_>, children: Option<Children>) -> Result<()> {
    let counters = children.map_or([None; 3], |c| c.as_array().map(Some));
    counters.into_iter().try_for_each(|n| out.int(n))
}

/// What `job_change` keeps of a job's own row.
pub(super) struct JobFacts {
    parent: Arc<str>,
    kind: Word,
    version: u64,
    stop: bool,
    status: Word,
}

impl From<Facts<'_>> for JobFacts {
    fn from(facts: Facts<'_>) -> Self {
        let Facts { parent, kind, version, stop, status } = facts;
        JobFacts { parent: parent.clone(), kind: kind.clone(), version, stop, status: status.clone() }
    }
}

/// A row of `job_change`.
pub(super) struct JobRow {
    pub(super) idx: i64,
    pub(super) key: JobKey,
    /// The id of the row in which the job came.
    pub(super) life: i64,
    pub(super) old_status: Option<Word>,
    /// The job from here on; `None` where it is gone.
    pub(super) facts: Option<JobFacts>,
    pub(super) children: Option<Children>,
    pub(super) groups: Option<usize>,
    pub(super) in_timeline: bool,
    pub(super) from_snapshot: bool,
}

impl JobRow {
    /// It tells that the job is gone.
    pub(super) fn is_end(&self) -> bool {
        self.facts.is_none()
    }
}

impl SpanRow for JobRow {
    const TABLE: &'static str = "job_change";
    const INSERT: &'static str = "INSERT INTO job_change
        (idx, until_idx, namespace, job, life, parent, type, version, stop, old_status, status, pending, running, dead,
         groups, in_timeline, from_snapshot)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

    fn idx(&self) -> i64 {
        self.idx
    }

    fn values(&self, out: &mut Insert<'_>) -> Result<()> {
        let facts = self.facts.as_ref();
        out.word(Some(&self.key.namespace))?;
        out.text(Some(&self.key.id))?;
        out.int(Some(self.life))?;
        out.word(facts.map(|f| &*f.parent).filter(|p| !p.is_empty()))?;
        out.word(facts.map(|f| f.kind.as_str()))?;
        out.int(facts.map(|f| int(f.version)))?;
        out.int(facts.map(|f| f.stop.into()))?;
        out.word(self.old_status.as_ref().map(Word::as_str))?;
        out.word(facts.map(|f| f.status.as_str()))?;
        counters(out, self.children)?;
        out.int(self.groups.map(|n| int(n as u64)))?;
        out.int(Some(self.in_timeline.into()))?;
        out.int(Some(self.from_snapshot.into()))
    }
}

/// A row of `group_change`.
pub(super) struct GroupRow {
    pub(super) idx: i64,
    pub(super) key: JobKey,
    /// That of its job.
    pub(super) life: i64,
    pub(super) group: Arc<str>,
    pub(super) numbers: GroupSummary,
}

impl SpanRow for GroupRow {
    const TABLE: &'static str = "group_change";
    const INSERT: &'static str = "INSERT INTO group_change
        (idx, until_idx, namespace, job, life, task_group, queued, complete, failed, running, starting, lost, unknown)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

    fn idx(&self) -> i64 {
        self.idx
    }

    fn values(&self, out: &mut Insert<'_>) -> Result<()> {
        out.word(Some(&self.key.namespace))?;
        out.text(Some(&self.key.id))?;
        out.int(Some(self.life))?;
        out.word(Some(&self.group))?;
        let GroupSummary { queued, complete, failed, running, starting, lost, unknown } = self.numbers;
        out.int(queued)?;
        [complete, failed, running, starting, lost, unknown].into_iter().try_for_each(|n| out.int(Some(n)))
    }
}

/// SQLite's integers are signed; what is larger than the largest is kept as that.
pub(super) fn int(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
