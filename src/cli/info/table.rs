//! `info` in each format.

use std::fmt::Write as _;

use super::report::{LargeRow, Report, Salvaged, TypeRow};
use super::states;
use crate::cli::options::Output;
use crate::error::Error;
use crate::render::text::visible;
use crate::render::{self, Cell, Column, Format, Row, Shape};

static SUMMARY: Shape = Shape {
    table: &[],
    csv: &[
        "path",
        "store",
        "size",
        "first_index",
        "last_index",
        "entries",
        "bytes",
        "complete",
        "terms",
        "gaps",
        "damage",
        "undecodable",
        "servers",
        "writer",
        "stable",
    ],
};

static TYPES: Shape = Shape {
    table: &[
        Column::text("Type"),
        Column::number("Number"),
        Column::number("Entries"),
        Column::number("Bytes"),
        Column::number("Largest"),
        Column::number("First"),
        Column::number("Last"),
    ],
    csv: &["type", "number", "entries", "bytes", "largest", "first_index", "last_index"],
};

static LARGEST: Shape = Shape {
    table: &[Column::number("Index"), Column::number("Term"), Column::text("Entry"), Column::number("Bytes")],
    csv: &["index", "term", "entry", "bytes"],
};

fn serialized(value: &impl serde::Serialize, out: &mut Vec<u8>) {
    // Our own structs have only text keys and plain values, so this cannot fail.
    let _ = serde_json::to_writer(out, value);
}

impl Row for Report<'_> {
    fn json(&self, out: &mut Vec<u8>) {
        serialized(self, out);
    }

    fn cells(&self) -> Vec<Cell> {
        Vec::new()
    }
}

impl Row for TypeRow {
    fn json(&self, out: &mut Vec<u8>) {
        serialized(self, out);
    }

    fn cells(&self) -> Vec<Cell> {
        vec![
            self.name.as_str().into(),
            self.number.map(|n| n.to_string()).unwrap_or_default().into(),
            self.entries.to_string().into(),
            self.bytes.to_string().into(),
            self.largest.to_string().into(),
            self.first_index.to_string().into(),
            self.last_index.to_string().into(),
        ]
    }
}

impl Row for LargeRow {
    fn json(&self, out: &mut Vec<u8>) {
        serialized(self, out);
    }

    fn cells(&self) -> Vec<Cell> {
        vec![
            self.index.to_string().into(),
            self.term.to_string().into(),
            self.entry.as_str().into(),
            self.bytes.to_string().into(),
        ]
    }
}

/// Prints the report. With `--types`, NDJSON and CSV have a row for each type, else one for the log.
pub fn print(report: &Report<'_>, output: &Output) -> Result<(), Error> {
    match output.style.format {
        Format::Json => {
            let mut json = Vec::new();
            report.json(&mut json);
            render::document(&output.style, &json, output.stdout())
        }
        Format::Ndjson | Format::Csv => match &report.types {
            Some(types) => rows(types, &TYPES, output),
            None => rows(std::slice::from_ref(report), &SUMMARY, output),
        },
        Format::Table => {
            let text = summary(report);
            output.stdout().write_all(text.as_bytes()).map_err(Error::Output)?;
            let Some(types) = &report.types else { return Ok(()) };
            heading("", output)?;
            rows(types, &TYPES, output)?;
            heading("\nThe largest entries\n", output)?;
            rows(report.largest.as_deref().unwrap_or_default(), &LARGEST, output)
        }
    }
}

fn heading(text: &str, output: &Output) -> Result<(), Error> {
    output.stdout().write_all(format!("{text}\n").as_bytes()).map_err(Error::Output)
}

fn rows<R: Row>(all: &[R], shape: &'static Shape, output: &Output) -> Result<(), Error> {
    let mut out = render::rows(&output.style, shape, output.stdout());
    for row in all {
        out.row(row)?;
    }
    out.finish()
}

/// The facts about the log, a line each.
fn summary(report: &Report<'_>) -> String {
    let mut text = String::new();
    let mut line = |label: &str, value: &str| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{label:<10} {}", visible(value));
    };
    line("Path", report.path);
    let store = serde_json::to_value(report.store).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default();
    line(
        "Store",
        &match report.size {
            Some(size) => format!("{store}, {size} bytes"),
            None => store,
        },
    );
    line("Entries", &entries(report));
    for span in terms(report) {
        line("Term", &span);
    }
    for gap in report.gaps.iter().flatten() {
        line("Gap", &format!("indexes {} to {} are missing", gap.first, gap.last));
    }
    for damage in report.damage.iter().flatten() {
        line("Damage", &damage.detail);
    }
    if let (Some(n @ 1..), Some(first)) = (report.undecodable, report.undecodable_first) {
        let list = first.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let more = if n > first.len() as u64 { ", …" } else { "" };
        line("Undecodable", &format!("{n} entries: {list}{more}"));
    }
    for snapshot in &report.snapshots {
        line("Snapshot", &states::snapshot_words(snapshot));
    }
    if let Some(reach) = &report.window {
        let (base, states) = states::reach_words(reach);
        line("Base", &base);
        line("States", &states);
    }
    if let Some(found) = &report.salvaged {
        line("Carved", &carved(found));
    }
    match report.servers {
        Some(found) => {
            for server in &found.servers {
                line(
                    "Server",
                    &format!("{} {} ({}, by entry {})", server.suffrage, server.address, server.id, found.index),
                );
            }
        }
        None => line("Servers", "not named by any entry that was read"),
    }
    line("Writer", &writer(report));
    if let Some(term) = report.stable.current_term {
        let vote = match (&report.stable.last_vote_candidate, report.stable.last_vote_term) {
            (Some(candidate), Some(term)) => format!(", last vote for {candidate} in term {term}"),
            _ => String::new(),
        };
        line("Stable", &format!("current term {term}{vote}"));
    }
    for option in &report.suggested_options {
        line("Try", &format!("{option}: bodies of this type have exactly the shape of job restarts"));
    }
    text
}

fn carved(found: &Salvaged) -> String {
    let (Some(first), Some(last)) = (found.first_index, found.last_index) else {
        return "nothing that the log does not hold".to_owned();
    };
    format!(
        "{} entries between index {first} and {last}: {} not in the log, {} of another term than the log's, {} of other content",
        found.entries, found.not_in_log, found.superseded, found.other_content
    )
}

fn entries(report: &Report<'_>) -> String {
    match (report.first_index, report.last_index, report.entries) {
        (Some(first), Some(last), Some(n)) => format!("{n}, from index {first} to {last}"),
        (Some(first), Some(last), None) => format!("from index {first} to {last}"),
        _ => "none".to_owned(),
    }
}

/// The spans of terms; of many the first and the last.
fn terms(report: &Report<'_>) -> Vec<String> {
    const SHOWN: usize = 12;
    let one =
        |s: &crate::evidence::window::TermSpan| format!("{}, indexes {} to {}", s.term, s.first_index, s.last_index);
    match report.terms {
        all if all.len() <= SHOWN => all.iter().map(one).collect(),
        [first, .., last] => {
            vec![one(first), format!("({} more; all are in --json)", report.terms.len() - 2), one(last)]
        }
        _ => Vec::new(),
    }
}

fn writer(report: &Report<'_>) -> String {
    match &report.writer {
        None => "unknown: no entry tells".to_owned(),
        Some(w) => {
            let range = match (w.at_least, w.before) {
                (Some(least), Some(before)) => format!("Nomad {least} or newer, before {before}"),
                (Some(least), None) => format!("Nomad {least} or newer"),
                (None, Some(before)) => format!("Nomad before {before}"),
                (None, None) => "Nomad of any version".to_owned(),
            };
            format!("{range} (by the keys of entry {})", w.index)
        }
    }
}
