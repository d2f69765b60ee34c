//! Memory while reading stays under a bound, however large the log is and in whatever form it comes.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use crate::support::run::cost;
use crate::support::synth::bolt::Layout;
use crate::support::synth::history::{Entry, LogType};
use crate::support::synth::wal::Wal;
use crate::support::synth::write_entries;

/// Apart from what a state needs, in bytes.
const BOUND: u64 = 64 << 20;
/// More than fits into the bound.
const ENTRIES: u64 = 1_100;
const BYTES: usize = 64 << 10;

/// A message type that no Nomad gives an effect.
const EFFECTLESS: u8 = 41;

fn entry(index: u64) -> Entry {
    let mut data = vec![EFFECTLESS, 0x81, 0xa1, b'X', 0xdb];
    data.extend((BYTES as u32).to_be_bytes());
    data.extend(vec![b'a' + (index % 26) as u8; BYTES]);
    Entry { index, term: 1, kind: LogType::Command, data, appended_at: None }
}

/// The most memory that a run of the program used, in bytes; it ends with `expected`.
fn most_memory(args: &[&str], input: Option<&Path>, expected: i32) -> u64 {
    let cost = cost(args, input);
    assert_eq!(cost.output.code, expected, "{}: {}", cost.output.line, cost.output.stderr);
    cost.most_memory
}

#[test]
fn a_log_larger_than_the_bound_is_read_within_it_in_every_form() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let entries: Vec<Entry> = (1..=ENTRIES).map(entry).collect();
    write_entries(&path("raft.db"), Layout::default(), &entries, 1).unwrap();
    let mut wal = Wal::create(&path("wal"), 64 << 20).unwrap();
    entries.chunks(50).for_each(|batch| wal.append(batch).unwrap());
    assert!(wal.segments() > 1);
    let mut lines = BufWriter::new(File::create(path("logs.ndjson")).unwrap());
    let text = "x".repeat(BYTES);
    for index in 1..=ENTRIES {
        let head = format!(r#""LogType":"LogCommand","Index":{index},"Term":1,"CommandType":{EFFECTLESS}"#);
        writeln!(lines, r#"{{{head},"Body":{{"X":"{text}"}}}}"#).unwrap();
    }
    lines.into_inner().unwrap();
    let mut tar = tar::Builder::new(zstd::Encoder::new(File::create(path("raft.tar.zst")).unwrap(), 1).unwrap());
    tar.append_path_with_name(path("raft.db"), "server/raft/raft.db").unwrap();
    tar.into_inner().unwrap().finish().unwrap();

    for name in ["raft.db", "wal", "logs.ndjson", "raft.tar.zst", "-"] {
        let shown = path(name);
        let (file, input) = if name == "-" { (Path::new("-"), Some(path("logs.ndjson"))) } else { (&*shown, None) };
        let commands = [&["logs", "--format", "ndjson"][..], &["info", "--types"]];
        let all = std::env::var_os("RAFTSCOPE_EVERY_VERSION").is_some();
        for command in &commands[..if all { 2 } else { 1 }] {
            let most = most_memory(&[*command, &[file.to_str().unwrap()]].concat(), input.as_deref(), 0);
            println!("{command:?} of {name}: {} MiB", most >> 20);
            assert!(most > 0 && most < BOUND, "{command:?} of {name}: {} MiB", most >> 20);
        }
    }
}

#[test]
fn json_that_does_not_end_is_not_held() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("logs.json");
    let mut text = br#"[{"LogType":"LogNoop","Index":1,"Term":1},{"LogType":"LogCommand","Index":2,"Body":""#.to_vec();
    text.resize(100 << 20, b'x');
    fs::write(&path, text).unwrap();
    let most = most_memory(&["info", path.to_str().unwrap()], None, 2);
    assert!(most < BOUND, "{} MiB", most >> 20);
}
