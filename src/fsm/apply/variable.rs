//! Variables and what a namespace uses of them (fsm.md 1, type 50).

use super::super::Txn;
use super::super::outcome::{Outcome, Refusal};
use super::super::row::Indexes;
use super::super::table::{Quota, RowKey, TableName, TableRow, Variable, global};
use super::Applied;
use crate::entry::body::cluster::{VarApplyState, VariableBody};

/// A conflict: the request's sender is told, the state stays.
type Conflict = Outcome;

impl Txn<'_> {
    /// VarApplyState (50). A conflict is an answer, not an error.
    pub(super) fn var_apply_state(&mut self, request: &VarApplyState<'_>) -> Applied {
        let Some(body) = &request.var else { return Err(Refusal::new("the request has no variable")) };
        let key = RowKey::new(&*body.namespace, &*body.path);
        let before = self.state.row(TableName::Variables, &key).and_then(|r| r.variable()).cloned();
        let result = match &*request.op {
            "set" => self.var_set(&key, body, before),
            "cas" => compare(body, before.as_ref()).and_then(|()| self.var_set(&key, body, before)),
            "delete" => self.var_delete(&key, body, before),
            "delete-cas" => compare(body, before.as_ref()).and_then(|()| self.var_delete(&key, body, before)),
            "lock-acquire" => self.var_lock(&key, body, before),
            "lock-release" => self.var_unlock(&key, body, before),
            other => return Err(Refusal::new(format!("{other:?} is no operation on variables"))),
        };
        Ok(match result {
            Ok(()) => {
                self.bump("variables");
                Outcome::Applied
            }
            Err(conflict) => conflict,
        })
    }

    /// A variable's row from its body.
    pub(in super::super) fn variable_row(&self, body: &VariableBody<'_>, indexes: Indexes) -> Variable {
        let origin = self.origin(body.at);
        Variable {
            size: body.data.0,
            lock_id: body.lock.as_ref().map_or("", |lock| &lock.id).into(),
            lock: body.lock.as_ref().map(|_| origin),
            created: origin,
            indexes,
            origin,
        }
    }

    fn var_set(&mut self, key: &RowKey, body: &VariableBody<'_>, before: Option<Variable>) -> Result<(), Conflict> {
        let mut row = self.variable_row(body, self.written(before.as_ref().map(|b| b.indexes.create)));
        if let Some(before) = before {
            not_locked_by_another(&before, &row.lock_id)?;
            row.created = before.created;
            self.use_bytes(key, row.size - before.size, true);
        } else {
            self.use_bytes(key, row.size, true);
        }
        self.put_row(TableName::Variables, key, TableRow::Variable(row));
        Ok(())
    }

    fn var_delete(&mut self, key: &RowKey, body: &VariableBody<'_>, before: Option<Variable>) -> Result<(), Conflict> {
        let Some(before) = before else {
            return Err(Outcome::NoEffect(format!("variable {key} does not exist")));
        };
        not_locked_by_another(&before, body.lock.as_ref().map_or("", |lock| &lock.id))?;
        self.use_bytes(key, -before.size, false);
        self.delete_row(TableName::Variables, key);
        Ok(())
    }

    /// Takes the lock; without new data the variable's own stays.
    fn var_lock(&mut self, key: &RowKey, body: &VariableBody<'_>, before: Option<Variable>) -> Result<(), Conflict> {
        let before = match before {
            Some(before) if body.data.0 == 0 => before,
            before => return self.var_set(key, body, before),
        };
        let fresh = self.variable_row(body, self.written(Some(before.indexes.create)));
        not_locked_by_another(&before, &fresh.lock_id)?;
        let row = Variable { lock_id: fresh.lock_id, lock: fresh.lock, indexes: fresh.indexes, ..before };
        self.put_row(TableName::Variables, key, TableRow::Variable(row));
        Ok(())
    }

    fn var_unlock(&mut self, key: &RowKey, body: &VariableBody<'_>, before: Option<Variable>) -> Result<(), Conflict> {
        let Some(before) = before else {
            return Err(Outcome::NoEffect(format!("variable {key} does not exist")));
        };
        if before.lock_id.is_empty() {
            return Err(Outcome::NoEffect(format!("variable {key} holds no lock")));
        }
        not_locked_by_another(&before, body.lock.as_ref().map_or("", |lock| &lock.id))?;
        let indexes = self.written(Some(before.indexes.create));
        let row = Variable { lock_id: "".into(), lock: None, indexes, ..before };
        self.put_row(TableName::Variables, key, TableRow::Variable(row));
        Ok(())
    }

    /// Adds to what the namespace uses, never below zero. A delete makes no row.
    fn use_bytes(&mut self, key: &RowKey, change: i64, make: bool) {
        let key = global(&key.namespace);
        let before = self.state.row(TableName::VariablesQuotas, &key).and_then(|r| r.quota()).copied();
        if before.is_none() && !make {
            return;
        }
        let size = before.map_or(0, |b| b.size).saturating_add(change).max(0);
        let indexes = self.written(before.map(|b| b.indexes.create));
        self.put_row(TableName::VariablesQuotas, &key, TableRow::Quota(Quota { size, indexes }));
    }
}

/// The index that a compare-and-set asks for must be the stored one; 0 asks for none to be stored.
fn compare(body: &VariableBody<'_>, before: Option<&Variable>) -> Result<(), Conflict> {
    let stored = before.map_or(0, |b| b.indexes.modify.0);
    if body.modify_index == stored {
        return Ok(());
    }
    Err(Outcome::NoEffect(format!("it asks for index {}, stored is {stored}", body.modify_index)))
}

fn not_locked_by_another(before: &Variable, lock_id: &str) -> Result<(), Conflict> {
    if before.lock_id.is_empty() || *before.lock_id == *lock_id {
        return Ok(());
    }
    Err(Outcome::NoEffect("another holds the variable's lock".into()))
}
