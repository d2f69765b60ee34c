//! Message bodies as JSON, held against what Nomad's own tool printed for the same logs, and against the secrets case.

use std::collections::BTreeMap;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use raftscope::entry::json::BodyWriter;
use raftscope::evidence::{self, Scanned};
use raftscope::redact::Redactor;
use raftscope::types::Index;
use serde_json::Value;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

/// Each entry's body, or the text of its error, as raftscope prints it.
fn bodies(path: &Path, mut redactor: Redactor) -> BTreeMap<u64, Result<Option<String>, String>> {
    let evidence = evidence::open(path).unwrap();
    let mut writer = BodyWriter::new();
    let mut out = BTreeMap::new();
    let mut sink = |scanned: Scanned<'_>| {
        if let Scanned::Entry(record) = scanned {
            let mut json = Vec::new();
            let body = writer.record(record.kind, record.data, &mut redactor, &mut json);
            let body = body.map(|has| has.then(|| String::from_utf8(json).unwrap())).map_err(|e| e.to_string());
            out.insert(record.index.0, body);
        }
        ControlFlow::Continue(())
    };
    evidence.log.scan(Index(0)..=Index(u64::MAX), &mut sink).unwrap();
    out
}

fn unzipped(path: &Path) -> String {
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    text
}

/// Fields that are bytes in Nomad, whose content its tool mangles, and what it loses of a batch deregister.
const NOT_COMPARED: &[&str] =
    &["Payload", "Hash", "Nodes", "KeyEncryptionKey", "Ciphertext", "Data", "Evals", "SubmitTime"];

fn differences(path: &str, theirs: &Value, ours: &Value, batch: bool, out: &mut Vec<String>) {
    match (theirs, ours) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: std::collections::BTreeSet<_> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let skip =
                    NOT_COMPARED.contains(&key.as_str()) && (batch || !matches!(key.as_str(), "Evals" | "SubmitTime"));
                let inner = format!("{path}.{key}");
                match (a.get(key), b.get(key)) {
                    (Some(x), Some(y)) if !skip || x == y => differences(&inner, x, y, batch, out),
                    (Some(Value::String(_)), Some(Value::String(_))) => {}
                    _ if skip && batch => {}
                    (x, y) => out.push(format!("{inner}: {x:?} and {y:?}")),
                }
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (i, (x, y)) in a.iter().zip(b).enumerate() {
                differences(&format!("{path}[{i}]"), x, y, batch, out);
            }
        }
        (x, y) if x != y => out.push(format!("{path}: {x} and {y}")),
        _ => {}
    }
}

fn same_as_printed(log: &Path, printed: Vec<Value>) {
    let ours = bodies(log, Redactor::showing());
    assert_eq!(printed.len(), ours.len());
    let mut differing = Vec::new();
    for entry in printed {
        let index = entry["Index"].as_u64().unwrap();
        let ours = ours[&index].as_ref().unwrap().as_deref().map_or(Value::Null, |b| serde_json::from_str(b).unwrap());
        let batch = entry["CommandType"] == "JobBatchDeregisterRequestType";
        differences(&index.to_string(), &entry["Body"], &ours, batch, &mut differing);
    }
    assert!(differing.is_empty(), "{differing:#?}");
}

#[test]
fn bodies_are_what_nomad_2_0_5_printed() {
    let printed = unzipped(&fixture("real-2.0.5/s1.logs.ndjson.gz"));
    same_as_printed(&fixture("real-2.0.5/s1"), printed.lines().map(|l| serde_json::from_str(l).unwrap()).collect());
}

#[test]
fn bodies_are_what_nomad_1_0_4_printed() {
    let printed: Value = serde_json::from_str(&unzipped(&fixture("real-1.0.4/logs.json.gz"))).unwrap();
    same_as_printed(&fixture("real-1.0.4/s2"), printed.as_array().unwrap().clone());
}

#[test]
fn no_secret_of_the_secrets_case_is_printed() {
    let case: Value = serde_json::from_slice(&std::fs::read(fixture("secrets/case.json")).unwrap()).unwrap();
    let expected = &case["expected"];
    let texts = |key: &str| {
        expected[key].as_array().unwrap().iter().map(|s| s.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let secrets = [texts("secrets"), texts("secrets_base64"), texts("secret_prefixes")].concat();
    for folder in ["secrets", "secrets/with_snapshot"] {
        for (index, body) in bodies(&fixture(folder), Redactor::hiding()) {
            let text = body.map_or_else(|e| e, Option::unwrap_or_default);
            for secret in &secrets {
                assert!(!text.contains(secret.as_str()), "{folder} {index} shows {secret}");
            }
        }
    }
    let shown: Vec<_> = bodies(&fixture("secrets"), Redactor::showing()).into_values().flatten().flatten().collect();
    assert!(shown.join("\n").contains("SECRET-ENV-0016"));
}

#[test]
fn names_ids_and_words_stay_when_secrets_are_hidden() {
    let bodies = bodies(&fixture("secrets"), Redactor::hiding());
    let body =
        |index: u64| -> Value { serde_json::from_str(bodies[&index].as_ref().unwrap().as_deref().unwrap()).unwrap() };
    let job = &body(17)["Job"];
    assert_eq!(job["ID"], "invoice_mailer");
    assert_eq!(job["ParameterizedJob"]["Payload"], "optional");
    assert_eq!(job["Payload"], Value::Null);
    let task = &job["TaskGroups"][0]["Tasks"][0];
    assert_eq!(task["Config"]["image"], "registry.example.test/mailer:4");
    assert_eq!(task["Identity"]["Audience"][0], "nomadproject.io");
    assert_eq!(body(5)["Config"]["PauseEvalBroker"], false);
    assert_eq!(body(11)["Tokens"][0]["AccessorID"], "84fd96a4-73cf-128c-1623-ac9afd1fac81");
    assert_eq!(body(14)["WrappedRootKeys"]["WrappedKeys"][0]["Provider"], "aead");
    assert_eq!(body(15)["AuthMethods"][0]["Config"]["OIDCDiscoveryURL"], "https://login.example.test");
    // The same password in the plan's copy of the job.
    let password = |body: &Value| body["Job"]["TaskGroups"][0]["Tasks"][0]["Env"]["SMTP_PASSWORD"].clone();
    assert_eq!(password(&body(17)), password(&body(19)));
    assert!(password(&body(17)).as_str().unwrap().starts_with("[Env#"));
    assert!(bodies[&24].is_err());
}
