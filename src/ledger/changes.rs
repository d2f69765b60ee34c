//! From what an entry did to rows of `count_change`, `job_change` and `group_change`.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use rusqlite::{Connection, Result};

use super::ops::{Op, Ops};
use super::rows::{CountRow, GroupRow, JobFacts, JobRow};
use super::shown::{Groups, Shown};
use crate::fsm::row::{Children, Job, Summary};
use crate::fsm::state::State;
use crate::net::Net;
use crate::replay::Replayed;
use crate::types::JobKey;

/// Up to so many rows are searched one by one.
const FEW: usize = 16;

/// The rows in force under one job name.
#[derive(Default)]
struct Open {
    /// Its row of `job_change` and the one in which it came, while the job exists.
    job: Option<(i64, i64)>,
    /// Its row of `count_change` with the counters there.
    count: Option<(i64, Option<Children>)>,
    /// Its rows of `group_change`.
    groups: Vec<(Arc<str>, i64)>,
}

/// A job and its summary before and after an entry.
struct Touched<'a> {
    key: &'a JobKey,
    job: (Option<&'a Job>, Option<&'a Job>),
    summary: (Option<&'a Summary>, Option<&'a Summary>),
}

/// Makes the rows of the three tables of changes, and knows which are in force.
pub(super) struct Changes {
    next_job: i64,
    next_group: i64,
    next_count: i64,
    open: HashMap<JobKey, Open, RandomState>,
}

impl Changes {
    /// Goes on from the rows that are in force.
    pub(super) fn new(conn: &Connection) -> Result<Self> {
        let next = |table: &str| {
            conn.query_row(&format!("SELECT coalesce(max(id), 0) + 1 FROM {table}"), [], |row| row.get(0))
        };
        let mut changes = Changes {
            next_job: next("job_change")?,
            next_group: next("group_change")?,
            next_count: next("count_change")?,
            open: HashMap::default(),
        };
        changes.load(conn)?;
        Ok(changes)
    }

    fn load(&mut self, conn: &Connection) -> Result<()> {
        let open = &mut self.open;
        let mut rows = conn.prepare("SELECT namespace, job, id, life FROM job_change WHERE until_idx IS NULL")?;
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            let key = JobKey::new(row.get::<_, String>(0)?, row.get::<_, String>(1)?);
            open.entry(key).or_default().job = Some((row.get(2)?, row.get(3)?));
        }
        let mut rows =
            conn.prepare("SELECT namespace, job, task_group, id FROM group_change WHERE until_idx IS NULL")?;
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            let key = JobKey::new(row.get::<_, String>(0)?, row.get::<_, String>(1)?);
            open.entry(key).or_default().groups.push((row.get::<_, String>(2)?.into(), row.get(3)?));
        }
        let mut rows = conn.prepare(
            "SELECT namespace, parent, id, pending, running, dead FROM count_change WHERE until_idx IS NULL",
        )?;
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            let key = JobKey::new(row.get::<_, String>(0)?, row.get::<_, String>(1)?);
            let children = match row.get(3)? {
                Some(pending) => Some(Children { pending, running: row.get(4)?, dead: row.get(5)? }),
                None => None,
            };
            open.entry(key).or_default().count = Some((row.get(2)?, children));
        }
        Ok(())
    }

    /// The rows of the state that a replay starts from.
    pub(super) fn base(&mut self, idx: i64, state: &State, ops: &mut Ops) {
        self.between(idx, None, state, ops);
    }

    /// The rows of a state that takes the place of the one before at an index.
    pub(super) fn rebase(&mut self, idx: i64, before: &State, after: &State, ops: &mut Ops) {
        self.between(idx, Some(before), after, ops);
    }

    fn between(&mut self, idx: i64, before: Option<&State>, after: &State, ops: &mut Ops) {
        let mut keys: Vec<&JobKey> = Vec::new();
        for state in before.into_iter().chain([after]) {
            keys.extend(state.jobs().map(|job| &job.key));
            // A summary can be left without its job.
            keys.extend(state.summaries().map(|(key, _)| key));
        }
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            let job = |state: &'_ State| state.job(key).cloned();
            let summary = |state: &'_ State| state.summary(key).cloned();
            let (old_job, old_summary) = (before.and_then(job), before.and_then(summary));
            let (new_job, new_summary) = (job(after), summary(after));
            let job = (old_job.as_deref(), new_job.as_deref());
            let summary = (old_summary.as_deref(), new_summary.as_deref());
            self.touch(idx, &Touched { key, job, summary }, true, ops);
        }
    }

    /// The rows of one entry.
    pub(super) fn entry(&mut self, idx: i64, entry: &Replayed<'_>, ops: &mut Ops) {
        for count_move in &entry.step.moves {
            let row = CountRow::of(idx, count_move);
            self.count(row, ops);
        }
        for touched in touched(entry.net, entry.state) {
            self.touch(idx, &touched, false, ops);
        }
    }

    fn count(&mut self, row: CountRow, ops: &mut Ops) {
        let (idx, now) = (row.idx, (self.next_count, row.children));
        let open = match self.open.get_mut(&row.parent) {
            Some(open) => open,
            None => self.open.entry(row.parent.clone()).or_default(),
        };
        if let Some((id, _)) = open.count.replace(now) {
            ops.push(Op::EndCount { id, idx });
        }
        ops.push(Op::Count(row));
        self.next_count += 1;
    }

    fn touch(&mut self, idx: i64, touched: &Touched<'_>, from_snapshot: bool, ops: &mut Ops) {
        let Touched { key, job, summary } = *touched;
        self.recount(idx, key, job.1, summary, ops);
        let (before, after) = (Shown::of(job.0, summary.0), Shown::of(job.1, summary.1));
        if before == after {
            return;
        }
        let gone = after.job.is_none();
        let open = match self.open.get_mut(key) {
            Some(open) => open,
            None => self.open.entry(key.clone()).or_default(),
        };
        let life = open.job.map_or(self.next_job, |(_, life)| life);
        let row = JobRow {
            idx,
            key: key.clone(),
            life,
            old_status: before.job.map(|j| j.status.clone()),
            facts: after.job.map(JobFacts::from),
            children: after.children,
            groups: after.groups.map(<[_]>::len),
            in_timeline: before.in_timeline() != after.in_timeline(),
            from_snapshot,
        };
        ops.push(Op::Job(row));
        if let Some((id, _)) = open.job.replace((self.next_job, life)) {
            ops.push(Op::EndJob { id, idx });
        }
        self.next_job += 1;
        if before.groups != after.groups {
            let groups = (before.groups.unwrap_or_default(), after.groups.unwrap_or_default());
            regroup(&mut self.next_group, open, (idx, life), key, groups, ops);
        }
        if gone {
            open.job = None;
            if open.count.is_none() {
                self.open.remove(key);
            }
        }
    }

    /// A row for a change of children that no move made, of a job that is a parent or counts as one.
    fn recount(
        &mut self,
        idx: i64,
        key: &JobKey,
        job: Option<&Job>,
        (before, after): (Option<&Summary>, Option<&Summary>),
        ops: &mut Ops,
    ) {
        let children = |s: Option<&Summary>| s.and_then(|s| s.children);
        let (before, after) = (children(before), children(after));
        let is_parent = job.is_some_and(Job::is_parent);
        if !is_parent && before.unwrap_or_default() == Children::default() && before == after {
            // Most jobs count no children; of one that was a parent this is told already.
            return;
        }
        let told = self.open.get(key).and_then(|open| open.count);
        let is_news = match (told, after) {
            (Some((_, told)), after) => told != after,
            (None, Some(children)) => is_parent || children != Children::default(),
            (None, None) => false,
        };
        if is_news {
            self.count(CountRow { idx, parent: key.clone(), moved: None, children: after }, ops);
        }
    }
}

/// Ends the rows of groups that changed or went, and begins those of groups that changed or came.
fn regroup(
    next: &mut i64,
    open: &mut Open,
    (idx, life): (i64, i64),
    key: &JobKey,
    (before, after): (&Groups, &Groups),
    ops: &mut Ops,
) {
    let find = |groups: &Groups, name: &str| groups.iter().find(|(n, _)| **n == *name).map(|(_, g)| *g);
    for (name, _) in before {
        if find(after, name).is_none()
            && let Some(at) = open.groups.iter().position(|(n, _)| n == name)
        {
            ops.push(Op::EndGroup { id: open.groups.swap_remove(at).1, idx });
        }
    }
    for (name, numbers) in after {
        if find(before, name) == Some(*numbers) {
            continue;
        }
        ops.push(Op::Group(GroupRow { idx, key: key.clone(), life, group: name.clone(), numbers: *numbers }));
        match open.groups.iter_mut().find(|(n, _)| n == name) {
            Some((_, id)) => ops.push(Op::EndGroup { id: std::mem::replace(id, *next), idx }),
            None => open.groups.push((name.clone(), *next)),
        }
        *next += 1;
    }
}

/// The jobs and summaries that an entry wrote, by name.
fn touched<'a>(net: &Net<'a>, state: &'a State) -> Vec<Touched<'a>> {
    let mut rows: Vec<Touched<'a>> = Vec::with_capacity(net.jobs.len().max(net.summaries.len()));
    for row in &net.jobs {
        let summary = state.summary(row.key).map(|s| &**s);
        let job = (row.before.map(|j| &**j), row.after.map(|j| &**j));
        rows.push(Touched { key: row.key, job, summary: (summary, summary) });
    }
    let mut at: HashMap<&JobKey, usize, RandomState> = HashMap::default();
    if net.jobs.len() > FEW {
        at = rows.iter().enumerate().map(|(i, row)| (row.key, i)).collect();
    }
    for row in &net.summaries {
        let same = match at.is_empty() {
            true => rows.iter().take(net.jobs.len()).position(|r| r.key == row.key),
            false => at.get(row.key).copied(),
        };
        match same.and_then(|i| rows.get_mut(i)) {
            Some(same) => same.summary.0 = row.before.map(|s| &**s),
            None => {
                let job = state.job(row.key).map(|j| &**j);
                let summary = (row.before.map(|s| &**s), row.after.map(|s| &**s));
                rows.push(Touched { key: row.key, job: (job, job), summary });
            }
        }
    }
    rows.sort_unstable_by(|a, b| a.key.cmp(b.key));
    rows
}
