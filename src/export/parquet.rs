//! Entries, count changes and findings as Parquet, one file for each table and server, so that a folder or bucket
//! with the files of many clusters is one table (issue 10).
//!
//! Written with the `parquet` crate of Arrow's Rust project, column by column. Its Arrow arrays are left out: they
//! would double what has to be compiled and give nothing here, where rows come from SQLite.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use rusqlite::types::ValueRef;

use super::columns::{Column, Kind, TABLES, Table};
use super::fleet::Place;
use super::{ExportError, partial_file};
use crate::ledger::Ledger;

/// Rows of a row group, which is what a reader takes at once and what is held in memory here.
const GROUP_ROWS: usize = 128 * 1024;

/// Bytes of texts after which a row group ends before it has all its rows: names are other people's text.
const GROUP_BYTES: usize = 32 << 20;

/// What the facts about a file begin with, in its footer.
const PREFIX: &str = "raftscope.";

/// The columns that say whose rows they are, before those of the ledger.
const OWNERS: [Column; 2] = [
    Column { name: "cluster", kind: Kind::Text, required: true },
    Column { name: "server", kind: Kind::Text, required: true },
];

/// Checks that nothing of others would be written over: a file that is there must be an earlier export of this server.
///
/// # Errors
/// When it is something else, or cannot be read.
pub fn may_replace(dir: &Path, place: &Place) -> Result<(), ExportError> {
    for table in TABLES {
        let path = file_of(dir, &table, place);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            Err(source) => return Err(ExportError::Io { path: path.display().to_string(), source }),
        };
        if !is_of(file, place) {
            let found = format!("there is a file that no export of {}/{} wrote", place.cluster, place.server);
            return Err(ExportError::InTheWay { path: path.display().to_string(), found });
        }
    }
    Ok(())
}

fn is_of(file: File, place: &Place) -> bool {
    let Ok(reader) = SerializedFileReader::new(file) else { return false };
    let facts = reader.metadata().file_metadata().key_value_metadata();
    let fact = |name: &str| {
        let key = format!("{PREFIX}{name}");
        facts?.iter().find(|fact| fact.key == key)?.value.as_deref()
    };
    fact("cluster") == Some(place.cluster.as_str()) && fact("server") == Some(place.server.as_str())
}

fn file_of(dir: &Path, table: &Table, place: &Place) -> PathBuf {
    dir.join(table.name).join(place.file_name())
}

/// Writes `DIR/entry/CLUSTER.SERVER.parquet` and the same in `count_change` and `finding`. They get these names when
/// all are whole.
///
/// # Errors
/// When the ledger cannot be read or a file not written, and as [`may_replace`].
pub fn write(ledger: &Ledger, place: &Place, dir: &Path) -> Result<(), ExportError> {
    may_replace(dir, place)?;
    let facts = facts(ledger, place)?;
    let mut whole = Vec::new();
    for table in TABLES {
        let path = file_of(dir, &table, place);
        let io = |source| ExportError::Io { path: path.display().to_string(), source };
        let folder = dir.join(table.name);
        fs::create_dir_all(&folder).map_err(io)?;
        let temp = partial_file(&folder).map_err(io)?;
        let file = File::options().write(true).open(&temp).map_err(io)?;
        write_table(ledger, &table, place, facts.clone(), file)?.map_err(io)?;
        whole.push((temp, path));
    }
    for (temp, path) in whole {
        let io = |e: tempfile::PathPersistError| ExportError::Io { path: path.display().to_string(), source: e.error };
        temp.persist(&path).map_err(io)?;
    }
    Ok(())
}

/// What the footer of each file tells of the whole export.
fn facts(ledger: &Ledger, place: &Place) -> Result<Vec<KeyValue>, ExportError> {
    let mut facts =
        vec![("cluster".to_owned(), place.cluster.to_string()), ("server".into(), place.server.to_string())];
    let read = ledger.each_row("meta", |_, values| {
        if let Some([key, value]) = values {
            let value = match value {
                ValueRef::Integer(n) => n.to_string(),
                other => text(other).unwrap_or_default().into_owned(),
            };
            facts.push((text(key).unwrap_or_default().into_owned(), value));
        }
        Ok(())
    })?;
    // The closure has nothing to fail with.
    debug_assert!(read.is_ok());
    Ok(facts.into_iter().map(|(key, value)| KeyValue::new(format!("{PREFIX}{key}"), value)).collect())
}

/// Outside, what became of the ledger; inside, what became of the file.
fn write_table(
    ledger: &Ledger,
    table: &Table,
    place: &Place,
    facts: Vec<KeyValue>,
    file: File,
) -> Result<io::Result<()>, ExportError> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by(concat!("raftscope version ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(facts))
        .set_dictionary_enabled(false);
    let properties =
        columns(table).filter(|column| column.kind == Kind::Text).fold(properties, |properties, column| {
            properties.set_column_dictionary_enabled(ColumnPath::from(column.name), true)
        });
    let begun = schema(table).and_then(|schema| SerializedFileWriter::new(file, schema, Arc::new(properties.build())));
    let mut writer = match begun {
        Ok(writer) => writer,
        Err(e) => return Ok(Err(other(e))),
    };
    let mut group = Group::new(table, place);
    let mut places: Vec<Option<usize>> = Vec::new();
    let read = ledger.each_row(table.name, |names, values| {
        let Some(values) = values else {
            let place_of = |column: &Column| names.iter().position(|name| name == column.name);
            places = table.columns.iter().map(place_of).collect();
            return Ok(());
        };
        group.push(places.iter().map(|at| at.and_then(|at| values.get(at)).unwrap_or(&ValueRef::Null)))?;
        if group.is_full() { group.write(&mut writer).map_err(other) } else { Ok(()) }
    })?;
    let ended = read.and_then(|()| group.write(&mut writer).map_err(other));
    Ok(ended.and_then(|()| writer.close().map(drop).map_err(other)))
}

fn other(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(source) => *source,
            Err(source) => io::Error::other(source),
        },
        error => io::Error::other(error),
    }
}

/// The columns of the file.
fn columns(table: &Table) -> impl Iterator<Item = &'static Column> {
    OWNERS.iter().chain(table.columns)
}

fn schema(table: &Table) -> Result<TypePtr, ParquetError> {
    let columns = columns(table).map(|column| {
        let (physical, logical) = match column.kind {
            Kind::Int => (Physical::INT64, None),
            Kind::Text | Kind::Unique => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Kind::Time => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS))),
            Kind::Flag => (Physical::BOOLEAN, None),
        };
        let repetition = if column.required { Repetition::REQUIRED } else { Repetition::OPTIONAL };
        let built = Type::primitive_type_builder(column.name, physical).with_repetition(repetition);
        built.with_logical_type(logical).build().map(Arc::new)
    });
    let columns = columns.collect::<Result<_, _>>()?;
    Ok(Arc::new(Type::group_type_builder(table.name).with_fields(columns).build()?))
}

/// Rows that wait to be a row group, column by column.
struct Group {
    owners: [ByteArray; 2],
    columns: Vec<Waiting>,
    rows: usize,
    /// Of texts.
    bytes: usize,
}

/// The values of a column.
struct Waiting {
    values: Values,
    /// For a column in which values may be missing: 1 for a value, 0 for none.
    levels: Option<Vec<i16>>,
}

enum Values {
    Ints(Vec<i64>),
    Times(Vec<i64>),
    Flags(Vec<bool>),
    /// One text behind another, and where each ends.
    Texts(Vec<u8>, Vec<usize>),
}

impl Group {
    fn new(table: &Table, place: &Place) -> Self {
        let waiting = |column: &Column| Waiting {
            values: match column.kind {
                Kind::Int => Values::Ints(Vec::new()),
                Kind::Text | Kind::Unique => Values::Texts(Vec::new(), Vec::new()),
                Kind::Time => Values::Times(Vec::new()),
                Kind::Flag => Values::Flags(Vec::new()),
            },
            levels: (!column.required).then(Vec::new),
        };
        let owners = [place.cluster.as_str().into(), place.server.as_str().into()];
        Group { owners, columns: table.columns.iter().map(waiting).collect(), rows: 0, bytes: 0 }
    }

    fn is_full(&self) -> bool {
        self.rows >= GROUP_ROWS || self.bytes >= GROUP_BYTES
    }

    /// Takes a row, a value for each column.
    fn push<'v>(&mut self, row: impl Iterator<Item = &'v ValueRef<'v>>) -> io::Result<()> {
        for (column, value) in self.columns.iter_mut().zip(row) {
            self.bytes += column.push(value)?;
        }
        self.rows += 1;
        Ok(())
    }

    /// Writes the rows, if there are any, and forgets them.
    fn write(&mut self, file: &mut SerializedFileWriter<File>) -> Result<(), ParquetError> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = file.next_row_group()?;
        for owner in &self.owners {
            if let Some(mut column) = group.next_column()? {
                column.typed::<ByteArrayType>().write_batch(&vec![owner.clone(); self.rows], None, None)?;
                column.close()?;
            }
        }
        for waiting in &mut self.columns {
            let Some(mut column) = group.next_column()? else { break };
            let levels = waiting.levels.take();
            let given = levels.as_deref();
            match &mut waiting.values {
                Values::Ints(values) | Values::Times(values) => {
                    column.typed::<Int64Type>().write_batch(&std::mem::take(values), given, None)?
                }
                Values::Flags(values) => {
                    column.typed::<BoolType>().write_batch(&std::mem::take(values), given, None)?
                }
                Values::Texts(bytes, ends) => {
                    let whole = ByteArray::from(std::mem::take(bytes));
                    let starts = std::iter::once(0).chain(ends.iter().copied());
                    let texts: Vec<_> =
                        starts.zip(&*ends).map(|(start, end)| whole.slice(start, end - start)).collect();
                    ends.clear();
                    column.typed::<ByteArrayType>().write_batch(&texts, given, None)?
                }
            };
            column.close()?;
            waiting.levels = levels.map(|_| Vec::new());
        }
        group.close()?;
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }
}

impl Waiting {
    /// Takes a value; the bytes of a text.
    fn push(&mut self, value: &ValueRef<'_>) -> io::Result<usize> {
        let (mut bytes, mut there) = (0, true);
        match (&mut self.values, value) {
            (_, ValueRef::Null) => there = false,
            (Values::Ints(values), ValueRef::Integer(n)) => values.push(*n),
            (Values::Flags(values), ValueRef::Integer(n)) => values.push(*n != 0),
            (Values::Times(values), ValueRef::Text(_)) => {
                let time = text(value).and_then(|time| time.parse::<Timestamp>().ok());
                values.extend(time.map(Timestamp::as_microsecond));
                there = time.is_some();
            }
            (Values::Texts(all, ends), ValueRef::Text(_)) => {
                let before = all.len();
                // Parquet's text is UTF-8; the ledger's names are, or were made so when they were read.
                all.extend_from_slice(text(value).unwrap_or_default().as_bytes());
                ends.push(all.len());
                bytes = all.len() - before;
            }
            (_, other) => return Err(unfit(&format!("{:?}", other.data_type()))),
        }
        match &mut self.levels {
            Some(levels) => levels.push(i16::from(there)),
            None if !there => return Err(unfit("nothing")),
            None => {}
        }
        Ok(bytes)
    }
}

/// The ledger's schema promises otherwise.
fn unfit(found: &str) -> io::Error {
    io::Error::other(format!("the ledger has {found} in a column of another kind"))
}

fn text<'v>(value: &ValueRef<'v>) -> Option<Cow<'v, str>> {
    match value {
        ValueRef::Text(bytes) => Some(String::from_utf8_lossy(bytes)),
        _ => None,
    }
}
