//! Nodes, their drains and their events.

use std::sync::Arc;

use super::{Indexes, Origin};
use crate::entry::time::GoTime;
use crate::fsm::csi::Info;
use crate::fsm::id::{Id, Word};
use crate::types::Index;

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its ID.
    pub id: Id,
    /// Its pool.
    pub node_pool: Arc<str>,
    /// Its status.
    pub status: Word,
    /// `eligible` or `ineligible`.
    pub eligibility: Word,
    /// The drain in force.
    pub drain: Option<Drain>,
    /// The last drain (1.1.0 and newer).
    pub last_drain: Option<LastDrain>,
    /// Unix seconds, save where a plan wrote nanoseconds (state-rows.md 5.6).
    pub status_updated_at: i64,
    /// The key that signed its identity.
    pub identity_signing_key_id: Arc<str>,
    /// The last ten events.
    pub events: Vec<NodeEvent>,
    /// The last entry at which its heartbeat was missed.
    pub last_missed_heartbeat_index: u64,
    /// The last entry with a report of its allocations.
    pub last_alloc_update_index: u64,
    /// What it says of the CSI plugins that are controllers.
    pub csi_controllers: Arc<[Arc<Info>]>,
    /// What it says of the CSI plugins that are node plugins.
    pub csi_nodes: Arc<[Arc<Info>]>,
    /// Its host volumes: name, and ID for a dynamic one; sorted by name.
    pub host_volumes: Arc<[(Arc<str>, Arc<str>)]>,
    /// CreateIndex and ModifyIndex.
    pub indexes: Indexes,
    /// Where its body stands.
    pub origin: Origin,
}

/// A drain in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drain {
    /// When it began.
    pub started_at: GoTime,
    /// Where the strategy stands.
    pub origin: Origin,
}

/// The last drain of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastDrain {
    /// When it began.
    pub started_at: GoTime,
    /// When it last changed.
    pub updated_at: GoTime,
    /// `draining`, `complete`, `canceled`.
    pub status: Word,
    /// Who did it.
    pub accessor_id: Arc<str>,
    /// Where the operator's notes stand.
    pub meta: Option<Origin>,
}

/// An event of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeEvent {
    /// As an entry carried it; CreateIndex is the entry's.
    Carried {
        /// Where it stands.
        origin: Origin,
        /// Its CreateIndex.
        create_index: Index,
    },
    /// Made by the FSM itself.
    Made {
        /// The text.
        message: Word,
        /// The part of Nomad that speaks.
        subsystem: Word,
        /// `None` where a server's clock decided it.
        timestamp: Option<GoTime>,
        /// Its CreateIndex.
        create_index: Index,
    },
}
