//! A run with `--db` that is killed, at whatever moment: the ledger is what it was before, and the next run goes on from
//! there to what a whole run comes to.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::run_to;
use crate::support::synth::bolt::{Db, Layout, Transaction};
use crate::support::synth::history::{History, Plot};
use crate::support::synth::{put, write_bolt};
use rusqlite::Connection;

const FIRST: u64 = 1_500;
const SECOND: u64 = 6_000;

fn command(db: &Path, log: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_raftscope"));
    command.args(["audit", "--all", "--json", "--exit-zero", "--quiet", "--db"]).arg(db).arg(log);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// The last entry in a ledger, and how many rows its tables have; checks that the file is whole.
fn looked_at(db: &Path) -> (u64, Vec<i64>) {
    let conn = Connection::open(db).unwrap();
    let ask = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    let whole: String = conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(whole, "ok");
    let tables = ["entry", "count_change", "job_change", "group_change", "finding", "term_span"];
    let counts = tables.map(|table| ask(&format!("SELECT count(*) FROM {table}")));
    (ask("SELECT max(idx) FROM entry").unsigned_abs(), counts.to_vec())
}

#[test]
fn a_run_that_is_killed_at_any_moment_costs_nothing_but_itself() {
    let dir = tempfile::tempdir().unwrap();
    let (log, db, whole) = (dir.path().join("raft.db"), dir.path().join("ledger.db"), dir.path().join("whole.db"));
    let fault = Some("register_with_status@3000".parse().unwrap());
    let mut history = History::new(Plot { seed: 11, fault, ..Plot::default() });
    write_bolt(&log, Layout::default(), &mut history, FIRST).unwrap();
    assert!(command(&db, &log).status().unwrap().success());
    let before = looked_at(&db);
    assert_eq!(before.0, FIRST);

    let mut transaction = Transaction::default();
    history.take((SECOND - FIRST) as usize).for_each(|entry| put(&mut transaction, &entry));
    Db::open(&log).unwrap().commit(transaction).unwrap();
    let begun = Instant::now();
    assert!(command(&whole, &log).status().unwrap().success());
    let a_run = begun.elapsed();
    let after = looked_at(&whole);

    let mut killed = 0;
    for part in 1..=9 {
        let mut child = command(&db, &log).spawn().unwrap();
        std::thread::sleep(a_run.mul_f64(f64::from(part) / 10.0).max(Duration::from_millis(1)));
        child.kill().unwrap();
        let ended = child.wait().unwrap();
        let now = looked_at(&db);
        if ended.success() {
            assert_eq!(now, after, "it had come to its end");
            break;
        }
        assert!(now == before || now == after, "killed after {part} tenths: {now:?}");
        if now == after {
            // The commit stood already.
            break;
        }
        killed += 1;
    }
    assert!(killed >= 3, "only {killed} runs were killed before their end");
    let (db, log) = (db.to_str().unwrap(), log.to_str().unwrap());
    let kept = run_to(0, &["audit", "--all", "--json", "--exit-zero", "--db", db, log]).stdout;
    assert_eq!(kept, run_to(0, &["audit", "--all", "--json", "--exit-zero", log]).stdout);
    assert_eq!(looked_at(db.as_ref()), after);
    let beside: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(beside.len(), 3, "{beside:?}");
}

#[test]
fn a_first_run_that_is_killed_leaves_no_ledger_or_all_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let (log, db, whole) = (dir.path().join("raft.db"), dir.path().join("ledger.db"), dir.path().join("whole.db"));
    write_bolt(&log, Layout::default(), &mut History::new(Plot { seed: 12, ..Plot::default() }), SECOND).unwrap();
    let begun = Instant::now();
    assert!(command(&whole, &log).status().unwrap().success());
    let a_run = begun.elapsed();
    let after = looked_at(&whole);
    for part in 1..=9 {
        let mut child = command(&db, &log).spawn().unwrap();
        std::thread::sleep(a_run.mul_f64(f64::from(part) / 10.0));
        child.kill().unwrap();
        child.wait().unwrap();
        if std::fs::metadata(&db).is_ok_and(|file| file.len() > 0) {
            assert_eq!(looked_at(&db), after, "killed after {part} tenths");
            std::fs::remove_file(&db).unwrap();
        }
    }
    assert!(command(&db, &log).status().unwrap().success());
    assert_eq!(looked_at(&db), after);
    let beside: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(beside.len(), 3, "{beside:?}");
}
