//! Whole commands on a large log, beside plainly reading the same file in the same run:
//! `cargo bench --bench whole_command`.
//!
//! Machines differ and are noisy; the ratio to reading is what can be compared. Without `RAFTSCOPE_BENCH_DB=path/to/raft.db` a log of
//! `RAFTSCOPE_BENCH_ENTRIES` (120,000) made-up entries is used, kept below `target/` for the next run. Each command runs
//! `RAFTSCOPE_BENCH_RUNS` (5) times and the fastest counts. CPU and memory come from `/proc`, where there is one.

#[path = "support/mod.rs"]
mod support;

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What is measured: the command line without its path, and the ledger it works with.
const COMMANDS: [(&[&str], Ledger); 11] = [
    (&["info"], Ledger::None),
    (&["info", "--types"], Ledger::None),
    (&["audit", "--exit-zero"], Ledger::None),
    (&["audit", "--exit-zero"], Ledger::New),
    (&["audit", "--exit-zero"], Ledger::Kept),
    (&["state", "--last-index", "-50000", "--tables", "JobSummaries"], Ledger::Kept),
    (&["timeline", "--format", "ndjson"], Ledger::None),
    (&["logs", "--format", "ndjson"], Ledger::None),
    (&["logs", "--filter", "parent=render_report", "--format", "ndjson"], Ledger::None),
    (&["state", "--tables", "JobSummaries"], Ledger::None),
    (&["state"], Ledger::None),
];

/// The `--db` of a command.
#[derive(Clone, Copy, PartialEq)]
enum Ledger {
    None,
    /// A file that is not there yet.
    New,
    /// The file that the command before has left.
    Kept,
}

/// How often a running command is looked at.
const GLANCE: Duration = Duration::from_millis(2);

/// The kernel's clock ticks a second, which `/proc` counts CPU time in; 100 on every Linux in use.
const TICKS: f64 = 100.0;

#[derive(Clone, Copy, Default)]
struct Measure {
    wall: Duration,
    cpu_seconds: Option<f64>,
    peak_bytes: Option<u64>,
    exit: i32,
}

fn main() {
    // `cargo bench` passes flags of the standard harness, which mean nothing here.
    let log = support::log(120_000);
    let size = fs::metadata(&log).unwrap().len();
    let runs = support::number("RAFTSCOPE_BENCH_RUNS", 5);
    let reading = (0..runs).map(|_| read_whole(&log)).min().unwrap();
    println!("{}: {:.1} MB", log.display(), size as f64 / 1e6);
    println!("{:<58} {:>9} {:>8} {:>8} {:>9}", "", "wall s", "x read", "CPU s", "peak MB");
    println!("{:<58} {:>9.3} {:>8.1}", "reading the file, as cat does", reading.as_secs_f64(), 1.0);
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("ledger.db");
    for (arguments, ledger) in COMMANDS {
        let measured = (0..runs).map(|_| {
            if ledger == Ledger::New && db.exists() {
                fs::remove_file(&db).unwrap();
            }
            run(arguments, (ledger != Ledger::None).then_some(&*db), &log)
        });
        let best = measured.min_by_key(|measure| measure.wall).unwrap();
        let ratio = best.wall.as_secs_f64() / reading.as_secs_f64();
        let cpu = best.cpu_seconds.map_or("-".into(), |cpu| format!("{cpu:.2}"));
        let peak = best.peak_bytes.map_or("-".into(), |peak| format!("{:.0}", peak as f64 / 1e6));
        let exit = if best.exit == 0 { String::new() } else { format!("  ended with {}", best.exit) };
        let kept = match ledger {
            Ledger::None => "",
            Ledger::New => " --db NEW",
            Ledger::Kept => " --db KEPT",
        };
        let line = format!("{}{kept}", arguments.join(" "));
        println!("{line:<58} {:>9.3} {ratio:>8.1} {cpu:>8} {peak:>9}{exit}", best.wall.as_secs_f64());
    }
}

fn read_whole(path: &Path) -> Duration {
    let start = Instant::now();
    let mut file = fs::File::open(path).unwrap();
    let mut buffer = vec![0; 128 << 10];
    while file.read(&mut buffer).unwrap() > 0 {}
    start.elapsed()
}

fn run(arguments: &[&str], db: Option<&Path>, log: &Path) -> Measure {
    let start = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_raftscope"))
        .args(arguments)
        .args(db.iter().flat_map(|db| ["--db".as_ref(), db.as_os_str()]))
        .arg(log)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut measure = Measure::default();
    loop {
        let (cpu, peak) = look(child.id());
        measure.cpu_seconds = cpu.or(measure.cpu_seconds);
        measure.peak_bytes = peak.or(measure.peak_bytes);
        if let Some(status) = child.try_wait().unwrap() {
            measure.exit = status.code().unwrap_or(-1);
            break;
        }
        std::thread::sleep(GLANCE);
    }
    measure.wall = start.elapsed();
    measure
}

/// CPU seconds and peak memory of a running process so far.
fn look(process: u32) -> (Option<f64>, Option<u64>) {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok();
    // After the name in parentheses, the 12th and 13th fields are ticks in user and kernel mode.
    let ticks = stat.and_then(|stat| {
        let fields: Vec<_> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        Some(fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?)
    });
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok();
    let peak = status.and_then(|status| {
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
    });
    (ticks.map(|ticks| ticks / TICKS), peak)
}
