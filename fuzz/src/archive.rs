//! Whatever evidence travels in: tars, and what is compressed with gzip, zstd or xz.

use raftscope::evidence::file::File;
use raftscope::evidence::salvage;

use super::look;

const BLOCK: usize = 512;
const SUM: std::ops::Range<usize> = 148..156;

/// The first byte says what is put right before the archive is read: bit 0, the sums in the headers of a tar. The archive
/// follows.
pub fn run(data: &[u8]) {
    let Some((how, bytes)) = data.split_first() else { return };
    let mut bytes = bytes.to_vec();
    if how & 1 != 0 {
        mend(&mut bytes);
    }
    let Ok((evidence, carver)) = salvage::open_file(File::from_memory("support.tar", bytes)) else { return };
    look::at_evidence(&evidence, carver.as_ref());
}

/// Puts the sums of a tar's headers right, as far as they can be followed.
pub fn mend(bytes: &mut [u8]) {
    let mut at = 0;
    while let Some(header) = bytes.get_mut(at..).and_then(|rest| rest.get_mut(..BLOCK)) {
        header[SUM].fill(b' ');
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[SUM].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        let digits: String = header[124..136].iter().map(|byte| *byte as char).collect();
        let len = u64::from_str_radix(digits.trim_matches(['\0', ' ']), 8).unwrap_or(0);
        let Some(next) =
            usize::try_from(len.next_multiple_of(BLOCK as u64)).ok().and_then(|len| (at + BLOCK).checked_add(len))
        else {
            return;
        };
        at = next;
    }
}
