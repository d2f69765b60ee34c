//! A prepared insert that binds what is the same in row after row only once.

use rusqlite::{Connection, Result, Statement, ToSql};

/// A prepared insert. Parameters count from 1 and keep their values from row to row, so every one
/// has to be bound for the first row, and each that differs for the rows behind it. They are bound one after the
/// other, in order of the columns.
pub(super) struct Insert<'c> {
    statement: Statement<'c>,
    /// What was bound last, by parameter.
    bound: Vec<Bound>,
    /// The parameter that was bound last.
    at: usize,
}

/// What a parameter has, as far as the next row may have the same.
#[derive(Clone)]
enum Bound {
    /// Nothing that is remembered.
    Other,
    Int(Option<i64>),
    Word(String),
}

impl<'c> Insert<'c> {
    pub(super) fn new(conn: &'c Connection, sql: &str) -> Result<Self> {
        let statement = conn.prepare(sql)?;
        let bound = vec![Bound::Other; statement.parameter_count() + 1];
        Ok(Insert { statement, bound, at: 0 })
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

    /// Goes on to the next parameter: what it was bound to.
    fn next(&mut self) -> Option<&mut Bound> {
        self.at += 1;
        self.bound.get_mut(self.at)
    }

    /// Binds a number.
    pub(super) fn int(&mut self, n: Option<i64>) -> Result<()> {
        if let Some(bound) = self.next() {
            if matches!(bound, Bound::Int(last) if *last == n) {
                return Ok(());
            }
            *bound = Bound::Int(n);
        }
        self.bind(self.at, n)
    }

    /// Binds a text.
    pub(super) fn text(&mut self, text: Option<&str>) -> Result<()> {
        self.forget();
        self.bind(self.at, text)
    }

    /// Binds a text that is often the one of the row before.
    pub(super) fn word(&mut self, word: Option<&str>) -> Result<()> {
        let Some(word) = word else { return self.int(None) };
        match self.next() {
            Some(Bound::Word(last)) if last == word => return Ok(()),
            Some(Bound::Word(last)) => {
                last.clear();
                last.push_str(word);
            }
            Some(bound) => *bound = Bound::Word(word.to_owned()),
            None => {}
        }
        self.bind(self.at, word)
    }

    fn forget(&mut self) {
        if let Some(bound) = self.next() {
            *bound = Bound::Other;
        }
    }

    /// Binds bytes.
    pub(super) fn blob(&mut self, bytes: Option<&[u8]>) -> Result<()> {
        self.forget();
        self.bind(self.at, bytes)
    }
}

/// How many rows one statement inserts where there are so many: a statement for each costs SQLite as much as its row.
const TOGETHER: usize = 32;

/// Inserts of many rows.
pub(super) struct Inserts<'c> {
    /// Of [`TOGETHER`] rows.
    many: Insert<'c>,
    one: Insert<'c>,
}

impl<'c> Inserts<'c> {
    /// `sql` inserts one row and ends with the list of its values.
    pub(super) fn new(conn: &'c Connection, sql: &str) -> Result<Self> {
        let values = sql.rsplit("VALUES").next().unwrap_or_default();
        let more = format!(",{values}").repeat(TOGETHER - 1);
        Ok(Inserts { many: Insert::new(conn, &format!("{sql}{more}"))?, one: Insert::new(conn, sql)? })
    }

    /// Inserts rows; `bind` binds all values of one.
    pub(super) fn all<R>(
        &mut self,
        mut rows: impl ExactSizeIterator<Item = R>,
        mut bind: impl FnMut(R, &mut Insert<'c>) -> Result<()>,
    ) -> Result<()> {
        while rows.len() >= TOGETHER {
            rows.by_ref().take(TOGETHER).try_for_each(|row| bind(row, &mut self.many))?;
            self.many.run()?;
        }
        rows.try_for_each(|row| {
            bind(row, &mut self.one)?;
            self.one.run()
        })
    }
}
