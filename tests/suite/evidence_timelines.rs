//! What a replay makes of a log does not depend on the form in which the log came.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::process::Command;

use crate::common::{fixture, run_to};
use crate::support::cases;
use serde_json::Value;

/// The rows of a timeline without `Queued`, which a scheduler run inside the server decides after a reconcile, and
/// without those that only `Queued` made.
fn rows(args: &[&str]) -> Vec<Value> {
    let mut seen: BTreeMap<String, Value> = BTreeMap::new();
    let mut rows = run_to(0, &[&["timeline", "--format", "ndjson", "-q"], args].concat()).ndjson();
    rows.retain_mut(|row| {
        if let Some(groups) = row.get_mut("groups").and_then(Value::as_object_mut) {
            groups.values_mut().for_each(|group| drop(group.as_object_mut().unwrap().remove("Queued")));
        }
        let what = serde_json::json!([row["status"], row["children"], row["groups"], row["deleted"]]);
        let job = format!("{}/{}", row["namespace"], row["job"]);
        seen.insert(job, what.clone()).is_none_or(|before| before != what)
    });
    rows
}

fn behind(rows: &[Value], index: u64, last: u64) -> Vec<&Value> {
    rows.iter().filter(|row| (index + 1..=last).contains(&row["index"].as_u64().unwrap())).collect()
}

#[test]
fn bolt_a_compacted_log_and_a_write_ahead_log_of_one_cluster_give_the_same_timeline() {
    let [s1, s2, s3] =
        ["s1", "s2.tar.gz", "s3.tar.gz"].map(|server| rows(&[&fixture(&format!("real-2.0.5/{server}"))]));
    assert!(s1.len() > 100, "{}", s1.len());
    assert_eq!(s1, s3, "both logs begin at 1");
    let base: Vec<&Value> = s2.iter().take_while(|row| row["entry"] == "snapshot").collect();
    assert!(!base.is_empty() && base.iter().all(|row| row["index"] == 292), "{base:?}");
    assert_eq!(behind(&s2, 292, 303), behind(&s1, 292, 303));
    // The base's rows are the state that the others come to.
    let at = |rows: &[Value]| {
        let mut last = BTreeMap::new();
        for row in behind(rows, 0, 292) {
            let what = serde_json::json!([row["status"], row["children"], row["groups"]]);
            match row["deleted"].as_bool() {
                Some(true) => last.remove(&row["job"].to_string()),
                _ => last.insert(row["job"].to_string(), what),
            };
        }
        last
    };
    assert_eq!(at(&s1), at(&s2));

    let [s1, s2, s3] =
        ["s1.tar.gz", "s2", "s3.tar.gz"].map(|server| rows(&[&fixture(&format!("real-1.0.4/{server}"))]));
    let last = |rows: &[Value]| rows.last().unwrap()["index"].as_u64().unwrap();
    let shared = last(&s1).min(last(&s2)).min(last(&s3));
    assert!(shared > 250, "{shared}");
    assert_eq!(behind(&s1, 0, shared), behind(&s2, 0, shared));
    assert_eq!(behind(&s3, 0, shared), behind(&s2, 0, shared));
}

#[test]
fn what_raft_logs_printed_gives_the_timeline_and_the_findings_of_the_raft_db() {
    let dir = tempfile::tempdir().unwrap();
    for (json, db) in [("real-1.0.4/logs.json", "real-1.0.4/s2"), ("real-2.0.5/s1.logs.ndjson", "real-2.0.5/s1")] {
        let plain = dir.path().join("printed");
        fs::write(&plain, cases::read_text(&cases::fixtures().join(json))).unwrap();
        let (plain, packed, db) = (plain.to_str().unwrap(), fixture(&format!("{json}.gz")), fixture(db));
        let timeline = run_to(0, &["timeline", "--format", "ndjson", &db]).stdout;
        assert!(timeline.lines().count() > 100);
        for form in [plain, &packed] {
            assert_eq!(run_to(0, &["timeline", "--format", "ndjson", form]).stdout, timeline, "{form}");
        }
        let piped = Command::new(env!("CARGO_BIN_EXE_raftscope"))
            .args(["timeline", "--format", "ndjson", "-"])
            .stdin(File::open(plain).unwrap())
            .output()
            .unwrap();
        assert!(piped.status.success() && piped.stdout == timeline.as_bytes(), "{json}");
        let notes = String::from_utf8(piped.stderr).unwrap();
        assert!(notes.contains("bytes that are no text were replaced") && notes.contains("AppendedAt"), "{notes}");
        let findings = |path: &str| run_to(1, &["audit", "--all", "--json", path]).json()["findings"].clone();
        assert_eq!(findings(plain), findings(&db), "{json}");
    }
}

#[test]
fn a_backup_is_the_state_at_its_index() {
    for (case, server) in [("real-1.0.4", "s2"), ("real-2.0.5", "s1")] {
        let backup = fixture(&format!("{case}/backup.snap"));
        let base = rows(&[&backup]);
        let index = base[0]["index"].as_u64().unwrap();
        assert!(base.iter().all(|row| row["entry"] == "snapshot" && row["index"] == index), "{base:?}");
        let jobs = |path: &str| {
            let index = index.to_string();
            let table =
                ["state", "--tables", "JobSummaries", "--last-index", &index, "--jq", ".JobSummaries[].JobID", path];
            let mut jobs: Vec<String> = run_to(0, &table).stdout.lines().map(str::to_owned).collect();
            jobs.sort();
            jobs
        };
        let of_backup = jobs(&backup);
        assert!(!of_backup.is_empty());
        assert_eq!(of_backup, jobs(&fixture(&format!("{case}/{server}"))));
    }
}
