//! The rows of the state: what decides statuses, counts and lookups as typed values, and for all
//! else the place in the evidence that supplied it.

mod job;
mod node;
mod work;

pub use job::{Children, Group, GroupExtras, GroupSummary, Job, Scaling, Summary, Tag, VolumeRequest};
pub use node::{Drain, LastDrain, Node, NodeEvent};
pub use work::{Alloc, AllocJob, AllocJobExtras, Deployment, DeploymentGroup, Eval, Health, Transition};

use crate::entry::time::GoTime;
use crate::types::Index;

/// Where the msgpack value stands that a row, or a part of one, was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The entry, or the snapshot.
    pub source: Source,
    /// Offset of the value in the entry's payload, or in the snapshot's stream, in bytes.
    pub offset: u64,
}

/// What an [`Origin`] points into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The payload of the entry at that index.
    Entry(Index),
    /// The stream of the snapshot at that index.
    Snapshot(Index),
}

/// The indexes that every row has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Indexes {
    /// The entry that made the row.
    pub create: Index,
    /// The entry that changed it last.
    pub modify: Index,
}

/// When a periodic job was launched last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// When it was; `None` where a server's clock decided it.
    pub launch: Option<GoTime>,
    /// CreateIndex and ModifyIndex.
    pub indexes: Indexes,
}

/// A namespace or a node pool: a name with a body somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    /// CreateIndex and ModifyIndex.
    pub indexes: Indexes,
    /// Where its body stands; `None` for the built-in ones.
    pub origin: Option<Origin>,
}
