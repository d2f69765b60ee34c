//! Looks through a directory for logs where Nomad's own paths lead to none.

use std::collections::VecDeque;

use super::EvidenceError;
use super::locate::{CLOSED, Found, GIVE, Store, log_of_raft_dir, open_wal, raft_db_in};
use super::place::{Dir, Entry};
use super::snapshot::{self, Snapshot};
use super::wal;

/// How deep and how far a directory is looked through.
const MAX_DEPTH: usize = 8;
const MAX_ENTRIES: usize = 20_000;
const MAX_CANDIDATES: usize = 32;

/// A log that was found, with the directory whose snapshots belong to it.
struct Candidate {
    store: Store,
    raft: Dir,
    notes: Vec<String>,
}

/// What has been found so far.
#[derive(Default)]
struct Findings {
    candidates: Vec<Candidate>,
    /// Directories that hold a snapshot's files.
    snapshots: Vec<Snapshot>,
    refusals: Vec<EvidenceError>,
    /// The first directory that may not be listed.
    closed: Option<Dir>,
    looked_at: usize,
    cut: bool,
}

/// Looks through everything below `root`, breadth first and in order of name.
///
/// # Errors
/// When there is no log and no snapshot.
pub fn search(root: &Dir, mut notes: Vec<String>) -> Result<Found, EvidenceError> {
    let mut findings = Findings::default();
    let mut queue = VecDeque::from([(root.clone(), 0)]);
    while let Some((dir, depth)) = queue.pop_front() {
        for entry in findings.look(&dir, depth) {
            if depth < MAX_DEPTH {
                queue.push_back((entry, depth + 1));
            }
        }
    }
    if findings.cut {
        notes.push(format!("{} holds more than could be looked through; give the raft.db itself", root.shown()));
    }
    let Some(chosen) = choose(findings.candidates, &mut notes) else {
        if findings.snapshots.is_empty() {
            return Err(nothing_in(root, findings.refusals.into_iter().next(), findings.closed));
        }
        let mut snapshots = findings.snapshots;
        snapshots.sort_by_key(|snapshot| (snapshot.info().index, snapshot.info().term));
        return Ok(Found { store: Store::None(root.shown()), snapshots, notes });
    };
    notes.extend(chosen.notes);
    let snapshots = chosen.raft.dir("snapshots").map(|dir| snapshot::list(&dir)).unwrap_or_default();
    Ok(Found { store: chosen.store, snapshots, notes })
}

impl Findings {
    /// Looks at one directory; the result are the directories in it that are still to be looked at.
    fn look(&mut self, dir: &Dir, depth: usize) -> Vec<Dir> {
        let mut deeper = Vec::new();
        if self.cut {
            return deeper;
        }
        // The top has been looked at before the search began.
        if depth > 0 && self.take_raft_dir(dir) {
            return deeper;
        }
        let entries = dir.list();
        if entries.is_empty() && self.closed.is_none() && dir.is_closed() {
            self.closed = Some(dir.clone());
        }
        for (_, entry) in entries {
            self.looked_at += 1;
            self.cut |= self.looked_at > MAX_ENTRIES || self.candidates.len() >= MAX_CANDIDATES;
            match entry {
                _ if self.cut => break,
                Entry::Dir(dir) => deeper.push(dir),
                Entry::File(file) => match raft_db_in(&file) {
                    Some(Ok(db)) => self.add(Store::RaftDb(Box::new(db)), dir, Vec::new()),
                    Some(Err(error)) => self.refusals.push(error),
                    None => {}
                },
            }
        }
        deeper
    }

    /// True when the directory is a raft dir, a write-ahead log or a snapshot, and needs no further look.
    fn take_raft_dir(&mut self, dir: &Dir) -> bool {
        let mut notes = Vec::new();
        let store = match log_of_raft_dir(dir, &mut notes) {
            Some(store) => store,
            None if wal::is_wal(dir) => open_wal(dir),
            None => match snapshot::in_dir(dir) {
                Some(snapshot) => {
                    self.snapshots.push(snapshot);
                    return true;
                }
                None => return false,
            },
        };
        match store {
            Ok(store) => self.add(store, dir, notes),
            Err(error) => self.refusals.push(error),
        }
        true
    }

    fn add(&mut self, store: Store, raft: &Dir, notes: Vec<String>) {
        self.candidates.push(Candidate { store, raft: raft.clone(), notes });
    }
}

/// Of several logs the one that knows most: the highest last term, then the highest last index, then the first found.
fn choose(candidates: Vec<Candidate>, notes: &mut Vec<String>) -> Option<Candidate> {
    let reach = |candidate: &Candidate| candidate.store.last_entry().map(|(index, term)| (term, index));
    let ranked = candidates.iter().enumerate().map(|(n, candidate)| ((reach(candidate), std::cmp::Reverse(n)), n));
    let best = ranked.max()?.1;
    if candidates.len() > 1 {
        let others = candidates.iter().enumerate().filter(|(n, _)| *n != best);
        let names: Vec<&str> = others.map(|(_, candidate)| candidate.store.path()).collect();
        let chosen = candidates.get(best).map_or("", |candidate| candidate.store.path());
        notes.push(format!(
            "{} logs were found; {chosen} is read, since its last entry is the newest; not read: {}",
            candidates.len(),
            names.join(", ")
        ));
    }
    candidates.into_iter().nth(best)
}

fn nothing_in(root: &Dir, refusal: Option<EvidenceError>, closed: Option<Dir>) -> EvidenceError {
    let path = root.shown();
    match closed.map(|closed| closed.shown()) {
        Some(closed) if closed == path => return EvidenceError::NotEvidence { path, detail: CLOSED.into() },
        Some(closed) => {
            let detail = format!("no raft log in what may be read here; {closed}: {CLOSED}");
            return EvidenceError::NotEvidence { path, detail };
        }
        None => {}
    }
    let mut detail = format!("no raft log in this directory; {GIVE}");
    if let Some(refusal) = refusal {
        detail.push_str(&format!(" ({refusal})"));
    }
    EvidenceError::NotEvidence { path, detail }
}
