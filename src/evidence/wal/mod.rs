//! The write-ahead log of Nomad 2.0 and newer (storage.md 5), read without opening it as its server
//! does: that would repair the tail and delete segments.

pub mod meta;
pub mod segment;

use std::collections::VecDeque;
use std::ops::{ControlFlow, RangeInclusive};
use std::sync::{Arc, Mutex, PoisonError};

use super::place::{Dir, Entry, PlacedFile};
use super::raftdb::Stable;
use super::sequence::{Bad, Hole, Sequence};
use super::window::BoltFacts;
use super::{Damage, DamageKind, EvidenceError, Log, Scanned};
use crate::types::Index;
use meta::{Listed, WalMeta};
use segment::{Broken, Place, Segment, Table};

/// The file that lists the segments.
pub const META: &str = "wal-meta.db";

/// How many segments' tables are kept; with 64 MiB segments a few hundred kilobytes each.
const TABLES: usize = 16;

/// One segment's share of the log.
#[derive(Clone, Debug)]
struct Part {
    base: u64,
    id: u64,
    /// `None` where the file is not there.
    file: Option<PlacedFile>,
    /// The first and last index that count; the last is open in the tail.
    first: u64,
    last: Option<u64>,
}

/// A `wal/` directory.
#[derive(Debug)]
pub struct Wal {
    dir: String,
    parts: Vec<Part>,
    size: u64,
    bounds: Option<(Index, Index)>,
    stable: Stable,
    bolt: Option<BoltFacts>,
    notes: Vec<String>,
    tables: Mutex<VecDeque<(u64, Arc<Table>)>>,
}

/// True for a directory that holds segments or the list of them.
pub fn is_wal(dir: &Dir) -> bool {
    dir.file(META).is_some() || dir.list().iter().any(|(name, _)| segment::parse_name(name).is_some())
}

impl Wal {
    /// Reads the metadata, or goes by the segments' names where there is none.
    ///
    /// # Errors
    /// When the directory holds neither.
    pub fn open(dir: &Dir) -> Result<Self, EvidenceError> {
        let mut notes = Vec::new();
        let (files, size) = segment_files(dir, &mut notes);
        let metadata = match dir.file(META).map(|file| file.open()) {
            Some(Ok(file)) => meta::read(file),
            Some(Err(error)) => Err(error.to_string()),
            None => Err("the file is not there".into()),
        };
        let mut wal = Wal {
            dir: dir.shown(),
            parts: Vec::new(),
            size,
            bounds: None,
            stable: Stable::default(),
            bolt: None,
            notes,
            tables: Mutex::new(VecDeque::new()),
        };
        match metadata {
            Ok(WalMeta { bolt, active: (active, meta), segments, stable }) => {
                wal.bolt = Some(BoltFacts::new(bolt.metas(), (active, &meta)));
                wal.stable = stable;
                wal.parts = listed_parts(&segments, files, &mut wal.notes);
            }
            Err(why) => {
                if files.is_empty() {
                    let detail = format!("no segments and no list of them: {META}: {why}; give the raft dir");
                    return Err(EvidenceError::Unreadable { path: wal.dir, detail });
                }
                wal.notes.push(format!(
                    "{META} cannot be read ({why}): the segments are ordered by their names, and entries that the \
                     server had already deleted may be among them"
                ));
                wal.parts = unlisted_parts(files);
            }
        }
        wal.find_bounds();
        Ok(wal)
    }

    /// Bytes of all segments.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The directory.
    pub fn path(&self) -> &str {
        &self.dir
    }

    /// The stable store.
    pub fn stable(&self) -> &Stable {
        &self.stable
    }

    /// The geometry of `wal-meta.db`.
    pub fn bolt(&self) -> Option<&BoltFacts> {
        self.bolt.as_ref()
    }

    /// What a reader should know, a sentence each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    fn open_part(&self, part: &Part) -> Result<Segment, String> {
        let Some(file) = &part.file else { return Err("the file is not there".into()) };
        let file = file.open().map_err(|error| error.to_string())?;
        Segment::open(file, part.base, part.id).map_err(|error| error.to_string())
    }

    /// The verified content of a segment, from the ones that are kept or read anew.
    fn table(&self, part: &Part) -> Result<Arc<Table>, String> {
        let kept = |tables: &VecDeque<(u64, Arc<Table>)>| {
            tables.iter().find(|(id, _)| *id == part.id).map(|(_, table)| Arc::clone(table))
        };
        // The lock is not held while reading, so that other threads go on.
        if let Some(table) = kept(&self.tables.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(table);
        }
        let table = Arc::new(self.open_part(part)?.table());
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.push_back((part.id, Arc::clone(&table)));
        if tables.len() > TABLES {
            tables.pop_front();
        }
        Ok(table)
    }

    fn find_bounds(&mut self) {
        let of_part = |part: &Part, last: bool| {
            let table = self.table(part).ok()?;
            let mut good = table.entries.iter().map(|place| place.index).filter(|index| part.holds(*index));
            if last { good.next_back() } else { good.next() }
        };
        let first = self.parts.iter().find_map(|part| of_part(part, false));
        let last = self.parts.iter().rev().find_map(|part| of_part(part, true));
        self.bounds = first.zip(last).map(|(first, last)| (Index(first), Index(last)));
        if let Some(part) = self.parts.last().filter(|part| part.last.is_none())
            && let Some(rest) = self.table(part).ok().and_then(|table| table.rest.clone())
        {
            let index = rest.first;
            self.notes.push(format!(
                "behind the last commit, at byte {} of the newest segment, stands a batch from entry {index} on that \
                 does not count: {}",
                rest.offset, rest.detail
            ));
        }
    }

    /// Feeds the entries and the damage of one segment.
    fn scan_part(&self, part: &Part, start: u64, sequence: &mut Sequence<'_>) -> ControlFlow<()> {
        let lost = |detail: String| Hole { first: Some(part.first), last: part.last, offset: None, detail };
        let name = part.name();
        let (table, mut segment) = match self.table(part).and_then(|table| Ok((table, self.open_part(part)?))) {
            Ok(both) => both,
            Err(why) => {
                // The newest segment may not have been made yet.
                if part.last.is_some() || part.file.is_some() {
                    sequence.hole(lost(format!("segment {name}: {why}")));
                }
                return ControlFlow::Continue(());
            }
        };
        let end = self.bounds.map_or(0, |(_, last)| last.0);
        let mut broken = table.broken.iter().peekable();
        for place in table.entries.iter().filter(|place| part.holds(place.index) && place.index >= start) {
            while let Some(batch) = broken.next_if(|batch| batch.first < place.index) {
                part.tell(batch, &name, start, sequence)?;
            }
            // A server may have gone on writing since the bounds were found.
            if place.index > end {
                return ControlFlow::Continue(());
            }
            if !sequence.is_past(place.index) {
                feed(&mut segment, place, &name, sequence)?;
            }
        }
        // In the tail this is what the server drops by itself.
        match table.rest.as_ref().filter(|_| part.last.is_some()) {
            Some(rest) => part.tell(&Broken { last: part.last, ..rest.clone() }, &name, start, sequence),
            None => ControlFlow::Continue(()),
        }
    }
}

impl Part {
    fn holds(&self, index: u64) -> bool {
        index >= self.first && self.last.is_none_or(|last| index <= last)
    }

    fn name(&self) -> String {
        format!("{:020}-{:016x}.wal", self.base, self.id)
    }

    /// Tells of a batch that cannot be believed, as far as it counts and is wanted.
    fn tell(&self, batch: &Broken, name: &str, start: u64, sequence: &mut Sequence<'_>) -> ControlFlow<()> {
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
            detail: format!("segment {name}: the batch at byte {}: {}", batch.offset, batch.detail),
        })
    }
}

fn feed(segment: &mut Segment, place: &Place, name: &str, sequence: &mut Sequence<'_>) -> ControlFlow<()> {
    let bad = |kind, inner, detail: String| Bad {
        kind,
        key: Some(place.index),
        inner,
        offset: place.offset,
        detail: format!("segment {name}: {detail}"),
    };
    let payload = match segment.payload(place) {
        Ok(payload) => payload,
        Err(error) => {
            let detail = format!("entry {} cannot be read: {error}", place.index);
            return sequence.bad(bad(DamageKind::UndecodableEntry, None, detail));
        }
    };
    match segment::decode(&payload) {
        Ok(record) if record.index.0 == place.index => sequence.entry(record),
        Ok(record) => {
            let detail = format!("the entry in the place of {} says that it is {}", place.index, record.index);
            sequence.bad(bad(DamageKind::KeyMismatch, Some(record.index.0), detail))
        }
        Err(why) => {
            let detail = format!("entry {} cannot be decoded: {why}", place.index);
            sequence.bad(bad(DamageKind::UndecodableEntry, None, detail))
        }
    }
}

impl Log for Wal {
    fn bounds(&self) -> Option<(Index, Index)> {
        self.bounds
    }

    fn scan(
        &self,
        range: RangeInclusive<Index>,
        sink: &mut dyn FnMut(Scanned<'_>) -> ControlFlow<()>,
    ) -> Result<(), EvidenceError> {
        let (start, end) = (range.start().0, range.end().0);
        let inside = self.bounds.is_some_and(|(first, _)| start > first.0);
        let mut sequence = Sequence::new(inside.then_some(start), end, sink);
        for part in &self.parts {
            if part.last.is_some_and(|last| last < start) {
                continue;
            }
            if part.first > end {
                // What is missing up to the end of the range.
                let _ = sequence.finish(Some(end));
                return Ok(());
            }
            if self.scan_part(part, start, &mut sequence).is_break() {
                return Ok(());
            }
        }
        // A sealed segment tells how far it should reach; the tail does not.
        let _ = sequence.finish(self.parts.last().and_then(|part| part.last));
        Ok(())
    }

    fn data(&self, index: Index) -> Result<Option<Vec<u8>>, EvidenceError> {
        if self.bounds.is_none_or(|(first, last)| index < first || index > last) {
            return Ok(None);
        }
        let unreadable = |detail| EvidenceError::Unreadable { path: self.dir.clone(), detail };
        // Of two segments with the same index the later one counts.
        let Some(part) = self.parts.iter().rev().find(|part| part.holds(index.0)) else { return Ok(None) };
        let lost = |why: String| unreadable(format!("entry {index} cannot be read: segment {}: {why}", part.name()));
        let table = self.table(part).map_err(lost)?;
        let Ok(at) = table.entries.binary_search_by_key(&index.0, |place| place.index) else {
            return match table.broken.iter().find(|batch| batch.first <= index.0 && batch.last >= Some(index.0)) {
                Some(batch) => Err(lost(batch.detail.clone())),
                None => Ok(None),
            };
        };
        let Some(place) = table.entries.get(at) else { return Ok(None) };
        let mut segment = self.open_part(part).map_err(lost)?;
        let payload = segment.payload(place).map_err(|error| lost(error.to_string()))?;
        match segment::decode(&payload) {
            Ok(record) if record.index == index => Ok(Some(record.data.to_vec())),
            Ok(record) => Err(lost(format!("it says that it is {}", record.index))),
            Err(why) => Err(lost(why.into())),
        }
    }
}

type Files = Vec<(u64, u64, PlacedFile)>;

/// The segments by base index and id, and the sum of their sizes.
fn segment_files(dir: &Dir, notes: &mut Vec<String>) -> (Files, u64) {
    let mut files = Vec::new();
    let mut size = 0;
    for (name, entry) in dir.list() {
        let Entry::File(file) = entry else { continue };
        if let Some((base, id)) = segment::parse_name(&name) {
            size += file.len();
            files.push((base, id, file));
        } else if name.ends_with(".wal") {
            notes.push(format!("{name} is no name of a segment; the server would refuse to start"));
        }
    }
    (files, size)
}

fn listed_parts(segments: &[Listed], files: Files, notes: &mut Vec<String>) -> Vec<Part> {
    let orphans = files.iter().filter(|(_, id, _)| !segments.iter().any(|listed| listed.id == *id));
    let orphans: Vec<String> = orphans.map(|(_, _, file)| file.shown()).collect();
    if !orphans.is_empty() {
        notes.push(format!("segments that the log does not count any more are not read: {}", orphans.join(", ")));
    }
    let part = |listed: &Listed| Part {
        base: listed.base_index,
        id: listed.id,
        file: files.iter().find(|(_, id, _)| *id == listed.id).map(|(_, _, file)| file.clone()),
        first: listed.min_index.max(listed.base_index),
        last: listed.is_sealed().then_some(listed.max_index),
    };
    segments.iter().map(part).collect()
}

/// By id; a segment voids all entries of older ones from its own base index on.
fn unlisted_parts(mut files: Files) -> Vec<Part> {
    files.sort_by_key(|(_, id, _)| *id);
    let mut parts: Vec<Part> = Vec::new();
    for (base, id, file) in files {
        parts.retain(|part| part.base < base);
        if let Some(before) = parts.last_mut() {
            before.last = base.checked_sub(1);
        }
        parts.push(Part { base, id, file: Some(file), first: base, last: None });
    }
    parts
}
