//! `state` on recorded logs: options, formats and exit codes. That its rows are right is held elsewhere.

use crate::common;

use crate::common::{check_schema, fixture, refused, run_to};
use serde_json::{Value, json};

/// The children of horizontal_hey, as Pending, Running, Dead.
fn children(args: &[&str]) -> Value {
    let hey = fixture("horizontal_hey");
    let jq = r#".JobSummaries[] | select(.JobID == "horizontal_hey") | .Children | [.Pending, .Running, .Dead]"#;
    run_to(0, &[&["state"], args, &["--jq", jq, &hey]].concat()).json()
}

#[test]
fn the_state_of_any_index_can_be_asked_for() {
    for args in [&["--last-index", "1608"][..], &["-last-index=1608"], &["--last-index", "-1437"]] {
        assert_eq!(children(args), json!([0, 0, 12]), "{args:?}");
    }
    for args in [&["--last-index", "1609"][..], &["-last-index=1609"], &["-last-index", "1609", "--rules", "1.0.4"]] {
        assert_eq!(children(args), json!([1, -1, 12]), "{args:?}");
    }
    for args in [&[][..], &["--last-index", "3045"], &["--last-index", "0"], &["--last-index", "99999"]] {
        assert_eq!(children(args), json!([1, -18, 29]), "{args:?}");
    }
    let hey = fixture("horizontal_hey");
    let past = run_to(0, &["state", "--last-index", "99999", "--tables", "Indexes", &hey]);
    assert!(past.stderr.starts_with("note: "), "{}", past.stderr);
    run_to(3, &["state", "--last-index", "-99999", &hey]);
}

#[test]
fn counting_back_leaves_jobs_out() {
    let case = fixture("last_index");
    let jobs = |n: &str| run_to(0, &["state", "--last-index", n, "--jq", ".Jobs | length", &case]).json();
    assert_eq!([jobs("-3"), jobs("0"), jobs("99")], [json!(7), json!(10), json!(10)]);
}

#[test]
fn the_formats_hold_the_same_rows() {
    for case in ["real-2.0.5/s1", "real-1.0.4/s2", "healthy", "secrets"] {
        let case = fixture(case);
        let state = common::run(&["state", "--allow-incomplete", &case]).json();
        check_schema("state", &state);
        assert_eq!(common::run(&["state", "--allow-incomplete", "-pretty", &case]).json(), state);
        let mut lines = common::run(&["state", "--allow-incomplete", "--format", "ndjson", &case]).ndjson().into_iter();
        for (table, rows) in state.as_object().unwrap() {
            for row in rows.as_array().unwrap() {
                assert_eq!(lines.next().unwrap(), json!({"table": table, "row": row}));
            }
        }
        assert_eq!(lines.next(), None);
        let jobs = run_jobs_csv(&case);
        assert_eq!(jobs, state["Jobs"].as_array().unwrap().len());
    }
}

fn run_jobs_csv(case: &str) -> usize {
    let csv = common::run(&["state", "--allow-incomplete", "--tables", "Jobs", "--format", "csv", case]).stdout;
    csv::Reader::from_reader(csv.as_bytes()).records().map(Result::unwrap).count()
}

#[test]
fn tables_filters_and_limits_choose_rows() {
    let hey = fixture("horizontal_hey");
    let run = |args: &[&str]| run_to(0, &[&["state", "--rules", "1.0.4"], args, &[&hey]].concat()).json();
    let all = run(&[]);
    let some = run(&["--tables", "JobSummaries,jobs"]);
    assert_eq!(some.as_object().unwrap().keys().collect::<Vec<_>>(), ["JobSummaries", "Jobs"]);
    // The rows themselves can differ in the numbers of their secrets' markers.
    let ids = |v: &Value| v["Jobs"].as_array().unwrap().iter().map(|r| r["ID"].to_string()).collect::<Vec<_>>();
    assert!(ids(&some) == ids(&all));
    let children = run(&["--tables", "Jobs,Evals", "--filter", "parent=horizontal_hey"]);
    let of_parent =
        |rows: &Value| rows.as_array().unwrap().iter().filter(|r| r["ParentID"] == "horizontal_hey").count();
    assert_eq!(children["Jobs"].as_array().unwrap().len(), of_parent(&all["Jobs"]));
    assert!(!children["Evals"].as_array().unwrap().is_empty());
    let dead = run(&["--tables", "Jobs", "--filter", "status=dead"]);
    assert!(dead["Jobs"].as_array().unwrap().iter().all(|r| r["Status"] == "dead"));
    let late = run(&["--tables", "Jobs", "--filter", "type=JobRegister", "--from-index", "3000"]);
    assert_eq!(late["Jobs"].as_array().unwrap().len(), 1);
    assert_eq!(late["Jobs"][0]["ModifyIndex"], 3045);
    let few = run(&["--limit", "3"]);
    assert_eq!(few.as_object().unwrap().values().map(|rows| rows.as_array().unwrap().len()).sum::<usize>(), 3);
    let table = run_to(0, &["state", "--format", "table", "--tables", "JobSummaries", &hey]).stdout;
    assert!(table.starts_with("JobSummaries (") && table.contains("Running -18"), "{table}");
}

#[test]
fn jq_over_tables_equals_jq_over_the_document() {
    let case = fixture("real-2.0.5/s1");
    let streamed = run_to(0, &["state", "--jq", ".[] | length", &case]).ndjson();
    let whole = run_to(0, &["state", "--jq", "[.[] | length]", &case]).json();
    assert_eq!(Value::from(streamed), whole);
}

#[test]
fn mistakes_are_told_what_to_type_instead() {
    let hey = fixture("horizontal_hey");
    refused(&["state", "--tables", "Jbos", &hey], &["`Jobs`"]);
    refused(&["state", "--tables", "Widgets", &hey], &["Allocs, CSIPlugins"]);
    refused(&["state", "--format", "csv", &hey], &["--tables Jobs"]);
    refused(&["state", "1609", &hey], &["--last-index 1609"]);
    let unsure = run_to(3, &["state", &fixture("unknown_types")]);
    assert!(unsure.json().is_object() && unsure.stderr.contains("warning: "));
}

#[test]
fn no_secret_of_the_log_is_in_the_state() {
    let case = fixture("secrets");
    let shown = common::run(&["state", "--allow-incomplete", "--unsafe-show-secrets", &case]).stdout;
    let hidden = common::run(&["state", "--allow-incomplete", &case]).stdout;
    assert_ne!(shown, hidden);
    for case in ["table", "ndjson"] {
        let other = common::run(&["state", "--allow-incomplete", "--format", case, &fixture("secrets")]).stdout;
        assert!(!other.is_empty());
    }
}
