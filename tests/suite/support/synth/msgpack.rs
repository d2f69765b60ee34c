//! Writes msgpack as Nomad 2.0.5 does (storage.md 3.3, 4.2): texts and bytes alike as the old raw family, Go's signed
//! integers in signed forms and unsigned ones in unsigned forms, times as raws of 15 bytes, structs as maps in order of key.

use serde_json::Value;

/// A value that can be written.
pub trait Encode {
    /// Appends its msgpack form.
    fn encode(&self, out: &mut Vec<u8>);
}

/// A nil pointer, slice or map.
pub struct Nil;
/// A Go unsigned integer.
pub struct Unsigned(pub u64);
/// A Go byte slice.
pub struct Raw<'a>(pub &'a [u8]);
/// A Go `time.Time`, in nanoseconds since 1970; none is Go's zero time.
pub struct Time(pub Option<i64>);
/// A struct or a map with text keys: its fields in the order in which they are to be written.
pub struct Map<'a>(pub &'a [(&'a str, &'a dyn Encode)]);
/// A struct whose zero fields are omitted (`Evaluation`, `Allocation`).
pub struct Omitting<'a>(pub &'a [(&'a str, &'a dyn Encode)]);
/// A slice that is not nil.
pub struct List<'a, T>(pub &'a [T]);
/// A map keyed by structs.
pub struct Pairs<K, V>(pub Vec<(K, V)>);

impl Encode for Nil {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(0xc0);
    }
}

impl Encode for bool {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(if *self { 0xc3 } else { 0xc2 });
    }
}

impl Encode for i64 {
    fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            -32..=127 => out.push(*self as u8),
            value => {
                if let Ok(value) = i8::try_from(value) {
                    out.push(0xd0);
                    out.extend(value.to_be_bytes());
                } else if let Ok(value) = i16::try_from(value) {
                    out.push(0xd1);
                    out.extend(value.to_be_bytes());
                } else if let Ok(value) = i32::try_from(value) {
                    out.push(0xd2);
                    out.extend(value.to_be_bytes());
                } else {
                    out.push(0xd3);
                    out.extend(value.to_be_bytes());
                }
            }
        }
    }
}

impl Encode for Unsigned {
    fn encode(&self, out: &mut Vec<u8>) {
        let value = self.0;
        if value <= 127 {
            out.push(value as u8);
        } else if let Ok(value) = u8::try_from(value) {
            out.extend([0xcc, value]);
        } else if let Ok(value) = u16::try_from(value) {
            out.push(0xcd);
            out.extend(value.to_be_bytes());
        } else if let Ok(value) = u32::try_from(value) {
            out.push(0xce);
            out.extend(value.to_be_bytes());
        } else {
            out.push(0xcf);
            out.extend(value.to_be_bytes());
        }
    }
}

impl Encode for f64 {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(0xcb);
        out.extend(self.to_be_bytes());
    }
}

/// JSON, for bodies of which only a few fields matter.
impl Encode for Value {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Value::Null => Nil.encode(out),
            Value::Bool(value) => value.encode(out),
            Value::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(value), _) => value.encode(out),
                (None, Some(value)) => Unsigned(value).encode(out),
                (None, None) => number.as_f64().unwrap_or_default().encode(out),
            },
            Value::String(text) => text.encode(out),
            Value::Array(items) => List(items).encode(out),
            Value::Object(fields) => {
                let fields: Vec<_> = fields.iter().map(|(key, value)| (key.as_str(), value as &dyn Encode)).collect();
                Map(&fields).encode(out);
            }
        }
    }
}

impl Encode for Raw<'_> {
    fn encode(&self, out: &mut Vec<u8>) {
        length(out, self.0.len(), 0xa0, 31, [0xda, 0xdb]);
        out.extend_from_slice(self.0);
    }
}

impl Encode for &str {
    fn encode(&self, out: &mut Vec<u8>) {
        Raw(self.as_bytes()).encode(out);
    }
}

impl Encode for String {
    fn encode(&self, out: &mut Vec<u8>) {
        self.as_str().encode(out);
    }
}

impl<T: Encode> Encode for Option<T> {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Some(value) => value.encode(out),
            None => Nil.encode(out),
        }
    }
}

impl Encode for Time {
    fn encode(&self, out: &mut Vec<u8>) {
        /// Seconds from year 1 to 1970.
        const TO_1970: i64 = 62_135_596_800;
        const NANOS: i64 = 1_000_000_000;
        let (seconds, nanos) = match self.0 {
            Some(time) => (time.div_euclid(NANOS) + TO_1970, time.rem_euclid(NANOS)),
            None => (0, 0),
        };
        let mut bytes = vec![1];
        bytes.extend(seconds.to_be_bytes());
        bytes.extend((nanos as u32).to_be_bytes());
        bytes.extend([0xff, 0xff]);
        Raw(&bytes).encode(out);
    }
}

impl Encode for Map<'_> {
    fn encode(&self, out: &mut Vec<u8>) {
        map(out, self.0.len());
        for (key, value) in self.0 {
            key.encode(out);
            value.encode(out);
        }
    }
}

impl Encode for Omitting<'_> {
    fn encode(&self, out: &mut Vec<u8>) {
        let mut fields = Vec::new();
        let mut count = 0;
        for (key, value) in self.0 {
            let start = fields.len();
            key.encode(&mut fields);
            let at = fields.len();
            value.encode(&mut fields);
            if matches!(fields[at..], [0xc0 | 0xc2 | 0x00 | 0xa0]) {
                fields.truncate(start);
            } else {
                count += 1;
            }
        }
        map(out, count);
        out.extend(fields);
    }
}

impl<T: Encode> Encode for List<'_, T> {
    fn encode(&self, out: &mut Vec<u8>) {
        length(out, self.0.len(), 0x90, 15, [0xdc, 0xdd]);
        self.0.iter().for_each(|value| value.encode(out));
    }
}

impl<K: Encode, V: Encode> Encode for Pairs<K, V> {
    fn encode(&self, out: &mut Vec<u8>) {
        map(out, self.0.len());
        for (key, value) in &self.0 {
            key.encode(out);
            value.encode(out);
        }
    }
}

/// A value written by a function.
pub struct With<F>(F);

/// A value written by a function, for structs that stand in several requests.
pub fn with<F: Fn(&mut Vec<u8>)>(write: F) -> With<F> {
    With(write)
}

impl<F: Fn(&mut Vec<u8>)> Encode for With<F> {
    fn encode(&self, out: &mut Vec<u8>) {
        self.0(out);
    }
}

fn map(out: &mut Vec<u8>, count: usize) {
    length(out, count, 0x80, 15, [0xde, 0xdf]);
}

/// A length: in the first byte up to `most`, else after one of two codes as 16 or 32 bits.
fn length(out: &mut Vec<u8>, length: usize, small: u8, most: usize, codes: [u8; 2]) {
    if length <= most {
        out.push(small | length as u8);
    } else if let Ok(length) = u16::try_from(length) {
        out.push(codes[0]);
        out.extend(length.to_be_bytes());
    } else {
        out.push(codes[1]);
        out.extend((length as u32).to_be_bytes());
    }
}
