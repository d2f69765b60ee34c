//! `logs`: the entries of the log, decoded.

use std::ops::ControlFlow;
use std::path::PathBuf;

use super::args::LogsArgs;
use super::options::{self, Output, Range, Rows};
use super::reporter::Reporter;
use crate::error::Error;
use crate::evidence::{self, Damage, Record, Scanned};
use crate::exit::Exit;
use crate::filter::carried;
use crate::notes::Notes;
use crate::render::{self, Format};
use crate::types::Index;

mod row;

use row::Decoder;

/// What `logs` was asked for.
#[derive(Debug)]
struct Options {
    path: PathBuf,
    range: Range,
    rows: Rows,
    output: Output,
}

/// Prints the entries.
pub fn run(args: &LogsArgs) -> (Reporter, Result<Exit, Error>) {
    let reporter = options::reporter(&args.feedback, args.output.look.color);
    let result = checked(args, &reporter).and_then(|options| print(&options, &reporter));
    (reporter, result)
}

fn checked(args: &LogsArgs, reporter: &Reporter) -> Result<Options, Error> {
    Ok(Options {
        path: options::one_path("logs", &args.paths)?,
        range: Range::new(&args.range)?,
        rows: Rows::new(&args.filter)?,
        output: Output::new(&args.output, Format::Table, reporter)?,
    })
}

fn print(options: &Options, reporter: &Reporter) -> Result<Exit, Error> {
    let mut notes = reporter;
    let evidence = evidence::open(&options.path)?;
    evidence.window.notes.iter().for_each(|n| notes.note(n.as_str()));
    let log = &*evidence.log;
    let mut out = render::rows(&options.output.style, &row::SHAPE, options.output.stdout());
    let Some((first, last)) = log.bounds() else {
        notes.note(format!("{}: the log is empty", evidence.window.path));
        out.finish()?;
        return Ok(Exit::Success);
    };
    let Some((from, to)) = options.range.resolve(log, first, last, notes)? else {
        out.finish()?;
        return Ok(Exit::Success);
    };
    let (from, to) = options.rows.filter.index_bounds(from, to);
    let mut pass = Pass {
        options,
        last,
        decoder: Decoder::new(options.output.redactor(), options.output.style.format == Format::Table),
        out: &mut *out,
        printed: 0,
        unsure: Vec::new(),
        damaged: false,
        failed: None,
    };
    let mut progress = reporter.progress("reading", from, to);
    if from <= to {
        log.scan(from..=to, &mut |scanned| {
            let flow = match &scanned {
                Scanned::Entry(record) => {
                    progress.tick(record.index);
                    pass.entry(record)
                }
                Scanned::Damaged(damage) => pass.damage(damage, reporter),
            };
            if pass.options.rows.limit.is_some_and(|limit| pass.printed >= limit) {
                notes.detail(format!("--limit: stopped after {} rows", pass.printed));
                return ControlFlow::Break(());
            }
            flow
        })?;
    }
    progress.finish();
    pass.end(reporter)
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

impl Pass<'_> {
    fn entry(&mut self, record: &Record<'_>) -> ControlFlow<()> {
        let Rows { filter, limit, types } = &self.options.rows;
        if *limit == Some(0) || !filter.may_match(record.index, record.term, carried::entry_type(record), self.last) {
            return ControlFlow::Continue(());
        }
        let mut facts = None;
        if filter.needs_body() {
            let (found, error) = carried::facts(record);
            if !filter.matches(&found, self.last) {
                if error.is_some() {
                    self.unsure.push(record.index);
                }
                return ControlFlow::Continue(());
            }
            facts = Some(found);
        }
        let row = self.decoder.row(record, types, facts);
        self.damaged |= row.is_broken();
        self.printed += 1;
        match self.out.row(&row) {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => {
                self.failed = Some(e);
                ControlFlow::Break(())
            }
        }
    }

    fn damage(&mut self, damage: &Damage, mut notes: &Reporter) -> ControlFlow<()> {
        self.damaged = true;
        notes.warn(damage.detail.as_str());
        ControlFlow::Continue(())
    }

    /// Writes what is due, tells what was left out, and decides the exit code.
    fn end(self, mut notes: &Reporter) -> Result<Exit, Error> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.out.finish()?;
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
