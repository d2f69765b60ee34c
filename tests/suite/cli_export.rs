//! `export`: one SQLite file, or a file for each table; nothing half written, nothing of others written over.

use std::fs;
use std::path::Path;

use crate::common::{fixture, planted_secrets, refused, run_to};
use rusqlite::Connection;
use serde_json::Value;

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_sqlite_file_opens_and_holds_every_entry() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ledger.db");
    let output = file.to_str().unwrap();
    // Twice: a ledger may be written over.
    for _ in 0..2 {
        let ran = run_to(0, &["export", "--rules", "1.0.4", "-o", output, &fixture("horizontal_hey")]);
        assert_eq!(ran.stdout, "");
    }
    assert_eq!(names(dir.path()), ["ledger.db"]);
    let conn = Connection::open(&file).unwrap();
    let entries: i64 = conn.query_row("SELECT count(*) FROM entry", [], |row| row.get(0)).unwrap();
    let negative = "SELECT idx, cause_rule FROM finding WHERE kind = 'negative' ORDER BY idx LIMIT 1";
    let negative: (i64, String) = conn.query_row(negative, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    assert_eq!((entries, negative), (3045, (1609, "register_with_status".into())));
    let check: String = conn.pragma_query_value(None, "integrity_check", |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
}

#[test]
fn csv_and_ndjson_hold_the_rows_of_the_sqlite_file() {
    let dir = tempfile::tempdir().unwrap();
    let (file, tables) = (dir.path().join("ledger.db"), dir.path().join("tables"));
    let evidence = fixture("real-2.0.5/s1");
    run_to(0, &["export", "-o", file.to_str().unwrap(), &evidence]);
    for format in ["csv", "ndjson"] {
        run_to(0, &["export", "--format", format, "-o", tables.to_str().unwrap(), &evidence]);
    }
    assert_eq!(names(&tables).len(), 2 * raftscope::export::TABLES.len());
    let conn = Connection::open(&file).unwrap();
    for table in raftscope::export::TABLES {
        let count = format!("SELECT count(*) FROM {table}");
        let count = conn.query_row(&count, [], |row| row.get::<_, i64>(0)).unwrap() as usize;
        let lines = fs::read_to_string(tables.join(format!("{table}.ndjson"))).unwrap();
        let rows: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let mut csv = csv::Reader::from_path(tables.join(format!("{table}.csv"))).unwrap();
        let header = csv.headers().unwrap().clone();
        let records: Vec<_> = csv.records().map(Result::unwrap).collect();
        assert_eq!((rows.len(), records.len()), (count, count), "{table}");
        for (row, record) in rows.iter().zip(&records) {
            for (name, cell) in header.iter().zip(record) {
                let ours = match &row[name] {
                    Value::Null => String::new(),
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                assert_eq!(ours, cell, "{table}.{name}");
            }
        }
    }
}

#[test]
fn other_files_are_not_written_over() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("raft.db");
    fs::copy(fixture("healthy/raft.db"), &file).unwrap();
    let before = fs::read(&file).unwrap();
    let path = file.to_str().unwrap();
    refused(&["export", "-o", path, &fixture("healthy")], &["raft.db", "no ledger", "another file"]);
    refused(&["export", "--format", "csv", "-o", path, &fixture("healthy")], &["raft.db", "name a folder"]);
    refused(&["export", "-o", "/nowhere/at/all/ledger.db", &fixture("healthy")], &["/nowhere/at/all"]);
    assert!(fs::read(&file).unwrap() == before);
    assert_eq!(names(dir.path()), ["raft.db"]);
}

#[test]
fn no_secret_of_the_secrets_case_is_in_a_ledger() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ledger.db");
    // Its last entry cannot be decoded.
    run_to(3, &["export", "-o", file.to_str().unwrap(), &fixture("secrets")]);
    let bytes = fs::read(&file).unwrap();
    for secret in planted_secrets() {
        let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!found, "{secret}");
    }
}

#[test]
fn names_of_cluster_and_server_belong_to_parquet() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().to_str().unwrap();
    let csv = ["export", "--format", "csv", "--cluster", "a", "-o", output, &fixture("healthy")];
    refused(&csv, &["--cluster", "--format parquet"]);
    assert!(names(dir.path()).is_empty());
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_program_without_parquet_says_how_to_build_one_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().to_str().unwrap();
    let parquet = ["export", "--format", "parquet", "-o", output, &fixture("healthy")];
    refused(&parquet, &["built without Parquet", "cargo install --path . --features parquet", "--format sqlite"]);
    assert!(names(dir.path()).is_empty());
}
