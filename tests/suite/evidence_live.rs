//! A raft.db and a write-ahead log that another process writes to while they are read: what is accepted is whole.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::synth::bolt::{Db, Layout, Transaction};
use crate::support::synth::history::{Entry, LogType};
use crate::support::synth::put;
use crate::support::synth::wal::Wal;
use raftscope::evidence::{self, EvidenceError, Scanned};
use raftscope::types::Index;

/// The writer below runs only when this names its file.
const TARGET: &str = "RAFTSCOPE_TEST_LIVE";

/// Entries that a compaction leaves.
const TRAILING: u64 = 500;

/// Everything about an entry follows from its index, so that each read can be judged by itself.
fn payload(index: u64) -> Vec<u8> {
    let len = (index * 37 % 3000) as usize + 8;
    index.to_be_bytes().into_iter().cycle().take(len).collect()
}

fn entry(index: u64) -> Entry {
    Entry { index, term: 1 + index / 1000, kind: LogType::Command, data: payload(index), appended_at: None }
}

/// Appends, and now and then compacts, as a busy server does, until the file `stop` is there.
#[test]
#[ignore = "the tests below run it as another process"]
fn writer() {
    let Some(path) = std::env::var_os(TARGET).map(PathBuf::from) else { return };
    let stop = path.with_extension("stop");
    let mut db = Db::open(&path).unwrap();
    db.syncs = false;
    let (mut first, mut next) = (1, TRAILING + 1);
    let start = Instant::now();
    while !stop.exists() && start.elapsed() < Duration::from_secs(60) {
        let mut transaction = Transaction::default();
        for index in next..next + 1 + next % 5 {
            put(&mut transaction, &entry(index));
        }
        next += 1 + next % 5;
        if next - first > 3 * TRAILING {
            (first..next - TRAILING).for_each(|index| transaction.delete("logs", &index.to_be_bytes()));
            first = next - TRAILING;
        }
        let pending = db.write_pages(transaction).unwrap();
        // A server waits for the disk here, with pages written and no meta page that tells of them.
        std::thread::sleep(Duration::from_millis(2));
        pending.finish().unwrap();
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// As [`writer`], for a write-ahead log: of more segments than are kept open, which come and go. Now and then a new
/// leader replaces the end by the same entries.
#[test]
#[ignore = "the tests below run it as another process"]
fn wal_writer() {
    let Some(path) = std::env::var_os(TARGET).map(PathBuf::from) else { return };
    let stop = path.with_extension("stop");
    let mut wal = Wal::create(&path, 8 << 10).unwrap();
    let append = |wal: &mut Wal, n: u64| {
        let next = wal.bounds().1;
        wal.append(&(next..next + n).map(entry).collect::<Vec<_>>()).unwrap();
    };
    while wal.bounds().1 <= TRAILING {
        append(&mut wal, 5);
    }
    fs::write(path.with_extension("ready"), "").unwrap();
    let start = Instant::now();
    while !stop.exists() && start.elapsed() < Duration::from_secs(60) {
        let (first, next) = wal.bounds();
        append(&mut wal, 1 + next % 5);
        if next - first > 4 * TRAILING {
            wal.drop_before(next - 3 * TRAILING).unwrap();
        }
        if next % 97 == 0 {
            wal.drop_after(next - 20).unwrap();
            append(&mut wal, 20);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

struct Live {
    dir: tempfile::TempDir,
    name: &'static str,
    child: std::process::Child,
}

impl Live {
    fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("raft.db");
        let mut db = Db::create(&path, Layout::default()).unwrap();
        let mut transaction = Transaction::default();
        (1..=TRAILING).for_each(|index| put(&mut transaction, &entry(index)));
        db.commit(transaction).unwrap();
        drop(db);
        Live::run(dir, "raft.db", "evidence_live::writer")
    }

    fn start_wal() -> Self {
        let live = Live::run(tempfile::tempdir().unwrap(), "wal", "evidence_live::wal_writer");
        let start = Instant::now();
        while !live.path().with_extension("ready").exists() {
            assert!(start.elapsed() < Duration::from_secs(40), "the writer does not begin");
            std::thread::sleep(Duration::from_millis(10));
        }
        live
    }

    fn run(dir: tempfile::TempDir, name: &'static str, writer: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--ignored", "--exact", writer])
            .env(TARGET, dir.path().join(name))
            .stdout(std::process::Stdio::null());
        Live { child: command.spawn().unwrap(), dir, name }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join(self.name)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        fs::write(self.path().with_extension("stop"), "").unwrap();
        let _ = self.child.wait();
    }
}

/// Reads everything once; the last index, or why the server was too fast.
fn read_all(path: &Path) -> Result<(u64, usize), EvidenceError> {
    let evidence = evidence::open(path)?;
    let (first, last) = evidence.log.bounds().unwrap();
    let mut next = first.0;
    let mut count = 0;
    evidence.log.scan(Index(0)..=Index(u64::MAX), &mut |met| {
        match met {
            Scanned::Entry(record) => {
                assert_eq!(record.index.0, next);
                assert_eq!(record.term.0, 1 + next / 1000);
                assert!(record.data == payload(next), "entry {next}");
                next += 1;
                count += 1;
            }
            Scanned::Damaged(damage) => panic!("{damage:?} in {:?}", evidence.window),
        }
        ControlFlow::Continue(())
    })?;
    assert!(next > last.0, "ended at {next} before {last}");
    for index in (first.0..=last.0).step_by(61) {
        // What a compaction has removed meanwhile is no longer there, and never something else.
        if let Some(data) = evidence.log.data(Index(index))? {
            assert!(data == payload(index), "entry {index}");
        }
    }
    Ok((last.0, count))
}

/// Reads for some seconds beside a writer.
fn read_beside(live: &Live) {
    let (mut accepted, mut refused, mut newest, mut entries) = (0, 0, 0, 0);
    let start = Instant::now();
    // On a busy machine few reads fit into the time; each of them counts.
    while start.elapsed() < Duration::from_secs(3) || (accepted < 3 && start.elapsed() < Duration::from_secs(40)) {
        match read_all(&live.path()) {
            Ok((last, count)) => {
                entries += count;
                newest = last.max(newest);
                accepted += 1;
            }
            // A compaction may overtake a slow reader: an error, and no half answer.
            Err(EvidenceError::Unreadable { detail, .. }) => {
                assert!(detail.contains("server"), "{detail}");
                refused += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
    println!("{accepted} reads of {entries} entries accepted, {refused} overtaken; the log grew to {newest}");
    assert!(accepted >= 3, "{accepted} accepted, {refused} refused");
    assert!(newest > TRAILING, "{newest}");
}

#[test]
fn every_accepted_read_beside_a_writer_is_whole() {
    read_beside(&Live::start());
}

#[test]
fn every_accepted_read_of_segments_that_come_and_go_is_whole() {
    read_beside(&Live::start_wal());
}

#[test]
#[cfg(target_os = "linux")]
fn reading_holds_no_lock() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("raft.db");
    let mut db = Db::create(&path, Layout::default()).unwrap();
    let mut transaction = Transaction::default();
    (1..=50).for_each(|index| put(&mut transaction, &entry(index)));
    db.commit(transaction).unwrap();
    let evidence = evidence::open(&path).unwrap();
    let mut looked = 0;
    evidence
        .log
        .scan(Index(0)..=Index(u64::MAX), &mut |_| {
            // What a starting server does: it waits for ever where anybody holds even a shared lock.
            let file = fs::File::options().write(true).open(&path).unwrap();
            file.try_lock().unwrap();
            file.unlock().unwrap();
            looked += 1;
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(looked, 50);
}
