//! `export --format parquet`: the files of many clusters are one table, for the `parquet` crate and for DuckDB.
//!
//! What asks DuckDB wants a `python3` that can import it, which `.ci/run` makes; elsewhere it says that it is skipped.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use parquet::basic::{Compression, LogicalType, TimeUnit};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use rusqlite::Connection;
use rusqlite::types::Value;

use crate::common::{fixture, planted_secrets, refused, run, run_to};
use crate::support::run::cost;
use crate::support::synth::bolt::Layout;
use crate::support::synth::history::{History, Plot};
use crate::support::synth::write_bolt;
use raftscope::export::columns::{Kind, TABLES};
use raftscope::ledger::Ledger;

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Exports a log under two names; `code` is what the evidence deserves.
fn export(code: i32, fleet: &Path, [cluster, server]: [&str; 2], evidence: &str) {
    let names = ["--cluster", cluster, "--server", server];
    let args = ["export", "--rules", "1.0.4", "--format", "parquet", "-o", path(fleet), evidence];
    let ran = run_to(code, &[&args[..], &names].concat());
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains(&format!("cluster `{cluster}`, server `{server}`")), "{}", ran.stderr);
}

/// Two clusters in one folder, as `docs/fleet.md` has them.
fn two_clusters() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let fleet = dir.path().join("fleet");
    export(0, &fleet, ["prod-eu", "s1"], &fixture("horizontal_hey"));
    export(0, &fleet, ["prod-us", "s2"], &fixture("real-1.0.4/s2"));
    (dir, fleet)
}

/// Every file below a folder, by its path in it.
fn files(dir: &Path) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![dir.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true => waiting.push(entry.path()),
                false => {
                    let name = path(entry.path().strip_prefix(dir).unwrap()).to_owned();
                    found.insert(name, entry.metadata().unwrap().len());
                }
            }
        }
    }
    found
}

/// The rows of a file, each cell as SQLite would give it.
pub fn rows(file: &Path) -> Vec<Vec<(String, Value)>> {
    let reader = SerializedFileReader::new(File::open(file).unwrap()).unwrap();
    let cell = |field: &Field| match field {
        Field::Null => Value::Null,
        Field::Bool(yes) => Value::Integer(i64::from(*yes)),
        Field::Long(n) => Value::Integer(*n),
        Field::Str(text) => Value::Text(text.clone()),
        // The ledger has nine decimals; more than six are lost.
        Field::TimestampMicros(n) => Value::Text(format!("{:.9}", jiff::Timestamp::from_microsecond(*n).unwrap())),
        other => panic!("{other:?}"),
    };
    let row = |row: parquet::record::Row| {
        row.get_column_iter().map(|(name, field)| (name.clone(), cell(field))).collect::<Vec<_>>()
    };
    reader.get_row_iter(None).unwrap().map(|found| row(found.unwrap())).collect()
}

#[test]
fn the_rows_are_those_of_the_ledger() {
    let dir = tempfile::tempdir().unwrap();
    let (fleet, ledger) = (dir.path().join("fleet"), dir.path().join("ledger.db"));
    // Its entries have clocks.
    let evidence = fixture("real-2.0.5/s1");
    // Some are of types that 1.0.4 does not know.
    export(3, &fleet, ["prod-eu", "s1"], &evidence);
    run_to(3, &["export", "--rules", "1.0.4", "-o", path(&ledger), &evidence]);
    let conn = Connection::open(&ledger).unwrap();
    for table in TABLES.map(|table| table.name) {
        let mut statement = conn.prepare(&format!("SELECT * FROM {table} ORDER BY 1")).unwrap();
        let names: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
        let mut kept = statement.query([]).unwrap();
        for row in rows(&fleet.join(table).join("prod-eu.s1.parquet")) {
            let expected = kept.next().unwrap().expect("as many rows");
            let mut cells = row.into_iter();
            for owner in [("cluster", "prod-eu"), ("server", "s1")] {
                assert_eq!(cells.next().unwrap(), (owner.0.to_owned(), Value::Text(owner.1.to_owned())));
            }
            for (at, name) in names.iter().enumerate() {
                let value = match expected.get::<_, Value>(at).unwrap() {
                    Value::Text(time) if name == "appended_at" => Value::Text(format!("{}000Z", &time[..26])),
                    value => value,
                };
                assert_eq!(cells.next().unwrap(), (name.clone(), value), "{table}");
            }
            assert_eq!(cells.next(), None);
        }
        assert!(kept.next().unwrap().is_none(), "{table}: all rows");
    }
}

#[test]
fn the_parquet_columns_are_declared_as_the_ledger_declares_them() {
    let ledger = Ledger::in_memory().unwrap();
    for table in TABLES {
        let sql = "SELECT name, type, \"notnull\" OR pk FROM pragma_table_info(?)";
        let mut statement = ledger.connection().prepare(sql).unwrap();
        let kept: Vec<(String, String, bool)> = statement
            .query_map([table.name], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let ours = table.columns.iter().map(|column| {
            let kind = if matches!(column.kind, Kind::Int | Kind::Flag) { "INTEGER" } else { "TEXT" };
            (column.name.to_owned(), kind.to_owned(), column.required)
        });
        assert_eq!(ours.collect::<Vec<_>>(), kept, "{}", table.name);
    }
}

#[test]
fn the_parquet_files_are_such_as_every_engine_reads() {
    let (_dir, fleet) = two_clusters();
    let reader = SerializedFileReader::new(File::open(fleet.join("entry/prod-eu.s1.parquet")).unwrap()).unwrap();
    let file = reader.metadata().file_metadata();
    let facts: BTreeMap<&str, &str> = file
        .key_value_metadata()
        .unwrap()
        .iter()
        .map(|fact| (fact.key.as_str(), fact.value.as_deref().unwrap()))
        .collect();
    for fact in [("cluster", "prod-eu"), ("server", "s1"), ("rules", "1.0.4"), ("first_idx", "1"), ("last_idx", "3045")]
    {
        assert_eq!(facts[&*format!("raftscope.{}", fact.0)], fact.1);
    }
    let column = |name: &str| {
        let at = file.schema_descr().columns().iter().position(|column| column.name() == name).unwrap();
        (file.schema_descr().column(at), reader.metadata().row_group(0).column(at).clone())
    };
    let micros = LogicalType::timestamp(true, TimeUnit::MICROS);
    assert_eq!(column("appended_at").0.logical_type_ref(), Some(&micros));
    assert_eq!(column("outcome").0.logical_type_ref(), Some(&LogicalType::String));
    assert!(column("outcome").1.dictionary_page_offset().is_some());
    assert!(column("hash").1.dictionary_page_offset().is_none());
    assert!(matches!(column("idx").1.compression(), Compression::ZSTD(_)));
}

#[test]
fn an_export_to_parquet_leaves_three_files_and_replaces_only_its_own() {
    let (dir, fleet) = two_clusters();
    let names: Vec<String> = ["count_change", "entry", "finding"]
        .iter()
        .flat_map(|table| ["prod-eu.s1", "prod-us.s2"].map(|name| format!("{table}/{name}.parquet")))
        .collect();
    let before = files(&fleet);
    assert_eq!(before.keys().cloned().collect::<Vec<_>>(), names);
    export(0, &fleet, ["prod-eu", "s1"], &fixture("healthy"));
    let after = files(&fleet);
    assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    assert!(after["entry/prod-eu.s1.parquet"] < before["entry/prod-eu.s1.parquet"]);
    assert_eq!(after["entry/prod-us.s2.parquet"], before["entry/prod-us.s2.parquet"]);

    let args = |cluster| ["export", "--format", "parquet", "--server", "s1", "--cluster", cluster, "-o", path(&fleet)];
    let healthy = fixture("healthy");
    let refused = |cluster, words: &[&str]| refused(&[&args(cluster)[..], &[&healthy]].concat(), words);
    // Another program's file, and another server's.
    fs::write(fleet.join("finding/other.s1.parquet"), "PAR1").unwrap();
    fs::copy(fleet.join("entry/prod-us.s2.parquet"), fleet.join("entry/third.s1.parquet")).unwrap();
    for (cluster, file) in [("other", "finding/other.s1.parquet"), ("third", "entry/third.s1.parquet")] {
        let before = fs::read(fleet.join(file)).unwrap();
        refused(cluster, &[file, "move it away"]);
        assert!(fs::read(fleet.join(file)).unwrap() == before);
    }
    refused("a/b", &["--cluster a/b", "letters, digits"]);
    assert!(files(dir.path()).keys().all(|name| name.ends_with(".parquet")));
}

#[test]
fn parquet_rows_are_named_by_the_path_and_the_cluster_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let fleet = dir.path().join("fleet");
    let server = dir.path().join("prod-eu/s7/server/raft");
    fs::create_dir_all(&server).unwrap();
    fs::copy(fixture("real-2.0.5/s1/raft.db"), server.join("raft.db")).unwrap();
    // It knows its cluster's ID.
    run_to(0, &["export", "--format", "parquet", "-o", path(&fleet), path(&server)]);
    // A log too short for a cluster to have one.
    let log = dir.path().join("prod-eu/s7.ndjson");
    fs::write(&log, r#"{"LogType":"LogNoop","Index":1,"Term":1}"#).unwrap();
    run_to(0, &["export", "--format", "parquet", "-o", path(&fleet), path(&log)]);
    let names: Vec<String> = files(&fleet.join("entry")).into_keys().collect();
    let [id, folder] = &names[..] else { panic!("{names:?}") };
    assert_eq!(folder, "prod-eu.s7.parquet");
    assert!(id.ends_with(".s7.parquet") && id.len() == 36 + 11, "{id}");
    refused(&["export", "--format", "parquet", "-o", path(&fleet), "-"], &["give --server NAME"]);
}

#[test]
fn no_secret_of_the_secrets_case_is_in_parquet() {
    let dir = tempfile::tempdir().unwrap();
    // Its last entry cannot be decoded.
    export(3, dir.path(), ["prod", "s1"], &fixture("secrets"));
    // Pages are compressed, so what is in them is looked at, and the rest of the file as it is.
    for name in files(dir.path()).keys() {
        let file = dir.path().join(name);
        let text = format!("{:?}{}", rows(&file), String::from_utf8_lossy(&fs::read(&file).unwrap()));
        for secret in planted_secrets() {
            assert!(!text.contains(&secret), "{name}: {secret}");
        }
    }
}

#[test]
fn parquet_takes_less_than_a_fifth_of_the_log_and_bounded_memory() {
    let every = std::env::var_os("RAFTSCOPE_EVERY_VERSION").is_some();
    let entries = if every { 100_000 } else { 10_000 };
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("raft.db");
    write_bolt(&log, Layout::default(), &mut History::new(Plot::default()), entries).unwrap();
    let fleet = dir.path().join("fleet");
    let args = ["export", "--format", "parquet", "--cluster", "c", "--server", "s", "-o", path(&fleet), path(&log)];
    let cost = cost(&args, None);
    assert_eq!(cost.output.code, 0, "{}", cost.output.stderr);
    let (whole, parquet) = (fs::metadata(&log).unwrap().len(), files(&fleet).values().sum::<u64>());
    println!("{entries} entries: log {whole} bytes, Parquet {parquet}, memory {} MiB", cost.most_memory >> 20);
    assert!(parquet * 5 < whole, "{parquet} of {whole} bytes");
    assert!(cost.most_memory < 256 << 20, "{} MiB", cost.most_memory >> 20);
}

/// What DuckDB answers in a folder, a row a line; `None` where there is no DuckDB.
fn duckdb(folder: &Path, sql: &str) -> Option<String> {
    let python = |code: &str| {
        let mut command = Command::new("python3");
        command.args(["-c", code, sql]).current_dir(folder);
        command
    };
    if !python("import duckdb").output().is_ok_and(|output| output.status.success()) {
        println!(
            "SKIPPED: there is no python3 with duckdb; `pip install duckdb` into the one that comes first in PATH"
        );
        return None;
    }
    let code = "import duckdb, sys
for row in duckdb.sql(sys.argv[1]).fetchall():
    print('|'.join('' if cell is None else str(cell) for cell in row))";
    let output = python(code).output().unwrap();
    assert!(output.status.success(), "{sql}\n{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn duckdb_reads_two_clusters_of_parquet_as_one_table_and_names_the_first_negative_entry_of_each() {
    let (dir, _) = two_clusters();
    let sql = "SELECT cluster, min(idx), min_by(entry, idx) FROM 'fleet/finding/*.parquet'
                WHERE kind = 'negative' GROUP BY cluster ORDER BY cluster";
    let Some(answer) = duckdb(dir.path(), sql) else { return };
    assert_eq!(answer, "prod-eu|1609|JobRegisterRequestType\nprod-us|15|JobRegisterRequestType\n");
    // The same from the counters themselves, as the log's own entries are named.
    let sql = "SELECT cluster, min(idx), min_by(type, idx)
                 FROM 'fleet/count_change/*.parquet' JOIN 'fleet/entry/*.parquet' USING (cluster, server, idx)
                WHERE least(pending, running, dead) < 0 AND (until_idx IS NULL OR until_idx > idx)
                GROUP BY cluster ORDER BY cluster";
    assert_eq!(duckdb(dir.path(), sql).unwrap(), answer);
}

#[test]
fn every_query_of_the_parquet_page_gives_what_it_says() {
    let (dir, _) = two_clusters();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/fleet.md");
    let text = fs::read_to_string(&page).unwrap();
    let mut parts = text.split("```sql\n");
    let mut after = parts.next().unwrap().to_owned();
    let mut checked = 0;
    for part in parts {
        let (sql, rest) = part.split_once("```\n```text\n").expect("a query without its rows");
        let (expected, rest) = rest.split_once("```\n").unwrap();
        let Some(ours) = duckdb(dir.path(), sql) else { return };
        after += &format!("```sql\n{sql}```\n```text\n{ours}```\n{rest}");
        if std::env::var_os("BLESS").is_none() {
            assert_eq!(ours, expected, "{sql}");
        }
        checked += 1;
    }
    assert!(checked >= 5);
    if std::env::var_os("BLESS").is_some() {
        fs::write(page, after).unwrap();
    }
}

#[test]
fn parquet_of_evidence_that_cannot_be_read_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (fleet, log) = (dir.path().join("fleet"), dir.path().join("s1.db"));
    fs::write(&log, "no log").unwrap();
    let ran = run(&["export", "--format", "parquet", "-o", path(&fleet), path(&log)]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(!fleet.exists());
}
