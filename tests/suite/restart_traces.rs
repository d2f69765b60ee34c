//! Restarts put together from what clients and servers write: what is one, what is none, and what is
//! said where the log tells less than all.

use crate::common::restart_log::{RestartLog, USER};
use crate::common::{check_schema, run_to};
use serde_json::{Value, json};

/// The restarts in a log, and what was said beside them.
fn found(log: &RestartLog) -> (Vec<Value>, String) {
    found_with(log, &[])
}

fn found_with(log: &RestartLog, options: &[&str]) -> (Vec<Value>, String) {
    let ran = run_to(0, &[&["restarts", "--json"], options, &[&log.path()]].concat());
    let document = ran.json();
    check_schema("restarts", &document);
    (document["restarts"].as_array().unwrap().clone(), ran.stderr)
}

fn allocs(restart: &Value) -> Vec<Vec<String>> {
    let of = |b: &Value| b["allocs"].as_array().unwrap().iter().map(|a| a.as_str().unwrap().to_owned()).collect();
    restart["batches"].as_array().unwrap().iter().map(of).collect()
}

fn notes(restart: &Value) -> String {
    restart["notes"].to_string()
}

/// Restarts allocations in place, `size` at a time, with a wait between.
fn in_place(log: &mut RestartLog, which: &[usize], size: usize, wait: f64) {
    for batch in which.chunks(size) {
        for i in batch {
            log.restart(*i, USER);
            log.now += 0.01;
        }
        log.now += 0.7;
        log.report(batch);
        log.now += wait - 0.5;
    }
}

#[test]
fn events_that_are_sent_again_count_once() {
    let mut log = RestartLog::new("web", 4, 4);
    in_place(&mut log, &[0, 1, 2, 3], 2, 5.0);
    log.report(&[0, 1, 2, 3]);
    log.tick(60.0);
    log.report(&[0, 1, 2, 3]);
    let (restarts, _) = found(&log);
    assert_eq!(restarts.len(), 1);
    assert_eq!(allocs(&restarts[0]), [log.ids(&[0, 1]), log.ids(&[2, 3])]);
    assert_eq!((&restarts[0]["kind"], &restarts[0]["status"]), (&json!("in_place"), &json!("complete")));
    assert!((restarts[0]["batch_wait_s"].as_f64().unwrap() - 5.0).abs() < 1.0);
}

#[test]
fn every_text_of_a_users_restart_counts_and_no_other() {
    for reason in ["User requested task to restart", "User requested all tasks to restart", "User requested restart"] {
        let mut log = RestartLog::new("web", 2, 2);
        log.restart(0, reason);
        log.restart(1, reason);
        log.now += 1.0;
        log.report(&[0, 1]);
        assert_eq!(found(&log).0.len(), 1, "{reason}");
    }
    for reason in [
        "Template with change_mode restart re-rendered",
        "healthcheck: check \"alive\" unhealthy",
        "Vault: new Vault token acquired",
    ] {
        let mut log = RestartLog::new("web", 2, 2);
        log.restart(0, reason);
        log.restart(1, reason);
        log.now += 1.0;
        log.report(&[0, 1]);
        assert_eq!(found(&log).0, Vec::<Value>::new(), "{reason}");
    }
}

#[test]
fn one_allocation_of_several_is_no_restart_of_the_job() {
    let mut log = RestartLog::new("web", 3, 3);
    log.restart(1, USER);
    log.now += 1.0;
    log.report(&[1]);
    log.tick(30.0);
    log.ask(2, "alloc-stop");
    let new = log.replace(2);
    log.now += 1.0;
    log.status(2, "complete");
    log.status(new, "running");
    log.tick(900.0);
    assert_eq!(found(&log).0, Vec::<Value>::new());
}

#[test]
fn the_only_allocation_of_a_job_is_a_single_one() {
    let mut log = RestartLog::new("web", 1, 1);
    log.restart(0, USER);
    log.now += 1.0;
    let at = log.report(&[0]);
    let (restarts, stderr) = found(&log);
    assert_eq!(restarts, Vec::<Value>::new());
    assert!(stderr.contains(&format!("web@{at}")) && stderr.contains("--single"), "{stderr}");
    let (restarts, _) = found_with(&log, &["--single"]);
    assert_eq!((restarts.len(), &restarts[0]["status"]), (1, &json!("complete")));
    assert!(notes(&restarts[0]).contains("nomad alloc restart"), "{}", notes(&restarts[0]));
}

#[test]
fn drains_and_scale_downs_are_no_restarts() {
    let mut log = RestartLog::new("web", 4, 4);
    for i in [0, 1] {
        log.ask(i, "node-drain");
        let new = log.replace(i);
        log.now += 1.0;
        log.status(i, "complete");
        log.status(new, "running");
    }
    log.register(2);
    log.scale_down(&[2, 3]);
    log.status(2, "complete");
    log.status(3, "complete");
    assert_eq!(found(&log).0, Vec::<Value>::new());
}

#[test]
fn a_batch_that_begins_before_the_one_before_runs_is_told() {
    let mut log = RestartLog::new("web", 3, 3);
    let first = log.ask(0, "alloc-stop");
    let new = [log.replace(0)];
    log.now += 1.0;
    log.status(0, "complete");
    log.now += 1.0;
    let second = log.ask(1, "alloc-stop");
    let new = [new[0], log.replace(1)];
    log.now += 1.0;
    let down = log.status(1, "complete");
    let runs = log.status(new[0], "running");
    log.status(new[1], "running");
    log.now += 10.0;
    log.ask(2, "alloc-stop");
    let last = log.replace(2);
    log.now += 1.0;
    log.status(2, "complete");
    log.status(last, "running");
    let (restarts, _) = found(&log);
    assert_eq!(allocs(&restarts[0]), [log.ids(&[0]), log.ids(&[1]), log.ids(&[2])]);
    let batch = &restarts[0]["batches"][0];
    assert_eq!(batch["next_began_before_running"], true);
    assert_eq!(batch["next_began_before_healthy"], true);
    assert_eq!(
        (&batch["first_index"], &batch["next_index"], &batch["running_index"]),
        (&json!(first), &json!(second), &json!(runs))
    );
    let batch = &restarts[0]["batches"][1];
    assert_eq!(
        (&batch["min_running"], &batch["count"], &batch["min_running_index"]),
        (&json!(1), &json!(3), &json!(down))
    );
    assert_eq!(batch["next_began_before_running"], false);
}

#[test]
fn clocks_that_differ_are_set_right_and_said() {
    // Node 1 is two minutes behind, node 2 a minute ahead; each batch has one allocation on each.
    let mut log = RestartLog::new("web", 6, 2);
    log.ahead = [(1, -120.0), (2, 60.0)].into();
    in_place(&mut log, &[0, 2, 4, 1, 3, 5], 3, 20.0);
    log.tick(100.0);
    let (restarts, stderr) = found(&log);
    assert_eq!(restarts.len(), 1, "{restarts:#?}");
    let mut batches = allocs(&restarts[0]);
    batches.iter_mut().for_each(|b| b.sort());
    assert_eq!(batches, [log.ids(&[0, 2, 4]), log.ids(&[1, 3, 5])]);
    assert!((restarts[0]["batch_wait_s"].as_f64().unwrap() - 20.0).abs() < 1.5, "{}", restarts[0]["batch_wait_s"]);
    assert!(stderr.contains("clocks of the nodes differ") && notes(&restarts[0]).contains("clocks"), "{stderr}");
}

#[test]
fn a_restart_whose_events_were_pushed_out_is_inferred_and_said() {
    let mut log = RestartLog::new("web", 4, 4);
    log.restart(0, USER);
    log.restart(1, USER);
    log.now += 0.6;
    // Before the client reports, the second one crashes again and again.
    for _ in 0..4 {
        log.crash(1);
        log.now += 0.2;
    }
    log.report(&[0, 1]);
    log.now += 10.0;
    in_place(&mut log, &[2, 3], 2, 1.0);
    log.tick(100.0);
    let (restarts, stderr) = found(&log);
    assert_eq!(restarts.len(), 1, "{restarts:#?}");
    assert_eq!(allocs(&restarts[0]), [log.ids(&[0, 1]), log.ids(&[2, 3])]);
    assert_eq!(restarts[0]["batches"][0]["steps"][1]["inferred"], true);
    assert_eq!(restarts[0]["status"], "complete");
    assert!(stderr.contains("inferred"), "{stderr}");
}

#[test]
fn a_batch_of_which_no_event_is_left_is_inferred_from_the_wait() {
    let mut log = RestartLog::new("web", 4, 4);
    in_place(&mut log, &[0, 1], 1, 10.0);
    log.restart(2, USER);
    log.now += 0.6;
    for _ in 0..4 {
        log.crash(2);
        log.now += 0.2;
    }
    log.report(&[2]);
    log.now += 9.0;
    in_place(&mut log, &[3], 1, 1.0);
    let (restarts, stderr) = found(&log);
    assert_eq!(restarts.len(), 1, "{restarts:#?}");
    assert_eq!(allocs(&restarts[0]), [log.ids(&[0]), log.ids(&[1]), log.ids(&[2]), log.ids(&[3])]);
    assert!(stderr.contains("no event is left"), "{stderr}");
}

#[test]
fn crashes_alone_are_no_restart() {
    let mut log = RestartLog::new("web", 2, 2);
    for _ in 0..6 {
        log.crash(0);
        log.now += 1.0;
    }
    log.report(&[0]);
    assert_eq!(found(&log).0, Vec::<Value>::new());
}

#[test]
fn a_restart_cut_off_by_the_end_of_the_log_is_running_and_said() {
    let mut log = RestartLog::new("web", 6, 6);
    in_place(&mut log, &[0, 1, 2, 3], 2, 30.0);
    let (restarts, stderr) = found(&log);
    assert_eq!((&restarts[0]["status"], &restarts[0]["cut_off"]), (&json!("running"), &json!(true)));
    assert_eq!(restarts[0]["left_out"], json!(log.ids(&[4, 5])));
    assert!(stderr.contains("the log ends at entry"), "{stderr}");
    // Had it gone on, the next batch would have been due long ago.
    log.tick(600.0);
    let (restarts, _) = found(&log);
    assert_eq!((&restarts[0]["status"], &restarts[0]["cut_off"]), (&json!("cancelled"), &Value::Null));
}

#[test]
fn a_first_stop_at_the_end_of_the_log_is_single_and_cut_off() {
    let mut log = RestartLog::new("web", 3, 3);
    log.ask(0, "alloc-stop");
    log.replace(0);
    assert_eq!(found(&log).0, Vec::<Value>::new());
    let (restarts, _) = found_with(&log, &["--single"]);
    assert_eq!((&restarts[0]["status"], &restarts[0]["cut_off"]), (&json!("running"), &json!(true)));
    assert!(notes(&restarts[0]).contains("nomad alloc stop"), "{}", notes(&restarts[0]));
}

#[test]
fn a_replacement_that_fails_makes_it_failed() {
    let mut log = RestartLog::new("web", 2, 2);
    for i in 0..2 {
        log.ask(i, "alloc-stop");
        let new = log.replace(i);
        log.now += 1.0;
        log.status(i, "complete");
        log.status(new, if i == 0 { "running" } else { "failed" });
    }
    log.tick(60.0);
    let (restarts, _) = found(&log);
    assert_eq!((restarts.len(), &restarts[0]["status"]), (1, &json!("failed")));
    assert_eq!(restarts[0]["batches"][1]["steps"][0]["failed"], true);
}

#[test]
fn a_log_without_clocks_still_tells_batches_and_order() {
    let mut log = RestartLog::new("web", 2, 2);
    log.clocks = false;
    for i in 0..2 {
        log.ask(i, "alloc-stop");
        let new = log.replace(i);
        log.status(i, "complete");
        log.status(new, "running");
    }
    let (restarts, _) = found(&log);
    assert_eq!(allocs(&restarts[0]), [log.ids(&[0]), log.ids(&[1])]);
    assert_eq!(restarts[0]["status"], "complete");
}

#[test]
fn two_restarts_of_the_same_allocations_are_two() {
    let mut log = RestartLog::new("web", 4, 4);
    in_place(&mut log, &[0, 1, 2, 3], 2, 3.0);
    log.now += 20.0;
    in_place(&mut log, &[0, 1, 2, 3], 4, 1.0);
    let (restarts, _) = found(&log);
    assert_eq!(restarts.iter().map(|r| r["batches"].as_array().unwrap().len()).collect::<Vec<_>>(), [2, 1]);
}

#[test]
fn the_time_below_a_threshold_is_measured() {
    let mut log = RestartLog::new("web", 4, 4);
    in_place(&mut log, &[0, 1, 2, 3], 2, 5.0);
    let path = log.path();
    let below = |amount: &str| {
        run_to(0, &["restarts", "--min-running", amount, "--json", &path]).json()["restarts"][0]["below"].clone()
    };
    assert_eq!(below("2"), Value::Null);
    assert_eq!(below("50%"), Value::Null);
    for amount in ["3", "75%"] {
        let below = below(amount);
        assert_eq!((&below["threshold"], &below["lowest"], &below["count"]), (&json!(3), &json!(2), &json!(4)));
        let seconds = below["longest_s"].as_f64().unwrap();
        assert!((0.2..0.4).contains(&seconds), "{seconds}");
    }
}
