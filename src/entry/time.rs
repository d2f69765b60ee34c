//! Go's `time.Time` as it stands in entries (storage.md 3.3) and as Go prints it (state-rows.md 1.5).

use std::cmp::Ordering;
use std::fmt;

use jiff::Timestamp;
use jiff::tz::Offset;

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

    /// Unix nanoseconds; out of range wraps, as in Go.
    pub fn unix_nanos(self) -> i64 {
        self.seconds.wrapping_sub(GO_TO_UNIX).wrapping_mul(1_000_000_000).wrapping_add(i64::from(self.nanos))
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

    /// A time as [`GoTime::write`] prints it; `None` for other text.
    pub fn parse(text: &str) -> Option<Self> {
        let at: Timestamp = text.parse().ok()?;
        let zone = match text.as_bytes() {
            [.., b'Z'] => 0,
            [.., sign @ (b'+' | b'-'), _, _, b':', _, _] => {
                let (hours, minutes) = text.get(text.len().checked_sub(5)?..)?.split_once(':')?;
                let seconds = hours.parse::<i32>().ok()? * 3600 + minutes.parse::<i32>().ok()? * 60;
                if *sign == b'-' { -seconds } else { seconds }
            }
            _ => return None,
        };
        // The nanoseconds of a moment before 1970 count back from its second.
        let nanos = at.as_nanosecond().rem_euclid(1_000_000_000);
        let seconds = i64::try_from(at.as_nanosecond().div_euclid(1_000_000_000)).ok()?;
        Some(GoTime { seconds: seconds + GO_TO_UNIX, nanos: u32::try_from(nanos).ok()?, zone })
    }

    /// Go's MarshalBinary form, version 1; seconds of the zone are dropped.
    pub fn to_binary(self) -> [u8; 15] {
        let mut out = [1; 15];
        let minutes = if self.zone == 0 { -1 } else { i16::try_from(self.zone / 60).unwrap_or(-1) };
        out[1..9].copy_from_slice(&self.seconds.to_be_bytes());
        out[9..13].copy_from_slice(&self.nanos.to_be_bytes());
        out[13..].copy_from_slice(&minutes.to_be_bytes());
        out
    }

    /// Seconds since the start of 1970; saturates.
    pub fn unix_seconds(self) -> i64 {
        self.seconds.saturating_sub(GO_TO_UNIX)
    }

    /// The moment, for arithmetic and for output of our own; `None` outside what jiff holds.
    pub fn timestamp(self) -> Option<Timestamp> {
        let nanos = i128::from(self.unix_seconds()) * 1_000_000_000 + i128::from(self.nanos);
        Timestamp::from_nanosecond(nanos).ok()
    }

    /// The wall clock in the stored zone; `None` outside the years 0 to 9999, which no JSON time can tell.
    fn civil(self) -> Option<jiff::civil::DateTime> {
        let civil = Offset::from_seconds(self.zone).ok()?.to_datetime(self.timestamp()?);
        (0..=9999).contains(&civil.year()).then_some(civil)
    }

    /// This time, or `None` if [`GoTime::write`] cannot print it.
    pub fn printable(self) -> Option<Self> {
        self.civil().map(|_| self)
    }

    /// Appends the time as Go's JSON prints it: RFC 3339, the fraction without trailing zeros, `Z` for UTC.
    /// A time outside the years 0 to 9999, or in a zone beyond a day, appends nothing and returns false.
    pub fn write(self, out: &mut Vec<u8>) -> bool {
        let Some(civil) = self.civil() else { return false };
        digits(out, civil.year().unsigned_abs().into(), 4);
        for (before, part) in [
            (b'-', civil.month()),
            (b'-', civil.day()),
            (b'T', civil.hour()),
            (b':', civil.minute()),
            (b':', civil.second()),
        ] {
            out.push(before);
            digits(out, part.unsigned_abs().into(), 2);
        }
        if self.nanos > 0 {
            out.push(b'.');
            digits(out, self.nanos, 9);
            while out.last() == Some(&b'0') {
                out.pop();
            }
        }
        if self.zone == 0 {
            out.push(b'Z');
        } else {
            out.push(if self.zone < 0 { b'-' } else { b'+' });
            let minutes = self.zone.unsigned_abs() / 60;
            digits(out, minutes / 60, 2);
            out.push(b':');
            digits(out, minutes % 60, 2);
        }
        true
    }
}

impl fmt::Display for GoTime {
    /// As [`GoTime::write`]; a time that it cannot print shows as Go's zero time.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Vec::with_capacity(36);
        if !self.write(&mut out) {
            return f.write_str("0001-01-01T00:00:00Z");
        }
        f.write_str(&String::from_utf8_lossy(&out))
    }
}

/// Appends `n` in decimal, zero-padded to `width` digits.
fn digits(out: &mut Vec<u8>, mut n: u32, width: usize) {
    let start = out.len();
    out.resize(start + width, b'0');
    for place in out.iter_mut().skip(start).rev() {
        *place = b'0' + (n % 10) as u8;
        n /= 10;
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

    fn binary(seconds: i64, nanos: u32, minutes: i16) -> Vec<u8> {
        let mut raw = vec![1];
        raw.extend((seconds + GO_TO_UNIX).to_be_bytes());
        raw.extend(nanos.to_be_bytes());
        raw.extend(minutes.to_be_bytes());
        raw
    }

    #[test]
    fn gos_binary_form_prints_as_go_prints_it() {
        for (seconds, nanos, minutes, want) in [
            (1_770_090_300, 551_000_000, -1, "2026-02-03T03:45:00.551Z"),
            (1_770_090_300, 0, -1, "2026-02-03T03:45:00Z"),
            (1_770_090_300, 1, 0, "2026-02-03T03:45:00.000000001Z"),
            (1_770_090_300, 120, 120, "2026-02-03T05:45:00.00000012+02:00"),
            (1_770_090_300, 0, -210, "2026-02-03T00:15:00-03:30"),
            (-1, 500_000_000, -1, "1969-12-31T23:59:59.5Z"),
            (-GO_TO_UNIX, 0, -1, "0001-01-01T00:00:00Z"),
        ] {
            assert_eq!(GoTime::from_raw(&binary(seconds, nanos, minutes)).unwrap().to_string(), want);
        }
    }

    #[test]
    fn what_is_printed_reads_back_and_makes_the_same_bytes() {
        for (seconds, nanos, minutes) in
            [(1_770_090_300, 551_000_000, -1), (1_770_090_300, 120, 120), (-1, 5, -210), (-GO_TO_UNIX, 0, -1)]
        {
            let raw = binary(seconds, nanos, minutes);
            let text = GoTime::from_raw(&raw).unwrap().to_string();
            assert_eq!(GoTime::parse(&text).unwrap().to_binary()[..], raw);
        }
        for text in ["", "2026-02-03", "2026-02-03T03:45:00", "now"] {
            assert_eq!(GoTime::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_zone_with_seconds_is_read() {
        let mut raw = binary(1_770_090_300, 0, 60);
        raw[0] = 2;
        raw.push(30);
        let time = GoTime::from_raw(&raw).unwrap();
        assert_eq!(time.zone, 3630);
        assert_eq!(time.to_string(), "2026-02-03T04:45:30+01:00");
    }

    #[test]
    fn msgpacks_own_timestamps_are_read_by_their_length() {
        let want = "2026-02-03T03:45:00.113Z";
        let (seconds, nanos) = (1_770_090_300u64, 113_000_000u64);
        let eight = (nanos << 34 | seconds).to_be_bytes();
        let twelve = [&(nanos as u32).to_be_bytes()[..], &(seconds as i64).to_be_bytes()].concat();
        assert_eq!(GoTime::from_raw(&eight).unwrap().to_string(), want);
        assert_eq!(GoTime::from_raw(&twelve).unwrap().to_string(), want);
        assert_eq!(GoTime::from_raw(&(seconds as u32).to_be_bytes()).unwrap().to_string(), "2026-02-03T03:45:00Z");
    }

    #[test]
    fn what_cannot_be_a_time_is_refused() {
        for raw in [
            &[][..],
            &[1; 15],
            &[1, 0, 0],
            &[0xff; 16],
            &[0xff; 12],
            &binary(0, 1_000_000_000, -1),
            &binary(400_000_000_000, 0, -1),
            &binary(0, 0, i16::MIN),
        ] {
            assert_eq!(GoTime::from_raw(raw).and_then(GoTime::printable), None, "{raw:x?}");
        }
    }
}
