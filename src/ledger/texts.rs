//! What a row of `entry` says in words.

use std::fmt::Write as _;

use jiff::Timestamp;
use rusqlite::Result;

use super::insert::Insert;
use super::ops::EntryRow;
use crate::entry::message_type::MessageTypes;
use crate::evidence::LogType;

/// raft's name of an entry for the FSM.
const COMMAND: &str = "LogCommand";

/// Makes the texts of rows, and makes none twice where the next row has the same.
pub(super) struct Texts {
    types: MessageTypes,
    /// The names of message types, by number, once they were met.
    names: Vec<Option<String>>,
    time: Time,
    hash: String,
}

/// A row of `entry` with its texts.
pub(super) struct EntryTexts<'t> {
    row: &'t EntryRow,
    kind: Option<&'t str>,
    appended_at: Option<&'t str>,
    hash: &'t str,
}

impl Texts {
    /// Texts with those names of message types.
    pub(super) fn new(types: MessageTypes) -> Self {
        Texts { types, names: vec![None; 256], time: Time::default(), hash: String::new() }
    }

    /// A row with its texts.
    pub(super) fn of<'t>(&'t mut self, row: &'t EntryRow) -> EntryTexts<'t> {
        let Texts { types, names, time, hash } = self;
        hash.clear();
        let digit = |at: u32| char::from_digit((row.hash >> (60 - 4 * at) & 0xf) as u32, 16).unwrap_or_default();
        hash.extend((0..16).map(digit));
        let kind = row.kind.and_then(|kind| {
            let name = names.get_mut(usize::from(kind))?;
            Some(&**name.get_or_insert_with(|| types.name(kind).into_owned()))
        });
        EntryTexts { row, kind, appended_at: row.appended_at.map(|at| time.of(at)), hash }
    }
}

impl EntryTexts<'_> {
    /// Inserts all columns in their order.
    pub(super) const INSERT: &'static str =
        "INSERT INTO entry (idx, term, log_type, type, bytes, appended_at, outcome, detail, hash)
                                  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";

    /// Binds the values of all columns.
    pub(super) fn values(&self, out: &mut Insert<'_>) -> Result<()> {
        let row = self.row;
        out.int(Some(row.idx))?;
        out.int(Some(row.term))?;
        match row.log_type {
            LogType::Command => out.word(Some(COMMAND))?,
            other => out.word(Some(&other.name()))?,
        }
        out.word(self.kind)?;
        out.int(Some(row.bytes))?;
        out.text(self.appended_at)?;
        out.word(Some(row.outcome))?;
        out.word(row.detail.as_deref())?;
        out.text(Some(self.hash))
    }
}

/// Times as they stand in the ledger, always with nine decimals, so that times sort as text.
#[derive(Default)]
struct Time {
    /// The second that the text is of.
    second: Option<i64>,
    text: String,
}

impl Time {
    fn of(&mut self, time: Timestamp) -> &str {
        let (second, nanos) = (time.as_second(), time.subsec_nanosecond());
        if self.second != Some(second) || nanos < 0 {
            self.text.clear();
            // Writing to a String does not fail.
            let _ = write!(self.text, "{time:.9}");
            // Before 1970 the two parts of a time are negative.
            self.second = Some(second).filter(|second| *second > 0);
            return &self.text;
        }
        // Many entries are of one second: only its fraction is written anew.
        self.text.truncate(self.text.len().saturating_sub("000000000Z".len()));
        let digit = |at: u32| char::from_digit(nanos.unsigned_abs() / 10_u32.pow(8 - at) % 10, 10).unwrap_or_default();
        self.text.extend((0..9).map(digit).chain(['Z']));
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_one_by_one() {
        let mut texts = Time::default();
        for nanos in [0, 1, 999_999_999, 1_000_000_000, 1_000_000_001, -1, -1_500_000_000, 1_796_048_018_123_456_789] {
            for more in [0, 7, 30_000] {
                let time = Timestamp::from_nanosecond(nanos + more).unwrap();
                assert_eq!(texts.of(time), format!("{time:.9}"));
            }
        }
    }
}
