//! What the ledger tells of a job: two of these are compared before and after an entry.

use std::sync::Arc;

use crate::fsm::id::Word;
use crate::fsm::row::{Children, GroupSummary, Job, Summary};

/// The numbers of a job's groups, by name.
pub(super) type Groups = [(Arc<str>, GroupSummary)];

/// What `job_change` keeps of a job's own row.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Facts<'a> {
    pub(super) parent: &'a Arc<str>,
    pub(super) kind: &'a Word,
    pub(super) version: u64,
    pub(super) stop: bool,
    pub(super) status: &'a Word,
}

/// A job with its summary; of a summary without its job, nothing.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct Shown<'a> {
    /// `None` where there is no job.
    pub(super) job: Option<Facts<'a>>,
    /// `None` without a summary, or where it has none.
    pub(super) children: Option<Children>,
    /// `None` without a summary.
    pub(super) groups: Option<&'a Groups>,
}

impl<'a> Shown<'a> {
    /// What there is to tell of a job.
    pub(super) fn of(job: Option<&'a Job>, summary: Option<&'a Summary>) -> Self {
        let summary = job.and(summary);
        let facts = |job: &'a Job| Facts {
            parent: &job.parent_id,
            kind: &job.kind,
            version: job.version,
            stop: job.stop,
            status: &job.status,
        };
        Shown {
            job: job.map(facts),
            children: summary.and_then(|s| s.children),
            groups: summary.map(|s| s.groups.as_slice()),
        }
    }

    /// The part that the timeline shows.
    pub(super) fn in_timeline(&self) -> (Option<&'a Word>, Option<Children>, Option<&'a Groups>) {
        (self.job.map(|job| job.status), self.children, self.groups)
    }
}
