//! One page of a b-tree.
//!
//! | bytes | what |
//! | --- | --- |
//! | 1 | the kind of page |
//! | 2 | the first free block: 0, there is none |
//! | 2 | how many cells |
//! | 2 | where the cells begin |
//! | 1 | bytes lost between cells: 0 |
//! | 4 | inner pages only: the last child |
//! | 2 for each cell | where it is, in order of keys |
//! | | nothing |
//! | | the cells, from the end of the page upwards |

use super::SIZE;

/// What a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Keys of a table with the pages below them.
    TableInner = 5,
    /// Rows of a table.
    TableLeaf = 13,
    /// Entries of an index with the pages below them.
    IndexInner = 2,
    /// Entries of an index.
    IndexLeaf = 10,
}

impl Kind {
    /// Its header's length in bytes.
    fn header(self) -> usize {
        match self {
            Kind::TableLeaf | Kind::IndexLeaf => 8,
            Kind::TableInner | Kind::IndexInner => 12,
        }
    }
}

/// The cells of a page that is being filled.
#[derive(Debug)]
pub(super) struct Page {
    kind: Kind,
    /// Where its header stands: behind the file's own on the first page.
    start: usize,
    cells: Vec<u8>,
    /// Where each cell ends in `cells`.
    ends: Vec<usize>,
}

impl Page {
    /// A page without cells; `start` bytes are kept free before it.
    pub(super) fn new(kind: Kind, start: usize) -> Self {
        Page { kind, start, cells: Vec::with_capacity(SIZE), ends: Vec::new() }
    }

    /// True without cells.
    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// True where a further cell of so many bytes finds room.
    pub(super) fn fits(&self, bytes: usize) -> bool {
        let taken = self.start + self.kind.header() + 2 * (self.ends.len() + 1) + self.cells.len();
        taken + bytes <= SIZE
    }

    /// Adds a cell behind the others; it has to fit.
    pub(super) fn add(&mut self, cell: &[u8]) {
        self.cells.extend_from_slice(cell);
        self.ends.push(self.cells.len());
    }

    /// Takes the last cell away.
    pub(super) fn pop(&mut self) -> Option<Vec<u8>> {
        self.ends.pop()?;
        Some(self.cells.split_off(self.ends.last().copied().unwrap_or_default()))
    }

    /// The page as it stands in the file; `last` is the last child of an inner page. Begins anew.
    pub(super) fn take(&mut self, last: u32) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        let header = self.kind.header();
        let mut pointers = self.start + header;
        let (mut at, mut begin) = (SIZE, 0);
        for &end in &self.ends {
            at -= end - begin;
            bytes[at..at + end - begin].copy_from_slice(&self.cells[begin..end]);
            bytes[pointers..pointers + 2].copy_from_slice(&(at as u16).to_be_bytes());
            (pointers, begin) = (pointers + 2, end);
        }
        let head = &mut bytes[self.start..self.start + header];
        head[0] = self.kind as u8;
        head[3..5].copy_from_slice(&(self.ends.len() as u16).to_be_bytes());
        head[5..7].copy_from_slice(&(at as u16).to_be_bytes());
        if header == 12 {
            head[8..12].copy_from_slice(&last.to_be_bytes());
        }
        self.cells.clear();
        self.ends.clear();
        bytes
    }
}

/// Appends a number in groups of seven bits, the highest first; of nine bytes, the last has all eight of its bits.
pub(super) fn varint(out: &mut Vec<u8>, n: u64) {
    if n < 0x80 {
        return out.push(n as u8);
    }
    if n >> 56 != 0 {
        (1..=8).for_each(|group| out.push((n >> (64 - 7 * group)) as u8 | 0x80));
        return out.push(n as u8);
    }
    let groups = (64 - n.leading_zeros()).div_ceil(7);
    (1..groups).rev().for_each(|group| out.push((n >> (7 * group)) as u8 | 0x80));
    out.push(n as u8 & 0x7f);
}

/// Reads such a number, with its length in bytes.
pub(super) fn read_varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut n = 0;
    for (at, &byte) in bytes.iter().enumerate().take(9) {
        if at == 8 {
            return Some((n << 8 | u64::from(byte), 9));
        }
        n = n << 7 | u64::from(byte & 0x7f);
        if byte < 0x80 {
            return Some((n, at + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_were_written() {
        for shift in 0..64 {
            for n in [1_u64 << shift, (1 << shift) - 1, u64::MAX >> shift] {
                let mut bytes = Vec::new();
                varint(&mut bytes, n);
                assert_eq!(read_varint(&bytes), Some((n, bytes.len())), "{n:#x}");
                assert_eq!(read_varint(&bytes[..bytes.len() - 1]), None);
            }
        }
    }
}
