//! The investigation that the tool is modelled on (hashicorp/nomad#10145), asked as a user asks, and the same fault on a
//! real cluster.

use crate::support::cases::fixtures;
use crate::support::run::{Output, raftscope};
use serde_json::{Value, json};

fn fixture(name: &str) -> String {
    fixtures().join(name).to_str().unwrap().to_owned()
}

/// Pending, Running, Dead of a parent in what `state` printed.
fn children(state: &Output, parent: &str) -> Value {
    let state = state.json();
    let rows = state["JobSummaries"].as_array().unwrap();
    let row = rows.iter().find(|row| row["JobID"] == parent && row["Namespace"] == "default").unwrap();
    json!([row["Children"]["Pending"], row["Children"]["Running"], row["Children"]["Dead"]])
}

fn finding<'a>(audit: &'a Value, kind: &str, parent: &str) -> &'a Value {
    let list = audit["findings"].as_array().unwrap();
    list.iter().find(|finding| finding["kind"] == kind && finding["parent"] == parent).unwrap()
}

#[test]
fn audit_names_the_first_negative_count_its_entry_and_the_leader_change_before_it() {
    let audit = raftscope(["audit", &fixture("horizontal_hey"), "--format", "json"]).expect_code(1).json();
    assert_eq!(audit["verdict"], "findings");
    let negative = finding(&audit, "negative", "horizontal_hey");
    let expected = [
        ("counter", json!("Running")),
        ("value", json!(-1)),
        ("index", json!(1609)),
        ("term", json!(3)),
        ("entry", json!("JobRegisterRequestType")),
        ("leader_change", json!({"index": 1561, "term": 3})),
    ];
    for (key, value) in expected {
        assert_eq!(negative[key], value, "{key}");
    }
    assert_eq!(negative["cause"]["rule"], "register_with_status");
    assert_eq!(negative["cause"]["index"], 1609);
    assert_eq!(negative["cause"]["status"], "running");
}

#[test]
fn the_table_of_an_audit_names_them_too() {
    let table = raftscope(["audit", &fixture("horizontal_hey")]).expect_code(1).stdout;
    for word in ["horizontal_hey", "Running", "-1", "1609", "term 3", "JobRegister", "running", "1561"] {
        assert!(table.contains(word), "no {word:?} in\n{table}");
    }
}

#[test]
fn exit_zero_reports_without_failing() {
    let audit = raftscope(["audit", "--exit-zero", &fixture("horizontal_hey"), "--format", "json"]).expect_code(0);
    assert_eq!(audit.json()["verdict"], "findings");
}

#[test]
fn the_same_fault_is_found_on_a_real_cluster() {
    let audit = raftscope(["audit", &fixture("real-1.0.4/s2"), "--format", "json"]).expect_code(1).json();
    let periodic = finding(&audit, "negative", "horizontal_hey");
    assert_eq!((&periodic["index"], &periodic["term"]), (&json!(138), &json!(4)));
    let dispatched = finding(&audit, "negative", "render_report");
    assert_eq!(dispatched["index"], 15);
}

#[test]
fn a_healthy_log_exits_0_and_prints_nothing_wrong() {
    let audit = raftscope(["audit", &fixture("healthy"), "--format", "json"]).expect_code(0).json();
    assert_eq!(audit["verdict"], "clean");
    assert_eq!(audit["complete"], true);
    assert_eq!(audit["findings"], json!([]));
}

#[test]
fn logs_print_the_list_of_the_investigation() {
    let filters = ["--filter", "parent=horizontal_hey", "--filter", "type=JobRegister"];
    let case: Value =
        serde_json::from_slice(&std::fs::read(fixtures().join("horizontal_hey/case.json")).unwrap()).unwrap();
    let registers = &case["expected"]["registers"];
    let indexes = |key: &str| registers[key].as_array().unwrap().clone();
    let mut expected: Vec<_> = indexes("term 2, status \"\"").into_iter().map(|index| json!([2, index, ""])).collect();
    expected.extend(indexes("term 3, status \"running\"").into_iter().map(|index| json!([3, index, "running"])));
    assert_eq!(expected.len(), 30);

    let logs = raftscope(["logs", &fixture("horizontal_hey"), "--format", "ndjson"].into_iter().chain(filters));
    let printed: Vec<_> = logs
        .expect_code(0)
        .ndjson()
        .iter()
        .map(|row| json!([row["Term"], row["Index"], row["Body"]["Job"]["Status"]]))
        .collect();
    assert_eq!(printed, expected);

    // The jq expression of the investigation itself, unchanged.
    let jq = r#".[] | select(.CommandType == "JobRegisterRequestType")
                | select(.Body.Job.ParentID == "horizontal_hey") | [.Term, .Index, .Body.Job.Status]"#;
    let logs = raftscope(["logs", &fixture("horizontal_hey"), "--format", "json", "--jq", jq]).expect_code(0);
    let printed: Vec<Value> =
        serde_json::Deserializer::from_str(&logs.stdout).into_iter().collect::<Result<_, _>>().unwrap();
    assert_eq!(printed, expected);
}

#[test]
fn state_at_an_index_has_the_counts_of_that_index() {
    let path = fixture("horizontal_hey");
    // Under Nomad 1.0.4's rules as under the newest: the counts of the public report.
    for rules in ["1.0.4", "2.0.5"] {
        for (index, expected) in
            [("1608", json!([0, 0, 12])), ("1609", json!([1, -1, 12])), ("3045", json!([1, -18, 29]))]
        {
            let state = raftscope(["state", "--last-index", index, &path, "--rules", rules]).expect_code(0);
            assert_eq!(children(&state, "horizontal_hey"), expected, "{index} under {rules}");
        }
    }
}

#[test]
fn last_index_can_be_written_as_nomad_users_do() {
    let path = fixture("horizontal_hey");
    for arguments in [vec!["-last-index=1609"], vec!["-last-index", "1609"], vec!["--last-index=1609"]] {
        let state = raftscope(["state", &path].into_iter().chain(arguments)).expect_code(0);
        assert_eq!(children(&state, "horizontal_hey"), json!([1, -1, 12]), "{}", state.line);
    }
}

#[test]
fn last_index_counts_from_the_end_as_nomad_documents() {
    let path = fixture("last_index");
    let case: Value = serde_json::from_slice(&std::fs::read(fixtures().join("last_index/case.json")).unwrap()).unwrap();
    for check in case["expected"]["last_index_checks"].as_array().unwrap() {
        let argument = check["arg"].as_str().unwrap();
        let state = raftscope(["state", "--tables", "Jobs", &format!("-last-index={argument}"), &path]).expect_code(0);
        let jobs = state.json()["Jobs"].as_array().map_or(0, Vec::len);
        assert_eq!(json!(jobs), check["jobs"], "-last-index={argument}");
    }
}

#[test]
fn a_last_index_past_the_end_is_the_end_with_a_note() {
    let state = raftscope(["state", "--last-index", "99999", &fixture("horizontal_hey")]).expect_code(0);
    assert_eq!(children(&state, "horizontal_hey"), json!([1, -18, 29]));
    assert!(state.stderr.contains("3045"), "{}", state.stderr);
}

#[test]
fn a_last_index_further_back_than_the_first_is_out_of_the_evidence() {
    let state = raftscope(["state", "-last-index=-5000", &fixture("horizontal_hey")]).expect_code(3);
    assert_eq!(state.stdout, "");
}
