//! A new ledger on its way into its file.
//!
//! Until it is whole it stands beside that file, as `FILE-new`, and then takes its place: whoever looks sees no ledger or
//! all of it. The file itself is held, empty, so that nobody else begins one; what a killed run left of its `-new` is
//! written over by the next one.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::types::Value;

use super::{LedgerError, create, file};

/// How a new ledger is written: nothing of it has to stand before it takes its place.
const SETTINGS: &str = "PRAGMA page_size = 16384;
                        PRAGMA journal_mode = OFF;
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
    /// Takes over the file that a connection has open, with nothing in it that has to stay but `meta`: a connection to
    /// the new ledger, which has the tables, in a transaction.
    ///
    /// # Errors
    /// When another process works on it, or what stands beside it is no ledger.
    pub(super) fn of(lock: Connection, path: &Path, name: &str) -> Result<(Connection, Self), LedgerError> {
        let sqlite = |e| LedgerError::sqlite(name, e);
        let meta = meta(&lock).map_err(sqlite)?;
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
        File::create(&new).map_err(io)?;
        let place = Place { lock, file, new, stands: false };
        let permissions = fs::metadata(&place.file).map_err(io)?.permissions();
        fs::set_permissions(&place.new, permissions).map_err(io)?;
        let conn = place.open(&meta).map_err(|e| LedgerError::sqlite(&new_name, e))?;
        Ok((conn, place))
    }

    fn open(&self, meta: &[(String, Value)]) -> rusqlite::Result<Connection> {
        let conn = Connection::open(&self.new)?;
        conn.execute_batch(SETTINGS)?;
        conn.execute_batch("BEGIN")?;
        create(&conn)?;
        for row in meta {
            conn.execute("INSERT INTO meta (key, value) VALUES (?, ?)", (&row.0, &row.1))?;
        }
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

/// The rows of `meta`.
fn meta(conn: &Connection) -> rusqlite::Result<Vec<(String, Value)>> {
    let mut statement = conn.prepare("SELECT key, value FROM meta")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}
