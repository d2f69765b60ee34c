//! `info` on snapshots, and which states it says can be had.

use std::fs;

use crate::common::{check_schema, fixture, run_to};
use serde_json::{Value, json};

fn info(code: i32, path: &str) -> Value {
    let document = run_to(code, &["info", "--json", path]).json();
    check_schema("info", &document);
    document
}

#[test]
fn the_window_of_a_compacted_log_begins_at_the_snapshot_that_leads_to_its_end() {
    let path = fixture("real-2.0.5/s2.tar.gz");
    let document = info(0, &path);
    let told: Vec<Value> = document["snapshots"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| json!([s["index"], s["term"], s["checksum"]]))
        .collect();
    assert_eq!(told, [json!([227, 3, "good"]), json!([292, 3, "good"])]);
    let states = json!([{"first": 227, "last": 227}, {"first": 292, "last": 303}]);
    assert_eq!(document["window"], json!({"base": {"kind": "snapshot", "index": 292}, "states": states}));
    let table = run_to(0, &["info", &path]).stdout;
    for line in ["Base       the snapshot at index 292\n", "States     after index 227, 292 to 303\n"] {
        assert!(table.contains(line), "{table}");
    }
    // What it says can be had can be had, and nothing else.
    for (index, code) in [(226, 3), (227, 0), (228, 3), (291, 3), (292, 0), (303, 0)] {
        let asked = ["state", "--tables", "Jobs", "--last-index", &index.to_string(), &path];
        let told = run_to(code, &asked);
        assert!(code == 0 || told.stderr.contains("227"), "{}", told.stderr);
    }
}

#[test]
fn a_whole_log_reaches_from_its_first_entry_to_its_last() {
    let document = info(0, &fixture("real-2.0.5/s3.tar.gz"));
    assert_eq!(
        document["window"],
        json!({"base": {"kind": "empty", "index": 0}, "states": [{"first": 1, "last": 303}]})
    );
    assert_eq!(document["snapshots"].as_array().unwrap().len(), 1);
}

#[test]
fn a_snapshot_alone_is_told_and_a_truncated_one_is_told_to_be() {
    let path = fixture("real-1.0.4/backup.snap");
    let document = info(0, &path);
    let index = document["snapshots"][0]["index"].as_u64().unwrap();
    assert_eq!(document["window"]["states"], json!([{"first": index, "last": index}]));
    let dir = tempfile::tempdir().unwrap();
    let bytes = fs::read(path).unwrap();
    let cut = dir.path().join("cut.snap");
    fs::write(&cut, &bytes[..bytes.len() * 6 / 10]).unwrap();
    let cut = cut.to_str().unwrap();
    let told = run_to(2, &["info", "--json", cut]);
    check_schema("info", &told.json());
    assert_eq!(told.json()["snapshots"][0]["checksum"], "bad");
    assert!(told.json()["window"].get("base").is_none(), "{}", told.stdout);
    assert!(told.stderr.contains("it is truncated: state.bin ends at byte"), "{}", told.stderr);
    // No partial state as if it were whole.
    for command in ["state", "audit", "timeline"] {
        let ran = run_to(2, &[command, cut]);
        assert!(ran.stdout.is_empty() && ran.stderr.contains("it is truncated"), "{command}: {}", ran.stderr);
    }
}
