//! The mistakes that a user makes: each gets one message that says what to type instead.

use std::fs;
use std::process::Command;

use crate::common::{fixture, refused, run_to};
use crate::support::run::Output;

fn hey() -> String {
    fixture("horizontal_hey")
}

/// What is said beside the rules that are used, which every replay says.
fn said(ran: &Output) -> Vec<&str> {
    ran.stderr.lines().filter(|line| !line.starts_with("note: the rules of Nomad ")).collect()
}

/// One line on stderr that holds `words`; the code and what is printed are another matter.
#[track_caller]
fn one_message(ran: &Output, words: &[&str]) {
    let [line] = said(ran)[..] else { panic!("{}: {:?}", ran.line, ran.stderr) };
    for word in words {
        assert!(line.contains(word), "{}: {word:?} is not in {:?}", ran.line, ran.stderr);
    }
}

#[test]
fn a_slip_in_a_command() {
    refused(&["audti", &hey()], &["there is no command `audti`", "did you mean `audit`?"]);
    refused(&["timelien", &hey()], &["did you mean `timeline`?"]);
    refused(
        &["logs", "--fliter", "parent=x", &hey()],
        &["raftscope logs has no option `--fliter`", "did you mean `--filter`?"],
    );
    refused(&["logs", "--format", "jsno", &hey()], &["--format cannot be `jsno`", "did you mean `json`?"]);
}

#[test]
fn a_slip_in_a_filter() {
    refused(&["logs", "--filter", "parnet=x", &hey()], &["no key `parnet`", "did you mean `parent`?"]);
    refused(&["logs", "--filter", "type=JobRegistr", &hey()], &["no type `JobRegistr`", "did you mean `JobRegister`?"]);
    refused(&["logs", "--filter", "parent", &hey()], &["write KEY=VALUE or KEY!=VALUE"]);
    refused(&["logs", "--filter", "index=5-9", &hey()], &["write 5, 5..9, 5.., ..9 or ~10"]);
    refused(&["state", "--tables", "JobSumaries", &hey()], &["no table `JobSumaries`", "did you mean `JobSummaries`?"]);
}

#[test]
fn a_slip_in_the_name_of_a_job() {
    refused(
        &["blame", "horizontal_hey", "--namespace", "prod", &hey()],
        &["in namespace prod", "it is in namespace default"],
    );
    refused(&["blame", "horizontal_hye", &hey()], &["no job `horizontal_hye`", "did you mean `horizontal_hey`?"]);
    refused(
        &["report", "-o", "-", "--job", "horizontal_hye", &hey()],
        &["no parent `horizontal_hye`", "did you mean `horizontal_hey`?"],
    );
    // A filter that nothing fits is an answer, empty as it may be; an audit must not pass for a clean one.
    for command in ["logs", "timeline", "audit"] {
        let ran = run_to(0, &[command, "--filter", "parent=horizontal_hye", &hey()]);
        one_message(
            &ran,
            &["--filter parent=horizontal_hye", "no job here fits that", "did you mean `horizontal_hey`?"],
        );
    }
    let ran = run_to(0, &["state", "--filter", "job=horizontal_hye", "--tables", "Jobs", &hey()]);
    one_message(&ran, &["--filter job=horizontal_hye", "did you mean `horizontal_hey`?"]);
    // A name that is there gets no word, whether its rows are shown or not.
    let ran = run_to(0, &["audit", "--filter", "parent=invoice_mailer", &hey()]);
    assert_eq!(said(&ran), [""; 0]);
    let ran = run_to(0, &["restarts", "--filter", "job=horizontal_hey", &hey()]);
    assert_eq!(said(&ran), [""; 0]);
    let ran = run_to(0, &["timeline", "--filter", "job=nothing_like_it", &hey()]);
    one_message(&ran, &["note: --filter job=nothing_like_it: no job here fits that"]);
}

#[test]
fn a_slip_in_a_version() {
    refused(&["audit", "--rules", "1.0.x", &hey()], &["--rules: \"1.0.x\" is no Nomad version", "1.6.2"]);
    refused(&["audit", "--rules", "reset-child-satus", &hey()], &["did you mean `reset-child-status`?"]);
    refused(&["rules", "1.0.4", "latest"], &["\"latest\" is no Nomad version", "1.6.2"]);
}

#[test]
fn an_index_out_of_range() {
    let ran = run_to(3, &["state", "--last-index", "-4000", &hey()]);
    one_message(&ran, &["index -4000", "from 1 to 3045", "give one of these"]);
    let ran = run_to(0, &["state", "--last-index", "4000", "--tables", "Jobs", "--jq", ".Jobs | length > 0", &hey()]);
    one_message(&ran, &["past the end", "3045, is taken"]);
    refused(&["why", "sixteen", &hey()], &["`sixteen` is no index", "a number (1609), 0 for the last entry"]);
    refused(
        &["logs", "--from-index", "9", "--last-index", "5", &hey()],
        &["--from-index 9 lies after --last-index 5", "exchange them"],
    );
}

#[test]
fn the_wrong_directory() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("client/allocs")).unwrap();
    let path = dir.path().to_str().unwrap();
    refused(
        &["audit", path],
        &[path, "no raft log in this directory", "give a Nomad data dir, its server/raft dir or a raft.db"],
    );
    refused(&["audit", "/no/such/place"], &["/no/such/place", "no such file or directory", "give a Nomad data dir"]);
}

#[test]
fn a_file_instead_of_a_directory() {
    let notes = fixture("README.md");
    refused(&["audit", &notes], &[&notes, "this is a text file", "give a Nomad data dir"]);
    refused(&["why", &hey()], &["is a file, not an index"]);
    refused(&["export", "--format", "csv", "-o", &notes, &hey()], &["names a file", "name a folder"]);
}

#[test]
fn two_paths_where_one_is_wanted() {
    refused(&["info", &hey(), &fixture("healthy")], &["info takes one PATH", "run it once for each"]);
    refused(&["timeline", &hey(), &fixture("healthy")], &["timeline takes one PATH", "run it once for each"]);
    refused(&["audit", "horizontal_hey", &hey()], &["`horizontal_hey` is none", "--filter job=horizontal_hey"]);
    refused(&["timeline", "horizontal_hey", &hey()], &["`horizontal_hey` is none", "--filter job=horizontal_hey"]);
    refused(&["state", "1609", &hey()], &["--last-index 1609"]);
    refused(&["logs", "parent=report", &hey()], &["--filter parent=report"]);
}

#[test]
fn an_error_in_jq() {
    refused(
        &["logs", "--jq", ".[] | slect(.Index)", &hey()],
        &["--jq: column 7", "no filter `slect`", "did you mean `select`?"],
    );
    refused(&["logs", "--jq", ".[] | select(.Index ==", &hey()], &["--jq: column", "expected", "found the end"]);
    refused(&["find", ".Jbos[]", &hey()], &["`Jbos`", "did you mean `Jobs`?"]);
}

/// The program as a user who may not read everything; `None`, with a word, where the test cannot be one.
#[cfg(unix)]
fn without_power() -> Option<Command> {
    let program = env!("CARGO_BIN_EXE_raftscope");
    let unlimited = fs::read_to_string("/proc/self/status").is_ok_and(|status| {
        // CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: files are opened whatever their mode.
        let capabilities = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
        capabilities.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).is_some_and(|set| set & 0b110 != 0)
    });
    if !unlimited {
        return Some(Command::new(program));
    }
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set", "-dac_override,-dac_read_search", "--inh-caps", "-dac_override,-dac_read_search"]);
    let works = command.arg("true").output().is_ok_and(|output| output.status.success());
    if !works {
        eprintln!("SKIPPED: root opens any file, and there is no setpriv to give that up");
        return None;
    }
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set", "-dac_override,-dac_read_search", "--inh-caps", "-dac_override,-dac_read_search"]);
    command.arg(program);
    Some(command)
}

#[cfg(unix)]
#[test]
fn a_servers_directory_without_permission() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let raft = dir.path().join("server/raft");
    fs::create_dir_all(&raft).unwrap();
    fs::copy(fixture("healthy/raft.db"), raft.join("raft.db")).unwrap();
    let mode = |path: &std::path::Path, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    // As Nomad leaves them: the data dir closed to others; or the file alone.
    for (closed, given) in [
        (dir.path().to_path_buf(), dir.path().to_path_buf()),
        (dir.path().join("server"), dir.path().to_path_buf()),
        (raft.clone(), dir.path().to_path_buf()),
        (raft.clone(), raft.clone()),
        (raft.join("raft.db"), raft.clone()),
        (raft.join("raft.db"), raft.join("raft.db")),
    ] {
        let Some(mut command) = without_power() else { return };
        let before = fs::metadata(&closed).unwrap().permissions().mode();
        mode(&closed, 0);
        let output = command.arg("audit").arg(&given).output();
        mode(&closed, before);
        let output = output.unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{}: {told}", closed.display());
        assert_eq!(told.lines().count(), 1, "{}: {told}", closed.display());
        for word in ["permission denied", "run as a user who may read it, or give a copy"] {
            assert!(told.contains(word), "{} closed, {} given: {told}", closed.display(), given.display());
        }
    }
}
