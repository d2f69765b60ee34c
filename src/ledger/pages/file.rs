//! The file as a row of pages, written from the first to the last.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use super::SIZE;

/// The page on which SQLite puts its locks, at the first gigabyte: nothing may stand there.
const LOCKS: u32 = (0x4000_0000 / SIZE) as u32 + 1;

/// What is written at once.
const BUFFER: usize = 256 * SIZE;

/// The pages of a new file.
#[derive(Debug)]
pub(in crate::ledger) struct Pages {
    file: File,
    /// The number of the first page that waits; pages count from 1.
    first: u32,
    waiting: Vec<u8>,
}

impl Pages {
    /// Begins an empty file. Its first page is left for [`super::write_schema`], so that until then nobody takes it for
    /// a whole one.
    pub(in crate::ledger) fn new(file: File) -> Self {
        Pages { file, first: 1, waiting: vec![0; SIZE] }
    }

    /// The number of the page that comes next.
    pub(super) fn next(&self) -> u32 {
        behind(self.count())
    }

    /// How many pages there are.
    pub(super) fn count(&self) -> u32 {
        self.first + (self.waiting.len() / SIZE) as u32 - 1
    }

    /// Appends a page and gives its number.
    pub(super) fn append(&mut self, page: &[u8; SIZE]) -> io::Result<u32> {
        if self.waiting.len() >= BUFFER {
            self.flush()?;
        }
        let number = self.next();
        let free = (number - self.first) as usize * SIZE;
        self.waiting.resize(free, 0);
        self.waiting.extend_from_slice(page);
        Ok(number)
    }

    /// Appends the part of a record that its page has no room for: the number of the first page of it.
    pub(super) fn overflow(&mut self, rest: &[u8]) -> io::Result<u32> {
        let first = self.next();
        let mut parts = rest.chunks(SIZE - 4).peekable();
        while let Some(part) = parts.next() {
            let mut page = [0; SIZE];
            let next = if parts.peek().is_some() { behind(self.next()) } else { 0 };
            page[..4].copy_from_slice(&next.to_be_bytes());
            page[4..4 + part.len()].copy_from_slice(part);
            self.append(&page)?;
        }
        Ok(first)
    }

    /// Reads a page that was written.
    pub(super) fn read(&mut self, number: u32) -> io::Result<[u8; SIZE]> {
        let mut page = [0; SIZE];
        if let Some(waiting) = self.waiting(number) {
            page.copy_from_slice(waiting);
        } else {
            self.file.seek(SeekFrom::Start(offset(number)))?;
            self.file.read_exact(&mut page)?;
        }
        Ok(page)
    }

    /// Writes a page again.
    pub(super) fn rewrite(&mut self, number: u32, page: &[u8; SIZE]) -> io::Result<()> {
        if let Some(waiting) = self.waiting(number) {
            waiting.copy_from_slice(page);
            return Ok(());
        }
        self.file.seek(SeekFrom::Start(offset(number)))?;
        self.file.write_all(page)
    }

    /// Writes what waits.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(offset(self.first)))?;
        self.file.write_all(&self.waiting)?;
        self.first += (self.waiting.len() / SIZE) as u32;
        self.waiting.clear();
        Ok(())
    }

    fn waiting(&mut self, number: u32) -> Option<&mut [u8]> {
        let at = number.checked_sub(self.first)? as usize * SIZE;
        self.waiting.get_mut(at..at + SIZE)
    }
}

/// The page behind a page.
fn behind(number: u32) -> u32 {
    if number + 1 == LOCKS { LOCKS + 1 } else { number + 1 }
}

fn offset(number: u32) -> u64 {
    u64::from(number - 1) * SIZE as u64
}
