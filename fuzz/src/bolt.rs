//! A whole bolt file, as `raft.db` is. Page sizes from 512 bytes on let a small file be a deep tree.

use super::look;

/// The first byte says what is put right before the file is read: bit 0, the sums of both meta pages. The file follows.
pub fn run(data: &[u8]) {
    if let Some((_, bytes)) = look::mended(data, mend) {
        look::at_file("raft.db", bytes);
    }
}

/// Puts the sums of the meta pages right, of a little-endian file.
pub fn mend(bytes: &mut [u8]) {
    const BODY: usize = 16;
    const SUMMED: usize = 56;
    let page_size = bytes.get(BODY + 8..).and_then(|raw| raw.first_chunk()).map_or(0, |raw| u32::from_le_bytes(*raw));
    for page in [0, page_size as usize] {
        let Some(meta) = bytes.get_mut(page + BODY..).and_then(|rest| rest.get_mut(..SUMMED + 8)) else { continue };
        let sum = meta.iter().take(SUMMED).fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        meta[SUMMED..].copy_from_slice(&sum.to_le_bytes());
    }
}
