//! `audit --prove`: causes are tested by replaying without them.

use crate::common::{check_schema, fixture, run, run_to};
use crate::support::cases::{self, Store};
use raftscope::audit::finding::{Finding, Rule};
use raftscope::audit::{Audit, prove};
use raftscope::entry::message_type::MessageTypes;
use raftscope::evidence;
use raftscope::fsm::Fsm;
use raftscope::fsm::rules::Rules;
use raftscope::replay::replay;
use raftscope::types::{Index, Term};

/// The findings of a log under these rules, from its first entry.
fn findings(log: &dyn evidence::Log, rules: &Rules) -> Vec<Finding> {
    let mut fsm = Fsm::new(rules.clone());
    let mut audit = Audit::new(MessageTypes::new());
    replay(log, &mut fsm, (Index(0), Term(0)), Index(u64::MAX), &mut (), &mut [&mut audit]).unwrap();
    audit.finish(fsm.state()).findings
}

fn proved(log: &dyn evidence::Log, rules: &Rules, findings: &mut [Finding]) {
    prove::prove(log, &[], |_| Ok((Fsm::new(rules.clone()), (Index(0), Term(0)))), findings.iter_mut()).unwrap();
}

#[test]
fn every_cause_of_every_case_is_confirmed() {
    let mut confirmed = std::collections::BTreeMap::new();
    for recording in cases::all().iter().flat_map(|case| case.recordings()) {
        if recording.stores != [Store::Bolt] {
            continue;
        }
        let log = evidence::open(&recording.evidence).unwrap().log;
        let rules = Rules::for_version(recording.rules.parse().unwrap());
        let before = findings(&*log, &rules);
        let mut after = before.clone();
        proved(&*log, &rules, &mut after);
        for (before, after) in before.iter().zip(&after) {
            let (Some(cause), Some(proved)) = (&before.cause, &after.cause) else { continue };
            if cause.rule.can_be_proven() {
                let label = format!("{} under {}: {:?}", recording.label, recording.rules, before);
                assert_eq!(proved.rule, cause.rule, "{label}: {}", proved.detail);
                assert_eq!(proved.proof.as_ref().map(|p| p.symptom), Some("gone"), "{label}");
                *confirmed.entry(cause.rule).or_insert(0) += 1;
            } else {
                assert_eq!(proved.proof, None);
            }
        }
    }
    assert!(confirmed.len() >= 6 || std::env::var_os("RAFTSCOPE_CASE").is_some(), "{confirmed:?}");
}

#[test]
fn every_cause_is_confirmed_behind_a_snapshot_and_out_of_a_write_ahead_log_too() {
    let mut confirmed = 0;
    for recording in cases::all().iter().flat_map(|case| case.recordings()) {
        if recording.stores == [Store::Bolt] || !recording.is_due() {
            continue;
        }
        let evidence = recording.evidence.to_str().unwrap();
        let ran = run(&["audit", "--all", "--prove", "--json", "--rules", &recording.rules, evidence]);
        let report = ran.json();
        for cause in report["findings"].as_array().unwrap().iter().filter_map(|finding| finding.get("cause")) {
            match cause["rule"].as_str().unwrap() {
                "base" => assert_eq!(cause.get("proof"), None),
                _ => {
                    let label = format!("{} under {}: {cause}", recording.label, recording.rules);
                    assert_eq!(cause["proof"]["symptom"], "gone", "{label}");
                    confirmed += 1;
                }
            }
        }
    }
    assert!(confirmed > 20 || std::env::var_os("RAFTSCOPE_CASE").is_some(), "{confirmed}");
}

#[test]
fn a_cause_behind_a_snapshot_that_the_replay_went_on_from_is_tested_from_there() {
    // Under these rules the replay disagrees with the snapshot at 90.
    let ask = ["audit", "--all", "--prove", "--json", "--rules", "1.0.3", &fixture("compacted_mismatch")];
    let report = run_to(1, &ask).json();
    let behind = report["findings"].as_array().unwrap().iter().filter(|f| f["cause"]["index"].as_u64() > Some(90));
    let proofs: Vec<_> = behind.map(|f| (&f["cause"]["rule"], &f["cause"]["proof"]["symptom"])).collect();
    assert!(!proofs.is_empty());
    assert!(proofs.iter().all(|proof| *proof == (&"double_pending".into(), &"gone".into())), "{proofs:?}");
    run_to(1, &[&ask[..], &["--filter", "parent=stock_sync"]].concat());
}

#[test]
fn a_cause_that_is_planted_wrongly_is_refuted() {
    let log = evidence::open(fixture("horizontal_hey").as_ref()).unwrap().log;
    let rules = Rules::for_version("1.0.4".parse().unwrap());
    let mut found = findings(&*log, &rules);
    found.retain(|f| f.cause.as_ref().is_some_and(|c| c.rule == Rule::RegisterWithStatus));
    let innocent = 1504;
    for finding in &mut found {
        finding.cause.as_mut().unwrap().at.index = Index(innocent);
    }
    assert!(!found.is_empty());
    proved(&*log, &rules, &mut found);
    for finding in found {
        let cause = finding.cause.unwrap();
        assert_eq!((cause.rule, cause.proof), (Rule::Unexplained, None));
        assert!(cause.detail.contains("register_with_status at entry 1504"), "{}", cause.detail);
    }
}

#[test]
fn a_reconcile_is_previewed_as_the_next_entry_of_the_log_does_it() {
    // The log of the case has a reconcile at 22: what it did is what the audit up to 21 says it would do.
    let case = fixture("healed_by_reconcile");
    let ask = |rest: &[&str]| run(&[&["audit", "--preview-reconcile", "--last-index", "21"], rest, &[&case]].concat());
    let report = ask(&["--json"]).json();
    check_schema("audit", &report);
    let rows =
        run_to(0, &["timeline", "--from-index", "22", "--last-index", "22", "--format", "ndjson", &case]).ndjson();
    let previewed = report["preview"].as_array().unwrap();
    let parent = previewed.iter().find(|p| p["job"] == "invoice_mailer").unwrap();
    let done = rows.iter().find(|row| row["job"] == "invoice_mailer").unwrap();
    assert_eq!(parent["then"]["children"], done["children"]);
    assert_ne!(parent["now"]["children"], done["children"]);
    let text = ask(&[]).stdout;
    assert!(text.contains("invoice_mailer: from Pending 0, Running -1"), "{text}");
    let healthy = run_to(0, &["audit", "--preview-reconcile", "--json", &fixture("healthy")]).json();
    assert!(healthy["preview"].is_array());
    assert!(run_to(0, &["audit", "--json", &fixture("healthy")]).json().get("preview").is_none());
}

#[test]
fn the_command_prints_the_proof() {
    let hey = fixture("horizontal_hey");
    let report = run_to(1, &["audit", "--prove", "--rules", "1.0.4", "--json", &hey]).json();
    check_schema("audit", &report);
    let causes: Vec<_> = report["findings"].as_array().unwrap().iter().filter_map(|f| f.get("cause")).collect();
    assert!(!causes.is_empty());
    for cause in causes {
        assert_eq!(cause["proof"]["symptom"], "gone");
        assert_eq!(cause["proof"]["altered"], "patch 1609: .Job.Status = \"\"");
    }
    assert_eq!(report["evidence"]["base"]["index"], 0);
    assert!(report["evidence"].get("altered").is_none(), "the audit itself is of the log as it is");
    let text = run(&["audit", "--prove", "--rules", "1.0.4", &hey]).stdout;
    assert!(text.contains("the count is right"), "{text}");
}
