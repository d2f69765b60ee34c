//! The first page: the file's header and the schema.

use rusqlite::Connection;

use super::super::store::Failure;
use super::SIZE;
use super::file::Pages;
use super::page::{Kind, Page};
use super::record::Record;
use super::table::Table;

/// Writes the schema of a database, and the header with its application's and its own number. `root` says where a table
/// or index is; those of which it knows nothing are made, without a row. Ends the file.
///
/// # Errors
/// When the file cannot be written, or the schema not be read.
pub(in crate::ledger) fn write_schema(
    of: &Connection,
    root: impl Fn(&str) -> Option<u32>,
    mut file: Pages,
) -> Result<(), Failure> {
    let mut schema = of.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid")?;
    let mut rows = schema.query([])?;
    let (mut table, mut record) = (Table::new(), Record::default());
    let mut key = 0;
    while let Some(row) = rows.next()? {
        let kind: String = row.get(0)?;
        let (name, sql): (String, String) = (row.get(1)?, row.get(3)?);
        let root = match (kind.as_str(), root(&name)) {
            ("view", _) => 0,
            (_, Some(root)) => root,
            ("table", None) => file.append(&empty(&sql).take(0))?,
            // It is made when all rows are there.
            _ => continue,
        };
        record.text(&kind);
        record.text(&name);
        record.text(&row.get::<_, String>(2)?);
        record.int(root.into());
        record.text(&sql);
        key += 1;
        table.append(key, record.take(), false, &mut file)?;
    }
    let number = |name| of.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let numbers = (number("schema_version")?, number("user_version")?, number("application_id")?);
    // The schema's own pages are the last ones; their number is known when they are written.
    table.finish_first(&[0; HEADER], &mut file)?;
    let mut first = file.read(1)?;
    first[..HEADER].copy_from_slice(&header(file.count(), numbers));
    file.rewrite(1, &first)?;
    file.flush()?;
    Ok(())
}

/// The root of a table without rows.
fn empty(sql: &str) -> Page {
    let without_keys = sql.trim_end().ends_with("WITHOUT ROWID");
    Page::new(if without_keys { Kind::IndexLeaf } else { Kind::TableLeaf }, 0)
}

/// The length of the file's header.
const HEADER: usize = 100;

/// The header of a file that was changed once: its pages, and the numbers of its schema, of that schema's version, and
/// of the program that it is for.
fn header(pages: u32, (schema, version, application): (i32, i32, i32)) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..16].copy_from_slice(b"SQLite format 3\0");
    header[16..18].copy_from_slice(&(SIZE as u16).to_be_bytes());
    // A rollback journal to write and to read, no bytes kept free on pages, and the shares of a page that are fixed.
    header[18..24].copy_from_slice(&[1, 1, 0, 64, 32, 32]);
    let mut number = |at: usize, n: [u8; 4]| header[at..at + 4].copy_from_slice(&n);
    number(24, 1_u32.to_be_bytes());
    number(28, pages.to_be_bytes());
    number(40, schema.to_be_bytes());
    // The newest format of schemas, and UTF-8.
    number(44, 4_u32.to_be_bytes());
    number(56, 1_u32.to_be_bytes());
    number(60, version.to_be_bytes());
    number(68, application.to_be_bytes());
    // The change that the number of pages is valid for, and the SQLite that made it.
    number(92, 1_u32.to_be_bytes());
    number(96, rusqlite::version_number().to_be_bytes());
    header
}
