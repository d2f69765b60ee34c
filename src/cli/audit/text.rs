//! The audit's report in words.

use std::collections::HashSet;
use std::fmt::Write;

use super::super::timeline::groups;
use crate::audit::finding::{Cause, Finding, Kind, Severity, Until};
use crate::audit::preview::Preview;
use crate::audit::report::{Report, Reported, Verdict};
use crate::committed::Committed;
use crate::entry::message_type::short;
use crate::render::text::{visible, wrapped};
use crate::render::{Style, Tone, table};
use crate::timeline::JobView;

/// The report in words: a paragraph for each finding, and the verdict.
pub fn report(report: &Report, fail_on: Severity, style: &Style) -> String {
    let mut text = findings(&report.findings, style);
    preview(&mut text, report, style);
    verdict(&mut text, report, fail_on, style);
    text
}

/// A paragraph for each of some findings.
pub fn findings<'r>(findings: impl IntoIterator<Item = &'r Reported>, style: &Style) -> String {
    let (mut text, mut told) = (String::new(), HashSet::new());
    findings.into_iter().for_each(|reported| paragraph(&mut text, reported, &mut told, style));
    text
}

/// The verdict in words.
pub fn summary(report: &Report, fail_on: Severity, style: &Style) -> String {
    let mut text = String::new();
    verdict(&mut text, report, fail_on, style);
    text
}

/// What a reconcile would change.
fn preview(text: &mut String, report: &Report, style: &Style) {
    let Some(jobs) = &report.preview else { return };
    let word = if jobs.is_empty() { "would change no count" } else { "would change these counts:" };
    line(text, 0, &format!("`nomad system reconcile summaries` {word}"), style);
    for Preview { namespace, job, now, then } in jobs {
        let counts = |view: &JobView, other: &JobView| match view.children {
            Some(c) if view.children != other.children => {
                format!("Pending {}, Running {}, Dead {}", c.pending, c.running, c.dead)
            }
            _ => groups(view),
        };
        let job = if &**namespace == "default" { job.to_string() } else { format!("{namespace}/{job}") };
        line(text, 4, &format!("{job}: from {} to {}", counts(now, then), counts(then, now)), style);
    }
    text.push('\n');
}

/// Writing to a String cannot fail, so the results below are of no interest.
fn line(text: &mut String, indent: usize, words: &str, style: &Style) {
    for line in wrapped(&visible(words), style.width.map(|w| w.saturating_sub(indent).max(20))) {
        let _ = writeln!(text, "{:indent$}{line}", "");
    }
}

/// One finding. `told` holds the explanations that were given already.
fn paragraph<'r>(text: &mut String, reported: &'r Reported, told: &mut HashSet<&'r str>, style: &Style) {
    let finding = &reported.finding;
    let tone = match finding.severity {
        Severity::Error => Tone::Bad,
        Severity::Warning => Tone::Doubtful,
        Severity::Note => Tone::Dim,
    };
    let word = finding.severity.name();
    let _ = write!(text, "{}: ", table::painted(word, Some(tone), style.color));
    let mut first = String::new();
    line(&mut first, 4, &headline(finding), style);
    text.push_str(first.trim_start());
    if let Some(cause) = &finding.cause {
        line(text, 4, &format!("cause: {}", cause_of(cause)), style);
        if told.insert(&cause.detail) {
            line(text, 4, &cause.detail, style);
        }
        if let Some(proof) = &cause.proof {
            let gone = if proof.symptom == "gone" { "the count is right" } else { "the count stays wrong" };
            line(text, 4, &format!("proof: with \"{}\", {gone}", proof.altered), style);
        }
    }
    if let Some(detail) = &finding.detail {
        line(text, 4, detail, style);
    }
    if let Some(change) = finding.leader_change {
        line(
            text,
            4,
            &format!("before it, the leader changed at index {} (term {})", change.index, change.term),
            style,
        );
    }
    match finding.committed {
        Some(Committed::Unknown) => {
            line(text, 4, "the entry is near the end of the log and may not be committed", style)
        }
        Some(Committed::Refuted) => line(text, 4, "the entry was never committed", style),
        _ => {}
    }
    if reported.known {
        line(text, 4, "the baseline lists it", style);
    }
    if reported.more > 0 {
        let times = if reported.more == 1 { "once more" } else { "again" };
        line(text, 4, &format!("{times} later ({} in all); --all lists every one", reported.more + 1), style);
    }
    text.push('\n');
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
fn subject(finding: &Finding) -> String {
    let name = finding.parent.as_deref().or(finding.job.as_deref()).unwrap_or_default();
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

fn verdict(text: &mut String, report: &Report, fail_on: Severity, style: &Style) {
    let evidence = &report.evidence;
    let range = match (evidence.first_index, evidence.last_index) {
        (Some(first), Some(last)) => format!("{} entries of {first} to {last}", evidence.entries),
        _ => "no entries".to_owned(),
    };
    let [notes, warnings, errors] = report.counts();
    let plural = |n: u64, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
    let counts = format!("{}, {}, {}", plural(errors, "error"), plural(warnings, "warning"), plural(notes, "note"));
    let (word, tone) = match report.verdict {
        Verdict::Clean if report.findings.is_empty() => ("clean", Tone::Plain),
        Verdict::Clean => ("clean", Tone::Plain),
        Verdict::Findings => ("findings", Tone::Bad),
        Verdict::Inconclusive => ("inconclusive", Tone::Doubtful),
    };
    let word = table::painted(word, Some(tone), style.color);
    let _ = writeln!(text, "{word}: {counts}");
    if report.verdict == Verdict::Clean && (warnings > 0 || errors > 0 || notes > 0) {
        line(text, 0, &format!("nothing at or above {}", fail_on.name()), style);
    }
    if !report.complete {
        line(text, 0, "the evidence is not complete: a fault could hide where it cannot be read", style);
    }
    let rules = format!("rules of Nomad {} ({})", evidence.rules, evidence.rules_from);
    line(text, 0, &format!("{} ({}): {range}, {rules}", evidence.path, evidence.store), style);
}
