//! Entries that the FSM refused, could not decode, or does not know.

use super::finding::{Finding, Kind, Place, Severity};
use super::{Detector, Findings};
use crate::entry::message::Message;
use crate::fsm::outcome::{Outcome, Refusal};
use crate::pack::{BadImage, Packer, Unpacker};
use crate::replay::Replayed;

/// Watches what became of each entry.
pub(super) struct OutcomeDetector;

impl Detector for OutcomeDetector {
    fn entry(&mut self, entry: &Replayed<'_>, at: &Place, findings: &mut Findings) {
        let command = crate::entry::split(entry.record.data);
        let number = command.map(|c| c.kind);
        let ignored = command.is_some_and(|c| c.ignore_unknown);
        let finding = match &entry.step.outcome {
            Outcome::Refused(why) => refused(entry, at, why, false),
            Outcome::PartiallyApplied(why) => refused(entry, at, why, true),
            Outcome::Undecodable(_) | Outcome::Empty => {
                let severity = if ignored { Severity::Note } else { Severity::Error };
                let mut finding = Finding::new(Kind::UndecodableEntry, severity, at.clone());
                finding.message_type = number;
                finding.ignore_flag = ignored.then_some(true);
                finding
            }
            Outcome::UnknownType { ignored } => {
                let severity = if *ignored { Severity::Note } else { Severity::Error };
                let mut finding = Finding::new(Kind::UnknownType, severity, at.clone());
                finding.message_type = number;
                finding.ignore_flag = Some(*ignored);
                finding
            }
            Outcome::AppliedWithout(_) => {
                let finding = Finding::new(Kind::Orphan, Severity::Note, at.clone());
                match entry.message {
                    Some(Ok(Message::JobRegister(m))) => match entry.net.jobs.first() {
                        Some(row) if m.job.is_some() => finding.about_job(row.key),
                        _ => finding,
                    },
                    _ => finding,
                }
            }
            _ => return,
        };
        findings.add(Finding { detail: entry.step.outcome.detail(entry.rules), ..finding });
    }

    fn save(&self, _: &mut Packer) {}

    fn load(&mut self, _: &mut Unpacker<'_>) -> Result<(), BadImage> {
        Ok(())
    }
}

fn refused(entry: &Replayed<'_>, at: &Place, why: &Refusal, partial: bool) -> Finding {
    let severity = if would_have_counted(entry) { Severity::Warning } else { Severity::Note };
    let mut finding = Finding::new(Kind::RejectedEntry, severity, at.clone());
    finding.detail = Some(why.to_string());
    finding.partial = partial.then_some(true);
    finding
}

/// Accepted, the entry would have moved a job's status or a summary: nodes, namespaces, pools and
/// the like never do.
fn would_have_counted(entry: &Replayed<'_>) -> bool {
    match entry.message {
        Some(Ok(message)) => match message {
            Message::JobRegister(_)
            | Message::JobDeregister(_)
            | Message::JobBatchDeregister(_)
            | Message::JobStability(_)
            | Message::EvalUpdate(_)
            | Message::EvalDelete(_)
            | Message::AllocUpdate(_)
            | Message::AllocClientUpdate(_)
            | Message::ReconcileJobSummaries(_) => true,
            Message::ApplyPlanResults(m) => {
                let lists = [&m.allocs, &m.stopped, &m.updated, &m.preempted, &m.node_preemptions];
                lists.iter().any(|list| !list.is_empty())
            }
            Message::DeploymentStatusUpdate(m) => m.job.is_some() || m.update.status == "successful",
            Message::DeploymentAllocHealth(m) => m.job.is_some(),
            _ => false,
        },
        _ => false,
    }
}
