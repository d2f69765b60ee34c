//! The ledger: what every entry was and what it changed, in SQLite (contract.md 4).
//!
//! `schema.sql` is the schema, [`writer`] the one writer, [`query`] the named queries. A ledger
//! lives in memory or in a file that the user names; nothing is ever made beside the evidence.

mod changes;
mod error;
mod file;
mod findings;
mod identity;
mod insert;
pub mod kept;
mod new_file;
mod ops;
pub mod query;
mod rows;
mod shown;
mod spans;
mod tables;
mod texts;
pub mod writer;

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::entry::message_type::MessageTypes;
use new_file::Place;

pub use error::LedgerError;
pub use identity::{Basis, Joined};
pub use writer::Writer;

/// The version of the schema, kept in `PRAGMA user_version`.
pub const SCHEMA_VERSION: i64 = 2;

/// Marks a SQLite file as a ledger of raftscope (`PRAGMA application_id`): "rfsc".
const APPLICATION_ID: i64 = 0x7266_7363;

const SCHEMA: &str = include_str!("schema.sql");
const INDEXES: &str = "-- Indexes, made when the rows are there";

/// An open ledger with a transaction that [`Ledger::commit`] ends; without it, nothing stands.
#[derive(Debug)]
pub struct Ledger {
    conn: Connection,
    /// The file, or a word for memory; for messages.
    name: String,
    /// Made by this run, its indexes still to be made.
    fresh: bool,
    /// Where the file is.
    path: Option<PathBuf>,
    /// The place of a new ledger that is not in its file yet.
    place: Option<Place>,
}

impl Ledger {
    /// An empty ledger in memory.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn in_memory() -> Result<Self, LedgerError> {
        let name = "the ledger in memory".to_owned();
        let conn = Connection::open_in_memory().map_err(|e| LedgerError::sqlite(&name, e))?;
        let ledger = Ledger { conn, name, fresh: true, path: None, place: None };
        ledger.ask(|conn| conn.execute_batch("BEGIN"))?;
        ledger.ask(create)?;
        Ok(ledger)
    }

    /// Opens the ledger in a file, or makes it. Nobody else can write to it until it is closed.
    ///
    /// # Errors
    /// When the file is no ledger, one of another schema version, in use, or cannot be written.
    pub fn open(path: &Path) -> Result<Self, LedgerError> {
        let name = path.display().to_string();
        let (conn, fresh) = file::open(path, &name)?;
        let ledger = Ledger { conn, name, fresh, path: Some(path.to_owned()), place: None };
        if fresh {
            ledger.ask(create)?;
        }
        Ok(ledger)
    }

    /// Whether a file may be written over by a ledger: there is none, or it is empty, or a ledger.
    ///
    /// # Errors
    /// When it is something else.
    pub fn may_replace(path: &Path) -> Result<(), LedgerError> {
        file::may_replace(path, &path.display().to_string())
    }

    /// True when this run makes the ledger: it knows no entry yet.
    pub fn is_fresh(&self) -> bool {
        self.fresh
    }

    /// The writer that hears a replay; give it to [`crate::replay::replay`], then call its `finish`,
    /// which gives the ledger back. `types` names the message types.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn writer(self, types: MessageTypes) -> Result<Writer, LedgerError> {
        Writer::new(self, types)
    }

    /// Keeps what was written: makes the indexes of a new ledger and ends the transaction.
    ///
    /// # Errors
    /// When the file cannot be written; it is then as it was before.
    pub fn commit(&mut self) -> Result<(), LedgerError> {
        let fresh = std::mem::take(&mut self.fresh);
        self.ask(|conn| {
            if fresh {
                let indexes = SCHEMA.split(INDEXES).nth(1).unwrap_or_default();
                conn.execute_batch(indexes)?;
            }
            conn.execute_batch("COMMIT")
        })?;
        let Some(place) = self.place.take() else { return Ok(()) };
        let sqlite = |e| LedgerError::sqlite(&self.name, e);
        // It must not be open while it takes its place.
        self.conn = Connection::open_in_memory().map_err(sqlite)?;
        let file = place.take().map_err(|source| LedgerError::Io { file: self.name.clone(), source })?;
        self.conn = Connection::open(file).map_err(sqlite)?;
        Ok(())
    }

    /// The connection, for queries of one's own.
    pub fn connection(&self) -> &Connection {
        &self.conn
    }

    /// Runs something on the connection and names the file where it fails.
    fn ask<'l, T>(&'l self, work: impl FnOnce(&'l Connection) -> rusqlite::Result<T>) -> Result<T, LedgerError> {
        work(&self.conn).map_err(|e| LedgerError::sqlite(&self.name, e))
    }
}

/// Makes the tables and marks the file as a ledger.
fn create(conn: &Connection) -> rusqlite::Result<()> {
    let tables = SCHEMA.split(INDEXES).next().unwrap_or_default();
    conn.execute_batch(tables)?;
    conn.pragma_update(None, "application_id", APPLICATION_ID)?;
    conn.pragma_update(None, "user_version", SCHEMA_VERSION)
}
