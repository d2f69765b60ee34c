//! An index: entries in order of their values.

use std::io;

use super::SIZE;
use super::file::Pages;
use super::page::{Kind, Page, varint};
use super::table::add_record;
use super::tree::{Level, write_levels};

/// The longest entry that stands in its page as a whole.
const LONGEST: usize = (SIZE - 12) * 64 / 255 - 23;

/// Writes an index of that many entries, which `next` makes in their order, and gives its root's number.
///
/// # Errors
/// When the file cannot be written.
pub(in crate::ledger) fn write_index<'r>(
    count: usize,
    mut next: impl FnMut(usize) -> Vec<u8> + 'r,
    file: &mut Pages,
) -> io::Result<u32> {
    let mut level = Level::default();
    let mut leaf = Page::new(Kind::IndexLeaf, 0);
    let mut cell = Vec::new();
    for at in 0..count {
        let record = next(at);
        cell.clear();
        varint(&mut cell, record.len() as u64);
        add_record(&mut cell, &record, LONGEST, file)?;
        if leaf.fits(cell.len()) {
            leaf.add(&cell);
            continue;
        }
        // An entry divides this page from the next one, which must not be left without any.
        let is_last = at + 1 == count;
        let divider = if is_last { leaf.pop().unwrap_or_default() } else { cell.clone() };
        level.pages.push(file.append(&leaf.take(0))?);
        level.dividers.push(divider.into());
        if is_last {
            leaf.add(&cell);
        }
    }
    level.pages.push(file.append(&leaf.take(0))?);
    write_levels(level, Kind::IndexInner, file)
}
