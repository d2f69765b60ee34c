//! Rows as the FSM holds them, each with its place among the others: all of a table, or those that an entry touched.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use super::bodies::{Bodies, RowError};
use super::value::{Object, Value};
use super::{Table, alloc, eval, job, node, other, shared_row};
use crate::fsm::id::Id;
use crate::fsm::outcome::{Change, Step};
use crate::fsm::row::{Alloc, Deployment, Eval, Job, Launch, Named, Node, Summary};
use crate::fsm::state::State;
use crate::fsm::table::{RowKey, Submission, TableName, TableRow, global};
use crate::types::{Index, JobKey};

/// Which row it is. Ordered as Nomad orders rows: by table, then as state-rows.md 2 says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId {
    /// Its table.
    pub table: Table,
    /// Its CreateIndex, in the tables that are sorted by it; else 0.
    pub create: Index,
    /// Its namespace, empty where the table has none, and its ID or name. A job version has the ID in lower case.
    pub key: RowKey,
    /// The version of a job version or a submission; else 0.
    pub version: u64,
}

impl fmt::Display for RowId {
    /// `default/web`, `default/web version 3`, `1a2b…`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.key.namespace {
            "" => f.write_str(&self.key.id)?,
            _ => self.key.fmt(f)?,
        }
        match self.table {
            Table::JobVersions | Table::JobSubmissions => write!(f, " version {}", self.version),
            _ => Ok(()),
        }
    }
}

/// A row as the FSM holds it; cheap to keep.
#[derive(Clone, Debug)]
pub enum Held {
    /// A job, or one version of it.
    Job(Arc<Job>),
    /// A summary, with its job's name.
    Summary(JobKey, Arc<Summary>),
    /// An evaluation.
    Eval(Arc<Eval>),
    /// An allocation.
    Alloc(Arc<Alloc>),
    /// A deployment.
    Deployment(Arc<Deployment>),
    /// A node.
    Node(Arc<Node>),
    /// A periodic job's last launch, with its name.
    Launch(JobKey, Launch),
    /// A namespace or a node pool, with its name.
    Named(Arc<str>, Named),
    /// A row of one of the other tables, with its key.
    Other(RowKey, Arc<TableRow>),
    /// A submission, with its job's name.
    Submission(JobKey, Submission),
    /// The last index of a table, with its name.
    TableIndex(Cow<'static, str>, Index),
}

impl Held {
    /// True where the two are one row that nobody wrote in between; false where that is not known.
    pub fn is_same(&self, other: &Held) -> bool {
        match (self, other) {
            (Held::Job(a), Held::Job(b)) => Arc::ptr_eq(a, b),
            (Held::Summary(_, a), Held::Summary(_, b)) => Arc::ptr_eq(a, b),
            (Held::Eval(a), Held::Eval(b)) => Arc::ptr_eq(a, b),
            (Held::Alloc(a), Held::Alloc(b)) => Arc::ptr_eq(a, b),
            (Held::Deployment(a), Held::Deployment(b)) => Arc::ptr_eq(a, b),
            (Held::Node(a), Held::Node(b)) => Arc::ptr_eq(a, b),
            (Held::Launch(_, a), Held::Launch(_, b)) => a == b,
            (Held::Named(_, a), Held::Named(_, b)) => a == b,
            (Held::Other(_, a), Held::Other(_, b)) => Arc::ptr_eq(a, b),
            (Held::Submission(_, a), Held::Submission(_, b)) => a == b,
            (Held::TableIndex(_, a), Held::TableIndex(_, b)) => a == b,
            _ => false,
        }
    }

    /// Appends the row as JSON where that can be done without building it, for a summary; false where it cannot.
    pub fn write(&self, out: &mut Vec<u8>) -> bool {
        match self {
            Held::Summary(key, row) => {
                job::write_summary(key, row, out);
                true
            }
            _ => false,
        }
    }

    /// The whole row.
    ///
    /// # Errors
    /// When its body cannot be read again.
    pub fn build(&self, bodies: &dyn Bodies) -> Result<Object, RowError> {
        match self {
            Held::Job(row) => job::job(row, bodies),
            Held::Summary(key, row) => Ok(job::summary(key, row)),
            Held::Eval(row) => eval::eval(row, bodies),
            Held::Alloc(row) => alloc::alloc(row, bodies),
            Held::Deployment(row) => eval::deployment(row, bodies),
            Held::Node(row) => node::node(row, bodies),
            Held::Launch(key, row) => Ok(job::launch(key, row)),
            Held::Named(name, row) => node::named(name, row, bodies),
            Held::Other(key, row) => shared_row(key, row, bodies),
            Held::Submission(key, row) => other::submission(key, row, bodies),
            Held::TableIndex(table, index) => {
                let mut row = Object::with_capacity(2);
                row.set("Key", Value::Text(table.clone()));
                row.set("Value", index.0);
                Ok(row)
            }
        }
    }
}

/// A row with its place.
pub type Placed = (RowId, Held);

fn id(table: Table, key: RowKey) -> RowId {
    RowId { table, create: Index(0), key, version: 0 }
}

fn created(table: Table, create: Index, key: &Id) -> RowId {
    RowId { create, ..id(table, global(&key.to_string())) }
}

fn job_row(key: &JobKey, row: &Arc<Job>) -> Placed {
    (id(Table::Jobs, key.clone()), Held::Job(row.clone()))
}

fn version_row(folded: &JobKey, row: &Arc<Job>) -> Placed {
    let id = RowId { version: row.version, ..id(Table::JobVersions, folded.clone()) };
    (id, Held::Job(row.clone()))
}

fn summary_row(key: &JobKey, row: &Arc<Summary>) -> Placed {
    (id(Table::JobSummaries, key.clone()), Held::Summary(key.clone(), row.clone()))
}

fn eval_row(row: &Arc<Eval>) -> Placed {
    (created(Table::Evals, row.indexes.create, &row.id), Held::Eval(row.clone()))
}

fn alloc_row(row: &Arc<Alloc>) -> Placed {
    (created(Table::Allocs, row.indexes.create, &row.id), Held::Alloc(row.clone()))
}

fn deployment_row(row: &Arc<Deployment>) -> Placed {
    (created(Table::Deployments, row.indexes.create, &row.id), Held::Deployment(row.clone()))
}

fn node_row(row: &Arc<Node>) -> Placed {
    (created(Table::Nodes, Index(0), &row.id), Held::Node(row.clone()))
}

fn launch_row(key: &JobKey, row: &Launch) -> Placed {
    (id(Table::PeriodicLaunches, key.clone()), Held::Launch(key.clone(), *row))
}

fn named_row(table: Table, name: &Arc<str>, row: &Named) -> Placed {
    (id(table, RowKey::new("", name.clone())), Held::Named(name.clone(), *row))
}

fn index_row(table: Cow<'static, str>, index: Index) -> Placed {
    (id(Table::Indexes, global(&table)), Held::TableIndex(table, index))
}

/// The rows of one of the tables that share one map: one, but for submissions, which are kept together.
fn other_rows(table: Table, key: &RowKey, row: &Arc<TableRow>) -> Vec<Placed> {
    if let Some(submissions) = row.submissions() {
        let one = |kept: &Submission| {
            let id = RowId { version: kept.version, ..id(table, key.clone()) };
            (id, Held::Submission(key.clone(), *kept))
        };
        return submissions.0.iter().map(one).collect();
    }
    // Only tokens are sorted by CreateIndex (state-rows.md 2).
    let create = row.token().map_or(Index(0), |token| token.indexes.create);
    vec![(RowId { create, ..id(table, key.clone()) }, Held::Other(key.clone(), row.clone()))]
}

/// Rows by name. There can be many, and what is put in order here are but references.
fn by_name<'s, R: 's>(rows: impl Iterator<Item = (&'s JobKey, R)>) -> impl Iterator<Item = (&'s JobKey, R)> {
    let mut rows: Vec<(&str, &str, &JobKey, R)> =
        rows.map(|(key, row)| (&*key.namespace, &*key.id, key, row)).collect();
    rows.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
    rows.into_iter().map(|(_, _, key, row)| (key, row))
}

/// Every row of a table, in Nomad's order.
pub fn all(table: Table, state: &State) -> Vec<Placed> {
    let mut rows: Vec<Placed> = match table {
        Table::Allocs => state.allocs().map(alloc_row).collect(),
        Table::Deployments => state.deployments().map(deployment_row).collect(),
        Table::Evals => state.evals().map(eval_row).collect(),
        Table::Indexes => state.table_indexes().iter().map(|(table, index)| index_row(table.clone(), *index)).collect(),
        Table::JobSummaries => by_name(state.summaries()).map(|(key, row)| summary_row(key, row)).collect(),
        Table::JobVersions => by_name(state.all_versions()).map(|(folded, row)| version_row(folded, row)).collect(),
        Table::Jobs => by_name(state.jobs().map(|row| (&row.key, row))).map(|(key, row)| job_row(key, row)).collect(),
        Table::Nodes => state.nodes().map(node_row).collect(),
        Table::PeriodicLaunches => state.launches().map(|(key, row)| launch_row(key, row)).collect(),
        Table::Namespaces | Table::NodePools => {
            let rows = if table == Table::Namespaces { state.namespaces() } else { state.node_pools() };
            rows.iter().map(|(name, row)| named_row(table, name, row)).collect()
        }
        shared => {
            let rows = shared.shared().into_iter().flat_map(|name| state.rows(name));
            rows.flat_map(|(key, row)| other_rows(table, key, row)).collect()
        }
    };
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    rows
}

/// About how many rows a table has: of submissions, of how many jobs there are some.
pub fn count(table: Table, state: &State) -> u64 {
    let rows = match table {
        Table::Allocs => state.allocs().count(),
        Table::Deployments => state.deployments().count(),
        Table::Evals => state.evals().count(),
        Table::Indexes => state.table_indexes().len(),
        Table::JobSummaries => state.summaries().count(),
        Table::JobVersions => state.all_versions().count(),
        Table::Jobs => state.jobs().count(),
        Table::Nodes => state.nodes().count(),
        Table::PeriodicLaunches => state.launches().count(),
        Table::Namespaces => state.namespaces().len(),
        Table::NodePools => state.node_pools().len(),
        shared => shared.shared().into_iter().flat_map(|name| state.rows(name)).count(),
    };
    rows as u64
}

/// A row before and after an entry, or a run of entries; at least one of the two is there.
#[derive(Clone, Debug)]
pub struct Touched {
    /// The row before; `None` where it was not there.
    pub before: Option<Placed>,
    /// The row after; `None` where it is gone. One that went and came again can stand at another place.
    pub after: Option<Placed>,
}

impl Touched {
    /// Which row it is: as it is after, or was before where it is gone.
    pub fn id(&self) -> Option<&RowId> {
        self.after.as_ref().or(self.before.as_ref()).map(|(id, _)| id)
    }

    /// The whole row before and after.
    ///
    /// # Errors
    /// When a body cannot be read again.
    pub fn build(&self, bodies: &dyn Bodies) -> Result<(Option<Object>, Option<Object>), RowError> {
        let built = |row: &Option<Placed>| row.as_ref().map(|(_, row)| row.build(bodies)).transpose();
        Ok((built(&self.before)?, built(&self.after)?))
    }
}

/// The table of a change's row.
fn table_of(change: &Change) -> Option<Table> {
    Some(match change {
        Change::Job { .. } => Table::Jobs,
        Change::Version { .. } => Table::JobVersions,
        Change::Summary { .. } => Table::JobSummaries,
        Change::Eval { .. } => Table::Evals,
        Change::Alloc { .. } => Table::Allocs,
        Change::Deployment { .. } => Table::Deployments,
        Change::Node { .. } => Table::Nodes,
        Change::Launch { .. } => Table::PeriodicLaunches,
        Change::Namespace { .. } => Table::Namespaces,
        Change::NodePool { .. } => Table::NodePools,
        Change::Row { table, .. } => return Table::of(*table),
        Change::TableIndex { .. } => Table::Indexes,
    })
}

/// A change's row before and after it.
fn of_change(change: &Change, state: &State) -> Vec<Touched> {
    let one = |before: Option<Placed>, after: Option<Placed>| vec![Touched { before, after }];
    match change {
        Change::Job { key, before } => {
            one(before.as_ref().map(|b| job_row(key, b)), state.job(key).map(|a| job_row(key, a)))
        }
        Change::Version { key, version, before } => {
            let after = state.versions(key).and_then(|rows| rows.get(*version));
            one(before.as_ref().map(|b| version_row(key, b)), after.map(|a| version_row(key, a)))
        }
        Change::Summary { key, before } => {
            one(before.as_ref().map(|b| summary_row(key, b)), state.summary(key).map(|a| summary_row(key, a)))
        }
        Change::Eval { id, before } => one(before.as_ref().map(eval_row), state.eval(id).map(eval_row)),
        Change::Alloc { id, before } => one(before.as_ref().map(alloc_row), state.alloc(id).map(alloc_row)),
        Change::Deployment { id, before } => {
            one(before.as_ref().map(deployment_row), state.deployment(id).map(deployment_row))
        }
        Change::Node { id, before } => one(before.as_ref().map(node_row), state.node(id).map(node_row)),
        Change::Launch { key, before } => {
            one(before.as_ref().map(|b| launch_row(key, b)), state.launch(key).map(|a| launch_row(key, a)))
        }
        Change::Namespace { name, before } => {
            let row = |row: &Named| named_row(Table::Namespaces, name, row);
            one(before.as_ref().map(row), state.namespaces().get(name).map(row))
        }
        Change::NodePool { name, before } => {
            let row = |row: &Named| named_row(Table::NodePools, name, row);
            one(before.as_ref().map(row), state.node_pools().get(name).map(row))
        }
        Change::Row { table, key, before } => of_other(*table, key, before.as_ref(), state.row(*table, key)),
        Change::TableIndex { table, before } => {
            let after = state.table_indexes().get(table);
            one(before.map(|b| index_row(table.clone(), b)), after.map(|a| index_row(table.clone(), *a)))
        }
    }
}

fn of_other(
    name: TableName,
    key: &RowKey,
    before: Option<&Arc<TableRow>>,
    after: Option<&Arc<TableRow>>,
) -> Vec<Touched> {
    let Some(table) = Table::of(name) else { return Vec::new() };
    let rows = |row: Option<&Arc<TableRow>>| row.map(|row| other_rows(table, key, row)).unwrap_or_default();
    let (before, mut after) = (rows(before), rows(after));
    let mut touched = Vec::new();
    for row in before {
        let same = after.iter().position(|a| a.0.key == row.0.key && a.0.version == row.0.version);
        touched.push(Touched { before: Some(row), after: same.map(|at| after.remove(at)) });
    }
    touched.extend(after.into_iter().map(|row| Touched { before: None, after: Some(row) }));
    touched
}

/// The rows that an entry touched, each once, in order of table and place, as they were before it and as they are in
/// `state`, which is that right after it. A touched row can be the same after as before.
pub fn touched(step: &Step, state: &State) -> Vec<Touched> {
    touched_in(Table::ALL, step, state)
}

/// As [`touched`], of these tables only.
pub fn touched_in(tables: &[Table], step: &Step, state: &State) -> Vec<Touched> {
    let mut seen = HashSet::new();
    let mut rows: Vec<Touched> = Vec::new();
    let wanted = |change: &&Change| table_of(change).is_some_and(|table| tables.contains(&table));
    for row in step.changes.iter().filter(wanted).flat_map(|change| of_change(change, state)) {
        // The first change of a row holds what it was before the entry.
        let is_new = row.id().is_some_and(|id| seen.insert((id.table, id.key.clone(), id.version)));
        if is_new {
            rows.push(row);
        }
    }
    rows.sort_by(|a, b| a.id().cmp(&b.id()));
    rows
}
