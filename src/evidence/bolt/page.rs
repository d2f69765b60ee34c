//! Pages of a bolt file (storage.md 2.2, 2.4).
//!
//! ```text
//! page header            16 bytes   branch element         16 bytes
//!   0  u64  id                        0  u32  pos, from the element's own start to its key
//!   8  u16  flags                     4  u32  key size
//!  10  u16  count                     8  u64  child page id
//!  12  u32  overflow                leaf element           16 bytes
//!                                     0  u32  flags, bit 0: the value is a bucket
//!                                     4  u32  pos
//!                                     8  u32  key size
//!                                    12  u32  value size, the value follows the key
//! ```
//!
//! The elements follow the header, the keys and values follow the elements. A page with
//! `overflow` n goes on over the next n pages, which have no header of their own.

use std::io;

use super::super::file::{Bytes, Chunks, File, Shape};

/// Size of a page header and of both kinds of elements, in bytes.
pub const HEADER_SIZE: u64 = 16;
const ELEMENT_SIZE: u64 = 16;

const ID: usize = 0;
const FLAGS: usize = ID + 8;
const COUNT: usize = FLAGS + 2;
const OVERFLOW: usize = COUNT + 2;

/// Page flag: the elements are branches.
pub const BRANCH: u16 = 0x01;
/// Page flag: the elements are keys and values.
pub const LEAF: u16 = 0x02;
const META: u16 = 0x04;
const FREELIST: u16 = 0x10;
const BUCKET: u32 = 0x01;

/// Page spans up to this size are held whole; of larger ones only the part that is asked for.
const WHOLE_SPAN: u64 = 1 << 20;

/// The largest value that is believed, in bytes. Nomad's garbage collection has written entries of
/// some megabytes; a length far beyond that comes from a damaged element and must not be allocated.
const LARGEST_VALUE: u64 = 256 << 20;

/// The byte order of the machine that wrote the file (storage.md 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// amd64, arm64 and most others.
    Little,
    /// s390x.
    Big,
}

macro_rules! read_int {
    ($name:ident, $int:ty) => {
        #[doc = concat!("The ", stringify!($int), " at `at`; `None` past the end.")]
        pub fn $name(self, bytes: &[u8], at: usize) -> Option<$int> {
            let raw = *bytes.get(at..)?.first_chunk()?;
            Some(match self {
                ByteOrder::Little => <$int>::from_le_bytes(raw),
                ByteOrder::Big => <$int>::from_be_bytes(raw),
            })
        }
    };
}

impl ByteOrder {
    read_int!(u16, u16);
    read_int!(u32, u32);
    read_int!(u64, u64);
}

/// Why a page cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// The id lies outside of what the meta page says is in use.
    #[error("page {id} is outside of the file's pages 2..{high_water}")]
    OutOfRange {
        /// The page that was asked for.
        id: u64,
        /// The first page id that was never used.
        high_water: u64,
    },
    /// The file ends before the page.
    #[error("page {id} lies beyond the end of the file ({len} bytes)")]
    CutOff {
        /// The page that was asked for.
        id: u64,
        /// Length of the file in bytes.
        len: u64,
    },
    /// The system could not read it.
    #[error("page {id} cannot be read: {source}")]
    Io {
        /// The page that was asked for.
        id: u64,
        /// What the system said.
        source: io::Error,
    },
    /// The header names another page.
    #[error("page {id} has the header of page {found}")]
    OtherId {
        /// The page that was asked for.
        id: u64,
        /// The id in its header.
        found: u64,
    },
    /// The flags are not those of a branch or a leaf.
    #[error("page {id} is neither branch nor leaf (flags {flags:#x})")]
    Flags {
        /// The page that was asked for.
        id: u64,
        /// The flags in its header.
        flags: u16,
    },
    /// The page claims more overflow pages than there are.
    #[error("page {id} claims {overflow} overflow pages")]
    Overflow {
        /// The page that was asked for.
        id: u64,
        /// The number in its header.
        overflow: u32,
    },
    /// The page claims more elements than fit, or a branch has none.
    #[error("page {id} claims {count} elements")]
    Count {
        /// The page that was asked for.
        id: u64,
        /// The number in its header.
        count: u16,
    },
    /// The page has been met before on this walk.
    #[error("page {id} is used twice")]
    Twice {
        /// The page that was asked for.
        id: u64,
    },
    /// None of its keys lies where the branch pages above say that its keys lie.
    #[error("page {id} holds keys from elsewhere")]
    Elsewhere {
        /// The page that was asked for.
        id: u64,
    },
    /// More levels than any real tree has.
    #[error("page {id} lies deeper than {max} levels")]
    TooDeep {
        /// The page that was asked for.
        id: u64,
        /// The cap.
        max: usize,
    },
    /// The file ends before the content of an element, or the system cannot read it.
    #[error("page {id}: element {element} cannot be read to its end")]
    Ends {
        /// The leaf page.
        id: u64,
        /// Number of the element, from 0.
        element: usize,
    },
    /// A branch element whose key or child lies outside of its page.
    #[error("page {id}: element {element} points outside of the page")]
    Element {
        /// The branch page.
        id: u64,
        /// Number of the element, from 0.
        element: usize,
    },
}

/// Whether these are the flags of a page: exactly one of the four kinds.
pub fn is_page_kind(flags: u16) -> bool {
    matches!(flags, BRANCH | LEAF | META | FREELIST)
}

/// Where a bucket's tree begins (storage.md 2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// On a page of its own.
    Page(u64),
    /// Inside the bucket's value: the file offset and length of a leaf page's image.
    Inline {
        /// Offset in the file, in bytes.
        offset: u64,
        /// Length in bytes.
        len: u64,
    },
}

/// A branch or leaf page whose header has been checked; its elements have not.
#[derive(Clone, Debug)]
pub struct Page {
    /// Its id; 0 for an inline one.
    pub id: u64,
    /// Offset in the file, in bytes.
    pub offset: u64,
    leaf: bool,
    count: usize,
    /// Bytes of the page with its overflow, as its header claims.
    span: u64,
    /// The first part of the span, at least the elements.
    body: Bytes,
    order: ByteOrder,
}

/// One element of a leaf: where its key and value lie in the page.
#[derive(Clone, Copy, Debug)]
pub struct LeafElement {
    /// The value is a bucket.
    pub is_bucket: bool,
    key_at: u64,
    key_len: u64,
    value_len: u64,
}

impl Page {
    /// True for a leaf, false for a branch.
    pub fn is_leaf(&self) -> bool {
        self.leaf
    }

    /// Number of elements.
    pub fn count(&self) -> usize {
        self.count
    }

    fn element(&self, i: usize) -> Option<(u64, usize)> {
        let at = HEADER_SIZE + ELEMENT_SIZE * i as u64;
        (i < self.count).then_some((at, at as usize))
    }

    /// The key and the child of a branch element; `None` where it points outside of the page.
    pub fn branch(&self, i: usize) -> (Option<&[u8]>, Option<u64>) {
        let Some((start, at)) = self.element(i) else { return (None, None) };
        let child = self.order.u64(&self.body, at + 8);
        let key = (|| {
            let pos = u64::from(self.order.u32(&self.body, at)?);
            let len = u64::from(self.order.u32(&self.body, at + 4)?);
            let key_at = usize::try_from(start + pos).ok()?;
            self.body.get(key_at..key_at.checked_add(len as usize)?)
        })();
        (key.filter(|key| !key.is_empty()), child)
    }

    /// The place of a leaf element; `None` where it points outside of the page.
    pub fn leaf(&self, i: usize) -> Option<LeafElement> {
        let (start, at) = self.element(i)?;
        let flags = self.order.u32(&self.body, at)?;
        let pos = u64::from(self.order.u32(&self.body, at + 4)?);
        let key_len = u64::from(self.order.u32(&self.body, at + 8)?);
        let value_len = u64::from(self.order.u32(&self.body, at + 12)?);
        let table_end = HEADER_SIZE + ELEMENT_SIZE * self.count as u64;
        // Four sums of numbers below 2^33: no overflow in 64 bits.
        let fits = start + pos >= table_end && start + pos + key_len + value_len <= self.span;
        let element = LeafElement { is_bucket: flags & BUCKET != 0, key_at: start + pos, key_len, value_len };
        (fits && value_len <= LARGEST_VALUE).then_some(element)
    }

    /// Bytes of the page with its overflow, as its header claims.
    pub fn span(&self) -> u64 {
        self.span
    }

    /// Offset in the file at which the value of an element ends, in bytes.
    pub fn value_end(&self, element: &LeafElement) -> u64 {
        self.value_offset(element) + element.value_len
    }

    /// Offset in the file at which the value of an element begins, in bytes.
    pub fn value_offset(&self, element: &LeafElement) -> u64 {
        self.offset + element.key_at + element.key_len
    }
}

/// The key and the value of a leaf element.
#[derive(Debug)]
pub enum Content<'p> {
    /// Views into the page.
    Inside(&'p [u8], &'p [u8]),
    /// Read apart, since the page is too large to be held: key and value in one, and the key's length.
    Apart(Bytes, usize),
}

impl Content<'_> {
    /// True when it was read apart from its page.
    pub fn is_apart(&self) -> bool {
        matches!(self, Content::Apart(..))
    }

    /// The key.
    pub fn key(&self) -> &[u8] {
        match self {
            Content::Inside(key, _) => key,
            Content::Apart(both, len) => both.get(..*len).unwrap_or_default(),
        }
    }

    /// The value.
    pub fn value(&self) -> &[u8] {
        match self {
            Content::Inside(_, value) => value,
            Content::Apart(both, len) => both.get(*len..).unwrap_or_default(),
        }
    }
}

/// Reads the pages of one state of the file through a cache of its own.
#[derive(Debug)]
pub struct Pager {
    chunks: Chunks,
    order: ByteOrder,
    page_size: u64,
    high_water: u64,
}

impl Pager {
    /// A pager over `file`, whose geometry comes from a checked meta page.
    pub fn new(file: File, shape: Shape, order: ByteOrder, page_size: u32, high_water: u64) -> Self {
        Pager { chunks: Chunks::new(file, shape), order, page_size: u64::from(page_size), high_water }
    }

    /// The number of whole or partial pages in the file, below the high-water mark.
    pub fn page_limit(&self) -> u64 {
        self.high_water.min(self.chunks.file().len().div_ceil(self.page_size))
    }

    /// The byte order of the file.
    pub fn order(&self) -> ByteOrder {
        self.order
    }

    /// The first page of a bucket.
    ///
    /// # Errors
    /// As [`Pager::page`].
    pub fn root(&mut self, root: Root) -> Result<Page, PageError> {
        match root {
            Root::Page(id) => self.page(id),
            Root::Inline { offset, len } => self.load(0, offset, Some(len)),
        }
    }

    /// True where a page of any kind begins at this position: its header names the position itself.
    pub fn begins_at(&mut self, id: u64) -> bool {
        let offset = id.checked_mul(self.page_size);
        let head = offset.and_then(|offset| self.chunks.read(offset, HEADER_SIZE as usize).ok());
        head.and_then(|head| self.header(&head)).is_some_and(|(found, flags, _, _)| found == id && is_page_kind(flags))
    }

    /// A branch or leaf page by its id.
    ///
    /// # Errors
    /// When it is out of range, cut off, unreadable, or its header is that of something else.
    pub fn page(&mut self, id: u64) -> Result<Page, PageError> {
        if id < 2 || id >= self.high_water {
            return Err(PageError::OutOfRange { id, high_water: self.high_water });
        }
        let len = self.chunks.file().len();
        match id.checked_mul(self.page_size) {
            Some(offset) if offset.saturating_add(HEADER_SIZE) <= len => self.load(id, offset, None),
            _ => Err(PageError::CutOff { id, len }),
        }
    }

    fn load(&mut self, id: u64, offset: u64, inline: Option<u64>) -> Result<Page, PageError> {
        let io = |source| PageError::Io { id, source };
        let head = self.chunks.read(offset, HEADER_SIZE as usize).map_err(io)?;
        let (found, flags, count, overflow) = self.header(&head).ok_or(PageError::Count { id, count: 0 })?;
        if found != id {
            return Err(PageError::OtherId { id, found });
        }
        let leaf = match (flags, inline) {
            (LEAF, _) => true,
            (BRANCH, None) => false,
            _ => return Err(PageError::Flags { id, flags }),
        };
        let span = match inline {
            Some(len) => len,
            None => self.span(id, overflow)?,
        };
        let table = HEADER_SIZE + ELEMENT_SIZE * u64::from(count);
        // A file that was cut inside the page still has the page's first elements.
        let there = span.min(self.chunks.file().len().saturating_sub(offset));
        if table > there || (count == 0 && !leaf) {
            return Err(PageError::Count { id, count });
        }
        let held = if span <= WHOLE_SPAN { there } else { table.max(self.page_size).min(there) };
        let body = self.chunks.read(offset, held as usize).map_err(io)?;
        Ok(Page { id, offset, leaf, count: usize::from(count), span, body, order: self.order })
    }

    fn header(&self, head: &[u8]) -> Option<(u64, u16, u16, u32)> {
        let order = self.order;
        Some((order.u64(head, ID)?, order.u16(head, FLAGS)?, order.u16(head, COUNT)?, order.u32(head, OVERFLOW)?))
    }

    /// Bytes of a page with its overflow, which must stay below the high-water mark.
    fn span(&self, id: u64, overflow: u32) -> Result<u64, PageError> {
        let pages = u64::from(overflow) + 1;
        match pages.checked_mul(self.page_size) {
            Some(span) if id.checked_add(pages).is_some_and(|end| end <= self.high_water) => Ok(span),
            _ => Err(PageError::Overflow { id, overflow }),
        }
    }

    /// Key and value of a leaf element; `None` where the file ends before them or cannot be read.
    pub fn content<'p>(&mut self, page: &'p Page, element: &LeafElement) -> Option<Content<'p>> {
        let start = usize::try_from(element.key_at).ok()?;
        let key_len = usize::try_from(element.key_len).ok()?;
        let len = key_len.checked_add(usize::try_from(element.value_len).ok()?)?;
        match page.body.get(start..start.checked_add(len)?) {
            Some(both) => both.split_at_checked(key_len).map(|(key, value)| Content::Inside(key, value)),
            None => {
                let both = self.chunks.read(page.offset + element.key_at, len).ok()?;
                Some(Content::Apart(both, key_len))
            }
        }
    }
}
