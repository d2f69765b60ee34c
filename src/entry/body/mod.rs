//! Request bodies, one file for each family, reduced to what the FSM looks at.
//!
//! Everything else that a body holds stays in the entry, and is read from there when a row or an
//! entry is shown.

pub mod acl;
pub mod alloc;
pub mod cluster;
pub mod deployment;
pub mod eval;
pub mod job;
pub mod misc;
pub mod node;
pub mod restart;
pub mod service;
pub mod snapshot;
pub mod task_events;
pub mod volume;

pub use job::Text;
