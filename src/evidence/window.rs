//! What is known about the evidence without reading all of it.

use std::ops::ControlFlow;

use serde::Serialize;

use super::bolt::meta::Meta;
use super::bolt::page::ByteOrder;
use super::locate::Store;
use super::raftdb::Stable;
use super::{Log, LogType, Scanned};
use crate::entry::configuration::{self, Server};
use crate::types::{Index, Term};

/// Spans of terms are looked for one after the other; a log with more elections than this is told in part.
const MOST_TERM_SPANS: usize = 1000;

/// How many entries at the log's start, at its end and after each election are looked at for the servers.
const LOOKED_AT: u64 = 64;

/// Logs of up to this many bytes, or entries, are looked through for the servers as a whole.
const SMALL: u64 = 16 << 20;
const FEW: u64 = 1000;

/// What keeps the log (contract.md 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreKind {
    /// raft-boltdb's `raft.db`.
    Boltdb,
    /// The write-ahead log of Nomad 2.0 and newer.
    Wal,
    /// A snapshot without a log.
    Snapshot,
    /// What `nomad operator raft logs` printed.
    Json,
}

/// What is known about the evidence without reading all of it.
#[derive(Clone, Debug, Serialize)]
pub struct Window {
    /// The file or directory that is read.
    pub path: String,
    /// What keeps the log.
    pub store: StoreKind,
    /// Size of the file in bytes; of all files of a write-ahead log.
    pub size: Option<u64>,
    /// The first readable entry; absent for an empty log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_index: Option<Index>,
    /// The last readable entry; absent for an empty log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_index: Option<Index>,
    /// The bolt file that the log is in, or that describes the write-ahead log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bolt: Option<BoltFacts>,
    /// The server's stable store.
    pub stable: Stable,
    /// Runs of entries of one term, found by bisection: right where terms never go down.
    pub terms: Vec<TermSpan>,
    /// The newest configuration that was found; see [`Configuration::newest`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub servers: Option<Configuration>,
    /// What a reader should know, a sentence each; for standard error.
    pub notes: Vec<String>,
}

/// A run of entries of one term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TermSpan {
    /// The term.
    pub term: Term,
    /// Its first entry in the log.
    pub first_index: Index,
    /// Its last entry in the log.
    pub last_index: Index,
}

/// The servers as one entry names them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Configuration {
    /// The entry.
    pub index: Index,
    /// True when no later entry can hold another: the log was small enough to be looked through.
    /// Else only the places near elections and both ends of the log were.
    pub newest: bool,
    /// All servers of the cluster.
    pub servers: Vec<Server>,
}

/// The geometry of a bolt file (storage.md 2.3).
#[derive(Clone, Debug, Serialize)]
pub struct BoltFacts {
    /// Bytes of a page.
    pub page_size: u32,
    /// `little` or `big`.
    pub byte_order: &'static str,
    /// The meta page that is used: 0 or 1.
    pub active_meta: usize,
    /// The transaction that wrote it.
    pub txid: u64,
    /// Pages that have ever been used.
    pub high_water: u64,
    /// Whether the file keeps its list of free pages.
    pub freelist_stored: bool,
    /// Both meta pages: the transaction id, or what is wrong.
    pub metas: [MetaState; 2],
}

/// The state of one meta page.
#[derive(Clone, Debug, Serialize)]
pub struct MetaState {
    /// Its transaction, where it is valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub txid: Option<u64>,
    /// What is wrong, where it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl BoltFacts {
    /// The geometry that the meta pages tell, of which one is used.
    pub fn new(metas: &super::bolt::meta::Metas, (active_meta, meta): (usize, &Meta)) -> Self {
        let state = |n: usize| match &metas.pages[n] {
            Ok(meta) => MetaState { txid: Some(meta.txid), error: None },
            Err(error) => MetaState { txid: None, error: Some(error.to_string()) },
        };
        BoltFacts {
            page_size: meta.page_size,
            byte_order: match metas.order {
                ByteOrder::Little => "little",
                ByteOrder::Big => "big",
            },
            active_meta,
            txid: meta.txid,
            high_water: meta.high_water,
            freelist_stored: meta.freelist.is_some(),
            metas: [state(0), state(1)],
        }
    }
}

/// The window of a store; `notes` are those that were made on the way to it.
pub fn of(store: &Store, mut notes: Vec<String>) -> Window {
    let mut window = Window {
        path: store.path().into(),
        store: StoreKind::Snapshot,
        size: None,
        first_index: None,
        last_index: None,
        bolt: None,
        stable: Stable::default(),
        terms: Vec::new(),
        servers: None,
        notes: Vec::new(),
    };
    match store {
        Store::RaftDb(db) => {
            window.store = StoreKind::Boltdb;
            window.size = Some(db.bolt().file().len());
            window.bolt = Some(BoltFacts::new(db.bolt().metas(), db.meta()));
            window.stable = db.stable().clone();
            notes.extend_from_slice(db.notes());
        }
        Store::Wal(wal) => {
            window.store = StoreKind::Wal;
            window.size = Some(wal.size());
            window.bolt = wal.bolt().cloned();
            window.stable = wal.stable().clone();
            notes.extend_from_slice(wal.notes());
        }
        Store::Json(json) => {
            window.store = StoreKind::Json;
            window.size = Some(json.file().len());
            notes.extend_from_slice(json.notes());
        }
        Store::Lost(file) => {
            window.store = StoreKind::Boltdb;
            window.size = Some(file.len());
        }
        Store::None(_) => {}
    }
    if let Some(log) = store.log() {
        let bounds = log.bounds();
        window.first_index = bounds.map(|(first, _)| first);
        window.last_index = bounds.map(|(_, last)| last);
        window.terms = term_spans(log, &mut notes);
        let few = bounds.is_some_and(|(first, last)| last.0.saturating_sub(first.0) < FEW);
        window.servers = find_servers(log, &window.terms, few || window.size.is_some_and(|size| size <= SMALL));
    }
    window.notes = notes;
    window
}

/// The first entry at or after `index`: its index and term.
fn at_or_after(log: &dyn Log, index: Index) -> Option<(Index, Term)> {
    let first_of = |range| {
        let mut found = None;
        let _ = log.scan(range, &mut |met| match met {
            Scanned::Entry(record) => {
                found = Some((record.index, record.term));
                ControlFlow::Break(())
            }
            Scanned::Damaged(_) => ControlFlow::Continue(()),
        });
        found
    };
    // It is nearly always the very next, and a short scan reads less.
    first_of(index..=index).or_else(|| first_of(index..=Index(u64::MAX)))
}

/// The last readable entry of a log: its index and term.
pub fn last_entry(log: &dyn Log) -> Option<(Index, Term)> {
    at_or_after(log, log.bounds()?.1)
}

/// Runs of entries of one term. Terms never go down in a healthy log, so each run's end is bisected.
pub fn term_spans(log: &dyn Log, notes: &mut Vec<String>) -> Vec<TermSpan> {
    let mut spans = Vec::new();
    let Some((first, last)) = log.bounds() else { return spans };
    let Some((_, last_term)) = at_or_after(log, last) else { return spans };
    let mut start = at_or_after(log, first);
    while let Some((first_index, term)) = start {
        if spans.len() == MOST_TERM_SPANS {
            notes.push(format!("the log has more than {MOST_TERM_SPANS} terms; the first are listed"));
            break;
        }
        if term >= last_term {
            spans.push(TermSpan { term, first_index, last_index: last });
            break;
        }
        // Invariant: `low` is of this term, and the first entry at or after `high` is of a later one.
        let (mut low, mut high) = (first_index, last);
        let mut next = (last, last_term);
        while low.next() < high {
            let middle = Index(low.0 + (high.0 - low.0) / 2);
            match at_or_after(log, middle) {
                Some((found, at)) if at <= term => low = found,
                Some(found) => {
                    next = found;
                    high = middle;
                }
                None => high = middle,
            }
            if low >= high {
                break;
            }
        }
        spans.push(TermSpan { term, first_index, last_index: low });
        start = Some(next).filter(|next| next.0 > first_index);
    }
    spans
}

/// The newest configuration: of the whole log, or near the places where one is likely to stand.
fn find_servers(log: &dyn Log, terms: &[TermSpan], whole: bool) -> Option<Configuration> {
    let (first, last) = log.bounds()?;
    if whole {
        return newest_configuration(log, first, last).map(|found| Configuration { newest: true, ..found });
    }
    let starts = terms.iter().rev().map(|span| (span.first_index, span.last_index)).take(8);
    let tail = Index(last.0.saturating_sub(LOOKED_AT)).max(first);
    let mut places = std::iter::once((tail, last)).chain(starts).chain([(first, last)]);
    places.find_map(|(from, to)| newest_configuration(log, from, Index(from.0.saturating_add(LOOKED_AT)).min(to)))
}

fn newest_configuration(log: &dyn Log, from: Index, to: Index) -> Option<Configuration> {
    let mut found = None;
    // A log that cannot be read says so to whoever scans it next.
    let _ = log.scan(from..=to, &mut |met| {
        if let Scanned::Entry(record) = met
            && record.kind == LogType::Configuration
            && let Ok(servers) = configuration::servers(record.data)
        {
            found = Some(Configuration { index: record.index, newest: false, servers });
        }
        ControlFlow::Continue(())
    });
    found
}
