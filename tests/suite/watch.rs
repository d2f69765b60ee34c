//! `watch` beside a log that grows: each finding once, as it comes, and the summary at Ctrl-C.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use crate::support::synth::bolt::{Db, Layout, Transaction};
use crate::support::synth::history::{History, Plot};
use crate::support::synth::{put, write_bolt};
use serde_json::Value;

#[test]
fn a_finding_is_told_once_when_its_entry_comes_and_ctrl_c_ends_with_the_summary() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("raft.db");
    let fault = Some("register_with_status@400".parse().unwrap());
    let mut history = History::new(Plot { seed: 1, fault, ..Plot::default() });
    write_bolt(&path, Layout::default(), &mut history, 350).unwrap();

    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("raftscope"))
        .args(["watch", "--interval", "100ms", "--format", "ndjson"])
        .arg(&path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("waiting for new entries") {
        line.clear();
        assert!(stderr.read_line(&mut line).unwrap() > 0, "it ended early");
    }

    let mut findings: Vec<Value> = Vec::new();
    for _ in 0..2 {
        let mut transaction = Transaction::default();
        history.by_ref().take(200).for_each(|entry| put(&mut transaction, &entry));
        Db::open(&path).unwrap().commit(transaction).unwrap();
        if findings.is_empty() {
            line.clear();
            stdout.read_line(&mut line).unwrap();
            findings.push(serde_json::from_str(&line).unwrap());
        }
    }
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    findings.extend(rest.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
    let mut words = String::new();
    stderr.read_to_string(&mut words).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{words}");
    assert!(words.contains("findings: "), "{words}");

    let planted = history.planted().unwrap().index;
    assert!(planted > 350 && findings.iter().any(|f| f["index"] == planted), "{planted}: {findings:#?}");
    let mut places: Vec<String> = findings
        .iter()
        .map(|f| ["kind", "parent", "job", "counter", "index"].map(|k| f[k].to_string()).join(" "))
        .collect();
    let all = places.len();
    places.sort();
    places.dedup();
    assert_eq!(places.len(), all, "{findings:#?}");
}
