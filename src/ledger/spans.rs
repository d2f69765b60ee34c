//! Rows that hold from one index to another.
//!
//! When a row begins it is not known when it ends. Rows wait in memory in order of their making;
//! most have ended when they are written, which saves a change each.

use std::collections::VecDeque;

use rusqlite::Connection;

use super::store::{Result, SpanRow, Store};

/// How many rows of a table wait before the older half is written.
const WAITING: usize = 8192;

/// The rows of one table.
pub(super) struct Spans<R> {
    /// The id of the first waiting row.
    first: i64,
    waiting: VecDeque<(R, Option<i64>)>,
}

impl<R: SpanRow> Spans<R> {
    /// Goes on behind the rows that a table has.
    pub(super) fn new(conn: &Connection) -> rusqlite::Result<Self> {
        let last = format!("SELECT coalesce(max(id), 0) FROM {}", R::TABLE);
        let last: i64 = conn.query_row(&last, [], |row| row.get(0))?;
        Ok(Spans { first: last + 1, waiting: VecDeque::new() })
    }

    /// Adds a row that is in force, or one that ends where it begins; it gets the next id.
    pub(super) fn begin(&mut self, row: R, until: Option<i64>, store: &mut impl Store) -> Result<()> {
        if self.waiting.len() >= WAITING {
            self.write(WAITING / 2, store)?;
        }
        self.waiting.push_back((row, until));
        Ok(())
    }

    /// Ends a row at an index.
    pub(super) fn end(&mut self, id: i64, idx: i64, store: &mut impl Store) -> Result<()> {
        match usize::try_from(id - self.first).ok().and_then(|at| self.waiting.get_mut(at)) {
            Some((_, until)) => {
                *until = Some(idx);
                Ok(())
            }
            None => store.end_span::<R>(id, idx),
        }
    }

    /// Writes all rows that wait.
    pub(super) fn flush(&mut self, store: &mut impl Store) -> Result<()> {
        self.write(self.waiting.len(), store)
    }

    fn write(&mut self, count: usize, store: &mut impl Store) -> Result<()> {
        for (row, until) in self.waiting.drain(..count) {
            store.add_span(self.first, until, &row)?;
            self.first += 1;
        }
        Ok(())
    }
}
