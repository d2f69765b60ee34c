//! Carving: entries that are in the files and not in the log (storage.md 2.10, 5.4).
//!
//! A page of a bolt file that has been freed keeps its content until it is used again, and so does a closed segment of a
//! write-ahead log whose end was cut off. It may hold an older copy of an entry, an entry that compaction has removed,
//! one that another leader's entry has replaced, or, in a damaged file, one that is lost otherwise. Nothing says which,
//! so what is carved is never a part of the log.

mod find;
mod pages;
mod probe;
mod segments;

use std::hash::{BuildHasher, Hash, Hasher};
use std::ops::{ControlFlow, RangeInclusive};
use std::sync::Arc;

use super::{EvidenceError, Log, Record, Scanned};
use crate::types::{Index, Term};
use pages::Pages;
use segments::Segments;

pub use find::{open, open_dir, open_file};

/// So many entries are ordered at a time; with more, the file is read again for each lot.
const LOT: usize = 200_000;

/// An entry that was carved.
#[derive(Clone, Debug)]
pub struct Carved<'a> {
    /// The entry.
    pub record: Record<'a>,
    /// Where it was found.
    pub origin: Origin,
    /// Offset of its envelope in the file, in bytes; of its payload in a segment.
    pub offset: u64,
    /// The term of the entry that the live log holds at this index; `None` where it holds none. Where
    /// it is the entry's own term, the content is another.
    pub live_term: Option<Term>,
}

/// Where an entry was carved from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A page of a bolt file, the one that it begins on.
    Page(u64),
    /// A segment of a write-ahead log, by its path.
    Segment(Arc<str>),
}

/// Carves the files of one log.
#[derive(Debug)]
pub struct Carver(Source);

#[derive(Debug)]
enum Source {
    Pages(Box<Pages>),
    Segments(Segments),
}

/// What tells carved entries apart and brings them into order: index, term, digest of the content.
type Key = (u64, u64, u64);

/// A page and the number of an element on it, or the number of a segment and an offset in it.
type Spot = (u64, u64);

/// An entry that was found, and where.
#[derive(Clone, Copy, Debug)]
struct Found {
    key: Key,
    spot: Spot,
    live: Live,
}

/// What the live log holds at the index of a carved entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Live {
    Nothing,
    Same,
    Other(Term),
}

impl Carver {
    /// Bytes of a page, where there are pages.
    pub fn page_size(&self) -> Option<u32> {
        match &self.0 {
            Source::Pages(pages) => Some(pages.page_size()),
            Source::Segments(_) => None,
        }
    }

    /// True while no server has written to the log since it was opened.
    pub fn is_unchanged(&self) -> bool {
        match &self.0 {
            Source::Pages(pages) => pages.is_unchanged(),
            Source::Segments(segments) => segments.is_unchanged(),
        }
    }

    /// Calls `sink` for each carved entry of `range` that is not in `log` with the same term and
    /// content, in order of index and term, each once, until the sink breaks off.
    ///
    /// # Errors
    /// When the live log cannot be read.
    pub fn carve(
        &self,
        log: &dyn Log,
        range: RangeInclusive<Index>,
        sink: &mut dyn FnMut(Carved<'_>) -> ControlFlow<()>,
    ) -> Result<(), EvidenceError> {
        self.carve_in_lots(LOT, log, range, sink)
    }

    fn carve_in_lots(
        &self,
        size: usize,
        log: &dyn Log,
        range: RangeInclusive<Index>,
        sink: &mut dyn FnMut(Carved<'_>) -> ControlFlow<()>,
    ) -> Result<(), EvidenceError> {
        let mut after = None;
        loop {
            let (mut lot, is_last) = self.lot(size, after, &range);
            compare(&mut lot, log)?;
            for found in &lot {
                if self.tell(found, sink).is_break() {
                    return Ok(());
                }
            }
            match lot.last() {
                Some(last) if !is_last => after = Some(last.key),
                _ => return Ok(()),
            }
        }
    }

    /// The first entries after `after`, in order and each once; true where there are no more.
    fn lot(&self, size: usize, after: Option<Key>, range: &RangeInclusive<Index>) -> (Vec<Found>, bool) {
        let mut lot: Vec<Found> = Vec::new();
        let mut bound: Option<Key> = None;
        let mut take = |place: u64, part: u64, record: &Record<'_>| {
            let key = key(record);
            let due = after.is_none_or(|after| key > after) && bound.is_none_or(|bound| key <= bound);
            if due && range.contains(&record.index) {
                lot.push(Found { key, spot: (place, part), live: Live::Nothing });
            }
            if lot.len() >= size.saturating_mul(2) {
                in_order(&mut lot);
                if lot.len() > size {
                    lot.truncate(size);
                    bound = lot.last().map(|found| found.key);
                }
            }
            ControlFlow::Continue(())
        };
        match &self.0 {
            Source::Pages(pages) => pages.each_entry(&mut take),
            Source::Segments(segments) => segments.each_entry(&mut take),
        }
        in_order(&mut lot);
        (lot, bound.is_none())
    }

    /// Tells an entry that was found, if it is still there and the log does not hold it.
    fn tell(&self, found: &Found, sink: &mut dyn FnMut(Carved<'_>) -> ControlFlow<()>) -> ControlFlow<()> {
        let live_term = match found.live {
            Live::Same => return ControlFlow::Continue(()),
            Live::Nothing => None,
            Live::Other(term) => Some(term),
        };
        let (place, part) = found.spot;
        let mut told = |record: &Record<'_>, origin: Origin, offset| {
            if key(record) != found.key {
                return ControlFlow::Continue(());
            }
            sink(Carved { record: *record, origin, offset, live_term })
        };
        match &self.0 {
            Source::Pages(pages) => {
                pages.at(place, part, &mut |record, offset| told(record, Origin::Page(place), offset))
            }
            Source::Segments(segments) => {
                let Some(name) = segments.name(place).cloned() else { return ControlFlow::Continue(()) };
                segments.at(place, part, &mut |record| told(record, Origin::Segment(name.clone()), part))
            }
        }
    }
}

fn key(record: &Record<'_>) -> Key {
    let mut hasher = foldhash::quality::FixedState::default().build_hasher();
    record.kind.name().hash(&mut hasher);
    record.appended_at.hash(&mut hasher);
    record.data.hash(&mut hasher);
    (record.index.0, record.term.0, hasher.finish())
}

fn in_order(lot: &mut Vec<Found>) {
    lot.sort_unstable_by_key(|found| (found.key, found.spot));
    lot.dedup_by_key(|found| found.key);
}

/// Looks up what the live log holds at each index of a lot.
fn compare(lot: &mut [Found], log: &dyn Log) -> Result<(), EvidenceError> {
    let ends = lot.first().zip(lot.last()).map(|(first, last)| (Index(first.key.0), Index(last.key.0)));
    let Some((from, to)) = ends.filter(|_| log.bounds().is_some()) else { return Ok(()) };
    let mut rest = lot;
    log.scan(from..=to, &mut |scanned| {
        let Scanned::Entry(record) = scanned else { return ControlFlow::Continue(()) };
        let before = rest.iter().take_while(|found| found.key.0 < record.index.0).count();
        rest = std::mem::take(&mut rest).get_mut(before..).unwrap_or_default();
        let here = rest.iter_mut().take_while(|found| found.key.0 == record.index.0);
        let mut live = None;
        for found in here {
            let same = *live.get_or_insert_with(|| key(&record)) == found.key;
            found.live = if same { Live::Same } else { Live::Other(record.term) };
        }
        if rest.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
}

#[cfg(test)]
mod tests {
    use super::super::NoLog;
    use super::super::file::File;
    use super::*;

    #[test]
    fn lots_of_any_size_give_the_same_entries_in_order() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/healthy/raft.db");
        let mut bytes = std::fs::read(path).unwrap();
        bytes[..8192].fill(0);
        let pages = Pages::probed(File::from_memory("raft.db", bytes)).unwrap().unwrap();
        let carver = Carver(Source::Pages(Box::new(pages)));
        let carved = |size: usize, range: RangeInclusive<u64>| {
            let mut all = Vec::new();
            let sink = &mut |carved: Carved<'_>| {
                all.push((carved.record.index.0, carved.record.term.0, carved.record.data.to_vec()));
                ControlFlow::Continue(())
            };
            carver.carve_in_lots(size, &NoLog, Index(*range.start())..=Index(*range.end()), sink).unwrap();
            all
        };
        let whole = carved(LOT, 0..=u64::MAX);
        assert!(whole.len() > 20 && whole.is_sorted(), "{}", whole.len());
        for size in [1, 2, 7, whole.len() - 1, whole.len()] {
            assert!(carved(size, 0..=u64::MAX) == whole, "lots of {size}");
        }
        let some = carved(3, 10..=20);
        assert!(some.iter().all(|entry| (10..=20).contains(&entry.0)) && some.len() >= 11, "{}", some.len());
    }
}
