//! raftscope: replay and forensics for the raft data of HashiCorp Nomad servers.
//!
//! Data flows one way:
//!
//! ```text
//! evidence --> entry --> fsm --> change --> ledger --> audit, timeline, state, …
//! (bytes)     (typed)   (pure)   (facts)   (SQLite)    (questions)
//! ```
//!
//! `docs/architecture.md` tells what lives where and why.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod audit;
pub mod auto;
pub mod base;
pub mod blame;
pub mod cli;
pub mod committed;
pub mod compare;
pub mod diff;
pub mod entry;
pub mod error;
pub mod evidence;
pub mod exit;
pub mod export;
pub mod filter;
pub mod find;
pub mod fsm;
pub mod jq;
pub mod ledger;
pub mod net;
pub mod notes;
mod pack;
pub mod parting;
pub mod progress;
pub mod redact;
pub mod render;
pub mod replay;
pub mod report;
pub mod restarts;
pub mod rows;
pub mod start;
pub mod suggest;
pub mod timeline;
pub mod types;
pub mod whatif;
pub mod why;
