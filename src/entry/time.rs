//! Go's `time.Time` as it stands in entries (storage.md 3.3).

use std::cmp::Ordering;

use super::msgpack::{DecodeError, Reader, Result, Token};
use super::wire::Wire;

/// Seconds between Go's epoch, the start of year 1, and the unix epoch.
pub const GO_TO_UNIX: i64 = 62_135_596_800;

/// A moment with the zone it was written in. The default is Go's zero time, the start of year 1 in UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GoTime {
    /// Seconds since 0001-01-01T00:00:00Z.
    pub seconds: i64,
    /// Nanoseconds within the second.
    pub nanos: u32,
    /// Seconds east of UTC.
    pub zone: i32,
}

impl GoTime {
    /// True for Go's zero time, which stands for "not set".
    pub fn is_zero(self) -> bool {
        self.seconds == 0 && self.nanos == 0
    }

    /// A moment in UTC from unix nanoseconds.
    pub fn from_unix_nanos(nanos: i64) -> Self {
        GoTime {
            seconds: nanos.div_euclid(1_000_000_000) + GO_TO_UNIX,
            nanos: nanos.rem_euclid(1_000_000_000) as u32,
            zone: 0,
        }
    }

    /// A moment in UTC from unix seconds; out of range saturates.
    pub fn from_unix_seconds(seconds: i64) -> Self {
        GoTime { seconds: seconds.saturating_add(GO_TO_UNIX), nanos: 0, zone: 0 }
    }

    /// This moment and `nanos` more, in the same zone.
    pub fn plus(self, nanos: i64) -> Self {
        let total = i64::from(self.nanos) + nanos.rem_euclid(1_000_000_000);
        GoTime {
            seconds: self
                .seconds
                .saturating_add(nanos.div_euclid(1_000_000_000))
                .saturating_add(total.div_euclid(1_000_000_000)),
            nanos: total.rem_euclid(1_000_000_000) as u32,
            zone: self.zone,
        }
    }

    /// The moment in a raw value: 15 or 16 bytes of Go's binary form, or 4, 8 or 12 bytes of
    /// msgpack's; `None` for any other content.
    pub fn from_raw(raw: &[u8]) -> Option<Self> {
        match raw.len() {
            15 | 16 => Self::from_binary(raw),
            4 => Some(Self::from_unix_seconds(i64::from(u32::from_be_bytes(raw.try_into().ok()?)))),
            8 => {
                let n = u64::from_be_bytes(raw.try_into().ok()?);
                Some(GoTime { nanos: (n >> 34) as u32, ..Self::from_unix_seconds((n & 0x3_ffff_ffff) as i64) })
            }
            12 => {
                let (nanos, seconds) = raw.split_at(4);
                let seconds = i64::from_be_bytes(seconds.try_into().ok()?);
                Some(GoTime { nanos: u32::from_be_bytes(nanos.try_into().ok()?), ..Self::from_unix_seconds(seconds) })
            }
            _ => None,
        }
        .filter(|t| t.nanos < 1_000_000_000)
    }

    /// Go's MarshalBinary form: version, seconds, nanoseconds, zone in minutes, and for version 2
    /// its seconds. A zone of -1 minute is UTC.
    fn from_binary(raw: &[u8]) -> Option<Self> {
        if !matches!((raw[0], raw.len()), (1, 15) | (2, 16)) {
            return None;
        }
        let minutes = i16::from_be_bytes(raw[13..15].try_into().ok()?);
        let rest = raw.get(15).map_or(0, |b| i32::from(*b as i8));
        Some(GoTime {
            seconds: i64::from_be_bytes(raw[1..9].try_into().ok()?),
            nanos: u32::from_be_bytes(raw[9..13].try_into().ok()?),
            zone: if minutes == -1 { 0 } else { i32::from(minutes) * 60 + rest },
        })
    }
}

impl PartialOrd for GoTime {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for GoTime {
    /// By the moment; the zone only breaks ties, so that order agrees with equality.
    fn cmp(&self, other: &Self) -> Ordering {
        (self.seconds, self.nanos, self.zone).cmp(&(other.seconds, other.nanos, other.zone))
    }
}

impl<'a> Wire<'a> for GoTime {
    fn read(r: &mut Reader<'a>) -> Result<Self> {
        let at = r.position();
        match r.token()? {
            Token::Nil => Ok(GoTime::default()),
            Token::Raw(raw) | Token::Ext(-1, raw) => {
                GoTime::from_raw(raw).ok_or(DecodeError::Type { at, wanted: "a time", found: "text" })
            }
            _ => Err(DecodeError::Type { at, wanted: "a time", found: "another type" }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zero_time_reads_as_zero() {
        let mut raw = [0; 15];
        raw[0] = 1;
        raw[13..].copy_from_slice(&[0xff, 0xff]);
        assert_eq!(GoTime::from_raw(&raw), Some(GoTime::default()));
    }

    #[test]
    fn the_eight_byte_form_splits_nanoseconds_and_seconds() {
        let raw = ((123_u64 << 34) | 1_796_047_473).to_be_bytes();
        let time = GoTime::from_raw(&raw).unwrap();
        assert_eq!((time.seconds - GO_TO_UNIX, time.nanos), (1_796_047_473, 123));
    }

    #[test]
    fn adding_carries_over_whole_seconds() {
        let time = GoTime::from_unix_nanos(1_999_999_999).plus(2);
        assert_eq!(time, GoTime::from_unix_nanos(2_000_000_001));
        assert_eq!(time.plus(-2_000_000_001), GoTime::from_unix_nanos(0));
    }

    #[test]
    fn text_of_the_right_length_is_no_time() {
        assert_eq!(GoTime::from_raw(b"fifteen letters"), None);
    }
}
