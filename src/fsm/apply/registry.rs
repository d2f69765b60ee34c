//! Namespaces and node pools.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::Txn;
use super::super::outcome::{Outcome, Refusal};
use super::super::row::{Indexes, Named};
use super::super::table::TableName;
use super::Applied;
use crate::entry::body::misc::{NamespaceDelete, NamespaceUpsert, NodePoolDelete, NodePoolUpsert};

impl Txn<'_> {
    fn named(&self, rows: &BTreeMap<Arc<str>, Named>, name: &Arc<str>, at: u64) -> Named {
        let create = rows.get(name).map_or(self.index, |row| row.indexes.create);
        Named { indexes: Indexes { create, modify: self.index }, origin: Some(self.origin(at)) }
    }

    /// NamespaceUpsert (64).
    pub(super) fn namespace_upsert(&mut self, request: &NamespaceUpsert<'_>) -> Applied {
        for body in &request.namespaces {
            let name: Arc<str> = (*body.name).into();
            let row = self.named(self.state.namespaces(), &name, body.at);
            self.state.put_namespace(&name, Some(row));
            self.bump("namespaces");
        }
        Ok(Outcome::Applied)
    }

    /// NamespaceDelete (65): all or nothing; refusals were silent before #19609.
    pub(super) fn namespace_delete(&mut self, request: &NamespaceDelete<'_>) -> Applied {
        let result = self.atomically(|t| {
            for name in &request.namespaces {
                t.delete_namespace(name)?;
            }
            t.bump("namespaces");
            Ok(Outcome::Applied)
        });
        match result {
            Err(Refusal(why)) if !self.rules.namespace_delete_errors => Ok(Outcome::NoEffect(why)),
            other => other,
        }
    }

    fn delete_namespace(&mut self, name: &str) -> Result<(), Refusal> {
        let name: Arc<str> = name.into();
        if !self.state.namespaces().contains_key(&name) {
            if self.blind {
                return Ok(());
            }
            return Err(Refusal::new(format!("namespace {name:?} does not exist")));
        }
        if &*name == "default" {
            return Err(Refusal::new("the namespace \"default\" cannot be deleted"));
        }
        // By the stored status, which can be a stale one.
        let busy = self.state.jobs().filter(|j| j.key.namespace == name && j.status != "dead").map(|j| &j.key).min();
        if let Some(job) = busy {
            return Err(Refusal::new(format!("namespace {name:?} still has the job {:?}, which is not dead", job.id)));
        }
        let holds = |table| self.state.rows(table).any(|(key, _)| key.namespace == name);
        if let Some(table) = [TableName::CsiVolumes, TableName::Variables].into_iter().find(|t| holds(*t)) {
            return Err(Refusal::new(format!("namespace {name:?} still has rows in {}", table.name())));
        }
        self.state.put_namespace(&name, None);
        Ok(())
    }

    /// NodePoolUpsert (59).
    pub(super) fn node_pool_upsert(&mut self, request: &NodePoolUpsert<'_>) -> Applied {
        for body in &request.pools {
            let name: Arc<str> = (*body.name).into();
            let row = self.named(self.state.node_pools(), &name, body.at);
            self.state.put_node_pool(&name, Some(row));
            self.bump("node_pools");
        }
        Ok(Outcome::Applied)
    }

    /// NodePoolDelete (60): all or nothing. It does not ask for jobs or nodes in the pool.
    pub(super) fn node_pool_delete(&mut self, request: &NodePoolDelete<'_>) -> Applied {
        self.atomically(|t| {
            for name in &request.names {
                let name: Arc<str> = (**name).into();
                if matches!(&*name, "default" | "all") {
                    return Err(Refusal::new(format!("the node pool {name:?} is built in and cannot be deleted")));
                }
                if !t.state.node_pools().contains_key(&name) {
                    return Err(Refusal::new(format!("node pool {name:?} does not exist")));
                }
                t.state.put_node_pool(&name, None);
            }
            t.bump("node_pools");
            Ok(Outcome::Applied)
        })
    }
}
