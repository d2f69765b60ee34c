//! The file of a kept ledger: made where there is none, never anything else's, nothing beside it.

use std::fs;
use std::path::Path;

use raftscope::ledger::{Ledger, LedgerError, SCHEMA_VERSION};
use rusqlite::Connection;
use tempfile::tempdir;

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_missing_or_empty_file_becomes_a_ledger_and_nothing_stays_beside_it() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("empty.db"), "").unwrap();
    for name in ["new.db", "empty.db"] {
        let path = dir.path().join(name);
        let mut ledger = Ledger::open(&path).unwrap();
        assert!(ledger.is_fresh());
        ledger.commit().unwrap();
        drop(ledger);
        let again = Ledger::open(&path).unwrap();
        assert!(!again.is_fresh());
        let version: i64 = again.connection().pragma_query_value(None, "user_version", |r| r.get(0)).unwrap();
        assert_eq!(version, SCHEMA_VERSION);
    }
    assert_eq!(names(dir.path()), ["empty.db", "new.db"]);
}

#[test]
fn what_is_no_ledger_is_refused_and_left_as_it_is() {
    let dir = tempdir().unwrap();
    let other = dir.path().join("other.db");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1)").unwrap();
    fs::write(dir.path().join("text"), "hello, this is a text file\n").unwrap();
    fs::write(dir.path().join("short"), "SQL").unwrap();
    fs::create_dir(dir.path().join("dir")).unwrap();
    for name in ["other.db", "text", "short", "dir"] {
        let path = dir.path().join(name);
        let before = fs::read(&path).ok();
        let error = Ledger::open(&path).unwrap_err();
        assert!(matches!(error, LedgerError::NotALedger { .. }), "{name}: {error}");
        assert!(error.to_string().contains(name) && error.to_string().contains("--db"), "{error}");
        assert_eq!(fs::read(&path).ok(), before, "{name}");
    }
    assert_eq!(names(dir.path()), ["dir", "other.db", "short", "text"]);
    let error = Ledger::open(&dir.path().join("nowhere/ledger.db")).unwrap_err();
    assert!(error.to_string().contains("nowhere"), "{error}");
}

#[test]
fn a_ledger_of_a_newer_schema_is_refused() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("ledger.db");
    Ledger::open(&path).unwrap().commit().unwrap();
    Connection::open(&path).unwrap().pragma_update(None, "user_version", SCHEMA_VERSION + 1).unwrap();
    let error = Ledger::open(&path).unwrap_err();
    assert!(matches!(error, LedgerError::Newer { .. }), "{error}");
}

#[test]
fn two_runs_do_not_write_at_once() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("ledger.db");
    Ledger::open(&path).unwrap().commit().unwrap();
    let _first = Ledger::open(&path).unwrap();
    let error = Ledger::open(&path).unwrap_err();
    assert!(matches!(error, LedgerError::Busy { .. }), "{error}");
}

#[test]
fn what_was_not_committed_does_not_stand() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("ledger.db");
    let ledger = Ledger::open(&path).unwrap();
    ledger.connection().execute("INSERT INTO meta (key, value) VALUES ('x', 1)", []).unwrap();
    drop(ledger);
    assert!(Ledger::open(&path).unwrap().is_fresh());
}
