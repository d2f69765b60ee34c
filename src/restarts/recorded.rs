//! Restarts with entries of their own, as the early design wrote them: the entries tell the life of a
//! restart and which allocations were done when; how each of them went is read from the traces.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::batches::{Cluster, cluster_of, stopped};
use super::judge::{Bench, groups};
use super::rings::Signal;
use super::stops::Stop;
use super::{Kind, Member, Moment, Recorded, Restart, Status};
use crate::entry::body::restart::JobRestart;
use crate::fsm::id::Id;
use crate::types::{Index, JobKey};

/// The entries of one restart.
#[derive(Clone, Debug)]
pub(super) struct Book {
    id: String,
    job: JobKey,
    started: Option<i64>,
    batch_size: i64,
    batch_wait: i64,
    /// In order of index.
    entries: Vec<(Index, Recorded)>,
}

/// The restarts that have entries, in the order in which they came.
#[derive(Clone, Debug, Default)]
pub(super) struct Books {
    list: Vec<Book>,
    /// ID in lower case to its place.
    by_id: BTreeMap<String, usize>,
}

impl Books {
    /// Takes an entry; true when it is the first of its restart.
    pub(super) fn take(&mut self, request: &JobRestart<'_>, job: &JobKey, at: Moment) -> bool {
        let id = request.id.to_ascii_lowercase();
        let new = !self.by_id.contains_key(&id);
        let place = *self.by_id.entry(id).or_insert(self.list.len());
        if new {
            self.list.push(Book {
                id: request.id.to_string(),
                job: job.clone(),
                started: request.started_at.nanos(),
                batch_size: 0,
                batch_wait: 0,
                entries: Vec::new(),
            });
        }
        if let Some(book) = self.list.get_mut(place) {
            book.job = job.clone();
            book.batch_size = request.batch_size;
            book.batch_wait = request.wait_nanos();
            let recorded = Recorded {
                at: Moment { time: request.updated_at.nanos().or(at.time), ..at },
                status: (*request.status).into(),
                restarted: request.restarted.iter().map(|id| Id::new(id)).collect(),
            };
            book.entries.push((at.index, recorded));
        }
        new
    }

    /// The restarts of a job.
    pub(super) fn of(&self, job: &JobKey) -> Vec<&Book> {
        self.list.iter().filter(|book| book.job == *job).collect()
    }
}

impl Book {
    fn first(&self) -> Index {
        self.entries.first().map_or(Index(0), |(index, _)| *index)
    }

    fn last(&self) -> Index {
        self.entries.last().map_or(Index(0), |(index, _)| *index)
    }

    fn status(&self) -> Status {
        self.entries.last().map_or(Status::Running, |(_, entry)| Status::of(&entry.status))
    }

    /// Whether a trace at that entry is a part of this restart.
    pub(super) fn tells_of(&self, alloc: &Id, at: Index) -> bool {
        let over = !matches!(self.status(), Status::Running);
        let listed = self.entries.last().is_some_and(|(_, entry)| entry.restarted.contains(alloc));
        at >= self.first() && (at <= self.last() || !over) && (listed || !over)
    }

    /// The restart as the entries tell it.
    pub(super) fn restart(&self, bench: &Bench<'_>, signals: &[Signal], stops: &[Stop]) -> Restart {
        let clusters = self.clusters(bench, signals, stops);
        let mut batches = bench.batches(&clusters, self.first());
        for (batch, (index, _)) in batches.iter_mut().zip(self.batch_entries()) {
            batch.last = batch.last.max(*index);
        }
        let groups: Vec<Arc<str>> = groups(&batches).into_iter().filter(|g| !g.is_empty()).collect();
        let status = self.status();
        let cut_off = status == Status::Running;
        let over = !matches!(status, Status::Running | Status::Paused);
        let last_time = self.entries.last().and_then(|(_, entry)| entry.at.time);
        let mut notes = Vec::new();
        if cut_off {
            notes.push(format!("the log ends at entry {}, before the restart does", bench.end.index));
        }
        let left_out = bench.left_out(&batches, &groups, self.first(), self.last());
        let mut restart = Restart {
            job: self.job.clone(),
            groups,
            kind: Kind::Entry,
            id: self.id.clone(),
            status,
            cut_off,
            first: self.first(),
            last: self.last(),
            started: self.started.or_else(|| self.entries.first().and_then(|(_, entry)| entry.at.time)),
            finished: last_time.filter(|_| over),
            batch_size: u64::try_from(self.batch_size).ok().filter(|size| *size > 0),
            batch_wait: Some(self.batch_wait.max(0)),
            batches,
            recorded: self.entries.iter().map(|(_, entry)| entry.clone()).collect(),
            left_out,
            notes,
            below: None,
        };
        restart.below = bench.below(&restart);
        restart
    }

    /// The entries that record another batch as done.
    fn batch_entries(&self) -> impl Iterator<Item = &(Index, Recorded)> {
        let before = std::iter::once(0).chain(self.entries.iter().map(|(_, entry)| entry.restarted.len()));
        self.entries.iter().zip(before).filter(|((_, entry), before)| entry.restarted.len() > *before).map(|(e, _)| e)
    }

    /// What each entry adds to the allocations that are done, with the traces of it.
    fn clusters(&self, bench: &Bench<'_>, signals: &[Signal], stops: &[Stop]) -> Vec<Cluster> {
        let mut clusters = Vec::new();
        let mut done: Vec<&Id> = Vec::new();
        for (index, entry) in self.batch_entries() {
            let new: Vec<&Id> = entry.restarted.iter().filter(|id| !done.contains(id)).collect();
            let own: Vec<(&Signal, i64)> = signals
                .iter()
                .filter(|s| new.contains(&&s.alloc) && (self.first()..=*index).contains(&s.asked.index))
                .map(|s| (s, bench.clocks.corrected(&s.node, s.asked.time)))
                .collect();
            let moved: Vec<&Stop> = stops
                .iter()
                .filter(|s| new.contains(&&s.alloc) && (self.first()..=*index).contains(&s.asked.index))
                .collect();
            let mut cluster = cluster_of(&own, bench.clocks);
            cluster.members.extend(stopped(&moved).members);
            let mut members: Vec<Member> = Vec::new();
            for id in &new {
                let traced = cluster.members.iter().find(|m| m.alloc == **id).cloned();
                members.push(traced.unwrap_or_else(|| Member {
                    alloc: (*id).clone(),
                    group: bench.watch.group_of(id),
                    asked: entry.at,
                    planned: None,
                    down: None,
                    back: None,
                    healthy: None,
                    replacement: None,
                    failed: false,
                    inferred: false,
                }));
            }
            clusters.push(Cluster {
                first: members.iter().map(|m| m.asked.index).min().unwrap_or(*index),
                started: members.iter().filter_map(|m| m.asked.time).min(),
                finished: entry.at.time,
                members,
            });
            done.extend(new);
        }
        clusters
    }
}
