//! Defaults of a node: above all what older clients say about their processors and networks (state-rows.md 7.3).

use std::borrow::Cow;

use super::{Object, Value, default_text, filled};

/// Canonicalizes the node of a register or of a snapshot.
pub fn node(node: &mut Object) {
    default_text(node, "NodePool", "default");
    if node.get("DrainStrategy").is_some_and(|v| !v.is_null()) {
        node.set("SchedulingEligibility", "ineligible");
    } else {
        default_text(node, "SchedulingEligibility", "eligible");
    }
    if let Some(resources) = node.object_mut("NodeResources") {
        processors(resources);
        networks(resources);
    }
}

fn ints(value: Option<&Value>) -> Vec<i64> {
    match value {
        Some(Value::List(items)) => {
            items.iter().filter_map(|v| if let Value::Int(n) = v { Some(*n) } else { None }).collect()
        }
        _ => Vec::new(),
    }
}

fn processors(resources: &mut Object) {
    let (shares, cores, reservable) = match resources.get("Cpu").and_then(Value::object) {
        Some(cpu) => (cpu.int("CpuShares"), cpu.int("TotalCpuCores"), ints(cpu.get("ReservableCpuCores"))),
        None => return,
    };
    let Some(processors) = resources.object_mut("Processors") else { return };
    if processors.get("Topology").is_none_or(Value::is_null) && shares > 0 && cores > 0 {
        processors.set("Topology", synthetic(shares, cores, reservable));
    }
    let topology = processors.get("Topology").and_then(Value::object);
    let Some((shares, usable)) = topology.and_then(capacity) else { return };
    let cores = Value::Int(usable.len() as i64);
    let usable = Value::List(usable.into_iter().map(Value::Int).collect());
    if let Some(cpu) = resources.object_mut("Cpu") {
        cpu.set("CpuShares", shares);
        cpu.set("TotalCpuCores", cores);
        cpu.set("ReservableCpuCores", usable);
    }
}

/// The most cores that a topology is made up for, far above any machine.
const MAX_CORES: i64 = 1 << 16;

/// The topology that stands for a client that only knows its shares and the number of its cores.
fn synthetic(shares: i64, cores: i64, reservable: Vec<i64>) -> Object {
    let ids = if reservable.is_empty() { (0..cores.min(MAX_CORES)).collect() } else { reservable };
    let speed = i64::try_from(ids.len()).ok().filter(|n| *n > 0).map_or(0, |n| shares / n);
    let core = |id: i64| {
        let fields = [("ID", Value::Int(id)), ("Grade", Value::Bool(true)), ("GuessSpeed", Value::Int(speed))];
        Value::from(filled("Core", fields))
    };
    // Unsigned in Nomad, so it wraps when the division left a rest.
    let withheld = speed.wrapping_mul(cores).wrapping_sub(shares) as u64;
    filled(
        "Topology",
        [
            ("Nodes", Value::from("AA==")),
            ("Distances", Value::List(vec![Value::from("Cg==")])),
            ("Cores", Value::List(ids.into_iter().map(core).collect())),
            ("OverrideTotalCompute", Value::Int(shares)),
            ("OverrideWitholdCompute", Value::from(withheld)),
        ],
    )
}

/// The shares and the usable cores, sorted, of a topology that names its cores.
fn capacity(topology: &Object) -> Option<(i64, Vec<i64>)> {
    let Some(Value::List(cores)) = topology.get("Cores") else { return None };
    if cores.is_empty() {
        return None;
    }
    let usable =
        || cores.iter().filter_map(Value::object).filter(|core| core.get("Disable") != Some(&Value::Bool(true)));
    let speed = |core: &Object| {
        let speeds = ["MaxSpeed", "BaseSpeed", "GuessSpeed"].map(|key| core.int(key));
        speeds.into_iter().find(|n| *n > 0).unwrap_or(0)
    };
    let shares = match topology.int("OverrideTotalCompute") {
        total @ 1.. => total,
        _ => usable().map(speed).fold(0, i64::saturating_add),
    };
    let mut ids: Vec<i64> = usable().map(|core| core.int("ID")).collect();
    ids.sort_unstable();
    Some((shares, ids))
}

/// Networks as older clients tell them, in the newer form.
fn networks(resources: &mut Object) {
    if resources.get("NodeNetworks").is_some_and(|v| !v.is_null()) {
        return;
    }
    let Some(Value::List(old)) = resources.get("Networks") else { return };
    let converted = |network: &Object| {
        let ip = network.text("IP");
        let address = || {
            let fields = [("Alias", Value::from("default")), ("Address", Value::from(ip.to_owned()))];
            Value::from(filled("NodeNetworkAddress", fields))
        };
        let text = |key| Value::Text(Cow::Owned(network.text(key).to_owned()));
        let fields = [
            ("Mode", text("Mode")),
            ("Speed", Value::Int(network.int("MBits"))),
            ("Device", text("Device")),
            ("Addresses", if ip.is_empty() { Value::Null } else { Value::List(vec![address()]) }),
        ];
        Value::from(filled("NodeNetworkResource", fields))
    };
    let new: Vec<Value> = old.iter().filter_map(Value::object).map(converted).collect();
    if new.is_empty() {
        return;
    }
    resources.set("NodeNetworks", Value::List(new));
    if let Some(processors) = resources.object_mut("Processors") {
        super::default_object(processors, "Topology", || filled("Topology", []));
    }
}
