//! Entries: raft's envelope and Nomad's messages, from bytes to typed values that borrow from them.
//!
//! Knows the wire format and nothing of state.

pub mod msgpack;
pub mod time;
pub mod wire;
