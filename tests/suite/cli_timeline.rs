//! `timeline` on recorded logs: options, formats and exit codes. That its rows are right is held elsewhere.

use crate::common::{check_schema, fixture, refused, run_to};
use serde_json::{Value, json};

const HEY: &[&str] = &["timeline", "--rules", "1.0.4", "--filter", "job=horizontal_hey"];

#[test]
fn the_first_negative_count_is_in_the_row_of_its_entry() {
    let hey = fixture("horizontal_hey");
    let rows = run_to(0, &[HEY, &["--format", "ndjson", &hey]].concat()).ndjson();
    let negative = rows.iter().find(|r| r["children"]["Running"].as_i64().unwrap() < 0).unwrap();
    assert_eq!(negative["index"], 1609);
    assert_eq!(negative["term"], 3);
    assert_eq!(negative["entry"], "JobRegisterRequestType");
    assert_eq!(negative["children"], json!({"Pending": 1, "Running": -1, "Dead": 12}));
    assert_eq!(rows.last().unwrap()["children"], json!({"Pending": 1, "Running": -18, "Dead": 29}));
}

#[test]
fn the_formats_say_the_same_and_fit_the_schema() {
    let case = fixture("rejected_entries");
    let json = run_to(0, &["timeline", "--json", &case]).json();
    check_schema("timeline", &json);
    let rows = run_to(0, &["timeline", "--format", "ndjson", &case]).ndjson();
    assert_eq!(json, Value::from(rows));
    let csv = run_to(0, &["timeline", "--format", "csv", &case]).stdout;
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    assert_eq!(reader.headers().unwrap().iter().next(), Some("index"));
    assert_eq!(reader.records().count(), json.as_array().unwrap().len());
    let table = run_to(0, &["timeline", &case]).stdout;
    assert_eq!(table.lines().count(), json.as_array().unwrap().len() + 1);
    for case in ["child_comes_back", "healed_by_reconcile", "switch_purge_removes_allocs"] {
        check_schema("timeline", &run_to(0, &["timeline", "--json", &fixture(case)]).json());
    }
}

#[test]
fn ranges_filters_and_limits_choose_rows_and_never_change_them() {
    let hey = fixture("horizontal_hey");
    let all = run_to(0, &["timeline", "--rules", "1.0.4", "--format", "ndjson", &hey]).ndjson();
    let chosen = |args: &[&str], keep: &dyn Fn(&Value) -> bool| {
        let args = [&["timeline", "--rules", "1.0.4", "--format", "ndjson"], args, &[&hey]].concat();
        let want: Vec<&Value> = all.iter().filter(|r| keep(r)).collect();
        let got = run_to(0, &args).ndjson();
        assert!(!got.is_empty() && got.iter().collect::<Vec<_>>() == want, "{args:?}");
    };
    let index = |r: &Value| r["index"].as_u64().unwrap();
    chosen(&["--from-index", "1600", "--last-index", "1700"], &|r| (1600..=1700).contains(&index(r)));
    chosen(&["--last-index", "-1445"], &|r| index(r) <= 1600);
    chosen(&["--filter", "job=horizontal_hey"], &|r| r["job"] == "horizontal_hey");
    chosen(&["--filter", "job=horizontal_hey/*"], &|r| r["job"].as_str().unwrap().starts_with("horizontal_hey/"));
    chosen(&["--filter", "parent=horizontal_hey"], &|r| r["job"].as_str().unwrap().starts_with("horizontal_hey/"));
    chosen(&["--filter", "status=dead"], &|r| r["status"] == "dead");
    chosen(&["--filter", "type=JobRegister", "--filter", "term=3"], &|r| {
        r["entry"] == "JobRegisterRequestType" && r["term"] == 3
    });
    let few = run_to(0, &["timeline", "--rules", "1.0.4", "--format", "ndjson", "--limit", "7", &hey]).ndjson();
    assert_eq!(few, all[..7]);
}

#[test]
fn a_deleted_job_keeps_its_parent_for_the_filter() {
    let case = fixture("switch_purge_removes_allocs");
    let rows = run_to(0, &["timeline", "--format", "ndjson", &case]).ndjson();
    let gone: Vec<&Value> = rows.iter().filter(|r| r["deleted"] == true).collect();
    assert!(!gone.is_empty());
}

#[test]
fn unreadable_entries_make_the_answer_unsure() {
    let case = fixture("unknown_types");
    let unsure = run_to(3, &["timeline", &case]);
    assert!(unsure.stderr.contains("17, 19, 20") && unsure.stderr.contains("12, 15"), "{}", unsure.stderr);
    let allowed = run_to(0, &["timeline", "--allow-incomplete", "--quiet", &case]);
    assert_eq!((allowed.stdout, allowed.stderr.lines().count()), (unsure.stdout, 2));
}

#[test]
fn rules_are_versions() {
    let case = fixture("healthy");
    refused(&["timeline", "--rules", "newest", &case], &["--rules", "1.6.2"]);
    refused(&["timeline", "--rules", "reset-child-stats", &case], &["`reset-child-status`"]);
    run_to(0, &["timeline", "--rules", "auto", &case]);
    let future = run_to(0, &["timeline", "--rules", "9.0.0", &case]);
    assert!(future.stderr.contains("newer"), "{}", future.stderr);
    run_to(0, &["timeline", "--rules", "reset-child-status", &case]);
}
