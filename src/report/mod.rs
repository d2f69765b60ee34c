//! What a report for people holds: the audit, the counters of the parents that it is about along the log, and the
//! entries behind the findings, explained.
//!
//! [`track`] listens to a replay, [`fit`] and [`thin`] make long tracks short, and [`crate::render::html`] draws the page.

use crate::audit::finding::Finding;
use crate::audit::report::Report;
use crate::types::{Index, JobKey};

pub mod fit;
pub mod thin;
pub mod track;

use thin::Thinned;
use track::Span;

/// Everything that stands on the page.
#[derive(Debug)]
pub struct Page {
    /// The audit; its findings folded unless all were asked for. Names stand in it as they are.
    pub report: Report,
    /// How many findings there are of each severity, those that are not listed included.
    pub counts: String,
    /// The findings that are marked in the charts.
    pub every: Vec<Finding>,
    /// The first and last index that the charts reach to.
    pub range: (Index, Index),
    /// The parents with findings, in the order of their first one.
    pub found: Vec<Chart>,
    /// Other parents that were asked for, by name.
    pub others: Vec<Chart>,
    /// Unbroken runs of entries of one term, in order.
    pub terms: Vec<Span>,
    /// Those of them that are drawn.
    pub bands: Vec<Span>,
    /// What happened beside the entries, in order.
    pub events: Vec<Event>,
    /// The entries behind the findings, in order.
    pub entries: Vec<Explained>,
    /// What the page leaves out and how to get it, a sentence each.
    pub left_out: Vec<String>,
    /// Nothing in the explanations is hidden.
    pub secrets_shown: bool,
}

/// The counters of one parent.
#[derive(Debug)]
pub struct Chart {
    /// The parent.
    pub parent: JobKey,
    /// Its changes, thinned.
    pub track: Thinned,
}

/// Something worth a mark above the charts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Where.
    pub index: Index,
    /// What.
    pub kind: EventKind,
}

/// What a mark stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A snapshot beside the log.
    Snapshot,
    /// An entry that sets every summary anew (`nomad system reconcile summaries`).
    Reconcile,
    /// Entries are missing from here on.
    Gap,
}

impl EventKind {
    /// Its name on the page.
    pub fn name(self) -> &'static str {
        match self {
            EventKind::Snapshot => "snapshot",
            EventKind::Reconcile => "reconcile",
            EventKind::Gap => "gap",
        }
    }
}

/// One entry explained, as `raftscope why` does; secrets are hidden already.
#[derive(Clone, Debug)]
pub struct Explained {
    /// The entry.
    pub index: Index,
    /// What there is to say, a sentence each; the first names the entry.
    pub lines: Vec<String>,
    /// The rows that it changed: table, row, change, field, before, after.
    pub changes: Vec<Vec<String>>,
    /// How many more changes there are than are listed.
    pub left_out: usize,
}

/// The parent that a finding is about; `None` for findings about other things.
pub fn parent_of(finding: &Finding) -> Option<JobKey> {
    Some(JobKey::new(finding.namespace.clone()?, finding.parent.clone()?))
}
