//! Restarts as JSON (contract.md 3, restarts). Keys of our own beside the contract's tell the steps
//! of each allocation and what is unsure.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::clock::SECOND;
use super::{Batch, Below, Kind, Member, Moment, Recorded, Restart};
use crate::entry::time::GoTime;
use crate::types::{Index, Term};

/// Version of the document's shape.
pub const SCHEMA_VERSION: u32 = 1;

/// Unix nanoseconds as RFC 3339 in UTC.
pub fn rfc3339(nanos: i64) -> String {
    GoTime::from_unix_nanos(nanos).to_string()
}

/// Nanoseconds as seconds, to the millisecond.
#[derive(Clone, Copy, Debug)]
pub struct Seconds(pub i64);

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let millis = (self.0 as f64 / 1_000_000.0).round();
        if self.0 % SECOND == 0 {
            serializer.serialize_i64(self.0 / SECOND)
        } else {
            serializer.serialize_f64(millis / 1000.0)
        }
    }
}

#[derive(Serialize)]
struct RestartJson<'a> {
    namespace: &'a str,
    job: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    groups: Vec<&'a str>,
    kind: &'static str,
    id: &'a str,
    status: &'a str,
    first_index: Index,
    last_index: Index,
    #[serde(skip_serializing_if = "Option::is_none")]
    started: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finished: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_s: Option<Seconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    batch_size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    batch_wait_s: Option<Seconds>,
    #[serde(skip_serializing_if = "is_false")]
    cut_off: bool,
    batches: Vec<BatchJson<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    below: Option<BelowJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    entries: Vec<RecordedJson<'a>>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
}

// serde asks for this signature.
fn is_false(value: &bool) -> bool {
    !*value
}

impl Serialize for Restart {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (group, groups) = match self.groups.as_slice() {
            [one] => (Some(&**one), Vec::new()),
            several => (None, several.iter().map(|g| &**g).collect()),
        };
        RestartJson {
            namespace: &self.job.namespace,
            job: &self.job.id,
            group,
            groups,
            kind: self.kind.name(),
            id: &self.id,
            status: self.status.name(),
            first_index: self.first,
            last_index: self.last,
            started: self.started.map(rfc3339),
            finished: self.finished.map(rfc3339),
            duration_s: self.duration().map(Seconds),
            batch_size: self.batch_size,
            batch_wait_s: self.batch_wait.map(Seconds),
            cut_off: self.cut_off,
            batches: self.batches.iter().map(|b| batch(b, self.kind)).collect(),
            left_out: self.left_out.iter().map(ToString::to_string).collect(),
            below: self.below.as_ref().map(below),
            entries: self.recorded.iter().map(recorded).collect(),
            notes: &self.notes,
        }
        .serialize(serializer)
    }
}

impl Restart {
    /// From its beginning to its end, nanoseconds.
    pub fn duration(&self) -> Option<i64> {
        Some(self.finished?.saturating_sub(self.started?))
    }
}

#[derive(Serialize)]
struct BatchJson<'a> {
    allocs: Vec<String>,
    replaced_by: BTreeMap<String, String>,
    first_index: Index,
    last_index: Index,
    #[serde(skip_serializing_if = "Option::is_none")]
    started: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finished: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_running: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    starting: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_running_index: Option<Index>,
    #[serde(skip_serializing_if = "Option::is_none")]
    running_index: Option<Index>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_index: Option<Index>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_began_before_running: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_began_before_healthy: Option<bool>,
    steps: Vec<StepsJson<'a>>,
}

fn batch(batch: &Batch, kind: Kind) -> BatchJson<'_> {
    let replaced = |m: &Member| Some((m.alloc.to_string(), m.replacement.as_ref()?.to_string()));
    BatchJson {
        allocs: batch.members.iter().map(|m| m.alloc.to_string()).collect(),
        replaced_by: batch.members.iter().filter_map(replaced).collect(),
        first_index: batch.first,
        last_index: batch.last,
        started: batch.started.map(rfc3339),
        finished: batch.finished.map(rfc3339),
        min_running: batch.worst.map(|w| w.running),
        starting: batch.worst.map(|w| w.starting),
        stopped: batch.worst.map(|w| w.stopped),
        count: batch.worst.map(|w| w.count),
        min_running_index: batch.worst.map(|w| w.index),
        running_index: batch.running(),
        next_index: batch.next,
        next_began_before_running: batch.next_before_running,
        next_began_before_healthy: batch.next_before_healthy,
        steps: batch.members.iter().map(|m| steps(m, kind)).collect(),
    }
}

/// What happened to one allocation: each step with its entry, and its time where it is known.
#[derive(Serialize)]
struct StepsJson<'a> {
    alloc: String,
    group: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    signaled: Option<At>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transition: Option<At>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<At>,
    #[serde(skip_serializing_if = "Option::is_none")]
    terminated: Option<At>,
    #[serde(skip_serializing_if = "Option::is_none")]
    complete: Option<At>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replacement: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    running: Option<At>,
    #[serde(skip_serializing_if = "Option::is_none")]
    healthy: Option<At>,
    #[serde(skip_serializing_if = "is_false")]
    failed: bool,
    #[serde(skip_serializing_if = "is_false")]
    inferred: bool,
}

fn steps(member: &Member, kind: Kind) -> StepsJson<'_> {
    let stops = kind == Kind::Reschedule || member.planned.is_some();
    let asked = (!member.inferred).then_some(At::from(member.asked));
    let down = member.down.map(At::from);
    StepsJson {
        alloc: member.alloc.to_string(),
        group: &member.group,
        signaled: asked.clone().filter(|_| !stops),
        transition: asked.filter(|_| stops),
        stopped: member.planned.map(At::from),
        terminated: down.clone().filter(|_| !stops),
        complete: down.filter(|_| stops),
        replacement: member.replacement.as_ref().map(ToString::to_string),
        running: member.back.map(At::from),
        healthy: member.healthy.map(At::from),
        failed: member.failed,
        inferred: member.inferred,
    }
}

/// A moment of ours.
#[derive(Clone, Debug, Serialize)]
struct At {
    index: Index,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<String>,
}

impl From<Moment> for At {
    fn from(moment: Moment) -> Self {
        At { index: moment.index, time: moment.time.map(rfc3339) }
    }
}

#[derive(Serialize)]
struct BelowJson {
    threshold: i64,
    count: i64,
    lowest: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    longest_s: Option<Seconds>,
    first_index: Index,
    until_index: Option<Index>,
}

fn below(below: &Below) -> BelowJson {
    BelowJson {
        threshold: below.threshold,
        count: below.count,
        lowest: below.lowest,
        longest_s: below.longest.map(Seconds),
        first_index: below.first.index,
        until_index: below.until.map(|m| m.index),
    }
}

#[derive(Serialize)]
struct RecordedJson<'a> {
    index: Index,
    term: Term,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<String>,
    status: &'a str,
    restarted: usize,
    restarted_allocs: Vec<String>,
}

fn recorded(entry: &Recorded) -> RecordedJson<'_> {
    RecordedJson {
        index: entry.at.index,
        term: entry.at.term,
        time: entry.at.time.map(rfc3339),
        status: &entry.status,
        restarted: entry.restarted.len(),
        restarted_allocs: entry.restarted.iter().map(ToString::to_string).collect(),
    }
}
