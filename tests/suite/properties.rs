//! What holds for every history, whatever it is: replaying to N and on to M is replaying to M, the changes that a replay
//! tells add up to the state, and two replays give the same bytes.
//!
//! Histories are those of a real leader, and wild ones; what fails shrinks to few entries.

use std::collections::BTreeMap;
use std::fmt::Debug;

use crate::support::memory::Memory;
use crate::support::synth::history::{History, LogType as Written, Plot};
use crate::support::synth::wild::Wild;
use proptest::prelude::*;
use raftscope::fsm::Fsm;
use raftscope::fsm::compare::differences;
use raftscope::fsm::outcome::Change;
use raftscope::fsm::rules::Rules;
use raftscope::fsm::state::State;
use raftscope::fsm::table::TableName;
use raftscope::redact::Redactor;
use raftscope::replay::{Replayed, Subscriber, replay};
use raftscope::rows::{self, LogBodies, Table};
use raftscope::timeline::{TimelineRow, changed_jobs};
use raftscope::types::{Index, JobKey, Term};

/// A history, entries left out of it (the index stays), and rules.
fn histories() -> impl Strategy<Value = (Memory, &'static str)> {
    let rules = prop::sample::select(vec!["1.0.3", "1.0.4", "1.2.0", "1.6.2", "1.9.5", "1.11.2", "1.11.3", "2.0.5"]);
    let shape = (any::<bool>(), any::<u64>(), 1..90_usize);
    (shape, prop::collection::vec(0..90_usize, 0..60), rules).prop_map(|((wild, seed, length), left_out, rules)| {
        let mut entries: Vec<_> = match wild {
            true => Wild::new(seed).take(length).collect(),
            false => History::new(Plot { seed, ..Plot::default() }).take(length).collect(),
        };
        for place in left_out.into_iter().filter(|place| *place < length) {
            (entries[place].kind, entries[place].data) = (Written::Noop, Vec::new());
        }
        (Memory(entries), rules)
    })
}

fn fsm(rules: &str) -> Fsm {
    Fsm::new(Rules::for_version(rules.parse().unwrap()))
}

/// Every row of the timeline as it is printed, and every outcome.
#[derive(Default, PartialEq, Debug)]
struct Told(Vec<String>);

impl Subscriber for Told {
    fn entry(&mut self, entry: Replayed<'_>) {
        self.0.push(format!("{} {:?}", entry.step.outcome.word(), entry.step.outcome.detail(entry.rules)));
        for (job, view) in changed_jobs(&entry) {
            let (index, term) = (entry.record.index, entry.record.term);
            let row = TimelineRow { index, term, entry: String::new(), job, view };
            self.0.push(serde_json::to_string(&row).unwrap());
        }
    }
}

/// Every table as `state` prints it.
fn printed(log: &Memory, state: &State) -> String {
    let mut out = Vec::new();
    rows::write(state, &LogBodies::new(log), Table::ALL, &mut Redactor::showing(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Replays from `from` up to and with `to`; what it told.
fn run(log: &Memory, fsm: &mut Fsm, from: u64, to: u64) -> Told {
    let mut told = Told::default();
    replay(log, fsm, (Index(from), Term(0)), Index(to), &mut (), &mut [&mut told]).unwrap();
    told
}

/// The state as the changes alone tell it: each row's name, and the row.
#[derive(Default)]
struct Sum {
    rows: BTreeMap<String, String>,
    /// Parents' counters by the moves alone, where no reconcile or purge touched them.
    wrong: Vec<String>,
}

/// A name and a row as text.
fn told<R: Debug>(table: &str, key: impl Debug, row: Option<R>) -> (String, Option<String>) {
    (format!("{table} {key:?}"), row.map(|row| format!("{row:?}")))
}

/// The name of the row that a change is of, the row before it, and the row that is in the state.
fn sides(change: &Change, state: &State) -> [(String, Option<String>); 2] {
    match change {
        Change::Job { key, before } => [told("jobs", key, before.as_ref()), told("jobs", key, state.job(key))],
        Change::Version { key, version, before } => {
            let after = state.versions(key).and_then(|rows| rows.get(*version));
            [told("versions", (key, version), before.as_ref()), told("versions", (key, version), after)]
        }
        Change::Summary { key, before } => {
            [told("summaries", key, before.as_ref()), told("summaries", key, state.summary(key))]
        }
        Change::Eval { id, before } => [told("evals", id, before.as_ref()), told("evals", id, state.eval(id))],
        Change::Alloc { id, before } => [told("allocs", id, before.as_ref()), told("allocs", id, state.alloc(id))],
        Change::Deployment { id, before } => {
            [told("deployments", id, before.as_ref()), told("deployments", id, state.deployment(id))]
        }
        Change::Node { id, before } => [told("nodes", id, before.as_ref()), told("nodes", id, state.node(id))],
        Change::Launch { key, before } => {
            [told("launches", key, before.as_ref()), told("launches", key, state.launch(key))]
        }
        Change::Namespace { name, before } => {
            [told("namespaces", name, before.as_ref()), told("namespaces", name, state.namespaces().get(name))]
        }
        Change::NodePool { name, before } => {
            [told("pools", name, before.as_ref()), told("pools", name, state.node_pools().get(name))]
        }
        Change::Row { table, key, before } => {
            let name = format!("{table:?}");
            [told(&name, key, before.as_ref()), told(&name, key, state.row(*table, key))]
        }
        Change::TableIndex { table, before } => {
            [told("indexes", table, before.as_ref()), told("indexes", table, state.table_indexes().get(table))]
        }
    }
}

impl Sum {
    /// Every row of a state, by the same names.
    fn whole(state: &State) -> BTreeMap<String, String> {
        let mut rows = Vec::new();
        rows.extend(state.jobs().map(|row| told("jobs", &row.key, Some(row))));
        rows.extend(state.all_versions().map(|(key, row)| told("versions", (key, &row.version), Some(row))));
        rows.extend(state.summaries().map(|(key, row)| told("summaries", key, Some(row))));
        rows.extend(state.evals().map(|row| told("evals", &row.id, Some(row))));
        rows.extend(state.allocs().map(|row| told("allocs", &row.id, Some(row))));
        rows.extend(state.deployments().map(|row| told("deployments", &row.id, Some(row))));
        rows.extend(state.nodes().map(|row| told("nodes", &row.id, Some(row))));
        rows.extend(state.launches().map(|(key, row)| told("launches", key, Some(row))));
        rows.extend(state.namespaces().iter().map(|(name, row)| told("namespaces", name, Some(row))));
        rows.extend(state.node_pools().iter().map(|(name, row)| told("pools", name, Some(row))));
        rows.extend(state.table_indexes().iter().map(|(table, row)| told("indexes", table, Some(row))));
        for table in TableName::ALL {
            let name = format!("{table:?}");
            rows.extend(state.rows(*table).map(|(key, row)| told(&name, key, Some(row))));
        }
        rows.into_iter().filter_map(|(name, row)| Some((name, row?))).collect()
    }
}

impl Subscriber for Sum {
    fn base(&mut self, state: &State, _: Index, _: Term) {
        self.rows = Self::whole(state);
    }

    fn entry(&mut self, entry: Replayed<'_>) {
        let mut seen = Vec::new();
        for change in &entry.step.changes {
            let [(name, before), (_, after)] = sides(change, entry.state);
            // The first change of a row holds what was there before the entry.
            if !seen.contains(&name) {
                if self.rows.get(&name) != before.as_ref() {
                    self.wrong.push(format!("entry {}: {name} was {before:?}", entry.record.index));
                }
                seen.push(name.clone());
            }
            match after {
                Some(after) => self.rows.insert(name, after),
                None => self.rows.remove(&name),
            };
        }
        // Each move tells the counters that it left, and the last one those that are stored.
        for (place, moved) in entry.step.moves.iter().enumerate() {
            let later = entry.step.moves[place + 1..].iter().any(|later| later.parent == moved.parent);
            let stored = entry.state.summary(&moved.parent).and_then(|summary| summary.children);
            if !later && stored.is_some_and(|stored| stored != moved.after) {
                self.wrong.push(format!("entry {}: {moved:?}, stored {stored:?}", entry.record.index));
            }
        }
    }
}

/// Statuses and children as the rows of the timeline leave them.
fn last_rows(told: &Told) -> BTreeMap<JobKey, serde_json::Value> {
    let mut rows = BTreeMap::new();
    for row in told.0.iter().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok()) {
        let key = JobKey::new(row["namespace"].as_str().unwrap(), row["job"].as_str().unwrap());
        match row["deleted"] == true {
            true => rows.remove(&key),
            false => rows.insert(key, row),
        };
    }
    rows
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(40) })]

    #[test]
    fn replaying_to_n_and_on_to_m_is_replaying_to_m((log, rules) in histories(), at in 0.0..1.0) {
        let last = log.0.len() as u64;
        let (n, m) = ((last as f64 * at) as u64, last);
        let (mut whole, mut parted) = (fsm(rules), fsm(rules));
        let all = run(&log, &mut whole, 0, m);
        let mut parts = run(&log, &mut parted, 0, n);
        parts.0.extend(run(&log, &mut parted, n, m).0);
        prop_assert_eq!(&parts.0, &all.0);
        prop_assert!(differences(whole.state(), parted.state()).is_empty());
        prop_assert_eq!(Sum::whole(whole.state()), Sum::whole(parted.state()));
        prop_assert_eq!(printed(&log, whole.state()), printed(&log, parted.state()));
    }

    #[test]
    fn the_changes_add_up_to_the_state((log, rules) in histories()) {
        let mut fsm = fsm(rules);
        let (mut sum, mut told) = (Sum::default(), Told::default());
        replay(&log, &mut fsm, (Index(0), Term(0)), Index(u64::MAX), &mut (), &mut [&mut sum, &mut told]).unwrap();
        prop_assert_eq!(&sum.wrong, &[""; 0]);
        prop_assert_eq!(&sum.rows, &Sum::whole(fsm.state()));
        let rows = last_rows(&told);
        prop_assert_eq!(rows.len(), fsm.state().jobs().count());
        for (key, row) in rows {
            prop_assert_eq!(row["status"].as_str(), fsm.state().job(&key).map(|job| job.status.as_str()));
            let children = fsm.state().summary(&key).and_then(|summary| summary.children);
            prop_assert_eq!(row["children"]["Running"].as_i64(), children.map(|children| children.running));
        }
    }

    #[test]
    fn two_replays_give_the_same_bytes((log, rules) in histories()) {
        let (mut one, mut two) = (fsm(rules), fsm(rules));
        let last = log.0.len() as u64;
        prop_assert_eq!(run(&log, &mut one, 0, last), run(&log, &mut two, 0, last));
        prop_assert_eq!(printed(&log, one.state()), printed(&log, two.state()));
    }
}
