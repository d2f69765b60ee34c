//! `--committed-only`, and what the logs of other servers tell of the one that is replayed (storage.md 7, 3 and 4).

use std::path::{Path, PathBuf};

use super::super::reporter::Reporter;
use crate::committed::{self, Known, UpTo};
use crate::compare::{self, Comparison, DifferenceKind, Given, Proof, Verdict};
use crate::error::Error;
use crate::evidence::{self, Evidence, Log, NoLog};
use crate::notes::Notes;
use crate::types::Index;

/// The evidence again, with what its snapshots and the logs of other servers tell of it.
///
/// # Errors
/// When a log cannot be read, or is of another cluster.
pub(super) fn known(
    path: &Path,
    evidence: Evidence,
    others: &[PathBuf],
    reporter: &Reporter,
) -> Result<(Evidence, Known), Error> {
    let mut notes = reporter;
    let mut known = Known::of_snapshots(&evidence);
    if others.is_empty() {
        return Ok((evidence, known));
    }
    let mut given = vec![Given { name: path.display().to_string().into(), evidence }];
    for other in others {
        let evidence = evidence::open(other)?;
        evidence.window.notes.iter().for_each(|n| notes.note(format!("{}: {n}", other.display())));
        given.push(Given { name: other.display().to_string().into(), evidence });
    }
    let bounds = || given.iter().filter_map(|given| given.evidence.log.bounds());
    let first = bounds().map(|(first, _)| first).min().unwrap_or_default();
    let last = bounds().map(|(_, last)| last).max().unwrap_or_default();
    let mut progress = reporter.progress("comparing", first, last);
    let comparison = compare::compare(&given, &mut |index| progress.tick(index))?;
    progress.finish();
    if comparison.verdict == Verdict::DifferentClusters {
        return Err(Error::Usage("these are servers of different clusters; look into one at a time".into()));
    }
    notes.note(format!("{} is what is looked into; the others tell what of it was committed", path.display()));
    let told = comparison.known_of(0);
    tell(&comparison, &told, path, reporter);
    known.proven = known.proven.max(told.proven);
    known.refuted = told.refuted;
    Ok((given.swap_remove(0).evidence, known))
}

/// What the comparison has to say about the first log.
fn tell(comparison: &Comparison, known: &Known, path: &Path, mut notes: &Reporter) {
    let path = path.display();
    let by = match comparison.committed.by {
        Some(Proof::Majority) => "by a majority",
        _ => "by a snapshot",
    };
    if known.proven > Index(0) {
        notes.note(format!("{path}: entries up to {} are proven to be committed, {by}", known.proven));
    } else if let Some(why) = &comparison.committed.detail {
        notes.note(format!("{path}: the other logs prove nothing to be committed, since {why}"));
    }
    for (first, last) in &known.refuted {
        let to = if *last == Index(u64::MAX) { "its end".to_owned() } else { last.to_string() };
        notes.warn(format!(
            "{path}: entries {first} to {to} were never committed: other servers prove others in their place"
        ));
    }
    let broken = |kind| matches!(kind, DifferenceKind::Corruption | DifferenceKind::LogMatching);
    for difference in comparison.differences.iter().filter(|difference| broken(difference.kind)) {
        notes.warn(difference.detail.as_str());
    }
}

/// Ends the log at the last entry that is proven to be committed (`--committed-only`).
///
/// # Errors
/// When nothing is.
pub(super) fn cut(evidence: &mut Evidence, known: &Known, mut notes: &Reporter) -> Result<(), Error> {
    let Some((first, last)) = evidence.log.bounds() else { return Ok(()) };
    let path = &evidence.window.path;
    // What others prove to be wrong, no entry of this log proves to be right. A run that ends at a hole lies below
    // the snapshot that stands for the hole.
    let proven = committed::proven(evidence, known)?;
    let tails = known.refuted.iter().filter(|(_, last)| *last == Index(u64::MAX));
    let proven = tails.map(|(first, _)| first.prev()).chain([proven]).min().unwrap_or(proven);
    let based = evidence.snapshots.iter().any(|snapshot| snapshot.info().index <= proven && snapshot.is_usable());
    if proven < first && !based {
        return Err(Error::OutOfEvidence(format!(
            "{path}: no entry of the log is proven to be committed; leave --committed-only out, or give the \
             directories of the other servers to audit"
        )));
    }
    if proven < last {
        let (n, next) = (last.0 - proven.0, proven.next());
        notes.note(format!(
            "{path}: entries {next} to {last} ({n}) are left out: nothing proves that they were committed"
        ));
        let log = std::mem::replace(&mut evidence.log, Box::new(NoLog));
        evidence.log = Box::new(UpTo::new(log, proven));
    }
    Ok(())
}
