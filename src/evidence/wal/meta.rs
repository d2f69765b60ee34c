//! `wal-meta.db`: which segments make up the log, and the stable store (storage.md 5.1).

use std::ops::ControlFlow;

use serde::Deserialize;

use super::super::bolt::meta::Meta;
use super::super::bolt::page::Root;
use super::super::bolt::tree::{self, Direction, Met, WalkError};
use super::super::bolt::{ATTEMPTS, BETWEEN_ATTEMPTS, Bolt, Buckets};
use super::super::file::{File, Shape};
use super::super::raftdb::Stable;
use crate::types::Term;

/// What Go prints for a segment that is not sealed.
const NEVER: &str = "0001-01-01T00:00:00Z";

/// One segment as the metadata lists it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "PascalCase")]
pub struct Listed {
    /// Its id, unique and rising.
    #[serde(rename = "ID")]
    pub id: u64,
    /// The index of the first entry in its file.
    pub base_index: u64,
    /// The first index that counts.
    pub min_index: u64,
    /// The last index that counts; 0 while it is not sealed.
    pub max_index: u64,
    #[serde(default)]
    seal_time: String,
}

impl Listed {
    /// True when its writer has closed it.
    pub fn is_sealed(&self) -> bool {
        self.max_index > 0 || !(self.seal_time.is_empty() || self.seal_time == NEVER)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct State {
    // Go writes null for an empty list.
    segments: Option<Vec<Listed>>,
}

/// What `wal-meta.db` says.
#[derive(Debug)]
pub struct WalMeta {
    /// The bolt file.
    pub bolt: Bolt,
    /// Which meta page is used, and what it says.
    pub active: (usize, Meta),
    /// The segments in order of base index.
    pub segments: Vec<Listed>,
    /// The server's stable store.
    pub stable: Stable,
}

/// Reads the metadata.
///
/// # Errors
/// A sentence that says why the segments are not known.
pub fn read(file: File) -> Result<WalMeta, String> {
    let mut attempt = read_once(file.again());
    // A server may be writing: what was read between two commits is whole.
    for _ in 0..ATTEMPTS {
        if !attempt.as_ref().is_err_and(|error| *error == WalkError::Changed.to_string()) {
            break;
        }
        std::thread::sleep(BETWEEN_ATTEMPTS);
        attempt = read_once(file.again());
    }
    attempt
}

fn read_once(file: File) -> Result<WalMeta, String> {
    let bolt = Bolt::open(file).map_err(|error| format!("neither meta page is valid (page 0: {error})"))?;
    let first = bolt.metas().active();
    let mut why = String::new();
    for active in [first, 1 - first] {
        let Ok(meta) = bolt.metas().pages[active] else { continue };
        match read_state(&bolt, &meta) {
            Ok((segments, stable)) => return Ok(WalMeta { bolt, active: (active, meta), segments, stable }),
            Err(error) if why.is_empty() => why = error,
            Err(_) => {}
        }
    }
    Err(why)
}

fn read_state(bolt: &Bolt, meta: &Meta) -> Result<(Vec<Listed>, Stable), String> {
    let buckets = bolt.buckets(meta).map_err(|error| error.to_string())?;
    let root = buckets.root("wal-meta").ok_or_else(|| no_bucket(&buckets))?;
    let mut segments = Vec::new();
    let mut problem = None;
    each(bolt, meta, root, &mut |key, value| {
        if key == b"m" {
            match serde_json::from_slice::<State>(value) {
                Ok(state) => segments = state.segments.unwrap_or_default(),
                Err(error) => problem = Some(format!("the list of segments cannot be decoded: {error}")),
            }
        }
    })?;
    if let Some(problem) = problem {
        return Err(problem);
    }
    segments.sort_by_key(|segment| (segment.base_index, segment.id));
    let mut stable = Stable::default();
    if let Some(root) = buckets.root("stable") {
        // Numbers are little endian here, big endian in raft.db.
        each(bolt, meta, root, &mut |key, value| {
            let term = || value.try_into().ok().map(|raw| Term(u64::from_le_bytes(raw)));
            match key {
                b"CurrentTerm" => stable.current_term = term(),
                b"LastVoteTerm" => stable.last_vote_term = term(),
                b"LastVoteCand" => stable.last_vote_candidate = Some(String::from_utf8_lossy(value).into_owned()),
                _ => {}
            }
        })?;
    }
    Ok((segments, stable))
}

fn no_bucket(buckets: &Buckets) -> String {
    match buckets.lost.first() {
        Some(lost) => lost.clone(),
        None => format!("it has no bucket wal-meta but {}", buckets.names()),
    }
}

fn each(bolt: &Bolt, meta: &Meta, root: Root, found: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), String> {
    let mut lost = None;
    let mut pager = bolt.pager(meta, Shape::LOOKUP);
    let walked = tree::walk(&mut pager, root, None, Direction::Forward, &mut || bolt.is_unchanged(), &mut |met| {
        match met {
            Met::Item(item) => found(item.key, item.value),
            Met::Lost(place) => lost = Some(place.reason),
        }
        ControlFlow::Continue(())
    });
    walked.map_err(|error| error.to_string())?;
    lost.map_or(Ok(()), Err)
}
