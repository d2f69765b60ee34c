//! Segments of the write-ahead log (storage.md 5.2, 5.3), always little endian.
//!
//! ```text
//! file header, 32 bytes             frame, at multiples of 8
//!   0  u32  magic 0x58eb6b0d          0  u8   type: 1 entry, 2 index, 3 commit, 0 nothing more
//!   4  u8[3] zero                     1  u8[3] zero
//!   7  u8   version 0                 4  u32  length of the payload; for a commit the CRC-32C of all
//!   8  u64  base index                        bytes since the commit before it
//!  16  u64  segment id                8  payload, then zeros up to a multiple of 8
//!  24  u64  codec
//! ```
//!
//! A batch is the frames up to and including a commit. Its entries count only when its sum fits.

use std::io;

use super::super::LogType;
use super::super::Record;
use super::super::file::{Bytes, Chunks, File, Shape};
use crate::entry::raft_log;
use crate::entry::time::GoTime;
use crate::types::{Index, Term};

const MAGIC: u64 = 0x58eb_6b0d;
/// Bytes of a file's header.
pub const HEADER_SIZE: u64 = 32;
/// Bytes of a frame's header.
pub const FRAME_HEADER: u64 = 8;
const LARGEST_ENTRY: u32 = 64 << 20;
/// How far behind a batch that was found after damage the one is looked for of which it may be a copy.
const COPIES_WITHIN: u64 = 1 << 20;
/// Zeros are passed over in pieces of this size.
pub const ZEROS: u64 = 4096;
/// An entry without a payload: five numbers of a byte each and the time of 15 bytes.
const SMALLEST_FRAME: u64 = FRAME_HEADER + 24;

const ENTRY: u8 = 1;
const INDEX: u8 = 2;
const COMMIT: u8 = 3;

/// raft-wal's own way to write entries; it knows no other.
const CODEC: u64 = 1;

/// Why a segment's header cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    /// The system could not read it, or it is too short.
    #[error("its header cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The first bytes are not those of a segment.
    #[error("it does not begin like a segment")]
    Magic,
    /// The header tells of another segment.
    #[error("its header says base index {base} and id {id:x}")]
    Other {
        /// The base index in the header.
        base: u64,
        /// The id in the header.
        id: u64,
    },
    /// Entries are written in another way.
    #[error("its entries are in codec {0}, of which only {CODEC} is known")]
    Codec(u64),
}

/// The base index and the id in a segment's file name; `None` for a name of another form.
pub fn parse_name(name: &str) -> Option<(u64, u64)> {
    let (base, id) = name.strip_suffix(".wal")?.split_once('-')?;
    let well_formed = base.len() == 20 && id.len() == 16;
    Some((base.parse().ok()?, u64::from_str_radix(id, 16).ok()?)).filter(|_| well_formed)
}

/// Where the payload of an entry lies in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The entry's index.
    pub index: u64,
    /// Offset of the payload in bytes.
    pub offset: u64,
    /// Its length in bytes.
    pub len: u32,
}

/// Entries that cannot be believed, since the sum over them does not fit or their frames cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The first index that is lost.
    pub first: u64,
    /// The last index that is lost; `None` where nothing good follows in the segment.
    pub last: Option<u64>,
    /// Where the batch begins, in bytes.
    pub offset: u64,
    /// What is wrong, the end of a sentence.
    pub detail: String,
}

/// All that a segment holds, with every batch's sum verified.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Good entries in order of index.
    pub entries: Vec<Place>,
    /// Damage that good batches follow, in order of index.
    pub broken: Vec<Broken>,
    /// What stands behind the last good batch: a batch that was not finished, or damage.
    pub rest: Option<Broken>,
    /// The segment was closed by its writer: an index frame follows its entries.
    pub sealed: bool,
}

/// A run of frames up to a commit.
struct Batch {
    entries: Vec<Place>,
    sealed: bool,
    /// Where the next batch begins.
    end: u64,
    good: bool,
}

enum Frames {
    /// A whole batch, whose sum may not fit.
    Batch(Batch),
    /// Nothing but zeros follow the batch before.
    End,
    /// The frames break off: how many entries there were, and why.
    Broken(u64, String),
}

/// One open segment.
#[derive(Debug)]
pub struct Segment {
    chunks: Chunks,
    base: u64,
}

impl Segment {
    /// Checks the header of a segment whose base index and id are known from its name or the metadata.
    ///
    /// # Errors
    /// When the header is not that of this segment.
    pub fn open(file: File, base: u64, id: u64) -> Result<Self, SegmentError> {
        let mut header = [0; HEADER_SIZE as usize];
        file.read_at(0, &mut header)?;
        let word = |n: usize| {
            header.get(8 * n..).and_then(|bytes| bytes.first_chunk()).map_or(0, |raw| u64::from_le_bytes(*raw))
        };
        if word(0) != MAGIC {
            return Err(SegmentError::Magic);
        }
        if (word(1), word(2)) != (base, id) {
            return Err(SegmentError::Other { base: word(1), id: word(2) });
        }
        if word(3) != CODEC {
            return Err(SegmentError::Codec(word(3)));
        }
        Ok(Segment { chunks: Chunks::new(file, Shape::WALK), base })
    }

    /// The payload of an entry.
    ///
    /// # Errors
    /// What the system says.
    pub fn payload(&mut self, place: &Place) -> io::Result<Bytes> {
        self.chunks.read(place.offset, place.len as usize)
    }

    /// True where the file is known to have gone on behind its end.
    pub fn is_cut(&self) -> bool {
        self.chunks.file().is_cut()
    }

    /// Reads all frames and verifies every batch's sum.
    pub fn table(&mut self) -> Table {
        let mut table = Table::default();
        let mut at = 0;
        let mut next = self.base;
        loop {
            let (count, detail) = match self.batch(at, next) {
                Frames::End => break,
                Frames::Batch(batch) if batch.good => {
                    next = next.saturating_add(batch.entries.len() as u64);
                    table.entries.extend(batch.entries);
                    table.sealed |= batch.sealed;
                    at = batch.end;
                    continue;
                }
                Frames::Batch(batch) => (batch.entries.len() as u64, "its checksum does not fit".to_string()),
                Frames::Broken(count, detail) => (count, detail),
            };
            let mut broken = Broken { first: next, last: None, offset: at, detail };
            // Lost in part: go on at the next batch whose sum fits and whose entries say who they are.
            match self.next_good(at, next) {
                Some((start, index)) => {
                    broken.last = index.checked_sub(1);
                    if broken.last >= Some(broken.first) {
                        table.broken.push(broken);
                    }
                    (at, next) = (start, index);
                }
                None => {
                    if count > 0 {
                        broken.last = Some(next.saturating_add(count - 1));
                    }
                    table.rest = Some(broken);
                    break;
                }
            }
        }
        table
    }

    /// The batch that begins at `start`, its first entry being `next`.
    fn batch(&mut self, start: u64, next: u64) -> Frames {
        let mut at = start.max(HEADER_SIZE);
        let mut batch = Batch { entries: Vec::new(), sealed: false, end: 0, good: false };
        loop {
            let count = batch.entries.len() as u64;
            let Ok(header) = self.chunks.read(at, FRAME_HEADER as usize) else {
                // A file may end right behind a commit.
                let whole = at == self.chunks.file().len() && at == start.max(HEADER_SIZE);
                return if whole { Frames::End } else { Frames::Broken(count, format!("it breaks off at byte {at}")) };
            };
            let value = header.get(4..).and_then(|raw| raw.first_chunk()).map_or(0, |raw| u32::from_le_bytes(*raw));
            let kind = match *header {
                [kind, 0, 0, 0, ..] => kind,
                _ => return Frames::Broken(count, format!("there is no frame at byte {at}")),
            };
            let payload = at + FRAME_HEADER;
            match kind {
                0 if value == 0 && at == start.max(HEADER_SIZE) => return Frames::End,
                0 if value == 0 => return Frames::Broken(count, "it was never finished".into()),
                ENTRY if value <= LARGEST_ENTRY => match next.checked_add(count) {
                    Some(index) => batch.entries.push(Place { index, offset: payload, len: value }),
                    None => return Frames::Broken(count, format!("the index of the entry at byte {at} is too large")),
                },
                INDEX => batch.sealed = true,
                COMMIT => {
                    batch.end = payload;
                    batch.good = self.sum(start, at) == Some(value);
                    return Frames::Batch(batch);
                }
                _ => return Frames::Broken(count, format!("there is no frame at byte {at}")),
            }
            at = payload + u64::from(value).next_multiple_of(8);
        }
    }

    /// CRC-32C of the bytes from `start` up to `end`.
    fn sum(&mut self, start: u64, end: u64) -> Option<u32> {
        let mut sum = 0;
        let mut at = start;
        while at < end {
            // Piece by piece along the chunks, so that nothing is copied.
            let piece = (Shape::WALK.size as u64 - at % Shape::WALK.size as u64).min(end - at);
            sum = crc32c::crc32c_append(sum, &self.chunks.read(at, piece as usize).ok()?);
            at += piece;
        }
        Some(sum)
    }

    /// The first good batch with entries after the broken one at `broken`: where it begins and its
    /// first index, which must not be below `next`. Any place may be a batch's start, since the commit
    /// before it may be what is damaged; the sum decides. A block that was written to a wrong place
    /// can hold a copy of a later batch: then the later one, at or below its index, is the right one.
    fn next_good(&mut self, broken: u64, next: u64) -> Option<(u64, u64)> {
        let mut at = broken.max(HEADER_SIZE) + FRAME_HEADER;
        let mut found: Option<(u64, u64)> = None;
        while let Ok(header) = self.chunks.read(at, FRAME_HEADER as usize) {
            if found.is_some_and(|(start, _)| at > start + COPIES_WITHIN) {
                break;
            }
            // Segments are allotted far ahead.
            if is_blank(&mut self.chunks, at) {
                at += ZEROS;
                continue;
            }
            if matches!(*header, [ENTRY, 0, 0, 0, ..])
                && let Frames::Batch(batch) = self.batch(at, 0)
                && batch.good
                && let Some(index) = self.first_index(&batch)
                && index >= next
                // What lies between must have had room.
                && (index - next).saturating_mul(SMALLEST_FRAME) <= at - broken
            {
                if found.is_none_or(|(_, other)| index <= other) {
                    found = Some((at, index));
                }
                at = batch.end;
                continue;
            }
            at += FRAME_HEADER;
        }
        found
    }

    fn first_index(&mut self, batch: &Batch) -> Option<u64> {
        let payload = self.payload(batch.entries.first()?).ok()?;
        decode(&payload).ok().map(|record| record.index.0)
    }
}

/// True where a piece of [`ZEROS`] bytes begins at `at` that holds nothing else.
pub fn is_blank(chunks: &mut Chunks, at: u64) -> bool {
    at.is_multiple_of(ZEROS) && chunks.read(at, ZEROS as usize).is_ok_and(|bytes| bytes.iter().all(|byte| *byte == 0))
}

/// A frame that holds an entry, by itself: no sum vouches for it.
#[derive(Debug)]
pub struct CarvedFrame {
    /// The entry's payload.
    pub payload: Bytes,
    /// Where the next frame would begin.
    pub end: u64,
}

/// The frame whose payload begins at `offset`, if it looks in every part like one with an entry of a segment that
/// begins at index `base`.
pub fn carve_at(chunks: &mut Chunks, base: u64, offset: u64) -> Option<CarvedFrame> {
    let header = chunks.read(offset.checked_sub(FRAME_HEADER)?, FRAME_HEADER as usize).ok()?;
    let [ENTRY, 0, 0, 0, a, b, c, d] = *header else { return None };
    let len = u32::from_le_bytes([a, b, c, d]);
    let end = offset.checked_add(u64::from(len))?;
    if len > LARGEST_ENTRY || end > chunks.file().len() {
        return None;
    }
    let payload = chunks.read(offset, len as usize).ok()?;
    let (record, rest) = parts(&payload).ok()?;
    let room = (offset - HEADER_SIZE) / SMALLEST_FRAME;
    let placed = record.index.0.checked_sub(base).is_some_and(|before| before <= room);
    let timed = matches!((rest.first(), rest.len()), (Some(1), 15) | (Some(2), 16));
    let known = !matches!(record.kind, LogType::Other(_)) && record.term > Term(0);
    (placed && timed && known).then_some(CarvedFrame { payload, end: end.next_multiple_of(8) })
}

/// Decodes an entry's payload; `Err` says what is wrong, the end of a sentence.
///
/// # Errors
/// When the bytes end early.
pub fn decode(payload: &[u8]) -> Result<Record<'_>, &'static str> {
    parts(payload).map(|(record, _)| record)
}

/// An entry, and what stands behind its extensions: its time.
fn parts(payload: &[u8]) -> Result<(Record<'_>, &[u8]), &'static str> {
    let mut rest = payload;
    let early = "the entry ends early";
    let index = uvarint(&mut rest).ok_or(early)?;
    let term = uvarint(&mut rest).ok_or(early)?;
    let kind = uvarint(&mut rest).ok_or(early)?;
    let data = sized(&mut rest).ok_or(early)?;
    sized(&mut rest).ok_or(early)?;
    let appended_at = GoTime::from_raw(rest).and_then(raft_log::timestamp);
    let kind = LogType::from_number(kind);
    Ok((Record { index: Index(index), term: Term(term), kind, data, appended_at }, rest))
}

fn sized<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = usize::try_from(uvarint(rest)?).ok()?;
    let (bytes, behind) = rest.split_at_checked(len)?;
    *rest = behind;
    Some(bytes)
}

/// A number in base 128, the low groups first.
fn uvarint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, behind) = rest.split_first()?;
        *rest = behind;
        value |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_strictly() {
        assert_eq!(parse_name("00000000000000000034-000000000000000a.wal"), Some((34, 10)));
        for name in ["34-1.wal", "00000000000000000034-0000000000000001", "wal-meta.db", "x-y.wal"] {
            assert_eq!(parse_name(name), None, "{name}");
        }
    }

    #[test]
    fn an_entry_that_ends_early_is_refused() {
        let whole = [&[0x85, 0x02, 3, 0, 2, 9, 8, 0, 1][..], &[0; 14]].concat();
        let record = decode(&whole).unwrap();
        assert_eq!((record.index, record.term, record.data), (Index(261), Term(3), &[9, 8][..]));
        for len in 0..8 {
            assert!(decode(&whole[..len]).is_err(), "{len}");
        }
        assert!(decode(&[0xff; 12]).is_err());
    }
}
