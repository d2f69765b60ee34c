//! The generator: what it writes is read back entry by entry, in every layout that bolt knows, at every stage of a
//! transaction.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;

use crate::support::synth::bolt::{Db, Layout, Order, Transaction};
use crate::support::synth::history::{Entry, History, Plot};
use crate::support::synth::wild::Wild;
use crate::support::synth::{put, write_bolt, write_wal};
use raftscope::evidence::{self, Scanned};
use raftscope::fsm::Fsm;
use raftscope::fsm::outcome::Outcome;
use raftscope::fsm::rules::{Rules, Version};
use raftscope::replay::{Replayed, Subscriber, replay};
use raftscope::types::{Index, JobKey, Term};
use tempfile::tempdir;

/// Index, term, raft type, payload and clock of an entry.
type Read = (u64, u64, String, Vec<u8>, Option<i128>);

/// Each entry of a file; panics at damage.
fn read(path: &Path) -> Vec<Read> {
    let evidence = evidence::open(path).unwrap();
    let mut entries = Vec::new();
    let mut sink = |scanned: Scanned<'_>| {
        match scanned {
            Scanned::Entry(record) => entries.push((
                record.index.0,
                record.term.0,
                record.kind.name(),
                record.data.to_vec(),
                record.appended_at.map(|time| time.as_nanosecond()),
            )),
            Scanned::Damaged(damage) => panic!("{damage:?}"),
        }
        ControlFlow::Continue(())
    };
    evidence.log.scan(Index(0)..=Index(u64::MAX), &mut sink).unwrap();
    entries
}

fn expected(entry: &Entry) -> Read {
    let kind = format!("Log{:?}", entry.kind);
    (entry.index, entry.term, kind, entry.data.clone(), entry.appended_at.map(i128::from))
}

fn history(seed: u64) -> History {
    History::new(Plot { seed, ..Plot::default() })
}

#[test]
fn every_layout_reads_back_entry_by_entry() {
    let entries: Vec<_> = history(3).take(700).map(|entry| expected(&entry)).collect();
    for page_size in [1024, 4096, 16_384, 65_536] {
        for order in [Order::Little, Order::Big] {
            for stores_freelist in [true, false] {
                let dir = tempdir().unwrap();
                let path = dir.path().join("raft.db");
                let layout = Layout { page_size, order, stores_freelist };
                write_bolt(&path, layout, &mut history(3), 700).unwrap();
                assert!(read(&path) == entries, "{layout:?}");
            }
        }
    }
}

#[test]
fn a_log_of_two_entries_lies_in_an_inline_bucket() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("raft.db");
    write_bolt(&path, Layout::default(), &mut history(3), 2).unwrap();
    let expected: Vec<_> = history(3).take(2).map(|entry| expected(&entry)).collect();
    assert!(read(&path) == expected);
}

#[test]
fn a_write_ahead_log_reads_back_entry_by_entry_over_its_segments() {
    let entries: Vec<_> = history(3).take(700).map(|entry| expected(&entry)).collect();
    for size_limit in [64 << 20, 300_000] {
        let dir = tempdir().unwrap();
        let wal = dir.path().join("wal");
        std::fs::create_dir(&wal).unwrap();
        write_wal(&wal, size_limit, &mut history(3), 700).unwrap();
        assert!(read(&wal) == entries, "{size_limit}");
        let files = std::fs::read_dir(&wal)
            .unwrap()
            .filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|extension| extension == "wal"));
        assert_eq!(files.count() > 1, size_limit == 300_000);
        let window = evidence::open(&wal).unwrap().window;
        let term = history(3).take(700).last().unwrap().term;
        assert_eq!(window.stable.current_term, Some(Term(term)), "{:?}", window.notes);
    }
}

#[test]
fn the_same_seed_gives_the_same_file() {
    let dir = tempdir().unwrap();
    let write = |name: &str, seed| {
        let path = dir.path().join(name);
        write_bolt(&path, Layout::default(), &mut history(seed), 500).unwrap();
        std::fs::read(path).unwrap()
    };
    assert!(write("a.db", 5) == write("b.db", 5));
    assert!(write("a.db", 5) != write("b.db", 6));
}

#[test]
fn a_file_can_be_written_on_compacted_and_cut_back() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("raft.db");
    let mut entries = history(4);
    write_bolt(&path, Layout::default(), &mut entries, 1_000).unwrap();
    let mut db = Db::open(&path).unwrap();
    let all: Vec<_> = history(4).take(1_200).collect();

    let mut transaction = Transaction::default();
    all[1_000..].iter().for_each(|entry| put(&mut transaction, entry));
    db.commit(transaction).unwrap();
    assert!(read(&path) == all.iter().map(expected).collect::<Vec<_>>());

    let mut transaction = Transaction::default();
    all[..700].iter().chain(&all[1_100..]).for_each(|entry| transaction.delete("logs", &entry.index.to_be_bytes()));
    db.commit(transaction).unwrap();
    assert!(read(&path) == all[700..1_100].iter().map(expected).collect::<Vec<_>>());
}

#[test]
fn a_transaction_counts_from_its_meta_page_on() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("raft.db");
    write_bolt(&path, Layout::default(), &mut history(4), 300).unwrap();
    let mut db = Db::open(&path).unwrap();
    for more in history(4).take(400).skip(300).collect::<Vec<_>>().chunks(10) {
        let before = read(&path);
        let mut transaction = Transaction::default();
        more.iter().for_each(|entry| put(&mut transaction, entry));
        let pending = db.write_pages(transaction).unwrap();
        assert!(read(&path) == before);
        pending.finish().unwrap();
        assert_eq!(read(&path).len(), before.len() + more.len());
    }
}

/// Watches a history's replay: entries without their full effect, and the first entry after which a parent's counts
/// differ from its existing children.
#[derive(Default)]
struct Watch {
    without_effect: Vec<String>,
    first_drift: Option<(u64, JobKey)>,
}

impl Subscriber for Watch {
    fn entry(&mut self, entry: Replayed<'_>) {
        let sound = matches!(entry.step.outcome, Outcome::Applied | Outcome::NotForFsm);
        if !sound {
            self.without_effect.push(format!("{}: {:?}", entry.record.index, entry.step.outcome));
        }
        if self.first_drift.is_none() {
            let drifted = entry.state.summaries().find(|(parent, summary)| {
                summary.children.is_some_and(|stored| {
                    let count = |status: &str| {
                        entry.state.children(parent).filter(|child| child.status.as_str() == status).count() as i64
                    };
                    stored.pending != count("pending")
                        || stored.running != count("running")
                        || stored.dead < count("dead")
                })
            });
            self.first_drift = drifted.map(|(parent, _)| (entry.record.index.0, parent.clone()));
        }
    }
}

/// Replays a history under the newest rules.
fn watch(mut history: History, count: u64) -> (Watch, History) {
    let dir = tempdir().unwrap();
    let path = dir.path().join("raft.db");
    write_bolt(&path, Layout::default(), &mut history, count).unwrap();
    let evidence = evidence::open(&path).unwrap();
    let mut fsm = Fsm::new(Rules::for_version(Version::NEWEST));
    let mut watch = Watch::default();
    replay(&*evidence.log, &mut fsm, (Index(0), Term(0)), Index(u64::MAX), &mut (), &mut [&mut watch]).unwrap();
    (watch, history)
}

#[test]
fn a_history_is_valid_every_entry_takes_effect_and_every_count_is_right() {
    for seed in 0..6 {
        let (watch, _) = watch(history(seed), 500);
        assert_eq!(watch.without_effect, [""; 0], "seed {seed}");
        assert_eq!(watch.first_drift, None, "seed {seed}");
    }
}

#[test]
fn a_planted_fault_makes_counts_wrong_at_the_entry_that_is_named() {
    let mechanisms = [
        "register_with_status",
        "parent_recreated",
        "lost_parent",
        "status_without_count",
        "child_reregistered",
        "reconcile_merged_namespaces",
    ];
    for mechanism in mechanisms {
        for seed in 0..3 {
            let fault = Some(format!("{mechanism}@200").parse().unwrap());
            let (watch, history) = watch(History::new(Plot { seed, fault, ..Plot::default() }), 500);
            let planted = history.planted().unwrap_or_else(|| panic!("{mechanism} found no place"));
            assert!((200..450).contains(&planted.index), "{mechanism}: {planted}");
            let (first, parent) = watch.first_drift.unwrap_or_else(|| panic!("{mechanism} did nothing"));
            // A purge is the cause, and its trace the new register right behind it.
            let trace = planted.index + u64::from(mechanism == "parent_recreated");
            assert_eq!(first, trace, "{mechanism} with seed {seed}");
            if mechanism != "reconcile_merged_namespaces" {
                assert_eq!(parent, JobKey::new(&*planted.parent.0, &*planted.parent.1));
            }
        }
    }
}

/// Message types and outcomes of wild histories, each once.
#[derive(Default)]
struct Seen {
    kinds: BTreeSet<u8>,
    outcomes: BTreeSet<&'static str>,
    negative: bool,
}

impl Subscriber for Seen {
    fn entry(&mut self, entry: Replayed<'_>) {
        self.kinds.extend(entry.record.data.first().filter(|_| entry.record.kind == evidence::LogType::Command));
        self.outcomes.insert(entry.step.outcome.word());
        let negative =
            |row: &raftscope::fsm::row::Summary| row.children.is_some_and(|c| c.pending < 0 || c.running < 0);
        self.negative |= entry.state.summaries().any(|(_, row)| negative(row));
    }
}

#[test]
fn wild_histories_hold_what_a_log_can_hold_at_worst() {
    let mut seen = Seen::default();
    for seed in 0..12 {
        let dir = tempdir().unwrap();
        let path = dir.path().join("raft.db");
        write_bolt(&path, Layout::default(), &mut Wild::new(seed), 160).unwrap();
        let expected: Vec<_> = Wild::new(seed).take(160).map(|entry| expected(&entry)).collect();
        assert!(read(&path) == expected, "seed {seed}");
        let evidence = evidence::open(&path).unwrap();
        let mut fsm = Fsm::new(Rules::for_version(Version::NEWEST));
        replay(&*evidence.log, &mut fsm, (Index(0), Term(0)), Index(u64::MAX), &mut (), &mut [&mut seen]).unwrap();
    }
    let of_jobs = [0, 1, 4, 5, 6, 7, 8, 9, 10, 13, 14, 15, 16, 17, 18, 26, 27, 30, 31, 59, 60, 61, 64, 65];
    assert!(of_jobs.iter().all(|kind| seen.kinds.contains(kind)), "{:?}", seen.kinds);
    let all = ["applied", "empty", "no_effect", "partially_applied", "raft", "refused", "undecodable", "unknown_type"];
    assert_eq!(seen.outcomes.into_iter().collect::<Vec<_>>(), all);
    assert!(seen.negative);
}
