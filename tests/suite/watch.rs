//! `watch` beside a log that grows: each finding once, as it comes, and the summary at Ctrl-C.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};

use crate::support::run::interrupt;
use crate::support::synth::bolt::{Db, Layout, Transaction};
use crate::support::synth::history::{Entry, History, LogType, Plot};
use crate::support::synth::{put, write_bolt, write_entries};
use serde_json::Value;

/// A `watch` that runs, and has looked once.
struct Watch {
    child: Child,
    stdout: BufReader<ChildStdout>,
    stderr: BufReader<ChildStderr>,
}

impl Watch {
    fn start(path: &Path) -> Self {
        let mut child = Command::new(assert_cmd::cargo::cargo_bin!("raftscope"))
            .args(["watch", "--interval", "100ms", "--format", "ndjson"])
            .arg(path)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let mut watch = Watch { child, stdout, stderr };
        let mut line = String::new();
        while !line.contains("waiting for new entries") {
            line.clear();
            assert!(watch.stderr.read_line(&mut line).unwrap() > 0, "it ended early");
        }
        watch
    }

    /// The next finding.
    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Presses Ctrl-C; the findings that were not read yet.
    fn end(mut self) -> Vec<Value> {
        interrupt(&self.child);
        let (mut rest, mut words) = (String::new(), String::new());
        self.stdout.read_to_string(&mut rest).unwrap();
        self.stderr.read_to_string(&mut words).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(130), "{words}");
        assert!(words.contains("findings: ") || words.contains("clean: "), "{words}");
        rest.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

#[test]
fn a_tail_that_a_new_leader_replaced_by_one_as_long_is_looked_at() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("raft.db");
    let fault = Some("register_with_status@400".parse().unwrap());
    let mut history = History::new(Plot { seed: 1, fault, ..Plot::default() });
    let mut entries: Vec<Entry> = history.by_ref().take(500).collect();
    let planted = history.planted().unwrap().index;
    let at = entries.iter().position(|entry| entry.index == planted).unwrap();
    entries.truncate(at + 1);
    let term = entries[at].term;
    let mut before = entries.clone();
    (before[at].kind, before[at].data) = (LogType::Noop, Vec::new());
    write_entries(&path, Layout::default(), &before, term).unwrap();
    let mut watch = Watch::start(&path);
    let mut transaction = Transaction::default();
    entries[at].term += 1;
    put(&mut transaction, &entries[at]);
    Db::open(&path).unwrap().commit(transaction).unwrap();
    let finding = watch.next();
    assert_eq!((finding["index"].as_u64(), finding["term"].as_u64()), (Some(planted), Some(term + 1)), "{finding}");
    assert!(watch.end().iter().all(|finding| finding["term"] == term + 1));
}

#[test]
fn a_finding_is_told_once_when_its_entry_comes_and_ctrl_c_ends_with_the_summary() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("raft.db");
    let fault = Some("register_with_status@400".parse().unwrap());
    let mut history = History::new(Plot { seed: 1, fault, ..Plot::default() });
    write_bolt(&path, Layout::default(), &mut history, 350).unwrap();

    let mut watch = Watch::start(&path);
    let mut findings: Vec<Value> = Vec::new();
    for _ in 0..2 {
        let mut transaction = Transaction::default();
        history.by_ref().take(200).for_each(|entry| put(&mut transaction, &entry));
        Db::open(&path).unwrap().commit(transaction).unwrap();
        if findings.is_empty() {
            findings.push(watch.next());
        }
    }
    std::thread::sleep(std::time::Duration::from_millis(500));
    findings.extend(watch.end());
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
