//! Histories that did not happen: `--skip`, `--patch`, `--append`, and bodies that go to JSON and back.

use crate::common;

use std::io::Write;
use std::ops::{ControlFlow, RangeInclusive};

use crate::common::{fixture, refused, run, run_to};
use crate::support::cases::{self, Store};
use raftscope::audit::Audit;
use raftscope::audit::finding::Kind;
use raftscope::entry::encode;
use raftscope::entry::json::BodyWriter;
use raftscope::entry::message_type::MessageTypes;
use raftscope::evidence::{self, EvidenceError, Log, LogType, Record, Scanned};
use raftscope::fsm::Fsm;
use raftscope::fsm::rules::Rules;
use raftscope::redact::Redactor;
use raftscope::replay::{Replayed, Subscriber, replay};
use raftscope::rows::{self, LogBodies, Table};
use raftscope::timeline::{TimelineRow, changed_jobs};
use raftscope::types::{Index, Term};
use raftscope::whatif::{Altered, Expression};

/// The rows of the timeline as text.
#[derive(Default)]
struct Timeline(Vec<String>);

impl Subscriber for Timeline {
    fn entry(&mut self, entry: Replayed<'_>) {
        for (job, view) in changed_jobs(&entry) {
            let row =
                TimelineRow { index: entry.record.index, term: entry.record.term, entry: String::new(), job, view };
            self.0.push(serde_json::to_string(&row).unwrap());
        }
    }
}

/// The timeline and the whole state of a log from its first entry.
fn told(log: &dyn Log, rules: &str) -> (Vec<String>, String) {
    let mut fsm = Fsm::new(Rules::for_version(rules.parse().unwrap()));
    let mut timeline = Timeline::default();
    let start = (Index(0), Term(0));
    replay(log, &mut fsm, start, Index(u64::MAX), &mut (), &mut [&mut timeline]).unwrap();
    let mut state = Vec::new();
    rows::write(fsm.state(), &LogBodies::new(log), Table::ALL, &mut Redactor::showing(), &mut state).unwrap();
    (timeline.0, String::from_utf8(state).unwrap())
}

/// A log whose bodies went to JSON and back, with or without the original at hand.
struct ToJsonAndBack<'l> {
    log: &'l dyn Log,
    with_original: bool,
}

impl ToJsonAndBack<'_> {
    fn payload(&self, kind: LogType, data: &[u8]) -> Vec<u8> {
        let mut json = Vec::new();
        match BodyWriter::new().record(kind, data, &mut Redactor::showing(), &mut json) {
            Ok(true) => {}
            _ => return data.to_vec(),
        }
        let json = serde_json::from_slice(&json).unwrap();
        match kind {
            LogType::Command => encode::command(data[0], &json, self.with_original.then_some(&data[1..])),
            _ => encode::raft(&json, self.with_original.then_some(data)),
        }
        .unwrap()
    }
}

impl Log for ToJsonAndBack<'_> {
    fn bounds(&self) -> Option<(Index, Index)> {
        self.log.bounds()
    }

    fn scan(
        &self,
        range: RangeInclusive<Index>,
        sink: &mut dyn FnMut(Scanned<'_>) -> ControlFlow<()>,
    ) -> Result<(), EvidenceError> {
        self.log.scan(range, &mut |scanned| match scanned {
            Scanned::Entry(record) => {
                let data = self.payload(record.kind, record.data);
                sink(Scanned::Entry(Record { data: &data, ..record }))
            }
            damaged => sink(damaged),
        })
    }

    fn data(&self, index: Index) -> Result<Option<Vec<u8>>, EvidenceError> {
        let mut found = None;
        self.scan(index..=index, &mut |scanned| {
            if let Scanned::Entry(record) = scanned {
                found = Some(record.data.to_vec());
            }
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }
}

/// Every log of the fixtures that begins at 1, once.
fn logs() -> Vec<(String, Box<dyn Log>)> {
    let mut found = Vec::new();
    for recording in cases::all().iter().flat_map(|case| case.recordings()) {
        if recording.stores == [Store::Bolt] && !found.iter().any(|(label, _)| *label == recording.label) {
            let log = evidence::open(&recording.evidence).unwrap().log;
            if log.bounds().is_some_and(|(first, _)| first == Index(1)) {
                found.push((recording.label.clone(), log));
            }
        }
    }
    assert!(found.len() > 30 || std::env::var_os("RAFTSCOPE_CASE").is_some());
    found
}

#[test]
fn bodies_that_went_to_json_and_back_replay_alike() {
    for (label, log) in logs() {
        let real = label.starts_with("real-");
        for with_original in [true, false].into_iter().filter(|with| real || !with) {
            let back = ToJsonAndBack { log: &*log, with_original };
            let (want, got) = (told(&*log, "2.0.5"), told(&back, "2.0.5"));
            assert!(want.0 == got.0, "{label}: the timeline differs");
            if want.1 != got.1 {
                let at = want.1.bytes().zip(got.1.bytes()).take_while(|(a, b)| a == b).count();
                let around = |text: &str| {
                    String::from_utf8_lossy(&text.as_bytes()[at.saturating_sub(300)..(at + 100).min(text.len())])
                        .into_owned()
                };
                panic!("{label}, original {with_original}:\n{}\n{}", around(&want.1), around(&got.1));
            }
        }
    }
}

#[test]
fn a_patch_that_changes_nothing_keeps_every_byte() {
    let same = Expression::compile(".", |_| {}).unwrap();
    for (label, log) in logs().into_iter().filter(|(label, _)| label.starts_with("real-")) {
        let (first, last) = log.bounds().unwrap();
        let mut altered = Altered::new(&*log);
        for index in (first.0..=last.0).map(Index) {
            let told = altered.patch(index, &same).map_err(|e| e.to_string());
            assert!(told.is_ok() || told.as_ref().is_err_and(|e| e.contains("has no body")), "{label}: {told:?}");
        }
        for index in (first.0..=last.0).map(Index) {
            assert!(altered.data(index).unwrap() == log.data(index).unwrap(), "{label}: entry {index} differs");
        }
    }
}

/// The registers of the investigation that arrived with a status.
const REGISTERS: [u64; 18] =
    [1609, 1668, 1747, 1829, 1917, 2002, 2084, 2170, 2248, 2334, 2435, 2518, 2609, 2698, 2784, 2871, 2959, 3045];

/// The negative and drift findings of a log under these rules.
fn faults(log: &dyn Log, rules: &str) -> Vec<String> {
    let mut fsm = Fsm::new(Rules::for_version(rules.parse().unwrap()));
    let mut audit = Audit::new(MessageTypes::new());
    replay(log, &mut fsm, (Index(0), Term(0)), Index(u64::MAX), &mut (), &mut [&mut audit]).unwrap();
    let findings = audit.finish(fsm.state()).findings;
    let counts = findings.iter().filter(|f| matches!(f.kind, Kind::Negative | Kind::Drift));
    counts.map(|f| format!("{:?} {:?} {:?} {:?}", f.kind, f.parent, f.counter, f.at.index)).collect()
}

#[test]
fn with_the_status_of_each_register_emptied_the_investigation_is_clean() {
    let log = evidence::open(fixture("horizontal_hey").as_ref()).unwrap().log;
    let empty = Expression::compile(".Job.Status = \"\"", |_| {}).unwrap();
    let mut altered = Altered::new(&*log);
    for index in REGISTERS {
        altered.patch(Index(index), &empty).unwrap();
    }
    for rules in ["1.0.4", "2.0.5"] {
        assert!(!faults(&*log, rules).is_empty());
        assert_eq!(faults(&altered, rules), [""; 0]);
    }
}

#[test]
fn an_audit_of_an_altered_log_lists_what_was_altered() {
    let patches: Vec<String> = REGISTERS.iter().map(|index| format!("{index}: .Job.Status = \"\"")).collect();
    let hey = fixture("horizontal_hey");
    for rules in ["1.0.4", "2.0.5"] {
        let mut args = vec!["audit", "--json", "--rules", rules, &hey];
        args.extend(patches.iter().flat_map(|patch| ["--patch", patch]));
        let report = run_to(0, &args).json();
        common::check_schema("audit", &report);
        assert_eq!(report["verdict"], "clean");
        assert_eq!(report["evidence"]["altered"].as_array().unwrap().len(), REGISTERS.len());
        assert_eq!(report["evidence"]["altered"][0], "patch 1609: .Job.Status = \"\"");
    }
    run_to(1, &["audit", "--rules", "1.0.4", &hey]);
}

#[test]
fn without_the_purge_the_parent_keeps_its_counts() {
    for (case, purge) in [("healed_by_reconcile", 16), ("real-2.0.5/s1", 156)] {
        let (folder, server) = case.split_once('/').map_or((case, None), |(case, server)| (case, Some(server)));
        let case = cases::all().into_iter().find(|c| c.name == folder).unwrap();
        let (path, _unpacked) = case.evidence(server);
        let log = evidence::open(&path).unwrap().log;
        assert!(!faults(&*log, "2.0.5").is_empty());
        let mut altered = Altered::new(&*log);
        altered.skip(Index(purge)).unwrap();
        assert_eq!(altered.told(), [format!("skip {purge}")]);
        assert_eq!(faults(&altered, "2.0.5"), [""; 0]);
    }
}

#[test]
fn appended_entries_give_the_timeline_of_the_longer_log() {
    let folder = tempfile::tempdir().unwrap();
    let hey = fixture("horizontal_hey");
    let print = |name: &str, range: [&str; 2]| {
        let rows = run_to(0, &["logs", range[0], range[1], "--unsafe-show-secrets", "--format", "ndjson", &hey]).stdout;
        let path = folder.path().join(name);
        std::fs::File::create(&path).unwrap().write_all(rows.as_bytes()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (short, rest) = (print("short.json", ["--last-index", "2500"]), print("rest.json", ["--from-index", "2501"]));
    let timeline = |args: &[&str]| run_to(0, &[&["timeline", "--format", "ndjson", "--rules", "1.0.4"], args].concat());
    let altered = timeline(&["--append", &rest, &short]);
    assert!(altered.stdout == timeline(&[&hey]).stdout);
    assert!(altered.stderr.contains("append 2501 to 3045"), "{}", altered.stderr);
    refused(&["timeline", "--append", &rest, &hey], &["line 1", "index 2501", "--from-index 3046"]);
}

#[test]
fn an_entry_made_by_hand_needs_no_more_than_its_body() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("more.ndjson");
    let stop =
        r#"{"CommandType":"JobDeregister","Body":{"JobID":"horizontal_hey","Purge":true,"Namespace":"default"}}"#;
    std::fs::write(&file, format!("{stop}\n\n")).unwrap();
    let hey = fixture("horizontal_hey");
    let args = ["timeline", "--append", file.to_str().unwrap(), "--from-index", "-0", "--format", "ndjson", &hey];
    let rows = run_to(0, &args).ndjson();
    assert_eq!(rows.len(), 1);
    assert_eq!((&rows[0]["index"], &rows[0]["deleted"]), (&3046.into(), &true.into()));
    std::fs::write(&file, "{\"CommandType\":\"JobDregister\",\"Body\":{}}").unwrap();
    refused(&args, &["line 1", "CommandType"]);
    let next = "logs --unsafe-show-secrets --format ndjson";
    let faults: &[(&[u8], &[&str])] = &[
        (b"nothing", &["no JSON from column 2 on", next]),
        (b"\n{\"Body\":{", &["line 2", "has no end", next]),
        (b"[]", &["an array, no JSON object", next]),
        (b"{\"Index\":\"3046\"}", &["Index is \"3046\", where a number from 0 on is expected", next]),
        (b"{\"Term\":-1}", &["Term is -1, where a number", next]),
        (b"{\"LogType\":0}", &["LogType is 0, where a name such as \"LogCommand\"", next]),
        (b"{\"CommandType\":[1]}", &["CommandType is an array, where the name or the number of a message type", next]),
        (b"{\"CommandType\":300,\"Body\":{}}", &["CommandType is the name or the number of no message type"]),
        (b"{\"IgnoreUnknownTypeFlag\":1}", &["IgnoreUnknownTypeFlag is 1, where true or false", next]),
        (b"{\"AppendedAt\":\"noon\"}", &["AppendedAt is \"noon\", where a time such as", next]),
        (b"{\"LogType\":\"\xff\"}", &["line 1", "no UTF-8", next]),
    ];
    for (line, wanted) in faults {
        std::fs::write(&file, line).unwrap();
        refused(&args, &[&["--append", "more.ndjson"], *wanted].concat());
    }
}

#[test]
fn altered_output_says_so_and_what_cannot_be_altered_is_told() {
    let hey = fixture("horizontal_hey");
    let ran =
        run(&["timeline", "-q", "--skip", "1609", "--patch", "1668: .Job.Status = \"\"", "--last-index", "5", &hey]);
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.contains("did not happen (skip 1609; patch 1668: .Job.Status = \"\")"), "{}", ran.stderr);
    refused(&["timeline", "--skip", "9999", &hey], &["--skip 9999", "from 1 to 3045"]);
    refused(&["timeline", "--skip", "1609", "--skip", "1609", &hey], &["--skip 1609"]);
    refused(&["timeline", "--patch", "1609 .Job", &hey], &["1609: .Job.Status"]);
    refused(&["timeline", "--patch", "1609: .Job.", &hey], &["--patch"]);
    refused(&["timeline", "--patch", "1609: .Job.Status, 1", &hey], &["--patch 1609", "2 values"]);
    refused(&["timeline", "--patch", "1609: .Job = 5", &hey], &["--patch 1609", "none of its type"]);
    refused(&["timeline", "--append", "/no/such/file", &hey], &["--append"]);
}

#[test]
fn every_command_that_replays_takes_a_history_that_did_not_happen() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (more, ledger, page) = (path("more.ndjson"), path("ledger.db"), path("page.html"));
    let line = r#"{"CommandType":"JobDeregister","Body":{"JobID":"nobody","Purge":true,"Namespace":"default"}}"#;
    std::fs::write(&more, line).unwrap();
    let commands: &[&[&str]] = &[
        &["timeline"],
        &["audit", "--exit-zero"],
        &["state", "--tables", "Jobs"],
        &["diff", "11", "11"],
        &["diff", "--rules", "1.0.4", "--rules", "1.0.6"],
        &["why", "12"],
        &["find", ".Jobs[]"],
        &["blame", "press_kit"],
        &["restarts"],
        &["export", "-o", &ledger],
        &["report", "-o", &page],
    ];
    let case = fixture("waiting_child_stopped");
    for command in commands {
        for alteration in [["--skip", "11"], ["--patch", "11: .Job.Status = \"\""], ["--append", &more]] {
            let ran = run(&[command, &alteration[..], &[case.as_str()]].concat());
            assert!([0, 1].contains(&ran.code), "{command:?} {alteration:?}: {}", ran.stderr);
            let told = format!("did not happen ({}", alteration[0].trim_start_matches('-'));
            assert!(ran.stderr.contains(&told), "{command:?} {alteration:?}: {}", ran.stderr);
            // What is there is not written over.
            let _ = (std::fs::remove_file(&ledger), std::fs::remove_file(&page));
        }
    }
}
