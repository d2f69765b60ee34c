//! `diff`: what changed in the state between two indexes, or between two rule books.

use std::path::PathBuf;

use super::args::DiffArgs;
use super::changes::{self, Line};
use super::index_expr::IndexExpr;
use super::operands;
use super::options::{self, Output, Range, Rows};
use super::replaying::{self, Prepared, Replaying, Wanted};
use super::reporter::Reporter;
use super::state::facts::Choice;
use crate::diff::{self, Operation};
use crate::error::Error;
use crate::exit::Exit;
use crate::notes::Notes;
use crate::render::json_text::Object;
use crate::render::{self, Cell, Format, Row, Shape};
use crate::replay::{Replayed, Subscriber};
use crate::rows::Table;
use crate::types::Index;

mod rules;

/// The operations of a JSON Patch; for people the changes that they are.
static SHAPE: Shape = Shape { table: changes::SHAPE.table, csv: &["op", "path", "value", "was", "table", "row"] };

/// What `diff A B` was asked for.
#[derive(Debug)]
struct Options {
    ends: [IndexExpr; 2],
    path: PathBuf,
    tables: Vec<Table>,
    replaying: Replaying,
    rows: Rows,
    output: Output,
}

/// Compares.
pub fn run(args: &DiffArgs) -> (Reporter, Result<Exit, Error>) {
    let reporter = options::reporter(&args.feedback, args.output.look.color);
    let result = match args.replay.rules.len() {
        2.. => rules::run(args, &reporter),
        _ => checked(args, &reporter).and_then(|options| compare(&options, &reporter)),
    };
    (reporter, result)
}

fn checked(args: &DiffArgs, reporter: &Reporter) -> Result<Options, Error> {
    if args.replay.rules.is_empty() && args.operands.len() < 2 {
        return Err(Error::Usage("diff: name two indexes, as in `diff 1608 1609 PATH`, or give --rules twice".into()));
    }
    let ([a, b], path) = operands::split("diff", &args.operands, ["A", "B"])?;
    let range = &args.range;
    if [&range.from_index, &range.last_index, &range.since, &range.until].iter().any(|end| end.is_some()) {
        return Err(Error::Usage("diff: A and B are the range; leave the range options out".into()));
    }
    let rows = Rows::new(&args.filter)?;
    Ok(Options {
        ends: [operands::index("diff", "A", &a)?, operands::index("diff", "B", &b)?],
        path,
        tables: super::state::tables(&args.tables)?,
        replaying: Replaying::new(&args.replay, &rows.types, reporter)?,
        rows,
        output: Output::new(&args.output, Format::Table, reporter)?,
    })
}

/// The state is asked for only at the end.
struct Silent;

impl Subscriber for Silent {
    fn entry(&mut self, _: Replayed<'_>) {}
}

fn compare(options: &Options, reporter: &Reporter) -> Result<Exit, Error> {
    let mut notes = reporter;
    let replay = replaying::prepare(&options.path, &options.replaying, &Range::whole(), Wanted::History, reporter)?;
    let mut replay = replay.ok_or_else(|| Error::OutOfEvidence("there are no entries to compare".into()))?;
    let [a, b] = options.ends.map(|end| operands::resolve(end, &replay, reporter));
    let (a, b) = (a?, b?);
    let mut ended = replay.run_to(a.min(b), &mut Silent)?;
    let first = wanted(options, &replay)?;
    if ended.reached.stopped_by.is_none() && a != b {
        let earlier = std::mem::take(&mut ended.unsure);
        ended = replay.run_to(a.max(b), &mut Silent)?;
        ended.unsure.undecodable.splice(..0, earlier.undecodable);
        ended.unsure.unknown_type.splice(..0, earlier.unknown_type);
    }
    let second = wanted(options, &replay)?;
    let (before, after) = if a <= b { (first, second) } else { (second, first) };
    notes.detail(format!("from the state after entry {a} to that after entry {b}"));
    let bodies = replaying::bodies(&replay.evidence);
    let mut printer = Printer {
        out: render::rows(&options.output.style, &SHAPE, options.output.stdout()),
        table: options.output.style.format == Format::Table,
        left: options.rows.limit.unwrap_or(u64::MAX),
        found: 0,
        left_out: 0,
    };
    let mut redactor = options.output.redactor();
    diff::operations(&before, &after, &bodies, &mut redactor, &mut |operation| printer.operation(operation))?;
    printer.out.finish()?;
    if printer.left_out > 0 {
        notes.note(format!("{} changes of nothing but indexes are left out; --format json has them", printer.left_out));
    }
    let judged = replay.judge(&ended);
    Ok(if printer.found > 0 { Exit::Findings } else { judged })
}

/// The rows that the filter lets through, of the state that the replay has come to.
fn wanted(options: &Options, replay: &Prepared<'_>) -> Result<Vec<diff::Rows>, Error> {
    let choice = Choice {
        rows: &options.rows,
        since: None,
        last: replay.last(),
        log: &*replay.evidence.log,
        terms: &replay.evidence.window.terms,
        state: replay.state(),
    };
    let bodies = replaying::bodies(&replay.evidence);
    diff::rows(replay.state(), &options.tables, |table, row| {
        Ok(options.rows.filter.is_empty() || choice.wants(table, &row.build(&bodies)?))
    })
}

struct Printer<'p> {
    out: Box<dyn render::Rows + 'p>,
    table: bool,
    left: u64,
    found: u64,
    left_out: u64,
}

impl Printer<'_> {
    fn operation(&mut self, operation: Operation) -> Result<(), Error> {
        self.found += 1;
        let line = Op(operation);
        if self.table && line.line().is_none_or(|line| line.is_index_only()) {
            self.left_out += 1;
            return Ok(());
        }
        if self.left == 0 {
            return Ok(());
        }
        self.left -= 1;
        self.out.row(&line)
    }
}

/// One operation as a row of output.
struct Op(Operation);

impl Op {
    /// The change of a row that it is; `None` for one of a whole table.
    fn line(&self) -> Option<Line> {
        let Operation { row, field, before, after, .. } = &self.0;
        let change = match (field.is_empty(), before, after) {
            (true, None, _) => "created",
            (true, _, None) => "deleted",
            _ => "changed",
        };
        Some(Line { id: row.clone()?, change, field: field.clone(), before: before.clone(), after: after.clone() })
    }
}

impl Row for Op {
    fn json(&self, out: &mut Vec<u8>) {
        let Operation { kind, path, row, before, after, .. } = &self.0;
        let mut op = Object::open(out);
        op.text("op", kind.name());
        op.text("path", path);
        for (key, value) in [("value", after), ("was", before)] {
            if let Some(value) = value {
                op.key(key).extend_from_slice(value);
            }
        }
        if let Some(row) = row {
            op.text("table", row.table.name());
            op.text("row", &row.to_string());
        }
        op.close();
    }

    fn cells(&self) -> Vec<Cell> {
        self.line().map(|line| line.cells()).unwrap_or_default()
    }
}

/// The first entry of which anything is asked, for messages.
fn entry_words(index: Index, entry: &str) -> String {
    format!("entry {index} ({})", crate::entry::message_type::short(entry))
}
