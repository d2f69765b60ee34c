//! The two meta pages, which say where the tree begins (storage.md 2.1, 2.3).
//!
//! ```text
//! meta page body, 64 bytes, after the page header
//!   0  u32  magic 0xED0CDAED          24  u64  root bucket: sequence
//!   4  u32  version 2                 32  u64  freelist page id, all ones: not stored
//!   8  u32  page size                 40  u64  high-water mark: first page never used
//!  12  u32  flags                     48  u64  transaction id
//!  16  u64  root bucket: page id      56  u64  FNV-1a of the 56 bytes before
//! ```
//!
//! Transaction T writes page T % 2, so a torn write leaves the other one. The valid one with
//! the higher transaction id is the active one.

use super::super::file::File;
use super::page::{ByteOrder, HEADER_SIZE};

const MAGIC: u32 = 0xED0C_DAED;
const VERSION: u32 = 2;
const BODY_SIZE: usize = 64;

const MAGIC_AT: usize = 0;
const VERSION_AT: usize = MAGIC_AT + 4;
const PAGE_SIZE_AT: usize = VERSION_AT + 4;
const ROOT_AT: usize = PAGE_SIZE_AT + 8;
const FREELIST_AT: usize = ROOT_AT + 16;
const HIGH_WATER_AT: usize = FREELIST_AT + 8;
const TXID_AT: usize = HIGH_WATER_AT + 8;
const CHECKSUM_AT: usize = TXID_AT + 8;

const NO_FREELIST: u64 = u64::MAX;

/// Page sizes at which the second meta page is looked for where the first is bad.
const PROBED: std::ops::Range<u32> = 10..25;

/// Why a meta page is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetaError {
    /// The file ends before it, or the system cannot read it.
    #[error("it cannot be read")]
    Unread,
    /// The magic number is another one.
    #[error("its magic number is wrong")]
    Magic,
    /// The version is another one.
    #[error("its version is {0} and not 2")]
    Version(u32),
    /// The checksum does not fit.
    #[error("its checksum does not fit")]
    Checksum,
    /// The page size is no power of two in a plausible range, or not that of the other page.
    #[error("its page size of {0} bytes cannot be")]
    PageSize(u32),
    /// The root page is not below the high-water mark.
    #[error("its root page {0} is outside of the file's pages")]
    Root(u64),
}

/// A valid meta page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// Bytes of a page.
    pub page_size: u32,
    /// Page id of the tree of buckets.
    pub root: u64,
    /// Page id of the list of free pages; `None` where the writer keeps none.
    pub freelist: Option<u64>,
    /// The first page id that was never used.
    pub high_water: u64,
    /// The transaction that wrote it.
    pub txid: u64,
}

/// Both meta pages of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metas {
    /// The byte order of the writer.
    pub order: ByteOrder,
    /// Page 0 and page 1.
    pub pages: [Result<Meta, MetaError>; 2],
}

impl Metas {
    /// Reads both.
    ///
    /// # Errors
    /// What is wrong with page 0, where neither is valid.
    pub fn read(file: &File) -> Result<Metas, MetaError> {
        let at = |offset: u64, order| parse_at(file, offset, order);
        // The order is taken from whichever valid page is found first.
        let mut first_error = MetaError::Magic;
        for order in [ByteOrder::Little, ByteOrder::Big] {
            match at(0, order) {
                Ok(meta) => {
                    let second = at(u64::from(meta.page_size), order).and_then(|second| same_size(second, &meta));
                    return Ok(Metas { order, pages: [Ok(meta), second] });
                }
                Err(MetaError::Magic) => {}
                Err(other) => first_error = other,
            }
        }
        for order in [ByteOrder::Little, ByteOrder::Big] {
            for size in PROBED.map(|bits| 1_u32 << bits) {
                if let Ok(meta) = at(u64::from(size), order)
                    && meta.page_size == size
                {
                    return Ok(Metas { order, pages: [Err(first_error), Ok(meta)] });
                }
            }
        }
        Err(first_error)
    }

    /// Which page is active: the valid one with the higher transaction id.
    pub fn active(&self) -> usize {
        match &self.pages {
            [Ok(a), Ok(b)] => usize::from(b.txid > a.txid),
            [Err(_), Ok(_)] => 1,
            _ => 0,
        }
    }
}

/// True where the bytes begin like a bolt file, in either byte order, valid or not.
pub fn has_magic(head: &[u8]) -> bool {
    [ByteOrder::Little, ByteOrder::Big].iter().any(|order| order.u32(head, HEADER_SIZE as usize) == Some(MAGIC))
}

fn same_size(meta: Meta, other: &Meta) -> Result<Meta, MetaError> {
    if meta.page_size == other.page_size { Ok(meta) } else { Err(MetaError::PageSize(meta.page_size)) }
}

fn parse_at(file: &File, page_offset: u64, order: ByteOrder) -> Result<Meta, MetaError> {
    let mut body = [0; BODY_SIZE];
    file.read_at(page_offset + HEADER_SIZE, &mut body).map_err(|_| MetaError::Unread)?;
    parse(&body, order)
}

fn parse(body: &[u8; BODY_SIZE], order: ByteOrder) -> Result<Meta, MetaError> {
    let u32_at = |at| order.u32(body, at).ok_or(MetaError::Unread);
    let u64_at = |at| order.u64(body, at).ok_or(MetaError::Unread);
    if u32_at(MAGIC_AT)? != MAGIC {
        return Err(MetaError::Magic);
    }
    let version = u32_at(VERSION_AT)?;
    if version != VERSION {
        return Err(MetaError::Version(version));
    }
    let sum = u64_at(CHECKSUM_AT)?;
    // Files of the first bolt releases have no sum.
    if sum != 0 && sum != fnv1a(&body[..CHECKSUM_AT]) {
        return Err(MetaError::Checksum);
    }
    let page_size = u32_at(PAGE_SIZE_AT)?;
    if !page_size.is_power_of_two() || !(512..=1 << 24).contains(&page_size) {
        return Err(MetaError::PageSize(page_size));
    }
    let freelist = u64_at(FREELIST_AT)?;
    let meta = Meta {
        page_size,
        root: u64_at(ROOT_AT)?,
        freelist: (freelist != NO_FREELIST).then_some(freelist),
        high_water: u64_at(HIGH_WATER_AT)?,
        txid: u64_at(TXID_AT)?,
    };
    if meta.root < 2 || meta.root >= meta.high_water {
        return Err(MetaError::Root(meta.root));
    }
    Ok(meta)
}

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
