//! Puts entries and damage into one order of index, and finds what is missing between them.
//!
//! Each missing index is told exactly once: as the damage that names it, or else as part of a gap.

use std::ops::ControlFlow;

use super::{Damage, DamageKind, Record, Scanned};

/// More held-back damage than this is told without looking for the indexes that belong to it.
const MOST_PENDING: usize = 4096;

/// An entry that was found and must not be believed.
#[derive(Clone, Debug)]
pub struct Bad {
    /// [`DamageKind::KeyMismatch`], [`DamageKind::UndecodableEntry`] or [`DamageKind::Checksum`].
    pub kind: DamageKind,
    /// The index that its key or place gives it.
    pub key: Option<u64>,
    /// The index that stands in it.
    pub inner: Option<u64>,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// A sentence for people.
    pub detail: String,
}

/// A place in the file that cannot be read.
#[derive(Clone, Debug)]
pub struct Hole {
    /// The first index in it, where that is known.
    pub first: Option<u64>,
    /// The last index in it, where that is known.
    pub last: Option<u64>,
    /// Offset in the file, in bytes.
    pub offset: Option<u64>,
    /// What is wrong, the end of a sentence.
    pub detail: String,
}

/// Takes what a store's reader meets, in the order of the file, and calls a sink in order of index.
pub struct Sequence<'s> {
    /// The index that should come next; `None` before the first entry of the log.
    next: Option<u64>,
    /// The last index that is wanted.
    end: u64,
    bad: Vec<Bad>,
    holes: Vec<Hole>,
    sink: &'s mut dyn FnMut(Scanned<'_>) -> ControlFlow<()>,
}

impl<'s> Sequence<'s> {
    /// A sequence up to `end`; `next` is the first index that must be there, `None` where the log's
    /// own first entry decides.
    pub fn new(next: Option<u64>, end: u64, sink: &'s mut dyn FnMut(Scanned<'_>) -> ControlFlow<()>) -> Self {
        Sequence { next, end, bad: Vec::new(), holes: Vec::new(), sink }
    }

    /// Lowers the last index that is wanted, and forgets what was held back.
    pub fn stop_at(&mut self, end: u64) {
        self.end = self.end.min(end);
        self.bad.clear();
        self.holes.clear();
    }

    /// True where an entry with this index would stand behind one that has been told already.
    pub fn is_past(&self, index: u64) -> bool {
        self.next.is_some_and(|next| index < next)
    }

    /// An entry that is good, and not [past](Sequence::is_past). Breaks off behind the end.
    pub fn entry(&mut self, record: Record<'_>) -> ControlFlow<()> {
        let index = record.index.0;
        if index > self.end {
            self.flush(Some(self.end))?;
            return ControlFlow::Break(());
        }
        self.flush(index.checked_sub(1))?;
        self.next = Some(index.saturating_add(1));
        (self.sink)(Scanned::Entry(record))
    }

    /// An entry that must not be believed.
    pub fn bad(&mut self, bad: Bad) -> ControlFlow<()> {
        // The expected one: no later entry is needed to know which index is lost.
        if bad.key.is_some() && bad.key == self.next && self.bad.is_empty() && self.holes.is_empty() {
            let index = bad.key;
            if index.is_some_and(|index| index > self.end) {
                return ControlFlow::Break(());
            }
            self.next = index.map(|index| index.saturating_add(1));
            return self.tell(bad, index);
        }
        self.bad.push(bad);
        if self.bad.len() > MOST_PENDING {
            for bad in std::mem::take(&mut self.bad) {
                self.tell(bad, None)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// A run of entries whose bounds are known, and which must not be believed. It follows all that was told.
    pub fn lost(&mut self, mut damage: Damage) -> ControlFlow<()> {
        let (Some(first), Some(last)) = (damage.first, damage.last) else {
            return (self.sink)(Scanned::Damaged(damage));
        };
        if first.0 > self.end {
            self.flush(Some(self.end))?;
            return ControlFlow::Break(());
        }
        self.flush(first.0.checked_sub(1))?;
        self.next = Some(last.0.saturating_add(1));
        damage.last = Some(last.min(crate::types::Index(self.end)));
        (self.sink)(Scanned::Damaged(damage))
    }

    /// A place that cannot be read.
    pub fn hole(&mut self, hole: Hole) {
        if self.holes.len() < MOST_PENDING {
            self.holes.push(hole);
        }
    }

    /// No entry follows. `last` is the last index of the log where something else than the entries tells it.
    pub fn finish(mut self, last: Option<u64>) -> ControlFlow<()> {
        match last {
            Some(last) => self.flush(Some(last.min(self.end))),
            None => self.flush_tail(),
        }
    }

    fn tell(&mut self, bad: Bad, index: Option<u64>) -> ControlFlow<()> {
        let index = index.map(crate::types::Index);
        let damage = Damage { kind: bad.kind, first: index, last: index, offset: Some(bad.offset), detail: bad.detail };
        (self.sink)(Scanned::Damaged(damage))
    }

    fn gap(&mut self, first: Option<u64>, last: Option<u64>, holes: &[Hole]) -> ControlFlow<()> {
        let index = |n: Option<u64>| n.map(crate::types::Index);
        let touches = |hole: &&Hole| {
            hole.first.is_none_or(|a| last.is_none_or(|last| a <= last))
                && hole.last.is_none_or(|b| first.is_none_or(|first| b >= first))
        };
        let here: Vec<&Hole> = holes.iter().filter(touches).collect();
        let mut detail = match (first, last) {
            (Some(a), Some(b)) if a == b => format!("entry {a} is missing"),
            (Some(a), Some(b)) => format!("entries {a} to {b} are missing"),
            (Some(a), None) => format!("entries from {a} on are missing"),
            (None, Some(b)) => format!("entries up to {b} are missing"),
            (None, None) => "entries are missing".into(),
        };
        for (n, hole) in here.iter().enumerate() {
            if n == 3 {
                detail.push_str(&format!("; and {} more places", here.len() - n));
                break;
            }
            detail.push_str(if n == 0 { ": " } else { "; " });
            detail.push_str(&hole.detail);
        }
        let offset = here.first().and_then(|hole| hole.offset);
        (self.sink)(Scanned::Damaged(Damage {
            kind: DamageKind::Gap,
            first: index(first),
            last: index(last),
            offset,
            detail,
        }))
    }

    /// Tells all that is missing up to and including `upto`.
    fn flush(&mut self, upto: Option<u64>) -> ControlFlow<()> {
        let (bad, holes) = (std::mem::take(&mut self.bad), std::mem::take(&mut self.holes));
        let Some(upto) = upto else { return ControlFlow::Continue(()) };
        if bad.is_empty() && holes.is_empty() && self.next.is_none_or(|next| next > upto) {
            return ControlFlow::Continue(());
        }
        let first = self.next.or_else(|| {
            let known = bad.iter().filter_map(|bad| bad.key).chain(holes.iter().filter_map(|hole| hole.first));
            known.filter(|&index| index <= upto).min()
        });
        let mut placed: Vec<(Option<u64>, Bad)> = Vec::new();
        let mut taken = std::collections::BTreeSet::new();
        for bad in bad {
            let fits = |index: &u64| first.is_some_and(|first| *index >= first) && *index <= upto;
            let index = bad.key.filter(fits).or_else(|| bad.inner.filter(fits)).filter(|index| taken.insert(*index));
            placed.push((index, bad));
        }
        placed.sort_by_key(|(index, _)| *index);
        let mut next = first;
        let mut unplaced_hole = first.is_none() && !holes.is_empty();
        for (index, bad) in placed {
            if let (Some(index), Some(from)) = (index, next) {
                if index > from {
                    self.gap(Some(from), Some(index - 1), &holes)?;
                }
                next = Some(index.saturating_add(1));
            }
            self.tell(bad, index)?;
        }
        if let Some(from) = next.filter(|&from| from <= upto) {
            self.gap(Some(from), Some(upto), &holes)?;
        } else if std::mem::take(&mut unplaced_hole) {
            self.gap(None, Some(upto), &holes)?;
        }
        self.next = Some(upto.saturating_add(1));
        ControlFlow::Continue(())
    }

    /// Tells what is left where no later entry says how far it reaches.
    fn flush_tail(&mut self) -> ControlFlow<()> {
        let (mut bad, holes) = (std::mem::take(&mut self.bad), std::mem::take(&mut self.holes));
        bad.sort_by_key(|bad| bad.key);
        for bad in bad {
            let expected = |index: &u64| self.next.is_none_or(|next| *index == next);
            let index = bad.key.filter(expected).or_else(|| bad.inner.filter(expected));
            if index.is_some_and(|index| index > self.end) {
                continue;
            }
            self.next = index.map(|index| index.saturating_add(1)).or(self.next);
            self.tell(bad, index)?;
        }
        let first = self.next.or_else(|| holes.iter().filter_map(|hole| hole.first).min());
        if holes.is_empty() || first.is_some_and(|first| first > self.end) {
            return ControlFlow::Continue(());
        }
        let open = holes.iter().any(|hole| hole.last.is_none());
        let last = holes.iter().filter_map(|hole| hole.last).max().filter(|_| !open);
        let last = last.map_or((self.end < u64::MAX).then_some(self.end), |last| Some(last.min(self.end)));
        if last.is_some_and(|last| first.is_some_and(|first| last < first)) {
            return ControlFlow::Continue(());
        }
        self.gap(first, last, &holes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::LogType;
    use crate::types::{Index, Term};

    fn record(index: u64) -> Record<'static> {
        Record { index: Index(index), term: Term(1), kind: LogType::Noop, data: &[], appended_at: None }
    }

    fn bad(key: u64, inner: Option<u64>) -> Bad {
        Bad { kind: DamageKind::KeyMismatch, key: Some(key), inner, offset: 0, detail: String::new() }
    }

    fn lost(first: Option<u64>, last: Option<u64>) -> Hole {
        Hole { first, last, offset: Some(7), detail: "page 7 is gone".into() }
    }

    /// What the sink hears: `5` for an entry, `gap 6-8` and `bad 9-9` for damage.
    fn told(
        next: Option<u64>,
        end: u64,
        feed: impl FnOnce(&mut Sequence<'_>) -> ControlFlow<()>,
        finish: bool,
    ) -> String {
        let mut out = Vec::new();
        let sink = &mut |met: Scanned<'_>| {
            out.push(match met {
                Scanned::Entry(record) => record.index.to_string(),
                Scanned::Damaged(damage) => {
                    let kind = if damage.kind == DamageKind::Gap { "gap" } else { "bad" };
                    let number = |n: Option<Index>| n.map_or("?".into(), |n| n.to_string());
                    format!("{kind} {}-{}", number(damage.first), number(damage.last))
                }
            });
            ControlFlow::Continue(())
        };
        let mut sequence = Sequence::new(next, end, sink);
        if feed(&mut sequence).is_continue() && finish {
            let _ = sequence.finish(None);
        }
        out.join(", ")
    }

    #[test]
    fn what_is_missing_between_two_entries_is_one_gap() {
        let got = told(None, 99, |s| [5, 6, 9].into_iter().try_for_each(|i| s.entry(record(i))), true);
        assert_eq!(got, "5, 6, gap 7-8, 9");
    }

    #[test]
    fn a_range_tells_the_gap_at_its_start_and_only_up_to_its_end() {
        assert_eq!(told(Some(4), 7, |s| s.entry(record(9)), true), "gap 4-7");
        assert_eq!(told(Some(4), 7, |s| s.entry(record(6)), true), "gap 4-5, 6");
    }

    #[test]
    fn an_entry_under_a_wrong_key_takes_the_index_that_is_missing() {
        let feed = |s: &mut Sequence<'_>| {
            s.entry(record(5))?;
            s.bad(bad(900_000, Some(6)))?;
            s.entry(record(8))
        };
        assert_eq!(told(None, u64::MAX, feed, true), "5, bad 6-6, gap 7-7, 8");
    }

    #[test]
    fn damage_at_the_expected_index_is_told_at_once() {
        let feed = |s: &mut Sequence<'_>| {
            s.entry(record(5))?;
            s.bad(bad(6, None))?;
            s.bad(bad(7, None))
        };
        assert_eq!(told(None, u64::MAX, feed, false), "5, bad 6-6, bad 7-7");
    }

    #[test]
    fn a_lost_page_at_either_end_is_told_as_far_as_it_is_known() {
        let head = |s: &mut Sequence<'_>| {
            s.hole(lost(Some(1), Some(3)));
            s.entry(record(4))
        };
        assert_eq!(told(None, u64::MAX, head, true), "gap 1-3, 4");
        let tail = |s: &mut Sequence<'_>| {
            s.entry(record(4))?;
            s.hole(lost(Some(5), None));
            ControlFlow::Continue(())
        };
        assert_eq!(told(None, u64::MAX, tail, true), "4, gap 5-?");
        assert_eq!(told(None, 8, tail, true), "4, gap 5-8");
        assert_eq!(told(None, 4, tail, true), "4");
    }

    #[test]
    fn a_lost_page_of_which_nothing_is_missing_is_not_told() {
        let feed = |s: &mut Sequence<'_>| {
            s.entry(record(4))?;
            s.hole(lost(None, None));
            s.entry(record(5))
        };
        assert_eq!(told(None, u64::MAX, feed, true), "4, 5");
    }
}
