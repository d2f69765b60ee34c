//! `restarts --plan`: what `nomad job restart` would do, in each format and as entries.

use std::io::Write;

use serde::Serialize;

use super::Options;
use super::print::{document, rows};
use crate::cli::args::PlanArgs;
use crate::cli::replaying::{self, Prepared, Wanted};
use crate::cli::reporter::Reporter;
use crate::error::Error;
use crate::exit::Exit;
use crate::fsm::state::State;
use crate::notes::Notes;
use crate::render::{Cell, Column, Format, Row, Shape, Tone};
use crate::restarts::Collector;
use crate::restarts::json::SCHEMA_VERSION;
use crate::restarts::plan::{Behind, End, Plan, PlanError, Request, entries, plan};
use crate::restarts::threshold::Amount;
use crate::types::JobKey;

/// What is to be planned.
#[derive(Debug)]
pub struct Planning {
    job: String,
    namespace: Option<String>,
    group: Option<String>,
    batch_size: Amount,
    batch_wait: i64,
    reschedule: bool,
    emit: bool,
    end: End,
}

impl Planning {
    /// Checks the options; `None` where no plan is asked for.
    pub fn new(args: &PlanArgs) -> Result<Option<Self>, Error> {
        let Some(job) = args.job.clone().filter(|_| args.plan) else { return Ok(None) };
        let size = |t: &str| t.parse().map_err(|e| Error::Usage(format!("--batch-size: {e}")));
        Ok(Some(Planning {
            job,
            namespace: args.namespace.clone(),
            group: args.group.clone(),
            batch_size: args.batch_size.as_deref().map_or(Ok(Amount::Number(1)), size)?,
            batch_wait: args.batch_wait.as_deref().map_or(Ok(0), wait)?,
            reschedule: args.reschedule,
            emit: args.emit,
            end: match (args.cancel_after, args.pause_after) {
                (Some(batch), _) => End::CancelAfter(batch),
                (_, Some(batch)) => End::PauseAfter(batch),
                _ => End::Complete,
            },
        }))
    }

    /// The job in its namespace: the one that was named, else the only one that has it.
    fn key(&self, state: &State) -> Result<JobKey, Error> {
        if let Some(namespace) = &self.namespace {
            return Ok(JobKey::new(namespace.as_str(), self.job.as_str()));
        }
        let mut keys: Vec<&JobKey> = state.jobs().map(|j| &j.key).filter(|k| *k.id == *self.job).collect();
        keys.sort();
        match keys.as_slice() {
            [] => Ok(JobKey::new("default", self.job.as_str())),
            [one] => Ok((*one).clone()),
            several => {
                let there = several.iter().map(|k| k.namespace.to_string()).collect::<Vec<_>>().join(", ");
                Err(Error::Usage(format!("--job {}: several namespaces have it, {there}; add --namespace", self.job)))
            }
        }
    }
}

/// `30s`, `1m30s`: nanoseconds.
fn wait(text: &str) -> Result<i64, Error> {
    let parsed = text.parse::<jiff::SignedDuration>().ok().and_then(|d| i64::try_from(d.as_nanos()).ok());
    parsed
        .filter(|nanos| *nanos >= 0)
        .ok_or_else(|| Error::Usage(format!("--batch-wait {text}: give a time, as in 30s or 1m30s")))
}

/// Plans, and prints it.
pub fn run(options: &Options, planning: &Planning, reporter: &Reporter) -> Result<Exit, Error> {
    let mut notes = reporter;
    let nothing = || Error::OutOfEvidence("the log is empty: there is no state to plan on".into());
    let replay = replaying::prepare(&options.path, &options.replaying, &options.range, Wanted::State, reporter)?;
    let mut replay = replay.ok_or_else(nothing)?;
    let mut collector = Collector::new();
    let ended = replay.run(&mut collector)?;
    let request = Request {
        job: planning.key(replay.state())?,
        group: planning.group.clone(),
        batch_size: planning.batch_size,
        batch_wait: planning.batch_wait,
        reschedule: planning.reschedule,
    };
    let made = plan(replay.state(), ended.reached.index, &request).map_err(usage)?;
    if let Some(why) = &made.refused {
        notes.warn(format!("nothing would be restarted: {why}"));
    }
    made.notes.iter().for_each(|n| notes.note(n.as_str()));
    if planning.emit {
        emit(&made, planning, &replay, &collector, options)?
    } else {
        print(&made, options, reporter)?
    }
    Ok(replay.judge(&ended))
}

fn usage(error: PlanError) -> Error {
    Error::Usage(format!("--plan: {error}"))
}

/// The plan as entries behind the last of the log, one a line.
fn emit(
    plan: &Plan,
    planning: &Planning,
    replay: &Prepared<'_>,
    collector: &Collector,
    options: &Options,
) -> Result<(), Error> {
    let now = collector.now();
    let term = replay.evidence.window.terms.last().map_or(now.term, |span| span.term);
    let behind = Behind { last: replay.last(), term, now };
    let mut out = options.output.stdout();
    for entry in entries(plan, planning.end, behind).map_err(usage)? {
        writeln!(out, "{entry}").map_err(Error::Output)?;
    }
    out.flush().map_err(Error::Output)
}

static SHAPE: Shape = Shape {
    table: &[Column::text("Batch"), Column::text("Alloc"), Column::text("Group"), Column::text("Why")],
    csv: &["batch", "alloc", "group", "reason"],
};

/// One allocation: its batch, or why it is left alone.
#[derive(Serialize)]
struct Line<'p> {
    #[serde(skip_serializing_if = "Option::is_none")]
    batch: Option<usize>,
    alloc: &'p str,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'p str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'p str>,
}

impl Row for Line<'_> {
    fn json(&self, out: &mut Vec<u8>) {
        // Text keys and plain values only, so this cannot fail.
        let _ = serde_json::to_writer(out, self);
    }

    fn cells(&self) -> Vec<Cell> {
        vec![
            match self.batch {
                Some(batch) => batch.to_string().into(),
                None => Cell::toned("-", Tone::Dim),
            },
            self.alloc.into(),
            self.group.unwrap_or_default().into(),
            self.reason.unwrap_or_default().into(),
        ]
    }
}

#[derive(Serialize)]
struct Document<'p> {
    schema_version: u32,
    plan: &'p Plan,
}

fn print(plan: &Plan, options: &Options, mut notes: &Reporter) -> Result<(), Error> {
    if options.output.style.format == Format::Json {
        return document(&Document { schema_version: SCHEMA_VERSION, plan }, &options.output);
    }
    let taken = plan.batches.iter().enumerate().flat_map(|(i, batch)| {
        let groups = plan.groups.get(i).into_iter().flatten();
        let lines = batch.iter().zip(groups);
        lines.map(move |(alloc, group)| Line { batch: Some(i + 1), alloc, group: Some(&**group), reason: None })
    });
    let left = plan.skipped.iter().map(|s| Line {
        batch: None,
        alloc: &s.alloc,
        group: Some(&*s.group),
        reason: Some(s.reason.as_str()),
    });
    let lines: Vec<Line<'_>> = taken.chain(left).collect();
    rows(&lines, &SHAPE, &options.output)?;
    notes.note(format!(
        "{} batches of up to {}: of {} running allocations, {} wanted, at least {} are to be expected",
        plan.batches.len(),
        plan.batch_size,
        plan.running,
        plan.count,
        plan.lowest_running
    ));
    Ok(())
}
