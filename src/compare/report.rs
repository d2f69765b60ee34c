//! What a comparison comes to, in the shape of `docs/schema/compare.schema.json`.

use std::sync::Arc;

use serde::Serialize;

use crate::committed::Known;
use crate::entry::configuration::Server;
use crate::evidence::window::StoreKind;
use crate::exit::Exit;
use crate::types::{Index, Term};

/// The answer in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every index that two servers hold has the same entry on both.
    Same,
    /// They part, or an entry differs.
    Differ,
    /// They share indexes and nothing else.
    DifferentClusters,
    /// No two servers share an index.
    NotComparable,
}

/// The whole comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Of this shape.
    pub schema_version: u32,
    /// The answer in one word.
    pub verdict: Verdict,
    /// False where something could hide in a part that cannot be read or that is not shared.
    pub complete: bool,
    /// The servers as they were given.
    pub servers: Vec<ServerSummary>,
    /// What at least two of them hold; absent when that is nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<Shared>,
    /// Who would win an election.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_up_to_date: Option<Newest>,
    /// The cluster as the most up-to-date server knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration: Option<Configuration>,
    /// What is known of commitment.
    pub committed: Committed,
    /// Where they differ, in order of index, each told once.
    pub differences: Vec<Difference>,
    /// More of them that are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub differences_left_out: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Comparison {
    /// The exit code (contract.md 2): a difference wins over a lack of evidence.
    pub fn exit(&self, allow_incomplete: bool) -> Exit {
        match self.verdict {
            Verdict::Differ | Verdict::DifferentClusters => Exit::Findings,
            Verdict::NotComparable | Verdict::Same if self.complete || allow_incomplete => Exit::Success,
            Verdict::NotComparable | Verdict::Same => Exit::Incomplete,
        }
    }
}

impl Comparison {
    /// What the comparison tells of the log of one server, by its place among those given (storage.md 7, 4).
    pub fn known_of(&self, server: usize) -> Known {
        let mut known = Known::default();
        let Some(own) = self.servers.get(server).filter(|own| own.shared_entries > 0) else { return known };
        known.proven = self.committed.proven_to;
        for difference in self.differences.iter().filter(|d| d.kind == DifferenceKind::Divergence) {
            let group = difference.groups.iter().find(|group| group.members.contains(&server));
            let Some(standing) = group.and_then(|group| group.standing) else { continue };
            let first = difference.first_index;
            // What lies behind a hole does not follow from what lies before it.
            let holes = own.missing.iter().filter(|m| matches!(m.why, Why::Snapshot | Why::Hole));
            let hole = holes.map(|m| m.first_index).filter(|hole| *hole > first).min();
            match standing {
                Standing::Proven => {}
                Standing::Refuted => {
                    known.refuted.push((first, hole.map_or(Index(u64::MAX), Index::prev)));
                    known.proven = if hole.is_none() { known.proven.min(first.prev()) } else { known.proven };
                }
                Standing::Unknown => known.proven = known.proven.min(first.prev()),
            }
        }
        known
    }
}

/// One server.
#[derive(Clone, Debug, Serialize)]
pub struct ServerSummary {
    /// The path as it was given.
    pub path: Arc<str>,
    /// What keeps the log.
    pub store: StoreKind,
    /// The first entry; absent for an empty log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_index: Option<Index>,
    /// The last entry; absent for an empty log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_index: Option<Index>,
    /// The term of its last entry, or of its newest snapshot where that reaches further.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_term: Option<Term>,
    /// How many entries were read.
    pub entries: u64,
    /// How many indexes of its log or snapshots another server has too.
    pub shared_entries: u64,
    /// The index of its newest snapshot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot_index: Option<Index>,
    /// The newest term that it had seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_term: Option<Term>,
    /// False where the store does not keep the payload, so that only term and type of entries are compared.
    pub content_compared: bool,
    /// What others have and it has not.
    pub missing: Vec<Missing>,
    /// Places in its log that cannot be read.
    pub damage: Vec<String>,
}

/// Indexes that a server does not hold and another does, or may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// The first of them.
    pub first_index: Index,
    /// The last of them.
    pub last_index: Index,
    /// Why.
    pub why: Why,
}

/// Why a server lacks entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Its log begins later: removed after a snapshot, or never sent.
    Compacted,
    /// Its log ends earlier.
    Behind,
    /// A snapshot that it was sent stands for them; what lies before may be stale (storage.md 7, 2).
    Snapshot,
    /// Nothing stands for them.
    Hole,
}

/// What at least two servers hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Shared {
    /// The first such index.
    pub first_index: Index,
    /// The last such index.
    pub last_index: Index,
    /// How many there are.
    pub entries: u64,
    /// At how many all that hold one hold the same.
    pub equal: u64,
    /// How many indexes every server holds.
    pub on_all: u64,
}

/// The highest last term, and under equals the highest last index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Newest {
    /// The servers that have it.
    pub servers: Vec<Arc<str>>,
    /// Their last term.
    pub last_term: Term,
    /// Their last index.
    pub last_index: Index,
}

/// The servers of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Configuration {
    /// The entry that names them; 0 where it is not known.
    pub index: Index,
    /// How many may vote.
    pub voters: usize,
    /// How many of them are a majority.
    pub majority: usize,
    /// All of them.
    pub servers: Vec<Server>,
}

/// How far entries are known to be committed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Committed {
    /// The last entry that is proven; 0 when none is. All before it are.
    pub proven_to: Index,
    /// By what.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Proof>,
    /// The last index at which a majority of the voters hold the same entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub majority_to: Option<Index>,
    /// Why a majority proves no more, where it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// What proves that an entry is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// A majority holds it and nobody can be elected who does not.
    Majority,
    /// A snapshot holds its effect.
    Snapshot,
}

/// What kind of difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DifferenceKind {
    /// From here on other terms: all but one tail are, or will be, superseded. No damage.
    Divergence,
    /// The same index and term with another type or payload, which raft rules out.
    Corruption,
    /// The same index and term after they had parted, which raft rules out.
    LogMatching,
    /// Entry 1, the bootstrap configuration, differs, which is allowed.
    Bootstrap,
    /// Indexes are shared, and no entry.
    DifferentClusters,
}

impl DifferenceKind {
    /// True where the servers count as different for it.
    pub fn counts(self) -> bool {
        self != DifferenceKind::Bootstrap
    }
}

/// One difference, told once.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// What kind.
    pub kind: DifferenceKind,
    /// The first index that shows it.
    pub first_index: Index,
    /// The last.
    pub last_index: Index,
    /// Who holds what at the first.
    pub groups: Vec<Group>,
    /// A sentence for people.
    pub detail: String,
}

/// Servers that hold the same.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// The servers.
    pub servers: Vec<Arc<str>>,
    /// The same by their number, from 0.
    #[serde(skip)]
    pub members: Vec<usize>,
    /// The term of their entry.
    pub term: Term,
    /// raft's type of their entry, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_type: Option<String>,
    /// Length of its payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<usize>,
    /// SHA-256 of its payload, where the store keeps it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Of a divergence: what became of their tail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standing: Option<Standing>,
}

/// What is known of one side of a divergence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Its first entry is proven to be committed.
    Proven,
    /// Another entry is proven to be committed in its place: it never took effect.
    Refuted,
    /// Neither is proven.
    Unknown,
}
