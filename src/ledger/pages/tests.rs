//! SQLite reads what is written here as what was to be written.

use std::fs::OpenOptions;
use std::path::Path;

use rusqlite::Connection;

use super::*;

const SCHEMA: &str = "CREATE TABLE t (id INTEGER PRIMARY KEY, idx, until_idx, name TEXT, data BLOB);
                      CREATE TABLE none (a, b);
                      CREATE TABLE pairs (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
                      CREATE VIEW v AS SELECT * FROM t;
                      CREATE INDEX by_name ON t (name, idx);
                      PRAGMA application_id = 77; PRAGMA user_version = 5;";

/// The name of a row: of all lengths, some longer than a page.
fn name(id: i64) -> String {
    let length = match id % 997 {
        0 => 9_000,
        1 => 4_050,
        2 => 1_010,
        n => n as usize % 60,
    };
    format!("{}{}", "x".repeat(length), id % 7)
}

fn idx(id: i64) -> i64 {
    [0, 1, -1, 127, 128, -129, 40_000, 9_000_000, 1 << 31, 1 << 40, 1 << 60, i64::MIN][(id % 12) as usize]
}

/// Every third row ends when it is written, every second later or never.
fn until(id: i64) -> (Option<i64>, Option<i64>) {
    match (id % 3, id % 2) {
        (0, _) => (Some(id), None),
        (_, 0) => (None, Some(idx(id + 5))),
        _ => (None, None),
    }
}

fn written(path: &Path, count: i64) -> Connection {
    let schema = Connection::open_in_memory().unwrap();
    schema.execute_batch(SCHEMA).unwrap();
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path).unwrap();
    let (mut pages, mut table, mut record) = (Pages::new(file), Table::new(), Record::default());
    for id in 1..=count {
        let (now, _) = until(id);
        record.null();
        record.int(idx(id));
        match now {
            Some(n) => record.int(n),
            None => record.null(),
        }
        record.text(&name(id));
        record.blob(&vec![7; if id % 2000 == 0 { 100_000 } else { 3 }]);
        table.append(id, record.take(), now.is_none(), &mut pages).unwrap();
        // The ends of rows come in no order.
        if id % 50 == 0 || id == count {
            for ended in (id - (id - 1) % 50..=id).rev() {
                until(ended).1.into_iter().for_each(|n| table.change(ended, n, &mut pages).unwrap());
            }
        }
    }
    let mut names: Vec<_> = (1..=count).map(|id| (name(id), idx(id), id)).collect();
    names.sort();
    let next = |at: usize| {
        let (name, idx, id) = &names[at];
        record.text(name);
        record.int(*idx);
        record.int(*id);
        record.take().to_vec()
    };
    let index = write_index(names.len(), next, &mut pages).unwrap();
    let (root, left) = table.finish(&mut pages).unwrap();
    let at = |name: &str| match name {
        "t" => Some(root),
        "by_name" => Some(index),
        _ => None,
    };
    write_schema(&schema, at, pages).unwrap();
    let conn = Connection::open(path).unwrap();
    for (id, until) in left {
        assert!(name(id).len() > 4_000 || id % 2000 == 0, "{id}");
        conn.execute("UPDATE t SET until_idx = ?2 WHERE id = ?1", (id, until)).unwrap();
    }
    conn
}

#[test]
fn sqlite_finds_every_row_that_was_written_and_nothing_amiss() {
    let dir = tempfile::tempdir().unwrap();
    for count in [0, 1, 2, 3, 60, 61, 120, 700, 9_000, 60_000] {
        let conn = written(&dir.path().join(format!("{count}.db")), count);
        let check: String = conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(check, "ok", "{count}");
        let mut rows = conn.prepare("SELECT id, idx, until_idx, name, length(data) FROM t ORDER BY id").unwrap();
        let mut rows = rows.query([]).unwrap();
        let mut seen = 0;
        while let Some(row) = rows.next().unwrap() {
            seen += 1;
            let (now, later) = until(seen);
            let found = (row.get(0).unwrap(), row.get(1).unwrap(), row.get(2).unwrap(), row.get(3).unwrap());
            assert_eq!(found, (seen, idx(seen), now.or(later), name(seen)), "{count}");
            let length = if seen % 2000 == 0 { 100_000 } else { 3 };
            assert_eq!(row.get::<_, i64>(4).unwrap(), length);
        }
        assert_eq!(seen, count);
        let tables = "SELECT count(*), sum(sql IS NOT NULL) FROM sqlite_schema";
        assert_eq!(conn.query_row(tables, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap(), (5, 5));
        // SQLite goes on with the file as with its own.
        conn.execute_batch("INSERT INTO t (idx, name) VALUES (1, 'new'); INSERT INTO pairs VALUES ('a', 1)").unwrap();
        let more: i64 =
            conn.query_row("SELECT count(*) FROM t INDEXED BY by_name WHERE name = 'new'", [], |r| r.get(0)).unwrap();
        assert_eq!(more, 1);
        let check: String = conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(check, "ok", "{count}");
    }
}

#[test]
fn rows_out_of_order_are_refused() {
    let mut pages = Pages::new(tempfile::tempfile().unwrap());
    let mut table = Table::new();
    table.append(2, b"\x02\x00", false, &mut pages).unwrap();
    assert!(table.append(2, b"\x02\x00", false, &mut pages).is_err());
}
