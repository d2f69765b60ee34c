//! What a restart came to: how it went, how few ran meanwhile, what was left out, what is unsure.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::batches::{Cluster, REPORT, median};
use super::clock::{Clocks, SECOND};
use super::rings::Lost;
use super::threshold::{self, Amount, Dip, Total};
use super::watch::Watch;
use super::{Batch, Kind, Member, Moment, Restart, Status, Worst};
use crate::fsm::id::Id;
use crate::types::{Index, JobKey};

/// Two restarts of single allocations that are further apart than this, and not all of the group,
/// are believed to be two and not one of the job.
const TWO_SINGLES: i64 = 120 * SECOND;

/// A command that waits for its next batch is believed to run for that long where its wait is not known.
const PATIENCE: i64 = 600 * SECOND;

/// An allocation that is not back after this will not come back.
const GIVEN_UP: i64 = 3600 * SECOND;

/// What all restarts of a job are judged by.
pub(super) struct Bench<'a> {
    pub job: &'a JobKey,
    pub kind: Kind,
    pub watch: &'a Watch,
    pub lost: &'a [Lost],
    pub clocks: &'a Clocks,
    /// Clocks had to be corrected.
    pub rough: bool,
    /// The last entry of the log.
    pub end: Moment,
    pub min_running: Option<Amount>,
}

impl Bench<'_> {
    /// What these batches make: one restart of the job, or else restarts of single allocations.
    pub(super) fn judge(&self, mut clusters: Vec<Cluster>) -> (Option<Restart>, Vec<Restart>) {
        let alone = clusters.clone();
        let notes = self.infer(&mut clusters);
        let restart = self.made_of(clusters, notes);
        match restart {
            Some(restart) if self.is_of_a_job(&restart) => (Some(restart), Vec::new()),
            _ => (None, alone.into_iter().filter_map(|one| self.made_of(vec![one], Vec::new())).collect()),
        }
    }

    fn made_of(&self, clusters: Vec<Cluster>, mut notes: Vec<String>) -> Option<Restart> {
        let first = clusters.iter().map(|c| c.first).min()?;
        let batches = self.batches(&clusters, first);
        let groups = groups(&batches);
        let last = batches.iter().map(|b| b.last).max()?;
        let left_out = self.left_out(&batches, &groups, first, last);
        let waits: Vec<i64> = clusters.windows(2).filter_map(|w| w[0].wait(&w[1])).map(|w| w.max(0)).collect();
        let batch_wait = median(waits);
        let (status, cut_off) = self.status(&batches, &left_out, batch_wait);
        self.notes(&batches, &left_out, cut_off, &mut notes);
        let finished = batches.last().and_then(|b| b.finished).filter(|_| !cut_off);
        let mut restart = Restart {
            job: self.job.clone(),
            groups,
            kind: self.kind,
            id: trace_id(self.job, first),
            status,
            cut_off,
            first,
            last,
            started: batches.iter().find_map(|b| b.started),
            finished,
            batch_size: batches.iter().map(|b| b.members.len() as u64).max(),
            batch_wait,
            batches,
            recorded: Vec::new(),
            left_out,
            notes,
            below: None,
        };
        restart.below = self.below(&restart);
        Some(restart)
    }

    /// The batches with what happened while each lasted.
    pub(super) fn batches(&self, clusters: &[Cluster], first: Index) -> Vec<Batch> {
        let groups: Vec<Arc<str>> = clusters
            .iter()
            .flat_map(|c| &c.members)
            .map(|m| m.group.clone())
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        let totals = threshold::totals(&self.watch.samples, &groups);
        let dips = match self.kind {
            Kind::Reschedule => Vec::new(),
            _ => threshold::dips(clusters.iter().flat_map(|c| &c.members)),
        };
        let base = totals.iter().rev().find(|t| t.at.index < first).copied();
        clusters
            .iter()
            .enumerate()
            .map(|(i, cluster)| {
                let next = clusters.get(i + 1);
                let mut batch = batch_of(cluster, next);
                let until = next.map(|n| n.first);
                let mut worst = worst_of_totals(&totals, cluster.first, until, batch.last);
                if let Some(base) = base
                    && let Some(dip) = worst_dip(&dips, cluster, next)
                {
                    let running = base.running - dip.down;
                    if worst.is_none_or(|w| running < w.running) {
                        worst =
                            Some(worst_at(dip.at.index, Total { running, starting: base.starting + dip.down, ..base }));
                    }
                }
                batch.worst = worst;
                batch
            })
            .collect()
    }

    /// The time below the threshold that was asked for.
    pub(super) fn below(&self, restart: &Restart) -> Option<super::Below> {
        let totals = threshold::totals(&self.watch.samples, &restart.groups);
        let dips = match self.kind {
            Kind::Reschedule => Vec::new(),
            _ => threshold::dips(restart.batches.iter().flat_map(|b| &b.members)),
        };
        threshold::below(self.min_running?, &totals, &dips, (restart.first, restart.last), self.end)
    }

    /// Puts allocations whose events were lost into the batches they fit; tells so.
    fn infer(&self, clusters: &mut Vec<Cluster>) -> Vec<String> {
        let mut notes = Vec::new();
        if self.kind != Kind::InPlace {
            return notes;
        }
        let size = clusters.iter().map(|c| c.members.len()).max().unwrap_or(0);
        let waits: Vec<i64> = clusters.windows(2).filter_map(|w| w[0].wait(&w[1])).collect();
        let eligible = clusters.iter().map(|c| c.first).min().map(|f| self.watch.eligible_at(f)).unwrap_or_default();
        for lost in self.lost {
            let known = clusters.iter().flat_map(|c| &c.members).any(|m| m.alloc == lost.alloc);
            if known || !eligible.iter().any(|(id, _)| *id == lost.alloc) {
                continue;
            }
            let touches = |from: i64, to: i64| self.touches(lost, from, to);
            let member = Member {
                alloc: lost.alloc.clone(),
                group: lost.group.clone(),
                asked: Moment { index: lost.index, term: lost.term, command: REPORT, time: None },
                planned: None,
                down: None,
                back: None,
                healthy: None,
                replacement: None,
                failed: false,
                inferred: true,
            };
            let fits = |c: &&mut Cluster| {
                c.members.len() < size && c.started.is_some_and(|s| touches(s, c.finished.unwrap_or(s)))
            };
            let text = format!(
                "allocation {}: more than ten events between two reports (entry {}), so some are lost; its number of restarts",
                lost.alloc, lost.index
            );
            if let Some(cluster) = clusters.iter_mut().find(fits) {
                cluster.members.push(member);
                notes.push(format!("{text} tells that it was restarted, and the batch is inferred"));
            } else if let Some(at) = missing_batch(clusters, median(waits.clone()), &touches) {
                let (started, finished) = (None, None);
                clusters.insert(at, Cluster { members: vec![member], first: lost.index, started, finished });
                notes.push(format!("{text} and the wait around it tell of a batch of which no event is left"));
            } else if clusters.iter().any(|c| c.started.is_some_and(|s| touches(s, c.finished.unwrap_or(s)))) {
                notes.push(format!("{text} leaves open whether it was restarted with the others"));
            }
        }
        notes
    }

    /// Whether events that are lost can be of that time.
    fn touches(&self, lost: &Lost, from: i64, to: i64) -> bool {
        let after = self.clocks.corrected(&lost.node, lost.after);
        let before = self.clocks.corrected(&lost.node, lost.before);
        after <= to.saturating_add(SECOND) && from.saturating_sub(SECOND) <= before
    }

    /// Whether a batch may lack members, since their events are lost.
    pub(super) fn may_lack(&self, cluster: &Cluster) -> bool {
        let Some(start) = cluster.started.filter(|_| self.kind == Kind::InPlace) else { return false };
        let own = |lost: &Lost| cluster.members.iter().any(|m| m.alloc == lost.alloc);
        self.lost.iter().any(|lost| !own(lost) && self.touches(lost, start, cluster.finished.unwrap_or(start)))
    }

    /// The allocations that could have been restarted, were not, and are still there.
    pub(super) fn left_out(&self, batches: &[Batch], groups: &[Arc<str>], first: Index, last: Index) -> Vec<Id> {
        let done = |id: &Id| batches.iter().flat_map(|b| &b.members).any(|m| m.alloc == *id);
        let gone = |id: &Id| self.watch.left.get(id).is_some_and(|at| *at <= last);
        self.watch
            .eligible_at(first)
            .iter()
            .filter(|(id, group)| groups.contains(group) && !done(id) && !gone(id))
            .map(|(id, _)| id.clone())
            .collect()
    }

    /// Whether this is a restart of the job, and not of single allocations by hand: `nomad alloc restart`
    /// and `nomad alloc stop` leave the same traces, so only the pattern of batches tells.
    fn is_of_a_job(&self, restart: &Restart) -> bool {
        let batches = &restart.batches;
        if batches.iter().any(|b| b.members.len() > 1) {
            return true;
        }
        let wait = |pair: &[Batch]| Some(pair[1].started?.saturating_sub(pair[0].finished?).max(0));
        let waits: Vec<i64> = batches.windows(2).filter_map(wait).collect();
        let (shortest, longest) = (waits.iter().min().copied(), waits.iter().max().copied());
        match batches.len() {
            0 | 1 => false,
            _ if restart.left_out.is_empty() => true,
            2 => longest.is_none_or(|w| w <= TWO_SINGLES),
            _ => match (shortest, longest) {
                (Some(shortest), Some(longest)) => longest <= shortest.saturating_mul(3).saturating_add(5 * SECOND),
                _ => true,
            },
        }
    }

    /// How it went, and whether the log ends before it does.
    fn status(&self, batches: &[Batch], left_out: &[Id], wait: Option<i64>) -> (Status, bool) {
        let Some(last) = batches.last() else { return (Status::Complete, false) };
        if batches.iter().flat_map(|b| &b.members).any(|m| m.failed) {
            return (Status::Failed, false);
        }
        let since = |time: Option<i64>| self.end.time.zip(time).map(|(end, t)| end.saturating_sub(t));
        if !is_back(&last.members) {
            return match since(last.started) {
                Some(since) if since > GIVEN_UP => (Status::Failed, false),
                _ => (Status::Running, true),
            };
        }
        if left_out.is_empty() {
            return (Status::Complete, false);
        }
        let patience = wait.map_or(PATIENCE, |w| w.saturating_mul(3).max(5 * SECOND));
        match since(last.finished) {
            Some(since) if since > patience => (Status::Cancelled, false),
            Some(_) => (Status::Running, true),
            None if self.end.index > last.last => (Status::Cancelled, false),
            None => (Status::Running, true),
        }
    }

    fn notes(&self, batches: &[Batch], left_out: &[Id], cut_off: bool, notes: &mut Vec<String>) {
        let members: Vec<&Member> = batches.iter().flat_map(|b| &b.members).collect();
        if self.rough && self.kind == Kind::InPlace {
            notes.push(
                "the clocks of the nodes differ: times of events are set right by when their reports came in, and batches \
                 are told apart by gaps alone"
                    .into(),
            );
        }
        if cut_off {
            notes.push(format!("the log ends at entry {}, before the restart does", self.end.index));
        }
        if let [only] = members.as_slice() {
            let command = if self.kind == Kind::InPlace { "nomad alloc restart" } else { "nomad alloc stop" };
            let more = if left_out.is_empty() { "" } else { ", which may be all there was to it" };
            notes.push(format!("one allocation only, {}: `{command}` leaves the same traces{more}", only.alloc));
        }
    }
}

/// The name of a restart that has no ID of its own: the job, and the entry at which it shows first.
pub(super) fn trace_id(job: &JobKey, first: Index) -> String {
    match &*job.namespace {
        "default" => format!("{}@{first}", job.id),
        _ => format!("{job}@{first}"),
    }
}

/// The groups that a restart touches, by name.
pub(super) fn groups(batches: &[Batch]) -> Vec<Arc<str>> {
    batches.iter().flat_map(|b| &b.members).map(|m| m.group.clone()).collect::<BTreeSet<_>>().into_iter().collect()
}

fn is_back(members: &[Member]) -> bool {
    members.iter().all(|m| m.back.is_some() || m.inferred)
}

/// Between which two batches one is missing, where the wait there is about twice the usual one.
fn missing_batch(clusters: &[Cluster], usual: Option<i64>, touches: &dyn Fn(i64, i64) -> bool) -> Option<usize> {
    let usual = usual?;
    clusters
        .windows(2)
        .position(|w| {
            let wait = w[0].wait(&w[1]).unwrap_or(0);
            let (from, to) = (w[0].finished.unwrap_or(0), w[1].started.unwrap_or(0));
            wait > usual.saturating_mul(3) / 2 && touches(from, to)
        })
        .map(|i| i + 1)
}

fn batch_of(cluster: &Cluster, next: Option<&Cluster>) -> Batch {
    let last = |m: &Member| m.back.or(m.down).or(m.planned).unwrap_or(m.asked).index.max(m.asked.index);
    let mut batch = Batch {
        members: cluster.members.clone(),
        first: cluster.first,
        last: cluster.members.iter().map(last).max().unwrap_or(cluster.first),
        started: cluster.started,
        finished: cluster.finished,
        worst: None,
        next_before_running: None,
        next_before_healthy: None,
        next: next.map(|n| n.first),
    };
    if let Some(next) = next {
        batch.next_before_running = before(&batch.members, next, |m| m.back);
        batch.next_before_healthy = match batch.next_before_running {
            Some(true) => Some(true),
            _ if batch.members.iter().any(|m| m.healthy.is_some()) => before(&batch.members, next, |m| m.healthy),
            _ => None,
        };
    }
    batch
}

/// Whether the next batch began before something was so for all members. By the clients' times
/// where both are known, since several of their events can be in one entry.
fn before(members: &[Member], next: &Cluster, what: impl Fn(&Member) -> Option<Moment>) -> Option<bool> {
    let mut sure = members.iter().filter(|m| !m.inferred).peekable();
    sure.peek()?;
    let in_place = next.members.iter().all(|m| m.planned.is_none() && m.replacement.is_none());
    Some(sure.any(|member| match (what(member), next.started) {
        (None, _) => true,
        (Some(Moment { time: Some(time), .. }), Some(start)) if in_place => start < time,
        (Some(at), _) => next.first < at.index,
    }))
}

fn worst_at(index: Index, total: Total) -> Worst {
    Worst {
        running: total.running,
        starting: total.starting,
        stopped: (total.wanted - total.running - total.starting).max(0),
        count: total.wanted,
        index,
    }
}

/// The worst moment that the server saw, from before a batch to the next, or to its own end.
fn worst_of_totals(totals: &[Total], first: Index, next: Option<Index>, last: Index) -> Option<Worst> {
    let begin = totals.partition_point(|t| t.at.index < first).saturating_sub(1);
    let in_time = |t: &&Total| next.map_or(t.at.index <= last, |n| t.at.index < n.max(first.next()));
    let of_batch = totals.get(begin..)?.iter().take_while(in_time);
    of_batch.min_by_key(|t| t.running).map(|t| worst_at(t.at.index.max(first), *t))
}

/// The deepest dip by the clients' events, from the beginning of a batch to that of the next.
fn worst_dip(dips: &[Dip], cluster: &Cluster, next: Option<&Cluster>) -> Option<Dip> {
    let start = cluster.started?;
    let end = next.and_then(|n| n.started);
    let within = |d: &&Dip| d.at.time.is_some_and(|t| t >= start && end.is_none_or(|e| t < e));
    // min_by_key gives the first of equals.
    dips.iter().filter(within).min_by_key(|d| -d.down).copied()
}
