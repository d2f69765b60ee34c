//! Which file holds which run of the log.

use std::ops::ControlFlow;

use super::super::file::File;
use super::super::place::{Dir, Entry, PlacedFile};
use super::super::sequence::Sequence;
use super::super::{Damage, DamageKind, EvidenceError};
use super::meta::Listed;
use super::segment::{self, Broken, Segment, SegmentError};
use crate::types::Index;

/// So many segments are kept open, the oldest first: a server that removes one does not take it from its reader then.
/// With segments of 64 MiB these are 8 GiB.
const HELD: usize = 128;

/// A segment's file.
#[derive(Clone, Debug)]
pub struct SegmentFile {
    base: u64,
    id: u64,
    placed: PlacedFile,
    /// The open file of one that is held.
    held: Option<File>,
}

impl SegmentFile {
    /// Opens it; what the system says, the end of a sentence.
    ///
    /// # Errors
    /// When it is gone or is no segment of this base index and id.
    pub fn open(&self) -> Result<Segment, String> {
        let file = self.raw().map_err(|error| error.to_string())?;
        Segment::open(file, self.base, self.id).map_err(|error: SegmentError| error.to_string())
    }

    /// The file as it is, whatever its header says.
    ///
    /// # Errors
    /// When it is gone.
    pub fn raw(&self) -> Result<File, EvidenceError> {
        match &self.held {
            // The server may have written on.
            Some(file) => Ok(file.again()),
            None => self.placed.open(),
        }
    }

    /// The base index in its name.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// The path for messages.
    pub fn shown(&self) -> String {
        self.placed.shown()
    }
}

/// One segment's share of the log.
#[derive(Clone, Debug)]
pub struct Part {
    /// The index of its first entry.
    pub base: u64,
    /// Its id.
    pub id: u64,
    /// `None` where the file is not there.
    pub file: Option<SegmentFile>,
    /// The first index that counts.
    pub first: u64,
    /// The last index that counts; open in the tail.
    pub last: Option<u64>,
}

impl Part {
    /// True where an index is in its share.
    pub fn holds(&self, index: u64) -> bool {
        index >= self.first && self.last.is_none_or(|last| index <= last)
    }

    /// Its file's name.
    pub fn name(&self) -> String {
        format!("{:020}-{:016x}.wal", self.base, self.id)
    }

    /// Opens its file.
    ///
    /// # Errors
    /// As [`SegmentFile::open`].
    pub fn open(&self) -> Result<Segment, String> {
        self.file.as_ref().ok_or("the file is not there")?.open()
    }

    /// Tells of a batch that cannot be believed, as far as it counts and is wanted.
    pub fn tell(&self, batch: &Broken, start: u64, sequence: &mut Sequence<'_>) -> ControlFlow<()> {
        let first = batch.first.max(self.first).max(start);
        let last = batch.last.or(self.last).unwrap_or(first).min(self.last.unwrap_or(u64::MAX));
        if first > last {
            return ControlFlow::Continue(());
        }
        sequence.lost(Damage {
            kind: DamageKind::Checksum,
            first: Some(Index(first)),
            last: Some(Index(last)),
            offset: Some(batch.offset),
            detail: format!("segment {}: the batch at byte {}: {}", self.name(), batch.offset, batch.detail),
        })
    }
}

/// The files of a directory by base index and id, and the sum of their sizes.
pub fn segment_files(dir: &Dir, notes: &mut Vec<String>) -> (Vec<SegmentFile>, u64) {
    let mut files = Vec::new();
    let mut size = 0;
    for (name, entry) in dir.list() {
        let Entry::File(placed) = entry else { continue };
        if let Some((base, id)) = segment::parse_name(&name) {
            size += placed.len();
            let held = (files.len() < HELD).then(|| placed.open().ok()).flatten();
            files.push(SegmentFile { base, id, placed, held });
        } else if name.ends_with(".wal") {
            notes.push(format!("{name} is no name of a segment; the server would refuse to start"));
        }
    }
    (files, size)
}

/// The parts as the metadata lists them, and the files that it does not list.
pub fn listed(segments: &[Listed], files: Vec<SegmentFile>) -> (Vec<Part>, Vec<SegmentFile>) {
    let (known, orphans): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|file| segments.iter().any(|listed| listed.id == file.id));
    let part = |listed: &Listed| Part {
        base: listed.base_index,
        id: listed.id,
        file: known.iter().find(|file| file.id == listed.id).cloned(),
        first: listed.min_index.max(listed.base_index),
        last: listed.is_sealed().then_some(listed.max_index),
    };
    (segments.iter().map(part).collect(), orphans)
}

/// The parts by id where no list of them can be read: a segment voids all entries of older ones from its own base
/// index on.
pub fn unlisted(mut files: Vec<SegmentFile>) -> (Vec<Part>, Vec<SegmentFile>) {
    files.sort_by_key(|file| file.id);
    let mut parts: Vec<Part> = Vec::new();
    let mut voided = Vec::new();
    for file in files {
        let (base, id) = (file.base, file.id);
        let whole = parts.iter().take_while(|part| part.base < base).count();
        voided.extend(parts.split_off(whole).into_iter().filter_map(|part| part.file));
        if let Some(before) = parts.last_mut() {
            before.last = base.checked_sub(1);
        }
        parts.push(Part { base, id, file: Some(file), first: base, last: None });
    }
    (parts, voided)
}
