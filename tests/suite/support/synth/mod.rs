//! Makes raft logs: valid histories of any length, and wild ones of what a log can hold at worst, in the files that a
//! server writes.
//!
//! Used by tests, by `examples/synth.rs` and by the benches, which take it in by path. It shares no code with the
//! readers that it tests.

// Whoever takes it in uses a part of it.
#![allow(dead_code)]

pub mod bolt;
pub mod dice;
pub mod history;
pub mod msgpack;
pub mod requests;
pub mod tar;
pub mod wal;
pub mod wild;

use std::io::Result;
use std::path::Path;

use bolt::{Db, Layout, Transaction};
use history::Entry;
use msgpack::{Encode, Map, Nil, Raw, Unsigned};
use wal::Wal;

/// Entries of one transaction: a busy leader commits so many at once.
const BATCH: usize = 256;

/// Writes the next `count` entries of a history as a new `raft.db`.
pub fn write_bolt(path: &Path, layout: Layout, history: &mut impl Iterator<Item = Entry>, count: u64) -> Result<()> {
    let mut db = Db::create(path, layout)?;
    let mut stable = Transaction::default();
    let server = b"127.0.0.1:21647".to_vec();
    for (key, value) in [("CurrentTerm", 1_u64), ("LastVoteTerm", 1)] {
        stable.put("conf", key.as_bytes(), value.to_be_bytes().to_vec());
    }
    stable.put("conf", b"LastVoteCand", server);
    db.commit(stable)?;
    let mut left = count;
    let mut term = 1;
    while left > 0 {
        let mut transaction = Transaction::default();
        let batch: Vec<_> = history.by_ref().take((left as usize).min(BATCH)).collect();
        if batch.is_empty() {
            break;
        }
        left -= batch.len() as u64;
        for entry in batch {
            if entry.term > term {
                term = entry.term;
                for key in ["CurrentTerm", "LastVoteTerm"] {
                    transaction.put("conf", key.as_bytes(), term.to_be_bytes().to_vec());
                }
            }
            put(&mut transaction, &entry);
        }
        db.commit(transaction)?;
    }
    Ok(())
}

/// Writes entries as a new `raft.db` of a server that has seen `current_term`.
pub fn write_entries(path: &Path, layout: Layout, entries: &[Entry], current_term: u64) -> Result<()> {
    let mut db = Db::create(path, layout)?;
    for batch in entries.chunks(BATCH) {
        let mut transaction = Transaction::default();
        transaction.put("conf", b"CurrentTerm", current_term.to_be_bytes().to_vec());
        batch.iter().for_each(|entry| put(&mut transaction, entry));
        db.commit(transaction)?;
    }
    Ok(())
}

/// Writes the next `count` entries of a history as a new write-ahead log in a directory that is there and empty.
pub fn write_wal(dir: &Path, size_limit: u64, history: &mut impl Iterator<Item = Entry>, count: u64) -> Result<()> {
    let mut wal = Wal::create(dir, size_limit)?;
    let mut term = 1;
    let mut left = count;
    while left > 0 {
        let batch: Vec<Entry> = history.by_ref().take((left as usize).min(BATCH)).collect();
        if batch.is_empty() {
            break;
        }
        left -= batch.len() as u64;
        wal.append(&batch)?;
        if let Some(newer) = batch.iter().map(|entry| entry.term).max().filter(|newer| *newer > term) {
            term = newer;
            wal.vote(term, "127.0.0.1:21647")?;
        }
    }
    Ok(())
}

/// Adds an entry to a transaction, under its key and in its envelope.
pub fn put(transaction: &mut Transaction, entry: &Entry) {
    transaction.put("logs", &entry.index.to_be_bytes(), envelope(entry));
}

/// An entry as raft-boltdb stores it (storage.md 3.1).
pub fn envelope(entry: &Entry) -> Vec<u8> {
    let mut value = Vec::with_capacity(entry.data.len() + 64);
    // 34 bits of seconds below 30 bits of nanoseconds.
    let appended_at = entry.appended_at.map(|time| {
        let (seconds, nanos) = (time.div_euclid(1_000_000_000) as u64, time.rem_euclid(1_000_000_000) as u64);
        (nanos << 34 | seconds).to_be_bytes()
    });
    Map(&[
        ("AppendedAt", &appended_at.as_ref().map(|bytes| Raw(bytes))),
        ("Data", &(!entry.data.is_empty()).then_some(Raw(&entry.data))),
        ("Extensions", &Nil),
        ("Index", &Unsigned(entry.index)),
        ("Term", &Unsigned(entry.term)),
        ("Type", &Unsigned(entry.kind as u64)),
    ])
    .encode(&mut value);
    value
}
