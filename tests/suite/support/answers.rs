//! Comparing `timeline` rows with recorded ones.
//!
//! A recording and the program spell the same fact differently (`fixtures/README.md`, "Reading the rows"), so both
//! are turned into [`Row`]s, cleaned of what cannot be compared, and then compared one by one.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

/// The names of a task group's counters, as Nomad spells them.
const COUNTERS: [&str; 7] = ["Queued", "Complete", "Failed", "Running", "Starting", "Lost", "Unknown"];

/// A job's counts by task group; the counters in the order of [`COUNTERS`], none where unknown.
type Groups = BTreeMap<String, [Option<i64>; 7]>;

/// What a job looks like after an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Job {
    /// It is gone.
    Deleted,
    /// It is there.
    Present {
        /// `pending`, `running`, `dead`.
        status: String,
        /// Pending, Running, Dead; none where the summary has no children object.
        children: Option<[i64; 3]>,
        /// Its groups' counters; empty without a summary row.
        groups: Groups,
    },
}

/// One row of a timeline, from either side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The entry after which it holds.
    pub index: u64,
    /// The entry's term.
    pub term: u64,
    /// The job's namespace.
    pub namespace: String,
    /// The job.
    pub job: String,
    /// What it looks like.
    pub now: Job,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (term {}) {}/{}: ", self.index, self.term, self.namespace, self.job)?;
        match &self.now {
            Job::Deleted => write!(f, "deleted"),
            Job::Present { status, children, groups } => {
                write!(f, "{status} children {children:?}")?;
                for (group, counters) in groups {
                    write!(f, " {group}:")?;
                    for (name, value) in COUNTERS.iter().zip(counters).filter(|(_, value)| **value != Some(0)) {
                        match value {
                            Some(value) => write!(f, " {name} {value}")?,
                            None => write!(f, " {name} null")?,
                        }
                    }
                }
                Ok(())
            }
        }
    }
}

/// A row of `oracle-V.ndjson`.
pub fn recorded(row: &Value) -> Row {
    let children = row.get("children").filter(|children| !children.is_null());
    let children = children.map(|list| [0, 1, 2].map(|place| number(&list[place])));
    row_of(row, ["i", "t", "ns", "job"], children)
}

/// A row of `timeline --format ndjson`.
pub fn printed(row: &Value) -> Row {
    let children = row.get("children").filter(|children| !children.is_null());
    let children = children.map(|object| ["Pending", "Running", "Dead"].map(|name| number(&object[name])));
    row_of(row, ["index", "term", "namespace", "job"], children)
}

fn row_of(row: &Value, [index, term, namespace, job]: [&str; 4], children: Option<[i64; 3]>) -> Row {
    let text = |key: &str| row[key].as_str().unwrap_or_else(|| panic!("no text {key:?} in {row}")).to_owned();
    let now = match row.get("deleted") {
        Some(Value::Bool(true)) => Job::Deleted,
        _ => Job::Present { status: text("status"), children, groups: groups(row.get("groups")) },
    };
    let [index, term] = [index, term].map(|key| row[key].as_u64().unwrap_or_else(|| panic!("no {key:?} in {row}")));
    Row { index, term, namespace: text(namespace), job: text(job), now }
}

fn groups(value: Option<&Value>) -> Groups {
    let Some(Value::Object(groups)) = value else { return Groups::new() };
    let counters = |group: &Value| {
        COUNTERS.map(|name| match group.get(name) {
            Some(Value::Null) => None,
            Some(value) => Some(number(value)),
            None => Some(0),
        })
    };
    groups.iter().map(|(name, group)| (name.clone(), counters(group))).collect()
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("not a number: {value}"))
}

/// Where the two sides may be compared.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounds {
    /// The index of the recording's base snapshot: only rows above it are compared.
    pub base: u64,
    /// The first reconcile of the log: from it on a scheduler run decided `Queued`.
    pub first_reconcile: Option<u64>,
}

/// Compares two timelines and tells each difference in a line or two; empty when they agree.
pub fn differences(recorded: Vec<Row>, printed: Vec<Row>, bounds: Bounds) -> Vec<String> {
    let mut told = out_of_order(&printed);
    let recorded = comparable(recorded, bounds);
    let printed = comparable(printed, bounds);
    let key = |row: &Row| (row.index, row.namespace.clone(), row.job.clone());
    let mut recorded: BTreeMap<_, _> = recorded.into_iter().map(|row| (key(&row), row)).collect();
    for row in printed {
        match recorded.remove(&key(&row)) {
            Some(expected) if expected == row => {}
            Some(expected) => told.push((row.index, format!("  expected {expected}\n  got      {row}"))),
            None => told.push((row.index, format!("  expected no row\n  got      {row}"))),
        }
    }
    told.extend(recorded.into_values().map(|row| (row.index, format!("  expected {row}\n  got      no row"))));
    told.sort();
    told.into_iter().map(|(_, text)| text).collect()
}

/// Rows stand in order of index, namespace, job, and no job stands twice at an index.
fn out_of_order(rows: &[Row]) -> Vec<(u64, String)> {
    let key = |row: &Row| (row.index, row.namespace.clone(), row.job.clone());
    rows.windows(2)
        .filter(|pair| key(&pair[0]) >= key(&pair[1]))
        .map(|pair| (pair[1].index, format!("  out of order: {}\n  after         {}", pair[1], pair[0])))
        .collect()
}

/// The rows above the base, with `Queued` blanked from the first reconcile on and without the rows that then say nothing new.
fn comparable(rows: Vec<Row>, bounds: Bounds) -> Vec<Row> {
    let first_reconcile = bounds.first_reconcile.unwrap_or(u64::MAX);
    let mut last: BTreeMap<(String, String), Job> = BTreeMap::new();
    let mut kept = Vec::new();
    for mut row in rows {
        let before = last.insert((row.namespace.clone(), row.job.clone()), row.now.clone());
        if row.index >= first_reconcile {
            without_queued(&mut row.now);
            let before = before.map(|mut before| {
                without_queued(&mut before);
                before
            });
            if before.as_ref() == Some(&row.now) {
                continue;
            }
        }
        if row.index > bounds.base {
            kept.push(row);
        }
    }
    kept
}

fn without_queued(job: &mut Job) {
    if let Job::Present { groups, .. } = job {
        groups.values_mut().for_each(|counters| counters[0] = None);
    }
}

/// Index and finding kind of a row of `oracle-V.results.ndjson`; none for a note about the snapshot or the recording's end.
pub fn recorded_refusal(row: &Value) -> Option<(u64, &'static str)> {
    if row.get("snapshot").is_some() || row.get("stop").is_some() {
        return None;
    }
    let kind = match row["panic"].as_str() {
        None => "rejected_entry",
        Some(panic) if panic.starts_with("failed to apply request") => "unknown_type",
        // A bug of that version: the entry is sound, and the server that applies it crashes.
        Some(panic) if panic.contains("nil pointer") => "rejected_entry",
        Some(_) => "undecodable_entry",
    };
    Some((row["i"].as_u64()?, kind))
}
