//! The write-ahead log of Nomad 2.0 and newer (storage.md 5), read without opening it as its server
//! does: that would repair the tail and delete segments.

pub mod meta;
pub mod parts;
pub mod segment;

use std::collections::VecDeque;
use std::ops::{ControlFlow, RangeInclusive};
use std::sync::{Arc, Mutex, PoisonError};

use super::bolt::{ATTEMPTS, BETWEEN_ATTEMPTS};
use super::place::Dir;
use super::raftdb::Stable;
use super::sequence::{Bad, Hole, Sequence};
use super::window::BoltFacts;
use super::{DamageKind, EvidenceError, Log, Scanned};
use crate::types::Index;
use meta::WalMeta;
use parts::{Part, SegmentFile};
use segment::{Broken, Place, Segment, Table};

/// The file that lists the segments.
pub const META: &str = "wal-meta.db";

/// So many entries' places are kept, 12 MiB, or those of one segment.
const PLACES: usize = 1 << 19;

/// A `wal/` directory.
#[derive(Debug)]
pub struct Wal {
    dir: Dir,
    path: String,
    parts: Vec<Part>,
    /// Segments that the log does not count any more.
    orphans: Vec<SegmentFile>,
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

/// What a directory holds at one moment.
struct Listing {
    /// The list of segments, or why there is none.
    metadata: Result<WalMeta, String>,
    files: Vec<SegmentFile>,
    size: u64,
    notes: Vec<String>,
}

impl Listing {
    /// Reads the list, then the files, and the list once more: a server lists a segment before it makes it, and takes it
    /// off the list before it removes it, so the files are those of a list that is the same before and after.
    fn of(dir: &Dir) -> Self {
        let mut metadata = read_metadata(dir);
        for _ in 0..ATTEMPTS {
            let mut notes = Vec::new();
            let (files, size) = parts::segment_files(dir, &mut notes);
            let again = read_metadata(dir);
            let same = match (&metadata, &again) {
                (Ok(before), Ok(after)) => before.segments == after.segments,
                (Err(_), Err(_)) => true,
                _ => false,
            };
            if same {
                return Listing { metadata, files, size, notes };
            }
            std::thread::sleep(BETWEEN_ATTEMPTS);
            metadata = again;
        }
        let mut notes = vec!["a server changes the log faster than it can be listed; give a copy".into()];
        let (files, size) = parts::segment_files(dir, &mut notes);
        Listing { metadata, files, size, notes }
    }
}

fn read_metadata(dir: &Dir) -> Result<WalMeta, String> {
    let file = dir.file(META).ok_or("the file is not there")?;
    meta::read(file.open().map_err(|error| error.to_string())?)
}

impl Wal {
    /// Reads the metadata, or goes by the segments' names where there is none.
    ///
    /// # Errors
    /// When the directory holds neither.
    pub fn open(dir: &Dir) -> Result<Self, EvidenceError> {
        let Listing { metadata, files, size, notes } = Listing::of(dir);
        let mut wal = Wal {
            dir: dir.clone(),
            path: dir.shown(),
            parts: Vec::new(),
            orphans: Vec::new(),
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
                let (parts, orphans) = parts::listed(&segments, files);
                if !orphans.is_empty() {
                    let names: Vec<String> = orphans.iter().map(SegmentFile::shown).collect();
                    wal.notes.push(format!(
                        "segments that the log does not count any more are not read: {}",
                        names.join(", ")
                    ));
                }
                (wal.parts, wal.orphans) = (parts, orphans);
            }
            Err(why) => {
                if files.is_empty() {
                    let detail = format!("no segments and no list of them: {META}: {why}; give the raft dir");
                    return Err(EvidenceError::Unreadable { path: wal.path, detail });
                }
                wal.notes.push(format!(
                    "{META} cannot be read ({why}): the segments are ordered by their names, and entries that the \
                     server had already deleted may be among them"
                ));
                (wal.parts, wal.orphans) = parts::unlisted(files);
            }
        }
        wal.find_bounds();
        // A closed segment holds entries.
        if let Some(part) = wal.parts.iter().find(|part| part.last.is_some()).filter(|_| wal.bounds.is_none()) {
            let why = wal.table(part).err().unwrap_or_else(|| "no entry in it can be read".into());
            let detail = format!("none of its segments can be read: {}: {why}; give the whole directory", part.name());
            return Err(EvidenceError::Unreadable { path: wal.path, detail });
        }
        Ok(wal)
    }

    /// Bytes of all segments.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The directory.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The segments that make up the log, in order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Segments that the log does not count any more.
    pub fn orphans(&self) -> &[SegmentFile] {
        &self.orphans
    }

    /// The directory as it can be opened again.
    pub fn dir(&self) -> &Dir {
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

    /// The verified content of a segment, from the ones that are kept or read anew.
    fn table(&self, part: &Part) -> Result<Arc<Table>, String> {
        let kept = |tables: &VecDeque<(u64, Arc<Table>)>| {
            tables.iter().find(|(id, _)| *id == part.id).map(|(_, table)| Arc::clone(table))
        };
        // The lock is not held while reading, so that other threads go on.
        if let Some(table) = kept(&self.tables.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(table);
        }
        let table = Arc::new(settled(part)?);
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.push_back((part.id, Arc::clone(&table)));
        while tables.len() > 1 && tables.iter().map(|(_, table)| table.entries.len()).sum::<usize>() > PLACES {
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

    /// An error where a server has removed a segment since the log was opened: what it held is no gap.
    fn still_listed(&self, part: &Part) -> Result<(), EvidenceError> {
        let gone = |metadata: WalMeta| !metadata.segments.iter().any(|listed| listed.id == part.id);
        if self.bolt.is_some() && read_metadata(&self.dir).is_ok_and(gone) {
            let detail = format!("its server removed segment {} while it was read; read it again", part.name());
            return Err(EvidenceError::Unreadable { path: self.path.clone(), detail });
        }
        Ok(())
    }

    /// Feeds the entries and the damage of one segment.
    fn scan_part(
        &self,
        part: &Part,
        start: u64,
        sequence: &mut Sequence<'_>,
    ) -> Result<ControlFlow<()>, EvidenceError> {
        let lost = |detail: String| Hole { first: Some(part.first), last: part.last, offset: None, detail };
        let name = part.name();
        let (table, mut segment) = match self.table(part).and_then(|table| Ok((table, part.open()?))) {
            Ok(both) => both,
            Err(why) => {
                self.still_listed(part)?;
                // The newest segment may not have been made yet.
                if part.last.is_some() || part.file.is_some() {
                    sequence.hole(lost(format!("segment {name}: {why}")));
                }
                return Ok(ControlFlow::Continue(()));
            }
        };
        let end = self.bounds.map_or(0, |(_, last)| last.0);
        let mut broken = table.broken.iter().peekable();
        for place in table.entries.iter().filter(|place| part.holds(place.index) && place.index >= start) {
            while let Some(batch) = broken.next_if(|batch| batch.first < place.index) {
                if part.tell(batch, start, sequence).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            // A server may have gone on writing since the bounds were found.
            if place.index > end {
                return Ok(ControlFlow::Continue(()));
            }
            if !sequence.is_past(place.index) && feed(&mut segment, place, &name, sequence).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        if part.last.is_none() && segment.is_cut() {
            let detail = format!("the archive ends inside of segment {name}");
            sequence.hole(Hole { first: Some(end.saturating_add(1)), last: None, offset: None, detail });
        }
        // In the tail this is what the server drops by itself.
        Ok(match table.rest.as_ref().filter(|_| part.last.is_some()) {
            Some(rest) => part.tell(&Broken { last: part.last, ..rest.clone() }, start, sequence),
            None => ControlFlow::Continue(()),
        })
    }
}

/// What a segment holds. A server may have been writing its tail: damage in the midst of one is believed when it
/// stays the same.
fn settled(part: &Part) -> Result<Table, String> {
    let mut table = part.open()?.table();
    for _ in 0..ATTEMPTS {
        if part.last.is_some() || table.broken.is_empty() {
            break;
        }
        std::thread::sleep(BETWEEN_ATTEMPTS);
        let again = part.open()?.table();
        if again.broken == table.broken {
            break;
        }
        table = again;
    }
    Ok(table)
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
            if self.scan_part(part, start, &mut sequence)?.is_break() {
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
        let unreadable = |detail| EvidenceError::Unreadable { path: self.path.clone(), detail };
        // Of two segments with the same index the later one counts.
        let Some(part) = self.parts.iter().rev().find(|part| part.holds(index.0)) else { return Ok(None) };
        let lost = |why: String| unreadable(format!("entry {index} cannot be read: segment {}: {why}", part.name()));
        let table = match self.table(part) {
            Ok(table) => table,
            Err(why) => {
                self.still_listed(part)?;
                return Err(lost(why));
            }
        };
        let Ok(at) = table.entries.binary_search_by_key(&index.0, |place| place.index) else {
            return match table.broken.iter().find(|batch| batch.first <= index.0 && batch.last >= Some(index.0)) {
                Some(batch) => Err(lost(batch.detail.clone())),
                None => Ok(None),
            };
        };
        let Some(place) = table.entries.get(at) else { return Ok(None) };
        let mut segment = part.open().map_err(lost)?;
        let payload = segment.payload(place).map_err(|error| lost(error.to_string()))?;
        match segment::decode(&payload) {
            Ok(record) if record.index == index => Ok(Some(record.data.to_vec())),
            Ok(record) => Err(lost(format!("it says that it is {}", record.index))),
            Err(why) => Err(lost(why.into())),
        }
    }
}
