//! JSON values between rows and expressions.

use jaq_json::{Num, Val};

use crate::error::Error;
use crate::render::json_text;

/// A JSON value for and from an expression. Integers of any size and decimals keep their digits,
/// objects the order of their keys.
#[derive(Clone, Debug)]
pub struct Value(pub(super) Val);

impl Value {
    /// The value of one JSON text.
    ///
    /// # Errors
    /// [`Error::Internal`], since the text is our own.
    pub fn parse(json: &[u8]) -> Result<Self, Error> {
        jaq_json::read::parse_single(json).map(Value).map_err(|e| Error::Internal(format!("a row is no JSON: {e}")))
    }

    /// An array of values.
    pub fn array(values: Vec<Value>) -> Self {
        Value(Val::Arr(values.into_iter().map(|v| v.0).collect::<Vec<_>>().into()))
    }

    /// An object of these pairs.
    pub fn object<'k>(pairs: impl IntoIterator<Item = (&'k str, Value)>) -> Self {
        let pairs = pairs.into_iter().map(|(key, value)| (Val::utf8_str(key.to_owned()), value.0));
        Value(Val::obj(pairs.collect()))
    }

    /// Neither null nor false.
    pub fn is_true(&self) -> bool {
        !matches!(self.0, Val::Null | Val::Bool(false))
    }

    /// The bytes of a string, for `-r`.
    pub fn as_text(&self) -> Option<&[u8]> {
        match &self.0 {
            Val::TStr(s) | Val::BStr(s) => Some(s),
            _ => None,
        }
    }

    /// Appends the value as compact JSON.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        write_value(&self.0, out);
    }
}

pub(super) fn write_value(value: &Val, out: &mut Vec<u8>) {
    match value {
        Val::Null => out.extend_from_slice(b"null"),
        Val::Bool(b) => out.extend_from_slice(if *b { b"true" } else { b"false" }),
        Val::Num(n) => out.extend_from_slice(number(n).as_bytes()),
        Val::TStr(s) | Val::BStr(s) => json_text::string(out, &String::from_utf8_lossy(s)),
        Val::Arr(items) => {
            out.push(b'[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                write_value(item, out);
            }
            out.push(b']');
        }
        Val::Obj(pairs) => {
            out.push(b'{');
            for (i, (key, item)) in pairs.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                json_text::string(out, &text_of(key));
                out.push(b':');
                write_value(item, out);
            }
            out.push(b'}');
        }
    }
}

/// A number as jq prints it: whole floats without a fraction, no infinities, not-a-number as null.
fn number(n: &Num) -> String {
    const EXACT: f64 = 1e17;
    match n {
        Num::Float(x) if x.is_nan() => "null".into(),
        Num::Float(x) if x.is_infinite() => format!("{:e}", f64::MAX.copysign(*x)),
        Num::Float(x) if x.fract() == 0.0 && x.abs() < EXACT => format!("{x:.0}"),
        Num::Dec(text) => decimal(text),
        other => other.to_string(),
    }
}

/// A decimal as JSON has it. jaq keeps what was typed, which may begin with zeros.
fn decimal(text: &str) -> String {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let kept = digits.trim_start_matches('0');
    let zero = if kept.starts_with(|c: char| c.is_ascii_digit()) { "" } else { "0" };
    format!("{sign}{zero}{kept}")
}

/// A parsed value without the plus signs before decimals that jaq takes and keeps: it could not go on with the
/// negative of one, and JSON has none.
pub(super) fn unsigned(value: Val) -> Val {
    match value {
        Val::Num(Num::Dec(text)) => {
            let digits = text.strip_prefix('+').map(|digits| digits.to_owned().into());
            Val::Num(Num::Dec(digits.unwrap_or(text)))
        }
        Val::Arr(items) => Val::Arr(items.iter().cloned().map(unsigned).collect::<Vec<_>>().into()),
        Val::Obj(pairs) => {
            Val::obj(pairs.iter().map(|(key, item)| (unsigned(key.clone()), unsigned(item.clone()))).collect())
        }
        other => other,
    }
}

/// A string as it is, anything else as JSON.
pub(super) fn text_of(value: &Val) -> String {
    let mut text = Vec::new();
    match value {
        Val::TStr(s) | Val::BStr(s) => text.extend_from_slice(s),
        other => write_value(other, &mut text),
    }
    String::from_utf8_lossy(&text).into_owned()
}
