//! The small words that every room uses: raft positions and the names of jobs.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A raft log index, counted from 1; 0 stands for "before the first entry".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Index(pub u64);

/// A raft term, counted from 1; 0 stands for "not known".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Term(pub u64);

impl fmt::Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Index {
    /// The index after this one; saturates at the largest.
    pub fn next(self) -> Self {
        Index(self.0.saturating_add(1))
    }

    /// The index before this one; saturates at 0.
    pub fn prev(self) -> Self {
        Index(self.0.saturating_sub(1))
    }
}

/// The name of a job: its namespace and its ID, both compared exactly (case matters).
///
/// Ordered by namespace, then ID, bytewise, which is Nomad's own row order (state-rows.md 2).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct JobKey {
    /// The namespace, `default` for most.
    pub namespace: Arc<str>,
    /// The job ID, for a child `<parent>/periodic-<unix>` or `<parent>/dispatch-…`.
    pub id: Arc<str>,
}

impl JobKey {
    /// A key of the two parts.
    pub fn new(namespace: impl Into<Arc<str>>, id: impl Into<Arc<str>>) -> Self {
        JobKey { namespace: namespace.into(), id: id.into() }
    }
}

impl fmt::Display for JobKey {
    /// `namespace/id`, as the recordings write it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.id)
    }
}
