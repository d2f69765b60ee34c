//! A state restored from a snapshot is the state that the server held: its rows equal the recorded ones, those that a
//! replay to the same index gives, and the replay goes on from it as recorded.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;

use crate::support::answers::{Bounds, Row, differences, printed, recorded};
use crate::support::cases::{self, Recording, fixtures};
use raftscope::evidence::snapshot::Snapshot;
use raftscope::evidence::{self, Evidence, LogType};
use raftscope::fsm::Fsm;
use raftscope::fsm::restore::{Restore, Restored};
use raftscope::fsm::rules::Rules;
use raftscope::redact::Redactor;
use raftscope::replay::{Replayed, Subscriber, replay};
use raftscope::rows::{self, LogBodies, Table};
use raftscope::timeline::{TimelineRow, all_jobs, changed_jobs};
use raftscope::types::{Index, Term};
use serde_json::Value;

/// The message type of a reconcile.
const RECONCILE: u8 = 10;

/// Fields that a server fills from its own clock or by chance, or of what it makes by itself, before its first entry:
/// where a replay has null, it cannot know them.
const UNTOLD: &[(&str, &str)] = &[
    ("PeriodicLaunches", ".Launch"),
    ("Deployments", ".RequireProgressBy"),
    ("JobSummaries", ".Queued"),
    ("Namespaces", ".Description"),
    ("Namespaces", ".Hash"),
    ("NodePools", ".Description"),
    ("NodePools", ".NodeIdentityTTL"),
];

/// Fields that Nomad has since 1.1 and 1.5: rows are printed in the newest shape, with the defaults that the FSM fills
/// in where it writes a row and not where it restores one, so that what an older server wrote differs in them.
const NEWER: &[&str] = &[".Identity", ".MemoryMaxMB"];

fn rules(version: &str) -> Rules {
    Rules::for_version(version.parse().unwrap())
}

fn restore(snapshot: &Snapshot, rules: &Rules) -> Restored {
    assert!(snapshot.is_usable(), "{:?}", snapshot.verify());
    let mut restore = Restore::new(rules, snapshot.info().index);
    let end = snapshot.records(&mut |record| {
        restore.record(record.kind, record.offset, record.value);
        ControlFlow::Continue(())
    });
    assert_eq!(end.unwrap().problem, None);
    restore.finish()
}

#[derive(Default)]
struct Watch {
    rows: Vec<Row>,
    first_reconcile: Option<u64>,
}

impl Watch {
    fn see(&mut self, index: Index, term: Term, job: (raftscope::types::JobKey, Option<raftscope::timeline::JobView>)) {
        let row = TimelineRow { index, term, entry: String::new(), job: job.0, view: job.1 };
        self.rows.push(printed(&serde_json::to_value(row).unwrap()));
    }
}

impl Subscriber for Watch {
    fn entry(&mut self, entry: Replayed<'_>) {
        if entry.record.kind == LogType::Command && entry.record.data.first() == Some(&RECONCILE) {
            self.first_reconcile.get_or_insert(entry.record.index.0);
        }
        for job in changed_jobs(&entry) {
            self.see(entry.record.index, entry.record.term, job);
        }
    }
}

/// What the recording says of its base: the snapshot's name and why the version refused it, if it did.
fn base_of(recording: &Recording) -> Option<(String, Option<String>)> {
    let results = recording.results();
    let row = results.iter().find(|row| row["snapshot"].is_string())?;
    Some((row["snapshot"].as_str()?.to_owned(), row["error"].as_str().map(str::to_owned)))
}

#[test]
fn a_replay_from_a_snapshot_is_the_recorded_one() {
    let (mut compared, mut failures) = (0, Vec::new());
    for recording in cases::all().iter().flat_map(|case| case.recordings()) {
        let Some((id, None)) = base_of(&recording) else { continue };
        compared += 1;
        let evidence = evidence::open(&recording.evidence).unwrap();
        let snapshot = evidence.snapshots.iter().find(|s| s.info().id.as_deref() == Some(&*id)).unwrap();
        let (index, term) = (snapshot.info().index, snapshot.info().term);
        let rules = rules(&recording.rules);
        let restored = restore(snapshot, &rules);
        assert!(restored.is_accepted(), "{} under {}", recording.label, recording.rules);
        let mut fsm = Fsm::from_state(rules, restored.state);
        let mut watch = Watch::default();
        for job in all_jobs(fsm.state()) {
            watch.see(index, term, job);
        }
        replay(&*evidence.log, &mut fsm, (index, term), Index(u64::MAX), &mut (), &mut [&mut watch]).unwrap();
        let bounds = Bounds { base: index.0 - 1, first_reconcile: watch.first_reconcile };
        let told = differences(recording.rows().iter().map(recorded).collect(), watch.rows, bounds);
        failures
            .extend(told.into_iter().take(1).map(|d| format!("{} under {}:\n{d}", recording.label, recording.rules)));
    }
    assert!(failures.is_empty(), "{} of {compared} differ\n{}", failures.len(), failures.join("\n"));
    assert!(compared >= 30 || std::env::var_os("RAFTSCOPE_CASE").is_some(), "{compared} compared");
}

#[test]
fn a_snapshot_that_a_version_refuses_is_told_to_be_too_new() {
    let mut refused = 0;
    // A refused snapshot leaves no rows, so its recordings are told by their results alone.
    for case in cases::all() {
        for version in ["1.0.3", "1.0.4", "1.2.0"] {
            let path = case.dir.join(format!("oracle-{version}.results.ndjson"));
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            if !text.contains("Unrecognized snapshot type: [28]") {
                continue;
            }
            refused += 1;
            let evidence = evidence::open(&case.dir).unwrap();
            let restored = restore(evidence.snapshots.last().unwrap(), &rules(version));
            assert!(!restored.is_accepted() && restored.too_new.contains_key(&28), "{} {version}", case.name);
            assert!(restored.unknown.is_empty() && restored.undecodable.is_empty());
        }
    }
    assert!(refused >= 6 || std::env::var_os("RAFTSCOPE_CASE").is_some(), "{refused} refused");
}

/// The whole state as JSON.
fn state(fsm: &Fsm, evidence: &Evidence) -> Value {
    let bodies = LogBodies::new(&*evidence.log).with_snapshots(&evidence.snapshots);
    let mut out = Vec::new();
    rows::write(fsm.state(), &bodies, Table::ALL, &mut Redactor::showing(), &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

fn compare(table: &str, path: String, replayed: &Value, restored: &Value, out: &mut BTreeSet<String>) {
    let masked = UNTOLD.iter().any(|(t, field)| *t == table && path.ends_with(field));
    match (replayed, restored) {
        (Value::Null, _) if masked => {}
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys()).collect::<BTreeSet<_>>() {
                let of = |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or(Value::Null);
                compare(table, format!("{path}.{key}"), &of(a), &of(b), out);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().for_each(|(i, (x, y))| compare(table, format!("{path}[{i}]"), x, y, out));
        }
        (a, b) if is_zero(a) && is_zero(b) => {}
        (a, b) if a != b => {
            let cut = |v: &Value| v.to_string().chars().take(300).collect::<String>();
            out.insert(format!("{path}: {} replayed, {} restored", cut(a), cut(b)));
        }
        _ => {}
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(b) => !b,
        Value::Number(n) => n.as_f64() == Some(0.0),
        Value::String(s) => s.is_empty() || s == "0001-01-01T00:00:00Z",
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.values().all(is_zero),
    }
}

/// Holds every snapshot of `with` against a replay of the log of `of`, which begins at 1, to its index.
fn hold(of: &Path, with: &Path, version: &str) -> usize {
    let (whole, evidence) = (evidence::open(of).unwrap(), evidence::open(with).unwrap());
    for snapshot in &evidence.snapshots {
        let (info, rules) = (snapshot.info(), rules(version));
        let mut fsm = Fsm::new(rules.clone());
        let start = (Index(0), Term(0));
        let reached = replay(&*whole.log, &mut fsm, start, info.index, &mut (), &mut []).unwrap();
        assert_eq!((reached.index, reached.term), (info.index, info.term));
        let replayed = state(&fsm, &whole);
        let restored = state(&Fsm::from_state(rules.clone(), restore(snapshot, &rules).state), &evidence);
        let mut found = BTreeSet::new();
        for table in Table::ALL.iter().map(|table| table.name()) {
            // Neither is in a snapshot.
            if !["AutopilotConfig", "OneTimeTokens"].contains(&table) {
                compare(table, table.to_owned(), &replayed[table], &restored[table], &mut found);
            }
        }
        if version != "2.0.5" {
            found.retain(|told: &String| !NEWER.iter().any(|field| told.contains(&format!("{field}: "))));
        }
        assert!(found.is_empty(), "{} against {}: {found:#?}", info.path, of.display());
    }
    evidence.snapshots.len()
}

#[test]
fn every_row_of_a_snapshot_is_that_of_a_replay_to_its_index() {
    let case = |name: &str| cases::below(&fixtures()).into_iter().find(|case| case.name == name);
    let mut held = 0;
    for (name, of, with, version) in
        [("real-2.0.5", "s1", "s2", "2.0.5"), ("real-2.0.5", "s1", "s3", "2.0.5"), ("real-1.0.4", "s2", "s3", "1.0.4")]
    {
        let Some(case) = case(name) else { continue };
        let (of, with) = (case.evidence(Some(of)), case.evidence(Some(with)));
        held += hold(&of.0, &with.0, version);
        held += hold(&of.0, &case.dir.join("backup.snap"), version);
    }
    for (name, version) in
        [("compacted_with_overlap", "2.0.5"), ("compacted_old_rules", "1.0.3"), ("compacted_mismatch", "1.0.4")]
    {
        if let Some(case) = case(name) {
            held += hold(&case.dir, &case.dir, version);
        }
    }
    assert!(held >= 10 || std::env::var_os("RAFTSCOPE_CASE").is_some(), "{held} held");
}

#[test]
fn the_snapshot_with_secrets_goes_on_as_its_log_does() {
    let evidence = evidence::open(&fixtures().join("secrets/with_snapshot")).unwrap();
    let whole = evidence::open(&fixtures().join("secrets")).unwrap();
    let rules = rules("2.0.5");
    let restored = restore(&evidence.snapshots[0], &rules);
    let mut fsm = Fsm::from_state(rules.clone(), restored.state);
    let base = (evidence.snapshots[0].info().index, evidence.snapshots[0].info().term);
    replay(&*evidence.log, &mut fsm, base, Index(u64::MAX), &mut (), &mut []).unwrap();
    let mut other = Fsm::new(rules);
    replay(&*whole.log, &mut other, (Index(0), Term(0)), Index(u64::MAX), &mut (), &mut []).unwrap();
    let mut found = BTreeSet::new();
    let (restored, replayed) = (state(&fsm, &evidence), state(&other, &whole));
    for table in Table::ALL.iter().filter(|table| table.is_default()).map(|table| table.name()) {
        compare(table, table.to_owned(), &replayed[table], &restored[table], &mut found);
    }
    assert!(found.is_empty(), "{found:#?}");
    assert_eq!(replayed["CSIVolumes"].as_array().map(Vec::len), Some(1));
}
