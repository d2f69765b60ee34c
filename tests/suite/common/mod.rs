//! What the tests of the command line share.
pub mod restart_log;

use std::path::{Path, PathBuf};

use serde_json::Value;

pub use crate::support::run::Output;
use crate::support::run::raftscope;

/// A path below `fixtures/`.
pub fn fixture(name: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
    path.to_str().unwrap().to_owned()
}

/// Runs raftscope with these arguments.
#[track_caller]
pub fn run(args: &[&str]) -> Output {
    raftscope(args)
}

/// As [`run`], with exit code `code`.
pub fn run_to(code: i32, args: &[&str]) -> Output {
    let ran = run(args);
    assert_eq!(ran.code, code, "{args:?}\n{}\n{}", ran.stdout, ran.stderr);
    ran
}

/// Exit code 2, nothing on stdout, and on stderr, after notes if any, one line that holds `words`.
pub fn refused(args: &[&str], words: &[&str]) {
    let ran = run_to(2, args);
    assert_eq!(ran.stdout, "", "{args:?}");
    let mut told = ran.stderr.lines().skip_while(|line| line.starts_with("note: "));
    let error = told.next().unwrap_or_default();
    assert!(error.starts_with("error: ") && told.next().is_none(), "{args:?}: {:?}", ran.stderr);
    for word in words {
        assert!(error.contains(word), "{args:?}: {word:?} is not in {:?}", ran.stderr);
    }
}

/// Checks a document against `docs/schema/NAME.schema.json`.
pub fn check_schema(name: &str, document: &Value) {
    check_against(&format!("docs/schema/{name}.schema.json"), document);
}

/// Checks a SARIF log against the schema that OASIS published.
pub fn check_sarif(document: &Value) {
    check_against("fixtures/sarif-2.1.0.schema.json", document);
}

fn check_against(name: &str, document: &Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    // SARIF's pattern for a language, which we do not print, ends a class that it never began: fine in JavaScript alone.
    let text = std::fs::read_to_string(path).unwrap().replace("[a-zA-Z]{2}]?$", "[a-zA-Z]{2}\\\\]?$");
    let schema: Value = serde_json::from_str(&text).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(document).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{name}: {errors:#?}");
}

/// Every secret that was put into the case `secrets`.
pub fn planted_secrets() -> Vec<String> {
    fn collect(value: &Value, texts: &mut Vec<String>) {
        match value {
            Value::String(text) => texts.push(text.clone()),
            Value::Array(values) => values.iter().for_each(|value| collect(value, texts)),
            Value::Object(map) => map.values().for_each(|value| collect(value, texts)),
            _ => {}
        }
    }
    let case: Value = serde_json::from_slice(&std::fs::read(fixture("secrets/case.json")).unwrap()).unwrap();
    let mut planted = Vec::new();
    collect(&case["expected"]["secrets"], &mut planted);
    assert!(!planted.is_empty(), "{case}");
    planted
}

/// Copies a folder with all that is in it.
pub fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_tree(&entry.path(), &target),
            false => _ = std::fs::copy(entry.path(), target).unwrap(),
        }
    }
}
