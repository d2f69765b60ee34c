//! A new ledger on its way into its file.
//!
//! Until it is whole it stands beside that file, as `FILE-new`, and then takes its place: whoever looks sees no ledger or
//! all of it. The file itself is held, empty, so that nobody else begins one; what a killed run left of its `-new` is
//! written over by the next one.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;
use rusqlite::types::Value;

use super::pages::{Pages, Record, Table, write_index, write_schema};
use super::rows::{CountRow, GroupRow, JobRow};
use super::store::{Columns, Result, Row, Slot, Span, SpanRow, Store};
use super::{LedgerError, SCHEMA, file, tables};

/// With more entries than this, SQLite makes the indexes when all rows are there: they are sorted in memory here.
const MOST_NAMES: usize = 2_000_000;

/// How a new ledger is written: nothing of it has to stand before it takes its place.
const SETTINGS: &str = "PRAGMA journal_mode = OFF;
                        PRAGMA synchronous = OFF;
                        PRAGMA cache_size = -32000;
                        PRAGMA temp_store = MEMORY;";

/// The place of a new ledger.
#[derive(Debug)]
pub(super) struct Place {
    /// Holds the file.
    lock: Connection,
    file: PathBuf,
    new: PathBuf,
    stands: bool,
}

impl Place {
    /// Takes over the file that a connection has open, with nothing in it that has to stay.
    ///
    /// # Errors
    /// When another process works on it, or what stands beside it is no ledger.
    pub(super) fn of(lock: Connection, path: &Path, name: &str) -> std::result::Result<(Self, File), LedgerError> {
        let sqlite = |e| LedgerError::sqlite(name, e);
        // A journal would be taken for that of the file that comes.
        lock.execute_batch("ROLLBACK; BEGIN IMMEDIATE").map_err(sqlite)?;
        let io = |source| LedgerError::Io { file: name.to_owned(), source };
        let file = fs::canonicalize(path).map_err(io)?;
        let mut new = file.clone().into_os_string();
        new.push("-new");
        let new = PathBuf::from(new);
        let new_name = new.display().to_string();
        file::refuse_other_new_files(&new, &new_name)?;
        let io = |source| LedgerError::Io { file: new_name.clone(), source };
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&new).map_err(io)?;
        let place = Place { lock, file, new, stands: false };
        let permissions = fs::metadata(&place.file).map_err(io)?.permissions();
        fs::set_permissions(&place.new, permissions).map_err(io)?;
        Ok((place, opened))
    }

    /// Opens what was written so far, whole by itself.
    pub(super) fn open(&self) -> rusqlite::Result<Connection> {
        let conn = Connection::open(&self.new)?;
        conn.execute_batch(SETTINGS)?;
        Ok(conn)
    }

    /// Puts the new ledger into the place of the file, which nobody has open but this.
    ///
    /// # Errors
    /// When the system refuses.
    pub(super) fn take(mut self) -> std::io::Result<PathBuf> {
        File::open(&self.new)?.sync_all()?;
        if cfg!(windows) {
            // No file that is open can be replaced there.
            self.lock = Connection::open_in_memory().map_err(std::io::Error::other)?;
        }
        fs::rename(&self.new, &self.file)?;
        self.stands = true;
        Ok(self.file.clone())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.stands {
            // Where that fails, the next run writes over it.
            let _ = fs::remove_file(&self.new);
        }
    }
}

/// Rows go straight onto the pages of a new file.
pub(super) struct NewFile {
    pages: Pages,
    /// In order of [`Slot`].
    rows: [Table; 2],
    /// In order of [`Span`].
    spans: [Table; 3],
    /// The entries of the two indexes: name, entry, row.
    counts: Vec<(Arc<str>, i64, i64)>,
    groups: Vec<(Arc<str>, i64, i64)>,
    /// There are too many.
    no_indexes: bool,
    record: Record,
    /// The schema, and the tables with few rows.
    few: Connection,
}

impl NewFile {
    /// Begins a file; `few` is of [`few_tables`].
    pub(super) fn new(file: File, few: Connection) -> Self {
        let table = Table::new;
        NewFile {
            pages: Pages::new(file),
            rows: [table(), table()],
            spans: [table(), table(), table()],
            counts: Vec::new(),
            groups: Vec::new(),
            no_indexes: false,
            record: Record::default(),
            few,
        }
    }

    /// Ends the file: the ledger in it, in a transaction, and whether its indexes are still to be made.
    pub(super) fn finish(self, place: &Place) -> Result<(Connection, bool)> {
        let NewFile { mut pages, rows: [entries, images], spans: [counts, jobs, groups], few, no_indexes, .. } = self;
        let mut roots = vec![("entry", entries.finish(&mut pages)?.0), ("image", images.finish(&mut pages)?.0)];
        let mut left = Vec::new();
        for (table, rows) in [(CountRow::TABLE, counts), (JobRow::TABLE, jobs), (GroupRow::TABLE, groups)] {
            let (root, changes) = rows.finish(&mut pages)?;
            roots.push((table, root));
            left.push((table, changes));
        }
        if !no_indexes {
            roots.push(("count_change_parent", write_names(self.counts, &mut pages)?));
            roots.push(("group_change_job", write_names(self.groups, &mut pages)?));
        }
        write_schema(&few, |name| roots.iter().find(|(n, _)| *n == name).map(|(_, root)| *root), pages)?;
        let conn = place.open()?;
        conn.execute_batch("BEGIN")?;
        for (table, changes) in left {
            let mut update = conn.prepare(&format!("UPDATE {table} SET until_idx = ?2 WHERE id = ?1"))?;
            changes.into_iter().try_for_each(|change| update.execute(change).map(drop))?;
        }
        ["meta", "snapshot", "term_span"].into_iter().try_for_each(|table| copy(table, &few, &conn))?;
        tables::write_bounds(&conn)?;
        Ok((conn, no_indexes))
    }

    fn note_name(&mut self, span: Span, name: &Arc<str>, idx: i64, id: i64) {
        let names = match span {
            Span::Count => &mut self.counts,
            Span::Group => &mut self.groups,
            Span::Job => return,
        };
        if names.len() >= MOST_NAMES {
            self.no_indexes = true;
        }
        if self.no_indexes {
            (self.counts, self.groups) = Default::default();
        } else {
            names.push((name.clone(), idx, id));
        }
    }
}

/// The schema, with what is known of the ledger so far.
pub(super) fn few_tables(meta: &Connection) -> rusqlite::Result<Connection> {
    let few = Connection::open_in_memory()?;
    few.execute_batch(SCHEMA)?;
    few.pragma_update(None, "application_id", super::APPLICATION_ID)?;
    few.pragma_update(None, "user_version", super::SCHEMA_VERSION)?;
    copy("meta", meta, &few)?;
    Ok(few)
}

impl Store for NewFile {
    fn conn(&self) -> &Connection {
        &self.few
    }

    fn add<R: Row>(&mut self, key: i64, row: &R) -> Result<()> {
        let [entries, images] = &mut self.rows;
        let table = match R::SLOT {
            Slot::Entry => entries,
            Slot::Image => images,
        };
        // The key stands beside the record.
        self.record.null();
        row.values(&mut self.record)?;
        Ok(table.append(key, self.record.take(), false, &mut self.pages)?)
    }

    fn add_span<R: SpanRow>(&mut self, id: i64, until: Option<i64>, row: &R) -> Result<()> {
        self.record.null();
        self.record.int(row.idx());
        Columns::int(&mut self.record, until)?;
        row.values(&mut self.record)?;
        if let Some(name) = row.name() {
            self.note_name(R::SPAN, name, row.idx(), id);
        }
        let [counts, jobs, groups] = &mut self.spans;
        let table = span(R::SPAN, counts, jobs, groups);
        Ok(table.append(id, self.record.take(), until.is_none(), &mut self.pages)?)
    }

    fn end_span<R: SpanRow>(&mut self, id: i64, until: i64) -> Result<()> {
        let [counts, jobs, groups] = &mut self.spans;
        Ok(span(R::SPAN, counts, jobs, groups).change(id, until, &mut self.pages)?)
    }

    fn drop_last_image(&mut self) -> Result<()> {
        // A new ledger has the end of one run.
        Ok(())
    }
}

fn span<'t>(span: Span, counts: &'t mut Table, jobs: &'t mut Table, groups: &'t mut Table) -> &'t mut Table {
    match span {
        Span::Count => counts,
        Span::Job => jobs,
        Span::Group => groups,
    }
}

impl Columns for Record {
    fn int(&mut self, n: Option<i64>) -> Result<()> {
        match n {
            Some(n) => Record::int(self, n),
            None => self.null(),
        }
        Ok(())
    }

    fn text(&mut self, text: Option<&str>) -> Result<()> {
        match text {
            Some(text) => Record::text(self, text),
            None => self.null(),
        }
        Ok(())
    }

    fn blob(&mut self, bytes: Option<&[u8]>) -> Result<()> {
        match bytes {
            Some(bytes) => Record::blob(self, bytes),
            None => self.null(),
        }
        Ok(())
    }
}

/// Writes an index of name and entry.
fn write_names(mut names: Vec<(Arc<str>, i64, i64)>, pages: &mut Pages) -> Result<u32> {
    names.sort_unstable();
    let mut record = Record::default();
    let next = |at: usize| {
        let Some((name, idx, id)) = names.get(at) else { return Vec::new() };
        record.text(name);
        record.int(*idx);
        record.int(*id);
        record.take().to_vec()
    };
    Ok(write_index(names.len(), next, pages)?)
}

/// Copies the rows of a table.
fn copy(table: &str, from: &Connection, to: &Connection) -> rusqlite::Result<()> {
    let mut select = from.prepare(&format!("SELECT * FROM {table}"))?;
    let width = select.column_count();
    let mut insert = to.prepare(&format!("INSERT INTO {table} VALUES ({})", vec!["?"; width].join(", ")))?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        for at in 0..width {
            insert.raw_bind_parameter(at + 1, row.get::<_, Value>(at)?)?;
        }
        insert.raw_execute()?;
    }
    Ok(())
}
