//! Walks several logs side by side, a window of indexes at a time.

use std::ops::ControlFlow;

use sha2::{Digest, Sha256};

use super::Given;
use crate::entry::configuration::{self, Server};
use crate::entry::msgpack::Reader;
use crate::evidence::window::StoreKind;
use crate::evidence::{DamageKind, EvidenceError, Log, LogType, Record, Scanned};
use crate::types::{Index, Term};

/// So many indexes of every log are held at a time.
const WINDOW: u64 = 4096;
/// More holes or damaged places of one log than this are counted and not listed.
const MOST_LISTED: usize = 1000;

/// An entry as far as it is compared.
#[derive(Clone, Debug)]
pub struct Print {
    /// The term of the leader that wrote it.
    pub term: Term,
    /// What it carries; `None` where only a snapshot tells the term of its index.
    pub content: Option<Content>,
}

/// What an entry carries, small enough to be kept.
#[derive(Clone, Debug)]
pub struct Content {
    /// raft's type.
    pub kind: LogType,
    /// The number of a command's message type, without the ignore flag.
    pub message: Option<u8>,
    /// Length of the payload.
    pub bytes: usize,
    /// Of the payload; `None` where the store does not keep it as the server wrote it.
    pub sha256: Option<[u8; 32]>,
}

impl Content {
    fn of(record: &Record<'_>, store: StoreKind) -> Self {
        let message = match record.kind {
            LogType::Command => record.data.first().map(|kind| kind & 0x7f),
            _ => None,
        };
        // The JSON of `raft logs` has lost what is no text, so its payload is one that we made.
        let sha256 = (store != StoreKind::Json).then(|| Sha256::digest(record.data).into());
        Content { kind: record.kind, message, bytes: record.data.len(), sha256 }
    }

    /// True where two entries carry the same, as far as both can be compared. raft's envelope is not looked
    /// at: a follower writes its own (storage.md 3.1).
    pub fn is_same(&self, other: &Content) -> bool {
        if self.kind != other.kind {
            return false;
        }
        match (self.sha256, other.sha256) {
            (Some(a), Some(b)) => a == b,
            _ => self.message.is_none() || other.message.is_none() || self.message == other.message,
        }
    }
}

/// What a walk learned of one log besides its entries.
#[derive(Clone, Debug, Default)]
pub struct Traced {
    /// How many entries were read.
    pub entries: u64,
    /// Indexes that are missing between two that are there, first and last.
    pub holes: Vec<(Index, Index)>,
    /// The newest configuration after the last hole, with its index.
    pub configuration: Option<(Index, Vec<Server>)>,
    /// Damaged places, a sentence each.
    pub damage: Vec<String>,
    last: Option<Index>,
}

impl Traced {
    fn entry(&mut self, record: &Record<'_>) {
        if let Some(last) = self.last
            && record.index > last.next()
        {
            if self.holes.len() < MOST_LISTED {
                self.holes.push((last.next(), record.index.prev()));
            }
            self.configuration = None;
        }
        self.last = Some(record.index);
        self.entries += 1;
        if let Some(servers) = servers(record) {
            self.configuration = Some((record.index, servers));
        }
    }
}

/// The servers that an entry makes the cluster's, where it does (storage.md 3.1, Type payloads).
fn servers(record: &Record<'_>) -> Option<Vec<Server>> {
    match record.kind {
        LogType::Configuration => configuration::servers(record.data).ok(),
        LogType::AddPeerDeprecated | LogType::RemovePeerDeprecated => {
            let mut servers = Vec::new();
            let read = Reader::new(record.data).items(|r| {
                let address = r.text()?.into_owned();
                servers.push(Server { suffrage: configuration::suffrage(0), id: address.clone(), address });
                Ok(())
            });
            read.ok().map(|_| servers)
        }
        _ => None,
    }
}

/// Calls `sink` for each index that any log or snapshot has, in order, with what each server holds there.
///
/// # Errors
/// When a log cannot be read on.
pub fn walk(given: &[Given], sink: &mut dyn FnMut(Index, &[Option<Print>])) -> Result<Vec<Traced>, EvidenceError> {
    let mut traced = vec![Traced::default(); given.len()];
    let mut start = Some(Index(0));
    while let Some(from) = next_present(given, start)? {
        let to = Index(from.0.saturating_add(WINDOW - 1));
        let mut columns = Vec::with_capacity(given.len());
        for (given, traced) in given.iter().zip(&mut traced) {
            columns.push(column(given, from, to, traced)?);
        }
        for slot in 0..WINDOW {
            let at =
                |column: &mut Vec<Option<Print>>| usize::try_from(slot).ok().and_then(|s| column.get_mut(s)?.take());
            let row: Vec<Option<Print>> = columns.iter_mut().map(at).collect();
            if row.iter().any(Option::is_some) {
                sink(Index(from.0.saturating_add(slot)), &row);
            }
        }
        start = to.0.checked_add(1).map(Index);
    }
    for (given, traced) in given.iter().zip(&mut traced) {
        tail(given, traced)?;
    }
    Ok(traced)
}

/// The first index at or after `from` that any server has.
fn next_present(given: &[Given], from: Option<Index>) -> Result<Option<Index>, EvidenceError> {
    let Some(from) = from else { return Ok(None) };
    let mut first: Option<Index> = None;
    for given in given {
        let mut found = None;
        given.evidence.log.scan(from..=Index(u64::MAX), &mut |met| match met {
            Scanned::Entry(record) => {
                found = Some(record.index);
                ControlFlow::Break(())
            }
            Scanned::Damaged(_) => ControlFlow::Continue(()),
        })?;
        let snapshots = given.snapshots().map(|info| info.index).filter(|index| *index >= from);
        first = first.into_iter().chain(found).chain(snapshots).min();
    }
    Ok(first)
}

/// What one server holds from `from` to `to`, by distance from `from`.
fn column(given: &Given, from: Index, to: Index, traced: &mut Traced) -> Result<Vec<Option<Print>>, EvidenceError> {
    let mut column: Vec<Option<Print>> = Vec::new();
    let mut put = |index: Index, print: Print| {
        let Some(slot) = index.0.checked_sub(from.0).and_then(|slot| usize::try_from(slot).ok()) else { return };
        if column.len() <= slot {
            column.resize(slot + 1, None);
        }
        if let Some(place) = column.get_mut(slot) {
            *place = Some(print);
        }
    };
    // A snapshot tells the term of its last entry (storage.md 6.1); the entry itself, put later, tells more.
    for info in given.snapshots().filter(|info| (from..=to).contains(&info.index) && info.term > Term(0)) {
        put(info.index, Print { term: info.term, content: None });
    }
    let store = given.evidence.window.store;
    if let Some((first, last)) = given.evidence.log.bounds()
        && first <= to
        && last >= from
    {
        given.evidence.log.scan(from.max(first)..=to.min(last), &mut |met| {
            match met {
                Scanned::Entry(record) => {
                    traced.entry(&record);
                    put(record.index, Print { term: record.term, content: Some(Content::of(&record, store)) });
                }
                // A gap is a hole between two entries, and seen there.
                Scanned::Damaged(damage) if damage.kind == DamageKind::Gap => {}
                Scanned::Damaged(damage) if traced.damage.len() < MOST_LISTED => traced.damage.push(damage.detail),
                Scanned::Damaged(_) => {}
            }
            ControlFlow::Continue(())
        })?;
    }
    Ok(column)
}

/// Damage behind the last entry, where entries may have been.
fn tail(given: &Given, traced: &mut Traced) -> Result<(), EvidenceError> {
    let Some((_, last)) = given.evidence.log.bounds() else { return Ok(()) };
    given.evidence.log.scan(last.next()..=Index(u64::MAX), &mut |met| match met {
        Scanned::Damaged(damage) if traced.damage.len() < MOST_LISTED => {
            traced.damage.push(damage.detail);
            ControlFlow::Continue(())
        }
        _ => ControlFlow::Break(()),
    })
}
