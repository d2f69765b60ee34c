//! Entries out of the lines that `logs --format ndjson` prints.

use std::io::{BufRead, ErrorKind};

use jiff::Timestamp;
use serde_json::{Map, Value as Json};

use super::{Added, WhatIfError};
use crate::entry::encode;
use crate::entry::message_type::MessageTypes;
use crate::evidence::LogType;
use crate::types::{Index, Term};

/// A body that cannot be decoded either: the one byte that msgpack never uses.
const UNDECODABLE: u8 = 0xc1;

/// What to do about a line that is no entry.
const AN_ENTRY: &str = "give one entry a line, as `logs --unsafe-show-secrets --format ndjson` prints it";

/// A line, with the keys of `logs`.
struct Line {
    log_type: Option<String>,
    term: Option<u64>,
    index: Option<u64>,
    command_type: Option<Name>,
    ignore_unknown_type_flag: bool,
    appended_at: Option<Timestamp>,
    body: Option<Json>,
    /// That there is an error in place of a body.
    undecodable: bool,
}

enum Name {
    Number(u64),
    Text(String),
}

impl Line {
    fn parse(text: &str) -> Result<Self, String> {
        let json: Json = serde_json::from_str(text).map_err(|error| match error.is_eof() {
            true => "its JSON has no end; an entry is one object on one line".to_owned(),
            false => format!("it is no JSON from column {} on", error.column()),
        })?;
        let Json::Object(mut keys) = json else { return Err(format!("it is {}, no JSON object", shown(&json))) };
        let mut line = Line {
            log_type: key(&keys, "LogType", "a name such as \"LogCommand\"", text_of)?,
            term: key(&keys, "Term", "a number from 0 on", Json::as_u64)?,
            index: key(&keys, "Index", "a number from 0 on", Json::as_u64)?,
            command_type: key(&keys, "CommandType", "the name or the number of a message type", |json| {
                json.as_u64().map(Name::Number).or_else(|| text_of(json).map(Name::Text))
            })?,
            ignore_unknown_type_flag: key(&keys, "IgnoreUnknownTypeFlag", "true or false", Json::as_bool)?
                .unwrap_or_default(),
            appended_at: key(&keys, "AppendedAt", "a time such as \"2026-11-30T14:05:00Z\"", |json| {
                json.as_str()?.parse().ok()
            })?,
            body: None,
            undecodable: keys.get("Error").is_some_and(|error| !error.is_null()),
        };
        line.body = keys.remove("Body").filter(|body| !body.is_null());
        Ok(line)
    }
}

/// The value of a key; `None` where it is not there or null. `wanted` says what it has to be.
fn key<T>(
    keys: &Map<String, Json>,
    name: &str,
    wanted: &str,
    read: impl Fn(&Json) -> Option<T>,
) -> Result<Option<T>, String> {
    match keys.get(name) {
        None | Some(Json::Null) => Ok(None),
        Some(json) => {
            read(json).map(Some).ok_or_else(|| format!("{name} is {}, where {wanted} is expected", shown(json)))
        }
    }
}

fn text_of(json: &Json) -> Option<String> {
    json.as_str().map(str::to_owned)
}

/// A value in a message. What is long or has parts is told by its kind: a person finds it in the line.
fn shown(json: &Json) -> String {
    match json {
        Json::Array(_) => "an array".into(),
        Json::Object(_) => "an object".into(),
        Json::String(text) if text.len() > 40 => "a long text".into(),
        other => other.to_string(),
    }
}

/// The entries of a file, of which the first follows the index and term `at`.
pub(super) fn read(
    name: &str,
    lines: impl BufRead,
    types: &MessageTypes,
    at: (Index, Term),
) -> Result<Vec<Added>, WhatIfError> {
    let (mut last, mut term) = at;
    let mut found = Vec::new();
    for (i, line) in lines.lines().enumerate() {
        let fault = |text: String| WhatIfError::Asked(format!("--append {name}: line {}: {text}", i + 1));
        let line = line.map_err(|error| match error.kind() {
            ErrorKind::InvalidData => fault(format!("it is no UTF-8; {AN_ENTRY}")),
            _ => fault(format!("it cannot be read: {error}")),
        })?;
        if line.trim().is_empty() {
            continue;
        }
        let line = Line::parse(&line).map_err(|text| fault(format!("{text}; {AN_ENTRY}")))?;
        let index = line.index.map_or(last.next(), Index);
        if index != last.next() {
            return Err(fault(format!(
                "the entry has index {index}, but {} comes next; print what is to be added with `logs --from-index {}`, \
                 or leave Index out",
                last.next(),
                last.next()
            )));
        }
        term = line.term.map_or(term, Term);
        let kind = log_type(line.log_type.as_deref()).map_err(fault)?;
        let data = payload(&line, kind, types).map_err(fault)?;
        found.push(Added { index, term, kind, data, appended_at: line.appended_at });
        last = index;
    }
    Ok(found)
}

fn log_type(name: Option<&str>) -> Result<LogType, String> {
    let Some(name) = name else { return Ok(LogType::Command) };
    let named = (0..6).map(LogType::from_number).find(|kind| kind.name() == name);
    let numbered = || name.parse().ok().map(LogType::from_number);
    named.or_else(numbered).ok_or_else(|| format!("{name:?} is no LogType; most entries are LogCommand"))
}

fn payload(line: &Line, kind: LogType, types: &MessageTypes) -> Result<Vec<u8>, String> {
    if kind != LogType::Command {
        return match &line.body {
            Some(body) => encode::raft(body, None).map_err(|error| error.to_string()),
            None => Ok(Vec::new()),
        };
    }
    let number = match &line.command_type {
        Some(Name::Number(number)) => u8::try_from(*number).ok().filter(|n| *n < 128),
        Some(Name::Text(name)) => types.lookup(name).filter(|n| *n < 128),
        // A command without a byte is printed without a type.
        None if line.body.is_none() => return Ok(Vec::new()),
        None => return Err("a LogCommand with a Body needs a CommandType".into()),
    };
    let number = number.ok_or("CommandType is the name or the number of no message type; --message-type adds names")?;
    let head = number | if line.ignore_unknown_type_flag { 0x80 } else { 0 };
    match &line.body {
        Some(body) => encode::command(head, body, None).map_err(|error| error.to_string()),
        None if line.undecodable => Ok(vec![head, UNDECODABLE]),
        None => Ok(vec![head]),
    }
}
