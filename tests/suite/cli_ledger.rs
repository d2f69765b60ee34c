//! `--db`: the ledger that a command keeps, asked with SQLite.

use crate::common::{fixture, refused, run_to};
use rusqlite::Connection;
use tempfile::tempdir;

fn ask(path: &str, sql: &str) -> Vec<String> {
    let conn = Connection::open(path).unwrap();
    let mut statement = conn.prepare(sql).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn an_audit_keeps_entries_counts_and_findings_and_a_second_run_adds_nothing() {
    let dir = tempdir().unwrap();
    let db = dir.path().join("ledger.db").to_str().unwrap().to_owned();
    let hey = fixture("horizontal_hey");
    let first = run_to(1, &["audit", "--db", &db, &hey]).stdout;
    let all = "SELECT (SELECT count(*) FROM entry) || ' ' || (SELECT count(*) FROM count_change) || ' ' ||
               (SELECT count(*) FROM finding)";
    let before = ask(&db, all);
    assert!(before[0].starts_with("3045 ") && before[0].ends_with(" 3"), "{before:?}");
    assert_eq!(run_to(1, &["audit", "--db", &db, &hey]).stdout, first);
    assert_eq!(ask(&db, all), before);
    let negative = "SELECT parent || ' ' || counter || ' ' || idx FROM v_first_negative";
    assert_eq!(ask(&db, negative), ["horizontal_hey Running 1609"]);
}

#[test]
fn a_limit_on_rows_is_none_on_the_ledger() {
    let dir = tempdir().unwrap();
    let db = dir.path().join("ledger.db").to_str().unwrap().to_owned();
    let printed = run_to(0, &["timeline", "--limit", "2", "--format", "ndjson", "--db", &db, &fixture("healthy")]);
    assert_eq!(printed.ndjson().len(), 2);
    assert_eq!(ask(&db, "SELECT CAST(count(*) AS TEXT) FROM entry"), ["22"]);
}

#[test]
fn a_ledger_of_another_log_or_of_a_history_that_did_not_happen_is_refused() {
    let dir = tempdir().unwrap();
    let db = dir.path().join("ledger.db").to_str().unwrap().to_owned();
    run_to(0, &["timeline", "--rules", "2.0.5", "--db", &db, &fixture("healthy")]);
    refused(&["timeline", "--rules", "2.0.5", "--db", &db, &fixture("last_index")], &[&db, "--db"]);
    refused(&["timeline", "--rules", "1.0.3", "--db", &db, &fixture("healthy")], &["1.0.3", "2.0.5"]);
    refused(&["audit", "--skip", "9", "--db", &db, &fixture("healthy")], &["--skip", "--db"]);
}

#[test]
fn a_kept_ledger_goes_on_where_it_ends_and_answers_as_a_replay_of_everything() {
    let dir = tempdir().unwrap();
    let db = dir.path().join("ledger.db").to_str().unwrap().to_owned();
    let hey = fixture("horizontal_hey");
    for last in ["1500", "1612", "2000", "1700", "3045", "1609"] {
        let plain = ["audit", "--all", "--exit-zero", "--json", "--rules", "1.0.4", "--last-index", last, &hey];
        let kept = [&plain[..], &["-v", "--db", &db]].concat();
        let ran = run_to(0, &kept);
        assert_eq!(ran.stdout, run_to(0, &plain).stdout, "up to {last}");
        assert_eq!(
            ran.stderr.contains("goes on from entry"),
            matches!(last, "1612" | "2000" | "3045"),
            "{last}: {}",
            ran.stderr
        );
    }
    assert_eq!(ask(&db, "SELECT CAST(max(idx) AS TEXT) FROM entry"), ["3045"]);
    let state = ["state", "--tables", "JobSummaries", "--rules", "1.0.4", "--last-index", "1609", &hey];
    let kept = [&state[..], &["--db", &db]].concat();
    assert_eq!(run_to(0, &kept).stdout, run_to(0, &state).stdout);
}
