//! Logs of one service and what happens to it, as the JSON that `nomad operator raft logs` prints.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;

/// 3 February 2026, unix seconds.
const START: f64 = 1_770_090_000.0;

/// The reason of `nomad job restart`, and of `nomad alloc restart`.
pub const USER: &str = "User requested running tasks to restart";

/// An allocation of the service.
pub struct Alloc {
    pub id: String,
    node: usize,
    ring: Vec<Value>,
    restarts: u64,
    status: &'static str,
}

/// A log under way.
pub struct RestartLog {
    entries: Vec<Value>,
    /// Seconds since the start, by the servers' clock.
    pub now: f64,
    pub allocs: Vec<Alloc>,
    /// How far each node's clock is ahead, seconds.
    pub ahead: BTreeMap<usize, f64>,
    job: String,
    /// Entries tell when they were appended.
    pub clocks: bool,
    dir: TempDir,
}

fn uuid(kind: u32, number: usize) -> String {
    format!("{kind:08x}-0000-4000-8000-{number:012x}")
}

impl RestartLog {
    /// A service with so many allocations, all running; on each node so many of them.
    pub fn new(job: &str, count: usize, on_each: usize) -> Self {
        let mut log = RestartLog {
            entries: Vec::new(),
            now: 0.0,
            allocs: Vec::new(),
            ahead: BTreeMap::new(),
            job: job.into(),
            clocks: true,
            dir: tempfile::tempdir().unwrap(),
        };
        log.push("LogConfiguration", None, json!({"Servers": []}));
        log.register(count);
        let eval = uuid(0xe0, 0);
        log.plan(&eval, count, on_each);
        log.now = 1.0;
        for i in 0..count {
            log.event(i, "Received", "");
            log.event(i, "Started", "");
            log.allocs[i].status = "running";
        }
        log.report(&(0..count).collect::<Vec<_>>());
        log.now = 100.0;
        log
    }

    fn nanos(&self) -> i64 {
        ((START + self.now) * 1e9) as i64
    }

    /// Adds an entry; gives its index.
    pub fn push(&mut self, log_type: &str, kind: Option<&str>, body: Value) -> u64 {
        let index = self.entries.len() as u64 + 1;
        let mut entry = json!({"LogType": log_type, "Term": 2, "Index": index, "Body": body});
        if let Some(kind) = kind {
            entry["CommandType"] = kind.into();
        }
        if self.clocks {
            let time = jiff::Timestamp::from_nanosecond(i128::from(self.nanos())).unwrap();
            entry["AppendedAt"] = time.to_string().into();
        }
        self.entries.push(entry);
        index
    }

    pub fn command(&mut self, kind: &str, body: Value) -> u64 {
        self.push("LogCommand", Some(kind), body)
    }

    fn eval(&self, id: &str, trigger: &str, status: &str) -> Value {
        json!({"ID": id, "Namespace": "default", "JobID": self.job, "Type": "service", "Priority": 50,
               "TriggeredBy": trigger, "Status": status, "CreateTime": self.nanos(), "ModifyTime": self.nanos()})
    }

    fn job(&self, count: usize) -> Value {
        json!({"ID": self.job, "Name": self.job, "Namespace": "default", "Type": "service", "Priority": 50, "NodePool": "default",
               "Status": "", "TaskGroups": [{"Name": "g", "Count": count, "Tasks": [{"Name": "t"}]}]})
    }

    /// Registers the service with that count.
    pub fn register(&mut self, count: usize) -> u64 {
        let eval = self.eval(&uuid(0xe0, 0), "job-register", "pending");
        let body = json!({"Job": self.job(count), "Namespace": "default", "Region": "global", "Eval": eval});
        self.command("JobRegisterRequestType", body)
    }

    fn plan(&mut self, eval: &str, count: usize, on_each: usize) {
        let first = self.allocs.len();
        for i in first..first + count {
            self.allocs.push(Alloc {
                id: uuid(0xa0 + i as u32, i),
                node: i / on_each,
                ring: Vec::new(),
                restarts: 0,
                status: "pending",
            });
        }
        let placed: Vec<Value> = (first..first + count).map(|i| self.placed(i, eval, "")).collect();
        self.plan_of(eval, placed, &[]);
    }

    fn placed(&self, i: usize, eval: &str, previous: &str) -> Value {
        json!({"ID": self.allocs[i].id, "Namespace": "default", "JobID": self.job, "EvalID": eval, "TaskGroup": "g",
               "NodeID": uuid(0xd0, self.allocs[i].node), "Name": format!("{}.g[{i}]", self.job), "DesiredStatus": "run",
               "ClientStatus": "pending", "PreviousAllocation": previous, "ModifyTime": self.nanos()})
    }

    fn plan_of(&mut self, eval: &str, placed: Vec<Value>, stopped: &[(usize, &str)]) -> u64 {
        let stopped: Vec<Value> = stopped
            .iter()
            .map(|(i, why)| json!({"ID": self.allocs[*i].id, "DesiredDescription": why, "ModifyTime": self.nanos()}))
            .collect();
        let body = json!({"AllocsStopped": stopped, "AllocsUpdated": placed, "EvalID": eval, "Job": self.job(self.allocs.len()),
                          "UpdatedAt": self.nanos()});
        self.command("ApplyPlanResultsRequestType", body)
    }

    /// Adds an event to an allocation's ring, by its node's clock.
    pub fn event(&mut self, i: usize, kind: &str, reason: &str) {
        let ahead = self.ahead.get(&self.allocs[i].node).copied().unwrap_or(0.0);
        let time = self.nanos() + (ahead * 1e9) as i64;
        let ring = &mut self.allocs[i].ring;
        ring.push(json!({"Type": kind, "Time": time, "RestartReason": reason, "Details": {"restart_reason": reason}}));
        if ring.len() > 10 {
            ring.remove(0);
        }
        if kind == "Restarting" {
            self.allocs[i].restarts += 1;
        }
    }

    /// A restart of an allocation's task that takes 0.2 seconds to end and 0.3 more to run again; the
    /// clock stands where it was.
    pub fn restart(&mut self, i: usize, reason: &str) {
        let start = self.now;
        self.event(i, "Restart Signaled", reason);
        self.now = start + 0.2;
        self.event(i, "Terminated", "");
        self.event(i, "Restarting", "");
        self.now = start + 0.5;
        self.event(i, "Started", "");
        self.now = start;
    }

    /// A crash and what the client makes of it, the same way.
    pub fn crash(&mut self, i: usize) {
        let start = self.now;
        self.event(i, "Terminated", "");
        self.event(i, "Restarting", "Restart within policy");
        self.now = start + 0.1;
        self.event(i, "Started", "");
        self.now = start;
    }

    /// The clients report these allocations.
    pub fn report(&mut self, which: &[usize]) -> u64 {
        let allocs: Vec<Value> = which
            .iter()
            .map(|&i| {
                let alloc = &self.allocs[i];
                let state = if alloc.status == "running" { "running" } else { "pending" };
                json!({"ID": alloc.id, "NodeID": uuid(0xd0, alloc.node), "ClientStatus": alloc.status, "ModifyTime": self.nanos(),
                       "TaskStates": {"t": {"State": state, "Restarts": alloc.restarts, "Events": alloc.ring}}})
            })
            .collect();
        self.command("AllocClientUpdateRequestType", json!({"Alloc": allocs, "Evals": null, "Region": "global"}))
    }

    /// A client reports one status.
    pub fn status(&mut self, i: usize, status: &'static str) -> u64 {
        self.allocs[i].status = status;
        self.report(&[i])
    }

    /// An allocation is asked to move by an evaluation of that trigger.
    pub fn ask(&mut self, i: usize, trigger: &str) -> u64 {
        let eval = self.eval(&uuid(0xe1, i), trigger, "pending");
        let mut allocs = serde_json::Map::new();
        allocs
            .insert(self.allocs[i].id.clone(), json!({"Migrate": true, "NoShutdownDelay": false, "Reschedule": false}));
        let body = json!({"Allocs": allocs, "Evals": [eval], "Namespace": "default", "Region": "global"});
        self.command("AllocUpdateDesiredTransitionRequestType", body)
    }

    /// The scheduler replaces an allocation that was asked to move; gives the place of the new one.
    pub fn replace(&mut self, i: usize) -> usize {
        let new = self.allocs.len();
        let node = self.allocs[i].node;
        self.allocs.push(Alloc {
            id: uuid(0xa0 + new as u32, new),
            node,
            ring: Vec::new(),
            restarts: 0,
            status: "pending",
        });
        let eval = uuid(0xe1, i);
        let placed = self.placed(new, &eval, &self.allocs[i].id.clone());
        self.plan_of(&eval, vec![placed], &[(i, "alloc is being migrated")]);
        new
    }

    /// A plan of the last register stops allocations.
    pub fn scale_down(&mut self, which: &[usize]) {
        let stops: Vec<(usize, &str)> = which.iter().map(|i| (*i, "alloc not needed due to job update")).collect();
        self.plan_of(&uuid(0xe0, 0), Vec::new(), &stops);
    }

    /// Anything that shows that the log goes on.
    pub fn tick(&mut self, seconds: f64) -> u64 {
        self.now += seconds;
        self.push("LogBarrier", None, Value::Null)
    }

    /// Writes the log, and gives its path.
    pub fn path(&self) -> String {
        let path: PathBuf = self.dir.path().join("log.ndjson");
        let text: String = self.entries.iter().map(|e| format!("{e}\n")).collect();
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// The IDs of allocations.
    pub fn ids(&self, which: &[usize]) -> Vec<String> {
        which.iter().map(|i| self.allocs[*i].id.clone()).collect()
    }
}
