//! One entry as a row of `logs` (contract.md 3).

use std::borrow::Cow;
use std::sync::Arc;

use crate::entry::json::BodyWriter;
use crate::entry::message_type::MessageTypes;
use crate::evidence::salvage::{Carved, Origin};
use crate::evidence::{LogType, Record};
use crate::filter::{Facts, JobFact, carried};
use crate::redact::Redactor;
use crate::render::json_text::Object;
use crate::render::{Cell, Column, Row, Shape, Tone};
use crate::types::Term;

/// The columns of `logs`.
pub static SHAPE: Shape = Shape {
    table: &[
        Column::number("Term"),
        Column::number("Index"),
        Column::text("Command"),
        Column::text("Job"),
        Column::text("Status"),
        Column::number("Bytes"),
        Column::text("AppendedAt"),
        Column::text("Carries"),
    ],
    csv: &["LogType", "Term", "Index", "CommandType", "IgnoreUnknownTypeFlag", "AppendedAt", "Body", "Error"],
};

/// The columns of `logs --salvage`.
pub static SALVAGE_SHAPE: Shape = Shape {
    table: &[
        Column::number("Term"),
        Column::number("Index"),
        Column::text("Command"),
        Column::text("Job"),
        Column::text("Status"),
        Column::number("Bytes"),
        Column::text("AppendedAt"),
        Column::text("Carries"),
        Column::text("Salvaged"),
    ],
    csv: &[
        "LogType",
        "Term",
        "Index",
        "CommandType",
        "IgnoreUnknownTypeFlag",
        "AppendedAt",
        "Body",
        "Error",
        "Salvaged",
    ],
};

/// Where a carved entry comes from, and what the log holds in its place.
#[derive(Clone, Debug, serde::Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Salvaged {
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    segment: Option<Arc<str>>,
    offset: u64,
    /// The term of the live log's entry at this index.
    #[serde(skip_serializing_if = "Option::is_none")]
    live_term: Option<Term>,
}

impl Salvaged {
    /// The origin of a carved entry.
    pub fn of(carved: &Carved<'_>) -> Self {
        let (page, segment) = match &carved.origin {
            Origin::Page(page) => (Some(*page), None),
            Origin::Segment(name) => (None, Some(name.clone())),
        };
        Salvaged { page, segment, offset: carved.offset, live_term: carved.live_term }
    }

    fn words(&self, term: Term) -> String {
        let origin = match (&self.segment, self.page) {
            (Some(path), _) => format!("segment {}", path.rsplit(['/', '\\']).next().unwrap_or(path)),
            (None, page) => format!("page {}", page.unwrap_or_default()),
        };
        match self.live_term {
            None => format!("{origin}, not in the log"),
            Some(live) if live == term => format!("{origin}, other content in the log"),
            Some(live) => format!("{origin}, term {live} in the log"),
        }
    }
}

/// Decodes entries, one after the other, with the same buffers and the same numbering of secrets.
#[derive(Debug)]
pub struct Decoder {
    writer: BodyWriter,
    redactor: Redactor,
    /// The facts of a row are wanted whether a filter looked at them or not.
    with_facts: bool,
    /// The rows are of [`SALVAGE_SHAPE`].
    salvaging: bool,
    body: Vec<u8>,
}

impl Decoder {
    /// A decoder that has seen nothing.
    pub fn new(redactor: Redactor, with_facts: bool, salvaging: bool) -> Self {
        Decoder { writer: BodyWriter::new(), redactor, with_facts, salvaging, body: Vec::new() }
    }

    /// The row of one entry; `facts` are its facts, where they are known already, and `salvaged` its
    /// origin where it is no entry of the log.
    pub fn row<'r>(
        &'r mut self,
        record: &'r Record<'r>,
        types: &'r MessageTypes,
        facts: Option<Facts<'r>>,
        salvaged: Option<Salvaged>,
    ) -> EntryRow<'r> {
        self.body.clear();
        let command = match (record.kind, record.data.first()) {
            (LogType::Command, Some(byte)) => Some(*byte),
            _ => None,
        };
        let error = match self.writer.record(record.kind, record.data, &mut self.redactor, &mut self.body) {
            Ok(_) => None,
            Err(_) if record.kind == LogType::Command && command.is_none() => {
                Some("the command has no byte".to_owned())
            }
            Err(e) => Some(format!("the body cannot be decoded: {e}")),
        };
        let facts = if self.with_facts { facts.or_else(|| Some(carried::facts(record).0)) } else { facts };
        EntryRow {
            record,
            command,
            name: command.map(|b| types.name(b & 0x7f)),
            facts,
            body: &self.body,
            error,
            salvaging: self.salvaging,
            salvaged,
        }
    }
}

/// One entry, decoded.
#[derive(Debug)]
pub struct EntryRow<'r> {
    record: &'r Record<'r>,
    /// A command's first byte, with the ignore flag.
    command: Option<u8>,
    /// The name of its message type.
    name: Option<Cow<'r, str>>,
    facts: Option<Facts<'r>>,
    /// The body as JSON; empty where there is none.
    body: &'r [u8],
    error: Option<String>,
    salvaging: bool,
    salvaged: Option<Salvaged>,
}

impl EntryRow<'_> {
    /// True when the entry could not be decoded.
    pub fn is_broken(&self) -> bool {
        self.error.is_some()
    }

    fn what(&self) -> String {
        match &self.name {
            Some(name) => crate::entry::message_type::short(name).to_owned(),
            None => self.record.kind.name(),
        }
    }
}

impl Row for EntryRow<'_> {
    fn json(&self, out: &mut Vec<u8>) {
        let mut row = Object::open(out);
        row.text("LogType", &self.record.kind.name());
        row.display("Term", self.record.term);
        row.display("Index", self.record.index);
        if let Some(name) = &self.name {
            row.text("CommandType", name);
        }
        if self.command.is_some_and(|b| b & 0x80 != 0) {
            row.display("IgnoreUnknownTypeFlag", true);
        }
        if let Some(at) = self.record.appended_at {
            row.display("AppendedAt", format_args!("\"{at}\""));
        }
        if !self.body.is_empty() {
            row.key("Body").extend_from_slice(self.body);
        }
        if let Some(error) = &self.error {
            row.text("Error", error);
        }
        if let Some(salvaged) = &self.salvaged {
            // Numbers and a name: this cannot fail.
            let _ = serde_json::to_writer(row.key("Salvaged"), salvaged);
        }
        row.close();
    }

    fn cells(&self) -> Vec<Cell> {
        let empty = Vec::new();
        let jobs = self.facts.as_ref().map_or(&empty, |f| &f.jobs);
        let status = jobs.iter().find_map(|j| j.status.as_deref().map(|s| format!("\"{s}\""))).unwrap_or_default();
        let carries = match &self.error {
            Some(error) => Cell::toned(error.as_str(), Tone::Bad),
            None => Cell::toned(self.facts.as_ref().map(carried_ids).unwrap_or_default(), Tone::Dim),
        };
        let mut cells = vec![
            self.record.term.to_string().into(),
            self.record.index.to_string().into(),
            self.what().into(),
            named(jobs).into(),
            status.into(),
            self.record.data.len().to_string().into(),
            self.record.appended_at.map(|t| format!("{t:.3}")).unwrap_or_default().into(),
            carries,
        ];
        if self.salvaging {
            let origin = self.salvaged.as_ref().map(|s| s.words(self.record.term)).unwrap_or_default();
            cells.push(Cell::toned(origin, Tone::Doubtful));
        }
        cells
    }
}

/// The first job of an entry, with its namespace unless that is `default`, and how many others it names.
fn named(jobs: &[JobFact<'_>]) -> String {
    let mut names: Vec<String> = Vec::new();
    for job in jobs {
        let name = match (job.namespace.as_deref(), job.job.as_deref()) {
            (None | Some("" | "default"), Some(id)) => id.to_owned(),
            (Some(namespace), Some(id)) => format!("{namespace}/{id}"),
            (Some(namespace), None) => format!("{namespace}/"),
            (None, None) => continue,
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let more = names.len().saturating_sub(1);
    match names.into_iter().next() {
        Some(first) if more > 0 => format!("{first} +{more}"),
        Some(first) => first,
        None => String::new(),
    }
}

/// `eval 1a2b3c4d, alloc 5e6f7081 +2`: what else an entry names, IDs as short as Nomad shows them.
fn carried_ids(facts: &Facts<'_>) -> String {
    let kinds =
        [("eval", &facts.evals), ("alloc", &facts.allocs), ("deployment", &facts.deployments), ("node", &facts.nodes)];
    let mut parts = Vec::new();
    for (kind, ids) in kinds {
        let mut distinct: Vec<&str> = ids.iter().map(AsRef::as_ref).collect();
        distinct.sort_unstable();
        distinct.dedup();
        let Some(first) = ids.first() else { continue };
        let short: String = first.chars().take(8).collect();
        parts.push(match distinct.len() {
            0 | 1 => format!("{kind} {short}"),
            n => format!("{kind} {short} +{}", n - 1),
        });
    }
    parts.join(", ")
}
