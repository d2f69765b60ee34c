//! The pages above the leaves of a b-tree.

use std::io;

use super::file::Pages;
use super::page::{Kind, Page};

/// Pages of one level in order, and what divides each from the one behind it: one less than there are pages.
#[derive(Debug, Default)]
pub(super) struct Level {
    pub(super) pages: Vec<u32>,
    pub(super) dividers: Vec<Box<[u8]>>,
}

/// Writes the levels above, and gives the number of the root.
pub(super) fn write_levels(mut level: Level, kind: Kind, file: &mut Pages) -> io::Result<u32> {
    while level.pages.len() > 1 {
        level = write_level(level, kind, file)?;
    }
    level.pages.first().copied().ok_or_else(|| io::Error::other("a tree without a page"))
}

/// A page above others, whole but for being written.
struct Inner {
    page: Page,
    /// Its last child, and the divider behind that.
    last: u32,
    divider: Box<[u8]>,
}

fn write_level(level: Level, kind: Kind, file: &mut Pages) -> io::Result<Level> {
    let mut above = Level::default();
    let mut page = Page::new(kind, 0);
    // The last one waits: a page behind it that would be without a cell gets one of it.
    let mut before: Option<Inner> = None;
    let mut write = |inner: Inner, above: &mut Level| -> io::Result<()> {
        let Inner { mut page, last, divider } = inner;
        above.pages.push(file.append(&page.take(last))?);
        above.dividers.push(divider);
        Ok(())
    };
    let mut children = level.pages.into_iter();
    // In this order the last child, behind which there is no divider, is left.
    for (divider, child) in level.dividers.into_iter().zip(children.by_ref()) {
        let cell = [&child.to_be_bytes()[..], &divider].concat();
        if page.fits(cell.len()) {
            page.add(&cell);
            continue;
        }
        let full = Inner { page: std::mem::replace(&mut page, Page::new(kind, 0)), last: child, divider };
        if let Some(inner) = before.replace(full) {
            write(inner, &mut above)?;
        }
    }
    let last = children.next().unwrap_or_default();
    if let Some(mut inner) = before {
        if page.is_empty()
            && let Some((child, divider)) = inner.page.pop().as_deref().and_then(<[u8]>::split_first_chunk::<4>)
        {
            page.add(&[&inner.last.to_be_bytes()[..], &inner.divider].concat());
            (inner.last, inner.divider) = (u32::from_be_bytes(*child), divider.into());
        }
        write(inner, &mut above)?;
    }
    above.pages.push(file.append(&page.take(last))?);
    Ok(above)
}
