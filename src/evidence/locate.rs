//! Finds the log that a path means (contract.md 1, storage.md 1).
//!
//! What a file holds decides, not its name. A directory is first read as Nomad reads it; where that
//! finds nothing, everything below it is looked through, within bounds and always in the same order.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::EvidenceError;
use super::bolt::Bolt;
use super::bolt::meta::{self, Metas};
use super::file::File;
use super::raftdb::RaftDb;
use super::window;

/// What to give, for messages.
const GIVE: &str = "give a Nomad data dir, its server/raft dir or a raft.db";

/// How deep and how far a directory is looked through.
const MAX_DEPTH: usize = 8;
const MAX_ENTRIES: usize = 20_000;
const MAX_CANDIDATES: usize = 32;

/// The log that a path means.
#[derive(Debug)]
pub struct Found {
    /// The bolt file.
    pub bolt: Bolt,
    /// What was chosen and why, where more than one log could be meant.
    pub notes: Vec<String>,
}

/// Finds the log that `path` means.
///
/// # Errors
/// When there is no such path, or nothing below it is a log.
pub fn locate(path: &Path) -> Result<Found, EvidenceError> {
    let about = fs::metadata(path).map_err(|error| refused(path, error))?;
    if !about.is_dir() {
        return Ok(Found { bolt: open_file(path)?, notes: Vec::new() });
    }
    for dir in [path.join("server").join("raft"), path.join("raft"), path.to_path_buf()] {
        let file = dir.join("raft.db");
        if file.is_file() {
            let bolt = open_file(&file)?;
            return Ok(Found { bolt, notes: others_beside(&dir, &file) });
        }
    }
    search(path)
}

/// A sentence for a path that the system refuses.
fn refused(path: &Path, error: io::Error) -> EvidenceError {
    let path = path.display().to_string();
    match error.kind() {
        io::ErrorKind::NotFound => {
            EvidenceError::NotEvidence { path, detail: format!("no such file or directory; {GIVE}") }
        }
        io::ErrorKind::PermissionDenied => EvidenceError::NotEvidence {
            path,
            detail: "permission denied; run as a user who may read it, or give a copy".into(),
        },
        _ => EvidenceError::Io { path, source: error },
    }
}

/// Opens a file that must be a bolt file.
fn open_file(path: &Path) -> Result<Bolt, EvidenceError> {
    let file = File::open(path).map_err(|error| match error {
        EvidenceError::Io { source, .. } => refused(path, source),
        other => other,
    })?;
    let head = file.read_up_to(0, 512).map_err(|source| EvidenceError::Io { path: file.path().into(), source })?;
    let error = match Bolt::open(file.clone()) {
        Ok(bolt) => return Ok(bolt),
        Err(error) => error,
    };
    let path = file.path().to_string();
    if meta::has_magic(&head) {
        let detail = format!("neither meta page of this bolt file is valid (page 0: {error}); try --salvage");
        return Err(EvidenceError::Unreadable { path, detail });
    }
    Err(EvidenceError::NotEvidence { path, detail: describe(&head, file.len()) })
}

/// What a file that is no evidence looks like, and what to give.
fn describe(head: &[u8], len: u64) -> String {
    let what = if len == 0 {
        "the file is empty".to_string()
    } else if head.iter().all(|&byte| byte == 0) {
        format!("the file begins with zeros ({len} bytes in all)")
    } else if std::str::from_utf8(head).is_ok_and(|text| !text.contains('\0')) {
        "this is a text file".to_string()
    } else if len < 1024 {
        format!("the file is too short for a log ({len} bytes)")
    } else {
        "this is no file that raftscope reads".to_string()
    };
    format!("{what}; {GIVE}")
}

fn is_bolt(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    file.read_up_to(0, 64).is_ok_and(|head| meta::has_magic(&head)) || Metas::read(&file).is_ok()
}

/// Says which other files of a raft dir hold a log as well.
fn others_beside(dir: &Path, chosen: &Path) -> Vec<String> {
    let others = sorted(dir).into_iter().filter(|path| path != chosen && path.is_file() && is_bolt(path));
    let names: Vec<String> = others.map(|path| path.display().to_string()).collect();
    if names.is_empty() {
        return Vec::new();
    }
    let chosen = chosen.display();
    vec![format!("{chosen} is read, since a server reads the file of that name; not read: {}", names.join(", "))]
}

/// The entries of a directory in order of name; none where it cannot be read, which is no failure.
fn sorted(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.take(MAX_ENTRIES).flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Looks through a directory for files whose content is a raft log.
fn search(root: &Path) -> Result<Found, EvidenceError> {
    let mut queue = VecDeque::from([(root.to_path_buf(), 0)]);
    let mut looked_at = 0;
    let mut candidates = Vec::new();
    let mut refusals = Vec::new();
    let mut cut = false;
    while let Some((dir, depth)) = queue.pop_front() {
        for path in sorted(&dir) {
            looked_at += 1;
            cut |= looked_at > MAX_ENTRIES || candidates.len() >= MAX_CANDIDATES;
            if cut {
                break;
            }
            // Links to directories are not followed: they may lead round in circles.
            let Ok(about) = fs::symlink_metadata(&path) else { continue };
            if about.is_dir() {
                if depth < MAX_DEPTH {
                    queue.push_back((path, depth + 1));
                }
            } else if path.is_file() && is_bolt(&path) {
                match open_file(&path).and_then(|bolt| RaftDb::open(bolt.clone()).map(|db| (bolt, db))) {
                    Ok((bolt, db)) => candidates.push((bolt, db)),
                    Err(error) => refusals.push(error),
                }
            }
        }
    }
    let mut found = choose(candidates).ok_or_else(|| nothing_in(root, refusals.into_iter().next()))?;
    if cut {
        found
            .notes
            .push(format!("{} holds more than could be looked through; give the raft.db itself", root.display()));
    }
    Ok(found)
}

/// Of several logs the one that knows most: the highest last term, then the highest last index, then the first found.
fn choose(candidates: Vec<(Bolt, RaftDb)>) -> Option<Found> {
    let reach = |db: &RaftDb| window::last_entry(db).map(|(index, term)| (term, index));
    let best = candidates.iter().enumerate().max_by_key(|(n, (_, db))| (reach(db), std::cmp::Reverse(*n)))?.0;
    let mut notes = Vec::new();
    if candidates.len() > 1 {
        let others = candidates.iter().enumerate().filter(|(n, _)| *n != best);
        let names: Vec<&str> = others.map(|(_, (bolt, _))| bolt.file().path()).collect();
        let chosen = candidates.get(best).map_or("", |(bolt, _)| bolt.file().path());
        notes.push(format!(
            "{} logs were found; {chosen} is read, since its last entry is the newest; not read: {}",
            candidates.len(),
            names.join(", ")
        ));
    }
    candidates.into_iter().nth(best).map(|(bolt, _)| Found { bolt, notes })
}

fn nothing_in(root: &Path, refusal: Option<EvidenceError>) -> EvidenceError {
    let mut detail = format!("no raft log in this directory; {GIVE}");
    if let Some(refusal) = refusal {
        detail.push_str(&format!(" ({refusal})"));
    }
    EvidenceError::NotEvidence { path: root.display().to_string(), detail }
}
