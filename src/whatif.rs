//! Histories that did not happen: a log with entries left out, changed or added (contract.md 1, `--skip`,
//! `--patch`, `--append`).
//!
//! The altered log is a log like any other, so everything that replays can replay it. Nothing of it is evidence:
//! whoever prints what came of it says so.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::ops::{ControlFlow, RangeInclusive};

use jiff::Timestamp;

use crate::entry::json::BodyWriter;
use crate::entry::message::Message;
use crate::entry::message_type::MessageTypes;
use crate::entry::{encode, split};
use crate::error::Error;
use crate::evidence::{EvidenceError, Log, LogType, Record, Scanned};
use crate::redact::Redactor;
use crate::types::{Index, Term};

mod append;
mod expression;

pub use expression::Expression;

/// Why a history cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum WhatIfError {
    /// What was asked for cannot be done; the text says what to type instead.
    #[error("{0}")]
    Asked(String),
    /// The log cannot be read.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
}

impl From<WhatIfError> for Error {
    fn from(error: WhatIfError) -> Self {
        match error {
            WhatIfError::Asked(text) => Error::Usage(text),
            WhatIfError::Evidence(error) => error.into(),
        }
    }
}

/// What stands in an entry's place.
enum Change {
    /// A noop of raft's: the index stays, the FSM never hears of it.
    Skip,
    /// The same entry with another payload.
    Payload(Vec<u8>),
}

/// An entry behind the last one of the log.
struct Added {
    index: Index,
    term: Term,
    kind: LogType,
    data: Vec<u8>,
    appended_at: Option<Timestamp>,
}

impl Added {
    fn record(&self) -> Record<'_> {
        let Added { index, term, kind, appended_at, .. } = *self;
        Record { index, term, kind, data: &self.data, appended_at }
    }
}

/// A log with alterations.
pub struct Altered<L> {
    log: L,
    changes: BTreeMap<Index, Change>,
    added: Vec<Added>,
    told: Vec<String>,
}

impl<L: Log> Altered<L> {
    /// The log as it is.
    pub fn new(log: L) -> Self {
        Altered { log, changes: BTreeMap::new(), added: Vec::new(), told: Vec::new() }
    }

    /// What was altered, a phrase each, in the order in which it was asked for: `skip 5`.
    pub fn told(&self) -> &[String] {
        &self.told
    }

    /// The first altered index; `None` for a log as it is.
    pub fn first(&self) -> Option<Index> {
        let added = self.added.first().map(|entry| entry.index);
        self.changes.keys().next().copied().into_iter().chain(added).min()
    }

    /// Leaves an entry out: its index is kept by a noop of raft's.
    ///
    /// # Errors
    /// When the log does not hold it, or it was altered already.
    pub fn skip(&mut self, index: Index) -> Result<(), WhatIfError> {
        self.entry("--skip", index)?;
        if self.changes.contains_key(&index) {
            return Err(WhatIfError::Asked(format!("--skip {index}: the entry is altered by another option already")));
        }
        self.changes.insert(index, Change::Skip);
        self.told.push(format!("skip {index}"));
        Ok(())
    }

    /// Applies another body than the entry's: what the expression makes of the body as it is stored, not redacted.
    /// Patches of one entry follow each other.
    ///
    /// # Errors
    /// When the log does not hold it, it has no body, or the expression does not yield exactly one body of its type.
    pub fn patch(&mut self, index: Index, expression: &Expression) -> Result<(), WhatIfError> {
        let fault = |text: String| WhatIfError::Asked(format!("--patch {index}: {text}"));
        let (kind, data) = self.entry("--patch", index)?;
        let body = |mut redactor: Redactor| {
            let mut json = Vec::new();
            match BodyWriter::new().record(kind, &data, &mut redactor, &mut json) {
                Ok(true) => Ok(json),
                Ok(false) => Err(fault("the entry has no body".into())),
                Err(error) => Err(fault(format!("the entry's body cannot be decoded: {error}"))),
            }
        };
        let (stored, hidden) = (body(Redactor::showing())?, body(Redactor::hiding())?);
        let patched = expression.apply(&stored, &hidden).map_err(fault)?;
        let patched = serde_json::from_slice(&patched).map_err(|error| fault(error.to_string()))?;
        let payload = match split(&data) {
            Some(command) if kind == LogType::Command => {
                encode::command(data.first().copied().unwrap_or_default(), &patched, Some(command.body))
            }
            _ => encode::raft(&patched, Some(&data)),
        };
        let payload = payload.map_err(|error| fault(error.to_string()))?;
        if kind == LogType::Command
            && matches!(Message::read(&data), Some(Ok(_)))
            && let Some(Err(error)) = Message::read(&payload)
        {
            return Err(fault(format!("what the expression makes of the body is none of its type: {error}")));
        }
        self.changes.insert(index, Change::Payload(payload));
        self.told.push(format!("patch {index}: {}", expression.code()));
        Ok(())
    }

    /// Adds entries behind the last, as `logs --unsafe-show-secrets --format ndjson` prints them, one a line; `name`
    /// is that of the file. An entry without `Index` gets the next one, one without `Term` the last term.
    ///
    /// # Errors
    /// When a line is no entry, or its index is not the next one.
    pub fn append(&mut self, name: &str, lines: impl BufRead, types: &MessageTypes) -> Result<(), WhatIfError> {
        let (last, term) = match self.added.last() {
            Some(entry) => (entry.index, entry.term),
            None => match self.log.bounds() {
                Some((_, last)) => (last, self.term_of(last)?),
                None => (Index(0), Term(0)),
            },
        };
        let found = append::read(name, lines, types, (last, term))?;
        if let (Some(first), Some(last)) = (found.first(), found.last()) {
            self.told.push(format!("append {} to {} from {name}", first.index, last.index));
        }
        self.added.extend(found);
        Ok(())
    }

    fn term_of(&self, index: Index) -> Result<Term, EvidenceError> {
        let mut term = Term(0);
        self.log.scan(index..=index, &mut |scanned| {
            if let Scanned::Entry(record) = scanned {
                term = record.term;
            }
            ControlFlow::Continue(())
        })?;
        Ok(term)
    }

    /// The type and payload of an entry as it stands now.
    fn entry(&self, option: &str, index: Index) -> Result<(LogType, Vec<u8>), WhatIfError> {
        let mut found = None;
        self.scan(index..=index, &mut |scanned| {
            if let Scanned::Entry(record) = scanned {
                found = Some((record.kind, record.data.to_vec()));
            }
            ControlFlow::Continue(())
        })?;
        found.ok_or_else(|| {
            let reach = self.bounds().map(|(first, last)| format!(", which reaches from {first} to {last}"));
            let reach = reach.unwrap_or_default();
            WhatIfError::Asked(format!("{option} {index}: there is no such entry in the log{reach}"))
        })
    }
}

impl<L: Log> Log for Altered<L> {
    fn bounds(&self) -> Option<(Index, Index)> {
        let added = self.added.first().zip(self.added.last()).map(|(first, last)| (first.index, last.index));
        match (self.log.bounds(), added) {
            (Some((first, _)), Some((_, last))) => Some((first, last)),
            (bounds, added) => bounds.or(added),
        }
    }

    fn scan(
        &self,
        range: RangeInclusive<Index>,
        sink: &mut dyn FnMut(Scanned<'_>) -> ControlFlow<()>,
    ) -> Result<(), EvidenceError> {
        let mut flow = ControlFlow::Continue(());
        let end = match self.added.first() {
            Some(first) => first.index.prev().min(*range.end()),
            None => *range.end(),
        };
        if *range.start() <= end {
            self.log.scan(*range.start()..=end, &mut |scanned| {
                flow = match scanned {
                    Scanned::Entry(record) => match self.changes.get(&record.index) {
                        None => sink(Scanned::Entry(record)),
                        Some(change) => sink(Scanned::Entry(change.applied(record))),
                    },
                    damaged => sink(damaged),
                };
                flow
            })?;
        }
        for entry in self.added.iter().filter(|entry| range.contains(&entry.index)) {
            if flow.is_break() {
                break;
            }
            let record = entry.record();
            flow = match self.changes.get(&entry.index) {
                None => sink(Scanned::Entry(record)),
                Some(change) => sink(Scanned::Entry(change.applied(record))),
            };
        }
        Ok(())
    }

    fn data(&self, index: Index) -> Result<Option<Vec<u8>>, EvidenceError> {
        match self.changes.get(&index) {
            Some(Change::Skip) => return Ok(Some(Vec::new())),
            Some(Change::Payload(data)) => return Ok(Some(data.clone())),
            None => {}
        }
        match self.added.iter().find(|entry| entry.index == index) {
            Some(entry) => Ok(Some(entry.data.clone())),
            None => self.log.data(index),
        }
    }
}

impl Change {
    fn applied<'r>(&'r self, record: Record<'r>) -> Record<'r> {
        match self {
            Change::Skip => Record { kind: LogType::Noop, data: &[], ..record },
            Change::Payload(data) => Record { data, ..record },
        }
    }
}
