//! `--format csv`: a header line and one record a row; nested values are compact JSON text.

use std::borrow::Cow;
use std::io::Write;

use super::{Row, Rows, Shape, io, json_text};
use crate::error::Error;

/// Writes rows as CSV records, a column for each key.
pub struct Sheet<'w> {
    out: csv::Writer<Box<dyn Write + 'w>>,
    columns: Vec<Cow<'static, str>>,
    begun: bool,
    json: Vec<u8>,
}

impl<'w> Sheet<'w> {
    /// A sheet of the columns of [`Shape::csv`], without its header line yet.
    pub fn new(shape: &'static Shape, out: Box<dyn Write + 'w>) -> Self {
        Self::with_columns(shape.csv.iter().map(|c| Cow::Borrowed(*c)).collect(), out)
    }

    /// A sheet of these columns, without its header line yet.
    pub fn with_columns(columns: Vec<Cow<'static, str>>, out: Box<dyn Write + 'w>) -> Self {
        Sheet { out: csv::Writer::from_writer(out), columns, begun: false, json: Vec::new() }
    }

    fn header(&mut self) -> Result<(), Error> {
        if !std::mem::replace(&mut self.begun, true) {
            self.out.write_record(self.columns.iter().map(|c| c.as_bytes())).map_err(failed)?;
        }
        Ok(())
    }
}

/// The text of a JSON value in a cell: strings without quotes, null as nothing.
fn plain(value: &[u8]) -> Cow<'_, [u8]> {
    if value == b"null" {
        return Cow::Borrowed(b"");
    }
    if value.starts_with(b"\"")
        && let Ok(text) = serde_json::from_slice::<String>(value)
    {
        return Cow::Owned(text.into_bytes());
    }
    Cow::Borrowed(value)
}

fn failed(e: csv::Error) -> Error {
    Error::Output(match e.into_kind() {
        csv::ErrorKind::Io(e) => e,
        other => std::io::Error::other(format!("{other:?}")),
    })
}

impl Rows for Sheet<'_> {
    fn row(&mut self, row: &dyn Row) -> Result<(), Error> {
        self.header()?;
        self.json.clear();
        row.json(&mut self.json);
        for column in &self.columns {
            let is_it =
                |key: &[u8]| key.len() == column.len() + 2 && key.get(1..=column.len()) == Some(column.as_bytes());
            let value = json_text::members(&self.json).find(|(key, _)| is_it(key)).map_or(&b""[..], |(_, v)| v);
            self.out.write_field(plain(value)).map_err(failed)?;
        }
        self.out.write_record(None::<&[u8]>).map_err(failed)
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.header()?;
        io(self.out.flush())
    }
}
