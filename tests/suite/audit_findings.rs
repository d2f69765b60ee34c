//! `audit` finds what `case.json` of every case expects, and of those kinds nothing else
//! (`tests/support/findings.rs` says which kinds and causes are due).

use crate::support::cases::{self, Recording, Store};
use crate::support::findings::{differences, expected, misjudged, printed};
use crate::support::run::raftscope;
use raftscope::audit::Audit;
use raftscope::entry::message_type::MessageTypes;
use raftscope::evidence;
use raftscope::fsm::Fsm;
use raftscope::fsm::rules::Rules;
use raftscope::replay::replay;
use raftscope::types::{Index, Term};
use serde_json::{Value, json};

#[test]
fn audit_finds_what_each_case_expects_and_nothing_else() {
    compare_all(Recording::is_due, |recording| {
        let evidence = recording.evidence.to_str().unwrap();
        let audit = raftscope(["audit", evidence, "--rules", &recording.rules, "--all", "--format", "json"]);
        let report = audit.json();
        let told = misjudged(&report, audit.code);
        assert!(told.is_empty(), "{}\n{}\n{}", audit.line, told.join("\n"), audit.stderr);
        report
    });
}

#[test]
fn the_audit_itself_finds_them_under_every_recorded_version() {
    compare_all(|recording| recording.stores == [Store::Bolt], audited);
}

/// What `audit --all` prints for a recording, as the whole report.
fn report(recording: &Recording) -> Value {
    let evidence = recording.evidence.to_str().unwrap();
    raftscope(["audit", evidence, "--rules", &recording.rules, "--all", "--format", "json"]).json()
}

#[test]
fn of_a_case_in_which_nothing_is_wrong_nothing_is_said() {
    let mut healthy = 0;
    for case in cases::all() {
        for recording in case.recordings().into_iter().filter(|recording| recording.server.is_none()) {
            if expected(&case, &recording).is_none_or(|expected| !expected.is_empty()) {
                continue;
            }
            let found = &report(&recording)["findings"];
            assert_eq!(*found, json!([]), "{} under {}", recording.label, recording.rules);
            healthy += 1;
        }
    }
    assert!(healthy > 100 || std::env::var_os("RAFTSCOPE_CASE").is_some(), "{healthy} recordings are healthy");
}

#[test]
fn of_the_real_cluster_nothing_but_what_its_case_names_is_more_than_a_note() {
    let Some(case) = cases::all().into_iter().find(|case| case.name == "real-2.0.5") else { return };
    let recordings: Vec<_> = case.recordings().into_iter().filter(|recording| recording.rules == "2.0.5").collect();
    assert_eq!(recordings.len(), 3);
    for recording in recordings {
        let report = report(&recording);
        let serious = report["findings"].as_array().unwrap().iter().filter(|finding| finding["severity"] != "note");
        let serious: Vec<Value> = serious.cloned().collect();
        let told = differences(expected(&case, &recording).unwrap(), printed(&json!({"findings": serious})));
        assert!(told.is_empty(), "{}\n{}", recording.label, told.join("\n"));
        let others =
            serious.iter().filter(|finding| !["negative", "drift"].contains(&finding["kind"].as_str().unwrap()));
        assert_eq!(others.count(), 0, "{}: {serious:#?}", recording.label);
    }
}

fn compare_all(due: fn(&Recording) -> bool, audit: fn(&Recording) -> Value) {
    let mut compared = 0;
    let mut failures = Vec::new();
    for case in cases::all() {
        for recording in case.recordings().into_iter().filter(due) {
            let Some(expected) = expected(&case, &recording) else { continue };
            let told = differences(expected, printed(&audit(&recording)));
            compared += 1;
            if !told.is_empty() {
                failures.push(format!("{} under {}:\n{}", recording.label, recording.rules, told.join("\n")));
            }
        }
    }
    assert!(failures.is_empty(), "{} of {compared} audits differ\n{}", failures.len(), failures.join("\n"));
    assert!(compared > 0 || std::env::var_os("RAFTSCOPE_CASE").is_some(), "nothing was compared");
}

/// The audit without the program around it.
fn audited(recording: &Recording) -> Value {
    let evidence = evidence::open(&recording.evidence).unwrap();
    let mut fsm = Fsm::new(Rules::for_version(recording.rules.parse().unwrap()));
    let mut audit = Audit::new(MessageTypes::default());
    let start = (Index(0), Term(0));
    replay(&*evidence.log, &mut fsm, start, Index(u64::MAX), &mut (), &mut [&mut audit]).unwrap();
    json!({"findings": audit.finish(fsm.state()).findings})
}

mod comparing {
    use super::*;

    fn finding(value: i64) -> Value {
        json!({"kind": "drift", "index": 7, "term": 2, "namespace": "default", "parent": "p", "counter": "Running",
               "value": value, "cause": {"rule": "lost_parent", "index": 6, "term": 2}})
    }

    fn told(expected: &[Value], found: &[Value]) -> Vec<String> {
        differences(printed(&json!({"findings": expected})), printed(&json!({"findings": found})))
    }

    #[test]
    fn equal_findings_agree() {
        assert!(told(&[finding(1)], &[finding(1)]).is_empty());
    }

    #[test]
    fn a_finding_on_one_side_only_is_told() {
        assert!(told(&[finding(1)], &[])[0].contains("not found"));
        assert!(told(&[], &[finding(1)])[0].contains("not expected"));
    }

    #[test]
    fn another_value_and_another_cause_are_told() {
        assert!(told(&[finding(1)], &[finding(2)])[0].contains("value is 2"));
        let mut other = finding(1);
        other["cause"]["index"] = json!(5);
        assert!(told(&[finding(1)], &[other])[0].contains("cause is"));
        let mut unexplained = finding(1);
        unexplained["cause"]["rule"] = json!("unexplained");
        assert!(told(&[finding(1)], &[unexplained])[0].contains("cause is"));
    }
}
