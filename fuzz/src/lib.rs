//! What is done with hostile bytes: one module for each kind of input, each with a function `run` that takes the bytes
//! and panics where something does not hold.
//!
//! The fuzz targets call these functions, and so does `tests/suite/fuzzed.rs`, which takes this room in by path.

pub mod apply;
pub mod archive;
pub mod bolt;
pub mod filter;
pub mod jq;
pub mod json;
pub mod msgpack;
pub mod snapshot;
pub mod wal;

mod look;

/// A target: the name of its corpus, and what it does with bytes.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: &[Target] = &[
    ("apply", apply::run),
    ("archive", archive::run),
    ("bolt", bolt::run),
    ("filter", filter::run),
    ("jq", jq::run),
    ("json", json::run),
    ("msgpack", msgpack::run),
    ("snapshot", snapshot::run),
    ("wal", wal::run),
];
