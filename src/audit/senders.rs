//! Who sent a guilty entry: the ACL token that it carries, by its name or accessor ID (contract.md 3, `cause.by`).

use std::collections::HashMap;
use std::sync::Arc;

use super::finding::Cause;
use crate::pack::pack;
use crate::replay::Replayed;
use crate::rows::Bodies;
use crate::types::Index;
use crate::why::{self, Sender};

/// The table whose index moves with every change to a token.
const TOKENS: &str = "acl_token";

/// Who sent an entry.
#[derive(Clone)]
pub(super) struct By {
    /// The token's accessor ID.
    accessor: Arc<str>,
    /// The token's name; can be empty.
    name: Arc<str>,
}

pack! { By { accessor, name } }

impl By {
    /// Puts it into the cause that it is about.
    pub(super) fn tell(&self, cause: &mut Cause) {
        let By { accessor, name } = self;
        if name.is_empty() {
            cause.by = Some(accessor.clone());
        } else {
            cause.by = Some(name.clone());
            cause.detail += &format!(" It was sent with the ACL token {name:?} (accessor {accessor}).");
        }
    }
}

/// Looks tokens up among those that the state holds at an entry. Without [`Bodies`] nobody is known.
#[derive(Default)]
pub(super) struct Senders<'b> {
    bodies: Option<&'b dyn Bodies>,
    /// By token: one pipeline sends a thousand entries, and a token's row is no faster read than an entry.
    known: HashMap<String, Option<By>>,
    /// The index of the table that `known` is about.
    at: Option<Index>,
}

impl<'b> Senders<'b> {
    /// Reads the rows of tokens from `bodies`.
    pub(super) fn out_of(bodies: &'b dyn Bodies) -> Self {
        Senders { bodies: Some(bodies), ..Senders::default() }
    }

    /// The owner of the token that the entry carries. `None` where the entry carries none, where
    /// the state at the entry does not know it, and where its row cannot be read.
    pub(super) fn of(&mut self, entry: &Replayed<'_>) -> Option<By> {
        let bodies = self.bodies?;
        let secret = why::token(entry.record.data)?;
        let at = entry.state.table_indexes().get(TOKENS).copied();
        if self.at != at {
            self.known.clear();
            self.at = at;
        }
        if let Some(known) = self.known.get(&secret) {
            return known.clone();
        }
        let by = match why::owner(&secret, entry.state, bodies) {
            Ok(Some(Sender::Token { accessor, name })) => Some(By { accessor: accessor.into(), name: name.into() }),
            _ => None,
        };
        self.known.insert(secret, by.clone());
        by
    }
}
