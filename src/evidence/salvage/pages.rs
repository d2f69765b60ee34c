//! Entries on pages of a bolt file that no tree reaches (storage.md 2.10), or that no meta page leads to.

use std::ops::ControlFlow;

use super::super::EvidenceError;
use super::super::Record;
use super::super::bolt::Bolt;
use super::super::bolt::page::{ByteOrder, LeafElement, Page, Pager};
use super::super::file::{File, Shape};
use super::super::raftdb::WholePages;
use super::probe;
use crate::entry::raft_log;

/// Carves one bolt file.
#[derive(Debug)]
pub struct Pages {
    file: File,
    order: ByteOrder,
    page_size: u32,
    /// The file as it was opened, where a meta page of it is valid.
    bolt: Option<Bolt>,
    whole: WholePages,
}

/// Takes a page, an element's number on it, and its entry.
pub type EntrySink<'s> = dyn FnMut(u64, u64, &Record<'_>) -> ControlFlow<()> + 's;

impl Pages {
    /// The pages of an open file, without those that hold nothing but entries of the log.
    pub fn of(bolt: &Bolt, whole: WholePages) -> Self {
        let (metas, file) = (bolt.metas(), bolt.file().clone());
        let page_size = metas.pages.iter().find_map(|meta| meta.as_ref().ok()).map_or(4096, |meta| meta.page_size);
        Pages { file, order: metas.order, page_size, bolt: Some(bolt.clone()), whole }
    }

    /// The pages of a file without a valid meta page, if pages can be made out in it.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn probed(file: File) -> Result<Option<Self>, EvidenceError> {
        let probed = probe::probe(&file).map_err(|source| EvidenceError::Io { path: file.path().into(), source })?;
        let whole = WholePages::default();
        Ok(probed.map(|(page_size, order)| Pages { file, order, page_size, bolt: None, whole }))
    }

    /// Bytes of a page.
    pub fn page_size(&self) -> u32 {
        self.page_size
    }

    /// True while no server has written to the file since it was opened.
    pub fn is_unchanged(&self) -> bool {
        self.bolt.as_ref().is_none_or(Bolt::is_unchanged)
    }

    fn pager(&self, shape: Shape) -> Pager {
        // What meta pages say of the file's end need not hold for what they do not reach.
        Pager::new(self.file.clone(), shape, self.order, self.page_size, u64::MAX)
    }

    /// Calls `sink` for each entry on a leaf page, until it breaks off.
    pub fn each_entry(&self, sink: &mut EntrySink<'_>) {
        let mut pager = self.pager(Shape::WALK);
        for id in 2..self.file.len().div_ceil(u64::from(self.page_size)) {
            if self.whole.contains(id) {
                continue;
            }
            let Ok(page) = pager.page(id) else { continue };
            if self.on_page(&page, &mut pager, &mut |element, record| sink(id, element, record)).is_break() {
                return;
            }
        }
    }

    /// Calls `sink` for each entry on a leaf page whose bytes have not been written over.
    fn on_page(
        &self,
        page: &Page,
        pager: &mut Pager,
        sink: &mut dyn FnMut(u64, &Record<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if !page.is_leaf() {
            return ControlFlow::Continue(());
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
            if bytes > page.span() {
                break;
            }
            with_entry(page, &element, pager, &mut |record, _| sink(i as u64, record))?;
        }
        ControlFlow::Continue(())
    }

    /// Calls `sink` with the entry at a place that [`Pages::each_entry`] told and the offset of its envelope, if it is
    /// still there.
    pub fn at(
        &self,
        page: u64,
        element: u64,
        sink: &mut dyn FnMut(&Record<'_>, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut pager = self.pager(Shape::LOOKUP);
        let Ok(page) = pager.page(page) else { return ControlFlow::Continue(()) };
        let element = usize::try_from(element).ok().and_then(|element| page.leaf(element));
        let Some(element) = element else { return ControlFlow::Continue(()) };
        with_entry(&page, &element, &mut pager, sink)
    }
}

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
