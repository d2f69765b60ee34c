//! raft-boltdb: the log and the stable store in the buckets of one bolt file (storage.md 3.1, 3.2).

use std::ops::{ControlFlow, RangeInclusive};
use std::sync::{Mutex, PoisonError};

use super::bolt::meta::Meta;
use super::bolt::page::{Pager, Root};
use super::bolt::tree::{self, Direction, Item, Lost, Met, Seen, WalkError};
use super::bolt::{ATTEMPTS, BETWEEN_ATTEMPTS, Bolt, Buckets};
use super::file::Shape;
use super::sequence::{Bad, Hole, Sequence};
use super::{DamageKind, EvidenceError, Log, Record, Scanned};
use crate::entry::raft_log;
use crate::types::{Index, Term};

/// The bucket of the log.
pub const LOGS: &str = "logs";
/// Scans of fewer entries read only the pages they need, others large runs of the file.
const SHORT: u64 = 128;
/// The bucket of the stable store.
pub const CONF: &str = "conf";

/// The stable store: what a server must not forget across a restart besides its log (storage.md 3.2).
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Stable {
    /// The newest term that the server has seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_term: Option<Term>,
    /// The term of its last vote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_vote_term: Option<Term>,
    /// The address of the server that it voted for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_vote_candidate: Option<String>,
}

/// A `raft.db`.
///
/// A server may be writing to it. Everything is read from one state of the file and believed only
/// when that state is still the newest afterwards; else it is read again from a newer one. The
/// log's end is where it was when the file was opened.
#[derive(Debug)]
pub struct RaftDb {
    opened: View,
    bounds: Option<(Index, Index)>,
    stable: Stable,
    lookups: Mutex<Lookups>,
    notes: Vec<String>,
}

/// The pages that the log accounts for; see [`RaftDb::whole_pages`].
#[derive(Debug, Default)]
pub struct WholePages {
    good: Seen,
    doubtful: Seen,
}

impl WholePages {
    /// True where the log holds all that is on the page.
    pub fn contains(&self, page: u64) -> bool {
        self.good.contains(page) && !self.doubtful.contains(page)
    }
}

/// One state of the file.
#[derive(Clone, Debug)]
struct View {
    bolt: Bolt,
    active: usize,
    meta: Meta,
    logs: Option<Root>,
    conf: Option<Root>,
}

/// The newest state that is known, and its pages that were used last.
#[derive(Debug)]
struct Lookups {
    view: View,
    pager: Pager,
}

/// Why a state cannot be read.
enum Failure {
    /// The server has written meanwhile.
    Changed,
    Evidence(EvidenceError),
}

impl View {
    /// The newest state of a file that can be read, with notes.
    fn of(bolt: Bolt) -> Result<(View, Vec<String>), Failure> {
        let mut notes = meta_notes(&bolt);
        let (active, meta, buckets) = choose_state(&bolt, &mut notes)?;
        let (logs, conf) = (buckets.root(LOGS), buckets.root(CONF));
        if logs.is_none() && conf.is_none() && !buckets.found.is_empty() {
            return Err(Failure::Evidence(foreign(&bolt, &buckets)));
        }
        if logs.is_none() && buckets.lost.is_empty() {
            notes.push("the file has no log yet: no server has used it".into());
        }
        notes.extend(buckets.lost.iter().map(|lost| format!("the list of buckets is damaged: {lost}")));
        let need = u64::from(meta.page_size).saturating_mul(meta.high_water);
        if bolt.file().len() < need {
            let len = bolt.file().len();
            notes.push(format!("the file is cut short: {len} bytes, where its meta page tells of {need}"));
        }
        Ok((View { bolt, active, meta, logs, conf }, notes))
    }

    fn pager(&self, shape: Shape) -> Pager {
        self.bolt.pager(&self.meta, shape)
    }

    fn walk(
        &self,
        pager: &mut Pager,
        root: Root,
        from: Option<&[u8]>,
        direction: Direction,
        sink: &mut tree::Sink<'_>,
    ) -> Result<(), WalkError> {
        tree::walk(pager, root, from, direction, &mut || self.bolt.is_unchanged(), sink)
    }

    /// The same file as it is now.
    fn again(&self) -> Result<View, EvidenceError> {
        let mut bolt = self.bolt.clone();
        for _ in 0..ATTEMPTS {
            match bolt.again() {
                // A meta page that is being written has no valid sum for a moment.
                Err(_) => {}
                Ok(newer) => {
                    bolt = newer;
                    match View::of(bolt.clone()) {
                        Ok((view, _)) => return Ok(view),
                        Err(Failure::Changed) => {}
                        Err(Failure::Evidence(error)) => return Err(error),
                    }
                }
            }
            std::thread::sleep(BETWEEN_ATTEMPTS);
        }
        Err(self.busy())
    }

    fn unreadable(&self, detail: String) -> EvidenceError {
        EvidenceError::Unreadable { path: self.bolt.file().path().into(), detail }
    }

    fn rewritten(&self, from: u64) -> EvidenceError {
        let detail = format!("the server removed or replaced entries around {from} while they were read; run again");
        self.unreadable(detail)
    }

    fn busy(&self) -> EvidenceError {
        self.unreadable("a server writes to it faster than it can be read; give a copy made by `nomad operator snapshot save` or of the stopped server".into())
    }

    /// The first good entry from one end of the log, and whether damage was met up to the end of its page, where entries
    /// need not be in order.
    fn end(&self, direction: Direction) -> Result<(Option<Index>, bool), WalkError> {
        let mut found: Option<(u64, Index)> = None;
        let mut damaged = false;
        let Some(root) = self.logs else { return Ok((None, false)) };
        let walked = self.walk(&mut self.pager(Shape::LOOKUP), root, None, direction, &mut |met| match met {
            Met::Item(item) => match (judge(&item), found) {
                (_, Some((page, _))) if page != item.page => ControlFlow::Break(()),
                (Ok(record), before) if item.in_bounds => {
                    let best = before.map_or(record.index, |(_, before)| match direction {
                        Direction::Forward => before.min(record.index),
                        Direction::Backward => before.max(record.index),
                    });
                    found = Some((item.page, best));
                    ControlFlow::Continue(())
                }
                _ => {
                    damaged = true;
                    ControlFlow::Continue(())
                }
            },
            Met::Lost(_) => {
                damaged = true;
                ControlFlow::Continue(())
            }
        });
        match walked {
            // A root that cannot be used is told by the first scan.
            Ok(()) | Err(WalkError::Root(_)) => Ok((found.map(|(_, index)| index), damaged)),
            Err(WalkError::Changed) => Err(WalkError::Changed),
        }
    }

    /// The first and the last good entry of the log. A page that two branches lead to belongs to the one that is met
    /// first, so that behind damage the end is where a walk from the front comes to it.
    fn bounds(&self) -> Result<Option<(Index, Index)>, WalkError> {
        let (first, _) = self.end(Direction::Forward)?;
        let (mut last, damaged) = self.end(Direction::Backward)?;
        let (Some(root), Some(start), true) = (self.logs, last.or(first), damaged) else { return Ok(first.zip(last)) };
        let from = start.0.to_be_bytes();
        let walked = self.walk(&mut self.pager(Shape::WALK), root, Some(&from), Direction::Forward, &mut |met| {
            if let Met::Item(item) = met
                && item.in_bounds
                && let Ok(record) = judge(&item)
            {
                last = last.max(Some(record.index));
            }
            ControlFlow::Continue(())
        });
        match walked {
            Ok(()) | Err(WalkError::Root(_)) => Ok(first.zip(last)),
            Err(WalkError::Changed) => Err(WalkError::Changed),
        }
    }

    /// The stable store; what of it cannot be read becomes a note.
    fn stable(&self, notes: &mut Vec<String>) -> Result<Stable, WalkError> {
        let mut stable = Stable::default();
        let Some(root) = self.conf else { return Ok(stable) };
        let mut lost = Vec::new();
        let walked = self.walk(&mut self.pager(Shape::LOOKUP), root, None, Direction::Forward, &mut |met| {
            match met {
                Met::Item(item) => {
                    let term = || item.value.try_into().ok().map(|raw| Term(u64::from_be_bytes(raw)));
                    match item.key {
                        b"CurrentTerm" => stable.current_term = term(),
                        b"LastVoteTerm" => stable.last_vote_term = term(),
                        b"LastVoteCand" => {
                            stable.last_vote_candidate = Some(String::from_utf8_lossy(item.value).into_owned());
                        }
                        _ => {}
                    }
                }
                Met::Lost(place) => lost.push(place.reason),
            }
            ControlFlow::Continue(())
        });
        match walked {
            Ok(()) => {}
            Err(WalkError::Root(error)) => lost.push(error.to_string()),
            Err(WalkError::Changed) => return Err(WalkError::Changed),
        }
        notes.extend(lost.iter().map(|lost| format!("the stable store is damaged: {lost}")));
        Ok(stable)
    }
}

impl RaftDb {
    /// Reads the meta pages and the buckets, and both ends of the log.
    ///
    /// # Errors
    /// When neither meta page leads to a readable list of buckets, and when the buckets are those of
    /// another program.
    pub fn open(bolt: Bolt) -> Result<Self, EvidenceError> {
        let mut newest = bolt;
        for _ in 0..ATTEMPTS {
            match Self::try_open(newest.clone()) {
                Ok(db) => return Ok(db),
                Err(Failure::Evidence(error)) => return Err(error),
                Err(Failure::Changed) => {}
            }
            std::thread::sleep(BETWEEN_ATTEMPTS);
            newest = newest.again().unwrap_or(newest);
        }
        let detail = "a server writes to it faster than it can be read; give a copy".into();
        Err(EvidenceError::Unreadable { path: newest.file().path().into(), detail })
    }

    fn try_open(bolt: Bolt) -> Result<Self, Failure> {
        let (view, mut notes) = View::of(bolt)?;
        let stable = view.stable(&mut notes)?;
        let bounds = view.bounds()?;
        let lookups = Mutex::new(Lookups { pager: view.pager(Shape::LOOKUP), view: view.clone() });
        Ok(RaftDb { opened: view, bounds, stable, lookups, notes })
    }

    /// The bolt file as it was when it was opened.
    pub fn bolt(&self) -> &Bolt {
        &self.opened.bolt
    }

    /// The meta page that was used then, and which of the two it is.
    pub fn meta(&self) -> (usize, &Meta) {
        (self.opened.active, &self.opened.meta)
    }

    /// The stable store.
    pub fn stable(&self) -> &Stable {
        &self.stable
    }

    /// What a reader should know, a sentence each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The leaf pages of which every element is an entry of the log. What such a page holds needs no
    /// carving; a page with something else on it may hold more than the log tells.
    pub fn whole_pages(&self) -> WholePages {
        let mut pages = WholePages::default();
        let view = &self.opened;
        let Some(root) = view.logs else { return pages };
        // Beside a writing server or past damage the set is smaller, and more is carved and compared.
        let _ = view.walk(&mut view.pager(Shape::WALK), root, None, Direction::Forward, &mut |met| {
            if let Met::Item(item) = met {
                let good = item.in_bounds && judge(&item).is_ok();
                if good { &mut pages.good } else { &mut pages.doubtful }.insert(item.page);
            }
            ControlFlow::Continue(())
        });
        pages
    }

    /// An error where a newer state of the file does not hold the entries from `start` on any more.
    fn holds(&self, view: &View, start: u64) -> Result<(), EvidenceError> {
        let wanted = self.bounds.map_or(0, |(first, _)| first.0).max(start);
        let gone = |first: Option<Index>| first.is_none_or(|first| first.0 > wanted);
        let past_the_end = self.bounds.is_none_or(|(_, last)| wanted > last.0);
        if !past_the_end && view.end(Direction::Forward).is_ok_and(|(first, _)| gone(first)) {
            return Err(view.rewritten(wanted));
        }
        Ok(())
    }

    /// A newer state of the file than `view`, for this and for later reads.
    fn again(&self, view: &View) -> Result<View, EvidenceError> {
        let newer = view.again()?;
        *self.lookups() = Lookups { pager: newer.pager(Shape::LOOKUP), view: newer.clone() };
        Ok(newer)
    }

    fn lookups(&self) -> std::sync::MutexGuard<'_, Lookups> {
        // A cache is as good after a panic elsewhere as before.
        self.lookups.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<WalkError> for Failure {
    fn from(_: WalkError) -> Self {
        Failure::Changed
    }
}

impl Log for RaftDb {
    fn bounds(&self) -> Option<(Index, Index)> {
        self.bounds
    }

    fn scan(
        &self,
        range: RangeInclusive<Index>,
        sink: &mut dyn FnMut(Scanned<'_>) -> ControlFlow<()>,
    ) -> Result<(), EvidenceError> {
        if range.is_empty() {
            return Ok(());
        }
        let start = range.start().0;
        let inside = self.bounds.is_some_and(|(first, _)| start > first.0);
        let mut view = self.lookups().view.clone();
        let mut pass = Pass {
            sequence: Sequence::new(inside.then_some(start), range.end().0, sink),
            start,
            last: None,
            joined: true,
            again: false,
            misplaced: None,
        };
        if view.meta.txid != self.opened.meta.txid {
            self.holds(&view, start)?;
            pass.sequence.stop_at(self.bounds.map_or(0, |(_, last)| last.0));
        }
        for _ in 0..ATTEMPTS {
            let Some(root) = view.logs else { return Ok(()) };
            let (mut broken, before) = (false, pass.start);
            let page_size = u64::from(view.meta.page_size);
            // The entry that was told last is met again, to see that it is still the same.
            let from = pass.last.map_or(pass.start, |(index, _)| index.0).to_be_bytes();
            let is_short = range.end().0.saturating_sub(range.start().0) < SHORT;
            let mut pager = view.pager(if is_short { Shape::LOOKUP } else { Shape::WALK });
            let walked = view.walk(&mut pager, root, Some(&from), Direction::Forward, &mut |met| {
                let flow = pass.take(met, page_size);
                broken = flow.is_break();
                flow
            });
            match walked {
                Ok(()) if !pass.joined => return Err(view.rewritten(pass.start)),
                Ok(()) if broken => return Ok(()),
                Ok(()) => {
                    // A break from the sink has no more to hear.
                    let _ = pass.sequence.finish(None);
                    return Ok(());
                }
                Err(WalkError::Root(error)) => {
                    return Err(view.unreadable(format!("the log cannot be read: {error}; try `logs --salvage`")));
                }
                Err(WalkError::Changed) => {
                    // Pages that were only seen while the server wrote are no damage.
                    view = self.again(&view)?;
                    self.holds(&view, pass.start)?;
                    pass.again = true;
                    pass.joined = pass.last.is_none();
                    pass.sequence.stop_at(self.bounds.map_or(0, |(_, last)| last.0));
                    if pass.start == before {
                        std::thread::sleep(BETWEEN_ATTEMPTS);
                    }
                }
            }
        }
        Err(view.busy())
    }

    fn data(&self, index: Index) -> Result<Option<Vec<u8>>, EvidenceError> {
        let mut lookups = self.lookups();
        let Lookups { view, pager } = &mut *lookups;
        let key = index.0.to_be_bytes();
        for _ in 0..ATTEMPTS {
            let Some(root) = view.logs else { return Ok(None) };
            let mut found = Ok(None);
            let walked = view.walk(pager, root, Some(&key), Direction::Forward, &mut |met| match met {
                Met::Item(item) if item.key == key => {
                    found = match judge(&item) {
                        Ok(record) => Ok(Some(record.data.to_vec())),
                        Err(bad) => Err(bad.detail),
                    };
                    ControlFlow::Break(())
                }
                // A damaged key says nothing of what comes behind it.
                Met::Item(item) if item.in_bounds && item.key > &key[..] && judge(&item).is_ok() => {
                    ControlFlow::Break(())
                }
                Met::Item(_) => ControlFlow::Continue(()),
                Met::Lost(lost) => {
                    found = Err(lost.reason);
                    ControlFlow::Continue(())
                }
            });
            let detail = match (walked, found) {
                (Ok(()), Ok(data)) => return Ok(data),
                (Ok(()), Err(detail)) => detail,
                (Err(WalkError::Root(error)), _) => error.to_string(),
                (Err(WalkError::Changed), _) => {
                    *view = view.again()?;
                    *pager = view.pager(Shape::LOOKUP);
                    continue;
                }
            };
            return Err(view.unreadable(format!("entry {index} cannot be read: {detail}")));
        }
        Err(view.busy())
    }
}

/// A scan, which goes on over several states of the file where a server writes meanwhile.
struct Pass<'s> {
    sequence: Sequence<'s>,
    /// The first index that has not been told.
    start: u64,
    /// The entry that was told last, with its term.
    last: Option<(Index, Term)>,
    /// In this state of the file the entry that was told last has been met.
    joined: bool,
    /// This is not the first state of the file.
    again: bool,
    /// The page of which it has been told that it holds foreign entries.
    misplaced: Option<u64>,
}

impl Pass<'_> {
    fn take(&mut self, met: Met<'_>, page_size: u64) -> ControlFlow<()> {
        let item = match met {
            Met::Lost(lost) => {
                self.sequence.hole(hole(lost, page_size));
                return ControlFlow::Continue(());
            }
            Met::Item(item) => item,
        };
        match judge(&item) {
            Ok(record) if record.index.0 < self.start => {
                self.joined |= self.last == Some((record.index, record.term));
                ControlFlow::Continue(())
            }
            // What was told before is not a part of this log any more.
            Ok(_) if !self.joined => ControlFlow::Break(()),
            Ok(record) if item.in_bounds && !self.sequence.is_past(record.index.0) => {
                self.start = record.index.0.saturating_add(1);
                self.last = Some((record.index, record.term));
                self.sequence.entry(record)
            }
            Ok(record) => {
                if self.misplaced != Some(item.page) {
                    self.misplaced = Some(item.page);
                    self.sequence.hole(stray(&item, record.index));
                }
                ControlFlow::Continue(())
            }
            // Met again in a newer state of the file.
            Err(bad) if self.again && bad.key.is_some_and(|key| self.sequence.is_past(key)) => {
                ControlFlow::Continue(())
            }
            Err(bad) => self.sequence.bad(bad),
        }
    }
}

/// An entry is good when its key is its index and its envelope is whole.
fn judge<'a>(item: &Item<'a>) -> Result<Record<'a>, Bad> {
    let key = item.key.try_into().ok().map(u64::from_be_bytes);
    let bad = |kind, inner, detail| Bad { kind, key, inner, offset: item.offset, detail };
    let Some(index) = key.filter(|_| !item.is_bucket) else {
        let detail = format!("page {}: a key of {} bytes is no index", item.page, item.key.len());
        return Err(bad(DamageKind::KeyMismatch, None, detail));
    };
    match raft_log::decode(item.value) {
        Ok(record) if record.index.0 == index => Ok(record),
        Ok(record) => {
            let detail = format!("the entry stored as {index} says that it is {}", record.index);
            Err(bad(DamageKind::KeyMismatch, Some(record.index.0), detail))
        }
        Err(error) => {
            let detail = format!("the entry stored as {index} cannot be decoded: {error}");
            Err(bad(DamageKind::UndecodableEntry, None, detail))
        }
    }
}

fn hole(lost: Lost, page_size: u64) -> Hole {
    let index = |key: Option<Vec<u8>>| key.and_then(|key| key.try_into().ok()).map(u64::from_be_bytes);
    Hole {
        first: index(lost.from),
        last: index(lost.to).and_then(|to| to.checked_sub(1)),
        offset: lost.page.checked_mul(page_size),
        detail: lost.reason,
    }
}

fn stray(item: &Item<'_>, index: Index) -> Hole {
    let detail = format!("page {} holds entry {index}, which does not belong there", item.page);
    Hole { first: None, last: None, offset: Some(item.offset), detail }
}

fn meta_notes(bolt: &Bolt) -> Vec<String> {
    let pages = bolt.metas().pages.iter().enumerate();
    let bad = pages.filter_map(|(n, page)| page.as_ref().err().map(|error| (n, error)));
    bad.map(|(n, error)| format!("meta page {n} is not valid: {error}; the other one is used")).collect()
}

/// The active state, or the older one where the active one's buckets cannot be read.
fn choose_state(bolt: &Bolt, notes: &mut Vec<String>) -> Result<(usize, Meta, Buckets), Failure> {
    let active = bolt.metas().active();
    let mut reasons = Vec::new();
    let mut partial = None;
    for n in [active, 1 - active] {
        let Ok(meta) = &bolt.metas().pages[n] else { continue };
        match state_of(bolt, meta)? {
            // An older state without a log would hide that there was one.
            Ok(buckets) if n != active && is_empty(bolt, meta, &buckets) => {
                reasons.push(format!("the state before it (transaction {}) has no entries", meta.txid));
            }
            Ok(buckets) => {
                if n != active {
                    let detail = reasons.join("; ");
                    notes.push(format!("the newest state cannot be read ({detail}); this is the one before it"));
                }
                return Ok((n, *meta, buckets));
            }
            Err((reason, buckets)) => {
                reasons.push(reason);
                partial = partial.or(buckets.map(|buckets| (n, *meta, buckets)));
            }
        }
    }
    if let Some(partial) = partial {
        return Ok(partial);
    }
    let detail = format!("no state of the file can be read: {}; try `logs --salvage`", reasons.join("; "));
    Err(Failure::Evidence(EvidenceError::Unreadable { path: bolt.file().path().into(), detail }))
}

/// The buckets of a state whose log can at least be begun; else why not, and what there is.
fn state_of(bolt: &Bolt, meta: &Meta) -> Result<Result<Buckets, (String, Option<Buckets>)>, Failure> {
    let buckets = match bolt.buckets(meta) {
        Ok(buckets) => buckets,
        Err(WalkError::Root(error)) => return Ok(Err((error.to_string(), None))),
        Err(WalkError::Changed) => return Err(Failure::Changed),
    };
    let reason = match buckets.root(LOGS) {
        Some(root) => match bolt.pager(meta, Shape::LOOKUP).root(root) {
            Ok(_) => return Ok(Ok(buckets)),
            Err(error) => error.to_string(),
        },
        None if buckets.lost.is_empty() => return Ok(Ok(buckets)),
        None => buckets.lost.join("; "),
    };
    // What looks like damage may be a server that writes.
    if bolt.is_unchanged() { Ok(Err((reason, Some(buckets)))) } else { Err(Failure::Changed) }
}

fn is_empty(bolt: &Bolt, meta: &Meta, buckets: &Buckets) -> bool {
    let root = buckets.root(LOGS).map(|root| bolt.pager(meta, Shape::LOOKUP).root(root));
    root.is_none_or(|page| page.is_ok_and(|page| page.count() == 0))
}

fn foreign(bolt: &Bolt, buckets: &Buckets) -> EvidenceError {
    let names = buckets.names();
    let what = if buckets.root("wal-meta").is_some() {
        "it describes a write-ahead log; give the directory that holds it"
    } else if buckets.root("meta").is_some() || buckets.root("allocations").is_some() {
        "it looks like a client's state.db; give the server's raft.db"
    } else {
        "give a server's raft.db"
    };
    let detail = format!("this bolt file holds no raft log but the buckets {names}: {what}");
    EvidenceError::NotEvidence { path: bolt.file().path().into(), detail }
}
