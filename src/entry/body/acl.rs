//! ACL requests: policies, tokens, roles, auth methods, binding rules, one-time tokens (state-rows.md 6.3, 6.4).

use super::job::Text;
use crate::entry::content::WithContent;
use crate::entry::time::GoTime;
use crate::entry::wire::wire_struct;

wire_struct! {
    /// A policy.
    PolicyBody {
        /// Its name.
        name: Text<'a> = "Name",
        /// In a snapshot: the entry that made it.
        create_index: u64 = "CreateIndex",
        /// In a snapshot: the entry that changed it last.
        modify_index: u64 = "ModifyIndex",
    }
    /// ACLPolicyUpsertRequest (19).
    PolicyUpsert {
        /// The policies.
        policies: Vec<PolicyBody<'a>> = "Policies",
    }
    /// ACLPolicyDeleteRequest (20).
    PolicyDelete {
        /// Their names.
        names: Vec<Text<'a>> = "Names",
    }
    /// A token.
    TokenBody {
        /// Its public ID.
        accessor_id: Text<'a> = "AccessorID",
        /// In a snapshot: the entry that made it.
        create_index: u64 = "CreateIndex",
        /// In a snapshot: the entry that changed it last.
        modify_index: u64 = "ModifyIndex",
    }
    /// ACLTokenUpsertRequest (21).
    TokenUpsert {
        /// The tokens.
        tokens: Vec<TokenBody<'a>> = "Tokens",
    }
    /// ACLTokenDeleteRequest (22).
    TokenDelete {
        /// Their public IDs.
        accessor_ids: Vec<Text<'a>> = "AccessorIDs",
    }
    /// ACLTokenBootstrapRequest (23).
    TokenBootstrap {
        /// The first management token.
        token: Option<TokenBody<'a>> = "Token",
        /// The index of an earlier bootstrap, which this one may replace.
        reset_index: u64 = "ResetIndex",
    }
    /// A name with an ID, as roles link policies.
    LinkBody {
        /// The policy.
        name: Text<'a> = "Name",
    }
    /// A role.
    RoleBody {
        /// Its ID.
        id: Text<'a> = "ID",
        /// Its name, unique.
        name: Text<'a> = "Name",
        /// Its policies.
        policies: Vec<LinkBody<'a>> = "Policies",
        /// In a snapshot: the entry that made it.
        create_index: u64 = "CreateIndex",
        /// In a snapshot: the entry that changed it last.
        modify_index: u64 = "ModifyIndex",
    }
    /// ACLRolesUpsertRequest (53).
    RoleUpsert {
        /// The roles.
        roles: Vec<WithContent<RoleBody<'a>>> = "ACLRoles",
        /// Policies that do not exist are no reason to refuse it.
        allow_missing_policies: bool = "AllowMissingPolicies",
    }
    /// ACLRolesDeleteByIDRequest (54).
    RoleDelete {
        /// Their IDs.
        ids: Vec<Text<'a>> = "ACLRoleIDs",
    }
    /// An auth method.
    AuthMethodBody {
        /// Its name.
        name: Text<'a> = "Name",
        /// `OIDC` or `JWT`.
        kind: Text<'a> = "Type",
        /// The one that logins of its type use when they name none.
        default: bool = "Default",
        /// In a snapshot: the entry that made it.
        create_index: u64 = "CreateIndex",
        /// In a snapshot: the entry that changed it last.
        modify_index: u64 = "ModifyIndex",
    }
    /// ACLAuthMethodUpsertRequest (55).
    AuthMethodUpsert {
        /// The methods.
        methods: Vec<WithContent<AuthMethodBody<'a>>> = "AuthMethods",
    }
    /// ACLAuthMethodDeleteRequest (56).
    AuthMethodDelete {
        /// Their names.
        names: Vec<Text<'a>> = "Names",
    }
    /// A binding rule.
    BindingRuleBody {
        /// Its ID.
        id: Text<'a> = "ID",
        /// The auth method it belongs to.
        auth_method: Text<'a> = "AuthMethod",
        /// In a snapshot: the entry that made it.
        create_index: u64 = "CreateIndex",
        /// In a snapshot: the entry that changed it last.
        modify_index: u64 = "ModifyIndex",
    }
    /// ACLBindingRulesUpsertRequest (57).
    BindingRuleUpsert {
        /// The rules.
        rules: Vec<WithContent<BindingRuleBody<'a>>> = "ACLBindingRules",
        /// An auth method that does not exist is no reason to refuse it.
        allow_missing_auth_methods: bool = "AllowMissingAuthMethods",
    }
    /// ACLBindingRulesDeleteRequest (58).
    BindingRuleDelete {
        /// Their IDs.
        ids: Vec<Text<'a>> = "ACLBindingRuleIDs",
    }
    /// OneTimeToken (44).
    OneTimeToken {
        /// The token that it stands for.
        accessor_id: Text<'a> = "AccessorID",
        /// When it ends.
        expires_at: GoTime = "ExpiresAt",
    }
    /// OneTimeTokenDeleteRequest (45).
    OneTimeTokenDelete {
        /// The tokens that they stand for.
        accessor_ids: Vec<Text<'a>> = "AccessorIDs",
    }
    /// OneTimeTokenExpireRequest (46).
    OneTimeTokenExpire {
        /// Those that end before go.
        timestamp: GoTime = "Timestamp",
    }
}
