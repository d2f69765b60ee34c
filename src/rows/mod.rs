//! Rows of the state as `nomad operator raft state` prints them, rebuilt from the entries that supplied them.

pub mod shape;
pub mod value;
