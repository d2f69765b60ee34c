//! Evidence is never touched (contract.md 6): content, names, times and modes are the same after every command, and a
//! read-only directory is enough.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::cases::fixtures;
use crate::support::run::{raftscope, stamps};
use tempfile::{TempDir, tempdir};

/// Every command that reads evidence and ends by itself: what stands before the path.
fn commands(elsewhere: &Path) -> Vec<Vec<String>> {
    let out = |name: &str| elsewhere.join(name).to_str().unwrap().to_owned();
    let lines = [
        "info".into(),
        "info --types --salvage".into(),
        "logs --format ndjson".into(),
        "logs --resolve --filter parent=stock_sync".into(),
        "logs --salvage".into(),
        "timeline --format ndjson".into(),
        "state".into(),
        "state --last-index 30 --format table".into(),
        "audit --exit-zero".into(),
        "audit --exit-zero --rules 1.0.4 --all --prove --preview-reconcile".into(),
        "audit --exit-zero --format json --progress always --committed-only".into(),
        format!("audit --exit-zero --db {}", out("ledger.db")),
        "diff 20 30".into(),
        "diff --rules 1.0.3 --rules 2.0.5".into(),
        "why 30".into(),
        "blame stock_sync".into(),
        "find .Jobs[].Stop".into(),
        "restarts".into(),
        format!("export -o {}", out("export.db")),
        format!("export --format csv -o {}", out("tables")),
        format!("report -o {}", out("page.html")),
    ];
    let words = |line: &String| line.split(' ').map(str::to_owned).collect();
    lines.iter().map(words).collect()
}

/// A tree with a log in every form that evidence takes, and the paths of these.
fn tree() -> (TempDir, Vec<PathBuf>) {
    let dir = tempdir().unwrap();
    let raft = dir.path().join("bolt/server/raft");
    copy(&fixtures().join("compacted_with_overlap"), &raft, &["raft.db", "snapshots"]);
    fs::write(raft.join("version"), "3").unwrap();
    fs::write(dir.path().join("bolt/server/node-id"), "8beab86a-50b2-f8ef-dd7b-1c81ab8d2d16").unwrap();
    let both = dir.path().join("both");
    copy(&fixtures().join("wal_and_stale_db"), &both, &["raft.db", "wal"]);
    let (parcel, backup) = (dir.path().join("parcel.tar.gz"), dir.path().join("backup.snap"));
    fs::copy(fixtures().join("real-2.0.5/s2.tar.gz"), &parcel).unwrap();
    fs::copy(fixtures().join("real-1.0.4/backup.snap"), &backup).unwrap();
    let printed = dir.path().join("logs.json");
    let log = raftscope(["logs", "--json", fixtures().join("healthy").to_str().unwrap()]);
    fs::write(&printed, log.expect_code(0).stdout).unwrap();
    let state = fs::read_dir(raft.join("snapshots")).unwrap().next().unwrap().unwrap().path().join("state.bin");
    let forms = vec![
        dir.path().join("bolt"),
        raft.join("raft.db"),
        state,
        both.clone(),
        both.join("wal"),
        parcel,
        backup,
        printed,
    ];
    (dir, forms)
}

fn copy(from: &Path, to: &Path, names: &[&str]) {
    fs::create_dir_all(to).unwrap();
    for name in names {
        let (from, to) = (from.join(name), to.join(name));
        if from.is_dir() {
            let inner: Vec<_> = fs::read_dir(&from).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            copy(&from, &to, &inner.iter().map(|name| name.to_str().unwrap()).collect::<Vec<_>>());
        } else {
            fs::copy(from, to).unwrap();
        }
    }
}

/// Runs every command on a form. What it answers is held elsewhere: that it does answer is enough here.
fn run_all(path: &Path) {
    let elsewhere = tempdir().unwrap();
    for arguments in commands(elsewhere.path()) {
        let output = raftscope(arguments.iter().map(String::as_str).chain([path.to_str().unwrap()]));
        // 3: a state is not in the evidence, or none is proven to be committed. Not every form has the job.
        let asked = arguments[0] == "blame" && output.stderr.contains("stock_sync");
        assert!([0, 1, 3].contains(&output.code) || asked, "{}\n{}", output.line, output.stderr);
    }
}

/// Watches a form until it has looked once and once more.
#[cfg(unix)]
fn watch(path: &Path) {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    let mut child = Command::new(env!("CARGO_BIN_EXE_raftscope"))
        .args(["watch", "--interval", "20ms", path.to_str().unwrap()])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(stderr.any(|line| line.unwrap().contains("waiting for new entries")));
    std::thread::sleep(std::time::Duration::from_millis(100));
    crate::support::run::interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[cfg(not(unix))]
fn watch(_: &Path) {}

#[test]
fn no_command_changes_content_names_times_or_modes() {
    let (dir, forms) = tree();
    let before = stamps(dir.path());
    for path in &forms {
        run_all(path);
        assert!(stamps(dir.path()) == before, "changed by reading {}", path.display());
    }
    watch(&forms[0]);
    watch(&dir.path().join("both/wal"));
    let several = ["bolt", "bolt/server/raft/raft.db", "both"].map(|name| dir.path().join(name));
    for command in [&["compare"][..], &["audit", "--exit-zero"]] {
        let paths = several[..2].iter().map(|path| path.to_str().unwrap());
        raftscope(command.iter().copied().chain(paths));
        raftscope(command.iter().copied().chain([several[0].to_str().unwrap(), several[2].to_str().unwrap()]));
    }
    assert!(stamps(dir.path()) == before, "changed by watching or comparing");
}

#[test]
fn a_kept_ledger_and_a_page_are_written_where_it_is_told_and_nothing_else_is() {
    let (dir, forms) = tree();
    let elsewhere = tempdir().unwrap();
    let before = stamps(dir.path());
    for (option, name) in [("--db", "ledger.db"), ("--write-baseline", "baseline")] {
        let written = elsewhere.path().join(name);
        let arguments = ["audit", "--exit-zero", option, written.to_str().unwrap(), forms[0].to_str().unwrap()];
        raftscope(arguments).expect_code(0);
        assert!(written.is_file());
    }
    assert_eq!(stamps(elsewhere.path()).len(), 3, "the folder and two files");
    assert!(stamps(dir.path()) == before);
}

#[cfg(unix)]
#[test]
fn a_read_only_directory_is_enough() {
    use std::os::unix::fs::PermissionsExt;

    let (dir, forms) = tree();
    let set = |mode: u32, file_mode: u32| {
        for path in stamps(dir.path()).keys() {
            let mode = if path.is_dir() { mode } else { file_mode };
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    set(0o555, 0o444);
    let before = stamps(dir.path());
    for path in [&forms[0], &forms[3], &forms[5]] {
        run_all(path);
    }
    watch(&forms[0]);
    assert!(stamps(dir.path()) == before);
    set(0o755, 0o644);
}
