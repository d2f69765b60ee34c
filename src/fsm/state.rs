//! The tables, their indexes, and the journal through which every write goes.
//!
//! Rows are immutable values behind `Arc`; a write replaces one and notes in the journal what was
//! there. The journal undoes refused transactions and tells subscribers what an entry changed.

mod cell;
mod image;
mod rows;
mod write;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Bound;
use std::sync::{Arc, OnceLock};

use foldhash::fast::RandomState;

use super::id::Id;
use super::outcome::{Change, CountMove};
use super::row::{Alloc, Deployment, Eval, Indexes, Job, Launch, Named, Node, Scaling, Summary};
use super::table::{RowKey, TableName, TableRow, global};
use crate::types::{Index, JobKey};

pub use crate::pack::BadImage;
use cell::Cell;
pub use cell::Versions;
pub use image::{Image, Written};

type Map<K, V> = HashMap<K, V, RandomState>;
type Set<K> = HashSet<K, RandomState>;

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
    /// Names with the ID in lower case to the exact IDs in use, for lookups by prefix that fold case; put together for
    /// the first of them, since most versions of Nomad have none.
    folded: OnceLock<BTreeMap<JobKey, Vec<Arc<str>>>>,
    versions: Map<JobKey, Versions>,
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
    if has_capitals { JobKey::new(key.namespace.clone(), key.id.to_lowercase()) } else { key.clone() }
}

impl State {
    /// The state of a server before its first entry: the namespace `default`, and with node pools
    /// (1.6 and newer) the pools `default` and `all`, made at index 1 (fsm.md 2.0).
    pub fn new(node_pools: bool) -> Self {
        let built_in = Named { indexes: Indexes { create: Index(1), modify: Index(1) }, origin: None };
        let mut state = State {
            cells: Map::default(),
            folded: OnceLock::new(),
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
            .flat_map(|c| c.children.iter())
            .filter_map(move |id| self.job(&JobKey::new(namespace.clone(), id.clone())))
    }

    /// The stored versions of the name with the ID in lower case. Rows of `A` and `a` share the table (fsm.md 2.0).
    pub fn versions(&self, folded: &JobKey) -> Option<&Versions> {
        self.versions.get(folded)
    }

    /// Every stored version, in no order, with the folded name it stands under.
    pub fn all_versions(&self) -> impl Iterator<Item = (&JobKey, &Arc<Job>)> {
        self.versions.iter().flat_map(|(k, v)| v.rows().map(move |job| (k, job)))
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
        self.cells.get(key).into_iter().flat_map(|c| c.allocs.ids()).filter_map(|id| self.allocs.get(id))
    }

    /// The evaluations that name exactly that job, in no order.
    pub fn evals_of(&self, key: &JobKey) -> impl Iterator<Item = &Arc<Eval>> {
        self.cells.get(key).into_iter().flat_map(|c| c.evals.ids()).filter_map(|id| self.evals.get(id))
    }

    /// The deployments of exactly that job, in no order.
    pub fn deployments_of(&self, key: &JobKey) -> impl Iterator<Item = &Arc<Deployment>> {
        self.cells.get(key).into_iter().flat_map(|c| c.deployments.ids()).filter_map(|id| self.deployments.get(id))
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
        self.folded()
            .range((Bound::Included(from), Bound::Unbounded))
            .take_while(move |(k, _)| k.namespace == prefix.namespace && k.id.starts_with(&*prefix.id))
            .flat_map(|(k, ids)| ids.iter().map(|id| JobKey::new(k.namespace.clone(), id.clone())))
            .map(|key| {
                let refs = self.references(&key);
                (key, refs)
            })
    }

    fn folded(&self) -> &BTreeMap<JobKey, Vec<Arc<str>>> {
        self.folded.get_or_init(|| {
            let mut folded: BTreeMap<JobKey, Vec<Arc<str>>> = BTreeMap::new();
            for key in self.cells.keys() {
                folded.entry(fold(key)).or_default().push(key.id.clone());
            }
            folded
        })
    }

    fn count(cell: &Cell) -> References {
        References {
            live_allocs: cell.allocs.live(),
            allocs: cell.allocs.len(),
            live_evals: cell.evals.live(),
            evals: cell.evals.len(),
            live_deployments: cell.deployments.live(),
        }
    }

    /// About how many rows it has; costs nothing.
    pub fn size(&self) -> usize {
        let jobs = self.cells.len() * 2 + self.versions.len();
        jobs + self.evals.len() + self.allocs.len() + self.deployments.len() + self.nodes.len()
    }
}
