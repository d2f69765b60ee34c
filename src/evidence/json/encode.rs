//! From the JSON of an entry's body back to the msgpack that Nomad wrote, so that all that follows
//! reads both alike (storage.md 3.3, 4.2).
//!
//! What JSON has lost stays lost: bytes that were no text. The order of keys never mattered.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::entry::time::{GO_TO_UNIX, GoTime};

/// Fields that are Go times in Nomad's structs; there, and only there, text that reads as a time is one.
const TIMES: [&str; 14] = [
    "AccessTime",
    "CreateTime",
    "ExpirationTime",
    "ExpiresAt",
    "FinishedAt",
    "ForceDeadline",
    "LastRestart",
    "LastTransition",
    "RequireProgressBy",
    "StartedAt",
    "Time",
    "Timestamp",
    "UpdateTime",
    "UpdatedAt",
];

/// Where a value stands, as far as its encoding depends on that.
#[derive(Clone, Copy, PartialEq)]
enum Place<'k> {
    /// The body of a batch deregister.
    BatchBody,
    /// Its `Jobs`, whose keys are maps on the wire and `namespace.id` in JSON.
    BatchJobs,
    /// Under a key, or in a list there.
    Key(&'k str),
    Elsewhere,
}

/// Appends the msgpack of one JSON text. `batch_deregister` marks the body whose job map has maps as keys.
///
/// # Errors
/// When the text is no JSON.
pub fn encode(json: &[u8], batch_deregister: bool, out: &mut Vec<u8>) -> serde_json::Result<()> {
    let place = if batch_deregister { Place::BatchBody } else { Place::Elsewhere };
    let mut json = serde_json::Deserializer::from_slice(json);
    Encoder { out, place }.deserialize(&mut json)?;
    json.end()
}

struct Encoder<'o, 'k> {
    out: &'o mut Vec<u8>,
    place: Place<'k>,
}

/// Appends text in the old raw family, which Nomad's writers use for everything.
pub fn raw(bytes: &[u8], out: &mut Vec<u8>) {
    match bytes.len() {
        len @ 0..=31 => out.push(0xa0 | len as u8),
        len @ 32..=0xffff => {
            out.push(0xda);
            out.extend_from_slice(&(len as u16).to_be_bytes());
        }
        len => {
            out.push(0xdb);
            out.extend_from_slice(&(len as u32).to_be_bytes());
        }
    }
    out.extend_from_slice(bytes);
}

fn int(n: i64, out: &mut Vec<u8>) {
    match n {
        -32..=127 => out.push(n as u8),
        _ => {
            out.push(0xd3);
            out.extend_from_slice(&n.to_be_bytes());
        }
    }
}

/// Appends a head whose count is not known yet; [`set_count`] writes it.
fn open(head: u8, out: &mut Vec<u8>) -> usize {
    out.extend_from_slice(&[head, 0, 0, 0, 0]);
    out.len()
}

fn set_count(behind: usize, count: u32, out: &mut [u8]) {
    if let Some(place) = out.get_mut(behind - 4..behind) {
        place.copy_from_slice(&count.to_be_bytes());
    }
}

/// A time as Go prints it, in the 15 bytes of its binary form; `None` for other text.
fn time(text: &str) -> Option<[u8; 15]> {
    let at: jiff::Timestamp = text.parse().ok()?;
    let zone = match text.strip_suffix('Z') {
        Some(_) => -1,
        None => {
            let (sign, clock) = text.split_at_checked(text.len().checked_sub(6)?)?.1.split_at_checked(1)?;
            let (hours, minutes) = clock.split_once(':')?;
            let minutes = hours.parse::<i16>().ok()? * 60 + minutes.parse::<i16>().ok()?;
            if sign == "-" { -minutes } else { minutes }
        }
    };
    let nanos = at.subsec_nanosecond();
    // The nanoseconds of a moment before 1970 count back from its second.
    let borrow = i64::from(nanos < 0);
    let time = GoTime {
        seconds: at.as_second() - borrow + GO_TO_UNIX,
        nanos: u32::try_from(i64::from(nanos) + borrow * 1_000_000_000).ok()?,
        zone: 0,
    };
    let mut out = [1; 15];
    out[1..9].copy_from_slice(&time.seconds.to_be_bytes());
    out[9..13].copy_from_slice(&time.nanos.to_be_bytes());
    out[13..].copy_from_slice(&i16::to_be_bytes(zone));
    Some(out)
}

/// `namespace.id` as the map that is the key on the wire. No namespace has a dot in it.
fn job_key(key: &str, out: &mut Vec<u8>) {
    let (namespace, id) = key.split_once('.').unwrap_or(("default", key));
    out.push(0x82);
    for part in ["ID", id, "Namespace", namespace] {
        raw(part.as_bytes(), out);
    }
}

impl<'de> DeserializeSeed<'de> for Encoder<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Encoder<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.out.push(0xc0);
        Ok(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.out.push(if value { 0xc3 } else { 0xc2 });
        Ok(())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        int(value, self.out);
        Ok(())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        match i64::try_from(value) {
            Ok(value) => int(value, self.out),
            Err(_) => {
                self.out.push(0xcf);
                self.out.extend_from_slice(&value.to_be_bytes());
            }
        }
        Ok(())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.out.push(0xcb);
        self.out.extend_from_slice(&value.to_be_bytes());
        Ok(())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        match self.place {
            Place::Key(key) if TIMES.contains(&key) => match time(value) {
                Some(time) => raw(&time, self.out),
                None => raw(value.as_bytes(), self.out),
            },
            _ => raw(value.as_bytes(), self.out),
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let place = if let Place::Key(key) = self.place { Place::Key(key) } else { Place::Elsewhere };
        let behind = open(0xdd, self.out);
        let mut count = 0;
        while items.next_element_seed(Encoder { out: self.out, place })?.is_some() {
            count += 1;
        }
        set_count(behind, count, self.out);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<(), A::Error> {
        let behind = open(0xdf, self.out);
        let mut count = 0;
        while let Some(key) = pairs.next_key::<std::borrow::Cow<'_, str>>()? {
            if self.place == Place::BatchJobs {
                job_key(&key, self.out);
            } else {
                raw(key.as_bytes(), self.out);
            }
            let place = match (self.place, &*key) {
                (Place::BatchBody, "Jobs") => Place::BatchJobs,
                (_, key) => Place::Key(key),
            };
            pairs.next_value_seed(Encoder { out: self.out, place })?;
            count += 1;
        }
        set_count(behind, count, self.out);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::msgpack::{Reader, Token};

    fn encoded(json: &str, batch: bool) -> Vec<u8> {
        let mut out = Vec::new();
        encode(json.as_bytes(), batch, &mut out).unwrap();
        let mut reader = Reader::new(&out);
        reader.skip().unwrap();
        assert!(reader.is_empty());
        out
    }

    #[test]
    fn scalars_keep_their_values() {
        let bytes = encoded(r#"[null,true,-5,-33,200,18446744073709551615,1.5,"é"]"#, false);
        let mut r = Reader::new(&bytes);
        assert_eq!(r.array(), Ok(Some(8)));
        let tokens: Vec<_> = (0..8).map(|_| r.token().unwrap()).collect();
        let want = [
            Token::Nil,
            Token::Bool(true),
            Token::Int(-5),
            Token::Int(-33),
            Token::Int(200),
            Token::Uint(u64::MAX),
            Token::Float(1.5),
            Token::Raw("é".as_bytes()),
        ];
        assert_eq!(tokens, want);
    }

    #[test]
    fn only_fields_that_hold_times_turn_text_into_times() {
        let bytes = encoded(
            r#"{"StartedAt":"2021-01-18T14:05:00.000000123+01:00","Meta":{"day":"2021-01-18T14:05:00Z"}}"#,
            false,
        );
        let mut times = Vec::new();
        Reader::new(&bytes)
            .fields(|key, r| {
                if key == b"StartedAt" {
                    times.push(GoTime::from_raw(r.raw()?));
                    return Ok(());
                }
                r.fields(|_, r| r.raw().map(|raw| times.push(GoTime::from_raw(raw)))).map(|_| ())
            })
            .unwrap();
        let at: jiff::Timestamp = "2021-01-18T13:05:00Z".parse().unwrap();
        assert_eq!(times, [Some(GoTime { seconds: at.as_second() + GO_TO_UNIX, nanos: 123, zone: 3600 }), None]);
        let zero = encoded(r#"{"FinishedAt":"0001-01-01T00:00:00Z"}"#, false);
        assert_eq!(GoTime::from_raw(&zero[zero.len() - 15..]), Some(GoTime::default()));
    }

    #[test]
    fn the_jobs_of_a_batch_deregister_get_maps_as_keys() {
        let bytes = encoded(r#"{"Jobs":{"default.web.old":{"Purge":true}}}"#, true);
        let want = b"\x82\xa2ID\xa7web.old\xa9Namespace\xa7default";
        assert!(bytes.windows(want.len()).any(|window| window == want));
    }
}
