//! Files: finds the stores that a path holds and hands out raft entries in order of index.
//!
//! Knows bytes, pages and raft's envelope, and nothing of Nomad. It distrusts every byte, opens
//! read-only, takes no lock and writes nothing.

pub mod bolt;
pub mod file;
pub mod json;
mod locate;
pub mod parcel;
pub mod place;
pub mod raftdb;
pub mod salvage;
mod search;
mod sequence;
pub mod snapshot;
pub mod wal;
pub mod window;

use std::ops::{ControlFlow, RangeInclusive};
use std::path::Path;

use jiff::Timestamp;
use serde::Serialize;

use crate::types::{Index, Term};

/// raft's log types, by their number in the log (storage.md 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogType {
    /// 0: a message for the FSM; the only one that reaches it.
    Command,
    /// 1: the first entry of a leader's term, empty.
    Noop,
    /// 2: raft protocol 1 and older, a list of peers.
    AddPeerDeprecated,
    /// 3: raft protocol 1 and older, a list of peers.
    RemovePeerDeprecated,
    /// 4: written to know that all before it has been applied, empty.
    Barrier,
    /// 5: the servers of the cluster.
    Configuration,
    /// Any other number, which no raft writes.
    Other(u64),
}

impl LogType {
    /// The type of a number in the log.
    pub fn from_number(n: u64) -> Self {
        match n {
            0 => LogType::Command,
            1 => LogType::Noop,
            2 => LogType::AddPeerDeprecated,
            3 => LogType::RemovePeerDeprecated,
            4 => LogType::Barrier,
            5 => LogType::Configuration,
            other => LogType::Other(other),
        }
    }

    /// The name that `nomad operator raft logs` prints; a number for others (fsm.md 1).
    pub fn name(self) -> String {
        match self {
            LogType::Command => "LogCommand".into(),
            LogType::Noop => "LogNoop".into(),
            LogType::AddPeerDeprecated => "LogAddPeerDeprecated".into(),
            LogType::RemovePeerDeprecated => "LogRemovePeerDeprecated".into(),
            LogType::Barrier => "LogBarrier".into(),
            LogType::Configuration => "LogConfiguration".into(),
            LogType::Other(n) => n.to_string(),
        }
    }
}

/// One raft log entry as it stands in the evidence.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Its position in the log.
    pub index: Index,
    /// The term of the leader that wrote it.
    pub term: Term,
    /// What kind of entry it is.
    pub kind: LogType,
    /// The payload: for a command the message type byte and the msgpack body.
    pub data: &'a [u8],
    /// The leader's clock when it was appended, where the log knows it (Nomad 1.3 and newer).
    pub appended_at: Option<Timestamp>,
}

impl Record<'_> {
    /// CRC-64/XZ of the payload. It tells logs apart that were not made to deceive.
    pub fn hash(&self) -> u64 {
        let mut digest = crc64fast::Digest::new();
        digest.write(self.data);
        digest.sum64()
    }
}

/// A place in the evidence that could not be read, or must not be believed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// What is wrong, a `kind` of contract.md 3: `gap`, `key_mismatch`, `checksum`, `undecodable_entry`.
    pub kind: DamageKind,
    /// The first index that is lost, where that is known.
    pub first: Option<Index>,
    /// The last index that is lost, where that is known.
    pub last: Option<Index>,
    /// Offset in the file, in bytes.
    pub offset: Option<u64>,
    /// A sentence for people.
    pub detail: String,
}

/// What is wrong with a place in the evidence (contract.md 3, finding kinds about the evidence).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DamageKind {
    /// Entries are missing or unreadable between two that are there.
    Gap,
    /// The key under which an entry is stored is not its index.
    KeyMismatch,
    /// A checksum does not fit.
    Checksum,
    /// raft's envelope of an entry cannot be decoded.
    UndecodableEntry,
}

/// What [`Log::scan`] meets: an entry, or a place where entries are lost.
#[derive(Clone, Debug)]
pub enum Scanned<'a> {
    /// An entry.
    Entry(Record<'a>),
    /// Damage, told at the place in index order where it matters.
    Damaged(Damage),
}

/// A log that can be walked in order and asked for single entries, from several threads.
pub trait Log: Send + Sync {
    /// The first and last readable index; `None` for an empty log.
    fn bounds(&self) -> Option<(Index, Index)>;

    /// Calls `sink` for each entry of `range` in order of index, and for damage between them,
    /// until the sink breaks off.
    ///
    /// # Errors
    /// Only where nothing more can be read at all; damage is told through the sink.
    fn scan(
        &self,
        range: RangeInclusive<Index>,
        sink: &mut dyn FnMut(Scanned<'_>) -> ControlFlow<()>,
    ) -> Result<(), EvidenceError>;

    /// The payload of one entry, as in [`Record::data`]; `None` where the log does not hold it.
    ///
    /// # Errors
    /// When the place cannot be read.
    fn data(&self, index: Index) -> Result<Option<Vec<u8>>, EvidenceError>;
}

macro_rules! pointers_to_logs {
    ($($pointer:ty),*) => {$(
        impl<L: Log + ?Sized> Log for $pointer {
            fn bounds(&self) -> Option<(Index, Index)> {
                (**self).bounds()
            }

            fn scan(
                &self,
                range: RangeInclusive<Index>,
                sink: &mut dyn FnMut(Scanned<'_>) -> ControlFlow<()>,
            ) -> Result<(), EvidenceError> {
                (**self).scan(range, sink)
            }

            fn data(&self, index: Index) -> Result<Option<Vec<u8>>, EvidenceError> {
                (**self).data(index)
            }
        }
    )*};
}
pointers_to_logs!(&L, Box<L>);

/// Everything that a path holds, opened for reading.
pub struct Evidence {
    /// The log; an empty one where the evidence is only a snapshot.
    pub log: Box<dyn Log>,
    /// The snapshots beside the log, by index; those that cannot be used as well, which say why.
    pub snapshots: Vec<snapshot::Snapshot>,
    /// What is known about the evidence without reading it all.
    pub window: window::Window,
}

/// Opens what `path` names, in any form that contract.md 1 lists; `-` is standard input. Nothing is
/// written beside it and no lock is taken.
///
/// # Errors
/// When there is no such path, when nothing there is evidence, and when the log cannot be read at all.
pub fn open(path: &Path) -> Result<Evidence, EvidenceError> {
    let found = locate::locate(path)?;
    Ok(opened(found))
}

/// The last entry of the log that `path` names, by its index and term: a new leader replaces the end of a log by one
/// that may be as long. `None` for an empty log.
///
/// # Errors
/// As [`open`].
pub fn last_entry(path: &Path) -> Result<Option<(Index, Term)>, EvidenceError> {
    Ok(locate::locate(path)?.store.last_entry())
}

/// Asks a log without a readable entry whether it is empty: an error where entries may have been lost.
///
/// # Errors
/// When the log cannot be read, or there is damage where entries could be; it names the first.
pub fn check_empty(log: &dyn Log, path: &str) -> Result<(), EvidenceError> {
    let mut lost = None;
    log.scan(Index(0)..=Index(u64::MAX), &mut |scanned| {
        if let Scanned::Damaged(damage) = scanned {
            lost = Some(damage.detail);
        }
        ControlFlow::Break(())
    })?;
    match lost {
        None => Ok(()),
        Some(detail) => Err(EvidenceError::Unreadable {
            path: path.into(),
            detail: format!("no entry of the log can be read: {detail}; try --salvage, or another server's copy"),
        }),
    }
}

/// Damage behind the last readable entry of a log: entries may be lost there, and a scan up to the last one does not
/// come to it.
///
/// # Errors
/// When the log cannot be read at all.
pub fn behind_the_end(log: &dyn Log) -> Result<Vec<Damage>, EvidenceError> {
    const MOST: usize = 1000;
    let Some((_, last)) = log.bounds() else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    log.scan(last.next()..=Index(u64::MAX), &mut |scanned| match scanned {
        Scanned::Damaged(damage) if found.len() < MOST => {
            found.push(damage);
            ControlFlow::Continue(())
        }
        _ => ControlFlow::Break(()),
    })?;
    Ok(found)
}

fn opened(found: locate::Found) -> Evidence {
    let window = window::of(&found.store, found.notes);
    let log: Box<dyn Log> = match found.store {
        locate::Store::RaftDb(db) => db,
        locate::Store::Wal(wal) => wal,
        locate::Store::Json(json) => Box::new(json),
        locate::Store::None(_) | locate::Store::Lost(_) => Box::new(NoLog),
    };
    Evidence { log, snapshots: found.snapshots, window }
}

/// The log of evidence that has none.
#[derive(Clone, Copy, Debug)]
pub struct NoLog;

impl Log for NoLog {
    fn bounds(&self) -> Option<(Index, Index)> {
        None
    }

    fn scan(
        &self,
        _: RangeInclusive<Index>,
        _: &mut dyn FnMut(Scanned<'_>) -> ControlFlow<()>,
    ) -> Result<(), EvidenceError> {
        Ok(())
    }

    fn data(&self, _: Index) -> Result<Option<Vec<u8>>, EvidenceError> {
        Ok(None)
    }
}

/// Why evidence gives no answer at all. Each message names the file and the next step.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// The operating system refused.
    #[error("{path}: {source}")]
    Io {
        /// The file or directory.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// There is nothing here that raftscope reads.
    #[error("{path}: {detail}")]
    NotEvidence {
        /// The file or directory.
        path: String,
        /// What was found instead, and what to give.
        detail: String,
    },
    /// The store is there but cannot be read.
    #[error("{path}: {detail}")]
    Unreadable {
        /// The file.
        path: String,
        /// What is wrong, with the offset, and the next step.
        detail: String,
    },
}
