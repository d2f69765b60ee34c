//! Writes raft-wal directories (storage.md 5), as a server with that store does: batch by batch, segment by segment.

use std::fs::File;
use std::io::{Result, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::bolt::{Db, Layout, Transaction};
use super::history::Entry;

/// The first bytes of a segment, as a little-endian number of four bytes.
const MAGIC: u32 = 0x58eb_6b0d;
/// The one codec there is.
const CODEC: u64 = 1;
/// Bytes of a segment's header and of a frame's.
const SEGMENT_HEADER: usize = 32;
const FRAME_HEADER: usize = 8;
/// What Go prints for a time that never was.
const NEVER: &str = "0001-01-01T00:00:00Z";
/// Seconds from the year 1, where Go counts from, to 1970.
const GO_TO_UNIX: i64 = 62_135_596_800;

/// What a frame holds.
#[derive(Clone, Copy)]
enum Frame {
    Entry = 1,
    Index = 2,
    Commit = 3,
}

/// The segment that is written to.
struct Tail {
    file: File,
    id: u64,
    base: u64,
    length: u64,
    /// Where the frame of each entry begins.
    offsets: Vec<u32>,
    /// The checksum of what was written since the last commit.
    since_commit: u32,
}

/// A write-ahead log open for writing.
pub struct Wal {
    dir: PathBuf,
    meta: Db,
    size_limit: u64,
    sealed: Vec<Value>,
    tail: Tail,
}

impl Wal {
    /// A new log in an empty directory, whose segments are sealed once they have `size_limit` bytes.
    pub fn create(dir: &Path, size_limit: u64) -> Result<Self> {
        let meta = Db::create(&dir.join("wal-meta.db"), Layout::default())?;
        let tail = Tail::create(dir, 0, 1, size_limit)?;
        let mut wal = Wal { dir: dir.into(), meta, size_limit, sealed: Vec::new(), tail };
        wal.vote(1, "127.0.0.1:21647")?;
        wal.write_meta()?;
        Ok(wal)
    }

    /// Appends a batch, which is all there or not at all.
    pub fn append(&mut self, batch: &[Entry]) -> Result<()> {
        let mut bytes = Vec::new();
        for entry in batch {
            self.tail.offsets.push((self.tail.length + bytes.len() as u64) as u32);
            push_frame(&mut bytes, Frame::Entry, &payload(entry));
        }
        let is_full = self.tail.length + bytes.len() as u64 >= self.size_limit;
        let mut index_start = 0;
        if is_full {
            index_start = self.tail.length + (bytes.len() + FRAME_HEADER) as u64;
            let array: Vec<u8> = self.tail.offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect();
            push_frame(&mut bytes, Frame::Index, &array);
        }
        self.tail.commit(bytes)?;
        if is_full {
            self.seal(index_start, batch)?;
        }
        Ok(())
    }

    /// Notes a term and a vote in the stable store, whose numbers are little-endian here.
    pub fn vote(&mut self, term: u64, candidate: &str) -> Result<()> {
        let mut stable = Transaction::default();
        for key in ["CurrentTerm", "LastVoteTerm"] {
            stable.put("stable", key.as_bytes(), term.to_le_bytes().to_vec());
        }
        stable.put("stable", b"LastVoteCand", candidate.into());
        self.meta.commit(stable)
    }

    fn seal(&mut self, index_start: u64, batch: &[Entry]) -> Result<()> {
        let last = self.tail.base + self.tail.offsets.len() as u64 - 1;
        let sealed_at = batch.last().and_then(|entry| entry.appended_at).unwrap_or_default();
        self.sealed.push(self.listed(last, index_start, &rfc3339(sealed_at)));
        self.tail = Tail::create(&self.dir, self.tail.id + 1, last + 1, self.size_limit)?;
        self.write_meta()
    }

    fn listed(&self, last: u64, index_start: u64, sealed_at: &str) -> Value {
        json!({
            "ID": self.tail.id, "BaseIndex": self.tail.base, "MinIndex": self.tail.base, "MaxIndex": last,
            "Codec": CODEC, "IndexStart": index_start, "CreateTime": rfc3339(1_770_090_000_000_000_000),
            "SealTime": sealed_at, "SizeLimit": self.size_limit,
        })
    }

    fn write_meta(&mut self) -> Result<()> {
        let mut segments = self.sealed.clone();
        segments.push(self.listed(0, 0, NEVER));
        let state = json!({ "NextSegmentID": self.tail.id + 1, "Segments": segments });
        let mut transaction = Transaction::default();
        transaction.put("wal-meta", b"m", state.to_string().into_bytes());
        self.meta.commit(transaction)
    }
}

impl Tail {
    fn create(dir: &Path, id: u64, base: u64, size_limit: u64) -> Result<Self> {
        let mut file = File::create_new(dir.join(format!("{base:020}-{id:016x}.wal")))?;
        // A server reserves the whole segment at once.
        file.set_len(size_limit)?;
        let mut header = u64::from(MAGIC).to_le_bytes().to_vec();
        for field in [base, id, CODEC] {
            header.extend_from_slice(&field.to_le_bytes());
        }
        file.write_all(&header)?;
        let since_commit = crc32c::crc32c(&header);
        Ok(Tail { file, id, base, length: SEGMENT_HEADER as u64, offsets: Vec::new(), since_commit })
    }

    /// Writes frames and the commit that makes them count.
    fn commit(&mut self, mut bytes: Vec<u8>) -> Result<()> {
        let checksum = crc32c::crc32c_append(self.since_commit, &bytes);
        push_header(&mut bytes, Frame::Commit, checksum);
        self.file.seek(SeekFrom::Start(self.length))?;
        self.file.write_all(&bytes)?;
        self.length += bytes.len() as u64;
        self.since_commit = 0;
        Ok(())
    }
}

fn push_header(bytes: &mut Vec<u8>, frame: Frame, number: u32) {
    bytes.extend_from_slice(&[frame as u8, 0, 0, 0]);
    bytes.extend_from_slice(&number.to_le_bytes());
}

fn push_frame(bytes: &mut Vec<u8>, frame: Frame, payload: &[u8]) {
    push_header(bytes, frame, payload.len() as u32);
    bytes.extend_from_slice(payload);
    // Everything else in a segment is a multiple of eight long.
    bytes.resize(bytes.len().next_multiple_of(FRAME_HEADER), 0);
}

/// An entry in the binary codec.
fn payload(entry: &Entry) -> Vec<u8> {
    let mut out = Vec::with_capacity(entry.data.len() + 64);
    for number in [entry.index, entry.term, entry.kind as u64, entry.data.len() as u64] {
        push_varint(&mut out, number);
    }
    out.extend_from_slice(&entry.data);
    // No extensions.
    push_varint(&mut out, 0);
    let (seconds, nanos) = entry
        .appended_at
        .map_or((0, 0), |time| (time.div_euclid(1_000_000_000) + GO_TO_UNIX, time.rem_euclid(1_000_000_000) as u32));
    // Version 1 of Go's binary time; a zone of -1 is UTC.
    out.push(1);
    out.extend_from_slice(&seconds.to_be_bytes());
    out.extend_from_slice(&nanos.to_be_bytes());
    out.extend_from_slice(&(-1_i16).to_be_bytes());
    out
}

fn push_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn rfc3339(nanos: i64) -> String {
    jiff::Timestamp::from_nanosecond(i128::from(nanos)).map(|time| time.to_string()).unwrap_or_default()
}
