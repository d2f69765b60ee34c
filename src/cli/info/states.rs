//! Which states of the server the evidence holds: its snapshots, and the indexes that a replay reaches from them or
//! from before the first entry.

use serde::Serialize;

use super::report::Gap;
use crate::base::{self, Holdings, Hole};
use crate::evidence::snapshot::{Snapshot, Verdict};
use crate::evidence::{Damage, DamageKind, Log};
use crate::types::{Index, Term};

/// A snapshot.
#[derive(Debug, Serialize)]
pub struct SnapshotRow {
    pub path: String,
    pub index: Index,
    pub term: Term,
    /// Bytes of its state.
    pub size: u64,
    /// `good`, `none` where there is no checksum, `bad`, or `not_checked` where that would take long.
    pub checksum: &'static str,
    /// Why it cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// What a replay can answer.
#[derive(Debug, Serialize)]
pub struct Reach {
    /// Where the longest replay starts; absent where there is no state to start from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<Base>,
    /// The indexes of which the state can be had, both ends inclusive.
    pub states: Vec<Gap>,
}

/// A state that a replay starts from.
#[derive(Debug, Serialize)]
pub struct Base {
    /// `empty` or `snapshot`.
    pub kind: &'static str,
    pub index: Index,
}

/// The snapshots. One of more bytes than `most` is only read where `whole` asks for all.
pub fn snapshots(snapshots: &[Snapshot], whole: bool, most: u64) -> Vec<SnapshotRow> {
    let row = |snapshot: &Snapshot| {
        let info = snapshot.info();
        let (checksum, problem) = match info.problems.first() {
            None if !whole && info.size > most => ("not_checked", None),
            _ => match snapshot.verify() {
                Verdict::Good => ("good", None),
                Verdict::NoChecksum => ("none", None),
                Verdict::Bad(why) => ("bad", Some(why.clone())),
            },
        };
        SnapshotRow { path: info.path.clone(), index: info.index, term: info.term, size: info.size, checksum, problem }
    };
    snapshots.iter().map(row).collect()
}

/// What can be answered from a log with this damage, and these snapshots.
pub fn reach(log: &dyn Log, damage: &[Damage], snapshots: &[SnapshotRow]) -> Reach {
    let lost = damage.iter().filter(|damage| damage.kind != DamageKind::UndecodableEntry);
    let hole = |damage: &Damage| {
        let first = damage.first.unwrap_or_default();
        Hole { first, last: damage.last.unwrap_or(first).max(first) }
    };
    let mut usable: Vec<Index> = snapshots.iter().filter(|s| s.checksum != "bad").map(|s| s.index).collect();
    usable.sort_unstable();
    usable.dedup();
    let held = Holdings { bounds: log.bounds(), holes: lost.map(hole).collect(), snapshots: usable };
    let base = held
        .oldest()
        .map(|base| Base { kind: if base == base::Base::Empty { "empty" } else { "snapshot" }, index: base.index() });
    Reach { base, states: held.reachable().into_iter().map(|(first, last)| Gap { first, last }).collect() }
}

/// A snapshot in words.
pub fn snapshot_words(row: &SnapshotRow) -> String {
    let checksum = match (row.checksum, &row.problem) {
        (_, Some(problem)) => return format!("index {} (term {}), cannot be used: {problem}", row.index, row.term),
        ("good", _) => "checksum fits",
        ("none", _) => "without a checksum",
        _ => "not checked",
    };
    format!("index {} (term {}), {} bytes, {checksum}: {}", row.index, row.term, row.size, row.path)
}

/// What can be answered, in words: where a replay starts, and which states there are.
pub fn reach_words(reach: &Reach) -> (String, String) {
    let base = match &reach.base {
        Some(base) if base.kind == "empty" => "before the first entry".to_owned(),
        Some(base) => format!("the snapshot at index {}", base.index),
        None => "none: the log begins above index 1, and no snapshot that can be used leads to it".to_owned(),
    };
    let run = |run: &Gap| {
        if run.first == run.last { run.first.to_string() } else { format!("{} to {}", run.first, run.last) }
    };
    let states: Vec<String> = reach.states.iter().map(run).collect();
    let states = if states.is_empty() { "none".to_owned() } else { format!("after index {}", states.join(", ")) };
    (base, states)
}
