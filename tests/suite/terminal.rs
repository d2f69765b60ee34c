//! On a terminal: tables that fit, colours that say nothing alone, a pager for what is long, and names that do nothing.

use std::process::{Command, Stdio};

use unicode_width::UnicodeWidthStr;

use crate::common::{fixture, run};
use crate::report_page::log_of;

/// What a terminal of that size shows of a command line; `None`, with a word, where no terminal can be made.
fn shown(columns: u32, rows: u32, settings: &[(&str, &str)], arguments: &[&str]) -> Option<String> {
    let quoted: Vec<String> = arguments.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
    let line =
        format!("stty cols {columns} rows {rows}; exec '{}' {}", env!("CARGO_BIN_EXE_raftscope"), quoted.join(" "));
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).stdin(Stdio::null());
    for setting in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "PAGER", "RAFTSCOPE_PAGER", "LESS"] {
        command.env_remove(setting);
    }
    command.env("TERM", "xterm-256color").env("SHELL", "/bin/sh").env("PAGER", "cat").envs(settings.iter().copied());
    match command.output() {
        Ok(output) if cfg!(target_os = "linux") => {
            Some(String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n"))
        }
        _ => {
            eprintln!("SKIPPED: no terminal can be made here (`script` of util-linux)");
            None
        }
    }
}

/// The text without escape codes.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\x1b[") {
        out += before;
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        rest = rest.get(1..).unwrap_or_default();
    }
    out + rest
}

/// Commands that print tables, each with more than a few rows.
fn tables() -> Vec<Vec<String>> {
    let (hey, real) = (fixture("horizontal_hey"), fixture("real-2.0.5/s1"));
    let line = |words: &[&str], path: &str| words.iter().chain(&[path]).map(|word| (*word).to_owned()).collect();
    vec![
        line(&["audit", "--all"], &hey),
        line(&["audit", "--all"], &real),
        line(&["timeline", "--filter", "index=1500..1700"], &hey),
        line(&["timeline"], &real),
        line(&["logs", "--limit", "1500"], &hey),
        line(&["logs"], &real),
        line(&["restarts"], &real),
        line(&["restarts", "--single"], &real),
        line(&["info", "--types"], &hey),
        line(&["why", "1609"], &hey),
        line(&["diff", "1608", "1614"], &hey),
        line(&["blame", "horizontal_hey"], &hey),
        line(&["state", "--format", "table", "--tables", "Jobs,JobSummaries,Allocs"], &real),
        line(&["rules", "1.0.3"], "2.0.5"),
    ]
}

#[test]
fn tables_fit_at_80_and_at_200_columns() {
    let mut wide = Vec::new();
    for columns in [80, 200] {
        for words in tables() {
            // Notes are sentences, which the terminal breaks.
            let words: Vec<&str> = words.iter().map(String::as_str).chain(["--quiet"]).collect();
            let Some(text) = shown(columns, 50, &[], &words) else { return };
            assert!(text.lines().count() > 2, "{words:?}: {text}");
            for line in plain(&text).lines() {
                // A path that is longer than the terminal is not broken, so that it can be copied.
                if line.width() > columns as usize && line.trim().contains(' ') {
                    wide.push(format!("{words:?} at {columns}: {} columns: {line}", line.width()));
                }
            }
        }
    }
    assert!(wide.is_empty(), "{}", wide.join("\n"));
}

#[test]
fn colour_says_nothing_alone_and_can_be_had_or_not() {
    let path = fixture("horizontal_hey");
    for words in [&["audit", &path][..], &["timeline", "--filter", "index=1600..1620", &path], &["why", "1609", &path]]
    {
        let Some(coloured) = shown(100, 60, &[], words) else { return };
        assert!(coloured.contains("\x1b["), "{words:?}");
        let without = shown(100, 60, &[("NO_COLOR", "1")], words).unwrap();
        assert!(!without.contains('\x1b'), "{words:?}");
        assert_eq!(plain(&coloured), without, "{words:?}: the same words with and without");
        assert!(!shown(100, 60, &[("TERM", "dumb")], words).unwrap().contains('\x1b'));
        assert!(!shown(100, 60, &[], &[&["--color", "never"][..], words].concat()).unwrap().contains("\x1b[1;31"));
    }
    let piped = |settings: &[(&str, &str)], more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_raftscope"));
        command.args(["audit", &path]).args(more).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        let output = command.envs(settings.iter().copied()).output().unwrap();
        String::from_utf8(output.stdout).unwrap().contains('\x1b')
    };
    assert!(!piped(&[], &[]));
    assert!(piped(&[("CLICOLOR_FORCE", "1")], &[]));
    assert!(!piped(&[("CLICOLOR_FORCE", "0")], &[]));
    assert!(!piped(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], &[]));
    assert!(!piped(&[("CLICOLOR_FORCE", "1")], &["--color", "never"]));
    assert!(piped(&[("NO_COLOR", "1")], &["--color", "always"]));
}

#[test]
fn only_what_is_longer_than_the_terminal_goes_through_the_pager() {
    let path = fixture("horizontal_hey");
    let long = ["timeline", "--quiet", "--filter", "job=horizontal_hey", &path];
    let pager = [("PAGER", "sed 's/^/paged: /'")];
    let Some(text) = shown(120, 24, &pager, &long) else { return };
    assert!(text.lines().count() > 80 && text.lines().all(|line| line.starts_with("paged: ")), "{text}");
    let straight = |rows: u32, settings: &[(&str, &str)], words: &[&str]| {
        let text = shown(120, rows, settings, words).unwrap();
        assert!(!text.is_empty() && !text.contains("paged: "), "{words:?}: {text}");
    };
    straight(100, &pager, &long);
    straight(24, &pager, &[&long[..], &["--no-pager"]].concat());
    straight(24, &[("PAGER", "sed 's/^/paged: /'"), ("RAFTSCOPE_PAGER", "")], &long);
    straight(24, &[("PAGER", "cat")], &long);
    straight(24, &pager, &["why", "1561", &path]);
    // A pager that is left early ends the program quietly, and what was to be said comes behind it.
    let text = shown(120, 24, &[("PAGER", "head -n 3; echo left")], &["logs", &path]).unwrap();
    assert!(text.lines().count() <= 5 && text.trim_end().ends_with("left"), "{text}");
    let mistaken = ["timeline", "--filter", "job=horizontal_hey", "--filter", "job=horizontal_hye", &path];
    let text = shown(120, 24, &pager, &mistaken).unwrap();
    assert!(plain(text.lines().last().unwrap()).starts_with("warning: --filter job=horizontal_hye"), "{text}");
    // Where there is no terminal there is no pager.
    let mut command = Command::new(env!("CARGO_BIN_EXE_raftscope"));
    let output = command.args(long).env("PAGER", "sed 's/^/paged: /'").output().unwrap();
    assert!(!String::from_utf8(output.stdout).unwrap().contains("paged: "));
}

#[test]
fn a_hostile_name_is_made_visible_by_every_command() {
    let name = "report\u{1b}[2J\u{202e}gnp\u{200b}\u{7}\r\n";
    let (_dir, path) = log_of(name);
    let commands: [&[&str]; 10] = [
        &["audit", "--rules", "1.0.4", &path],
        &["logs", &path],
        &["timeline", &path],
        &["state", "--format", "table", &path],
        &["why", "3", &path],
        &["diff", "1", "3", &path],
        &["blame", name, &path],
        &["info", "--types", &path],
        &["find", ".Jobs[] | .ParentID != \"\"", &path],
        &["timeline", "--filter", "job=report\u{1b}[2J\u{202e}gnp\u{200b}\u{7}x", &path],
    ];
    for words in commands {
        let ran = run(words);
        for text in [&ran.stdout, &ran.stderr] {
            let bad = text
                .chars()
                .find(|c| matches!(c, '\0'..='\x09' | '\x0b'..='\x1f' | '\u{200b}' | '\u{202e}' | '\u{7f}'));
            assert_eq!(bad, None, "{words:?}: {text:?}");
        }
        if words[0] != "info" {
            assert!((ran.stdout + &ran.stderr).contains("report\\u{1b}[2J\\u{202e}gnp\\u{200b}\\u{7}"), "{words:?}");
        }
    }
}
