//! The log as `nomad operator raft logs` prints it, and as `raftscope logs` does: one JSON array, or
//! objects one after the other (contract.md 1).
//!
//! The file is gone through once to learn where each entry stands; bodies are turned back into
//! msgpack when they are asked for.

mod encode;
mod split;

use std::io;
use std::ops::{ControlFlow, RangeInclusive};
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::file::{Bytes, Chunks, File, Shape};
use super::sequence::{Bad, Sequence};
use super::{DamageKind, EvidenceError, Log, LogType, Record, Scanned};
use crate::entry::message_type::MessageTypes;
use crate::types::{Index, Term};

/// The message type whose body has maps as keys.
const BATCH_DEREGISTER: u8 = 26;

/// What this form has lost, for a note.
const LOST: &str = "the log is read from JSON, in which bytes that are no text were replaced; counts and statuses do \
                    not depend on them";

/// One entry's place.
#[derive(Clone, Copy, Debug)]
struct Item {
    index: u64,
    offset: u64,
    len: usize,
}

/// A log in JSON.
#[derive(Debug)]
pub struct JsonLog {
    file: File,
    /// In order of index.
    items: Vec<Item>,
    lookups: Mutex<Chunks>,
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
        let mut items = Vec::new();
        let mut notes = vec![LOST.to_string()];
        let mut clocks = false;
        let mut strangers = 0;
        let mut first_stranger = 0;
        let rest = split::objects(&file, &mut |offset, text| match serde_json::from_slice::<Head<'_>>(text) {
            Ok(head) => {
                clocks |= head.appended_at.is_some();
                items.push(Item { index: head.index, offset, len: text.len() });
            }
            Err(_) => {
                strangers += 1;
                first_stranger = if strangers == 1 { offset } else { first_stranger };
            }
        })?;
        if items.is_empty() {
            return Ok(None);
        }
        if strangers > 0 {
            notes.push(format!(
                "{strangers} objects are no log entries, the first at byte {first_stranger}; they are not read"
            ));
        }
        if let Some(at) = rest {
            notes.push(format!("the JSON breaks off at byte {at}; the entry there is not read"));
        }
        if !clocks {
            notes.push("the JSON has no AppendedAt: when an entry was appended is not known".into());
        }
        if !items.is_sorted_by_key(|item| item.index) {
            items.sort_by_key(|item| item.index);
            notes.push("the entries are not in order of index in the file; they are read in that order".into());
        }
        let before = items.len();
        items.dedup_by_key(|item| item.index);
        if items.len() < before {
            notes.push(format!("{} indexes stand there twice; the first of each is read", before - items.len()));
        }
        let lookups = Mutex::new(Chunks::new(file.clone(), Shape::LOOKUP));
        Ok(Some(JsonLog { file, items, lookups, notes }))
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// What a reader should know, a sentence each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// The parts of an entry; the payload is appended to `data`.
fn decode<'a>(text: &'a [u8], data: &mut Vec<u8>) -> Result<(Head<'a>, LogType), String> {
    let head: Head<'a> = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    let kind = head.kind.log_type().ok_or("its LogType is none of raft's")?;
    let mut batch = false;
    if kind == LogType::Command {
        // Without a type the payload is empty, as it was in the log.
        let Some(command) = &head.command_type else {
            return match &head.error {
                Some(error) => Err(format!("it was already printed with an error: {error}")),
                None => Ok((head, kind)),
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
    Ok((head, kind))
}

impl Log for JsonLog {
    fn bounds(&self) -> Option<(Index, Index)> {
        Some((Index(self.items.first()?.index), Index(self.items.last()?.index)))
    }

    fn scan(
        &self,
        range: RangeInclusive<Index>,
        sink: &mut dyn FnMut(Scanned<'_>) -> ControlFlow<()>,
    ) -> Result<(), EvidenceError> {
        let (start, end) = (range.start().0, range.end().0);
        let inside = self.bounds().is_some_and(|(first, _)| start > first.0);
        let mut sequence = Sequence::new(inside.then_some(start), end, sink);
        let mut chunks = Chunks::new(self.file.clone(), Shape::WALK);
        let mut data = Vec::new();
        let from = self.items.partition_point(|item| item.index < start);
        for item in self.items.get(from..).unwrap_or_default() {
            let text = chunks.read(item.offset, item.len).map_err(|source| self.io(source))?;
            data.clear();
            let flow = match decode(&text, &mut data) {
                Ok((head, kind)) => sequence.entry(Record {
                    index: Index(item.index),
                    term: Term(head.term),
                    kind,
                    data: &data,
                    appended_at: head.appended_at,
                }),
                Err(why) => sequence.bad(Bad {
                    kind: DamageKind::UndecodableEntry,
                    key: Some(item.index),
                    inner: None,
                    offset: item.offset,
                    detail: format!("entry {}: {why}", item.index),
                }),
            };
            if flow.is_break() {
                return Ok(());
            }
        }
        // A break from the sink has no more to hear.
        let _ = sequence.finish(None);
        Ok(())
    }

    fn data(&self, index: Index) -> Result<Option<Vec<u8>>, EvidenceError> {
        let Ok(at) = self.items.binary_search_by_key(&index.0, |item| item.index) else { return Ok(None) };
        let Some(item) = self.items.get(at) else { return Ok(None) };
        let text: Bytes = {
            let mut chunks = self.lookups.lock().unwrap_or_else(PoisonError::into_inner);
            chunks.read(item.offset, item.len).map_err(|source| self.io(source))?
        };
        let mut data = Vec::new();
        match decode(&text, &mut data) {
            Ok(_) => Ok(Some(data)),
            Err(why) => {
                let detail = format!("entry {index}, at byte {}: {why}", item.offset);
                Err(EvidenceError::Unreadable { path: self.file.path().into(), detail })
            }
        }
    }
}

impl JsonLog {
    fn io(&self, source: io::Error) -> EvidenceError {
        EvidenceError::Io { path: self.file.path().into(), source }
    }
}
