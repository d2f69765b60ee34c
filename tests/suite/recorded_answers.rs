//! The test that matters most: `timeline` equals what real Nomad state machines answered, row by row, for every
//! case in `fixtures/` and every rules version that is due (`tests/support/cases.rs` says which). The replay loop by itself is
//! compared in `replay_equals_nomad.rs`, on more versions and on random histories.

use crate::support;

use std::path::Path;

use crate::support::answers::{Bounds, differences, printed, recorded};
use crate::support::cases::{self, Case, Recording};
use crate::support::run::raftscope;
use serde_json::{Value, json};

/// More differences than these for one recording say nothing new.
const SHOWN: usize = 5;

#[test]
fn timeline_equals_the_recorded_answers() {
    compare_all(cases::all());
}

fn compare_all(cases: Vec<Case>) {
    let mut compared = 0;
    let mut failures = Vec::new();
    for recording in cases.iter().flat_map(Case::recordings).filter(Recording::is_due) {
        let told = compare(&recording);
        compared += 1;
        if !told.is_empty() {
            let more = told.len().saturating_sub(SHOWN);
            let shown = told.into_iter().take(SHOWN).collect::<Vec<_>>().join("\n");
            failures.push(format!("{} under {}:\n{shown}\n  and {more} more", recording.label, recording.rules));
        }
    }
    assert!(failures.is_empty(), "{} of {compared} recordings differ\n{}", failures.len(), failures.join("\n"));
    assert!(compared > 0 || std::env::var_os("RAFTSCOPE_CASE").is_some(), "nothing was compared");
}

fn compare(recording: &Recording) -> Vec<String> {
    let evidence = recording.evidence.to_str().unwrap();
    let timeline = raftscope(["timeline", evidence, "--rules", &recording.rules, "--format", "ndjson"]);
    // 3: an entry that no rules understand makes the evidence incomplete, and the rest is printed all the same.
    if timeline.code != 0 && timeline.code != 3 {
        return vec![format!("  {} ended with {}: {}", timeline.line, timeline.code, timeline.stderr)];
    }
    let bounds = Bounds { base: base(&recording.results()), first_reconcile: first_reconcile(&recording.evidence) };
    let printed = timeline.ndjson().iter().map(printed).collect();
    differences(recording.rows().iter().map(recorded).collect(), printed, bounds)
}

/// The index of the snapshot that a recording started from; 0 when it started from nothing.
fn base(results: &[Value]) -> u64 {
    let snapshots = results.iter().filter(|row| row.get("snapshot").is_some() && row.get("error").is_none());
    snapshots.filter_map(|row| row["i"].as_u64()).max().unwrap_or(0)
}

fn first_reconcile(evidence: &Path) -> Option<u64> {
    let filter = ["--filter", "type=ReconcileJobSummaries", "--limit", "1", "--format", "ndjson"];
    let logs = raftscope(["logs", evidence.to_str().unwrap()].into_iter().chain(filter));
    logs.ndjson().first().and_then(|row| row["Index"].as_u64())
}

mod comparing {
    use super::*;

    fn told(expected: Value, got: Value, bounds: Bounds) -> Vec<String> {
        let rows = |list: Value, read: fn(&Value) -> support::answers::Row| {
            list.as_array().unwrap().iter().map(read).collect::<Vec<_>>()
        };
        differences(rows(expected, recorded), rows(got, printed), bounds)
    }

    fn expected_row(queued: i64) -> Value {
        json!({"i": 7, "t": 2, "ns": "default", "job": "a", "status": "running", "children": [1, -1, 12],
               "groups": {"g": {"Queued": queued, "Complete": 0, "Failed": 0, "Running": 3, "Starting": 0, "Lost": 0}}})
    }

    fn printed_row(queued: Value) -> Value {
        json!({"index": 7, "term": 2, "entry": "EvalUpdateRequestType", "namespace": "default", "job": "a",
               "status": "running", "children": {"Pending": 1, "Running": -1, "Dead": 12},
               "groups": {"g": {"Queued": queued, "Complete": 0, "Failed": 0, "Running": 3, "Starting": 0, "Lost": 0,
                                "Unknown": 0}}})
    }

    #[test]
    fn a_missing_unknown_counter_is_zero() {
        assert!(told(json!([expected_row(0)]), json!([printed_row(json!(0))]), Bounds::default()).is_empty());
    }

    #[test]
    fn another_count_is_told_with_both_rows() {
        let told = told(json!([expected_row(0)]), json!([printed_row(json!(2))]), Bounds::default());
        assert_eq!(told.len(), 1);
        assert!(told[0].contains("Queued 2") && told[0].contains("expected"), "{told:?}");
    }

    #[test]
    fn a_row_on_one_side_only_is_told() {
        assert!(told(json!([expected_row(0)]), json!([]), Bounds::default())[0].contains("got      no row"));
        assert!(told(json!([]), json!([printed_row(json!(0))]), Bounds::default())[0].contains("expected no row"));
    }

    #[test]
    fn a_deleted_job_equals_only_a_deleted_job() {
        let gone = json!({"i": 7, "t": 2, "ns": "default", "job": "a", "deleted": true});
        let said = json!({"index": 7, "term": 2, "namespace": "default", "job": "a", "deleted": true});
        assert!(told(json!([gone]), json!([said]), Bounds::default()).is_empty());
        assert_eq!(told(json!([gone]), json!([printed_row(json!(0))]), Bounds::default()).len(), 1);
    }

    #[test]
    fn absent_children_are_null_and_absent_groups_are_null_or_empty() {
        let bare = json!({"i": 7, "t": 2, "ns": "default", "job": "a", "status": "dead"});
        for groups in [json!(null), json!({})] {
            let said = json!({"index": 7, "term": 2, "namespace": "default", "job": "a", "status": "dead",
                              "children": null, "groups": groups});
            assert!(told(json!([bare]), json!([said]), Bounds::default()).is_empty());
        }
        let zeros = json!({"index": 7, "term": 2, "namespace": "default", "job": "a", "status": "dead",
                           "children": {"Pending": 0, "Running": 0, "Dead": 0}, "groups": null});
        assert_eq!(told(json!([bare]), json!([zeros]), Bounds::default()).len(), 1);
    }

    #[test]
    fn queued_is_compared_up_to_the_first_reconcile_and_not_from_it_on() {
        let bounds = |first_reconcile| Bounds { base: 0, first_reconcile: Some(first_reconcile) };
        let rows = || (json!([expected_row(0)]), json!([printed_row(json!(null))]));
        assert_eq!(told(rows().0, rows().1, bounds(8)).len(), 1);
        assert!(told(rows().0, rows().1, bounds(7)).is_empty());
    }

    #[test]
    fn a_row_that_only_queued_changed_is_dropped_after_a_reconcile_on_either_side() {
        let bounds = Bounds { base: 0, first_reconcile: Some(8) };
        let mut later = expected_row(5);
        later["i"] = json!(9);
        assert!(told(json!([expected_row(0), later]), json!([printed_row(json!(0))]), bounds).is_empty());
        let mut later = printed_row(json!(5));
        later["index"] = json!(9);
        assert!(told(json!([expected_row(0)]), json!([printed_row(json!(0)), later]), bounds).is_empty());
    }

    #[test]
    fn rows_at_or_below_the_base_are_not_compared() {
        let bounds = Bounds { base: 7, first_reconcile: None };
        assert!(told(json!([expected_row(0)]), json!([printed_row(json!(2))]), bounds).is_empty());
    }

    #[test]
    fn rows_out_of_order_are_told() {
        let mut first = printed_row(json!(0));
        first["job"] = json!("b");
        let mut expected = expected_row(0);
        expected["job"] = json!("b");
        let rows = json!([first, printed_row(json!(0))]);
        let told = told(json!([expected_row(0), expected]), rows, Bounds::default());
        assert!(told.len() == 1 && told[0].contains("out of order"), "{told:?}");
    }
}
