//! Which entry each unit of a parent's counters comes from, and the decrements that have no increment.

use serde::Serialize;

use crate::audit::finding::Counter;
use crate::entry::message::Message;
use crate::entry::message_type::MessageTypes;
use crate::evidence::LogType;
use crate::fsm::row::Children;
use crate::fsm::state::State;
use crate::parting::At;
use crate::replay::{Rebased, Replayed, Subscriber};
use crate::types::{Index, JobKey, Term};

/// One unit of a counter: an increment that still stands, or a decrement that took what was never there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unit {
    /// The counter.
    pub counter: &'static str,
    /// 1 or -1.
    pub change: i64,
    /// The entry that did it; `snapshot` where it was so in the base, a reconcile where that wrote it.
    #[serde(flatten)]
    pub at: At,
    /// The child; absent where nobody knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child: Option<String>,
    /// The child's status at the end; absent where it is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child_status: Option<String>,
}

/// Follows one parent's counters.
#[derive(Debug)]
pub struct Blame {
    parent: JobKey,
    types: MessageTypes,
    counters: [Account; 3],
}

/// A counter's standing units; what they add up to is its value.
#[derive(Debug, Default)]
struct Account {
    units: Vec<(i64, At, Option<JobKey>)>,
}

impl Account {
    fn value(&self) -> i64 {
        self.units.iter().map(|(change, ..)| change).sum()
    }

    fn add(&mut self, at: &At, child: &JobKey) {
        self.units.push((1, at.clone(), Some(child.clone())));
    }

    /// Takes the child's latest unit away, or notes that there is none.
    fn take(&mut self, at: &At, child: &JobKey) {
        let standing = |(change, _, of): &(i64, At, Option<JobKey>)| *change > 0 && of.as_ref() == Some(child);
        match self.units.iter().rposition(standing) {
            Some(unit) => _ = self.units.remove(unit),
            None => self.units.push((-1, at.clone(), Some(child.clone()))),
        }
    }

    /// The counter was set to a value by other means than a move of a child: by as many of the children that it counts
    /// as go into it, and for the rest by nobody known.
    fn set(&mut self, value: i64, children: &[JobKey], at: &At) {
        let known = usize::try_from(value).unwrap_or(0).min(children.len());
        let units = children.iter().take(known).map(|child| (1, at.clone(), Some(child.clone())));
        let rest = value.unsigned_abs().saturating_sub(known as u64);
        // A counter is only so far from its children as there were entries; this bounds what a forged base can ask for.
        let rest = usize::try_from(rest).unwrap_or(usize::MAX).min(MOST_UNKNOWN);
        let unknown = std::iter::repeat_n((value.signum(), at.clone(), None), rest);
        self.units = units.chain(unknown).collect();
    }
}

/// More units of nobody known than this are not listed.
const MOST_UNKNOWN: usize = 1_000_000;

impl Blame {
    /// Follows the counters of that job; `types` names the entries.
    pub fn new(parent: JobKey, types: MessageTypes) -> Self {
        Blame { parent, types, counters: Default::default() }
    }

    /// The units that stand, counter by counter in order of index. `state` is the state at the end.
    pub fn units(&self, state: &State) -> Vec<Unit> {
        let mut units = Vec::new();
        for (counter, account) in Counter::ALL.into_iter().zip(&self.counters) {
            let from = units.len();
            for (change, at, child) in &account.units {
                let status = child.as_ref().and_then(|child| state.job(child)).map(|job| job.status.to_string());
                let child = child.as_ref().map(|child| child.id.to_string());
                units.push(Unit {
                    counter: counter.name(),
                    change: *change,
                    at: at.clone(),
                    child,
                    child_status: status,
                });
            }
            if let Some(own) = units.get_mut(from..) {
                own.sort_by_key(|unit| unit.at.index);
            }
        }
        units
    }

    fn account(&mut self, status: &str) -> Option<&mut Account> {
        let [pending, running, dead] = &mut self.counters;
        match status {
            "pending" => Some(pending),
            "running" => Some(running),
            "dead" => Some(dead),
            _ => None,
        }
    }

    /// What stood before does not stand any more, even where the numbers happen to be the same: the summary was removed
    /// or made, or a reconcile counted the children, and with them paid for every decrement that had no increment.
    fn begins_anew(&self, entry: &Replayed<'_>) -> bool {
        let Some(row) = entry.net.summaries.iter().find(|row| *row.key == self.parent) else { return false };
        let reconciled = matches!(entry.message, Some(Ok(Message::ReconcileJobSummaries(_))));
        let owes = |account: &Account| account.units.iter().any(|(change, ..)| *change < 0);
        row.before.is_none() || row.after.is_none() || reconciled && self.counters.iter().any(owes)
    }

    /// The accounts again from what is stored, where that is not what they add up to.
    fn settle(&mut self, state: &State, at: &At) {
        let stored = state.summary(&self.parent).and_then(|summary| summary.children).unwrap_or_default();
        let values = [0, 1, 2].map(|i: usize| self.counters.get(i).map_or(0, Account::value));
        if values == Children::as_array(stored) {
            return;
        }
        for (i, status) in ["pending", "running", "dead"].into_iter().enumerate() {
            let mut children: Vec<JobKey> =
                state.children(&self.parent).filter(|job| job.status == status).map(|job| job.key.clone()).collect();
            children.sort();
            if let (Some(account), Some(value)) = (self.counters.get_mut(i), stored.as_array().get(i)) {
                account.set(*value, &children, at);
            }
        }
    }
}

impl Subscriber for Blame {
    fn base(&mut self, state: &State, index: Index, term: Term) {
        self.settle(state, &At { index, term, entry: "snapshot".into() });
    }

    fn rebase(&mut self, rebased: Rebased<'_>) {
        self.base(rebased.state, rebased.index, rebased.term);
    }

    fn entry(&mut self, entry: Replayed<'_>) {
        let moved = entry.step.moves.iter().any(|count| count.parent == self.parent);
        if !moved && !entry.net.summaries.iter().any(|row| *row.key == self.parent) {
            return;
        }
        let record = entry.record;
        let name = match (record.kind, record.data.first()) {
            (LogType::Command, Some(byte)) => self.types.name(byte & 0x7f).into_owned(),
            (kind, _) => kind.name(),
        };
        let at = At { index: record.index, term: record.term, entry: name };
        if self.begins_anew(&entry) {
            self.counters = Default::default();
        }
        for count in &entry.step.moves {
            if count.parent != self.parent {
                continue;
            }
            if let Some(account) = self.account(count.old.as_str()) {
                account.take(&at, &count.child);
            }
            if let Some(account) = self.account(count.new.as_str()) {
                account.add(&at, &count.child);
            }
        }
        self.settle(entry.state, &at);
    }
}
