//! Rows and documents through `--jq`, in the three ways in which they can meet it.

use std::io::Write;

use super::{Row, Rows, Style, io, json_text};
use crate::error::Error;
use crate::jq::{Program, Value};

/// Writes what an expression yields: one compact JSON value a line, indented with `--pretty`,
/// strings bare with `-r`.
struct Sink<'w> {
    out: Box<dyn Write + 'w>,
    program: &'w Program,
    pretty: bool,
    raw: bool,
    compact: Vec<u8>,
    text: Vec<u8>,
}

impl<'w> Sink<'w> {
    fn new(program: &'w Program, style: &Style, out: Box<dyn Write + 'w>) -> Self {
        Sink { out, program, pretty: style.pretty, raw: style.raw, compact: Vec::new(), text: Vec::new() }
    }

    fn run(&mut self, input: Value) -> Result<(), Error> {
        let program = self.program;
        program.run(input, |value| self.value(value))
    }

    fn value(&mut self, value: &Value) -> Result<(), Error> {
        self.compact.clear();
        if self.raw
            && let Some(text) = value.as_text()
        {
            self.compact.extend_from_slice(text);
        } else {
            value.write_json(&mut self.compact);
            if self.pretty {
                self.text.clear();
                json_text::indent(&self.compact, &mut self.text, 0);
                std::mem::swap(&mut self.compact, &mut self.text);
            }
        }
        self.compact.push(b'\n');
        io(self.out.write_all(&self.compact))
    }

    fn finish(&mut self) -> Result<(), Error> {
        io(self.out.flush())
    }
}

fn parsed(row: &dyn Row, json: &mut Vec<u8>) -> Result<Value, Error> {
    json.clear();
    row.json(json);
    Value::parse(json)
}

/// `--format ndjson`: the expression sees each row by itself.
pub(super) struct EachRow<'w> {
    sink: Sink<'w>,
    json: Vec<u8>,
}

impl<'w> EachRow<'w> {
    pub(super) fn new(program: &'w Program, style: &Style, out: Box<dyn Write + 'w>) -> Self {
        EachRow { sink: Sink::new(program, style, out), json: Vec::new() }
    }
}

impl Rows for EachRow<'_> {
    fn row(&mut self, row: &dyn Row) -> Result<(), Error> {
        let value = parsed(row, &mut self.json)?;
        self.sink.run(value)
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.sink.finish()
    }
}

/// The expression begins with `.[] |`: it sees arrays of one row each, which yields the same.
pub(super) struct Streamed<'w> {
    sink: Sink<'w>,
    json: Vec<u8>,
}

impl<'w> Streamed<'w> {
    pub(super) fn new(program: &'w Program, style: &Style, out: Box<dyn Write + 'w>) -> Self {
        Streamed { sink: Sink::new(program, style, out), json: Vec::new() }
    }
}

impl Rows for Streamed<'_> {
    fn row(&mut self, row: &dyn Row) -> Result<(), Error> {
        let value = parsed(row, &mut self.json)?;
        self.sink.run(Value::array(vec![value]))
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.sink.finish()
    }
}

/// Any other expression sees one array of all rows.
pub(super) struct Whole<'w> {
    sink: Sink<'w>,
    json: Vec<u8>,
    rows: Vec<Value>,
}

impl<'w> Whole<'w> {
    pub(super) fn new(program: &'w Program, style: &Style, out: Box<dyn Write + 'w>) -> Self {
        Whole { sink: Sink::new(program, style, out), json: Vec::new(), rows: Vec::new() }
    }
}

impl Rows for Whole<'_> {
    fn row(&mut self, row: &dyn Row) -> Result<(), Error> {
        let value = parsed(row, &mut self.json)?;
        self.rows.push(value);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Error> {
        let rows = std::mem::take(&mut self.rows);
        self.sink.run(Value::array(rows))?;
        self.sink.finish()
    }
}

/// One document through the expression.
pub(super) fn document<'w>(
    program: &'w Program,
    style: &Style,
    json: &[u8],
    out: Box<dyn Write + 'w>,
) -> Result<(), Error> {
    let mut sink = Sink::new(program, style, out);
    sink.run(Value::parse(json)?)?;
    sink.finish()
}
