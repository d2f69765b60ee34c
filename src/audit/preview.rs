//! What `nomad system reconcile summaries` would make of the counts now: the entry that it writes, applied behind the last.

use std::ops::{ControlFlow, RangeInclusive};
use std::sync::Arc;

use serde::Serialize;

use crate::evidence::{EvidenceError, Log, LogType, Record, Scanned};
use crate::fsm::Fsm;
use crate::fsm::row::{GroupSummary, Summary};
use crate::replay::{Replayed, Subscriber, replay};
use crate::timeline::JobView;
use crate::types::{Index, Term};

/// A job whose counts a reconcile would change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Preview {
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its ID.
    pub job: Arc<str>,
    /// The job as it is.
    pub now: JobView,
    /// The job as it would be; `Queued` is null, since a scheduler run inside the server decides it.
    pub then: JobView,
}

/// The one entry: a message of type 10, whose body no server reads (fsm.md 2.12).
struct Reconcile(Index, Term);

const PAYLOAD: &[u8] = &[10];

impl Log for Reconcile {
    fn bounds(&self) -> Option<(Index, Index)> {
        Some((self.0, self.0))
    }

    fn scan(
        &self,
        range: RangeInclusive<Index>,
        sink: &mut dyn FnMut(Scanned<'_>) -> ControlFlow<()>,
    ) -> Result<(), EvidenceError> {
        if range.contains(&self.0) {
            let (index, term) = (self.0, self.1);
            let _ =
                sink(Scanned::Entry(Record { index, term, kind: LogType::Command, data: PAYLOAD, appended_at: None }));
        }
        Ok(())
    }

    fn data(&self, index: Index) -> Result<Option<Vec<u8>>, EvidenceError> {
        Ok((index == self.0).then(|| PAYLOAD.to_vec()))
    }
}

/// Applies a reconcile to the state that a replay has come to, which is that after `at`, and tells the jobs whose counts
/// it changes, by namespace and ID: the children of parents, the groups of other jobs.
///
/// # Errors
/// None that a log of one entry in memory can have.
pub fn preview(fsm: &mut Fsm, at: (Index, Term)) -> Result<Vec<Preview>, EvidenceError> {
    let mut changed = Changed::default();
    let next = at.0.next();
    replay(&Reconcile(next, at.1), fsm, at, next, &mut (), &mut [&mut changed])?;
    changed.0.sort_by(|a, b| (&a.namespace, &a.job).cmp(&(&b.namespace, &b.job)));
    Ok(changed.0)
}

#[derive(Default)]
struct Changed(Vec<Preview>);

impl Subscriber for Changed {
    fn entry(&mut self, entry: Replayed<'_>) {
        for row in &entry.net.summaries {
            let (Some(job), Some(before), Some(after)) = (entry.state.job(row.key), row.before, row.after) else {
                continue;
            };
            // A reconcile leaves parents without groups and others without children, always.
            let same = match job.is_parent() {
                true => before.children == after.children,
                false => groups(before) == groups(after),
            };
            if let (false, Some(now), Some(then)) =
                (same, JobView::of(Some(job), Some(before)), JobView::of(Some(job), Some(after)))
            {
                let (namespace, job) = (row.key.namespace.clone(), row.key.id.clone());
                self.0.push(Preview { namespace, job, now, then });
            }
        }
    }
}

/// The group numbers that count; a group of zeros is as good as none.
fn groups(summary: &Summary) -> Vec<(Arc<str>, GroupSummary)> {
    let counted = |(name, group): &(Arc<str>, GroupSummary)| (name.clone(), GroupSummary { queued: None, ..*group });
    let zeros = GroupSummary { queued: None, ..GroupSummary::default() };
    summary.groups.iter().map(counted).filter(|(_, group)| *group != zeros).collect()
}
