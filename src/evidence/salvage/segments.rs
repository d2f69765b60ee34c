//! Entries in the files of a write-ahead log that the log does not count (storage.md 5.4): those that another leader's
//! have replaced, which stay in a closed segment; compacted ones at the head; those of segments that are not listed any
//! more; and those of a batch whose sum does not fit or that was never finished.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::super::file::{Chunks, Shape};
use super::super::place::Dir;
use super::super::wal::Wal;
use super::super::wal::parts::{Part, SegmentFile};
use super::super::wal::segment::{self, CarvedFrame};
use super::super::{Log, Record};
use crate::types::Index;

/// Carves the files of one write-ahead log.
#[derive(Debug)]
pub struct Segments {
    dir: Dir,
    bounds: Option<(Index, Index)>,
    files: Vec<Segment>,
}

#[derive(Debug)]
struct Segment {
    name: Arc<str>,
    file: SegmentFile,
    /// What of it the log counts; `None` for a file that is not listed.
    part: Option<Part>,
}

/// Takes the number of a segment, the offset of an entry's payload in it, and the entry.
pub type EntrySink<'s> = dyn FnMut(u64, u64, &Record<'_>) -> ControlFlow<()> + 's;

impl Segments {
    /// The files of a log, listed ones and others.
    pub fn of(wal: &Wal) -> Self {
        let listed = wal.parts().iter().filter_map(|part| Some((part.file.clone()?, Some(part.clone()))));
        let others = wal.orphans().iter().map(|file| (file.clone(), None));
        let segment = |(file, part): (SegmentFile, Option<Part>)| Segment { name: file.shown().into(), file, part };
        Segments { dir: wal.dir().clone(), bounds: wal.bounds(), files: listed.chain(others).map(segment).collect() }
    }

    /// The path of a segment.
    pub fn name(&self, number: u64) -> Option<&Arc<str>> {
        usize::try_from(number).ok().and_then(|n| self.files.get(n)).map(|segment| &segment.name)
    }

    /// True while no server has written to the log since it was opened.
    pub fn is_unchanged(&self) -> bool {
        Wal::open(&self.dir).is_ok_and(|now| now.bounds() == self.bounds)
    }

    /// Calls `sink` for each entry that the log does not count, until it breaks off.
    pub fn each_entry(&self, sink: &mut EntrySink<'_>) {
        for (number, segment) in self.files.iter().enumerate() {
            let number = number as u64;
            let flow = segment.each_entry(&mut |offset, record| sink(number, offset, record));
            if flow.is_break() {
                return;
            }
        }
    }

    /// Calls `sink` with the entry at a place that [`Segments::each_entry`] told, if it is still there.
    pub fn at(
        &self,
        number: u64,
        offset: u64,
        sink: &mut dyn FnMut(&Record<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let segment = usize::try_from(number).ok().and_then(|n| self.files.get(n));
        let chunks = segment.and_then(|segment| Some((segment, segment.file.raw().ok()?)));
        let Some((segment, file)) = chunks else { return ControlFlow::Continue(()) };
        let mut chunks = Chunks::new(file, Shape::LOOKUP);
        match segment::carve_at(&mut chunks, segment.file.base(), offset) {
            Some(CarvedFrame { payload, .. }) => match segment::decode(&payload) {
                Ok(record) => sink(&record),
                Err(_) => ControlFlow::Continue(()),
            },
            None => ControlFlow::Continue(()),
        }
    }
}

impl Segment {
    /// Calls `sink` with the offset and the entry of each frame that holds one and is not counted. Frames that cannot
    /// be followed are looked for: they begin at multiples of 8.
    fn each_entry(&self, sink: &mut dyn FnMut(u64, &Record<'_>) -> ControlFlow<()>) -> ControlFlow<()> {
        let Ok(file) = self.file.raw() else { return ControlFlow::Continue(()) };
        let counted = self.part.as_ref().and_then(|part| Some((part, part.open().ok()?.table())));
        let mut chunks = Chunks::new(file, Shape::WALK);
        let mut at = segment::HEADER_SIZE;
        while at < chunks.file().len() {
            if segment::is_blank(&mut chunks, at) {
                at += segment::ZEROS;
                continue;
            }
            let Some(frame) = segment::carve_at(&mut chunks, self.file.base(), at + segment::FRAME_HEADER) else {
                at += segment::FRAME_HEADER;
                continue;
            };
            let offset = at + segment::FRAME_HEADER;
            at = frame.end;
            let counts = counted.as_ref().is_some_and(|(part, table)| {
                let place = table.entries.binary_search_by_key(&offset, |place| place.offset);
                place.is_ok_and(|n| table.entries.get(n).is_some_and(|place| part.holds(place.index)))
            });
            if let Ok(record) = segment::decode(&frame.payload)
                && !counts
            {
                sink(offset, &record)?;
            }
        }
        ControlFlow::Continue(())
    }
}
