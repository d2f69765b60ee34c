//! What the tests of the command line share.
#![allow(dead_code, reason = "each test program uses a part of it")]

pub mod restart_log;

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;

/// A path below `fixtures/`.
pub fn fixture(name: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
    path.to_str().unwrap().to_owned()
}

/// What a run printed and how it ended.
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// The output as one JSON document.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {}", self.stdout))
    }

    /// The output as one JSON value a line.
    pub fn ndjson(&self) -> Vec<Value> {
        self.stdout.lines().map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}"))).collect()
    }
}

/// Runs raftscope in an environment without settings of its own.
pub fn run(args: &[&str]) -> Ran {
    let mut command = Command::cargo_bin("raftscope").unwrap();
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS"] {
        command.env_remove(name);
    }
    let output = command.args(args).output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// As [`run`], with exit code `code`.
pub fn run_to(code: i32, args: &[&str]) -> Ran {
    let ran = run(args);
    assert_eq!(ran.code, code, "{args:?}\n{}\n{}", ran.stdout, ran.stderr);
    ran
}

/// Exit code 2, nothing on stdout, and one line on stderr that holds `words`.
pub fn refused(args: &[&str], words: &[&str]) {
    let ran = run_to(2, args);
    assert_eq!(ran.stdout, "", "{args:?}");
    assert!(ran.stderr.starts_with("error: ") && ran.stderr.lines().count() == 1, "{args:?}: {:?}", ran.stderr);
    for word in words {
        assert!(ran.stderr.contains(word), "{args:?}: {word:?} is not in {:?}", ran.stderr);
    }
}

/// Checks a document against `docs/schema/NAME.schema.json`.
pub fn check_schema(name: &str, document: &Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("docs/schema/{name}.schema.json"));
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(document).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{name}: {errors:#?}");
}
