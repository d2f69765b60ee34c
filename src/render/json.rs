//! `--format json`: one document; rows become one array, written as they come.

use std::io::Write;

use super::{Row, Rows, io, json_text};
use crate::error::Error;

/// Writes rows as one JSON array, one row a line unless indented.
pub struct Array<'w> {
    out: Box<dyn Write + 'w>,
    pretty: bool,
    any: bool,
    compact: Vec<u8>,
    text: Vec<u8>,
}

impl<'w> Array<'w> {
    /// An array that has not begun.
    pub fn new(pretty: bool, out: Box<dyn Write + 'w>) -> Self {
        Array { out, pretty, any: false, compact: Vec::new(), text: Vec::new() }
    }
}

impl Rows for Array<'_> {
    fn row(&mut self, row: &dyn Row) -> Result<(), Error> {
        self.text.clear();
        self.text.extend_from_slice(if self.any { b",\n" } else { b"[\n" });
        self.any = true;
        if self.pretty {
            self.compact.clear();
            row.json(&mut self.compact);
            self.text.extend_from_slice(b"  ");
            json_text::indent(&self.compact, &mut self.text, 1);
        } else {
            row.json(&mut self.text);
        }
        io(self.out.write_all(&self.text))
    }

    fn finish(&mut self) -> Result<(), Error> {
        let end: &[u8] = if self.any { b"\n]\n" } else { b"[]\n" };
        io(self.out.write_all(end).and_then(|()| self.out.flush()))
    }
}

/// Writes one compact JSON value with a line feed, indented on request.
pub(super) fn document(json: &[u8], pretty: bool, mut out: Box<dyn Write + '_>) -> Result<(), Error> {
    let mut text = Vec::new();
    let json = if pretty {
        json_text::indent(json, &mut text, 0);
        &text
    } else {
        json
    };
    io(out.write_all(json).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush()))
}
