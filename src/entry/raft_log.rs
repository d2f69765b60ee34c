//! raft's envelope around each log entry, as raft-boltdb stores it (storage.md 3.1).
//!
//! A msgpack map with the keys `Index`, `Term`, `Type`, `Data`, `Extensions` and, since Nomad 1.3,
//! `AppendedAt`; in any order, a missing one is zero, and others are ignored.

use jiff::Timestamp;

use super::msgpack::{DecodeError, Reader, Token};
use super::time::{GO_TO_UNIX, GoTime};
use crate::evidence::{LogType, Record};
use crate::types::{Index, Term};

/// Why a value is not a log entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RaftLogError {
    /// It is not the msgpack of a log entry.
    #[error(transparent)]
    Msgpack(#[from] DecodeError),
    /// It is nil or lacks an index or a term, which every entry has.
    #[error("there is no index and term in it")]
    NoEntry,
    /// Bytes follow the entry.
    #[error("{0} bytes follow the entry")]
    Trailing(usize),
}

/// Decodes the stored form of an entry; the payload is borrowed.
///
/// # Errors
/// When the value is not wholly one log entry.
pub fn decode(value: &[u8]) -> Result<Record<'_>, RaftLogError> {
    let mut record = Record { index: Index(0), term: Term(0), kind: LogType::Command, data: &[], appended_at: None };
    let mut reader = Reader::new(value);
    reader.fields(|key, r| {
        match key {
            b"Index" => record.index = Index(r.uint()?),
            b"Term" => record.term = Term(r.uint()?),
            b"Type" => record.kind = LogType::from_number(r.uint()?),
            b"Data" => record.data = r.raw()?,
            b"AppendedAt" => record.appended_at = appended_at(r)?,
            _ => r.skip()?,
        }
        Ok(())
    })?;
    if !reader.is_empty() {
        return Err(RaftLogError::Trailing(value.len().saturating_sub(reader.position())));
    }
    if record.index == Index(0) || record.term == Term(0) {
        return Err(RaftLogError::NoEntry);
    }
    Ok(record)
}

/// The time in any of its encodings (storage.md 3.3); `None` for the zero time, and for a value that
/// is no time, since the entry is worth more than its clock.
fn appended_at(reader: &mut Reader<'_>) -> Result<Option<Timestamp>, DecodeError> {
    let mut ahead = reader.clone();
    let token = ahead.token()?;
    reader.skip()?;
    Ok(match token {
        Token::Raw(bytes) | Token::Ext(-1, bytes) => GoTime::from_raw(bytes).and_then(timestamp),
        _ => None,
    })
}

/// `None` for the zero time and for what lies beyond the calendar.
pub fn timestamp(time: GoTime) -> Option<Timestamp> {
    if time.is_zero() {
        return None;
    }
    Timestamp::new(time.seconds.checked_sub(GO_TO_UNIX)?, i32::try_from(time.nanos).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(fields: &[(&str, &[u8])]) -> Vec<u8> {
        let mut out = vec![0x80 | fields.len() as u8];
        for (key, value) in fields {
            out.push(0xa0 | key.len() as u8);
            out.extend_from_slice(key.as_bytes());
            out.extend_from_slice(value);
        }
        out
    }

    #[test]
    fn keys_in_any_order_and_unknown_ones_are_read() {
        let bytes = envelope(&[
            ("Type", &[5]),
            ("Future", &[0x92, 1, 0x81, 0xa1, b'x', 2]),
            ("Data", &[0xa2, 4, 0x80]),
            ("Term", &[0xd1, 1, 0]),
            ("Index", &[0xcf, 0, 0, 0, 1, 0, 0, 0, 0]),
        ]);
        let record = decode(&bytes).unwrap();
        assert_eq!((record.index, record.term, record.kind), (Index(1 << 32), Term(256), LogType::Configuration));
        assert_eq!(record.data, [4, 0x80]);
        assert_eq!(record.appended_at, None);
    }

    #[test]
    fn a_missing_field_is_zero_but_index_and_term_must_be_there() {
        let record_bytes = envelope(&[("Index", &[3]), ("Term", &[2])]);
        let record = decode(&record_bytes).unwrap();
        assert_eq!((record.kind, record.data), (LogType::Command, &[][..]));
        for fields in [&[("Index", &[3][..])][..], &[("Term", &[3])], &[]] {
            assert_eq!(decode(&envelope(fields)).unwrap_err(), RaftLogError::NoEntry);
        }
        assert_eq!(decode(&[0xc0]).unwrap_err(), RaftLogError::NoEntry);
    }

    #[test]
    fn bytes_after_the_entry_are_refused() {
        let mut bytes = envelope(&[("Index", &[3]), ("Term", &[2])]);
        bytes.extend_from_slice(&[0, 0]);
        assert_eq!(decode(&bytes).unwrap_err(), RaftLogError::Trailing(2));
    }

    #[test]
    fn the_time_is_read_in_each_encoding() {
        let at: Timestamp = "2021-01-18T14:05:00.000000123Z".parse().unwrap();
        let seconds = at.as_second();
        let mut binary = vec![0xaf, 1];
        binary.extend_from_slice(&(seconds + GO_TO_UNIX).to_be_bytes());
        binary.extend_from_slice(&[0, 0, 0, 123, 0xff, 0xff]);
        let packed = ((123_u64 << 34) | seconds as u64).to_be_bytes();
        let mut long = vec![0, 0, 0, 123];
        long.extend_from_slice(&seconds.to_be_bytes());
        for value in [
            binary,
            [&[0xa8][..], &packed].concat(),
            [&[0xac][..], &long].concat(),
            [&[0xd7, 0xff][..], &packed].concat(),
        ] {
            let bytes = envelope(&[("AppendedAt", &value), ("Index", &[3]), ("Term", &[2])]);
            assert_eq!(decode(&bytes).unwrap().appended_at, Some(at), "{value:x?}");
        }
        let short = [&[0xa4][..], &(seconds as u32).to_be_bytes()].concat();
        let bytes = envelope(&[("AppendedAt", &short), ("Index", &[3]), ("Term", &[2])]);
        assert_eq!(decode(&bytes).unwrap().appended_at.map(|t| t.as_second()), Some(seconds));
    }

    #[test]
    fn the_zero_time_and_what_is_no_time_are_none() {
        let zero = [&[0xaf, 1][..], &[0; 12], &[0xff, 0xff]].concat();
        for value in [&zero[..], &[0xc0], &[0xa3, 1, 2, 3], &[0x91, 0x07], &[0x07]] {
            let bytes = envelope(&[("AppendedAt", value), ("Index", &[3]), ("Term", &[2])]);
            assert_eq!(decode(&bytes).unwrap().appended_at, None, "{value:x?}");
        }
    }
}
