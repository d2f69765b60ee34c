//! Job summaries: children by status, allocations by group (fsm.md 2.4, 2.5, 2.11).

use std::sync::Arc;

use super::Txn;
use super::id::Word;
use super::outcome::{CountMove, Refusal};
use super::row::{Alloc, Children, Indexes, Job, Summary};
use crate::types::JobKey;

impl Txn<'_> {
    /// The one general move of a parent's counters: a child leaves `old`, unless that is empty, and
    /// enters `new`. Never clamped (fsm.md 2.4).
    pub(super) fn move_child(&mut self, child: &Job, old: &Word, new: &Word) -> Result<(), Refusal> {
        let Some(parent) = child.parent() else { return Ok(()) };
        let Some(summary) = self.state.summary(&parent) else { return Ok(()) };
        let mut children = summary.children.unwrap_or_default();
        if *old != "" {
            *children
                .counter_mut(old)
                .ok_or_else(|| Refusal::new(format!("unknown old job status {:?}", old.as_str())))? -= 1;
        }
        *children
            .counter_mut(new)
            .ok_or_else(|| Refusal::new(format!("unknown new job status {:?}", new.as_str())))? += 1;
        self.put_children(parent, child.key.clone(), (old.clone(), new.clone()), false, children);
        Ok(())
    }

    /// A purged child leaves its status and counts as dead from then on (fsm.md 2.7).
    pub(super) fn count_purged_child(&mut self, child: &Job) -> Result<(), Refusal> {
        let Some(parent) = child.parent() else { return Ok(()) };
        let Some(mut children) = self.state.summary(&parent).and_then(|s| s.children) else { return Ok(()) };
        match child.status.as_str() {
            "dead" => return Ok(()),
            "pending" => children.pending -= 1,
            "running" => children.running -= 1,
            other => return Err(Refusal::new(format!("unknown old job status {other:?}"))),
        }
        children.dead += 1;
        self.put_children(parent, child.key.clone(), (child.status.clone(), Word::DEAD), true, children);
        Ok(())
    }

    fn put_children(&mut self, parent: JobKey, child: JobKey, (old, new): (Word, Word), purged: bool, after: Children) {
        let Some(summary) = self.state.summary(&parent) else { return };
        let mut row = Summary::clone(summary);
        row.children = Some(after);
        row.indexes.modify = self.index;
        self.state.put_summary(&parent, Some(Arc::new(row)));
        self.bump("job_summary");
        self.state.note_move(CountMove { parent, child, old, new, purged, after });
    }

    /// Makes the summary of a job that is written, or adds its new groups; never resets anything
    /// (fsm.md 2.5).
    pub(super) fn ensure_summary(&mut self, job: &Job) {
        let existing = self.state.summary(&job.key);
        let mut changed = existing.is_none();
        let mut row = existing.map_or_else(
            || Summary {
                groups: Vec::new(),
                children: Some(Children::default()),
                indexes: Indexes { create: self.index, modify: self.index },
            },
            |s| Summary::clone(s),
        );
        for group in job.groups.iter() {
            changed |= row.ensure_group(&group.name);
        }
        if changed {
            row.indexes.modify = self.index;
            self.state.put_summary(&job.key, Some(Arc::new(row)));
            self.bump("job_summary");
        }
    }

    /// Counts an allocation's client status in its group (fsm.md 2.11). `before` is the row that it
    /// replaces.
    pub(super) fn count_alloc(&mut self, alloc: &Alloc, before: Option<&Alloc>) -> Result<(), Refusal> {
        let Some(job) = &alloc.job else { return Ok(()) };
        let key = &alloc.job_key;
        let Some(summary) = self.state.summary(key) else {
            return match self.state.job(key) {
                None => Ok(()),
                Some(_) => {
                    Err(Refusal::new(format!("no summary of job {:?} in namespace {:?}", key.id, key.namespace)))
                }
            };
        };
        // An allocation of a job that was purged and made anew belongs to no summary.
        if summary.indexes.create != job.create_index {
            return Ok(());
        }
        let mut row = Summary::clone(summary);
        let Some(group) = row.group_mut(&alloc.task_group) else {
            return Err(Refusal::new(format!("task group {:?} is not in the job summary", alloc.task_group)));
        };
        let unknown = self.rules.unknown_client_status;
        match before {
            None if alloc.client_status == "pending" => {
                group.starting += 1;
                group.queued = group.queued.map(|n| if n > 0 { n - 1 } else { n });
            }
            Some(before) if before.client_status != alloc.client_status => {
                match alloc.client_status.as_str() {
                    "running" => group.running += 1,
                    "pending" => group.starting += 1,
                    "complete" => group.complete += 1,
                    "failed" => group.failed += 1,
                    "lost" => group.lost += 1,
                    "unknown" if unknown => group.unknown += 1,
                    _ => {}
                }
                // These were made never to go below zero by #4949; complete and failed only grow.
                let left = match before.client_status.as_str() {
                    "running" => &mut group.running,
                    "pending" => &mut group.starting,
                    "lost" => &mut group.lost,
                    "unknown" if unknown => &mut group.unknown,
                    _ => &mut 0,
                };
                *left -= i64::from(*left > 0);
            }
            _ => return Ok(()),
        }
        if row != **summary {
            row.indexes.modify = self.index;
            self.update_plugins_of_summary(alloc, &row);
            self.state.put_summary(key, Some(Arc::new(row)));
            self.bump("job_summary");
        }
        Ok(())
    }
}
