//! Finds the evidence that a path means (contract.md 1, storage.md 1).
//!
//! What a file holds decides, not its name. A directory is first read as Nomad reads it; where that
//! finds nothing, everything below it is looked through, within bounds and always in the same order.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::bolt::Bolt;
use super::bolt::meta::{self, Metas};
use super::file::File;
use super::json::JsonLog;
use super::parcel::{self, Packing};
use super::place::{Dir, Entry, PlacedFile};
use super::raftdb::RaftDb;
use super::search::search;
use super::snapshot::{self, Snapshot, stream};
use super::wal::{self, Wal};
use super::{EvidenceError, Log};
use crate::types::{Index, Term};

/// What to give, for messages.
pub const GIVE: &str = "give a Nomad data dir, its server/raft dir or a raft.db";

/// What to do where the system refuses, for messages.
pub const CLOSED: &str = "permission denied; run as a user who may read it, or give a copy";

/// A tar in a gzip in a gzip is as deep as anybody packs.
const MOST_LAYERS: usize = 4;

/// The marker of a migration from `raft.db` to a write-ahead log that has not ended.
const MIGRATING: &str = ".migration-in-progress";

/// What keeps the log.
#[derive(Debug)]
pub enum Store {
    /// A `raft.db`.
    RaftDb(Box<RaftDb>),
    /// A write-ahead log.
    Wal(Box<Wal>),
    /// JSON.
    Json(JsonLog),
    /// Nothing: there are only snapshots. The path that was given.
    None(String),
    /// A bolt file whose log cannot be read; only carving finds something in it.
    Lost(File),
}

impl Store {
    /// The log.
    pub fn log(&self) -> Option<&dyn Log> {
        match self {
            Store::RaftDb(db) => Some(&**db),
            Store::Wal(wal) => Some(&**wal),
            Store::Json(json) => Some(json),
            Store::None(_) | Store::Lost(_) => None,
        }
    }

    /// The file or directory.
    pub fn path(&self) -> &str {
        match self {
            Store::RaftDb(db) => db.bolt().file().path(),
            Store::Wal(wal) => wal.path(),
            Store::Json(json) => json.file().path(),
            Store::None(path) => path,
            Store::Lost(file) => file.path(),
        }
    }

    /// The last entry; `None` for an empty log.
    pub fn last_entry(&self) -> Option<(Index, Term)> {
        super::window::last_entry(self.log()?)
    }
}

/// The evidence that a path means.
#[derive(Debug)]
pub struct Found {
    /// What keeps the log.
    pub store: Store,
    /// The snapshots beside it, by index.
    pub snapshots: Vec<Snapshot>,
    /// What was chosen and why, where more than one log could be meant, and what could not be read.
    pub notes: Vec<String>,
}

/// Finds the evidence that `path` means; `-` is standard input.
///
/// # Errors
/// When there is no such path, or nothing below it is evidence.
pub fn locate(path: &Path) -> Result<Found, EvidenceError> {
    found(path).map_err(|error| match error {
        EvidenceError::Io { path, source } => refused(Path::new(&path), source),
        other => other,
    })
}

fn found(path: &Path) -> Result<Found, EvidenceError> {
    if path.as_os_str() == "-" {
        let kept = parcel::keep("standard input", io::stdin().lock());
        let file = kept.map_err(|source| EvidenceError::Io { path: "standard input".into(), source })?;
        return in_file(file, None, 0, Vec::new());
    }
    let about = fs::metadata(path).map_err(|error| refused(path, error))?;
    if about.is_dir() {
        return in_dir(&Dir::Disk(path.to_path_buf()), Vec::new());
    }
    let file = File::open(path)?;
    // The parent of a bare name is the current directory.
    let parent = path.parent().map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent });
    in_file(file, parent.map(|parent| Dir::Disk(parent.to_path_buf())), 0, Vec::new())
}

/// Finds the evidence in a file that is open already, or in bytes, with nothing beside it.
///
/// # Errors
/// When it is no evidence.
pub fn in_open_file(file: File) -> Result<Found, EvidenceError> {
    in_file(file, None, 0, Vec::new())
}

/// Finds the evidence below a directory, which may be one in a parcel.
///
/// # Errors
/// When nothing below it is evidence.
pub fn in_open_dir(dir: &Dir) -> Result<Found, EvidenceError> {
    in_dir(dir, Vec::new())
}

/// A sentence for a path that the system refuses.
fn refused(path: &Path, error: io::Error) -> EvidenceError {
    let path = path.display().to_string();
    match error.kind() {
        io::ErrorKind::NotFound => {
            EvidenceError::NotEvidence { path, detail: format!("no such file or directory; {GIVE}") }
        }
        io::ErrorKind::PermissionDenied => EvidenceError::NotEvidence { path, detail: CLOSED.into() },
        _ => EvidenceError::Io { path, source: error },
    }
}

/// The evidence in a file, which lies in `beside`.
fn in_file(file: File, beside: Option<Dir>, layer: usize, mut notes: Vec<String>) -> Result<Found, EvidenceError> {
    let path = file.path().to_string();
    let io = |source| EvidenceError::Io { path: path.clone(), source };
    let head = file.read_up_to(0, 4096).map_err(io)?;
    match parcel::packing(&head) {
        Some(Packing::Tar) => {
            let parcel = parcel::open_tar(&file, &mut notes).map_err(io)?;
            return in_dir(&Dir::Parcel(Arc::new(parcel), String::new()), notes);
        }
        Some(packing) if layer < MOST_LAYERS => {
            let unpacked = parcel::unpack(&file, packing, &mut notes)?;
            return in_file(unpacked, None, layer + 1, notes);
        }
        _ => {}
    }
    if is_bolt(&file) {
        let db = RaftDb::open(open_bolt(file)?)?;
        let snapshots = beside.and_then(|dir| dir.dir("snapshots")).map(|dir| snapshot::list(&dir));
        return Ok(Found { store: Store::RaftDb(Box::new(db)), snapshots: snapshots.unwrap_or_default(), notes });
    }
    if stream::looks_like(&head) {
        // In its own directory the description beside it belongs to it.
        let described = beside.filter(|dir| dir.file("meta.json").is_some()).and_then(|dir| snapshot::in_dir(&dir));
        let described = described.filter(|found| found.info().size == file.len());
        let snapshot = described.map_or_else(|| snapshot::bare(file), Ok)?;
        return Ok(Found { store: Store::None(path), snapshots: vec![snapshot], notes });
    }
    if head.iter().find(|byte| !byte.is_ascii_whitespace()).is_some_and(|byte| b"[{".contains(byte))
        && let Some(log) = JsonLog::open(file.clone()).map_err(io)?
    {
        return Ok(Found { store: Store::Json(log), snapshots: Vec::new(), notes });
    }
    Err(EvidenceError::NotEvidence { path, detail: describe(&head, file.len()) })
}

/// Opens a file that begins like a bolt file.
fn open_bolt(file: File) -> Result<Bolt, EvidenceError> {
    let path = file.path().to_string();
    Bolt::open(file).map_err(|error| {
        let detail = format!("neither meta page of this bolt file is valid (page 0: {error}); try `logs --salvage`");
        EvidenceError::Unreadable { path, detail }
    })
}

/// What a file that is no evidence looks like, and what to give.
fn describe(head: &[u8], len: u64) -> String {
    let what = if len == 0 {
        "the file is empty".to_string()
    } else if head.iter().all(|&byte| byte == 0) {
        format!("the file begins with zeros ({len} bytes in all); if it was a raft.db, try `logs --salvage`")
    } else if head.starts_with(&[0x0d, 0x6b, 0xeb, 0x58]) {
        return "this is one segment of a write-ahead log; give the directory that it lies in".into();
    } else if is_text(head) {
        "this is a text file".to_string()
    } else if len < 1024 {
        format!("the file is too short for a log ({len} bytes)")
    } else {
        "this is no file that raftscope reads".to_string()
    };
    format!("{what}; {GIVE}")
}

fn is_text(head: &[u8]) -> bool {
    let valid = match std::str::from_utf8(head) {
        Ok(text) => text,
        // The last letter may be cut.
        Err(error) if error.error_len().is_none() => {
            head.get(..error.valid_up_to()).and_then(|valid| std::str::from_utf8(valid).ok()).unwrap_or("\0")
        }
        Err(_) => "\0",
    };
    !valid.contains('\0')
}

fn is_bolt(file: &File) -> bool {
    file.read_up_to(0, 64).is_ok_and(|head| meta::has_magic(&head)) || Metas::read(file).is_ok()
}

/// The log of a file that is a bolt file; `None` for other files, and the reason where it cannot be read.
pub fn raft_db_in(file: &PlacedFile) -> Option<Result<RaftDb, EvidenceError>> {
    let file = file.open().ok().filter(is_bolt)?;
    Some(open_bolt(file).and_then(RaftDb::open))
}

/// The evidence below a directory.
fn in_dir(dir: &Dir, mut notes: Vec<String>) -> Result<Found, EvidenceError> {
    let raft = [dir.dir("server").and_then(|dir| dir.dir("raft")), dir.dir("raft"), Some(dir.clone())];
    for raft in raft.iter().flatten() {
        if let Some(store) = log_of_raft_dir(raft, &mut notes) {
            let snapshots = raft.dir("snapshots").map(|dir| snapshot::list(&dir)).unwrap_or_default();
            let store = store.map_err(|error| with_snapshots(error, raft, &snapshots))?;
            return Ok(Found { store, snapshots, notes });
        }
    }
    if wal::is_wal(dir) {
        let snapshots = dir.parent().and_then(|dir| dir.dir("snapshots")).map(|dir| snapshot::list(&dir));
        return Ok(Found {
            store: Store::Wal(Box::new(Wal::open(dir)?)),
            snapshots: snapshots.unwrap_or_default(),
            notes,
        });
    }
    if let Some(snapshot) = snapshot::in_dir(dir) {
        return Ok(Found { store: Store::None(dir.shown()), snapshots: vec![snapshot], notes });
    }
    let lists = raft.iter().flatten().filter_map(|raft| raft.dir("snapshots")).chain([dir.clone()]);
    for snapshots in lists.map(|dir| snapshot::list(&dir)) {
        if !snapshots.is_empty() {
            return Ok(Found { store: Store::None(dir.shown()), snapshots, notes });
        }
    }
    search(dir, notes)
}

/// Where the log cannot be read, the snapshots still can.
fn with_snapshots(error: EvidenceError, raft: &Dir, snapshots: &[Snapshot]) -> EvidenceError {
    match error {
        EvidenceError::Unreadable { path, detail } if !snapshots.is_empty() => {
            let detail = format!("{detail}; its snapshots can be read by themselves: give {}/snapshots", raft.shown());
            EvidenceError::Unreadable { path, detail }
        }
        other => other,
    }
}

/// The log of a `raft/` directory as Nomad 2.0 chooses it: the write-ahead log before `raft.db`. `None` without either.
pub fn log_of_raft_dir(raft: &Dir, notes: &mut Vec<String>) -> Option<Result<Store, EvidenceError>> {
    let wal = raft.dir("wal").filter(wal::is_wal);
    let db = raft.file("raft.db");
    match (wal, db) {
        (None, None) => None,
        (None, Some(file)) => {
            note_others_beside(raft, &file, notes);
            Some(file.open().and_then(open_raft_db))
        }
        (Some(wal), None) => Some(open_wal(&wal)),
        (Some(wal), Some(file)) => Some(choose_backend(raft, &wal, &file, notes)),
    }
}

fn open_raft_db(file: File) -> Result<Store, EvidenceError> {
    if !is_bolt(&file) {
        let head = file.read_up_to(0, 4096).unwrap_or_default();
        return Err(EvidenceError::NotEvidence { path: file.path().into(), detail: describe(&head, file.len()) });
    }
    open_bolt(file).and_then(RaftDb::open).map(|db| Store::RaftDb(Box::new(db)))
}

/// The write-ahead log in a directory.
///
/// # Errors
/// As [`Wal::open`].
pub fn open_wal(dir: &Dir) -> Result<Store, EvidenceError> {
    Wal::open(dir).map(|wal| Store::Wal(Box::new(wal)))
}

fn choose_backend(raft: &Dir, wal: &Dir, file: &PlacedFile, notes: &mut Vec<String>) -> Result<Store, EvidenceError> {
    let db = file.open().and_then(open_raft_db);
    let wal = open_wal(wal);
    let told = |store: &Store| match store.last_entry() {
        Some((index, term)) => format!("{}, which ends at entry {index} of term {term}", store.path()),
        None => format!("{}, which is empty", store.path()),
    };
    let or_why = |store: Result<Store, EvidenceError>| match store {
        Ok(store) => told(&store),
        Err(error) => error.to_string(),
    };
    let migrating = raft.file(MIGRATING).is_some();
    let (chosen, other) = match (wal, db) {
        (Ok(wal), db) if !migrating || db.is_err() => (wal, or_why(db)),
        (wal, Ok(db)) => (db, or_why(wal)),
        (wal, Err(_)) => return wal,
    };
    let why = match &chosen {
        Store::Wal(_) => "since a server with both reads the write-ahead log",
        _ if migrating => "since the migration to a write-ahead log did not end",
        _ => "since the write-ahead log cannot be read",
    };
    notes.push(format!("{} is read, {why}; not read: {other}", told(&chosen)));
    Ok(chosen)
}

/// Says which other files of a raft dir hold a log as well.
fn note_others_beside(raft: &Dir, chosen: &PlacedFile, notes: &mut Vec<String>) {
    let others = raft.list().into_iter().filter_map(|(_, entry)| match entry {
        Entry::File(file) if file.shown() != chosen.shown() => Some(file),
        _ => None,
    });
    let logs = others.filter(|file| file.open().is_ok_and(|file| is_bolt(&file)));
    let names: Vec<String> = logs.map(|file| file.shown()).collect();
    if !names.is_empty() {
        let chosen = chosen.shown();
        notes.push(format!(
            "{chosen} is read, since a server reads the file of that name; not read: {}",
            names.join(", ")
        ));
    }
}
