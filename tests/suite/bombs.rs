//! Files made to hurt end with a clear message, soon and in little memory.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::{TempDir, tempdir};

use crate::support::run::{Output, cost};
use crate::support::synth::bolt::Layout;
use crate::support::synth::history::{Entry, History, LogType, Plot};
use crate::support::synth::write_entries;

/// What a bomb may cost. A debug build beside other tests takes a multiple of what a release build does.
const TIME: Duration = Duration::from_secs(if cfg!(debug_assertions) { 30 } else { 5 });
const MEMORY: u64 = 200 << 20;

/// Runs commands on a bomb: each ends as `ends` wants, within the bounds.
#[track_caller]
fn defused(path: &Path, commands: &[&[&str]], ends: impl Fn(&Output)) {
    for command in commands {
        let cost = cost(&[command, &[path.to_str().unwrap()][..]].concat(), None);
        println!("{}: {:?}, {} MiB", cost.output.line, cost.took, cost.most_memory >> 20);
        assert!(cost.took < TIME, "{} took {:?}", cost.output.line, cost.took);
        assert!(cost.most_memory < MEMORY, "{} took {} MiB", cost.output.line, cost.most_memory >> 20);
        ends(&cost.output);
    }
}

/// Most of the ways to look at a log.
const LOOKS: &[&[&str]] = &[&["info", "--types"], &["logs"], &["audit"], &["timeline"], &["state"]];

fn log(entries: &[Entry]) -> (TempDir, PathBuf) {
    let dir = tempdir().unwrap();
    let path = dir.path().join("raft.db");
    write_entries(&path, Layout::default(), entries, 1).unwrap();
    (dir, path)
}

fn command(index: u64, data: Vec<u8>) -> Entry {
    Entry { index, term: 1, kind: LogType::Command, data, appended_at: None }
}

#[test]
fn a_gzip_that_grows_a_thousandfold_is_refused() {
    let dir = tempdir().unwrap();
    let mut member = GzEncoder::new(Vec::new(), Compression::best());
    member.write_all(&vec![0; 16 << 20]).unwrap();
    let member = member.finish().unwrap();
    for name in ["raft.db.gz", "backup.snap", "support.tar.gz"] {
        let path = dir.path().join(name);
        let mut file = File::create(&path).unwrap();
        // Four gigabytes, if anybody should unpack it all.
        (0..256).for_each(|_| file.write_all(&member).unwrap());
        defused(&path, &[&["info"]], |output| {
            assert_eq!(output.code, 2, "{}", output.stderr);
            assert!(output.stderr.contains(name) && output.stderr.contains("times its size"), "{}", output.stderr);
            assert_eq!(output.stderr.lines().count(), 1, "{}", output.stderr);
        });
    }
}

#[test]
fn maps_and_arrays_that_claim_four_billion_items_are_undecodable() {
    let mut entries = Vec::new();
    let claims: [&[u8]; 5] = [
        &[0xdf, 0xff, 0xff, 0xff, 0xff],
        &[0xdd, 0xff, 0xff, 0xff, 0xff],
        &[0x81, 0xa3, b'J', b'o', b'b', 0xdf, 0xff, 0xff, 0xff, 0xff],
        &[0x81, 0xa5, b'E', b'v', b'a', b'l', b's', 0xdd, 0xff, 0xff, 0xff, 0xff],
        &[0x81, 0xa5, b'A', b'l', b'l', b'o', b'c', 0xc6, 0xff, 0xff, 0xff, 0xff],
    ];
    for kind in 0..=80_u8 {
        for claim in claims {
            entries.push(command(entries.len() as u64 + 1, [&[kind], claim].concat()));
        }
    }
    let (_dir, path) = log(&entries);
    defused(&path, LOOKS, |output| assert!([0, 1, 2, 3].contains(&output.code), "{}", output.code));
    defused(&path, &[&["audit"]], |output| {
        assert!(output.stdout.contains("undecodable"), "{}", output.stdout);
        assert_eq!(output.code, 3);
    });
}

#[test]
fn values_nested_a_million_deep_are_undecodable() {
    let entries: Vec<Entry> = [0x91_u8, 0x81]
        .iter()
        .enumerate()
        .map(|(at, &open)| command(at as u64 + 1, [vec![1], vec![open; 1_000_000]].concat()))
        .collect();
    let (_dir, path) = log(&entries);
    defused(&path, LOOKS, |output| assert!([0, 1, 2, 3].contains(&output.code), "{}", output.code));
}

#[test]
fn a_tree_that_goes_in_circles_is_walked_once() {
    let entries: Vec<Entry> = History::new(Plot::default()).take(2_000).collect();
    let (_dir, path) = log(&entries);
    let mut bytes = fs::read(&path).unwrap();
    let mut bent = 0;
    for start in (0..bytes.len()).step_by(4096) {
        let page = &mut bytes[start..start + 4096];
        let (id, flags, count) = (page[..8].to_vec(), page[8], u16::from_le_bytes([page[10], page[11]]));
        // Each child of a branch becomes the branch itself.
        if flags == 1 && page[9] == 0 && u64::from_le_bytes(id.clone().try_into().unwrap()) == (start / 4096) as u64 {
            for element in 0..usize::from(count) {
                page[16 + 16 * element + 8..][..8].copy_from_slice(&id);
            }
            bent += 1;
        }
    }
    assert!(bent > 0);
    fs::write(&path, bytes).unwrap();
    defused(&path, LOOKS, |output| {
        assert_eq!(output.code, 2, "{}", output.stderr);
        assert!(output.stderr.contains("no entry of the log can be read: "), "{}", output.stderr);
    });
}

#[test]
fn a_snapshot_record_of_two_gigabytes_is_told_with_its_offset() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("state.bin");
    // An empty header; of a job one key whose value is text of 2 GiB less one, which the file indeed holds.
    let mut file = File::create(&path).unwrap();
    file.write_all(&[0x80, 1, 0x81, 0xa2, b'I', b'D', 0xdb, 0x7f, 0xff, 0xff, 0xff]).unwrap();
    file.set_len((2 << 30) + 64).unwrap();
    defused(&path, &[&["info", "--types"], &["audit"], &["state"]], |output| {
        assert!([2, 3].contains(&output.code), "{} {}", output.code, output.stderr);
        assert!(output.stderr.contains("byte 1 "), "{}", output.stderr);
    });
}

#[test]
fn a_job_name_of_a_megabyte_with_escape_codes_is_harmless() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("logs.ndjson");
    let name = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{202e}".repeat(60_000);
    let job = serde_json::json!({
        "Namespace": "default", "ID": name, "Name": name, "Type": "batch", "Status": "", "Periodic": {"Enabled": true, "Spec": "* * * * *"},
        "TaskGroups": [{"Name": name, "Count": 1}],
    });
    let child = serde_json::json!({"Namespace": "default", "ID": format!("{name}/periodic-1"), "ParentID": name, "Type": "batch", "Status": "running"});
    let mut lines = String::new();
    for (at, job) in [job, child].into_iter().enumerate() {
        let entry = serde_json::json!({
            "LogType": "LogCommand", "Term": 1, "Index": at + 1, "CommandType": "JobRegisterRequestType",
            "Body": {"Namespace": "default", "Job": job},
        });
        lines += &format!("{entry}\n");
    }
    fs::write(&path, lines).unwrap();
    let report = dir.path().join("report.html");
    let report = report.to_str().unwrap();
    let commands: &[&[&str]] = &[&["why", "2"], &["restarts"], &["report", "-o", report]];
    defused(&path, &[LOOKS, commands].concat(), |output| {
        assert!([0, 1, 3].contains(&output.code), "{} {}", output.code, output.stderr);
        for text in [&output.stdout, &output.stderr] {
            let bad = text.chars().find(|c| matches!(c, '\u{1b}' | '\u{7}' | '\u{202e}'));
            // Where the output is JSON, the mark is data like any other letter.
            assert!(bad.is_none() || (bad == Some('\u{202e}') && text.starts_with('{')), "{}: {bad:?}", output.line);
        }
    });
    let page = fs::read_to_string(report).unwrap();
    assert!(!page.contains(['\u{1b}', '\u{7}', '\u{202e}']));
}
