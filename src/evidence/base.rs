//! From which state a replay may begin, and how far it leads (issue 4, contract.md 2).
//!
//! A base is the empty state, where the log begins at 1, or a usable snapshot. From a base the log
//! leads on to the last entry before the first one that is missing.

use std::ops::{ControlFlow, RangeInclusive};

use super::{Damage, Evidence, EvidenceError, Scanned};
use crate::types::Index;

/// What the evidence holds, as far as a choice of base depends on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// The first and last readable entry; `None` for an empty log.
    pub log: Option<(Index, Index)>,
    /// Runs of missing entries between them, in order.
    pub gaps: Vec<(Index, Index)>,
    /// The usable snapshots in order of index, each with its place in [`Evidence::snapshots`].
    pub snapshots: Vec<(Index, usize)>,
}

/// A state from which a replay can begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Base {
    /// Its place in [`Evidence::snapshots`]; `None` for the empty state.
    pub snapshot: Option<usize>,
    /// The last entry whose effect it holds; 0 for the empty state.
    pub index: Index,
    /// The last entry that a replay from it reaches; its own index where the next entry is missing.
    pub reach: Index,
}

/// The wanted index cannot be had; these can, in order and without overlap.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the state after entry {wanted} cannot be had: {}", can_be_had(available))]
pub struct OutOfEvidence {
    /// The wanted index.
    pub wanted: Index,
    /// The runs of indexes after which the state can be had.
    pub available: Vec<RangeInclusive<Index>>,
}

fn can_be_had(available: &[RangeInclusive<Index>]) -> String {
    let run = |run: &RangeInclusive<Index>| match (run.start(), run.end()) {
        (a, b) if a == b => a.to_string(),
        (a, b) => format!("{a} to {b}"),
    };
    match available {
        [] => "the log does not begin at 1 and there is no usable snapshot".into(),
        runs => format!("the evidence has those after {}", runs.iter().map(run).collect::<Vec<_>>().join(", ")),
    }
}

impl Coverage {
    /// The coverage of evidence. Goes through the whole log and verifies every snapshot. Whatever the
    /// replay stops at is a hole.
    ///
    /// # Errors
    /// When the log cannot be read at all.
    pub fn of(evidence: &Evidence) -> Result<Self, EvidenceError> {
        let mut coverage = Coverage { log: evidence.log.bounds(), ..Coverage::default() };
        if let Some((first, last)) = coverage.log {
            evidence.log.scan(first..=last, &mut |met| {
                if let Scanned::Damaged(Damage { first: Some(from), last: Some(to), .. }) = met
                    && to >= first
                {
                    coverage.gaps.push((from.max(first), to.min(last)));
                }
                ControlFlow::Continue(())
            })?;
        }
        let snapshots = evidence.snapshots.iter().enumerate();
        let usable = snapshots.filter(|(_, snapshot)| snapshot.is_usable());
        coverage.snapshots = usable.map(|(place, snapshot)| (snapshot.info().index, place)).collect();
        coverage.snapshots.sort();
        Ok(coverage)
    }

    /// Every base, in order of index.
    pub fn bases(&self) -> Vec<Base> {
        let base = |snapshot, index| Base { snapshot, index, reach: self.reach(index) };
        // A log of nothing, without a snapshot either, is the whole history of a server that has none.
        let from_nothing = match self.log {
            Some((first, _)) => first <= Index(1),
            None => self.snapshots.is_empty(),
        };
        let empty = from_nothing.then(|| base(None, Index(0)));
        let snapshots = self.snapshots.iter().map(|&(index, place)| base(Some(place), index));
        empty.into_iter().chain(snapshots).collect()
    }

    /// The last entry that a replay from the state after `from` reaches.
    fn reach(&self, from: Index) -> Index {
        let Some((first, last)) = self.log else { return from };
        if last <= from || first > from.next() {
            return from;
        }
        let hole = self.gaps.iter().find(|(_, end)| *end > from);
        hole.map_or(last, |(start, _)| start.prev().max(from))
    }

    /// The newest state that the evidence tells of.
    pub fn end(&self) -> Index {
        let last = self.log.map(|(_, last)| last);
        last.into_iter().chain(self.snapshots.last().map(|(index, _)| *index)).max().unwrap_or_default()
    }

    /// The base for a replay of as much as there is: the oldest one from which the log leads to the
    /// end; where none does, the one with the most entries before its hole, and of equal ones the newest.
    /// `None` where there is no base at all.
    pub fn for_replay(&self) -> Option<Base> {
        let bases = self.bases();
        let whole = bases.iter().find(|base| base.reach == self.end());
        whole.or_else(|| bases.iter().max_by_key(|base| (base.reach.0 - base.index.0, base.index))).copied()
    }

    /// The base for the state after one entry: the newest at or below it, from which the log may yet
    /// stop before it: see [`Base::reach`].
    ///
    /// # Errors
    /// When every base is newer.
    pub fn for_state(&self, wanted: Index) -> Result<Base, OutOfEvidence> {
        let newest = self.bases().into_iter().rev().find(|base| base.index <= wanted);
        newest.ok_or_else(|| OutOfEvidence { wanted, available: self.available() })
    }

    /// The runs of indexes after which the state can be had, in order and without overlap.
    pub fn available(&self) -> Vec<RangeInclusive<Index>> {
        let mut runs: Vec<RangeInclusive<Index>> = Vec::new();
        for base in self.bases() {
            match runs.last_mut() {
                Some(run) if base.index <= run.end().next() => *run = *run.start()..=base.reach.max(*run.end()),
                _ => runs.push(base.index..=base.reach),
            }
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coverage(log: (u64, u64), gaps: &[(u64, u64)], snapshots: &[u64]) -> Coverage {
        Coverage {
            log: (log.1 > 0).then_some((Index(log.0), Index(log.1))),
            gaps: gaps.iter().map(|&(a, b)| (Index(a), Index(b))).collect(),
            snapshots: snapshots.iter().enumerate().map(|(place, &index)| (Index(index), place)).collect(),
        }
    }

    /// Index and reach of the base for a replay.
    fn replay(coverage: &Coverage) -> Option<(u64, u64)> {
        coverage.for_replay().map(|base| (base.index.0, base.reach.0))
    }

    #[test]
    fn a_whole_log_is_replayed_from_nothing_though_there_are_snapshots() {
        assert_eq!(replay(&coverage((1, 100), &[], &[30, 60])), Some((0, 100)));
    }

    #[test]
    fn a_compacted_log_is_replayed_from_the_oldest_snapshot_that_it_follows() {
        assert_eq!(replay(&coverage((25, 100), &[], &[10, 30, 60])), Some((30, 100)));
        assert_eq!(replay(&coverage((31, 100), &[], &[30])), Some((30, 100)));
    }

    #[test]
    fn with_a_hole_the_snapshot_behind_it_counts_and_without_one_what_is_before_it() {
        assert_eq!(replay(&coverage((1, 100), &[(40, 50)], &[30, 60])), Some((60, 100)));
        // The snapshot stands for the last entries of the hole.
        assert_eq!(replay(&coverage((1, 100), &[(40, 50)], &[50])), Some((50, 100)));
        assert_eq!(replay(&coverage((1, 100), &[(40, 50)], &[])), Some((0, 39)));
        assert_eq!(replay(&coverage((1, 100), &[(40, 50)], &[45])), Some((0, 39)));
        assert_eq!(replay(&coverage((150, 300), &[(250, 260)], &[100, 200])), Some((200, 249)));
    }

    #[test]
    fn a_log_that_ends_before_the_newest_snapshot_gives_way_to_it() {
        assert_eq!(replay(&coverage((1, 100), &[], &[120])), Some((120, 120)));
        assert_eq!(replay(&coverage((0, 0), &[], &[120])), Some((120, 120)));
    }

    #[test]
    fn without_a_base_there_is_no_replay() {
        assert_eq!(replay(&coverage((5, 100), &[], &[])), None);
        assert_eq!(replay(&coverage((5, 100), &[], &[2])), Some((2, 2)));
        assert_eq!(replay(&coverage((0, 0), &[], &[])), Some((0, 0)));
    }

    #[test]
    fn a_state_comes_from_the_newest_base_below_it() {
        let all = coverage((25, 100), &[(70, 75)], &[30, 60]);
        let base = |wanted| all.for_state(Index(wanted)).map(|base| (base.index.0, base.reach.0));
        assert_eq!((base(60), base(59), base(99)), (Ok((60, 69)), Ok((30, 69)), Ok((60, 69))));
        let error = base(29).unwrap_err();
        assert_eq!(error.available, [Index(30)..=Index(69)]);
        let message = error.to_string();
        assert!(message.ends_with("after entry 29 cannot be had: the evidence has those after 30 to 69"), "{message}");
    }
}
