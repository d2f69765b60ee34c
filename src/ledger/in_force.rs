//! The jobs as the rows in force tell of them.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use rusqlite::{Connection, Result, Row};

use super::shown::{Facts, Shown};
use crate::fsm::id::Word;
use crate::fsm::row::{Children, GroupSummary};
use crate::types::JobKey;

/// One job.
pub(super) struct OldJob {
    parent: Arc<str>,
    kind: Word,
    version: u64,
    stop: bool,
    status: Word,
    children: Option<Children>,
    groups: Option<Vec<(Arc<str>, GroupSummary)>>,
}

impl OldJob {
    /// As it is compared.
    pub(super) fn shown(&self) -> Shown<'_> {
        let OldJob { parent, kind, version, stop, status, children, groups } = self;
        Shown {
            job: Some(Facts { parent, kind, version: *version, stop: *stop, status }),
            children: *children,
            groups: groups.as_deref(),
        }
    }
}

/// Every job that is there.
pub(super) struct InForce(HashMap<JobKey, OldJob, RandomState>);

impl InForce {
    /// Reads the rows in force; all rows have to be written.
    pub(super) fn read(conn: &Connection) -> Result<Self> {
        let mut jobs: HashMap<JobKey, OldJob, RandomState> = HashMap::default();
        let mut statement = conn.prepare(
            "SELECT namespace, job, parent, type, version, stop, status, pending, running, dead, groups
               FROM job_change WHERE until_idx IS NULL",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            jobs.insert(key(row)?, job(row)?);
        }
        let mut statement = conn.prepare(
            "SELECT namespace, job, task_group, queued, complete, failed, running, starting, lost, unknown
               FROM group_change WHERE until_idx IS NULL ORDER BY task_group",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if let Some(groups) = jobs.get_mut(&key(row)?).and_then(|job| job.groups.as_mut()) {
                groups.push((row.get::<_, String>(2)?.into(), numbers(row)?));
            }
        }
        Ok(InForce(jobs))
    }

    /// Takes one out.
    pub(super) fn remove(&mut self, key: &JobKey) -> Option<OldJob> {
        self.0.remove(key)
    }

    /// Those that are left, by name.
    pub(super) fn into_sorted(self) -> Vec<(JobKey, OldJob)> {
        let mut jobs: Vec<_> = self.0.into_iter().collect();
        jobs.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        jobs
    }
}

fn key(row: &Row<'_>) -> Result<JobKey> {
    Ok(JobKey::new(row.get::<_, String>(0)?, row.get::<_, String>(1)?))
}

fn job(row: &Row<'_>) -> Result<OldJob> {
    let word = |at| row.get::<_, Option<String>>(at).map(|text| Word::new(text.as_deref().unwrap_or_default()));
    let children = match row.get(7)? {
        Some(pending) => Some(Children { pending, running: row.get(8)?, dead: row.get(9)? }),
        None => None,
    };
    Ok(OldJob {
        parent: row.get::<_, Option<String>>(2)?.unwrap_or_default().into(),
        kind: word(3)?,
        version: row.get::<_, i64>(4)?.unsigned_abs(),
        stop: row.get(5)?,
        status: word(6)?,
        children,
        groups: row.get::<_, Option<i64>>(10)?.map(|_| Vec::new()),
    })
}

fn numbers(row: &Row<'_>) -> Result<GroupSummary> {
    Ok(GroupSummary {
        queued: row.get(3)?,
        complete: row.get(4)?,
        failed: row.get(5)?,
        running: row.get(6)?,
        starting: row.get(7)?,
        lost: row.get(8)?,
        unknown: row.get(9)?,
    })
}
