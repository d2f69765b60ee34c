//! What is handed over, as rows of every table, on the thread that writes.

use rusqlite::{Connection, Result, params};

use super::insert::{Insert, Inserts};
use super::ops::{EntryRow, ImageRow, Op};
use super::rows::{CountRow, GroupRow, JobRow};
use super::spans::Spans;
use super::texts::{EntryTexts, Texts};
use crate::entry::message_type::MessageTypes;

/// How many entries wait before they are written.
const WAITING: usize = 256;

/// Every table, each with what it needs to be written.
pub(super) struct Tables<'c> {
    conn: &'c Connection,
    entries: Inserts<'c>,
    /// Entries that wait to be written together.
    waiting: Vec<EntryRow>,
    images: Insert<'c>,
    counts: Spans<'c, CountRow>,
    jobs: Spans<'c, JobRow>,
    groups: Spans<'c, GroupRow>,
    term: Option<TermSpan>,
    ended_terms: Vec<TermSpan>,
    texts: Texts,
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
            entries: Inserts::new(conn, EntryTexts::INSERT)?,
            waiting: Vec::with_capacity(WAITING),
            images: Insert::new(conn, PackedImage::INSERT)?,
            counts: Spans::new(conn)?,
            jobs: Spans::new(conn)?,
            groups: Spans::new(conn)?,
            term: last_term(conn)?,
            ended_terms: Vec::new(),
            texts: Texts::new(types),
        })
    }

    /// Writes one thing.
    pub(super) fn write(&mut self, op: Op) -> Result<()> {
        match op {
            Op::Entry(row) => {
                self.note_term(&row);
                self.waiting.push(row);
                if self.waiting.len() < WAITING { Ok(()) } else { self.write_entries() }
            }
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
                self.conn.execute(insert, params![row.idx, row.term, row.role, row.differences])?;
                Ok(())
            }
            Op::Image(row) => {
                // The last run's end is in the rows of this one.
                self.conn.execute("DELETE FROM image WHERE NOT stays", [])?;
                PackedImage::of(&row).values(row.idx, &mut self.images)?;
                self.images.run()
            }
        }
    }

    /// Writes what waits, and in `meta` which entries the database has.
    pub(super) fn finish(mut self) -> Result<()> {
        self.write_entries()?;
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

    fn write_entries(&mut self) -> Result<()> {
        let Tables { entries, waiting, texts, .. } = self;
        entries.all(waiting.drain(..), |row, out| texts.of(&row).values(out))
    }

    fn note_term(&mut self, row: &EntryRow) {
        match &mut self.term {
            Some(span) if span.term == row.term && span.last + 1 == row.idx => {
                (span.last, span.entries) = (row.idx, span.entries + 1);
            }
            span => {
                let next = TermSpan { first: row.idx, last: row.idx, term: row.term, entries: 1 };
                self.ended_terms.extend(span.replace(next));
            }
        }
    }
}

/// A row of `image` as it is kept.
pub(super) struct PackedImage {
    term: i64,
    from_idx: Option<i64>,
    stays: bool,
    state: Option<Vec<u8>>,
    audit: Option<Vec<u8>>,
}

impl PackedImage {
    fn of(row: &ImageRow) -> Self {
        let state = compressed(&row.rows.to_bytes());
        let audit = row.audit.as_deref().and_then(compressed);
        PackedImage { term: row.term, from_idx: row.from_idx, stays: row.stays, state, audit }
    }
}

impl PackedImage {
    /// Inserts all columns in their order.
    const INSERT: &'static str =
        "INSERT OR REPLACE INTO image (idx, term, from_idx, stays, state, audit) VALUES (?, ?, ?, ?, ?, ?)";

    /// Binds the values of all columns; `idx` is the row's key.
    fn values(&self, idx: i64, out: &mut Insert<'_>) -> Result<()> {
        out.int(Some(idx))?;
        out.int(Some(self.term))?;
        out.int(self.from_idx)?;
        out.int(Some(self.stays.into()))?;
        out.blob(self.state.as_deref())?;
        out.blob(self.audit.as_deref())
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
