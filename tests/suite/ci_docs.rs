//! `docs/ci.md`: the pipeline script runs, and so does every command of the page's examples, on a stand-in for a server.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::{check_sarif, check_schema, fixture};
use serde_json::Value;
use tempfile::TempDir;

/// A checkout of a repository that has the script where the page has it, and a `PATH` with raftscope and with a `nomad`
/// that saves the same snapshot whenever it is asked.
struct Runner {
    dir: TempDir,
}

impl Runner {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (docs, bin) = (dir.path().join("docs/ci"), dir.path().join("bin"));
        fs::create_dir_all(&docs).unwrap();
        fs::create_dir_all(&bin).unwrap();
        fs::copy(root().join("docs/ci/audit.sh"), docs.join("audit.sh")).unwrap();
        let program = |name: &str, script: String| {
            let path = bin.join(name);
            fs::write(&path, format!("#!/bin/sh\nset -eu\n{script}\n")).unwrap();
            let made = Command::new("chmod").arg("+x").arg(path).status().unwrap();
            assert!(made.success());
        };
        program("raftscope", format!("exec '{}' \"$@\"", env!("CARGO_BIN_EXE_raftscope")));
        let snapshot = fixture("real-2.0.5/backup.snap");
        program("nomad", format!("[ \"$1 $2 $3\" = 'operator snapshot save' ]\ncp '{snapshot}' \"$4\""));
        Runner { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs a line as a pipeline does: in a shell that stops at the first failure, in the checkout.
    fn run(&self, line: &str, data: &str) -> Output {
        let path = format!("{}:{}", self.path("bin").display(), std::env::var("PATH").unwrap());
        Command::new("sh")
            .args(["-euc", line])
            .current_dir(self.dir.path())
            .env_clear()
            .env("PATH", path)
            .env("NOMAD_DATA", data)
            .output()
            .unwrap()
    }

    #[track_caller]
    fn run_to(&self, code: i32, line: &str, data: &str) -> String {
        let ran = self.run(line, data);
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        assert_eq!(ran.status.code(), Some(code), "{line}\n{}\n{}", text(&ran.stdout), text(&ran.stderr));
        text(&ran.stdout)
    }

    /// The reports that the script leaves, each in its format.
    fn check_reports(&self) {
        let read = |name: &str| fs::read_to_string(self.path("reports").join(name)).unwrap();
        check_schema("audit", &serde_json::from_str(&read("audit.json")).unwrap());
        check_sarif(&serde_json::from_str(&read("audit.sarif")).unwrap());
        assert!(read("audit.xml").contains("<testcase "));
        assert!(read("audit.txt").contains("errors, "));
        assert!(self.path("reports/ledger.db").exists());
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A data dir whose `server/raft` is a fixture's log.
fn data_dir(case: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let raft = dir.path().join("server/raft");
    fs::create_dir_all(&raft).unwrap();
    fs::copy(Path::new(&fixture(case)).join("raft.db"), raft.join("raft.db")).unwrap();
    dir
}

fn script(data: &TempDir, rest: &str) -> String {
    format!("sh docs/ci/audit.sh {}/server/raft reports {rest}", data.path().display())
}

#[test]
fn the_script_ends_as_the_audit_does_and_leaves_every_report() {
    for (case, code) in [("healthy", 0), ("horizontal_hey", 1), ("unknown_types", 3)] {
        let (runner, data) = (Runner::new(), data_dir(case));
        // The second time the ledger is there.
        for _ in 0..2 {
            let told = runner.run_to(code, &script(&data, ""), "");
            assert_eq!(told, fs::read_to_string(runner.path("reports/audit.txt")).unwrap());
            runner.check_reports();
        }
    }
    let runner = Runner::new();
    runner.run_to(2, "sh docs/ci/audit.sh nowhere reports", "");
    runner.run_to(2, "sh docs/ci/audit.sh nowhere", "");
}

#[test]
fn the_script_writes_a_baseline_once_and_then_fails_only_by_what_is_new() {
    let (runner, hey, other) = (Runner::new(), data_dir("horizontal_hey"), data_dir("hidden_behind_sibling"));
    runner.run_to(1, &script(&hey, "known.json"), "");
    assert!(runner.path("known.json").exists());
    let told = runner.run_to(0, &script(&hey, "known.json"), "");
    assert!(told.contains("nothing at or above warning that the baseline does not list"), "{told}");
    // Another log: the ledger is begun anew, and its faults are new ones.
    runner.run_to(1, &script(&other, "known.json"), "");
    runner.check_reports();
}

/// The blocks of one language on the page.
fn blocks(language: &str) -> Vec<String> {
    let page = fs::read_to_string(root().join("docs/ci.md")).unwrap();
    let fence = format!("```{language}\n");
    page.split(&fence).skip(1).map(|rest| rest.split("\n```").next().unwrap().to_owned()).collect()
}

#[test]
fn every_shell_example_runs() {
    let examples = blocks("sh");
    assert!(examples.len() >= 3);
    let (runner, data) = (Runner::new(), data_dir("horizontal_hey"));
    for example in examples {
        let ran = runner.run(&example, data.path().to_str().unwrap());
        // What the script is for: it fails by findings.
        let expected = if example.contains("audit.sh") { 1 } else { 0 };
        assert_eq!(ran.status.code(), Some(expected), "{example}\n{}", String::from_utf8_lossy(&ran.stderr));
        if example.contains("--jq") {
            let told = String::from_utf8(ran.stdout).unwrap();
            assert!(
                told.contains("default/horizontal_hey Running -1 since 1609, by register_with_status at 1609"),
                "{told}"
            );
        }
    }
}

#[test]
fn the_pipelines_are_yaml_and_every_command_in_them_runs() {
    let pipelines: Vec<Value> = blocks("yaml")
        .iter()
        .map(|text| serde_saphyr::from_str(text).unwrap_or_else(|e| panic!("{e}\n{text}")))
        .collect();
    let [github, gitlab] = &pipelines[..] else { panic!("{pipelines:#?}") };

    let steps = github["jobs"]["audit"]["steps"].as_array().unwrap();
    assert!(steps.iter().all(|step| step["run"].is_string() != step["uses"].is_string()), "{steps:#?}");
    let runner = Runner::new();
    for line in steps.iter().filter_map(|step| step["run"].as_str()) {
        runner.run_to(0, line, "");
    }
    runner.check_reports();
    let uploaded = steps.iter().find_map(|step| step["with"]["sarif_file"].as_str()).unwrap();
    assert!(runner.path(uploaded).exists());

    let job = &gitlab["nomad-audit"];
    let (runner, data) = (Runner::new(), data_dir("healthy"));
    for line in job["script"].as_array().unwrap() {
        runner.run_to(0, line.as_str().unwrap(), data.path().to_str().unwrap());
    }
    runner.check_reports();
    for file in [&job["artifacts"]["reports"]["junit"], &job["cache"]["paths"][0]] {
        assert!(runner.path(file.as_str().unwrap()).exists(), "{file}");
    }
}
