//! `timeline`: every index at which a job's status or summary changed.

use std::path::PathBuf;

use super::args::TimelineArgs;
use super::options::{self, Output, Range, Rows};
use super::replaying::{self, Replaying, Wanted};
use super::reporter::Reporter;
use crate::error::Error;
use crate::exit::Exit;
use crate::filter::{EntryType, Facts, JobFact, carried};
use crate::fsm::outcome::Change;
use crate::fsm::row::GroupSummary;
use crate::fsm::state::State;
use crate::render::{self, Cell, Column, Format, Row, Shape, Tone};
use crate::replay::{Rebased, Replayed, Subscriber};
use crate::timeline::{JobView, TimelineRow, all_jobs, changed_jobs, differing_jobs};
use crate::types::{Index, JobKey, Term};

static SHAPE: Shape = Shape {
    table: &[
        Column::number("Index"),
        Column::number("Term"),
        Column::text("Entry"),
        Column::text("Job"),
        Column::text("Status"),
        Column::number("Pending"),
        Column::number("Running"),
        Column::number("Dead"),
        Column::text("Groups"),
    ],
    csv: &["index", "term", "entry", "namespace", "job", "status", "children", "groups", "deleted"],
};

/// What `timeline` was asked for.
#[derive(Debug)]
struct Options {
    path: PathBuf,
    replaying: Replaying,
    range: Range,
    rows: Rows,
    output: Output,
}

/// Prints the timeline.
pub fn run(args: &TimelineArgs) -> (Reporter, Result<Exit, Error>) {
    let reporter = options::reporter(&args.feedback, args.output.look.color);
    let result = checked(args, &reporter).and_then(|options| print(&options, &reporter));
    (reporter, result)
}

fn checked(args: &TimelineArgs, reporter: &Reporter) -> Result<Options, Error> {
    let rows = Rows::new(&args.filter)?;
    Ok(Options {
        path: options::one_path("timeline", &args.paths)?,
        range: Range::new(&args.range)?,
        replaying: Replaying::new(&args.replay, &rows.types, reporter)?.keeping(args.keep.db.as_deref()),
        rows,
        output: Output::new(&args.output, Format::Table, reporter)?,
    })
}

fn print(options: &Options, reporter: &Reporter) -> Result<Exit, Error> {
    let prepared = replaying::prepare(&options.path, &options.replaying, &options.range, Wanted::History, reporter)?;
    let mut out = render::rows(&options.output.style, &SHAPE, options.output.stdout());
    let Some(mut replay) = prepared else {
        out.finish()?;
        return Ok(Exit::Success);
    };
    let mut printer = Printer {
        rows: &options.rows,
        from: replay.range.0,
        with_base: !replay.from_asked,
        last: replay.last(),
        out: &mut *out,
        printed: 0,
        failed: None,
    };
    let ended = replay.run(&mut printer)?;
    printer.failed.map_or(Ok(()), Err)?;
    out.finish()?;
    options.rows.tell_strangers_to(replay.state(), reporter);
    Ok(replay.judge(&ended))
}

/// Prints rows as the replay comes to them.
struct Printer<'p> {
    rows: &'p Rows,
    from: Index,
    with_base: bool,
    last: Index,
    out: &'p mut dyn render::Rows,
    printed: u64,
    failed: Option<Error>,
}

impl Printer<'_> {
    /// Prints a row if the filter lets it through. `facts` are those of the entry, without jobs.
    fn row(&mut self, row: &TimelineRow, parent: Option<&str>, facts: &Facts<'_>) {
        if self.is_done() {
            return;
        }
        let filter = &self.rows.filter;
        if !filter.is_empty() {
            let job = JobFact {
                namespace: Some((&*row.job.namespace).into()),
                job: Some((&*row.job.id).into()),
                parent: Some(parent.unwrap_or_default().into()),
                status: row.view.as_ref().map(|v| v.status.as_str().into()),
            };
            if !filter.matches(&Facts { jobs: vec![job], ..facts.clone() }, self.last) {
                return;
            }
        }
        match self.out.row(row) {
            Ok(()) => self.printed += 1,
            Err(e) => self.failed = Some(e),
        }
    }
}

impl Printer<'_> {
    /// Rows of a snapshot; a job's parent is looked up in the first of the states that has the job.
    fn snapshot(&mut self, jobs: Vec<(JobKey, Option<JobView>)>, states: &[&State], index: Index, term: Term) {
        let facts = Facts::of(index, term, EntryType::Snapshot);
        for (job, view) in jobs {
            let parent = states.iter().find_map(|s| s.job(&job)).map(|j| j.parent_id.to_string());
            let row = TimelineRow { index, term, entry: "snapshot".into(), job, view };
            self.row(&row, parent.as_deref(), &facts);
        }
    }
}

impl Subscriber for Printer<'_> {
    fn base(&mut self, state: &State, index: Index, term: Term) {
        if !self.with_base || index == Index(0) {
            return;
        }
        self.snapshot(all_jobs(state), &[state], index, term);
    }

    fn rebase(&mut self, rebased: Rebased<'_>) {
        if rebased.index >= self.from {
            let jobs = differing_jobs(rebased.before, rebased.state);
            self.snapshot(jobs, &[rebased.state, rebased.before], rebased.index, rebased.term);
        }
    }

    fn entry(&mut self, entry: Replayed<'_>) {
        let record = entry.record;
        let kind = carried::entry_type(record);
        let (filter, last) = (&self.rows.filter, self.last);
        if record.index < self.from || !filter.may_match(record.index, record.term, kind, last) {
            return;
        }
        let changed = changed_jobs(&entry);
        if changed.is_empty() {
            return;
        }
        let mut facts = Facts::of(record.index, record.term, kind);
        if filter.needs_body() {
            facts = Facts { jobs: Vec::new(), ..carried::facts(record).0 };
        }
        let name = entry_name(kind, &self.rows.types);
        for (job, view) in changed {
            let parent = parent_of(&job, &entry);
            let row = TimelineRow { index: record.index, term: record.term, entry: name.clone(), job, view };
            self.row(&row, parent.as_deref(), &facts);
        }
    }

    fn is_done(&self) -> bool {
        self.failed.is_some() || self.rows.limit.is_some_and(|limit| self.printed >= limit)
    }
}

/// What `entry` shows for an entry (contract.md 3).
fn entry_name(kind: EntryType, types: &crate::entry::message_type::MessageTypes) -> String {
    match kind {
        EntryType::Command(number) => types.name(number).into_owned(),
        EntryType::Raft(kind) => kind.name(),
        EntryType::Snapshot => "snapshot".to_owned(),
    }
}

/// The ParentID of a job, also of one that the entry deleted.
fn parent_of(job: &JobKey, entry: &Replayed<'_>) -> Option<String> {
    if let Some(job) = entry.state.job(job) {
        return Some(job.parent_id.to_string());
    }
    entry.step.changes.iter().find_map(|change| match change {
        Change::Job { key, before } if key == job => before.as_ref().map(|b| b.parent_id.to_string()),
        _ => None,
    })
}

impl Row for TimelineRow {
    fn json(&self, out: &mut Vec<u8>) {
        // The row has only text keys and plain values, so this cannot fail.
        let _ = serde_json::to_writer(out, self);
    }

    fn cells(&self) -> Vec<Cell> {
        let job = if &*self.job.namespace == "default" { self.job.id.to_string() } else { self.job.to_string() };
        let children = self.view.as_ref().and_then(|v| v.children);
        let count = |n: Option<i64>| match n {
            Some(n @ ..0) => Cell::toned(n.to_string(), Tone::Bad),
            Some(n) => n.to_string().into(),
            None => Cell::default(),
        };
        vec![
            self.index.to_string().into(),
            self.term.to_string().into(),
            crate::entry::message_type::short(&self.entry).into(),
            job.into(),
            match &self.view {
                Some(view) => view.status.as_str().into(),
                None => Cell::toned("(gone)", Tone::Dim),
            },
            count(children.map(|c| c.pending)),
            count(children.map(|c| c.running)),
            count(children.map(|c| c.dead)),
            self.view.as_ref().map(groups).unwrap_or_default().into(),
        ]
    }
}

/// `web: running 2, complete 1; db: -`: the numbers that are not zero.
pub fn groups(view: &JobView) -> String {
    let Some(groups) = &view.groups else { return "no summary".into() };
    let texts = groups.iter().map(|(name, group)| format!("{name}: {}", numbers(group)));
    texts.collect::<Vec<_>>().join("; ")
}

fn numbers(group: &GroupSummary) -> String {
    let all = [
        ("queued", group.queued),
        ("starting", Some(group.starting)),
        ("running", Some(group.running)),
        ("unknown", Some(group.unknown)),
        ("complete", Some(group.complete)),
        ("failed", Some(group.failed)),
        ("lost", Some(group.lost)),
    ];
    let shown = all.into_iter().filter_map(|(name, n)| match n {
        Some(0) => None,
        Some(n) => Some(format!("{name} {n}")),
        None => Some(format!("{name} ?")),
    });
    let text = shown.collect::<Vec<_>>().join(" ");
    if text.is_empty() { "-".into() } else { text }
}
