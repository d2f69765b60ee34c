//! `logs --salvage`: the entries of the log, and behind them those that are carved from its files, marked as such.

use std::ops::ControlFlow;

use super::row::{self, Salvaged};
use super::{Options, Pass};
use crate::cli::reporter::Reporter;
use crate::error::Error;
use crate::evidence::salvage::{self, Carver};
use crate::evidence::{Evidence, Log};
use crate::exit::Exit;
use crate::notes::Notes;
use crate::render;
use crate::types::Index;

/// From where to where, both ends inclusive; `None` for nothing.
type Range = Option<(Index, Index)>;

/// Lists the log and what is carved.
pub(super) fn print(options: &Options, reporter: &Reporter) -> Result<Exit, Error> {
    let mut notes = reporter;
    let (evidence, carver) = salvage::open(&options.path)?;
    evidence.window.notes.iter().for_each(|n| notes.note(n.as_str()));
    let log = &*evidence.log;
    let (live, carved) = ranges(options, &evidence, reporter)?;
    let last = log.bounds().map_or(Index(u64::MAX), |(_, last)| last);
    let mut out = render::rows(&options.output.style, &row::SALVAGE_SHAPE, options.output.stdout());
    let mut pass = Pass::new(options, last, &mut *out);
    let filter = &options.rows.filter;
    if let Some((from, to)) = live {
        let (from, to) = filter.index_bounds(from, to);
        pass.scan(log, from, to, reporter)?;
        pass.look_behind(log, to, reporter)?;
    }
    match (&carver, carved) {
        (Some(carver), Some((from, to))) => {
            // A log that cannot be read is damage, whatever is carved of it.
            pass.damaged |= log.bounds().is_none();
            carve(&mut pass, carver, log, filter.index_bounds(from, to), reporter)?;
        }
        (None, _) => notes.note(NOTHING_TO_CARVE),
        (Some(_), None) => {}
    }
    pass.end(reporter)
}

/// What is said where there is nothing to carve in.
pub const NOTHING_TO_CARVE: &str = "--salvage carves a raft.db or the segments of a write-ahead log, and this log is in neither; name the raft.db itself to carve it";

/// What is said where carving cannot be relied on.
pub const OVERTAKEN: &str =
    "a server wrote to the file meanwhile: carved entries may be new ones of its log; carve a copy";

/// Which indexes are asked for, of the log and of what is carved.
fn ranges(options: &Options, evidence: &Evidence, reporter: &Reporter) -> Result<(Range, Range), Error> {
    let mut notes = reporter;
    let plain = options.range.plain();
    let Some((first, last)) = evidence.log.bounds() else {
        match crate::evidence::check_empty(&*evidence.log, &evidence.window.path) {
            Ok(()) => notes.note(format!("{}: the log is empty", evidence.window.path)),
            Err(error) => notes.warn(error.to_string()),
        }
        let words = "without a log there is no last entry and no clock to count from; name plain indexes";
        return Ok((None, Some(plain.ok_or_else(|| Error::OutOfEvidence(words.into()))?)));
    };
    if let Some((from, to)) = plain {
        let (from, to) = (from.max(first), to.min(last));
        return Ok(((from <= to).then_some((from, to)), plain));
    }
    let range = options.range.resolve(&*evidence.log, first, last, notes)?;
    Ok((range, range))
}

fn carve(
    pass: &mut Pass<'_>,
    carver: &Carver,
    log: &dyn Log,
    (from, to): (Index, Index),
    mut notes: &Reporter,
) -> Result<(), Error> {
    let before = pass.printed;
    if from <= to && !pass.is_done() {
        carver.carve(log, from..=to, &mut |carved| {
            pass.entry(&carved.record, None, Some(Salvaged::of(&carved)));
            if pass.is_done() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
    }
    notes.note(format!("{} entries are carved; they are no part of the log", pass.printed - before));
    if !carver.is_unchanged() {
        notes.warn(OVERTAKEN);
    }
    Ok(())
}
