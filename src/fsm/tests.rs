//! The tables for which no recording exists, entry by entry (state-rows.md 6, 8).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::id::Id;
use super::outcome::Outcome;
use super::rules::Rules;
use super::table::{RowKey, TableName, TableRow, global};
use super::*;
use crate::rows::bodies::Body;
use crate::rows::{self, Bodies, RowError, Table};
use crate::types::{JobKey, Term};

/// A server that applies entries, numbered from 10 on.
struct Server {
    fsm: Fsm,
    index: u64,
    payloads: BTreeMap<Index, Vec<u8>>,
}

impl Bodies for Server {
    fn body(&self, origin: Origin) -> Result<Body, RowError> {
        let Source::Entry(index) = origin.source else { panic!("no entry: {origin:?}") };
        Ok(Body { bytes: self.payloads[&index][..].into(), offset: origin.offset as usize })
    }
}

impl Server {
    fn new(version: &str) -> Self {
        Server { fsm: Fsm::new(Rules::for_version(version.parse().unwrap())), index: 9, payloads: BTreeMap::new() }
    }

    /// Applies a message and says in a word what became of it.
    fn apply(&mut self, kind: u8, body: Value) -> &'static str {
        self.index += 1;
        let mut data = vec![kind];
        encode(&body, &mut data);
        let record =
            Record { index: Index(self.index), term: Term(2), kind: LogType::Command, data: &data, appended_at: None };
        let before = self.fsm.state().table_indexes().clone();
        let step = self.fsm.apply(&record, Message::read(&data).as_ref());
        if matches!(step.outcome, Outcome::Refused(_)) {
            assert!(step.changes.is_empty(), "a refused entry wrote {:?}", step.changes);
            assert_eq!(&before, self.fsm.state().table_indexes());
        }
        self.payloads.insert(Index(self.index), data);
        step.outcome.word()
    }

    /// The rows of a table as `state` prints them.
    fn printed(&self, table: Table) -> Vec<Value> {
        let printed = |row: rows::held::Held| {
            let row = rows::value::Value::from(row.build(self).unwrap());
            serde_json::from_slice(&row.to_json()).unwrap()
        };
        rows::held::all(table, self.fsm.state()).into_iter().map(|(_, row)| printed(row)).collect()
    }

    fn row(&self, table: TableName, key: &RowKey) -> Option<&TableRow> {
        self.fsm.state().row(table, key).map(|row| &**row)
    }

    fn count(&self, table: TableName) -> usize {
        self.fsm.state().rows(table).count()
    }

    /// The last index of a table; 0 for one that was never written.
    fn table(&self, name: &str) -> u64 {
        self.fsm.state().table_indexes().get(name).map_or(0, |index| index.0)
    }
}

/// The little of msgpack that the tests need; `{"$time": unix seconds}` is a time.
fn encode(value: &Value, out: &mut Vec<u8>) {
    let raw = |bytes: &[u8], out: &mut Vec<u8>| {
        out.push(0xda);
        out.extend((bytes.len() as u16).to_be_bytes());
        out.extend(bytes);
    };
    match value {
        Value::Null => out.push(0xc0),
        Value::Bool(b) => out.push(0xc2 + u8::from(*b)),
        Value::Number(n) => {
            out.push(0xd3);
            out.extend(n.as_i64().unwrap().to_be_bytes());
        }
        Value::String(text) => raw(text.as_bytes(), out),
        Value::Array(items) => {
            out.push(0xdc);
            out.extend((items.len() as u16).to_be_bytes());
            items.iter().for_each(|item| encode(item, out));
        }
        Value::Object(map) if map.contains_key("$time") => {
            let seconds = map["$time"].as_i64().unwrap() + crate::entry::time::GO_TO_UNIX;
            raw(&[&[1][..], &seconds.to_be_bytes(), &[0; 4], &[0xff, 0xff]].concat(), out);
        }
        Value::Object(map) => {
            out.push(0xde);
            out.extend((map.len() as u16).to_be_bytes());
            for (key, value) in map {
                raw(key.as_bytes(), out);
                encode(value, out);
            }
        }
    }
}

fn scaled_job(max: i64) -> Value {
    let policy =
        json!({"ID": "pol-1", "Type": "", "Min": 1, "Max": max, "Enabled": true, "Policy": {"cooldown": "1m"}});
    let group = json!({"Name": "web", "Count": 2, "Scaling": policy});
    json!({"Job": {"ID": "shop", "Namespace": "default", "Type": "service", "TaskGroups": [group]}, "Namespace": "default"})
}

fn deregister(purge: bool) -> Value {
    json!({"JobID": "shop", "Namespace": "default", "Purge": purge})
}

#[test]
fn a_scaling_policy_moves_only_when_it_says_something_else() {
    let key = global("pol-1");
    let mut server = Server::new("2.0.5");
    server.apply(4, scaled_job(5));
    let policy =
        |server: &Server| server.row(TableName::ScalingPolicies, &key).unwrap().scaling_policy().unwrap().clone();
    let in_job = |server: &Server| {
        server.fsm.state().job(&JobKey::new("default", "shop")).unwrap().groups[0].scaling().unwrap().clone()
    };
    let indexes = |p: &row::Scaling| (p.indexes.create.0, p.indexes.modify.0);
    assert_eq!(indexes(&policy(&server)), (10, 10));
    assert!(Arc::ptr_eq(&policy(&server), &in_job(&server)));
    assert_eq!((&*policy(&server).kind, &*policy(&server).group), ("horizontal", "web"));

    server.apply(4, scaled_job(5));
    assert_eq!((indexes(&policy(&server)), indexes(&in_job(&server))), ((10, 10), (0, 0)));
    assert_eq!(server.table("scaling_policy"), 10);

    server.apply(4, scaled_job(8));
    assert_eq!((indexes(&policy(&server)), indexes(&in_job(&server))), ((10, 12), (10, 12)));

    server.apply(5, deregister(false));
    assert_eq!((policy(&server).enabled, indexes(&policy(&server))), (false, (10, 13)));
    server.apply(5, deregister(true));
    assert_eq!((server.count(TableName::ScalingPolicies), server.table("scaling_policy")), (0, 14));
}

#[test]
fn before_1_10_2_a_stop_leaves_scaling_policies_alone() {
    let mut server = Server::new("1.9.5");
    server.apply(4, scaled_job(5));
    server.apply(5, deregister(false));
    assert!(server.row(TableName::ScalingPolicies, &global("pol-1")).unwrap().scaling_policy().unwrap().enabled);
    assert_eq!(server.table("scaling_policy"), 10);
    let mut bare = scaled_job(5);
    bare["Job"]["TaskGroups"][0]["Scaling"] = Value::Null;
    server.apply(4, bare);
    assert_eq!((server.count(TableName::ScalingPolicies), server.table("scaling_policy")), (0, 12));
}

#[test]
fn twenty_scaling_events_of_a_group_are_kept_newest_first() {
    let mut server = Server::new("2.0.5");
    for _ in 0..25 {
        let event = json!({"Namespace": "default", "JobID": "shop", "TaskGroup": "web", "ScalingEvent": {"Count": 3}});
        assert_eq!(server.apply(38, event), "applied");
    }
    let row = server.row(TableName::ScalingEvents, &JobKey::new("default", "shop")).unwrap().scaling_events().unwrap();
    let indexes: Vec<u64> = row.groups[0].1.iter().map(|event| event.create_index.0).collect();
    assert_eq!(indexes, (15..=34).rev().collect::<Vec<_>>());
    assert_eq!(row.modify_index.0, 34);
}

fn node(healthy: bool, plugins: &[&str]) -> Value {
    let info = |id: &&str| {
        let info = json!({"PluginID": id, "AllocID": "alloc-1", "Healthy": healthy, "Provider": "ceph",
            "ProviderVersion": "1", "RequiresControllerPlugin": false, "ControllerInfo": null, "NodeInfo": {"ID": "x"}});
        ((*id).to_owned(), info)
    };
    let plugins: serde_json::Map<String, Value> = plugins.iter().map(info).collect();
    json!({"Node": {"ID": "node-1", "Status": "ready", "CSINodePlugins": plugins,
        "HostVolumes": {"data": {"Name": "data", "ID": "vol-1"}}}})
}

fn plugin_job(count: i64) -> Value {
    let task = json!({"Name": "plugin", "CSIPluginConfig": {"ID": "ceph0", "Type": "node"}});
    let group = json!({"Name": "nodes", "Count": count, "Tasks": [task]});
    json!({"Job": {"ID": "csi", "Namespace": "default", "Type": "service", "TaskGroups": [group]}, "Namespace": "default"})
}

#[test]
fn a_plugin_grows_out_of_nodes_and_jobs_and_goes_with_the_last() {
    let mut server = Server::new("2.0.5");
    server.apply(0, node(false, &["ceph0"]));
    assert_eq!(server.count(TableName::CsiPlugins), 0, "an unhealthy one makes no row");
    server.apply(0, node(true, &["ceph0"]));
    server.apply(4, plugin_job(3));
    let plugin =
        |server: &Server| server.row(TableName::CsiPlugins, &global("ceph0")).unwrap().plugin().unwrap().clone();
    let numbers = |p: &csi::Plugin| (p.nodes.healthy, p.nodes.expected, p.indexes.create.0, p.indexes.modify.0);
    assert_eq!(numbers(&plugin(&server)), (1, 3, 11, 12));
    server.apply(4, plugin_job(2));
    assert_eq!(numbers(&plugin(&server)), (1, 2, 11, 13));
    server.apply(0, node(false, &["ceph0"]));
    assert_eq!(numbers(&plugin(&server)), (0, 2, 11, 14), "a node that was there stays, unhealthy");
    assert_eq!(server.apply(40, json!({"ID": "ceph0"})), "refused");
    server.apply(0, node(true, &[]));
    assert!(plugin(&server).nodes.infos.is_empty());
    server.apply(5, json!({"JobID": "csi", "Namespace": "default", "Purge": true}));
    assert_eq!((server.count(TableName::CsiPlugins), server.table("csi_plugins")), (0, 17));
    assert_eq!(server.apply(40, json!({"ID": "ceph0"})), "no_effect");
}

fn volume(id: &str) -> Value {
    json!({"ID": id, "Namespace": "default", "ExternalID": id, "PluginID": "ceph0", "Provider": "ceph",
        "RequestedCapabilities": [{"AccessMode": "single-node-writer", "AttachmentMode": "file-system"}]})
}

fn claim(alloc: &str, mode: i64, state: i64) -> Value {
    json!({"VolumeID": "v", "Namespace": "", "AllocationID": alloc, "Claim": mode, "State": state,
        "AccessMode": "single-node-writer", "AttachmentMode": "file-system", "Timestamp": 77})
}

/// A server with a plugin, the volume `v`, and the running allocations `a` and `b`.
fn with_volume() -> Server {
    let mut server = Server::new("2.0.5");
    server.apply(0, node(true, &["ceph0"]));
    assert_eq!(server.apply(35, json!({"Volumes": [volume("v")]})), "applied");
    server.apply(4, plugin_job(1));
    let alloc = |id: &str| {
        json!({"ID": id, "Namespace": "default", "JobID": "csi", "TaskGroup": "nodes", "EvalID": "e", "NodeID": "node-1",
            "DesiredStatus": "run", "ClientStatus": "running"})
    };
    let job = plugin_job(1)["Job"].clone();
    server.apply(13, json!({"AllocsUpdated": [alloc("a"), alloc("b")], "Job": job}));
    server
}

#[test]
fn a_volume_is_claimed_by_as_many_as_its_access_mode_allows() {
    let key = JobKey::new("default", "v");
    let mut server = with_volume();
    let volume = |server: &Server| server.row(TableName::CsiVolumes, &key).unwrap().volume().unwrap().clone();
    assert_eq!(server.apply(37, claim("nobody", 1, 0)), "refused");
    assert_eq!(server.apply(37, claim("a", 1, 0)), "applied");
    let taken = volume(&server);
    assert_eq!((&*taken.access_mode, taken.write_allocs.len(), taken.modify_time), ("single-node-writer", 1, 77));
    assert!(taken.plugin.schedulable);
    assert_eq!(server.apply(37, claim("a", 1, 0)), "applied", "the same claim again");
    assert_eq!(server.apply(37, claim("b", 1, 0)), "refused");
    assert_eq!(server.apply(36, json!({"VolumeIDs": ["v"], "Namespace": "default", "Force": true})), "refused");
    assert_eq!(server.apply(37, claim("a", 2, 1)), "applied");
    assert_eq!(volume(&server).past_claims.len(), 1);
    assert_eq!(server.apply(39, json!({"Claims": [claim("a", 2, 3), claim("x", 1, 0)]})), "partially_applied");
    let free = volume(&server);
    assert!(!free.is_in_use() && free.access_mode.is_empty() && free.past_claims.is_empty());
    assert_eq!(server.apply(36, json!({"VolumeIDs": ["v"], "Namespace": "default"})), "applied");
    assert_eq!(server.table("csi_volumes"), 21);
}

#[test]
fn a_volume_update_is_refused_where_it_would_become_another() {
    let mut server = with_volume();
    let mut other = volume("v");
    other["ExternalID"] = json!("another");
    assert_eq!(server.apply(35, json!({"Volumes": [volume("w"), other]})), "refused");
    assert_eq!(server.count(TableName::CsiVolumes), 1);
    let mut foreign = volume("w");
    foreign["Namespace"] = json!("nowhere");
    assert_eq!(server.apply(35, json!({"Volumes": [foreign]})), "refused");
    assert_eq!(server.apply(65, json!({"Namespaces": ["default"]})), "refused");
}

#[test]
fn a_claim_of_an_ended_allocation_is_put_on_its_way_out() {
    let mut server = with_volume();
    server.apply(37, claim("a", 1, 0));
    server.apply(9, json!({"Alloc": [{"ID": "a", "ClientStatus": "complete", "NodeID": "node-1"}]}));
    server.apply(37, claim("", 2, 4));
    let row = server.row(TableName::CsiVolumes, &JobKey::new("default", "v")).unwrap().volume().unwrap();
    assert_eq!(row.past_claims.get(&Id::new("a")).map(|claim| claim.state), Some(csi::UNPUBLISHING));
    assert!(row.is_in_use());
}

#[test]
fn a_token_keeps_the_secret_and_time_of_its_first_write() {
    let mut server = Server::new("2.0.5");
    let tokens = json!({"Tokens": [{"AccessorID": "t", "SecretID": "s"}]});
    server.apply(21, tokens.clone());
    server.apply(21, tokens);
    let token = *server.row(TableName::AclTokens, &global("t")).unwrap().token().unwrap();
    assert_eq!((token.identity.source, token.origin.source), (Source::Entry(Index(10)), Source::Entry(Index(11))));
    assert_eq!((token.indexes.create.0, token.indexes.modify.0), (10, 11));
    assert_eq!(server.apply(22, json!({"AccessorIDs": ["unknown"]})), "no_effect");
    assert_eq!(server.table("acl_token"), 12, "moves even when nothing matched");
}

#[test]
fn a_bootstrap_needs_the_index_of_the_one_before() {
    let mut server = Server::new("2.0.5");
    let bootstrap = |reset: u64| json!({"Token": {"AccessorID": "t"}, "ResetIndex": reset});
    let outcomes: Vec<_> = [0, 0, 9, 10].map(|reset| server.apply(23, bootstrap(reset))).into();
    assert_eq!(outcomes, ["applied", "refused", "refused", "applied"]);
    assert_eq!(server.table("acl_token_bootstrap"), 13);
}

#[test]
fn acl_rows_that_say_the_same_are_not_written_again() {
    let mut server = Server::new("2.0.5");
    let role = |name: &str, id: &str| json!({"ACLRoles": [{"ID": id, "Name": name, "Policies": [{"Name": "p"}]}]});
    assert_eq!(server.apply(53, role("r", "1")), "refused");
    server.apply(19, json!({"Policies": [{"Name": "p"}]}));
    assert_eq!(server.apply(53, role("r", "1")), "applied");
    assert_eq!(server.apply(53, role("r", "1")), "no_effect");
    assert_eq!((server.table("acl_policy"), server.table("acl_roles")), (11, 12));
    assert_eq!(server.apply(53, role("r", "2")), "refused", "the name is taken");
    assert_eq!(server.apply(53, role("q", "1")), "applied");

    let method = |name: &str| json!({"AuthMethods": [{"Name": name, "Type": "OIDC", "Default": true}]});
    let outcomes: Vec<_> = ["m", "m", "n"].map(|name| server.apply(55, method(name))).into();
    assert_eq!(outcomes, ["applied", "no_effect", "refused"]);
    let rule = |method: &str| json!({"ACLBindingRules": [{"ID": "b", "AuthMethod": method}]});
    assert_eq!([server.apply(57, rule("x")), server.apply(57, rule("m"))], ["refused", "applied"]);
    assert_eq!(server.apply(58, json!({"ACLBindingRuleIDs": ["b", "c"]})), "refused");
    assert_eq!(server.apply(58, json!({"ACLBindingRuleIDs": ["b"]})), "applied");
    assert_eq!(server.apply(56, json!({"Names": ["m"]})), "applied");
    assert_eq!(server.apply(54, json!({"ACLRoleIDs": ["1"]})), "applied");
}

#[test]
fn one_time_tokens_go_when_they_are_used_or_over() {
    let mut server = Server::new("2.0.5");
    for (id, ends) in [("a", 100), ("b", 200), ("c", 300)] {
        assert_eq!(server.apply(44, json!({"AccessorID": id, "ExpiresAt": {"$time": ends}})), "applied");
    }
    assert_eq!(server.apply(44, json!({"AccessorID": "d"})), "refused");
    assert_eq!(server.apply(46, json!({"Timestamp": {"$time": 200}})), "applied");
    assert_eq!((server.count(TableName::OneTimeTokens), server.table("one_time_token")), (1, 14));
    assert_eq!(server.apply(45, json!({"AccessorIDs": ["a"]})), "no_effect");
    assert_eq!(server.apply(45, json!({"AccessorIDs": ["c"]})), "applied");
    assert_eq!((server.count(TableName::OneTimeTokens), server.table("one_time_token")), (0, 16));
}

#[test]
fn a_key_that_becomes_active_moves_the_others_on() {
    let mut server = Server::new("2.0.5");
    let key =
        |id: &str, state: &str, rekey: bool| json!({"WrappedRootKeys": {"KeyID": id, "State": state}, "Rekey": rekey});
    let state = |server: &Server, id: &str| {
        let row = server.row(TableName::RootKeys, &global(id)).unwrap().root_key().unwrap();
        (row.state.as_str().to_owned(), row.indexes.modify.0)
    };
    server.apply(62, key("one", "active", false));
    server.apply(62, key("two", "prepublished", false));
    server.apply(62, key("three", "active", false));
    assert_eq!([state(&server, "one"), state(&server, "two")], [("inactive".into(), 12), ("prepublished".into(), 11)]);
    assert_eq!(server.apply(62, key("four", "inactive", true)), "refused");
    server.apply(62, key("four", "active", true));
    assert_eq!([state(&server, "one"), state(&server, "three")], [("rekeying".into(), 14), ("rekeying".into(), 14)]);
    assert_eq!(server.apply(52, json!({"KeyID": "none"})), "no_effect");
    assert_eq!(server.apply(52, json!({"KeyID": "one"})), "applied");
    assert_eq!(server.table("root_keys"), 16);
    let mut old = Server::new("1.6.2");
    old.apply(51, json!({"RootKeyMeta": {"KeyID": "one", "State": "active"}}));
    assert_eq!((old.table("root_key_meta"), old.table("root_keys")), (10, 0));
}

#[test]
fn a_variable_is_written_only_where_its_index_and_lock_allow() {
    let mut server = Server::new("2.0.5");
    let var = |op: &str, index: u64, data: &str, lock: Value| json!({"Op": op, "Var": {"Namespace": "default", "Path": "p", "ModifyIndex": index, "Data": data, "Lock": lock}});
    let lock = json!({"ID": "mine"});
    let mut run = |op: &str, index, data: &str, lock: &Value| server.apply(50, var(op, index, data, lock.clone()));
    assert_eq!(run("cas", 5, "four", &Value::Null), "no_effect");
    assert_eq!(run("cas", 0, "four", &Value::Null), "applied");
    assert_eq!(run("lock-acquire", 0, "", &lock), "applied");
    assert_eq!(run("set", 0, "longer", &Value::Null), "no_effect");
    assert_eq!(run("set", 0, "longer", &lock), "applied");
    assert_eq!(run("lock-release", 0, "", &json!({"ID": "other"})), "no_effect");
    assert_eq!(run("lock-release", 0, "", &lock), "applied");
    assert_eq!(run("lock-release", 0, "", &lock), "no_effect");
    let quota =
        |server: &Server| server.row(TableName::VariablesQuotas, &global("default")).unwrap().quota().unwrap().size;
    assert_eq!((quota(&server), server.table("variables")), (6, 16));
    assert_eq!(server.apply(50, var("delete-cas", 1, "", Value::Null)), "no_effect");
    assert_eq!(server.apply(50, var("delete", 0, "", Value::Null)), "applied");
    assert_eq!((server.count(TableName::Variables), quota(&server)), (0, 0));
    assert_eq!(server.apply(50, var("other", 0, "", Value::Null)), "refused");
}

#[test]
fn service_registrations_end_with_their_allocation() {
    let mut server = with_volume();
    let services = json!({"Services": [{"ID": "s", "Namespace": "default", "AllocID": "a", "NodeID": "node-1"}]});
    assert_eq!(server.apply(47, services.clone()), "applied");
    assert_eq!(server.apply(47, services.clone()), "no_effect");
    assert_eq!(server.apply(47, json!({"Job": {}})), "no_effect", "a body of another type says nothing");
    assert_eq!(server.table("service_registrations"), 14);
    server.apply(9, json!({"Alloc": [{"ID": "a", "ClientStatus": "failed", "NodeID": "node-1"}]}));
    assert_eq!((server.count(TableName::ServiceRegistrations), server.table("service_registrations")), (0, 17));
    server.apply(47, services.clone());
    assert_eq!(server.apply(48, json!({"ID": "other", "Namespace": "default"})), "refused");
    assert_eq!(server.apply(49, json!({"NodeID": "node-1"})), "applied");
    assert_eq!(server.apply(49, json!({"NodeID": "node-1"})), "no_effect");
}

#[test]
fn a_node_makes_its_host_volumes_ready_and_takes_them_along() {
    let mut server = Server::new("2.0.5");
    let volume = json!({"Volume": {"ID": "vol-1", "Namespace": "default", "Name": "data", "NodeID": "node-1", "State": "pending"}});
    assert_eq!(server.apply(75, volume.clone()), "refused", "no such node");
    let mut bare = node(true, &[]);
    bare["Node"]["HostVolumes"] = Value::Null;
    server.apply(0, bare);
    assert_eq!(server.apply(75, volume), "applied");
    let state = |server: &Server| {
        let row = server.row(TableName::HostVolumes, &JobKey::new("default", "vol-1")).unwrap();
        row.host_volume().unwrap().state.as_str().to_owned()
    };
    assert_eq!(state(&server), "pending");
    server.apply(0, node(true, &[]));
    assert_eq!((state(&server), server.table("host_volumes")), ("ready".into(), 13));
    server.apply(1, json!({"NodeID": "node-1"}));
    assert_eq!((server.count(TableName::HostVolumes), server.table("host_volumes")), (0, 14));
}

#[test]
fn a_sticky_group_claims_its_volume_and_hands_the_claim_on() {
    let mut server = Server::new("2.0.5");
    server.apply(0, node(true, &[]));
    let group = json!({"Name": "g", "Count": 1, "Volumes": {"v": {"Name": "v", "Type": "host", "Source": "data", "Sticky": true}}});
    let job = json!({"ID": "shop", "Namespace": "default", "Type": "service", "TaskGroups": [group]});
    server.apply(4, json!({"Job": job, "Namespace": "default"}));
    let alloc = |id: &str| {
        json!({"ID": id, "Namespace": "default", "JobID": "shop", "TaskGroup": "g", "EvalID": "e", "NodeID": "node-1",
            "DesiredStatus": "run", "ClientStatus": "pending"})
    };
    for (id, bumped) in [("a", 12), ("a", 12), ("b", 14)] {
        server.apply(13, json!({"AllocsUpdated": [alloc(id)], "Job": job}));
        assert_eq!(server.table("task_volume"), bumped);
    }
    assert_eq!(server.count(TableName::TaskGroupHostVolumeClaims), 1);
    assert_eq!(server.apply(76, json!({"VolumeID": "vol-1", "Namespace": "default"})), "applied");
}

#[test]
fn a_compare_and_set_of_a_configuration_needs_the_stored_index() {
    let mut server = Server::new("2.0.5");
    for kind in [24, 30] {
        let config =
            |cas: bool, index: u64| json!({"CAS": cas, "Config": {"ModifyIndex": index, "PauseEvalBroker": true}});
        assert_eq!(server.apply(kind, config(true, 0)), "no_effect");
        assert_eq!(server.apply(kind, config(false, 0)), "applied");
        let at = server.index;
        assert_eq!(server.apply(kind, config(true, at - 1)), "no_effect");
        assert_eq!(server.apply(kind, config(true, at)), "applied");
    }
    assert!(server.fsm.state().pause_eval_broker());
    let cluster = |id: &str| json!({"ClusterID": id});
    assert_eq!([server.apply(32, cluster("c")), server.apply(32, cluster("d"))], ["applied", "refused"]);
}

#[test]
fn accessors_are_rows_up_to_1_9() {
    let accessors = json!({"Accessors": [{"Accessor": "x", "AccessorID": "y"}]});
    let mut old = Server::new("1.9.5");
    assert_eq!([old.apply(11, accessors.clone()), old.apply(33, accessors.clone())], ["applied"; 2]);
    assert_eq!([old.count(TableName::VaultAccessors), old.count(TableName::SiTokenAccessors)], [1, 1]);
    assert_eq!([old.apply(12, accessors.clone()), old.apply(12, accessors.clone())], ["applied", "refused"]);
    assert_eq!((old.table("vault_accessors"), old.table("si_token_accessors")), (12, 11));
    assert_eq!(Server::new("2.0.5").apply(11, accessors), "no_effect");
}

#[test]
fn a_job_that_goes_back_takes_the_source_of_that_version() {
    let mut server = Server::new("2.0.5");
    let job = |version: u64, source: Value| {
        json!({"Job": {"ID": "shop", "Namespace": "default", "Type": "service", "Version": version},
            "Namespace": "default", "Submission": source})
    };
    server.apply(4, job(0, json!({"Source": "first"})));
    for _ in 0..7 {
        server.apply(4, job(0, json!({"Source": "next"})));
    }
    let kept = |server: &Server| {
        let row = server.row(TableName::JobSubmissions, &JobKey::new("default", "shop")).unwrap();
        row.submissions().unwrap().0.iter().map(|s| (s.version, s.origin.source)).collect::<Vec<_>>()
    };
    assert_eq!(kept(&server).iter().map(|(version, _)| *version).collect::<Vec<_>>(), [7, 6, 5, 4, 3, 2]);
    server.apply(4, job(3, Value::Null));
    assert_eq!(kept(&server)[0], (8, Source::Entry(Index(13))));
    server.apply(5, deregister(true));
    assert_eq!(server.count(TableName::JobSubmissions), 0);
}

#[test]
fn a_scaling_policy_is_printed_alike_in_its_table_and_its_job() {
    let mut server = Server::new("2.0.5");
    server.apply(4, scaled_job(5));
    server.apply(5, deregister(false));
    let policy = json!({"ID": "pol-1", "Type": "horizontal", "Min": 1, "Max": 5, "Enabled": false,
        "Target": {"Group": "web", "Job": "shop", "Namespace": "default"}, "Policy": {"cooldown": "1m"},
        "CreateIndex": 10, "ModifyIndex": 11});
    assert_eq!(server.printed(Table::ScalingPolicies), std::slice::from_ref(&policy));
    assert_eq!(server.printed(Table::Jobs)[0]["TaskGroups"][0]["Scaling"], policy);
    let versions = server.printed(Table::JobVersions);
    assert_eq!(versions[1]["TaskGroups"][0]["Scaling"], policy);
    assert_eq!(versions[0]["TaskGroups"][0]["Scaling"]["Enabled"], true);
}

#[test]
fn a_claimed_volume_and_its_plugin_are_printed() {
    let mut server = with_volume();
    assert_eq!(server.printed(Table::CSIVolumes)[0]["ReadAllocs"], Value::Null);
    server.apply(37, claim("a", 1, 0));
    let row = &server.printed(Table::CSIVolumes)[0];
    assert_eq!((&row["WriteAllocs"], &row["ReadAllocs"]), (&json!({"a": null}), &json!({})));
    assert_eq!((&row["Topologies"], &row["Secrets"]), (&json!([]), &json!({})));
    assert_eq!(row["MountOptions"], json!({"FSType": "", "MountFlags": null}));
    assert_eq!((&row["AccessMode"], &row["Schedulable"]), (&json!("single-node-writer"), &json!(true)));
    assert_eq!((&row["CreateIndex"], &row["ModifyIndex"], &row["ModifyTime"]), (&json!(11), &json!(14), &json!(77)));
    let plugin = &server.printed(Table::CSIPlugins)[0];
    assert_eq!(plugin["NodeJobs"], json!({"default": {"csi": {"Namespace": "default", "ID": "csi", "Expected": 1}}}));
    assert_eq!((&plugin["Nodes"]["node-1"]["Provider"], &plugin["Controllers"]), (&json!("ceph"), &json!({})));
    assert_eq!((&plugin["CreateTime"], &plugin["NodesHealthy"]), (&Value::Null, &json!(1)));
}

#[test]
fn a_policy_and_a_token_without_a_hash_are_printed_with_theirs() {
    let mut server = Server::new("2.0.5");
    server.apply(19, json!({"Policies": [{"Name": "p", "Description": "d", "Rules": "namespace {}"}]}));
    let token = |secret: &str| {
        json!({"Tokens": [{"AccessorID": "t", "SecretID": secret, "Name": "n", "Type": "client", "Policies": ["p"],
            "Roles": [{"ID": "r1"}], "ExpirationTTL": 90_000_000_000_i64}]})
    };
    server.apply(21, token("first"));
    server.apply(21, token("second"));
    assert_eq!(server.printed(Table::ACLPolicies)[0]["Hash"], "rW8W/J/i3dpESlcMEJABsWR1DRX/iATMgtYl6WIF+zI=");
    let row = &server.printed(Table::ACLTokens)[0];
    assert_eq!(
        (&row["Hash"], &row["SecretID"]),
        (&json!("jlYHDxAZnsl4ot43gOG8TAEhhhBmu6z3TbC0QmOvLvo="), &json!("first"))
    );
    assert_eq!((&row["ExpirationTTL"], &row["ModifyIndex"]), (&json!("1m30s"), &json!(12)));
}

#[test]
fn a_restore_takes_records_as_they_are_and_counts_what_it_leaves_out() {
    let rules = Rules::for_version("1.2.0".parse().unwrap());
    let mut restore = restore::Restore::new(&rules, Index(50));
    let mut take = |kind: u8, value: Value| {
        let mut bytes = Vec::new();
        encode(&value, &mut bytes);
        restore.record(kind, 100, &bytes);
    };
    take(5, json!([{"Index": 1}]));
    take(2, json!({"Key": "deployment", "Value": 40}));
    take(7, json!({"JobID": "p", "Namespace": "default", "Children": {"Running": -3}, "Summary": {"g": {"Lost": 2}}}));
    take(7, json!({"JobID": "q", "Namespace": "default", "Children": null, "CreateIndex": 4, "ModifyIndex": 9}));
    take(10, json!({"ID": "d", "Namespace": "default", "JobID": "gone", "Status": "running", "ModifyIndex": 30}));
    take(8, json!({"Accessor": "x", "CreateIndex": 3}));
    take(28, json!({"Name": "gpu"}));
    take(70, json!({"Name": "quota"}));
    take(3, json!({"ID": 7}));
    let restored = restore.finish();
    assert_eq!(restored.records, 9);
    assert_eq!((&restored.unknown, &restored.too_new), (&BTreeMap::from([(70, 1)]), &BTreeMap::from([(28, 1)])));
    assert_eq!(restored.undecodable.iter().map(|(kind, at, _)| (*kind, *at)).collect::<Vec<_>>(), [(3, 100)]);
    assert!(!restored.is_accepted());
    let state = &restored.state;
    let summary = |id: &str| state.summary(&JobKey::new("default", id)).unwrap().clone();
    assert_eq!(summary("p").children.map(row::Children::as_array), Some([0, -3, 0]));
    assert_eq!(summary("p").group("g").unwrap().lost, 2);
    assert_eq!((summary("q").children, summary("q").indexes.modify), (None, Index(9)));
    let deployment = state.deployment(&Id::new("d")).unwrap();
    assert_eq!((deployment.status.as_str(), deployment.indexes.modify), ("cancelled", Index(40)));
    assert_eq!(state.table_indexes().get("deployment"), Some(&Index(40)), "the index row does not move");
    assert_eq!(state.rows(TableName::VaultAccessors).count(), 1);
    assert!(state.node_pools().contains_key("gpu"));
}

#[test]
fn half_a_body_troubles_no_server_that_does_not_look_at_it() {
    let cases = [
        ("2.0.5", 8, "no_effect"),
        ("1.4.2", 8, "undecodable"),
        ("1.10.0", 11, "no_effect"),
        ("1.9.7", 11, "undecodable"),
        ("1.0.3", 42, "no_effect"),
        ("2.0.5", 4, "undecodable"),
    ];
    for (version, kind, outcome) in cases {
        let mut fsm = Server::new(version).fsm;
        let data = [kind, 0x81, 0xa5];
        let record = Record { index: Index(10), term: Term(2), kind: LogType::Command, data: &data, appended_at: None };
        let step = fsm.apply(&record, Message::read(&data).as_ref());
        assert_eq!(step.outcome.word(), outcome, "{version}, type {kind}");
    }
}

#[test]
fn an_evaluation_that_a_running_allocation_names_is_not_deleted_by_filter() {
    let mut server = Server::new("2.0.5");
    let job = |id: &str| json!({"ID": id, "Namespace": "default", "Type": "batch", "TaskGroups": [{"Name": "g"}]});
    let eval = |id: &str, job: &str| json!({"ID": id, "Namespace": "default", "JobID": job, "Status": "pending"});
    for id in ["a", "b"] {
        server.apply(4, json!({"Job": job(id), "Namespace": "default", "Eval": eval(&format!("eval-{id}"), id)}));
    }
    // The allocation is of b and names the evaluation of a.
    let alloc = json!({
        "ID": "alloc", "Namespace": "default", "JobID": "b", "TaskGroup": "g", "EvalID": "eval-a",
        "DesiredStatus": "run", "ClientStatus": "running", "Job": job("b"),
    });
    server.apply(13, json!({"AllocsUpdated": [alloc], "EvalID": "eval-a"}));
    server.apply(30, json!({"Config": {"PauseEvalBroker": true}}));
    server.apply(7, json!({"Filter": "Namespace == default", "PerPage": 10}));
    let left: Vec<_> = server.fsm.state().evals().map(|eval| eval.id.to_string()).collect();
    assert_eq!(left, ["eval-a"]);
}

#[test]
fn a_tag_that_another_version_has_is_refused_even_where_this_one_has_it_too() {
    let mut server = Server::new("2.0.5");
    let tag = json!({"Name": "kept"});
    for _ in 0..2 {
        let job = json!({"ID": "a", "Namespace": "default", "Type": "batch", "TaskGroups": [], "VersionTag": tag});
        server.apply(4, json!({"Job": job, "Namespace": "default"}));
    }
    let request = json!({"JobID": "a", "Namespace": "default", "Name": "kept", "Tag": tag, "Version": 0});
    assert_eq!(server.apply(61, request), "refused");
}
