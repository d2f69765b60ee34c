//! Reads a long log in parts, one on each processor.

use std::ops::{ControlFlow, RangeInclusive};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use super::tally::Tally;
use crate::cli::reporter::Reporter;
use crate::evidence::{Log, Scanned};
use crate::progress::Progress;
use crate::types::Index;

/// A part has at least so many entries.
const LEAST: u64 = 8192;

/// More parts than this would only wait for the memory.
const MOST: usize = 8;

/// How often a thread says how far it has come, in entries.
const TOLD_EVERY: u64 = 256;

/// Reads the entries from `from` to `last`. `None` where the log is short, there is one processor, or it is damaged:
/// damage at the border of two parts looks different from either side, and has to be told as a whole.
pub(super) fn read(log: &dyn Log, from: Index, last: Index, whole: bool, reporter: &Reporter) -> Option<Tally> {
    let processors = thread::available_parallelism().map_or(1, |n| n.get()).min(MOST);
    let parts = split(from, last, processors);
    let (first, others) = parts.split_first().filter(|(_, others)| !others.is_empty())?;
    let done = AtomicU64::new(0);
    thread::scope(|scope| {
        let others: Vec<_> =
            others.iter().map(|part| scope.spawn(|| one(log, part.clone(), whole, &done, &mut |_| ()))).collect();
        let mut progress: Progress<'_> = reporter.progress("reading", from, last);
        let mut tally = one(log, first.clone(), whole, &done, &mut |done| progress.told(done));
        for other in others {
            let other = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            tally = tally.zip(other).map(|(tally, other)| tally.followed_by(other));
        }
        tally
    })
}

fn one(
    log: &dyn Log,
    part: RangeInclusive<Index>,
    whole: bool,
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
        tally.entry(&record);
        if tally.entries.is_multiple_of(TOLD_EVERY) {
            tell(done.fetch_add(TOLD_EVERY, Ordering::Relaxed) + TOLD_EVERY);
        }
        ControlFlow::Continue(())
    });
    (sound && result.is_ok()).then_some(tally)
}

/// Up to `parts` ranges of about the same length.
fn split(from: Index, last: Index, parts: usize) -> Vec<RangeInclusive<Index>> {
    let entries = last.0.saturating_sub(from.0).saturating_add(1);
    let length = entries.div_ceil(parts.max(1) as u64).max(LEAST);
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
        for (from, last, parts) in [(1, 1, 2), (1, 8192, 2), (1, 20_000, 2), (500, 121_000, 3), (7, 50_001, 8)] {
            let ranges = split(Index(from), Index(last), parts);
            assert!(ranges.len() <= parts);
            assert_eq!((ranges[0].start().0, ranges[ranges.len() - 1].end().0), (from, last));
            assert!(ranges.windows(2).all(|pair| pair[0].end().next() == *pair[1].start()));
        }
    }
}
