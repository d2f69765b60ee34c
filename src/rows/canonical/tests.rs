use super::*;
use crate::entry::msgpack::Reader;

fn json(object: Object) -> serde_json::Value {
    serde_json::from_slice(&Value::from(object).to_json()).unwrap()
}

fn service_job(kind: &str) -> Object {
    let mut task = filled("Task", [("Name", Value::from("web"))]);
    let mut service = filled("Service", [("Name", Value::from("${BASE}-x"))]);
    service.set("Checks", Value::List(vec![Value::from(filled("ServiceCheck", []))]));
    task.set("Services", Value::List(vec![Value::from(service)]));
    let group = filled("TaskGroup", [("Name", Value::from("g")), ("Tasks", Value::List(vec![Value::from(task)]))]);
    filled(
        "Job",
        [
            ("ID", Value::from("j")),
            ("Name", Value::from("job")),
            ("Type", Value::from(kind.to_owned())),
            ("TaskGroups", Value::List(vec![Value::from(group)])),
        ],
    )
}

#[test]
fn a_bare_service_job_gets_nomads_defaults() {
    let mut row = service_job("service");
    job(&mut row);
    let row = json(row);
    assert_eq!(row["Namespace"], "default");
    assert_eq!(row["Datacenters"], serde_json::json!(["*"]));
    let group = &row["TaskGroups"][0];
    assert_eq!(group["RestartPolicy"]["Attempts"], 2);
    assert_eq!(group["ReschedulePolicy"]["DelayFunction"], "exponential");
    assert_eq!(group["Migrate"]["MaxParallel"], 1);
    assert_eq!(group["EphemeralDisk"]["SizeMB"], 300);
    assert_eq!(group["Update"], serde_json::Value::Null);
    let task = &group["Tasks"][0];
    assert_eq!(task["RestartPolicy"], group["RestartPolicy"]);
    assert_eq!(task["Resources"]["MemoryMB"], 300);
    assert_eq!(task["KillTimeout"], 5_000_000_000_i64);
    assert_eq!(task["Identity"]["Audience"][0], "nomadproject.io");
    assert_eq!(task["LogConfig"], serde_json::Value::Null);
    let service = &task["Services"][0];
    assert_eq!(service["Name"], "job-g-web-x");
    assert_eq!(service["Provider"], "consul");
    assert_eq!(service["Checks"][0]["Name"], "service: \"job-g-web-x\" check");
}

#[test]
fn policies_follow_the_type_of_the_job() {
    for (kind, restart, reschedule, migrate) in
        [("batch", true, true, false), ("system", true, false, false), ("sysbatch", false, false, false)]
    {
        let mut row = service_job(kind);
        job(&mut row);
        let group = &json(row)["TaskGroups"][0];
        assert_eq!(group["RestartPolicy"].is_object(), restart, "{kind}");
        assert_eq!(group["ReschedulePolicy"].is_object(), reschedule, "{kind}");
        assert_eq!(group["Migrate"].is_object(), migrate, "{kind}");
    }
}

#[test]
fn canonicalizing_twice_changes_nothing_more() {
    let mut row = service_job("batch");
    job(&mut row);
    let once = row.clone();
    job(&mut row);
    assert_eq!(row, once);
}

#[test]
fn a_client_without_a_topology_gets_one_and_its_shares_back() {
    // {"NodeResources":{"Cpu":{"CpuShares":10,"TotalCpuCores":3}}}
    let bytes = b"\x81\xadNodeResources\x81\xa3Cpu\x82\xa9CpuShares\x0a\xadTotalCpuCores\x03";
    let mut row = shape("Node").unwrap().read(&mut Reader::new(bytes)).unwrap();
    node(&mut row);
    let resources = &json(row)["NodeResources"];
    let topology = &resources["Processors"]["Topology"];
    assert_eq!(topology["Cores"].as_array().unwrap().len(), 3);
    assert_eq!(topology["Cores"][2]["GuessSpeed"], 3);
    assert_eq!(topology["OverrideWitholdCompute"], u64::MAX);
    assert_eq!(resources["Cpu"]["CpuShares"], 10);
    assert_eq!(resources["Cpu"]["ReservableCpuCores"], serde_json::json!([0, 1, 2]));
}
