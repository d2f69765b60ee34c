//! The examples that `--help` begins with do what they say: each is run, in a shell, on a log that has what they name.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::common::{fixture, run_to};
use crate::support::run::raftscope;

/// The examples at the top of a help text, and whether it says that there are three.
fn examples(help: &str) -> Vec<String> {
    let mut lines = help.lines();
    let first = lines.next().unwrap_or_default();
    assert!(["Examples:", "Three examples:"].contains(&first), "help begins with {first:?}");
    let mut commands: Vec<String> = Vec::new();
    for line in lines.take_while(|line| !line.is_empty()) {
        match commands.last_mut() {
            // The help breaks long lines between words.
            Some(open) if open.matches('\'').count() % 2 == 1 => *open += &format!(" {}", line.trim_start()),
            _ if line.starts_with("  raftscope ") => commands.push(line.trim_start().to_owned()),
            _ => {}
        }
    }
    // What stands behind two blanks says what the example is for.
    commands.iter().map(|line| line.split("  ").next().unwrap().to_owned()).collect()
}

/// A place with everything that the examples name.
fn scene(of: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    for folder in ["server", "bin", ".zfunc", ".config/fish/completions", ".local/share/bash-completion/completions"] {
        fs::create_dir_all(path(folder)).unwrap();
    }
    // `man -l -` shows what comes in; there may be no man here.
    fs::write(path("bin/man"), "#!/bin/sh\ncat >/dev/null\n").unwrap();
    fs::set_permissions(path("bin/man"), fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_raftscope"), path("bin/raftscope")).unwrap();
    if of == "restarts" {
        fs::create_dir_all(path("server/raft")).unwrap();
        fs::copy(fixture("real-2.0.5/s1/raft.db"), path("server/raft/raft.db")).unwrap();
        return dir;
    }
    // The parent of the investigation under the name that the examples have.
    let log = run_to(0, &["logs", "--unsafe-show-secrets", "--format", "ndjson", &fixture("horizontal_hey")]).stdout;
    let mut entries: Vec<serde_json::Value> =
        log.replace("horizontal_hey", "report").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    entries.iter_mut().for_each(|entry| entry["AppendedAt"] = "2026-11-30T14:05:00Z".into());
    let log: String = entries.iter().map(|entry| format!("{entry}\n")).collect();
    fs::write(path("server/raft"), log).unwrap();
    run_to(
        1,
        &["audit", "--write-baseline", path("known.txt").to_str().unwrap(), path("server/raft").to_str().unwrap()],
    );
    for server in ["s1", "s2", "s3"] {
        fs::create_dir_all(path(server).join("raft")).unwrap();
        fs::copy(fixture("healthy/raft.db"), path(server).join("raft/raft.db")).unwrap();
        let mut tar = Command::new("tar");
        tar.arg("-czf").arg(path(&format!("{server}.tar.gz"))).arg("-C").arg(dir.path()).arg(server);
        assert!(tar.status().unwrap().success());
    }
    dir
}

fn run_in(dir: &Path, line: &str) -> (i32, String) {
    let path = std::env::join_paths(
        [dir.join("bin")].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let mut command = Command::new("sh");
    command.arg("-c").arg(line).current_dir(dir).env("HOME", dir).env("PATH", path.unwrap());
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.code().unwrap_or(-1), text)
}

#[test]
fn help_begins_with_three_worked_examples_that_work() {
    let three = examples(&raftscope(["--help"]).expect_code(0).stdout);
    assert_eq!(three.len(), 3);
    let dir = scene("help");
    let told: Vec<(i32, String)> = three.iter().map(|line| run_in(dir.path(), line)).collect();
    assert!(told[0].0 == 1 && told[0].1.contains("Running of report is -1, from index 1609"), "{told:?}");
    assert!(told[1].0 == 0 && told[1].1.contains("report/periodic-1610940918"), "{}", told[1].1);
    assert!(told[2].0 == 0 && told[2].1.contains("\"JobSummaries\""), "{}", told[2].0);
}

#[test]
fn the_manual_has_the_examples_of_the_help() {
    for command in raftscope::cli::command().get_subcommands().map(clap::Command::get_name) {
        if command == "help" {
            continue;
        }
        let page = raftscope(["man", command]).expect_code(0).stdout;
        let (_, section) = page.split_once(".SH EXAMPLES\n.nf\n").unwrap_or_else(|| panic!("{command}: {page}"));
        let lines = section.strip_suffix(".fi\n").unwrap().lines();
        let plain = |line: &str| line.replace("\\&", "").replace("\\-", "-").replace("\\(aq", "'").replace("\\e", "\\");
        let shown: Vec<String> = lines.map(plain).collect();
        let help = raftscope::cli::command().find_subcommand(command).unwrap().get_before_help().unwrap().to_string();
        let told: Vec<&str> = help.lines().skip(1).map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
        assert_eq!(shown, told, "{command}");
        assert!(shown.len() >= 3, "{command}");
    }
}

#[test]
fn the_examples_of_every_command_work() {
    let help = raftscope(["--help"]).stdout;
    let commands = help.split("Commands:\n").nth(1).unwrap().lines().take_while(|line| line.starts_with("  "));
    let commands: Vec<&str> = commands
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert!(commands.len() > 15, "{commands:?}");
    let (one, other) = (scene("help"), scene("restarts"));
    for command in commands {
        let lines = examples(&raftscope([command, "--help"]).expect_code(0).stdout);
        assert!(lines.len() >= 3, "{command}: {lines:?}");
        for line in lines {
            // It ends on Ctrl-C only; its own tests run it.
            if command == "watch" {
                continue;
            }
            let dir = if command == "restarts" { other.path() } else { one.path() };
            let (code, text) = run_in(dir, &line);
            // Nothing found and nothing wrong are answers; a message that something cannot be is none.
            let answered = code == 0 || (code == 1 && ["audit", "diff", "compare", "find"].contains(&command));
            assert!(answered, "{line}\nends with {code}\n{}", text.chars().take(2000).collect::<String>());
        }
    }
}
