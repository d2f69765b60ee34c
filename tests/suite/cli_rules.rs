//! `rules`: the list of switches, and what differs between two versions.

use crate::common::{check_schema, fixture, refused, run_to};
use serde_json::json;

#[test]
fn every_switch_is_listed_with_its_versions_and_pull_requests() {
    let rows = run_to(0, &["rules", "--json"]).json();
    check_schema("rules", &rows);
    let find = |name: &str| rows.as_array().unwrap().iter().find(|r| r["switch"] == name).unwrap().clone();
    assert_eq!(find("new_job_status_kept")["pull_requests"], json!(["#9768", "#9884"]));
    assert_eq!(find("purge_cleans_up")["since"], json!(["1.8.0", "1.7.3", "1.6.6", "1.5.13"]));
    let table = run_to(0, &["rules"]).stdout;
    assert_eq!(table.lines().count(), rows.as_array().unwrap().len() + 1);
    assert!(table.contains("#27353"));
}

#[test]
fn two_versions_are_compared_and_one_is_described() {
    let rows = run_to(0, &["rules", "1.0.3", "1.0.4", "--json"]).json();
    check_schema("rules", &rows);
    assert_eq!(rows.as_array().unwrap().len(), 1);
    assert_eq!(
        (&rows[0]["switch"], &rows[0]["a"], &rows[0]["b"]),
        (&json!("new_job_status_kept"), &json!(false), &json!(true))
    );
    let one = run_to(0, &["rules", "1.0.4", "--json"]).json();
    check_schema("rules", &one);
    assert!(one.as_array().unwrap().iter().any(|r| r["switch"] == "sysbatch" && r["a"] == false));
    let varied = run_to(0, &["rules", "2.0.5", "reset-child-status", "--format", "csv"]).stdout;
    assert!(varied.lines().nth(1).unwrap().starts_with("reset_child_status,false,true,"), "{varied}");
    let same = run_to(0, &["rules", "1.0.4", "1.0.4"]);
    assert!(same.stderr.contains("alike"), "{}", same.stderr);
}

#[test]
fn what_is_no_version_is_refused() {
    refused(&["rules", "1.0", "1.0.4"], &["rules: ", "1.6.2"]);
    refused(&["timeline", "--rules", "1.0.3", "--rules", "1.0.4"], &["only `diff`"]);
}

#[test]
fn it_is_always_said_which_rules_were_used_why_and_which_others_are_possible() {
    for (case, used) in [
        // Two remain possible, and the snapshot decides between what the writer leaves.
        (
            "horizontal_hey",
            "the rules of Nomad 1.1.2 are used (the newest version that can have written the last register); those of 1.0.18, 1.0.3 are possible too",
        ),
        (
            "compacted_mismatch",
            "the rules of Nomad 1.1.2 are used (the newest that reproduce the snapshot in the log, which others do not)",
        ),
        (
            "compacted_old_rules",
            "the rules of Nomad 1.0.3 are used (the newest that reproduce the snapshot in the log, which others do not)",
        ),
    ] {
        for command in ["timeline", "state"] {
            let told = run_to(0, &[command, "--last-index", "0", &fixture(case)]).stderr;
            assert!(told.contains(used), "{case}: {told}");
        }
        assert!(!run_to(0, &["timeline", "--quiet", &fixture(case)]).stderr.contains("rules"));
    }
    let asked = run_to(0, &["timeline", "--rules", "1.0.4", &fixture("horizontal_hey")]).stderr;
    assert!(!asked.contains("the rules of"), "{asked}");
    let differing = run_to(1, &["audit", &fixture("horizontal_hey")]).stderr;
    assert!(differing.contains("those of 1.0.3 are possible too and answer differently"), "{differing}");
}

#[test]
fn a_number_that_is_named_for_another_table_tells_nothing_of_the_writer() {
    // The log is of a build of 1.2 with a message of its own under 47, which 1.3 has as something else.
    let case = fixture("job_restart_request");
    let named = ["timeline", "--message-type", "47=JobRestartRequestType", &case];
    assert!(run_to(0, &named).stderr.contains("the rules of Nomad 1.2.3 are used"));
    let info = run_to(0, &["info", "--message-type", "47=JobRestartRequestType", "--json", &case]).json();
    assert_eq!((&info["writer"]["at_least"], &info["writer"]["before"]), (&json!("1.1.3"), &json!("1.2.4")));
}
