//! Where two replays of one log part: the first entry after which a job's status or counts differ, and each job in which
//! they differ at the end, with the entry since which they do.

use std::collections::{BTreeMap, HashMap};
use std::iter::Peekable;
use std::sync::mpsc::SyncSender;

use serde::Serialize;

use crate::entry::message_type::MessageTypes;
use crate::evidence::LogType;
use crate::fsm::state::State;
use crate::replay::{Rebased, Replayed, Subscriber};
use crate::timeline::{JobView, all_jobs, changed_jobs};
use crate::types::{Index, JobKey, Term};

/// An entry by its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct At {
    /// Its index.
    pub index: Index,
    /// Its term.
    pub term: Term,
    /// Its message type's name; `snapshot` for the base.
    pub entry: String,
}

/// The jobs that an entry changed, each as it is after it; `None` where it is gone.
#[derive(Clone, Debug)]
pub struct Changed {
    /// The entry.
    pub at: At,
    /// The jobs.
    pub jobs: Vec<(JobKey, Option<JobView>)>,
}

/// Sends what each entry changed to whoever compares; ends the replay when nobody listens any more.
pub struct Teller {
    to: SyncSender<Changed>,
    types: MessageTypes,
    deaf: bool,
}

impl Teller {
    /// A teller for a channel; `types` names the entries.
    pub fn new(to: SyncSender<Changed>, types: MessageTypes) -> Self {
        Teller { to, types, deaf: false }
    }

    fn tell(&mut self, at: At, jobs: Vec<(JobKey, Option<JobView>)>) {
        if !jobs.is_empty() {
            self.deaf |= self.to.send(Changed { at, jobs }).is_err();
        }
    }
}

impl Subscriber for Teller {
    fn base(&mut self, state: &State, index: Index, term: Term) {
        self.tell(At { index, term, entry: "snapshot".into() }, all_jobs(state));
    }

    fn rebase(&mut self, rebased: Rebased<'_>) {
        let at = At { index: rebased.index, term: rebased.term, entry: "snapshot".into() };
        let gone = all_jobs(rebased.before).into_iter().filter(|(job, _)| rebased.state.job(job).is_none());
        let gone: Vec<_> = gone.map(|(job, _)| (job, None)).collect();
        self.tell(at, all_jobs(rebased.state).into_iter().chain(gone).collect());
    }

    fn entry(&mut self, entry: Replayed<'_>) {
        let jobs = changed_jobs(&entry);
        if jobs.is_empty() {
            return;
        }
        let record = entry.record;
        let name = match (record.kind, record.data.first()) {
            (LogType::Command, Some(byte)) => self.types.name(byte & 0x7f).into_owned(),
            (kind, _) => kind.name(),
        };
        self.tell(At { index: record.index, term: record.term, entry: name }, jobs);
    }

    fn is_done(&self) -> bool {
        self.deaf
    }
}

/// A job in which two replays differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Differing {
    /// The entry since which they do.
    pub since: At,
    /// The job in the first; `None` where it is not there.
    pub a: Option<JobView>,
    /// The job in the second.
    pub b: Option<JobView>,
}

/// Where two replays part.
#[derive(Clone, Debug, Default)]
pub struct Parting {
    /// The first entry after which a job differs.
    pub first: Option<At>,
    /// The jobs that differ at the end.
    pub jobs: BTreeMap<JobKey, Differing>,
}

/// Compares what two replays tell, each in order of index.
pub fn compare(a: impl IntoIterator<Item = Changed>, b: impl IntoIterator<Item = Changed>) -> Parting {
    let mut parting = Parting::default();
    let mut views: [HashMap<JobKey, JobView>; 2] = Default::default();
    let (mut a, mut b) = (a.into_iter().peekable(), b.into_iter().peekable());
    while let Some(index) = [a.peek(), b.peek()].into_iter().flatten().map(|changed| changed.at.index).min() {
        let (mut at, mut touched) = (None, Vec::new());
        for (told, views) in [&mut a as &mut dyn Told, &mut b].into_iter().zip(&mut views) {
            // Where a snapshot stands at an entry's index, there are two.
            while let Some(changed) = told.at(index) {
                at.get_or_insert(changed.at);
                for (job, view) in changed.jobs {
                    match view {
                        Some(view) => _ = views.insert(job.clone(), view),
                        None => _ = views.remove(&job),
                    }
                    touched.push(job);
                }
            }
        }
        let Some(at) = at else { break };
        for job in touched {
            let [a, b] = [0, 1].map(|side: usize| views.get(side).and_then(|views| views.get(&job)).cloned());
            if a == b {
                parting.jobs.remove(&job);
                continue;
            }
            parting.first.get_or_insert_with(|| at.clone());
            let since = parting.jobs.get(&job).map_or_else(|| at.clone(), |known| known.since.clone());
            parting.jobs.insert(job, Differing { since, a, b });
        }
    }
    parting
}

/// A replay's tellings.
trait Told {
    /// Takes the next one, if it is that of this entry.
    fn at(&mut self, index: Index) -> Option<Changed>;
}

impl<I: Iterator<Item = Changed>> Told for Peekable<I> {
    fn at(&mut self, index: Index) -> Option<Changed> {
        self.next_if(|changed| changed.at.index == index)
    }
}
