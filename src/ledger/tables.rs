//! The statements that write, on the thread that writes.

use std::fmt::Write as _;

use jiff::Timestamp;
use rusqlite::{Connection, Result, params};

use super::insert::Insert;
use super::ops::{EntryRow, ImageRow, Op};
use super::rows::{CountRow, GroupRow, JobRow};
use super::spans::Spans;
use crate::entry::message_type::MessageTypes;
use crate::evidence::LogType;

const ENTRY: &str = "INSERT INTO entry (idx, term, log_type, type, bytes, appended_at, outcome, detail, hash)
                     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";

/// raft's name of an entry for the FSM.
const COMMAND: &str = "LogCommand";

/// Every table, each with what it needs to be written.
pub(super) struct Tables<'c> {
    conn: &'c Connection,
    entry: Insert<'c>,
    counts: Spans<'c, CountRow>,
    jobs: Spans<'c, JobRow>,
    groups: Spans<'c, GroupRow>,
    term: Option<TermSpan>,
    ended_terms: Vec<TermSpan>,
    types: MessageTypes,
    /// A text that is made again for every entry.
    text: String,
}

/// A row of `term_span`.
struct TermSpan {
    first: i64,
    last: i64,
    term: i64,
    entries: i64,
}

impl<'c> Tables<'c> {
    /// Goes on behind what is there; `types` names the message types.
    pub(super) fn new(conn: &'c Connection, types: MessageTypes) -> Result<Self> {
        Ok(Tables {
            conn,
            entry: Insert::new(conn, ENTRY)?,
            counts: Spans::new(conn)?,
            jobs: Spans::new(conn)?,
            groups: Spans::new(conn)?,
            term: last_term(conn)?,
            ended_terms: Vec::new(),
            types,
            text: String::new(),
        })
    }

    /// Writes one thing.
    pub(super) fn write(&mut self, op: Op) -> Result<()> {
        match op {
            Op::Entry(row) => self.entry(&row),
            Op::Count(row) => self.counts.begin(row, None),
            Op::EndCount { id, idx } => self.counts.end(id, idx),
            Op::Job(row) => {
                let until = row.is_end().then_some(row.idx);
                self.jobs.begin(row, until)
            }
            Op::EndJob { id, idx } => self.jobs.end(id, idx),
            Op::Group(row) => self.groups.begin(row, None),
            Op::EndGroup { id, idx } => self.groups.end(id, idx),
            Op::Snapshot(row) => {
                let insert = "INSERT INTO snapshot (idx, term, role, differences) VALUES (?, ?, ?, ?)";
                self.conn.execute(insert, params![row.idx, row.term, row.role, row.differences]).map(drop)
            }
            Op::Image(row) => self.image(&row),
        }
    }

    /// Writes what waits.
    pub(super) fn finish(mut self) -> Result<()> {
        self.jobs.flush()?;
        self.groups.flush()?;
        self.counts.flush()?;
        self.ended_terms.extend(self.term.take());
        let insert = "INSERT OR REPLACE INTO term_span (first_idx, last_idx, term, entries) VALUES (?, ?, ?, ?)";
        let mut insert = self.conn.prepare(insert)?;
        for span in &self.ended_terms {
            insert.execute(params![span.first, span.last, span.term, span.entries])?;
        }
        let bounds = "INSERT OR REPLACE INTO meta (key, value)
                      SELECT 'first_idx', min(idx) FROM entry UNION ALL SELECT 'last_idx', max(idx) FROM entry";
        self.conn.execute(bounds, []).map(drop)
    }

    fn entry(&mut self, row: &EntryRow) -> Result<()> {
        let insert = &mut self.entry;
        insert.bind(1, row.idx)?;
        insert.bind(2, row.term)?;
        match row.log_type {
            LogType::Command => insert.word(3, Some(COMMAND))?,
            other => insert.word(3, Some(&other.name()))?,
        }
        insert.word(4, row.kind.map(|kind| self.types.name(kind)).as_deref())?;
        insert.bind(5, row.bytes)?;
        insert.bind(6, row.appended_at.map(|time| rfc3339(&mut self.text, time)))?;
        insert.word(7, Some(row.outcome))?;
        insert.word(8, row.detail.as_deref())?;
        insert.bind(9, hex(&mut self.text, row.hash))?;
        insert.run()?;
        match &mut self.term {
            Some(span) if span.term == row.term && span.last + 1 == row.idx => {
                (span.last, span.entries) = (row.idx, span.entries + 1);
            }
            span => {
                let next = TermSpan { first: row.idx, last: row.idx, term: row.term, entries: 1 };
                self.ended_terms.extend(span.replace(next));
            }
        }
        Ok(())
    }

    fn image(&mut self, row: &ImageRow) -> Result<()> {
        // The last run's end is in the rows of this one.
        self.conn.execute("DELETE FROM image WHERE NOT stays", [])?;
        let insert =
            "INSERT OR REPLACE INTO image (idx, term, from_idx, stays, state, audit) VALUES (?, ?, ?, ?, ?, ?)";
        let state = compressed(&row.rows.to_bytes());
        let audit = row.audit.as_deref().map(compressed);
        self.conn.execute(insert, params![row.idx, row.term, row.from_idx, row.stays, state, audit]).map(drop)
    }
}

/// Snappy's block format; what is too long for it is not kept, which only costs time later.
fn compressed(bytes: &[u8]) -> Option<Vec<u8>> {
    snap::raw::Encoder::new().compress_vec(bytes).ok()
}

fn last_term(conn: &Connection) -> Result<Option<TermSpan>> {
    let last = "SELECT first_idx, last_idx, term, entries FROM term_span ORDER BY first_idx DESC LIMIT 1";
    let mut statement = conn.prepare(last)?;
    let mut rows = statement.query([])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(TermSpan { first: row.get(0)?, last: row.get(1)?, term: row.get(2)?, entries: row.get(3)? }))
}

/// A hash as it stands in the ledger.
fn hex(text: &mut String, hash: u64) -> &str {
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
