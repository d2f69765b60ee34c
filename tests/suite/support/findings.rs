//! Comparing what `audit` finds with what `case.json` expects.
//!
//! `case.json` uses the recording's names (`fixtures/README.md`); here they become ours. What is not due yet is left
//! out on both sides.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::cases::{Case, Recording};

/// Finding kinds that `audit` must get right now. A later kind is added here, and nowhere else.
const KINDS_DUE: [&str; 7] =
    ["negative", "drift", "rejected_entry", "undecodable_entry", "unknown_type", "gap", "snapshot_mismatch"];

/// Cause rules that `audit` must name now; for any other mechanism it says `unexplained`, or already names it.
const CAUSES_DUE: [&str; 8] = [
    "base",
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

/// The findings that a case expects for a recording; none where it tells nothing about those rules.
///
/// Recordings start at a folder's newest snapshot and the audit at the oldest base it can use. So where a log that starts at 1 has a
/// snapshot as well, what counts is the list for the whole log: of the case itself (`from_entry_1`), or of the
/// server with the full log.
pub fn expected(case: &Case, recording: &Recording) -> Option<Vec<Finding>> {
    let description = &case.description;
    let rules = recording.rules.as_str();
    let findings = match &recording.server {
        None if description.get("from_entry_1").is_some() => from_entry_1(description, rules)?,
        None => listed(description, rules, &description["expected"], description.get("expected_by_profile")?)?,
        Some(server) => {
            let profiles = description.get("expected_by_profile")?.as_object()?;
            let full = profiles.keys().next()?;
            let server = if starts_behind_its_log(description, server, recording) { full } else { server };
            let primary = &description["expected"]["servers"][server];
            listed(description, rules, primary, profiles.get(server).unwrap_or(&Value::Null))?
        }
    };
    Some(findings.into_iter().filter(due).collect())
}

/// The list of `primary` for the case's own rules, that of `profiles` for other ones.
fn listed(description: &Value, rules: &str, primary: &Value, profiles: &Value) -> Option<Vec<Finding>> {
    let list = if description["nomad_rules"] == json!(rules) {
        primary
    } else {
        match profiles.get(rules)? {
            same if same["same_as_primary"] == json!(true) => primary,
            own => own,
        }
    };
    Some(list["findings"].as_array()?.iter().map(of_case).collect())
}

/// What a log from entry 1 leads to: under rules that do not reproduce the snapshot along it, the findings up to there,
/// the disagreement, and then what the snapshot leads to.
fn from_entry_1(description: &Value, rules: &str) -> Option<Vec<Finding>> {
    let whole = listed(description, rules, &description["from_entry_1"], description.get("from_entry_1_by_profile")?)?;
    let check = &description["snapshot_check"];
    if check["by_rules"][rules]["agrees"] == json!(true) {
        return Some(whole);
    }
    let snapshot = check["index"].as_u64()?;
    let mut findings: Vec<_> = whole
        .into_iter()
        .filter(|finding| finding["index"].as_u64().is_some_and(|index| index < snapshot))
        .map(|mut finding| {
            if finding.get("until").is_some_and(|until| until.as_u64().is_none_or(|until| until > snapshot)) {
                finding.insert("until".into(), json!(snapshot));
                finding.insert("until_entry".into(), json!("snapshot"));
                // What they came to by then, no list tells.
                finding.retain(|key, _| key != "final_value" && key != "min_value");
            }
            finding
        })
        .collect();
    findings.push(Finding::from([("kind".into(), json!("snapshot_mismatch")), ("index".into(), json!(snapshot))]));
    findings.extend(listed(description, rules, &description["expected"], description.get("expected_by_profile")?)?);
    Some(findings)
}

/// True where a server's recording starts at a snapshot although its log starts at 1.
fn starts_behind_its_log(description: &Value, server: &str, recording: &Recording) -> bool {
    let base = &description["expected"]["servers"][server]["base_snapshot"];
    let bounds = raftscope::evidence::open(&recording.evidence).unwrap().log.bounds();
    base.is_u64() && bounds.is_some_and(|(first, _)| first.0 == 1)
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
    if matches!(kind, "undecodable_entry" | "unknown_type")
        && let Some(number) = finding.get("type").filter(|number| number.is_u64())
    {
        ours.insert("type".into(), number.clone());
    }
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
        Some("snapshot") => {
            ours.insert(key.into(), json!("snapshot"));
        }
        Some("UpsertNodeEvents") => {
            ours.insert(key.into(), json!("UpsertNodeEventsType"));
        }
        Some(name) => {
            ours.insert(key.into(), json!(format!("{name}RequestType")));
        }
    }
}

/// The severities and the exit code that the contract gives to what an audit printed (contract.md 2 and 3), and what
/// differs from them.
pub fn misjudged(audit: &Value, code: i32) -> Vec<String> {
    let (mut told, mut fails, mut unsure) = (Vec::new(), false, false);
    for finding in audit["findings"].as_array().unwrap() {
        let (kind, severity) = (finding["kind"].as_str().unwrap(), finding["severity"].as_str().unwrap());
        let ignored = finding["ignore_flag"] == json!(true);
        let due: &[&str] = match kind {
            "negative" | "drift" | "snapshot_mismatch" | "gap" | "term_regression" | "key_mismatch" | "checksum" => {
                &["error"]
            }
            "undecodable_entry" | "unknown_type" if ignored => &["note"],
            "undecodable_entry" | "unknown_type" => &["error"],
            "group_drift" | "status_mismatch" | "summary_shape" => &["warning"],
            "rejected_entry" => &["note", "warning"],
            "orphan" => &["note"],
            _ => &[],
        };
        if !due.contains(&severity) {
            told.push(format!("  {finding}: not of this severity"));
        }
        let about_evidence =
            ["undecodable_entry", "unknown_type", "gap", "term_regression", "key_mismatch", "checksum"].contains(&kind);
        unsure |= about_evidence && !ignored;
        fails |= !about_evidence && severity != "note";
    }
    let (due, verdict) = match (fails, unsure) {
        (true, _) => (1, "findings"),
        (false, true) => (3, "inconclusive"),
        (false, false) => (0, "clean"),
    };
    if (code, &audit["verdict"], &audit["complete"]) != (due, &json!(verdict), &json!(!unsure)) {
        told.push(format!("  ended with {code}, {}, complete {}", audit["verdict"], audit["complete"]));
    }
    told
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
