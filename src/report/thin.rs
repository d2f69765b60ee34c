//! Long tracks made short: what stays shows every stretch of the log at its lowest and its highest.

use std::collections::BTreeSet;

use super::track::Change;
use crate::types::Index;

/// A track of which at most so many changes are left as were asked for.
#[derive(Clone, Debug)]
pub struct Thinned {
    /// The changes that are left, in order.
    pub changes: Vec<Change>,
    /// How many there were.
    pub of: usize,
    /// In how many stretches the rest was looked at; 0 where nothing was left out.
    pub stretches: usize,
}

/// At most two changes for each end of each of three counters stay of a stretch, and its first and last.
const OF_A_STRETCH: usize = 8;

/// Thins a track to about `most` changes. Those at the indexes of `keep`, and the ones before them, always stay; of
/// each of the equally long stretches of the log the first, the last, and the lowest and highest of each counter do.
pub fn thin(changes: &[Change], keep: &BTreeSet<Index>, most: usize) -> Thinned {
    let of = changes.len();
    let (Some(first), Some(last)) = (changes.first(), changes.last()) else {
        return Thinned { changes: Vec::new(), of, stretches: 0 };
    };
    if of <= most {
        return Thinned { changes: changes.to_vec(), of, stretches: 0 };
    }
    let stretches = (most / OF_A_STRETCH).max(1);
    let span = last.index.0.saturating_sub(first.index.0).saturating_add(1);
    let length = span.div_ceil(stretches as u64).max(1);
    let stretch = |change: &Change| change.index.0.saturating_sub(first.index.0) / length;
    let mut kept: BTreeSet<usize> = BTreeSet::from([0, of - 1]);
    for (place, change) in changes.iter().enumerate() {
        if keep.contains(&change.index) {
            kept.extend([place.saturating_sub(1), place]);
        }
    }
    let mut from = 0;
    for group in changes.chunk_by(|a, b| stretch(a) == stretch(b)) {
        kept.extend([from, from + group.len() - 1]);
        for counter in 0..3 {
            let value = |change: &Change| change.counts.map_or(0, |counts| counts.as_array()[counter]);
            let places = || group.iter().enumerate();
            // The first of equals, so that a value is shown from where it began.
            let lowest = places().min_by_key(|(_, change)| value(change));
            let highest = places().rev().max_by_key(|(_, change)| value(change));
            kept.extend([lowest, highest].into_iter().flatten().map(|(place, _)| from + place));
        }
        from += group.len();
    }
    let changes = kept.into_iter().filter_map(|place| changes.get(place).cloned()).collect();
    Thinned { changes, of, stretches }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fsm::row::Children;

    fn track(counts: impl Iterator<Item = i64>) -> Vec<Change> {
        let change = |(i, running)| Change {
            index: Index(10 + 2 * i as u64),
            entry: "JobRegister".into(),
            child: None,
            counts: Some(Children { running, ..Children::default() }),
        };
        counts.enumerate().map(change).collect()
    }

    #[test]
    fn a_short_track_stays_as_it_is() {
        let all = track((0..50).map(|i| i % 2));
        let thinned = thin(&all, &BTreeSet::new(), 50);
        assert_eq!((thinned.changes, thinned.of, thinned.stretches), (all, 50, 0));
    }

    #[test]
    fn the_extremes_and_what_is_to_be_kept_survive() {
        let all = track((0..10_000).map(|i| match i {
            4321 => -1,
            7777 => 99,
            i => i % 2,
        }));
        let keep = BTreeSet::from([Index(10 + 2 * 5000)]);
        let thinned = thin(&all, &keep, 400);
        assert!(thinned.changes.len() <= 400 + 4, "{}", thinned.changes.len());
        assert_eq!(thinned.of, 10_000);
        let has = |index: u64| thinned.changes.iter().any(|c| c.index == Index(10 + 2 * index));
        assert!([0, 4321, 7777, 4999, 5000, 9999].into_iter().all(has));
        assert!(thinned.changes.is_sorted_by_key(|c| c.index));
    }
}
