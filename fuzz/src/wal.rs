//! One segment of a write-ahead log: by itself, and as the first of two in a directory.

use std::collections::BTreeMap;
use std::sync::Arc;

use raftscope::evidence::file::File;
use raftscope::evidence::place::{Dir, Parcel};
use raftscope::evidence::salvage;
use raftscope::evidence::wal::segment::{self, Segment};

use super::look;

const HEADER: usize = 32;
const COMMIT: u8 = 3;

/// The first byte says what is done: bit 0, the sums of all batches are put right; bit 1, the segment is read as a part of
/// a log. The segment follows; its header is taken for that of the segment that is asked for.
pub fn run(data: &[u8]) {
    let Some((how, bytes)) = look::mended(data, mend) else { return };
    let (base, id) = (word(&bytes, 1), word(&bytes, 2));
    if how & 2 != 0 {
        return in_directory(base, id, bytes);
    }
    let Ok(mut segment) = Segment::open(File::from_memory("segment", bytes), base, id) else { return };
    let table = segment.table();
    for place in &table.entries {
        if let Ok(payload) = segment.payload(place) {
            let _ = segment::decode(&payload);
        }
    }
}

/// A second and empty segment stands behind it, as in a log that is being written to: so the first one is closed.
fn in_directory(base: u64, id: u64, bytes: Vec<u8>) {
    let next = base.saturating_add(1_000);
    let mut header = [0x58eb_6b0d_u64, next, 1, 1].map(u64::to_le_bytes).concat();
    header.resize(64, 0);
    let name = |base: u64, id: u64| format!("{base:020}-{id:016x}.wal");
    let files: BTreeMap<String, File> = [(name(base, id), bytes), (name(next, 1), header)]
        .map(|(name, bytes)| (name.clone(), File::from_memory(&name, bytes)))
        .into();
    let dir = Dir::Parcel(Arc::new(Parcel { name: "wal".into(), files }), String::new());
    let Ok((evidence, carver)) = salvage::open_dir(&dir) else { return };
    look::at_evidence(&evidence, carver.as_ref());
}

fn word(bytes: &[u8], n: usize) -> u64 {
    bytes.get(8 * n..).and_then(|raw| raw.first_chunk()).map_or(0, |raw| u64::from_le_bytes(*raw))
}

/// Puts the sum of each batch right, as far as its frames can be followed.
pub fn mend(bytes: &mut [u8]) {
    let (mut start, mut at) = (0, HEADER);
    while let Some(&[kind, 0, 0, 0, a, b, c, d]) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        match kind {
            0 => break,
            COMMIT => {
                let sum = crc32c(&bytes[start..at]);
                bytes[at + 4..at + 8].copy_from_slice(&sum.to_le_bytes());
                at += 8;
                start = at;
            }
            _ => {
                let len = u64::from(u32::from_le_bytes([a, b, c, d])).next_multiple_of(8);
                let Some(next) = usize::try_from(len).ok().and_then(|len| (at + 8).checked_add(len)) else { break };
                at = next;
            }
        }
    }
}

/// CRC-32C bit by bit: segments are small here.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| if sum & 1 == 1 { sum >> 1 ^ 0x82f6_3b78 } else { sum >> 1 })
    })
}
