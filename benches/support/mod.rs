//! The log that the benches measure on.

#[path = "../../tests/suite/support/synth/mod.rs"]
pub mod synth;

use std::fs;
use std::path::{Path, PathBuf};

use synth::bolt::Layout;
use synth::history::{History, Plot};

/// A log of `RAFTSCOPE_BENCH_ENTRIES` made-up entries, or of `default`; made if need be, and kept below `target/` for
/// the next run. `RAFTSCOPE_BENCH_DB=path/to/raft.db` takes that one instead.
pub fn log(default: u64) -> PathBuf {
    if let Some(path) = std::env::var_os("RAFTSCOPE_BENCH_DB") {
        return path.into();
    }
    let entries = number("RAFTSCOPE_BENCH_ENTRIES", default);
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("bench-{entries}"));
    let path = dir.join("raft.db");
    if !path.exists() {
        fs::create_dir_all(&dir).unwrap();
        let unfinished = dir.join("unfinished");
        synth::write_bolt(&unfinished, Layout::default(), &mut History::new(Plot::default()), entries).unwrap();
        fs::rename(unfinished, &path).unwrap();
    }
    path
}

/// A number out of the environment.
pub fn number(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text}: a number is needed")),
        Err(_) => default,
    }
}
