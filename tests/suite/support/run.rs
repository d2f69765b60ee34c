//! Running the program as a user does, and looking at what it left behind.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;

/// What one run of the program gave.
pub struct Output {
    /// The command line, for messages.
    pub line: String,
    /// The exit code; -1 where a signal ended it.
    pub code: i32,
    /// What it printed.
    pub stdout: String,
    /// Its notes, warnings and errors.
    pub stderr: String,
}

impl Output {
    /// This output, if it ended with `code`.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}\nstdout: {}\nstderr: {}", self.line, head(&self.stdout), self.stderr);
        self
    }

    /// Its standard output as one JSON document.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| {
            panic!("{}: {error}\nstdout: {}\nstderr: {}", self.line, head(&self.stdout), self.stderr)
        })
    }

    /// Its standard output as one JSON value a line.
    pub fn ndjson(&self) -> Vec<Value> {
        super::cases::parse_ndjson(&self.stdout)
    }
}

/// Runs the program with these arguments, without a terminal and without settings of the user.
///
/// A panic of the program fails the test at once: nothing may make it panic.
#[track_caller]
pub fn raftscope<I, S>(arguments: I) -> Output
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    let mut command = Command::new(env!("CARGO_BIN_EXE_raftscope"));
    command.args(arguments).stdin(Stdio::null());
    for setting in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS"] {
        command.env_remove(setting);
    }
    let line = format!("{command:?}");
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let output = Output {
        code: output.status.code().unwrap_or(-1),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
        line,
    };
    assert!(!output.stderr.contains("panicked at"), "{}\n{}", output.line, output.stderr);
    output
}

/// Sends a child what Ctrl-C sends. By the shell, which has `kill` built in: the program of that name is not on every
/// system.
#[cfg(unix)]
#[track_caller]
pub fn interrupt(child: &std::process::Child) {
    let line = format!("kill -INT {}", child.id());
    assert!(Command::new("sh").args(["-c", &line]).status().unwrap().success(), "{line}");
}

/// What a run cost, beside what it gave.
pub struct Cost {
    /// What it gave; what it printed was read as it came.
    pub output: Output,
    /// The most memory that it used, in bytes; 0 where the system does not tell.
    pub most_memory: u64,
    /// From its start to its end.
    pub took: Duration,
}

/// Runs the program as [`raftscope`] does, with `input` as standard input, and looks on.
#[track_caller]
pub fn cost(arguments: &[&str], input: Option<&Path>) -> Cost {
    let input = input.map_or_else(Stdio::null, |path| File::open(path).unwrap().into());
    let mut command = Command::new(env!("CARGO_BIN_EXE_raftscope"));
    command.args(arguments).stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
    let start = Instant::now();
    let mut child = command.spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let stdout = gather(child.stdout.take().unwrap());
    let stderr = gather(child.stderr.take().unwrap());
    let mut most_memory = 0;
    let code = loop {
        // The system keeps the high-water mark; it is lost when the process ends.
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let mark = text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
        most_memory = most_memory.max(mark.map_or(0, |kib: u64| kib << 10));
        match child.try_wait().unwrap() {
            Some(status) => break status.code().unwrap_or(-1),
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    let took = start.elapsed();
    let (stdout, stderr) = (stdout.join().unwrap(), stderr.join().unwrap());
    let line = format!("{command:?}");
    assert!(!stderr.contains("panicked at"), "{line}\n{stderr}");
    Cost { output: Output { line, code, stdout, stderr }, most_memory, took }
}

/// Reads a pipe to its end, beside the program that writes to it.
fn gather(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Everything about a file or folder that reading must leave as it is.
#[derive(Debug, PartialEq, Eq)]
pub struct Stamp {
    content: Option<Vec<u8>>,
    modified: SystemTime,
    changed: Option<(i64, i64)>,
    mode: u32,
}

/// A stamp of `root` and of every file and folder below it, by path.
pub fn stamps(root: &Path) -> BTreeMap<PathBuf, Stamp> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(path) = waiting.pop() {
        let meta = std::fs::symlink_metadata(&path).unwrap();
        if meta.is_dir() {
            waiting.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        let content = meta.is_file().then(|| std::fs::read(&path).unwrap());
        let (changed, mode) = changed_and_mode(&meta);
        found.insert(path, Stamp { content, modified: meta.modified().unwrap(), changed, mode });
    }
    found
}

#[cfg(unix)]
fn changed_and_mode(meta: &std::fs::Metadata) -> (Option<(i64, i64)>, u32) {
    use std::os::unix::fs::MetadataExt;
    (Some((meta.ctime(), meta.ctime_nsec())), meta.mode())
}

#[cfg(not(unix))]
fn changed_and_mode(_: &std::fs::Metadata) -> (Option<(i64, i64)>, u32) {
    (None, 0)
}

/// The beginning of a text, enough for a message.
pub fn head(text: &str) -> &str {
    match text.char_indices().nth(2000) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}
