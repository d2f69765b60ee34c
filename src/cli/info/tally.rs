//! What one pass over a log counts for `info`.

use std::collections::BTreeSet;

use crate::entry::body::restart;
use crate::entry::json::BodyWriter;
use crate::entry::message_type::MessageTypes;
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

    /// Adds the count of a later part of the log.
    fn go_on(&mut self, later: Count) {
        if self.entries == 0 {
            self.first = later.first;
        }
        self.entries += later.entries;
        self.bytes += later.bytes;
        self.largest = self.largest.max(later.largest);
        self.last = later.last;
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
    /// The body of the last register that tells of its writer: it is decoded once, and not each before it as well.
    register: Option<(Index, Vec<u8>)>,
    /// The message types that were met, a bit each.
    types: u128,
    /// The newest message type that the log holds, with the release that brought it.
    pub newest_type: Option<(Index, &'static str)>,
    /// Entries whose body cannot be decoded: how many, and the first ones.
    pub undecodable: u64,
    pub undecodable_first: Vec<Index>,
    /// Message types of which a body has exactly the shape of a job restart.
    pub restarts: BTreeSet<u8>,
    pub damage: Vec<Damage>,
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
            register: None,
            types: 0,
            newest_type: None,
            undecodable: 0,
            undecodable_first: Vec::new(),
            restarts: BTreeSet::new(),
            damage: Vec::new(),
        }
    }

    /// True when a part of the log could not be read.
    pub fn is_damaged(&self) -> bool {
        !self.damage.is_empty() || self.undecodable > 0
    }

    /// Counts one entry. A number that `names` gives to another table tells nothing of the writer.
    pub fn entry(&mut self, record: &Record<'_>, names: &MessageTypes) {
        let kind = kind_of(record);
        let bytes = record.data.len() as u64;
        self.entries += 1;
        self.bytes += bytes;
        self.count(kind).add(record);
        self.keep_large(Large { index: record.index, term: record.term, kind, bytes });
        if !Self::is_readable(record) {
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
            self.version(number, record, names);
        }
    }

    fn count(&mut self, kind: Kind) -> &mut Count {
        let at = self.kinds.iter().position(|(k, _)| *k == kind).unwrap_or_else(|| {
            self.kinds.push((kind, Count::default()));
            self.kinds.len() - 1
        });
        &mut self.kinds[at].1
    }

    /// The tally of two parts of a log, of which the other is the later one. Neither has met damage.
    pub fn followed_by(mut self, other: Tally) -> Tally {
        self.entries += other.entries;
        self.bytes += other.bytes;
        for (kind, count) in other.kinds {
            self.count(kind).go_on(count);
        }
        other.largest.into_iter().for_each(|large| self.keep_large(large));
        self.register = other.register.or(self.register);
        self.types |= other.types;
        if let Some((index, since)) = other.newest_type {
            self.note_type(index, since);
        }
        self.undecodable += other.undecodable;
        let room = LARGEST.saturating_sub(self.undecodable_first.len());
        self.undecodable_first.extend(other.undecodable_first.into_iter().take(room));
        self.restarts.extend(other.restarts);
        self
    }

    fn note_type(&mut self, index: Index, since: &'static str) {
        if self.newest_type.is_none_or(|(_, known)| older(known, since)) {
            self.newest_type = Some((index, since));
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
    fn is_readable(record: &Record<'_>) -> bool {
        BodyWriter::check(record.kind, record.data).is_ok()
    }

    /// Notes what the entry says of the Nomad that wrote it.
    fn version(&mut self, number: u8, record: &Record<'_>, names: &MessageTypes) {
        let bit = 1_u128.checked_shl(number.into()).unwrap_or(0);
        if self.types & bit == 0
            && let Some(since) = names.since(number)
        {
            self.note_type(record.index, since);
        }
        self.types |= bit;
        if number == 4
            && let Some(command) = entry::split(record.data)
            && writer::is_known(command.body)
        {
            let (index, body) = self.register.get_or_insert_default();
            *index = record.index;
            body.clear();
            body.extend_from_slice(command.body);
        }
    }

    /// The writer of the last register.
    pub fn writer(&self) -> Option<WriterAt> {
        let (index, body) = self.register.as_ref()?;
        let writer = writer::of_register(body).ok()??;
        Some(WriterAt { index: *index, writer })
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
