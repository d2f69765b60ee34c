//! ACL policies, tokens, roles, auth methods, binding rules, one-time tokens (state-rows.md 6.3, 6.4, 8).

use std::sync::Arc;

use super::super::Txn;
use super::super::outcome::{Outcome, Refusal};
use super::super::row::Indexes;
use super::super::table::{
    AuthMethod, BindingRule, OneTimeToken, Plain, Role, RowKey, TableName, TableRow, Token, global,
};
use super::Applied;
use crate::entry::body::Text;
use crate::entry::body::acl::{
    self, AuthMethodBody, AuthMethodUpsert, BindingRuleBody, BindingRuleUpsert, OneTimeTokenExpire, PolicyUpsert,
    RoleBody, RoleUpsert, TokenBody, TokenBootstrap, TokenUpsert,
};
use crate::entry::content::WithContent;
use crate::entry::time::GoTime;

const BOOTSTRAP: &str = "acl_token_bootstrap";

impl Txn<'_> {
    /// ACLPolicyUpsert (19).
    pub(super) fn acl_policy_upsert(&mut self, request: &PolicyUpsert<'_>) -> Applied {
        for body in &request.policies {
            let key = global(&body.name);
            let create =
                self.state.row(TableName::AclPolicies, &key).and_then(|r| r.policy()).map(|r| r.indexes.create);
            let row = Plain { indexes: self.written(create), origin: self.origin(body.at) };
            self.put_row(TableName::AclPolicies, &key, TableRow::Policy(row));
        }
        self.bump("acl_policy");
        Ok(Outcome::Applied)
    }

    /// ACLPolicyDelete (20) and ACLTokenDelete (22): what is not there is passed over, and the table's index moves
    /// all the same.
    pub(super) fn acl_delete(&mut self, table: TableName, index: &'static str, ids: &[Text<'_>]) -> Applied {
        let deleted = ids.iter().filter(|id| self.delete_row(table, &global(id))).count();
        self.bump(index);
        Ok(match deleted {
            0 => Outcome::NoEffect("none of what it names exists".into()),
            _ => Outcome::Applied,
        })
    }

    /// ACLTokenUpsert (21).
    pub(super) fn acl_token_upsert(&mut self, request: &TokenUpsert<'_>) -> Applied {
        for body in &request.tokens {
            self.put_token(body);
        }
        self.bump("acl_token");
        Ok(Outcome::Applied)
    }

    fn put_token(&mut self, body: &TokenBody<'_>) {
        let key = global(&body.accessor_id);
        let origin = self.origin(body.at);
        let before = self.state.row(TableName::AclTokens, &key).and_then(|r| r.token()).copied();
        let row = Token {
            indexes: self.written(before.map(|b| b.indexes.create)),
            origin,
            identity: before.map_or(origin, |b| b.identity),
        };
        self.put_row(TableName::AclTokens, &key, TableRow::Token(row));
    }

    /// ACLTokenBootstrap (23).
    pub(super) fn acl_bootstrap(&mut self, request: &TokenBootstrap<'_>) -> Applied {
        let Some(body) = &request.token else { return Err(Refusal::new("the request has no token")) };
        if let Some(done) = self.state.table_indexes().get(BOOTSTRAP) {
            if request.reset_index == 0 {
                return Err(Refusal::new(format!("ACL bootstrap was done at index {done} already")));
            }
            if request.reset_index != done.0 {
                return Err(Refusal::new(format!(
                    "ACL bootstrap was done at index {done}, not at {}, which the request would reset",
                    request.reset_index
                )));
            }
        }
        let origin = self.origin(body.at);
        let row = Token { indexes: self.written(None), origin, identity: origin };
        self.put_row(TableName::AclTokens, &global(&body.accessor_id), TableRow::Token(row));
        self.bump("acl_token");
        self.bump(BOOTSTRAP);
        Ok(Outcome::Applied)
    }

    /// ACLRolesUpsert (53): all or nothing.
    pub(super) fn acl_role_upsert(&mut self, request: &RoleUpsert<'_>) -> Applied {
        self.atomically(|t| {
            let mut changed = 0;
            for role in &request.roles {
                changed += usize::from(t.put_role(role, request.allow_missing_policies)?);
            }
            Ok(t.note_written("acl_roles", changed))
        })
    }

    fn put_role(&mut self, role: &WithContent<RoleBody<'_>>, allow_missing: bool) -> Result<bool, Refusal> {
        let body = &role.body;
        let missing = body.policies.iter().find(|p| self.state.row(TableName::AclPolicies, &global(&p.name)).is_none());
        if let Some(policy) = missing.filter(|_| !allow_missing && !self.blind) {
            return Err(Refusal::new(format!("role {:?} links policy {:?}, which is missing", body.name, policy.name)));
        }
        let key = global(&body.id);
        let namesake = self
            .state
            .rows(TableName::AclRoles)
            .find(|(other, row)| **other != key && row.role().is_some_and(|row| *row.name == *body.name));
        if let Some((other, _)) = namesake {
            return Err(Refusal::new(format!("role {} has the name {:?} already", other.id, body.name)));
        }
        let before = self.state.row(TableName::AclRoles, &key).and_then(|r| r.role());
        if before.is_some_and(|b| b.content == role.content) {
            return Ok(false);
        }
        let create = before.map(|b| b.indexes.create);
        let row = self.role_row(role, self.written(create));
        self.put_row(TableName::AclRoles, &key, row);
        Ok(true)
    }

    /// A role's row from its body.
    pub(in super::super) fn role_row(&self, role: &WithContent<RoleBody<'_>>, indexes: Indexes) -> TableRow {
        TableRow::Role(Role {
            name: (*role.body.name).into(),
            content: role.content,
            indexes,
            origin: self.origin(role.body.at),
        })
    }

    /// ACLAuthMethodsUpsert (55): all or nothing.
    pub(super) fn acl_auth_method_upsert(&mut self, request: &AuthMethodUpsert<'_>) -> Applied {
        // Which method is the default of its type is looked up as it was before the entry.
        let defaults: Vec<(Arc<str>, Arc<str>)> = self
            .state
            .rows(TableName::AclAuthMethods)
            .filter_map(|(key, row)| Some((key.id.clone(), row.auth_method().filter(|m| m.default)?.kind.clone())))
            .collect();
        self.atomically(|t| {
            let mut changed = 0;
            for method in &request.methods {
                let body = &method.body;
                let other = defaults.iter().find(|(name, kind)| **kind == *body.kind && **name != *body.name);
                if let Some((other, kind)) = other.filter(|_| body.default) {
                    return Err(Refusal::new(format!("{other:?} is the default auth method of type {kind} already")));
                }
                changed += usize::from(t.put_auth_method(method));
            }
            Ok(t.note_written("acl_auth_methods", changed))
        })
    }

    fn put_auth_method(&mut self, method: &WithContent<AuthMethodBody<'_>>) -> bool {
        let key = global(&method.body.name);
        let before = self.state.row(TableName::AclAuthMethods, &key).and_then(|r| r.auth_method());
        if before.is_some_and(|b| b.content == method.content) {
            return false;
        }
        let create = before.map(|b| b.indexes.create);
        let row = self.auth_method_row(method, self.written(create));
        self.put_row(TableName::AclAuthMethods, &key, row);
        true
    }

    /// An auth method's row from its body.
    pub(in super::super) fn auth_method_row(
        &self,
        method: &WithContent<AuthMethodBody<'_>>,
        indexes: Indexes,
    ) -> TableRow {
        TableRow::AuthMethod(AuthMethod {
            kind: (*method.body.kind).into(),
            default: method.body.default,
            content: method.content,
            indexes,
            origin: self.origin(method.body.at),
        })
    }

    /// ACLBindingRulesUpsert (57): all or nothing.
    pub(super) fn acl_binding_rule_upsert(&mut self, request: &BindingRuleUpsert<'_>) -> Applied {
        self.atomically(|t| {
            let mut changed = 0;
            for rule in &request.rules {
                let body = &rule.body;
                let method = global(&body.auth_method);
                let known = t.state.row(TableName::AclAuthMethods, &method).is_some();
                if !known && !request.allow_missing_auth_methods && !t.blind {
                    return Err(Refusal::new(format!("auth method {:?} does not exist", body.auth_method)));
                }
                changed += usize::from(t.put_binding_rule(rule));
            }
            Ok(t.note_written("acl_binding_rules", changed))
        })
    }

    fn put_binding_rule(&mut self, rule: &WithContent<BindingRuleBody<'_>>) -> bool {
        let key = global(&rule.body.id);
        let before = self.state.row(TableName::AclBindingRules, &key).and_then(|r| r.binding_rule()).copied();
        if before.is_some_and(|b| b.content == rule.content) {
            return false;
        }
        let row = self.binding_rule_row(rule, self.written(before.map(|b| b.indexes.create)));
        self.put_row(TableName::AclBindingRules, &key, row);
        true
    }

    /// A binding rule's row from its body.
    pub(in super::super) fn binding_rule_row(
        &self,
        rule: &WithContent<BindingRuleBody<'_>>,
        indexes: Indexes,
    ) -> TableRow {
        TableRow::BindingRule(BindingRule { content: rule.content, indexes, origin: self.origin(rule.body.at) })
    }

    /// ACLRolesDeleteByID (54), ACLAuthMethodsDelete (56), ACLBindingRulesDelete (58): all or nothing.
    pub(super) fn acl_delete_known(&mut self, table: TableName, index: &'static str, ids: &[Text<'_>]) -> Applied {
        self.atomically(|t| {
            for id in ids {
                if !t.delete_row(table, &global(id)) && !t.blind {
                    return Err(Refusal::new(format!("{id:?} is not among {}", table.name())));
                }
            }
            t.bump(index);
            Ok(Outcome::Applied)
        })
    }

    /// Moves a table's index where rows were written, and says so.
    pub(super) fn note_written(&mut self, index: &'static str, changed: usize) -> Outcome {
        if changed == 0 {
            return Outcome::NoEffect("everything it carries stands so already".into());
        }
        self.bump(index);
        Outcome::Applied
    }

    /// OneTimeTokenUpsert (44).
    pub(super) fn one_time_token_upsert(&mut self, body: &acl::OneTimeToken<'_>) -> Applied {
        if body.expires_at.is_zero() {
            return Err(Refusal::new("a one-time token must have an end"));
        }
        let indexes = self.written(None);
        let row = OneTimeToken { expires_at: body.expires_at, indexes, origin: self.origin(body.at) };
        self.put_row(TableName::OneTimeTokens, &global(&body.accessor_id), TableRow::OneTimeToken(row));
        self.bump("one_time_token");
        Ok(Outcome::Applied)
    }

    /// OneTimeTokenDelete (45).
    pub(super) fn one_time_token_delete(&mut self, ids: &[Text<'_>]) -> Applied {
        let keys: Vec<RowKey> = ids.iter().map(|id| global(id)).collect();
        Ok(self.delete_one_time_tokens(&keys))
    }

    /// OneTimeTokenExpire (46).
    pub(super) fn one_time_token_expire(&mut self, request: &OneTimeTokenExpire<'_>) -> Applied {
        let is_over = |ends: GoTime| ends <= request.timestamp;
        let keys: Vec<RowKey> = self
            .state
            .rows(TableName::OneTimeTokens)
            .filter(|(_, row)| row.one_time_token().is_some_and(|token| is_over(token.expires_at)))
            .map(|(key, _)| key.clone())
            .collect();
        Ok(self.delete_one_time_tokens(&keys))
    }

    fn delete_one_time_tokens(&mut self, keys: &[RowKey]) -> Outcome {
        let deleted = keys.iter().filter(|key| self.delete_row(TableName::OneTimeTokens, key)).count();
        if deleted == 0 {
            return Outcome::NoEffect("no one-time token goes".into());
        }
        self.bump("one_time_token");
        Outcome::Applied
    }
}
