//! From traces to batches, and from batches to restarts (fsm.md 7).

use std::collections::HashSet;

use super::clock::{Clocks, SECOND};
use super::rings::{Seen, Signal};
use super::stops::Stop;
use super::{Member, Moment};
use crate::fsm::id::Id;
use crate::types::Index;

/// Calls of one batch are sent at the same time and come in within this; also how far apart times
/// of two nodes may be when their clocks had to be corrected.
const TOGETHER: i64 = SECOND;

/// A stop that comes this soon after another was sent together with it, even if the first
/// allocation has ended already.
const AT_ONCE: i64 = SECOND / 4;

/// No batch takes longer to send.
const SENT: i64 = 5 * SECOND;

/// The longest first wait between two batches that are believed to be of one restart.
const FIRST_WAIT: i64 = 3600 * SECOND;

/// Later waits can be that much longer than those before, or [`LATER_WAIT`].
const STRETCH: i64 = 3;

/// See [`STRETCH`].
const LATER_WAIT: i64 = 600 * SECOND;

/// Events of tasks come in clients' reports.
pub(super) const REPORT: Option<u8> = Some(9);

/// Members of one batch.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cluster {
    pub members: Vec<Member>,
    /// The first entry with a trace of it.
    pub first: Index,
    pub started: Option<i64>,
    /// When the command could go on.
    pub finished: Option<i64>,
}

impl Cluster {
    /// The time from the end of this one to the beginning of the next, nanoseconds.
    pub(super) fn wait(&self, next: &Cluster) -> Option<i64> {
        Some(next.started?.saturating_sub(self.finished?))
    }

    fn absorb(&mut self, other: Cluster) {
        self.members.extend(other.members);
        self.first = self.first.min(other.first);
        self.finished = self.finished.zip(other.finished).map(|(a, b)| a.max(b));
    }
}

/// Batches of restarts in place, by the times of their events. A signal belongs to the open batch
/// while not all of its tasks have ended, since the command waits for that before it goes on. Where
/// clocks had to be corrected that is too fine, and only gaps count; the second value tells so.
pub(super) fn in_place(signals: &[Signal], clocks: &Clocks) -> (Vec<Cluster>, bool) {
    let mut sorted: Vec<(&Signal, i64)> =
        signals.iter().map(|s| (s, clocks.corrected(&s.node, s.asked.time))).collect();
    sorted.sort_by_key(|(signal, time)| (*time, signal.asked.index));
    let rough = signals.iter().any(|s| clocks.correction(&s.node).is_some());
    let mut clusters: Vec<Cluster> = Vec::new();
    let mut last = i64::MIN;
    let mut open: Vec<(&Signal, i64)> = Vec::new();
    let mut ended = i64::MIN;
    for (signal, time) in sorted {
        let again = open.iter().any(|(s, _)| s.alloc == signal.alloc && s.task == signal.task);
        let together = time < ended || (rough && time.saturating_sub(last) <= TOGETHER);
        if !open.is_empty() && (again || !together) {
            clusters.push(cluster_of(&open, clocks));
            open.clear();
            ended = i64::MIN;
        }
        open.push((signal, time));
        last = time;
        // A task that has not ended yet keeps the batch open for those sent together with it.
        let end = signal
            .down
            .or(signal.back)
            .map_or(time.saturating_add(TOGETHER), |s| clocks.corrected(&signal.node, s.time));
        ended = ended.max(end);
    }
    if !open.is_empty() {
        clusters.push(cluster_of(&open, clocks));
    }
    (clusters, rough)
}

/// One batch; the tasks of an allocation become one member.
pub(super) fn cluster_of(signals: &[(&Signal, i64)], clocks: &Clocks) -> Cluster {
    let mut members: Vec<Member> = Vec::new();
    for (signal, time) in signals {
        let moment = |seen: Seen| Moment {
            index: seen.index,
            term: seen.term,
            command: REPORT,
            time: Some(clocks.corrected(&signal.node, seen.time)),
        };
        let asked = Moment { time: Some(*time), ..moment(signal.asked) };
        let (down, back) = (signal.down.map(moment), signal.back.map(moment));
        match members.iter_mut().find(|m| m.alloc == signal.alloc) {
            Some(member) => {
                member.down = later(member.down, down);
                member.back = later(member.back, back);
                member.failed |= signal.failed;
            }
            None => members.push(Member {
                alloc: signal.alloc.clone(),
                group: signal.group.clone(),
                asked,
                planned: None,
                down,
                back,
                healthy: None,
                replacement: None,
                failed: signal.failed,
                inferred: false,
            }),
        }
    }
    let ended: Option<Vec<i64>> = members.iter().map(|m| m.down.or(m.back).and_then(|d| d.time)).collect();
    Cluster {
        first: members.iter().map(|m| m.asked.index).min().unwrap_or_default(),
        started: members.first().and_then(|m| m.asked.time),
        finished: ended.and_then(|times| times.into_iter().max()),
        members,
    }
}

/// The later of two moments; `None` while one is missing.
fn later(one: Option<Moment>, other: Option<Moment>) -> Option<Moment> {
    let (one, other) = (one?, other?);
    Some(if (other.time, other.index) > (one.time, one.index) { other } else { one })
}

/// Batches of stops, in order of index. The command waits until all replacements run; a stop that
/// comes earlier, but not together with the others, begins a batch of its own all the same.
pub(super) fn reschedule(stops: &[Stop]) -> Vec<Cluster> {
    let mut clusters: Vec<Cluster> = Vec::new();
    let mut open: Vec<&Stop> = Vec::new();
    for stop in stops {
        if begins_batch(&open, stop) {
            clusters.push(stopped(&open));
            open.clear();
        }
        open.push(stop);
    }
    if !open.is_empty() {
        clusters.push(stopped(&open));
    }
    clusters
}

fn begins_batch(open: &[&Stop], stop: &Stop) -> bool {
    let Some(last) = open.last() else { return false };
    let before = |moment: Option<Moment>| moment.is_some_and(|m| m.index < stop.asked.index);
    let gap = last.asked.time.zip(stop.asked.time).map(|(a, b)| b.saturating_sub(a));
    let all_back = open.iter().all(|s| before(s.back));
    let some_down = open.iter().any(|s| before(s.down));
    all_back || (some_down && gap.is_none_or(|gap| gap > AT_ONCE)) || gap.is_some_and(|gap| gap > SENT)
}

/// One batch of stops.
pub(super) fn stopped(stops: &[&Stop]) -> Cluster {
    let members: Vec<Member> = stops
        .iter()
        .map(|stop| Member {
            alloc: stop.alloc.clone(),
            group: stop.group.clone(),
            asked: stop.asked,
            planned: stop.planned,
            down: stop.down,
            back: stop.back,
            healthy: stop.healthy,
            replacement: stop.replacement.clone(),
            failed: stop.failed,
            inferred: false,
        })
        .collect();
    let back: Option<Vec<i64>> = members.iter().map(|m| m.back.and_then(|b| b.time)).collect();
    Cluster {
        first: members.iter().map(|m| m.asked.index).min().unwrap_or_default(),
        started: members.first().and_then(|m| m.asked.time),
        finished: back.and_then(|times| times.into_iter().max()),
        members,
    }
}

/// Restarts: runs of batches in which no allocation comes twice and no wait is out of all
/// proportion. `may_lack` tells of batches of which events may be lost.
pub(super) fn restarts(clusters: Vec<Cluster>, may_lack: &dyn Fn(&Cluster) -> bool) -> Vec<Vec<Cluster>> {
    let mut restarts: Vec<Vec<Cluster>> = Vec::new();
    let mut seen: HashSet<Id> = HashSet::new();
    let mut longest: Option<i64> = None;
    for cluster in clusters {
        let again = cluster.members.iter().any(|m| seen.contains(&m.alloc));
        let wait = restarts.last().and_then(|r| r.last()).and_then(|last| last.wait(&cluster));
        let limit = longest.map_or(FIRST_WAIT, |w| w.saturating_mul(STRETCH).max(LATER_WAIT));
        // One that was restarted alone, and then a batch of several: somebody tried it first.
        let grows = cluster.members.len() > 1
            && restarts.last().is_some_and(|r| matches!(r.as_slice(), [c] if c.members.len() == 1 && !may_lack(c)))
            && wait.is_some_and(|w| w > SECOND);
        if again || grows || wait.is_some_and(|w| w > limit) || restarts.is_empty() {
            restarts.push(Vec::new());
            seen.clear();
            longest = None;
        } else {
            longest = longest.max(wait);
        }
        for member in &cluster.members {
            seen.insert(member.alloc.clone());
            seen.extend(member.replacement.clone());
        }
        if let Some(restart) = restarts.last_mut() {
            restart.push(cluster);
        }
    }
    restarts.into_iter().map(merged).collect()
}

/// The wait between batches is one fixed option, so a wait that is far shorter than the others is
/// none: what it parts was sent together.
fn merged(clusters: Vec<Cluster>) -> Vec<Cluster> {
    let waits: Vec<i64> = clusters.windows(2).filter_map(|w| w[0].wait(&w[1])).filter(|w| *w >= SECOND).collect();
    let Some(usual) = median(waits) else { return clusters };
    let short = (usual / 20).min(SECOND);
    let mut out: Vec<Cluster> = Vec::new();
    for cluster in clusters {
        match out.last_mut() {
            Some(last) if last.wait(&cluster).is_some_and(|w| (0..short).contains(&w)) => last.absorb(cluster),
            _ => out.push(cluster),
        }
    }
    out
}

/// The middle of some values, the lower one of two.
pub(super) fn median(mut values: Vec<i64>) -> Option<i64> {
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) / 2).copied()
}
