//! `restarts` in each format.

use std::io::Write;

use serde::Serialize;

use crate::cli::options::Output;
use crate::error::Error;
use crate::render::text::visible;
use crate::render::{self, Cell, Column, Format, Row, Shape, Tone};
use crate::restarts::json::{SCHEMA_VERSION, rfc3339};
use crate::restarts::story::{Step, story as steps_of};
use crate::restarts::{Batch, Restart, Status};

static LIST: Shape = Shape {
    table: &[
        Column::text("Job"),
        Column::text("Kind"),
        Column::text("Entries"),
        Column::text("Started"),
        Column::text("Took"),
        Column::text("Batches"),
        Column::text("Least"),
        Column::text("Early"),
        Column::text("Status"),
    ],
    csv: &[
        "namespace",
        "job",
        "group",
        "kind",
        "id",
        "status",
        "first_index",
        "last_index",
        "started",
        "finished",
        "duration_s",
        "batch_size",
        "batch_wait_s",
        "batches",
    ],
};

static STORY: Shape = Shape {
    table: &[
        Column::number("Index"),
        Column::number("Term"),
        Column::text("Time"),
        Column::number("Batch"),
        Column::text("Alloc"),
        Column::text("What"),
    ],
    csv: &["index", "term", "time", "batch", "alloc", "what"],
};

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    restarts: &'a [Restart],
}

#[derive(Serialize)]
struct Story<'a> {
    schema_version: u32,
    restart: &'a Restart,
    steps: &'a [Step],
}

/// Prints the list, a row for each restart.
pub fn list(restarts: &[Restart], output: &Output) -> Result<(), Error> {
    if output.style.format == Format::Json {
        return document(&Document { schema_version: SCHEMA_VERSION, restarts }, output);
    }
    rows(restarts, &LIST, output)
}

/// Prints the steps of one restart.
pub fn story(restart: &Restart, output: &Output) -> Result<(), Error> {
    let steps = steps_of(restart);
    match output.style.format {
        Format::Json => document(&Story { schema_version: SCHEMA_VERSION, restart, steps: &steps }, output),
        _ => rows(&steps, &STORY, output),
    }
}

/// Prints more steps of a restart that goes on, without a heading.
pub fn more_steps(steps: &[Step], output: &Output) -> Result<(), Error> {
    if output.style.format != Format::Table {
        return rows(steps, &STORY, output);
    }
    let mut out = output.stdout();
    for step in steps {
        let alloc = step.alloc.as_deref().unwrap_or_default();
        let batch = step.batch.map(|b| format!("batch {b}")).unwrap_or_default();
        let time = step.time.as_deref().unwrap_or_default();
        let line =
            format!("{:>7}  {time:<30}  {batch:<8}  {:<8}  {}", step.index, alloc.get(..8).unwrap_or(alloc), step.what);
        writeln!(out, "{}", visible(&line)).map_err(Error::Output)?;
    }
    out.flush().map_err(Error::Output)
}

/// Prints one JSON document.
pub fn document(value: &impl Serialize, output: &Output) -> Result<(), Error> {
    let mut json = Vec::new();
    serialized(value, &mut json);
    render::document(&output.style, &json, output.stdout())
}

/// Prints rows of one shape.
pub fn rows<R: Row>(all: &[R], shape: &'static Shape, output: &Output) -> Result<(), Error> {
    let mut out = render::rows(&output.style, shape, output.stdout());
    for row in all {
        out.row(row)?;
    }
    out.finish()
}

fn serialized(value: &impl Serialize, out: &mut Vec<u8>) {
    // Our own structs have only text keys and plain values, so this cannot fail.
    let _ = serde_json::to_writer(out, value);
}

impl Row for Restart {
    fn json(&self, out: &mut Vec<u8>) {
        serialized(self, out);
    }

    fn cells(&self) -> Vec<Cell> {
        let job = if &*self.job.namespace == "default" { self.job.id.to_string() } else { self.job.to_string() };
        let status = match self.status {
            Status::Complete | Status::Other(_) => Cell::from(self.status.name()),
            Status::Failed => Cell::toned(self.status.name(), Tone::Bad),
            _ => Cell::toned(self.status.name(), Tone::Doubtful),
        };
        vec![
            job.into(),
            self.kind.name().into(),
            format!("{}-{}", self.first, self.last).into(),
            self.started.map(to_the_second).unwrap_or_default().into(),
            self.duration().map(short).unwrap_or_default().into(),
            batches(self).into(),
            least(&self.batches),
            early(&self.batches),
            status,
        ]
    }
}

/// A time without its fraction.
fn to_the_second(nanos: i64) -> String {
    rfc3339(nanos - nanos.rem_euclid(1_000_000_000))
}

/// A duration in few characters.
fn short(nanos: i64) -> String {
    let seconds = nanos as f64 / 1e9;
    match seconds {
        s if s < 0.05 => "0s".to_owned(),
        s if s < 10.0 => format!("{s:.1}s"),
        s if s < 600.0 => format!("{s:.0}s"),
        s if s < 36_000.0 => format!("{:.0}m", s / 60.0),
        s => format!("{:.0}h", s / 3600.0),
    }
}

/// `2+2, 3.0s` or `3x1`: how many allocations each batch has, and the wait between them.
fn batches(restart: &Restart) -> String {
    let sizes: Vec<usize> = restart.batches.iter().map(|b| b.members.len()).collect();
    let text = match sizes.as_slice() {
        [] => return String::new(),
        [first, .., last] if sizes.len() > 2 && sizes[..sizes.len() - 1].iter().all(|s| s == first) => {
            let whole = if last == first { sizes.len() } else { sizes.len() - 1 };
            let rest = if last == first { String::new() } else { format!("+{last}") };
            format!("{whole}x{first}{rest}")
        }
        [head @ .., _] if head.len() > 5 => format!("{} of up to {}", sizes.len(), sizes.iter().max().unwrap_or(&0)),
        sizes => sizes.iter().map(usize::to_string).collect::<Vec<_>>().join("+"),
    };
    match restart.batch_wait {
        Some(wait) => format!("{text}, {}", short(wait)),
        None => text,
    }
}

/// The fewest that ran at once, of how many.
fn least(batches: &[Batch]) -> Cell {
    let Some(worst) = batches.iter().filter_map(|b| b.worst).min_by_key(|w| w.running) else { return Cell::default() };
    let tone = if worst.running == 0 && worst.count > 0 { Tone::Bad } else { Tone::Plain };
    Cell::toned(format!("{}/{}", worst.running, worst.count), tone)
}

/// Whether a batch began before the one before it was `running`, or `healthy`.
fn early(batches: &[Batch]) -> Cell {
    if batches.iter().any(|b| b.next_before_running == Some(true)) {
        return Cell::toned("running", Tone::Doubtful);
    }
    if batches.iter().any(|b| b.next_before_healthy == Some(true)) {
        return Cell::toned("healthy", Tone::Doubtful);
    }
    Cell::from("-")
}

impl Row for Step {
    fn json(&self, out: &mut Vec<u8>) {
        serialized(self, out);
    }

    fn cells(&self) -> Vec<Cell> {
        let alloc = self.alloc.as_deref().unwrap_or_default();
        vec![
            self.index.to_string().into(),
            self.term.to_string().into(),
            self.time.clone().unwrap_or_default().into(),
            self.batch.map(|b| b.to_string()).unwrap_or_default().into(),
            alloc.get(..8).unwrap_or(alloc).into(),
            self.what.as_str().into(),
        ]
    }
}
