//! Index expressions: how people name an entry (contract.md 1).

use std::fmt;
use std::ops::ControlFlow;
use std::str::FromStr;

use jiff::Timestamp;

use crate::error::Error;
use crate::evidence::{Log, Scanned};
use crate::notes::Notes;
use crate::types::Index;

/// An entry as it is named on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexExpr {
    /// `1609`: that index.
    At(u64),
    /// `0`, `-3`: so many before the last index.
    Back(u64),
    /// `@2026-11-30T14:05:00Z`: the last entry appended at or before that time.
    Time(Timestamp),
}

/// Why text names no entry; says what to type instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadIndex(String);

impl fmt::Display for BadIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadIndex {}

impl FromStr for IndexExpr {
    type Err = BadIndex;

    fn from_str(text: &str) -> Result<Self, BadIndex> {
        let text = text.trim();
        if let Some(time) = text.strip_prefix('@') {
            return time_of(time).map(IndexExpr::Time);
        }
        let digits = text.strip_prefix('-').unwrap_or(text);
        if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
            let n = digits.parse().map_err(|_| BadIndex(format!("{text} is larger than any index")))?;
            return Ok(if text.starts_with('-') || n == 0 { IndexExpr::Back(n) } else { IndexExpr::At(n) });
        }
        let file = if std::path::Path::new(text).exists() { "a file, not an index" } else { "no index" };
        Err(BadIndex(format!(
            "`{text}` is {file}; an index is a number (1609), 0 for the last entry, -3 for three before it, \
             or a time (@2026-11-30T14:05:00Z)"
        )))
    }
}

/// An RFC 3339 time, with or without the `@`, for `--since` and `--until`.
pub fn time_of(text: &str) -> Result<Timestamp, BadIndex> {
    let text = text.trim().trim_start_matches('@');
    text.parse().map_err(|_| {
        BadIndex(format!("`{text}` is no time; write date, time and zone as RFC 3339 does: 2026-11-30T14:05:00Z"))
    })
}

impl fmt::Display for IndexExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IndexExpr::At(n) => write!(f, "{n}"),
            IndexExpr::Back(0) => f.write_str("0"),
            IndexExpr::Back(n) => write!(f, "-{n}"),
            IndexExpr::Time(t) => write!(f, "@{t}"),
        }
    }
}

impl IndexExpr {
    /// The index that is meant in a log from `first` to `last`, of which `oldest` is the oldest
    /// that can be asked for: the base of a replay, else the first entry.
    ///
    /// # Errors
    /// [`Error::OutOfEvidence`] where that lies before `oldest`, or the log does not know when its
    /// entries were appended; and what reading the log returns.
    pub fn resolve(&self, log: &dyn Log, oldest: Index, last: Index, mut notes: impl Notes) -> Result<Index, Error> {
        let index = match *self {
            IndexExpr::At(n) if n > last.0 => {
                notes.note(format!("index {n} is past the end of the log; the last entry, {last}, is taken"));
                last
            }
            IndexExpr::At(n) => Index(n),
            IndexExpr::Back(n) => match last.0.checked_sub(n) {
                Some(index) => Index(index),
                None => return Err(too_old(self, oldest, last)),
            },
            IndexExpr::Time(time) => return last_at(log, time, oldest, last),
        };
        if index < oldest { Err(too_old(self, oldest, last)) } else { Ok(index) }
    }
}

fn too_old(asked: &IndexExpr, oldest: Index, last: Index) -> Error {
    Error::OutOfEvidence(format!(
        "index {asked} is not in the evidence, which reaches from {oldest} to {last}; give one of these"
    ))
}

/// What the log knows of times around one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Around {
    /// The last entry appended at or before the time.
    before: Option<Index>,
    /// The first entry after the time.
    after: Option<Index>,
    /// The first entry of which the time is known.
    first_timed: Option<Index>,
    /// There are entries of which it is not.
    untimed: bool,
}

/// Looks at every entry: clocks of different leaders need not agree, so the times need not rise.
fn around(log: &dyn Log, time: Timestamp, first: Index, last: Index) -> Result<Around, Error> {
    let mut found = Around::default();
    log.scan(first..=last, &mut |scanned| {
        if let Scanned::Entry(record) = scanned {
            match record.appended_at {
                Some(at) => {
                    found.first_timed.get_or_insert(record.index);
                    if at <= time {
                        found.before = Some(record.index);
                    } else {
                        found.after.get_or_insert(record.index);
                    }
                }
                None => found.untimed = true,
            }
        }
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

fn unknown_times(found: &Around, time: Timestamp) -> Error {
    Error::OutOfEvidence(match found.first_timed {
        Some(first) if found.untimed => {
            format!("no entry is known to be appended at or before {time}: times are known only from index {first} on; give an index")
        }
        Some(first) => format!("{time} lies before the first entry, {first}, was appended"),
        None => "this log does not know when its entries were appended (Nomad notes it since 1.3); give an index instead of a time".into(),
    })
}

/// The last entry appended at or before `time`.
fn last_at(log: &dyn Log, time: Timestamp, oldest: Index, last: Index) -> Result<Index, Error> {
    let found = around(log, time, oldest, last)?;
    found.before.ok_or_else(|| unknown_times(&found, time))
}

/// The first entry appended at or after `time`; `None` when all are older. Entries at the log's
/// front of which the time is not known, as that of the very first never is, count as older.
///
/// # Errors
/// As [`IndexExpr::resolve`].
pub fn first_since(
    log: &dyn Log,
    time: Timestamp,
    first: Index,
    last: Index,
    mut notes: impl Notes,
) -> Result<Option<Index>, Error> {
    // What lies after the last entry that is too old is new enough, whatever single clocks say.
    let just_before = time.checked_sub(jiff::SignedDuration::from_nanos(1)).unwrap_or(time);
    let found = around(log, just_before, first, last)?;
    let Some(first_timed) = found.first_timed else { return Err(unknown_times(&found, time)) };
    if found.before.is_none() && first_timed.prev() > first {
        notes.warn(format!(
            "when entries {first} to {} were appended is not known; they are left out",
            first_timed.prev()
        ));
    }
    Ok(match found.before {
        None => found.after,
        Some(before) if before >= last => None,
        Some(before) => Some(before.next()),
    })
}

/// True when a time lies before the entry `first` was appended; false where the log does not know.
///
/// # Errors
/// When the log cannot be read.
pub fn is_before(log: &dyn Log, time: Timestamp, first: Index, last: Index) -> Result<bool, Error> {
    let found = around(log, time, first, last)?;
    Ok(found.before.is_none() && found.first_timed == Some(first))
}

#[cfg(test)]
mod tests {
    use std::ops::RangeInclusive;

    use super::*;
    use crate::evidence::{EvidenceError, LogType, Record};
    use crate::notes::Level;
    use crate::types::Term;

    /// Entries from 1 on, each with the second at which it was appended.
    struct Times(Vec<Option<i64>>);

    impl Log for Times {
        fn bounds(&self) -> Option<(Index, Index)> {
            Some((Index(1), Index(self.0.len() as u64)))
        }

        fn scan(
            &self,
            range: RangeInclusive<Index>,
            sink: &mut dyn FnMut(Scanned<'_>) -> ControlFlow<()>,
        ) -> Result<(), EvidenceError> {
            for (i, second) in self.0.iter().enumerate() {
                let index = Index(i as u64 + 1);
                let appended_at = second.map(|s| Timestamp::from_second(s).unwrap());
                let record = Record { index, term: Term(1), kind: LogType::Noop, data: &[], appended_at };
                if range.contains(&index) && sink(Scanned::Entry(record)).is_break() {
                    break;
                }
            }
            Ok(())
        }

        fn data(&self, _: Index) -> Result<Option<Vec<u8>>, EvidenceError> {
            Ok(None)
        }
    }

    fn resolved(text: &str, log: &Times) -> Result<(u64, usize), Error> {
        let mut notes: Vec<(Level, String)> = Vec::new();
        let last = log.bounds().unwrap().1;
        let index = text.parse::<IndexExpr>().unwrap().resolve(log, Index(1), last, &mut notes)?;
        Ok((index.0, notes.len()))
    }

    #[test]
    fn numbers_mean_what_nomad_documents() {
        let log = Times(vec![None; 10]);
        assert_eq!(resolved("5", &log).unwrap(), (5, 0));
        assert_eq!(resolved("-3", &log).unwrap(), (7, 0));
        assert_eq!(resolved("0", &log).unwrap(), (10, 0));
        assert_eq!(resolved("-0", &log).unwrap(), (10, 0));
        assert_eq!(resolved("99", &log).unwrap(), (10, 1), "with a note");
        assert_eq!(resolved("-9", &log).unwrap(), (1, 0));
        for text in ["-10", "-99"] {
            assert!(matches!(resolved(text, &log), Err(Error::OutOfEvidence(_))), "{text}");
        }
    }

    #[test]
    fn a_time_is_the_last_entry_appended_by_then() {
        let log = Times(vec![None, Some(10), Some(20), Some(20), Some(30)]);
        let at = |s: i64| format!("@{}", Timestamp::from_second(s).unwrap());
        assert_eq!(resolved(&at(10), &log).unwrap().0, 2);
        assert_eq!(resolved(&at(25), &log).unwrap().0, 4);
        assert_eq!(resolved(&at(99), &log).unwrap().0, 5);
        let early = resolved(&at(9), &log).unwrap_err().to_string();
        assert!(early.contains("from index 2 on"), "{early}");
        let never = resolved(&at(9), &Times(vec![None; 3])).unwrap_err().to_string();
        assert!(never.contains("since 1.3"), "{never}");
    }

    #[test]
    fn since_is_the_first_entry_appended_at_or_after() {
        let log = Times(vec![Some(10), Some(20), Some(20), Some(30)]);
        let since = |s: i64| {
            let mut notes: Vec<(Level, String)> = Vec::new();
            first_since(&log, Timestamp::from_second(s).unwrap(), Index(1), Index(4), &mut notes).unwrap()
        };
        assert_eq!(since(1), Some(Index(1)));
        assert_eq!(since(20), Some(Index(2)));
        assert_eq!(since(21), Some(Index(4)));
        assert_eq!(since(31), None);
    }

    #[test]
    fn what_is_no_index_is_told_what_is_one() {
        for text in ["", "abc", "1.5", "--3", "+5", "Cargo.toml", "@yesterday", "99999999999999999999999"] {
            assert!(text.parse::<IndexExpr>().is_err(), "{text}");
        }
        assert!("Cargo.toml".parse::<IndexExpr>().unwrap_err().to_string().contains("a file, not an index"));
        assert!("@2026-11-30".parse::<IndexExpr>().unwrap_err().to_string().contains("RFC 3339"));
    }
}
