//! The rows of the three tables of changes, and how each is inserted.

use std::sync::Arc;

use rusqlite::Result;

use super::insert::Insert;
use super::shown::Facts;
use super::spans::Row;
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

impl Row for CountRow {
    const TABLE: &'static str = "count_change";
    const INSERT: &'static str = "INSERT INTO count_change
        (id, until_idx, idx, namespace, parent, child, old_status, new_status, pending, running, dead)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

    fn bind(&self, insert: &mut Insert<'_>) -> Result<()> {
        insert.bind(3, self.idx)?;
        insert.word(4, Some(&self.parent.namespace))?;
        insert.word(5, Some(&self.parent.id))?;
        match &self.moved {
            Some((child, old, new)) => {
                insert.bind(6, &**child)?;
                insert.word(7, Some(old.as_str()).filter(|old| !old.is_empty()))?;
                insert.word(8, Some(new.as_str()))?;
            }
            None => {
                insert.word(6, None)?;
                insert.word(7, None)?;
                insert.word(8, None)?;
            }
        }
        counters(insert, 9, self.children)
    }
}

fn counters(insert: &mut Insert<'_>, first: usize, children: Option<Children>) -> Result<()> {
    let counters = children.map_or([None; 3], |c| c.as_array().map(Some));
    counters.into_iter().enumerate().try_for_each(|(i, n)| insert.bind(first + i, n))
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

impl Row for JobRow {
    const TABLE: &'static str = "job_change";
    const INSERT: &'static str = "INSERT INTO job_change
        (id, until_idx, idx, namespace, job, parent, type, version, stop, old_status, status, pending, running, dead,
         groups, in_timeline, from_snapshot)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

    fn bind(&self, insert: &mut Insert<'_>) -> Result<()> {
        let facts = self.facts.as_ref();
        insert.bind(3, self.idx)?;
        insert.word(4, Some(&self.key.namespace))?;
        insert.bind(5, &*self.key.id)?;
        insert.word(6, facts.map(|f| &*f.parent).filter(|p| !p.is_empty()))?;
        insert.word(7, facts.map(|f| f.kind.as_str()))?;
        insert.bind(8, facts.map(|f| int(f.version)))?;
        insert.bind(9, facts.map(|f| f.stop))?;
        insert.word(10, self.old_status.as_ref().map(Word::as_str))?;
        insert.word(11, facts.map(|f| f.status.as_str()))?;
        counters(insert, 12, self.children)?;
        insert.bind(15, self.groups.map(|n| int(n as u64)))?;
        insert.bind(16, self.in_timeline)?;
        insert.bind(17, self.from_snapshot)
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

    fn bind(&self, insert: &mut Insert<'_>) -> Result<()> {
        insert.bind(3, self.idx)?;
        insert.word(4, Some(&self.key.namespace))?;
        insert.bind(5, &*self.key.id)?;
        insert.word(6, Some(&self.group))?;
        let GroupSummary { queued, complete, failed, running, starting, lost, unknown } = self.numbers;
        insert.bind(7, queued)?;
        let numbers = [complete, failed, running, starting, lost, unknown];
        numbers.into_iter().enumerate().try_for_each(|(i, n)| insert.bind(8 + i, n))
    }
}

/// SQLite's integers are signed; what is larger than the largest is kept as that.
pub(super) fn int(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
