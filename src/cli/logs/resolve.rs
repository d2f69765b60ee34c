//! `--resolve`: entries that name only allocations, evaluations, deployments or job IDs get the
//! jobs that these belong to, out of a replay beside the listing.

use std::borrow::Cow;

use crate::filter::{Facts, JobFact};
use crate::fsm::id::Id;
use crate::replay::Replayed;
use crate::types::JobKey;

/// Adds to the facts of an entry what the state knows of the things that it names: after the
/// entry, or before it for what the entry took away.
pub fn resolve(facts: &mut Facts<'_>, entry: &Replayed<'_>) {
    for job in &mut facts.jobs {
        if job.parent.is_none()
            && let Some(id) = &job.job
        {
            let namespace = job.namespace.as_deref().filter(|n| !n.is_empty()).unwrap_or("default");
            job.parent = parent(&JobKey::new(namespace, &**id), entry).map(Cow::Owned);
        }
    }
    let mut found = Vec::new();
    for id in &facts.allocs {
        let id = Id::new(id);
        let gone = || entry.net.allocs.iter().find(|t| *t.key == id).and_then(|t| t.before);
        found.extend(entry.state.alloc(&id).or_else(gone).map(|row| row.job_key.clone()));
    }
    for id in &facts.evals {
        let id = Id::new(id);
        let gone = || entry.net.evals.iter().find(|t| *t.key == id).and_then(|t| t.before);
        found.extend(entry.state.eval(&id).or_else(gone).map(|row| row.job.clone()));
    }
    for id in &facts.deployments {
        let id = Id::new(id);
        let gone = || entry.net.deployments.iter().find(|t| *t.key == id).and_then(|t| t.before);
        found.extend(entry.state.deployment(&id).or_else(gone).map(|row| row.job.clone()));
    }
    for key in found {
        let known = |j: &JobFact<'_>| {
            j.job.as_deref() == Some(&*key.id)
                && j.namespace.as_deref().map(|n| if n.is_empty() { "default" } else { n }) == Some(&*key.namespace)
        };
        if !key.id.is_empty() && !facts.jobs.iter().any(known) {
            facts.jobs.push(JobFact {
                parent: parent(&key, entry).map(Cow::Owned),
                namespace: Some(Cow::Owned(key.namespace.to_string())),
                job: Some(Cow::Owned(key.id.to_string())),
                status: None,
            });
        }
    }
}

/// The ParentID of a job; of one that the entry took away, what it was.
fn parent(key: &JobKey, entry: &Replayed<'_>) -> Option<String> {
    let gone = || entry.net.jobs.iter().find(|t| t.key == key).and_then(|t| t.before);
    entry.state.job(key).or_else(gone).map(|job| job.parent_id.to_string())
}
