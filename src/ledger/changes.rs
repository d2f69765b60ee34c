//! From what an entry did to rows of `count_change`, `job_change` and `group_change`.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use rusqlite::{Connection, Result};

use super::in_force::{InForce, OldJob};
use super::rows::{CountRow, GroupRow, JobFacts, JobRow};
use super::shown::{Groups, Shown};
use super::spans::Spans;
use crate::fsm::outcome::CountMove;
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
    /// Its row of `job_change`, while the job exists.
    job: Option<i64>,
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

/// The three tables of changes.
pub(super) struct Changes<'c> {
    jobs: Spans<'c, JobRow>,
    groups: Spans<'c, GroupRow>,
    counts: Spans<'c, CountRow>,
    open: HashMap<JobKey, Open, RandomState>,
    conn: &'c Connection,
}

impl<'c> Changes<'c> {
    /// Goes on from the rows that are in force.
    pub(super) fn new(conn: &'c Connection) -> Result<Self> {
        let mut changes = Changes {
            jobs: Spans::new(conn)?,
            groups: Spans::new(conn)?,
            counts: Spans::new(conn)?,
            open: HashMap::default(),
            conn,
        };
        changes.load(conn)?;
        Ok(changes)
    }

    fn load(&mut self, conn: &Connection) -> Result<()> {
        let open = &mut self.open;
        let mut rows = conn.prepare("SELECT namespace, job, id FROM job_change WHERE until_idx IS NULL")?;
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            let key = JobKey::new(row.get::<_, String>(0)?, row.get::<_, String>(1)?);
            open.entry(key).or_default().job = Some(row.get(2)?);
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
    pub(super) fn base(&mut self, idx: i64, state: &State) -> Result<()> {
        let mut jobs: Vec<_> = state.jobs().collect();
        jobs.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        for job in jobs {
            let summary = state.summary(&job.key).map(|s| &**s);
            let touched = Touched { key: &job.key, job: (None, Some(job)), summary: (None, summary) };
            self.touch(idx, &touched, true)?;
        }
        // A summary can be left without its job.
        let mut rest: Vec<_> = state.summaries().filter(|(key, _)| state.job(key).is_none()).collect();
        rest.sort_unstable_by_key(|(key, _)| *key);
        for (key, summary) in rest {
            self.recount(idx, key, None, (None, Some(summary)))?;
        }
        Ok(())
    }

    /// The rows of one entry.
    pub(super) fn entry(&mut self, idx: i64, entry: &Replayed<'_>) -> Result<()> {
        for count_move in &entry.step.moves {
            self.count_move(idx, count_move)?;
        }
        for touched in touched(entry.net, entry.state) {
            self.touch(idx, &touched, false)?;
        }
        Ok(())
    }

    /// Writes all rows that wait.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.jobs.flush()?;
        self.groups.flush()?;
        self.counts.flush()
    }

    fn count_move(&mut self, idx: i64, count_move: &CountMove) -> Result<()> {
        let open = self.open.entry(count_move.parent.clone()).or_default();
        if let Some((id, _)) = open.count {
            self.counts.end(id, idx)?;
        }
        let id = self.counts.begin(CountRow::of(idx, count_move), None)?;
        open.count = Some((id, Some(count_move.after)));
        Ok(())
    }

    fn touch(&mut self, idx: i64, touched: &Touched<'_>, from_snapshot: bool) -> Result<()> {
        let Touched { key, job, summary } = *touched;
        self.recount(idx, key, job.1, summary)?;
        let (before, after) = (Shown::of(job.0, summary.0), Shown::of(job.1, summary.1));
        self.change(idx, key, (&before, &after), from_snapshot)
    }

    /// The rows of one job, where it is not as before.
    fn change(
        &mut self,
        idx: i64,
        key: &JobKey,
        (before, after): (&Shown<'_>, &Shown<'_>),
        from_snapshot: bool,
    ) -> Result<()> {
        if before == after {
            return Ok(());
        }
        let gone = after.job.is_none();
        let row = JobRow {
            idx,
            key: key.clone(),
            old_status: before.job.map(|j| j.status.clone()),
            facts: after.job.map(JobFacts::from),
            children: after.children,
            groups: after.groups.map(<[_]>::len),
            in_timeline: before.in_timeline() != after.in_timeline(),
            from_snapshot,
        };
        let id = self.jobs.begin(row, gone.then_some(idx))?;
        let open = match self.open.get_mut(key) {
            Some(open) => open,
            None => self.open.entry(key.clone()).or_default(),
        };
        if let Some(before) = open.job.replace(id) {
            self.jobs.end(before, idx)?;
        }
        if before.groups != after.groups {
            let groups = (before.groups.unwrap_or_default(), after.groups.unwrap_or_default());
            regroup(&mut self.groups, open, idx, key, groups)?;
        }
        if gone {
            open.job = None;
            if open.count.is_none() {
                self.open.remove(key);
            }
        }
        Ok(())
    }

    /// The rows of a state that takes the place of the one before at an index: what differs from
    /// the rows in force.
    pub(super) fn rebase(&mut self, idx: i64, state: &State) -> Result<()> {
        self.flush()?;
        let mut old = InForce::read(self.conn)?;
        let mut jobs: Vec<_> = state.jobs().collect();
        jobs.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        for job in jobs {
            let summary = state.summary(&job.key).map(|s| &**s);
            let after = Shown::of(Some(job), summary);
            let before = old.remove(&job.key);
            self.change(idx, &job.key, (&before.as_ref().map(OldJob::shown).unwrap_or_default(), &after), true)?;
        }
        for (key, before) in old.into_sorted() {
            self.change(idx, &key, (&before.shown(), &Shown::default()), true)?;
        }
        let mut counted: Vec<JobKey> =
            self.open.iter().filter(|(_, o)| o.count.is_some()).map(|(k, _)| k.clone()).collect();
        counted.extend(state.summaries().map(|(key, _)| key.clone()));
        counted.sort_unstable();
        counted.dedup();
        for key in counted {
            let told = self.open.get(&key).and_then(|open| open.count).and_then(|(_, children)| children);
            let summary = state.summary(&key).map(|s| &**s);
            self.recount_from(idx, &key, state.job(&key).map(|j| &**j), (told, summary.and_then(|s| s.children)))?;
        }
        Ok(())
    }

    /// A row for a change of children that no move made, of a job that is a parent or counts as one.
    fn recount(
        &mut self,
        idx: i64,
        key: &JobKey,
        job: Option<&Job>,
        (before, after): (Option<&Summary>, Option<&Summary>),
    ) -> Result<()> {
        let children = |s: Option<&Summary>| s.and_then(|s| s.children);
        self.recount_from(idx, key, job, (children(before), children(after)))
    }

    fn recount_from(
        &mut self,
        idx: i64,
        key: &JobKey,
        job: Option<&Job>,
        (before, after): (Option<Children>, Option<Children>),
    ) -> Result<()> {
        let is_parent = job.is_some_and(Job::is_parent);
        if !is_parent && before.unwrap_or_default() == Children::default() && before == after {
            // Most jobs count no children; of one that was a parent this is told already.
            return Ok(());
        }
        let open = self.open.get(key).and_then(|open| open.count);
        match (open, after) {
            (Some((_, told)), after) if told == after => return Ok(()),
            (Some((id, _)), _) => self.counts.end(id, idx)?,
            (None, Some(children)) if is_parent || children != Children::default() => {}
            (None, _) => return Ok(()),
        }
        let row = CountRow { idx, parent: key.clone(), moved: None, children: after };
        let id = self.counts.begin(row, None)?;
        self.open.entry(key.clone()).or_default().count = Some((id, after));
        Ok(())
    }
}

/// Ends the rows of groups that changed or went, and begins those of groups that changed or came.
fn regroup(
    rows: &mut Spans<'_, GroupRow>,
    open: &mut Open,
    idx: i64,
    key: &JobKey,
    (before, after): (&Groups, &Groups),
) -> Result<()> {
    let find = |groups: &Groups, name: &str| groups.iter().find(|(n, _)| **n == *name).map(|(_, g)| *g);
    for (name, _) in before {
        if find(after, name).is_none()
            && let Some(at) = open.groups.iter().position(|(n, _)| n == name)
        {
            rows.end(open.groups.swap_remove(at).1, idx)?;
        }
    }
    for (name, numbers) in after {
        if find(before, name) == Some(*numbers) {
            continue;
        }
        let row = GroupRow { idx, key: key.clone(), group: name.clone(), numbers: *numbers };
        let id = rows.begin(row, None)?;
        match open.groups.iter_mut().find(|(n, _)| n == name) {
            Some((_, before)) => rows.end(std::mem::replace(before, id), idx)?,
            None => open.groups.push((name.clone(), id)),
        }
    }
    Ok(())
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
