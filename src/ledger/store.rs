//! Where rows go: into SQLite, or straight onto the pages of a new file.

use rusqlite::{Connection, Statement, params};

use super::insert::Insert;
use super::rows::{CountRow, GroupRow, JobRow};

/// Why a row could not be written.
#[derive(Debug)]
pub(super) enum Failure {
    /// SQLite failed.
    Sqlite(rusqlite::Error),
    /// The operating system refused.
    Io(std::io::Error),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Failure::Sqlite(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Failure::Io(error)
    }
}

pub(super) type Result<T, E = Failure> = std::result::Result<T, E>;

/// Takes the values of a row in order of its columns.
pub(super) trait Columns {
    /// A number.
    fn int(&mut self, n: Option<i64>) -> Result<()>;

    /// A text.
    fn text(&mut self, text: Option<&str>) -> Result<()>;

    /// A text that is often the one of the row before.
    fn word(&mut self, word: Option<&str>) -> Result<()> {
        self.text(word)
    }

    /// Bytes.
    fn blob(&mut self, bytes: Option<&[u8]>) -> Result<()>;
}

/// A row of one of the tables whose rows only come, in order of their keys.
pub(super) trait Row {
    /// Inserts all columns in their order.
    const INSERT: &'static str;

    /// Its table among those of a [`Store`].
    const SLOT: Slot;

    /// The values behind the key.
    fn values(&self, out: &mut impl Columns) -> Result<()>;
}

/// A row of a table that has `id`, `idx` and `until_idx` first.
pub(super) trait SpanRow {
    /// The table.
    const TABLE: &'static str;

    /// Inserts all columns in their order.
    const INSERT: &'static str;

    /// Its table among those of a [`Store`].
    const SPAN: Span;

    /// The entry that it begins at.
    fn idx(&self) -> i64;

    /// The values behind the first three.
    fn values(&self, out: &mut impl Columns) -> Result<()>;

    /// The name that the table's index has it under, if it has an index.
    fn name(&self) -> Option<&std::sync::Arc<str>> {
        None
    }
}

/// A table whose rows do not change.
#[derive(Clone, Copy, Debug)]
pub(super) enum Slot {
    /// `entry`
    Entry,
    /// `image`
    Image,
}

/// A table whose rows end.
#[derive(Clone, Copy, Debug)]
pub(super) enum Span {
    /// `count_change`
    Count,
    /// `job_change`
    Job,
    /// `group_change`
    Group,
}

/// What rows are written to.
pub(super) trait Store {
    /// The connection for what is written seldom: rows of `snapshot`, `term_span` and `meta`. It has them at the end
    /// of all.
    fn conn(&self) -> &Connection;

    /// Adds a row with its key.
    fn add<R: Row>(&mut self, key: i64, row: &R) -> Result<()>;

    /// Adds a row with its key; `until` is where it ends.
    fn add_span<R: SpanRow>(&mut self, id: i64, until: Option<i64>, row: &R) -> Result<()>;

    /// Ends a row that was added without an end.
    fn end_span<R: SpanRow>(&mut self, id: i64, until: i64) -> Result<()>;

    /// Makes room for an image: that of the last run's end goes.
    fn drop_last_image(&mut self) -> Result<()>;
}

/// Rows go into SQLite.
pub(super) struct Inserts<'c> {
    conn: &'c Connection,
    /// In order of [`Slot`].
    rows: [Insert<'c>; 2],
    /// In order of [`Span`].
    spans: [(Insert<'c>, Statement<'c>); 3],
}

impl<'c> Inserts<'c> {
    pub(super) fn new(conn: &'c Connection) -> rusqlite::Result<Self> {
        fn span<'c, R: SpanRow>(conn: &'c Connection) -> rusqlite::Result<(Insert<'c>, Statement<'c>)> {
            let update = conn.prepare(&format!("UPDATE {} SET until_idx = ?2 WHERE id = ?1", R::TABLE))?;
            Ok((Insert::new(conn, R::INSERT)?, update))
        }
        Ok(Inserts {
            conn,
            rows: [
                Insert::new(conn, super::texts::EntryTexts::INSERT)?,
                Insert::new(conn, super::tables::PackedImage::INSERT)?,
            ],
            spans: [span::<CountRow>(conn)?, span::<JobRow>(conn)?, span::<GroupRow>(conn)?],
        })
    }
}

impl Store for Inserts<'_> {
    fn conn(&self) -> &Connection {
        self.conn
    }

    fn add<R: Row>(&mut self, key: i64, row: &R) -> Result<()> {
        let [entries, images] = &mut self.rows;
        let insert = match R::SLOT {
            Slot::Entry => entries,
            Slot::Image => images,
        };
        insert.int(Some(key))?;
        row.values(insert)?;
        Ok(insert.run()?)
    }

    fn add_span<R: SpanRow>(&mut self, id: i64, until: Option<i64>, row: &R) -> Result<()> {
        let (insert, _) = self.span(R::SPAN);
        insert.int(Some(id))?;
        insert.int(Some(row.idx()))?;
        insert.int(until)?;
        row.values(insert)?;
        Ok(insert.run()?)
    }

    fn end_span<R: SpanRow>(&mut self, id: i64, until: i64) -> Result<()> {
        self.span(R::SPAN).1.execute(params![id, until])?;
        Ok(())
    }

    fn drop_last_image(&mut self) -> Result<()> {
        self.conn.execute("DELETE FROM image WHERE NOT stays", [])?;
        Ok(())
    }
}

impl<'c> Inserts<'c> {
    fn span(&mut self, span: Span) -> &mut (Insert<'c>, Statement<'c>) {
        let [counts, jobs, groups] = &mut self.spans;
        match span {
            Span::Count => counts,
            Span::Job => jobs,
            Span::Group => groups,
        }
    }
}
