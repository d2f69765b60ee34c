//! The ledger for other programs: as a SQLite file, each table as CSV or NDJSON, or those that tell of many clusters
//! as Parquet (contract.md 1).

#[cfg(feature = "parquet")]
pub mod columns;
pub mod fleet;
#[cfg(feature = "parquet")]
pub mod parquet;
#[cfg(not(feature = "parquet"))]
#[path = "export/without_parquet.rs"]
pub mod parquet;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use rusqlite::types::ValueRef;
use serde_json::{Map, Value};
use tempfile::TempPath;

use crate::audit::Audit;
use crate::entry::message_type::MessageTypes;
use crate::evidence::Damage;
use crate::fsm::state::State;
use crate::ledger::{Ledger, LedgerError, Writer};
use crate::replay::{Rebased, Replayed, Subscriber};
use crate::rows::Bodies;
use crate::types::{Index, Term};

/// The tables that are exported, in the order in which they are written. States to go on from are
/// of no use to other programs.
pub const TABLES: [&str; 8] =
    ["meta", "entry", "count_change", "job_change", "group_change", "finding", "term_span", "snapshot"];

/// What each table becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    /// Comma-separated values with a header; what is not there is empty.
    Csv,
    /// One JSON object a line; what is not there has no key.
    Ndjson,
}

/// Why an export failed.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The ledger cannot be read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A file cannot be written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// Something of others is where a file would go.
    #[error("{path}: {found}; move it away, or export into another folder")]
    InTheWay {
        /// Where it is.
        path: String,
        /// What it is.
        found: String,
    },
    /// The program was built without the feature `parquet`.
    #[error(
        "--format parquet: this raftscope was built without Parquet; build it with \
         `cargo install --path . --features parquet`, or take --format sqlite, which DuckDB reads too"
    )]
    WithoutParquet,
}

/// A file in a folder that goes away unless it is renamed, with the permissions of any new file. Its name begins with
/// a dot, as what is not to be read does.
///
/// # Errors
/// When the folder cannot be written to.
pub fn partial_file(dir: &Path) -> io::Result<TempPath> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".raftscope-").suffix(".partial");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    Ok(builder.tempfile_in(dir)?.into_temp_path())
}

/// Hears a replay for a new ledger, and for the audit whose findings go into it.
pub struct Recorder<'b> {
    writer: Writer,
    audit: Audit<'b>,
}

impl<'b> Recorder<'b> {
    /// Records into a ledger that knows nothing yet; `types` names the message types, `bodies` are those of the log.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn new(ledger: Ledger, types: &MessageTypes, bodies: &'b dyn Bodies) -> Result<Self, LedgerError> {
        let audit = Audit::new(types.clone()).naming_senders(bodies);
        Ok(Recorder { writer: ledger.writer(types.clone())?, audit })
    }

    /// The ledger with all that the replay told; `state` is what it came to.
    ///
    /// # Errors
    /// When the ledger cannot be written.
    pub fn finish(self, state: &State) -> Result<Ledger, LedgerError> {
        let mut ledger = self.writer.finish()?;
        ledger.put_findings(&self.audit.finish(state).findings)?;
        ledger.commit()?;
        Ok(ledger)
    }
}

impl Subscriber for Recorder<'_> {
    fn base(&mut self, state: &State, index: Index, term: Term) {
        self.audit.base(state, index, term);
        self.writer.base(state, index, term);
    }

    fn entry(&mut self, entry: Replayed<'_>) {
        self.audit.entry(entry);
        self.writer.entry(entry);
    }

    fn rebase(&mut self, rebased: Rebased<'_>) {
        self.audit.rebase(rebased);
        self.writer.rebase(rebased);
    }

    fn damage(&mut self, damage: &Damage) {
        self.audit.damage(damage);
    }

    fn asks_hashes(&self) -> bool {
        self.writer.asks_hashes()
    }

    fn is_done(&self) -> bool {
        self.writer.is_done()
    }
}

/// Writes every table as a file in a folder that is there: `entry.csv`, `finding.ndjson` and so on.
///
/// # Errors
/// When the ledger cannot be read or a file not written.
pub fn write_tables(ledger: &Ledger, text: Text, dir: &Path) -> Result<(), ExportError> {
    for table in TABLES {
        let path = dir.join(format!("{table}.{}", text.extension()));
        let io = |source| ExportError::Io { path: path.display().to_string(), source };
        let out = BufWriter::new(File::create(&path).map_err(io)?);
        let written = match text {
            Text::Csv => write_csv(ledger, table, out),
            Text::Ndjson => write_ndjson(ledger, table, out),
        };
        written?.map_err(io)?;
    }
    Ok(())
}

impl Text {
    fn extension(self) -> &'static str {
        match self {
            Text::Csv => "csv",
            Text::Ndjson => "ndjson",
        }
    }
}

/// Outside, what became of the ledger; inside, what became of the file.
type Written = Result<io::Result<()>, LedgerError>;

fn write_csv(ledger: &Ledger, table: &str, out: impl Write) -> Written {
    let mut out = csv::Writer::from_writer(out);
    ledger.each_row(table, |names, values| {
        let Some(values) = values else { return Ok(out.write_record(names)?) };
        for value in values {
            match value {
                ValueRef::Null => out.write_field("")?,
                ValueRef::Integer(n) => out.write_field(n.to_string())?,
                ValueRef::Real(n) => out.write_field(n.to_string())?,
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => out.write_field(bytes)?,
            }
        }
        Ok(out.write_record(None::<&[u8]>)?)
    })
}

fn write_ndjson(ledger: &Ledger, table: &str, mut out: impl Write) -> Written {
    ledger.each_row(table, |names, values| {
        let Some(values) = values else { return Ok(()) };
        let cells = names.iter().zip(values).filter_map(|(name, value)| Some((name.clone(), json(value)?)));
        serde_json::to_writer(&mut out, &Value::Object(cells.collect::<Map<_, _>>()))?;
        out.write_all(b"\n")
    })
}

/// A cell; `None` where there is nothing. The ledger's names are UTF-8, or made so when they were read.
fn json(value: &ValueRef<'_>) -> Option<Value> {
    Some(match value {
        ValueRef::Null => return None,
        ValueRef::Integer(n) => Value::from(*n),
        ValueRef::Real(n) => Value::from(*n),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Value::from(String::from_utf8_lossy(bytes)),
    })
}
