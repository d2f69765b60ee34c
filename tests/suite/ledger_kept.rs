//! A kept ledger grows with its log, gives up a tail that the log gave up, and takes no other log's entries.

use std::fs;
use std::path::Path;

use crate::support::synth::bolt::{Db, Layout, Transaction};
use crate::support::synth::history::{Entry, History, Plot};
use crate::support::synth::{put, write_bolt};
use proptest::prelude::*;
use raftscope::entry::message_type::MessageTypes;
use raftscope::evidence::{self, Log};
use raftscope::fsm::Fsm;
use raftscope::fsm::compare::differences;
use raftscope::fsm::rules::{Rules, Version};
use raftscope::fsm::state::State;
use raftscope::ledger::kept::{Plan, Resume};
use raftscope::ledger::{Basis, Joined, Ledger, LedgerError};
use raftscope::replay::{Replayed, Subscriber, replay};
use raftscope::types::{Index, Term};
use rusqlite::Connection;
use rusqlite::types::Value;
use tempfile::tempdir;

fn basis() -> Basis {
    Basis { base: "empty", index: Index(0), term: Term(0), rules: "2.0.5".into() }
}

/// Stands for the audit: knows how many entries there were in all, and how many it was told of.
#[derive(Default)]
struct Counter {
    entries: u64,
    told: u64,
    based: bool,
}

impl Subscriber for Counter {
    fn base(&mut self, _: &State, _: Index, _: Term) {
        self.based = true;
    }

    fn entry(&mut self, _: Replayed<'_>) {
        self.entries += 1;
        self.told += 1;
    }
}

impl Resume for Counter {
    fn save(&self) -> Vec<u8> {
        self.entries.to_be_bytes().to_vec()
    }

    fn load(&mut self, bytes: &[u8]) -> bool {
        bytes.try_into().map(|bytes| self.entries = u64::from_be_bytes(bytes)).is_ok()
    }
}

struct Run {
    joined: Joined,
    /// How many entries were replayed.
    told: u64,
    from: Index,
    state: State,
}

/// Extends a ledger up to an entry.
fn extend(ledger: Ledger, log: &dyn Log, to: Index) -> Result<(Ledger, Run), LedgerError> {
    let mut fsm = Fsm::new(Rules::for_version(Version::NEWEST));
    let (mut counter, mut watch) = (Counter::default(), Counter::default());
    let plan = Plan { basis: &basis(), to, types: MessageTypes::new(), snapshots: &[], apart: 100, stateless: false };
    let base = (Index(0), Term(0));
    let extended = ledger.extend(log, (&mut fsm, base), &plan, |_| Box::new(()), &mut counter, &mut watch)?;
    assert_eq!(counter.entries, to.0);
    assert_eq!(counter.based, extended.from == Index(0));
    assert_eq!(extended.reached.index, to);
    let mut ledger = extended.ledger;
    ledger.commit()?;
    let mut state = State::blank();
    state.put_image(fsm.state().image());
    Ok((ledger, Run { joined: extended.joined, told: counter.told, from: extended.from, state }))
}

fn grow(file: &Path, evidence: &Path) -> Result<Joined, LedgerError> {
    let evidence = evidence::open(evidence).unwrap();
    let to = evidence.log.bounds().unwrap().1;
    extend(Ledger::open(file)?, &*evidence.log, to).map(|(_, run)| run.joined)
}

/// Every row of every table, but for what only makes the next run faster.
fn dump(conn: &Connection) -> Vec<(String, Vec<Vec<Value>>)> {
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'image' ORDER BY name";
    let names: Vec<String> =
        conn.prepare(tables).unwrap().query_map([], |r| r.get(0)).unwrap().map(Result::unwrap).collect();
    assert!(names.len() >= 8, "{names:?}");
    let rows = |name: &String| {
        let mut statement = conn
            .prepare(&format!("SELECT * FROM {name} ORDER BY 1, 2, 3"))
            .or_else(|_| conn.prepare(&format!("SELECT * FROM {name} ORDER BY 1")))
            .unwrap();
        let width = statement.column_count();
        let rows = statement.query_map([], |row| (0..width).map(|i| row.get(i)).collect());
        rows.unwrap().map(Result::unwrap).collect()
    };
    names.iter().map(|name| (name.clone(), rows(name))).collect()
}

fn whole(evidence: &Path) -> Vec<(String, Vec<Vec<Value>>)> {
    let evidence = evidence::open(evidence).unwrap();
    let to = evidence.log.bounds().unwrap().1;
    let (ledger, _) = extend(Ledger::in_memory().unwrap(), &*evidence.log, to).unwrap();
    dump(ledger.connection())
}

#[track_caller]
fn assert_same(ours: &[(String, Vec<Vec<Value>>)], theirs: &[(String, Vec<Vec<Value>>)]) {
    for ((name, ours), (_, theirs)) in ours.iter().zip(theirs) {
        for (ours, theirs) in ours.iter().zip(theirs) {
            assert_eq!(ours, theirs, "{name}");
        }
        assert_eq!(ours.len(), theirs.len(), "{name}");
    }
}

/// The state after an entry, by a replay of everything before it.
fn state_at(log: &dyn Log, index: u64) -> State {
    let mut fsm = Fsm::new(Rules::for_version(Version::NEWEST));
    replay(log, &mut fsm, (Index(0), Term(0)), Index(index), &mut (), &mut []).unwrap();
    let mut state = State::blank();
    state.put_image(fsm.state().image());
    state
}

fn history(seed: u64) -> History {
    History::new(Plot { seed, ..Plot::default() })
}

fn raft_db(dir: &Path, seed: u64, entries: u64) {
    fs::create_dir_all(dir).unwrap();
    write_bolt(&dir.join("raft.db"), Layout::default(), &mut history(seed), entries).unwrap();
}

fn rewrite(dir: &Path, work: impl FnOnce(&mut Transaction)) {
    let mut transaction = Transaction::default();
    work(&mut transaction);
    Db::open(&dir.join("raft.db")).unwrap().commit(transaction).unwrap();
}

#[track_caller]
fn refused(result: Result<Joined, LedgerError>, with: &str) {
    let error = result.unwrap_err();
    assert!(matches!(error, LedgerError::OtherLog { .. }), "{error}");
    assert!(error.to_string().contains(with) && error.to_string().contains("--db"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(12) })]

    #[test]
    fn a_ledger_extended_is_the_ledger_made_at_once(seed in 0_u64..1000, cuts in prop::collection::vec(1_u64..1200, 1..4)) {
        let dir = tempdir().unwrap();
        raft_db(dir.path(), seed, 1200);
        let evidence = evidence::open(dir.path()).unwrap();
        let mut cuts = cuts;
        cuts.sort();
        let mut ledger = Ledger::in_memory().unwrap();
        let mut before = 0;
        for cut in cuts.into_iter().chain([1200]) {
            let (extended, run) = extend(ledger, &*evidence.log, Index(cut)).unwrap();
            // Only what is new is replayed.
            assert_eq!((run.from, run.told), (Index(before), cut - before));
            assert_eq!(differences(&run.state, &state_at(&*evidence.log, cut)), []);
            (ledger, before) = (extended, cut);
        }
        assert_same(&dump(ledger.connection()), &whole(dir.path()));
    }
}

#[test]
fn any_index_of_a_kept_ledger_is_near_a_kept_state() {
    let dir = tempdir().unwrap();
    raft_db(dir.path(), 9, 2500);
    let evidence = evidence::open(dir.path()).unwrap();
    let (mut ledger, _) = extend(Ledger::in_memory().unwrap(), &*evidence.log, Index(2500)).unwrap();
    let dumped = dump(ledger.connection());
    for index in [2499, 2500, 1801, 1200, 700, 350, 101, 100, 99, 1] {
        let (same, run) = extend(ledger, &*evidence.log, Index(index)).unwrap();
        assert!(run.told <= 100 + index / 16, "{index}: {}", run.told);
        assert_eq!(differences(&run.state, &state_at(&*evidence.log, index)), [], "{index}");
        ledger = same;
    }
    // Asking for what is known writes nothing.
    assert_same(&dump(ledger.connection()), &dumped);
}

#[test]
fn a_state_that_cannot_be_read_costs_a_replay_of_everything() {
    let dir = tempdir().unwrap();
    raft_db(dir.path(), 9, 700);
    let evidence = evidence::open(dir.path()).unwrap();
    let (ledger, _) = extend(Ledger::in_memory().unwrap(), &*evidence.log, Index(600)).unwrap();
    ledger.connection().execute("UPDATE image SET state = x'00010203'", []).unwrap();
    let (ledger, run) = extend(ledger, &*evidence.log, Index(700)).unwrap();
    assert_eq!((run.from, run.told), (Index(0), 700));
    assert_same(&dump(ledger.connection()), &whole(dir.path()));
}

#[test]
fn a_log_compacted_at_the_front_is_still_the_same() {
    let dir = tempdir().unwrap();
    let file = dir.path().join("ledger.db");
    raft_db(&dir.path().join("a"), 3, 900);
    grow(&file, &dir.path().join("a")).unwrap();
    rewrite(&dir.path().join("a"), |t| (1..700_u64).for_each(|i| t.delete("logs", &i.to_be_bytes())));
    let joined = grow(&file, &dir.path().join("a")).unwrap();
    assert_eq!(joined.last.map(|(index, _)| index), Some(Index(900)));
    rewrite(&dir.path().join("a"), |t| (700..=900_u64).for_each(|i| t.delete("logs", &i.to_be_bytes())));
    let more: Vec<Entry> = history(3).take(950).skip(900).collect();
    rewrite(&dir.path().join("a"), |t| more.iter().for_each(|entry| put(t, entry)));
    refused(grow(&file, &dir.path().join("a")), "no entry in both");
}

#[test]
fn a_tail_that_the_log_gave_up_is_rolled_back() {
    let dir = tempdir().unwrap();
    let file = dir.path().join("ledger.db");
    let log = dir.path().join("a");
    raft_db(&log, 5, 800);
    grow(&file, &log).unwrap();
    // Another leader's entries stand in the place of the last hundred.
    let term = history(5).take(800).last().unwrap().term + 1;
    let tail: Vec<Entry> =
        history(6).skip(300).take(60).zip(701..).map(|(e, index)| Entry { index, term, ..e }).collect();
    rewrite(&log, |t| {
        (701..=800_u64).for_each(|i| t.delete("logs", &i.to_be_bytes()));
        tail.iter().for_each(|entry| put(t, entry));
    });
    let joined = grow(&file, &log).unwrap();
    assert_eq!(joined.last.map(|(index, _)| index), Some(Index(700)));
    assert_eq!(joined.rolled_back, Some((Index(701), Index(800))));
    let ledger = Ledger::open(&file).unwrap();
    assert_same(&dump(ledger.connection()), &whole(&log));
}

#[test]
fn another_log_another_base_or_other_rules_are_refused_and_change_nothing() {
    let dir = tempdir().unwrap();
    let file = dir.path().join("ledger.db");
    raft_db(&dir.path().join("a"), 7, 500);
    raft_db(&dir.path().join("b"), 8, 600);
    raft_db(&dir.path().join("short"), 7, 400);
    grow(&file, &dir.path().join("a")).unwrap();
    let before = fs::read(&file).unwrap();

    refused(grow(&file, &dir.path().join("b")), "other content");
    refused(grow(&file, &dir.path().join("short")), "ends at 400");
    raft_db(&dir.path().join("c"), 7, 600);
    let mut other = history(7).take(500).last().unwrap();
    other.data[20] ^= 1;
    rewrite(&dir.path().join("c"), |t| put(t, &other));
    refused(grow(&file, &dir.path().join("c")), "entry 500 has other content");

    let a = evidence::open(&dir.path().join("a")).unwrap();
    let join = |basis: Basis| Ledger::open(&file).unwrap().join(&*a.log, &basis);
    refused(join(Basis { rules: "1.0.4".into(), ..basis() }), "--rules");
    refused(join(Basis { base: "nothing", ..basis() }), "starts from");
    assert!(fs::read(&file).unwrap() == before);
}
