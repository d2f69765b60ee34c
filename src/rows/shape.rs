//! From a msgpack value and the name of its struct to the tree that Nomad would print for it (state-rows.md 1, 10).
//!
//! The structs are data, in `shapes.txt`: their fields in the order of output, with the kind of each. What the
//! entry does not carry gets its zero value; a field that the table does not know is printed after the known ones,
//! so that nothing of a newer Nomad is lost.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::value::{Object, Value};
use crate::entry::json::time_anywhere;
use crate::entry::msgpack::{DecodeError, MAX_DEPTH, Reader, Result, Token};
use crate::entry::time::GoTime;

/// What a field holds.
#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Text,
    Int,
    Float,
    Bool,
    Time,
    Bytes,
    Any,
    /// Nanoseconds, printed as Go prints a duration; `""` for none.
    Duration,
    /// Another struct, by its place in the table.
    Struct(usize),
    /// null when absent.
    Nullable(Box<Kind>),
    List(Box<Kind>),
    Map(Box<Kind>),
}

#[derive(Debug)]
struct Field {
    name: &'static str,
    kind: Kind,
    omit_zero: bool,
}

#[derive(Debug)]
struct Struct {
    fields: Vec<Field>,
    /// Fields that are on the wire but that Nomad never prints (state-rows.md 1.6).
    dropped: Vec<&'static str>,
    /// Places in `fields`, by name: entries have their fields in that order.
    sorted: Vec<usize>,
}

/// A struct of the table.
#[derive(Clone, Copy, Debug)]
pub struct Shape(usize);

struct Table {
    structs: Vec<Struct>,
    by_name: HashMap<&'static str, usize>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| parse(include_str!("shapes.txt")));

/// Reads the table: one struct a paragraph, `Name: field kind, field kind, …`. A kind that is no known word names a
/// struct; one that is not there reads as free-form, which a test rules out.
fn parse(source: &'static str) -> Table {
    let mut paragraphs: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in source.lines().filter(|l| !l.starts_with('#') && !l.trim().is_empty()) {
        let body = match (line.starts_with(' '), line.split_once(':')) {
            (false, Some((name, body))) => {
                paragraphs.push((name, Vec::new()));
                body
            }
            _ => line,
        };
        if let Some((_, words)) = paragraphs.last_mut() {
            words.extend(body.split_whitespace().map(|w| w.trim_end_matches(',')));
        }
    }
    let by_name: HashMap<_, _> = paragraphs.iter().enumerate().map(|(i, (name, _))| (*name, i)).collect();
    let structs = paragraphs.into_iter().map(|(_, words)| parse_fields(&words, &by_name)).collect();
    Table { structs, by_name }
}

fn parse_fields(words: &[&'static str], by_name: &HashMap<&str, usize>) -> Struct {
    let mut fields = Vec::new();
    let mut dropped = Vec::new();
    let mut words = words.iter();
    while let Some(name) = words.next() {
        if let Some(old) = name.strip_prefix('-') {
            dropped.push(old);
            continue;
        }
        let kind = words.next().copied().unwrap_or("any");
        let bare = kind.trim_end_matches('~');
        fields.push(Field { name, kind: parse_kind(bare, by_name), omit_zero: bare != kind });
    }
    let mut sorted: Vec<usize> = (0..fields.len()).collect();
    sorted.sort_by_key(|&i| fields.get(i).map_or("", |f| f.name));
    Struct { fields, dropped, sorted }
}

fn parse_kind(text: &str, by_name: &HashMap<&str, usize>) -> Kind {
    let inner = |open, close| text.strip_prefix(open).and_then(|t: &str| t.strip_suffix(close));
    if let Some(inner) = text.strip_suffix('?') {
        return Kind::Nullable(Box::new(parse_kind(inner, by_name)));
    }
    if let Some(inner) = inner('[', ']') {
        return Kind::List(Box::new(parse_kind(inner, by_name)));
    }
    if let Some(inner) = inner('{', '}') {
        return Kind::Map(Box::new(parse_kind(inner, by_name)));
    }
    match text {
        "text" => Kind::Text,
        "int" => Kind::Int,
        "float" => Kind::Float,
        "bool" => Kind::Bool,
        "time" => Kind::Time,
        "bytes" => Kind::Bytes,
        "duration" => Kind::Duration,
        name => by_name.get(name).map_or(Kind::Any, |&i| Kind::Struct(i)),
    }
}

/// The struct of that name, spelled as in state-rows.md 10; `None` for one that is not in the table.
pub fn shape(name: &str) -> Option<Shape> {
    TABLE.by_name.get(name).copied().map(Shape)
}

impl Shape {
    /// The struct that `r` stands at, as Nomad prints it; nil is a struct of zeros.
    ///
    /// # Errors
    /// When the value cannot be decoded. A field of another type than its own is no error: it is shown as it is.
    pub fn read(self, r: &mut Reader<'_>) -> Result<Object> {
        match read(&Kind::Struct(self.0), r, 0)? {
            Value::Object(object) => Ok(object),
            // Another type where the struct belongs.
            other => {
                let mut object = self.zero();
                object.insert(Cow::Borrowed("Value"), other);
                Ok(object)
            }
        }
    }

    /// The struct with every field at its zero value.
    pub fn zero(self) -> Object {
        match zero(&Kind::Struct(self.0)) {
            Value::Object(object) => object,
            _ => Object::default(),
        }
    }

    /// A struct of free form, for a name that is not in the table.
    pub(super) fn empty() -> Self {
        Shape(usize::MAX)
    }

    /// The list of such structs that `r` stands at; nil is null.
    ///
    /// # Errors
    /// As [`Shape::read`].
    pub fn read_list(self, r: &mut Reader<'_>) -> Result<Value> {
        read(&Kind::List(Box::new(Kind::Struct(self.0))), r, 0)
    }

    /// Only the field `name` of the struct that `r` stands at, as [`Shape::read`] would give it.
    ///
    /// # Errors
    /// As [`Shape::read`].
    pub fn read_field(self, r: &mut Reader<'_>, name: &str) -> Result<Value> {
        let field = TABLE.structs.get(self.0).and_then(|s| s.fields.iter().find(|f| f.name == name));
        let kind = field.map_or(&Kind::Any, |f| &f.kind);
        let mut found = zero(kind);
        r.fields(|key, r| {
            if key == name.as_bytes() {
                found = read(kind, r, 0)?;
                Ok(())
            } else {
                r.skip()
            }
        })?;
        Ok(found)
    }
}

/// Any msgpack value without knowing its struct: maps sorted by key, bytes that are no text as base64, times as times.
///
/// # Errors
/// When it cannot be decoded or is nested deeper than [`MAX_DEPTH`].
pub fn any(r: &mut Reader<'_>) -> Result<Value> {
    read(&Kind::Any, r, 0)
}

fn zero(kind: &Kind) -> Value {
    match kind {
        Kind::Text | Kind::Duration => Value::from(""),
        Kind::Int => Value::Int(0),
        Kind::Float => Value::Float(0.0),
        Kind::Bool => Value::Bool(false),
        Kind::Time => Value::from("0001-01-01T00:00:00Z"),
        Kind::Bytes | Kind::Any | Kind::Nullable(_) | Kind::List(_) | Kind::Map(_) => Value::Null,
        Kind::Struct(i) => {
            let mut object = Object::default();
            for field in TABLE.structs.get(*i).map(|s| &s.fields).into_iter().flatten().filter(|f| !f.omit_zero) {
                object.push(Cow::Borrowed(field.name), zero(&field.kind));
            }
            Value::Object(object)
        }
    }
}

fn read(kind: &Kind, r: &mut Reader<'_>, depth: usize) -> Result<Value> {
    if depth > MAX_DEPTH {
        return Err(DecodeError::Depth { at: r.position() });
    }
    if r.take_nil() {
        return Ok(zero(kind));
    }
    let mut ahead = r.clone();
    let value = match (kind, ahead.token()?) {
        (Kind::Nullable(inner), _) => return read(inner, r, depth),
        (Kind::Struct(i), Token::Map(n)) => match TABLE.structs.get(*i) {
            Some(found) => read_struct(found, n, &mut ahead, depth)?,
            None => read_any(r, depth)?,
        },
        (Kind::List(inner), Token::Array(n)) => {
            let mut items = Vec::new();
            for _ in 0..n {
                items.push(read(inner, &mut ahead, depth + 1)?);
            }
            Value::List(items)
        }
        (Kind::Map(inner), Token::Map(n)) => {
            let mut object = Object::default();
            for _ in 0..n {
                let key = key(&mut ahead, depth + 1)?;
                object.push(Cow::Owned(key), read(inner, &mut ahead, depth + 1)?);
            }
            object.sort();
            Value::Object(object)
        }
        (Kind::Text, Token::Raw(raw)) => Value::from(String::from_utf8_lossy(raw).into_owned()),
        (Kind::Bytes, Token::Raw(raw)) => Value::from(STANDARD.encode(raw)),
        (Kind::Time, Token::Raw(raw) | Token::Ext(-1, raw)) => {
            match GoTime::from_raw(raw).and_then(GoTime::printable) {
                Some(time) => Value::from(time.to_string()),
                None => return read_any(r, depth),
            }
        }
        (Kind::Int, Token::Int(n)) => Value::Int(n),
        (Kind::Int, Token::Uint(n)) => Value::from(n),
        (Kind::Float, Token::Float(x)) => Value::Float(x),
        (Kind::Float, Token::Int(n)) => Value::Float(n as f64),
        (Kind::Float, Token::Uint(n)) => Value::Float(n as f64),
        (Kind::Bool, Token::Bool(b)) => Value::Bool(b),
        (Kind::Bool, Token::Int(n @ 0..=1)) => Value::Bool(n == 1),
        (Kind::Duration, Token::Int(n)) => Value::from(duration(n)),
        _ => return read_any(r, depth),
    };
    *r = ahead;
    Ok(value)
}

fn read_struct(shape: &Struct, pairs: u32, r: &mut Reader<'_>, depth: usize) -> Result<Value> {
    let mut slots: Vec<Option<Value>> = shape.fields.iter().map(|_| None).collect();
    let mut others = Object::default();
    // Entries have their fields sorted, so the next one is looked for where the last was found.
    let mut next = 0;
    for _ in 0..pairs {
        let key = raw_key(r, depth + 1, false)?;
        match shape.find(&key, &mut next) {
            Some(at) => {
                let Some(field) = shape.fields.get(at) else { continue };
                let value = read(&field.kind, r, depth + 1)?;
                if let Some(slot) = slots.get_mut(at) {
                    *slot = Some(value);
                }
            }
            None if shape.dropped.iter().any(|old| old.as_bytes() == &*key) => r.skip()?,
            None => {
                let value = read_any(r, depth + 1)?;
                others.push(Cow::Owned(String::from_utf8_lossy(&key).into_owned()), value);
            }
        }
    }
    others.sort();
    let mut object = Object::with_capacity(slots.len() + others.len());
    for (field, slot) in shape.fields.iter().zip(slots) {
        match slot {
            Some(value) if field.omit_zero && (value == zero(&field.kind) || value == Value::from("")) => {}
            None if field.omit_zero => {}
            Some(value) => object.push(Cow::Borrowed(field.name), value),
            None => object.push(Cow::Borrowed(field.name), zero(&field.kind)),
        }
    }
    for (key, value) in others.into_pairs() {
        object.push(key, value);
    }
    Ok(Value::Object(object))
}

impl Struct {
    /// The place of the field that `key` names, looked for from `next` on first.
    fn find(&self, key: &[u8], next: &mut usize) -> Option<usize> {
        let name = |at: &usize| self.fields.get(*at).map_or("", |f| f.name).as_bytes();
        let at = match self.sorted.get(*next).filter(|at| name(at) == key) {
            Some(_) => *next,
            None => self.sorted.binary_search_by(|at| name(at).cmp(key)).ok()?,
        };
        *next = at + 1;
        self.sorted.get(at).copied()
    }
}

fn read_any(r: &mut Reader<'_>, depth: usize) -> Result<Value> {
    read_free(r, depth, false)
}

/// A value without a shape, which may become a map's key.
fn read_free(r: &mut Reader<'_>, depth: usize, in_key: bool) -> Result<Value> {
    if depth > MAX_DEPTH {
        return Err(DecodeError::Depth { at: r.position() });
    }
    Ok(match r.token()? {
        Token::Nil => Value::Null,
        Token::Bool(b) => Value::Bool(b),
        Token::Int(n) => Value::Int(n),
        Token::Uint(n) => Value::from(n),
        Token::Float(x) => Value::Float(x),
        Token::Raw(raw) => match (time_anywhere(raw), std::str::from_utf8(raw)) {
            (Some(time), _) => Value::from(time.to_string()),
            (None, Ok(text)) => Value::from(text.to_owned()),
            (None, Err(_)) => Value::from(STANDARD.encode(raw)),
        },
        Token::Ext(kind, raw) => match GoTime::from_raw(raw).and_then(GoTime::printable) {
            Some(time) if kind == -1 => Value::from(time.to_string()),
            _ => Value::from(STANDARD.encode(raw)),
        },
        Token::Array(n) => {
            let mut items = Vec::new();
            for _ in 0..n {
                items.push(read_free(r, depth + 1, in_key)?);
            }
            Value::List(items)
        }
        Token::Map(n) => {
            let mut object = Object::default();
            for _ in 0..n {
                let key = raw_key(r, depth + 1, in_key)?;
                let key = String::from_utf8_lossy(&key).into_owned();
                object.push(Cow::Owned(key), read_free(r, depth + 1, in_key)?);
            }
            object.sort();
            Value::Object(object)
        }
    })
}

/// A map's key as its bytes; one that is no text as it would be printed. In what becomes a key itself, one that is a
/// container is its msgpack in base64: as JSON in a text in a text, it would double with each level.
fn raw_key<'a>(r: &mut Reader<'a>, depth: usize, in_key: bool) -> Result<Cow<'a, [u8]>> {
    let (start, mut ahead) = (r.position(), r.clone());
    match ahead.token()? {
        Token::Raw(raw) => {
            *r = ahead;
            Ok(Cow::Borrowed(raw))
        }
        Token::Array(_) | Token::Map(_) if in_key => {
            r.skip()?;
            Ok(Cow::Owned(STANDARD.encode(r.between(start, r.position())).into_bytes()))
        }
        _ => Ok(Cow::Owned(read_free(r, depth, true)?.to_json())),
    }
}

fn key(r: &mut Reader<'_>, depth: usize) -> Result<String> {
    Ok(String::from_utf8_lossy(&raw_key(r, depth, false)?).into_owned())
}

/// A duration in nanoseconds as Go's `String` prints it, `""` for none (state-rows.md 1.3).
fn duration(nanos: i64) -> String {
    if nanos == 0 {
        return String::new();
    }
    let sign = if nanos < 0 { "-" } else { "" };
    let n = nanos.unsigned_abs();
    let fraction = |n: u64, unit: u64| {
        let rest = format!("{:0width$}", n % unit, width = unit.ilog10() as usize);
        let rest = rest.trim_end_matches('0');
        let dot = if rest.is_empty() { "" } else { "." };
        format!("{}{dot}{rest}", n / unit)
    };
    let text = match n {
        0..1_000 => format!("{n}ns"),
        1_000..1_000_000 => format!("{}µs", fraction(n, 1_000)),
        1_000_000..1_000_000_000 => format!("{}ms", fraction(n, 1_000_000)),
        _ => {
            let seconds = fraction(n % 60_000_000_000, 1_000_000_000);
            let minutes = n / 60_000_000_000;
            match (minutes / 60, minutes % 60) {
                (0, 0) => format!("{seconds}s"),
                (0, minutes) => format!("{minutes}m{seconds}s"),
                (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
            }
        }
    };
    format!("{sign}{text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(kind: &Kind) -> &Kind {
        match kind {
            Kind::Nullable(inner) | Kind::List(inner) | Kind::Map(inner) => kinds(inner),
            other => other,
        }
    }

    #[test]
    fn every_struct_that_a_field_names_is_in_the_table() {
        let source = include_str!("shapes.txt");
        let free = source
            .split_whitespace()
            .filter(|w| w.trim_end_matches(',').trim_matches(['{', '}', '[', ']', '?']) == "any");
        let read = TABLE.structs.iter().flat_map(|s| &s.fields).filter(|f| *kinds(&f.kind) == Kind::Any);
        // One more word in the comment at the top.
        assert_eq!(read.count() + 1, free.count());
        assert_eq!(TABLE.structs.len(), TABLE.by_name.len());
        for wanted in ["Job", "Node", "Allocation", "Evaluation", "Deployment"] {
            assert!(shape(wanted).is_some());
        }
    }

    fn read_as(name: &str, bytes: &[u8]) -> String {
        let object = shape(name).unwrap().read(&mut Reader::new(bytes)).unwrap();
        String::from_utf8(Value::from(object).to_json()).unwrap()
    }

    #[test]
    fn absent_fields_are_zero_and_unknown_ones_follow() {
        // {"Zone":{"b":1,"a":[]},"Operand":"=","LTarget":nil}
        let bytes = b"\x83\xa4Zone\x82\xa1b\x01\xa1a\x90\xa7Operand\xa1=\xa7LTarget\xc0";
        assert_eq!(read_as("Constraint", bytes), r#"{"LTarget":"","RTarget":"","Operand":"=","Zone":{"a":[],"b":1}}"#);
    }

    #[test]
    fn nil_and_empty_stay_apart_and_old_fields_come_last() {
        // {"Attributes":{},"Drain":true,"Links":nil,"Events":[]}
        let bytes = b"\x84\xaaAttributes\x80\xa5Drain\xc3\xa5Links\xc0\xa6Events\x90";
        let node = read_as("Node", bytes);
        assert!(node.contains(r#""Attributes":{},"#), "{node}");
        assert!(node.contains(r#""Links":null,"#), "{node}");
        assert!(node.contains(r#""Events":[],"#), "{node}");
        assert!(node.ends_with(r#""ModifyIndex":0,"Drain":true}"#), "{node}");
        let alloc = read_as("Allocation", b"\x81\xb0SignedIdentities\x81\xa1t\xa1j");
        assert!(!alloc.contains("SignedIdentities"), "{alloc}");
    }

    #[test]
    fn a_field_of_another_type_is_shown_as_it_is() {
        let bytes = b"\x82\xa7LTarget\x92\x01\x02\xa7RTarget\xa1x";
        assert_eq!(read_as("Constraint", bytes), r#"{"LTarget":[1,2],"RTarget":"x","Operand":""}"#);
    }

    #[test]
    fn hidden_hostnames_and_bytes_print_as_go_prints_them() {
        assert!(!read_as("NetworkResource", b"\x80").contains("Hostname"));
        assert!(!read_as("NetworkResource", b"\x81\xa8Hostname\xa0").contains("Hostname"));
        assert!(read_as("NetworkResource", b"\x81\xa8Hostname\xa1h").contains(r#""Hostname":"h""#));
        assert!(read_as("Topology", b"\x81\xa5Nodes\xa1\x00").starts_with(r#"{"Nodes":"AA==","Distances":null"#));
    }

    #[test]
    fn a_tokens_lifetime_comes_first_as_text() {
        let token = [&b"\x81\xadExpirationTTL\xd3"[..], &5_400_000_000_000_i64.to_be_bytes()].concat();
        assert!(read_as("ACLToken", &token).starts_with(r#"{"ExpirationTTL":"1h30m0s","AccessorID":"""#));
        assert!(read_as("ACLToken", b"\x80").starts_with(r#"{"ExpirationTTL":"","AccessorID":"""#));
        for (nanos, want) in [
            (1, "1ns"),
            (1_500, "1.5µs"),
            (2_000_000, "2ms"),
            (1_500_000_000, "1.5s"),
            (60_000_000_000, "1m0s"),
            (-3_600_000_000_000, "-1h0m0s"),
        ] {
            assert_eq!(duration(nanos), want);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_give_a_row_or_an_error(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
            for name in ["Job", "Allocation", "Node", "ACLToken"] {
                if let Ok(mut object) = shape(name).unwrap().read(&mut Reader::new(&bytes)) {
                    crate::rows::canonical::job(&mut object);
                    crate::rows::canonical::node(&mut object);
                    serde_json::from_slice::<serde_json::Value>(&Value::from(object).to_json()).unwrap();
                }
            }
        }
    }

    #[test]
    fn keys_nested_beyond_the_limit_are_refused_and_do_not_overflow() {
        let mut bytes = vec![0x81; 100_000];
        bytes.push(0xc0);
        assert!(matches!(any(&mut Reader::new(&bytes)), Err(DecodeError::Depth { .. } | DecodeError::Eof { .. })));
        assert!(shape("Job").unwrap().read(&mut Reader::new(&bytes)).is_err());
    }
}
