//! The small words that every room uses: raft positions and the names of jobs.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize, Serializer};

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

/// The namespace and the ID of a job, both compared exactly (case matters).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct JobName {
    /// The namespace, `default` for most.
    pub namespace: Arc<str>,
    /// The job ID, for a child `<parent>/periodic-<unix>` or `<parent>/dispatch-…`.
    pub id: Arc<str>,
}

/// The name of a job, to look it up by.
///
/// Ordered by namespace, then ID, bytewise, which is Nomad's own row order (state-rows.md 2). It cannot be altered,
/// since its hash is worked out only once: a replay looks up a job dozens of times for each name that it meets.
#[derive(Clone, Deserialize)]
#[serde(from = "JobName")]
pub struct JobKey {
    name: JobName,
    hash: u64,
}

impl JobKey {
    /// A key of the two parts.
    pub fn new(namespace: impl Into<Arc<str>>, id: impl Into<Arc<str>>) -> Self {
        JobName { namespace: namespace.into(), id: id.into() }.into()
    }
}

impl From<JobName> for JobKey {
    fn from(name: JobName) -> Self {
        // Seeded anew in each process, so that nobody can make up names that collide.
        static SEED: LazyLock<foldhash::fast::RandomState> = LazyLock::new(Default::default);
        let hash = SEED.hash_one((&*name.namespace, &*name.id));
        JobKey { name, hash }
    }
}

impl Deref for JobKey {
    type Target = JobName;

    fn deref(&self) -> &JobName {
        &self.name
    }
}

impl PartialEq for JobKey {
    fn eq(&self, other: &Self) -> bool {
        // Most texts that are equal are one and the same.
        let same = |a: &Arc<str>, b: &Arc<str>| Arc::ptr_eq(a, b) || a == b;
        self.hash == other.hash && same(&self.id, &other.id) && same(&self.namespace, &other.namespace)
    }
}

impl Eq for JobKey {}

impl Hash for JobKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl PartialOrd for JobKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for JobKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name.cmp(&other.name)
    }
}

impl Serialize for JobKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.name.serialize(serializer)
    }
}

impl fmt::Debug for JobKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}

impl fmt::Display for JobKey {
    /// `namespace/id`, as the recordings write it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.id)
    }
}
