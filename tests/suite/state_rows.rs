//! Rows of the state, held against whole states that real Nomad servers printed.
//!
//! Every `oracle-V[.SERVER].INDEX.json` among the fixtures is compared one way: what Nomad printed must be in ours, row
//! by row and field by field, once null, zero and empty values are dropped. Ours may have more.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use raftscope::evidence;
use raftscope::fsm::Fsm;
use raftscope::fsm::rules::{Rules, Version};
use raftscope::redact::Redactor;
use raftscope::replay::replay;
use raftscope::rows::{self, LogBodies, Table};
use raftscope::types::{Index, Term};
use serde_json::Value;

/// Fields that a server fills from its own clock or by chance: where ours are null, no replay can know them.
const CLOCK: &[(&str, &str)] = &[
    // A job that has not launched a child yet: the clock at its registration.
    ("PeriodicLaunches", ".Launch"),
    // After a promotion: the clock plus the deadline.
    ("Deployments", ".RequireProgressBy"),
    // The event of a node that rejected too many plans.
    ("Nodes", ".Timestamp"),
    // After a reconcile: a scheduler run inside the server.
    ("JobSummaries", ".Queued"),
];

struct Dump {
    path: PathBuf,
    version: Version,
    index: Index,
    evidence: PathBuf,
}

fn dumps() -> Vec<Dump> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut out = Vec::new();
    for case in std::fs::read_dir(root).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_dir()) {
        for path in std::fs::read_dir(&case).unwrap().map(|e| e.unwrap().path()) {
            let name = path.file_name().unwrap().to_str().unwrap();
            let bare = name.strip_suffix(".gz").unwrap_or(name);
            let Some(name) = bare.strip_prefix("oracle-").and_then(|n| n.strip_suffix(".json")) else { continue };
            let parts: Vec<_> = name.split('.').collect();
            let version = parts[..3].join(".").parse().unwrap();
            let index = Index(parts[parts.len() - 1].parse().unwrap());
            let evidence = if parts.len() == 5 { case.join(parts[3]) } else { case.clone() };
            out.push(Dump { path, version, index, evidence });
        }
    }
    out
}

fn json(path: &Path) -> Value {
    let bytes = std::fs::read(path).unwrap();
    if path.extension().is_some_and(|e| e == "gz") {
        let mut text = Vec::new();
        flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut text).unwrap();
        return serde_json::from_slice(&text).unwrap();
    }
    serde_json::from_slice(&bytes).unwrap()
}

/// Our state after `index` under the rules of `version`.
fn ours(dump: &Dump) -> Value {
    let evidence = evidence::open(&dump.evidence).unwrap();
    let mut fsm = Fsm::new(Rules::for_version(dump.version));
    let reached = replay(&*evidence.log, &mut fsm, (Index(0), Term(0)), dump.index, &mut (), &mut []).unwrap();
    assert_eq!(reached.index, dump.index);
    let bodies = LogBodies::new(&*evidence.log);
    let mut out = Vec::new();
    rows::write(fsm.state(), &bodies, Table::ALL, &mut Redactor::showing(), &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(b) => !b,
        Value::Number(n) => n.as_f64() == Some(0.0),
        Value::String(s) => s.is_empty() || s == "0001-01-01T00:00:00Z",
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.values().all(is_zero),
    }
}

fn key(table: &str, row: &Value) -> String {
    let names: &[&str] = match table {
        "ACLTokens" => &["AccessorID"],
        "Indexes" => &["Key"],
        "JobSummaries" => &["Namespace", "JobID"],
        "JobVersions" => &["Namespace", "ID", "Version"],
        "Jobs" | "PeriodicLaunches" => &["Namespace", "ID"],
        "RootKeys" => &["KeyID"],
        "ScalingEvents" => &["Namespace", "JobID"],
        _ => &["ID"],
    };
    names.iter().map(|name| row[name].to_string()).collect::<Vec<_>>().join(" ")
}

fn compare(table: &str, path: &str, theirs: &Value, ours: &Value, out: &mut BTreeSet<String>) {
    let masked = CLOCK.iter().any(|(t, field)| *t == table && path.ends_with(field));
    match (theirs, ours) {
        (theirs, _) if is_zero(theirs) && !ours.is_array() && !ours.is_object() && (is_zero(ours) || masked) => {}
        (_, Value::Null) if masked => {}
        (Value::Object(a), Value::Object(b)) => {
            for (name, value) in a {
                let inner = if b.get(name).is_none() && is_zero(value) {
                    &Value::Null
                } else {
                    b.get(name).unwrap_or(&Value::Null)
                };
                compare(table, &format!("{path}.{name}"), value, inner, out);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (x, y) in a.iter().zip(b) {
                compare(table, &format!("{path}[]"), x, y, out);
            }
        }
        (x, y) if is_zero(x) && is_zero(y) => {}
        // Numbers by value: 1 and 1.0 are one number.
        (Value::Number(x), Value::Number(y)) if x == y || (x.as_f64() == y.as_f64() && !(x.is_i64() && y.is_i64())) => {
        }
        (x, y) if x != y => {
            out.insert(format!("{path}: {x} in Nomad, {y} in ours"));
        }
        _ => {}
    }
}

#[test]
fn rows_are_those_that_nomad_printed() {
    let dumps = dumps();
    assert!(dumps.len() >= 20, "{} dumps", dumps.len());
    let mut differences = BTreeMap::new();
    for dump in dumps {
        let (theirs, ours) = (json(&dump.path), ours(&dump));
        for table in theirs.as_object().unwrap().keys() {
            let table = table.as_str();
            assert!(Table::parse(table).is_some(), "{table} is not known");
            let Some(Value::Array(rows)) = theirs.get(table) else { continue };
            let none = Value::Array(Vec::new());
            let Value::Array(own) = ours.get(table).unwrap_or(&none) else { panic!("{table} is no list") };
            let mut found = BTreeSet::new();
            let own_by_key: BTreeMap<_, _> = own.iter().map(|row| (key(table, row), row)).collect();
            for row in rows {
                match own_by_key.get(&key(table, row)) {
                    Some(own) => compare(table, &key(table, row), row, own, &mut found),
                    None => drop(found.insert(format!("{} is missing in ours", key(table, row)))),
                }
            }
            if rows.len() != own.len() {
                found.insert(format!("{} rows in Nomad, {} in ours", rows.len(), own.len()));
            }
            // Up to 1.2 these tables were sorted by ID alone.
            let by_create_index = ["Allocs", "Deployments", "Evals"].contains(&table);
            if !(by_create_index && dump.version < Version::new(1, 3, 0)) {
                let keys = |rows: &[Value]| rows.iter().map(|r| key(table, r)).collect::<Vec<_>>();
                if keys(rows) != keys(own) {
                    found.insert("the rows stand in another order".to_owned());
                }
            }
            if !found.is_empty() {
                differences.insert(format!("{} {table}", dump.path.file_name().unwrap().to_string_lossy()), found);
            }
        }
    }
    assert!(differences.is_empty(), "{differences:#?}");
}

#[test]
fn no_secret_of_the_secrets_case_is_in_a_row() {
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/secrets");
    let expected = &json(&case.join("case.json"))["expected"];
    let evidence = evidence::open(&case).unwrap();
    let mut fsm = Fsm::new(Rules::for_version(Version::NEWEST));
    replay(&*evidence.log, &mut fsm, (Index(0), Term(0)), Index(u64::MAX), &mut (), &mut []).unwrap();
    let bodies = LogBodies::new(&*evidence.log);
    let written = |tables: &[Table], mut redactor| {
        let mut out = Vec::new();
        rows::write(fsm.state(), &bodies, tables, &mut redactor, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let (hidden, shown) = (written(Table::ALL, Redactor::hiding()), written(Table::ALL, Redactor::showing()));
    for list in ["secrets", "secrets_base64", "secret_prefixes"] {
        for secret in expected[list].as_array().unwrap() {
            assert!(!hidden.contains(secret.as_str().unwrap()), "{secret} is shown");
        }
    }
    assert!(shown.contains("SECRET-ENV-0016"));
    assert_eq!(hidden, written(Table::ALL, Redactor::hiding()));
    // Names are no secrets, save in the source of a job, which is hidden whole.
    let rest: Vec<Table> = Table::ALL.iter().copied().filter(|t| *t != Table::JobSubmissions).collect();
    let names = |redactor| written(&rest, redactor).matches("invoice_mailer").count();
    assert_eq!(names(Redactor::hiding()), names(Redactor::showing()));
}
