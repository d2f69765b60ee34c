//! The report as one HTML page: nothing is fetched, everything is text and pictures without JavaScript, and no name
//! that stands on it can do more than be read.
//!
//! The template escapes what it is given; [`data`] escapes what the script reads; the page's
//! Content-Security-Policy lets only the style and the script run that are part of it, by their hashes.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use super::text::visible;
use crate::audit::finding::{Finding, Severity, Until};
use crate::audit::report::{EvidenceSummary, Reported, Verdict};
use crate::audit::words::Words;
use crate::report::{Chart, Explained, Page, parent_of};
use crate::types::{Index, JobKey};

mod axis;
mod chart;
mod data;
mod entries;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("page.js");

/// The first bytes of every page, by which one is known that may be written over.
pub const MARK: &str = "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">\
                        <meta name=\"generator\" content=\"raftscope";

/// How many rows of changes stand below a chart.
const ROWS: usize = 60;

/// The script knows at most so many terms.
const TERMS: usize = 5000;

/// The page.
pub fn page(page: &Page) -> String {
    let title = format!("raftscope: {}", visible(&page.report.evidence.path));
    let generator = concat!("raftscope ", env!("CARGO_PKG_VERSION"));
    let policy = format!(
        "default-src 'none'; style-src '{}'; script-src '{}'; img-src data:; base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    );
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="generator" content=(generator);
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                link rel="icon" href="data:,";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (chart::definitions(page))
                header { (head(page)) }
                main { (body(page)) }
                (data::terms(if page.terms.len() > TERMS { &page.bands } else { &page.terms }))
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    markup.into_string()
}

/// The hash by which the policy knows a style or a script.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

/// A number with a minus sign that is as wide as a plus.
fn signed(n: i64) -> String {
    if n < 0 { format!("\u{2212}{}", n.unsigned_abs()) } else { n.to_string() }
}

/// The name of a job, its namespace before it unless that is `default`.
fn name(job: &JobKey) -> String {
    match &*job.namespace {
        "default" => visible(&job.id).into_owned(),
        namespace => format!("{}/{}", visible(namespace), visible(&job.id)),
    }
}

/// The evidence window: what was looked at, and what came of it.
fn head(page: &Page) -> Markup {
    let report = &page.report;
    let evidence = &report.evidence;
    let (word, class) = match report.verdict {
        Verdict::Clean => ("clean", "good"),
        Verdict::Findings => ("findings", "error"),
        Verdict::Inconclusive => ("inconclusive", "warning"),
    };
    html! {
        div.top {
            h1 { "raftscope" span.quiet { " report" } }
            p.verdict { span.badge.(class) { (word) } " " (page.counts) }
            label.tools.filter hidden {
                "Show only " input type="search" id="filter" placeholder="text: a job, an index, a rule …" autocomplete="off";
                output id="filtered" {}
            }
        }
        p.quiet.lead {
            "Nomad counts the children of periodic and parameterized jobs by status. Here is where its stored counts went \
             wrong, and why."
        }
        dl.window { (window(page, evidence)) }
        @if !report.complete {
            p.warn { strong { "Not complete." } " A fault could hide where the evidence cannot be read." }
        }
        @if !evidence.altered.is_empty() {
            p.warn {
                strong { "Not evidence." } " This history did not happen; it was altered: "
                (visible(&evidence.altered.join("; ")))
            }
        }
        @if page.secrets_shown {
            p.warn { strong { "With secrets." } " Tokens and keys stand on this page as they are in the log." }
        }
        @for sentence in &page.left_out { p.quiet.note { (visible(sentence)) } }
    }
}

fn window(page: &Page, evidence: &EvidenceSummary) -> Markup {
    let fact = |name: &str, value: String| html! { div { dt { (name) } dd { (value) } } };
    let entries = match (evidence.first_index, evidence.last_index) {
        (Some(first), Some(last)) => format!("{} replayed, of {first} to {last}", evidence.entries),
        _ => "none".into(),
    };
    let terms = match page.terms.as_slice() {
        [] => "none".into(),
        [one] => format!("{}", one.term),
        [first, .., last] => format!("{} to {}", first.term, last.term),
    };
    let base = match evidence.base.kind {
        "empty" => "an empty server".into(),
        kind => format!("the {kind} at {}", evidence.base.index),
    };
    let also = match evidence.rules_also_possible.as_slice() {
        [] => String::new(),
        others => format!("; {} would answer otherwise", others.join(", ")),
    };
    let mut lost = Vec::new();
    if !evidence.gaps.is_empty() {
        let gaps: Vec<String> =
            evidence.gaps.iter().take(3).map(|g| format!("{} to {}", g.first_index, g.last_index)).collect();
        let more = evidence.gaps.len().saturating_sub(3);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        lost.push(format!("missing: {}{more}", gaps.join(", ")));
    }
    if evidence.undecodable > 0 {
        lost.push(format!("{} undecodable", evidence.undecodable));
    }
    html! {
        (fact("Evidence", format!("{} ({})", visible(&evidence.path), evidence.store)))
        (fact("Entries", entries))
        (fact("Terms", terms))
        (fact("Replayed from", base))
        (fact("As Nomad", format!("{} ({}){also}", evidence.rules, evidence.rules_from)))
        @if evidence.rejected > 0 { (fact("Refused by Nomad", format!("{} entries", evidence.rejected))) }
        @if !lost.is_empty() { (fact("Unreadable", lost.join("; "))) }
    }
}

fn body(page: &Page) -> Markup {
    let explained: HashSet<Index> = page.entries.iter().map(|entry| entry.index).collect();
    let mut told = HashSet::new();
    let findings = &page.report.findings;
    let elsewhere: Vec<&Reported> = findings
        .iter()
        .filter(|r| parent_of(&r.finding).is_none_or(|parent| page.found.iter().all(|c| c.parent != parent)))
        .collect();
    html! {
        @if findings.is_empty() {
            section.find { h2 { @if page.report.complete { "Nothing is wrong" } @else { "Nothing was found" } } p {
                "Every count that was looked at agrees with the children that there are, after each of "
                (page.report.evidence.entries) " entries."
            } }
        }
        @if page.found.len() > 1 {
            nav aria-label="Parents with findings" {
                h2 { "Parents with findings" }
                ol { @for (i, chart) in page.found.iter().enumerate() {
                    li { a href=(format!("#parent-{i}")) { (name(&chart.parent)) } }
                } }
            }
        }
        @for (i, chart) in page.found.iter().enumerate() { (parent(page, i, chart, &explained)) }
        @if !elsewhere.is_empty() {
            section.find {
                h2 { "Other findings" }
                div.cards { @for reported in elsewhere { (card(reported, &explained, &mut told)) } }
            }
        }
        @if !page.others.is_empty() {
            section {
                h2 { "Parents without a finding" }
                @for (i, chart) in page.others.iter().enumerate() { (other(page, page.found.len() + i, chart)) }
            }
        }
        (entries::section(page))
    }
}

/// A parent with findings: its charts, and beside them what is wrong.
fn parent(page: &Page, number: usize, chart: &Chart, explained: &HashSet<Index>) -> Markup {
    let mut told = HashSet::new();
    let about = |finding: &Finding| parent_of(finding).as_ref() == Some(&chart.parent);
    let mut findings: Vec<&Reported> = page.report.findings.iter().filter(|r| about(&r.finding)).collect();
    findings.sort_by_key(|r| std::cmp::Reverse(r.finding.severity));
    let every: Vec<&Finding> = page.every.iter().filter(|f| about(f)).collect();
    let whole = page.range;
    let near = close_up(page, &every);
    html! {
        section.find.parent id=(format!("parent-{number}")) {
            h2 { (name(&chart.parent)) span.quiet { " children by status, entry by entry" } }
            div.beside {
                div.pictures {
                    (chart::figure(page, number, chart, &every, chart::View { range: whole, caption: "The whole log" }))
                    @if let Some(near) = near {
                        (chart::figure(page, number, chart, &every, chart::View { range: near, caption: "Close-up" }))
                    }
                    (legend())
                    (data::track(number, &chart.track))
                }
                div.cards {
                    @for reported in findings { (card(reported, explained, &mut told)) }
                    (table(chart, near.unwrap_or(whole)))
                }
            }
        }
    }
}

/// A parent that was only asked for.
fn other(page: &Page, number: usize, chart: &Chart) -> Markup {
    html! {
        details.find {
            summary { (name(&chart.parent)) }
            div.pictures {
                (chart::figure(page, number, chart, &[], chart::View { range: page.range, caption: "The whole log" }))
                (data::track(number, &chart.track))
            }
            (table(chart, page.range))
        }
    }
}

/// The stretch around the first finding and its leader change; `None` where the whole log is no longer than that.
fn close_up(page: &Page, every: &[&Finding]) -> Option<(Index, Index)> {
    let first = every.iter().filter(|f| f.severity == Severity::Error).min_by_key(|f| f.at.index);
    let first = first.or_else(|| every.iter().min_by_key(|f| f.at.index))?;
    let at = first.at.index;
    /// An election further away than this is no part of the picture.
    const NEAR: u64 = 200;
    let change = first.leader_change.map(|change| change.index).filter(|i| i.0 + NEAR >= at.0);
    let until = match first.until {
        Some(Until::Index(until)) if until.0 <= at.0 + NEAR => until,
        _ => at,
    };
    let from = change.unwrap_or(at);
    let margin = (until.0.saturating_sub(from.0) / 3).max(20);
    let near = (
        Index(from.0.saturating_sub(margin).max(page.range.0.0)),
        Index(until.0.saturating_add(margin).min(page.range.1.0)),
    );
    (2 * near.1.0.saturating_sub(near.0.0) < page.range.1.0.saturating_sub(page.range.0.0)).then_some(near)
}

/// One finding, in the audit's words.
fn card(reported: &Reported, explained: &HashSet<Index>, told: &mut HashSet<String>) -> Markup {
    let words = Words::of(reported);
    let severity = words.severity.name();
    let explanation = words.explanation.filter(|text| told.insert(text.clone()));
    html! {
        article.card.(severity) {
            h3 { span.badge.(severity) { (severity) } " " (visible(&words.headline)) }
            @if let Some(cause) = &words.cause { p { (visible(cause)) } }
            @if let Some(explanation) = &explanation { p { (visible(explanation)) } }
            @for remark in &words.remarks { p.quiet { (visible(remark)) } }
            @if let Some(more) = &words.more { p.quiet { (visible(more)) } }
            (links(&reported.finding, explained))
        }
    }
}

/// Links to the explanations of the entries that a finding names.
fn links(finding: &Finding, explained: &HashSet<Index>) -> Markup {
    let until = match finding.until {
        Some(Until::Index(until)) => Some(("the end", until)),
        _ => None,
    };
    let all = [
        finding.leader_change.map(|change| ("the leader change", change.index)),
        finding.cause.as_ref().map(|cause| ("the cause", cause.at.index)),
        Some(("the symptom", finding.at.index)),
        until,
    ];
    let mut seen = HashSet::new();
    let shown: Vec<(&str, Index)> =
        all.into_iter().flatten().filter(|(_, index)| explained.contains(index) && seen.insert(*index)).collect();
    html! {
        @if !shown.is_empty() {
            p.links {
                "Explained: "
                @for (i, (what, index)) in shown.iter().enumerate() {
                    @if i > 0 { ", " }
                    a href=(format!("#entry-{index}")) { "entry " (index) } " (" (what) ")"
                }
            }
        }
    }
}

fn legend() -> Markup {
    html! {
        p.legend {
            span { span.key.negative {} " below zero" }
            span { span.key.drift {} " differs from the children that there are" }
            span { span.key.leader {} " leader change" }
            span { span.key.at {} " a finding begins" }
        }
    }
}

/// The changes within a range as rows, for whoever cannot see or hover over the chart.
fn table(chart: &Chart, (from, to): (Index, Index)) -> Markup {
    let changes = &chart.track.changes;
    let within: Vec<_> = changes.iter().filter(|change| change.index >= from && change.index <= to).collect();
    let shown = within.len().min(ROWS);
    let count = |n: Option<i64>| html! { td.n.bad[n.is_some_and(|n| n < 0)] { (n.map(signed).unwrap_or_default()) } };
    html! {
        details.rows {
            summary { "The changes of entries " (from) " to " (to) " as a table" }
            @if shown < within.len() { p.quiet { "The first " (shown) " of " (within.len()) "." } }
            table {
                thead { tr { th.n { "Index" } th { "Entry" } th { "Child" } th.n { "Pending" } th.n { "Running" } th.n { "Dead" } } }
                tbody { @for change in within.iter().take(shown) { tr {
                    td.n { (change.index) }
                    td { (visible(&change.entry)) }
                    td { (change.child.as_deref().map(visible).unwrap_or_default()) }
                    (count(change.counts.map(|c| c.pending)))
                    (count(change.counts.map(|c| c.running)))
                    (count(change.counts.map(|c| c.dead)))
                } } }
            }
        }
    }
}

/// Where an entry's explanation stands.
fn anchor(entry: &Explained) -> String {
    format!("entry-{}", entry.index)
}
