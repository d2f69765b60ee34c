//! Entries that are lost behind the last one that can be read: nothing follows them that would show a hole, and yet
//! they are told, and no answer that reaches to the end is sure.

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::common::{fixture, run_to};
use crate::support::cases;
use crate::support::synth::bolt::Layout;
use crate::support::synth::history::{History, Plot};
use crate::support::synth::wal::Wal;
use crate::support::synth::{write_bolt, write_wal};
use flate2::Compression;

const PAGE: usize = 4096;

/// What every command says of a healthy log whose end is lost, of which `last` is the last entry that can be read.
fn told_everywhere(path: &Path, last: u64, words: &str) {
    let path = path.to_str().unwrap();
    for (command, code) in [
        (&["info", "--json"][..], 2),
        (&["info", "--types"], 2),
        (&["logs", "--format", "ndjson"], 2),
        (&["logs", "--salvage"], 2),
        (&["audit", "--fail-on", "error"], 3),
        (&["timeline"], 3),
        (&["state"], 3),
        (&["state", "--last-index", "-1"], 0),
        (&["logs", "--from-index", "1", "--last-index", "5"], 0),
        (&["state", "--allow-incomplete"], 0),
    ] {
        let told = run_to(code, &[command, &[path]].concat());
        assert!(
            code == 0 || told.stderr.contains(words) || told.stdout.contains(words),
            "{command:?}: {}",
            told.stderr
        );
    }
    let named = last.to_string();
    for end in [&["--last-index", &named][..], &["--committed-only"]] {
        run_to(0, &[&["state"], end, &[path]].concat());
    }
    let document = run_to(3, &["audit", "--json", "--fail-on", "error", path]).json();
    assert_eq!((&document["verdict"], &document["complete"]), (&"inconclusive".into(), &false.into()));
    let finding = document["findings"].as_array().unwrap().iter().find(|f| f["kind"] == "gap").unwrap();
    assert_eq!(finding["index"].as_u64(), Some(last + 1));
}

#[test]
fn the_last_page_of_a_raft_db_is_missed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("raft.db");
    write_bolt(&path, Layout::default(), &mut History::new(Plot::default()), 400).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    // The newest entry lies on the page that was written last but the root's and the list of free pages.
    let key = 400_u64.to_be_bytes();
    let pages = (2..bytes.len() / PAGE).rev();
    let on_page = |page: &usize| {
        let page = &bytes[page * PAGE..(page + 1) * PAGE];
        page[8] == 2 && page.windows(8).any(|window| window == key)
    };
    let newest: Vec<usize> = pages.filter(on_page).collect();
    for page in newest {
        bytes[page * PAGE..(page + 1) * PAGE].fill(0);
    }
    fs::write(&path, bytes).unwrap();
    let rows = run_to(2, &["logs", "--format", "ndjson", path.to_str().unwrap()]).ndjson();
    let last = rows.last().unwrap()["Index"].as_u64().unwrap();
    assert!((300..400).contains(&last), "{last}");
    told_everywhere(&path, last, "page");
}

#[test]
fn json_that_breaks_off_is_missed() {
    let dir = tempfile::tempdir().unwrap();
    let (db, path) = (dir.path().join("raft.db"), dir.path().join("logs.json"));
    write_bolt(&db, Layout::default(), &mut History::new(Plot::default()), 200).unwrap();
    let text = run_to(0, &["logs", "--unsafe-show-secrets", "--json", db.to_str().unwrap()]).stdout;
    let at = text.find("\"Index\":151,").unwrap();
    fs::write(&path, &text[..at + 300]).unwrap();
    told_everywhere(&path, 150, "breaks off at byte");
}

#[test]
fn an_archive_that_ends_inside_of_a_segment_is_missed() {
    let dir = tempfile::tempdir().unwrap();
    let (wal, path) = (dir.path().join("wal"), dir.path().join("parcel.tar"));
    fs::create_dir(&wal).unwrap();
    write_wal(&wal, 4 << 20, &mut History::new(Plot::default()), 600).unwrap();
    let mut tar = tar::Builder::new(Vec::new());
    for name in ["wal-meta.db", "00000000000000000001-0000000000000000.wal"] {
        tar.append_path_with_name(wal.join(name), format!("raft/wal/{name}")).unwrap();
    }
    let whole = tar.into_inner().unwrap();
    let end = whole.iter().rposition(|byte| *byte != 0).unwrap();
    fs::write(&path, &whole[..end * 9 / 10]).unwrap();
    let rows = run_to(2, &["logs", "--format", "ndjson", path.to_str().unwrap()]).ndjson();
    told_everywhere(&path, rows.last().unwrap()["Index"].as_u64().unwrap(), "ends inside of");
    // The same, packed.
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&whole).unwrap();
    let packed = packed.finish().unwrap();
    fs::write(&path, &packed[..packed.len() / 2]).unwrap();
    let told = run_to(2, &["info", path.to_str().unwrap()]);
    assert!(told.stderr.contains("cut off or damaged"), "{}", told.stderr);
}

#[test]
fn a_whole_log_misses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let text = cases::read_text(&cases::fixtures().join("real-2.0.5/s1.logs.ndjson"));
    let printed = dir.path().join("logs.ndjson");
    fs::write(&printed, text.trim_end()).unwrap();
    for path in [fixture("real-2.0.5/s1"), fixture("real-2.0.5/s3.tar.gz"), printed.to_str().unwrap().to_owned()] {
        run_to(0, &["info", "--types", &path]);
        run_to(0, &["logs", "--limit", "1000", &path]);
        run_to(0, &["timeline", &path]);
    }
    // A batch that a server did not finish is none that it lost.
    let wal = dir.path().join("wal");
    let entries: Vec<_> = History::new(Plot::default()).take(60).collect();
    let mut log = Wal::create(&wal, 1 << 20).unwrap();
    log.append(&entries[..50]).unwrap();
    log.tear(&entries[50..]).unwrap();
    run_to(0, &["info", wal.to_str().unwrap()]);
    run_to(0, &["timeline", wal.to_str().unwrap()]);
}

#[test]
fn a_list_of_segments_without_them_is_no_empty_log() {
    let dir = tempfile::tempdir().unwrap();
    fs::copy(fixture("wal_and_stale_db/wal/wal-meta.db"), dir.path().join("wal-meta.db")).unwrap();
    for command in ["info", "logs", "audit", "state"] {
        let told = run_to(2, &[command, dir.path().to_str().unwrap()]);
        assert!(told.stdout.is_empty() && told.stderr.contains("none of its segments can be read"), "{}", told.stderr);
    }
}
