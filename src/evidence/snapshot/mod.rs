//! Snapshots: a `meta.json` and a `state.bin` in a directory or an archive, or a `state.bin` alone
//! (storage.md 6).

mod files;
pub mod stream;

use std::io::{self, Read};
use std::ops::ControlFlow;
use std::sync::OnceLock;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::EvidenceError;
use super::file::File;
use crate::entry::configuration::Server;
use crate::entry::msgpack::Reader;
use crate::types::{Index, Term};
use stream::{StateRecord, StreamEnd};

pub use files::{bare, in_dir, list};

/// What is known of a snapshot without reading its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SnapshotInfo {
    /// The directory, archive or file.
    pub path: String,
    /// `<term>-<index>-<milliseconds>`; absent for a `state.bin` alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The last entry whose effect it holds; of a `state.bin` alone, the highest that its tables name.
    pub index: Index,
    /// The term of that entry; 0 where it is not known.
    pub term: Term,
    /// The entry that its configuration comes from; 0 where it is not known.
    pub configuration_index: Index,
    /// The servers of the cluster at that entry.
    pub servers: Vec<Server>,
    /// Length of the state in bytes.
    pub size: u64,
    /// What is wrong with it as far as its description tells, a sentence each; empty for a good one.
    pub problems: Vec<String>,
}

/// What the description promises of the state.
#[derive(Clone, Debug, Default)]
struct Promise {
    size: Option<u64>,
    crc: Option<u64>,
    sha256: Option<String>,
}

/// One snapshot.
#[derive(Debug)]
pub struct Snapshot {
    info: SnapshotInfo,
    state: File,
    promise: Promise,
    verdict: OnceLock<Verdict>,
}

/// What comparing the state with its checksum came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A checksum was there and fits.
    Good,
    /// There is no checksum to hold it against.
    NoChecksum,
    /// It must not be used as a whole state; why, a sentence.
    Bad(String),
}

impl Snapshot {
    /// What is known without reading the state.
    pub fn info(&self) -> &SnapshotInfo {
        &self.info
    }

    /// Compares the state with its size and checksum, once; reads all of it.
    pub fn verify(&self) -> &Verdict {
        self.verdict.get_or_init(|| match self.info.problems.first() {
            Some(problem) => Verdict::Bad(problem.clone()),
            None => self.check().unwrap_or_else(|error| Verdict::Bad(format!("{}: {error}", self.state.path()))),
        })
    }

    /// True when a replay may begin from it.
    pub fn is_usable(&self) -> bool {
        !matches!(self.verify(), Verdict::Bad(_))
    }

    fn check(&self) -> io::Result<Verdict> {
        let path = self.state.path();
        if let Some(size) = self.promise.size.filter(|size| *size != self.state.len()) {
            let detail = format!("{path}: {} bytes where meta.json tells of {size}", self.state.len());
            return Ok(Verdict::Bad(detail));
        }
        if self.promise.crc.is_none() && self.promise.sha256.is_none() {
            // Without a sum, only walking to the end can tell a whole state from a cut one.
            return Ok(match self.walk(&mut |_| ControlFlow::Continue(()))?.problem {
                Some(problem) => Verdict::Bad(format!("{path}: {}", problem.detail)),
                None => Verdict::NoChecksum,
            });
        }
        let mut crc = crc64fast::Digest::new();
        let mut sha = self.promise.sha256.as_ref().map(|_| Sha256::new());
        let mut reader = self.state.reader();
        let mut buf = vec![0; 1 << 18];
        loop {
            let n = reader.read(&mut buf)?;
            let Some(piece) = buf.get(..n).filter(|piece| !piece.is_empty()) else { break };
            crc.write(piece);
            if let Some(sha) = &mut sha {
                sha.update(piece);
            }
        }
        if self.promise.crc.is_some_and(|sum| sum != crc.sum64()) {
            return Ok(Verdict::Bad(format!("{path}: its CRC does not fit the one in meta.json")));
        }
        let sha = sha.map(|sha| hex(&sha.finalize()));
        if sha.is_some() && sha != self.promise.sha256 {
            return Ok(Verdict::Bad(format!("{path}: its SHA-256 does not fit the one in SHA256SUMS")));
        }
        Ok(Verdict::Good)
    }

    fn walk(&self, sink: &mut dyn FnMut(StateRecord<'_>) -> ControlFlow<()>) -> io::Result<StreamEnd> {
        stream::walk(&self.state, sink)
    }

    /// Calls `sink` for each record of the state in order, until it breaks off. What follows damage is
    /// not read: the result tells whether there was any.
    ///
    /// # Errors
    /// When the system cannot read the file.
    pub fn records(
        &self,
        sink: &mut dyn FnMut(StateRecord<'_>) -> ControlFlow<()>,
    ) -> Result<StreamEnd, EvidenceError> {
        self.walk(sink).map_err(|source| EvidenceError::Io { path: self.state.path().into(), source })
    }

    /// The value of a record, by the offset that [`StateRecord::offset`] told.
    ///
    /// # Errors
    /// When no whole value begins there, or the system cannot read it.
    pub fn value_at(&self, offset: u64) -> Result<Vec<u8>, EvidenceError> {
        let path = || self.state.path().to_string();
        match stream::value_at(&self.state, offset) {
            Ok(Some(value)) => Ok(value),
            Ok(None) => {
                let detail = format!("no whole record begins at byte {offset}");
                Err(EvidenceError::Unreadable { path: path(), detail })
            }
            Err(source) => Err(EvidenceError::Io { path: path(), source }),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The highest index that the `Index` records at the front of a stream name (storage.md 6.3).
fn highest_index(state: &File) -> io::Result<u64> {
    const INDEX: u8 = 2;
    const TIME_TABLE: u8 = 5;
    let mut highest = 0;
    stream::walk(state, &mut |record| {
        if record.kind == INDEX {
            // A record of another shape tells no index.
            let _ = Reader::new(record.value).fields(|key, r| match key {
                b"Value" => r.uint().map(|value| highest = highest.max(value)),
                _ => r.skip(),
            });
        }
        if matches!(record.kind, INDEX | TIME_TABLE) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(highest)
}
