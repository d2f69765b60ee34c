//! What reading and replaying cost, counted in allocations and bytes on made-up logs: the same on every machine and
//! in every run, where seconds are not. A limit is near what was counted when it was written; who passes one made
//! each entry dearer, and should know why.

use std::ops::ControlFlow;

use allocation_counter::{AllocationInfo, measure};
use tempfile::{TempDir, tempdir};

use crate::support::synth::bolt::Layout;
use crate::support::synth::history::{History, Plot};
use crate::support::synth::write_bolt;
use raftscope::audit::Audit;
use raftscope::entry::message_type::MessageTypes;
use raftscope::evidence::{self, Evidence, LogType, Record};
use raftscope::fsm::Fsm;
use raftscope::fsm::rules::{Rules, Version};
use raftscope::replay::{Subscriber, replay};
use raftscope::types::{Index, Term};

/// Fewer than a replay reads ahead on another thread, where nothing would be counted.
const ENTRIES: u64 = 1000;

fn log(entries: u64) -> (TempDir, Evidence) {
    let dir = tempdir().unwrap();
    let path = dir.path().join("raft.db");
    write_bolt(&path, Layout::default(), &mut History::new(Plot::default()), entries).unwrap();
    let evidence = evidence::open(&path).unwrap();
    (dir, evidence)
}

fn replayed(evidence: &Evidence, subscribers: &mut [&mut dyn Subscriber]) -> AllocationInfo {
    measure(|| {
        let mut fsm = Fsm::new(Rules::for_version(Version::NEWEST));
        replay(&*evidence.log, &mut fsm, (Index(0), Term(0)), Index(u64::MAX), &mut (), subscribers).unwrap();
    })
}

/// Allocations, and bytes of them, for each entry.
fn each(cost: &AllocationInfo) -> (f64, f64) {
    (cost.count_total as f64 / ENTRIES as f64, cost.bytes_total as f64 / ENTRIES as f64)
}

fn assert_within(what: &str, cost: &AllocationInfo, most: (f64, f64)) {
    let (count, bytes) = each(cost);
    assert!(count <= most.0, "{what}: {count} allocations for each entry, not more than {} are allowed", most.0);
    assert!(bytes <= most.1, "{what}: {bytes} bytes allocated for each entry, not more than {} are allowed", most.1);
}

#[test]
fn reading_an_entry_allocates_next_to_nothing() {
    let (_dir, evidence) = log(ENTRIES);
    let cost = measure(|| {
        let all = Index(0)..=Index(u64::MAX);
        evidence.log.scan(all, &mut |_| ControlFlow::Continue(())).unwrap();
    });
    assert_within("a scan", &cost, (3.0, 3_500.0));
}

#[test]
fn replaying_an_entry_allocates_for_the_rows_that_it_writes() {
    let (_dir, evidence) = log(ENTRIES);
    assert_within("a replay", &replayed(&evidence, &mut []), (26.0, 11_700.0));
}

#[test]
fn an_audit_adds_little_to_the_replay_that_it_watches() {
    let (_dir, evidence) = log(ENTRIES);
    let mut audit = Audit::new(MessageTypes::default());
    assert_within("an audit", &replayed(&evidence, &mut [&mut audit]), (31.0, 12_300.0));
}

#[test]
fn an_entry_that_changes_nothing_allocates_nothing() {
    let mut fsm = Fsm::new(Rules::for_version(Version::NEWEST));
    let decoder = fsm.decoder();
    // A reconcile of nothing would be one more; a type from the future is none of raft's own.
    let entries = [(LogType::Noop, &[][..]), (LogType::Barrier, &[]), (LogType::Command, &[0xf0, 0x80])];
    let cost = measure(|| {
        for (kind, data) in entries {
            let record = Record { index: Index(9), term: Term(2), kind, data, appended_at: None };
            let message = decoder.read(&record);
            assert!(fsm.apply(&record, message.as_ref()).changes.is_empty());
        }
    });
    assert_eq!(cost.count_total, 0);
}

#[test]
fn memory_follows_what_is_alive_and_not_the_length_of_the_log() {
    let peak = |entries| replayed(&log(entries).1, &mut []).bytes_max;
    let (short, long) = (peak(4_000), peak(16_000));
    assert!(long < short * 13 / 10, "{short} bytes at most for 4,000 entries, and {long} for 16,000");
}
