//! Positional reads of a file or of a part of one, with a bounded cache of chunks.
//!
//! The file is never mapped: a mapped file that its server truncates kills the process
//! (storage.md 2.7). It is opened for reading only and no lock is taken (storage.md 2.8).

use std::collections::HashMap;
use std::fs;
use std::io;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

use super::EvidenceError;

/// A file, or a run of bytes inside one or in memory, read by offset.
#[derive(Clone, Debug)]
pub struct File {
    path: Arc<str>,
    inner: Inner,
    start: u64,
    len: u64,
    is_part: bool,
    is_cut: bool,
}

#[derive(Clone, Debug)]
enum Inner {
    Disk(Arc<fs::File>),
    Memory(Arc<Vec<u8>>),
}

impl File {
    /// Opens a regular file for reading.
    ///
    /// # Errors
    /// When the system refuses, and when the path names something else than a regular file:
    /// reading a pipe or a device could wait for ever.
    pub fn open(path: &Path) -> Result<Self, EvidenceError> {
        let shown = path.display().to_string();
        let io = |source| EvidenceError::Io { path: shown.clone(), source };
        // Looked at before it is opened, since opening a pipe waits for its writer.
        if !fs::metadata(path).map_err(io)?.is_file() {
            let detail = "is neither a file nor a directory; copy the evidence to a file first".into();
            return Err(EvidenceError::NotEvidence { path: shown, detail });
        }
        let inner = fs::File::open(path).map_err(io)?;
        let len = inner.metadata().map_err(io)?.len();
        Ok(File {
            path: shown.into(),
            inner: Inner::Disk(Arc::new(inner)),
            start: 0,
            len,
            is_part: false,
            is_cut: false,
        })
    }

    /// A file that is already open, for instance a temporary one, under the name that messages use.
    ///
    /// # Errors
    /// When its length cannot be had.
    pub fn from_open(name: &str, inner: fs::File) -> Result<Self, EvidenceError> {
        let len = inner.metadata().map_err(|source| EvidenceError::Io { path: name.into(), source })?.len();
        Ok(File {
            path: name.into(),
            inner: Inner::Disk(Arc::new(inner)),
            start: 0,
            len,
            is_part: false,
            is_cut: false,
        })
    }

    /// Bytes in memory, under the name that messages use.
    pub fn from_memory(name: &str, bytes: Vec<u8>) -> Self {
        let len = bytes.len() as u64;
        File { path: name.into(), inner: Inner::Memory(Arc::new(bytes)), start: 0, len, is_part: false, is_cut: false }
    }

    /// The run of `len` bytes from `start` of this file, under a name of its own; clipped to the file.
    pub fn part(&self, name: &str, start: u64, len: u64) -> Self {
        let start = start.min(self.len);
        File {
            path: name.into(),
            inner: self.inner.clone(),
            start: self.start.saturating_add(start),
            len: len.min(self.len - start),
            is_part: true,
            is_cut: len > self.len - start,
        }
    }

    /// True for a part that would go on behind the end of the file that it is a part of.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The same file with the length that it has now; a part of one keeps its length.
    pub fn again(&self) -> Self {
        let mut again = self.clone();
        if let Inner::Disk(file) = &self.inner
            && let Ok(about) = file.metadata()
            && !self.is_part
        {
            again.len = about.len();
        }
        again
    }

    /// The name for messages.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Its length in bytes when it was opened.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True when it holds no byte.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Fills `buf` from `offset`.
    ///
    /// # Errors
    /// `UnexpectedEof` past the end, and what the system says.
    pub fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        let end = offset.checked_add(buf.len() as u64);
        let Some(at) = self.start.checked_add(offset).filter(|_| end.is_some_and(|end| end <= self.len)) else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        match &self.inner {
            Inner::Disk(file) => read_exact_at(file, at, buf),
            Inner::Memory(bytes) => {
                let there = usize::try_from(at).ok().and_then(|at| bytes.get(at..)?.get(..buf.len()));
                buf.copy_from_slice(there.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
        }
    }

    /// A reader from the start, for formats that are read as a stream.
    pub fn reader(&self) -> Reader {
        Reader { file: self.clone(), at: 0 }
    }

    /// Up to `len` bytes from `offset`, fewer where the file ends.
    ///
    /// # Errors
    /// What the system says.
    pub fn read_up_to(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let there = self.len.saturating_sub(offset).min(len as u64);
        let mut buf = vec![0; there as usize];
        self.read_at(offset, &mut buf)?;
        Ok(buf)
    }
}

/// Reads a [`File`] in order. Small reads are not gathered; wrap it where they are many.
#[derive(Clone, Debug)]
pub struct Reader {
    file: File,
    at: u64,
}

impl io::Read for Reader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.file.len().saturating_sub(self.at).min(buf.len() as u64) as usize;
        self.file.read_at(self.at, &mut buf[..n])?;
        self.at += n as u64;
        Ok(n)
    }
}

impl io::Seek for Reader {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        let at = match to {
            io::SeekFrom::Start(at) => Some(at),
            io::SeekFrom::End(by) => self.file.len().checked_add_signed(by),
            io::SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

#[cfg(unix)]
fn read_exact_at(file: &fs::File, offset: u64, buf: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buf, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &fs::File, mut offset: u64, mut buf: &mut [u8]) -> io::Result<()> {
    while !buf.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, buf, offset) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => {
                buf = &mut buf[n..];
                offset += n as u64;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Bytes of a file: a view into a cached chunk where they lie in one, else a copy.
#[derive(Clone, Debug)]
pub enum Bytes {
    /// A view into a chunk, which it keeps alive.
    Shared(Arc<Vec<u8>>, Range<usize>),
    /// A copy of bytes from several chunks.
    Owned(Vec<u8>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Shared(chunk, range) => chunk.get(range.clone()).unwrap_or_default(),
            Bytes::Owned(bytes) => bytes,
        }
    }
}

/// How much a [`Chunks`] holds: at most `size * slots` bytes.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Bytes of a chunk.
    pub size: usize,
    /// How many chunks are kept.
    pub slots: usize,
}

impl Shape {
    /// For a walk in order: 1 MiB, which a processor's own cache holds, so that what was read is used before it leaves it.
    pub const WALK: Shape = Shape { size: 32 << 10, slots: 32 };
    /// For single look-ups: small reads, and the upper pages of a tree stay; 8 MiB.
    pub const LOOKUP: Shape = Shape { size: 16 << 10, slots: 512 };
}

#[derive(Debug)]
struct Slot {
    number: u64,
    used: u64,
    data: Arc<Vec<u8>>,
}

/// A file behind a cache of its chunks that were used last.
#[derive(Debug)]
pub struct Chunks {
    file: File,
    shape: Shape,
    slots: Vec<Slot>,
    places: HashMap<u64, usize, foldhash::fast::FixedState>,
    last: usize,
    clock: u64,
}

impl Chunks {
    /// An empty cache in front of `file`.
    pub fn new(file: File, shape: Shape) -> Self {
        Chunks { file, shape, slots: Vec::new(), places: HashMap::default(), last: 0, clock: 0 }
    }

    /// The file behind the cache.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// `len` bytes from `offset`.
    ///
    /// # Errors
    /// `UnexpectedEof` past the end, before anything is allocated, and what the system says.
    pub fn read(&mut self, offset: u64, len: usize) -> io::Result<Bytes> {
        let end = offset.checked_add(len as u64).filter(|&end| end <= self.file.len());
        let Some(end) = end else { return Err(io::ErrorKind::UnexpectedEof.into()) };
        let size = self.shape.size as u64;
        let (first, skip) = (offset / size, (offset % size) as usize);
        if len == 0 || (end - 1) / size == first {
            let chunk = self.chunk(first)?;
            return Ok(Bytes::Shared(chunk, skip..skip + len));
        }
        let mut out = vec![0; len];
        if len >= 2 * self.shape.size {
            self.file.read_at(offset, &mut out)?;
            return Ok(Bytes::Owned(out));
        }
        let mut done = 0;
        let mut at = offset;
        while done < len {
            let chunk = self.chunk(at / size)?;
            let from = chunk.get((at % size) as usize..).unwrap_or_default();
            let n = from.len().min(len - done);
            if n == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            out[done..done + n].copy_from_slice(&from[..n]);
            done += n;
            at += n as u64;
        }
        Ok(Bytes::Owned(out))
    }

    fn chunk(&mut self, number: u64) -> io::Result<Arc<Vec<u8>>> {
        self.clock += 1;
        let at = match self.slots.get(self.last) {
            Some(slot) if slot.number == number => self.last,
            _ => match self.places.get(&number) {
                Some(&at) => at,
                None => self.load(number)?,
            },
        };
        self.last = at;
        match self.slots.get_mut(at) {
            Some(slot) => {
                slot.used = self.clock;
                Ok(Arc::clone(&slot.data))
            }
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Reads a chunk into a free slot or over the one that was unused for longest.
    fn load(&mut self, number: u64) -> io::Result<usize> {
        let offset = number.saturating_mul(self.shape.size as u64);
        let len = self.file.len().saturating_sub(offset).min(self.shape.size as u64) as usize;
        let (at, mut data) = if self.slots.len() < self.shape.slots {
            (self.slots.len(), Arc::new(Vec::new()))
        } else {
            let oldest = (0..self.slots.len()).min_by_key(|&i| self.slots[i].used).unwrap_or(0);
            let slot = &mut self.slots[oldest];
            self.places.remove(&slot.number);
            // Forgotten until the read has worked; no chunk has this number.
            slot.number = u64::MAX;
            (oldest, std::mem::take(&mut slot.data))
        };
        // A view that is still held keeps its bytes: then the chunk gets a new buffer.
        if Arc::get_mut(&mut data).is_none() {
            data = Arc::new(Vec::new());
        }
        if let Some(buf) = Arc::get_mut(&mut data) {
            buf.resize(len, 0);
            self.file.read_at(offset, buf)?;
        }
        let slot = Slot { number, used: self.clock, data };
        if at == self.slots.len() {
            self.slots.push(slot);
        } else {
            self.slots[at] = slot;
        }
        self.places.insert(number, at);
        Ok(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(len: usize) -> (tempfile::TempDir, File, Vec<u8>) {
        let dir = tempfile::tempdir().unwrap();
        let bytes: Vec<u8> = (0..len).map(|i| (i * 7 % 251) as u8).collect();
        let path = dir.path().join("bytes");
        fs::write(&path, &bytes).unwrap();
        let file = File::open(&path).unwrap();
        (dir, file, bytes)
    }

    #[test]
    fn reads_across_chunks_equal_the_file() {
        let (_dir, file, bytes) = numbered(1000);
        let mut chunks = Chunks::new(file, Shape { size: 64, slots: 3 });
        for (offset, len) in [(0, 10), (60, 10), (0, 1000), (999, 1), (63, 66), (128, 64), (5, 0), (1000, 0)] {
            assert_eq!(&*chunks.read(offset as u64, len).unwrap(), &bytes[offset..offset + len], "{offset} {len}");
        }
        for (offset, len) in [(999, 2), (1001, 0), (u64::MAX, 1)] {
            assert_eq!(chunks.read(offset, len).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        }
    }

    #[test]
    fn a_view_outlives_its_chunk_in_the_cache() {
        let (_dir, file, bytes) = numbered(1000);
        let mut chunks = Chunks::new(file, Shape { size: 64, slots: 1 });
        let held = chunks.read(0, 64).unwrap();
        for at in 1..15 {
            assert_eq!(&*chunks.read(at * 64, 64).unwrap(), &bytes[at as usize * 64..][..64]);
        }
        assert_eq!(&*held, &bytes[..64]);
        assert_eq!(chunks.slots.len(), 1);
    }

    #[test]
    fn a_part_is_read_by_its_own_offsets_and_ends_at_its_own_end() {
        let (_dir, file, bytes) = numbered(100);
        let part = file.part("inner", 10, 20);
        assert_eq!(part.read_up_to(5, 100).unwrap(), &bytes[15..30]);
        assert!(part.read_at(15, &mut [0; 6]).is_err());
        assert_eq!(file.part("clipped", 90, 20).len(), 10);
    }
}
