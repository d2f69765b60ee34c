//! `why`, `diff`, `find` and `blame` on recorded logs.

use crate::common;

use crate::common::{check_schema, fixture, refused, run_to};
use serde_json::{Value, json};

fn hey(args: &[&str]) -> Vec<String> {
    let hey = fixture("horizontal_hey");
    args.iter().map(|arg| (*arg).to_owned()).chain(["--rules".into(), "1.0.4".into(), hey]).collect()
}

fn on_hey(code: i32, args: &[&str]) -> common::Output {
    let args = hey(args);
    run_to(code, &args.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn why_tells_what_the_guilty_entry_did() {
    let told = on_hey(0, &["why", "1609", "--json"]).json();
    check_schema("why", &told);
    assert_eq!(
        (&told["term"], &told["entry"], &told["outcome"]),
        (&json!(3), &json!("JobRegisterRequestType"), &json!("applied"))
    );
    assert_eq!(told["carries"]["jobs"].as_array().unwrap().len(), 1);
    let job = &told["carries"]["jobs"][0];
    assert_eq!((&job["parent"], &job["status"]), (&json!("horizontal_hey"), &json!("running")));
    let counter = &told["counters"][0];
    assert_eq!((&counter["from"], &counter["to"]), (&json!("running"), &json!("pending")));
    assert_eq!(counter["after"], json!({"Pending": 1, "Running": -1, "Dead": 12}));
    let changes = told["changes"].as_array().unwrap();
    let running = changes.iter().find(|c| c["field"] == "/Children/Running").unwrap();
    assert_eq!(
        (&running["table"], &running["before"], &running["after"]),
        (&json!("JobSummaries"), &json!(0), &json!(-1))
    );
    let child = changes.iter().find(|c| c["table"] == "Jobs" && c["change"] == "created").unwrap();
    assert_eq!(child["after"]["ParentID"], "horizontal_hey");
    let rows = on_hey(0, &["why", "1609", "--format", "ndjson"]).ndjson();
    assert_eq!(&rows, changes);
    let text = on_hey(0, &["why", "1609"]).stdout;
    for words in ["entry 1609, term 3: JobRegister", "child of horizontal_hey", "Running -1", "Children.Running"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn why_explains_every_kind_of_entry() {
    for (case, index, outcome) in [
        ("rejected_entries", None, "refused"),
        ("unknown_types", Some("12"), "unknown_type"),
        ("healthy", Some("1"), "raft"),
    ] {
        let path = fixture(case);
        let index = index.map(str::to_owned).unwrap_or_else(|| {
            let refused = run_to(0, &["audit", "--all", "--json", "--exit-zero", &path]).json();
            let findings = refused["findings"].as_array().unwrap().clone();
            findings.iter().find(|f| f["kind"] == "rejected_entry").unwrap()["index"].to_string()
        });
        let ran = common::run(&["why", &index, "--json", &path]);
        let told = ran.json();
        check_schema("why", &told);
        assert_eq!(told["outcome"], outcome, "{case}");
    }
    refused(&["why", &fixture("healthy")], &["INDEX"]);
    refused(&["why"], &["INDEX is missing"]);
}

#[test]
fn why_names_the_sender_and_hides_its_token() {
    let case = fixture("secrets");
    let mut senders = 0;
    for entry in common::run(&["logs", "--format", "ndjson", &case]).ndjson() {
        let index = entry["Index"].to_string();
        let ran = common::run(&["why", &index, "--json", &case]);
        let told = ran.json();
        check_schema("why", &told);
        senders += u32::from(told["by"].is_object());
        assert!(!ran.stdout.contains("SECRET-"), "{index}: {}", ran.stdout);
    }
    assert!(senders > 0);
}

/// Applies a JSON Patch.
fn apply(document: &mut Value, patch: &Value) {
    for op in patch.as_array().unwrap() {
        let path = op["path"].as_str().unwrap();
        let (parent, key) = path.rsplit_once('/').unwrap();
        let key = key.replace("~1", "/").replace("~0", "~");
        let parent = document.pointer_mut(parent).unwrap_or_else(|| panic!("{path} leads nowhere"));
        match (op["op"].as_str().unwrap(), parent) {
            ("add", Value::Array(items)) => items.insert(key.parse().unwrap(), op["value"].clone()),
            ("remove", Value::Array(items)) => assert_eq!(items.remove(key.parse::<usize>().unwrap()), op["was"]),
            ("add" | "replace", Value::Object(map)) => drop(map.insert(key, op["value"].clone())),
            ("replace", Value::Array(items)) => items[key.parse::<usize>().unwrap()] = op["value"].clone(),
            ("remove", Value::Object(map)) => assert_eq!(map.remove(&key).as_ref(), op.get("was")),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_diff_applied_to_one_state_gives_the_other() {
    let cases = [
        ("horizontal_hey", 3045),
        ("healed_by_reconcile", 20),
        ("restart_inplace", 20),
        ("switch_purge_removes_allocs", 12),
        ("real-2.0.5/s1", 300),
        ("real-1.0.4/s2", 200),
    ];
    for (case, last) in cases {
        let path = fixture(case);
        let state = |index: u64| {
            run_to(0, &["state", "--unsafe-show-secrets", "--last-index", &index.to_string(), &path]).json()
        };
        for (a, b) in [(2, last / 2), (last / 2, last / 2 + 3), (last / 3, last - 1), (last - 1, 3)] {
            let (from, to) = (a.to_string(), b.to_string());
            let patch = common::run(&["diff", &from, &to, "--unsafe-show-secrets", "--json", &path]);
            let patch = patch.json();
            check_schema("diff", &patch);
            let mut document = state(a);
            apply(&mut document, &patch);
            let want = state(b);
            for (table, rows) in want.as_object().unwrap() {
                assert!(document.get(table) == Some(rows), "{case} {a} to {b}: {table} differs");
            }
            assert_eq!(document.as_object().unwrap().len(), want.as_object().unwrap().len());
        }
    }
}

#[test]
fn a_diff_of_equal_states_is_empty_and_ends_with_0() {
    assert_eq!(on_hey(0, &["diff", "5", "5", "--json"]).json(), json!([]));
    let rows =
        on_hey(1, &["diff", "1608", "1609", "--tables", "JobSummaries", "--filter", "job=horizontal_hey"]).stdout;
    assert!(rows.contains("Children.Running") && !rows.contains("ModifyIndex"), "{rows}");
    let note = on_hey(1, &["diff", "1608", "1609"]).stderr;
    assert!(note.contains("nothing but indexes"), "{note}");
    let ops = on_hey(1, &["diff", "1608", "1609", "--tables", "JobSummaries", "--format", "ndjson"]).ndjson();
    let running = ops.iter().find(|op| op["path"].as_str().unwrap().ends_with("/Children/Running")).unwrap();
    assert_eq!(
        (&running["was"], &running["value"], &running["row"]),
        (&json!(0), &json!(-1), &json!("default/horizontal_hey"))
    );
    refused(&["diff", "5", &fixture("healthy")], &["B"]);
    refused(&["diff", "1", "2", "--last-index", "5", &fixture("healthy")], &["A and B are the range"]);
}

#[test]
fn rule_books_part_where_the_recordings_do() {
    let path = fixture("horizontal_hey");
    let args = ["diff", "--rules", "1.0.3", "--rules", "1.0.4"];
    let told = run_to(1, &[&args[..], &["--json", &path]].concat()).json();
    check_schema("diff-rules", &told);
    let rows = |rules| run_to(0, &["timeline", "--rules", rules, "--format", "ndjson", &path]).ndjson();
    let (old, new) = (rows("1.0.3"), rows("1.0.4"));
    let first = old.iter().zip(&new).find(|(a, b)| a != b).map(|(a, b)| a["index"].as_u64().min(b["index"].as_u64()));
    assert_eq!(told["first"]["index"].as_u64(), first.unwrap());
    let parent = told["jobs"].as_array().unwrap().iter().find(|j| j["job"] == "horizontal_hey").unwrap();
    let last = |rows: &[Value]| rows.iter().rfind(|r| r["job"] == "horizontal_hey").unwrap()["children"].clone();
    assert_eq!((&parent["a"]["children"], &parent["b"]["children"]), (&last(&old), &last(&new)));
    let table = run_to(1, &[&args[..], &[&path]].concat()).stdout;
    assert!(table.contains("they part at entry"), "{table}");
    let same = run_to(0, &["diff", "--rules", "1.0.4", "--rules", "1.0.6", "--json", &path]).json();
    check_schema("diff-rules", &same);
    assert_eq!((&same["first"], &same["jobs"]), (&Value::Null, &json!([])));
}

#[test]
fn find_stops_at_the_first_entry_after_which_the_expression_is_true() {
    for expression in [
        ".JobSummaries[] | .Children != null and .Children.Running < 0",
        "[.JobSummaries[].Children.Running | numbers | select(. < 0)] | length > 0",
        "any(.JobSummaries[]; .Children.Running < 0)",
        "[.. | .Running? // 0 | numbers] | min < 0",
    ] {
        let last: &[&str] = if expression.contains("..") { &["--from-index", "1606"] } else { &[] };
        let found = on_hey(0, &[&["find", expression, "--json"], last].concat()).json();
        check_schema("find", &found);
        assert_eq!((&found[0]["index"], found.as_array().unwrap().len()), (&json!(1609), 1), "{expression}");
    }
    let rows =
        on_hey(0, &["find", ".JobSummaries[] | .Children.Running < 0", "--limit", "3", "--format", "ndjson"]).ndjson();
    assert_eq!(rows.len(), 3);
    assert!(rows[0]["row"].as_str().is_some_and(|row| row.starts_with("default/")));
}

#[test]
fn find_tells_when_nothing_is_found_and_what_no_expression_is() {
    let nothing = on_hey(1, &["find", ".Jobs[] | .ID == \"nobody\"", "--json"]);
    assert_eq!(nothing.json(), json!([]));
    run_to(3, &["find", ".Jobs[] | .ID == \"nobody\"", &fixture("unknown_types")]);
    refused(&["find", ".jobs[] | .ID", &fixture("healthy")], &["`jobs`", "`Jobs`"]);
    refused(&["find", ".Jobs[", &fixture("healthy")], &["find: "]);
    refused(&["find", ".Jobs[] | .ID | tonumber", &fixture("healthy")], &["after entry"]);
    refused(&["find"], &["EXPR is missing"]);
    let late = on_hey(0, &["find", ".Jobs[] | .ID == \"horizontal_hey\"", "--from-index", "2000", "--json"]).json();
    assert_eq!(late[0]["index"], 2000, "true already, so at the first entry that counts");
}

#[test]
fn an_expression_may_call_itself_thousands_of_times() {
    let deep = "def f($n): if $n == 0 then .Jobs[0].Version else 1 + f($n - 1) end; f(5000) == 5000";
    run_to(0, &["find", deep, "--last-index", "20", &fixture("healthy")]);
}

#[test]
fn blame_names_an_entry_for_each_unit_and_each_decrement_without_one() {
    let told = on_hey(0, &["blame", "horizontal_hey", "--json"]).json();
    check_schema("blame", &told);
    assert_eq!(told["children"], json!({"Pending": 1, "Running": -18, "Dead": 29}));
    let units = told["units"].as_array().unwrap();
    for counter in ["Pending", "Running", "Dead"] {
        let sum: i64 = units.iter().filter(|u| u["counter"] == counter).map(|u| u["change"].as_i64().unwrap()).sum();
        assert_eq!(told["children"][counter], sum);
    }
    let running: Vec<_> = units.iter().filter(|u| u["counter"] == "Running").collect();
    assert!(running.iter().all(|u| u["change"] == -1 && u["entry"] == "JobRegisterRequestType"));
    assert_eq!((&running[0]["index"], &running[17]["index"]), (&json!(1609), &json!(3045)));
    let early = on_hey(0, &["blame", "horizontal_hey", "--last-index", "1608", "--format", "ndjson"]).ndjson();
    assert!(early.iter().all(|u| u["counter"] == "Dead" && u["change"] == 1 && u["child_status"] == "dead"));
    assert_eq!(early.len(), 12);
    refused(&["blame", "horizontal_hei", &fixture("horizontal_hey")], &["`horizontal_hey`"]);
    refused(&["blame", "prod/etl", "--last-index", "200", &fixture("real-2.0.5/s1")], &["`etl --namespace prod`"]);
}

#[test]
fn a_purge_or_a_reconcile_settles_what_was_owed_even_where_the_number_stays() {
    // After 1610 Running is 0: a decrement that had no increment, and an increment.
    let owed = on_hey(0, &["blame", "horizontal_hey", "--last-index", "1610", "--format", "ndjson"]).ndjson();
    let running = |units: &[Value]| units.iter().filter(|unit| unit["counter"] == "Running").count();
    assert_eq!(running(&owed), 2);
    let all =
        ["logs", "--last-index", "1610", "--format", "ndjson", "--unsafe-show-secrets", &fixture("horizontal_hey")];
    let log = run_to(0, &all).stdout;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("log.ndjson");
    let after = |entries: &[Value]| {
        let lines = entries.iter().zip(1611..).map(|(entry, index)| {
            let (kind, body) = (&entry[0], &entry[1]);
            let entry = json!({"LogType": "LogCommand", "Term": 3, "Index": index, "CommandType": kind, "Body": body});
            format!("{entry}\n")
        });
        std::fs::write(&file, log.clone() + &lines.collect::<String>()).unwrap();
        let args = ["blame", "horizontal_hey", "--rules", "1.0.4", "--format", "ndjson", file.to_str().unwrap()];
        run_to(0, &args).ndjson()
    };
    let healed = after(&[json!(["ReconcileJobSummariesRequestType", {}])]);
    assert!(healed.iter().all(|unit| unit["change"] == 1), "{healed:?}");
    let purge = json!(["JobDeregisterRequestType", {"JobID": "horizontal_hey", "Namespace": "default", "Purge": true}]);
    let job = json!({"ID": "horizontal_hey", "Namespace": "default", "Type": "batch", "ParameterizedJob": {}});
    let register = json!(["JobRegisterRequestType", {"Namespace": "default", "Job": job}]);
    assert!(after(&[purge, register]).is_empty(), "a new summary owes nothing");
}

#[test]
fn blame_adds_up_for_every_parent_of_every_case() {
    for case in [
        "healed_by_reconcile",
        "reconcile_namesakes",
        "child_comes_back",
        "dispatch_running",
        "old_double_pending",
        "snapshot_already_drifted",
        "compacted_mismatch",
        "real-2.0.5/s1",
    ] {
        let path = fixture(case);
        let state = run_to(0, &["state", "--tables", "JobSummaries", &path]).json();
        for summary in state["JobSummaries"].as_array().unwrap() {
            let (namespace, job) = (summary["Namespace"].as_str().unwrap(), summary["JobID"].as_str().unwrap());
            let told = run_to(0, &["blame", job, "--namespace", namespace, "--json", &path]).json();
            check_schema("blame", &told);
            for counter in ["Pending", "Running", "Dead"] {
                let units = told["units"].as_array().unwrap().iter().filter(|u| u["counter"] == counter);
                let sum: i64 = units.map(|u| u["change"].as_i64().unwrap()).sum();
                assert_eq!(
                    summary["Children"][counter].as_i64().unwrap_or(0),
                    sum,
                    "{case} {namespace}/{job} {counter}"
                );
            }
        }
    }
}
