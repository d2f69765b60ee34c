//! What is known under one job name.

use std::hash::Hash;
use std::sync::Arc;

use super::Set;
use crate::fsm::id::Id;
use crate::fsm::row::{Alloc, Deployment, Eval, Job, Summary};
use crate::types::JobKey;

/// The job, its summary, and who refers to it by that exact name, whether the job exists or not (fsm.md 2.3).
#[derive(Debug, Default)]
pub(super) struct Cell {
    pub(super) job: Option<Arc<Job>>,
    pub(super) summary: Option<Arc<Summary>>,
    pub(super) allocs: Referrers,
    pub(super) evals: Referrers,
    pub(super) deployments: Referrers,
    /// The IDs of the jobs whose parent it is.
    pub(super) children: Names<Arc<str>>,
}

impl Cell {
    pub(super) fn is_empty(&self) -> bool {
        self.job.is_none()
            && self.summary.is_none()
            && self.allocs.is_empty()
            && self.evals.is_empty()
            && self.deployments.is_empty()
            && self.children.len() == 0
    }
}

/// A row that refers to a job.
pub(super) trait Refers {
    /// The job's name.
    fn job(&self) -> &JobKey;

    /// Something may still happen to it.
    fn is_live(&self) -> bool;

    /// The rows of its kind that refer to the job of a cell.
    fn among(cell: &mut Cell) -> &mut Referrers;
}

impl Refers for Eval {
    fn job(&self) -> &JobKey {
        &self.job
    }

    fn is_live(&self) -> bool {
        !self.is_terminal()
    }

    fn among(cell: &mut Cell) -> &mut Referrers {
        &mut cell.evals
    }
}

impl Refers for Alloc {
    fn job(&self) -> &JobKey {
        &self.job_key
    }

    fn is_live(&self) -> bool {
        !self.is_terminal()
    }

    fn among(cell: &mut Cell) -> &mut Referrers {
        &mut cell.allocs
    }
}

impl Refers for Deployment {
    fn job(&self) -> &JobKey {
        &self.job
    }

    fn is_live(&self) -> bool {
        !self.is_terminal()
    }

    fn among(cell: &mut Cell) -> &mut Referrers {
        &mut cell.deployments
    }
}

/// The rows of one kind that refer to a job: their IDs, and how many of them are live.
#[derive(Debug, Default)]
pub(super) struct Referrers {
    ids: Names<Id>,
    live: usize,
}

impl Referrers {
    pub(super) fn insert(&mut self, id: &Id, is_live: bool) {
        self.ids.insert(id.clone());
        self.live += usize::from(is_live);
    }

    pub(super) fn remove(&mut self, id: &Id, was_live: bool) {
        self.ids.remove(id);
        self.live -= usize::from(was_live);
    }

    /// A row that stays is live now, or no longer.
    pub(super) fn turn(&mut self, was_live: bool, is_live: bool) {
        self.live = self.live - usize::from(was_live) + usize::from(is_live);
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = &Id> {
        self.ids.iter()
    }

    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(super) fn live(&self) -> usize {
        self.live
    }

    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Up to so many names are searched one by one.
const FEW: usize = 8;

/// A set of names, in no order. Of most jobs it has one or two, and there are many jobs.
#[derive(Debug)]
pub(super) enum Names<T> {
    Few(Vec<T>),
    Many(Box<Set<T>>),
}

impl<T> Default for Names<T> {
    fn default() -> Self {
        Names::Few(Vec::new())
    }
}

impl<T: Eq + Hash> Names<T> {
    pub(super) fn insert(&mut self, name: T) {
        match self {
            Names::Many(names) => {
                names.insert(name);
            }
            Names::Few(names) if names.contains(&name) => {}
            Names::Few(names) if names.len() < FEW => {
                if names.len() == names.capacity() {
                    names.reserve_exact(names.len().max(1));
                }
                names.push(name);
            }
            Names::Few(names) => *self = Names::Many(Box::new(names.drain(..).chain([name]).collect())),
        }
    }

    pub(super) fn remove(&mut self, name: &T) {
        match self {
            Names::Many(names) => {
                names.remove(name);
            }
            Names::Few(names) => {
                if let Some(at) = names.iter().position(|known| known == name) {
                    names.swap_remove(at);
                }
            }
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        let (few, many) = match self {
            Names::Few(names) => (names.as_slice(), None),
            Names::Many(names) => (Default::default(), Some(&**names)),
        };
        few.iter().chain(many.into_iter().flatten())
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Names::Few(names) => names.len(),
            Names::Many(names) => names.len(),
        }
    }
}

/// The stored versions under one name: version number and row, sorted by number. There are six at most, tagged ones aside.
#[derive(Debug, Default)]
pub struct Versions(Vec<(u64, Arc<Job>)>);

impl Versions {
    fn place(&self, version: u64) -> Result<usize, usize> {
        self.0.binary_search_by_key(&version, |(version, _)| *version)
    }

    /// The row of a version.
    pub fn get(&self, version: u64) -> Option<&Arc<Job>> {
        self.0.get(self.place(version).ok()?).map(|(_, row)| row)
    }

    /// Version numbers and rows, from the lowest on.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, &Arc<Job>)> {
        self.0.iter().map(|(version, row)| (*version, row))
    }

    /// The rows, from the lowest version on.
    pub fn rows(&self) -> impl DoubleEndedIterator<Item = &Arc<Job>> {
        self.0.iter().map(|(_, row)| row)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts a row in, and gives back the one whose place it takes.
    pub(super) fn insert(&mut self, version: u64, row: Arc<Job>) -> Option<Arc<Job>> {
        match self.place(version) {
            Ok(at) => self.0.get_mut(at).map(|(_, old)| std::mem::replace(old, row)),
            Err(at) => {
                if self.0.is_empty() {
                    // Most jobs never have a second.
                    self.0.reserve_exact(1);
                }
                self.0.insert(at, (version, row));
                None
            }
        }
    }

    /// Takes a row out.
    pub(super) fn remove(&mut self, version: u64) -> Option<Arc<Job>> {
        Some(self.0.remove(self.place(version).ok()?).1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn few_and_many_names_are_the_same_set() {
        let mut names = Names::default();
        let mut expected = BTreeSet::new();
        for n in [3, 1, 3, 7, 9, 11, 13, 15, 17, 19, 21, 23, 1] {
            names.insert(n);
            expected.insert(n);
            assert_eq!(names.iter().copied().collect::<BTreeSet<_>>(), expected);
            assert_eq!(names.len(), expected.len());
        }
        for n in [3, 4, 23, 1, 7] {
            names.remove(&n);
            expected.remove(&n);
            assert_eq!(names.iter().copied().collect::<BTreeSet<_>>(), expected);
        }
    }
}
