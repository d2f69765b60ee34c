//! Autopilot, scheduler configuration, cluster metadata, root keys, Vault and Consul accessors
//! (state-rows.md 6.5, 8).

use super::super::Txn;
use super::super::id::Word;
use super::super::outcome::{Outcome, Refusal};
use super::super::row::Indexes;
use super::super::table::{Cluster, Plain, RootKey, RowKey, Scheduler, TableName, TableRow, global};
use super::Applied;
use crate::entry::body::cluster::{Accessors, AutopilotSetConfig, ClusterMetadata, RootKeyBody, RootKeyDelete};
use crate::entry::body::misc::SchedulerSetConfig;
use crate::types::Index;

impl Txn<'_> {
    /// Whether a compare-and-set finds the index that it asks for; where there is no row it finds none.
    fn compares(stored: Option<Index>, wanted: u64) -> Result<(), Outcome> {
        match stored {
            Some(stored) if stored.0 == wanted => Ok(()),
            Some(stored) => Err(Outcome::NoEffect(format!("it asks for index {wanted}, stored is {stored}"))),
            None => Err(Outcome::NoEffect(format!("it asks for index {wanted}, nothing is stored"))),
        }
    }

    /// AutopilotSetConfig (24). No index of a table moves.
    pub(super) fn autopilot(&mut self, request: &AutopilotSetConfig<'_>) -> Applied {
        let key = global("");
        let before = self.state.row(TableName::AutopilotConfig, &key).and_then(|r| r.plain()).map(|r| r.indexes);
        if request.cas
            && let Err(outcome) = Self::compares(before.map(|b| b.modify), request.config.modify_index)
        {
            return Ok(outcome);
        }
        let row = Plain { indexes: self.written(before.map(|b| b.create)), origin: self.origin(request.config.at) };
        self.put_row(TableName::AutopilotConfig, &key, TableRow::Plain(row));
        Ok(Outcome::Applied)
    }

    /// SchedulerConfig (30). No index of a table moves.
    pub(super) fn scheduler_config(&mut self, request: &SchedulerSetConfig<'_>) -> Applied {
        let key = global("");
        let before = self.state.row(TableName::SchedulerConfig, &key).and_then(|r| r.scheduler()).map(|r| r.indexes);
        if request.cas
            && let Err(outcome) = Self::compares(before.map(|b| b.modify), request.config.modify_index)
        {
            return Ok(outcome);
        }
        let row = Scheduler {
            pause_eval_broker: request.config.pause_eval_broker,
            indexes: self.written(before.map(|b| b.create)),
            origin: self.origin(request.config.at),
        };
        self.put_row(TableName::SchedulerConfig, &key, TableRow::Scheduler(row));
        Ok(Outcome::Applied)
    }

    /// ClusterMetadata (32). The ID of a cluster never changes.
    pub(super) fn cluster_metadata(&mut self, body: &ClusterMetadata<'_>) -> Applied {
        let key = global("");
        let before = self.state.row(TableName::ClusterMetadata, &key).and_then(|r| r.cluster());
        if let Some(before) = before.filter(|b| !b.cluster_id.is_empty() && *b.cluster_id != *body.cluster_id) {
            return Err(Refusal::new(format!(
                "the cluster's ID is {}, which {} may not replace",
                before.cluster_id, body.cluster_id
            )));
        }
        let row = Cluster { cluster_id: (*body.cluster_id).into(), origin: self.origin(body.at) };
        self.put_row(TableName::ClusterMetadata, &key, TableRow::Cluster(row));
        Ok(Outcome::Applied)
    }

    fn root_keys_index(&self) -> &'static str {
        if self.rules.wrapped_root_keys { "root_keys" } else { "root_key_meta" }
    }

    /// RootKeyMetaUpsert (51) and WrappedRootKeysUpsert (62). A key that becomes active moves the others on.
    pub(super) fn root_key_upsert(&mut self, body: Option<&RootKeyBody<'_>>, rekey: bool) -> Applied {
        let Some(body) = body else { return Err(Refusal::new("the request has no key")) };
        let key = global(&body.key_id);
        let before = self.state.row(TableName::RootKeys, &key).and_then(|r| r.root_key()).cloned();
        let active = body.state == "active";
        let rotates = active && before.as_ref().is_none_or(|b| b.state != "active");
        if rekey && !rotates {
            return Err(Refusal::new("a rekey needs the new key to become active"));
        }
        if rotates {
            self.retire_root_keys(rekey);
        }
        let indexes = self.written(before.as_ref().map(|b| b.indexes.create));
        let mut row = self.root_key_row(body, indexes);
        row.created = before.map_or(row.created, |b| b.created);
        self.put_row(TableName::RootKeys, &key, TableRow::RootKey(row));
        self.bump(self.root_keys_index());
        Ok(Outcome::Applied)
    }

    /// A key's row from its body.
    pub(in super::super) fn root_key_row(&self, body: &RootKeyBody<'_>, indexes: Indexes) -> RootKey {
        let origin = self.origin(body.at);
        RootKey { state: Word::new(&body.state), created: origin, indexes, origin }
    }

    fn retire_root_keys(&mut self, rekey: bool) {
        let retired = |state: &Word| match state.as_str() {
            "active" | "inactive" if rekey => Some("rekeying"),
            "active" => Some("inactive"),
            _ => None,
        };
        let changed: Vec<(RowKey, RootKey)> = self
            .state
            .rows(TableName::RootKeys)
            .filter_map(|(key, row)| {
                let row = row.root_key()?;
                let state = Word::new(retired(&row.state)?);
                let indexes = Indexes { modify: self.index, ..row.indexes };
                Some((key.clone(), RootKey { state, indexes, ..row.clone() }))
            })
            .collect();
        for (key, row) in changed {
            self.put_row(TableName::RootKeys, &key, TableRow::RootKey(row));
        }
    }

    /// RootKeyMetaDelete, WrappedRootKeysDelete (52).
    pub(super) fn root_key_delete(&mut self, request: &RootKeyDelete<'_>) -> Applied {
        if !self.delete_row(TableName::RootKeys, &global(&request.key_id)) {
            return Ok(Outcome::NoEffect(format!("key {} does not exist", request.key_id)));
        }
        self.bump(self.root_keys_index());
        Ok(Outcome::Applied)
    }

    /// VaultAccessorRegister (11) and ServiceIdentityAccessorRegister (33).
    pub(super) fn accessors_register(&mut self, table: TableName, request: &Accessors<'_>) -> Applied {
        if self.rules.accessors_ignored {
            return Ok(Outcome::NoEffect("servers ignore this type since 1.10".into()));
        }
        for body in &request.accessors {
            let row = Plain { indexes: self.written(None), origin: self.origin(body.at) };
            self.put_row(table, &accessor_key(table, body), TableRow::Plain(row));
        }
        self.bump(accessor_index(table));
        Ok(Outcome::Applied)
    }

    /// VaultAccessorDeregister (12) and ServiceIdentityAccessorDeregister (34): all or nothing.
    pub(super) fn accessors_deregister(&mut self, table: TableName, request: &Accessors<'_>) -> Applied {
        if self.rules.accessors_ignored {
            return Ok(Outcome::NoEffect("servers ignore this type since 1.10".into()));
        }
        self.atomically(|t| {
            for body in &request.accessors {
                let key = accessor_key(table, body);
                if !t.delete_row(table, &key) && !t.blind {
                    return Err(Refusal::new(format!("accessor {} is not among {}", key.id, table.name())));
                }
            }
            t.bump(accessor_index(table));
            Ok(Outcome::Applied)
        })
    }
}

/// The key of an accessor's row.
pub(in super::super) fn accessor_key(table: TableName, body: &crate::entry::body::cluster::AccessorBody<'_>) -> RowKey {
    global(if table == TableName::VaultAccessors { &body.accessor } else { &body.accessor_id })
}

fn accessor_index(table: TableName) -> &'static str {
    if table == TableName::VaultAccessors { "vault_accessors" } else { "si_token_accessors" }
}
