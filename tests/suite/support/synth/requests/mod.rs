//! Requests as a Nomad 2.0.5 server writes them to its log: every field of every struct, in order of name
//! (storage.md 4.2; the fields are those of the recorded clusters in `fixtures/real-2.0.5`).

mod alloc;
mod cluster;
mod job;

pub use alloc::{Alloc, ClientUpdate, Deployment, Plan, client_update, collect_deployments, plan};
pub use cluster::{configuration, namespace, node_ready, node_register, reconcile};
pub use job::{Job, Sort, collect_jobs, deregister, register};

use super::msgpack::{Encode, List, Map, Nil, Omitting, Unsigned, with};

/// Message types that histories use (storage.md 4.1).
mod kind {
    pub const NODE_REGISTER: u8 = 0;
    pub const NODE_UPDATE_STATUS: u8 = 2;
    pub const JOB_REGISTER: u8 = 4;
    pub const JOB_DEREGISTER: u8 = 5;
    pub const EVAL_UPDATE: u8 = 6;
    pub const EVAL_DELETE: u8 = 7;
    pub const ALLOC_CLIENT_UPDATE: u8 = 9;
    pub const RECONCILE: u8 = 10;
    pub const PLAN: u8 = 13;
    pub const DEPLOYMENT_DELETE: u8 = 17;
    pub const JOB_BATCH_DEREGISTER: u8 = 26;
    pub const DESIRED_TRANSITION: u8 = 27;
    pub const NAMESPACE_UPSERT: u8 = 64;
}

const SECOND: i64 = 1_000_000_000;
const REGION: &str = "global";
/// The token of the person who submits jobs.
const TOKEN: &str = "432dc124-dca7-ee31-f004-61ad7dee04e6";

/// An evaluation as a request carries it; zero fields are omitted.
#[derive(Clone, Debug, Default)]
pub struct Eval {
    /// Its id.
    pub id: String,
    /// The job's namespace.
    pub namespace: String,
    /// The job's id.
    pub job: String,
    /// `service` or `batch`.
    pub job_type: &'static str,
    /// Why it was made.
    pub triggered_by: &'static str,
    /// The deployment that it belongs to; empty without one.
    pub deployment: String,
    /// When it was made.
    pub created: i64,
    /// The entry that stored it; 0 while that is this one.
    pub create_index: u64,
}

fn command(kind: u8, body: &dyn Encode) -> Vec<u8> {
    let mut data = vec![kind];
    body.encode(&mut data);
    data
}

/// EvalUpdate of an evaluation that the scheduler has finished.
pub fn eval_complete(eval: &Eval, group: &str, placed: usize, index: u64, now: i64) -> Vec<u8> {
    let update = Map(&[
        ("Canary", &Unsigned(0)),
        ("DestructiveUpdate", &Unsigned(0)),
        ("Disconnect", &Unsigned(0)),
        ("Ignore", &Unsigned(0)),
        ("InPlaceUpdate", &Unsigned(0)),
        ("Migrate", &Unsigned(0)),
        ("Place", &Unsigned(placed as u64)),
        ("Preemptions", &Unsigned(0)),
        ("Reconnect", &Unsigned(0)),
        ("RescheduleLater", &Unsigned(0)),
        ("RescheduleNow", &Unsigned(0)),
        ("Stop", &Unsigned(0)),
    ]);
    let eval = Omitting(&[
        ("CreateIndex", &Unsigned(eval.create_index)),
        ("CreateTime", &eval.created),
        ("DeploymentID", &eval.deployment),
        ("ID", &eval.id),
        ("JobID", &eval.job),
        ("JobModifyIndex", &Unsigned(eval.create_index)),
        ("ModifyIndex", &Unsigned(eval.create_index)),
        ("ModifyTime", &now),
        ("Namespace", &eval.namespace),
        ("PlanAnnotations", &Map(&[("DesiredTGUpdates", &Map(&[(group, &update)])), ("PreemptedAllocs", &Nil)])),
        ("Priority", &50),
        ("QueuedAllocations", &Map(&[(group, &0)])),
        ("SnapshotIndex", &Unsigned(index)),
        ("Status", &"complete"),
        ("TriggeredBy", &eval.triggered_by),
        ("Type", &eval.job_type),
    ]);
    command(
        kind::EVAL_UPDATE,
        &Map(&[
            ("AuthToken", &""),
            ("EvalToken", &eval_token(index)),
            ("Evals", &List(&[eval])),
            ("Forwarded", &true),
            ("IdempotencyToken", &""),
            ("Namespace", &""),
            ("Region", &REGION),
        ]),
    )
}

/// EvalUpdate of an evaluation that waits for the scheduler.
pub fn eval_pending(eval: &Eval) -> Vec<u8> {
    command(
        kind::EVAL_UPDATE,
        &Map(&[
            ("AuthToken", &""),
            ("EvalToken", &""),
            ("Evals", &List(&[with(|out| pending(eval, out))])),
            ("Forwarded", &false),
            ("IdempotencyToken", &""),
            ("Namespace", &""),
            ("Region", &REGION),
        ]),
    )
}

/// EvalDelete as the collector writes it.
pub fn collect_evals(evals: &[String], allocs: &[String]) -> Vec<u8> {
    command(
        kind::EVAL_DELETE,
        &Map(&[
            ("Allocs", &List(allocs)),
            ("AuthToken", &""),
            ("Evals", &List(evals)),
            ("Filter", &""),
            ("Forwarded", &true),
            ("IdempotencyToken", &""),
            ("Namespace", &""),
            ("NextToken", &""),
            ("PerPage", &0),
            ("Region", &REGION),
            ("UserInitiated", &false),
        ]),
    )
}

/// AllocUpdateDesiredTransition as the deployment watcher writes it: no transition, one evaluation.
pub fn watch_deployment(eval: &Eval) -> Vec<u8> {
    command(
        kind::DESIRED_TRANSITION,
        &Map(&[
            ("Allocs", &Map(&[])),
            ("AuthToken", &""),
            ("Evals", &List(&[with(|out| pending(eval, out))])),
            ("Forwarded", &false),
            ("IdempotencyToken", &""),
            ("Namespace", &""),
            ("Region", &""),
        ]),
    )
}

/// An evaluation that waits for the scheduler.
fn pending(eval: &Eval, out: &mut Vec<u8>) {
    Omitting(&[
        ("CreateTime", &eval.created),
        ("DeploymentID", &eval.deployment),
        ("ID", &eval.id),
        ("JobID", &eval.job),
        ("ModifyTime", &eval.created),
        ("Namespace", &eval.namespace),
        ("Priority", &50),
        ("Status", &"pending"),
        ("TriggeredBy", &eval.triggered_by),
        ("Type", &eval.job_type),
    ])
    .encode(out);
}

/// A token as the leader's broker hands it out: one for each delivery.
fn eval_token(index: u64) -> String {
    format!("{index:08x}-dd33-091b-5a6c-0d0c1cb76638")
}
