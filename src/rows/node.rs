//! Rows of Nodes, and of our own tables Namespaces and NodePools (state-rows.md 5).

use super::bodies::{Bodies, RowError, any, object};
use super::canonical;
use super::job::text;
use super::value::{Object, Value};
use crate::fsm::row::{Drain, LastDrain, Named, Node, NodeEvent};

/// A node.
///
/// # Errors
/// When a body cannot be read again.
pub fn node(row: &Node, bodies: &dyn Bodies) -> Result<Object, RowError> {
    let mut node = object(bodies, "Node", row.origin)?;
    canonical::node(&mut node);
    node.set("NodePool", text(&row.node_pool));
    node.set("DrainStrategy", row.drain.as_ref().map(|d| drain(d, bodies)).transpose()?);
    node.set("SchedulingEligibility", text(row.eligibility.as_str()));
    node.set("Status", text(row.status.as_str()));
    node.set("IdentitySigningKeyID", text(&row.identity_signing_key_id));
    node.set("StatusUpdatedAt", row.status_updated_at);
    let events = row.events.iter().map(|e| event(e, bodies).map(Value::from)).collect::<Result<_, _>>()?;
    node.set("Events", Value::List(events));
    node.set("LastDrain", row.last_drain.as_ref().map(|d| last_drain(d, bodies)).transpose()?);
    node.set("LastMissedHeartbeatIndex", row.last_missed_heartbeat_index);
    node.set("LastAllocUpdateIndex", row.last_alloc_update_index);
    node.set("CreateIndex", row.indexes.create.0);
    node.set("ModifyIndex", row.indexes.modify.0);
    // Nodes of writers before 1.2 say it twice.
    if let Some(draining) = node.get_mut("Drain") {
        *draining = Value::Bool(row.drain.is_some());
    }
    Ok(node)
}

fn drain(row: &Drain, bodies: &dyn Bodies) -> Result<Object, RowError> {
    let mut drain = object(bodies, "DrainStrategy", row.origin)?;
    drain.set("StartedAt", row.started_at.to_string());
    Ok(drain)
}

fn last_drain(row: &LastDrain, bodies: &dyn Bodies) -> Result<Object, RowError> {
    let mut out = Object::with_capacity(5);
    out.set("StartedAt", row.started_at.to_string());
    out.set("UpdatedAt", row.updated_at.to_string());
    out.set("Status", text(row.status.as_str()));
    out.set("AccessorID", text(&row.accessor_id));
    out.set("Meta", row.meta.map_or(Ok(Value::Null), |origin| any(bodies, origin))?);
    Ok(out)
}

/// An event; its time is null where only the server's clock knew it (state-rows.md 9).
fn event(row: &NodeEvent, bodies: &dyn Bodies) -> Result<Object, RowError> {
    match row {
        NodeEvent::Carried { origin, create_index } => {
            let mut event = object(bodies, "NodeEvent", *origin)?;
            event.set("CreateIndex", create_index.0);
            Ok(event)
        }
        NodeEvent::Made { message, subsystem, timestamp, create_index } => {
            let mut event = Object::with_capacity(5);
            event.set("Message", message.to_string());
            event.set("Subsystem", subsystem.to_string());
            event.set("Details", Value::Null);
            event.set("Timestamp", timestamp.map(|time| time.to_string()));
            event.set("CreateIndex", create_index.0);
            Ok(event)
        }
    }
}

/// A namespace or a node pool as its entry carried it; the built-in ones have only a name.
///
/// # Errors
/// When its body cannot be read again.
pub fn named(name: &str, row: &Named, bodies: &dyn Bodies) -> Result<Object, RowError> {
    let mut out = Object::default();
    out.set("Name", text(name));
    if let Some(origin) = row.origin
        && let Value::Object(body) = any(bodies, origin)?
    {
        for (key, value) in body.into_pairs() {
            out.insert(key, value);
        }
    }
    out.set("CreateIndex", row.indexes.create.0);
    out.set("ModifyIndex", row.indexes.modify.0);
    Ok(out)
}
