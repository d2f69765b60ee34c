//! Opening the file of a kept ledger.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::{APPLICATION_ID, LedgerError, SCHEMA_VERSION};

/// How every SQLite file begins.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// How the journal begins that SQLite keeps beside a file while it writes.
const JOURNAL_MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// The journal is a file beside the ledger that SQLite deletes at each commit; a run that was
/// killed leaves one, and the next run undoes by it what was half written. A write-ahead log would
/// leave two files beside the ledger instead.
const SETTINGS: &str = "PRAGMA journal_mode = DELETE;
                        PRAGMA synchronous = NORMAL;
                        PRAGMA cache_size = -32000;
                        PRAGMA temp_store = MEMORY;";

/// How often a file is opened again because another one took its place.
const TRIES: usize = 3;

/// Opens or makes a file and begins a transaction; true when it is a new one.
pub(super) fn open(path: &Path, name: &str) -> Result<(Connection, bool), LedgerError> {
    let mut opened = open_once(path, name)?;
    for _ in 0..TRIES {
        // Another run's new ledger took the place of the empty file while this one waited for it.
        if !opened.1 || std::fs::metadata(path).is_ok_and(|file| file.len() == 0) {
            break;
        }
        drop(opened);
        opened = open_once(path, name)?;
    }
    Ok(opened)
}

fn open_once(path: &Path, name: &str) -> Result<(Connection, bool), LedgerError> {
    refuse_other_files(path, name)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let sqlite = |e| LedgerError::sqlite(name, e);
    let conn = Connection::open_with_flags(path, flags).map_err(sqlite)?;
    conn.busy_timeout(std::time::Duration::from_secs(2)).map_err(sqlite)?;
    conn.execute_batch(SETTINGS).map_err(sqlite)?;
    // This also undoes what a killed run left half written, which can be the whole file.
    conn.execute_batch("BEGIN IMMEDIATE").map_err(sqlite)?;
    let fresh = is_empty(&conn).map_err(sqlite)?;
    if !fresh {
        check(&conn, name)?;
    }
    Ok((conn, fresh))
}

/// Refuses a file that is there and is no ledger, without changing it.
pub(super) fn may_replace(path: &Path, name: &str) -> Result<(), LedgerError> {
    refuse_other_files(path, name)?;
    let io = |source| LedgerError::Io { file: name.to_owned(), source };
    if head(path, 1).map_err(io)?.is_none_or(|head| head.is_empty()) {
        return Ok(());
    }
    let sqlite = |e| LedgerError::sqlite(name, e);
    let conn = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(sqlite)?;
    check(&conn, name)
}

/// True for a database that nobody has put anything into.
fn is_empty(conn: &Connection) -> rusqlite::Result<bool> {
    let tables: i64 = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let pragma = |pragma| conn.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    Ok(tables == 0 && pragma("application_id")? == 0 && pragma("user_version")? == 0)
}

/// Refuses what is not SQLite's before SQLite touches it; an empty file is as good as none.
fn refuse_other_files(path: &Path, name: &str) -> Result<(), LedgerError> {
    let io = |source| LedgerError::Io { file: name.to_owned(), source };
    let not = |found: &str| LedgerError::NotALedger { file: name.to_owned(), found: found.to_owned() };
    if path.is_dir() {
        return Err(not("a directory"));
    }
    let Some(head) = head(path, MAGIC.len()).map_err(io)? else { return Ok(()) };
    if head.is_empty() || head == MAGIC {
        return Ok(());
    }
    let mut journal = path.as_os_str().to_owned();
    journal.push("-journal");
    match head_of_journal(Path::new(&journal)) {
        // The first page was not written yet when a run was killed.
        Some(head) if head == JOURNAL_MAGIC => Ok(()),
        _ => Err(not("not a SQLite file")),
    }
}

/// Refuses what stands where a new ledger is to be written and is not one that was not finished: its first page is empty
/// until it is whole.
pub(super) fn refuse_other_new_files(path: &Path, name: &str) -> Result<(), LedgerError> {
    let begun = head(path, MAGIC.len()).map_err(|source| LedgerError::Io { file: name.to_owned(), source })?;
    if begun.is_none_or(|head| head == MAGIC || head.iter().all(|byte| *byte == 0)) {
        return Ok(());
    }
    let found = "a new ledger is written there first, and it is another file".to_owned();
    Err(LedgerError::NotALedger { file: name.to_owned(), found })
}

fn head_of_journal(path: &Path) -> Option<Vec<u8>> {
    head(path, JOURNAL_MAGIC.len()).ok().flatten()
}

/// The first bytes of a file; `None` where there is none.
fn head(path: &Path, bytes: usize) -> std::io::Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e),
    };
    let mut head = Vec::new();
    file.take(bytes as u64).read_to_end(&mut head)?;
    Ok(Some(head))
}

/// Refuses other programs' databases, and ledgers of another schema version.
fn check(conn: &Connection, name: &str) -> Result<(), LedgerError> {
    let pragma = |pragma| conn.pragma_query_value(None, pragma, |row| row.get(0));
    let sqlite = |e| LedgerError::sqlite(name, e);
    let application: i64 = pragma("application_id").map_err(sqlite)?;
    if application != APPLICATION_ID {
        return Err(LedgerError::NotALedger { file: name.to_owned(), found: "another program's database".into() });
    }
    let found: i64 = pragma("user_version").map_err(sqlite)?;
    if found > SCHEMA_VERSION {
        return Err(LedgerError::Newer { file: name.to_owned(), found, known: SCHEMA_VERSION });
    }
    if found < SCHEMA_VERSION {
        return Err(LedgerError::Older { file: name.to_owned(), found });
    }
    Ok(())
}
