//! The recorded cases: which folders there are, what evidence each holds, which answers stand beside it.
//!
//! `fixtures/README.md` describes the files. A new case is a new folder; nothing here names one.

use std::fs;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use serde_json::Value;
use tempfile::TempDir;

/// A store of raft data that a folder may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// `raft.db`
    Bolt,
    /// `wal/`
    Wal,
    /// `snapshots/`
    Snapshots,
}

/// What the program must already be able to answer. A later version or store is added here, and nowhere else.
pub struct Due {
    /// Rules versions whose recorded answers must be met.
    pub rules: &'static [&'static str],
    /// Stores that may lie in a folder; a folder with any other one is not due.
    pub stores: &'static [Store],
}

/// The one place that says what is due now.
pub const DUE: Due = Due {
    rules: &["1.0.3", "1.0.4", "1.2.0", "1.9.5", "1.11.2", "1.11.3", "2.0.5"],
    stores: &[Store::Bolt, Store::Wal, Store::Snapshots],
};

/// One folder of `fixtures/` (or of an unpacked archive of such folders).
pub struct Case {
    /// The folder's name.
    pub name: String,
    /// The folder.
    pub dir: PathBuf,
    /// `case.json`, or `meta.json` of a random history.
    pub description: Value,
}

/// One log of a case with the answers recorded for it under one version's rules.
pub struct Recording {
    /// `case` or `case/server`, for messages.
    pub label: String,
    /// The server in a case of several.
    pub server: Option<String>,
    /// The Nomad version whose state machine answered.
    pub rules: String,
    /// The folder with the evidence.
    pub evidence: PathBuf,
    /// The stores that lie in it.
    pub stores: Vec<Store>,
    rows: PathBuf,
    /// Keeps an unpacked archive for as long as the recording is used.
    _unpacked: Option<TempDir>,
}

impl Recording {
    /// True when [`DUE`] covers its rules and its stores.
    pub fn is_due(&self) -> bool {
        DUE.rules.contains(&self.rules.as_str()) && self.stores.iter().all(|store| DUE.stores.contains(store))
    }

    /// The rows of `oracle-V.ndjson`.
    pub fn rows(&self) -> Vec<Value> {
        read_ndjson(&self.rows)
    }

    /// The rows of `oracle-V.results.ndjson`: refusals, crashes, the snapshot that the recording started from.
    pub fn results(&self) -> Vec<Value> {
        read_ndjson(&self.rows.with_extension("results.ndjson"))
    }
}

/// The repository's `fixtures/`.
pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// Every case in `fixtures/`, by name. `RAFTSCOPE_CASE=name` narrows it to one, for work on that one.
pub fn all() -> Vec<Case> {
    let cases = below(&fixtures());
    assert!(!cases.is_empty(), "no case found in {}", fixtures().display());
    cases
}

/// Every case folder directly below `root`, by name, narrowed by `RAFTSCOPE_CASE`.
pub fn below(root: &Path) -> Vec<Case> {
    let only = std::env::var("RAFTSCOPE_CASE").ok();
    entries(root)
        .into_iter()
        .filter_map(|dir| {
            let name = dir.file_name()?.to_str()?.to_owned();
            if only.as_ref().is_some_and(|only| *only != name) {
                return None;
            }
            let description = [dir.join("case.json"), dir.join("meta.json")].into_iter().find(|path| path.is_file())?;
            let description = serde_json::from_slice(&fs::read(description).unwrap()).unwrap();
            Some(Case { name, dir, description })
        })
        .collect()
}

impl Case {
    /// Every log of this case with recorded rows, one for each version and server.
    pub fn recordings(&self) -> Vec<Recording> {
        entries(&self.dir)
            .iter()
            .filter_map(|path| {
                let file = path.file_name()?.to_str()?;
                let stem = file.strip_suffix(".gz").unwrap_or(file);
                let (rules, server) = rows_of(stem)?;
                let (evidence, unpacked) = self.evidence(server.as_deref());
                Some(Recording {
                    label: server.iter().fold(self.name.clone(), |label, server| format!("{label}/{server}")),
                    server,
                    rules,
                    stores: stores(&evidence),
                    evidence,
                    rows: self.dir.join(stem),
                    _unpacked: unpacked,
                })
            })
            .collect()
    }

    /// The folder of a server, unpacked where it is kept as `server.tar.gz`; the case's own without one.
    pub fn evidence(&self, server: Option<&str>) -> (PathBuf, Option<TempDir>) {
        let Some(server) = server else { return (self.dir.clone(), None) };
        let plain = self.dir.join(server);
        if plain.is_dir() {
            return (plain, None);
        }
        let archive = self.dir.join(format!("{server}.tar.gz"));
        let target = tempfile::tempdir().unwrap();
        let file = fs::File::open(&archive).unwrap_or_else(|error| panic!("{}: {error}", archive.display()));
        tar::Archive::new(GzDecoder::new(file)).unpack(target.path()).unwrap();
        (target.path().join(server), Some(target))
    }
}

/// The rules version and server of a file name such as `oracle-2.0.5.s1.ndjson`; none for its companions.
fn rows_of(file: &str) -> Option<(String, Option<String>)> {
    let middle = file.strip_prefix("oracle-")?.strip_suffix(".ndjson")?;
    let mut parts = middle.splitn(4, '.');
    let version = [parts.next()?, parts.next()?, parts.next()?].join(".");
    match parts.next() {
        None => match version.rsplit('.').next()?.parse::<u32>() {
            Ok(_) => Some((version, None)),
            Err(_) => None,
        },
        Some(server) if server.starts_with('s') && server[1..].parse::<u32>().is_ok() => {
            Some((version, Some(server.to_owned())))
        }
        Some(_) => None,
    }
}

/// The stores that lie in a folder.
fn stores(dir: &Path) -> Vec<Store> {
    [("raft.db", Store::Bolt), ("wal", Store::Wal), ("snapshots", Store::Snapshots)]
        .into_iter()
        .filter(|(name, _)| dir.join(name).exists())
        .map(|(_, store)| store)
        .collect()
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(dir)
        .unwrap_or_else(|error| panic!("{}: {error}", dir.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths
}

/// The text of a fixture, or of its gzipped form beside which it would stand.
pub fn read_text(path: &Path) -> String {
    if path.is_file() {
        return fs::read_to_string(path).unwrap();
    }
    let mut packed = path.as_os_str().to_owned();
    packed.push(".gz");
    let file = fs::File::open(&packed).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    std::io::read_to_string(GzDecoder::new(file)).unwrap()
}

/// One JSON value a line.
pub fn read_ndjson(path: &Path) -> Vec<Value> {
    parse_ndjson(&read_text(path))
}

/// One JSON value a line.
pub fn parse_ndjson(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

/// The random histories, unpacked: a directory with one folder a seed.
pub fn random() -> TempDir {
    let unpacked = tempfile::tempdir().unwrap();
    let archive = fs::File::open(fixtures().join("random.tar.xz")).unwrap();
    for entry in tar::Archive::new(lzma_rust2::XzReader::new(archive, false)).entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().into_owned();
        let below: PathBuf = path.components().skip(1).collect();
        if entry.header().entry_type().is_file() {
            let target = unpacked.path().join(below);
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            entry.unpack(target).unwrap();
        }
    }
    unpacked
}
