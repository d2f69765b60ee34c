//! Carving: entries on pages of a bolt file that no tree reaches (storage.md 2.10).
//!
//! A page that bolt has freed keeps its content until it is used again. It may hold an older copy
//! of an entry, an entry that compaction has removed, one that another leader's entry has replaced,
//! or, in a damaged file, one that is lost otherwise. Nothing says which, so what is carved is never
//! a part of the log.

mod find;
mod probe;

use std::hash::{BuildHasher, Hash, Hasher};
use std::ops::{ControlFlow, RangeInclusive};

use super::bolt::Bolt;
use super::bolt::page::{ByteOrder, LeafElement, Page, Pager};
use super::file::{File, Shape};
use super::raftdb::WholePages;
use super::{EvidenceError, Log, Record, Scanned};
use crate::entry::raft_log;
use crate::types::{Index, Term};

pub use find::open;

/// So many entries are ordered at a time; with more, the file is read again for each lot.
const LOT: usize = 200_000;

/// An entry that was carved.
#[derive(Clone, Copy, Debug)]
pub struct Carved<'a> {
    /// The entry.
    pub record: Record<'a>,
    /// The page that it begins on.
    pub page: u64,
    /// Offset of its envelope in the file, in bytes.
    pub offset: u64,
    /// The term of the entry that the live log holds at this index; `None` where it holds none. Where
    /// it is the entry's own term, the content is another.
    pub live_term: Option<Term>,
}

/// Carves one bolt file.
#[derive(Debug)]
pub struct Carver {
    file: File,
    order: ByteOrder,
    page_size: u32,
    /// The file as it was opened, where a meta page of it is valid.
    bolt: Option<Bolt>,
    whole: WholePages,
}

/// What tells carved entries apart and brings them into order: index, term, digest of the content.
type Key = (u64, u64, u64);

/// An entry that was found, and where.
#[derive(Clone, Copy, Debug)]
struct Found {
    key: Key,
    page: u64,
    element: u16,
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
    /// A carver of an open file, which leaves out pages that hold nothing but entries of the log.
    fn of(bolt: &Bolt, whole: WholePages) -> Self {
        let (metas, file) = (bolt.metas(), bolt.file().clone());
        let page_size = metas.pages.iter().find_map(|meta| meta.as_ref().ok()).map_or(4096, |meta| meta.page_size);
        Carver { file, order: metas.order, page_size, bolt: Some(bolt.clone()), whole }
    }

    /// A carver of a file without a valid meta page, if pages can be made out in it.
    fn probed(file: File) -> Result<Option<Self>, EvidenceError> {
        let probed = probe::probe(&file).map_err(|source| EvidenceError::Io { path: file.path().into(), source })?;
        let whole = WholePages::default();
        Ok(probed.map(|(page_size, order)| Carver { file, order, page_size, bolt: None, whole }))
    }

    /// Bytes of a page.
    pub fn page_size(&self) -> u32 {
        self.page_size
    }

    /// True while no server has written to the file since it was opened.
    pub fn is_unchanged(&self) -> bool {
        self.bolt.as_ref().is_none_or(Bolt::is_unchanged)
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
            let mut pager = self.pager(Shape::LOOKUP);
            for found in &lot {
                if self.tell(found, &mut pager, sink).is_break() {
                    return Ok(());
                }
            }
            match lot.last() {
                Some(last) if !is_last => after = Some(last.key),
                _ => return Ok(()),
            }
        }
    }

    fn pager(&self, shape: Shape) -> Pager {
        // What meta pages say of the file's end need not hold for what they do not reach.
        Pager::new(self.file.clone(), shape, self.order, self.page_size, u64::MAX)
    }

    /// The first entries after `after`, in order and each once; true where there are no more.
    fn lot(&self, size: usize, after: Option<Key>, range: &RangeInclusive<Index>) -> (Vec<Found>, bool) {
        let mut lot: Vec<Found> = Vec::new();
        let mut bound: Option<Key> = None;
        let mut pager = self.pager(Shape::WALK);
        for id in 2..self.file.len().div_ceil(u64::from(self.page_size)) {
            if self.whole.contains(id) {
                continue;
            }
            let Ok(page) = pager.page(id) else { continue };
            self.each_entry(&page, &mut pager, &mut |element, record, _| {
                let key = key(record);
                let due = after.is_none_or(|after| key > after) && bound.is_none_or(|bound| key <= bound);
                if due && range.contains(&record.index) {
                    lot.push(Found { key, page: id, element, live: Live::Nothing });
                }
                ControlFlow::Continue(())
            });
            if lot.len() >= size.saturating_mul(2) {
                in_order(&mut lot);
                if lot.len() > size {
                    lot.truncate(size);
                    bound = lot.last().map(|found| found.key);
                }
            }
        }
        in_order(&mut lot);
        (lot, bound.is_none())
    }

    /// Calls `sink` for each entry on a leaf page whose bytes have not been written over.
    fn each_entry(&self, page: &Page, pager: &mut Pager, sink: &mut EntrySink<'_>) {
        if !page.is_leaf() {
            return;
        }
        let page_size = u64::from(self.page_size);
        // Where pages behind this one were used again, the first of them has a header of its own.
        let pages = page.span().div_ceil(page_size).min(self.file.len().div_ceil(page_size));
        let end = page.id.saturating_add(pages);
        let intact = (page.id + 1..end).find(|&id| pager.begins_at(id)).unwrap_or(end).saturating_mul(page_size);
        let mut bytes = 0_u64;
        for i in 0..page.count() {
            let Some(element) = page.leaf(i).filter(|element| page.value_end(element) <= intact) else { continue };
            // The values of a real page do not overlap; a damaged one must not be read over and over.
            bytes = bytes.saturating_add(page.value_end(&element) - page.value_offset(&element));
            let Ok(number) = u16::try_from(i) else { return };
            if bytes > page.span() || with_entry(page, &element, pager, &mut |r, at| sink(number, r, at)).is_break() {
                return;
            }
        }
    }

    /// Tells an entry that was found, if it is still there and the log does not hold it.
    fn tell(
        &self,
        found: &Found,
        pager: &mut Pager,
        sink: &mut dyn FnMut(Carved<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let live_term = match found.live {
            Live::Same => return ControlFlow::Continue(()),
            Live::Nothing => None,
            Live::Other(term) => Some(term),
        };
        let Ok(page) = pager.page(found.page) else { return ControlFlow::Continue(()) };
        let Some(element) = page.leaf(usize::from(found.element)) else { return ControlFlow::Continue(()) };
        with_entry(&page, &element, pager, &mut |record, offset| {
            if key(record) != found.key {
                return ControlFlow::Continue(());
            }
            sink(Carved { record: *record, page: found.page, offset, live_term })
        })
    }
}

/// Takes an element's number, its entry, and the offset of its envelope.
type EntrySink<'s> = dyn FnMut(u16, &Record<'_>, u64) -> ControlFlow<()> + 's;

/// Calls `sink` with the entry of an element and its envelope's offset, where it holds one whose
/// index is its key.
fn with_entry(
    page: &Page,
    element: &LeafElement,
    pager: &mut Pager,
    sink: &mut dyn FnMut(&Record<'_>, u64) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let Some(content) = pager.content(page, element).filter(|_| !element.is_bucket) else {
        return ControlFlow::Continue(());
    };
    let Ok(index) = content.key().try_into().map(u64::from_be_bytes) else { return ControlFlow::Continue(()) };
    match raft_log::decode(content.value()) {
        Ok(record) if record.index.0 == index => sink(&record, page.value_offset(element)),
        _ => ControlFlow::Continue(()),
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
    lot.sort_unstable_by_key(|found| (found.key, found.page, found.element));
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
