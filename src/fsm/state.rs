//! The tables, their indexes, and the journal through which every write goes.
//!
//! Rows are immutable values behind `Arc`; a write replaces one and notes in the journal what was
//! there. The journal undoes refused transactions and tells subscribers what an entry changed.

mod image;
mod rows;

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::Hash;
use std::ops::Bound;
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::id::Id;
use super::outcome::{Change, CountMove};
use super::row::{Alloc, Deployment, Eval, Indexes, Job, Launch, Named, Node, Scaling, Summary};
use super::table::{RowKey, TableName, TableRow, global};
use crate::types::{Index, JobKey};

pub use crate::pack::BadImage;
pub use image::{Image, Written};

type Map<K, V> = HashMap<K, V, RandomState>;
type Set<K> = HashSet<K, RandomState>;

/// What is known under one job name: the job, its summary, and who refers to it by that exact name,
/// whether the job exists or not (fsm.md 2.3).
#[derive(Debug, Default)]
struct Cell {
    job: Option<Arc<Job>>,
    summary: Option<Arc<Summary>>,
    allocs: Set<Id>,
    live_allocs: usize,
    evals: Set<Id>,
    live_evals: usize,
    deployments: Set<Id>,
    live_deployments: usize,
    children: Set<Arc<str>>,
}

impl Cell {
    fn is_empty(&self) -> bool {
        self.job.is_none()
            && self.summary.is_none()
            && self.allocs.is_empty()
            && self.evals.is_empty()
            && self.deployments.is_empty()
            && self.children.is_empty()
    }
}

/// How many evaluations and allocations name a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct References {
    /// Allocations that are not terminal.
    pub live_allocs: usize,
    /// All allocations.
    pub allocs: usize,
    /// Evaluations that are not terminal.
    pub live_evals: usize,
    /// All evaluations.
    pub evals: usize,
    /// Deployments that are not terminal.
    pub live_deployments: usize,
}

/// Everything that a server holds right after an entry.
#[derive(Debug)]
pub struct State {
    cells: Map<JobKey, Cell>,
    /// Names with the ID in lower case to the exact IDs in use, for lookups that fold case.
    folded: BTreeMap<JobKey, Vec<Arc<str>>>,
    versions: Map<JobKey, BTreeMap<u64, Arc<Job>>>,
    evals: Map<Id, Arc<Eval>>,
    /// Blocked evaluations by the job name with the ID in lower case.
    blocked: Map<JobKey, Set<Id>>,
    allocs: Map<Id, Arc<Alloc>>,
    deployments: Map<Id, Arc<Deployment>>,
    nodes: Map<Id, Arc<Node>>,
    launches: BTreeMap<JobKey, Launch>,
    namespaces: BTreeMap<Arc<str>, Named>,
    node_pools: BTreeMap<Arc<str>, Named>,
    rows: BTreeMap<TableName, BTreeMap<RowKey, Arc<TableRow>>>,
    services_of_allocs: Map<Id, BTreeSet<RowKey>>,
    policies_of_jobs: Map<JobKey, BTreeSet<RowKey>>,
    table_indexes: BTreeMap<Cow<'static, str>, Index>,
    journal: Vec<Change>,
    moves: Vec<CountMove>,
}

/// A name with the ID in lower case, sharing the text where it is lower case already.
pub fn fold(key: &JobKey) -> JobKey {
    let has_capitals = match key.id.is_ascii() {
        true => key.id.bytes().any(|byte| byte.is_ascii_uppercase()),
        false => key.id.chars().any(char::is_uppercase),
    };
    if has_capitals {
        JobKey { namespace: key.namespace.clone(), id: key.id.to_lowercase().into() }
    } else {
        key.clone()
    }
}

impl State {
    /// The state of a server before its first entry: the namespace `default`, and with node pools
    /// (1.6 and newer) the pools `default` and `all`, made at index 1 (fsm.md 2.0).
    pub fn new(node_pools: bool) -> Self {
        let built_in = Named { indexes: Indexes { create: Index(1), modify: Index(1) }, origin: None };
        let mut state = State {
            cells: Map::default(),
            folded: BTreeMap::new(),
            versions: Map::default(),
            evals: Map::default(),
            blocked: Map::default(),
            allocs: Map::default(),
            deployments: Map::default(),
            nodes: Map::default(),
            launches: BTreeMap::new(),
            namespaces: BTreeMap::from([("default".into(), built_in)]),
            node_pools: BTreeMap::new(),
            rows: BTreeMap::new(),
            services_of_allocs: Map::default(),
            policies_of_jobs: Map::default(),
            table_indexes: BTreeMap::from([("namespaces".into(), Index(1))]),
            journal: Vec::new(),
            moves: Vec::new(),
        };
        if node_pools {
            state.node_pools.insert("default".into(), built_in);
            state.node_pools.insert("all".into(), built_in);
            state.table_indexes.insert("node_pools".into(), Index(1));
        }
        state
    }

    // Reading.

    /// A job.
    pub fn job(&self, key: &JobKey) -> Option<&Arc<Job>> {
        self.cells.get(key)?.job.as_ref()
    }

    /// Every job, in no order.
    pub fn jobs(&self) -> impl Iterator<Item = &Arc<Job>> {
        self.cells.values().filter_map(|c| c.job.as_ref())
    }

    /// A job's summary.
    pub fn summary(&self, key: &JobKey) -> Option<&Arc<Summary>> {
        self.cells.get(key)?.summary.as_ref()
    }

    /// Every summary with its job's name, in no order.
    pub fn summaries(&self) -> impl Iterator<Item = (&JobKey, &Arc<Summary>)> {
        self.cells.iter().filter_map(|(k, c)| Some((k, c.summary.as_ref()?)))
    }

    /// The existing jobs whose ParentID, within the namespace, is that job; in no order.
    pub fn children(&self, parent: &JobKey) -> impl Iterator<Item = &Arc<Job>> {
        let namespace = parent.namespace.clone();
        self.cells
            .get(parent)
            .into_iter()
            .flat_map(|c| &c.children)
            .filter_map(move |id| self.job(&JobKey { namespace: namespace.clone(), id: id.clone() }))
    }

    /// The stored versions of the name with the ID in lower case: version number to row. Rows of
    /// `A` and `a` share the table (fsm.md 2.0).
    pub fn versions(&self, folded: &JobKey) -> Option<&BTreeMap<u64, Arc<Job>>> {
        self.versions.get(folded)
    }

    /// Every stored version, in no order, with the folded name it stands under.
    pub fn all_versions(&self) -> impl Iterator<Item = (&JobKey, &Arc<Job>)> {
        self.versions.iter().flat_map(|(k, v)| v.values().map(move |job| (k, job)))
    }

    /// An evaluation.
    pub fn eval(&self, id: &Id) -> Option<&Arc<Eval>> {
        self.evals.get(id)
    }

    /// Every evaluation, in no order.
    pub fn evals(&self) -> impl Iterator<Item = &Arc<Eval>> {
        self.evals.values()
    }

    /// An allocation.
    pub fn alloc(&self, id: &Id) -> Option<&Arc<Alloc>> {
        self.allocs.get(id)
    }

    /// Every allocation, in no order.
    pub fn allocs(&self) -> impl Iterator<Item = &Arc<Alloc>> {
        self.allocs.values()
    }

    /// The allocations that name exactly that job, in no order.
    pub fn allocs_of(&self, key: &JobKey) -> impl Iterator<Item = &Arc<Alloc>> {
        self.cells.get(key).into_iter().flat_map(|c| &c.allocs).filter_map(|id| self.allocs.get(id))
    }

    /// The evaluations that name exactly that job, in no order.
    pub fn evals_of(&self, key: &JobKey) -> impl Iterator<Item = &Arc<Eval>> {
        self.cells.get(key).into_iter().flat_map(|c| &c.evals).filter_map(|id| self.evals.get(id))
    }

    /// The deployments of exactly that job, in no order.
    pub fn deployments_of(&self, key: &JobKey) -> impl Iterator<Item = &Arc<Deployment>> {
        self.cells.get(key).into_iter().flat_map(|c| &c.deployments).filter_map(|id| self.deployments.get(id))
    }

    /// The blocked evaluations of the name with the ID in lower case, sorted.
    pub fn blocked_evals(&self, folded: &JobKey) -> Vec<Id> {
        let mut ids: Vec<Id> = self.blocked.get(folded).into_iter().flatten().cloned().collect();
        ids.sort();
        ids
    }

    /// A deployment.
    pub fn deployment(&self, id: &Id) -> Option<&Arc<Deployment>> {
        self.deployments.get(id)
    }

    /// Every deployment, in no order.
    pub fn deployments(&self) -> impl Iterator<Item = &Arc<Deployment>> {
        self.deployments.values()
    }

    /// A node.
    pub fn node(&self, id: &Id) -> Option<&Arc<Node>> {
        self.nodes.get(id)
    }

    /// Every node, in no order.
    pub fn nodes(&self) -> impl Iterator<Item = &Arc<Node>> {
        self.nodes.values()
    }

    /// A periodic job's last launch.
    pub fn launch(&self, key: &JobKey) -> Option<&Launch> {
        self.launches.get(key)
    }

    /// Every launch, by name.
    pub fn launches(&self) -> impl Iterator<Item = (&JobKey, &Launch)> {
        self.launches.iter()
    }

    /// Every namespace, by name.
    pub fn namespaces(&self) -> &BTreeMap<Arc<str>, Named> {
        &self.namespaces
    }

    /// Every node pool, by name.
    pub fn node_pools(&self) -> &BTreeMap<Arc<str>, Named> {
        &self.node_pools
    }

    /// The last index of each table that was ever written.
    pub fn table_indexes(&self) -> &BTreeMap<Cow<'static, str>, Index> {
        &self.table_indexes
    }

    /// Whether the scheduler configuration pauses the eval broker.
    pub fn pause_eval_broker(&self) -> bool {
        let row = self.row(TableName::SchedulerConfig, &global(""));
        row.and_then(|row| row.scheduler()).is_some_and(|config| config.pause_eval_broker)
    }

    /// A row of one of the tables beside jobs, evaluations, allocations, deployments and nodes.
    pub fn row(&self, table: TableName, key: &RowKey) -> Option<&Arc<TableRow>> {
        self.rows.get(&table)?.get(key)
    }

    /// Every row of such a table, by key.
    pub fn rows(&self, table: TableName) -> impl Iterator<Item = (&RowKey, &Arc<TableRow>)> {
        self.rows.get(&table).into_iter().flatten()
    }

    /// The keys of an allocation's service registrations, sorted.
    pub fn services_of(&self, alloc: &Id) -> impl Iterator<Item = &RowKey> {
        self.services_of_allocs.get(alloc).into_iter().flatten()
    }

    /// The scaling policies whose target is in that job, by ID.
    pub fn policies_of(&self, job: &JobKey) -> impl Iterator<Item = &Arc<Scaling>> {
        let keys = self.policies_of_jobs.get(job).into_iter().flatten();
        keys.filter_map(|key| self.row(TableName::ScalingPolicies, key)?.scaling_policy())
    }

    /// Who refers to exactly that job.
    pub fn references(&self, key: &JobKey) -> References {
        self.cells.get(key).map(Self::count).unwrap_or_default()
    }

    /// Evaluations and other references of every name in the namespace whose ID begins with that of
    /// `key`, whatever the case (fsm.md 2.0: the `job_prefix` lookup).
    pub fn references_by_prefix(&self, key: &JobKey) -> impl Iterator<Item = (JobKey, References)> {
        let prefix = fold(key);
        let from = prefix.clone();
        self.folded
            .range((Bound::Included(from), Bound::Unbounded))
            .take_while(move |(k, _)| k.namespace == prefix.namespace && k.id.starts_with(&*prefix.id))
            .flat_map(|(k, ids)| ids.iter().map(|id| JobKey { namespace: k.namespace.clone(), id: id.clone() }))
            .map(|key| {
                let refs = self.references(&key);
                (key, refs)
            })
    }

    fn count(cell: &Cell) -> References {
        References {
            live_allocs: cell.live_allocs,
            allocs: cell.allocs.len(),
            live_evals: cell.live_evals,
            evals: cell.evals.len(),
            live_deployments: cell.live_deployments,
        }
    }

    /// About how many rows it has; costs nothing.
    pub fn size(&self) -> usize {
        let jobs = self.cells.len() * 2 + self.versions.len();
        jobs + self.evals.len() + self.allocs.len() + self.deployments.len() + self.nodes.len()
    }

    // Writing. Each `put` replaces a row, keeps the indexes right and journals what was there.

    fn cell(&mut self, key: &JobKey) -> &mut Cell {
        match self.cells.entry(key.clone()) {
            Entry::Occupied(cell) => cell.into_mut(),
            Entry::Vacant(place) => {
                self.folded.entry(fold(key)).or_default().push(key.id.clone());
                place.insert(Cell::default())
            }
        }
    }

    fn drop_empty(&mut self, key: &JobKey) {
        if self.cells.get(key).is_some_and(Cell::is_empty) {
            self.cells.remove(key);
            let folded = fold(key);
            if let Some(ids) = self.folded.get_mut(&folded) {
                ids.retain(|id| *id != key.id);
                if ids.is_empty() {
                    self.folded.remove(&folded);
                }
            }
        }
    }

    /// After a row that named `old` names `new` instead.
    fn drop_left(&mut self, old: Option<&JobKey>, new: Option<&JobKey>) {
        if let Some(old) = old.filter(|old| Some(*old) != new) {
            self.drop_empty(old);
        }
    }

    /// Replaces a job's row.
    pub(super) fn put_job(&mut self, key: &JobKey, row: Option<Arc<Job>>) {
        let parent = row.as_ref().and_then(|j| j.parent());
        let is_gone = row.is_none();
        let before = std::mem::replace(&mut self.cell(key).job, row);
        let old_parent = before.as_ref().and_then(|j| j.parent());
        if old_parent != parent {
            if let Some(old) = old_parent {
                self.cell(&old).children.remove(&key.id);
                self.drop_empty(&old);
            }
            if let Some(new) = parent {
                self.cell(&new).children.insert(key.id.clone());
            }
        }
        if is_gone {
            self.drop_empty(key);
        }
        self.journal.push(Change::Job { key: key.clone(), before });
    }

    /// Replaces one version's row; `folded` is the name with the ID in lower case.
    pub(super) fn put_version(&mut self, folded: &JobKey, version: u64, row: Option<Arc<Job>>) {
        let before = match row {
            Some(row) => self.versions.entry(folded.clone()).or_default().insert(version, row),
            None => {
                let before = self.versions.get_mut(folded).and_then(|rows| rows.remove(&version));
                if self.versions.get(folded).is_some_and(BTreeMap::is_empty) {
                    self.versions.remove(folded);
                }
                before
            }
        };
        self.journal.push(Change::Version { key: folded.clone(), version, before });
    }

    /// Replaces a summary.
    pub(super) fn put_summary(&mut self, key: &JobKey, row: Option<Arc<Summary>>) {
        let is_gone = row.is_none();
        let before = std::mem::replace(&mut self.cell(key).summary, row);
        if is_gone {
            self.drop_empty(key);
        }
        self.journal.push(Change::Summary { key: key.clone(), before });
    }

    /// Replaces an evaluation.
    pub(super) fn put_eval(&mut self, id: &Id, row: Option<Arc<Eval>>) {
        let before = match row.clone() {
            Some(row) => self.evals.insert(id.clone(), row),
            None => self.evals.remove(id),
        };
        if let Some(old) = &before {
            let cell = self.cell(&old.job);
            cell.evals.remove(id);
            cell.live_evals -= usize::from(!old.is_terminal());
            if old.status == "blocked" {
                let folded = fold(&old.job);
                if let Some(ids) = self.blocked.get_mut(&folded) {
                    ids.remove(id);
                    if ids.is_empty() {
                        self.blocked.remove(&folded);
                    }
                }
            }
        }
        if let Some(new) = &row {
            let cell = self.cell(&new.job);
            cell.evals.insert(id.clone());
            cell.live_evals += usize::from(!new.is_terminal());
            if new.status == "blocked" {
                self.blocked.entry(fold(&new.job)).or_default().insert(id.clone());
            }
        }
        self.drop_left(before.as_ref().map(|old| &old.job), row.as_ref().map(|new| &new.job));
        self.journal.push(Change::Eval { id: id.clone(), before });
    }

    /// Replaces an allocation.
    pub(super) fn put_alloc(&mut self, id: &Id, row: Option<Arc<Alloc>>) {
        let before = match row.clone() {
            Some(row) => self.allocs.insert(id.clone(), row),
            None => self.allocs.remove(id),
        };
        if let Some(old) = &before {
            let cell = self.cell(&old.job_key);
            cell.allocs.remove(id);
            cell.live_allocs -= usize::from(!old.is_terminal());
        }
        if let Some(new) = &row {
            let cell = self.cell(&new.job_key);
            cell.allocs.insert(id.clone());
            cell.live_allocs += usize::from(!new.is_terminal());
        }
        self.drop_left(before.as_ref().map(|old| &old.job_key), row.as_ref().map(|new| &new.job_key));
        self.journal.push(Change::Alloc { id: id.clone(), before });
    }

    /// Replaces a deployment.
    pub(super) fn put_deployment(&mut self, id: &Id, row: Option<Arc<Deployment>>) {
        let before = match row.clone() {
            Some(row) => self.deployments.insert(id.clone(), row),
            None => self.deployments.remove(id),
        };
        if let Some(old) = &before {
            let cell = self.cell(&old.job);
            cell.deployments.remove(id);
            cell.live_deployments -= usize::from(!old.is_terminal());
        }
        if let Some(new) = &row {
            let cell = self.cell(&new.job);
            cell.deployments.insert(id.clone());
            cell.live_deployments += usize::from(!new.is_terminal());
        }
        self.drop_left(before.as_ref().map(|old| &old.job), row.as_ref().map(|new| &new.job));
        self.journal.push(Change::Deployment { id: id.clone(), before });
    }

    /// Replaces a node.
    pub(super) fn put_node(&mut self, id: &Id, row: Option<Arc<Node>>) {
        let before = match row {
            Some(row) => self.nodes.insert(id.clone(), row),
            None => self.nodes.remove(id),
        };
        self.journal.push(Change::Node { id: id.clone(), before });
    }

    /// Replaces a launch.
    pub(super) fn put_launch(&mut self, key: &JobKey, row: Option<Launch>) {
        let before = replace(&mut self.launches, key.clone(), row);
        self.journal.push(Change::Launch { key: key.clone(), before });
    }

    /// Replaces a namespace.
    pub(super) fn put_namespace(&mut self, name: &Arc<str>, row: Option<Named>) {
        let before = replace(&mut self.namespaces, name.clone(), row);
        self.journal.push(Change::Namespace { name: name.clone(), before });
    }

    /// Replaces a node pool.
    pub(super) fn put_node_pool(&mut self, name: &Arc<str>, row: Option<Named>) {
        let before = replace(&mut self.node_pools, name.clone(), row);
        self.journal.push(Change::NodePool { name: name.clone(), before });
    }

    /// Replaces a row of one of the other tables.
    pub(super) fn put_row(&mut self, table: TableName, key: &RowKey, row: Option<Arc<TableRow>>) {
        let after = row.clone();
        let before = replace(self.rows.entry(table).or_default(), key.clone(), row);
        match before.as_deref() {
            Some(TableRow::Service(old)) => unlink(&mut self.services_of_allocs, &old.alloc_id, key),
            Some(TableRow::ScalingPolicy(old)) => unlink(&mut self.policies_of_jobs, &old.job, key),
            _ => {}
        }
        match after.as_deref() {
            Some(TableRow::Service(new)) => link(&mut self.services_of_allocs, &new.alloc_id, key),
            Some(TableRow::ScalingPolicy(new)) => link(&mut self.policies_of_jobs, &new.job, key),
            _ => {}
        }
        self.journal.push(Change::Row { table, key: key.clone(), before });
    }

    /// Moves a table's index; `None` takes the row away, which only an undo does.
    pub(super) fn put_table_index(&mut self, table: Cow<'static, str>, index: Option<Index>) {
        let before = match (self.table_indexes.get_mut(&table), index) {
            // An entry writes the same tables again and again.
            (Some(now), Some(index)) => Some(std::mem::replace(now, index)),
            _ => replace(&mut self.table_indexes, table.clone(), index),
        };
        if before != index {
            self.journal.push(Change::TableIndex { table, before });
        }
    }

    /// Notes a move of a parent's counters.
    pub(super) fn note_move(&mut self, count_move: CountMove) {
        self.moves.push(count_move);
    }

    // The journal.

    /// A point in the journal to come back to.
    pub(super) fn mark(&self) -> (usize, usize) {
        (self.journal.len(), self.moves.len())
    }

    /// Undoes every write since a mark.
    pub(super) fn undo_to(&mut self, (mark, moves): (usize, usize)) {
        self.moves.truncate(moves);
        while self.journal.len() > mark {
            let Some(change) = self.journal.pop() else { break };
            let len = self.journal.len();
            self.restore(change);
            self.journal.truncate(len);
        }
    }

    fn restore(&mut self, change: Change) {
        match change {
            Change::Job { key, before } => self.put_job(&key, before),
            Change::Version { key, version, before } => self.put_version(&key, version, before),
            Change::Summary { key, before } => self.put_summary(&key, before),
            Change::Eval { id, before } => self.put_eval(&id, before),
            Change::Alloc { id, before } => self.put_alloc(&id, before),
            Change::Deployment { id, before } => self.put_deployment(&id, before),
            Change::Node { id, before } => self.put_node(&id, before),
            Change::Launch { key, before } => self.put_launch(&key, before),
            Change::Namespace { name, before } => self.put_namespace(&name, before),
            Change::NodePool { name, before } => self.put_node_pool(&name, before),
            Change::Row { table, key, before } => self.put_row(table, &key, before),
            Change::TableIndex { table, before } => self.put_table_index(table, before),
        }
    }

    /// Takes what was written since the last call: the changes and the moves of counters.
    pub(super) fn take_journal(&mut self) -> (Vec<Change>, Vec<CountMove>) {
        (std::mem::take(&mut self.journal), std::mem::take(&mut self.moves))
    }
}

fn link<K: Clone + Eq + Hash>(index: &mut Map<K, BTreeSet<RowKey>>, of: &K, key: &RowKey) {
    index.entry(of.clone()).or_default().insert(key.clone());
}

fn unlink<K: Eq + Hash>(index: &mut Map<K, BTreeSet<RowKey>>, of: &K, key: &RowKey) {
    if let Some(keys) = index.get_mut(of) {
        keys.remove(key);
        if keys.is_empty() {
            index.remove(of);
        }
    }
}

fn replace<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, row: Option<V>) -> Option<V> {
    match row {
        Some(row) => map.insert(key, row),
        None => map.remove(&key),
    }
}
