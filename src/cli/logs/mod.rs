//! `logs`: the entries of the log, decoded.

use std::ops::ControlFlow;
use std::path::PathBuf;

use super::args::{LogsArgs, ReplayArgs};
use super::options::{self, Output, Range, Rows};
use super::replaying::{self, Prepared, Replaying, Wanted};
use super::reporter::Reporter;
use crate::error::Error;
use crate::evidence::{self, Damage, Log, Record, Scanned};
use crate::exit::Exit;
use crate::filter::carried;
use crate::notes::Notes;
use crate::render::{self, Format};
use crate::replay::{Replayed, Subscriber};
use crate::types::Index;

mod resolve;
mod row;
pub mod salvage;

use row::{Decoder, Salvaged};

/// What `logs` was asked for.
#[derive(Debug)]
struct Options {
    path: PathBuf,
    /// How to replay beside the listing, for `--resolve`.
    resolve: Option<Replaying>,
    range: Range,
    rows: Rows,
    output: Output,
    salvage: bool,
}

/// Prints the entries.
pub fn run(args: &LogsArgs) -> (Reporter, Result<Exit, Error>) {
    let reporter = options::reporter(&args.feedback, args.output.look.color);
    let result = checked(args, &reporter).and_then(|options| print(&options, &reporter));
    (reporter, result)
}

fn checked(args: &LogsArgs, reporter: &Reporter) -> Result<Options, Error> {
    // A listing goes on where a replay cannot; a warning tells that it could not resolve.
    let replay = ReplayArgs { rules: args.rules.clone(), allow_incomplete: true, ..ReplayArgs::default() };
    let rows = Rows::new(&args.filter)?;
    let replaying = Replaying::new(&replay, &rows.types, reporter)?;
    Ok(Options {
        path: options::one_path("logs", &args.paths)?,
        resolve: args.resolve.then_some(replaying),
        range: Range::new(&args.range)?,
        rows,
        output: Output::new(&args.output, Format::Table, reporter)?,
        salvage: args.salvage,
    })
}

fn print(options: &Options, reporter: &Reporter) -> Result<Exit, Error> {
    if options.salvage {
        return salvage::print(options, reporter);
    }
    let mut notes = reporter;
    let mut out = render::rows(&options.output.style, &row::SHAPE, options.output.stdout());
    if let Some(replaying) = &options.resolve {
        let Some(replay) = replaying::prepare(&options.path, replaying, &options.range, Wanted::History, reporter)?
        else {
            out.finish()?;
            return Ok(Exit::Success);
        };
        let pass = Pass::new(options, replay.last(), &mut *out);
        return resolved(pass, replay, reporter);
    }
    let evidence = evidence::open(&options.path)?;
    evidence.window.notes.iter().for_each(|n| notes.note(n.as_str()));
    let log = &*evidence.log;
    let Some((first, last)) = log.bounds() else {
        evidence::check_empty(log, &evidence.window.path)?;
        notes.note(format!("{}: the log is empty", evidence.window.path));
        out.finish()?;
        return Ok(Exit::Success);
    };
    let Some((from, to)) = options.range.resolve(log, first, last, notes)? else {
        out.finish()?;
        return Ok(Exit::Success);
    };
    let (from, to) = options.rows.filter.index_bounds(from, to);
    let mut pass = Pass::new(options, last, &mut *out);
    pass.scan(log, from, to, reporter)?;
    pass.look_behind(log, to, reporter)?;
    pass.end(reporter)
}

/// Lists along a replay, and behind the place where the replay has to end, without it.
fn resolved(mut pass: Pass<'_>, mut replay: Prepared<'_>, reporter: &Reporter) -> Result<Exit, Error> {
    let mut notes = reporter;
    let (mut from, to) = replay.range;
    if let Some((first, _)) = replay.evidence.log.bounds().filter(|_| !replay.from_asked) {
        from = first;
    }
    let base = replay.base.0;
    if from <= base {
        notes.note(format!("up to index {base} nothing is resolved: the replay starts behind it"));
        pass.scan(&*replay.evidence.log, from, base.min(to), reporter)?;
    }
    let mut listing = Listing { pass: &mut pass, from };
    let ended = replay.run(&mut listing)?;
    if ended.reached.stopped_by.is_some() {
        let index = ended.reached.index;
        notes.warn(format!("behind index {index} nothing is resolved: the replay ends at a hole in the log"));
        pass.scan(&*replay.evidence.log, from.max(index.next()), to, reporter)?;
    }
    pass.look_behind(&*replay.evidence.log, to, reporter)?;
    pass.end(reporter)
}

/// Lists what a replay comes to.
struct Listing<'l, 'p> {
    pass: &'l mut Pass<'p>,
    from: Index,
}

impl Subscriber for Listing<'_, '_> {
    fn entry(&mut self, entry: Replayed<'_>) {
        if entry.record.index >= self.from {
            self.pass.entry(entry.record, Some(&entry), None);
        }
    }

    fn is_done(&self) -> bool {
        self.pass.is_done()
    }
}

/// One pass over the log.
struct Pass<'p> {
    options: &'p Options,
    /// The last index of the log, from which `index=~10` counts.
    last: Index,
    decoder: Decoder,
    out: &'p mut dyn render::Rows,
    printed: u64,
    /// Entries that were left out but might have matched, had they been readable to the end.
    unsure: Vec<Index>,
    damaged: bool,
    failed: Option<Error>,
}

impl<'p> Pass<'p> {
    fn new(options: &'p Options, last: Index, out: &'p mut dyn render::Rows) -> Self {
        let with_facts = options.output.style.format == Format::Table;
        Pass {
            options,
            last,
            decoder: Decoder::new(options.output.redactor(), with_facts, options.salvage),
            out,
            printed: 0,
            unsure: Vec::new(),
            damaged: false,
            failed: None,
        }
    }

    /// True when no further row can or need be printed.
    fn is_done(&self) -> bool {
        self.failed.is_some() || self.options.rows.limit.is_some_and(|limit| self.printed >= limit)
    }

    /// Lists the entries of a range.
    fn scan(&mut self, log: &dyn Log, from: Index, to: Index, reporter: &Reporter) -> Result<(), Error> {
        if from > to || self.is_done() {
            return Ok(());
        }
        let mut progress = reporter.progress("reading", from, to);
        log.scan(from..=to, &mut |scanned| {
            match &scanned {
                Scanned::Entry(record) => {
                    progress.tick(record.index);
                    self.entry(record, None, None);
                }
                Scanned::Damaged(damage) => self.damage(damage, reporter),
            }
            if self.is_done() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(())
    }

    /// Prints an entry, if the filter lets it through; `replayed` knows what it names, `salvaged` where a
    /// carved one comes from.
    fn entry(&mut self, record: &Record<'_>, replayed: Option<&Replayed<'_>>, salvaged: Option<Salvaged>) {
        let Rows { filter, types, .. } = &self.options.rows;
        if self.is_done() || !filter.may_match(record.index, record.term, carried::entry_type(record), self.last) {
            return;
        }
        let mut facts = None;
        if filter.needs_body() || replayed.is_some() {
            let (mut found, error) = carried::facts(record);
            if let Some(replayed) = replayed {
                resolve::resolve(&mut found, replayed);
            }
            if !filter.matches(&found, self.last) {
                if error.is_some() {
                    self.unsure.push(record.index);
                }
                return;
            }
            facts = Some(found);
        }
        let row = self.decoder.row(record, types, facts, salvaged);
        self.damaged |= row.is_broken();
        self.printed += 1;
        self.failed = self.out.row(&row).err();
    }

    /// Tells of entries that are lost behind the last one, where the listing was to come to it.
    fn look_behind(&mut self, log: &dyn Log, to: Index, reporter: &Reporter) -> Result<(), Error> {
        let last = log.bounds().is_some_and(|(_, last)| last == to && self.options.range.is_open(last));
        if last && !self.is_done() {
            evidence::behind_the_end(log)?.iter().for_each(|damage| self.damage(damage, reporter));
        }
        Ok(())
    }

    fn damage(&mut self, damage: &Damage, mut notes: &Reporter) {
        self.damaged = true;
        notes.warn(damage.detail.as_str());
    }

    /// Writes what is due, tells what was left out, and decides the exit code.
    fn end(self, mut notes: &Reporter) -> Result<Exit, Error> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let whole = !self.is_done();
        self.out.finish()?;
        if whole {
            self.options.rows.tell_strangers(notes);
        }
        if let Some(first) = self.unsure.first() {
            notes.warn(format!(
                "{} entries that cannot be decoded are left out, though they might match the filter: index {first}{}; \
                 leave the filter out to see them",
                self.unsure.len(),
                if self.unsure.len() > 1 { " and others" } else { "" },
            ));
        }
        Ok(if self.damaged || !self.unsure.is_empty() { Exit::Failure } else { Exit::Success })
    }
}
