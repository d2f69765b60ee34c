//! A finding in words for people; every output that tells one in sentences takes them from here.

use std::fmt::Write;

use super::finding::{Cause, Finding, Kind, Severity, Until};
use super::report::{Report, Reported};
use crate::committed::Committed;
use crate::entry::message_type::short;

/// What there is to say of one finding, a sentence each. Names of jobs stand in it as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// How much it matters.
    pub severity: Severity,
    /// What is wrong, where, and until when.
    pub headline: String,
    /// The entry behind it.
    pub cause: Option<String>,
    /// How that entry made it wrong: the same for every finding of one mechanism.
    pub explanation: Option<String>,
    /// What else there is to know.
    pub remarks: Vec<String>,
    /// How often it happened again, where later findings like it are not listed.
    pub more: Option<String>,
}

impl Words {
    /// The words for a finding.
    pub fn of(reported: &Reported) -> Self {
        let finding = &reported.finding;
        let mut remarks = Vec::new();
        if let Some(proof) = finding.cause.as_ref().and_then(|cause| cause.proof.as_ref()) {
            let gone = if proof.symptom == "gone" { "the count is right" } else { "the count stays wrong" };
            remarks.push(format!("proof: with \"{}\", {gone}", proof.altered));
        }
        remarks.extend(finding.detail.clone());
        if let Some(change) = finding.leader_change {
            remarks.push(format!("before it, the leader changed at index {} (term {})", change.index, change.term));
        }
        match finding.committed {
            Some(Committed::Unknown) => {
                remarks.push("the entry is near the end of the log and may not be committed".into());
            }
            Some(Committed::Refuted) => remarks.push("the entry was never committed".into()),
            _ => {}
        }
        if reported.known {
            remarks.push("the baseline lists it".into());
        }
        let times = if reported.more == 1 { "once more" } else { "again" };
        Words {
            severity: finding.severity,
            headline: headline(finding),
            cause: finding.cause.as_ref().map(|cause| format!("cause: {}", cause_of(cause))),
            explanation: finding.cause.as_ref().map(|cause| cause.detail.to_string()),
            remarks,
            more: (reported.more > 0).then(|| format!("{times} later ({} in all)", reported.more + 1)),
        }
    }
}

/// `3 errors, 0 warnings, 1 note`.
pub fn counts(report: &Report) -> String {
    let [notes, warnings, errors] = report.counts();
    let plural = |n: u64, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
    format!("{}, {}, {}", plural(errors, "error"), plural(warnings, "warning"), plural(notes, "note"))
}

/// `server/raft/raft.db (boltdb): 3045 entries of 1 to 3045, rules of Nomad 1.1.2 (writer)`.
pub fn evidence(report: &Report) -> String {
    let evidence = &report.evidence;
    let range = match (evidence.first_index, evidence.last_index) {
        (Some(first), Some(last)) => format!("{} entries of {first} to {last}", evidence.entries),
        _ => "no entries".to_owned(),
    };
    let rules = format!("rules of Nomad {} ({})", evidence.rules, evidence.rules_from);
    format!("{} ({}): {range}, {rules}", evidence.path, evidence.store)
}

/// `register_with_status: entry 1609 (term 3, JobRegister) of p/periodic-1, status "running"`.
fn cause_of(cause: &Cause) -> String {
    let mut words = format!("{}: entry {} (term {}", cause.rule.name(), cause.at.index, cause.at.term);
    if !cause.at.entry.is_empty() {
        let _ = write!(words, ", {}", short(&cause.at.entry));
    }
    words.push(')');
    if let Some(job) = &cause.job {
        match cause.namespace.as_deref().filter(|n| *n != "default") {
            Some(namespace) => _ = write!(words, " of {namespace}/{job}"),
            None => _ = write!(words, " of {job}"),
        }
    }
    if let Some(status) = &cause.status {
        let _ = write!(words, ", status \"{status}\"");
    }
    if let Some(by) = &cause.by {
        let _ = write!(words, ", sent by {by}");
    }
    words
}

/// `Running of horizontal_hey is -1 from index 1609 (term 3, JobRegister) until 1610 (ApplyPlanResults)`.
fn headline(finding: &Finding) -> String {
    let place = place(finding);
    let number = |n: Option<i64>| n.map(|n| n.to_string()).unwrap_or_default();
    match finding.kind {
        Kind::Negative => {
            let least = finding.min_value.filter(|m| Some(*m) != finding.value);
            let least = least.map(|m| format!(", at worst {m}")).unwrap_or_default();
            format!("{} is {}{least}, {place}", counter(finding), number(finding.value))
        }
        Kind::Drift | Kind::GroupDrift => format!(
            "{} is {}, but {} were counted, {place}",
            counter(finding),
            number(finding.stored),
            number(finding.recount)
        ),
        kind => {
            let subject = subject(finding);
            let subject = if subject.is_empty() { subject } else { format!(": {subject}") };
            format!("{}{subject}, {place}", kind.name().replace('_', " "))
        }
    }
}

/// The job, parent or group that a finding is about, with its namespace unless that is `default`.
pub fn subject(finding: &Finding) -> String {
    // With both, it is about a child.
    let name = finding.job.as_deref().or(finding.parent.as_deref()).unwrap_or_default();
    let namespace = finding.namespace.as_deref().filter(|n| *n != "default");
    let name = match namespace {
        Some(namespace) if !name.is_empty() => format!("{namespace}/{name}"),
        _ => name.to_owned(),
    };
    match &finding.group {
        Some(group) => format!("group {group} of {name}"),
        None => name,
    }
}

fn counter(finding: &Finding) -> String {
    format!("{} of {}", finding.counter.unwrap_or("a counter"), subject(finding))
}

fn place(finding: &Finding) -> String {
    let at = &finding.at;
    let entry = if at.entry.is_empty() { String::new() } else { format!(", {}", short(&at.entry)) };
    let from = format!("index {} (term {}{entry})", at.index, at.term);
    match (finding.until, finding.last_index) {
        (Some(Until::Index(until)), _) => {
            let entry = finding.until_entry.as_deref().map(|e| format!(" ({})", short(e))).unwrap_or_default();
            format!("from {from} until {until}{entry}")
        }
        (Some(Until::Never), _) => format!("from {from} to the end"),
        (None, Some(last)) if last != at.index => format!("at {from} to {last}"),
        _ => format!("at {from}"),
    }
}
