//! The state in each format, row by row.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashSet;
use std::io::Write;

use super::Options;
use super::facts::Choice;
use super::table;
use crate::error::Error;
use crate::exit::Exit;
use crate::fsm::state::State;
use crate::progress::Progress;
use crate::redact::Redactor;
use crate::render::csv::Sheet;
use crate::render::json_text::{self, Object as JsonObject};
use crate::render::{self, Cell, Format, Row, Shape};
use crate::rows::value::Value;
use crate::rows::{Bodies, Table, held};
use crate::types::Index;

/// A state and which of its rows are wanted.
pub struct View<'v> {
    pub state: &'v State,
    pub bodies: &'v dyn Bodies,
    pub choice: Choice<'v>,
    /// How many rows were looked at, and where that is shown.
    pub progress: RefCell<(u64, Progress<'v>)>,
}

/// Takes a row, as JSON with its secrets hidden.
type Sink<'s> = dyn FnMut(&[u8]) -> Result<(), Error> + 's;

impl View<'_> {
    /// Calls `sink` with each wanted row of a table, as JSON with its secrets hidden. `left` counts
    /// down how many more rows are wanted.
    fn each(&self, table: Table, left: &mut u64, redactor: &mut Redactor, sink: &mut Sink<'_>) -> Result<(), Error> {
        let mut json = Vec::new();
        let wants_all = self.choice.wants_all();
        for (_, held) in held::all(table, self.state) {
            if *left == 0 {
                break;
            }
            self.tick();
            json.clear();
            if !(wants_all && held.write(&mut json)) {
                let row = held.build(self.bodies)?;
                if !self.choice.wants(table, &row) {
                    continue;
                }
                Value::from(row).write(table.place(), redactor, &mut json);
            }
            *left -= 1;
            sink(&json)?;
        }
        Ok(())
    }

    fn tick(&self) {
        let (rows, progress) = &mut *self.progress.borrow_mut();
        *rows += 1;
        progress.tick(Index(*rows));
    }
}

/// Prints the state of a log without entries.
pub fn empty(options: &Options) -> Result<Exit, Error> {
    let mut json = Vec::new();
    let mut document = JsonObject::open(&mut json);
    for table in options.tables.iter().filter(|t| **t < Table::Namespaces) {
        document.key(table.name()).extend_from_slice(b"[]");
    }
    document.close();
    if options.output.style.format == Format::Json {
        render::document(&options.output.style, &json, options.output.stdout())?;
    }
    Ok(Exit::Success)
}

/// Prints the wanted rows.
pub fn state(options: &Options, view: &View<'_>) -> Result<(), Error> {
    let style = &options.output.style;
    match (style.format, &style.jq) {
        (Format::Json, None) => {
            let mut out = options.output.stdout();
            document(options, view, &mut out)?;
            out.flush().map_err(Error::Output)
        }
        (Format::Json, Some(program)) if program.streams_rows() => by_table(options, view),
        (Format::Json, Some(_)) => {
            let mut json = Vec::new();
            document(options, view, &mut json)?;
            render::document(style, &json, options.output.stdout())
        }
        (Format::Ndjson, _) => lines(options, view),
        (Format::Csv, _) => sheet(options, view),
        (Format::Table, _) => tables(options, view),
    }
}

fn limit(options: &Options) -> u64 {
    options.rows.limit.unwrap_or(u64::MAX)
}

/// One object of lists of rows; our own tables only where they have rows.
fn document(options: &Options, view: &View<'_>, out: &mut dyn Write) -> Result<(), Error> {
    let pretty = options.output.style.pretty && options.output.style.jq.is_none();
    let (mut redactor, mut left) = (options.output.redactor(), limit(options));
    let mut text = vec![b'{'];
    let mut first_table = true;
    for &table in &options.tables {
        let mut first_row = true;
        let mut open = |text: &mut Vec<u8>| {
            if !std::mem::take(&mut first_table) {
                text.push(b',');
            }
            if pretty {
                text.extend_from_slice(b"\n  ");
            }
            json_text::string(text, table.name());
            text.extend_from_slice(if pretty { b": [" } else { b":[" });
        };
        view.each(table, &mut left, &mut redactor, &mut |json| {
            if std::mem::take(&mut first_row) {
                open(&mut text);
            } else {
                text.push(b',');
            }
            if pretty {
                text.extend_from_slice(b"\n    ");
                json_text::indent(json, &mut text, 2);
            } else {
                text.extend_from_slice(json);
            }
            out.write_all(&text).map_err(Error::Output)?;
            text.clear();
            Ok(())
        })?;
        if !first_row {
            text.extend_from_slice(if pretty { b"\n  ]" } else { b"]" });
        } else if table < Table::Namespaces {
            open(&mut text);
            text.push(b']');
        }
    }
    if pretty && !first_table {
        text.push(b'\n');
    }
    text.extend_from_slice(b"}\n");
    out.write_all(&text).map_err(Error::Output)
}

/// A row of JSON that is already written.
struct Written<'r>(&'r [u8]);

impl Row for Written<'_> {
    fn json(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0);
    }

    fn cells(&self) -> Vec<Cell> {
        Vec::new()
    }
}

static NO_COLUMNS: Shape = Shape { table: &[], csv: &[] };

/// `--jq '.[] | …'`: the lists of the document one after the other.
fn by_table(options: &Options, view: &View<'_>) -> Result<(), Error> {
    let (mut redactor, mut left) = (options.output.redactor(), limit(options));
    let mut out = render::rows(&options.output.style, &NO_COLUMNS, options.output.stdout());
    for &table in &options.tables {
        let mut list = vec![b'['];
        view.each(table, &mut left, &mut redactor, &mut |json| {
            if list.len() > 1 {
                list.push(b',');
            }
            list.extend_from_slice(json);
            Ok(())
        })?;
        if list.len() > 1 || table < Table::Namespaces {
            list.push(b']');
            out.row(&Written(&list))?;
        }
    }
    out.finish()
}

/// `{"table":"Jobs","row":{…}}`, a line each.
fn lines(options: &Options, view: &View<'_>) -> Result<(), Error> {
    let (mut redactor, mut left) = (options.output.redactor(), limit(options));
    let mut out = render::rows(&options.output.style, &NO_COLUMNS, options.output.stdout());
    let mut line = Vec::new();
    for &table in &options.tables {
        view.each(table, &mut left, &mut redactor, &mut |json| {
            line.clear();
            let mut object = JsonObject::open(&mut line);
            object.text("table", table.name());
            object.key("row").extend_from_slice(json);
            object.close();
            out.row(&Written(&line))
        })?;
    }
    out.finish()
}

/// One table as CSV. Rows leave out what does not apply, so the columns are looked for first.
fn sheet(options: &Options, view: &View<'_>) -> Result<(), Error> {
    let Some(&table) = options.tables.first() else { return Ok(()) };
    let mut columns: Vec<Cow<'static, str>> = Vec::new();
    let mut known = HashSet::new();
    view.each(table, &mut limit(options), &mut options.output.redactor(), &mut |json| {
        for (key, _) in json_text::members(json) {
            if !known.contains(key) {
                known.insert(key.to_owned());
                // It was written as JSON by ourselves.
                columns.push(Cow::Owned(serde_json::from_slice(key).unwrap_or_default()));
            }
        }
        Ok(())
    })?;
    let mut out = Sheet::with_columns(columns, options.output.stdout());
    view.each(table, &mut limit(options), &mut options.output.redactor(), &mut |json| {
        render::Rows::row(&mut out, &Written(json))
    })?;
    render::Rows::finish(&mut out)
}

/// A heading and a table of columns for each table that has rows.
fn tables(options: &Options, view: &View<'_>) -> Result<(), Error> {
    let (mut redactor, mut left) = (options.output.redactor(), limit(options));
    let mut begun = false;
    for &table in &options.tables {
        let mut rows = Vec::new();
        view.each(table, &mut left, &mut redactor, &mut |json| {
            rows.push(table::Line::new(table, json));
            Ok(())
        })?;
        if rows.is_empty() {
            continue;
        }
        let break_before = if std::mem::replace(&mut begun, true) { "\n" } else { "" };
        let heading = format!("{break_before}{} ({})\n\n", table.name(), rows.len());
        options.output.stdout().write_all(heading.as_bytes()).map_err(Error::Output)?;
        let mut out = render::rows(&options.output.style, table::shape(table), options.output.stdout());
        for row in &rows {
            out.row(row)?;
        }
        out.finish()?;
    }
    Ok(())
}
