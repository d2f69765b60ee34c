//! Which log a path means, and what is said where it means none.

use std::fs;
use std::path::{Path, PathBuf};

use raftscope::evidence::{self, Evidence};

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(path)
}

fn last(evidence: &Evidence) -> u64 {
    evidence.window.last_index.unwrap().0
}

fn put(from: &str, to: &Path) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::copy(fixture(from), to).unwrap();
}

/// The message, which must be one line that names the file.
fn refusal(path: &Path) -> String {
    let message = evidence::open(path).err().unwrap().to_string();
    assert!(message.starts_with(&path.display().to_string()), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    message
}

#[test]
fn a_log_is_found_from_every_directory_above_it_and_under_any_name() {
    let dir = tempfile::tempdir().unwrap();
    put("healthy/raft.db", &dir.path().join("server/raft/raft.db"));
    for path in ["", "server", "server/raft", "server/raft/raft.db"] {
        assert_eq!(last(&evidence::open(&dir.path().join(path)).unwrap()), 22, "{path}");
    }
    let other = tempfile::tempdir().unwrap();
    put("healthy/raft.db", &other.path().join("case 17/copy of the log.txt"));
    let evidence = evidence::open(other.path()).unwrap();
    assert_eq!((last(&evidence), evidence.window.notes.len()), (22, 0));
}

#[test]
fn of_several_logs_the_one_with_the_newest_entry_is_read_and_a_note_says_so() {
    let dir = tempfile::tempdir().unwrap();
    put("healthy/raft.db", &dir.path().join("a/server/raft/raft.db"));
    put("horizontal_hey/raft.db", &dir.path().join("b/server/raft/raft.db"));
    put("last_index/raft.db", &dir.path().join("c/server/raft/raft.db"));
    let evidence = evidence::open(dir.path()).unwrap();
    assert_eq!(last(&evidence), 3045);
    assert_eq!(evidence.window.notes.len(), 1);
    let note = &evidence.window.notes[0];
    assert!(note.starts_with("3 logs were found") && note.contains("newest"), "{note}");
}

#[test]
fn a_log_beside_the_servers_own_is_named_in_a_note() {
    let dir = tempfile::tempdir().unwrap();
    put("healthy/raft.db", &dir.path().join("raft.db"));
    put("horizontal_hey/raft.db", &dir.path().join("raft.db.migrated.20260101-000000"));
    let evidence = evidence::open(dir.path()).unwrap();
    assert_eq!(last(&evidence), 22);
    assert!(evidence.window.notes[0].contains("raft.db.migrated.20260101-000000"), "{:?}", evidence.window.notes);
}

#[test]
#[cfg(unix)]
fn a_link_that_leads_round_in_a_circle_ends() {
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(dir.path(), dir.path().join("again")).unwrap();
    assert!(refusal(dir.path()).contains("no raft log in this directory"));
    put("healthy/raft.db", &dir.path().join("z/log"));
    assert_eq!(last(&evidence::open(dir.path()).unwrap()), 22);
}

#[test]
fn what_is_no_log_is_said_in_one_line_with_the_next_step() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| {
        let path = dir.path().join(name);
        fs::write(&path, content).unwrap();
        path
    };
    for (path, word) in [
        (dir.path().join("nowhere"), "no such file or directory"),
        (file("empty", b""), "the file is empty"),
        (file("notes.txt", b"the cluster is down\nplease help\n"), "this is a text file"),
        (file("short", &[1, 2, 3, 0xff]), "too short"),
        (file("zeros", &[0; 8192]), "begins with zeros"),
        (file("noise", &[0xd7; 8192]), "no file that raftscope reads"),
        (dir.path().to_path_buf(), "no raft log in this directory"),
    ] {
        let message = refusal(&path);
        assert!(message.contains(word) && message.contains("give a Nomad data dir"), "{message}");
    }
}

#[test]
fn a_bolt_file_of_another_program_is_named_by_its_buckets() {
    let message = refusal(&fixture("wal_and_stale_db/wal/wal-meta.db"));
    assert!(message.contains("buckets stable, wal-meta") && message.contains("write-ahead log"), "{message}");
}

#[test]
fn a_file_whose_meta_pages_are_both_bad_names_the_reason_and_salvage() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("raft.db");
    let mut bytes = fs::read(fixture("healthy/raft.db")).unwrap();
    bytes[40] ^= 1;
    bytes[4096 + 40] ^= 1;
    fs::write(&path, bytes).unwrap();
    let message = refusal(&path);
    assert!(message.contains("its checksum does not fit") && message.contains("--salvage"), "{message}");
}

#[test]
fn a_log_cut_to_its_first_page_says_how_much_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("raft.db");
    for len in [100, 4096, 5000, 8192, 12000] {
        fs::write(&path, &fs::read(fixture("healthy/raft.db")).unwrap()[..len]).unwrap();
        let message = refusal(&path);
        assert!(message.contains("beyond the end of the file") || message.contains("cannot be read"), "{message}");
    }
}

#[test]
fn an_older_state_without_entries_does_not_stand_in_for_a_lost_log() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("raft.db");
    fs::write(&path, &fs::read(fixture("horizontal_hey/raft.db")).unwrap()[..2_000_000]).unwrap();
    let message = refusal(&path);
    assert!(message.contains("page 836 lies beyond the end") && message.contains("has no entries"), "{message}");
}

#[test]
#[cfg(unix)]
fn reading_changes_neither_content_nor_times() {
    use std::os::unix::fs::MetadataExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("raft.db");
    put("healthy/raft.db", &path);
    let look = || {
        let (a, b) = (fs::metadata(&path).unwrap(), fs::metadata(dir.path()).unwrap());
        let times = [&a, &b].map(|m| (m.mtime(), m.mtime_nsec(), m.ctime(), m.ctime_nsec()));
        (times, fs::read(&path).unwrap(), fs::read_dir(dir.path()).unwrap().count())
    };
    let before = look();
    let evidence = evidence::open(dir.path()).unwrap();
    assert!(evidence.log.data(raftscope::types::Index(9)).unwrap().is_some());
    assert!(look() == before);
}
