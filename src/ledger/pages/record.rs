//! Rows as records: a header with the type of each value, and the values.

use super::page::{read_varint, varint};

/// A row that is being made, value by value in order of its columns.
#[derive(Debug, Default)]
pub(in crate::ledger) struct Record {
    types: Vec<u8>,
    values: Vec<u8>,
    bytes: Vec<u8>,
}

impl Record {
    /// No value; also what stands for the key of a row.
    pub(in crate::ledger) fn null(&mut self) {
        self.types.push(0);
    }

    /// A number.
    pub(in crate::ledger) fn int(&mut self, n: i64) {
        let (kind, bytes, length) = integer(n);
        self.types.push(kind);
        self.values.extend_from_slice(&bytes[8 - length..]);
    }

    /// A text.
    pub(in crate::ledger) fn text(&mut self, text: &str) {
        varint(&mut self.types, 13 + 2 * text.len() as u64);
        self.values.extend_from_slice(text.as_bytes());
    }

    /// Bytes.
    pub(in crate::ledger) fn blob(&mut self, bytes: &[u8]) {
        varint(&mut self.types, 12 + 2 * bytes.len() as u64);
        self.values.extend_from_slice(bytes);
    }

    /// The record. The next value begins another.
    pub(in crate::ledger) fn take(&mut self) -> &[u8] {
        self.bytes.clear();
        // The length of the header is part of it.
        let types = self.types.len() as u64;
        varint(&mut self.bytes, if types < 0x7f { types + 1 } else { types + 2 });
        self.bytes.extend_from_slice(&self.types);
        self.bytes.extend_from_slice(&self.values);
        self.types.clear();
        self.values.clear();
        &self.bytes
    }
}

/// How many bytes longer a record becomes where a number takes the place of no value, at most.
pub(super) const LONGER: usize = 8;

/// The type of a number, its bytes and how many of them count: the last ones.
fn integer(n: i64) -> (u8, [u8; 8], usize) {
    let bytes = n.to_be_bytes();
    let bits = 65 - (n ^ n >> 63).leading_zeros();
    let (kind, length) = match (n, bits) {
        (0, _) => (8, 0),
        (1, _) => (9, 0),
        (_, ..=8) => (1, 1),
        (_, ..=16) => (2, 2),
        (_, ..=24) => (3, 3),
        (_, ..=32) => (4, 4),
        (_, ..=48) => (5, 6),
        _ => (6, 8),
    };
    (kind, bytes, length)
}

/// The length of a value by its type.
fn length(kind: u64) -> usize {
    match kind {
        0 | 8 | 9 => 0,
        1..=4 => kind as usize,
        5 => 6,
        6 | 7 => 8,
        _ => (kind.saturating_sub(12) / 2) as usize,
    }
}

/// A record with a number in the third column, where it has no value; `None` where it is no such record.
pub(super) fn with_third(record: &[u8], n: i64) -> Option<Vec<u8>> {
    let (header, mut at) = read_varint(record)?;
    let mut before = usize::try_from(header).ok()?;
    for _ in 0..2 {
        let (kind, bytes) = read_varint(record.get(at..)?)?;
        (at, before) = (at + bytes, before + length(kind));
    }
    if *record.get(at)? != 0 {
        return None;
    }
    let (kind, bytes, length) = integer(n);
    let mut changed = Vec::with_capacity(record.len() + LONGER);
    changed.extend_from_slice(record.get(..before)?);
    changed.extend_from_slice(&bytes[8 - length..]);
    changed.extend_from_slice(record.get(before..)?);
    *changed.get_mut(at)? = kind;
    Some(changed)
}
