//! Makes a page of what the replays found that is no larger than a page may be.

use std::collections::{BTreeMap, BTreeSet};

use super::thin::{Thinned, thin};
use super::track::{Change, Span};
use super::{Chart, Event, Explained, Page, parent_of};
use crate::audit::finding::{Finding, Until};
use crate::audit::report::Report;
use crate::audit::words;
use crate::types::{Index, JobKey};

/// What the replays found, all of it.
#[derive(Debug)]
pub struct Found {
    /// The audit; its findings folded unless all were asked for.
    pub report: Report,
    /// Every finding, in order of index.
    pub every: Vec<Finding>,
    /// The parents with findings, in the order of their first one.
    pub parents: Vec<JobKey>,
    /// The changes of these and of the other parents that were asked for.
    pub tracks: BTreeMap<JobKey, Vec<Change>>,
    /// The first and last index that the charts reach to.
    pub range: (Index, Index),
    /// Unbroken runs of entries of one term, in order.
    pub terms: Vec<Span>,
    /// What happened beside the entries, in order.
    pub events: Vec<Event>,
    /// Entries behind the findings, in order.
    pub entries: Vec<Explained>,
    /// More entries are behind the findings than are explained.
    pub more_entries: bool,
    /// Nothing in the explanations is hidden.
    pub secrets_shown: bool,
}

/// How much of each kind a page has room for.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Parents with findings that are drawn, and others.
    pub parents: (usize, usize),
    /// Changes that are drawn in all, and of one parent.
    pub changes: (usize, usize),
    /// Findings that are listed, and that are marked in all charts.
    pub findings: (usize, usize),
    /// Terms that are drawn, in all charts.
    pub terms: usize,
    /// Snapshots, reconciles and gaps that are drawn, in all charts.
    pub events: usize,
    /// Entries that are explained.
    pub entries: usize,
}

impl Room {
    /// The room of a page, of which everything gets one of so many `parts`.
    pub fn part(parts: usize) -> Self {
        let of = |most: usize| (most / parts.max(1)).max(1);
        Room {
            parents: (of(24), of(150)),
            changes: (of(12_000), of(4_000)),
            findings: (of(250), of(400)),
            terms: of(800),
            events: of(600),
            entries: of(60),
        }
    }
}

/// Says how many of a kind are not there, unless none is missing.
fn missing(left_out: &mut Vec<String>, all: usize, shown: usize, words: &str) {
    if all > shown {
        left_out.push(format!("{} {words}", all - shown));
    }
}

/// The page, with as much on it as there is room for; it says what is left out.
pub fn page(found: &Found, room: &Room) -> Page {
    let mut left_out = Vec::new();
    let mut report = found.report.clone();
    let counts = words::counts(&report);
    missing(
        &mut left_out,
        report.findings.len(),
        room.findings.0,
        "findings are not listed here; `raftscope audit` lists them.",
    );
    report.findings.truncate(room.findings.0);
    let drawn = |parent: &&JobKey| found.tracks.contains_key(*parent);
    let with: Vec<&JobKey> = found.parents.iter().filter(drawn).collect();
    let others: Vec<&JobKey> = found.tracks.keys().filter(|key| !found.parents.contains(key)).collect();
    missing(
        &mut left_out,
        with.len(),
        room.parents.0,
        "more parents with findings are not drawn; `--filter parent=NAME` draws one.",
    );
    missing(
        &mut left_out,
        others.len(),
        room.parents.1,
        "more parents without findings are not drawn; `--job NAME` draws one.",
    );
    let with: Vec<&JobKey> = with.into_iter().take(room.parents.0).collect();
    let others: Vec<&JobKey> = others.into_iter().take(room.parents.1).collect();
    // A parent with findings has two charts.
    let charts = (2 * with.len() + others.len()).max(1);
    let share = (room.changes.0 / (with.len() + others.len()).max(1)).clamp(8, room.changes.1);
    let marks = (room.findings.1 / with.len().max(1)).max(2);
    let mut every = Vec::new();
    let mut chart = |parent: &JobKey| -> Option<Chart> {
        let mine: Vec<&Finding> = found.every.iter().filter(|f| parent_of(f).as_ref() == Some(parent)).collect();
        if mine.len() > marks {
            let words = format!(
                "Of the {} findings about {} the first {marks} are marked in its charts.",
                mine.len(),
                parent.id
            );
            left_out.push(words);
        }
        let keep: BTreeSet<Index> = mine.iter().take(marks).flat_map(|f| places(f)).take(share / 4).collect();
        every.extend(mine.into_iter().take(marks).cloned());
        let track = thin(since(found.tracks.get(parent)?, found.range.0), &keep, share);
        left_out.extend(thinned(parent, &track));
        Some(Chart { parent: parent.clone(), track })
    };
    let with: Vec<Chart> = with.into_iter().filter_map(&mut chart).collect();
    let others: Vec<Chart> = others.into_iter().filter_map(&mut chart).collect();
    let bands = bands(&found.terms, &every, (room.terms / charts).max(3));
    if bands.len() < found.terms.len() {
        let (all, shown) = (found.terms.len(), bands.len());
        left_out
            .push(format!("Of the {all} terms the charts show {shown}: the longest, and those before the findings."));
    }
    let events = (room.events / charts).max(2);
    missing(&mut left_out, found.events.len(), events, "more snapshots, reconciles and gaps are not marked.");
    if found.more_entries || found.entries.len() > room.entries {
        let entries = found.entries.len().min(room.entries);
        left_out.push(format!(
            "Of the entries behind the findings {entries} are explained; `raftscope why INDEX` explains the others."
        ));
    }
    Page {
        report,
        counts,
        every,
        range: found.range,
        found: with,
        others,
        bands,
        terms: found.terms.clone(),
        events: found.events.iter().take(events).cloned().collect(),
        entries: found.entries.iter().take(room.entries).cloned().collect(),
        left_out,
        secrets_shown: found.secrets_shown,
    }
}

/// The changes from an index on, and the one before them, which holds until the first.
fn since(changes: &[Change], from: Index) -> &[Change] {
    let first = changes.partition_point(|change| change.index <= from).saturating_sub(1);
    changes.get(first..).unwrap_or_default()
}

/// The places of a finding that no thinning may lose.
fn places(finding: &Finding) -> impl Iterator<Item = Index> {
    let until = if let Some(Until::Index(until)) = finding.until { Some(until) } else { None };
    [Some(finding.at.index), until, finding.cause.as_ref().map(|c| c.at.index)].into_iter().flatten()
}

/// What was thinned, in words.
fn thinned(parent: &JobKey, track: &Thinned) -> Option<String> {
    (track.stretches > 0).then(|| {
        format!(
            "Of the {} changes of {} the chart shows {}: of each of {} equally long stretches of the log the first, the last, \
             and the lowest and the highest of each counter, and those at which the first findings begin and end. \
             `raftscope timeline --filter job={}` prints all.",
            track.of,
            parent.id,
            track.changes.len(),
            track.stretches,
            parent.id
        )
    })
}

/// Of the terms about `most`: the longest, and those that a finding names as the leader's before it.
fn bands(terms: &[Span], every: &[Finding], most: usize) -> Vec<Span> {
    if terms.len() <= most {
        return terms.to_vec();
    }
    let named: BTreeSet<Index> = every.iter().filter_map(|f| Some(f.leader_change?.index)).take(most / 2).collect();
    let mut longest: Vec<&Span> = terms.iter().collect();
    longest
        .sort_by_key(|span| std::cmp::Reverse((named.contains(&span.first), span.last.0.saturating_sub(span.first.0))));
    longest.truncate(most);
    longest.sort_by_key(|span| span.first);
    longest.into_iter().copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Term;

    #[test]
    fn of_many_terms_the_longest_are_drawn_in_order() {
        let span = |term: u64, first: u64, last: u64| Span { term: Term(term), first: Index(first), last: Index(last) };
        let terms = [span(1, 1, 1), span(2, 2, 500), span(3, 501, 502), span(4, 503, 900), span(5, 901, 905)];
        assert_eq!(bands(&terms, &[], 5), terms);
        assert_eq!(bands(&terms, &[], 2), [terms[1], terms[3]]);
    }
}
