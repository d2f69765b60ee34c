//! What became of an entry, and what it changed.

use std::borrow::Cow;
use std::sync::Arc;

use super::id::{Id, Word};
use super::row::{Alloc, Children, Deployment, Eval, Job, Launch, Named, Node, Summary};
use super::rules::Rules;
use super::table::{RowKey, TableName, TableRow};
use crate::entry::msgpack::DecodeError;
use crate::types::{Index, JobKey};

/// Why the FSM refused an entry or a part of it; the text is ours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(pub String);

impl Refusal {
    /// A refusal with that reason.
    pub fn new(reason: impl Into<String>) -> Self {
        Refusal(reason.into())
    }
}

/// What became of an entry. Every entry has one; none is skipped in silence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It had the effect it is there for.
    Applied,
    /// It was accepted, but a part of what it carries was dropped without an error; with the reason.
    AppliedWithout(String),
    /// It was accepted and changed nothing; with the reason.
    NoEffect(String),
    /// The FSM returned an error and nothing of it stands.
    Refused(Refusal),
    /// The FSM returned an error after a part had taken effect, which stands.
    PartiallyApplied(Refusal),
    /// A command without a byte; a server crashes on it.
    Empty,
    /// The body is no message of its type; a server crashes on it.
    Undecodable(DecodeError),
    /// A type that these rules do not know. Without the ignore flag a server crashes on it.
    UnknownType {
        /// The ignore flag was set.
        ignored: bool,
    },
    /// A noop, barrier or configuration: raft's own, never shown to the FSM.
    NotForFsm,
}

impl Outcome {
    /// One word for tables and the ledger.
    pub fn word(&self) -> &'static str {
        match self {
            Outcome::Applied | Outcome::AppliedWithout(_) => "applied",
            Outcome::NoEffect(_) => "no_effect",
            Outcome::Refused(_) => "refused",
            Outcome::PartiallyApplied(_) => "partially_applied",
            Outcome::Empty => "empty",
            Outcome::Undecodable(_) => "undecodable",
            Outcome::UnknownType { .. } => "unknown_type",
            Outcome::NotForFsm => "raft",
        }
    }

    /// Whether a server that meets the entry crashes, and crashes again whenever it replays it (fsm.md 1).
    pub fn crashes(&self) -> bool {
        matches!(self, Outcome::Empty | Outcome::Undecodable(_) | Outcome::UnknownType { ignored: false })
    }

    /// The reason, where there is one, and whether a server with these rules crashes on the entry.
    pub fn detail(&self, rules: &Rules) -> Option<String> {
        let reason = self.reason()?;
        Some(match self.crashes() {
            true => format!("{reason}; a server of Nomad {} crashes on it", rules.version),
            false => reason,
        })
    }

    fn reason(&self) -> Option<String> {
        match self {
            Outcome::NoEffect(why) | Outcome::AppliedWithout(why) => Some(why.clone()),
            Outcome::Refused(why) | Outcome::PartiallyApplied(why) => Some(why.to_string()),
            Outcome::Empty => Some("the command has no byte".into()),
            Outcome::Undecodable(why) => Some(why.to_string()),
            Outcome::UnknownType { ignored: true } => Some("unknown type, to be ignored".into()),
            Outcome::UnknownType { ignored: false } => Some("unknown type".into()),
            Outcome::Applied | Outcome::NotForFsm => None,
        }
    }
}

/// One row as it was before a write; the row as it is now stands in the state.
///
/// Within one entry a row can be written more than once; the first change of it holds what it was
/// before the entry.
#[derive(Clone, Debug)]
pub enum Change {
    /// A row of `jobs`.
    Job {
        /// Its name.
        key: JobKey,
        /// The row before.
        before: Option<Arc<Job>>,
    },
    /// A row of `job_version`.
    Version {
        /// The name with the ID in lower case (fsm.md 2.0).
        key: JobKey,
        /// The version.
        version: u64,
        /// The row before.
        before: Option<Arc<Job>>,
    },
    /// A row of `job_summary`.
    Summary {
        /// The job's name.
        key: JobKey,
        /// The row before.
        before: Option<Arc<Summary>>,
    },
    /// A row of `evals`.
    Eval {
        /// Its ID.
        id: Id,
        /// The row before.
        before: Option<Arc<Eval>>,
    },
    /// A row of `allocs`.
    Alloc {
        /// Its ID.
        id: Id,
        /// The row before.
        before: Option<Arc<Alloc>>,
    },
    /// A row of `deployment`.
    Deployment {
        /// Its ID.
        id: Id,
        /// The row before.
        before: Option<Arc<Deployment>>,
    },
    /// A row of `nodes`.
    Node {
        /// Its ID.
        id: Id,
        /// The row before.
        before: Option<Arc<Node>>,
    },
    /// A row of `periodic_launch`.
    Launch {
        /// The job's name.
        key: JobKey,
        /// The row before.
        before: Option<Launch>,
    },
    /// A row of `namespaces`.
    Namespace {
        /// Its name.
        name: Arc<str>,
        /// The row before.
        before: Option<Named>,
    },
    /// A row of `node_pools`.
    NodePool {
        /// Its name.
        name: Arc<str>,
        /// The row before.
        before: Option<Named>,
    },
    /// A row of one of the tables beside these.
    Row {
        /// The table.
        table: TableName,
        /// The row's key.
        key: RowKey,
        /// The row before.
        before: Option<Arc<TableRow>>,
    },
    /// The index row of a table.
    TableIndex {
        /// The table.
        table: Cow<'static, str>,
        /// The value before.
        before: Option<Index>,
    },
}

/// One move of a parent's counters, each as the FSM made it: a child left one status for another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountMove {
    /// The parent.
    pub parent: JobKey,
    /// The child.
    pub child: JobKey,
    /// The status that lost one; empty when none did.
    pub old: Word,
    /// The status that gained one.
    pub new: Word,
    /// The child was purged, which adds to Dead (fsm.md 2.7).
    pub purged: bool,
    /// The parent's children after the move.
    pub after: Children,
}

/// What one entry did.
#[derive(Clone, Debug)]
pub struct Step {
    /// What became of it.
    pub outcome: Outcome,
    /// The rows it wrote, each with what it was before; in the order of writing.
    pub changes: Vec<Change>,
    /// The moves of children counters, in order.
    pub moves: Vec<CountMove>,
}
