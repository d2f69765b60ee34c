//! Walks the tree of a bucket, past what is damaged (storage.md 2.10), and beside a server that writes
//! (storage.md 2.8): what has been read is held back until the meta pages are seen to be the same still,
//! since only then was nothing of it being overwritten.
//!
//! A branch key is the smallest key of its child. Where a child cannot be used, the keys from its
//! own up to the next one are lost and the walk goes on with its siblings. Where a page straddles
//! the range that the branch keys leave to it, the branch key is the damaged part, since a page
//! from elsewhere would lie outside altogether; then the neighbouring page's own first key decides.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::page::{Page, PageError, Pager, Root};

/// More levels than any real tree has: with two children a page, 2^32 pages.
const MAX_DEPTH: usize = 32;

/// In which order a walk meets the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Smallest first.
    Forward,
    /// Largest first.
    Backward,
}

/// What a walk meets.
#[derive(Debug)]
pub enum Met<'a> {
    /// A key and its value.
    Item(Item<'a>),
    /// Keys that cannot be had.
    Lost(Lost),
}

/// A key and its value, as they stand in a leaf.
#[derive(Debug)]
pub struct Item<'a> {
    /// The key.
    pub key: &'a [u8],
    /// The value.
    pub value: &'a [u8],
    /// The value is a bucket.
    pub is_bucket: bool,
    /// The key lies where the branch pages above say that this page's keys lie.
    pub in_bounds: bool,
    /// The page; 0 for an inline one.
    pub page: u64,
    /// Offset of the value in the file, in bytes.
    pub offset: u64,
}

/// Keys that cannot be had: from `from` up to, not including, `to`, where those are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The first lost key.
    pub from: Option<Vec<u8>>,
    /// The first key that is not lost.
    pub to: Option<Vec<u8>>,
    /// The page.
    pub page: u64,
    /// What is wrong with it, a part of a sentence that names the page.
    pub reason: String,
}

type Bound = Option<Vec<u8>>;

struct Frame {
    page: Page,
    /// How many elements are done, counted in the walk's direction.
    done: usize,
    /// The path to the start key has been stepped back once on this page.
    stepped_back: bool,
    lower: Bound,
    upper: Bound,
}

impl Frame {
    /// The element that is due, moved past.
    fn take(&mut self, direction: Direction) -> Option<usize> {
        let i = place(self.done, self.page.count(), direction)?;
        self.done += 1;
        Some(i)
    }

    /// The branch key of an element if it is in order with its neighbours and the page's own range.
    fn separator(&self, i: usize) -> Option<&[u8]> {
        let key = self.page.branch(i).0?;
        let before = i.checked_sub(1).and_then(|i| self.page.branch(i).0);
        let after = self.page.branch(i + 1).0;
        let ordered = before.is_none_or(|before| before < key) && after.is_none_or(|after| key < after);
        (ordered && at_or_above(key, &self.lower) && below(key, &self.upper)).then_some(key)
    }

    /// The range of keys that belongs to the child of an element, as far as the branch keys can be trusted.
    fn range_of(&self, i: usize) -> (Bound, Bound) {
        let lower = (0..=i).rev().find_map(|i| self.separator(i)).map(<[u8]>::to_vec);
        let upper = (i + 1..self.page.count()).find_map(|i| self.separator(i)).map(<[u8]>::to_vec);
        (lower.or_else(|| self.lower.clone()), upper.or_else(|| self.upper.clone()))
    }
}

fn place(done: usize, count: usize, direction: Direction) -> Option<usize> {
    let left = count.checked_sub(done + 1)?;
    Some(if direction == Direction::Forward { done } else { left })
}

fn at_or_above(key: &[u8], lower: &Bound) -> bool {
    lower.as_deref().is_none_or(|lower| key >= lower)
}

fn below(key: &[u8], upper: &Bound) -> bool {
    upper.as_deref().is_none_or(|upper| key < upper)
}

/// A set of pages, 4096 to a block.
#[derive(Debug, Default)]
pub struct Seen(HashMap<u64, Box<[u64; 64]>, foldhash::fast::FixedState>);

impl Seen {
    /// True where the page is in the set.
    pub fn contains(&self, id: u64) -> bool {
        let (word, bit) = ((id >> 6 & 63) as usize, 1 << (id & 63));
        self.0.get(&(id >> 12)).is_some_and(|block| block[word] & bit != 0)
    }

    /// Adds a page; true the first time.
    pub fn insert(&mut self, id: u64) -> bool {
        let block = self.0.entry(id >> 12).or_insert_with(|| Box::new([0; 64]));
        let (word, bit) = ((id >> 6 & 63) as usize, 1 << (id & 63));
        let fresh = block[word] & bit == 0;
        block[word] |= bit;
        fresh
    }
}

/// What a walk calls for everything it meets, until it breaks off.
pub type Sink<'s> = dyn FnMut(Met<'_>) -> ControlFlow<()> + 's;

/// Why a walk ended before its end.
#[derive(Debug, thiserror::Error)]
pub enum WalkError {
    /// The root page cannot be used.
    #[error(transparent)]
    Root(#[from] PageError),
    /// The file has been written to: what was held back has been dropped.
    #[error("the file is being written to")]
    Changed,
}

/// Leaves that are held back at most. A walk begins with one, so that a look-up reads no more than it needs.
const MOST_HELD: usize = 64;

/// Walks a bucket's tree. Forward from the first key at or above `from`; `from` is not for backward
/// walks. `unchanged` is asked before the sink hears of anything.
///
/// # Errors
/// When the root page cannot be used, and when `unchanged` says no; damage is told through the sink.
pub fn walk(
    pager: &mut Pager,
    root: Root,
    from: Option<&[u8]>,
    direction: Direction,
    unchanged: &mut dyn FnMut() -> bool,
    sink: &mut Sink<'_>,
) -> Result<(), WalkError> {
    let page = match pager.root(root) {
        Ok(page) => page,
        Err(_) if !unchanged() => return Err(WalkError::Changed),
        Err(error) => return Err(error.into()),
    };
    let mut walk =
        Walk { pager, from, direction, seen: Seen::default(), stack: Vec::new(), held: Vec::new(), most: 1, unchanged };
    if let Root::Page(id) = root {
        walk.seen.insert(id);
    }
    walk.push(page, None, None);
    loop {
        match walk.stack.last() {
            None => return walk.tell(sink).map(|_| ()),
            Some(frame) if frame.page.is_leaf() => {
                let leaf = walk.stack.pop();
                walk.held.extend(leaf.map(Held::Leaf));
            }
            Some(_) => walk.branch(),
        }
        if walk.held.len() >= walk.most {
            if walk.tell(sink)?.is_break() {
                return Ok(());
            }
            walk.most = (walk.most * 2).min(MOST_HELD);
        }
    }
}

/// What has been read and not been told yet.
enum Held {
    Leaf(Frame),
    Lost(Lost),
}

struct Walk<'p> {
    pager: &'p mut Pager,
    from: Option<&'p [u8]>,
    direction: Direction,
    seen: Seen,
    stack: Vec<Frame>,
    held: Vec<Held>,
    most: usize,
    unchanged: &'p mut dyn FnMut() -> bool,
}

impl Walk<'_> {
    /// Tells what is held back, if it was not written to while it was read.
    fn tell(&mut self, sink: &mut Sink<'_>) -> Result<ControlFlow<()>, WalkError> {
        if !(self.unchanged)() {
            return Err(WalkError::Changed);
        }
        for held in std::mem::take(&mut self.held) {
            let flow = match held {
                Held::Lost(lost) => sink(Met::Lost(lost)),
                Held::Leaf(frame) => self.leaf(&frame, sink)?,
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn lost(&mut self, from: Bound, to: Bound, page: u64, error: PageError) {
        self.held.push(Held::Lost(Lost { from, to, page, reason: error.to_string() }));
    }

    fn push(&mut self, page: Page, lower: Bound, upper: Bound) {
        let mut frame = Frame { page, done: 0, stepped_back: false, lower, upper };
        if let (Some(from), false) = (self.from, frame.page.is_leaf()) {
            // The last child that begins at or below the start holds it, if any does. A key out of order tells nothing.
            let begins =
                |&i: &usize| frame.page.branch(i).0.is_some_and(|key| key <= from) && frame.separator(i).is_some();
            frame.done = (0..frame.page.count()).rev().find(begins).unwrap_or(0);
        }
        self.stack.push(frame);
    }

    fn branch(&mut self) {
        let depth = self.stack.len();
        let Some(frame) = self.stack.last_mut() else { return };
        let Some(i) = frame.take(self.direction) else {
            self.stack.pop();
            return;
        };
        let (key, child) = frame.page.branch(i);
        let key = key.map(<[u8]>::to_vec);
        let (mut lower, mut upper) = frame.range_of(i);
        let page = match child {
            None => Err(PageError::Element { id: frame.page.id, element: i }),
            Some(id) if depth >= MAX_DEPTH => Err(PageError::TooDeep { id, max: MAX_DEPTH }),
            Some(id) => self.pager.page(id),
        };
        let page = match page {
            Ok(page) => page,
            Err(error) => {
                let page = child.unwrap_or(frame.page.id);
                return self.lost(lower, upper, page, error);
            }
        };
        let first = first_key(self.pager, &page);
        // A branch key that is not the child's first one may have led the start past its page.
        if self.from.is_some() && frame.done == i + 1 && first != key && i > 0 && !frame.stepped_back {
            frame.stepped_back = true;
            frame.done = i - 1;
            return;
        }
        let ends = first.zip(last_key(self.pager, &page));
        let elsewhere = ends.as_ref().is_some_and(|(first, last)| {
            !(below(first, &upper) || below(last, &upper)) || !(at_or_above(first, &lower) || at_or_above(last, &lower))
        });
        // A page from elsewhere is not marked as seen: its right place may come later.
        if elsewhere || !self.seen.insert(page.id) {
            let id = page.id;
            let error = if elsewhere { PageError::Elsewhere { id } } else { PageError::Twice { id } };
            return self.lost(lower, upper, id, error);
        }
        if let Some((first, last)) = ends {
            if !at_or_above(&first, &lower) && at_or_above(&last, &lower) {
                lower = None;
            }
            if below(&first, &upper) && !below(&last, &upper) {
                upper = self.next_first_key(i).or(upper);
            }
        }
        self.push(page, lower, upper);
    }

    /// The first key of the page that follows element `i` of the topmost frame, read from that page itself.
    fn next_first_key(&mut self, i: usize) -> Bound {
        let mut next = Some(i + 1);
        for frame in self.stack.iter().rev() {
            // In frames below the top, the child on the path is the one that was taken last.
            let at = match next.take() {
                Some(at) => at,
                None => place(frame.done.checked_sub(1)?, frame.page.count(), self.direction)? + 1,
            };
            if at < frame.page.count() {
                let mut id = frame.page.branch(at).1?;
                for _ in 0..MAX_DEPTH {
                    let page = self.pager.page(id).ok()?;
                    match page.is_leaf() {
                        true => return first_key(self.pager, &page),
                        false => id = page.branch(0).1?,
                    }
                }
                return None;
            }
        }
        None
    }

    fn leaf(&mut self, frame: &Frame, sink: &mut Sink<'_>) -> Result<ControlFlow<()>, WalkError> {
        let page = &frame.page;
        for done in 0..page.count() {
            let Some(i) = place(done, page.count(), self.direction) else { break };
            let met = match page.leaf(i).map(|element| (element, self.pager.content(page, &element))) {
                None => Err(PageError::Element { id: page.id, element: i }),
                Some((_, None)) => Err(PageError::Ends { id: page.id, element: i }),
                Some((element, Some(content))) => Ok((element, content)),
            };
            let flow = match met {
                Err(error) => sink(Met::Lost(Lost { from: None, to: None, page: page.id, reason: error.to_string() })),
                Ok((element, content)) => {
                    // What is read only now has not been asked about.
                    if content.is_apart() && !(self.unchanged)() {
                        return Err(WalkError::Changed);
                    }
                    let key = content.key();
                    let in_bounds = at_or_above(key, &frame.lower) && below(key, &frame.upper);
                    // Not judged by order within the page: what a key stands for may tell more.
                    if self.from.is_some_and(|from| key < from && in_bounds) {
                        continue;
                    }
                    sink(Met::Item(Item {
                        key,
                        value: content.value(),
                        is_bucket: element.is_bucket,
                        in_bounds,
                        page: page.id,
                        offset: page.value_offset(&element),
                    }))
                }
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

fn first_key(pager: &mut Pager, page: &Page) -> Bound {
    key_at(pager, page, 0)
}

fn last_key(pager: &mut Pager, page: &Page) -> Bound {
    key_at(pager, page, page.count().checked_sub(1)?)
}

fn key_at(pager: &mut Pager, page: &Page, i: usize) -> Bound {
    if !page.is_leaf() {
        return page.branch(i).0.map(<[u8]>::to_vec);
    }
    let element = page.leaf(i)?;
    pager.content(page, &element).map(|content| content.key().to_vec())
}
