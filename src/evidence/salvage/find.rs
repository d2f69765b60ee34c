//! Opens evidence for carving, the bolt file of a log that cannot be read included.

use std::path::Path;
use std::sync::Arc;

use super::super::file::File;
use super::super::locate::{self, Found, Store};
use super::super::parcel::{self, Packing};
use super::super::place::Dir;
use super::super::raftdb::WholePages;
use super::super::{Evidence, EvidenceError, opened};
use super::pages::Pages;
use super::segments::Segments;
use super::{Carver, Source};
use crate::evidence::bolt::Bolt;

/// A tar in a gzip in a gzip is as deep as anybody packs.
const MOST_LAYERS: usize = 4;

/// As [`crate::evidence::open`], with a carver of its bolt file or its segments; `None` where the log is in
/// neither. A bolt file whose log cannot be read has an empty log here, and notes that say why.
///
/// # Errors
/// As [`crate::evidence::open`], where there is no bolt file to carve either.
pub fn open(path: &Path) -> Result<(Evidence, Option<Carver>), EvidenceError> {
    match locate::locate(path) {
        Ok(found) => Ok(with_carver(found)),
        Err(error) => lost(bolt_file(path), error),
    }
}

/// As [`open`], of a file that is open already, or of bytes in memory, with nothing beside it.
///
/// # Errors
/// As [`open`].
pub fn open_file(file: File) -> Result<(Evidence, Option<Carver>), EvidenceError> {
    match locate::in_open_file(file.clone()) {
        Ok(found) => Ok(with_carver(found)),
        Err(error) => lost(unpacked(file), error),
    }
}

/// As [`open`], of a directory, which may be one in a parcel.
///
/// # Errors
/// As [`open`].
pub fn open_dir(dir: &Dir) -> Result<(Evidence, Option<Carver>), EvidenceError> {
    match locate::in_open_dir(dir) {
        Ok(found) => Ok(with_carver(found)),
        Err(error) => lost(raft_db_below(dir), error),
    }
}

fn with_carver(found: Found) -> (Evidence, Option<Carver>) {
    let carver = match &found.store {
        Store::RaftDb(db) => Some(Carver(Source::Pages(Box::new(Pages::of(db.bolt(), db.whole_pages()))))),
        Store::Wal(wal) => Some(Carver(Source::Segments(Segments::of(wal)))),
        _ => None,
    };
    (opened(found), carver)
}

/// What can be had of a bolt file whose log cannot be read, for which `error` says why.
fn lost(file: Option<File>, error: EvidenceError) -> Result<(Evidence, Option<Carver>), EvidenceError> {
    let Some(file) = file else { return Err(error) };
    let carver = match Bolt::open(file.clone()) {
        Ok(bolt) => Some(Pages::of(&bolt, WholePages::default())),
        Err(_) => Pages::probed(file.clone())?,
    };
    let Some(carver) = carver.map(|pages| Carver(Source::Pages(Box::new(pages)))) else {
        let detail = "no page of a bolt file can be made out in it, so nothing can be carved; give another copy";
        return Err(EvidenceError::Unreadable { path: file.path().into(), detail: detail.into() });
    };
    let notes = vec![format!("there is no live log, only carved entries can be had: {error}")];
    let found = Found { store: Store::Lost(file), snapshots: Vec::new(), notes };
    Ok((opened(found), Some(carver)))
}

/// The file that a path means for carving, without regard to what its first bytes are.
fn bolt_file(path: &Path) -> Option<File> {
    if path.as_os_str() == "-" {
        return None;
    }
    if path.is_dir() {
        return raft_db_below(&Dir::Disk(path.to_path_buf()));
    }
    unpacked(File::open(path).ok()?)
}

/// The file that may be a bolt file in what a file is packed in.
fn unpacked(mut file: File) -> Option<File> {
    for _ in 0..MOST_LAYERS {
        let head = file.read_up_to(0, 4096).ok()?;
        file = match parcel::packing(&head) {
            None => return Some(file),
            Some(Packing::Tar) => {
                let parcel = parcel::open_tar(&file, &mut Vec::new()).ok()?;
                return raft_db_below(&Dir::Parcel(Arc::new(parcel), String::new()));
            }
            Some(packing) => parcel::unpack(&file, packing, &mut Vec::new()).ok()?,
        };
    }
    None
}

fn raft_db_below(dir: &Dir) -> Option<File> {
    let raft = [dir.dir("server").and_then(|dir| dir.dir("raft")), dir.dir("raft"), Some(dir.clone())];
    raft.iter().flatten().find_map(|raft| raft.file("raft.db")?.open().ok())
}
