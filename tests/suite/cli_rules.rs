//! `rules`: the list of switches, and what differs between two versions.

use crate::common::{check_schema, refused, run_to};
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
