//! `--format ndjson`: one JSON object a line; with `--pretty` indented, as Nomad's `-pretty` does.

use std::io::Write;

use super::{Row, Rows, io, json_text};
use crate::error::Error;

/// Writes each row as a JSON object of its own.
pub struct Lines<'w> {
    out: Box<dyn Write + 'w>,
    pretty: bool,
    compact: Vec<u8>,
    text: Vec<u8>,
}

impl<'w> Lines<'w> {
    /// A writer that has written nothing.
    pub fn new(pretty: bool, out: Box<dyn Write + 'w>) -> Self {
        Lines { out, pretty, compact: Vec::new(), text: Vec::new() }
    }
}

impl Rows for Lines<'_> {
    fn row(&mut self, row: &dyn Row) -> Result<(), Error> {
        self.compact.clear();
        row.json(&mut self.compact);
        let text = if self.pretty {
            self.text.clear();
            json_text::indent(&self.compact, &mut self.text, 0);
            &mut self.text
        } else {
            &mut self.compact
        };
        text.push(b'\n');
        io(self.out.write_all(text))
    }

    fn finish(&mut self) -> Result<(), Error> {
        io(self.out.flush())
    }
}
