//! The same log in every form that evidence takes gives the same entries.

use std::fs;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use raftscope::entry::json::BodyWriter;
use raftscope::evidence::snapshot::Verdict;
use raftscope::evidence::{self, Evidence, LogType, Scanned};
use raftscope::redact::Redactor;
use raftscope::types::Index;
use serde_json::Value;

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(path)
}

#[derive(Clone, Debug, PartialEq)]
struct Row {
    index: u64,
    term: u64,
    kind: LogType,
    data: Vec<u8>,
}

fn rows(evidence: &Evidence) -> Vec<Row> {
    let mut rows = Vec::new();
    let sink = &mut |met: Scanned<'_>| {
        match met {
            Scanned::Entry(r) => {
                rows.push(Row { index: r.index.0, term: r.term.0, kind: r.kind, data: r.data.to_vec() });
            }
            Scanned::Damaged(place) => panic!("{place:?}"),
        }
        ControlFlow::Continue(())
    };
    evidence.log.scan(Index(0)..=Index(u64::MAX), sink).unwrap();
    rows
}

fn open(path: &Path) -> Evidence {
    evidence::open(path).unwrap()
}

#[test]
fn a_write_ahead_log_in_a_tar_equals_the_raft_db_of_another_server() {
    let wal = open(&fixture("real-2.0.5/s3.tar.gz"));
    let db = open(&fixture("real-2.0.5/s1"));
    let (wal_rows, db_rows) = (rows(&wal), rows(&db));
    let shared = wal_rows.len().min(db_rows.len());
    assert!(shared > 280, "{shared}");
    assert_eq!(wal_rows[1..shared], db_rows[1..shared]);
    for row in wal_rows.iter().step_by(11) {
        assert_eq!(wal.log.data(Index(row.index)).unwrap().as_ref(), Some(&row.data));
    }
    assert_eq!(wal.log.data(wal.log.bounds().unwrap().1.next()).unwrap(), None);
    assert_eq!(wal.snapshots.len(), 1);
    assert!(wal.window.stable.current_term.is_some() && wal.window.bolt.is_some());
}

#[test]
fn a_compacted_log_has_its_snapshots_beside_it() {
    let evidence = open(&fixture("real-2.0.5/s2.tar.gz"));
    let indexes: Vec<u64> = evidence.snapshots.iter().map(|snapshot| snapshot.info().index.0).collect();
    assert_eq!(indexes, [227, 292]);
    for snapshot in &evidence.snapshots {
        assert_eq!(snapshot.verify(), &Verdict::Good, "{:?}", snapshot.info());
        assert_eq!((snapshot.info().servers.len(), snapshot.info().term.0), (3, 3));
        let mut kinds = std::collections::BTreeMap::new();
        let end = snapshot.records(&mut |record| {
            *kinds.entry(record.kind).or_insert(0) += 1;
            assert_eq!(snapshot.value_at(record.offset).unwrap(), record.value);
            ControlFlow::Continue(())
        });
        assert_eq!(end.unwrap().problem, None);
        assert!(kinds.contains_key(&1) && kinds.contains_key(&7), "{kinds:?}");
    }
}

#[test]
fn archives_and_bare_states_are_snapshots_without_a_log() {
    for version in ["1.0.4", "2.0.5"] {
        let evidence = open(&fixture(&format!("real-{version}/backup.snap")));
        assert_eq!((evidence.log.bounds(), evidence.snapshots.len()), (None, 1));
        assert_eq!(evidence.snapshots[0].verify(), &Verdict::Good);
    }
    let dir = fixture("timetable_snapshot/snapshots");
    let inner = fs::read_dir(&dir).unwrap().next().unwrap().unwrap().path();
    for path in [dir.clone(), inner.clone(), inner.join("state.bin")] {
        let evidence = open(&path);
        let info = evidence.snapshots[0].info();
        assert_eq!((info.index.0, info.term.0, evidence.snapshots[0].verify()), (30, 2, &Verdict::Good), "{path:?}");
    }
    let alone = tempfile::tempdir().unwrap();
    fs::copy(inner.join("state.bin"), alone.path().join("some.bin")).unwrap();
    let evidence = open(&alone.path().join("some.bin"));
    assert_eq!(evidence.snapshots[0].verify(), &Verdict::NoChecksum);
    let index = evidence.snapshots[0].info().index.0;
    assert!((1..=30).contains(&index), "{index}");
}

#[test]
fn a_write_ahead_log_wins_over_an_old_raft_db_and_a_note_names_both() {
    let evidence = open(&fixture("wal_and_stale_db"));
    let rows = rows(&evidence);
    assert_eq!((rows.first().unwrap().index, rows.last().unwrap().index, rows.len()), (1, 45, 45));
    let notes = evidence.window.notes.join("\n");
    assert!(notes.contains("ends at entry 45") && notes.contains("ends at entry 20"), "{notes}");
    // The directory itself, and the same log without its list of segments.
    assert_eq!(open(&fixture("wal_and_stale_db/wal")).log.bounds(), Some((Index(1), Index(45))));
    let dir = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(fixture("wal_and_stale_db/wal")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "wal") {
            fs::copy(&path, dir.path().join(path.file_name().unwrap())).unwrap();
        }
    }
    let orphaned = open(dir.path());
    assert_eq!(orphaned.log.bounds(), Some((Index(1), Index(45))));
    assert!(orphaned.window.notes[0].contains("wal-meta.db cannot be read"));
}

#[test]
fn a_migration_that_did_not_end_leaves_the_raft_db_in_charge() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("wal")).unwrap();
    for entry in fs::read_dir(fixture("wal_and_stale_db/wal")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, dir.path().join("wal").join(path.file_name().unwrap())).unwrap();
    }
    fs::copy(fixture("wal_and_stale_db/raft.db"), dir.path().join("raft.db")).unwrap();
    fs::write(dir.path().join(".migration-in-progress"), "2026-11-30T14:05:00Z").unwrap();
    let evidence = open(dir.path());
    assert_eq!(evidence.log.bounds(), Some((Index(1), Index(20))));
    assert!(evidence.window.notes[0].contains("migration"), "{:?}", evidence.window.notes);
}

/// Packs files of a fixture under `prefix` as a tar.
fn tarred(files: &[(&str, &str)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (from, to) in files {
        builder.append_path_with_name(fixture(from), to).unwrap();
    }
    builder.into_inner().unwrap()
}

#[test]
fn a_parcel_of_any_packing_reads_like_the_directory() {
    let plain = tarred(&[("healthy/raft.db", "case/server/raft/raft.db"), ("healthy/case.json", "case/notes.json")]);
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(&plain).unwrap();
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
    xz.write_all(&plain).unwrap();
    let zstd = zstd::encode_all(&plain[..], 1).unwrap();
    let want = rows(&open(&fixture("healthy")));
    let dir = tempfile::tempdir().unwrap();
    for bytes in [plain, gz.finish().unwrap(), xz.finish().unwrap(), zstd] {
        let path = dir.path().join("evidence");
        fs::write(&path, bytes).unwrap();
        let evidence = open(&path);
        assert_eq!(rows(&evidence), want);
        assert_eq!(evidence.window.path, format!("{}/case/server/raft/raft.db", path.display()));
    }
}

/// What `raftscope logs` prints as the body.
fn body(row: &Row) -> Value {
    let mut out = Vec::new();
    BodyWriter::new().record(row.kind, &row.data, &mut Redactor::showing(), &mut out).unwrap();
    if out.is_empty() { Value::Null } else { serde_json::from_slice(&out).unwrap() }
}

/// What is missing, null and zero are one in Nomad's structs.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(b) => !b,
        Value::Number(n) => n.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty() || text == "0001-01-01T00:00:00Z",
        Value::Array(items) => items.is_empty(),
        Value::Object(pairs) => pairs.is_empty(),
    }
}

/// Calls `differ` with the key path of each place where two values are not the same.
fn compare(a: &Value, b: &Value, path: &str, differ: &mut dyn FnMut(&str)) {
    match (a, b) {
        (Value::Object(x), Value::Object(y)) => {
            for key in x.keys().chain(y.keys().filter(|key| !x.contains_key(*key))) {
                let null = Value::Null;
                compare(x.get(key).unwrap_or(&null), y.get(key).unwrap_or(&null), &format!("{path}.{key}"), differ);
            }
        }
        (Value::Array(x), Value::Array(y)) if x.len() == y.len() => {
            x.iter().zip(y).for_each(|(x, y)| compare(x, y, path, differ));
        }
        _ if a == b || is_zero(a) && is_zero(b) => {}
        _ => differ(path),
    }
}

#[test]
fn the_json_of_raft_logs_gives_the_entries_of_the_raft_db_but_for_bytes() {
    for (json, db) in [("real-1.0.4/logs.json.gz", "real-1.0.4/s2"), ("real-2.0.5/s1.logs.ndjson.gz", "real-2.0.5/s1")]
    {
        let (json, db) = (open(&fixture(json)), open(&fixture(db)));
        assert_eq!(json.log.bounds(), db.log.bounds());
        assert!(json.window.notes.iter().any(|note| note.contains("AppendedAt")), "{:?}", json.window.notes);
        let (json_rows, db_rows) = (rows(&json), rows(&db));
        let mut different = std::collections::BTreeSet::new();
        for (a, b) in json_rows.iter().zip(&db_rows).skip(1) {
            assert_eq!((a.index, a.term, a.kind), (b.index, b.term, b.kind));
            assert!(a.kind != LogType::Command || a.data[0] == b.data[0]);
            compare(&body(a), &body(b), "", &mut |path| {
                different.insert(path.to_string());
            });
            assert_eq!(json.log.data(Index(a.index)).unwrap().as_ref(), Some(&a.data));
        }
        // The fields that are bytes in Nomad; no count or status depends on them.
        different
            .retain(|path| !["Hash", "Data", "Ciphertext", "KeyEncryptionKey"].iter().any(|end| path.ends_with(end)));
        assert_eq!(different.into_iter().collect::<Vec<_>>(), [""; 0]);
    }
}
