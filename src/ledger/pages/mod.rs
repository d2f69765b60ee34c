//! Writes a new SQLite file from its first page to its last, without SQLite.
//!
//! Rows come in order of their keys, so that every page is written once and never looked for: a tenth of what SQLite
//! needs to insert them. The format is that of sqlite.org/fileformat2.html; only what a new file of tables with integer
//! keys and of indexes on them has is written here. SQLite opens what comes of it, and from then on the file is its own.

mod file;
mod index;
mod page;
mod record;
mod schema;
mod table;
mod tree;

#[cfg(test)]
mod tests;

pub(super) use file::Pages;
pub(super) use index::write_index;
pub(super) use record::Record;
pub(super) use schema::write_schema;
pub(super) use table::Table;

/// The size of a page in bytes, SQLite's own choice.
const SIZE: usize = 4096;
