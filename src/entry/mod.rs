//! Entries: raft's envelope and Nomad's messages, from bytes to typed values that borrow from them.
//!
//! Knows the wire format and nothing of state.

pub mod body;
pub mod configuration;
pub mod content;
pub mod encode;
pub mod json;
pub mod message;
pub mod message_type;
pub mod msgpack;
pub mod raft_log;
pub mod time;
pub mod wire;
pub mod writer;

/// A raft command taken apart (fsm.md 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command<'a> {
    /// The message type, 0 to 127.
    pub kind: u8,
    /// True when a server that does not know the type may skip the entry; else it would crash.
    pub ignore_unknown: bool,
    /// The request, as msgpack.
    pub body: &'a [u8],
}

/// Takes the payload of a command entry apart; `None` when it is empty, which no Nomad writes.
pub fn split(data: &[u8]) -> Option<Command<'_>> {
    let (&head, body) = data.split_first()?;
    Some(Command { kind: head & 0x7f, ignore_unknown: head & 0x80 != 0, body })
}
