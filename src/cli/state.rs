//! `state`: the whole server state right after an entry.

use std::cell::RefCell;
use std::path::PathBuf;

use super::args::StateArgs;
use super::options::{self, Output, Range, Rows};
use super::replaying::{self, Replaying, Wanted};
use super::reporter::Reporter;
use crate::error::Error;
use crate::exit::Exit;
use crate::notes::Notes;
use crate::render::Format;
use crate::rows::{Table, held};
use crate::suggest;

pub mod facts;
mod print;
mod table;

/// What `state` was asked for.
#[derive(Debug)]
struct Options {
    path: PathBuf,
    tables: Vec<Table>,
    replaying: Replaying,
    range: Range,
    rows: Rows,
    output: Output,
}

/// Prints the state.
pub fn run(args: &StateArgs) -> (Reporter, Result<Exit, Error>) {
    let reporter = options::reporter(&args.feedback, args.output.look.color);
    let result = checked(args, &reporter).and_then(|options| print(&options, &reporter));
    (reporter, result)
}

fn checked(args: &StateArgs, reporter: &Reporter) -> Result<Options, Error> {
    let tables = tables(&args.tables)?;
    let output = Output::new(&args.output, Format::Json, reporter)?;
    if output.style.format == Format::Csv && tables.len() != 1 {
        return Err(Error::Usage("--format csv holds one table; name it, as in --tables Jobs".into()));
    }
    let rows = Rows::new(&args.filter)?;
    Ok(Options {
        path: options::one_path("state", &args.paths)?,
        tables,
        replaying: Replaying::new(&args.replay, &rows.types, reporter)?.keeping(args.keep.db.as_deref()),
        range: Range::new(&args.range)?,
        rows,
        output,
    })
}

/// The tables of `--tables`, in their own order; those that Nomad prints and a few of ours where none is named.
pub fn tables(names: &[String]) -> Result<Vec<Table>, Error> {
    if names.is_empty() {
        return Ok(Table::ALL.iter().copied().filter(|table| table.is_default()).collect());
    }
    let mut wanted = Vec::new();
    for name in names {
        let known = || Table::ALL.iter().map(|t| t.name());
        let table = Table::parse(name).ok_or_else(|| {
            let hint = suggest::hint(name, known());
            let all = known().collect::<Vec<_>>().join(", ");
            let hint = if hint.is_empty() { format!("; there are {all}") } else { hint };
            Error::Usage(format!("--tables: there is no table `{name}`{hint}"))
        })?;
        wanted.push(table);
    }
    Ok(Table::ALL.iter().copied().filter(|t| wanted.contains(t)).collect())
}

fn print(options: &Options, reporter: &Reporter) -> Result<Exit, Error> {
    let mut notes = reporter;
    let Some(mut replay) =
        replaying::prepare(&options.path, &options.replaying, &options.range, Wanted::State, reporter)?
    else {
        return print::empty(options);
    };
    let ended = replay.run_to_state()?;
    notes.detail(format!("the state after entry {}, term {}", ended.reached.index, ended.reached.term));
    let bodies = replaying::bodies(&replay.evidence);
    let passes = if options.output.style.format == Format::Csv { 2 } else { 1 };
    let rows = options.tables.iter().map(|table| held::count(*table, replay.state())).sum::<u64>() * passes;
    let view = print::View {
        state: replay.state(),
        bodies: &bodies,
        choice: facts::Choice {
            rows: &options.rows,
            since: replay.from_asked.then_some(replay.range.0),
            last: replay.last(),
            log: &*replay.evidence.log,
            terms: &replay.evidence.window.terms,
            state: replay.state(),
        },
        progress: RefCell::new((0, reporter.progress_of_rows("printing", rows))),
    };
    print::state(options, &view)?;
    view.progress.into_inner().1.finish();
    options.rows.tell_strangers_to(replay.state(), reporter);
    Ok(replay.judge(&ended))
}
