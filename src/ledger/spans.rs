//! Rows that hold from one index to another.
//!
//! When a row begins it is not known when it ends. Rows wait in memory in order of their making;
//! most have ended when they are written, which saves a change each.

use std::collections::VecDeque;

use rusqlite::{Connection, Result, Statement, params};

use super::insert::{Insert, Inserts};

/// How many rows of a table wait before the older half is written.
const WAITING: usize = 8192;

/// A row of a table that has `id`, `idx` and `until_idx` first. SQLite gives the ids: each is the one behind the largest.
pub(super) trait SpanRow {
    /// The table.
    const TABLE: &'static str;

    /// Inserts all columns but the id in their order.
    const INSERT: &'static str;

    /// The entry that it begins at.
    fn idx(&self) -> i64;

    /// The values behind those two.
    fn values(&self, out: &mut Insert<'_>) -> Result<()>;
}

/// The rows of one table.
pub(super) struct Spans<'c, R> {
    insert: Inserts<'c>,
    /// Ends a row that is written.
    update: Statement<'c>,
    /// The id of the first waiting row.
    first: i64,
    waiting: VecDeque<(R, Option<i64>)>,
}

impl<'c, R: SpanRow> Spans<'c, R> {
    /// Goes on behind the rows that a table has.
    pub(super) fn new(conn: &'c Connection) -> Result<Self> {
        let last = format!("SELECT coalesce(max(id), 0) FROM {}", R::TABLE);
        let last: i64 = conn.query_row(&last, [], |row| row.get(0))?;
        let insert = Inserts::new(conn, R::INSERT)?;
        let update = conn.prepare(&format!("UPDATE {} SET until_idx = ?2 WHERE id = ?1", R::TABLE))?;
        Ok(Spans { insert, update, first: last + 1, waiting: VecDeque::new() })
    }

    /// Adds a row that is in force, or one that ends where it begins; it gets the next id.
    pub(super) fn begin(&mut self, row: R, until: Option<i64>) -> Result<()> {
        if self.waiting.len() >= WAITING {
            self.write(WAITING / 2)?;
        }
        self.waiting.push_back((row, until));
        Ok(())
    }

    /// Ends a row at an index.
    pub(super) fn end(&mut self, id: i64, idx: i64) -> Result<()> {
        match usize::try_from(id - self.first).ok().and_then(|at| self.waiting.get_mut(at)) {
            Some((_, until)) => {
                *until = Some(idx);
                Ok(())
            }
            None => self.update.execute(params![id, idx]).map(drop),
        }
    }

    /// Writes all rows that wait.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.write(self.waiting.len())
    }

    fn write(&mut self, count: usize) -> Result<()> {
        let Spans { insert, first, waiting, .. } = self;
        insert.all(waiting.drain(..count), |(row, until), out| {
            out.int(Some(row.idx()))?;
            out.int(until)?;
            *first += 1;
            row.values(out)
        })
    }
}
