//! Writing. Each `put` replaces a row, keeps the indexes right and journals what was there; the journal undoes.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;
use std::sync::Arc;

use super::cell::{Cell, Refers};
use super::{Map, State, Versions, fold};
use crate::fsm::id::Id;
use crate::fsm::outcome::{Change, CountMove};
use crate::fsm::row::{Alloc, Deployment, Eval, Job, Launch, Named, Node, Summary};
use crate::fsm::table::{RowKey, TableName, TableRow};
use crate::types::{Index, JobKey};

impl State {
    fn cell(&mut self, key: &JobKey) -> &mut Cell {
        match self.cells.entry(key.clone()) {
            Entry::Occupied(cell) => cell.into_mut(),
            Entry::Vacant(place) => {
                if let Some(folded) = self.folded.get_mut() {
                    folded.entry(fold(key)).or_default().push(key.id.clone());
                }
                place.insert(Cell::default())
            }
        }
    }

    fn drop_empty(&mut self, key: &JobKey) {
        if self.cells.get(key).is_some_and(Cell::is_empty) {
            self.cells.remove(key);
            let Some(names) = self.folded.get_mut() else { return };
            let folded = fold(key);
            if let Some(ids) = names.get_mut(&folded) {
                ids.retain(|id| *id != key.id);
                if ids.is_empty() {
                    names.remove(&folded);
                }
            }
        }
    }

    /// Replaces a job's row.
    pub(in crate::fsm) fn put_job(&mut self, key: &JobKey, row: Option<Arc<Job>>) {
        let after = row.clone();
        let is_gone = row.is_none();
        let before = std::mem::replace(&mut self.cell(key).job, row);
        let (old_parent, parent) =
            (before.as_ref().map(|job| &job.parent_id), after.as_ref().map(|job| &job.parent_id));
        if old_parent.filter(|id| !id.is_empty()) != parent.filter(|id| !id.is_empty()) {
            if let Some(old) = before.as_ref().and_then(|job| job.parent()) {
                self.cell(&old).children.remove(&key.id);
                self.drop_empty(&old);
            }
            if let Some(new) = after.and_then(|job| job.parent()) {
                self.cell(&new).children.insert(key.id.clone());
            }
        }
        if is_gone {
            self.drop_empty(key);
        }
        self.journal.push(Change::Job { key: key.clone(), before });
    }

    /// Replaces one version's row; `folded` is the name with the ID in lower case.
    pub(in crate::fsm) fn put_version(&mut self, folded: &JobKey, version: u64, row: Option<Arc<Job>>) {
        let before = match row {
            Some(row) => self.versions.entry(folded.clone()).or_default().insert(version, row),
            None => {
                let before = self.versions.get_mut(folded).and_then(|rows| rows.remove(version));
                if self.versions.get(folded).is_some_and(Versions::is_empty) {
                    self.versions.remove(folded);
                }
                before
            }
        };
        self.journal.push(Change::Version { key: folded.clone(), version, before });
    }

    /// Replaces a summary.
    pub(in crate::fsm) fn put_summary(&mut self, key: &JobKey, row: Option<Arc<Summary>>) {
        let is_gone = row.is_none();
        let before = std::mem::replace(&mut self.cell(key).summary, row);
        if is_gone {
            self.drop_empty(key);
        }
        self.journal.push(Change::Summary { key: key.clone(), before });
    }

    /// Replaces an evaluation.
    pub(in crate::fsm) fn put_eval(&mut self, id: &Id, row: Option<Arc<Eval>>) {
        let before = match row.clone() {
            Some(row) => self.evals.insert(id.clone(), row),
            None => self.evals.remove(id),
        };
        let blocked =
            |row: &Option<Arc<Eval>>| row.as_ref().filter(|row| row.status == "blocked").map(|r| fold(&r.job));
        if let Some(folded) = blocked(&before)
            && let Some(ids) = self.blocked.get_mut(&folded)
        {
            ids.remove(id);
            if ids.is_empty() {
                self.blocked.remove(&folded);
            }
        }
        if let Some(folded) = blocked(&row) {
            self.blocked.entry(folded).or_default().insert(id.clone());
        }
        self.refer(id, before.as_deref(), row.as_deref());
        self.journal.push(Change::Eval { id: id.clone(), before });
    }

    /// Replaces an allocation.
    pub(in crate::fsm) fn put_alloc(&mut self, id: &Id, row: Option<Arc<Alloc>>) {
        let before = match row.clone() {
            Some(row) => self.allocs.insert(id.clone(), row),
            None => self.allocs.remove(id),
        };
        self.refer(id, before.as_deref(), row.as_deref());
        self.journal.push(Change::Alloc { id: id.clone(), before });
    }

    /// Replaces a deployment.
    pub(in crate::fsm) fn put_deployment(&mut self, id: &Id, row: Option<Arc<Deployment>>) {
        let before = match row.clone() {
            Some(row) => self.deployments.insert(id.clone(), row),
            None => self.deployments.remove(id),
        };
        self.refer(id, before.as_deref(), row.as_deref());
        self.journal.push(Change::Deployment { id: id.clone(), before });
    }

    /// A row that refers to a job was replaced.
    fn refer<R: Refers>(&mut self, id: &Id, before: Option<&R>, after: Option<&R>) {
        match (before, after) {
            (Some(old), Some(new)) if old.job() == new.job() => {
                if old.is_live() != new.is_live() {
                    R::among(self.cell(new.job())).turn(old.is_live(), new.is_live());
                }
            }
            _ => {
                if let Some(new) = after {
                    R::among(self.cell(new.job())).insert(id, new.is_live());
                }
                if let Some(old) = before {
                    R::among(self.cell(old.job())).remove(id, old.is_live());
                    self.drop_empty(old.job());
                }
            }
        }
    }

    /// Replaces a node.
    pub(in crate::fsm) fn put_node(&mut self, id: &Id, row: Option<Arc<Node>>) {
        let before = match row {
            Some(row) => self.nodes.insert(id.clone(), row),
            None => self.nodes.remove(id),
        };
        self.journal.push(Change::Node { id: id.clone(), before });
    }

    /// Replaces a launch.
    pub(in crate::fsm) fn put_launch(&mut self, key: &JobKey, row: Option<Launch>) {
        let before = replace(&mut self.launches, key.clone(), row);
        self.journal.push(Change::Launch { key: key.clone(), before });
    }

    /// Replaces a namespace.
    pub(in crate::fsm) fn put_namespace(&mut self, name: &Arc<str>, row: Option<Named>) {
        let before = replace(&mut self.namespaces, name.clone(), row);
        self.journal.push(Change::Namespace { name: name.clone(), before });
    }

    /// Replaces a node pool.
    pub(in crate::fsm) fn put_node_pool(&mut self, name: &Arc<str>, row: Option<Named>) {
        let before = replace(&mut self.node_pools, name.clone(), row);
        self.journal.push(Change::NodePool { name: name.clone(), before });
    }

    /// Replaces a row of one of the other tables.
    pub(in crate::fsm) fn put_row(&mut self, table: TableName, key: &RowKey, row: Option<Arc<TableRow>>) {
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
    pub(in crate::fsm) fn put_table_index(&mut self, table: Cow<'static, str>, index: Option<Index>) {
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
    pub(in crate::fsm) fn note_move(&mut self, count_move: CountMove) {
        self.moves.push(count_move);
    }

    // The journal.

    /// A point in the journal to come back to.
    pub(in crate::fsm) fn mark(&self) -> (usize, usize) {
        (self.journal.len(), self.moves.len())
    }

    /// Undoes every write since a mark.
    pub(in crate::fsm) fn undo_to(&mut self, (mark, moves): (usize, usize)) {
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
    pub(in crate::fsm) fn take_journal(&mut self) -> (Vec<Change>, Vec<CountMove>) {
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
