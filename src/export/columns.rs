//! The columns of the Parquet files, which are those of the ledger's tables behind `cluster` and `server`.
//!
//! Readers take many files of many ages for one table, so a column never changes its type or its place; new ones
//! come behind the last.

/// A table of the ledger, as far as it is written.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Its name, and that of the folder with its files.
    pub name: &'static str,
    /// Its columns, in the order of the files.
    pub columns: &'static [Column],
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name in the ledger and in the file.
    pub name: &'static str,
    /// What its values are.
    pub kind: Kind,
    /// True where every row has a value.
    pub required: bool,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A signed number of 64 bits: Trino and Hive have no unsigned ones, and no index comes near the sign.
    Int,
    /// Text in UTF-8; what is there many times is kept once, in a dictionary.
    Text,
    /// Text of which every row has another: a dictionary would be as long as the column.
    Unique,
    /// A moment in UTC, in microseconds: Spark reads no nanoseconds.
    Time,
    /// 0 or 1 in the ledger.
    Flag,
}

const fn every(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, required: true }
}

const fn some(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, required: false }
}

/// The tables that are written.
pub const TABLES: [Table; 3] = [
    Table { name: "entry", columns: &ENTRY },
    Table { name: "count_change", columns: &COUNT_CHANGE },
    Table { name: "finding", columns: &FINDING },
];

const ENTRY: [Column; 9] = [
    every("idx", Kind::Int),
    every("term", Kind::Int),
    every("log_type", Kind::Text),
    some("type", Kind::Text),
    every("bytes", Kind::Int),
    some("appended_at", Kind::Time),
    every("outcome", Kind::Text),
    some("detail", Kind::Text),
    every("hash", Kind::Unique),
];

const COUNT_CHANGE: [Column; 11] = [
    every("id", Kind::Int),
    every("idx", Kind::Int),
    some("until_idx", Kind::Int),
    every("namespace", Kind::Text),
    every("parent", Kind::Text),
    some("child", Kind::Text),
    some("old_status", Kind::Text),
    some("new_status", Kind::Text),
    some("pending", Kind::Int),
    some("running", Kind::Int),
    some("dead", Kind::Int),
];

const FINDING: [Column; 34] = [
    every("id", Kind::Int),
    every("kind", Kind::Text),
    every("severity", Kind::Text),
    some("namespace", Kind::Text),
    some("parent", Kind::Text),
    some("job", Kind::Text),
    some("task_group", Kind::Text),
    some("counter", Kind::Text),
    some("value", Kind::Int),
    some("min_value", Kind::Int),
    some("stored", Kind::Int),
    some("recount", Kind::Int),
    some("final_value", Kind::Int),
    every("idx", Kind::Int),
    every("term", Kind::Int),
    some("entry", Kind::Text),
    some("until_idx", Kind::Int),
    some("until_entry", Kind::Text),
    every("lasts", Kind::Flag),
    some("last_idx", Kind::Int),
    some("partial", Kind::Flag),
    some("detail", Kind::Text),
    some("committed", Kind::Text),
    some("leader_idx", Kind::Int),
    some("leader_term", Kind::Int),
    some("cause_rule", Kind::Text),
    some("cause_idx", Kind::Int),
    some("cause_term", Kind::Int),
    some("cause_entry", Kind::Text),
    some("cause_namespace", Kind::Text),
    some("cause_job", Kind::Text),
    some("cause_status", Kind::Text),
    some("cause_by", Kind::Text),
    some("cause_detail", Kind::Text),
];
