//! Rows of ACLPolicies, ACLTokens and RootKeys, and of the ACL tables that Nomad's tool does not print
//! (state-rows.md 6.3 to 6.5).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use blake2::{Blake2b256, Digest};

use super::bodies::{Bodies, RowError, any, field, object};
use super::job::text;
use super::value::{Object, Value};
use crate::fsm::row::{Indexes, Origin};
use crate::fsm::table::{Plain, RootKey, Token};

/// An ACL policy.
///
/// # Errors
/// When its body cannot be read again; so for all rows of this room.
pub fn policy(row: &Plain, bodies: &dyn Bodies) -> Result<Object, RowError> {
    let mut policy = object(bodies, "ACLPolicy", row.origin)?;
    policy.set("RulesJSON", Value::Null);
    let mut parts: Vec<String> = ["Name", "Description", "Rules"].map(|key| policy.text(key).to_owned()).into();
    if let Some(Value::Object(job)) = policy.get("JobACL") {
        parts.extend(["Namespace", "JobID", "Group", "Task"].map(|key| job.text(key).to_owned()));
    }
    default_hash(&mut policy, &parts);
    set_indexes(&mut policy, row.indexes);
    Ok(policy)
}

/// An ACL token.
///
/// # Errors
/// As [`policy`].
pub fn token(row: &Token, bodies: &dyn Bodies) -> Result<Object, RowError> {
    let mut token = object(bodies, "ACLToken", row.origin)?;
    if row.identity != row.origin {
        for key in ["SecretID", "CreateTime"] {
            let first = field(bodies, "ACLToken", key, row.identity)?;
            token.insert(key.into(), first);
        }
    }
    let mut parts: Vec<String> = ["Name", "Type"].map(|key| token.text(key).to_owned()).into();
    if let Some(Value::List(policies)) = token.get("Policies") {
        parts.extend(policies.iter().filter_map(|policy| match policy {
            Value::Text(name) => Some(name.clone().into_owned()),
            _ => None,
        }));
    }
    let global = matches!(token.get("Global"), Some(Value::Bool(true)));
    parts.push(if global { "global" } else { "local" }.to_owned());
    parts.extend(token.objects_mut("Roles").map(|role| role.text("ID").to_owned()));
    default_hash(&mut token, &parts);
    set_indexes(&mut token, row.indexes);
    Ok(token)
}

/// The hash of a row that came without one: BLAKE2b-256 over its parts, one behind the other.
fn default_hash(row: &mut Object, parts: &[String]) {
    if row.text("Hash").is_empty() {
        let mut hash = Blake2b256::new();
        for part in parts {
            hash.update(part);
        }
        row.set("Hash", STANDARD.encode(hash.finalize()));
    }
}

/// A key of the keyring: what is said of it, never its material.
///
/// # Errors
/// As [`policy`].
pub fn root_key(id: &str, row: &RootKey, bodies: &dyn Bodies) -> Result<Object, RowError> {
    let body = any(bodies, row.origin)?;
    let created = if row.created == row.origin { body.clone() } else { any(bodies, row.created)? };
    let number = |body: &Value, key| body.object().map_or(0, |object| object.int(key));
    let mut key = Object::with_capacity(7);
    key.set("KeyID", text(id));
    key.set("Algorithm", text(body.object().map_or("", |object| object.text("Algorithm"))));
    key.set("CreateTime", number(&created, "CreateTime"));
    set_indexes(&mut key, row.indexes);
    key.set("State", text(row.state.as_str()));
    key.set("PublishTime", number(&body, "PublishTime"));
    Ok(key)
}

/// A row that is its body with the indexes that the FSM gave it.
///
/// # Errors
/// As [`policy`].
pub fn plain(origin: Origin, indexes: Indexes, bodies: &dyn Bodies) -> Result<Object, RowError> {
    let mut row = as_carried(origin, bodies)?;
    set_indexes(&mut row, indexes);
    Ok(row)
}

/// A value as it was carried, by no shape.
///
/// # Errors
/// As [`policy`].
pub fn as_carried(origin: Origin, bodies: &dyn Bodies) -> Result<Object, RowError> {
    Ok(match any(bodies, origin)? {
        Value::Object(object) => object,
        other => {
            let mut object = Object::default();
            object.set("Value", other);
            object
        }
    })
}

/// Sets CreateIndex and ModifyIndex.
pub(super) fn set_indexes(row: &mut Object, indexes: Indexes) {
    row.set("CreateIndex", indexes.create.0);
    row.set("ModifyIndex", indexes.modify.0);
}
