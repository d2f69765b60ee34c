//! Looks: rows and documents written as a table, JSON, NDJSON or CSV.
//!
//! One file for each format. A row is known by its JSON text and, for tables, by its cells, and
//! both are made only when a format asks for them. Nothing here knows what a row means.

use std::io::{self, Write};

use crate::error::Error;
use crate::jq::Program;

pub mod csv;
pub mod html;
mod jq;
pub mod json;
pub mod json_text;
pub mod junit;
pub mod ndjson;
pub mod sarif;
pub mod table;
pub mod text;

/// What output looks like (contract.md 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Columns for people.
    Table,
    /// One JSON document.
    Json,
    /// One JSON object a line, one line a row.
    Ndjson,
    /// Comma-separated values with a header line.
    Csv,
}

/// How to write, all decided before the first row is there.
#[derive(Debug)]
pub struct Style {
    /// The format; with [`Style::jq`] only JSON and NDJSON are possible.
    pub format: Format,
    /// Indents JSON.
    pub pretty: bool,
    /// Strings that `--jq` yields are written as they are, without quotes.
    pub raw: bool,
    /// May colours be used.
    pub color: bool,
    /// The width of the terminal in columns; `None` where the output is no terminal.
    pub width: Option<usize>,
    /// The compiled `--jq` expression.
    pub jq: Option<Program>,
}

/// One column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its heading.
    pub name: &'static str,
    /// Numbers stand on the right.
    pub number: bool,
}

impl Column {
    /// A column of text.
    pub const fn text(name: &'static str) -> Self {
        Column { name, number: false }
    }

    /// A column of numbers.
    pub const fn number(name: &'static str) -> Self {
        Column { name, number: true }
    }
}

/// What the rows of a command have in common.
#[derive(Debug)]
pub struct Shape {
    /// The columns of `--format table`.
    pub table: &'static [Column],
    /// The columns of `--format csv`, each a key of the row's JSON object.
    pub csv: &'static [&'static str],
}

/// How a cell is to strike the eye. The cell's text always says the same without colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// As the rest.
    #[default]
    Plain,
    /// Something is wrong.
    Bad,
    /// Something may be wrong.
    Doubtful,
    /// Of less interest.
    Dim,
}

/// One cell of a table.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// What it says; may be other people's text, the writer makes it harmless.
    pub text: String,
    /// How it looks.
    pub tone: Tone,
}

impl Cell {
    /// A cell of a certain tone.
    pub fn toned(text: impl Into<String>, tone: Tone) -> Self {
        Cell { text: text.into(), tone }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Cell { text: text.into(), tone: Tone::Plain }
    }
}

/// One row of output.
pub trait Row {
    /// Appends the row as one compact JSON object.
    fn json(&self, out: &mut Vec<u8>);

    /// The cells of the table, one for each column of the command's [`Shape`].
    fn cells(&self) -> Vec<Cell>;
}

/// Takes rows and writes them in one format.
pub trait Rows {
    /// Writes one row.
    ///
    /// # Errors
    /// When the output cannot be written or the `--jq` expression fails.
    fn row(&mut self, row: &dyn Row) -> Result<(), Error>;

    /// Writes what is still due. Must be called once, after the last row.
    ///
    /// # Errors
    /// As [`Rows::row`].
    fn finish(&mut self) -> Result<(), Error>;
}

/// The writer of `style` for rows of `shape`.
pub fn rows<'w>(style: &'w Style, shape: &'static Shape, out: Box<dyn Write + 'w>) -> Box<dyn Rows + 'w> {
    match (&style.jq, style.format) {
        (Some(program), Format::Ndjson) => Box::new(jq::EachRow::new(program, style, out)),
        (Some(program), _) if program.streams_rows() => Box::new(jq::Streamed::new(program, style, out)),
        (Some(program), _) => Box::new(jq::Whole::new(program, style, out)),
        (None, Format::Json) => Box::new(json::Array::new(style.pretty, out)),
        (None, Format::Ndjson) => Box::new(ndjson::Lines::new(style.pretty, out)),
        (None, Format::Csv) => Box::new(csv::Sheet::new(shape, out)),
        (None, Format::Table) => Box::new(table::Table::new(style, shape, out)),
    }
}

/// Writes one JSON document, through `--jq` where there is one. `json` is compact.
///
/// # Errors
/// When the output cannot be written or the `--jq` expression fails.
pub fn document<'w>(style: &'w Style, json: &[u8], out: Box<dyn Write + 'w>) -> Result<(), Error> {
    match &style.jq {
        Some(program) => jq::document(program, style, json, out),
        None => json::document(json, style.pretty, out),
    }
}

/// A write error as the run's error.
pub(crate) fn io(result: io::Result<()>) -> Result<(), Error> {
    result.map_err(Error::Output)
}
