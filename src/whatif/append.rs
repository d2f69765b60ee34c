//! Entries out of the lines that `logs --format ndjson` prints.

use std::io::BufRead;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value as Json;

use super::{Added, WhatIfError};
use crate::entry::encode;
use crate::entry::message_type::MessageTypes;
use crate::evidence::LogType;
use crate::types::{Index, Term};

/// A body that cannot be decoded either: the one byte that msgpack never uses.
const UNDECODABLE: u8 = 0xc1;

/// A line, with the keys of `logs`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Line {
    #[serde(default)]
    log_type: Option<String>,
    #[serde(default)]
    term: Option<u64>,
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    command_type: Option<Name>,
    #[serde(default)]
    ignore_unknown_type_flag: bool,
    #[serde(default)]
    appended_at: Option<Timestamp>,
    #[serde(default)]
    body: Option<Json>,
    #[serde(default)]
    error: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Name {
    Number(u8),
    Text(String),
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
        let line = line.map_err(|error| fault(error.to_string()))?;
        if line.trim().is_empty() {
            continue;
        }
        let line: Line = serde_json::from_str(&line).map_err(|error| {
            fault(format!("{error}; a line is one entry, as `logs --unsafe-show-secrets --format ndjson` prints it"))
        })?;
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
        Some(Name::Number(number)) => Some(*number).filter(|n| *n < 128),
        Some(Name::Text(name)) => types.lookup(name).filter(|n| *n < 128),
        // A command without a byte is printed without a type.
        None if line.body.is_none() => return Ok(Vec::new()),
        None => return Err("a LogCommand with a Body needs a CommandType".into()),
    };
    let number = number.ok_or("CommandType is the name or the number of no message type; --message-type adds names")?;
    let head = number | if line.ignore_unknown_type_flag { 0x80 } else { 0 };
    match (&line.body, &line.error) {
        (Some(body), _) => encode::command(head, body, None).map_err(|error| error.to_string()),
        (None, Some(_)) => Ok(vec![head, UNDECODABLE]),
        (None, None) => Ok(vec![head]),
    }
}
