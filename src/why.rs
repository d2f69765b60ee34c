//! One entry explained: what it carried, who sent it, what became of it, which rows it changed.

use jiff::Timestamp;

use crate::entry::msgpack::Reader;
use crate::entry::split;
use crate::evidence::{LogType, Record};
use crate::fsm::outcome::{CountMove, Outcome};
use crate::fsm::state::State;
use crate::replay::{Replayed, Subscriber};
use crate::rows::held::{self, Touched};
use crate::rows::{Bodies, RowError, Table};
use crate::types::{Index, Term};

/// An entry and what it did.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Its index.
    pub index: Index,
    /// Its term.
    pub term: Term,
    /// raft's type of it.
    pub kind: LogType,
    /// Its payload.
    pub data: Vec<u8>,
    /// When it was appended, where the log knows it.
    pub appended_at: Option<Timestamp>,
    /// What became of it.
    pub outcome: Outcome,
    /// The reason for it, where there is one, and whether a server would have crashed.
    pub detail: Option<String>,
    /// The rows that it touched.
    pub touched: Vec<Touched>,
    /// The moves of parents' counters.
    pub moves: Vec<CountMove>,
}

impl Seen {
    /// The entry as it stands in the log.
    pub fn record(&self) -> Record<'_> {
        let Seen { index, term, kind, appended_at, .. } = *self;
        Record { index, term, kind, data: &self.data, appended_at }
    }
}

/// Keeps what one entry did.
#[derive(Debug)]
pub struct Watch {
    at: Index,
    /// The entry, once the replay came to it.
    pub seen: Option<Seen>,
}

impl Watch {
    /// Watches for the entry at that index.
    pub fn new(at: Index) -> Self {
        Watch { at, seen: None }
    }
}

impl Subscriber for Watch {
    fn entry(&mut self, entry: Replayed<'_>) {
        let Record { index, term, kind, data, appended_at } = *entry.record;
        if index != self.at {
            return;
        }
        self.seen = Some(Seen {
            index,
            term,
            kind,
            data: data.to_vec(),
            appended_at,
            outcome: entry.step.outcome.clone(),
            detail: entry.step.outcome.detail(entry.rules),
            touched: held::touched(entry.step, entry.state),
            moves: entry.step.moves.clone(),
        });
    }
}

/// Who sent an entry, as far as it and the state tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sender {
    /// An ACL token of the state.
    Token {
        /// Its accessor ID.
        accessor: String,
        /// Its name; can be empty.
        name: String,
    },
    /// A token that the state does not know: a workload's identity, the leader's own, or one that is gone.
    Unknown {
        /// The token, a secret.
        secret: String,
    },
}

/// The sender of a command, by the token that it carries. `None` where it carries none: without ACLs, and where the
/// server made the entry by itself.
///
/// # Errors
/// When a token's row cannot be read again.
pub fn sender(data: &[u8], state: &State, bodies: &dyn Bodies) -> Result<Option<Sender>, RowError> {
    let Some(secret) = token(data) else { return Ok(None) };
    Ok(Some(owner(&secret, state, bodies)?.unwrap_or(Sender::Unknown { secret })))
}

/// The token that a command carries, which is a secret.
pub fn token(data: &[u8]) -> Option<String> {
    split(data).and_then(|command| auth_token(command.body))
}

/// The ACL token of the state that has this secret.
///
/// # Errors
/// When a token's row cannot be read again.
pub fn owner(secret: &str, state: &State, bodies: &dyn Bodies) -> Result<Option<Sender>, RowError> {
    for (_, token) in held::all(Table::ACLTokens, state) {
        let row = token.build(bodies)?;
        if row.text("SecretID") == secret {
            return Ok(Some(Sender::Token {
                accessor: row.text("AccessorID").to_owned(),
                name: row.text("Name").to_owned(),
            }));
        }
    }
    Ok(None)
}

fn auth_token(body: &[u8]) -> Option<String> {
    let mut token = None;
    // A body that cannot be decoded has no sender either.
    let _ = Reader::new(body).fields(|key, r| match key {
        b"AuthToken" => {
            token = Some(r.text()?.into_owned());
            Ok(())
        }
        _ => r.skip(),
    });
    token.filter(|token| !token.is_empty())
}
