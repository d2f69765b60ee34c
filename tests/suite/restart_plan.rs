//! `restarts --plan`: what a restart would do, and its entries replayed end to end. `audit --min-running`.

use crate::common::restart_log::RestartLog;
use crate::common::{check_schema, fixture, refused, run_to};
use serde_json::{Value, json};

const NAMED: [&str; 2] = ["--message-type", "47=JobRestartRequestType"];

fn plan(args: &[&str], path: &str) -> Value {
    let document = run_to(0, &[&["restarts", "--plan", "--json"], args, &[path]].concat()).json();
    check_schema("restarts", &document);
    document["plan"].clone()
}

fn batches(plan: &Value) -> Vec<Vec<&str>> {
    plan["batches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|b| b.as_array().unwrap().iter().map(|a| &a.as_str().unwrap()[..8]).collect())
        .collect()
}

#[test]
fn a_plan_on_the_real_cluster_is_what_its_command_did() {
    let real = fixture("real-2.0.5/s1");
    let planned = plan(
        &["--job", "web", "--batch-size", "50%", "--batch-wait", "2s", "--reschedule", "--last-index", "84"],
        &real,
    );
    assert_eq!(batches(&planned), [["04e64880", "070d400d"], ["2af530c9", "9ceac40b"]]);
    assert_eq!(
        (&planned["kind"], &planned["batch_size"], &planned["batch_wait_s"]),
        (&json!("reschedule"), &json!(2), &json!(2))
    );
    assert_eq!((&planned["count"], &planned["running"], &planned["lowest_running"]), (&json!(4), &json!(4), &json!(2)));
    // Afterwards the old ones are replaced, and the plan says by which.
    let later = plan(&["--job", "web", "--last-index", "110"], &real);
    assert_eq!(later["batches"].as_array().unwrap().len(), 4);
    let skipped = later["skipped"].as_array().unwrap();
    assert_eq!(skipped.len(), 4);
    assert!(skipped.iter().all(|s| s["reason"].as_str().unwrap().starts_with("already replaced by ")), "{skipped:?}");
}

#[test]
fn an_active_deployment_forbids_a_restart() {
    let planned = plan(&["--job", "web", "--last-index", "27"], &fixture("real-2.0.5/s1"));
    assert!(planned["refused"].as_str().unwrap().contains("active deployment"));
    assert_eq!((&planned["batches"], planned["skipped"].as_array().unwrap().len()), (&json!([]), 4));
}

#[test]
fn what_is_left_alone_is_told_with_the_reason() {
    let mut log = RestartLog::new("web", 5, 5);
    log.ask(0, "alloc-stop");
    let new = log.replace(0);
    log.status(0, "complete");
    log.status(2, "failed");
    log.scale_down(&[3]);
    let planned = plan(&["--job", "web", "--batch-size", "10"], &log.path());
    assert_eq!(planned["batches"], json!([log.ids(&[1, 4])]));
    let reasons: Vec<Value> =
        planned["skipped"].as_array().unwrap().iter().map(|s| json!([s["alloc"], s["reason"]])).collect();
    let id = |i: usize| log.ids(&[i])[0].clone();
    assert_eq!(
        reasons,
        [
            json!([id(0), format!("already replaced by {}", id(new))]),
            json!([id(2), "terminal: failed"]),
            json!([id(3), "terminal: it is to stop"]),
            json!([id(new), "not running: pending"]),
        ]
    );
    refused(&["restarts", "-q", "--plan", "--job", "other", &log.path()], &["no job", "other"]);
    refused(&["restarts", "-q", "--plan", "--job", "web", "--group", "x", &log.path()], &["\"x\"", "g"]);
    refused(&["restarts", "-q", "--plan", "--job", "web", "--batch-size", "0", &log.path()], &["--batch-size"]);
    refused(&["restarts", "-q", "--plan", &log.path()], &["--job"]);
}

/// The plan's entries behind the log of a case, replayed: the restart that comes of them.
fn replayed(options: &[&str]) -> Value {
    let path = fixture("restart_inplace");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("restart.ndjson");
    let args = ["restarts", "--plan", "--job", "storefront", "--batch-size", "2", "--batch-wait", "30s", "--emit"];
    let emitted = run_to(0, &[&args[..], options, &[&path]].concat()).stdout;
    std::fs::write(&file, &emitted).unwrap();
    let appended = file.to_str().unwrap();
    let document = run_to(0, &[&["restarts", "--json", "--append", appended, &path][..], &NAMED].concat()).json();
    check_schema("restarts", &document);
    let restarts = document["restarts"].as_array().unwrap();
    assert_eq!((restarts.len(), &restarts[1]["kind"]), (2, &json!("entry")));
    let state = run_to(0, &[&["state", "--append", appended, &path][..], &NAMED].concat()).json();
    assert_eq!(state["JobRestarts"][0]["Status"], restarts[1]["status"]);
    assert_eq!(state["JobRestarts"][0]["CreateIndex"], 24);
    restarts[1].clone()
}

#[test]
fn the_entries_of_a_plan_replay_as_the_restart_that_was_planned() {
    let whole = replayed(&[]);
    let life: Vec<Value> =
        whole["entries"].as_array().unwrap().iter().map(|e| json!([e["index"], e["status"], e["restarted"]])).collect();
    assert_eq!(
        life,
        [json!([24, "running", 0]), json!([25, "running", 2]), json!([26, "running", 4]), json!([27, "complete", 4])]
    );
    assert_eq!(
        (&whole["status"], &whole["batch_size"], &whole["batch_wait_s"]),
        (&json!("complete"), &json!(2), &json!(30))
    );
    assert_eq!(whole["batches"].as_array().unwrap().len(), 2);
    assert_eq!(whole["id"].as_str().unwrap().len(), 36);
}

#[test]
fn a_plan_can_end_cancelled_or_paused() {
    let cancelled = replayed(&["--cancel-after", "1"]);
    assert_eq!((&cancelled["status"], cancelled["batches"].as_array().unwrap().len()), (&json!("cancelled"), 1));
    assert_eq!(cancelled["left_out"].as_array().unwrap().len(), 2);
    let paused = replayed(&["--pause-after", "1"]);
    assert_eq!((&paused["status"], paused["batches"].as_array().unwrap().len()), (&json!("paused"), 1));
    let path = fixture("restart_inplace");
    refused(
        &["restarts", "-q", "--plan", "--job", "storefront", "--emit", "--cancel-after", "9", &path],
        &["--cancel-after 9", "4 batches"],
    );
    refused(&["restarts", "-q", "--plan", "--job", "storefront", "--cancel-after", "1", &path], &["--emit"]);
}

#[test]
fn a_restart_below_the_threshold_is_a_finding() {
    let overlap = fixture("job_restart_overlap");
    let args = |amount: &'static str| ["audit", "--min-running", amount, "--json"];
    let clean = run_to(0, &[&args("1")[..], &[&overlap]].concat()).json();
    check_schema("audit", &clean);
    assert_eq!(clean["verdict"], "clean");
    let found = run_to(1, &[&args("66%")[..], &[&overlap]].concat()).json();
    check_schema("audit", &found);
    let findings = found["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1);
    let finding = &findings[0];
    for (key, value) in [
        ("kind", json!("restart_below_threshold")),
        ("severity", json!("warning")),
        ("namespace", json!("prod")),
        ("job", json!("storefront")),
        ("group", json!("work")),
        ("value", json!(1)),
        ("index", json!(33)),
        ("until", json!(45)),
        ("entry", json!("AllocClientUpdateRequestType")),
    ] {
        assert_eq!(finding[key], value, "{key}: {finding}");
    }
    assert!(finding["detail"].as_str().unwrap().contains("prod/storefront@20"), "{finding}");
    run_to(0, &["audit", &overlap]);
    run_to(0, &["audit", "--min-running", "3", "--fail-on", "error", &overlap]);
    let sarif = run_to(1, &["audit", "--min-running", "3", "--format", "sarif", &overlap]).json();
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "restart_below_threshold");
    refused(&["audit", "--min-running", "none", &overlap], &["--min-running"]);
}

#[test]
fn a_restart_is_followed_until_it_ends() {
    let mut log = RestartLog::new("web", 2, 2);
    log.ask(0, "alloc-stop");
    let new = log.replace(0);
    let path = log.path();
    let child = std::process::Command::new(assert_cmd::cargo::cargo_bin!("raftscope"))
        .args(["restarts", "--id", "web", "--follow", "--format", "ndjson", &path])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(700));
    log.now += 1.0;
    log.status(0, "complete");
    log.status(new, "running");
    log.now += 1.0;
    log.ask(1, "alloc-stop");
    let last = log.replace(1);
    log.now += 1.0;
    log.status(1, "complete");
    log.status(last, "running");
    log.path();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let steps: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(steps.len(), 8, "{text}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("web@") && text.contains("runs"), "{text}");
}
