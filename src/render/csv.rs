//! `--format csv`: a header line and one record a row; nested values are compact JSON text.

use std::borrow::Cow;
use std::io::Write;

use super::{Row, Rows, Shape, io, json_text};
use crate::error::Error;

/// Writes rows as CSV records, by the keys of [`Shape::csv`].
pub struct Sheet<'w> {
    out: csv::Writer<Box<dyn Write + 'w>>,
    shape: &'static Shape,
    begun: bool,
    json: Vec<u8>,
}

impl<'w> Sheet<'w> {
    /// A sheet without its header line yet.
    pub fn new(shape: &'static Shape, out: Box<dyn Write + 'w>) -> Self {
        Sheet { out: csv::Writer::from_writer(out), shape, begun: false, json: Vec::new() }
    }

    fn header(&mut self) -> Result<(), Error> {
        if !std::mem::replace(&mut self.begun, true) {
            self.out.write_record(self.shape.csv).map_err(failed)?;
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
        for column in self.shape.csv {
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
