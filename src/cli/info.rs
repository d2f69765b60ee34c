//! `info`: what evidence is this.

use std::ops::ControlFlow;
use std::path::PathBuf;

use super::args::InfoArgs;
use super::logs::salvage::{NOTHING_TO_CARVE, OVERTAKEN};
use super::options::{self, Output};
use super::reporter::Reporter;
use crate::error::Error;
use crate::evidence::salvage::{self, Carver};
use crate::evidence::{self, Evidence, Log, Scanned};
use crate::exit::Exit;
use crate::notes::Notes;
use crate::render::Format;
use crate::types::Index;

mod parts;
mod report;
mod states;
mod table;
mod tally;

use report::Report;
use tally::Tally;

/// Logs of up to this many bytes are always read as a whole, so that damage and gaps are told.
const SMALL: u64 = 64 << 20;

/// In a larger log, so many entries at its end are looked at for the version of their writer.
const TAIL: u64 = 4096;

/// What `info` was asked for.
#[derive(Debug)]
struct Options {
    path: PathBuf,
    types: bool,
    salvage: bool,
    names: crate::entry::message_type::MessageTypes,
    output: Output,
}

/// Prints what evidence this is.
pub fn run(args: &InfoArgs) -> (Reporter, Result<Exit, Error>) {
    let reporter = options::reporter(&args.feedback, args.output.look.color);
    let result = checked(args, &reporter).and_then(|options| print(&options, &reporter));
    (reporter, result)
}

fn checked(args: &InfoArgs, reporter: &Reporter) -> Result<Options, Error> {
    Ok(Options {
        path: options::one_path("info", &args.paths)?,
        types: args.types,
        salvage: args.salvage,
        names: options::message_types(&args.message_type)?,
        output: Output::new(&args.output, Format::Table, reporter)?,
    })
}

fn print(options: &Options, reporter: &Reporter) -> Result<Exit, Error> {
    let mut notes = reporter;
    let (Evidence { log, window, snapshots }, carver) =
        if options.salvage { salvage::open(&options.path)? } else { (evidence::open(&options.path)?, None) };
    window.notes.iter().for_each(|n| notes.note(n.as_str()));
    let whole = options.types || window.size.is_none_or(|size| size <= SMALL);
    let tally = match log.bounds() {
        None => {
            match evidence::check_empty(&*log, &window.path) {
                Err(error) if !options.salvage => return Err(error.into()),
                Err(error) => notes.warn(error.to_string()),
                Ok(()) if !snapshots.is_empty() => {}
                Ok(()) => notes.note(format!("{}: the log is empty", window.path)),
            }
            Tally::new(true)
        }
        Some((first, last)) => {
            let mut tally = read(&*log, first, last, whole, options, reporter)?;
            tally.damage.extend(evidence::behind_the_end(&*log)?);
            tally
        }
    };
    if !whole {
        notes.note("only the ends of this log were read; --types reads it all and tells of gaps and damage");
    }
    for damage in &tally.damage {
        notes.warn(damage.detail.as_str());
    }
    let mut report = Report::new(&window, &tally, options.types, &options.names);
    report.snapshots = states::snapshots(&snapshots, whole && options.types, SMALL);
    for problem in report.snapshots.iter().filter_map(|snapshot| snapshot.problem.as_ref()) {
        notes.warn(problem.as_str());
    }
    report.window = whole.then(|| states::reach(&*log, &tally.damage, &report.snapshots));
    if let Some(carver) = &carver {
        report.salvaged = Some(carved(carver, &*log, reporter)?);
    } else if options.salvage {
        notes.note(NOTHING_TO_CARVE);
    }
    table::print(&report, &options.output)?;
    let all_bad = !report.snapshots.is_empty() && report.snapshots.iter().all(|snapshot| snapshot.problem.is_some());
    let lost = log.bounds().is_none() && (carver.is_some() || all_bad);
    Ok(if lost || tally.is_damaged() { Exit::Failure } else { Exit::Success })
}

/// Reads the log, or its end.
fn read(
    log: &dyn Log,
    first: Index,
    last: Index,
    whole: bool,
    options: &Options,
    reporter: &Reporter,
) -> Result<Tally, Error> {
    let from = if whole { first } else { first.max(Index(last.0.saturating_sub(TAIL))) };
    if let Some(tally) = parts::read(log, from, last, whole, &options.names, reporter) {
        return Ok(tally);
    }
    let mut tally = Tally::new(whole);
    let mut progress = reporter.progress("reading", from, last);
    log.scan(from..=last, &mut |scanned| {
        match scanned {
            Scanned::Entry(record) => {
                progress.tick(record.index);
                tally.entry(&record, &options.names);
            }
            Scanned::Damaged(damage) => tally.damage.push(damage),
        }
        ControlFlow::Continue(())
    })?;
    Ok(tally)
}

/// Counts what can be carved.
fn carved(carver: &Carver, log: &dyn Log, mut notes: &Reporter) -> Result<report::Salvaged, Error> {
    let mut found = report::Salvaged { page_size: carver.page_size(), ..report::Salvaged::default() };
    carver.carve(log, Index(0)..=Index(u64::MAX), &mut |carved| {
        found.add(&carved);
        ControlFlow::Continue(())
    })?;
    if !carver.is_unchanged() {
        notes.warn(OVERTAKEN);
    }
    Ok(found)
}
