//! The investigation that the tool is modelled on (hashicorp/nomad#10145), asked as a user asks, and the same fault on a
//! real cluster.

mod support;

use serde_json::{Value, json};
use support::cases::fixtures;
use support::run::{Output, raftscope};

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
