//! The one writer: hears a replay and keeps what happened.

use std::fmt::Write as _;

use crc64fast::Digest;
use jiff::Timestamp;
use rusqlite::{Connection, Result, params};

use super::changes::Changes;
use super::insert::Insert;
use super::rows::int;
use super::{Ledger, LedgerError};
use crate::entry::message_type::MessageTypes;
use crate::entry::split;
use crate::evidence::{LogType, Record};
use crate::fsm::outcome::Outcome;
use crate::fsm::state::State;
use crate::replay::{Rebased, Replayed, Subscriber};
use crate::types::{Index, Term};

/// The last index that the ledger knows of.
const KNOWN: &str = "SELECT coalesce((SELECT max(idx) FROM entry), (SELECT max(idx) FROM snapshot), -1)";

/// raft's name of an entry for the FSM.
const COMMAND: &str = "LogCommand";

/// Writes what a replay tells into a ledger. A failure is kept until [`Writer::finish`].
pub struct Writer<'l> {
    ledger: &'l Ledger,
    entry: Insert<'l>,
    changes: Changes<'l>,
    /// What is written already; entries up to here are not written again.
    known: i64,
    span: Option<Span>,
    spans: Vec<Span>,
    types: MessageTypes,
    /// Texts that are made again for every entry.
    text: String,
    failed: Option<rusqlite::Error>,
}

/// A row of `term_span`.
struct Span {
    first: i64,
    last: i64,
    term: i64,
    entries: i64,
}

impl<'l> Writer<'l> {
    pub(super) fn new(ledger: &'l Ledger) -> std::result::Result<Self, LedgerError> {
        ledger.ask(|conn| {
            Ok(Writer {
                ledger,
                entry: Insert::new(
                    conn,
                    "INSERT INTO entry (idx, term, log_type, type, bytes, appended_at, outcome, detail, hash)
                     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                )?,
                changes: Changes::new(conn)?,
                known: conn.query_row(KNOWN, [], |row| row.get(0))?,
                span: last_span(conn)?,
                spans: Vec::new(),
                types: MessageTypes::new(),
                text: String::new(),
                failed: None,
            })
        })
    }

    /// Names message types as the user did (`--message-type`).
    pub fn name_types(&mut self, types: MessageTypes) {
        self.types = types;
    }

    /// Ends the writing; the rows stand once [`Ledger::commit`] was called.
    ///
    /// # Errors
    /// The first failure of any write.
    pub fn finish(mut self) -> std::result::Result<(), LedgerError> {
        let failed = self.failed.take();
        let ledger = self.ledger;
        ledger.ask(|conn| {
            if let Some(error) = failed {
                return Err(error);
            }
            self.changes.flush()?;
            self.spans.extend(self.span.take());
            let mut insert = conn
                .prepare("INSERT OR REPLACE INTO term_span (first_idx, last_idx, term, entries) VALUES (?, ?, ?, ?)")?;
            for span in &self.spans {
                insert.execute(params![span.first, span.last, span.term, span.entries])?;
            }
            let bounds = "INSERT OR REPLACE INTO meta (key, value)
                          SELECT 'first_idx', min(idx) FROM entry UNION ALL SELECT 'last_idx', max(idx) FROM entry";
            conn.execute(bounds, []).map(drop)
        })
    }

    fn run(&mut self, work: impl FnOnce(&mut Self) -> Result<()>) {
        if self.failed.is_none() {
            self.failed = work(self).err();
        }
    }

    fn snapshot(&self, idx: i64, term: Term, role: &str, differences: Option<usize>) -> Result<()> {
        let insert = "INSERT INTO snapshot (idx, term, role, differences) VALUES (?, ?, ?, ?)";
        let differences = differences.map(|n| int(n as u64));
        self.ledger.conn.execute(insert, params![idx, int(term.0), role, differences]).map(drop)
    }

    fn write_entry(&mut self, idx: i64, record: &Record<'_>, outcome: &Outcome) -> Result<()> {
        let kind = match record.kind {
            LogType::Command => split(record.data).map(|command| self.types.name(command.kind)),
            _ => None,
        };
        let term = int(record.term.0);
        let insert = &mut self.entry;
        insert.bind(1, idx)?;
        insert.bind(2, term)?;
        match record.kind {
            LogType::Command => insert.word(3, Some(COMMAND))?,
            other => insert.word(3, Some(&other.name()))?,
        }
        insert.word(4, kind.as_deref())?;
        insert.bind(5, int(record.data.len() as u64))?;
        insert.bind(6, record.appended_at.map(|time| rfc3339(&mut self.text, time)))?;
        insert.word(7, Some(outcome.word()))?;
        insert.word(8, outcome.detail().as_deref())?;
        insert.bind(9, hex(&mut self.text, hash(record.data)))?;
        insert.run()?;
        match &mut self.span {
            Some(span) if span.term == term && span.last + 1 == idx => {
                (span.last, span.entries) = (idx, span.entries + 1);
            }
            span => {
                let next = Span { first: idx, last: idx, term, entries: 1 };
                self.spans.extend(span.replace(next));
            }
        }
        Ok(())
    }
}

impl Subscriber for Writer<'_> {
    fn base(&mut self, state: &State, index: Index, term: Term) {
        if self.known >= 0 || index == Index(0) {
            return;
        }
        let idx = int(index.0);
        self.run(|writer| {
            writer.changes.base(idx, state)?;
            writer.snapshot(idx, term, "base", None)
        });
    }

    fn rebase(&mut self, rebased: Rebased<'_>) {
        let idx = int(rebased.index.0);
        if idx <= self.known {
            return;
        }
        self.run(|writer| {
            writer.changes.rebase(idx, rebased.state)?;
            writer.snapshot(idx, rebased.term, "differs", Some(rebased.differences.len()))
        });
    }

    fn entry(&mut self, entry: Replayed<'_>) {
        let idx = int(entry.record.index.0);
        if idx <= self.known {
            return;
        }
        self.run(|writer| {
            writer.write_entry(idx, entry.record, &entry.step.outcome)?;
            if entry.step.changes.is_empty() {
                return Ok(());
            }
            writer.changes.entry(idx, &entry)
        });
    }
}

fn last_span(conn: &Connection) -> Result<Option<Span>> {
    let last = "SELECT first_idx, last_idx, term, entries FROM term_span ORDER BY first_idx DESC LIMIT 1";
    let mut statement = conn.prepare(last)?;
    let mut rows = statement.query([])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(Span { first: row.get(0)?, last: row.get(1)?, term: row.get(2)?, entries: row.get(3)? }))
}

/// The hash of an entry's payload that the ledger knows entries by: CRC-64/XZ. It tells logs apart
/// that were not made to deceive.
pub fn hash(data: &[u8]) -> u64 {
    let mut digest = Digest::new();
    digest.write(data);
    digest.sum64()
}

/// A hash as it stands in the ledger.
pub(super) fn hex(text: &mut String, hash: u64) -> &str {
    text.clear();
    // Writing to a String does not fail.
    let _ = write!(text, "{hash:016x}");
    text
}

/// A time as it stands in the ledger, always with nine decimals, so that times sort as text.
fn rfc3339(text: &mut String, time: Timestamp) -> &str {
    text.clear();
    let _ = write!(text, "{time:.9}");
    text
}
