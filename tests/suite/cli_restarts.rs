//! `restarts` on the recorded logs.

use crate::common::{check_schema, fixture, refused, run_to};
use serde_json::{Value, json};

fn case(name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(fixture(name)).unwrap()).unwrap()
}

fn seconds(time: &Value) -> f64 {
    time.as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_nanosecond() as f64 / 1e9
}

/// The batches of a restart as lists of allocation IDs, cut to `len` characters.
fn batches(restart: &Value, len: usize) -> Vec<Vec<String>> {
    let ids =
        |b: &Value| b["allocs"].as_array().unwrap().iter().map(|a| a.as_str().unwrap()[..len].to_owned()).collect();
    restart["batches"].as_array().unwrap().iter().map(ids).collect()
}

#[test]
fn both_restarts_of_the_real_cluster_are_found_and_nothing_else() {
    let recorded = case("real-2.0.5/restarts.json");
    let recorded = recorded["restarts"].as_array().unwrap();
    for server in ["real-2.0.5/s1", "real-2.0.5/s3.tar.gz"] {
        let document = run_to(0, &["restarts", "--json", &fixture(server)]).json();
        check_schema("restarts", &document);
        let found = document["restarts"].as_array().unwrap();
        assert_eq!(found.len(), recorded.len(), "{server}");
        for (found, recorded) in found.iter().zip(recorded) {
            for key in ["namespace", "job", "group", "kind"] {
                assert_eq!(found[key], recorded[key]);
            }
            assert_eq!((&found["status"], &found["batch_size"]), (&json!("complete"), &json!(2)));
            let expected: Vec<Vec<String>> = serde_json::from_value(recorded["batches"].clone()).unwrap();
            assert_eq!(batches(found, 8), expected);
            let off = |a: f64, b: f64| (a - b).abs();
            assert!(off(found["batch_wait_s"].as_f64().unwrap(), recorded["batch_wait_s"].as_f64().unwrap()) < 1.0);
            // The command line printed whole seconds.
            for key in ["started", "finished"] {
                assert!(off(seconds(&found[key]).floor(), seconds(&recorded[key])) < 1.0, "{key}");
            }
            let Some(replaced) = recorded["replaced_by"].as_object() else { continue };
            for batch in found["batches"].as_array().unwrap() {
                for steps in batch["steps"].as_array().unwrap() {
                    let (old, new) =
                        (&steps["alloc"].as_str().unwrap()[..8], &steps["replacement"].as_str().unwrap()[..8]);
                    assert_eq!(replaced[old], new);
                    let running = seconds(&steps["running"]["time"]).floor();
                    assert!(off(running, seconds(&recorded["running_at"][new])) < 1.0);
                }
                assert!(batch["next_began_before_running"] != true);
                assert_eq!((&batch["min_running"], &batch["count"]), (&json!(2), &json!(4)));
            }
        }
    }
}

#[test]
fn the_built_restart_in_place_equals_its_case() {
    let case = case("restart_inplace/case.json");
    let found = run_to(0, &["restarts", "--json", &fixture("restart_inplace")]).json();
    check_schema("restarts", &found);
    assert_eq!(found["restarts"].as_array().unwrap().len(), 1);
    let batches = found["restarts"][0]["batches"].as_array().unwrap();
    let expected = case["expected"]["restart_batches"].as_array().unwrap();
    assert_eq!(batches.len(), expected.len());
    for (batch, expected) in batches.iter().zip(expected) {
        for key in ["allocs", "first_index", "last_index"] {
            assert_eq!(batch[key], expected[key], "{key}");
        }
        let signaled: Vec<f64> =
            batch["steps"].as_array().unwrap().iter().map(|s| seconds(&s["signaled"]["time"])).collect();
        let at: Vec<i64> = serde_json::from_value(expected["signaled_at_ns"].clone()).unwrap();
        assert_eq!(signaled, at.iter().map(|t| *t as f64 / 1e9).collect::<Vec<_>>());
    }
}

#[test]
fn the_built_overlap_equals_its_case_with_its_indexes() {
    let case = case("job_restart_overlap/case.json");
    let found = run_to(0, &["restarts", "--json", &fixture("job_restart_overlap")]).json();
    check_schema("restarts", &found);
    assert_eq!(found["restarts"].as_array().unwrap().len(), 1);
    let batches = found["restarts"][0]["batches"].as_array().unwrap();
    let timeline = case["expected"]["restart_timeline"].as_array().unwrap();
    assert_eq!(batches.len(), timeline.len());
    for (batch, expected) in batches.iter().zip(timeline) {
        let steps = &batch["steps"][0];
        for key in ["alloc", "replacement"] {
            assert_eq!(steps[key], expected[key]);
        }
        for (ours, theirs) in [
            ("transition", "transition_index"),
            ("stopped", "stopped_index"),
            ("complete", "old_complete_index"),
            ("running", "replacement_running_index"),
        ] {
            assert_eq!(steps[ours]["index"], expected[theirs]);
        }
    }
    let overlaps: Vec<Value> = batches
        .windows(2)
        .filter(|w| w[0]["next_began_before_running"] == true)
        .map(|w| {
            json!({"alloc": w[1]["allocs"][0], "before_replacement_of": w[0]["allocs"][0],
                   "replacement_running_index": w[0]["running_index"], "stopped_index": w[1]["steps"][0]["stopped"]["index"],
                   "transition_index": w[0]["next_index"]})
        })
        .collect();
    assert_eq!(json!(overlaps), case["expected"]["overlaps"]);
    let least: Vec<&Value> = batches.iter().map(|b| &b["min_running"]).collect();
    assert_eq!(least, [2, 1, 1], "one of three for a while, as the story says");
}

#[test]
fn other_cases_hold_no_restart() {
    for name in ["healthy", "horizontal_hey", "child_comes_back", "real-1.0.4/s2"] {
        let found = run_to(0, &["restarts", "--rules", "1.0.4", "--json", &fixture(name)]).json();
        assert_eq!(found["restarts"], json!([]), "{name}");
    }
}

#[test]
fn a_log_that_ends_within_a_restart_says_so() {
    let real = fixture("real-2.0.5/s1");
    let cut = run_to(0, &["restarts", "--last-index", "95", "--json", &real]);
    let restarts = cut.json()["restarts"].clone();
    assert_eq!((&restarts[0]["status"], &restarts[0]["cut_off"]), (&json!("complete"), &Value::Null));
    assert_eq!((&restarts[1]["status"], &restarts[1]["cut_off"]), (&json!("running"), &json!(true)));
    assert!(cut.stderr.contains("web@85: the log ends at entry 95"), "{}", cut.stderr);
}

#[test]
fn the_formats_say_the_same_and_the_table_fits_a_hundred_columns() {
    let real = fixture("real-2.0.5/s1");
    let json = run_to(0, &["restarts", "--json", &real]).json();
    let rows = run_to(0, &["restarts", "--format", "ndjson", &real]).ndjson();
    assert_eq!(json["restarts"], Value::from(rows));
    let csv = run_to(0, &["restarts", "--format", "csv", &real]).stdout;
    assert_eq!(csv::Reader::from_reader(csv.as_bytes()).records().count(), 2);
    for case in ["real-2.0.5/s1", "restart_inplace", "job_restart_overlap", "job_restart_request"] {
        let table = run_to(0, &["restarts", &fixture(case)]).stdout;
        assert!(table.lines().count() > 1 && table.lines().all(|l| l.chars().count() <= 100), "{table}");
    }
    let table = run_to(0, &["restarts", &real]).stdout;
    assert!(table.contains("2+2, 3.0s") && table.contains("2/4") && table.contains("healthy"), "{table}");
}

#[test]
fn one_restart_is_told_step_by_step() {
    let overlap = fixture("job_restart_overlap");
    let story = run_to(0, &["restarts", "--id", "prod/storefront@20", "--json", &overlap]).json();
    check_schema("restarts", &story);
    let indexes: Vec<u64> = story["steps"].as_array().unwrap().iter().map(|s| s["index"].as_u64().unwrap()).collect();
    assert_eq!(indexes, [20, 21, 23, 30, 31, 33, 35, 40, 41, 43, 45, 55]);
    let table = run_to(0, &["restarts", "--id", "prod", &overlap]).stdout;
    assert_eq!(table.lines().count(), 13);
    refused(&["restarts", "--id", "web@1", &overlap], &["web@1", "prod/storefront@20"]);
    refused(&["restarts", "--id", "web@8", &fixture("real-2.0.5/s1")], &["web@80", "web@85"]);
}

#[test]
fn filters_and_ranges_choose_restarts() {
    let real = fixture("real-2.0.5/s1");
    let ids = |args: &[&str]| {
        let rows = run_to(0, &[&["restarts", "--format", "ndjson", "-q"], args, &[&real]].concat()).ndjson();
        rows.iter().map(|r| r["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&["--filter", "job=web"]), ["web@80", "web@85"]);
    assert_eq!(ids(&["--filter", "alloc=34b015a4*"]), ["web@85"]);
    assert_eq!(ids(&["--filter", "type=AllocClientUpdate"]), ["web@80"]);
    assert_eq!(ids(&["--filter", "namespace=prod"]), [""; 0]);
    assert_eq!(ids(&["--from-index", "100"]), ["web@85"]);
    assert_eq!(ids(&["--limit", "1"]), ["web@80"]);
    refused(&["restarts", "--min-running", "200%", &real], &["--min-running", "50%"]);
}

const NAMED: [&str; 2] = ["--message-type", "47=JobRestartRequestType"];

#[test]
fn the_entries_of_the_early_design_equal_their_case() {
    let case = case("job_restart_request/case.json");
    let path = fixture("job_restart_request");
    // Other versions know 47 as something else, or not at all: the name wins.
    for rules in ["1.0.4", "1.2.0", "2.0.5"] {
        let args = ["restarts", "--rules", rules, "--json", &path];
        let document = run_to(0, &[&args[..], &NAMED].concat()).json();
        check_schema("restarts", &document);
        let restarts = document["restarts"].as_array().unwrap();
        let entries: Vec<Value> = restarts
            .iter()
            .flat_map(|restart| {
                assert_eq!(restart["kind"], "entry");
                restart["entries"].as_array().unwrap().iter().map(|entry| {
                    let mut row = json!({"id": restart["id"], "job": format!("{}/{}", restart["namespace"].as_str().unwrap(), restart["job"].as_str().unwrap())});
                    for key in ["index", "term", "status", "restarted"] {
                        row[key] = entry[key].clone();
                    }
                    let none = entry["restarted"] == 0;
                    row["restarted_allocs"] = if none { Value::Null } else { entry["restarted_allocs"].clone() };
                    row
                })
            })
            .collect();
        assert_eq!(json!(entries), case["expected"]["job_restarts"]);
        let status: Vec<&Value> = restarts.iter().map(|r| &r["status"]).collect();
        assert_eq!(status, ["complete", "cancelled"]);
        assert_eq!((&restarts[0]["batch_size"], &restarts[0]["batch_wait_s"]), (&json!(2), &json!(30)));
        assert_eq!(batches(&restarts[0], 36).iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 2]);
        assert_eq!(batches(&restarts[1], 36).len(), 1);
    }
    // Without the name the entries mean nothing, but the tasks' events still tell of both.
    let plain = run_to(0, &["restarts", "--json", &path]).json();
    let kinds: Vec<&Value> = plain["restarts"].as_array().unwrap().iter().map(|r| &r["kind"]).collect();
    assert_eq!(kinds, ["in_place", "in_place"]);
    assert_eq!(
        batches(&plain["restarts"][0], 8),
        [["5db11b87", "c8549c71"], ["56b8bc73", "889d4ad6"], ["e1d41aab", "e41b77d2"]]
    );
    let table = run_to(0, &[&["restarts", &path][..], &NAMED].concat()).stdout;
    assert!(table.lines().count() == 3 && table.lines().all(|l| l.chars().count() <= 100), "{table}");
}

#[test]
fn the_table_of_restarts_is_a_part_of_the_state() {
    let path = fixture("job_restart_request");
    let state = |last: &str| run_to(0, &[&["state", "--last-index", last, &path][..], &NAMED].concat()).json();
    assert_eq!(state("13")["JobRestarts"], Value::Null);
    let rows = state("24")["JobRestarts"].clone();
    let brief: Vec<Value> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|r| json!([r["ID"].as_str().unwrap()[..8], r["Status"], r["CreateIndex"], r["ModifyIndex"]]))
        .collect();
    assert_eq!(brief, [json!(["98d98d90", "running", 23, 23]), json!(["a716b4e0", "complete", 14, 21])]);
    assert!(rows[0].get("AuthToken").is_none(), "{rows}");
    let index = state("24")["Indexes"].as_array().unwrap().iter().find(|i| i["Key"] == "restart").unwrap().clone();
    assert_eq!(index["Value"], 23);
    let unnamed = run_to(0, &["state", &path]).json();
    assert_eq!(unnamed["JobRestarts"], Value::Null);
}

#[test]
fn a_missing_or_malformed_id_of_an_entry_is_refused() {
    let path = fixture("job_restart_request");
    for (id, word) in [("\"\"", "has no ID"), ("\"a716b4e0\"", "no UUID"), ("null", "has no ID")] {
        let patch = format!("14: .ID = {id}");
        let args = ["audit", "--exit-zero", "--json", "--patch", &patch, &path];
        let findings = run_to(0, &[&args[..], &NAMED].concat()).json()["findings"].clone();
        let refused = findings.as_array().unwrap().iter().find(|f| f["kind"] == "rejected_entry").unwrap().clone();
        assert_eq!(refused["index"], 14);
        assert!(refused["detail"].as_str().unwrap().contains(word), "{refused}");
    }
}

#[test]
fn a_log_of_json_under_its_given_name_reads_as_the_log_itself() {
    let path = fixture("job_restart_request");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("more.ndjson");
    let lines = run_to(
        0,
        &[&["logs", "--from-index", "23", "--unsafe-show-secrets", "--format", "ndjson", &path][..], &NAMED].concat(),
    );
    assert!(lines.stdout.contains("JobRestartRequestType"));
    std::fs::write(&file, lines.stdout).unwrap();
    // The last entries taken away and given back come to the same.
    let all = run_to(0, &[&["restarts", "--json", &path][..], &NAMED].concat()).json();
    let cut = directory.path().join("raft.ndjson");
    let head = run_to(0, &["logs", "--last-index", "22", "--unsafe-show-secrets", "--format", "ndjson", &path]);
    std::fs::write(&cut, head.stdout).unwrap();
    let (cut, file) = (cut.to_str().unwrap(), file.to_str().unwrap());
    let again = run_to(0, &[&["restarts", "--json", "--append", file, cut][..], &NAMED].concat()).json();
    assert_eq!(again, all);
}

#[test]
fn info_suggests_the_name_where_a_body_has_exactly_that_shape() {
    let path = fixture("job_restart_request");
    let ran = run_to(0, &["info", "--json", &path]);
    let document = ran.json();
    check_schema("info", &document);
    assert_eq!(document["suggested_options"], json!(["--message-type 47=JobRestartRequestType"]));
    assert!(run_to(0, &["info", &path]).stdout.contains("--message-type 47=JobRestartRequestType"));
    let named = run_to(0, &[&["info", "--json", &path][..], &NAMED].concat()).json();
    assert_eq!(named["suggested_options"], Value::Null);
    for other in ["real-2.0.5/s1", "unknown_types", "healthy"] {
        let ran = run_to(if other == "unknown_types" { 2 } else { 0 }, &["info", "--json", &fixture(other)]);
        assert_eq!(ran.json()["suggested_options"], Value::Null, "{other}");
    }
}

#[test]
fn logs_filter_the_entries_of_the_early_design_by_what_they_carry() {
    let path = fixture("job_restart_request");
    let indexes = |filter: &str| {
        let rows = run_to(
            0,
            &[&["logs", "--format", "ndjson", "--filter", "type=47", "--filter", filter, &path][..], &NAMED].concat(),
        )
        .ndjson();
        rows.iter().map(|r| r["Index"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(indexes("job=storefront").len(), 8);
    assert_eq!(indexes("namespace=prod").len(), 8);
    assert_eq!(indexes("alloc=e41b77d2*"), [20, 21]);
    assert_eq!(indexes("job=web"), [0; 0]);
}
