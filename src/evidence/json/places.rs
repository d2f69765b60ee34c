//! Where the entries of a JSON text stand, in bounded memory: of a long text only every so many-th place is kept, and
//! what stands behind it is gone through again.

use std::io;
use std::ops::ControlFlow;

use super::super::file::File;
use super::Head;
use super::split::{self, Object};

/// So many places are kept, 4 MiB; of a longer log every second one, and so on.
const MOST: usize = 1 << 18;

/// The places of entries.
#[derive(Debug)]
pub struct Places {
    /// Index and offset of each entry that is kept, in order of index.
    kept: Vec<(u64, u64)>,
    /// Every so many-th entry is kept.
    every: u64,
    count: u64,
    last: Option<u64>,
    /// The entries stand in the file in order of index, and each once.
    in_order: bool,
    most: usize,
}

/// Takes an entry and its offset.
pub type EntrySink<'s> = dyn FnMut(&Head<'_>, u64) -> ControlFlow<()> + 's;

impl Default for Places {
    fn default() -> Self {
        Places::of_at_most(MOST)
    }
}

impl Places {
    fn of_at_most(most: usize) -> Self {
        Places { kept: Vec::new(), every: 1, count: 0, last: None, in_order: true, most }
    }

    /// Adds the entry that stands behind all others in the file.
    pub fn add(&mut self, index: u64, offset: u64) {
        self.in_order &= self.last.is_none_or(|last| last < index);
        if self.count.is_multiple_of(self.every) {
            self.kept.push((index, offset));
            if self.kept.len() > self.most {
                self.every *= 2;
                let mut n = 0_u64;
                self.kept.retain(|_| {
                    n += 1;
                    n % 2 == 1
                });
            }
        }
        self.count += 1;
        self.last = Some(self.last.map_or(index, |last| last.max(index)));
    }

    /// The first and the last index.
    pub fn bounds(&self) -> Option<(u64, u64)> {
        Some((self.kept.first()?.0, self.last?))
    }

    /// True where the entries stand in the file in order of index, and each once.
    pub fn in_order(&self) -> bool {
        self.in_order
    }

    /// Keeps the place of every entry, in order of index: here memory grows with the log, by 16 bytes an entry. Tells
    /// how many stood there more than once.
    ///
    /// # Errors
    /// When the system cannot read the file.
    pub fn put_in_order(&mut self, file: &File) -> io::Result<usize> {
        let mut all = Vec::with_capacity(usize::try_from(self.count).unwrap_or(0));
        numbered(file, 0, super::PIECE, &mut |head, offset| {
            all.push((head.index, offset));
            ControlFlow::Continue(())
        })?;
        all.sort_by_key(|(index, _)| *index);
        let before = all.len();
        all.dedup_by_key(|(index, _)| *index);
        let twice = before - all.len();
        (self.kept, self.every) = (all, 1);
        Ok(twice)
    }

    /// Calls `sink` for each entry from the index `start` on, in order, until it breaks off. So many bytes are read at
    /// once.
    ///
    /// # Errors
    /// When the system cannot read the file.
    pub fn entries(&self, file: &File, start: u64, piece: usize, sink: &mut EntrySink<'_>) -> io::Result<()> {
        if self.last.is_none_or(|last| start > last) {
            return Ok(());
        }
        if self.in_order {
            let behind = self.kept.partition_point(|(index, _)| *index <= start);
            let from = behind.checked_sub(1).and_then(|at| self.kept.get(at)).map_or(0, |(_, offset)| *offset);
            return numbered(file, from, piece, &mut |head, offset| {
                if head.index < start { ControlFlow::Continue(()) } else { sink(head, offset) }
            });
        }
        let from = self.kept.partition_point(|(index, _)| *index < start);
        for (_, offset) in self.kept.get(from..).unwrap_or_default() {
            let mut flow = ControlFlow::Continue(());
            numbered(file, *offset, piece.min(super::LOOKUP), &mut |head, offset| {
                flow = sink(head, offset);
                ControlFlow::Break(())
            })?;
            if flow.is_break() {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// The entries from a byte on, as they stand in the file.
fn numbered(file: &File, from: u64, piece: usize, sink: &mut EntrySink<'_>) -> io::Result<()> {
    split::objects(file, from, piece, &mut |object| match object {
        Object::Whole(offset, text) => match serde_json::from_slice::<Head<'_>>(text) {
            Ok(head) => sink(&head, offset),
            Err(_) => ControlFlow::Continue(()),
        },
        _ => ControlFlow::Continue(()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(indexes: impl Iterator<Item = u64>) -> File {
        let lines = indexes.map(|n| format!("{{\"LogType\":\"LogNoop\",\"Index\":{n},\"Term\":{n}}}\n"));
        File::from_memory("logs.ndjson", lines.collect::<String>().into_bytes())
    }

    fn places(file: &File, most: usize) -> Places {
        let mut places = Places::of_at_most(most);
        numbered(file, 0, 64, &mut |head, offset| {
            places.add(head.index, offset);
            ControlFlow::Continue(())
        })
        .unwrap();
        places
    }

    fn read(places: &Places, file: &File, start: u64) -> Vec<u64> {
        let mut all = Vec::new();
        let sink = &mut |head: &Head<'_>, _: u64| {
            assert_eq!(head.term, head.index);
            all.push(head.index);
            ControlFlow::Continue(())
        };
        places.entries(file, start, 64, sink).unwrap();
        all
    }

    #[test]
    fn a_long_text_is_read_from_any_index_with_few_places() {
        let file = text((3..1000).filter(|n| n % 7 != 0));
        let places = places(&file, 10);
        assert!(places.kept.len() <= 10 && places.in_order(), "{places:?}");
        assert_eq!(places.bounds(), Some((3, 999)));
        for start in [0, 3, 7, 500, 998, 999] {
            let want: Vec<u64> = (start.max(3)..1000).filter(|n| n % 7 != 0).collect();
            assert_eq!(read(&places, &file, start), want);
        }
        assert!(read(&places, &file, 1000).is_empty());
    }

    #[test]
    fn a_text_in_another_order_is_read_in_order_and_each_index_once() {
        let file = text([5, 9, 7, 5, 6].into_iter());
        let mut places = places(&file, 2);
        assert!(!places.in_order());
        assert_eq!(places.put_in_order(&file).unwrap(), 1);
        assert_eq!((places.bounds(), read(&places, &file, 6)), (Some((5, 9)), vec![6, 7, 9]));
    }
}
