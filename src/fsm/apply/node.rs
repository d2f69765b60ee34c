//! Nodes (fsm.md 2.14, state-rows.md 5). None of these changes an allocation or a job.

use std::sync::Arc;

use super::super::Txn;
use super::super::id::{Id, Word};
use super::super::outcome::{Outcome, Refusal};
use super::super::row::{Drain, Indexes, LastDrain, Named, Node, NodeEvent};
use super::Applied;
use crate::entry::body::Text;
use crate::entry::body::node::{
    BatchNodeUpdateDrain, DrainBody, NodeBody, NodeRegister, NodeUpdateDrain, NodeUpdateEligibility, NodeUpdateStatus,
    UpsertNodeEvents,
};
use crate::entry::body::volume::CsiInfoBody;
use crate::entry::time::GoTime;
use crate::entry::wire::{Pairs, Place};

/// How many events a node keeps.
const EVENTS_KEPT: usize = 10;

const REJECTED_PLANS: &str = "Node marked as ineligible for scheduling due to multiple plan rejections, \
     refer to https://developer.hashicorp.com/nomad/s/port-plan-failure for more information";

fn is_silent(status: &Word) -> bool {
    matches!(status.as_str(), "down" | "disconnected")
}

/// One change of a node's drain, alone or in a batch.
struct DrainChange<'b> {
    drain: Option<&'b DrainBody<'b>>,
    mark_eligible: bool,
    event: Place,
    updated_at: i64,
    updated_by: &'b str,
    meta: Place,
    /// How a drain ends: `complete` in a batch, `canceled` by hand.
    end: &'static str,
}

impl Txn<'_> {
    /// NodeRegister (0). A missing node in the request has no effect.
    pub(super) fn node_register(&mut self, request: &NodeRegister<'_>) -> Applied {
        let Some(body) = &request.node else { return Ok(Outcome::NoEffect("it has no node".into())) };
        self.make_pool_of(request, body);
        let id = Id::new(&body.id);
        let before = self.state.node(&id).cloned();
        let row = Arc::new(self.node_row(body, before.as_deref()));
        self.state.put_node(&id, Some(row.clone()));
        self.bump("nodes");
        self.update_plugins_of_node(&row);
        self.update_host_volumes_of(&row);
        Ok(Outcome::Applied)
    }

    /// A register can make its node's pool; that does not move the table's index.
    fn make_pool_of(&mut self, request: &NodeRegister<'_>, body: &NodeBody<'_>) {
        if self.rules.node_pools && request.create_node_pool && !body.node_pool.is_empty() {
            let name: Arc<str> = (*body.node_pool).into();
            if !self.state.node_pools().contains_key(&name) {
                let indexes = Indexes { create: self.index, modify: self.index };
                self.state.put_node_pool(&name, Some(Named { indexes, origin: None }));
            }
        }
    }

    /// A node's row from its body, without regard to the one before it.
    pub(in super::super) fn new_node_row(&self, body: &NodeBody<'_>) -> Node {
        let drain = body.drain.as_ref().map(|d| Drain { started_at: d.started_at, origin: self.origin(d.at) });
        let eligibility = match (&drain, &*body.eligibility) {
            (Some(_), _) => "ineligible",
            (None, "") => "eligible",
            (None, other) => other,
        };
        let mut host_volumes: Vec<(Arc<str>, Arc<str>)> =
            body.host_volumes.0.iter().map(|(name, volume)| ((**name).into(), (*volume.id).into())).collect();
        host_volumes.sort();
        let infos =
            |infos: &Pairs<Text<'_>, CsiInfoBody<'_>>| infos.0.iter().map(|(_, info)| self.csi_info(info)).collect();
        Node {
            id: Id::new(&body.id),
            node_pool: if body.node_pool.is_empty() { "default" } else { &body.node_pool }.into(),
            status: Word::new(&body.status),
            eligibility: Word::new(eligibility),
            drain,
            last_drain: None,
            status_updated_at: body.status_updated_at,
            identity_signing_key_id: (*body.identity_signing_key_id).into(),
            events: Vec::new(),
            last_missed_heartbeat_index: body.last_missed_heartbeat_index,
            last_alloc_update_index: body.last_alloc_update_index,
            csi_controllers: infos(&body.csi_controllers),
            csi_nodes: infos(&body.csi_nodes),
            host_volumes: host_volumes.into(),
            indexes: self.written(None),
            origin: self.origin(body.at),
        }
    }

    fn node_row(&self, body: &NodeBody<'_>, before: Option<&Node>) -> Node {
        let at = GoTime::from_unix_seconds(body.status_updated_at);
        let mut row = self.new_node_row(body);
        let Some(before) = before else {
            row.events = vec![made_event("Node registered", "Cluster", Some(at), 0)];
            return row;
        };
        row.indexes.create = before.indexes.create;
        row.events.clone_from(&before.events);
        row.eligibility = before.eligibility.clone();
        row.drain = before.drain;
        row.last_drain.clone_from(&before.last_drain);
        row.last_missed_heartbeat_index = row.last_missed_heartbeat_index.max(before.last_missed_heartbeat_index);
        row.last_alloc_update_index = row.last_alloc_update_index.max(before.last_alloc_update_index);
        if before.status == "down" && row.status != "down" {
            push_event(&mut row, made_event("Node re-registered", "Cluster", Some(at), self.index.0));
        }
        if self.rules.node_tracks_reports && is_silent(&row.status) && !is_silent(&before.status) {
            row.last_missed_heartbeat_index = self.index.0;
        }
        row
    }

    /// NodeDeregister (1) and NodeBatchDeregister (31): one unknown node ends it without an error.
    pub(super) fn node_deregister(&mut self, ids: &[&Text<'_>]) -> Applied {
        let ids: Vec<Id> = ids.iter().map(|id| Id::new(id)).collect();
        if let Some(missing) = ids.iter().find(|id| self.state.node(id).is_none()) {
            return Ok(Outcome::NoEffect(format!("node {missing} does not exist")));
        }
        if ids.is_empty() {
            return Ok(Outcome::NoEffect("it names no node".into()));
        }
        for id in &ids {
            let Some(node) = self.state.node(id).cloned() else { continue };
            self.state.put_node(id, None);
            self.remove_node_from_plugins(&node);
            self.delete_host_volumes_of(id);
        }
        self.bump("nodes");
        Ok(Outcome::Applied)
    }

    fn known_node(&self, id: &str) -> Result<Node, Refusal> {
        self.state
            .node(&Id::new(id))
            .map(|node| Node::clone(node))
            .ok_or_else(|| Refusal::new(format!("node {id} does not exist")))
    }

    fn put_node_row(&mut self, mut row: Node) {
        row.indexes.modify = self.index;
        self.state.put_node(&row.id.clone(), Some(Arc::new(row)));
        self.bump("nodes");
    }

    fn carry_event(&self, row: &mut Node, event: Place) {
        if let Some(at) = event.0 {
            push_event(row, NodeEvent::Carried { origin: self.origin(at), create_index: self.index });
        }
    }

    /// NodeUpdateStatus (2).
    pub(super) fn node_update_status(&mut self, request: &NodeUpdateStatus<'_>) -> Applied {
        let mut row = self.known_node(&request.node_id)?;
        let status = Word::new(&request.status);
        if self.rules.node_tracks_reports {
            if is_silent(&status) && !is_silent(&row.status) {
                row.last_missed_heartbeat_index = self.index.0;
            } else if status == "ready" && row.status != "ready" {
                row.last_missed_heartbeat_index = 0;
            }
        }
        row.status = status;
        row.status_updated_at = request.updated_at;
        if self.rules.node_identity && !request.identity_signing_key_id.is_empty() {
            row.identity_signing_key_id = (*request.identity_signing_key_id).into();
        }
        self.carry_event(&mut row, request.event);
        self.put_node_row(row);
        Ok(Outcome::Applied)
    }

    /// NodeUpdateDrain (3).
    pub(super) fn node_update_drain(&mut self, request: &NodeUpdateDrain<'_>) -> Applied {
        let row = self.known_node(&request.node_id)?;
        let change = DrainChange {
            drain: request.drain.as_ref(),
            mark_eligible: request.mark_eligible,
            event: request.event,
            updated_at: request.updated_at,
            updated_by: &request.updated_by,
            meta: request.meta,
            end: "canceled",
        };
        self.drain_node(row, &change);
        Ok(Outcome::Applied)
    }

    /// BatchNodeUpdateDrain (29): all or nothing.
    pub(super) fn batch_node_update_drain(&mut self, request: &BatchNodeUpdateDrain<'_>) -> Applied {
        if request.updates.0.is_empty() {
            return Ok(Outcome::NoEffect("it names no node".into()));
        }
        self.atomically(|t| {
            for (id, update) in &request.updates.0 {
                let row = t.known_node(id)?;
                let event = request.events.0.iter().find(|(n, _)| n == id).map_or(Place(None), |(_, e)| *e);
                let change = DrainChange {
                    drain: update.drain.as_ref(),
                    mark_eligible: update.mark_eligible,
                    event,
                    updated_at: request.updated_at,
                    updated_by: "",
                    meta: Place(None),
                    end: "complete",
                };
                t.drain_node(row, &change);
            }
            Ok(Outcome::Applied)
        })
    }

    fn drain_node(&mut self, mut row: Node, change: &DrainChange<'_>) {
        row.status_updated_at = change.updated_at;
        self.carry_event(&mut row, change.event);
        if self.rules.last_drain {
            self.note_last_drain(&mut row, change);
        }
        row.drain = change.drain.map(|d| Drain { started_at: d.started_at, origin: self.origin(d.at) });
        if row.drain.is_some() {
            row.eligibility = Word::new("ineligible");
        } else if change.mark_eligible {
            row.eligibility = Word::new("eligible");
        }
        self.put_node_row(row);
    }

    /// The record of the last drain (state-rows.md 5.4). `row.drain` is still the old one.
    fn note_last_drain(&self, row: &mut Node, change: &DrainChange<'_>) {
        if row.drain.is_none() && change.drain.is_none() {
            return;
        }
        let now = GoTime::from_unix_seconds(change.updated_at);
        let meta = change.meta.0.map(|at| self.origin(at));
        let fresh =
            |started_at| LastDrain { started_at, updated_at: now, status: Word::EMPTY, accessor_id: "".into(), meta };
        let mut last = match (&row.drain, row.last_drain.take()) {
            (None, _) => fresh(now),
            (Some(old), None) => fresh(GoTime { nanos: 0, ..old.started_at }),
            (Some(_), Some(last)) => last,
        };
        last.updated_at = now;
        last.meta = meta.or(last.meta);
        if !change.updated_by.is_empty() {
            last.accessor_id = change.updated_by.into();
        }
        last.status = Word::new(if change.drain.is_some() { "draining" } else { change.end });
        row.last_drain = Some(last);
    }

    /// NodeUpdateEligibility (28).
    pub(super) fn node_update_eligibility(&mut self, request: &NodeUpdateEligibility<'_>) -> Applied {
        let mut row = self.known_node(&request.node_id)?;
        if request.eligibility == "eligible" && row.drain.is_some() {
            return Err(Refusal::new(format!("node {} cannot be made eligible while it drains", row.id)));
        }
        row.status_updated_at = request.updated_at;
        row.eligibility = Word::new(&request.eligibility);
        self.carry_event(&mut row, request.event);
        self.put_node_row(row);
        Ok(Outcome::Applied)
    }

    /// UpsertNodeEvents (25): all or nothing; ModifyIndex stays.
    pub(super) fn upsert_node_events(&mut self, request: &UpsertNodeEvents<'_>) -> Applied {
        if request.events.0.is_empty() {
            return Ok(Outcome::NoEffect("it names no node".into()));
        }
        self.atomically(|t| {
            for (id, events) in &request.events.0 {
                let mut row = t.known_node(id)?;
                for event in events {
                    t.carry_event(&mut row, *event);
                }
                t.state.put_node(&row.id.clone(), Some(Arc::new(row)));
            }
            t.bump("nodes");
            Ok(Outcome::Applied)
        })
    }

    /// A plan's word on a node that rejected too many plans. `updated_at` is in nanoseconds, unlike
    /// every other writer of the field (state-rows.md 5.6).
    pub(super) fn mark_ineligible(&mut self, id: &str, updated_at: i64) -> Result<(), Refusal> {
        let mut row = self.known_node(id)?;
        row.status_updated_at = updated_at;
        row.eligibility = Word::new("ineligible");
        push_event(&mut row, made_event(REJECTED_PLANS, "Scheduler", None, self.index.0));
        self.put_node_row(row);
        Ok(())
    }
}

fn made_event(
    message: &'static str,
    subsystem: &'static str,
    timestamp: Option<GoTime>,
    create_index: u64,
) -> NodeEvent {
    let (message, subsystem) = (Word::Known(message), Word::Known(subsystem));
    NodeEvent::Made { message, subsystem, timestamp, create_index: crate::types::Index(create_index) }
}

fn push_event(row: &mut Node, event: NodeEvent) {
    if row.events.len() >= EVENTS_KEPT {
        row.events.remove(0);
    }
    row.events.push(event);
}
