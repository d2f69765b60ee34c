//! The page size and the byte order of a bolt file whose meta pages are lost: each page names its own
//! position, so the offset of a header divided by its page id is the page size.

use std::io;

use super::super::bolt::page::{ByteOrder, HEADER_SIZE, is_page_kind};
use super::super::file::{Chunks, File, Shape};

/// The smallest page size that is looked for, as a power of two.
const LEAST_BITS: u32 = 9;
/// One more than the largest.
const END_BITS: u32 = 25;

/// So many headers leave no doubt.
const ENOUGH: u32 = 256;

/// The page size that most headers in the file agree on, in bytes; `None` where there is no header.
///
/// # Errors
/// When the file cannot be read.
pub fn probe(file: &File) -> io::Result<Option<(u32, ByteOrder)>> {
    let mut chunks = Chunks::new(file.clone(), Shape { size: 256 << 10, slots: 1 });
    let mut votes = [[0_u32; (END_BITS - LEAST_BITS) as usize]; 2];
    let step = 1_u64 << LEAST_BITS;
    let mut offset = step;
    while offset.saturating_add(HEADER_SIZE) <= file.len() {
        let head = chunks.read(offset, HEADER_SIZE as usize)?;
        for (order, votes) in [ByteOrder::Little, ByteOrder::Big].into_iter().zip(&mut votes) {
            let Some(bits) = vote(&head, offset, order) else { continue };
            let Some(count) = votes.get_mut((bits - LEAST_BITS) as usize) else { continue };
            *count += 1;
            if *count >= ENOUGH {
                return Ok(Some((1 << bits, order)));
            }
        }
        offset += step;
    }
    let all = [ByteOrder::Little, ByteOrder::Big].into_iter().zip(votes);
    let each =
        all.flat_map(|(order, votes)| votes.into_iter().zip(LEAST_BITS..).map(move |(n, bits)| (n, bits, order)));
    Ok(each.filter(|(n, ..)| *n > 0).max_by_key(|(n, ..)| *n).map(|(_, bits, order)| (1 << bits, order)))
}

/// The page size for which these bytes are a header at this offset, as a power of two.
fn vote(head: &[u8], offset: u64, order: ByteOrder) -> Option<u32> {
    let (id, flags, count) = (order.u64(head, 0)?, order.u16(head, 8)?, order.u16(head, 10)?);
    if id < 2 || count == 0 || !is_page_kind(flags) || !offset.is_multiple_of(id) {
        return None;
    }
    let size = offset / id;
    let bits = size.is_power_of_two().then(|| size.ilog2())?;
    (LEAST_BITS..END_BITS).contains(&bits).then_some(bits)
}
