//! `find`: the first index after which a jq expression over the state is true.

use std::path::PathBuf;
use std::sync::Arc;

use super::args::FindArgs;
use super::operands;
use super::options::{self, Output, Range, Rows};
use super::replaying::{self, Replaying, Wanted};
use super::reporter::Reporter;
use crate::error::Error;
use crate::exit::Exit;
use crate::filter::{EntryType, Facts, carried};
use crate::find::{Finder, Found};
use crate::fsm::state::State;
use crate::jq::Program;
use crate::parting::At;
use crate::render::json_text::Object;
use crate::render::{self, Cell, Column, Format, Row, Shape};
use crate::replay::{Rebased, Replayed, Subscriber};
use crate::rows::Table;
use crate::suggest;
use crate::types::{Index, Term};

static SHAPE: Shape = Shape {
    table: &[
        Column::number("Index"),
        Column::number("Term"),
        Column::text("Entry"),
        Column::text("Table"),
        Column::text("Row"),
        Column::text("Value"),
    ],
    csv: &["index", "term", "entry", "table", "row", "value"],
};

/// What `find` was asked for.
#[derive(Debug)]
struct Options {
    program: Program,
    path: PathBuf,
    replaying: Replaying,
    range: Range,
    rows: Rows,
    output: Output,
}

/// Finds.
pub fn run(args: &FindArgs) -> (Reporter, Result<Exit, Error>) {
    let reporter = options::reporter(&args.feedback, args.output.look.color);
    let result = checked(args, &reporter).and_then(|options| find(&options, &reporter));
    (reporter, result)
}

fn checked(args: &FindArgs, reporter: &Reporter) -> Result<Options, Error> {
    let ([code], path) = operands::split("find", &args.operands, ["EXPR"])?;
    let say = reporter.clone();
    let rows = Rows::new(&args.filter)?;
    Ok(Options {
        program: Program::compile(&code, move |text| say.plain(text))
            .map_err(|error| Error::Usage(format!("find: {error}")))?,
        path,
        replaying: Replaying::new(&args.replay, &rows.types, reporter)?,
        range: Range::new(&args.range)?,
        rows,
        output: Output::new(&args.output, Format::Table, reporter)?,
    })
}

fn find(options: &Options, reporter: &Reporter) -> Result<Exit, Error> {
    let prepared = replaying::prepare(&options.path, &options.replaying, &options.range, Wanted::History, reporter)?;
    let mut out = render::rows(&options.output.style, &SHAPE, options.output.stdout());
    let Some(mut replay) = prepared else {
        out.finish()?;
        return Ok(Exit::Findings);
    };
    let evidence = Arc::clone(&replay.evidence);
    let bodies = replaying::bodies(&evidence);
    let finder = Finder::new(&options.program, &bodies, options.output.redactor()).map_err(|name| {
        let hint = suggest::hint(&name, Table::ALL.iter().map(|table| table.name()));
        Error::Usage(format!("find: the state has no table `{name}`{hint}"))
    })?;
    let mut search = Search {
        finder,
        options,
        from: replay.range.0,
        with_base: !replay.from_asked,
        last: replay.last(),
        left: options.rows.limit.unwrap_or(1),
        hits: Vec::new(),
        failed: None,
    };
    let ended = replay.run(&mut search)?;
    if let Some(error) = search.failed {
        return Err(match error {
            Error::Jq(text) => {
                Error::Usage(format!("find: the expression fails after entry {}: {text}", ended.reached.index))
            }
            other => other,
        });
    }
    for hit in &search.hits {
        out.row(hit)?;
    }
    out.finish()?;
    if !search.hits.is_empty() {
        return Ok(Exit::Success);
    }
    Ok(match replay.judge(&ended) {
        Exit::Success => Exit::Findings,
        unsure => unsure,
    })
}

/// An entry after which the expression is true.
struct Hit {
    at: At,
    found: Found,
}

/// Tries the expression along the replay.
struct Search<'s> {
    finder: Finder<'s>,
    options: &'s Options,
    from: Index,
    with_base: bool,
    last: Index,
    left: u64,
    hits: Vec<Hit>,
    failed: Option<Error>,
}

impl Search<'_> {
    fn take(&mut self, at: &At, found: Result<Vec<Found>, Error>) {
        match found {
            Err(error) => self.failed = Some(error),
            Ok(found) => {
                for found in found.into_iter().take(usize::try_from(self.left).unwrap_or(usize::MAX)) {
                    self.left -= 1;
                    self.hits.push(Hit { at: at.clone(), found });
                }
            }
        }
    }

    /// Whether the expression is to be tried after this entry.
    fn wants(&self, entry: &Replayed<'_>) -> bool {
        let filter = &self.options.rows.filter;
        if entry.record.index < self.from {
            return false;
        }
        filter.is_empty() || filter.matches(&carried::facts(entry.record).0, self.last)
    }
}

impl Subscriber for Search<'_> {
    fn base(&mut self, state: &State, index: Index, term: Term) {
        if let Err(error) = self.finder.start(state) {
            self.failed = Some(error);
            return;
        }
        let at = At { index, term, entry: "snapshot".into() };
        let facts = Facts::of(index, term, EntryType::Snapshot);
        let wanted = self.options.rows.filter.is_empty() || self.options.rows.filter.matches(&facts, self.last);
        if self.with_base && index > Index(0) && wanted {
            let found = self.finder.try_all(state);
            self.take(&at, found);
        }
    }

    fn rebase(&mut self, rebased: Rebased<'_>) {
        self.with_base = rebased.index >= self.from;
        self.base(rebased.state, rebased.index, rebased.term);
    }

    fn entry(&mut self, entry: Replayed<'_>) {
        if self.is_done() {
            return;
        }
        let wanted = self.wants(&entry);
        let found = self.finder.entry(&entry, wanted);
        if found.as_ref().is_ok_and(Vec::is_empty) {
            return;
        }
        let name = match carried::entry_type(entry.record) {
            EntryType::Command(number) => self.options.rows.types.name(number).into_owned(),
            _ => entry.record.kind.name(),
        };
        self.take(&At { index: entry.record.index, term: entry.record.term, entry: name }, found);
    }

    fn is_done(&self) -> bool {
        self.failed.is_some() || self.left == 0
    }
}

impl Row for Hit {
    fn json(&self, out: &mut Vec<u8>) {
        let mut row = Object::open(out);
        row.display("index", self.at.index);
        row.display("term", self.at.term);
        row.text("entry", &self.at.entry);
        if let Some(id) = &self.found.row {
            row.text("table", id.table.name());
            row.text("row", &id.to_string());
        }
        row.key("value").extend_from_slice(&self.found.value);
        row.close();
    }

    fn cells(&self) -> Vec<Cell> {
        let (table, row) = match &self.found.row {
            Some(id) => (id.table.name(), id.to_string()),
            None => ("", String::new()),
        };
        vec![
            self.at.index.to_string().into(),
            self.at.term.to_string().into(),
            crate::entry::message_type::short(&self.at.entry).into(),
            table.into(),
            row.into(),
            String::from_utf8_lossy(&self.found.value).into_owned().into(),
        ]
    }
}
