//! Where a replay can start: before the first entry, or at a snapshot.

use crate::types::Index;

/// A run of missing or unreadable entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hole {
    /// The first missing index.
    pub first: Index,
    /// The last missing index.
    pub last: Index,
}

/// What the evidence holds, as far as the choice of a base depends on it.
#[derive(Clone, Debug, Default)]
pub struct Holdings {
    /// The first and last entry of the log; `None` for an empty log.
    pub bounds: Option<(Index, Index)>,
    /// The holes between them, in order.
    pub holes: Vec<Hole>,
    /// The indexes of usable snapshots, in order.
    pub snapshots: Vec<Index>,
}

/// A state that a replay can start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Base {
    /// A server before its first entry.
    Empty,
    /// The snapshot at that index.
    Snapshot(Index),
}

impl Base {
    /// The index that the state stands at.
    pub fn index(self) -> Index {
        match self {
            Base::Empty => Index(0),
            Base::Snapshot(index) => index,
        }
    }
}

impl Holdings {
    /// Every base, oldest first.
    fn bases(&self) -> Vec<Base> {
        let empty = self.bounds.is_some_and(|(first, _)| first <= Index(1)).then_some(Base::Empty);
        empty.into_iter().chain(self.snapshots.iter().map(|index| Base::Snapshot(*index))).collect()
    }

    /// Whether the log holds every entry behind `base` up to and with `end`.
    fn reaches(&self, base: Base, end: Index) -> bool {
        let from = base.index().next();
        if from > end {
            return true;
        }
        let Some((first, last)) = self.bounds else { return false };
        from >= first && end <= last && !self.holes.iter().any(|hole| hole.first <= end && hole.last >= from)
    }

    /// The last index that anything is known of.
    pub fn last(&self) -> Option<Index> {
        self.bounds.map(|(_, last)| last).max(self.snapshots.last().copied())
    }

    /// The base for the longest history: the oldest behind which the log goes on to its end without
    /// a hole, or else to the start of the last hole that any base is below. `None` where no entry
    /// and no snapshot can be used.
    pub fn oldest(&self) -> Option<Base> {
        let bases = self.bases();
        let ends = self.last().into_iter().chain(self.holes.iter().rev().map(|hole| hole.first.prev()));
        let reached = |end: Index| bases.iter().copied().find(|base| base.index() <= end && self.reaches(*base, end));
        ends.into_iter().find_map(reached).or_else(|| bases.last().copied())
    }

    /// The base for the state at one index: the newest at or below it from which the log reaches it.
    pub fn newest_for(&self, wanted: Index) -> Option<Base> {
        self.bases().into_iter().rev().find(|base| base.index() <= wanted && self.reaches(*base, wanted))
    }

    /// The runs of indexes of which the state can be had, in order: each from a base to the entry
    /// before the next hole.
    pub fn reachable(&self) -> Vec<(Index, Index)> {
        let mut runs: Vec<(Index, Index)> = Vec::new();
        for base in self.bases() {
            let from = base.index().next();
            let log_end = self.bounds.filter(|(first, last)| from >= *first && from <= *last).map(|(_, last)| last);
            let hole = self.holes.iter().find(|hole| hole.last >= from).map(|hole| hole.first.prev());
            let end = log_end.map(|last| hole.map_or(last, |hole| hole.min(last))).unwrap_or_default();
            let start = base.index().max(Index(1));
            let run = (start, end.max(start));
            match runs.last_mut() {
                Some(last) if run.0 <= last.1.next() => last.1 = last.1.max(run.1),
                _ => runs.push(run),
            }
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holdings(bounds: Option<(u64, u64)>, holes: &[(u64, u64)], snapshots: &[u64]) -> Holdings {
        Holdings {
            bounds: bounds.map(|(first, last)| (Index(first), Index(last))),
            holes: holes.iter().map(|(first, last)| Hole { first: Index(*first), last: Index(*last) }).collect(),
            snapshots: snapshots.iter().map(|index| Index(*index)).collect(),
        }
    }

    #[test]
    fn a_whole_log_is_replayed_from_nothing_whatever_snapshots_there_are() {
        assert_eq!(holdings(Some((1, 100)), &[], &[50, 90]).oldest(), Some(Base::Empty));
    }

    #[test]
    fn a_compacted_log_starts_from_the_oldest_snapshot_with_a_bridge_to_it() {
        let got = holdings(Some((253, 303)), &[], &[227, 292]);
        assert_eq!(got.oldest(), Some(Base::Snapshot(Index(292))));
        assert_eq!(got.newest_for(Index(227)), Some(Base::Snapshot(Index(227))));
        assert_eq!(got.newest_for(Index(230)), None);
        assert_eq!(got.reachable(), [(Index(227), Index(227)), (Index(292), Index(303))]);
    }

    #[test]
    fn a_snapshot_behind_a_hole_wins_over_a_beginning_before_it() {
        assert_eq!(holdings(Some((1, 100)), &[(40, 42)], &[60]).oldest(), Some(Base::Snapshot(Index(60))));
    }

    #[test]
    fn a_hole_without_a_later_snapshot_is_replayed_up_to() {
        assert_eq!(holdings(Some((1, 100)), &[(40, 42)], &[]).oldest(), Some(Base::Empty));
        assert_eq!(holdings(Some((1, 100)), &[(40, 42), (80, 80)], &[50]).oldest(), Some(Base::Snapshot(Index(50))));
    }

    #[test]
    fn a_snapshot_alone_answers_for_its_index() {
        let got = holdings(None, &[], &[7]);
        assert_eq!(got.oldest(), Some(Base::Snapshot(Index(7))));
        assert_eq!(got.newest_for(Index(8)), None);
    }

    #[test]
    fn a_log_without_its_beginning_and_without_a_snapshot_has_no_base() {
        assert_eq!(holdings(Some((5, 10)), &[], &[]).oldest(), None);
        assert_eq!(holdings(Some((5, 10)), &[], &[]).reachable(), []);
    }

    #[test]
    fn the_state_at_an_index_starts_from_the_newest_base_below_it() {
        let got = holdings(Some((1, 100)), &[], &[50, 90]);
        assert_eq!(got.newest_for(Index(95)), Some(Base::Snapshot(Index(90))));
        assert_eq!(got.newest_for(Index(89)), Some(Base::Snapshot(Index(50))));
        assert_eq!(got.newest_for(Index(49)), Some(Base::Empty));
    }
}
