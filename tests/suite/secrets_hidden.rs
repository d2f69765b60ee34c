//! No secret of the case `secrets` is in anything that the program says or writes, unless it was asked for: every
//! command in every format and with every option, read off the program's own declaration of them, so that none can be
//! forgotten; answers, messages and files alike.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::{BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD};
use clap::{Arg, ArgAction};
use rusqlite::Connection;
use serde_json::Value;

use crate::common::{fixture, planted_secrets};
use crate::support::run::raftscope;

/// How every secret of the case begins, and nothing else in it does.
fn prefixes() -> Vec<String> {
    let case: Value = serde_json::from_slice(&fs::read(fixture("secrets/case.json")).unwrap()).unwrap();
    let prefixes = case["expected"]["secret_prefixes"].as_array().unwrap();
    let prefixes: Vec<String> = prefixes.iter().map(|prefix| prefix.as_str().unwrap().to_owned()).collect();
    assert!(planted_secrets().iter().all(|secret| prefixes.iter().any(|prefix| secret.starts_with(prefix))));
    prefixes
}

/// What may be read in `bytes`: them, and what stands in them in base64.
fn readable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let coded = |c: char| c.is_ascii_alphanumeric() || "+/-_".contains(c);
    let mut all = text.clone().into_owned();
    for word in text.split(|c| !coded(c)).filter(|word| word.len() >= 10) {
        for engine in [&BASE64_STANDARD_NO_PAD, &BASE64_URL_SAFE_NO_PAD] {
            if let Ok(inner) = engine.decode(word) {
                all += "\n";
                all += &String::from_utf8_lossy(&inner);
            }
        }
    }
    all
}

/// What may be read in a file: of a ledger also the states that it packs, of Parquet the rows that it packs.
fn readable_file(path: &Path) -> String {
    let mut all = readable(&fs::read(path).unwrap());
    if all.starts_with("SQLite format 3") {
        let conn = Connection::open(path).unwrap();
        let mut images = conn.prepare("SELECT state, audit FROM image").unwrap();
        let mut rows = images.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for at in 0..2 {
                let packed: Option<Vec<u8>> = row.get(at).unwrap();
                let unpacked = packed.map(|packed| snap::raw::Decoder::new().decompress_vec(&packed).unwrap());
                all += &readable(&unpacked.unwrap_or_default());
            }
        }
    }
    #[cfg(feature = "parquet")]
    if all.starts_with("PAR1") {
        all += &format!("{:?}", crate::parquet_fleet::rows(path));
    }
    all
}

/// The part of a text that begins with a secret.
fn leak(text: &str, prefixes: &[String]) -> Option<String> {
    let at = prefixes.iter().find_map(|prefix| text.find(prefix.as_str()))?;
    Some(text[at..].chars().take(60).collect())
}

/// The case in several forms of evidence, and what options name.
struct Scene {
    dir: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let scene = Scene { dir: tempfile::tempdir().unwrap() };
        let log = raftscope(["logs", "--unsafe-show-secrets", "--format", "ndjson", &fixture("secrets")]).stdout;
        let write = |name: &str, text: &str| fs::write(scene.path(name), text).unwrap();
        write("log.ndjson", &log);
        // A server that holds something else in the middle, one that is not whole, and one with broken bodies.
        write("other.ndjson", &log.replace("-0016", "-9016"));
        write("cut.ndjson", &log[..log.find("SECRET-PAYLOAD").unwrap_or(log.len() / 2)]);
        write("broken.ndjson", &log.replace("\"Job\":{", "\"Job\":{\"Version\":\"SECRET-VERSION\",\"Periodic\":7,"));
        let more: String = log
            .lines()
            .filter(|line| line.contains("SECRET-"))
            .map(|line| line.replacen("\"Index\":", "\"Was\":", 1) + "\n")
            .collect();
        write("more.ndjson", &more);
        let bolt = fs::read(fixture("secrets/raft.db")).unwrap();
        fs::write(scene.path("cut.db"), &bolt[..bolt.len() * 2 / 3]).unwrap();
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn forms(&self) -> Vec<String> {
        let made = ["log.ndjson", "broken.ndjson", "cut.ndjson", "cut.db"];
        let kept = [fixture("secrets"), fixture("secrets/with_snapshot")];
        kept.into_iter().chain(made.map(|name| self.text(name))).collect()
    }
}

/// A command line. `OUT` in it is a folder of its own.
type Line = Vec<String>;

fn words(line: &str) -> Line {
    line.split(' ').map(str::to_owned).collect()
}

/// What each command needs beside options, before the path; whether it takes a path.
fn operands(command: &clap::Command, scene: &Scene) -> (Vec<Line>, bool) {
    let (lines, path): (Vec<Line>, bool) = match command.get_name() {
        "info" | "logs" | "state" | "audit" | "timeline" | "restarts" | "watch" => (vec![vec![]], true),
        "diff" => ((1..=24).map(|at| vec![(at - 1).to_string(), at.to_string()]).collect(), true),
        "why" => ((1..=25).map(|at: u64| vec![at.to_string()]).collect(), true),
        "blame" => (vec![words("invoice_mailer"), words("invoice_mailr")], true),
        "find" => {
            let all = [
                ".Jobs[].Stop",
                "error(.)",
                "debug | false",
                "stderr | false",
                ".Jobs + 1",
                ".ACLTokens[] | halt_error",
            ];
            (all.iter().map(|expression| vec![(*expression).to_owned()]).collect(), true)
        }
        "compare" => (vec![vec![scene.text("other.ndjson")], vec![scene.text("cut.ndjson")]], true),
        "export" | "report" => (vec![words("-o OUT/made")], true),
        "rules" => (vec![vec![], words("1.0.3 2.0.5")], false),
        "completions" => {
            let shells = command.get_positionals().flat_map(Arg::get_possible_values);
            (shells.map(|shell| vec![shell.get_name().to_owned()]).collect(), false)
        }
        "man" => (vec![vec![], words("audit")], false),
        other => panic!("say what `{other}` needs, so that it is looked at too"),
    };
    assert!(!lines.is_empty());
    (lines, path)
}

/// What each option that takes a value is tried with: good and bad.
fn values(option: &str, scene: &Scene) -> Vec<String> {
    let all: &[&str] = match option {
        "jq" => &[
            ".",
            "error(tojson)",
            "..|strings|debug|empty",
            "..|strings|stderr|empty",
            "halt_error",
            ".[] + 1",
            "..|strings|@base64",
            "tojson|@base64d",
        ],
        "filter" => &[
            "job=invoice_mailer",
            "job=invoice_mailr",
            "type=JobRegister",
            "status=running",
            "nokey=1",
            "term!=1",
            "eval=30720ad1*",
        ],
        "rules" => &["1.0.3", "2.0.5", "1.9", "99"],
        "skip" => &["17", "99"],
        // Not: one that puts a secret where none is expected. That is its author's own.
        "patch" => &[
            "17: error(.)",
            "17: .Job + 1",
            "17: debug",
            "17: ..|strings|stderr|empty",
            "17: halt_error",
            "17: .Job.TaskGroups = .AuthToken",
            "17: tojson",
            "17: .Job.Type = \"x\"",
            "24: .",
            "17: .Job.",
        ],
        "append" => &["PATH/more.ndjson", "PATH/log.ndjson", "PATH/broken.ndjson", "PATH/none"],
        "from-index" | "last-index" => &["17", "-2", "@2026-02-03T03:46:01Z", "99"],
        "since" | "until" => &["2026-02-03T03:45:01Z", "yesterday"],
        "limit" | "cancel-after" | "pause-after" => &["1", "x"],
        "message-type" => &["17=Seventeen", "5=JobGoes", "x"],
        "db" | "write-baseline" => &["OUT/kept"],
        "baseline" => &["PATH/log.ndjson", "PATH/none"],
        "tables" => &["Jobs", "ACLTokens,Nodes", "Secrets"],
        "color" | "progress" => &["always", "never"],
        "fail-on" => &["note", "error"],
        "min-running" | "batch-size" => &["50%", "x"],
        "batch-wait" | "interval" => &["20ms", "x"],
        "job" | "group" | "namespace" | "id" => &["invoice_mailer", "default", "x"],
        "cluster" | "server" => &["c1", "a/b"],
        "output" => &["OUT/other", "PATH/log.ndjson"],
        other => panic!("say what --{other} is tried with, so that it is looked at too"),
    };
    all.iter().map(|value| value.replace("PATH", scene.dir.path().to_str().unwrap())).collect()
}

/// The values of `--format`, or none where there is no such option.
fn formats(command: &clap::Command) -> Vec<Line> {
    let format = command.get_arguments().find(|arg| arg.get_long() == Some("format"));
    let values = format.map(Arg::get_possible_values).unwrap_or_default();
    assert_eq!(format.is_some(), !values.is_empty());
    values.iter().map(|value| vec!["--format".to_owned(), value.get_name().to_owned()]).collect()
}

/// Every option of a command, each with what it is tried with.
fn options(command: &clap::Command, scene: &Scene) -> Vec<Line> {
    let mut lines = Vec::new();
    for arg in command.get_opts().chain(command.get_arguments().filter(|arg| !arg.get_action().takes_values())) {
        let Some(long) = arg.get_long() else { continue };
        let flag = format!("--{long}");
        match (long, arg.get_action()) {
            // Asked for; and those of every format are tried elsewhere.
            ("unsafe-show-secrets" | "format", _) => {}
            (_, ArgAction::Set | ArgAction::Append) => {
                lines.extend(values(long, scene).into_iter().map(|value| vec![flag.clone(), value]));
            }
            _ => lines.push(vec![flag]),
        }
    }
    lines
}

/// What only several options together do.
fn together() -> Vec<Line> {
    [
        "audit --rules 1.0.3 --all --prove --preview-reconcile",
        "audit --rules 1.0.3 --all --prove --format json",
        "diff --rules 1.0.3 --rules 2.0.5 --format json",
        "diff 1 24 --rules 1.0.3 --format json -v",
        "info --types --salvage --format json",
        "logs --resolve --filter job=invoice_mailer --format json --pretty",
        "logs --salvage --format json",
        "logs --salvage --jq .[].Body",
        "restarts --plan --job invoice_mailer",
        "restarts --plan --job invoice_mailer --emit",
        "restarts --plan --job invoice_mailer/dispatch-1770090361-039c6e4b --reschedule --emit",
        "report --all --prove --job invoice_mailer -o -",
        "export --format csv --rules 1.0.3 -o OUT/tables",
        "export --format ndjson --rules 1.0.3 -o OUT/tables",
        "export --format parquet --cluster c --server s --rules 1.0.3 -o OUT/fleet",
        "timeline --db OUT/kept --format json",
    ]
    .map(words)
    .to_vec()
}

/// Every line that is tried; the options in turn only on the case itself.
fn lines(scene: &Scene) -> BTreeSet<Line> {
    let declared = raftscope::cli::command();
    let commands: Vec<_> = declared.get_subcommands().filter(|command| command.get_name() != "help").collect();
    assert!(commands.len() > 15);
    let mut lines = BTreeSet::new();
    for (number, form) in scene.forms().into_iter().enumerate() {
        for command in &commands {
            let (operands, takes_path) = operands(command, scene);
            let path = if takes_path { vec![form.clone()] } else { Vec::new() };
            let name = vec![command.get_name().to_owned()];
            let mut line = |operands: &Line, options: &Line| {
                lines.insert([&name, operands, options, &path].into_iter().flatten().cloned().collect());
            };
            let formats = formats(command);
            operands.iter().for_each(|operands| line(operands, &Vec::new()));
            for format in &formats {
                let some = if number == 0 { operands.len() } else { 1 };
                operands.iter().take(some).for_each(|operands| line(operands, format));
            }
            if number == 0 {
                options(command, scene).iter().for_each(|options| line(&operands[0], options));
            }
        }
        lines.extend(together().into_iter().map(|line| line.into_iter().chain([form.clone()]).collect::<Line>()));
    }
    lines
}

/// Runs a line; what it says and writes, each with a name.
fn said(line: &Line) -> Vec<(String, String)> {
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().to_str().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_raftscope"));
    command.args(line.iter().map(|word| word.replace("OUT", folder)));
    let files = [out.path().join(".stdout"), out.path().join(".stderr")];
    let [stdout, stderr] = files.each_ref().map(|path| fs::File::create(path).unwrap());
    let mut child = command.stdin(Stdio::null()).stdout(stdout).stderr(stderr).spawn().unwrap();
    let start = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            // It goes on until it is told to end.
            None if line[0] == "watch" && start.elapsed() > Duration::from_millis(400) => {
                child.kill().unwrap();
                break child.wait().unwrap();
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    assert!(line[0] == "watch" || status.code().is_some(), "{line:?}: {status}");
    let mut all = Vec::new();
    let mut waiting = vec![out.path().to_owned()];
    while let Some(folder) = waiting.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match path.is_dir() {
                true => waiting.push(path),
                false => all.push((path.file_name().unwrap().to_str().unwrap().to_owned(), readable_file(&path))),
            }
        }
    }
    let panicked = all.iter().find(|(_, text)| text.contains("panicked at"));
    assert!(panicked.is_none(), "{line:?}: {panicked:?}");
    all
}

#[test]
fn no_secret_is_in_anything_that_any_command_says_or_writes() {
    let (scene, prefixes) = (Scene::new(), prefixes());
    // All of them where there is time; else a sample of each kind.
    let step = if std::env::var_os("RAFTSCOPE_EVERY_VERSION").is_some() { 1 } else { 5 };
    let lines: Vec<Line> = lines(&scene).into_iter().step_by(step).collect();
    let (next, leaks) = (Mutex::new(lines.iter()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                loop {
                    let Some(line) = next.lock().unwrap().next() else { break };
                    for (name, text) in said(line) {
                        if let Some(leak) = leak(&text, &prefixes) {
                            leaks.lock().unwrap().push(format!("{}\n    {name}: {leak}", line.join(" ")));
                        }
                    }
                }
            });
        }
    });
    println!("{} command lines", lines.len());
    let leaks = leaks.into_inner().unwrap();
    assert!(leaks.is_empty(), "{} of {} lines show a secret:\n{}", leaks.len(), lines.len(), leaks.join("\n"));
}

/// The test above would find each: in the words of the log, or in base64.
#[test]
fn every_secret_is_shown_where_it_is_asked_for() {
    let ran = raftscope(["logs", "--unsafe-show-secrets", "--format", "ndjson", &fixture("secrets")]);
    let text = readable(ran.stdout.as_bytes());
    let mut unseen = planted_secrets();
    unseen.retain(|secret| !text.contains(secret));
    // Its entry is cut off, and nothing of it is printed.
    assert_eq!(unseen, ["SECRET-AUTH-0032"]);
}
