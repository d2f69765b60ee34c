//! Which part of an entry moved a parent's counters away from its children, and by what mechanism
//! (contract.md 3, `cause.rule`; fsm.md 2.15).

use super::children::{Purge, is_child_of, slot};
use super::finding::{Cause, Place, Rule};
use crate::entry::body::job::JobRegister;
use crate::entry::message::Message;
use crate::fsm::id::Word;
use crate::fsm::row::{Job, Summary};
use crate::net::Touched;
use crate::replay::Replayed;
use crate::types::JobKey;

/// A part of an entry with what it added to stored less counted: `[pending, running, dead]`.
pub(super) struct Contribution {
    pub(super) cause: Cause,
    pub(super) delta: [i64; 3],
}

/// What the replay started from was wrong already.
pub(super) fn base(at: &Place) -> Cause {
    let detail = format!(
        "It was so already in the snapshot at index {}; the entry that did it is not in the evidence. \
         An older snapshot, or another server's log, may hold it.",
        at.index
    );
    of(Rule::Base, at, None, detail)
}

/// No known mechanism fits.
pub(super) fn unexplained(at: &Place) -> Cause {
    of(Rule::Unexplained, at, None, "None of the known mechanisms explains it.".into())
}

fn of(rule: Rule, at: &Place, job: Option<&JobKey>, detail: String) -> Cause {
    Cause {
        rule,
        at: at.clone(),
        namespace: job.map(|j| j.namespace.clone()),
        job: job.map(|j| j.id.clone()),
        status: None,
        by: None,
        detail,
        proof: None,
    }
}

/// The parts of an entry that moved the parent's offsets to `now`: what it did to the parent's own
/// row first, then child by child. `before` are the children that there were before it.
pub(super) fn contributions(
    parent: &JobKey,
    entry: &Replayed<'_>,
    (at, purged): (&Place, Option<&Purge>),
    before: [i64; 3],
    now: [i64; 3],
) -> Vec<Contribution> {
    let mut found = Vec::new();
    let is_new = |row: &Touched<'_, JobKey, Summary>| row.before.is_none_or(|s| s.children.is_none());
    if entry.net.summaries.iter().any(|row| row.key == parent && is_new(row)) {
        // It counts from zero, whatever there was.
        found.push(Contribution { cause: new_summary(parent, at, purged), delta: before.map(|n| -n) });
    }
    if matches!(entry.message, Some(Ok(Message::ReconcileJobSummaries(_)))) {
        found.push(Contribution { cause: reconcile(parent, entry, at), delta: now });
    }
    for row in &entry.net.jobs {
        let delta = child_delta(parent, row, entry);
        if delta != [0; 3] {
            found.push(Contribution { cause: child(parent, row, delta, entry, at), delta });
        }
    }
    found
}

/// What one child added to stored less counted: the counter moves that name it, less its own change.
fn child_delta(parent: &JobKey, row: &Touched<'_, JobKey, Job>, entry: &Replayed<'_>) -> [i64; 3] {
    let mut delta = [0; 3];
    let mut add = |status: &str, step: i64| {
        if let Some(slot) = slot(status) {
            delta[slot] += step;
        }
    };
    for count in entry.step.moves.iter().filter(|m| m.parent == *parent && m.child == *row.key) {
        add(count.old.as_str(), -1);
        add(count.new.as_str(), 1);
    }
    for (job, step) in [(row.before, 1), (row.after, -1)] {
        if let Some(job) = job.filter(|j| is_child_of(j, parent)) {
            add(job.status.as_str(), step);
        }
    }
    delta
}

/// The parent got a summary at zero while children were there.
fn new_summary(parent: &JobKey, at: &Place, purged: Option<&Purge>) -> Cause {
    match purged {
        Some(purge) if purge.before_base => {
            let detail = format!(
                "Children of {:?} existed in the snapshot at index {}, and the job itself did not: it was gone before. \
                 Registered again at index {}, it counts from zero, and each of those children takes one away when it \
                 moves on. An older snapshot, or another server's log, may tell why.",
                parent.id, purge.at.index, at.index
            );
            of(Rule::Base, &purge.at, None, detail)
        }
        Some(purge) => {
            let detail = format!(
                "The purge of {:?} at index {} removed its summary while children of it existed; registered again at \
                 index {}, it counts from zero, and each of those children takes one away when it moves on. Every \
                 version does so. Stop the children first, or run `nomad system reconcile summaries` afterwards.",
                parent.id, purge.at.index, at.index
            );
            let mut cause = of(Rule::ParentRecreated, &purge.at, Some(parent), detail);
            purge.by.iter().for_each(|by| by.tell(&mut cause));
            cause
        }
        None => unexplained(at),
    }
}

/// A reconcile counts by ParentID alone.
fn reconcile(parent: &JobKey, entry: &Replayed<'_>, at: &Place) -> Cause {
    let namesake = |job: &Job| job.parent_id == parent.id && job.key.namespace != parent.namespace;
    let Some(other) = entry.state.jobs().filter(|j| namesake(j)).map(|j| j.key.namespace.clone()).min() else {
        return unexplained(at);
    };
    let detail = format!(
        "`nomad system reconcile summaries` counts children by the parent's ID alone, so those of {:?} in namespace \
         {other:?} were counted here as well. Every version does so. Give the two jobs different IDs.",
        parent.id
    );
    of(Rule::ReconcileMergedNamespaces, at, None, detail)
}

fn child(parent: &JobKey, row: &Touched<'_, JobKey, Job>, delta: [i64; 3], entry: &Replayed<'_>, at: &Place) -> Cause {
    let register = match entry.message {
        Some(Ok(Message::JobRegister(m))) if m.job.as_ref().is_some_and(|job| *job.id == *row.key.id) => Some(m),
        _ => None,
    };
    match (row.before, row.after) {
        (None, Some(_)) => register.map_or_else(|| unexplained(at), |m| new_child(row.key, m, delta, entry, at)),
        (Some(before), Some(after)) if is_child_of(before, parent) && !is_child_of(after, parent) => {
            let detail = format!(
                "The child was registered again without its ParentID, so the parent no longer hears of it and keeps \
                 counting it as {}. The HTTP API drops the ParentID since 1.0.6 and 1.1.0 (nomad#10424). \
                 `nomad system reconcile summaries` sets the count right.",
                before.status
            );
            of(Rule::LostParent, at, Some(row.key), detail)
        }
        (Some(before), Some(after)) if is_child_of(before, parent) => {
            // The entry's own evaluation may move the status on, with a count, from where it silently was.
            let counted = entry.step.moves.iter().find(|m| m.parent == *parent && m.child == *row.key);
            let to = counted.map_or(&after.status, |m| &m.old);
            silent_change(row.key, (&before.status, to), register.is_some(), entry, at)
        }
        _ => unexplained(at),
    }
}

fn new_child(key: &JobKey, register: &JobRegister<'_>, delta: [i64; 3], entry: &Replayed<'_>, at: &Place) -> Cause {
    let carried = register.job.as_ref().map(|job| &*job.status).unwrap_or_default();
    let kept = entry.rules.new_job_status_kept;
    if kept && slot(carried).is_some_and(|slot| delta[slot] < 0) {
        let detail = format!(
            "The child arrived with status {carried:?} already set. Rules from 1.0.4 on take that for the status it \
             leaves and subtract one from it, although it was never counted there. Leaders of 1.0.5 and older copied \
             the status from the parent when they derived the child after an election (nomad#10145, fixed in 1.0.6 \
             and 1.1.0 for new entries only). `nomad system reconcile summaries` sets the counts right."
        );
        let mut cause = of(Rule::RegisterWithStatus, at, Some(key), detail);
        cause.status = Some(carried.into());
        return cause;
    }
    if !kept && register.eval.is_some() && delta[0] > 0 {
        let detail = "The register carries its evaluation in the same entry. Rules up to 1.0.3 compute the status \
             twice at the index that creates the job, and count the child as pending both times (nomad#8435, fixed in \
             1.0.4 by #9768 and #9884). Upgrade, then run `nomad system reconcile summaries`."
            .into();
        let mut cause = of(Rule::DoublePending, at, Some(key), detail);
        cause.status = Some(carried.into());
        return cause;
    }
    unexplained(at)
}

/// An existing child's row got another status by a write that does not touch the parent.
fn silent_change(
    key: &JobKey,
    (from, to): (&Word, &Word),
    registered: bool,
    entry: &Replayed<'_>,
    at: &Place,
) -> Cause {
    let made_now = entry.net.evals.iter().filter(|e| e.before.is_none() && e.after.is_some_and(|e| e.job == *key));
    let collected = entry.state.references(key).evals == made_now.count();
    // A child that never had an evaluation is pending; what it was dead by has been collected.
    if registered && collected && from.as_str() == "dead" {
        let detail = format!(
            "The child was registered again under its ID after its evaluations were collected. Its row changed from \
             {from} to {to} without the parent's counters moving with it (unfixed up to 2.0.5). \
             `nomad system reconcile summaries` sets the counts right."
        );
        return of(Rule::ChildReregistered, at, Some(key), detail);
    }
    let detail = format!(
        "The entry wrote the existing child's row again, and its status changed from {from} to {to} without the \
         parent's counters moving with it (unfixed up to 2.0.5). `nomad system reconcile summaries` sets the counts \
         right."
    );
    of(Rule::StatusWithoutCount, at, Some(key), detail)
}
