//! Writes real bolt files (storage.md 2), as a server does: page by page, transaction by transaction.
//!
//! [`Db::write_pages`] puts a transaction's pages into space that the state before it does not use, and
//! [`Pending::finish`] then writes the meta page that makes them count: between the two the file is what a reader
//! of a running server meets. Any page size, either byte order, with or without a stored freelist. The program
//! itself only reads bolt, with code of its own, so that an error here cannot hide one there.

mod page;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom, Write};
use std::path::Path;

pub use page::Order;
use page::{
    Children, ELEMENT, HEADER, Pairs, branch_body, branch_elements, fnv1a, leaf_body, leaf_elements, pairs, push_header,
};

/// Page flags.
const BRANCH: u16 = 0x01;
const LEAF: u16 = 0x02;
const META: u16 = 0x04;
const FREELIST: u16 = 0x10;
/// Set on a leaf element whose value is a bucket.
const BUCKET: u32 = 0x01;
const MAGIC: u32 = 0xED0C_DAED;
const VERSION: u32 = 2;
/// A meta's body without its checksum.
const META_BODY: usize = 56;
/// In place of the freelist's page id when none is stored.
const NO_FREELIST: u64 = u64::MAX;
/// A page is split when it would be fuller than this and has enough elements.
const FILL: f64 = 0.5;
const LEAST_ELEMENTS: usize = 2;

/// How a file is laid out.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The writing machine's page size: a power of two from 1024 to 65536.
    pub page_size: usize,
    /// The writing machine's byte order.
    pub order: Order,
    /// False as with Nomad's `no_freelist_sync`.
    pub stores_freelist: bool,
}

impl Default for Layout {
    fn default() -> Self {
        Layout { page_size: 4096, order: Order::Little, stores_freelist: true }
    }
}

/// By key the new value, or none to delete it.
type Writes = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// The writes of one transaction, by bucket.
#[derive(Default)]
pub struct Transaction(BTreeMap<Vec<u8>, Writes>);

impl Transaction {
    /// Sets a key of a bucket, which is made when it is not there.
    pub fn put(&mut self, bucket: &str, key: &[u8], value: Vec<u8>) {
        self.0.entry(bucket.into()).or_default().insert(key.into(), Some(value));
    }

    /// Deletes a key of a bucket.
    pub fn delete(&mut self, bucket: &str, key: &[u8]) {
        self.0.entry(bucket.into()).or_default().insert(key.into(), None);
    }
}

/// A bucket of the top level: in its own tree of pages, or inside the value that names it.
enum Bucket {
    Tree(u64),
    Inline(Pairs),
}

/// A bolt file open for writing.
pub struct Db {
    file: File,
    layout: Layout,
    txid: u64,
    high_water: u64,
    length: u64,
    root: u64,
    buckets: BTreeMap<Vec<u8>, Bucket>,
    freelist: Option<(u64, u64)>,
    /// Pages that nothing reachable uses.
    free: BTreeSet<u64>,
    /// Pages that the transaction being written no longer uses; free once it is committed.
    freed: Vec<u64>,
    /// Whether to wait for the disk, as a server does.
    pub syncs: bool,
}

/// A transaction whose pages are in the file and whose meta page is not.
#[must_use = "without `finish` the transaction never happened"]
pub struct Pending<'db>(&'db mut Db);

impl Pending<'_> {
    /// Writes the meta page: from here on the transaction counts.
    pub fn finish(self) -> Result<()> {
        let db = self.0;
        db.write_meta(db.txid)?;
        db.free.extend(db.freed.drain(..));
        db.sync()
    }
}

impl Db {
    /// Makes a new file as bolt does: two metas, a freelist, an empty root.
    pub fn create(path: &Path, layout: Layout) -> Result<Self> {
        let file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
        let mut db = Db {
            file,
            layout,
            txid: 1,
            high_water: 4,
            length: 0,
            root: 3,
            buckets: BTreeMap::new(),
            freelist: Some((2, 1)),
            free: BTreeSet::new(),
            freed: Vec::new(),
            syncs: false,
        };
        db.write_page(2, FREELIST, 0, &[])?;
        db.write_page(3, LEAF, 0, &[])?;
        db.write_meta(0)?;
        db.write_meta(1)?;
        Ok(db)
    }

    /// Opens a file that is sound and in no other use, to go on writing it.
    pub fn open(path: &Path) -> Result<Self> {
        let mut file = File::options().read(true).write(true).open(path)?;
        let mut start = [0; HEADER + META_BODY];
        file.read_exact(&mut start)?;
        let order = if start[16..20] == MAGIC.to_le_bytes() { Order::Little } else { Order::Big };
        let layout = Layout { page_size: order.u32(&start, 24) as usize, order, stores_freelist: true };
        let length = file.metadata()?.len();
        let mut db = Db {
            file,
            layout,
            txid: 0,
            high_water: 0,
            length,
            root: 0,
            buckets: BTreeMap::new(),
            freelist: None,
            free: BTreeSet::new(),
            freed: Vec::new(),
            syncs: false,
        };
        let metas = [db.read_span(0)?, db.read_span(1)?];
        let newest = metas.iter().max_by_key(|meta| order.u64(meta, HEADER + 48)).ok_or(ErrorKind::InvalidData)?;
        db.root = order.u64(newest, HEADER + 16);
        db.high_water = order.u64(newest, HEADER + 40);
        db.txid = order.u64(newest, HEADER + 48);
        let freelist = order.u64(newest, HEADER + 32);
        db.layout.stores_freelist = freelist != NO_FREELIST;
        if db.layout.stores_freelist {
            let page = db.read_span(freelist)?;
            db.freelist = Some((freelist, (page.len() / db.layout.page_size) as u64));
            db.free = db.free_ids(&page);
        }
        let root = db.read_span(db.root)?;
        for (flags, name, value) in leaf_elements(order, &root) {
            if flags & BUCKET == 0 {
                return Err(Error::new(ErrorKind::InvalidData, "a plain value at the top level"));
            }
            let bucket = match order.u64(value, 0) {
                0 => Bucket::Inline(pairs(order, &value[16..])),
                page => Bucket::Tree(page),
            };
            db.buckets.insert(name.to_vec(), bucket);
        }
        Ok(db)
    }

    /// Writes a transaction and makes it count.
    pub fn commit(&mut self, transaction: Transaction) -> Result<()> {
        self.write_pages(transaction)?.finish()
    }

    /// Writes a transaction's pages, without the meta page that makes them count.
    pub fn write_pages(&mut self, transaction: Transaction) -> Result<Pending<'_>> {
        self.txid += 1;
        for (name, writes) in transaction.0 {
            let bucket = self.buckets.remove(&name).unwrap_or(Bucket::Inline(Vec::new()));
            let bucket = self.write_bucket(bucket, writes)?;
            self.buckets.insert(name, bucket);
        }
        self.write_root()?;
        self.write_freelist()?;
        self.grow()?;
        self.sync()?;
        Ok(Pending(self))
    }

    fn write_bucket(&mut self, bucket: Bucket, writes: Writes) -> Result<Bucket> {
        let mut children = match bucket {
            Bucket::Tree(root) => self.rewrite(root, writes.into_iter().collect())?,
            Bucket::Inline(pairs) => {
                let pairs = merge(pairs, writes);
                let size = HEADER + pairs.iter().map(|(key, value)| ELEMENT + key.len() + value.len()).sum::<usize>();
                if size <= self.layout.page_size / 4 {
                    return Ok(Bucket::Inline(pairs));
                }
                self.write_leaves(pairs)?
            }
        };
        while children.len() > 1 {
            children = self.write_branches(children)?;
        }
        match children.pop() {
            Some((_, root)) => Ok(Bucket::Tree(root)),
            None => Ok(Bucket::Inline(Vec::new())),
        }
    }

    /// Writes a new version of a page and of what below it changes; the page itself becomes free.
    fn rewrite(&mut self, id: u64, writes: Vec<(Vec<u8>, Option<Vec<u8>>)>) -> Result<Children> {
        let order = self.layout.order;
        let page = self.read_span(id)?;
        self.free_span(id, (page.len() / self.layout.page_size) as u64);
        if order.u16(&page, 8) & LEAF != 0 {
            return self.write_leaves(merge(pairs(order, &page), writes));
        }
        let mut children = Children::new();
        let mut writes = writes.into_iter().peekable();
        let old = branch_elements(order, &page);
        for (place, (key, child)) in old.iter().enumerate() {
            let end = old.get(place + 1).map(|(next, _)| next);
            let mut mine = Vec::new();
            while let Some(write) = writes.next_if(|(key, _)| end.is_none_or(|end| key < end)) {
                mine.push(write);
            }
            if mine.is_empty() {
                children.push((key.clone(), *child));
            } else {
                children.extend(self.rewrite(*child, mine)?);
            }
        }
        if children.len() <= 1 { Ok(children) } else { self.write_branches(children) }
    }

    fn write_leaves(&mut self, pairs: Pairs) -> Result<Children> {
        let size = |(key, value): &(Vec<u8>, Vec<u8>)| ELEMENT + key.len() + value.len();
        let mut children = Children::new();
        for (start, end) in self.chunks(&pairs, size) {
            let chunk = &pairs[start..end];
            let body = leaf_body(self.layout.order, chunk.iter().map(|(key, value)| (0, &key[..], &value[..])));
            children.push((chunk[0].0.clone(), self.write_new(LEAF, chunk.len(), &body)?));
        }
        Ok(children)
    }

    fn write_branches(&mut self, below: Children) -> Result<Children> {
        let mut children = Children::new();
        for (start, end) in self.chunks(&below, |(key, _)| ELEMENT + key.len()) {
            let chunk = &below[start..end];
            let body = branch_body(self.layout.order, chunk);
            children.push((chunk[0].0.clone(), self.write_new(BRANCH, chunk.len(), &body)?));
        }
        Ok(children)
    }

    /// Where bolt splits a page that has grown too large: at its fill, and never below two elements.
    fn chunks<T>(&self, elements: &[T], size: impl Fn(&T) -> usize) -> Vec<(usize, usize)> {
        let mut chunks = Vec::new();
        let mut left = HEADER + elements.iter().map(&size).sum::<usize>();
        let mut start = 0;
        while elements.len() - start > 2 * LEAST_ELEMENTS && left > self.layout.page_size {
            let mut used = HEADER;
            let mut end = start;
            while end < elements.len() - LEAST_ELEMENTS {
                let next = size(&elements[end]);
                if end - start >= LEAST_ELEMENTS && (used + next) as f64 > self.layout.page_size as f64 * FILL {
                    break;
                }
                used += next;
                end += 1;
            }
            left -= used - HEADER;
            chunks.push((start, end));
            start = end;
        }
        if start < elements.len() {
            chunks.push((start, elements.len()));
        }
        chunks
    }

    /// The page of the top level: each bucket's name with where it is, or what is in it.
    fn write_root(&mut self) -> Result<()> {
        let order = self.layout.order;
        let mut elements: Vec<(&[u8], Vec<u8>)> = Vec::new();
        for (name, bucket) in &self.buckets {
            let mut value = Vec::new();
            match bucket {
                Bucket::Tree(root) => {
                    order.push_u64(&mut value, *root);
                    order.push_u64(&mut value, 0);
                }
                Bucket::Inline(pairs) => {
                    value.extend([0; 16]);
                    push_header(order, &mut value, 0, LEAF, pairs.len() as u16, 0);
                    value.extend(leaf_body(order, pairs.iter().map(|(key, value)| (0, &key[..], &value[..]))));
                }
            }
            elements.push((name, value));
        }
        let body = leaf_body(order, elements.iter().map(|(name, value)| (BUCKET, *name, &value[..])));
        let count = elements.len();
        let old = self.read_span(self.root)?.len() / self.layout.page_size;
        self.free_span(self.root, old as u64);
        self.root = self.write_new(LEAF, count, &body)?;
        Ok(())
    }

    fn write_freelist(&mut self) -> Result<()> {
        if let Some((id, pages)) = self.freelist.take() {
            self.free_span(id, pages);
        }
        if !self.layout.stores_freelist {
            return Ok(());
        }
        // Its own pages come out of the list, so the list can only get shorter by allocating them.
        let most = self.free.len() + self.freed.len() + 1;
        let pages = (HEADER + 8 * most).div_ceil(self.layout.page_size) as u64;
        let id = self.allocate(pages);
        let mut ids: Vec<u64> = self.free.iter().chain(&self.freed).copied().collect();
        ids.sort_unstable();
        let mut body = Vec::new();
        let count = if ids.len() >= 0xFFFF {
            self.layout.order.push_u64(&mut body, ids.len() as u64);
            0xFFFF
        } else {
            ids.len() as u16
        };
        ids.into_iter().for_each(|id| self.layout.order.push_u64(&mut body, id));
        body.resize(body.len().max(pages as usize * self.layout.page_size - HEADER), 0);
        self.write_page(id, FREELIST, count, &body)?;
        self.freelist = Some((id, pages));
        Ok(())
    }

    fn free_ids(&self, page: &[u8]) -> BTreeSet<u64> {
        let order = self.layout.order;
        let (first, count) = match order.u16(page, 10) {
            0xFFFF => (1, order.u64(page, HEADER) as usize),
            count => (0, count as usize),
        };
        (first..first + count).map(|place| order.u64(page, HEADER + 8 * place)).collect()
    }

    fn free_span(&mut self, id: u64, pages: u64) {
        self.freed.extend(id..id + pages);
    }

    /// The first free run of so many pages, or new ones at the end.
    fn allocate(&mut self, pages: u64) -> u64 {
        let mut run = 0;
        let mut before = None;
        let found = self.free.iter().copied().find(|id| {
            run = if before.is_some_and(|before: u64| before + 1 == *id) { run + 1 } else { 1 };
            before = Some(*id);
            run == pages
        });
        match found {
            Some(last) => {
                let first = last + 1 - pages;
                (first..=last).for_each(|id| {
                    self.free.remove(&id);
                });
                first
            }
            None => {
                let first = self.high_water;
                self.high_water += pages;
                first
            }
        }
    }

    fn write_new(&mut self, flags: u16, count: usize, body: &[u8]) -> Result<u64> {
        let pages = (HEADER + body.len()).div_ceil(self.layout.page_size) as u64;
        let id = self.allocate(pages);
        self.write_page(id, flags, count as u16, body)?;
        Ok(id)
    }

    fn write_page(&mut self, id: u64, flags: u16, count: u16, body: &[u8]) -> Result<()> {
        let size = self.layout.page_size;
        let pages = (HEADER + body.len()).div_ceil(size);
        let mut bytes = Vec::with_capacity(pages * size);
        push_header(self.layout.order, &mut bytes, id, flags, count, pages as u32 - 1);
        bytes.extend_from_slice(body);
        bytes.resize(pages * size, 0);
        self.file.seek(SeekFrom::Start(id * size as u64))?;
        self.file.write_all(&bytes)?;
        self.length = self.length.max((id + pages as u64) * size as u64);
        Ok(())
    }

    /// A page with the pages that it overflows into.
    fn read_span(&mut self, id: u64) -> Result<Vec<u8>> {
        let size = self.layout.page_size;
        self.file.seek(SeekFrom::Start(id * size as u64))?;
        let mut bytes = vec![0; size];
        self.file.read_exact(&mut bytes)?;
        let overflow = self.layout.order.u32(&bytes, 12) as usize;
        bytes.resize((overflow + 1) * size, 0);
        self.file.read_exact(&mut bytes[size..])?;
        Ok(bytes)
    }

    fn write_meta(&mut self, txid: u64) -> Result<()> {
        let order = self.layout.order;
        let mut body = Vec::new();
        for field in [MAGIC, VERSION, self.layout.page_size as u32, 0] {
            order.push_u32(&mut body, field);
        }
        let freelist = self.freelist.map_or(NO_FREELIST, |(id, _)| id);
        for field in [self.root, 0, freelist, self.high_water, txid] {
            order.push_u64(&mut body, field);
        }
        let checksum = fnv1a(&body);
        order.push_u64(&mut body, checksum);
        self.write_page(txid % 2, META, 0, &body)
    }

    /// Lengthens the file in the steps in which bolt does: doubling from 32 KiB to 16 MiB, then by 16 MiB.
    fn grow(&mut self) -> Result<()> {
        const STEP: u64 = 16 << 20;
        let needed = (self.high_water + 1) * self.layout.page_size as u64;
        if needed > self.length {
            self.length =
                if needed >= STEP { needed.next_multiple_of(STEP) } else { needed.next_power_of_two().max(32 << 10) };
            self.file.set_len(self.length)?;
        }
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        if self.syncs { self.file.sync_data() } else { Ok(()) }
    }
}

/// The pairs of a leaf after the writes to it.
fn merge(pairs: Pairs, writes: impl IntoIterator<Item = (Vec<u8>, Option<Vec<u8>>)>) -> Pairs {
    let mut merged: BTreeMap<_, _> = pairs.into_iter().collect();
    for (key, value) in writes {
        match value {
            Some(value) => merged.insert(key, value),
            None => merged.remove(&key),
        };
    }
    merged.into_iter().collect()
}
