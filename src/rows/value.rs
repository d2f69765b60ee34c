//! A row as a tree that keeps the order of its keys, cheaper to build and to change than a general JSON value.

use std::borrow::Cow;
use std::io::Write;

use crate::entry::json::text;
use crate::redact::{Form, Place, Redactor};

/// Any JSON value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// null.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An integer above the signed range.
    Uint(u64),
    /// A number with a fraction, or one that Nomad keeps as a float.
    Float(f64),
    /// Text, also of bytes and times.
    Text(Cow<'static, str>),
    /// A list.
    List(Vec<Value>),
    /// A struct or a map.
    Object(Object),
}

/// The pairs of a struct or a map, in the order in which they are printed. Keys do not repeat.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object {
    pairs: Vec<(Cow<'static, str>, Value)>,
}

impl From<bool> for Value {
    fn from(b: bool) -> Self {
        Value::Bool(b)
    }
}

impl From<i64> for Value {
    fn from(n: i64) -> Self {
        Value::Int(n)
    }
}

impl From<u64> for Value {
    fn from(n: u64) -> Self {
        i64::try_from(n).map_or(Value::Uint(n), Value::Int)
    }
}

impl From<&'static str> for Value {
    fn from(text: &'static str) -> Self {
        Value::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(Cow::Owned(text))
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Value::Object(object)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

impl Object {
    /// An object with room for `n` pairs.
    pub fn with_capacity(n: usize) -> Self {
        Object { pairs: Vec::with_capacity(n) }
    }

    /// The value under `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.pairs.iter().find(|(k, _)| k == key).map(|(_, v)| v)
    }

    /// The value under `key`, to change it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.pairs.iter_mut().find(|(k, _)| k == key).map(|(_, v)| v)
    }

    /// Puts a value under `key`: in its place if it is there, else at the end.
    pub fn set(&mut self, key: &'static str, value: impl Into<Value>) {
        self.insert(Cow::Borrowed(key), value.into());
    }

    /// As [`Object::set`], for any key.
    pub fn insert(&mut self, key: Cow<'static, str>, value: Value) {
        match self.get_mut(&key) {
            Some(place) => *place = value,
            None => self.pairs.push((key, value)),
        }
    }

    /// Appends a pair whose key is known not to be there.
    pub fn push(&mut self, key: Cow<'static, str>, value: Value) {
        self.pairs.push((key, value));
    }

    /// Takes a pair out.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let at = self.pairs.iter().position(|(k, _)| k == key)?;
        Some(self.pairs.remove(at).1)
    }

    /// Sorts by key, bytewise. Of equal keys the last one stays, as for Nomad's decoder.
    pub fn sort(&mut self) {
        if self.pairs.is_sorted_by(|a, b| a.0 < b.0) {
            return;
        }
        self.pairs.reverse();
        self.pairs.sort_by(|a, b| a.0.cmp(&b.0));
        self.pairs.dedup_by(|next, kept| next.0 == kept.0);
    }

    /// The pairs in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.pairs.iter().map(|(k, v)| (&**k, v))
    }

    /// The pairs in order, their values to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut Value)> {
        self.pairs.iter_mut().map(|(k, v)| (&**k, v))
    }

    /// The pairs in order, given away.
    pub fn into_pairs(self) -> impl Iterator<Item = (Cow<'static, str>, Value)> {
        self.pairs.into_iter()
    }

    /// How many pairs there are.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// True without pairs.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The text under `key`; empty where there is none.
    pub fn text(&self, key: &str) -> &str {
        match self.get(key) {
            Some(Value::Text(text)) => text,
            _ => "",
        }
    }

    /// The integer under `key`; 0 where there is none.
    pub fn int(&self, key: &str) -> i64 {
        match self.get(key) {
            Some(Value::Int(n)) => *n,
            _ => 0,
        }
    }

    /// The object under `key`, to change it.
    pub fn object_mut(&mut self, key: &str) -> Option<&mut Object> {
        self.get_mut(key)?.object_mut()
    }

    /// The objects in the list or map under `key`, to change them; none where it is something else.
    pub fn objects_mut(&mut self, key: &str) -> impl Iterator<Item = &mut Object> {
        let (items, pairs) = match self.get_mut(key) {
            Some(Value::List(items)) => (Some(items), None),
            Some(Value::Object(object)) => (None, Some(&mut object.pairs)),
            _ => (None, None),
        };
        let items = items.into_iter().flatten();
        items.chain(pairs.into_iter().flatten().map(|(_, v)| v)).filter_map(Value::object_mut)
    }
}

impl Value {
    /// The pairs, if it is an object.
    pub fn object(&self) -> Option<&Object> {
        match self {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The pairs to change, if it is an object.
    pub fn object_mut(&mut self) -> Option<&mut Object> {
        match self {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }

    /// True for null.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// True for an empty list or map.
    pub fn is_empty(&self) -> bool {
        match self {
            Value::List(items) => items.is_empty(),
            Value::Object(object) => object.is_empty(),
            _ => false,
        }
    }

    /// Appends this value, a row or a part of one that stands at `place`, as JSON, its secrets hidden.
    pub fn write(&self, place: Place, redactor: &mut Redactor, out: &mut Vec<u8>) {
        let number = |redactor: &mut Redactor, out: &mut Vec<u8>, shown: &dyn std::fmt::Display| {
            let marker = redactor.hide_number(place, shown);
            // Writing to a Vec cannot fail.
            marker.is_some_and(|marker| write!(out, "\"{marker}\"").is_ok())
        };
        match self {
            Value::Null => out.extend_from_slice(b"null"),
            Value::Bool(true) => out.extend_from_slice(b"true"),
            Value::Bool(false) => out.extend_from_slice(b"false"),
            Value::Int(n) if !number(redactor, out, n) => text::integer(out, *n),
            Value::Uint(n) if !number(redactor, out, n) => text::unsigned(out, *n),
            Value::Float(x) if !number(redactor, out, x) => text::float(out, *x),
            Value::Int(_) | Value::Uint(_) | Value::Float(_) => {}
            Value::Text(shown) => match (redactor.hide(place, shown.as_bytes()), place) {
                (Some(marker), _) => {
                    // Writing to a Vec cannot fail.
                    let _ = write!(out, "\"{marker}\"");
                }
                (None, Place::Url(name)) => text::string(out, &redactor.url(name, shown)),
                (None, _) => text::string(out, shown),
            },
            Value::List(items) => {
                out.push(b'[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    item.write(place.item(), redactor, out);
                }
                out.push(b']');
            }
            Value::Object(object) => {
                out.push(b'{');
                for (i, (key, value)) in object.iter().enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    text::string(out, key);
                    out.push(b':');
                    let (place, _): (Place, Form) = place.value(key.as_bytes());
                    value.write(place, redactor, out);
                }
                out.push(b'}');
            }
        }
    }

    /// This value as JSON text with nothing hidden: for comparisons and for expressions that see the state as it is.
    pub fn to_json(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(Place::Open, &mut Redactor::showing(), &mut out);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorting_keeps_the_last_of_equal_keys() {
        let mut object = Object::default();
        for (key, n) in [("b", 1), ("a", 2), ("b", 3), ("a", 4)] {
            object.push(Cow::Borrowed(key), Value::Int(n));
        }
        object.sort();
        assert_eq!(Value::from(object).to_json(), br#"{"a":4,"b":3}"#);
    }

    #[test]
    fn a_row_hides_its_secrets_when_written() {
        let mut row = Object::default();
        row.set("SecretID", String::from("s"));
        row.set("Name", String::from("n"));
        let mut meta = Object::default();
        meta.set("k", String::from("v"));
        row.set("Meta", meta);
        row.set("Hash", String::from("aGk="));
        let mut out = Vec::new();
        Value::from(row).write(Place::ROW, &mut Redactor::hiding(), &mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            r##"{"SecretID":"[SecretID#1]","Name":"n","Meta":{"k":"[Meta#2]"},"Hash":"aGk="}"##
        );
    }
}
