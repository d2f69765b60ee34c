//! `audit` on recorded logs: options, formats and exit codes. That its findings are right is held elsewhere.

use crate::common;

use crate::common::{check_sarif, check_schema, copy_tree, fixture, refused, run_to};
use crate::support::synth::bolt::{Db, Layout, Transaction};
use crate::support::synth::history::{Entry, History, Plot};
use crate::support::synth::{envelope, put};
use serde_json::{Value, json};

fn negatives(report: &Value) -> Vec<&Value> {
    report["findings"].as_array().unwrap().iter().filter(|f| f["kind"] == "negative").collect()
}

#[test]
fn the_investigation_is_answered() {
    let hey = fixture("horizontal_hey");
    for rules in [&[][..], &["--rules", "1.0.4"]] {
        let report = run_to(1, &[&["audit", "--json"], rules, &[&hey]].concat()).json();
        check_schema("audit", &report);
        assert_eq!((&report["verdict"], &report["complete"]), (&json!("findings"), &json!(true)));
        let first = negatives(&report)[0];
        assert_eq!((&first["parent"], &first["counter"]), (&json!("horizontal_hey"), &json!("Running")));
        assert_eq!((&first["index"], &first["term"], &first["value"]), (&json!(1609), &json!(3), &json!(-1)));
        assert_eq!(first["entry"], "JobRegisterRequestType");
        assert_eq!(first["leader_change"], json!({"index": 1561, "term": 3}));
        assert_eq!((&first["cause"]["rule"], &first["cause"]["index"]), (&json!("register_with_status"), &json!(1609)));
        assert_eq!(first["cause"]["status"], "running");
    }
    let text = run_to(1, &["audit", &hey]).stdout;
    for words in ["horizontal_hey", "Running", "-1", "index 1609", "term 3", "JobRegister", "\"running\"", "index 1561"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn a_healthy_log_ends_with_0_and_names_nothing() {
    let ran = run_to(0, &["audit", &fixture("healthy")]);
    assert!(ran.stdout.starts_with("clean: 0 errors, 0 warnings, 0 notes\n"), "{}", ran.stdout);
    let report = run_to(0, &["audit", "--json", &fixture("healthy")]).json();
    check_schema("audit", &report);
    assert_eq!((&report["verdict"], &report["findings"]), (&json!("clean"), &json!([])));
    assert_eq!(report["evidence"]["rules_from"], "writer");
}

#[test]
fn without_rules_the_evidence_chooses_them() {
    for (case, rules, from, also) in [
        ("healthy", "2.0.5", "writer", json!([])),
        ("horizontal_hey", "1.1.2", "writer", json!(["1.0.3"])),
        ("compacted_mismatch", "1.1.2", "snapshot", json!([])),
        ("compacted_old_rules", "1.0.3", "snapshot", json!([])),
    ] {
        let report = common::run(&["audit", "--json", &fixture(case)]).json();
        let evidence = &report["evidence"];
        assert_eq!((&evidence["rules"], &evidence["rules_from"]), (&json!(rules), &json!(from)), "{case}");
        assert_eq!(evidence["rules_also_possible"], also, "{case}");
    }
}

#[test]
fn every_fixture_fits_the_schema_and_the_code_does_not_depend_on_the_format() {
    for case in [
        "rejected_entries",
        "unknown_types",
        "child_comes_back",
        "healed_by_reconcile",
        "hidden_behind_sibling",
        "real-1.0.4/s2",
    ] {
        let case = fixture(case);
        let report = common::run(&["audit", "--json", "--all", &case]);
        check_schema("audit", &report.json());
        let count = report.json()["findings"].as_array().unwrap().len();
        let lines = run_to(report.code, &["audit", "--format", "ndjson", "--all", &case]).ndjson();
        assert_eq!(Value::from(lines), report.json()["findings"]);
        let csv = run_to(report.code, &["audit", "--format", "csv", "--all", &case]).stdout;
        assert_eq!(csv::Reader::from_reader(csv.as_bytes()).records().count(), count);
        run_to(report.code, &["audit", "--all", &case]);
        run_to(0, &["audit", "--exit-zero", &case]);
    }
}

#[test]
fn the_threshold_and_the_evidence_decide_the_code() {
    // A rejected entry is no error, so it depends on the threshold.
    let case = fixture("rejected_entries");
    let code = |fail_on: &str| common::run(&["audit", "--fail-on", fail_on, &case]).code;
    assert_eq!(code("note"), 1);
    assert!(code("error") <= code("warning") && code("warning") <= code("note"));
    // What cannot be read is no finding about Nomad's state.
    let unsure = run_to(3, &["audit", "--json", &fixture("unknown_types")]).json();
    assert_eq!((&unsure["verdict"], &unsure["complete"]), (&json!("inconclusive"), &json!(false)));
    let allowed = run_to(0, &["audit", "--allow-incomplete", &fixture("unknown_types")]);
    assert!(allowed.stderr.contains("warning: "), "{}", allowed.stderr);
}

#[test]
fn filters_and_ranges_choose_findings_and_the_verdict_is_on_those() {
    let case = fixture("real-1.0.4/s2");
    let run = |code: i32, args: &[&str]| {
        let args = [&["audit", "--json", "--rules", "1.0.4"], args, &[&case]].concat();
        run_to(code, &args).json()
    };
    let all = run(1, &[]);
    assert_eq!(negatives(&all)[0]["index"], 15);
    let hey = run(1, &["--filter", "parent=horizontal_hey"]);
    assert_eq!(negatives(&hey)[0]["index"], 138);
    assert!(hey["findings"].as_array().unwrap().iter().all(|f| f["parent"] == "horizontal_hey"));
    assert_eq!(run(0, &["--filter", "parent=nobody"])["verdict"], "clean");
    assert_eq!(run(0, &["--last-index", "14"])["findings"], json!([]));
    assert_eq!(run(0, &["--from-index", "290", "--filter", "parent=horizontal_hey"])["findings"], json!([]));
    let one = run(1, &["--limit", "1"]);
    assert_eq!(one["findings"].as_array().unwrap().len(), 1);
    let jq = run_to(1, &["audit", "--rules", "1.0.4", "-r", "--jq", ".findings[0].parent", &case]).stdout;
    assert_eq!(jq, "render_report\n");
}

#[test]
fn a_baseline_silences_what_it_lists_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("known.json");
    let file = file.to_str().unwrap();
    let (hey, real) = (fixture("horizontal_hey"), fixture("real-1.0.4/s2"));
    run_to(1, &["audit", "--write-baseline", file, &hey]);
    let known = run_to(0, &["audit", "--json", "--baseline", file, &hey]).json();
    check_schema("audit", &known);
    assert!(known["findings"].as_array().unwrap().iter().all(|f| f["known"] == true));
    run_to(1, &["audit", "--baseline", file, &real]);
    run_to(1, &["audit", "--write-baseline", file, &real]);
    refused(&["audit", "--write-baseline", &fixture("healthy/raft.db"), &hey], &["no baseline"]);
    refused(&["audit", "--baseline", &hey, &hey], &["--baseline"]);
}

#[test]
fn sarif_is_what_the_published_schema_asks_for() {
    let cases = ["horizontal_hey", "rejected_entries", "unknown_types", "real-1.0.4/s2", "real-2.0.5/s1", "healthy"];
    for case in cases.map(fixture) {
        check_sarif(&common::run(&["audit", "--all", "--prove", "--format", "sarif", &case]).json());
    }
    let hey = fixture("horizontal_hey");
    let sarif = run_to(1, &["audit", "--format", "sarif", &hey]).json();
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!((&sarif["version"], &result["ruleId"]), (&json!("2.1.0"), &json!("negative")));
    let location = &result["locations"][0];
    let uri = location["physicalLocation"]["artifactLocation"]["uri"].as_str().unwrap();
    assert!(uri.ends_with("horizontal_hey/raft.db"), "{uri}");
    let names: Vec<_> = location["logicalLocations"].as_array().unwrap().iter().map(|l| l["name"].clone()).collect();
    assert_eq!(names, [json!("default"), json!("horizontal_hey"), json!("index 1609")]);
    assert_eq!(result.get("baselineState"), None);
    refused(&["audit", "--format", "sarif", "--jq", ".", &hey], &["--format json"]);
}

/// The fingerprints in a SARIF log.
fn fingerprints(args: &[&str]) -> Vec<Value> {
    let sarif = common::run(&[&["audit", "--format", "sarif"], args].concat()).json();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    results.iter().map(|result| result["partialFingerprints"].clone()).collect()
}

#[test]
fn a_fingerprint_is_of_the_fault_and_not_of_its_place() {
    let hey = fixture("horizontal_hey");
    let all = fingerprints(&["--all", &hey]);
    // Three findings of two faults.
    assert_eq!((all.len(), &all[0], all[1] == all[0]), (3, &all[2], false));
}

#[test]
fn a_baseline_still_matches_when_the_log_was_compacted() {
    let dir = tempfile::tempdir().unwrap();
    let (log, known) = (dir.path().join("raft"), dir.path().join("known.json"));
    let (log, known) = (log.to_str().unwrap(), known.to_str().unwrap());
    copy_tree(fixture("compacted_with_overlap").as_ref(), log.as_ref());
    let errors = |report: &Value| {
        let errors = report["findings"].as_array().unwrap().iter().filter(|f| f["severity"] == "error");
        errors.map(|f| ["kind", "parent", "counter"].map(|key| f[key].clone())).collect::<Vec<_>>()
    };
    let whole = run_to(1, &["audit", "--json", "--write-baseline", known, log]).json();
    assert_eq!(negatives(&whole)[0]["cause"]["rule"], "parent_recreated");
    let before = fingerprints(&["--fail-on", "error", log]);

    let mut db = Db::open(&std::path::Path::new(log).join("raft.db")).unwrap();
    let mut transaction = Transaction::default();
    (1..=90_u64).for_each(|index| transaction.delete("logs", &index.to_be_bytes()));
    db.commit(transaction).unwrap();

    let compacted = run_to(1, &["audit", "--json", log]).json();
    assert_eq!(compacted["evidence"]["base"], json!({"kind": "snapshot", "index": 90, "term": 2}));
    let found = errors(&compacted);
    assert!(!found.is_empty() && errors(&whole).iter().all(|fault| found.contains(fault)), "{found:?}");
    assert_eq!(negatives(&compacted)[0]["cause"]["rule"], "base");
    assert!(fingerprints(&[log]).iter().all(|one| before.contains(one)));
    let ran = run_to(0, &["audit", "--json", "--baseline", known, log]).json();
    assert!(ran["findings"].as_array().unwrap().iter().all(|f| f["known"] == true), "{ran}");
    let sarif = run_to(0, &["audit", "--format", "sarif", "--baseline", known, log]).json();
    check_sarif(&sarif);
    assert_eq!(sarif["runs"][0]["results"][0]["baselineState"], "unchanged");
}

#[test]
fn junit_has_one_test_case_for_each_parent() {
    let hey = fixture("horizontal_hey");
    let junit = run_to(1, &["audit", "--format", "junit", &hey]).stdout;
    assert!(junit.starts_with("<?xml"), "{junit}");
    let cases: Vec<&str> = junit.split("<testcase ").skip(1).map(|case| case.split('>').next().unwrap()).collect();
    let parents = ["default\" name=\"horizontal_hey\"", "prod\" name=\"invoice_mailer\"/", "log\" name=\"entries\"/"];
    assert_eq!(cases, parents.map(|case| format!("classname=\"{case}")));
    assert_eq!(junit.matches("<failure ").count(), 2);
    assert!(junit.contains("tests=\"3\" failures=\"1\""), "{junit}");
}

#[test]
fn mistakes_are_told_what_to_type_instead() {
    let hey = fixture("horizontal_hey");
    refused(&["audit", "--fail-on", "warnings", &hey], &["`warning`"]);
    refused(&["audit", "--rules", "1.0", &hey], &["1.6.2"]);
    refused(&["audit", "--al", &hey], &["`--all`"]);
    refused(&["audit", "--baseline", "nowhere.json", &hey], &["nowhere.json", "--write-baseline"]);
    refused(&["audti", &hey], &["`audit`"]);
}

#[test]
fn whoever_sent_the_guilty_entry_is_named_where_the_log_knows_the_token() {
    let case = fixture("secrets");
    let carried = |index: &str, key: &str| {
        let only = format!("index={index}");
        let jq = format!(".[0].Body{key}");
        let args = ["logs", "--unsafe-show-secrets", "--filter", &only, "-r", "--jq", &jq, &case];
        run_to(0, &args).stdout.trim().to_owned()
    };
    let guilty = |token: &str| {
        let patch = format!("18: .Job.Status = \"running\" | .AuthToken = \"{token}\"");
        let ran = common::run(&["audit", "--json", "--patch", &patch, &case]);
        let findings = ran.json()["findings"].to_string();
        assert!(!findings.contains(token), "{findings}");
        negatives(&ran.json())[0]["cause"].clone()
    };
    let secret = carried("11", ".Tokens[0].SecretID");
    let cause = guilty(&secret);
    assert_eq!((&cause["index"], &cause["by"]), (&json!(18), &json!("ci")));
    let accessor = carried("11", ".Tokens[0].AccessorID");
    assert!(cause["detail"].as_str().unwrap().contains(&accessor), "{cause}");
    // A token without a name is known by its accessor, one that the state does not know not at all.
    let nameless = format!("11: .Tokens[0].Name = \"\" | .Tokens[0].SecretID = \"{secret}\"");
    let patch = format!("18: .Job.Status = \"running\" | .AuthToken = \"{secret}\"");
    let ran = common::run(&["audit", "--json", "--patch", &nameless, "--patch", &patch, &case]);
    assert_eq!(negatives(&ran.json())[0]["cause"]["by"], json!(accessor));
    assert_eq!(guilty("SECRET-AUTH-0029").get("by"), None);
    let text = common::run(&["audit", "--patch", &patch, &case]).stdout;
    assert!(text.contains("status \"running\", sent by ci"), "{text}");
}

/// A healthy log of 120 entries, put right or wrong by `edit`.
fn made(edit: impl FnOnce(&mut Vec<Entry>, &mut Transaction)) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("raft.db");
    let (mut entries, mut transaction) = (History::new(Plot::default()).take(120).collect(), Transaction::default());
    edit(&mut entries, &mut transaction);
    entries.iter().for_each(|entry| put(&mut transaction, entry));
    Db::create(&path, Layout::default()).unwrap().commit(transaction).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (dir, path)
}

#[test]
fn where_a_fault_could_hide_the_verdict_is_inconclusive() {
    let sure = made(|_, _| {});
    run_to(0, &["audit", &sure.1]);
    let unsure = [
        ("gap", made(|entries, _| drop(entries.drain(59..62)))),
        ("term_regression", made(|entries, _| entries[70..].iter_mut().for_each(|entry| entry.term = 1))),
        ("undecodable_entry", made(|entries, _| entries[80].data.truncate(20))),
        ("undecodable_entry", made(|entries, _| entries[80].data.clear())),
        ("unknown_type", made(|entries, _| entries[80].data[0] = 78)),
        (
            "key_mismatch",
            made(|entries, transaction| {
                let entry = entries.remove(80);
                transaction.put("logs", &81_u64.to_be_bytes(), envelope(&Entry { index: 999, ..entry }));
            }),
        ),
    ];
    for (kind, (_dir, log)) in &unsure {
        let report = run_to(3, &["audit", "--json", log]).json();
        check_schema("audit", &report);
        assert_eq!((&report["verdict"], &report["complete"]), (&json!("inconclusive"), &json!(false)), "{kind}");
        assert!(report["findings"].as_array().unwrap().iter().any(|f| f["kind"] == *kind), "{kind}: {report}");
        let allowed = run_to(0, &["audit", "--allow-incomplete", log]);
        assert!(allowed.stderr.contains("incomplete"), "{}", allowed.stderr);
        run_to(0, &["audit", "--exit-zero", log]);
        // It can hide outside the window as well.
        run_to(3, &["audit", "--from-index", "100", log]);
    }
}

#[test]
fn a_window_that_begins_before_the_base_is_inconclusive_and_one_behind_it_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().to_str().unwrap();
    copy_tree(fixture("compacted_with_overlap").as_ref(), dir.path());
    let mut db = Db::open(&dir.path().join("raft.db")).unwrap();
    let mut transaction = Transaction::default();
    (1..=90_u64).for_each(|index| transaction.delete("logs", &index.to_be_bytes()));
    db.commit(transaction).unwrap();
    let run = |code: i32, rest: &[&str]| {
        let only = ["audit", "--json", "--filter", "parent=nobody", log];
        run_to(code, &[&only, rest].concat()).json()["verdict"].clone()
    };
    assert_eq!(run(0, &[]), "clean");
    assert_eq!(run(3, &["--from-index", "20"]), "inconclusive");
    assert_eq!(run(3, &["--since", "2026-02-03T00:00:00Z"]), "inconclusive");
    assert_eq!(run(0, &["--from-index", "20", "--allow-incomplete"]), "inconclusive");
    assert_eq!(run(0, &["--from-index", "100"]), "clean");
}
