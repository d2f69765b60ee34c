//! Rows of CSIPlugins and CSIVolumes (state-rows.md 6.6, 6.7).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::bodies::{Bodies, RowError, object};
use super::job::text;
use super::shape::shape;
use super::value::{Object, Value};
use crate::fsm::csi::{Info, JobShares, Plugin, Volume};
use crate::fsm::id::Id;

/// A plugin. Its times are a server's clock, null where no snapshot told them.
///
/// # Errors
/// When a body cannot be read again.
pub fn plugin(row: &Plugin, bodies: &dyn Bodies) -> Result<Object, RowError> {
    let mut out = Object::with_capacity(17);
    out.set("ID", text(&row.id));
    out.set("Provider", text(&row.provider));
    out.set("Version", text(&row.version));
    out.set("ControllerRequired", row.controller_required);
    out.set("Controllers", infos(&row.controllers.infos, bodies)?);
    out.set("Nodes", infos(&row.nodes.infos, bodies)?);
    out.set("Allocations", Value::Null);
    out.set("ControllerJobs", shares(&row.controllers.jobs));
    out.set("NodeJobs", shares(&row.nodes.jobs));
    out.set("ControllersHealthy", row.controllers.healthy);
    out.set("ControllersExpected", row.controllers.expected);
    out.set("NodesHealthy", row.nodes.healthy);
    out.set("NodesExpected", row.nodes.expected);
    out.set("CreateIndex", row.indexes.create.0);
    out.set("ModifyIndex", row.indexes.modify.0);
    out.set("CreateTime", row.times.map(|(created, _)| created));
    out.set("ModifyTime", row.times.map(|(_, modified)| modified));
    Ok(out)
}

fn infos(infos: &BTreeMap<Id, Arc<Info>>, bodies: &dyn Bodies) -> Result<Object, RowError> {
    let mut out = Object::with_capacity(infos.len());
    for (node, info) in infos {
        out.push(Cow::Owned(node.to_string()), Value::from(object(bodies, "CSIInfo", info.origin)?));
    }
    Ok(out)
}

fn shares(jobs: &JobShares) -> Object {
    let mut out = Object::with_capacity(jobs.len());
    for (namespace, jobs) in jobs {
        let mut inner = Object::with_capacity(jobs.len());
        for (id, expected) in jobs {
            let mut share = Object::with_capacity(3);
            share.set("Namespace", text(namespace));
            share.set("ID", text(id));
            share.set("Expected", *expected);
            inner.push(Cow::Owned((**id).to_owned()), Value::from(share));
        }
        out.push(Cow::Owned((**namespace).to_owned()), Value::from(inner));
    }
    out
}

/// A volume.
///
/// # Errors
/// When its body cannot be read again.
pub fn volume(row: &Volume, bodies: &dyn Bodies) -> Result<Object, RowError> {
    let mut volume = object(bodies, "CSIVolume", row.origin)?;
    volume.set("AccessMode", text(&row.access_mode));
    volume.set("AttachmentMode", text(&row.attachment_mode));
    if row.rebuilt {
        rebuild(&mut volume, row);
    }
    for (key, allocs) in [("ReadAllocs", &row.read_allocs), ("WriteAllocs", &row.write_allocs)] {
        if row.rebuilt || !allocs.is_empty() {
            volume.insert(key.into(), Value::from(names(allocs)));
        }
    }
    let from = &row.plugin;
    volume.set("Schedulable", from.schedulable);
    volume.set("Provider", text(&from.provider));
    volume.set("ProviderVersion", text(&from.provider_version));
    volume.set("ControllerRequired", from.controller_required);
    volume.set("ControllersHealthy", from.controllers_healthy);
    volume.set("ControllersExpected", from.controllers_expected);
    volume.set("NodesHealthy", from.nodes_healthy);
    volume.set("NodesExpected", from.nodes_expected);
    volume.set("CreateIndex", row.indexes.create.0);
    volume.set("ModifyIndex", row.indexes.modify.0);
    volume.set("ModifyTime", row.modify_time);
    Ok(volume)
}

/// What a claim's copy of the row makes of what the body lacks.
fn rebuild(volume: &mut Object, row: &Volume) {
    let absent = |volume: &Object, key: &str| volume.get(key).is_none_or(|v| v.is_null() || v.is_empty());
    for key in ["Secrets", "Parameters", "Context"] {
        if absent(volume, key) {
            volume.insert(key.into(), Value::from(Object::default()));
        }
    }
    if absent(volume, "Topologies") {
        volume.set("Topologies", Value::List(Vec::new()));
    }
    if volume.get("MountOptions").is_none_or(Value::is_null) {
        volume.set("MountOptions", shape("CSIMountOptions").map(|s| s.zero()));
    }
    if !row.capabilities.is_empty() {
        let capability = |(attachment, access): &(Arc<str>, Arc<str>)| {
            let mut out = Object::with_capacity(2);
            out.set("AttachmentMode", text(attachment));
            out.set("AccessMode", text(access));
            Value::from(out)
        };
        volume.set("RequestedCapabilities", Value::List(row.capabilities.iter().map(capability).collect()));
    }
}

/// Allocations as a map from their IDs to null: the rows themselves stand in their own table.
fn names(allocs: &BTreeSet<Id>) -> Object {
    let mut out = Object::with_capacity(allocs.len());
    for id in allocs {
        out.push(Cow::Owned(id.to_string()), Value::Null);
    }
    out
}
