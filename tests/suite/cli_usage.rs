//! What the command line says to those who mistype it, and the commands that need no evidence.

use crate::common::refused;
use assert_cmd::Command;
use predicates::prelude::*;

fn raftscope(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("raftscope").unwrap();
    command.args(args);
    command
}

#[test]
fn a_mistyped_command_is_told_its_likeness() {
    refused(&["completion", "bash"], &["completion", "`completions`"]);
    refused(&["frobnicate"], &["no command `frobnicate`", "completions"]);
    refused(&["./some/where"], &["the command comes first"]);
}

#[test]
fn a_mistyped_option_or_value_is_told_its_likeness() {
    refused(&["completions", "bsh"], &["`bsh`", "`bash`"]);
    refused(&["completions", "bash", "--nonsense"], &["raftscope completions", "--nonsense", "--help"]);
    refused(&["completions"], &["SHELL", "raftscope completions --help"]);
    refused(&["man", "completion"], &["`completions`"]);
}

#[test]
fn without_a_command_the_help_is_shown_and_the_code_is_2() {
    raftscope(&[]).assert().code(2).stderr(predicate::str::contains("Usage:"));
}

#[test]
fn help_starts_with_worked_examples() {
    raftscope(&["--help"]).assert().success().stdout(predicate::str::starts_with("Three examples:"));
    raftscope(&["-help"]).assert().success().stdout(predicate::str::starts_with("Three examples:"));
    raftscope(&["--version"]).assert().success().stdout(predicate::str::starts_with("raftscope "));
}

#[test]
fn completions_and_manual_are_printed() {
    for shell in ["bash", "zsh", "fish"] {
        raftscope(&["completions", shell]).assert().success().stdout(predicate::str::contains("raftscope"));
    }
    raftscope(&["man"]).assert().success().stdout(predicate::str::contains(".TH"));
    raftscope(&["man", "completions"]).assert().success().stdout(predicate::str::contains("raftscope\\-completions"));
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_ends_quietly_with_success() {
    use std::process::{Command, Stdio};
    let mut child = Command::new(assert_cmd::cargo::cargo_bin("raftscope"))
        .args(["completions", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stderr, b"");
}
