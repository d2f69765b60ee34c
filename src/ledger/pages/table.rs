//! A table: rows in order of their integer keys.

use std::io;

use super::SIZE;
use super::file::Pages;
use super::page::{Kind, Page, read_varint, varint};
use super::record::{LONGER, with_third};
use super::tree::{Level, write_levels};

/// The longest record that stands in its page as a whole.
const LONGEST: usize = SIZE - 35;

/// How much of one that does not stays there at least.
const LEAST: usize = (SIZE - 12) * 32 / 255 - 23;

/// A row that may become longer by a number in the place of no value: so many bytes are left for it, its own and one
/// of its length.
const ROOM: usize = LONGER + 1;

/// How many rows wait to be changed before they are.
const CHANGES: usize = 1 << 16;

/// A table that is being written.
#[derive(Debug)]
pub(in crate::ledger) struct Table {
    leaf: Page,
    /// Bytes of the leaf that are left for its rows to grow.
    room: usize,
    last: i64,
    /// The pages that are written, each with its last key.
    leaves: Vec<(u32, i64)>,
    changes: Vec<(i64, i64)>,
    left: Vec<(i64, i64)>,
    cell: Vec<u8>,
}

impl Table {
    pub(in crate::ledger) fn new() -> Self {
        Table {
            leaf: Page::new(Kind::TableLeaf, 0),
            room: 0,
            last: i64::MIN,
            leaves: Vec::new(),
            changes: Vec::new(),
            left: Vec::new(),
            cell: Vec::new(),
        }
    }

    /// Adds a row behind the others. One that `grows` may get its third value later, with [`Table::change`].
    ///
    /// # Errors
    /// When the file cannot be written, or the key is not behind the last one.
    pub(in crate::ledger) fn append(
        &mut self,
        key: i64,
        record: &[u8],
        grows: bool,
        file: &mut Pages,
    ) -> io::Result<()> {
        if key <= self.last {
            return Err(io::Error::other(format!("the row {key} comes behind the row {}", self.last)));
        }
        self.cell.clear();
        varint(&mut self.cell, record.len() as u64);
        varint(&mut self.cell, key as u64);
        add_record(&mut self.cell, record, LONGEST, file)?;
        let room = if grows { ROOM } else { 0 };
        if !self.leaf.fits(self.room + room + self.cell.len()) {
            self.write_leaf(file)?;
        }
        self.leaf.add(&self.cell);
        self.room += room;
        self.last = key;
        Ok(())
    }

    /// Sets the third value of a row that was added as one that grows.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub(in crate::ledger) fn change(&mut self, key: i64, value: i64, file: &mut Pages) -> io::Result<()> {
        self.changes.push((key, value));
        if self.changes.len() >= CHANGES { self.write_changes(file) } else { Ok(()) }
    }

    /// Writes what waits: the root's number, and the changes that could not be made, of rows too long for a page.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub(in crate::ledger) fn finish(mut self, file: &mut Pages) -> io::Result<(u32, Vec<(i64, i64)>)> {
        self.write_changes(file)?;
        if !self.leaf.is_empty() || self.leaves.is_empty() {
            self.write_leaf(file)?;
        }
        let root = write_levels(self.level(), Kind::TableInner, file)?;
        Ok((root, self.left))
    }

    /// Writes what waits, with the root on the file's first page, which keeps its first bytes.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub(super) fn finish_first(mut self, head: &[u8], file: &mut Pages) -> io::Result<()> {
        self.write_leaf(file)?;
        let Level { pages, dividers } = self.level();
        let mut root = Page::new(Kind::TableInner, head.len());
        for (child, divider) in pages.iter().zip(&dividers) {
            let cell = [&child.to_be_bytes()[..], divider].concat();
            if !root.fits(cell.len()) {
                return Err(io::Error::other("the schema is too long"));
            }
            root.add(&cell);
        }
        let mut page = root.take(pages.last().copied().unwrap_or_default());
        page[..head.len()].copy_from_slice(head);
        file.rewrite(1, &page)
    }

    fn level(&self) -> Level {
        let keys = self.leaves.iter().map(|(_, last)| {
            let mut divider = Vec::new();
            varint(&mut divider, *last as u64);
            divider.into()
        });
        let dividers = keys.take(self.leaves.len().saturating_sub(1)).collect();
        Level { pages: self.leaves.iter().map(|(page, _)| *page).collect(), dividers }
    }

    fn write_leaf(&mut self, file: &mut Pages) -> io::Result<()> {
        self.room = 0;
        self.leaves.push((file.append(&self.leaf.take(0))?, self.last));
        Ok(())
    }

    fn write_changes(&mut self, file: &mut Pages) -> io::Result<()> {
        if self.changes.is_empty() {
            return Ok(());
        }
        // Then all rows are on pages that are written.
        if !self.leaf.is_empty() {
            self.write_leaf(file)?;
        }
        let mut changes = std::mem::take(&mut self.changes);
        changes.sort_unstable();
        let mut rest = changes.as_slice();
        while let Some((key, _)) = rest.first() {
            let Some(&(number, last)) = self.leaves.get(self.leaves.partition_point(|(_, last)| last < key)) else {
                return Err(io::Error::other(format!("there is no row {key}")));
            };
            let (here, behind) = rest.split_at(rest.partition_point(|(key, _)| *key <= last));
            let page = changed(&file.read(number)?, here, &mut self.left);
            let page = page.ok_or_else(|| io::Error::other(format!("page {number} is not as it was written")))?;
            file.rewrite(number, &page)?;
            rest = behind;
        }
        Ok(())
    }
}

/// Appends a record to a cell: as much of it as stands there, and the page of the rest.
pub(super) fn add_record(cell: &mut Vec<u8>, record: &[u8], longest: usize, file: &mut Pages) -> io::Result<()> {
    if record.len() <= longest {
        cell.extend_from_slice(record);
        return Ok(());
    }
    let (here, rest) = record.split_at(kept(record.len(), longest));
    cell.extend_from_slice(here);
    cell.extend_from_slice(&file.overflow(rest)?.to_be_bytes());
    Ok(())
}

/// How much of a record that is longer than that stands in its page: what makes the rest fill whole pages, or the least.
fn kept(length: usize, longest: usize) -> usize {
    let even = LEAST + (length - LEAST) % (SIZE - 4);
    if even <= longest { even } else { LEAST }
}

/// A leaf with changes made, in order of keys; `left` gets those that find no room.
fn changed(bytes: &[u8; SIZE], changes: &[(i64, i64)], left: &mut Vec<(i64, i64)>) -> Option<[u8; SIZE]> {
    let mut page = Page::new(Kind::TableLeaf, 0);
    let mut changes = changes.iter().peekable();
    let count = usize::from(u16::from_be_bytes([bytes[3], bytes[4]]));
    for pointer in bytes[8..].chunks_exact(2).take(count) {
        let cell = bytes.get(usize::from(u16::from_be_bytes([pointer[0], pointer[1]]))..)?;
        let (length, at) = read_varint(cell)?;
        let (key, bytes) = read_varint(cell.get(at..)?)?;
        let (length, key, at) = (usize::try_from(length).ok()?, key as i64, at + bytes);
        let change = changes.next_if(|(changed, _)| *changed == key);
        if length + LONGER > LONGEST {
            // A record that goes on elsewhere, or would have to.
            left.extend(change);
            let here = if length <= LONGEST { length } else { kept(length, LONGEST) + 4 };
            page.add(cell.get(..at + here)?);
            continue;
        }
        let cell = cell.get(..at + length)?;
        match change {
            Some((_, value)) => {
                let record = with_third(cell.get(at..)?, *value)?;
                let mut cell = Vec::with_capacity(record.len() + 12);
                varint(&mut cell, record.len() as u64);
                varint(&mut cell, key as u64);
                cell.extend_from_slice(&record);
                page.fits(cell.len()).then(|| page.add(&cell))?;
            }
            None => page.add(cell),
        }
    }
    changes.next().is_none().then(|| page.take(0))
}
