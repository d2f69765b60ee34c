//! Evidence is never touched (contract.md 6): content, names, times and modes are the same after every command, and a
//! read-only directory is enough.

use std::fs;
use std::path::Path;

use crate::support::cases::fixtures;
use crate::support::run::{raftscope, stamps};
use tempfile::{TempDir, tempdir};

/// Every command that reads evidence.
const COMMANDS: [&[&str]; 9] = [
    &["info"],
    &["info", "--types"],
    &["logs", "--format", "ndjson"],
    &["logs", "--resolve", "--filter", "parent=nightly_rollup"],
    &["timeline", "--format", "ndjson"],
    &["state"],
    &["audit", "--exit-zero"],
    &["audit", "--exit-zero", "--rules", "1.0.4", "--all"],
    &["audit", "--exit-zero", "--format", "json", "--progress", "always"],
];

/// A data dir as a server has it, from one case.
fn data_dir(case: &str) -> TempDir {
    let dir = tempdir().unwrap();
    let raft = dir.path().join("server/raft");
    fs::create_dir_all(&raft).unwrap();
    fs::copy(fixtures().join(case).join("raft.db"), raft.join("raft.db")).unwrap();
    fs::write(raft.join("version"), "3").unwrap();
    fs::write(dir.path().join("server/node-id"), "8beab86a-50b2-f8ef-dd7b-1c81ab8d2d16").unwrap();
    dir
}

fn run_all(path: &Path) {
    for arguments in COMMANDS {
        let output = raftscope(arguments.iter().copied().chain([path.to_str().unwrap()]));
        assert_eq!(output.code, 0, "{}\n{}", output.line, output.stderr);
    }
}

#[test]
fn no_command_changes_content_names_times_or_modes() {
    let dir = data_dir("healthy");
    let before = stamps(dir.path());
    let raft = dir.path().join("server/raft");
    for path in [dir.path(), &dir.path().join("server"), &raft, &raft.join("raft.db")] {
        run_all(path);
        assert!(stamps(dir.path()) == before, "changed by reading {}", path.display());
    }
}

#[test]
fn a_ledger_is_kept_where_it_is_told_and_nothing_else_is_written() {
    let dir = data_dir("healthy");
    let elsewhere = tempdir().unwrap();
    let before = stamps(dir.path());
    let ledger = elsewhere.path().join("ledger.db");
    let arguments = ["audit", "--db", ledger.to_str().unwrap(), dir.path().to_str().unwrap()];
    raftscope(arguments).expect_code(0);
    assert!(ledger.is_file());
    assert!(stamps(dir.path()) == before);
}

#[cfg(unix)]
#[test]
fn a_read_only_directory_is_enough() {
    use std::os::unix::fs::PermissionsExt;

    let dir = data_dir("healthy");
    let set = |mode: u32, file_mode: u32| {
        for path in stamps(dir.path()).keys() {
            let mode = if path.is_dir() { mode } else { file_mode };
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    set(0o555, 0o444);
    let before = stamps(dir.path());
    run_all(dir.path());
    assert!(stamps(dir.path()) == before);
    set(0o755, 0o644);
}
