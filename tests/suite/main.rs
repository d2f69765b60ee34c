//! Every integration test, one module for each behaviour that it protects.
//!
//! One binary instead of many: each would link the whole program and SQLite again, and cargo runs binaries one after
//! another, so that the slowest test of each would be waited for.

mod audit_findings;
mod audit_mutations;
mod bad_input;
mod bombs;
#[cfg(unix)]
mod ci_docs;
mod cli_audit;
mod cli_export;
mod cli_info;
mod cli_ledger;
mod cli_logs;
mod cli_prove;
mod cli_questions;
mod cli_restarts;
mod cli_rules;
mod cli_state;
mod cli_timeline;
mod cli_usage;
mod committed;
mod common;
mod compare_servers;
mod costs;
mod deploy;
mod docs;
mod entry_bodies;
mod evidence_damage;
mod evidence_forms;
mod evidence_live;
#[cfg(target_os = "linux")]
mod evidence_memory;
mod evidence_open;
mod evidence_parcels;
mod evidence_raftdb;
mod evidence_tail;
mod evidence_timelines;
mod evidence_untouched;
mod evidence_wal_damage;
#[path = "../../fuzz/src/lib.rs"]
mod fuzz_targets;
mod fuzzed;
#[cfg(unix)]
mod help_examples;
mod investigation;
mod ledger_audit;
mod ledger_docs;
mod ledger_file;
mod ledger_kept;
mod ledger_killed;
mod ledger_rows;
#[cfg(feature = "parquet")]
mod parquet_fleet;
mod properties;
mod recorded_answers;
mod refusals;
mod replay_equals_nomad;
#[cfg(unix)]
mod report_browser;
mod report_page;
mod restart_plan;
mod restart_traces;
mod restored_snapshots;
mod salvage;
mod secrets_hidden;
mod state_rows;
mod support;
mod synth;
mod ten_mistakes;
#[cfg(unix)]
mod terminal;
#[cfg(unix)]
mod watch;
mod what_if;
