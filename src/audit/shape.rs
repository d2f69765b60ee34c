//! Parents that are dead without having been stopped, and summaries that lack what their job needs.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::finding::{Finding, Kind, Place, Severity};
use super::{Detector, Findings, Open};
use crate::fsm::row::{Job, Summary};
use crate::fsm::state::State;
use crate::net::Touched;
use crate::pack::{BadImage, Pack, Packer, Unpacker, pack};
use crate::replay::Replayed;
use crate::types::JobKey;

/// Watches every job together with its summary.
#[derive(Default)]
pub(super) struct ShapeDetector {
    open: HashMap<(JobKey, Kind), Open, RandomState>,
}

impl ShapeDetector {
    fn judge(&mut self, key: &JobKey, state: &State, at: &Place, findings: &mut Findings) {
        let (job, summary) = (state.job(key).map(|job| &**job), state.summary(key).map(|summary| &**summary));
        let faults = [
            (Kind::StatusMismatch, job.and_then(status_fault)),
            (Kind::SummaryShape, job.zip(summary).and_then(|(j, s)| shape_fault(j, s))),
        ];
        for (kind, fault) in faults {
            if fault.is_none() && self.open.is_empty() {
                continue;
            }
            let open = (key.clone(), kind);
            match (self.open.get(&open).copied(), fault) {
                (None, Some(detail)) => {
                    let finding = Finding::new(kind, Severity::Warning, at.clone());
                    let finding = if job.is_some_and(Job::is_parent) {
                        finding.about_parent(key)
                    } else {
                        finding.about_job(key)
                    };
                    self.open.insert(open, findings.open(Finding { detail: Some(detail), ..finding }));
                }
                (Some(finding), None) => {
                    findings.close(finding, at);
                    self.open.remove(&open);
                }
                _ => {}
            }
        }
    }
}

fn status_fault(job: &Job) -> Option<String> {
    (job.is_parent() && !job.stop && job.status == "dead")
        .then(|| "a parent that is not stopped is running under every rule book, but this one is dead".into())
}

/// What a reconcile leaves, no children for others and no groups for parents, is normal.
fn shape_fault(job: &Job, summary: &Summary) -> Option<String> {
    if job.is_parent() {
        return summary.children.is_none().then(|| "the parent's summary has no Children".into());
    }
    let missing = job.groups.iter().find(|group| summary.group(&group.name).is_none())?;
    Some(format!("the summary lacks the job's group {:?}, so plans for it are refused", missing.name))
}

/// The row says the same as before to whoever asks no more than `alike` does.
fn is_alike<K, R>(row: &Touched<'_, K, R>, alike: fn(&R, &R) -> bool) -> bool {
    match (row.before, row.after) {
        (Some(before), Some(after)) => Arc::ptr_eq(before, after) || alike(before, after),
        (before, after) => before.is_none() && after.is_none(),
    }
}

/// What [`status_fault`] and [`shape_fault`] ask of a job is the same.
fn job_is_alike(before: &Job, after: &Job) -> bool {
    before.is_parent() == after.is_parent()
        && (!after.is_parent() || (before.stop == after.stop && before.status == after.status))
        && (Arc::ptr_eq(&before.groups, &after.groups) || before.groups == after.groups)
}

/// What [`shape_fault`] asks of a summary is the same.
fn summary_is_alike(before: &Summary, after: &Summary) -> bool {
    before.children.is_none() == after.children.is_none()
        && before.groups.len() == after.groups.len()
        && before.groups.iter().zip(&after.groups).all(|((a, _), (b, _))| Arc::ptr_eq(a, b) || a == b)
}

pack! { ShapeDetector { open } }

impl Detector for ShapeDetector {
    fn base(&mut self, state: &State, at: &Place, findings: &mut Findings) {
        let keys: BTreeSet<&JobKey> = state.jobs().map(|job| &job.key).collect();
        for key in keys {
            self.judge(key, state, at, findings);
        }
    }

    fn entry(&mut self, entry: &Replayed<'_>, at: &Place, findings: &mut Findings) {
        for row in &entry.net.jobs {
            if !is_alike(row, job_is_alike) {
                self.judge(row.key, entry.state, at, findings);
            }
        }
        for row in &entry.net.summaries {
            if !is_alike(row, summary_is_alike) {
                self.judge(row.key, entry.state, at, findings);
            }
        }
    }

    fn save(&self, out: &mut Packer) {
        self.pack(out);
    }

    fn load(&mut self, from: &mut Unpacker<'_>) -> Result<(), BadImage> {
        *self = Pack::unpack(from)?;
        Ok(())
    }
}
