//! A prepared insert that binds what is the same in row after row only once.

use rusqlite::{Connection, Result, Statement, ToSql};

/// A prepared insert. Parameters count from 1 and keep their values from row to row, so every one
/// has to be bound for the first row, and each that differs for the rows behind it. They are bound one after the
/// other, in order of the columns.
pub(super) struct Insert<'c> {
    statement: Statement<'c>,
    /// The texts that were bound last with [`Insert::word`], by parameter.
    words: Vec<Option<Box<str>>>,
    /// The parameter that was bound last.
    at: usize,
}

impl<'c> Insert<'c> {
    pub(super) fn new(conn: &'c Connection, sql: &str) -> Result<Self> {
        let statement = conn.prepare(sql)?;
        let words = vec![None; statement.parameter_count() + 1];
        Ok(Insert { statement, words, at: 0 })
    }

    /// Binds a value.
    pub(super) fn bind(&mut self, parameter: usize, value: impl ToSql) -> Result<()> {
        self.statement.raw_bind_parameter(parameter, value)
    }

    /// Inserts a row of what is bound.
    pub(super) fn run(&mut self) -> Result<()> {
        self.at = 0;
        self.statement.raw_execute().map(drop)
    }

    fn next(&mut self, value: impl ToSql) -> Result<()> {
        self.at += 1;
        self.bind(self.at, value)
    }

    /// Binds a number.
    pub(super) fn int(&mut self, n: Option<i64>) -> Result<()> {
        self.next(n)
    }

    /// Binds a text.
    pub(super) fn text(&mut self, text: Option<&str>) -> Result<()> {
        self.next(text)
    }

    /// Binds a text that is often the one of the row before.
    pub(super) fn word(&mut self, word: Option<&str>) -> Result<()> {
        let Some(last) = self.words.get_mut(self.at + 1) else { return self.next(word) };
        if word.is_some() && last.as_deref() == word {
            self.at += 1;
            return Ok(());
        }
        *last = word.map(Into::into);
        self.next(word)
    }

    /// Binds bytes.
    pub(super) fn blob(&mut self, bytes: Option<&[u8]>) -> Result<()> {
        self.next(bytes)
    }
}
