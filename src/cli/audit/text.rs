//! The audit's report in words.

use std::collections::HashSet;
use std::fmt::Write;

use super::super::timeline::groups;
use crate::audit::finding::Severity;
use crate::audit::preview::Preview;
use crate::audit::report::{Report, Reported, Verdict};
use crate::audit::words::{self, Words};
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
fn paragraph(text: &mut String, reported: &Reported, told: &mut HashSet<String>, style: &Style) {
    let words = Words::of(reported);
    let tone = match words.severity {
        Severity::Error => Tone::Bad,
        Severity::Warning => Tone::Doubtful,
        Severity::Note => Tone::Dim,
    };
    let word = words.severity.name();
    let mut first = String::new();
    line(&mut first, 4, &format!("{word}: {}", words.headline), style);
    text.push_str(&table::painted(word, Some(tone), style.color));
    text.push_str(first.trim_start().strip_prefix(word).unwrap_or(&first));
    if let Some(cause) = &words.cause {
        line(text, 4, cause, style);
    }
    if let Some(explanation) = words.explanation.filter(|e| told.insert(e.clone())) {
        line(text, 4, &explanation, style);
    }
    words.remarks.iter().for_each(|remark| line(text, 4, remark, style));
    if let Some(more) = &words.more {
        line(text, 4, &format!("{more}; --all lists every one"), style);
    }
    text.push('\n');
}

fn verdict(text: &mut String, report: &Report, fail_on: Severity, style: &Style) {
    let [notes, warnings, errors] = report.counts();
    let (word, tone) = match report.verdict {
        Verdict::Clean if report.findings.is_empty() => ("clean", Tone::Plain),
        Verdict::Clean => ("clean", Tone::Plain),
        Verdict::Findings => ("findings", Tone::Bad),
        Verdict::Inconclusive => ("inconclusive", Tone::Doubtful),
    };
    let word = table::painted(word, Some(tone), style.color);
    let _ = writeln!(text, "{word}: {}", words::counts(report));
    if report.verdict == Verdict::Clean && (warnings > 0 || errors > 0 || notes > 0) {
        let known = report.findings.iter().any(|r| r.known && r.finding.severity >= fail_on);
        let known = if known { " that the baseline does not list" } else { "" };
        line(text, 0, &format!("nothing at or above {}{known}", fail_on.name()), style);
    }
    if !report.complete {
        line(text, 0, "the evidence is not complete: a fault could hide where it cannot be read", style);
    }
    line(text, 0, &words::evidence(report), style);
}
