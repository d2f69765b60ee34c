//! Entries that a real state machine refused or crashed on are found as such, at the same indexes, and no others.

use std::collections::BTreeSet;

use crate::common::{fixture, run_to};
use crate::support::answers::recorded_refusal;
use crate::support::cases::{self, Case, Recording};
use crate::support::findings::is_due;
use crate::support::run::raftscope;

/// The kinds that tell an entry which had not its effect.
const KINDS: [&str; 3] = ["rejected_entry", "undecodable_entry", "unknown_type"];

#[test]
fn refused_and_undecodable_entries_are_those_of_the_recorded_state_machines() {
    compare_all(cases::all());
}

fn compare_all(cases: Vec<Case>) {
    let mut compared = 0;
    let mut failures = Vec::new();
    for recording in cases.iter().flat_map(Case::recordings).filter(Recording::is_due) {
        let recorded: BTreeSet<_> = recording.results().iter().filter_map(recorded_refusal).filter(due).collect();
        let printed = printed(&recording);
        compared += 1;
        if recorded != printed {
            failures.push(format!(
                "{} under {}:\n  missing: {:?}\n  unexpected: {:?}",
                recording.label,
                recording.rules,
                recorded.difference(&printed).collect::<Vec<_>>(),
                printed.difference(&recorded).collect::<Vec<_>>()
            ));
        }
    }
    assert!(failures.is_empty(), "{} of {compared} recordings differ\n{}", failures.len(), failures.join("\n"));
    assert!(compared > 0 || std::env::var_os("RAFTSCOPE_CASE").is_some(), "nothing was compared");
}

fn due((_, kind): &(u64, &'static str)) -> bool {
    is_due(kind)
}

fn printed(recording: &Recording) -> BTreeSet<(u64, &'static str)> {
    let evidence = recording.evidence.to_str().unwrap();
    let audit = raftscope(["audit", evidence, "--rules", &recording.rules, "--all", "--format", "json"]);
    let audit = audit.json();
    let findings = audit["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["severity"] != "note" || finding["kind"] == "rejected_entry");
    findings
        .filter_map(|finding| {
            let kind = KINDS.into_iter().find(|kind| finding["kind"] == **kind)?;
            Some((finding["index"].as_u64().unwrap(), kind))
        })
        .filter(due)
        .collect()
}

#[test]
fn what_no_state_machine_can_use_is_listed_counted_and_passed_and_the_crash_is_told() {
    let path = fixture("unknown_types");
    // Unknown types without and with the ignore flag, an empty command, half a body, no body.
    let entries = [(12, true), (13, false), (15, true), (17, true), (19, true), (20, true)];
    let listed = run_to(2, &["logs", "--format", "ndjson", &path]).ndjson();
    assert_eq!(listed.len(), 22);
    for rules in ["1.0.4", "2.0.5"] {
        let audit = run_to(3, &["audit", "--all", "--json", "--rules", rules, &path]).json();
        assert_eq!(audit["evidence"]["undecodable"], 3);
        let findings = audit["findings"].as_array().unwrap();
        for (index, crashes) in entries {
            let finding = findings.iter().find(|finding| finding["index"] == index).unwrap();
            let told = finding["detail"].as_str().unwrap();
            assert_eq!(told.contains(&format!("a server of Nomad {rules} crashes on it")), crashes, "{index}: {told}");
            let why = run_to(3, &["why", &index.to_string(), "--rules", rules, &path]).stdout;
            assert!(why.contains(told) && why.contains("changed: nothing"), "{why}");
        }
        // The replay went on behind them.
        let rows = run_to(3, &["timeline", "--format", "ndjson", "--rules", rules, &path]).ndjson();
        assert_eq!(rows.last().unwrap()["index"], 21);
    }
}
