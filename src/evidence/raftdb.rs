//! raft-boltdb: the log and the stable store in the buckets of one bolt file (storage.md 3.1, 3.2).

use std::ops::{ControlFlow, RangeInclusive};
use std::sync::{Mutex, PoisonError};

use super::bolt::meta::Meta;
use super::bolt::page::{Pager, Root};
use super::bolt::tree::{self, Direction, Item, Lost, Met};
use super::bolt::{Bolt, Buckets};
use super::file::Shape;
use super::sequence::{Bad, Hole, Sequence};
use super::{DamageKind, EvidenceError, Log, Record, Scanned};
use crate::entry::raft_log;
use crate::types::{Index, Term};

/// The bucket of the log.
pub const LOGS: &str = "logs";
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
#[derive(Debug)]
pub struct RaftDb {
    bolt: Bolt,
    active: usize,
    meta: Meta,
    logs: Option<Root>,
    bounds: Option<(Index, Index)>,
    stable: Stable,
    lookups: Mutex<Pager>,
    notes: Vec<String>,
}

impl RaftDb {
    /// Reads the meta pages and the buckets, and both ends of the log.
    ///
    /// # Errors
    /// When neither meta page leads to a readable list of buckets, and when the buckets are those of
    /// another program.
    pub fn open(bolt: Bolt) -> Result<Self, EvidenceError> {
        let mut notes = meta_notes(&bolt);
        let (active, meta, buckets) = choose_state(&bolt, &mut notes)?;
        let logs = buckets.root(LOGS);
        if logs.is_none() && !buckets.found.is_empty() && buckets.root(CONF).is_none() {
            return Err(foreign(&bolt, &buckets));
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
        let lookups = Mutex::new(bolt.pager(&meta, Shape::LOOKUP));
        let mut db = RaftDb { bolt, active, meta, logs, bounds: None, stable: Stable::default(), lookups, notes };
        if let Some(root) = buckets.root(CONF) {
            db.stable = db.read_stable(root);
        }
        db.bounds = db.end(Direction::Forward).zip(db.end(Direction::Backward));
        Ok(db)
    }

    /// The bolt file.
    pub fn bolt(&self) -> &Bolt {
        &self.bolt
    }

    /// The meta page that is used, and which of the two it is.
    pub fn meta(&self) -> (usize, &Meta) {
        (self.active, &self.meta)
    }

    /// The stable store.
    pub fn stable(&self) -> &Stable {
        &self.stable
    }

    /// What a reader should know, a sentence each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    fn unreadable(&self, detail: String) -> EvidenceError {
        EvidenceError::Unreadable { path: self.bolt.file().path().into(), detail }
    }

    fn lookups(&self) -> std::sync::MutexGuard<'_, Pager> {
        // A cache is as good after a panic elsewhere as before.
        self.lookups.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first good entry from one end of the log.
    fn end(&self, direction: Direction) -> Option<Index> {
        let mut found = None;
        // A root that cannot be used is told by the first scan.
        let _ = tree::walk(&mut self.lookups(), self.logs?, None, direction, &mut |met| match met {
            Met::Item(item) => match judge(&item) {
                Ok(record) if item.in_bounds => {
                    found = Some(record.index);
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            },
            Met::Lost(_) => ControlFlow::Continue(()),
        });
        found
    }

    fn read_stable(&mut self, root: Root) -> Stable {
        let mut stable = Stable::default();
        let mut lost = Vec::new();
        let walked = tree::walk(&mut self.lookups(), root, None, Direction::Forward, &mut |met| {
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
        lost.extend(walked.err().map(|error| error.to_string()));
        self.notes.extend(lost.iter().map(|lost| format!("the stable store is damaged: {lost}")));
        stable
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
        let (start, end) = (range.start().0, range.end().0);
        let Some(root) = self.logs.filter(|_| start <= end) else { return Ok(()) };
        let inside = self.bounds.is_some_and(|(first, _)| start > first.0);
        let mut sequence = Sequence::new(inside.then_some(start), end, sink);
        let mut pager = self.bolt.pager(&self.meta, Shape::WALK);
        let page_size = u64::from(self.meta.page_size);
        let mut misplaced = None;
        let mut broken = false;
        let walked = tree::walk(&mut pager, root, Some(&start.to_be_bytes()), Direction::Forward, &mut |met| {
            let flow = match met {
                Met::Lost(lost) => {
                    sequence.hole(hole(lost, page_size));
                    ControlFlow::Continue(())
                }
                Met::Item(item) => match judge(&item) {
                    Ok(record) if record.index.0 < start => ControlFlow::Continue(()),
                    Ok(record) if item.in_bounds && !sequence.is_past(record.index.0) => sequence.entry(record),
                    Ok(record) => {
                        if misplaced != Some(item.page) {
                            misplaced = Some(item.page);
                            sequence.hole(stray(&item, record.index));
                        }
                        ControlFlow::Continue(())
                    }
                    Err(bad) => sequence.bad(bad),
                },
            };
            broken = flow.is_break();
            flow
        });
        walked.map_err(|error| self.unreadable(format!("the log cannot be read: {error}")))?;
        if !broken {
            // A break from the sink has no more to hear.
            let _ = sequence.finish(None);
        }
        Ok(())
    }

    fn data(&self, index: Index) -> Result<Option<Vec<u8>>, EvidenceError> {
        let Some(root) = self.logs else { return Ok(None) };
        let key = index.0.to_be_bytes();
        let mut found = Ok(None);
        let walked = tree::walk(&mut self.lookups(), root, Some(&key), Direction::Forward, &mut |met| match met {
            Met::Item(item) if item.key == key => {
                found = match judge(&item) {
                    Ok(record) => Ok(Some(record.data.to_vec())),
                    Err(bad) => Err(bad.detail),
                };
                ControlFlow::Break(())
            }
            Met::Item(item) if item.in_bounds && item.key > &key[..] => ControlFlow::Break(()),
            Met::Item(_) => ControlFlow::Continue(()),
            Met::Lost(lost) => {
                found = Err(lost.reason);
                ControlFlow::Continue(())
            }
        });
        let detail = match (walked, found) {
            (Ok(()), Ok(data)) => return Ok(data),
            (Ok(()), Err(detail)) => detail,
            (Err(error), _) => error.to_string(),
        };
        Err(self.unreadable(format!("entry {index} cannot be read: {detail}")))
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
fn choose_state(bolt: &Bolt, notes: &mut Vec<String>) -> Result<(usize, Meta, Buckets), EvidenceError> {
    let active = bolt.metas().active();
    let mut reasons = Vec::new();
    let mut partial = None;
    for n in [active, 1 - active] {
        let Ok(meta) = &bolt.metas().pages[n] else { continue };
        match state_of(bolt, meta) {
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
    let detail = format!("no state of the file can be read: {}; try --salvage", reasons.join("; "));
    Err(EvidenceError::Unreadable { path: bolt.file().path().into(), detail })
}

/// The buckets of a state whose log can at least be begun; else why not, and what there is.
fn state_of(bolt: &Bolt, meta: &Meta) -> Result<Buckets, (String, Option<Buckets>)> {
    let buckets = bolt.buckets(meta).map_err(|error| (error.to_string(), None))?;
    let reason = match buckets.root(LOGS) {
        Some(root) => match bolt.pager(meta, Shape::LOOKUP).root(root) {
            Ok(_) => return Ok(buckets),
            Err(error) => error.to_string(),
        },
        None if buckets.lost.is_empty() => return Ok(buckets),
        None => buckets.lost.join("; "),
    };
    Err((reason, Some(buckets)))
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
