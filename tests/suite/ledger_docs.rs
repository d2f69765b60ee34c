//! The cookbook of `docs/ledger.md`: each query gives what the page says it gives.

use crate::common;

use std::fs;
use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

/// The rows of a query as `sqlite3` prints them.
fn rows(conn: &Connection, sql: &str) -> String {
    let mut statement = conn.prepare(sql).unwrap_or_else(|e| panic!("{e}\n{sql}"));
    let width = statement.column_count();
    let mut text = String::new();
    let mut rows = statement.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        let cells = (0..width).map(|at| match row.get_ref(at).unwrap() {
            ValueRef::Null => String::new(),
            ValueRef::Integer(n) => n.to_string(),
            ValueRef::Real(n) => n.to_string(),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        });
        text += &(cells.collect::<Vec<_>>().join("|") + "\n");
    }
    text
}

#[test]
fn every_query_of_the_page_gives_what_it_says() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ledger.db");
    let output = file.to_str().unwrap();
    common::run_to(0, &["export", "--rules", "1.0.4", "-o", output, &common::fixture("horizontal_hey")]);
    let conn = Connection::open_with_flags(&file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    conn.execute("ATTACH ? AS other", [output]).unwrap();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/ledger.md");
    let text = fs::read_to_string(&page).unwrap();
    let mut checked = 0;
    let mut after = String::new();
    for (i, part) in text.split("```sql\n").enumerate() {
        if i == 0 {
            after += part;
            continue;
        }
        let (sql, rest) = part.split_once("```\n```text\n").expect("a query without its rows");
        let (expected, rest) = rest.split_once("```\n").unwrap();
        let ours = rows(&conn, sql);
        after += &format!("```sql\n{sql}```\n```text\n{ours}```\n{rest}");
        if std::env::var_os("BLESS").is_none() {
            assert_eq!(ours, expected, "{sql}");
        }
        checked += 1;
    }
    assert!(checked >= 10);
    if std::env::var_os("BLESS").is_some() {
        fs::write(page, after).unwrap();
    }
}
