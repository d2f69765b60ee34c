//! What one pass over a log counts for `info`.

use std::collections::BTreeSet;

use crate::entry::body::restart;
use crate::entry::json::BodyWriter;
use crate::entry::message_type::known_type;
use crate::entry::{self, writer};
use crate::evidence::{Damage, LogType, Record};
use crate::types::{Index, Term};

/// How many of the largest entries are kept.
const LARGEST: usize = 10;

/// Entries of one type.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    pub entries: u64,
    /// Bytes of payload.
    pub bytes: u64,
    /// Bytes of the largest payload.
    pub largest: u64,
    pub first: Index,
    pub last: Index,
}

impl Count {
    fn add(&mut self, record: &Record<'_>) {
        let bytes = record.data.len() as u64;
        if self.entries == 0 {
            self.first = record.index;
        }
        self.entries += 1;
        self.bytes += bytes;
        self.largest = self.largest.max(bytes);
        self.last = record.index;
    }
}

/// What an entry is, for counting: a message type, or raft's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Command(u8),
    /// A command without a byte.
    Empty,
    Raft(LogType),
}

/// One of the largest entries.
#[derive(Clone, Copy, Debug)]
pub struct Large {
    pub index: Index,
    pub term: Term,
    pub kind: Kind,
    pub bytes: u64,
}

/// What a register says of its writer, and which register.
#[derive(Clone, Copy, Debug)]
pub struct WriterAt {
    pub index: Index,
    pub writer: writer::Writer,
}

/// What one pass counts.
#[derive(Debug)]
pub struct Tally {
    /// The whole log is read, not only its end.
    pub whole: bool,
    pub entries: u64,
    pub bytes: u64,
    /// Counts by kind, in the order in which they were first met.
    pub kinds: Vec<(Kind, Count)>,
    /// The largest entries, largest first.
    pub largest: Vec<Large>,
    /// The writer of the last register.
    pub writer: Option<WriterAt>,
    /// The newest message type that the log holds, with the release that brought it.
    pub newest_type: Option<(Index, &'static str)>,
    /// Entries whose body cannot be decoded: how many, and the first ones.
    pub undecodable: u64,
    pub undecodable_first: Vec<Index>,
    /// Message types of which a body has exactly the shape of a job restart.
    pub restarts: BTreeSet<u8>,
    pub damage: Vec<Damage>,
    bodies: BodyWriter,
}

impl Tally {
    /// A tally of nothing yet.
    pub fn new(whole: bool) -> Self {
        Tally {
            whole,
            entries: 0,
            bytes: 0,
            kinds: Vec::new(),
            largest: Vec::new(),
            writer: None,
            newest_type: None,
            undecodable: 0,
            undecodable_first: Vec::new(),
            restarts: BTreeSet::new(),
            damage: Vec::new(),
            bodies: BodyWriter::new(),
        }
    }

    /// True when a part of the log could not be read.
    pub fn is_damaged(&self) -> bool {
        !self.damage.is_empty() || self.undecodable > 0
    }

    /// Counts one entry.
    pub fn entry(&mut self, record: &Record<'_>) {
        let kind = kind_of(record);
        let bytes = record.data.len() as u64;
        self.entries += 1;
        self.bytes += bytes;
        match self.kinds.iter_mut().find(|(k, _)| *k == kind) {
            Some((_, count)) => count.add(record),
            None => {
                let mut count = Count::default();
                count.add(record);
                self.kinds.push((kind, count));
            }
        }
        self.keep_large(Large { index: record.index, term: record.term, kind, bytes });
        if !self.is_readable(record) {
            self.undecodable += 1;
            if self.undecodable_first.len() < LARGEST {
                self.undecodable_first.push(record.index);
            }
            return;
        }
        if let Kind::Command(number) = kind {
            if restart::is_its_shape(record.data.get(1..).unwrap_or_default()) {
                // Its number says nothing of the version: no release gave it one.
                self.restarts.insert(number);
                return;
            }
            self.version(number, record);
        }
    }

    fn keep_large(&mut self, large: Large) {
        if self.largest.len() == LARGEST && self.largest.last().is_some_and(|l| l.bytes >= large.bytes) {
            return;
        }
        let at = self.largest.partition_point(|l| l.bytes >= large.bytes);
        self.largest.insert(at, large);
        self.largest.truncate(LARGEST);
    }

    /// Whether `logs` could print the entry's body.
    fn is_readable(&mut self, record: &Record<'_>) -> bool {
        self.bodies.check(record.kind, record.data).is_ok()
    }

    /// What the entry says of the Nomad that wrote it.
    fn version(&mut self, number: u8, record: &Record<'_>) {
        if let Some(known) = known_type(number)
            && self.newest_type.is_none_or(|(_, since)| older(since, known.since))
        {
            self.newest_type = Some((record.index, known.since));
        }
        if number == 4
            && let Some(command) = entry::split(record.data)
            && let Ok(Some(writer)) = writer::of_register(command.body)
        {
            self.writer = Some(WriterAt { index: record.index, writer });
        }
    }
}

/// The kind of an entry.
pub fn kind_of(record: &Record<'_>) -> Kind {
    match (record.kind, record.data.first()) {
        (LogType::Command, Some(byte)) => Kind::Command(byte & 0x7f),
        (LogType::Command, None) => Kind::Empty,
        (other, _) => Kind::Raft(other),
    }
}

/// Whether one release is older than another; both are three numbers.
pub fn older(one: &str, other: &str) -> bool {
    let numbers = |v: &str| v.split('.').map(|n| n.parse::<u32>().unwrap_or(0)).collect::<Vec<_>>();
    numbers(one) < numbers(other)
}
