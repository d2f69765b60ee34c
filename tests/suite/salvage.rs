//! Carving entries from pages that no tree reaches: all of a damaged file, superseded ones of a whole file,
//! never as a part of the log.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{check_schema, fixture, run, run_to};
use crate::support::synth::bolt::{Db, Layout, Order, Transaction};
use crate::support::synth::history::{Entry, History, LogType, Plot};
use crate::support::synth::wal::Wal;
use crate::support::synth::{put, write_bolt};
use serde_json::Value;

const PAGE: usize = 4096;

fn u64_at(file: &[u8], at: usize) -> usize {
    u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) as usize
}

/// The entries of the undamaged file, as `logs` prints them.
fn whole(path: &str) -> Vec<Value> {
    run_to(0, &["logs", "--format", "ndjson", path]).ndjson()
}

/// What is carved from `bytes`: the live rows, and the carved ones without their mark.
fn carved(bytes: &[u8], code: i32) -> (Vec<Value>, Vec<Value>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("raft.db");
    fs::write(&path, bytes).unwrap();
    let path = path.to_str().unwrap();
    let json = run_to(code, &["logs", "--salvage", "--json", path]).json();
    check_schema("logs", &json);
    let Value::Array(rows) = json else { panic!("no array") };
    let info = run_to(code, &["info", "--salvage", "--json", path]).json();
    check_schema("info", &info);
    let first = rows.iter().position(|row| row.get("Salvaged").is_some()).unwrap_or(rows.len());
    let (live, carved) = rows.split_at(first);
    assert!(carved.iter().all(|row| row["Salvaged"]["Page"].as_u64().unwrap() > 1));
    assert_eq!(info["salvaged"]["entries"], carved.len());
    let mut carved = carved.to_vec();
    carved.iter_mut().for_each(|row| drop(row.as_object_mut().unwrap().remove("Salvaged")));
    (live.to_vec(), carved)
}

#[test]
fn what_no_tree_reaches_is_carved_as_it_was() {
    let path = fixture("healthy/raft.db");
    let original = whole(&path);
    let bytes = fs::read(&path).unwrap();
    let newest = if u64_at(&bytes, 64) > u64_at(&bytes, PAGE + 64) { 0 } else { PAGE };
    let root = u64_at(&bytes, newest + 32) * PAGE;
    let mut no_root = bytes.clone();
    no_root[root..root + PAGE].fill(0);
    let mut no_metas = bytes.clone();
    no_metas[..2 * PAGE].fill(0);
    let mut bad_sums = bytes.clone();
    [40, PAGE + 40].iter().for_each(|&at| bad_sums[at] ^= 1);
    for (harm, bytes) in [("root", no_root), ("metas", no_metas), ("sums", bad_sums)] {
        let (live, carved) = carved(&bytes, 2);
        assert_eq!(live.len(), 0, "{harm}");
        assert!(carved == original, "{harm}: {} of {}", carved.len(), original.len());
    }
}

#[test]
fn a_file_that_is_cut_before_its_root_gives_the_entries_before_the_cut() {
    let path = fixture("horizontal_hey/raft.db");
    let original = whole(&path);
    let (live, carved) = carved(&fs::read(&path).unwrap()[..2_000_000], 2);
    assert_eq!(live.len(), 0);
    assert!(carved.len() > 100, "{}", carved.len());
    assert!(carved.iter().all(|row| original.contains(row)));
}

#[test]
fn every_page_size_and_byte_order_is_made_out() {
    for (page_size, order) in [(1024, Order::Big), (4096, Order::Little), (65_536, Order::Little)] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("raft.db");
        let layout = Layout { page_size, order, stores_freelist: true };
        write_bolt(&path, layout, &mut History::new(Plot { seed: 3, ..Plot::default() }), 300).unwrap();
        let original = whole(path.to_str().unwrap());
        let mut bytes = fs::read(&path).unwrap();
        bytes[..2 * page_size].fill(0);
        let (live, carved) = carved(&bytes, 2);
        assert_eq!(live.len(), 0);
        assert!(carved == original, "{layout:?}: {} of {}", carved.len(), original.len());
    }
}

fn entry(index: u64, term: u64, len: usize) -> Entry {
    let data = [index as u8, term as u8].into_iter().cycle().take(len).collect();
    Entry { index, term, kind: LogType::Barrier, data, appended_at: None }
}

fn commit(db: &mut Db, change: impl FnOnce(&mut Transaction)) {
    let mut transaction = Transaction::default();
    change(&mut transaction);
    db.commit(transaction).unwrap();
}

/// A log whose end another leader has replaced.
fn replaced(path: &Path, len: usize) {
    let mut db = Db::create(path, Layout::default()).unwrap();
    commit(&mut db, |t| (1..=40).for_each(|index| put(t, &entry(index, 1, len))));
    commit(&mut db, |t| {
        (36..=40).for_each(|index| t.delete("logs", &u64::to_be_bytes(index)));
        (31..=35).for_each(|index| put(t, &entry(index, 2, len)));
    });
}

#[test]
fn a_superseded_entry_is_marked_with_the_term_that_stands() {
    // With the larger entries a page goes on over others.
    for len in [100, 9_000] {
        let dir = tempfile::tempdir().unwrap();
        let path: PathBuf = dir.path().join("raft.db");
        replaced(&path, len);
        let path = path.to_str().unwrap();
        let live = whole(path);
        let rows = run_to(0, &["logs", "--salvage", "--format", "ndjson", path]).ndjson();
        let (first, carved) = rows.split_at(live.len());
        assert_eq!(first, live, "{len}");
        assert!(!carved.is_empty(), "{len}");
        for row in carved {
            let index = row["Index"].as_u64().unwrap();
            assert_eq!(row["Term"], 1, "{row}");
            assert!(index > 30, "an entry that stands is not told again: {row}");
            let stands = if index <= 35 { Value::from(2) } else { Value::Null };
            assert_eq!(row["Salvaged"]["LiveTerm"], stands, "{row}");
        }
        let indexes: Vec<_> = carved.iter().map(|row| row["Index"].as_u64().unwrap()).collect();
        assert!(indexes.is_sorted_by(|a, b| a < b), "{indexes:?}");
        let tail = run_to(0, &["logs", "--salvage", "--from-index", "36", "--format", "ndjson", path]).ndjson();
        assert!(tail.iter().all(|row| row["Index"].as_u64() >= Some(36) && row.get("Salvaged").is_some()));
        let table = run_to(0, &["logs", "--salvage", path]).stdout;
        assert!(table.contains("Salvaged") && !run_to(0, &["logs", path]).stdout.contains("Salvaged"));
    }
}

#[test]
fn a_file_without_a_page_says_that_nothing_can_be_carved() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("raft.db");
    fs::write(&path, [0; 20_000]).unwrap();
    let ran = run(&["logs", "--salvage", path.to_str().unwrap()]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("nothing can be carved"), "{}", ran.stderr);
}

/// The carved rows of a write-ahead log whose live rows are those of `logs`.
fn carved_segments(code: i32, path: &str) -> Vec<Value> {
    let live = run(&["logs", "--format", "ndjson", path]).ndjson();
    let json = run_to(code, &["logs", "--salvage", "--json", path]).json();
    check_schema("logs", &json);
    let rows = json.as_array().unwrap();
    let (first, carved) = rows.split_at(live.len());
    assert_eq!(first, live);
    let info = run_to(code, &["info", "--salvage", "--json", path]).json();
    check_schema("info", &info);
    assert_eq!(info["salvaged"]["entries"], carved.len());
    carved.to_vec()
}

/// Index, term and the log's own term of each.
fn places(rows: &[Value]) -> Vec<(u64, u64, Option<u64>)> {
    let number = |value: &Value| value.as_u64();
    rows.iter()
        .map(|r| (number(&r["Index"]).unwrap(), number(&r["Term"]).unwrap(), number(&r["Salvaged"]["LiveTerm"])))
        .collect()
}

#[test]
fn entries_that_a_write_ahead_log_does_not_count_any_more_are_carved() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("wal");
    let mut wal = Wal::create(&path, 4096).unwrap();
    let batch = |wal: &mut Wal, term: u64, n: u64| {
        let next = wal.bounds().1;
        wal.append(&(next..next + n).map(|index| entry(index, term, 100)).collect::<Vec<_>>()).unwrap();
    };
    batch(&mut wal, 1, 10);
    let path = path.to_str().unwrap();
    assert_eq!(carved_segments(0, path), [0; 0]);
    // Another leader replaces the last five; the head is compacted within its segment.
    wal.drop_after(5).unwrap();
    batch(&mut wal, 2, 3);
    wal.drop_before(3).unwrap();
    let replaced = [(6, 1, Some(2)), (7, 1, Some(2)), (8, 1, Some(2)), (9, 1, None), (10, 1, None)];
    let want = [&[(1, 1, None), (2, 1, None)], &replaced[..]].concat();
    let carved = carved_segments(0, path);
    assert_eq!(places(&carved), want);
    assert!(carved.iter().all(|row| row["Salvaged"]["Segment"].as_str().unwrap().ends_with(".wal")));
    // A batch without its commit, as a server leaves it that dies.
    wal.tear(&[entry(9, 2, 100), entry(10, 2, 50)]).unwrap();
    let torn = [(9, 2, None), (10, 2, None)];
    let mut with_torn = [&want[..], &torn].concat();
    with_torn.sort();
    assert_eq!(places(&carved_segments(0, path)), with_torn);
    let table = run_to(0, &["logs", "--salvage", path]).stdout;
    assert!(table.contains("segment 00000000000000000001-0000000000000000.wal, term 2 in the log"), "{table}");
}

#[test]
fn a_damaged_batch_gives_the_entries_that_are_whole_by_themselves() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("wal");
    let mut wal = Wal::create(&path, 1 << 20).unwrap();
    for first in (1..60).step_by(6) {
        wal.append(&(first..first + 6).map(|index| entry(index, 1, 300)).collect::<Vec<_>>()).unwrap();
    }
    let segment = path.join("00000000000000000001-0000000000000000.wal");
    let mut bytes = fs::read(&segment).unwrap();
    let middle = bytes.iter().rposition(|byte| *byte != 0).unwrap() / 2;
    bytes[middle..middle + 400].fill(0xff);
    fs::write(&segment, bytes).unwrap();
    let carved = places(&carved_segments(2, path.to_str().unwrap()));
    // One or two batches do not count; of their entries those are lost that were written over.
    assert!((4..=11).contains(&carved.len()), "{carved:?}");
    assert!(carved.iter().all(|(index, term, live)| (13..=48).contains(index) && *term == 1 && live.is_none()));
}
