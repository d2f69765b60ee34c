//! Whatever evidence travels in: tars, and what is compressed with gzip, zstd or xz.

use super::look;

const BLOCK: usize = 512;
const SUM: std::ops::Range<usize> = 148..156;

/// The first byte says what is put right before the archive is read: bit 0, the sums in the headers of a tar. The archive
/// follows.
pub fn run(data: &[u8]) {
    if let Some((_, bytes)) = look::mended(data, mend) {
        look::at_file("support.tar", bytes);
    }
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
