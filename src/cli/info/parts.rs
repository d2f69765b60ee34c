//! Reads a long log in parts, on all processors.

use std::ops::{ControlFlow, RangeInclusive};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use super::tally::Tally;
use crate::cli::reporter::Reporter;
use crate::entry::message_type::MessageTypes;
use crate::evidence::{Log, Scanned};
use crate::progress::Progress;
use crate::types::Index;

/// A part has at least so many entries: each begins with an empty cache.
const LEAST: u64 = 8192;

/// There are at most so many parts: more than threads, since entries differ in size and so parts in length.
const MOST: u64 = 64;

/// More threads than this would only wait for the memory.
const THREADS: usize = 8;

/// How often a thread says how far it has come, in entries.
const TOLD_EVERY: u64 = 256;

/// Reads the entries from `from` to `last`. `None` where the log is short, there is one processor, or it is damaged:
/// damage at the border of two parts looks different from either side, and has to be told as a whole.
pub(super) fn read(
    log: &dyn Log,
    from: Index,
    last: Index,
    whole: bool,
    names: &MessageTypes,
    reporter: &Reporter,
) -> Option<Tally> {
    let parts = split(from, last);
    let threads = thread::available_parallelism().map_or(1, |n| n.get()).min(THREADS).min(parts.len());
    if threads < 2 {
        return None;
    }
    let (next, done) = (AtomicUsize::new(0), AtomicU64::new(0));
    let work = |tell: &mut dyn FnMut(u64)| {
        let mut tallies = Vec::new();
        while let number = next.fetch_add(1, Ordering::Relaxed)
            && let Some(part) = parts.get(number)
        {
            let tally = one(log, part.clone(), (whole, names), &done, tell);
            if tally.is_none() {
                // Nobody need begin another part.
                next.store(parts.len(), Ordering::Relaxed);
            }
            tallies.push((number, tally));
        }
        tallies
    };
    let mut tallies = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(|| work(&mut |_| ()))).collect();
        let mut progress: Progress<'_> = reporter.progress("reading", from, last);
        let mut tallies = work(&mut |done| progress.told(done));
        for other in others {
            tallies.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        tallies
    });
    tallies.sort_unstable_by_key(|(number, _)| *number);
    let mut tallies = tallies.into_iter().map(|(_, tally)| tally);
    let first = tallies.next()??;
    tallies.try_fold(first, |all, tally| Some(all.followed_by(tally?)))
}

fn one(
    log: &dyn Log,
    part: RangeInclusive<Index>,
    (whole, names): (bool, &MessageTypes),
    done: &AtomicU64,
    tell: &mut dyn FnMut(u64),
) -> Option<Tally> {
    let mut tally = Tally::new(whole);
    let mut sound = true;
    let result = log.scan(part, &mut |scanned| {
        let Scanned::Entry(record) = scanned else {
            sound = false;
            return ControlFlow::Break(());
        };
        tally.entry(&record, names);
        if tally.entries.is_multiple_of(TOLD_EVERY) {
            tell(done.fetch_add(TOLD_EVERY, Ordering::Relaxed) + TOLD_EVERY);
        }
        ControlFlow::Continue(())
    });
    (sound && result.is_ok()).then_some(tally)
}

/// Up to [`MOST`] ranges of the same length, save the last.
fn split(from: Index, last: Index) -> Vec<RangeInclusive<Index>> {
    let entries = last.0.saturating_sub(from.0).saturating_add(1);
    let length = entries.div_ceil(MOST).max(LEAST);
    let mut ranges = Vec::new();
    let mut start = from;
    loop {
        let end = Index(start.0.saturating_add(length - 1)).min(last);
        ranges.push(start..=end);
        if end == last {
            return ranges;
        }
        start = end.next();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_without_a_gap() {
        for (from, last) in
            [(1, 1), (1, LEAST), (1, LEAST + 1), (500, 121_000), (7, 5_000_001), (u64::MAX, u64::MAX), (0, u64::MAX)]
        {
            let ranges = split(Index(from), Index(last));
            assert!(ranges.len() as u64 <= MOST);
            assert_eq!((ranges[0].start().0, ranges[ranges.len() - 1].end().0), (from, last));
            assert!(ranges.windows(2).all(|pair| pair[0].end().next() == *pair[1].start()));
        }
    }
}
