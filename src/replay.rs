//! The one loop that moves the FSM through a log. Whoever wants to know something subscribes.

mod ahead;

use std::ops::ControlFlow;

use crate::entry::message::Message;
use crate::entry::msgpack::Result as Decoded;
use crate::evidence::{Damage, DamageKind, EvidenceError, Log, Record, Scanned};
use crate::fsm::Fsm;
use crate::fsm::compare::{Difference, differences};
use crate::fsm::outcome::Step;
use crate::fsm::rules::Rules;
use crate::fsm::state::State;
use crate::net::Net;
use crate::types::{Index, Term};
use ahead::Met;

/// One replayed entry, with the state right after it.
#[derive(Clone, Copy)]
pub struct Replayed<'a> {
    /// The entry as it stands in the log.
    pub record: &'a Record<'a>,
    /// Its message; `None` for raft's own entries and for an empty command.
    pub message: Option<&'a Decoded<Message<'a>>>,
    /// [`Record::hash`], where a subscriber asks for hashes and it was worked out ahead of the replay.
    pub hash: Option<u64>,
    /// What it did.
    pub step: &'a Step,
    /// The rows it touched, each before and after.
    pub net: &'a Net<'a>,
    /// The state after it.
    pub state: &'a State,
    /// The rules in force.
    pub rules: &'a Rules,
}

/// A snapshot that the replay disagrees with, and goes on from.
#[derive(Clone, Copy)]
pub struct Rebased<'a> {
    /// The state that the replay had come to.
    pub before: &'a State,
    /// The snapshot's state.
    pub state: &'a State,
    /// The snapshot's index.
    pub index: Index,
    /// The snapshot's term.
    pub term: Term,
    /// Where the two disagree; never empty.
    pub differences: &'a [Difference],
}

/// Hears of every entry, in order of index.
pub trait Subscriber {
    /// The state that the replay starts from, and the index and term it stands at; index 0 for a
    /// server before its first entry.
    fn base(&mut self, state: &State, index: Index, term: Term) {
        let _ = (state, index, term);
    }

    /// An entry was replayed.
    fn entry(&mut self, entry: Replayed<'_>);

    /// The replay came to a snapshot and disagrees with it: from here on it goes on from the
    /// snapshot's state, which is what the server held.
    fn rebase(&mut self, rebased: Rebased<'_>) {
        let _ = rebased;
    }

    /// Entries are lost here, and the replay ends; only an entry that is there and cannot be decoded is passed over.
    fn damage(&mut self, damage: &Damage) {
        let _ = damage;
    }

    /// True when [`Replayed::hash`] of each entry is of use: a thread that reads ahead then works it out.
    fn asks_hashes(&self) -> bool {
        false
    }

    /// True when the rest of the log is of no use to this subscriber or to anybody: its output is
    /// closed, or has all the rows that were asked for. The replay then ends after this entry.
    fn is_done(&self) -> bool {
        false
    }
}

/// The states that a server kept along the log, to hold the replay against.
pub trait Checkpoints {
    /// The index of the next one that has not been loaded, in order.
    fn next(&self) -> Option<Index>;

    /// Loads the next one: the state and the term of its entry. `None` where it cannot be read,
    /// which is told elsewhere.
    fn load(&mut self) -> Option<(State, Term)>;
}

/// No checkpoints.
impl Checkpoints for () {
    fn next(&self) -> Option<Index> {
        None
    }

    fn load(&mut self) -> Option<(State, Term)> {
        None
    }
}

/// How far a replay came.
#[derive(Clone, Debug, Default)]
pub struct Reached {
    /// The last entry that was replayed; the base's index where there was none.
    pub index: Index,
    /// Its term.
    pub term: Term,
    /// The hole that ended the replay early.
    pub stopped_by: Option<Damage>,
}

/// Replays the entries behind `base`, up to and with `last`, and tells the subscribers of each.
///
/// `base` is the index and term that the state of `fsm` stands at. The first hole ends the replay:
/// what comes behind it would be applied to a state that never was. At each of the `checkpoints`
/// the replay is compared, and goes on from it where the two disagree.
///
/// # Errors
/// When the log cannot be read at all.
pub fn replay(
    log: &dyn Log,
    fsm: &mut Fsm,
    base: (Index, Term),
    last: Index,
    checkpoints: &mut dyn Checkpoints,
    subscribers: &mut [&mut dyn Subscriber],
) -> Result<Reached, EvidenceError> {
    let mut reached = Reached { index: base.0, term: base.1, stopped_by: None };
    for subscriber in subscribers.iter_mut() {
        subscriber.base(fsm.state(), base.0, base.1);
    }
    let range = base.0.next()..=last;
    let decoder = fsm.decoder();
    let hashes = subscribers.iter().any(|s| s.asks_hashes());
    let mut take = |met: Met<'_, '_>| match met {
        Met::Entry(record, message, hash) => {
            apply(fsm, &record, (message, hash), subscribers);
            compare(fsm, record.index, checkpoints, subscribers);
            (reached.index, reached.term) = (record.index, record.term);
            match subscribers.iter().any(|s| s.is_done()) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
        Met::Damaged(damage) => {
            for subscriber in subscribers.iter_mut() {
                subscriber.damage(&damage);
            }
            // The entry is there, whatever it was: the answer is unsure from here on, but there is no hole.
            if damage.kind == DamageKind::UndecodableEntry {
                return ControlFlow::Continue(());
            }
            reached.stopped_by = Some(damage);
            ControlFlow::Break(())
        }
    };
    if ahead::pays(log, &range) {
        ahead::scan(log, range, (decoder, hashes), &mut take)?;
    } else {
        log.scan(range, &mut |scanned| match scanned {
            Scanned::Entry(record) => take(Met::Entry(record, decoder.read(&record).as_ref(), None)),
            Scanned::Damaged(damage) => take(Met::Damaged(damage)),
        })?;
    }
    Ok(reached)
}

/// The only place that steps the FSM.
fn apply<'a>(
    fsm: &mut Fsm,
    record: &Record<'a>,
    (message, hash): (Option<&Decoded<Message<'a>>>, Option<u64>),
    subscribers: &mut [&mut dyn Subscriber],
) {
    let step = fsm.apply(record, message);
    let net = Net::of(&step, fsm.state());
    let (state, rules) = (fsm.state(), fsm.rules());
    let entry = Replayed { record, message, hash, step: &step, net: &net, state, rules };
    for subscriber in subscribers.iter_mut() {
        subscriber.entry(entry);
    }
}

/// Holds the state after an entry against the checkpoint at its index. Checkpoints that the log
/// has no entry for are passed over: a restored backup's index has none (storage.md 7, 2).
fn compare(fsm: &mut Fsm, index: Index, checkpoints: &mut dyn Checkpoints, subscribers: &mut [&mut dyn Subscriber]) {
    while checkpoints.next().is_some_and(|next| next <= index) {
        let here = checkpoints.next() == Some(index);
        let Some((state, term)) = checkpoints.load().filter(|_| here) else { continue };
        let differences = differences(fsm.state(), &state);
        if !differences.is_empty() {
            let before = fsm.go_on_from(state);
            let rebased = Rebased { before: &before, state: fsm.state(), index, term, differences: &differences };
            for subscriber in subscribers.iter_mut() {
                subscriber.rebase(rebased);
            }
        }
    }
}
