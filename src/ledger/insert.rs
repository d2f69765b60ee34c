//! A prepared insert that binds what is the same in row after row only once.

use rusqlite::{Connection, Result, Statement, ToSql};

/// A prepared insert. Parameters count from 1 and keep their values from row to row, so every one
/// has to be bound for the first row, and each that differs for the rows behind it.
pub(super) struct Insert<'c> {
    statement: Statement<'c>,
    /// The texts that were bound last with [`Insert::word`], by parameter.
    words: Vec<Option<Box<str>>>,
}

impl<'c> Insert<'c> {
    pub(super) fn new(conn: &'c Connection, sql: &str) -> Result<Self> {
        let statement = conn.prepare(sql)?;
        let words = vec![None; statement.parameter_count() + 1];
        Ok(Insert { statement, words })
    }

    /// Binds a value.
    pub(super) fn bind(&mut self, parameter: usize, value: impl ToSql) -> Result<()> {
        self.statement.raw_bind_parameter(parameter, value)
    }

    /// Binds a text that is often the one of the row before.
    pub(super) fn word(&mut self, parameter: usize, text: Option<&str>) -> Result<()> {
        let Some(word) = self.words.get_mut(parameter) else { return self.bind(parameter, text) };
        if text.is_some() && word.as_deref() == text {
            return Ok(());
        }
        *word = text.map(Into::into);
        self.bind(parameter, text)
    }

    /// Inserts a row of what is bound.
    pub(super) fn run(&mut self) -> Result<()> {
        self.statement.raw_execute().map(drop)
    }
}
