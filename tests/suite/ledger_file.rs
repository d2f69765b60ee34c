//! The file of a kept ledger: made where there is none, never anything else's, nothing beside it.

use std::fs;
use std::path::Path;

use crate::common::run_to;
use crate::support::synth::bolt::Layout;
use crate::support::synth::history::{History, Plot};
use crate::support::synth::write_bolt;
use raftscope::entry::message_type::MessageTypes;
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
        assert!(error.to_string().contains(name) && error.to_string().contains("name another file"), "{error}");
        assert_eq!(fs::read(&path).ok(), before, "{name}");
    }
    assert_eq!(names(dir.path()), ["dir", "other.db", "short", "text"]);
    let error = Ledger::open(&dir.path().join("nowhere/ledger.db")).unwrap_err();
    assert!(error.to_string().contains("nowhere"), "{error}");
}

#[test]
fn a_ledger_of_another_schema_is_refused() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("ledger.db");
    Ledger::open(&path).unwrap().commit().unwrap();
    let opened_as = |version: i64| {
        Connection::open(&path).unwrap().pragma_update(None, "user_version", version).unwrap();
        Ledger::open(&path).unwrap_err()
    };
    let error = opened_as(SCHEMA_VERSION + 1);
    assert!(matches!(error, LedgerError::Newer { .. }), "{error}");
    let error = opened_as(SCHEMA_VERSION - 1);
    assert!(matches!(error, LedgerError::Older { .. }), "{error}");
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

#[test]
fn a_run_that_was_killed_leaves_the_ledger_as_it_was() {
    let dir = tempdir().unwrap();
    let (path, killed) = (dir.path().join("ledger.db"), dir.path().join("killed"));
    fs::create_dir(&killed).unwrap();
    let mut ledger = Ledger::open(&path).unwrap();
    ledger.connection().execute("INSERT INTO meta (key, value) VALUES ('x', 1)", []).unwrap();
    ledger.commit().unwrap();
    drop(ledger);
    for fresh in [false, true] {
        if fresh {
            fs::remove_file(&path).unwrap();
        }
        let ledger = Ledger::open(&path).unwrap();
        let conn = ledger.connection();
        // So little memory that pages are written before the end.
        conn.execute_batch("PRAGMA cache_size = 5; PRAGMA cache_spill = 5").unwrap();
        conn.execute_batch(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
             INSERT INTO entry (idx, term, log_type, bytes, outcome, hash)
             SELECT i, 1, 'LogCommand', 0, 'applied', hex(randomblob(40)) FROM n",
        )
        .unwrap();
        for name in names(dir.path()).iter().filter(|name| name.starts_with("ledger.db")) {
            fs::copy(dir.path().join(name), killed.join(name)).unwrap();
        }
        assert_eq!(names(&killed), ["ledger.db", "ledger.db-journal"]);
        assert!(fs::metadata(killed.join("ledger.db")).unwrap().len() > 100_000);
        drop(ledger);
        let again = Ledger::open(&killed.join("ledger.db")).unwrap();
        assert_eq!(again.is_fresh(), fresh);
        if !fresh {
            let x: i64 =
                again.connection().query_row("SELECT value FROM meta WHERE key = 'x'", [], |r| r.get(0)).unwrap();
            let entries: i64 = again.connection().query_row("SELECT count(*) FROM entry", [], |r| r.get(0)).unwrap();
            assert_eq!((x, entries), (1, 0));
        }
        drop(again);
        fs::remove_dir_all(&killed).unwrap();
        fs::create_dir(&killed).unwrap();
    }
}

#[test]
fn what_a_killed_run_left_of_a_new_ledger_is_written_over_and_another_file_there_is_left() {
    let dir = tempdir().unwrap();
    let log = dir.path().join("raft.db");
    write_bolt(&log, Layout::default(), &mut History::new(Plot { seed: 3, ..Plot::default() }), 1_500).unwrap();
    let (db, new) = (dir.path().join("ledger.db"), dir.path().join("ledger.db-new"));
    let (db_text, log) = (db.to_str().unwrap(), log.to_str().unwrap());
    let run = |code| run_to(code, &["audit", "--exit-zero", "--quiet", "--db", db_text, log]);
    fs::write(&new, "a list of what is new\n").unwrap();
    let refused = run(2);
    assert!(refused.stderr.contains("ledger.db-new"), "{}", refused.stderr);
    assert_eq!(fs::read_to_string(&new).unwrap(), "a list of what is new\n");
    // Its first page is empty until all others are written.
    fs::write(&new, vec![0; 70_000]).unwrap();
    run(0);
    let whole: String =
        Connection::open(&db).unwrap().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(whole, "ok");
    assert_eq!(names(dir.path()), ["ledger.db", "raft.db"]);
}

#[test]
fn a_new_ledger_is_held_while_it_is_written() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("ledger.db");
    let writer = Ledger::open(&path).unwrap().writer(MessageTypes::new()).unwrap();
    let error = Ledger::open(&path).unwrap_err();
    assert!(matches!(error, LedgerError::Busy { .. }), "{error}");
    let mut ledger = writer.finish().unwrap();
    let error = Ledger::open(&path).unwrap_err();
    assert!(matches!(error, LedgerError::Busy { .. }), "{error}");
    assert_eq!(fs::metadata(&path).unwrap().len(), 0);
    ledger.commit().unwrap();
    assert!(!Ledger::open(&path).unwrap().is_fresh());
    assert_eq!(names(dir.path()), ["ledger.db"]);
}
