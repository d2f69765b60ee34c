//! Writes what fuzzing begins with, made of the fixtures and of made-up logs: `cargo run --example fuzz_seeds -- DIR`.
//!
//! `fuzz/README.md` says what becomes of it.

#[path = "../tests/suite/support/synth/mod.rs"]
mod synth;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use raftscope::evidence::{self, Evidence, LogType, Scanned};
use raftscope::types::Index;
use synth::bolt::{Layout, Order};
use synth::history::{Entry, History, LogType as Kind, Plot};
use synth::tar::{sparse, tarred};
use synth::wild::Wild;

/// Of each message type so many entries of fixtures are taken.
const OF_A_TYPE: usize = 4;
/// Larger payloads are left to others: mutation of them reaches little.
const LARGEST: usize = 6 << 10;

fn main() -> Result<()> {
    let to = PathBuf::from(std::env::args_os().nth(1).context("give a directory to write to")?);
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let seeds = Seeds { to };
    let payloads = payloads(&fixtures)?;
    for (at, payload) in payloads.iter().enumerate() {
        seeds.put("msgpack", &format!("{:02}-{at}", payload[0] & 0x7f), payload)?;
        seeds.put("apply", &format!("{:02}-{at}", payload[0] & 0x7f), &applied(at as u8, &[payload]))?;
    }
    for seed in 0..24 {
        let entries: Vec<Vec<u8>> =
            Wild::new(seed).take(40).map(|entry| entry.data).filter(|d| !d.is_empty()).collect();
        for (at, some) in entries.chunks(8).enumerate() {
            let some: Vec<&[u8]> = some.iter().map(Vec::as_slice).collect();
            seeds.put("apply", &format!("wild-{seed}-{at}"), &applied(seed as u8, &some))?;
        }
    }
    bolt(&seeds)?;
    wal(&seeds)?;
    snapshots(&seeds, &fixtures)?;
    json(&seeds, &fixtures)?;
    archives(&seeds, &fixtures)?;
    expressions(&seeds)
}

struct Seeds {
    to: PathBuf,
}

impl Seeds {
    fn put(&self, target: &str, name: &str, bytes: &[u8]) -> Result<()> {
        let dir = self.to.join(target);
        fs::create_dir_all(&dir)?;
        Ok(fs::write(dir.join(name), bytes)?)
    }
}

/// Every folder of a case that holds a log or a snapshot.
fn folders(fixtures: &Path) -> Result<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> = fs::read_dir(fixtures)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    found.retain(|path| path.is_dir());
    found.sort();
    Ok(found)
}

fn each_entry(evidence: &Evidence, sink: &mut dyn FnMut(LogType, &[u8])) -> Result<()> {
    Ok(evidence.log.scan(Index(0)..=Index(u64::MAX), &mut |scanned| {
        if let Scanned::Entry(record) = scanned {
            sink(record.kind, record.data);
        }
        ControlFlow::Continue(())
    })?)
}

/// Payloads of commands: a few of each message type, the small ones first.
fn payloads(fixtures: &Path) -> Result<Vec<Vec<u8>>> {
    let mut all: BTreeSet<(u8, usize, Vec<u8>)> = BTreeSet::new();
    for folder in folders(fixtures)? {
        let Ok(evidence) = evidence::open(&folder) else { continue };
        each_entry(&evidence, &mut |kind, data| {
            if kind == LogType::Command && !data.is_empty() && data.len() <= LARGEST {
                all.insert((data[0], data.len(), data.to_vec()));
            }
        })?;
    }
    for entry in (0..40).flat_map(|seed| Wild::new(seed).take(160)).filter(|entry| !entry.data.is_empty()) {
        all.insert((entry.data[0], entry.data.len(), entry.data));
    }
    let mut chosen = Vec::new();
    for kind in 0..=u8::MAX {
        let of_kind: Vec<&Vec<u8>> = all.iter().filter(|(k, ..)| *k == kind).map(|(.., data)| data).collect();
        let step = of_kind.len().div_ceil(OF_A_TYPE).max(1);
        chosen.extend(of_kind.into_iter().step_by(step).cloned());
    }
    Ok(chosen)
}

/// The form of the target `apply`.
fn applied(rules: u8, entries: &[&[u8]]) -> Vec<u8> {
    let mut out = vec![rules];
    for entry in entries {
        out.extend_from_slice(&(entry.len() as u16).to_le_bytes());
        out.extend_from_slice(entry);
    }
    out
}

/// Entries that say little: the file around them matters.
fn small(index: u64) -> Entry {
    let data = match index % 3 {
        0 => Vec::new(),
        1 => vec![10, 0x80],
        _ => [&[0x06, 0x81, 0xa1, b'x', 0xd9, 200][..], &[b'.'; 200]].concat(),
    };
    let kind = if data.is_empty() { Kind::Noop } else { Kind::Command };
    Entry { index, term: 1 + index / 16, kind, data, appended_at: Some(1_770_090_000_000_000_000) }
}

/// The first byte says that sums are put right.
fn mended(bytes: &[u8]) -> Vec<u8> {
    [&[1], bytes].concat()
}

fn bolt(seeds: &Seeds) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("raft.db");
    for (page_size, order, entries) in [
        (1024, Order::Little, 3_u64),
        (1024, Order::Little, 24),
        (1024, Order::Little, 60),
        (1024, Order::Big, 20),
        (2048, Order::Little, 30),
        (4096, Order::Little, 12),
    ] {
        for stores_freelist in [true, false] {
            let layout = Layout { page_size, order, stores_freelist };
            let list: Vec<Entry> = (1..=entries).map(small).collect();
            synth::write_entries(&path, layout, &list, 3)?;
            let name = format!("{page_size}-{entries}-{stores_freelist}-{order:?}");
            let bytes = cut(&fs::read(&path)?, page_size);
            seeds.put("bolt", &name, &mended(&bytes))?;
            seeds.put("bolt", &format!("{name}-raw"), &[&[0], &bytes[..]].concat())?;
            fs::remove_file(&path)?;
        }
    }
    synth::write_bolt(&path, Layout { page_size: 1024, ..Layout::default() }, &mut History::new(Plot::default()), 20)?;
    seeds.put("bolt", "history", &mended(&cut(&fs::read(&path)?, 1024)))
}

/// A bolt file without the pages behind its last one that is in use: files grow in large steps.
fn cut(bytes: &[u8], page_size: usize) -> Vec<u8> {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| (at + 1).next_multiple_of(page_size));
    bytes.get(..end).unwrap_or(bytes).to_vec()
}

/// A segment without the zeros behind its content.
fn trimmed(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| (at + 1).next_multiple_of(8));
    bytes.get(..end + 16).unwrap_or(bytes)
}

fn wal(seeds: &Seeds) -> Result<()> {
    for (name, count, limit) in [("short", 6_u64, 64 << 20), ("long", 80, 64 << 20), ("sealed", 60, 4096)] {
        let dir = tempfile::tempdir()?;
        let mut entries = (1..).map(small);
        synth::write_wal(dir.path(), limit, &mut entries, count)?;
        let mut files: Vec<PathBuf> =
            fs::read_dir(dir.path())?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
        files.sort();
        for (at, file) in files.iter().filter(|file| file.extension().is_some_and(|e| e == "wal")).take(2).enumerate() {
            let bytes = fs::read(file)?;
            for how in 0..4_u8 {
                seeds.put("wal", &format!("{name}-{at}-{how}"), &[&[how], trimmed(&bytes)].concat())?;
            }
        }
    }
    Ok(())
}

fn snapshots(seeds: &Seeds, fixtures: &Path) -> Result<()> {
    let mut chosen: BTreeSet<(u8, usize, Vec<u8>)> = BTreeSet::new();
    for folder in folders(fixtures)?
        .into_iter()
        .flat_map(|folder| [folder.join("with_snapshot"), folder.join("backup.snap"), folder])
    {
        let Ok(evidence) = evidence::open(&folder) else { continue };
        for snapshot in &evidence.snapshots {
            snapshot.records(&mut |record| {
                if record.value.len() <= LARGEST {
                    chosen.insert((record.kind, record.value.len(), record.value.to_vec()));
                }
                ControlFlow::Continue(())
            })?;
        }
    }
    let mut stream = vec![0x80];
    for kind in 0..=u8::MAX {
        let of_kind: Vec<_> = chosen.iter().filter(|(k, ..)| *k == kind).collect();
        for (at, (_, _, value)) in of_kind.iter().step_by(of_kind.len().div_ceil(OF_A_TYPE).max(1)).enumerate() {
            let record = [&[kind], &value[..]].concat();
            seeds.put("snapshot", &format!("{kind:02}-{at}"), &[&[0x80], &record[..]].concat())?;
            if at == 0 {
                stream.extend_from_slice(&record);
            }
        }
    }
    seeds.put("snapshot", "all", &stream)
}

fn json(seeds: &Seeds, fixtures: &Path) -> Result<()> {
    use raftscope::entry::json::BodyWriter;
    use raftscope::redact::Redactor;
    let mut lines = Vec::new();
    for (at, payload) in payloads(fixtures)?.iter().enumerate().filter(|(_, payload)| payload.len() < 2_000) {
        let mut body = Vec::new();
        if !BodyWriter::new().record(LogType::Command, payload, &mut Redactor::showing(), &mut body).unwrap_or(false) {
            continue;
        }
        let kind = payload[0] & 0x7f;
        let line = format!(
            r#"{{"LogType":"LogCommand","Term":1,"Index":{},"CommandType":{kind},"IgnoreUnknownTypeFlag":false,"AppendedAt":"2026-02-03T03:40:00Z","Body":{}}}"#,
            at + 1,
            String::from_utf8_lossy(&body),
        );
        seeds.put("json", &format!("{kind:02}-{at}"), line.as_bytes())?;
        lines.push(line);
    }
    lines.truncate(6);
    seeds.put("json", "array", format!("[{}]", lines.join(",\n")).as_bytes())?;
    lines.reverse();
    seeds.put("json", "lines", lines.join("\n").as_bytes())
}

fn archives(seeds: &Seeds, fixtures: &Path) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let list: Vec<Entry> = (1..=6).map(small).collect();
    let db = dir.path().join("raft.db");
    synth::write_entries(&db, Layout { page_size: 1024, ..Layout::default() }, &list, 1)?;
    let wal = dir.path().join("wal");
    fs::create_dir(&wal)?;
    synth::write_wal(&wal, 64 << 20, &mut (1..).map(small), 6)?;
    let mut files = vec![("server/raft/raft.db".to_string(), fs::read(&db)?)];
    for entry in fs::read_dir(&wal)? {
        let path = entry?.path();
        let bytes = fs::read(&path)?;
        let name = path.file_name().context("a file has a name")?.to_string_lossy().into_owned();
        files.push((format!("raft/wal/{name}"), trimmed(&bytes).to_vec()));
    }
    let snapshot = dir.path().join("backup");
    fs::create_dir(&snapshot)?;
    tar::Archive::new(flate2::read::GzDecoder::new(fs::File::open(fixtures.join("real-1.0.4/backup.snap"))?))
        .unpack(&snapshot)?;
    let state = [&[0x80, 2, 0x82, 0xa3][..], b"Key", &[0xa4], b"jobs", &[0xa5], b"Value", &[7]].concat();
    let backup = vec![
        ("meta.json".to_string(), fs::read(snapshot.join("meta.json"))?),
        ("state.bin".to_string(), state),
        ("SHA256SUMS".to_string(), fs::read(snapshot.join("SHA256SUMS"))?),
    ];
    let tars = [
        ("bolt", tarred(&files[..1])?),
        ("wal", tarred(&files[1..])?),
        ("both", tarred(&files)?),
        ("snap", tarred(&backup)?),
        ("sparse", sparse("raft.db")?),
    ];
    for (name, tar) in tars {
        seeds.put("archive", name, &mended(&tar))?;
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        gz.write_all(&tar)?;
        seeds.put("archive", &format!("{name}.gz"), &[&[0], &gz.finish()?[..]].concat())?;
        let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 6);
        xz.write_all(&tar)?;
        seeds.put("archive", &format!("{name}.xz"), &[&[0], &xz.finish()?[..]].concat())?;
        seeds.put("archive", &format!("{name}.zst"), &[&[0], &zstd::encode_all(&tar[..], 3)?[..]].concat())?;
    }
    Ok(())
}

fn expressions(seeds: &Seeds) -> Result<()> {
    let filters = [
        "job=web*\ntype=JobRegister\nindex=1..@2026-01-01",
        "parent!=report\nnamespace=default\nstatus=dead\nstatus=\nterm=2\nterm!=3",
        "index=5-20\nindex!=~3\nindex=..7\nindex=3..\nindex=1609",
        "eval=b17c1a34*\nalloc=?\nnode=[a-c]*\ndeployment=\\*\ntype=4\ntype!=LogNoop\ntype=snapshot",
        "job=",
        "=",
        "job=\u{c6}rger",
    ];
    for (at, text) in filters.iter().enumerate() {
        seeds.put("filter", &at.to_string(), text.as_bytes())?;
    }
    let jqs = [
        ".Body.Job | {ID, Status}",
        ".[] | select(.Index > 1000) | .Body.Job.TaskGroups[].Count",
        "[.[]? | tostring] | join(\",\") | @csv",
        "def f(x): x + 1; reduce .[] as $r (0; f(.))",
        ".JobSummaries[] | select(.Children.Running < 0) | .JobID",
        "try error(\"x\") catch . // \"\\(.Index) a\" | ascii_downcase | test(\"a+[b-c]\"; \"i\")",
        "if .a then 1 elif .b then 2 else 3 end, (.Index as $i | $i % 7), .[1:2], .[-1], ..",
        "to_entries | map(.key, .value) | sort_by(.) | group_by(type) | @json, @base64, @uri, @html, @sh, @text, @tsv",
        "paths(type == \"number\"), (.Body?.Job?.ID | split(\"/\")), ltrimstr(\"a\"), (now | todate), input_line_number",
        "label $out | foreach .[]? as $x (0; . + 1; if . > 1 then ., break $out else . end)",
        "$__loc__, .Body.Job.Status |= \"dead\", (.Index += 1), del(.Body), limit(3; repeat(1)), halt_error, debug",
        "\"\\u00e6\\ud83d\\ude00\" | explode | implode, splits(\"a\"), sub(\"(?<x>a)\"; .x), fromjson, infinite, nan",
    ];
    for (at, text) in jqs.iter().enumerate() {
        seeds.put("jq", &at.to_string(), text.as_bytes())?;
    }
    Ok(())
}
