//! `--format table`: fitted to the terminal; plain and untruncated where the output is none.

use std::io::Write;

use comfy_table::{Attribute, CellAlignment, Color, ColumnConstraint, ContentArrangement, Width, presets};
use unicode_width::UnicodeWidthStr;

use super::text::visible;
use super::{Cell, Row, Rows, Shape, Style, Tone, io};
use crate::error::Error;

/// Rows that are held back to learn how wide the columns are; beyond them rows are streamed.
const HELD_BACK: usize = 1000;

/// Writes rows in columns.
pub struct Table<'w> {
    out: Box<dyn Write + 'w>,
    style: &'w Style,
    shape: &'static Shape,
    held: Vec<Vec<Cell>>,
    /// The widths of the columns once rows are streamed.
    widths: Option<Vec<usize>>,
}

impl<'w> Table<'w> {
    /// A table without rows yet.
    pub fn new(style: &'w Style, shape: &'static Shape, out: Box<dyn Write + 'w>) -> Self {
        Table { out, style, shape, held: Vec::new(), widths: None }
    }

    /// Writes what was held back and goes over to streaming.
    fn release(&mut self) -> Result<(), Error> {
        let held = std::mem::take(&mut self.held);
        let widths = widths(self.shape, &held, self.style.width);
        let names = self.shape.table.iter().map(|c| Cell::from(c.name)).collect::<Vec<_>>();
        self.line(&names, &widths, true)?;
        for row in &held {
            self.line(row, &widths, false)?;
        }
        self.widths = Some(widths);
        Ok(())
    }

    fn line(&mut self, cells: &[Cell], widths: &[usize], header: bool) -> Result<(), Error> {
        let mut line = String::new();
        let last = cells.len().saturating_sub(1);
        for (i, (cell, column)) in cells.iter().zip(self.shape.table).enumerate() {
            let width = widths.get(i).copied().unwrap_or(0);
            let text = match self.style.width {
                Some(_) => cut(&cell.text, width),
                None => cell.text.clone(),
            };
            let pad = " ".repeat(width.saturating_sub(text.width()));
            if i > 0 {
                line.push_str("  ");
            }
            if column.number {
                line.push_str(&pad);
            }
            line.push_str(&painted(&text, if header { None } else { Some(cell.tone) }, self.style.color));
            if !column.number && i < last {
                line.push_str(&pad);
            }
        }
        line.truncate(line.trim_end_matches(' ').len());
        line.push('\n');
        io(self.out.write_all(line.as_bytes()))
    }

    /// A table of few rows on a terminal: cells wrap, nothing is cut.
    fn fitted(&mut self, width: usize) -> Result<(), Error> {
        let mut table = comfy_table::Table::new();
        table
            .load_style(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(u16::try_from(width).unwrap_or(u16::MAX))
            .set_header(self.shape.table.iter().map(|c| comfy_table::Cell::new(c.name).add_attribute(Attribute::Bold)));
        if self.style.color {
            table.enforce_styling();
        } else {
            table.force_no_tty();
        }
        let widths = widths(self.shape, &self.held, Some(width));
        let last = self.shape.table.len().saturating_sub(1);
        for (i, (column, shape)) in table.column_iter_mut().zip(self.shape.table).enumerate() {
            let padding = if i < last { 2 } else { 0 };
            column.set_padding((0, padding));
            // Only the widest columns give way, so that numbers and names of entries stay whole.
            let own = widths.get(i).copied().unwrap_or(1).max(1);
            let own = u16::try_from(own).unwrap_or(u16::MAX).saturating_add(padding);
            column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(own)));
            if shape.number {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        for row in std::mem::take(&mut self.held) {
            table.add_row(row.into_iter().map(|cell| {
                let (color, attribute) = look(cell.tone);
                let mut fitted = comfy_table::Cell::new(cell.text);
                if let Some(color) = color {
                    fitted = fitted.fg(color);
                }
                match attribute {
                    Some(attribute) => fitted.add_attribute(attribute),
                    None => fitted,
                }
            }));
        }
        for line in table.lines() {
            io(writeln!(self.out, "{}", without_end(&line)))?;
        }
        Ok(())
    }
}

impl Rows for Table<'_> {
    fn row(&mut self, row: &dyn Row) -> Result<(), Error> {
        let mut cells = row.cells();
        for cell in &mut cells {
            if let std::borrow::Cow::Owned(text) = visible(&cell.text) {
                cell.text = text;
            }
        }
        if let Some(widths) = self.widths.take() {
            let written = self.line(&cells, &widths, false);
            self.widths = Some(widths);
            return written;
        }
        self.held.push(cells);
        if self.held.len() > HELD_BACK { self.release() } else { Ok(()) }
    }

    fn finish(&mut self) -> Result<(), Error> {
        if self.widths.is_none() {
            match self.style.width {
                Some(width) => self.fitted(width)?,
                None => self.release()?,
            }
        }
        io(self.out.flush())
    }
}

/// A line without the blanks at its end, behind or before the codes that end a colour.
fn without_end(line: &str) -> String {
    let (mut text, mut codes) = (line, String::new());
    loop {
        text = text.trim_end_matches(' ');
        match text.rfind("\x1b[").map(|at| text.split_at(at)) {
            Some((before, code)) if code.ends_with('m') && code.get(2..code.len() - 1).is_some_and(is_digits) => {
                text = before;
                codes.insert_str(0, code);
            }
            _ => return format!("{text}{codes}"),
        }
    }
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || byte == b';')
}

/// The widths that the columns need, and on a terminal no more than it has: the widest give way.
fn widths(shape: &Shape, rows: &[Vec<Cell>], terminal: Option<usize>) -> Vec<usize> {
    let mut widths: Vec<usize> = shape.table.iter().map(|c| c.name.width()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.text.width());
        }
    }
    if let Some(terminal) = terminal {
        let room = terminal.saturating_sub(2 * widths.len().saturating_sub(1)).max(widths.len());
        while widths.iter().sum::<usize>() > room {
            match widths.iter_mut().max() {
                Some(widest) if *widest > 1 => *widest -= 1,
                _ => break,
            }
        }
    }
    widths
}

/// `text` in at most `width` columns, its end replaced by an ellipsis where it is longer.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        let w = unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
        if used + w + 1 > width {
            break;
        }
        used += w;
        out.push(c);
    }
    out.push('…');
    out
}

fn look(tone: Tone) -> (Option<Color>, Option<Attribute>) {
    match tone {
        Tone::Plain => (None, None),
        Tone::Bad => (Some(Color::Red), Some(Attribute::Bold)),
        Tone::Doubtful => (Some(Color::Yellow), None),
        Tone::Dim => (None, Some(Attribute::Dim)),
    }
}

/// `text` between the escape codes of its tone; `None` is a heading.
pub fn painted(text: &str, tone: Option<Tone>, color: bool) -> String {
    let code = match tone {
        None => "1",
        Some(Tone::Bad) => "1;31",
        Some(Tone::Doubtful) => "33",
        Some(Tone::Dim) => "2",
        Some(Tone::Plain) => "",
    };
    if color && !code.is_empty() && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;
    use crate::render::{Column, Format};

    static SHAPE: Shape = Shape { table: &[Column::number("N"), Column::text("Name")], csv: &[] };

    struct Numbered(u32);

    impl Row for Numbered {
        fn json(&self, _: &mut Vec<u8>) {}

        fn cells(&self) -> Vec<Cell> {
            vec![self.0.to_string().into(), "web".into()]
        }
    }

    #[derive(Clone, Default)]
    struct Sink(Rc<RefCell<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.borrow_mut().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn beyond_a_thousand_rows_each_is_written_as_it_comes() {
        for width in [None, Some(80)] {
            let style = Style { format: Format::Table, pretty: false, raw: false, color: false, width, jq: None };
            let sink = Sink::default();
            let mut table = Table::new(&style, &SHAPE, Box::new(sink.clone()));
            let lines = || sink.0.borrow().iter().filter(|byte| **byte == b'\n').count();
            for n in 0..5000 {
                table.row(&Numbered(n)).unwrap();
                let n = n as usize;
                assert_eq!(lines(), if n < HELD_BACK { 0 } else { n + 2 }, "a heading and every row so far");
            }
            assert!(table.held.is_empty());
            table.finish().unwrap();
            assert_eq!(lines(), 5001);
        }
    }
}
