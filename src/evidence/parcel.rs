//! What evidence travels in: gzip, zstd and xz, and tars (contract.md 1).
//!
//! A tar is read in place. What is compressed is unpacked once, into memory while it is small and
//! else into a temporary file without a name, which lies outside of the evidence and goes away by itself.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::EvidenceError;
use super::file::File;
use super::place::Parcel;

/// Unpacked bytes are kept in memory up to this size.
const IN_MEMORY: usize = 8 << 20;

/// A tar with more files than this is read in part.
const MOST_FILES: usize = 200_000;

/// A block of zeros of this size is left as a hole in the temporary file: logs are allotted far ahead.
const BLOCK: usize = 64 << 10;

/// What expands further than [`MOST_FOLD`] times is refused once it is larger than this, in bytes. Real logs compress
/// some tenfold, and the zeros that a server allots ahead of a small one stay below it.
const SUSPECT: u64 = 1 << 30;
/// See [`SUSPECT`]. A gzip can expand some thousandfold, zstd and xz any number of times.
const MOST_FOLD: u64 = 250;

/// What unpacking an xz may ask for, in bytes: `xz -9` needs half of it, and a file can claim gigabytes. zstd's own limit is
/// the same.
const MOST_MEMORY: u64 = 128 << 20;

/// True for a size that `stored` bytes cannot mean in a real log.
fn is_suspect(size: u64, stored: u64) -> bool {
    size > SUSPECT && size / MOST_FOLD > stored
}

/// The refusal of what [`is_suspect`].
fn too_large() -> io::Error {
    io::Error::new(
        io::ErrorKind::FileTooLarge,
        format!(
            "it grows to more than {MOST_FOLD} times its size, as no log does; if it is yours, unpack it and give what comes out"
        ),
    )
}

/// How a file is packed, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// gzip, several members in a row as well.
    Gzip,
    /// Zstandard.
    Zstd,
    /// xz.
    Xz,
    /// A tar, not compressed.
    Tar,
}

/// How a file that begins with `head` is packed; `None` when it is not. For a tar, 512 bytes are needed.
pub fn packing(head: &[u8]) -> Option<Packing> {
    match head {
        [0x1f, 0x8b, 8, ..] => Some(Packing::Gzip),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Packing::Zstd),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Packing::Xz),
        _ if is_tar(head) => Some(Packing::Tar),
        _ => None,
    }
}

/// A tar has no mark of its own in its oldest form, but its first header has a sum.
fn is_tar(head: &[u8]) -> bool {
    let Some(header) = head.get(..512) else { return false };
    let Some(field) = header.get(148..156) else { return false };
    let text: String = field.iter().map(|&byte| byte as char).take_while(|c| *c != '\0').collect();
    let Ok(told) = u64::from_str_radix(text.trim(), 8) else { return false };
    let byte = |(at, byte): (usize, &u8)| if (148..156).contains(&at) { 32 } else { u64::from(*byte) };
    header.first() != Some(&0) && header.iter().enumerate().map(byte).sum::<u64>() == told
}

/// Unpacks a compressed file under the same name. What comes before damage is kept; the note says so.
///
/// # Errors
/// When nothing can be unpacked, when the temporary file cannot be written, and when it expands as no log does.
pub fn unpack(file: &File, packing: Packing, notes: &mut Vec<String>) -> Result<File, EvidenceError> {
    unpack_within(file, packing, notes).map_err(|error| EvidenceError::Unreadable {
        path: file.path().into(),
        detail: match error.kind() {
            io::ErrorKind::FileTooLarge => error.to_string(),
            _ if asks_for_memory(&error) => format!(
                "to unpack it takes more than {} MiB of memory; if it is yours, unpack it and give what comes out",
                MOST_MEMORY >> 20
            ),
            _ => format!("it cannot be unpacked: {error}; copy it again"),
        },
    })
}

/// True where an xz asks for more than [`MOST_MEMORY`].
fn asks_for_memory(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<liblzma::stream::Error>());
    inner == Some(&liblzma::stream::Error::MemLimit)
}

fn unpack_within(file: &File, packing: Packing, notes: &mut Vec<String>) -> io::Result<File> {
    let source = BufReader::with_capacity(256 << 10, file.reader());
    let mut reader: Box<dyn Read> = match packing {
        Packing::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(source)),
        Packing::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(source)?),
        Packing::Xz => {
            let stream = liblzma::stream::Stream::new_stream_decoder(MOST_MEMORY, liblzma::stream::CONCATENATED)?;
            Box::new(liblzma::bufread::XzDecoder::new_stream(source, stream))
        }
        Packing::Tar => return Ok(file.clone()),
    };
    let mut spill = Spill::default();
    let mut buf = vec![0; BLOCK];
    let problem = loop {
        match reader.read(&mut buf) {
            Ok(0) => break None,
            Ok(n) => {
                spill.put(buf.get(..n).unwrap_or_default())?;
                if is_suspect(spill.len, file.len()) {
                    return Err(too_large());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => break Some(error),
        }
    };
    if let Some(error) = problem {
        if spill.len == 0 {
            return Err(error);
        }
        notes.push(format!(
            "{} is cut off or damaged: only its first {} unpacked bytes can be read ({error})",
            file.path(),
            spill.len
        ));
    }
    spill.finish(file.path())
}

/// Reads a stream to its end, as [`unpack`] keeps what it unpacks.
///
/// # Errors
/// When the stream cannot be read, or the temporary file cannot be written.
pub fn keep(name: &str, mut stream: impl Read) -> io::Result<File> {
    let mut spill = Spill::default();
    let mut buf = vec![0; BLOCK];
    loop {
        match stream.read(&mut buf) {
            Ok(0) => return spill.finish(name),
            Ok(n) => spill.put(buf.get(..n).unwrap_or_default())?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// As [`keep`], of a stream that may end before its `len` bytes.
fn keep_what_is_there(name: &str, mut stream: impl Read, len: u64) -> io::Result<File> {
    let mut spill = Spill::default();
    let mut buf = vec![0; BLOCK];
    loop {
        match stream.read(&mut buf) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(n @ 1..) => spill.put(buf.get(..n).unwrap_or_default())?,
            Ok(_) | Err(_) => return spill.finish_of(name, len),
        }
    }
}

#[derive(Default)]
struct Spill {
    memory: Vec<u8>,
    disk: Option<fs::File>,
    len: u64,
}

impl Spill {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.len += bytes.len() as u64;
        if self.disk.is_none() && self.memory.len() + bytes.len() <= IN_MEMORY {
            self.memory.extend_from_slice(bytes);
            return Ok(());
        }
        let disk = match &mut self.disk {
            Some(disk) => disk,
            None => {
                let mut disk = tempfile::tempfile()?;
                disk.write_all(&std::mem::take(&mut self.memory))?;
                self.disk.insert(disk)
            }
        };
        if bytes.iter().all(|&byte| byte == 0) {
            disk.seek(SeekFrom::Current(bytes.len() as i64))?;
            Ok(())
        } else {
            disk.write_all(bytes)
        }
    }

    /// Zeros up to `end`.
    fn hole(&mut self, end: u64) -> io::Result<()> {
        let zeros = vec![0; BLOCK];
        while self.disk.is_none() && self.len < end {
            let n = (end - self.len).min(BLOCK as u64) as usize;
            self.put(zeros.get(..n).unwrap_or_default())?;
        }
        if let Some(disk) = &mut self.disk {
            disk.seek(SeekFrom::Start(end))?;
            self.len = end;
        }
        Ok(())
    }

    /// What was put in of a file of `len` bytes.
    fn finish_of(self, name: &str, len: u64) -> io::Result<File> {
        let file = self.finish(name)?;
        Ok(if file.len() < len { file.part(name, 0, len) } else { file })
    }

    fn finish(self, name: &str) -> io::Result<File> {
        match self.disk {
            None => Ok(File::from_memory(name, self.memory)),
            Some(disk) => {
                disk.set_len(self.len)?;
                File::from_open(name, disk).map_err(io::Error::other)
            }
        }
    }
}

/// Lists the files of a tar. Of two of one path the later counts, as for tar itself.
///
/// # Errors
/// When not even the first header can be read.
pub fn open_tar(file: &File, notes: &mut Vec<String>) -> io::Result<Parcel> {
    let mut files = BTreeMap::new();
    let mut archive = tar::Archive::new(file.reader());
    let mut damage = None;
    let mut claimed = 0_u64;
    for entry in archive.entries_with_seek()? {
        let mut entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                damage.get_or_insert(error.to_string());
                break;
            }
        };
        let kind = entry.header().entry_type();
        if !(kind.is_file() || kind.is_contiguous() || kind.is_gnu_sparse()) {
            continue;
        }
        let holes = Holes::of(&mut entry);
        let path = match &holes {
            Some(holes) => clean(Path::new(&holes.name)),
            None => entry.path().ok().and_then(|path| clean(&path)),
        };
        let Some(path) = path else { continue };
        let name = format!("{}/{path}", file.path());
        let (start, len) = (entry.raw_file_position(), entry.size());
        // Files with holes claim a size that nothing stands for; what is as large as it says is read in place.
        if holes.is_some() || kind.is_gnu_sparse() {
            claimed = holes.as_ref().map_or(len, |holes| holes.size).saturating_add(claimed);
            if is_suspect(claimed, file.len()) {
                damage = Some(format!("with the holes in {path} {}", too_large()));
                break;
            }
        }
        let inner = match holes {
            Some(holes) => holes.fill(&name, &file.part(&name, start, len))?,
            None if kind.is_gnu_sparse() => keep_what_is_there(&name, &mut entry, len)?,
            None => file.part(&name, start, len),
        };
        if inner.is_cut() {
            damage = Some(format!("it ends inside of {path}"));
        }
        files.insert(path, inner);
        if files.len() >= MOST_FILES {
            damage = Some(format!("it holds more than {MOST_FILES} files"));
            break;
        }
    }
    if let Some(damage) = damage {
        notes.push(format!("{} cannot be read to its end: {damage}; {} files were found", file.path(), files.len()));
    }
    Ok(Parcel { name: file.path().into(), files })
}

/// A file that was stored without its holes, as bsdtar does it and GNU tar with `--format=posix`: its
/// content begins with a list of the runs that follow, in decimal lines, padded to 512 bytes.
struct Holes {
    name: String,
    size: u64,
}

impl Holes {
    fn of<R: Read>(entry: &mut tar::Entry<'_, R>) -> Option<Self> {
        let (mut major, mut name, mut size) = (false, None, None);
        for field in entry.pax_extensions().ok()??.flatten() {
            match (field.key(), field.value()) {
                (Ok("GNU.sparse.major"), Ok(value)) => major = value == "1",
                (Ok("GNU.sparse.name"), Ok(value)) => name = Some(value.to_string()),
                (Ok("GNU.sparse.realsize"), Ok(value)) => size = value.parse().ok(),
                _ => {}
            }
        }
        name.zip(size).filter(|_| major).map(|(name, size)| Holes { name, size })
    }

    fn fill(&self, name: &str, stored: &File) -> io::Result<File> {
        let bad = || io::Error::new(io::ErrorKind::InvalidData, format!("{name}: the list of its runs is damaged"));
        let mut source = BufReader::new(stored.reader());
        let mut number = || {
            let mut line = String::new();
            source.by_ref().take(32).read_line(&mut line)?;
            let at = source.stream_position()?;
            line.trim().parse::<u64>().map(|n| (n, at)).map_err(|_| bad())
        };
        let (count, mut at) = number()?;
        let mut runs = Vec::new();
        for _ in 0..count {
            let (offset, (len, behind)) = (number()?.0, number()?);
            runs.push((offset, len));
            at = behind;
        }
        at = at.next_multiple_of(512);
        let mut spill = Spill::default();
        let mut buf = vec![0; BLOCK];
        for (offset, len) in runs {
            let end = offset.checked_add(len).filter(|&end| end <= self.size && offset >= spill.len).ok_or_else(bad)?;
            spill.hole(offset)?;
            while spill.len < end {
                let n = (end - spill.len).min(BLOCK as u64) as usize;
                let piece = buf.get_mut(..n).ok_or_else(bad)?;
                if stored.is_cut() && stored.len() < at.saturating_add(n as u64) {
                    return spill.finish_of(name, self.size);
                }
                stored.read_at(at, piece)?;
                spill.put(piece)?;
                at += n as u64;
            }
        }
        spill.hole(self.size)?;
        spill.finish(name)
    }
}

/// A path without `.` and leading slashes; `None` for one that leads out of the tar.
fn clean(path: &Path) -> Option<String> {
    use std::path::Component;
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => parts.push(name.to_string_lossy()),
            Component::CurDir | Component::RootDir => {}
            Component::ParentDir | Component::Prefix(_) => return None,
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content_of(file: &File) -> Vec<u8> {
        file.read_up_to(0, usize::MAX).unwrap()
    }

    #[test]
    fn what_is_large_is_kept_outside_of_memory_and_equals_what_came_in() {
        let mut bytes = vec![0; IN_MEMORY + 5 * BLOCK];
        for at in (0..bytes.len()).step_by(3 * BLOCK) {
            bytes[at] = 7;
        }
        let file = keep("big", &bytes[..]).unwrap();
        assert!(content_of(&file) == bytes);
    }

    #[test]
    fn holes_that_no_log_has_are_not_made() {
        let mut builder = tar::Builder::new(Vec::new());
        let pax =
            [("GNU.sparse.major", "1"), ("GNU.sparse.name", "raft.db"), ("GNU.sparse.realsize", "9000000000000000")];
        builder.append_pax_extensions(pax.map(|(key, value)| (key, value.as_bytes()))).unwrap();
        let mut header = tar::Header::new_ustar();
        header.set_size(512);
        header.set_cksum();
        builder.append_data(&mut header, "GNUSparseFile.0/a", &[b'0'; 512][..]).unwrap();
        let mut notes = Vec::new();
        let file = File::from_memory("case", builder.into_inner().unwrap());
        assert!(open_tar(&file, &mut notes).unwrap().files.is_empty());
        assert!(notes[0].contains("with the holes in raft.db it grows to more than 250 times"), "{notes:?}");
    }

    #[test]
    fn an_xz_that_asks_for_gigabytes_of_memory_is_refused() {
        let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
        xz.write_all(b"log").unwrap();
        let mut bytes = xz.finish().unwrap();
        // The first block's header: its size, flags, the filter and the size of its dictionary, then zeros and a sum.
        let end = 12 + usize::from(bytes[12]) * 4;
        let at = 12 + bytes[12..end].iter().position(|byte| *byte == 0x21).unwrap() + 2;
        bytes[at] = 39;
        let mut sum = flate2::Crc::new();
        sum.update(&bytes[12..end]);
        bytes[end..end + 4].copy_from_slice(&sum.sum().to_le_bytes());
        let error = unpack(&File::from_memory("case", bytes), Packing::Xz, &mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains("it takes more than 128 MiB of memory"), "{error}");
    }

    #[test]
    fn a_path_that_leads_out_of_the_tar_is_no_file_of_it() {
        assert_eq!(clean(Path::new("../x")), None);
        assert_eq!(clean(Path::new("/a/./b")).as_deref(), Some("a/b"));
    }
}
