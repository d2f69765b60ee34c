//! `--format table`: fitted to the terminal; plain and untruncated where the output is none.

use std::io::Write;

use comfy_table::{Attribute, CellAlignment, Color, ContentArrangement, presets};
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
        for (column, shape) in table.column_iter_mut().zip(self.shape.table) {
            column.set_padding((0, 2));
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
            io(self.out.write_all(line.trim_end_matches(' ').as_bytes()).and_then(|()| self.out.write_all(b"\n")))?;
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
