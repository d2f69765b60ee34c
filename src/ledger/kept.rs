//! A replay with a kept ledger: goes on where the last run ended, writes what is new, and keeps
//! states along the way so that any index is near one (contract.md 4).

use std::sync::mpsc::sync_channel;
use std::thread;

use rusqlite::OptionalExtension;

use super::rows::int;
use super::{Basis, Joined, Ledger, LedgerError, Writer};
use crate::entry::message_type::MessageTypes;
use crate::evidence::{Damage, Log};
use crate::fsm::Fsm;
use crate::fsm::state::{Image, State, Written};
use crate::replay::{self, Checkpoints, Reached, Rebased, Replayed, Subscriber};
use crate::types::{Index, Term};

/// How many entries lie between two states that are kept, at least.
pub const APART: u64 = 16_384;

/// They lie as far apart as this part of all that went before: a long log has few for its length.
const PART: u64 = 16;

/// A subscriber that can go on from the middle of a log.
pub trait Resume: Subscriber {
    /// What it knows after the last entry.
    fn save(&self) -> Vec<u8>;

    /// The same after the last entry of a run, with all that it asks of the state there.
    fn save_end(&self, state: &State) -> Vec<u8> {
        let _ = state;
        self.save()
    }

    /// As [`Resume::load`], of bytes with all that it asks of the state; others are not taken over.
    fn load_end(&mut self, bytes: &[u8]) -> bool {
        let _ = bytes;
        false
    }

    /// True when it knows that the effect of every entry so far is known.
    fn is_sure(&self) -> bool {
        false
    }

    /// Takes over what it knew, and then does not hear of the base; false, and it stays as it is,
    /// where these are not its bytes.
    fn load(&mut self, bytes: &[u8]) -> bool;
}

/// A state out of the ledger.
#[derive(Debug)]
pub struct Kept {
    /// The state.
    pub state: State,
    /// The entry that it stands after.
    pub index: Index,
    /// That entry's term.
    pub term: Term,
    audit: Option<Vec<u8>>,
    /// The last image that stays, and the rows written since.
    since: (Option<Index>, Written),
    /// Rows in the images on top of the last whole one.
    on_top: usize,
}

/// What a run with a ledger is to do.
pub struct Plan<'p> {
    /// Where the history starts and by which rules.
    pub basis: &'p Basis,
    /// The last entry to replay.
    pub to: Index,
    /// The names of message types.
    pub types: MessageTypes,
    /// The snapshots beside the log above the base, which the replay is held against.
    pub snapshots: &'p [Index],
    /// How many entries lie between two states that are kept, at least: [`APART`].
    pub apart: u64,
    /// Only the audit is asked: where it knows its answer already, the FSM stays at its base.
    pub stateless: bool,
}

/// How a run went.
pub struct Extended {
    /// The ledger, not yet committed.
    pub ledger: Ledger,
    /// The entry behind which the replay began.
    pub from: Index,
    /// How far it came.
    pub reached: Reached,
    /// What the ledger and the log had in common.
    pub joined: Joined,
    /// The effect of every entry up to there is known, as far as can be told without asking the ledger.
    pub sure: bool,
    /// The ledger has rows that it had not before; its findings have to be written anew.
    pub grown: bool,
}

impl Ledger {
    /// The state nearest to and not behind an index; `None` where there is none, or none that this
    /// raftscope can read.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn state_before(&self, index: Index) -> Result<Option<Kept>, LedgerError> {
        let found = "SELECT idx FROM image WHERE idx <= ? ORDER BY idx DESC LIMIT 1";
        let found: Option<i64> = self.ask(|conn| conn.query_row(found, [int(index.0)], |r| r.get(0)).optional())?;
        found.map_or(Ok(None), |idx| self.load(idx))
    }

    fn load(&self, idx: i64) -> Result<Option<Kept>, LedgerError> {
        // The image and those below it, down to one of all rows.
        let chain = "WITH RECURSIVE below(idx) AS (
                         VALUES (?1) UNION ALL
                         SELECT i.from_idx FROM image i JOIN below b ON i.idx = b.idx
                          WHERE i.from_idx IS NOT NULL AND i.from_idx < i.idx)
                     SELECT i.idx, i.term, i.stays, i.state, CASE WHEN i.idx = ?1 THEN i.audit END, i.from_idx
                       FROM below JOIN image i USING (idx) ORDER BY i.idx";
        let rows = self.ask(|conn| {
            let mut statement = conn.prepare(chain)?;
            let rows = statement.query_map([idx], |row| {
                Ok(Row {
                    at: Index(row.get::<_, i64>(0)?.unsigned_abs()),
                    term: Term(row.get::<_, i64>(1)?.unsigned_abs()),
                    stays: row.get(2)?,
                    state: row.get(3)?,
                    audit: row.get(4)?,
                    whole: row.get::<_, Option<i64>>(5)?.is_none(),
                })
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        })?;
        Ok(put_together(rows))
    }

    /// Replays what is new in a log, and writes it. `fsm` stands at `base`, and `audit` is fresh;
    /// where the ledger has a state to go on from, both take that over. `later` makes the
    /// checkpoints behind an index. Call [`Ledger::commit`] on what comes back.
    ///
    /// # Errors
    /// When the ledger is not of this log, cannot be written, or the log cannot be read.
    pub fn extend<'e>(
        mut self,
        log: &dyn Log,
        (fsm, base): (&mut Fsm, (Index, Term)),
        plan: &Plan<'_>,
        later: impl FnOnce(Index) -> Box<dyn Checkpoints + 'e>,
        audit: &mut dyn Resume,
        watch: &mut dyn Subscriber,
    ) -> Result<Extended, LedgerError> {
        let joined = self.join(log, plan.basis)?;
        self.compare_anew(log, plan)?;
        let known = self.bounds()?.map(|(_, last)| last);
        if plan.stateless
            && known.is_some_and(|known| known >= plan.to)
            && let Some(term) = self.answer(plan.to, audit)?
        {
            let reached = Reached { index: plan.to, term, stopped_by: None };
            return Ok(Extended { ledger: self, from: plan.to, reached, joined, sure: audit.is_sure(), grown: false });
        }
        let kept = self.resume(log, known.unwrap_or_default().min(plan.to), audit)?;
        let resumed = kept.is_some();
        let sure = resumed && audit.is_sure();
        if known.is_some() && !resumed && self.basis()?.as_ref() != Some(plan.basis) {
            let differs = "the log no longer reaches back to where it starts, and the states in it are of another \
                           raftscope, or begin too late";
            return Err(self.other(differs.into(), ""));
        }
        let mut keeper = Keeper::new(audit, resumed, base.0, plan.apart);
        let mut from = base;
        if let Some(kept) = kept {
            from = (kept.index, kept.term);
            (keeper.since, keeper.on_top) = (kept.since, kept.on_top);
            keeper.last = keeper.since.0.unwrap_or(base.0);
            fsm.go_on_from(kept.state);
        }
        let writes = known.is_none_or(|known| plan.to > known);
        if !writes {
            let subscribers: &mut [&mut dyn Subscriber] = &mut [watch, &mut keeper];
            let reached = replay::replay(log, fsm, from, plan.to, &mut *later(from.0), subscribers)?;
            return Ok(Extended { ledger: self, from: from.0, reached, joined, sure, grown: false });
        }
        let mut writer = self.writer(plan.types.clone())?;
        keeper.writer = Some(&mut writer);
        let subscribers: &mut [&mut dyn Subscriber] = &mut [watch, &mut keeper];
        let reached = replay::replay(log, fsm, from, plan.to, &mut *later(from.0), subscribers)?;
        keeper.end(fsm.state(), (reached.index, reached.term));
        let ledger = writer.finish()?;
        ledger.note_agreeing(plan.snapshots, from.0, reached.index)?;
        let grown = known.is_none_or(|known| reached.index > known);
        Ok(Extended { ledger, from: from.0, reached, joined, sure, grown })
    }

    /// Gives the audit what it knew at the end of a run, if one ended after that entry: the entry's term.
    fn answer(&self, at: Index, audit: &mut dyn Resume) -> Result<Option<Term>, LedgerError> {
        let found = "SELECT term, audit FROM image WHERE idx = ? AND state IS NOT NULL";
        let found = self.ask(|conn| {
            let row = conn.query_row(found, [int(at.0)], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?)));
            row.optional()
        })?;
        let Some((term, Some(bytes))) = found else { return Ok(None) };
        let bytes: Vec<u8> = bytes;
        let knows = unpacked(&bytes).is_some_and(|bytes| audit.load_end(&bytes));
        Ok(knows.then_some(Term(term.unsigned_abs())))
    }

    /// The state to go on from, with what the audit knew there; the log has to go on behind it.
    fn resume(&self, log: &dyn Log, at: Index, audit: &mut dyn Resume) -> Result<Option<Kept>, LedgerError> {
        let Some((first, _)) = log.bounds() else { return Ok(None) };
        let kept = self.state_before(at)?.filter(|kept| kept.index.next() >= first);
        Ok(kept.filter(|kept| kept.audit.as_deref().is_some_and(|bytes| audit.load(bytes))))
    }

    /// Goes back before a snapshot that was not there when the ledger came past its index: the
    /// replay has to be held against it. Where the log no longer reaches back so far, it is left.
    fn compare_anew(&self, log: &dyn Log, plan: &Plan<'_>) -> Result<(), LedgerError> {
        let (Some((first, last)), Some((log_first, _))) = (self.bounds()?, log.bounds()) else { return Ok(()) };
        let is_compared = |index: Index| {
            let found = "SELECT count(*) FROM snapshot WHERE idx = ?";
            self.ask(|conn| conn.query_row(found, [int(index.0)], |row| row.get::<_, i64>(0))).map(|n| n > 0)
        };
        for index in plan.snapshots.iter().copied().filter(|index| *index >= first && *index <= last) {
            let near = "SELECT max(idx) FROM image WHERE idx < ? AND stays";
            let near = self.ask(|conn| conn.query_row(near, [int(index.0)], |row| row.get::<_, Option<i64>>(0)))?;
            let reaches = log_first <= first || near.is_some_and(|near| near.unsigned_abs() + 1 >= log_first.0);
            if reaches && !is_compared(index)? {
                return self.roll_back(index.prev());
            }
        }
        Ok(())
    }

    /// Notes the snapshots that the replay came past without a difference.
    fn note_agreeing(&self, snapshots: &[Index], from: Index, to: Index) -> Result<(), LedgerError> {
        let insert = "INSERT INTO snapshot (idx, term, role, differences)
                      SELECT idx, term, 'agrees', 0 FROM entry e
                       WHERE idx = ? AND NOT EXISTS (SELECT 1 FROM snapshot s WHERE s.idx = e.idx)";
        for index in snapshots.iter().filter(|index| **index > from && **index <= to) {
            self.ask(|conn| conn.execute(insert, [int(index.0)]))?;
        }
        Ok(())
    }
}

/// A row of `image`.
struct Row {
    at: Index,
    term: Term,
    stays: bool,
    state: Option<Vec<u8>>,
    audit: Option<Vec<u8>>,
    whole: bool,
}

/// The state of a chain of images, the first of all rows. `None` where one cannot be read.
fn put_together(mut rows: Vec<Row>) -> Option<Kept> {
    let states: Vec<_> = rows.iter_mut().map(|row| row.state.take()).collect();
    let (sender, images) = sync_channel(1);
    thread::scope(|scope| {
        // The next image is unpacked while one is put on the state.
        scope.spawn(move || {
            for state in states {
                if sender.send(state.and_then(|bytes| image(&bytes))).is_err() {
                    break;
                }
            }
        });
        let mut kept: Option<Kept> = None;
        for (row, image) in rows.into_iter().zip(images) {
            let image = image.filter(|_| row.whole == kept.is_none())?;
            let next = kept.get_or_insert_with(|| Kept {
                state: State::blank(),
                index: row.at,
                term: Term(0),
                audit: None,
                since: (None, Written::default()),
                on_top: 0,
            });
            (next.index, next.term) = (row.at, row.term);
            next.audit = row.audit.and_then(|bytes| unpacked(&bytes));
            if row.stays {
                next.since = (Some(row.at), Written::default());
                next.on_top += if row.whole { 0 } else { image.len() };
            } else {
                next.since.1.note_all(&image);
            }
            next.state.put_image(image);
        }
        kept
    })
}

fn image(bytes: &[u8]) -> Option<Image> {
    Image::from_bytes(&unpacked(bytes)?).ok()
}

fn unpacked(bytes: &[u8]) -> Option<Vec<u8>> {
    snap::raw::Decoder::new().decompress_vec(bytes).ok()
}

/// Hears the replay for the audit and the writer, and keeps states.
struct Keeper<'a> {
    audit: &'a mut dyn Resume,
    /// The audit knows the past already.
    resumed: bool,
    writer: Option<&'a mut Writer>,
    since: (Option<Index>, Written),
    on_top: usize,
    /// The last state that stays, or the base.
    last: Index,
    apart: u64,
    /// What the audit knew before it heard of damage behind the last entry: the next run hears of
    /// that again.
    before_damage: Option<Vec<u8>>,
}

impl<'a> Keeper<'a> {
    fn new(audit: &'a mut dyn Resume, resumed: bool, base: Index, apart: u64) -> Self {
        let since = (None, Written::default());
        Keeper { audit, resumed, writer: None, since, on_top: 0, last: base, apart, before_damage: None }
    }

    fn keep(&mut self, state: &State, at: (Index, Term), stays: bool) {
        let Some(writer) = &mut self.writer else { return };
        // Many images on top of each other take longer to load than one of all rows.
        let from = self.since.0.filter(|from| *from < at.0 && self.on_top <= 2 * state.size() + 1000);
        let rows = match from {
            Some(_) => std::mem::take(&mut self.since.1).into_image(state),
            None => state.image(),
        };
        let save = || if stays { self.audit.save() } else { self.audit.save_end(state) };
        let audit = self.before_damage.take().unwrap_or_else(save);
        let count = rows.len();
        writer.image(at, from, stays, rows, audit);
        if stays {
            self.on_top = if from.is_some() { self.on_top + count } else { 0 };
            self.since = (Some(at.0), Written::default());
            self.last = at.0;
        }
    }

    /// Keeps the state at the end of a run that came further than the one before.
    fn end(&mut self, state: &State, at: (Index, Term)) {
        let news = self.writer.as_ref().is_some_and(|writer| writer.known().is_none_or(|known| at.0 > known));
        if news && self.since.0 != Some(at.0) && at.0 > Index(0) {
            self.keep(state, at, false);
        }
    }
}

impl Subscriber for Keeper<'_> {
    fn base(&mut self, state: &State, index: Index, term: Term) {
        if !self.resumed {
            self.audit.base(state, index, term);
            if let Some(writer) = &mut self.writer {
                writer.base(state, index, term);
            }
        }
    }

    fn entry(&mut self, entry: Replayed<'_>) {
        self.before_damage = None;
        self.audit.entry(entry);
        let Some(writer) = &mut self.writer else { return };
        writer.entry(entry);
        if self.since.0.is_some() {
            entry.step.changes.iter().for_each(|change| self.since.1.note(change, entry.state));
        }
        let (index, term) = (entry.record.index, entry.record.term);
        let is_new = writer.known().is_none_or(|known| index > known);
        if is_new && index.0 - self.last.0 >= self.apart.max(index.0 / PART) {
            self.keep(entry.state, (index, term), true);
        }
    }

    fn rebase(&mut self, rebased: Rebased<'_>) {
        self.audit.rebase(rebased);
        // What was kept so far is of another history.
        self.since = (None, Written::default());
        if let Some(writer) = &mut self.writer {
            writer.rebase(rebased);
        }
    }

    fn damage(&mut self, damage: &Damage) {
        if self.before_damage.is_none() && self.writer.is_some() {
            self.before_damage = Some(self.audit.save());
        }
        self.audit.damage(damage);
    }

    fn asks_hashes(&self) -> bool {
        self.writer.as_ref().is_some_and(|writer| writer.asks_hashes())
    }

    fn is_done(&self) -> bool {
        self.writer.as_ref().is_some_and(|writer| writer.is_done())
    }
}
