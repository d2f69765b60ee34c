//! Service registrations (state-rows.md 8, rows 47 to 49 and A).

use super::super::Txn;
use super::super::id::Id;
use super::super::outcome::{Outcome, Refusal};
use super::super::row::Indexes;
use super::super::table::{RowKey, Service, TableName, TableRow};
use super::{Applied, or_default};
use crate::entry::body::service::{ServiceBody, ServiceDeleteById, ServiceDeleteByNode, ServiceUpsert};
use crate::entry::content::WithContent;

const TABLE: TableName = TableName::ServiceRegistrations;

impl Txn<'_> {
    /// ServiceRegistrationUpsert (47).
    pub(super) fn service_upsert(&mut self, request: &ServiceUpsert<'_>) -> Applied {
        if request.services.is_empty() {
            return Ok(Outcome::NoEffect("it registers no service".into()));
        }
        let mut changed = 0;
        for service in &request.services {
            let key = RowKey::new(&*service.body.namespace, &*service.body.id);
            let before = self.state.row(TABLE, &key).and_then(|r| r.service());
            if before.is_some_and(|b| b.content == service.content) {
                continue;
            }
            let create = before.map(|b| b.indexes.create);
            let row = self.service_row(service, self.written(create));
            self.put_row(TABLE, &key, row);
            changed += 1;
        }
        Ok(self.note_written("service_registrations", changed))
    }

    /// A registration's row from its body.
    pub(in super::super) fn service_row(&self, service: &WithContent<ServiceBody<'_>>, indexes: Indexes) -> TableRow {
        TableRow::Service(Service {
            node_id: Id::new(&service.body.node_id),
            alloc_id: Id::new(&service.body.alloc_id),
            content: service.content,
            indexes,
            origin: self.origin(service.body.at),
        })
    }

    /// ServiceRegistrationDeleteByID (48).
    pub(super) fn service_delete(&mut self, request: &ServiceDeleteById<'_>) -> Applied {
        let key = RowKey::new(or_default(&request.namespace), &*request.id);
        if !self.delete_row(TABLE, &key) && !self.blind {
            return Err(Refusal::new(format!("service registration {key} does not exist")));
        }
        self.bump("service_registrations");
        Ok(Outcome::Applied)
    }

    /// ServiceRegistrationDeleteByNodeID (49).
    pub(super) fn services_of_node_delete(&mut self, request: &ServiceDeleteByNode<'_>) -> Applied {
        let node = Id::new(&request.node_id);
        let keys: Vec<RowKey> = self
            .state
            .rows(TABLE)
            .filter(|(_, row)| row.service().is_some_and(|service| service.node_id == node))
            .map(|(key, _)| key.clone())
            .collect();
        if keys.is_empty() {
            return Ok(Outcome::NoEffect(format!("node {node} has no service registrations")));
        }
        self.delete_services(&keys);
        Ok(Outcome::Applied)
    }

    fn delete_services(&mut self, keys: &[RowKey]) {
        for key in keys {
            self.delete_row(TABLE, key);
        }
        self.bump("service_registrations");
    }

    /// An allocation that is over or deleted takes its registrations with it.
    pub(super) fn drop_services_of(&mut self, alloc: &Id) {
        if !self.rules.services_end_with_allocs {
            return;
        }
        let keys: Vec<RowKey> = self.state.services_of(alloc).cloned().collect();
        if !keys.is_empty() {
            self.delete_services(&keys);
        }
    }
}
