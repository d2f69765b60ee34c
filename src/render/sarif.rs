//! SARIF 2.1.0: the audit for code-scanning views (contract.md 3).

use std::fmt::Write as _;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::audit::finding::{Cause, Finding, Fingerprint, Kind, Severity};
use crate::audit::report::{Report, Reported, Verdict};

/// The name of our fingerprint; its number changes when what goes into it does.
const FINGERPRINT: &str = "raftscopeFault/v1";

/// What each kind means, in a sentence.
const KINDS: &[(Kind, Severity, &str)] = &[
    (Kind::Negative, Severity::Error, "A parent's children counter is below zero."),
    (Kind::Drift, Severity::Error, "A parent's children counter differs from the children there are."),
    (Kind::GroupDrift, Severity::Warning, "A task group's counter differs from its allocations."),
    (Kind::SnapshotMismatch, Severity::Error, "The replay disagrees with a later snapshot."),
    (Kind::RejectedEntry, Severity::Warning, "A committed entry was refused by the state machine."),
    (Kind::UndecodableEntry, Severity::Error, "An entry cannot be decoded."),
    (Kind::UnknownType, Severity::Error, "An entry has a message type that the rules do not know."),
    (Kind::Gap, Severity::Error, "Entries are missing."),
    (Kind::TermRegression, Severity::Error, "The term goes down along the log."),
    (Kind::KeyMismatch, Severity::Error, "An entry stands under another index than its own."),
    (Kind::Checksum, Severity::Error, "A checksum does not fit."),
    (Kind::StatusMismatch, Severity::Warning, "A parent is dead but was not stopped."),
    (Kind::SummaryShape, Severity::Warning, "A summary lacks what its job needs."),
    (Kind::RestartBelowThreshold, Severity::Warning, "A restart left fewer allocations running than were asked for."),
    (Kind::Orphan, Severity::Note, "Something waits for what never comes."),
];

/// The report as a SARIF log. With a baseline each result says whether that lists it.
pub fn log(report: &Report, with_baseline: bool) -> Value {
    let rules: Vec<Value> = KINDS.iter().map(|(kind, severity, text)| rule(*kind, *severity, text)).collect();
    let uri = uri(&report.evidence.path);
    let results: Vec<Value> = report.findings.iter().map(|reported| result(reported, &uri, with_baseline)).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": env!("CARGO_PKG_NAME"),
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "artifacts": [{"location": {"uri": uri}}],
            "results": results,
            "properties": {
                "rules": report.evidence.rules,
                "verdict": report.verdict,
                "complete": report.complete,
            },
            "invocations": [{"executionSuccessful": report.verdict != Verdict::Inconclusive}],
        }],
    })
}

fn rule(kind: Kind, severity: Severity, text: &str) -> Value {
    json!({
        "id": kind.name(),
        "shortDescription": {"text": text},
        "defaultConfiguration": {"level": severity.name()},
    })
}

fn result(reported: &Reported, uri: &str, with_baseline: bool) -> Value {
    let finding = &reported.finding;
    let rule_index = KINDS.iter().position(|(kind, ..)| *kind == finding.kind).unwrap_or_default();
    let mut result = json!({
        "ruleId": finding.kind.name(),
        "ruleIndex": rule_index,
        "level": finding.severity.name(),
        "message": {"text": message(finding)},
        "locations": [{
            // A raft log has no lines; code-scanning views show no result without one.
            "physicalLocation": {"artifactLocation": {"uri": uri, "index": 0}, "region": {"startLine": 1}},
            "logicalLocations": logical_locations(finding),
        }],
        "partialFingerprints": {FINGERPRINT: fingerprint(&finding.fingerprint())},
        "properties": properties(reported),
    });
    if with_baseline {
        result["baselineState"] = if reported.known { "unchanged" } else { "new" }.into();
    }
    result
}

fn properties(reported: &Reported) -> Value {
    // A finding serializes to an object; what is said elsewhere in the result is left out.
    let mut properties = serde_json::to_value(reported).unwrap_or_default();
    if let Some(properties) = properties.as_object_mut() {
        for key in ["kind", "severity"] {
            properties.remove(key);
        }
    }
    properties
}

/// Namespace, parent and index, each within the one before.
fn logical_locations(finding: &Finding) -> Vec<Value> {
    let mut locations = Vec::new();
    let mut path = String::new();
    let subject = finding.parent.as_deref().or(finding.job.as_deref());
    for (name, kind) in [(finding.namespace.as_deref(), "namespace"), (subject, "object")] {
        if let Some(name) = name {
            let _ = write!(path, "{}{name}", if path.is_empty() { "" } else { "/" });
            locations.push(json!({"name": name, "fullyQualifiedName": path, "kind": kind}));
        }
    }
    let index = finding.at.index;
    let _ = write!(path, "{}index/{index}", if path.is_empty() { "" } else { "/" });
    locations.push(json!({"name": format!("index {index}"), "fullyQualifiedName": path, "kind": "element"}));
    locations
}

/// One sentence on what is wrong, and the cause behind it.
pub(super) fn message(finding: &Finding) -> String {
    let at = &finding.at;
    let entry = crate::entry::message_type::short(&at.entry);
    let place = format!("index {}, term {}{}{entry}", at.index, at.term, if entry.is_empty() { "" } else { ", " });
    let subject = match (&finding.namespace, finding.job.as_ref().or(finding.parent.as_ref())) {
        (Some(namespace), Some(job)) => format!("{namespace}/{job}: "),
        _ => String::new(),
    };
    let group = finding.group.as_ref().map(|g| format!("group {g}, ")).unwrap_or_default();
    let what = match (finding.kind, finding.counter, finding.value) {
        (Kind::Negative, Some(counter), Some(value)) => format!("{counter} is {value}"),
        (_, Some(counter), Some(value)) => format!(
            "{group}{counter} is {} and {} are there ({value:+})",
            finding.stored.unwrap_or_default(),
            finding.recount.unwrap_or_default()
        ),
        _ => finding.detail.clone().unwrap_or_else(|| finding.kind.name().replace('_', " ")),
    };
    let cause = finding.cause.as_ref().map(cause_text).unwrap_or_default();
    format!("{subject}{what} at {place}.{cause}")
}

fn cause_text(cause: &Cause) -> String {
    let entry = crate::entry::message_type::short(&cause.at.entry);
    let job = cause.job.as_ref().map(|job| format!(" of {job}")).unwrap_or_default();
    format!(
        " Cause: {} at index {}, term {}, {entry}{job}. {}",
        cause.rule.name(),
        cause.at.index,
        cause.at.term,
        cause.detail
    )
}

fn fingerprint(fault: &Fingerprint) -> String {
    let mut hash = Sha256::new();
    // A zero byte keeps the parts apart; no name holds one.
    for part in [
        fault.kind.name(),
        fault.namespace.as_deref().unwrap_or_default(),
        fault.subject.as_deref().unwrap_or_default(),
        fault.counter.unwrap_or_default(),
    ] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    hash.finalize().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A path as a relative or absolute URI reference (RFC 3986).
fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.replace('\\', "/").bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            other => {
                let _ = write!(out, "%{other:02X}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_blanks_and_colons_is_a_valid_reference() {
        assert_eq!(uri("C:\\logs\\raft db"), "C%3A/logs/raft%20db");
    }

    #[test]
    fn every_kind_is_a_rule() {
        let fault = |kind| Fingerprint { kind, namespace: None, subject: None, counter: None };
        let mut all: Vec<String> = KINDS.iter().map(|(kind, ..)| fingerprint(&fault(*kind))).collect();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), KINDS.len());
    }
}
