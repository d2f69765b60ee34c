//! The ledger says of every index what the replay says of it.

use crate::support;

use std::collections::BTreeMap;
use std::path::PathBuf;

use raftscope::entry::{message_type::MessageTypes, split};
use raftscope::evidence::{self, Log};
use raftscope::fsm::Fsm;
use raftscope::fsm::rules::Rules;
use raftscope::ledger::Ledger;
use raftscope::replay::{Replayed, Subscriber, replay};
use raftscope::timeline::{TimelineRow, changed_jobs};
use raftscope::types::{Index, JobKey, Term};
use rusqlite::Connection;
use serde_json::{Value, json};

/// Every raft.db in the fixtures with a label.
fn logs() -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    for case in support::cases::all() {
        let servers = [None, Some("s1"), Some("s2"), Some("s3")];
        for dir in servers.into_iter().map(|s| s.map_or(case.dir.clone(), |s| case.dir.join(s))) {
            let path = dir.join("raft.db");
            if path.is_file() && !dir.join("snapshots").exists() && !dir.join("wal").exists() {
                found.push((path.strip_prefix(support::cases::fixtures()).unwrap().display().to_string(), path));
            }
        }
    }
    assert!(!found.is_empty());
    found
}

/// What the replay itself says.
#[derive(Default)]
struct Told {
    timeline: Vec<Value>,
    /// After each entry, the children of every parent and of every job whose counters are not zero.
    children: Vec<(u64, BTreeMap<String, [i64; 3]>)>,
}

impl Subscriber for Told {
    fn entry(&mut self, entry: Replayed<'_>) {
        let record = entry.record;
        let name = split(record.data).map(|c| MessageTypes::new().name(c.kind).into_owned()).unwrap_or_default();
        for (job, view) in changed_jobs(&entry) {
            let row = TimelineRow { index: record.index, term: record.term, entry: name.clone(), job, view };
            self.timeline.push(serde_json::to_value(row).unwrap());
        }
        let parents = entry.state.summaries().filter_map(|(key, summary)| {
            let counts = summary.children?.as_array();
            let parent = entry.state.job(key).is_some_and(|job| job.is_parent());
            (parent || counts != [0; 3]).then(|| (key.to_string(), counts))
        });
        self.children.push((record.index.0, parents.collect()));
    }
}

fn run(log: &dyn Log, rules: &str) -> (Told, Ledger) {
    let mut told = Told::default();
    let mut writer = Ledger::in_memory().unwrap().writer(MessageTypes::new()).unwrap();
    let mut fsm = Fsm::new(Rules::for_version(rules.parse().unwrap()));
    let last = log.bounds().unwrap().1;
    replay(log, &mut fsm, (Index(0), Term(0)), last, &mut (), &mut [&mut told, &mut writer]).unwrap();
    let mut ledger = writer.finish().unwrap();
    ledger.commit().unwrap();
    (told, ledger)
}

/// The rows of `v_timeline` in the shape of `timeline --format ndjson`.
fn v_timeline(conn: &Connection) -> Vec<Value> {
    let mut statement = conn
        .prepare(
            "SELECT idx, term, entry, namespace, job, status, pending, running, dead, groups, deleted
               FROM v_timeline ORDER BY idx, namespace, job",
        )
        .unwrap();
    let rows = statement.query_map([], |row| {
        let mut value = json!({
            "index": row.get::<_, i64>(0)?, "term": row.get::<_, i64>(1)?, "entry": row.get::<_, String>(2)?,
            "namespace": row.get::<_, String>(3)?, "job": row.get::<_, String>(4)?,
        });
        if row.get(10)? {
            value["deleted"] = json!(true);
            return Ok(value);
        }
        value["status"] = json!(row.get::<_, String>(5)?);
        let pending: Option<i64> = row.get(6)?;
        value["children"] = match pending {
            None => Value::Null,
            Some(n) => json!({"Pending": n, "Running": row.get::<_, i64>(7)?, "Dead": row.get::<_, i64>(8)?}),
        };
        let groups: Option<String> = row.get(9)?;
        value["groups"] = groups.map_or(Value::Null, |text| serde_json::from_str(&text).unwrap());
        Ok(value)
    });
    rows.unwrap().map(Result::unwrap).collect()
}

#[test]
fn v_timeline_is_the_timeline() {
    for (label, path) in logs() {
        for rules in ["1.0.4", "2.0.5"] {
            let evidence = evidence::open(&path).unwrap();
            let (told, ledger) = run(&*evidence.log, rules);
            let rows = v_timeline(ledger.connection());
            for (i, (ours, theirs)) in rows.iter().zip(&told.timeline).enumerate() {
                assert_eq!(ours, theirs, "{label} under {rules}, row {i}");
            }
            assert_eq!(rows.len(), told.timeline.len(), "{label} under {rules}");
        }
    }
}

#[test]
fn v_children_at_any_index_is_the_summary_there() {
    let at = "SELECT namespace, parent, pending, running, dead FROM v_children
               WHERE from_idx <= ?1 AND (until_idx IS NULL OR until_idx > ?1)";
    for (label, path) in logs() {
        let evidence = evidence::open(&path).unwrap();
        let (told, ledger) = run(&*evidence.log, "2.0.5");
        let mut statement = ledger.connection().prepare(at).unwrap();
        for (idx, expected) in told.children {
            let mut seen = BTreeMap::new();
            let mut rows = statement.query([idx as i64]).unwrap();
            while let Some(row) = rows.next().unwrap() {
                let key = JobKey::new(row.get::<_, String>(0).unwrap(), row.get::<_, String>(1).unwrap());
                let counts = [row.get(2).unwrap(), row.get(3).unwrap(), row.get(4).unwrap()];
                assert!(seen.insert(key.to_string(), counts).is_none(), "{label} at {idx}: {key} twice");
            }
            // A job that was a parent keeps its row.
            seen.retain(|key, counts| expected.contains_key(key) || *counts != [0; 3]);
            assert_eq!(seen, expected, "{label} at {idx}");
        }
    }
}
