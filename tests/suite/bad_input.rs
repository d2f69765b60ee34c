//! Bad input gets one clear line that names the file and the next step, never a panic; of a damaged log the rest is
//! still read.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::cases::fixtures;
use crate::support::run::{Output, raftscope};
use crate::support::synth::bolt::{Db, Layout, Transaction};
use crate::support::synth::history::{Entry, History, LogType, Plot};
use crate::support::synth::{envelope, put};
use tempfile::{TempDir, tempdir};

const COMMANDS: [&str; 5] = ["info", "logs", "timeline", "state", "audit"];

/// A directory with one file of this name and content.
fn with_file(name: &str, content: &[u8]) -> (TempDir, PathBuf) {
    let dir = tempdir().unwrap();
    let path = dir.path().join(name);
    fs::write(&path, content).unwrap();
    (dir, path)
}

fn refuses(path: &Path, words: &[&str]) {
    for command in COMMANDS {
        let output = raftscope([command, path.to_str().unwrap()]).expect_code(2);
        assert_eq!(output.stdout, "", "{}", output.line);
        let lines: Vec<_> = output.stderr.lines().collect();
        assert_eq!(lines.len(), 1, "{}\n{}", output.line, output.stderr);
        for word in words.iter().chain([&path.file_name().unwrap().to_str().unwrap()]) {
            assert!(lines[0].contains(word), "{}: no {word:?} in {}", output.line, lines[0]);
        }
    }
}

#[test]
fn a_path_that_is_not_there() {
    refuses(Path::new("/no/such/raft"), &["/no/such/raft"]);
}

#[test]
fn a_directory_without_a_log() {
    let dir = tempdir().unwrap();
    fs::create_dir(dir.path().join("client")).unwrap();
    refuses(dir.path(), &["raft.db"]);
}

#[test]
fn an_empty_file() {
    let (_dir, path) = with_file("raft.db", b"");
    refuses(&path, &["empty"]);
}

#[test]
fn a_text_file() {
    let (_dir, path) = with_file("notes.txt", b"Running is -1 since Tuesday\n".repeat(500).as_slice());
    refuses(&path, &[]);
}

#[test]
fn random_bytes() {
    let mut state = 7_u64;
    let bytes: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as u8
    })
    .take(100_000)
    .collect();
    let (_dir, path) = with_file("raft.db", &bytes);
    refuses(&path, &[]);
}

#[test]
fn a_bolt_file_of_another_program() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("state.db");
    let mut db = Db::create(&path, Layout::default()).unwrap();
    let mut transaction = Transaction::default();
    transaction.put("allocations", b"key", b"value".to_vec());
    db.commit(transaction).unwrap();
    drop(db);
    refuses(&path, &["allocations"]);
}

/// A log of `count` entries as a file's bytes, and the entries.
fn log(count: usize) -> (Vec<u8>, Vec<Entry>) {
    let dir = tempdir().unwrap();
    let path = dir.path().join("raft.db");
    let entries: Vec<_> = History::new(Plot::default()).take(count).collect();
    let mut db = Db::create(&path, Layout::default()).unwrap();
    for chunk in entries.chunks(50) {
        let mut transaction = Transaction::default();
        chunk.iter().for_each(|entry| put(&mut transaction, entry));
        db.commit(transaction).unwrap();
    }
    (fs::read(&path).unwrap(), entries)
}

/// The indexes that `logs` prints.
fn indexes(logs: &Output) -> Vec<u64> {
    logs.ndjson().iter().filter_map(|row| row["Index"].as_u64()).collect()
}

#[test]
fn a_file_cut_short_is_read_as_far_as_it_goes() {
    let (bytes, _) = log(600);
    for tenths in [3, 6, 9] {
        let (_dir, path) = with_file("raft.db", &bytes[..bytes.len() * tenths / 10]);
        let path = path.to_str().unwrap();
        let logs = raftscope(["logs", path, "--format", "ndjson"]);
        assert!([0, 2].contains(&logs.code), "{} ended with {}", logs.line, logs.code);
        for command in COMMANDS {
            let output = raftscope([command, path]);
            assert!([0, 2, 3].contains(&output.code), "{} ended with {}\n{}", output.line, output.code, output.stderr);
        }
    }
}

/// A log of 600 entries in which the page that holds entry 300 is overwritten with zeros.
fn with_a_page_of_zeros() -> (TempDir, PathBuf) {
    let (mut bytes, entries) = log(600);
    let needle = envelope(&entries[299]);
    let place = bytes.windows(needle.len()).rposition(|window| window == needle).unwrap();
    let mut page = place / 4096;
    while u64::from_le_bytes(bytes[page * 4096..page * 4096 + 8].try_into().unwrap()) != page as u64 {
        page -= 1;
    }
    bytes[page * 4096..(page + 1) * 4096].fill(0);
    with_file("raft.db", &bytes)
}

#[test]
fn around_a_page_of_zeros_the_rest_is_still_printed() {
    let (_dir, path) = with_a_page_of_zeros();
    let path = path.to_str().unwrap();
    let logs = raftscope(["logs", path, "--format", "ndjson"]).expect_code(2);
    let printed = indexes(&logs);
    assert!(!printed.contains(&300));
    assert!(printed.contains(&1) && printed.contains(&200) && printed.contains(&400) && printed.contains(&600));
    raftscope(["info", path]).expect_code(2);
}

#[test]
fn across_a_page_of_zeros_the_audit_is_not_sure() {
    let (_dir, path) = with_a_page_of_zeros();
    let path = path.to_str().unwrap();
    let audit = raftscope(["audit", path, "--format", "json"]).expect_code(3).json();
    assert_eq!(audit["complete"], false);
    assert_eq!(audit["verdict"], "inconclusive");
    let gaps = audit["findings"].as_array().unwrap().iter().filter(|found| found["kind"] == "gap");
    assert!(gaps.count() > 0, "{audit}");
    raftscope(["audit", path, "--allow-incomplete"]).expect_code(0);
}

/// A log of 400 entries of which one body ends early, and the index of that entry: a client's status, on which no later entry
/// builds.
fn with_a_cut_body() -> (TempDir, PathBuf, u64) {
    let dir = tempdir().unwrap();
    let path = dir.path().join("raft.db");
    let mut entries: Vec<_> = History::new(Plot::default()).take(400).collect();
    let cut = entries.iter_mut().find(|entry| entry.kind == LogType::Command && entry.data[0] == 2).unwrap();
    cut.data.truncate(cut.data.len() / 2);
    let cut = cut.index;
    let mut db = Db::create(&path, Layout::default()).unwrap();
    let mut transaction = Transaction::default();
    entries.iter().for_each(|entry| put(&mut transaction, entry));
    db.commit(transaction).unwrap();
    (dir, path, cut)
}

#[test]
fn an_entry_whose_body_ends_early_is_printed_with_its_error_and_so_is_the_rest() {
    let (_dir, path, cut) = with_a_cut_body();
    let logs = raftscope(["logs", path.to_str().unwrap(), "--format", "ndjson"]).expect_code(2);
    assert_eq!(indexes(&logs), (1..=400).collect::<Vec<_>>());
    let row = logs.ndjson().into_iter().find(|row| row["Index"] == cut).unwrap();
    assert!(row["Error"].is_string(), "{row}");
}

#[test]
fn an_entry_whose_body_ends_early_is_a_finding_that_leaves_the_audit_unsure() {
    let (_dir, path, cut) = with_a_cut_body();
    let path = path.to_str().unwrap();
    let audit = raftscope(["audit", path, "--all", "--format", "json"]).expect_code(3).json();
    let told = audit["findings"].as_array().unwrap().iter().find(|found| found["kind"] == "undecodable_entry");
    assert_eq!(told.unwrap()["index"], cut);
    assert_eq!(audit["evidence"]["undecodable"], 1);
    assert_eq!(audit["verdict"], "inconclusive");
}

#[test]
fn flipped_bytes_never_end_in_a_panic() {
    let (bytes, _) = log(300);
    let used = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    let mut state = 11_u64;
    for round in 0..12 {
        let mut damaged = bytes.clone();
        for _ in 0..=round {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (state >> 20) as usize % used;
            damaged[at] ^= 1 << (state >> 8 & 7);
        }
        let (_dir, path) = with_file("raft.db", &damaged);
        for command in COMMANDS {
            let output = raftscope([command, path.to_str().unwrap()]);
            assert!((0..=3).contains(&output.code), "{} ended with {}\n{}", output.line, output.code, output.stderr);
        }
    }
}

#[test]
fn the_fixtures_themselves_are_sound() {
    let info = raftscope(["info", fixtures().join("horizontal_hey").to_str().unwrap(), "--format", "json"]);
    info.expect_code(0);
}
