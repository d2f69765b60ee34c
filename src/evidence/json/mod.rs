//! The log as `nomad operator raft logs` prints it, and as `raftscope logs` does: one JSON array, or
//! objects one after the other (contract.md 1).
//!
//! The file is gone through once to learn where each entry stands; bodies are turned back into
//! msgpack when they are asked for.

mod encode;
mod places;
mod split;

use std::io;
use std::ops::{ControlFlow, RangeInclusive};

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::file::File;
use super::sequence::{Bad, Hole, Sequence};
use super::{DamageKind, EvidenceError, Log, LogType, Record, Scanned};
use crate::entry::message_type::MessageTypes;
use crate::types::{Index, Term};
use places::Places;
use split::Object;

/// The message type whose body has maps as keys.
const BATCH_DEREGISTER: u8 = 26;

/// What this form has lost, for a note.
const LOST: &str = "the log is read from JSON, in which bytes that are no text were replaced; counts and statuses do \
                    not depend on them";

/// Bytes read at once in order, and for a single entry.
const PIECE: usize = 1 << 20;
const LOOKUP: usize = 16 << 10;

/// A log in JSON.
#[derive(Debug)]
pub struct JsonLog {
    file: File,
    places: Places,
    /// What stands behind the last entry and cannot be read: the offset, and what is wrong.
    lost: Option<(u64, String)>,
    notes: Vec<String>,
}

/// The head of an entry. A number stands where Nomad knows no name.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Head<'a> {
    #[serde(rename = "LogType")]
    kind: NameOrNumber,
    index: u64,
    #[serde(default)]
    term: u64,
    #[serde(default)]
    command_type: Option<NameOrNumber>,
    #[serde(default)]
    ignore_unknown_type_flag: bool,
    #[serde(default)]
    appended_at: Option<Timestamp>,
    #[serde(borrow, default)]
    body: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum NameOrNumber {
    Number(u64),
    Name(String),
}

impl NameOrNumber {
    fn log_type(&self) -> Option<LogType> {
        match self {
            NameOrNumber::Number(n) => Some(LogType::from_number(*n)),
            NameOrNumber::Name(name) => {
                let known = (0..6).map(LogType::from_number).find(|kind| kind.name() == *name);
                known.or_else(|| name.parse().ok().map(LogType::from_number))
            }
        }
    }

    fn message_type(&self) -> Option<u8> {
        match self {
            NameOrNumber::Number(n) => u8::try_from(*n).ok().filter(|n| *n < 128),
            NameOrNumber::Name(name) => MessageTypes::new().lookup(name).filter(|n| *n < 128),
        }
    }
}

impl JsonLog {
    /// Goes through the file once. `None` when nothing in it is an entry.
    ///
    /// # Errors
    /// When the system cannot read the file.
    pub fn open(file: File) -> io::Result<Option<Self>> {
        let mut places = Places::default();
        let mut clocks = false;
        let mut strangers = Told::default();
        let mut too_long = Told::default();
        let mut open = None;
        let mut lost = None;
        split::objects(&file, 0, PIECE, &mut |object| {
            match object {
                Object::Whole(offset, text) => match serde_json::from_slice::<Head<'_>>(text) {
                    Ok(head) => {
                        lost = None;
                        clocks |= head.appended_at.is_some();
                        places.add(head.index, offset);
                    }
                    Err(_) => strangers.add(offset),
                },
                Object::TooLong(offset) => {
                    too_long.add(offset);
                    lost = Some((offset, format!("the object at byte {offset} is too long to be an entry")));
                }
                Object::Open(offset) => {
                    open = Some(offset);
                    lost = Some((offset, format!("the JSON breaks off at byte {offset}")));
                }
            }
            ControlFlow::Continue(())
        })?;
        if places.bounds().is_none() {
            return Ok(None);
        }
        let mut notes = vec![LOST.to_string()];
        let mut told = |told: Told, what: &str| {
            if let Some(first) = told.first {
                notes.push(format!("{} objects {what}, the first at byte {first}; they are not read", told.count));
            }
        };
        told(strangers, "are no log entries");
        told(too_long, &format!("are longer than {} MiB", split::LARGEST >> 20));
        if let Some(at) = open {
            notes.push(format!("the JSON breaks off at byte {at}; the entry there is not read"));
        }
        if !clocks {
            notes.push("the JSON has no AppendedAt: when an entry was appended is not known".into());
        }
        if !places.in_order() {
            let twice = places.put_in_order(&file)?;
            notes.push("the entries are not in order of index in the file; they are read in that order".into());
            if twice > 0 {
                notes.push(format!("{twice} indexes stand there twice; the first of each is read"));
            }
        }
        Ok(Some(JsonLog { file, places, lost, notes }))
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// What a reader should know, a sentence each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    fn io(&self, source: io::Error) -> EvidenceError {
        EvidenceError::Io { path: self.file.path().into(), source }
    }
}

/// How many places there are of a kind, and the first.
#[derive(Default)]
struct Told {
    count: u64,
    first: Option<u64>,
}

impl Told {
    fn add(&mut self, offset: u64) {
        self.count += 1;
        self.first.get_or_insert(offset);
    }
}

/// The type of an entry; its payload is appended to `data`.
fn decode(head: &Head<'_>, data: &mut Vec<u8>) -> Result<LogType, String> {
    let kind = head.kind.log_type().ok_or("its LogType is none of raft's")?;
    let mut batch = false;
    if kind == LogType::Command {
        // Without a type the payload is empty, as it was in the log.
        let Some(command) = &head.command_type else {
            return match &head.error {
                Some(error) => Err(format!("it was already printed with an error: {error}")),
                None => Ok(kind),
            };
        };
        let number = command.message_type().ok_or("its CommandType is no name or number that is known")?;
        batch = number == BATCH_DEREGISTER;
        data.push(number | if head.ignore_unknown_type_flag { 0x80 } else { 0 });
    }
    if let Some(body) = head.body {
        encode::encode(body.get().as_bytes(), batch, data)
            .map_err(|error| format!("its Body cannot be read: {error}"))?;
    }
    Ok(kind)
}

impl Log for JsonLog {
    fn bounds(&self) -> Option<(Index, Index)> {
        self.places.bounds().map(|(first, last)| (Index(first), Index(last)))
    }

    fn scan(
        &self,
        range: RangeInclusive<Index>,
        sink: &mut dyn FnMut(Scanned<'_>) -> ControlFlow<()>,
    ) -> Result<(), EvidenceError> {
        let (start, end) = (range.start().0, range.end().0);
        let inside = self.bounds().is_some_and(|(first, _)| start > first.0);
        let mut sequence = Sequence::new(inside.then_some(start), end, sink);
        let mut data = Vec::new();
        let mut broken = false;
        self.places
            .entries(&self.file, start, PIECE, &mut |head, offset| {
                let index = head.index;
                data.clear();
                let flow = match decode(head, &mut data) {
                    Ok(kind) => sequence.entry(Record {
                        index: Index(index),
                        term: Term(head.term),
                        kind,
                        data: &data,
                        appended_at: head.appended_at,
                    }),
                    Err(why) => sequence.bad(Bad {
                        kind: DamageKind::UndecodableEntry,
                        key: Some(index),
                        inner: None,
                        offset,
                        detail: format!("entry {index}: {why}"),
                    }),
                };
                broken = flow.is_break();
                flow
            })
            .map_err(|source| self.io(source))?;
        if !broken {
            if let Some((offset, detail)) = &self.lost {
                let first = self.places.bounds().map(|(_, last)| last.saturating_add(1));
                sequence.hole(Hole { first, last: None, offset: Some(*offset), detail: detail.clone() });
            }
            // A break from the sink has no more to hear.
            let _ = sequence.finish(None);
        }
        Ok(())
    }

    fn data(&self, index: Index) -> Result<Option<Vec<u8>>, EvidenceError> {
        let mut found = Ok(None);
        self.places
            .entries(&self.file, index.0, LOOKUP, &mut |head, offset| {
                if head.index == index.0 {
                    let mut data = Vec::new();
                    found = decode(head, &mut data)
                        .map(|_| Some(data))
                        .map_err(|why| format!("entry {index}, at byte {offset}: {why}"));
                }
                ControlFlow::Break(())
            })
            .map_err(|source| self.io(source))?;
        found.map_err(|detail| EvidenceError::Unreadable { path: self.file.path().into(), detail })
    }
}
