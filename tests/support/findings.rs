//! Comparing what `audit` finds with what `case.json` expects.
//!
//! `case.json` uses the recording's names (`fixtures/README.md`); here they become ours. What is not due yet is left
//! out on both sides.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::cases::{Case, Recording};

/// Finding kinds that `audit` must get right now. A later kind is added here, and nowhere else.
const KINDS_DUE: [&str; 6] = ["negative", "drift", "rejected_entry", "undecodable_entry", "unknown_type", "gap"];

/// Cause rules that `audit` must name now; for any other mechanism it says `unexplained`, or already names it.
const CAUSES_DUE: [&str; 7] = [
    "register_with_status",
    "double_pending",
    "parent_recreated",
    "status_without_count",
    "child_reregistered",
    "reconcile_merged_namespaces",
    "lost_parent",
];

/// True when a kind is compared at all.
pub fn is_due(kind: &str) -> bool {
    KINDS_DUE.contains(&kind)
}

/// A finding reduced to what both sides say: its place, and its values by our names.
pub type Finding = BTreeMap<String, Value>;

/// The findings that a case lists for a recording; none where it lists none for those rules.
pub fn expected(case: &Case, recording: &Recording) -> Option<Vec<Finding>> {
    let description = &case.description;
    let of_server = |value: &Value| match &recording.server {
        Some(server) => value.get(server).cloned(),
        None => Some(value.clone()),
    };
    let primary = match &recording.server {
        Some(server) => &description["expected"]["servers"][server],
        None => &description["expected"],
    };
    let list = if description["nomad_rules"] == json!(recording.rules) {
        primary
    } else {
        let profile = of_server(description.get("expected_by_profile")?)?;
        match profile.get(&recording.rules)? {
            same if same["same_as_primary"] == json!(true) => primary,
            own => &own.clone(),
        }
    };
    Some(list["findings"].as_array()?.iter().map(of_case).filter(due).collect())
}

/// The findings of an `audit --all --format json` document.
pub fn printed(audit: &Value) -> Vec<Finding> {
    let list = audit["findings"].as_array().unwrap_or_else(|| panic!("no findings in {audit}"));
    list.iter().map(|finding| finding.as_object().unwrap().clone().into_iter().collect()).filter(due).collect()
}

fn due(finding: &Finding) -> bool {
    finding["kind"].as_str().is_some_and(is_due)
}

/// A finding of `case.json` in our names.
fn of_case(finding: &Value) -> Finding {
    let kind = match finding["kind"].as_str().unwrap() {
        "rejected" => "rejected_entry",
        "undecodable" | "empty_command" => "undecodable_entry",
        "ignored_unknown" => "unknown_type",
        "eval_dropped" => "orphan",
        same => same,
    };
    let mut ours = Finding::from([("kind".to_owned(), json!(kind))]);
    for key in
        ["namespace", "parent", "value", "min_value", "index", "term", "until", "stored", "recount", "final_value"]
    {
        if let Some(value) = finding.get(key) {
            ours.insert(key.into(), value.clone());
        }
    }
    if let Some(counter) = finding["counter"].as_str() {
        let (first, rest) = counter.split_at(1);
        ours.insert("counter".into(), json!(first.to_uppercase() + rest));
    }
    put_entry(&mut ours, "entry", &finding["entry_type"]);
    put_entry(&mut ours, "until_entry", &finding["until_entry_type"]);
    if finding.get("partial_effect").is_some() {
        ours.insert("partial".into(), json!(true));
    }
    if let Some(cause) = finding.get("cause").filter(|cause| cause.is_object()) {
        ours.insert("cause".into(), cause_of_case(cause));
    }
    ours
}

fn cause_of_case(cause: &Value) -> Value {
    let mut ours = Finding::new();
    for key in ["rule", "index", "term", "status"] {
        if let Some(value) = cause.get(key) {
            ours.insert(key.into(), value.clone());
        }
    }
    put_entry(&mut ours, "entry", &cause["entry_type"]);
    if let Some((namespace, job)) = cause["job"].as_str().and_then(|job| job.split_once('/')) {
        ours.insert("namespace".into(), json!(namespace));
        ours.insert("job".into(), json!(job));
    }
    json!(ours)
}

/// Our name of an entry type. The recording has a number where its version had no name; of those only the ones that no
/// version names stay numbers, and the others are not compared.
fn put_entry(ours: &mut Finding, key: &str, recorded: &Value) {
    match recorded.as_str() {
        None | Some("LogCommand") => {}
        Some(number) if number.parse::<u8>().is_ok() => {
            if ["78", "127"].contains(&number) {
                ours.insert(key.into(), recorded.clone());
            }
        }
        Some("UpsertNodeEvents") => {
            ours.insert(key.into(), json!("UpsertNodeEventsType"));
        }
        Some(name) => {
            ours.insert(key.into(), json!(format!("{name}RequestType")));
        }
    }
}

/// Tells each finding that is on one side only, or has another value where the expected one has one.
pub fn differences(expected: Vec<Finding>, printed: Vec<Finding>) -> Vec<String> {
    let mut left: BTreeMap<String, Vec<Finding>> = BTreeMap::new();
    printed.into_iter().for_each(|finding| left.entry(place(&finding)).or_default().push(finding));
    let mut told = Vec::new();
    for finding in expected {
        match left.get_mut(&place(&finding)).and_then(Vec::pop) {
            None => told.push(format!("  not found: {}", json!(finding))),
            Some(ours) => told.extend(unlike(&finding, &ours)),
        }
    }
    told.extend(left.into_values().flatten().map(|finding| format!("  found, but not expected: {}", json!(finding))));
    told
}

/// What makes a finding this one and no other.
fn place(finding: &Finding) -> String {
    let part = |key| finding.get(key).map(Value::to_string).unwrap_or_default();
    ["kind", "index", "namespace", "parent", "counter"].map(part).join(" ")
}

fn unlike(expected: &Finding, ours: &Finding) -> Vec<String> {
    let mut told = Vec::new();
    for (key, value) in expected {
        let got = ours.get(key).unwrap_or(&Value::Null);
        let same = if key == "cause" { same_cause(value, got) } else { value == got };
        if !same {
            told.push(format!("  {}: {key} is {got}, expected {value}", place(ours)));
        }
    }
    told
}

fn same_cause(expected: &Value, ours: &Value) -> bool {
    let rule = expected["rule"].as_str().unwrap_or_default();
    if !CAUSES_DUE.contains(&rule) && ours["rule"] == json!("unexplained") {
        return true;
    }
    let expected = expected.as_object().unwrap();
    // An empty status may be left out.
    expected.iter().all(|(key, value)| match ours.get(key) {
        Some(got) => got == value,
        None => *value == json!(""),
    })
}
