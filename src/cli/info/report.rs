//! What `info` tells, in the shape of its JSON.

use serde::Serialize;

use super::states::{Reach, SnapshotRow};
use super::tally::{Count, Kind, Tally, WriterAt, older};
use crate::entry::body::restart;
use crate::entry::message_type::MessageTypes;
use crate::evidence::raftdb::Stable;
use crate::evidence::salvage::Carved;
use crate::evidence::window::{BoltFacts, Configuration, StoreKind, TermSpan, Window};
use crate::evidence::{Damage, DamageKind};
use crate::types::{Index, Term};

/// The document of `info --format json`.
#[derive(Debug, Serialize)]
pub struct Report<'a> {
    pub schema_version: u32,
    pub path: &'a str,
    pub store: StoreKind,
    /// Bytes of the files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_index: Option<Index>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_index: Option<Index>,
    /// Entries that are there; known only where the log was read as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<u64>,
    /// Bytes of their payloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// True when the whole log was read, and gaps and damage are therefore known.
    pub complete: bool,
    pub terms: &'a [TermSpan],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gaps: Option<Vec<Gap>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damage: Option<Vec<&'a Damage>>,
    /// Entries whose body cannot be decoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undecodable: Option<u64>,
    /// The first of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undecodable_first: Option<&'a [Index]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub servers: Option<&'a Configuration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writer: Option<Writer>,
    pub stable: &'a Stable,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bolt: Option<&'a BoltFacts>,
    /// Those beside the log, by index.
    pub snapshots: Vec<SnapshotRow>,
    /// Which states can be had; only where the log was read as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Reach>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub salvaged: Option<Salvaged>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub types: Option<Vec<TypeRow>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest: Option<Vec<LargeRow>>,
    /// Options that would tell more of this log.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suggested_options: Vec<String>,
}

/// What `--salvage` carves: entries that are no part of the log.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Salvaged {
    /// Bytes of a page, from a meta page or made out from the pages themselves; absent for a write-ahead log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_size: Option<u32>,
    pub entries: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_index: Option<Index>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_index: Option<Index>,
    /// Those at whose index the log holds another term.
    pub superseded: u64,
    /// Those at whose index the log holds other content of the same term.
    pub other_content: u64,
    /// Those at whose index the log holds nothing.
    pub not_in_log: u64,
}

impl Salvaged {
    /// Counts an entry; entries come in order of index.
    pub fn add(&mut self, carved: &Carved<'_>) {
        self.entries += 1;
        self.first_index.get_or_insert(carved.record.index);
        self.last_index = Some(carved.record.index);
        match carved.live_term {
            None => self.not_in_log += 1,
            Some(term) if term == carved.record.term => self.other_content += 1,
            Some(_) => self.superseded += 1,
        }
    }
}

/// Indexes that are missing between two that are there, both ends inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    pub first: Index,
    pub last: Index,
}

/// The Nomad that wrote the newest register; see [`crate::entry::writer`].
#[derive(Debug, Serialize)]
pub struct Writer {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<&'static str>,
    /// The entry that shows it.
    pub index: Index,
}

/// Entries of one type.
#[derive(Debug, Serialize)]
pub struct TypeRow {
    #[serde(rename = "type")]
    pub name: String,
    /// The number of a message type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u8>,
    pub entries: u64,
    pub bytes: u64,
    pub largest: u64,
    pub first_index: Index,
    pub last_index: Index,
}

/// One of the largest entries.
#[derive(Debug, Serialize)]
pub struct LargeRow {
    pub index: Index,
    pub term: Term,
    pub entry: String,
    pub bytes: u64,
}

fn name_of(kind: Kind, names: &MessageTypes) -> String {
    match kind {
        Kind::Command(number) => names.name(number).into_owned(),
        Kind::Empty => "empty command".to_owned(),
        Kind::Raft(kind) => kind.name(),
    }
}

impl<'a> Report<'a> {
    /// The report of what was found; `types` adds the counts by type.
    pub fn new(window: &'a Window, tally: &'a Tally, types: bool, names: &MessageTypes) -> Self {
        let whole = tally.whole;
        Report {
            schema_version: 1,
            path: &window.path,
            store: window.store,
            size: window.size,
            first_index: window.first_index,
            last_index: window.last_index,
            entries: whole.then_some(tally.entries),
            bytes: whole.then_some(tally.bytes),
            complete: whole,
            terms: &window.terms,
            gaps: whole.then(|| gaps(&tally.damage)),
            damage: whole.then(|| tally.damage.iter().filter(|d| !is_gap(d)).collect()),
            undecodable: whole.then_some(tally.undecodable),
            undecodable_first: (whole && tally.undecodable > 0).then_some(&tally.undecodable_first),
            servers: window.servers.as_ref(),
            writer: writer(tally.writer(), tally.newest_type),
            stable: &window.stable,
            bolt: window.bolt.as_ref(),
            snapshots: Vec::new(),
            window: None,
            salvaged: None,
            types: types.then(|| type_rows(tally, names)),
            largest: types.then(|| {
                let row = |l: &super::tally::Large| LargeRow {
                    index: l.index,
                    term: l.term,
                    entry: name_of(l.kind, names),
                    bytes: l.bytes,
                };
                tally.largest.iter().map(row).collect()
            }),
            suggested_options: suggested(tally, names),
        }
    }
}

/// Options that name what the numbers alone do not tell.
fn suggested(tally: &Tally, names: &MessageTypes) -> Vec<String> {
    let unnamed = tally.restarts.iter().filter(|number| names.lookup(restart::NAME) != Some(**number));
    unnamed.map(|number| format!("--message-type {number}={}", restart::NAME)).collect()
}

/// A gap between two entries. What is lost behind the last one has no end that is known.
fn is_gap(damage: &Damage) -> bool {
    damage.kind == DamageKind::Gap && damage.first.is_some() && damage.last.is_some()
}

fn gaps(damage: &[Damage]) -> Vec<Gap> {
    let ends = |d: &Damage| Some(Gap { first: d.first?, last: d.last? });
    damage.iter().filter(|d| is_gap(d)).filter_map(ends).collect()
}

/// The newer of two signs: the keys of the last register, and the newest type in the log.
fn writer(register: Option<WriterAt>, newest: Option<(Index, &'static str)>) -> Option<Writer> {
    let register = register.map(|r| Writer { at_least: r.writer.at_least, before: r.writer.before, index: r.index });
    let (index, since) = newest?;
    match register {
        Some(writer) if writer.at_least.is_some_and(|v| !older(v, since)) => Some(writer),
        // A register that is older than the newest type says nothing of the writer after it.
        Some(writer) if writer.index > index || writer.before.is_some_and(|v| older(since, v)) => {
            Some(Writer { at_least: Some(since), ..writer })
        }
        _ => Some(Writer { at_least: Some(since), before: None, index }),
    }
}

fn type_rows(tally: &Tally, names: &MessageTypes) -> Vec<TypeRow> {
    let row = |(kind, count): &(Kind, Count)| TypeRow {
        name: name_of(*kind, names),
        number: match kind {
            Kind::Command(number) => Some(*number),
            Kind::Empty | Kind::Raft(_) => None,
        },
        entries: count.entries,
        bytes: count.bytes,
        largest: count.largest,
        first_index: count.first,
        last_index: count.last,
    };
    let mut rows: Vec<TypeRow> = tally.kinds.iter().map(row).collect();
    rows.sort_by(|a, b| b.bytes.cmp(&a.bytes).then(b.entries.cmp(&a.entries)).then(a.name.cmp(&b.name)));
    rows
}
