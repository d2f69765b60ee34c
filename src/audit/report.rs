//! The audit as one document, with its verdict and exit code (contract.md 2 and 3).

use serde::Serialize;

use super::Audited;
use super::baseline::Baseline;
use super::finding::{Finding, Severity};
use super::preview::Preview;
use crate::exit::Exit;
use crate::types::{Index, JobKey, Term};

/// Version of the document's shape.
pub const SCHEMA_VERSION: u32 = 1;

/// What the audit looked at.
#[derive(Clone, Debug, Serialize)]
pub struct EvidenceSummary {
    /// The file or directory.
    pub path: String,
    /// `boltdb`, `wal`, `snapshot` or `json`.
    pub store: String,
    /// The first entry in the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_index: Option<Index>,
    /// The last entry in the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_index: Option<Index>,
    /// How many entries were replayed.
    pub entries: u64,
    /// What the replay started from.
    pub base: Base,
    /// Holes in the log, below the base as well.
    pub gaps: Vec<Gap>,
    /// How many entries could not be decoded.
    pub undecodable: u64,
    /// How many entries the FSM refused.
    pub rejected: u64,
    /// The rules in force.
    pub rules: String,
    /// `flag`, `snapshot`, `writer` or `default`.
    pub rules_from: String,
    /// Other rules that the evidence allows and that would answer differently.
    pub rules_also_possible: Vec<String>,
    /// What was altered, where the history did not happen like this.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub altered: Vec<String>,
}

/// What a replay started from.
#[derive(Clone, Debug, Serialize)]
pub struct Base {
    /// `empty` or `snapshot`.
    pub kind: &'static str,
    /// The index it stands at; 0 for empty.
    pub index: Index,
    /// Its term.
    pub term: Term,
}

/// A hole in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// The first missing index.
    pub first_index: Index,
    /// The last missing index.
    pub last_index: Index,
}

/// What the audit says on the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing at or above the threshold, and nothing can hide.
    Clean,
    /// Something is wrong with Nomad's state.
    Findings,
    /// Nothing was found, but the evidence does not reach far enough to be sure.
    Inconclusive,
}

/// The audit as one document.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// What was looked at.
    pub evidence: EvidenceSummary,
    /// The verdict.
    pub verdict: Verdict,
    /// Nothing could hide behind a hole or an unreadable entry.
    pub complete: bool,
    /// The findings, in order of index.
    pub findings: Vec<Reported>,
    /// What `nomad system reconcile summaries` would change now; only where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<Vec<Preview>>,
    /// Every parent that was watched, in order; for the formats that list what is right as well.
    #[serde(skip)]
    pub parents: Vec<JobKey>,
}

/// How findings are weighed.
#[derive(Clone, Copy, Debug)]
pub struct Judging<'b> {
    /// The least severity that makes the verdict `findings`.
    pub fail_on: Severity,
    /// List every finding, and not only the first of each kind, parent and counter.
    pub all: bool,
    /// Faults that are known and fail nothing.
    pub baseline: Option<&'b Baseline>,
}

impl Judging<'_> {
    fn knows(&self, finding: &Finding) -> bool {
        self.baseline.is_some_and(|baseline| baseline.knows(&finding.fingerprint()))
    }

    /// Whether a finding makes the verdict `findings`. What is about the evidence never does
    /// (contract.md 2).
    pub fn fails(&self, finding: &Finding) -> bool {
        finding.severity >= self.fail_on && !finding.is_about_evidence() && !self.knows(finding)
    }
}

/// A finding, standing for others like it.
#[derive(Clone, Debug, Serialize)]
pub struct Reported {
    /// The finding.
    #[serde(flatten)]
    pub finding: Finding,
    /// Later findings of the same kind, parent and counter that are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: u64,
    /// The baseline lists it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub known: bool,
}

// serde asks for this signature.
fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Report {
    /// The report on an audit; `reaches` is false where the replay ended early or began without a
    /// base.
    pub fn new(evidence: EvidenceSummary, audited: Audited, judging: &Judging<'_>, reaches: bool) -> Self {
        let complete = reaches && !audited.findings.iter().any(Finding::is_about_evidence);
        let failed = audited.findings.iter().any(|f| judging.fails(f));
        let verdict = match (failed, complete) {
            (true, _) => Verdict::Findings,
            (false, true) => Verdict::Clean,
            (false, false) => Verdict::Inconclusive,
        };
        let listed = listed(audited.findings);
        let mut findings = if judging.all { listed } else { folded(listed) };
        for reported in &mut findings {
            reported.known = judging.knows(&reported.finding);
        }
        Report {
            schema_version: SCHEMA_VERSION,
            evidence,
            verdict,
            complete,
            findings,
            preview: None,
            parents: audited.parents,
        }
    }

    /// Leaves of the findings only the first of each kind, parent and counter.
    pub fn fold(&mut self) {
        self.findings = folded(std::mem::take(&mut self.findings));
    }

    /// The exit code. With `allow_incomplete` an inconclusive verdict is a warning's matter only.
    pub fn exit(&self, allow_incomplete: bool) -> Exit {
        match self.verdict {
            Verdict::Findings => Exit::Findings,
            Verdict::Inconclusive if !allow_incomplete => Exit::Incomplete,
            _ => Exit::Success,
        }
    }

    /// How many findings there are of each severity: notes, warnings, errors; those that are not
    /// listed included.
    pub fn counts(&self) -> [u64; 3] {
        let mut counts = [0; 3];
        for reported in &self.findings {
            counts[reported.finding.severity as usize] += 1 + reported.more;
        }
        counts
    }
}

fn listed(findings: Vec<Finding>) -> Vec<Reported> {
    findings.into_iter().map(|finding| Reported { finding, more: 0, known: false }).collect()
}

/// The first of each kind, parent and counter, with the number of those behind it.
fn folded(findings: Vec<Reported>) -> Vec<Reported> {
    let mut out: Vec<Reported> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for reported in findings {
        let fault = reported.finding.fingerprint();
        match places.get(&fault).and_then(|&place: &usize| out.get_mut(place)) {
            Some(first) => first.more += 1 + reported.more,
            None => {
                places.insert(fault, out.len());
                out.push(reported);
            }
        }
    }
    out
}
