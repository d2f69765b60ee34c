//! Jobs: registers, stops, and the body of a job.

use super::super::msgpack::{Encode, List, Map, Nil, Pairs, Raw, Unsigned, with};
use super::{Eval, REGION, SECOND, TOKEN, command, kind, pending};

/// The accessor of the person who submits jobs.
const ACCESSOR: &str = "23c7f4f3-2378-3850-a9ed-dd7f3bdcfe04";

/// What sort of job it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// A parent that is launched by the clock.
    Periodic,
    /// A parent that is launched by dispatches.
    Parameterized,
    /// A child of a periodic parent.
    Launched,
    /// A child of a parameterized parent.
    Dispatched,
    /// A job that runs until it is stopped, with a deployment for each version.
    Service,
}

impl Sort {
    fn job_type(self) -> &'static str {
        if self == Sort::Service { "service" } else { "batch" }
    }
}

/// A job as a request carries it.
#[derive(Clone, Debug)]
pub struct Job {
    /// What sort of job it is.
    pub sort: Sort,
    /// Its namespace.
    pub namespace: String,
    /// Its id.
    pub id: String,
    /// Its parent's id; empty without one.
    pub parent: String,
    /// The name of its only task group, and of the task in it.
    pub group: String,
    /// How many allocations its group wants.
    pub count: i64,
    /// The status that the body carries.
    pub status: &'static str,
    /// The entry that created the job row.
    pub create_index: u64,
    /// The entry that last changed the job's definition.
    pub modify_index: u64,
    /// Its version.
    pub version: u64,
    /// When it was submitted.
    pub submitted: i64,
    /// The token that a dispatch was sent with; empty without one.
    pub idempotency_token: String,
}

/// JobRegister of a job, with its evaluation where it has one. `by_leader` is true for what the leader itself
/// submits: a periodic child.
pub fn register(job: &Job, eval: Option<&Eval>, by_leader: bool) -> Vec<u8> {
    command(
        kind::JOB_REGISTER,
        &Map(&[
            ("AuthToken", &if by_leader { "" } else { TOKEN }),
            ("Deployment", &Nil),
            ("EnforceIndex", &false),
            ("Eval", &eval.map(|eval| with(move |out| pending(eval, out)))),
            ("EvalPriority", &0),
            ("Forwarded", &!by_leader),
            ("IdempotencyToken", &job.idempotency_token),
            ("Job", &with(|out| body(job, out))),
            ("JobModifyIndex", &Unsigned(0)),
            ("Namespace", &job.namespace),
            ("PolicyOverride", &false),
            ("PreserveCounts", &false),
            ("PreserveResources", &false),
            ("Region", &if by_leader { "" } else { REGION }),
            ("Submission", &Nil),
        ]),
    )
}

/// JobDeregister: a stop, or a purge. A parent's carries no evaluation.
pub fn deregister(job: &Job, purge: bool, eval: Option<&Eval>, now: i64) -> Vec<u8> {
    command(
        kind::JOB_DEREGISTER,
        &Map(&[
            ("AuthToken", &TOKEN),
            ("Eval", &eval.map(|eval| with(move |out| pending(eval, out)))),
            ("EvalPriority", &0),
            ("Forwarded", &true),
            ("Global", &false),
            ("IdempotencyToken", &""),
            ("JobID", &job.id),
            ("Namespace", &job.namespace),
            ("NoShutdownDelay", &false),
            ("Purge", &purge),
            ("Region", &REGION),
            ("SubmitTime", &now),
        ]),
    )
}

/// JobBatchDeregister as the collector writes it: namespaces and ids of dead jobs.
pub fn collect_jobs(jobs: &[(String, String)]) -> Vec<u8> {
    let jobs = jobs.iter().map(|(namespace, id)| {
        let key = with(move |out| Map(&[("ID", id), ("Namespace", namespace)]).encode(out));
        (key, Map(&[("Purge", &true)]))
    });
    command(
        kind::JOB_BATCH_DEREGISTER,
        &Map(&[
            ("AuthToken", &TOKEN),
            ("Forwarded", &true),
            ("IdempotencyToken", &""),
            ("Jobs", &Pairs(jobs.collect())),
            ("Namespace", &""),
            ("Region", &REGION),
            ("SubmitTime", &0),
        ]),
    )
}

pub(super) fn body(job: &Job, out: &mut Vec<u8>) {
    let periodic = (job.sort == Sort::Periodic).then_some(Map(&[
        ("Enabled", &true),
        ("ProhibitOverlap", &false),
        ("Spec", &"*/30 * * * * * *"),
        ("SpecType", &"cron"),
        ("Specs", &List::<Nil>(&[])),
        ("TimeZone", &"UTC"),
    ]));
    let parameterized = matches!(job.sort, Sort::Parameterized | Sort::Dispatched).then_some(Map(&[
        ("MetaOptional", &List(&["n"])),
        ("MetaRequired", &Nil),
        ("Payload", &"optional"),
    ]));
    let dispatched = job.sort == Sort::Dispatched;
    // 12 bytes of payload in snappy's block form: the length, a literal of so many bytes, the bytes.
    let payload = dispatched.then_some(Raw(b"\x0c\x2cpayload 0001"));
    let parallel = i64::from(job.sort == Sort::Service);
    let update = Map(&[
        ("AutoPromote", &false),
        ("AutoRevert", &false),
        ("Canary", &0),
        ("HealthCheck", &""),
        ("HealthyDeadline", &0),
        ("MaxParallel", &parallel),
        ("MinHealthyTime", &0),
        ("ProgressDeadline", &0),
        ("Stagger", &(parallel * 30 * SECOND)),
    ]);
    Map(&[
        ("Affinities", &Nil),
        ("AllAtOnce", &false),
        ("Constraints", &Nil),
        ("ConsulNamespace", &""),
        ("CreateIndex", &Unsigned(job.create_index)),
        ("Datacenters", &List(&["dc1"])),
        ("DispatchIdempotencyToken", &job.idempotency_token),
        ("Dispatched", &dispatched),
        ("ID", &job.id),
        ("JobModifyIndex", &Unsigned(job.modify_index)),
        ("Meta", &dispatched.then_some(Map(&[("n", &"1")]))),
        ("ModifyIndex", &Unsigned(job.modify_index)),
        ("Multiregion", &Nil),
        ("Name", &job.id),
        ("Namespace", &job.namespace),
        ("NodePool", &"default"),
        ("NomadTokenID", &ACCESSOR),
        ("ParameterizedJob", &parameterized),
        ("ParentID", &job.parent),
        ("Payload", &payload),
        ("Periodic", &periodic),
        ("Priority", &50),
        ("Region", &REGION),
        ("Spreads", &Nil),
        ("Stable", &false),
        ("Status", &job.status),
        ("StatusDescription", &""),
        ("Stop", &false),
        ("SubmitTime", &job.submitted),
        ("TaskGroups", &List(&[with(|out| group(job, out))])),
        ("Type", &job.sort.job_type()),
        ("UI", &Nil),
        ("Update", &update),
        ("VaultNamespace", &""),
        ("Version", &Unsigned(job.version)),
        ("VersionTag", &Nil),
    ])
    .encode(out);
}

fn group(job: &Job, out: &mut Vec<u8>) {
    let service = job.sort == Sort::Service;
    let update = service.then_some(Map(&[
        ("AutoPromote", &false),
        ("AutoRevert", &false),
        ("Canary", &0),
        ("HealthCheck", &"task_states"),
        ("HealthyDeadline", &(30 * SECOND)),
        ("MaxParallel", &1),
        ("MinHealthyTime", &(2 * SECOND)),
        ("ProgressDeadline", &(60 * SECOND)),
        ("Stagger", &(30 * SECOND)),
    ]));
    let migrate = service.then_some(Map(&[
        ("HealthCheck", &"checks"),
        ("HealthyDeadline", &(300 * SECOND)),
        ("MaxParallel", &1),
        ("MinHealthyTime", &(10 * SECOND)),
    ]));
    let reschedule = Map(&[
        ("Attempts", &0),
        ("Delay", &(5 * SECOND)),
        ("DelayFunction", &"constant"),
        ("Interval", &(86_400 * SECOND)),
        ("MaxDelay", &0),
        ("Unlimited", &service),
    ]);
    Map(&[
        ("Affinities", &Nil),
        ("Constraints", &Nil),
        ("Consul", &Nil),
        ("Count", &job.count),
        ("Disconnect", &Nil),
        ("EphemeralDisk", &Map(&[("Migrate", &false), ("SizeMB", &10), ("Sticky", &false)])),
        ("MaxClientDisconnect", &Nil),
        ("MaxRunDuration", &Nil),
        ("Meta", &Nil),
        ("Migrate", &migrate),
        ("Name", &job.group),
        ("Networks", &Nil),
        ("PreventRescheduleOnLost", &false),
        ("ReschedulePolicy", &reschedule),
        ("RestartPolicy", &with(restart_policy)),
        ("Scaling", &Nil),
        ("Services", &Nil),
        ("ShutdownDelay", &Nil),
        ("Spreads", &Nil),
        ("StopAfterClientDisconnect", &Nil),
        ("Tasks", &List(&[with(|out| task(job, out))])),
        ("Update", &update),
        ("Volumes", &Nil),
    ])
    .encode(out);
}

fn task(job: &Job, out: &mut Vec<u8>) {
    let identity = Map(&[
        ("Audience", &List(&["nomadproject.io"])),
        ("ChangeMode", &""),
        ("ChangeSignal", &""),
        ("Env", &false),
        ("ExtraClaims", &Nil),
        ("File", &false),
        ("Filepath", &""),
        ("Name", &"default"),
        ("ServiceName", &""),
        ("TTL", &0),
    ]);
    Map(&[
        ("Actions", &Nil),
        ("Affinities", &Nil),
        ("Artifacts", &Nil),
        ("CSIPluginConfig", &Nil),
        ("Config", &Map(&[("args", &List(&["-c", "sleep 2; echo hey"])), ("command", &"/bin/sh")])),
        ("Constraints", &Nil),
        ("Consul", &Nil),
        ("DispatchPayload", &Nil),
        ("Driver", &"raw_exec"),
        ("Env", &Nil),
        ("Identities", &Nil),
        ("Identity", &identity),
        ("KillSignal", &""),
        ("KillTimeout", &(5 * SECOND)),
        ("Kind", &""),
        ("Leader", &false),
        ("Lifecycle", &Nil),
        ("LogConfig", &Map(&[("Disabled", &false), ("MaxFileSizeMB", &1), ("MaxFiles", &1)])),
        ("Meta", &Nil),
        ("Name", &job.group),
        ("Resources", &with(|out| resources(20, 10, 0, out))),
        ("RestartPolicy", &with(restart_policy)),
        ("ScalingPolicies", &Nil),
        ("Schedule", &Nil),
        ("Secrets", &Nil),
        ("Services", &Nil),
        ("ShutdownDelay", &0),
        ("Templates", &Nil),
        ("User", &""),
        ("Vault", &Nil),
        ("VolumeMounts", &Nil),
    ])
    .encode(out);
}

fn restart_policy(out: &mut Vec<u8>) {
    Map(&[
        ("Attempts", &0),
        ("Delay", &(15 * SECOND)),
        ("Interval", &(86_400 * SECOND)),
        ("Mode", &"fail"),
        ("RenderTemplates", &false),
    ])
    .encode(out);
}

pub(super) fn resources(cpu: i64, memory: i64, disk: i64, out: &mut Vec<u8>) {
    Map(&[
        ("CPU", &cpu),
        ("Cores", &0),
        ("Devices", &Nil),
        ("DiskMB", &disk),
        ("IOPS", &0),
        ("MemoryMB", &memory),
        ("MemoryMaxMB", &0),
        ("NUMA", &Nil),
        ("Networks", &Nil),
        ("SecretsMB", &0),
    ])
    .encode(out);
}
