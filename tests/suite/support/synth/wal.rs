//! Writes write-ahead logs as Nomad 2.0 does (storage.md 5): segments of framed, summed batches, and the list of them.
//!
//! Changes come in a server's order, so that whoever reads beside it meets what a reader of a running server meets:
//! the list first where segments go away, the segment first where one is closed.

use std::fs::{self, File};
use std::io::{Result, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde_json::json;

use super::bolt::{Db, Layout, Transaction};
use super::history::Entry;

const MAGIC: u64 = 0x58eb_6b0d;
const ENTRY: u8 = 1;
const INDEX: u8 = 2;
const COMMIT: u8 = 3;
/// Go's zero time, which stands where a segment is not closed.
const NEVER: &str = "0001-01-01T00:00:00Z";
/// Between Go's zero time and 1970.
const GO_TO_UNIX: i64 = 62_135_596_800;

/// One segment as the list of them has it.
struct Segment {
    id: u64,
    base: u64,
    min: u64,
    /// 0 while it is the tail.
    max: u64,
    index_start: u64,
}

/// A write-ahead log open for writing.
pub struct Wal {
    dir: PathBuf,
    meta: Db,
    segments: Vec<Segment>,
    next_id: u64,
    /// A segment is closed by the batch that makes it larger than this.
    limit: u64,
    tail: File,
    /// Where each entry of the tail begins.
    offsets: Vec<u32>,
    /// Bytes of the tail that the next sum covers and that are written.
    length: u64,
    header: Vec<u8>,
    next: u64,
}

impl Wal {
    /// A new log in an empty directory, whose segments are sealed once they have more than `limit` bytes.
    pub fn create(dir: &Path, limit: u64) -> Result<Self> {
        fs::create_dir_all(dir)?;
        let meta = Db::create(&dir.join("wal-meta.db"), Layout::default())?;
        let mut wal = Wal {
            dir: dir.to_owned(),
            meta,
            segments: Vec::new(),
            next_id: 0,
            limit,
            // Replaced at once by the first segment.
            tail: File::open(dir.join("wal-meta.db"))?,
            offsets: Vec::new(),
            length: 0,
            header: Vec::new(),
            next: 1,
        };
        wal.vote(1, "127.0.0.1:21647")?;
        wal.begin()?;
        Ok(wal)
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

    /// The first and the next index.
    pub fn bounds(&self) -> (u64, u64) {
        (self.segments[0].min, self.next)
    }

    /// How many segments there are.
    pub fn segments(&self) -> usize {
        self.segments.len()
    }

    fn name(&self, segment: &Segment) -> PathBuf {
        self.dir.join(format!("{:020}-{:016x}.wal", segment.base, segment.id))
    }

    /// Lists a new tail, and then makes its file.
    fn begin(&mut self) -> Result<()> {
        self.segments.push(Segment { id: self.next_id, base: self.next, min: self.next, max: 0, index_start: 0 });
        self.next_id += 1;
        self.list()?;
        let segment = &self.segments[self.segments.len() - 1];
        self.header = [MAGIC, segment.base, segment.id, 1].iter().flat_map(|n| n.to_le_bytes()).collect();
        self.tail = File::options().write(true).create_new(true).open(self.name(segment))?;
        // A server allots the whole segment at once.
        self.tail.set_len(self.limit.next_multiple_of(4096))?;
        self.tail.write_all(&self.header)?;
        (self.length, self.offsets) = (self.header.len() as u64, Vec::new());
        Ok(())
    }

    fn list(&mut self) -> Result<()> {
        let segment = |s: &Segment| {
            let sealed = if s.max > 0 { "2026-02-03T04:05:06.789Z" } else { NEVER };
            json!({"ID": s.id, "BaseIndex": s.base, "MinIndex": s.min, "MaxIndex": s.max, "Codec": 1,
                   "IndexStart": s.index_start, "CreateTime": "2026-02-03T04:05:06.789Z", "SealTime": sealed,
                   "SizeLimit": self.limit})
        };
        let segments: Vec<_> = self.segments.iter().map(segment).collect();
        let text = json!({"NextSegmentID": self.next_id, "Segments": segments}).to_string();
        let mut transaction = Transaction::default();
        transaction.put("wal-meta", b"m", text.into_bytes());
        self.meta.commit(transaction)
    }

    /// Appends a batch; its entries follow the last one.
    pub fn append(&mut self, entries: &[Entry]) -> Result<()> {
        self.write(entries, false)?;
        if self.length > self.limit { self.rotate() } else { Ok(()) }
    }

    /// Writes a batch whose commit does not come, as a server leaves it that dies.
    pub fn tear(&mut self, entries: &[Entry]) -> Result<()> {
        let mut frames = Vec::new();
        entries.iter().for_each(|entry| push(&mut frames, ENTRY, &payload(entry)));
        self.tail.seek(SeekFrom::Start(self.length))?;
        self.tail.write_all(&frames)
    }

    fn write(&mut self, entries: &[Entry], seal: bool) -> Result<()> {
        let mut frames = Vec::new();
        for entry in entries {
            assert_eq!(entry.index, self.next);
            self.offsets.push((self.length + frames.len() as u64) as u32);
            push(&mut frames, ENTRY, &payload(entry));
            self.next += 1;
        }
        let tail = self.segments.len() - 1;
        if seal {
            self.segments[tail].index_start = self.length + frames.len() as u64 + 8;
            let index: Vec<u8> = self.offsets.iter().flat_map(|at| at.to_le_bytes()).collect();
            push(&mut frames, INDEX, &index);
        }
        let sum = crc32c::crc32c_append(crc32c::crc32c(&std::mem::take(&mut self.header)), &frames);
        frames.extend([COMMIT, 0, 0, 0]);
        frames.extend(sum.to_le_bytes());
        self.tail.seek(SeekFrom::Start(self.length))?;
        self.tail.write_all(&frames)?;
        self.length += frames.len() as u64;
        Ok(())
    }

    /// Closes the tail and begins another one.
    pub fn rotate(&mut self) -> Result<()> {
        self.write(&[], true)?;
        if let Some(tail) = self.segments.last_mut() {
            tail.max = self.next - 1;
        }
        self.begin()
    }

    /// Removes the entries before `first`: from the list, and then the segments that hold nothing else.
    pub fn drop_before(&mut self, first: u64) -> Result<()> {
        let keep = |s: &Segment| s.max == 0 || s.max >= first;
        let (kept, gone): (Vec<_>, Vec<_>) = std::mem::take(&mut self.segments).into_iter().partition(keep);
        self.segments = kept;
        let head = &mut self.segments[0];
        head.min = head.min.max(first);
        self.list()?;
        gone.iter().try_for_each(|segment| fs::remove_file(self.name(segment)))
    }

    /// Removes the entries behind `last`, which another leader is about to replace. They stay in the segment.
    pub fn drop_after(&mut self, last: u64) -> Result<()> {
        self.write(&[], true)?;
        let (kept, gone): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.segments).into_iter().partition(|segment| segment.base <= last);
        self.segments = kept;
        if let Some(tail) = self.segments.last_mut() {
            tail.max = last;
        }
        self.next = last + 1;
        self.begin()?;
        gone.iter().try_for_each(|segment| fs::remove_file(self.name(segment)))
    }
}

fn push(frames: &mut Vec<u8>, kind: u8, payload: &[u8]) {
    frames.extend([kind, 0, 0, 0]);
    frames.extend((payload.len() as u32).to_le_bytes());
    frames.extend(payload);
    frames.resize(frames.len().next_multiple_of(8), 0);
}

/// An entry in raft-wal's own codec.
fn payload(entry: &Entry) -> Vec<u8> {
    let mut out = Vec::new();
    for n in [entry.index, entry.term, entry.kind as u64, entry.data.len() as u64] {
        varint(&mut out, n);
    }
    out.extend(&entry.data);
    varint(&mut out, 0);
    let at = entry.appended_at.map(|at| (at.div_euclid(1_000_000_000), at.rem_euclid(1_000_000_000)));
    let (seconds, nanos) = at.map_or((0, 0), |(seconds, nanos)| (seconds + GO_TO_UNIX, nanos));
    out.push(1);
    out.extend(seconds.to_be_bytes());
    out.extend((nanos as u32).to_be_bytes());
    out.extend((-1_i16).to_be_bytes());
    out
}

fn varint(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}
