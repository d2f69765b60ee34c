//! Finds the files of snapshots and reads their descriptions (storage.md 6.1, 6.2).

use std::sync::OnceLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::super::EvidenceError;
use super::super::file::File;
use super::super::place::{Dir, Entry};
use super::{Promise, Snapshot, SnapshotInfo, highest_index};
use crate::entry::configuration::{self, Server};
use crate::types::{Index, Term};

const META: &str = "meta.json";
const STATE: &str = "state.bin";
const SUMS: &str = "SHA256SUMS";

/// A description longer than this is none.
const LONGEST_TEXT: u64 = 4 << 20;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", default)]
#[derive(Default)]
struct Meta {
    #[serde(rename = "ID")]
    id: String,
    index: u64,
    term: u64,
    configuration: Option<Configuration>,
    configuration_index: u64,
    size: u64,
    #[serde(rename = "CRC")]
    crc: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Configuration {
    servers: Option<Vec<ServerJson>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", default)]
#[derive(Default)]
struct ServerJson {
    suffrage: i64,
    #[serde(rename = "ID")]
    id: String,
    address: String,
}

/// The snapshots of a `snapshots/` directory, by index; abandoned ones (`.tmp`) and damaged ones with their problems.
pub fn list(dir: &Dir) -> Vec<Snapshot> {
    let dirs = dir.list().into_iter().filter_map(|(_, entry)| match entry {
        Entry::Dir(dir) => Some(dir),
        Entry::File(_) => None,
    });
    let mut found: Vec<Snapshot> = dirs.filter_map(|dir| in_dir(&dir)).collect();
    found.sort_by(|a, b| (a.info.index, a.info.term, &a.info.id).cmp(&(b.info.index, b.info.term, &b.info.id)));
    found
}

/// The snapshot of a directory or of an unpacked archive; `None` where it holds no `state.bin` or `meta.json`.
pub fn in_dir(dir: &Dir) -> Option<Snapshot> {
    let (meta_file, state_file) = (dir.file(META), dir.file(STATE));
    if meta_file.is_none() && state_file.is_none() {
        return None;
    }
    let path = dir.shown();
    let mut problems = Vec::new();
    let state = match state_file.map(|file| file.open()) {
        Some(Ok(state)) => state,
        Some(Err(error)) => {
            problems.push(error.to_string());
            File::from_memory(&path, Vec::new())
        }
        None => {
            problems.push(format!("{path}: there is no {STATE}"));
            File::from_memory(&path, Vec::new())
        }
    };
    let text = match meta_file.map(|file| file.open().map_err(|error| error.to_string()).and_then(read_text)) {
        Some(Ok(text)) => text,
        Some(Err(error)) => {
            problems.push(error);
            Vec::new()
        }
        None => {
            let index = highest_index(&state).unwrap_or_default();
            return Some(without_meta(path, index, state, problems));
        }
    };
    let meta = serde_json::from_slice(&text).unwrap_or_else(|error| {
        problems.push(format!("{path}: {META} cannot be decoded: {error}"));
        Meta::default()
    });
    let name = dir.name();
    let sums = dir.file(SUMS).map(|file| file.open().map_err(|error| error.to_string()).and_then(read_text));
    // An archive has neither the directory's name nor a CRC of its own.
    let promise = match sums {
        Some(sums) => archive_promise(&meta, &text, sums, &path, &mut problems),
        // An archive whose end is missing.
        None if name.is_empty() && meta.crc.is_none() => {
            if state.len() < meta.size {
                let (end, size) = (state.len(), meta.size);
                problems.push(format!("{path}: it is truncated: {STATE} ends at byte {end} of {size}"));
            }
            Promise { size: Some(meta.size), crc: None, sha256: None }
        }
        None => directory_promise(&meta, &name, &path, &mut problems),
    };
    Some(Snapshot { info: info(path, &meta, &state, problems), state, promise, verdict: OnceLock::new() })
}

/// A `state.bin` alone: what is before it in the log cannot be told, so the index is that of its tables.
///
/// # Errors
/// When the system cannot read it.
pub fn bare(state: File) -> Result<Snapshot, EvidenceError> {
    let path = state.path().to_string();
    let index = highest_index(&state).map_err(|source| EvidenceError::Io { path: path.clone(), source })?;
    Ok(without_meta(path, index, state, Vec::new()))
}

fn without_meta(path: String, index: u64, state: File, problems: Vec<String>) -> Snapshot {
    let meta = Meta { index, ..Meta::default() };
    let info = SnapshotInfo { id: None, ..info(path, &meta, &state, problems) };
    Snapshot { info, state, promise: Promise::default(), verdict: OnceLock::new() }
}

fn info(path: String, meta: &Meta, state: &File, problems: Vec<String>) -> SnapshotInfo {
    let servers = meta.configuration.as_ref().and_then(|configuration| configuration.servers.as_deref());
    let server = |server: &ServerJson| Server {
        suffrage: configuration::suffrage(server.suffrage),
        id: server.id.clone(),
        address: server.address.clone(),
    };
    SnapshotInfo {
        path,
        id: Some(meta.id.clone()),
        index: Index(meta.index),
        term: Term(meta.term),
        configuration_index: Index(meta.configuration_index),
        servers: servers.unwrap_or_default().iter().map(server).collect(),
        size: state.len(),
        problems,
    }
}

fn read_text(file: File) -> Result<Vec<u8>, String> {
    if file.len() > LONGEST_TEXT {
        return Err(format!("{}: {} bytes are too many for a description", file.path(), file.len()));
    }
    file.read_up_to(0, LONGEST_TEXT as usize).map_err(|error| format!("{}: {error}", file.path()))
}

/// What the description in a snapshot directory promises.
fn directory_promise(meta: &Meta, name: &str, path: &str, problems: &mut Vec<String>) -> Promise {
    if name.ends_with(".tmp") {
        problems.push(format!("{path}: it was never finished"));
    } else if !name.is_empty() && meta.id != name && meta.id.matches('-').count() == 2 && name.matches('-').count() == 2
    {
        problems.push(format!("{path}: {META} calls it {}", meta.id));
    }
    if meta.configuration_index > meta.index {
        let (index, configuration) = (meta.index, meta.configuration_index);
        problems.push(format!("{path}: its configuration is of entry {configuration}, after its own {index}"));
    }
    let crc = meta.crc.as_deref().map(|text| {
        let bytes = STANDARD.decode(text).ok().and_then(|bytes| <[u8; 8]>::try_from(bytes).ok());
        bytes.map(u64::from_be_bytes)
    });
    match crc {
        Some(None) => problems.push(format!("{path}: the CRC in {META} is no CRC")),
        None if problems.is_empty() => problems.push(format!("{path}: {META} has no CRC, so it was never finished")),
        _ => {}
    }
    Promise { size: Some(meta.size), crc: crc.flatten(), sha256: None }
}

/// What the sums in an archive promise; the one of the description is compared at once.
fn archive_promise(
    meta: &Meta,
    meta_text: &[u8],
    sums: Result<Vec<u8>, String>,
    path: &str,
    problems: &mut Vec<String>,
) -> Promise {
    use sha2::{Digest, Sha256};
    let sums = sums.unwrap_or_else(|error| {
        problems.push(error);
        Vec::new()
    });
    let sums = String::from_utf8_lossy(&sums);
    let sum_of = |name: &str| {
        let mut lines = sums.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(_, file)| file.trim_start_matches([' ', '*']) == name).map(|(sum, _)| sum.to_ascii_lowercase())
    };
    match sum_of(META) {
        None => problems.push(format!("{path}: {SUMS} does not name {META}")),
        Some(sum) if sum != super::hex(&Sha256::digest(meta_text)) => {
            problems.push(format!("{path}: the SHA-256 of {META} does not fit"));
        }
        Some(_) => {}
    }
    let sha256 = sum_of(STATE);
    if sha256.is_none() {
        problems.push(format!("{path}: {SUMS} does not name {STATE}"));
    }
    Promise { size: Some(meta.size), crc: None, sha256 }
}
