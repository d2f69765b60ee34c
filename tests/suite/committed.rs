//! How sure it is that an entry was committed: what one log proves, what other servers add, and `--committed-only`.

use crate::common::{check_schema, fixture, refused, run_to};
use crate::support::cases;
use crate::support::synth::bolt::Layout;
use crate::support::synth::history::{Entry, History, LogType, Plot};
use crate::support::synth::write_entries;
use serde_json::Value;
use tempfile::{TempDir, tempdir};

fn audited(code: i32, args: &[&str]) -> Value {
    let document = run_to(code, &[&["audit", "--all", "--json"], args].concat()).json();
    check_schema("audit", &document);
    document
}

/// Index and commitment of each finding.
fn marks(document: &Value) -> Vec<(u64, String)> {
    let mark = |f: &Value| (f["index"].as_u64().unwrap(), f["committed"].as_str().unwrap().to_owned());
    document["findings"].as_array().unwrap().iter().map(mark).collect()
}

/// A history with a fault near its end.
fn faulty(count: usize, at: u64) -> (Vec<Entry>, u64) {
    let fault = Some(format!("register_with_status@{at}").parse().unwrap());
    let mut history = History::new(Plot { fault, ..Plot::default() });
    let entries: Vec<Entry> = history.by_ref().take(count).collect();
    (entries, history.planted().unwrap().index)
}

fn write(dir: &TempDir, name: &str, entries: &[Entry]) -> String {
    let path = dir.path().join(name);
    let term = entries.last().unwrap().term;
    write_entries(&path, Layout::default(), entries, term).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_majority_of_servers_proves_what_one_log_leaves_open() {
    let case = cases::below(&cases::fixtures()).into_iter().find(|c| c.name == "real-2.0.5").unwrap();
    let (paths, _unpacked): (Vec<_>, Vec<_>) = ["s1", "s2", "s3"].iter().map(|s| case.evidence(Some(s))).unzip();
    let paths: Vec<&str> = paths.iter().map(|path| path.to_str().unwrap()).collect();
    let alone = audited(1, &paths[..1]);
    let together = audited(1, &paths);
    assert_eq!(alone["evidence"], together["evidence"], "the first is audited");
    assert!(marks(&together).iter().all(|(_, mark)| mark == "proven"), "{:?}", marks(&together));
    let places = |document: &Value| marks(document).into_iter().map(|(index, _)| index).collect::<Vec<_>>();
    assert_eq!(places(&alone), places(&together));
}

#[test]
fn a_finding_in_a_tail_that_others_replaced_is_refuted_and_left_out_on_request() {
    let dir = tempdir().unwrap();
    let (all, planted) = faulty(1_200, 1_100);
    assert!(planted < 1_200);
    // Before the fault the others went on under a new leader.
    let parted = all.iter().position(|entry| entry.index == planted - 5).unwrap();
    let mut others = all.clone();
    let term = all.last().unwrap().term + 1;
    for entry in &mut others[parted..] {
        (entry.term, entry.kind, entry.data) = (term, LogType::Noop, Vec::new());
    }
    // So near to the fault no entry of the old leader mentions it as applied.
    let end = all.iter().position(|entry| entry.index == planted).unwrap();
    let old = write(&dir, "old.db", &all[..=end]);
    let (a, b) = (write(&dir, "a.db", &others), write(&dir, "b.db", &others));
    let told = run_to(1, &["audit", "--all", "--json", &old, &a, &b]);
    let first = all[parted].index;
    assert!(told.stderr.contains(&format!("entries {first} to its end were never committed")), "{}", told.stderr);
    for (index, mark) in marks(&told.json()) {
        assert_eq!(mark, if index < first { "proven" } else { "refuted" }, "{index}");
    }
    let words = run_to(1, &["audit", &old, &a, &b]).stdout;
    assert!(words.contains("the entry was never committed"), "{words}");
    let clean = audited(0, &["--committed-only", &old, &a, &b]);
    assert_eq!((&clean["verdict"], clean["evidence"]["entries"].as_u64()), (&"clean".into(), Some(first - 1)));
    // From the other side nothing is refuted.
    assert!(marks(&audited(0, &[&a, &old, &b])).iter().all(|(_, mark)| mark == "proven"));
    // Two that disagree prove neither.
    assert!(marks(&audited(1, &[&old, &a])).iter().all(|(index, mark)| *index < first || mark == "unknown"));
}

#[test]
fn committed_only_ends_at_the_last_entry_that_a_later_one_or_a_snapshot_proves() {
    let dir = tempdir().unwrap();
    let (all, planted) = faulty(1_200, 1_190);
    let end = all.iter().position(|entry| entry.index == planted).unwrap();
    let log = write(&dir, "tail.db", &all[..=end]);
    let whole = audited(1, &[&log]);
    assert_eq!(marks(&whole).last().unwrap(), &(planted, "unknown".to_owned()));
    let told = run_to(0, &["audit", "--json", "--committed-only", &log]);
    let entries = told.json()["evidence"]["entries"].as_u64().unwrap();
    assert!(entries < planted && entries + 64 > planted, "{entries} of {planted}");
    let next = entries + 1;
    assert!(told.stderr.contains(&format!("entries {next} to {planted}")), "{}", told.stderr);
    // Every command that replays takes it, and counts back from there.
    let at = |args: &[&str]| run_to(0, &[args, &["--committed-only", &log]].concat()).stdout;
    assert_eq!(
        at(&["state", "--last-index", "0"]),
        run_to(0, &["state", "--last-index", &entries.to_string(), &log]).stdout
    );
    let timeline: Vec<Value> = cases::parse_ndjson(&at(&["timeline", "--format", "ndjson"]));
    assert!(timeline.iter().all(|row| row["index"].as_u64() <= Some(entries)));

    // Its snapshot proves all of a compacted log up to it, whatever the entries say.
    let unpacked = cases::below(&cases::fixtures()).into_iter().find(|c| c.name == "compacted_with_overlap").unwrap();
    let (path, _keep) = unpacked.evidence(None);
    let document = audited(0, &["--exit-zero", "--committed-only", path.to_str().unwrap()]);
    assert!(document["evidence"]["entries"].as_u64() > Some(0));
}

#[test]
fn a_log_that_proves_nothing_gives_no_committed_state() {
    let dir = tempdir().unwrap();
    let entry = |index| Entry { index, term: 1, kind: LogType::Noop, data: Vec::new(), appended_at: None };
    let log = write(&dir, "noops.db", &(1..=20).map(entry).collect::<Vec<_>>());
    let told = run_to(3, &["state", "--committed-only", &log]);
    assert!(told.stdout.is_empty() && told.stderr.contains("no entry of the log is proven"), "{}", told.stderr);
    refused(&["state", "--committed-only", "--append", &log, &log], &["--append", "--committed-only"]);
}

#[test]
fn servers_of_other_clusters_and_paths_that_are_not_there_are_no_witnesses() {
    let (new, old) = (fixture("real-2.0.5/s1"), fixture("real-1.0.4/s2"));
    refused(&["audit", &new, &old], &["different clusters"]);
    refused(&["audit", &new, &new], &["twice"]);
    refused(&["audit", "5", &new], &["--last-index 5"]);
    refused(&["audit", "-", &new], &["`-`"]);
}
