//! The state machine: `(state, entry, rules) -> step`. No clock, no files, no printing; replaying
//! twice gives the same.

pub mod compare;
pub mod csi;
pub mod differences;
pub mod id;
pub mod outcome;
pub mod restore;
pub mod row;
pub mod rules;
pub mod state;
pub mod table;

mod apply;
mod status;
mod summary;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::entry::message::Message;
use crate::entry::msgpack::Result as Decoded;
use crate::entry::{Command, split};
use crate::evidence::{LogType, Record};
use crate::types::Index;
use outcome::{Outcome, Step};
use row::{Indexes, Origin, Source};
use rules::Rules;
use state::State;
use table::{RowKey, TableName, TableRow};

/// A state with the rules that move it.
#[derive(Debug)]
pub struct Fsm {
    state: State,
    rules: Rules,
    blind: bool,
    /// The number of job restarts, where one was named.
    restart_type: Option<u8>,
}

impl Fsm {
    /// A server's FSM before its first entry.
    pub fn new(rules: Rules) -> Self {
        Fsm { state: State::new(rules.node_pools), rules, blind: false, restart_type: None }
    }

    /// An FSM that goes on from a state that a snapshot holds.
    pub fn from_state(rules: Rules, state: State) -> Self {
        Fsm { state, rules, blind: false, restart_type: None }
    }

    /// Puts another state in place of the one there is, which is returned.
    pub fn go_on_from(&mut self, state: State) -> State {
        std::mem::replace(&mut self.state, state)
    }

    /// Replays without a base: a namespace, node pool, evaluation or allocation that is missing is
    /// no reason to refuse an entry, since it may stand in what is not there (fsm.md 8).
    pub fn tolerate_missing(&mut self) {
        self.blind = true;
    }

    /// Takes commands of that message type for job restarts of the early design, whatever the rules
    /// have under it (`--message-type NUMBER=JobRestartRequestType`).
    pub fn name_restarts(&mut self, number: Option<u8>) {
        self.restart_type = number;
    }

    /// The message type that was named so.
    pub fn restart_type(&self) -> Option<u8> {
        self.restart_type
    }

    /// Reads entries as this FSM will apply them, on any thread.
    pub fn decoder(&self) -> Decoder {
        Decoder { restart_type: self.restart_type }
    }

    /// The state after the last applied entry.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The rules in force.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Applies one log entry. `message` is what [`Decoder::read`] made of it: reading is
    /// left to the caller, who may do it on another thread.
    pub fn apply(&mut self, record: &Record<'_>, message: Option<&Decoded<Message<'_>>>) -> Step {
        let outcome = match (record.kind, split(record.data), message) {
            (LogType::Command, Some(command), Some(message)) => self.command(record.index, command, message),
            (LogType::Command, ..) => Outcome::Empty,
            _ => Outcome::NotForFsm,
        };
        let (changes, moves) = self.state.take_journal();
        Step { outcome, changes, moves }
    }

    fn command(&mut self, index: Index, command: Command<'_>, message: &Decoded<Message<'_>>) -> Outcome {
        if !self.rules.knows_type(command.kind) && self.restart_type != Some(command.kind) {
            return Outcome::UnknownType { ignored: command.ignore_unknown };
        }
        match message {
            Ok(message) => {
                let source = Source::Entry(index);
                let state = &mut self.state;
                Txn { state, rules: &self.rules, index, source, start: 0, blind: self.blind }.message(message)
            }
            // What a server does not look at can't trouble it.
            Err(_) if self.rules.ignores_type(command.kind) => Outcome::NoEffect("servers ignore this type".into()),
            Err(error) => Outcome::Undecodable(*error),
        }
    }
}

/// Turns entries into messages as one FSM wants them.
#[derive(Clone, Copy, Debug)]
pub struct Decoder {
    restart_type: Option<u8>,
}

impl Decoder {
    /// The message of a command: [`Message::read`], save for named restarts. `None` for raft's own entries and for
    /// a command without a byte.
    ///
    /// # Errors
    /// As [`Message::read`].
    pub fn read<'a>(self, record: &Record<'a>) -> Option<Decoded<Message<'a>>> {
        match split(record.data) {
            _ if record.kind != LogType::Command => None,
            Some(command) if Some(command.kind) == self.restart_type => Message::read_restart(record.data),
            _ => Message::read(record.data),
        }
    }
}

/// One entry, or one record of a snapshot, at work on the state.
struct Txn<'s> {
    state: &'s mut State,
    rules: &'s Rules,
    index: Index,
    source: Source,
    /// Where the bytes that the message was read from begin in the source.
    start: u64,
    blind: bool,
}

impl Txn<'_> {
    /// Runs one transaction of the entry: an error undoes what it wrote and nothing else.
    fn atomically<T, E>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, E>) -> Result<T, E> {
        let mark = self.state.mark();
        let result = work(self);
        if result.is_err() {
            self.state.undo_to(mark);
        }
        result
    }

    /// The place of a value that stands at `offset` of the bytes that were read.
    fn origin(&self, offset: u64) -> Origin {
        Origin { source: self.source, offset: self.start + offset }
    }

    /// The indexes of a row that this entry writes, which replaces one that was made at `create`.
    fn written(&self, create: Option<Index>) -> Indexes {
        Indexes { create: create.unwrap_or(self.index), modify: self.index }
    }

    /// Writes a row of one of the tables beside jobs, evaluations, allocations, deployments and nodes.
    fn put_row(&mut self, table: TableName, key: &RowKey, row: TableRow) {
        self.state.put_row(table, key, Some(Arc::new(row)));
    }

    /// Deletes such a row; false when it was not there.
    fn delete_row(&mut self, table: TableName, key: &RowKey) -> bool {
        let there = self.state.row(table, key).is_some();
        if there {
            self.state.put_row(table, key, None);
        }
        there
    }

    /// Notes a write to a table.
    fn bump(&mut self, table: &'static str) {
        self.state.put_table_index(table.into(), Some(self.index));
    }
}
