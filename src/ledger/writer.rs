//! The one writer: hears a replay and keeps what happened.
//!
//! It makes the rows; a thread of its own writes them, so that the replay need not wait.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;

use super::changes::Changes;
use super::new_file::Place;
use super::ops::{EntryRow, ImageRow, Op, Ops, SnapshotRow};
use super::rows::int;
use super::tables::Tables;
use super::{Ledger, LedgerError};
use crate::entry::message_type::MessageTypes;
use crate::entry::split;
use crate::evidence::LogType;
use crate::fsm::state::{Image, State};
use crate::replay::{Rebased, Replayed, Subscriber};
use crate::types::{Index, Term};

/// How many batches may wait for the thread.
const QUEUE: usize = 256;

/// The last index that the ledger knows of.
const KNOWN: &str = "SELECT coalesce((SELECT max(idx) FROM entry), (SELECT max(idx) FROM snapshot), -1)";

/// Writes what a replay tells into a ledger. A failure ends the replay and is told by
/// [`Writer::finish`].
pub struct Writer {
    changes: Changes,
    ops: Ops,
    thread: JoinHandle<rusqlite::Result<Connection>>,
    /// What is written already; entries up to here are not written again.
    known: i64,
    name: String,
    path: Option<PathBuf>,
    /// The indexes are still to be made.
    fresh: bool,
    /// Where it belongs, while it is a new one.
    place: Option<Place>,
}

impl Writer {
    pub(super) fn new(ledger: Ledger, types: MessageTypes) -> Result<Self, LedgerError> {
        let changes = ledger.ask(Changes::new)?;
        let known = ledger.ask(|conn| conn.query_row(KNOWN, [], |row| row.get(0)))?;
        let Ledger { conn, name, fresh, path, place } = ledger;
        let (sender, receiver) = sync_channel(QUEUE);
        let (conn, place) = match &path {
            Some(path) if fresh && place.is_none() => {
                let (conn, place) = Place::of(conn, path, &name)?;
                (conn, Some(place))
            }
            _ => (conn, place),
        };
        let thread = thread::Builder::new().name("ledger".into()).spawn(move || write(conn, types, &receiver));
        let thread = thread.map_err(|source| LedgerError::Io { file: name.clone(), source })?;
        Ok(Writer { changes, ops: Ops::new(sender), thread, known, name, path, fresh, place })
    }

    /// Ends the writing; the rows stand once [`Ledger::commit`] was called.
    ///
    /// # Errors
    /// The first failure of any write.
    pub fn finish(self) -> Result<Ledger, LedgerError> {
        let Writer { ops, thread, name, path, fresh, place, .. } = self;
        ops.finish();
        let Ok(result) = thread.join() else {
            let source = std::io::Error::other("the thread that writes has ended");
            return Err(LedgerError::Io { file: name, source });
        };
        let conn = result.map_err(|e| LedgerError::sqlite(&name, e))?;
        Ok(Ledger { conn, name, fresh, path, place })
    }

    /// The last index that the ledger knew when the writing began.
    pub(super) fn known(&self) -> Option<Index> {
        u64::try_from(self.known).ok().map(Index)
    }

    /// Keeps the rows of a state, to go on from.
    pub(super) fn image(&mut self, at: (Index, Term), from: Option<Index>, stays: bool, rows: Image, audit: Vec<u8>) {
        let (idx, term, from_idx) = (int(at.0.0), int(at.1.0), from.map(|from| int(from.0)));
        self.ops.push(Op::Image(Box::new(ImageRow { idx, term, from_idx, stays, rows, audit: Some(audit) })));
    }

    fn snapshot(&mut self, idx: i64, term: Term, role: &'static str, differences: Option<usize>) {
        let differences = differences.map(|n| int(n as u64));
        self.ops.push(Op::Snapshot(SnapshotRow { idx, term: int(term.0), role, differences }));
    }
}

/// Writes what comes, until nothing more does.
fn write(conn: Connection, types: MessageTypes, ops: &Receiver<Vec<Op>>) -> rusqlite::Result<Connection> {
    let mut tables = Tables::new(&conn, types)?;
    for batch in ops {
        batch.into_iter().try_for_each(|op| tables.write(op))?;
    }
    tables.finish()?;
    Ok(conn)
}

impl Subscriber for Writer {
    fn base(&mut self, state: &State, index: Index, term: Term) {
        if self.known >= 0 || index == Index(0) {
            return;
        }
        let idx = int(index.0);
        self.changes.base(idx, state, &mut self.ops);
        self.snapshot(idx, term, "base", None);
    }

    fn rebase(&mut self, rebased: Rebased<'_>) {
        let idx = int(rebased.index.0);
        if idx <= self.known {
            return;
        }
        self.changes.rebase(idx, rebased.before, rebased.state, &mut self.ops);
        self.snapshot(idx, rebased.term, "differs", Some(rebased.differences.len()));
    }

    fn entry(&mut self, entry: Replayed<'_>) {
        let record = entry.record;
        let idx = int(record.index.0);
        if idx <= self.known {
            return;
        }
        let kind = match record.kind {
            LogType::Command => split(record.data).map(|command| command.kind),
            _ => None,
        };
        self.ops.push(Op::Entry(EntryRow {
            idx,
            term: int(record.term.0),
            log_type: record.kind,
            kind,
            bytes: int(record.data.len() as u64),
            appended_at: record.appended_at,
            outcome: entry.step.outcome.word(),
            detail: entry.step.outcome.detail(entry.rules),
            hash: entry.hash.unwrap_or_else(|| record.hash()),
        }));
        if !entry.step.changes.is_empty() {
            self.changes.entry(idx, &entry, &mut self.ops);
        }
    }

    fn asks_hashes(&self) -> bool {
        true
    }

    fn is_done(&self) -> bool {
        self.ops.is_refused()
    }
}
