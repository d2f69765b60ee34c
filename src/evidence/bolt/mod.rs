//! A read-only reader of bolt and bbolt files, which distrusts every byte (storage.md 2).
//!
//! Nomad's servers and clients write both with the same format. The list of free pages is not
//! needed for reading and is never looked at.

pub mod meta;
pub mod page;
pub mod tree;

use std::ops::ControlFlow;
use std::time::Duration;

use super::file::{File, Shape};
use meta::{Meta, MetaError, Metas};
use page::{HEADER_SIZE, Pager, Root};
use tree::{Direction, Met, WalkError};

/// How often a read beside a writing server is begun again before it is given up.
pub const ATTEMPTS: u32 = 1000;

/// The pause before that; a commit takes a server some milliseconds.
pub const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(1);

/// A bolt file with at least one valid meta page.
#[derive(Clone, Debug)]
pub struct Bolt {
    file: File,
    metas: Metas,
}

/// A top-level bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Its name.
    pub name: Vec<u8>,
    /// Where its tree begins.
    pub root: Root,
}

/// The buckets of a file, and why some may be missing.
#[derive(Clone, Debug, Default)]
pub struct Buckets {
    /// Those that could be read, in order of name.
    pub found: Vec<Bucket>,
    /// Pages that could not be read, a sentence each.
    pub lost: Vec<String>,
}

impl Buckets {
    /// The root of a bucket.
    pub fn root(&self, name: &str) -> Option<Root> {
        self.found.iter().find(|bucket| bucket.name == name.as_bytes()).map(|bucket| bucket.root)
    }

    /// The names, for messages.
    pub fn names(&self) -> String {
        let names: Vec<_> = self.found.iter().map(|bucket| String::from_utf8_lossy(&bucket.name)).collect();
        names.join(", ")
    }
}

impl Bolt {
    /// Reads the meta pages.
    ///
    /// # Errors
    /// What is wrong with the first one, where neither is valid.
    pub fn open(file: File) -> Result<Self, MetaError> {
        let metas = Metas::read(&file)?;
        Ok(Bolt { file, metas })
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Both meta pages as they were when the file was opened.
    pub fn metas(&self) -> &Metas {
        &self.metas
    }

    /// True while both meta pages are as they were when the file was opened. What was read before
    /// that is whole: a server overwrites nothing of its newest state (storage.md 2.8).
    pub fn is_unchanged(&self) -> bool {
        Metas::read(&self.file).is_ok_and(|now| now == self.metas)
    }

    /// The file as it is now, opened anew where its length may have changed.
    ///
    /// # Errors
    /// As [`Bolt::open`].
    pub fn again(&self) -> Result<Self, MetaError> {
        Bolt::open(self.file.again())
    }

    /// A reader for the pages of the state that `meta` describes.
    pub fn pager(&self, meta: &Meta, shape: Shape) -> Pager {
        Pager::new(self.file.clone(), shape, self.metas.order, meta.page_size, meta.high_water)
    }

    /// The top-level buckets of the state that `meta` describes.
    ///
    /// # Errors
    /// When the root page cannot be used, or the file has been written to.
    pub fn buckets(&self, meta: &Meta) -> Result<Buckets, WalkError> {
        let mut pager = self.pager(meta, Shape::LOOKUP);
        let order = pager.order();
        let mut buckets = Buckets::default();
        tree::walk(
            &mut pager,
            Root::Page(meta.root),
            None,
            Direction::Forward,
            &mut || self.is_unchanged(),
            &mut |met| {
                match met {
                    Met::Item(item) if item.is_bucket => match bucket_root(&item, order) {
                        Some(root) => buckets.found.push(Bucket { name: item.key.to_vec(), root }),
                        None => buckets.lost.push(format!("page {}: the value of a bucket is too short", item.page)),
                    },
                    Met::Item(_) => {}
                    Met::Lost(lost) => buckets.lost.push(lost.reason),
                }
                ControlFlow::Continue(())
            },
        )?;
        Ok(buckets)
    }
}

/// A bucket's value: root page id and sequence, each of 8 bytes; with root 0 a leaf page follows.
fn bucket_root(item: &tree::Item<'_>, order: page::ByteOrder) -> Option<Root> {
    match order.u64(item.value, 0)? {
        0 => {
            let len = (item.value.len() as u64).checked_sub(HEADER_SIZE)?;
            Some(Root::Inline { offset: item.offset + HEADER_SIZE, len })
        }
        id => Some(Root::Page(id)),
    }
}
