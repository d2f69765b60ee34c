//! What an entry changed on the whole: each touched row once, as it was before and as it is after.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;

use crate::fsm::id::Id;
use crate::fsm::outcome::{Change, Step};
use crate::fsm::row::{Alloc, Deployment, Eval, Job, Summary};
use crate::fsm::state::State;
use crate::types::JobKey;

/// One row before and after an entry; `None` where it is not there.
#[derive(Clone, Copy, Debug)]
pub struct Touched<'a, K, R> {
    /// Its key.
    pub key: &'a K,
    /// The row before the entry.
    pub before: Option<&'a Arc<R>>,
    /// The row after it.
    pub after: Option<&'a Arc<R>>,
}

/// The rows that an entry touched, by table, each once, in order of the first write. A touched row
/// can be the same after as before.
#[derive(Clone, Debug, Default)]
pub struct Net<'a> {
    /// Rows of `jobs`.
    pub jobs: Vec<Touched<'a, JobKey, Job>>,
    /// Rows of `job_summary`.
    pub summaries: Vec<Touched<'a, JobKey, Summary>>,
    /// Rows of `evals`.
    pub evals: Vec<Touched<'a, Id, Eval>>,
    /// Rows of `allocs`.
    pub allocs: Vec<Touched<'a, Id, Alloc>>,
    /// Rows of `deployment`.
    pub deployments: Vec<Touched<'a, Id, Deployment>>,
}

impl<'a> Net<'a> {
    /// The net changes of a step, with the state right after it.
    pub fn of(step: &'a Step, state: &'a State) -> Self {
        let mut net = Net::default();
        for change in &step.changes {
            match change {
                Change::Job { key, before } => net.jobs.push(touched(key, before, state.job(key))),
                Change::Summary { key, before } => net.summaries.push(touched(key, before, state.summary(key))),
                Change::Eval { id, before } => net.evals.push(touched(id, before, state.eval(id))),
                Change::Alloc { id, before } => net.allocs.push(touched(id, before, state.alloc(id))),
                Change::Deployment { id, before } => net.deployments.push(touched(id, before, state.deployment(id))),
                _ => {}
            }
        }
        first_of_each(&mut net.jobs);
        first_of_each(&mut net.summaries);
        first_of_each(&mut net.evals);
        first_of_each(&mut net.allocs);
        first_of_each(&mut net.deployments);
        net
    }
}

fn touched<'a, K, R>(key: &'a K, before: &'a Option<Arc<R>>, after: Option<&'a Arc<R>>) -> Touched<'a, K, R> {
    Touched { key, before: before.as_ref(), after }
}

/// Keeps the first of each key: that one holds what was there before the entry.
fn first_of_each<K: Eq + Hash, R>(rows: &mut Vec<Touched<'_, K, R>>) {
    match rows.len() {
        0 | 1 => {}
        2..=16 => {
            let mut kept = 1;
            for i in 1..rows.len() {
                if rows[..kept].iter().all(|row| row.key != rows[i].key) {
                    rows.swap(kept, i);
                    kept += 1;
                }
            }
            rows.truncate(kept);
        }
        _ => {
            let mut seen = HashSet::with_capacity(rows.len());
            rows.retain(|row| seen.insert(row.key));
        }
    }
}
