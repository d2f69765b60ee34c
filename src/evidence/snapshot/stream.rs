//! The FSM stream of a snapshot, `state.bin` (storage.md 6.3): a header, then records of a type byte
//! and one msgpack value each, with neither lengths nor an end mark.

use std::io;
use std::ops::ControlFlow;

use super::super::file::File;
use crate::entry::msgpack::{DecodeError, Reader};

/// Bytes read at once, and a record's largest size; beyond that a length is damage.
const PIECE: usize = 1 << 20;
const LARGEST_RECORD: usize = 32 << 20;

/// One record of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateRecord<'a> {
    /// The type byte; [`type_name`] knows most.
    pub kind: u8,
    /// Offset of the value in `state.bin`, in bytes.
    pub offset: u64,
    /// The value: one whole msgpack value.
    pub value: &'a [u8],
}

/// How a walk over the stream ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamEnd {
    /// Whole records.
    pub records: u64,
    /// Where and why the walk could not go on, when it did not reach the end.
    pub problem: Option<Problem>,
}

/// A place at which the stream cannot be read on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Offset in `state.bin`, in bytes.
    pub offset: u64,
    /// What is wrong, a sentence.
    pub detail: String,
}

/// The name of a record type; `None` for Enterprise's and for those of newer versions.
pub fn type_name(kind: u8) -> Option<&'static str> {
    Some(match kind {
        0 => "Node",
        1 => "Job",
        2 => "Index",
        3 => "Eval",
        4 => "Alloc",
        5 => "TimeTable",
        6 => "PeriodicLaunch",
        7 => "JobSummary",
        8 => "VaultAccessor",
        9 => "JobVersion",
        10 => "Deployment",
        11 => "ACLPolicy",
        12 => "ACLToken",
        13 => "SchedulerConfig",
        14 => "ClusterMetadata",
        15 => "ServiceIdentityTokenAccessor",
        16 => "ScalingPolicy",
        17 => "CSIPlugin",
        18 => "CSIVolume",
        19 => "ScalingEvents",
        20 => "EventSink",
        21 => "ServiceRegistration",
        22 => "Variables",
        23 => "VariablesQuota",
        24 => "RootKeyMeta",
        25 => "ACLRole",
        26 => "ACLAuthMethod",
        27 => "ACLBindingRule",
        28 => "NodePool",
        29 => "JobSubmission",
        30 => "RootKey",
        31 => "HostVolume",
        64 => "Namespace",
        _ => return None,
    })
}

/// True where bytes begin like a stream: an empty header, a type byte and a map, or an array for the time table.
pub fn looks_like(head: &[u8]) -> bool {
    match head {
        [0x80] => true,
        [0x80, 5, 0x90..=0x9f | 0xdc | 0xdd, ..] => true,
        [0x80, kind, 0x80..=0x8f | 0xde | 0xdf, ..] => *kind < 128,
        _ => false,
    }
}

/// Calls `sink` for each whole record in order, until it breaks off.
///
/// # Errors
/// What the system says; damage is told in the result.
pub fn walk(file: &File, sink: &mut dyn FnMut(StateRecord<'_>) -> ControlFlow<()>) -> io::Result<StreamEnd> {
    let mut window = Window { file, bytes: Vec::new(), start: 0, at: 0 };
    let mut end = StreamEnd::default();
    if let Err(problem) = window.value(0)? {
        end.problem = Some(Problem { detail: format!("the header cannot be read: {}", problem.detail), ..problem });
        return Ok(end);
    }
    loop {
        window.forget();
        let offset = window.offset();
        if offset >= file.len() {
            return Ok(end);
        }
        match window.value(1)? {
            Ok(len) => {
                let whole = window.bytes.get(window.at..window.at + 1 + len).unwrap_or_default();
                let Some((&kind, value)) = whole.split_first() else { return Ok(end) };
                end.records += 1;
                let flow = sink(StateRecord { kind, offset: offset + 1, value });
                window.at += 1 + len;
                if flow.is_break() {
                    return Ok(end);
                }
            }
            Err(problem) => {
                end.problem = Some(problem);
                return Ok(end);
            }
        }
    }
}

/// The value that begins at `offset`, as [`StateRecord::offset`] told; `None` where none can be read.
///
/// # Errors
/// What the system says.
pub fn value_at(file: &File, offset: u64) -> io::Result<Option<Vec<u8>>> {
    // Most rows are small; larger ones are read again with twice the length.
    let mut len = 16 << 10;
    loop {
        let mut bytes = file.read_up_to(offset, len)?;
        let mut reader = Reader::new(&bytes);
        match reader.skip() {
            Ok(()) => {
                let whole = reader.position();
                bytes.truncate(whole);
                return Ok(Some(bytes));
            }
            Err(DecodeError::Eof { .. }) if bytes.len() == len && len < LARGEST_RECORD => len *= 2,
            Err(_) => return Ok(None),
        }
    }
}

/// The part of the file that is held: from `start` on, with the next record at `at` of it.
struct Window<'f> {
    file: &'f File,
    bytes: Vec<u8>,
    start: u64,
    at: usize,
}

impl Window<'_> {
    fn offset(&self) -> u64 {
        self.start + self.at as u64
    }

    /// Drops what has been read, once it is worth the copy.
    fn forget(&mut self) {
        if self.at >= PIECE {
            self.bytes.drain(..self.at);
            self.start += self.at as u64;
            self.at = 0;
        }
    }

    /// The length of the value behind `skip` bytes of the next record, which is then held as a whole.
    fn value(&mut self, skip: usize) -> io::Result<Result<usize, Problem>> {
        loop {
            let mut reader = Reader::at(&self.bytes, self.at + skip);
            let error = match reader.skip() {
                Ok(()) => {
                    let len = reader.position() - self.at - skip;
                    if skip == 0 {
                        self.at += len;
                    }
                    return Ok(Ok(len));
                }
                Err(error) => error,
            };
            let held = self.start + self.bytes.len() as u64;
            let early = matches!(error, DecodeError::Eof { .. });
            if !early || held >= self.file.len() || self.bytes.len() - self.at > LARGEST_RECORD {
                let offset = self.offset();
                let kind = self.bytes.get(self.at).filter(|_| skip > 0);
                let what = kind.map_or("it".into(), |kind| describe(*kind));
                let detail = match early {
                    true => {
                        format!("{what} at byte {offset} is cut off: the stream ends in it, or a length in it is wrong")
                    }
                    false => format!("{what} at byte {offset} is no msgpack"),
                };
                return Ok(Err(Problem { offset, detail }));
            }
            let more = (self.bytes.len() - self.at).max(PIECE);
            self.bytes.extend(self.file.read_up_to(held, more)?);
        }
    }
}

fn describe(kind: u8) -> String {
    match type_name(kind) {
        Some(name) => format!("the {name} record"),
        None => format!("the record of type {kind}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> (Vec<(u8, u64, Vec<u8>)>, StreamEnd) {
        let file = File::from_memory("state.bin", bytes.to_vec());
        let mut records = Vec::new();
        let end = walk(&file, &mut |record| {
            records.push((record.kind, record.offset, record.value.to_vec()));
            assert_eq!(value_at(&file, record.offset).unwrap().as_deref(), Some(record.value));
            ControlFlow::Continue(())
        });
        (records, end.unwrap())
    }

    #[test]
    fn records_of_known_and_unknown_types_are_read_with_their_offsets() {
        let (records, end) = read(b"\x80\x02\x81\xa3Key\xa1x\x63\x92\x01\x02\x01\x80");
        let told: Vec<_> = records.iter().map(|(kind, offset, value)| (*kind, *offset, value.len())).collect();
        assert_eq!(told, [(2, 2, 7), (0x63, 10, 3), (1, 14, 1)]);
        assert_eq!(end, StreamEnd { records: 3, problem: None });
    }

    #[test]
    fn a_stream_cut_inside_a_record_tells_where() {
        let (records, end) = read(b"\x80\x02\x81\xa3Key\xa1x\x01\x82\xa1a");
        assert_eq!(records.len(), 1);
        let problem = end.problem.unwrap();
        assert_eq!(problem.offset, 9);
        assert!(problem.detail.contains("the Job record at byte 9 is cut off"), "{}", problem.detail);
    }

    #[test]
    fn records_larger_than_a_piece_and_many_small_ones_are_read() {
        let mut bytes = vec![0x80];
        for n in 0..40_u32 {
            let len = if n % 3 == 0 { 700_000 } else { 10 };
            bytes.extend_from_slice(&[4, 0x81, 0xa1, b'k', 0xdb]);
            bytes.extend_from_slice(&u32::to_be_bytes(len));
            bytes.resize(bytes.len() + len as usize, b'.');
        }
        let (records, end) = read(&bytes);
        assert_eq!((records.len(), end.problem), (40, None));
    }
}
