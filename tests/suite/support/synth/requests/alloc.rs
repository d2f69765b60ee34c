//! Allocations: plans, clients' updates, and the deployments that plans start and end.

use super::super::msgpack::{Encode, List, Map, Nil, Omitting, Time, Unsigned, with};
use super::job::{Job, body, resources};
use super::{Eval, REGION, SECOND, command, kind};

/// An allocation as a plan and the client's updates name it.
#[derive(Clone, Debug)]
pub struct Alloc {
    /// Its id.
    pub id: String,
    /// Its place in the group, which its name ends with.
    pub place: usize,
    /// The evaluation that placed it.
    pub eval: String,
    /// The deployment that it belongs to; empty without one.
    pub deployment: String,
    /// The client that runs it.
    pub node: String,
    /// When it was placed.
    pub created: i64,
}

/// A client's word on one allocation.
#[derive(Clone, Debug)]
pub struct ClientUpdate {
    /// The allocation.
    pub id: String,
    /// The client.
    pub node: String,
    /// Its task.
    pub task: String,
    /// `pending`, `running`, `complete`, `failed`
    pub status: &'static str,
    /// Whether the client reports it healthy to a deployment.
    pub healthy: bool,
    /// When its task started.
    pub started: i64,
    /// When the client looked.
    pub now: i64,
}

/// A deployment at its start.
#[derive(Clone, Debug)]
pub struct Deployment {
    /// Its id.
    pub id: String,
    /// When it was made.
    pub created: i64,
}

/// What a plan does to a job.
#[derive(Default)]
pub struct Plan<'a> {
    /// Allocations that it places.
    pub placed: &'a [Alloc],
    /// Ids of allocations that it stops.
    pub stopped: &'a [String],
    /// A deployment that it starts.
    pub deployment: Option<&'a Deployment>,
    /// A deployment that it declares successful.
    pub succeeded: Option<&'a str>,
}

/// ApplyPlanResults for one job.
pub fn plan(job: &Job, eval: &Eval, plan: &Plan<'_>, now: i64) -> Vec<u8> {
    let placed: Vec<_> = plan.placed.iter().map(|alloc| with(move |out| place(job, alloc, out))).collect();
    let stopped: Vec<_> = plan.stopped.iter().map(|id| with(move |out| stop(id, now, out))).collect();
    let success = plan.succeeded.map(|id| {
        with(move |out| {
            List(&[Map(&[
                ("DeploymentID", &id),
                ("Status", &"successful"),
                ("StatusDescription", &"Deployment completed successfully"),
                ("UpdatedAt", &0),
            ])])
            .encode(out);
        })
    });
    command(
        kind::PLAN,
        &Map(&[
            ("AllocsPreempted", &List::<Nil>(&[])),
            ("AllocsStopped", &List(&stopped)),
            ("AllocsUpdated", &List(&placed)),
            ("Deployment", &plan.deployment.map(|start| with(|out| deployment(job, start, out)))),
            ("DeploymentUpdates", &success),
            ("EvalID", &eval.id),
            ("Evals", &Nil),
            ("IneligibleNodes", &Nil),
            ("Job", &with(|out| body(job, out))),
            ("PreemptionEvals", &Nil),
            ("UpdatedAt", &now),
        ]),
    )
}

/// AllocClientUpdate with what one client saw.
pub fn client_update(updates: &[ClientUpdate]) -> Vec<u8> {
    let allocs: Vec<_> = updates.iter().map(|update| with(move |out| seen(update, out))).collect();
    command(
        kind::ALLOC_CLIENT_UPDATE,
        &Map(&[
            ("Alloc", &List(&allocs)),
            ("AuthToken", &""),
            ("Evals", &Nil),
            ("Forwarded", &false),
            ("IdempotencyToken", &""),
            ("Namespace", &""),
            ("Region", &REGION),
        ]),
    )
}

/// DeploymentDelete as the collector writes it.
pub fn collect_deployments(ids: &[String]) -> Vec<u8> {
    command(
        kind::DEPLOYMENT_DELETE,
        &Map(&[
            ("AuthToken", &""),
            ("Deployments", &List(ids)),
            ("Forwarded", &true),
            ("IdempotencyToken", &""),
            ("Namespace", &""),
            ("Region", &REGION),
        ]),
    )
}

fn deployment(job: &Job, start: &Deployment, out: &mut Vec<u8>) {
    let state = Map(&[
        ("AutoPromote", &false),
        ("AutoRevert", &false),
        ("DesiredCanaries", &0),
        ("DesiredTotal", &job.count),
        ("HealthyAllocs", &0),
        ("PlacedAllocs", &0),
        ("PlacedCanaries", &Nil),
        ("ProgressDeadline", &(60 * SECOND)),
        ("Promoted", &false),
        ("RequireProgressBy", &Time(None)),
        ("UnhealthyAllocs", &0),
    ]);
    Map(&[
        ("CreateIndex", &Unsigned(0)),
        ("CreateTime", &start.created),
        ("EvalPriority", &50),
        ("ID", &start.id),
        ("IsMultiregion", &false),
        ("JobCreateIndex", &Unsigned(job.create_index)),
        ("JobID", &job.id),
        ("JobModifyIndex", &Unsigned(job.modify_index)),
        ("JobSpecModifyIndex", &Unsigned(job.modify_index)),
        ("JobVersion", &Unsigned(job.version)),
        ("ModifyIndex", &Unsigned(0)),
        ("ModifyTime", &0),
        ("Namespace", &job.namespace),
        ("Status", &"running"),
        ("StatusDescription", &"Deployment is running"),
        ("TaskGroups", &Map(&[(job.group.as_str(), &state)])),
    ])
    .encode(out);
}

fn place(job: &Job, alloc: &Alloc, out: &mut Vec<u8>) {
    let task = job.group.as_str();
    let used = Map(&[
        ("Cpu", &Map(&[("CpuShares", &20), ("ReservedCores", &Nil)])),
        ("Devices", &Nil),
        ("Memory", &Map(&[("MemoryMB", &10), ("MemoryMaxMB", &0)])),
        ("Networks", &Nil),
    ]);
    let allocated = Map(&[
        ("Shared", &Map(&[("DiskMB", &10), ("Networks", &Nil), ("Ports", &Nil)])),
        ("TaskLifecycles", &Map(&[(task, &Nil)])),
        ("Tasks", &Map(&[(task, &used)])),
    ]);
    let score = Map(&[
        ("NodeID", &alloc.node),
        ("NormScore", &0.032_279_587_992_188_52),
        ("Scores", &Map(&[("binpack", &0.032_279_587_992_188_52), ("job-anti-affinity", &0.0)])),
    ]);
    let metrics = Map(&[
        ("AllocationTime", &96_972),
        ("ClassExhausted", &Nil),
        ("ClassFiltered", &Nil),
        ("CoalescedFailures", &0),
        ("ConstraintFiltered", &Nil),
        ("DimensionExhausted", &Nil),
        ("NodePool", &"default"),
        ("NodesAvailable", &Map(&[("dc1", &1)])),
        ("NodesEvaluated", &1),
        ("NodesExhausted", &0),
        ("NodesFiltered", &0),
        ("NodesInPool", &1),
        ("QuotaExhausted", &Nil),
        ("ResourcesExhausted", &Nil),
        ("ScoreMetaData", &List(&[score])),
        ("Scores", &Nil),
    ]);
    Omitting(&[
        ("AllocatedResources", &allocated),
        ("ClientStatus", &"pending"),
        ("CreateTime", &alloc.created),
        ("DeploymentID", &alloc.deployment),
        ("DesiredStatus", &"run"),
        ("EvalID", &alloc.eval),
        ("ID", &alloc.id),
        ("JobID", &job.id),
        ("Metrics", &metrics),
        ("ModifyTime", &alloc.created),
        ("Name", &format!("{}.{}[{}]", job.id, job.group, alloc.place)),
        ("Namespace", &job.namespace),
        ("NodeID", &alloc.node),
        ("NodeName", &"client1"),
        ("SharedResources", &with(|out| resources(0, 0, 10, out))),
        ("TaskGroup", &job.group),
        ("TaskResources", &Map(&[(task, &with(|out| resources(20, 10, 0, out)))])),
    ])
    .encode(out);
}

fn stop(id: &str, now: i64, out: &mut Vec<u8>) {
    Omitting(&[
        ("ClientStatus", &"running"),
        ("DesiredDescription", &"alloc not needed due to job update"),
        ("ID", &id),
        ("ModifyTime", &now),
    ])
    .encode(out);
}

fn seen(update: &ClientUpdate, out: &mut Vec<u8>) {
    let (description, task_state) = match update.status {
        "pending" => ("No tasks have started", "pending"),
        "running" => ("Tasks are running", "running"),
        "failed" => ("Failed tasks", "dead"),
        _ => ("All tasks have completed", "dead"),
    };
    let dead = task_state == "dead";
    let events: Vec<_> = [("Received", "Task received by client"), ("Started", "Task started by client")]
        .into_iter()
        .chain(dead.then_some(("Terminated", "Exit Code: 0")))
        .map(|(kind, message)| with(move |out| event(kind, message, update.started, out)))
        .collect();
    let state = Map(&[
        ("Events", &List(&events)),
        ("Failed", &(update.status == "failed")),
        ("FinishedAt", &Time(dead.then_some(update.now))),
        ("LastRestart", &Time(None)),
        ("Paused", &""),
        ("Restarts", &Unsigned(0)),
        ("StartedAt", &Time(Some(update.started))),
        ("State", &task_state),
    ]);
    let timestamp = Time(Some(update.now));
    let health: &[(&str, &dyn Encode)] =
        &[("Canary", &false), ("Healthy", &true), ("ModifyIndex", &Unsigned(0)), ("Timestamp", &timestamp)];
    let health = update.healthy.then_some(Map(health));
    let network = Map(&[("Address", &""), ("AddressIPv6", &""), ("DNS", &Nil), ("InterfaceName", &"")]);
    Omitting(&[
        ("ClientDescription", &description),
        ("ClientStatus", &update.status),
        ("DeploymentStatus", &health),
        ("ID", &update.id),
        ("ModifyTime", &update.now),
        ("NetworkStatus", &network),
        ("NodeID", &update.node),
        ("TaskStates", &Map(&[(update.task.as_str(), &state)])),
    ])
    .encode(out);
}

fn event(kind: &str, message: &str, time: i64, out: &mut Vec<u8>) {
    Map(&[
        ("Details", &Map(&[])),
        ("DiskLimit", &0),
        ("DisplayMessage", &message),
        ("DownloadError", &""),
        ("DriverError", &""),
        ("DriverMessage", &""),
        ("ExitCode", &0),
        ("FailedSibling", &""),
        ("FailsTask", &false),
        ("GenericSource", &""),
        ("KillError", &""),
        ("KillReason", &""),
        ("KillTimeout", &0),
        ("Message", &""),
        ("RestartReason", &""),
        ("SetupError", &""),
        ("Signal", &0),
        ("StartDelay", &0),
        ("TaskSignal", &""),
        ("TaskSignalReason", &""),
        ("Time", &time),
        ("Type", &kind),
        ("ValidationError", &""),
        ("VaultError", &""),
    ])
    .encode(out);
}
