//! What is not about jobs: clients, namespaces, the servers, a reconcile.

use super::super::msgpack::{Encode, List, Map, Nil, Raw, Unsigned, with};
use super::{REGION, SECOND, TOKEN, command, kind};

/// ReconcileJobSummaries, as `nomad system reconcile summaries` sends it.
pub fn reconcile() -> Vec<u8> {
    command(
        kind::RECONCILE,
        &Map(&[
            ("AllowStale", &false),
            ("AuthToken", &TOKEN),
            ("Filter", &""),
            ("Forwarded", &true),
            ("MaxQueryTime", &0),
            ("MinQueryIndex", &Unsigned(0)),
            ("Namespace", &"default"),
            ("NextToken", &""),
            ("PerPage", &0),
            ("Prefix", &""),
            ("Region", &REGION),
            ("Reverse", &false),
        ]),
    )
}

/// NamespaceUpsert of one namespace.
pub fn namespace(name: &str) -> Vec<u8> {
    let namespace = Map(&[
        ("Capabilities", &Nil),
        ("ConsulConfiguration", &Nil),
        ("CreateIndex", &Unsigned(0)),
        ("Description", &""),
        ("Hash", &Raw(&[0x5a; 32])),
        ("Meta", &Nil),
        ("ModifyIndex", &Unsigned(0)),
        ("Name", &name),
        ("NodePoolConfiguration", &Nil),
        ("OptionalExtraClaims", &Nil),
        ("Quota", &""),
        ("RequiredExtraClaims", &Nil),
        ("VaultConfiguration", &Nil),
    ]);
    command(
        kind::NAMESPACE_UPSERT,
        &Map(&[
            ("AuthToken", &TOKEN),
            ("Forwarded", &true),
            ("IdempotencyToken", &""),
            ("Namespace", &"default"),
            ("Namespaces", &List(&[namespace])),
            ("Region", &REGION),
        ]),
    )
}

/// NodeRegister of a client.
pub fn node_register(id: &str, name: &str) -> Vec<u8> {
    let node = Map(&[
        ("Attributes", &Map(&[("cpu.arch", &"amd64"), ("kernel.name", &"linux"), ("nomad.version", &"2.0.5")])),
        ("CSIControllerPlugins", &Map(&[])),
        ("CSINodePlugins", &Map(&[])),
        ("CgroupParent", &"nomad.slice"),
        ("ComputedClass", &"v1:4601066746178853557"),
        ("CreateIndex", &Unsigned(0)),
        ("Datacenter", &"dc1"),
        ("DrainStrategy", &Nil),
        ("Drivers", &Map(&[])),
        ("Events", &Nil),
        ("HTTPAddr", &"127.0.0.1:4646"),
        ("HostNetworks", &Nil),
        ("HostVolumes", &Map(&[])),
        ("ID", &id),
        ("LastAllocUpdateIndex", &Unsigned(0)),
        ("LastDrain", &Nil),
        ("LastMissedHeartbeatIndex", &Unsigned(0)),
        ("Links", &Map(&[])),
        ("Meta", &Map(&[])),
        ("ModifyIndex", &Unsigned(0)),
        ("Name", &name),
        ("NodeClass", &""),
        ("NodePool", &"default"),
        ("SchedulingEligibility", &"eligible"),
        ("SecretID", &"9d2c0a2e-0f0e-4a3f-8f38-5c8a0f4f2a11"),
        ("Status", &"initializing"),
        ("StatusDescription", &""),
        ("StatusUpdatedAt", &0),
        ("TLSEnabled", &false),
    ]);
    command(
        kind::NODE_REGISTER,
        &Map(&[
            ("AuthToken", &""),
            ("CreateNodePool", &true),
            ("Forwarded", &true),
            ("IdempotencyToken", &""),
            ("Namespace", &""),
            ("Node", &node),
            ("NodeEvent", &Nil),
            ("Region", &REGION),
        ]),
    )
}

/// NodeUpdateStatus of a client that has come up.
pub fn node_ready(id: &str, now: i64) -> Vec<u8> {
    command(
        kind::NODE_UPDATE_STATUS,
        &Map(&[
            ("AuthToken", &""),
            ("ForceIdentityRenewal", &false),
            ("Forwarded", &true),
            ("IdempotencyToken", &""),
            ("IdentitySigningKeyID", &""),
            ("Namespace", &""),
            ("NodeEvent", &Nil),
            ("NodeID", &id),
            ("Region", &REGION),
            ("Status", &"ready"),
            ("UpdatedAt", &(now / SECOND)),
        ]),
    )
}

/// raft's own configuration entry with these server addresses.
pub fn configuration(servers: &[(&str, &str)]) -> Vec<u8> {
    let servers: Vec<_> = servers
        .iter()
        .map(|(address, id)| {
            with(move |out| {
                Map(&[("Address", address), ("ID", id), ("Suffrage", &0)]).encode(out);
            })
        })
        .collect();
    let mut data = Vec::new();
    Map(&[("Servers", &List(&servers))]).encode(&mut data);
    data
}
