//! Bodies back from JSON to msgpack, in the dialect that Nomad writes (storage.md 3.3): the way back from
//! [`BodyWriter`], for histories that did not happen.
//!
//! JSON says less than msgpack: it has no bytes and no times. What a field holds decides where it is known
//! ([`Place`]), and the original body where there is one: every part that prints as it did is copied from it, byte
//! for byte, so that a change of one field changes nothing else.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;

use super::json::{BodyWriter, time_anywhere};
use super::msgpack::{DecodeError, MAX_DEPTH, Reader, Result, Token};
use super::time::GoTime;
use crate::redact::{Form, Place, Redactor};

/// The message type whose `Jobs` have maps as keys (fsm.md 1).
const BATCH_DEREGISTER: u8 = 26;

/// The payload of a command of message type `kind` with the body `json`, as [`BodyWriter`] prints it with secrets
/// shown. `head` is its first byte, the type with the ignore flag; `original` the body that it was made from.
///
/// # Errors
/// When `original` cannot be decoded, or the JSON is nested too deep.
pub fn command(head: u8, json: &Json, original: Option<&[u8]>) -> Result<Vec<u8>> {
    let kind = head & 0x7f;
    let mut encoder = Encoder { batch: kind == BATCH_DEREGISTER, ..Encoder::new() };
    let mut out = vec![head];
    encoder.body(json, Place::message(kind), original, &mut out)?;
    Ok(out)
}

/// The payload of one of raft's own entries with the body `json`.
///
/// # Errors
/// As [`command`].
pub fn raft(json: &Json, original: Option<&[u8]>) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    Encoder::new().body(json, Place::ROW, original, &mut out)?;
    Ok(out)
}

/// A msgpack value taken apart.
struct Node<'a> {
    bytes: &'a [u8],
    content: Content<'a>,
}

enum Content<'a> {
    Scalar(Token<'a>),
    List(Vec<Node<'a>>),
    /// Each key as it is printed and as it stands there; of equal ones the last counts.
    Map(Vec<(String, &'a [u8], Node<'a>)>),
}

impl Node<'_> {
    fn items(&self) -> &[Self] {
        match &self.content {
            Content::List(items) => items,
            _ => &[],
        }
    }
}

struct Encoder {
    /// The body is a batch deregister's.
    batch: bool,
    writer: BodyWriter,
    redactor: Redactor,
}

impl Encoder {
    fn new() -> Self {
        Encoder { batch: false, writer: BodyWriter::new(), redactor: Redactor::showing() }
    }

    fn body(&mut self, json: &Json, place: Place, original: Option<&[u8]>, out: &mut Vec<u8>) -> Result<()> {
        let node = original.map(|bytes| self.node(&mut Reader::new(bytes), 0)).transpose()?;
        self.value(json, (place, Form::Plain), node.as_ref(), 0, out)
    }

    fn node<'a>(&mut self, r: &mut Reader<'a>, depth: usize) -> Result<Node<'a>> {
        let from = r.position();
        if depth > MAX_DEPTH {
            return Err(DecodeError::Depth { at: from });
        }
        let content = match r.token()? {
            Token::Array(n) => {
                let mut items = Vec::new();
                for _ in 0..n {
                    items.push(self.node(r, depth + 1)?);
                }
                Content::List(items)
            }
            Token::Map(n) => {
                let mut pairs: Vec<(String, &[u8], Node<'_>)> = Vec::new();
                for _ in 0..n {
                    let at = r.position();
                    r.skip()?;
                    let key = r.between(at, r.position());
                    let printed = self.writer.key(key, &mut self.redactor)?;
                    let value = self.node(r, depth + 1)?;
                    pairs.push((printed, key, value));
                }
                Content::Map(pairs)
            }
            scalar => Content::Scalar(scalar),
        };
        Ok(Node { bytes: r.between(from, r.position()), content })
    }

    /// True when `node` prints as `json`.
    fn prints_as(&mut self, node: &Node<'_>, json: &Json, (place, form): (Place, Form)) -> Result<bool> {
        Ok(match (&node.content, json) {
            (Content::Scalar(Token::Nil), json) => json.is_null(),
            (Content::Scalar(Token::Bool(b)), json) => json.as_bool() == Some(*b),
            (Content::Scalar(Token::Int(n)), Json::Number(m)) => m.as_i64() == Some(*n),
            (Content::Scalar(Token::Uint(n)), Json::Number(m)) => m.as_u64() == Some(*n),
            (Content::Scalar(Token::Float(x)), Json::Number(m)) => m.as_f64() == Some(*x),
            (Content::Scalar(Token::Float(x)), Json::Null) => !x.is_finite(),
            (Content::Scalar(Token::Raw(_) | Token::Ext(..)), Json::String(text)) => {
                self.printed(node.bytes, (place, form))?.as_str() == Some(text)
            }
            (Content::List(items), Json::Array(values)) if items.len() == values.len() => {
                for (item, value) in items.iter().zip(values) {
                    if !self.prints_as(item, value, (place.item(), form))? {
                        return Ok(false);
                    }
                }
                true
            }
            (Content::Map(pairs), Json::Object(values)) => {
                for (key, value) in values {
                    let Some((_, _, node)) = pairs.iter().rev().find(|(printed, ..)| printed == key) else {
                        return Ok(false);
                    };
                    if !self.prints_as(node, value, place.value(key.as_bytes()))? {
                        return Ok(false);
                    }
                }
                pairs.iter().all(|(printed, ..)| values.contains_key(printed))
            }
            _ => false,
        })
    }

    fn printed(&mut self, bytes: &[u8], at: (Place, Form)) -> Result<Json> {
        let mut text = Vec::new();
        self.writer.value_in(at, bytes, &mut self.redactor, &mut text)?;
        // The writer's own text always reads back.
        Ok(serde_json::from_slice(&text).unwrap_or_default())
    }

    /// Appends `json`, which stands at a place and was made from `node`.
    fn value(
        &mut self,
        json: &Json,
        (place, form): (Place, Form),
        node: Option<&Node<'_>>,
        depth: usize,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(DecodeError::Depth { at: out.len() });
        }
        if let Some(node) = node
            && self.prints_as(node, json, (place, form))?
        {
            out.extend_from_slice(node.bytes);
            return Ok(());
        }
        match json {
            Json::Null => out.push(0xc0),
            Json::Bool(b) => out.push(if *b { 0xc3 } else { 0xc2 }),
            Json::Number(n) => {
                let was_float = matches!(node, Some(Node { content: Content::Scalar(Token::Float(_)), .. }));
                number(n, was_float, out);
            }
            Json::String(text) => raw(&content(text, place, form, node), out),
            Json::Array(values) => {
                head(values.len(), [0x90, 0xdc, 0xdd], out);
                let mut left: Vec<&Node<'_>> = node.map(Node::items).unwrap_or_default().iter().collect();
                for value in values {
                    let node = self.counterpart(value, (place.item(), form), &mut left)?;
                    self.value(value, (place.item(), form), node, depth + 1, out)?;
                }
            }
            Json::Object(values) => {
                head(values.len(), [0x80, 0xde, 0xdf], out);
                // The jobs of a batch deregister are the only map at this depth of its body.
                let jobs = self.batch && depth == 1;
                for (key, value) in values {
                    let pair = match node.map(|n| &n.content) {
                        Some(Content::Map(pairs)) => pairs.iter().rev().find(|(printed, ..)| printed == key),
                        _ => None,
                    };
                    match (pair, key.split_once('.')) {
                        (Some((_, key, _)), _) => out.extend_from_slice(key),
                        (None, Some((namespace, id))) if jobs => job_key(namespace, id, out),
                        (None, _) => raw(key.as_bytes(), out),
                    }
                    let node = pair.map(|(_, _, node)| node);
                    self.value(value, place.value(key.as_bytes()), node, depth + 1, out)?;
                }
            }
        }
        Ok(())
    }

    /// The item of the original list that `value` was made from: one that prints the same, else the next one.
    fn counterpart<'n, 'a>(
        &mut self,
        value: &Json,
        at: (Place, Form),
        left: &mut Vec<&'n Node<'a>>,
    ) -> Result<Option<&'n Node<'a>>> {
        for (i, node) in left.iter().enumerate() {
            if self.prints_as(node, value, at)? {
                return Ok(Some(left.remove(i)));
            }
        }
        // Where items were taken out before it, this may be the wrong one: it then only has less to give.
        Ok(if left.is_empty() { None } else { Some(left.remove(0)) })
    }
}

/// Appends a number; one that was a float stays one.
fn number(n: &serde_json::Number, was_float: bool, out: &mut Vec<u8>) {
    match (n.as_i64(), n.as_u64()) {
        (Some(n), _) if !was_float => integer(n, out),
        (None, Some(n)) if !was_float => {
            out.push(0xcf);
            out.extend_from_slice(&n.to_be_bytes());
        }
        _ => {
            out.push(0xcb);
            out.extend_from_slice(&n.as_f64().unwrap_or_default().to_be_bytes());
        }
    }
}

fn integer(n: i64, out: &mut Vec<u8>) {
    if (-32..=127).contains(&n) {
        // The two ends of the range are the byte itself.
        out.push(n as u8);
    } else {
        out.push(0xd3);
        out.extend_from_slice(&n.to_be_bytes());
    }
}

/// The bytes that `text` stands for.
fn content(text: &str, place: Place, form: Form, node: Option<&Node<'_>>) -> Vec<u8> {
    let plain = || text.as_bytes().to_vec();
    let was = match node {
        Some(Node { content: Content::Scalar(Token::Raw(raw)), .. }) => Some(*raw),
        _ => None,
    };
    match form {
        Form::Bytes => STANDARD.decode(text).unwrap_or_else(|_| plain()),
        Form::Payload => match STANDARD.decode(text) {
            // Nomad compresses each payload; one that is empty it leaves out.
            Ok(bytes) => snap::raw::Encoder::new().compress_vec(&bytes).unwrap_or(bytes),
            Err(_) => plain(),
        },
        Form::Time => GoTime::parse(text).map_or_else(plain, |time| time.to_binary().to_vec()),
        Form::Plain if matches!(place, Place::Url(_)) => plain(),
        Form::Plain => match was {
            Some(was) if time_anywhere(was).is_some() => {
                GoTime::parse(text).map_or_else(plain, |time| time.to_binary().to_vec())
            }
            // What was printed as base64, since it was no text, is changed as base64.
            Some(was) if std::str::from_utf8(was).is_err() => STANDARD.decode(text).unwrap_or_else(|_| plain()),
            _ => plain(),
        },
    }
}

/// Appends text or bytes in the old raw family, which Nomad's writers use for both.
fn raw(bytes: &[u8], out: &mut Vec<u8>) {
    match u16::try_from(bytes.len()) {
        Ok(n @ 0..=31) => out.push(0xa0 | n as u8),
        Ok(n) => {
            out.push(0xda);
            out.extend_from_slice(&n.to_be_bytes());
        }
        Err(_) => {
            out.push(0xdb);
            out.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
        }
    }
    out.extend_from_slice(bytes);
}

/// Appends the head of a list or a map: in one byte, behind a byte and 16 bits, or behind a byte and 32.
fn head(items: usize, [fixed, short, long]: [u8; 3], out: &mut Vec<u8>) {
    match u16::try_from(items) {
        Ok(n @ 0..=15) => out.push(fixed | n as u8),
        Ok(n) => {
            out.push(short);
            out.extend_from_slice(&n.to_be_bytes());
        }
        Err(_) => {
            out.push(long);
            out.extend_from_slice(&u32::try_from(items).unwrap_or(u32::MAX).to_be_bytes());
        }
    }
}

/// `namespace.id` as the map that is the key on the wire. No namespace has a dot in it.
fn job_key(namespace: &str, id: &str, out: &mut Vec<u8>) {
    out.push(0x82);
    for part in ["ID", id, "Namespace", namespace] {
        raw(part.as_bytes(), out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(payload: &[u8]) -> Json {
        let mut out = Vec::new();
        let kind = crate::evidence::LogType::Command;
        BodyWriter::new().record(kind, payload, &mut Redactor::showing(), &mut out).unwrap();
        serde_json::from_slice(&out).unwrap()
    }

    fn json(text: &str) -> Json {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn what_is_encoded_prints_as_it_was_given() {
        for (kind, text) in [
            (
                4,
                r#"{"Job":{"ID":"a","Stop":false,"Priority":-40,"SubmitTime":1796047473123456789,"Big":18446744073709551615}}"#,
            ),
            (4, r#"{"Job":{"Payload":"aGVsbG8gaGVsbG8gaGVsbG8=","Meta":{"Hash":"aGk","day":"2021-01-18T14:05:00Z"}}}"#),
            (
                14,
                r#"{"DeploymentUpdate":{"F":0.5,"Healthy":null,"RequireProgressBy":"2026-02-03T05:45:00.00000012+02:00"}}"#,
            ),
            (26, r#"{"Jobs":{"default.a.b":{"Purge":true},"prod.c":null}}"#),
            (3, r#"{"DrainStrategy":{"StartedAt":"0001-01-01T00:00:00Z"},"List":[[],{},[1,"x"]]}"#),
        ] {
            let payload = command(kind, &json(text), None).unwrap();
            assert_eq!(printed(&payload), json(text));
        }
    }

    #[test]
    fn times_bytes_and_payloads_become_what_nomad_writes() {
        let text = r#"{"Job":{"Payload":"aGVsbG8="},"Hash":"//8=","StartedAt":"2026-02-03T03:45:00Z"}"#;
        let payload = command(4, &json(text), None).unwrap();
        let holds = |part: &[u8]| payload.windows(part.len()).any(|w| w == part);
        assert!(holds(&snap::raw::Encoder::new().compress_vec(b"hello").unwrap()));
        assert!(holds(b"\xa2\xff\xff"));
        assert!(holds(b"\xaf\x01\x00\x00\x00\x0e"));
    }

    #[test]
    fn what_is_not_changed_keeps_its_bytes() {
        // A float as 32 bits, an integer as 64, text that is none, a time where no time is known, an extension.
        let mut original =
            b"\x86\xa1a\xca\x3f\x00\x00\x00\xa1b\xcf\x00\x00\x00\x00\x00\x00\x00\x05\xa1c\xa2\xff\xfe".to_vec();
        original.extend_from_slice(b"\xa1d\xaf");
        original.extend_from_slice(&GoTime::parse("2026-02-03T03:45:00Z").unwrap().to_binary());
        original.extend_from_slice(b"\xa1e\xd4\x05\x01\xa1f\xa1x");
        let payload = [&[4][..], &original].concat();
        let same = command(4, &printed(&payload), Some(&original)).unwrap();
        assert_eq!(same, payload);
        let mut changed = printed(&payload);
        changed["f"] = "yy".into();
        changed["g"] = Json::Null;
        let changed = command(4, &changed, Some(&original)).unwrap();
        let (head, _) = original.split_at(original.len() - 4);
        assert_eq!(changed, [&[4, 0x87][..], &head[1..], b"\xa1f\xa2yy\xa1g\xc0"].concat());
    }

    #[test]
    fn a_change_in_a_list_keeps_the_other_items() {
        let original = b"\x81\xa1l\x93\xa2\xff\x01\xa2\xff\x02\xa2\xff\x03";
        let payload = [&[4][..], original].concat();
        let mut less = printed(&payload);
        less["l"].as_array_mut().unwrap().remove(0);
        assert_eq!(command(4, &less, Some(original)).unwrap(), b"\x04\x81\xa1l\x92\xa2\xff\x02\xa2\xff\x03");
    }
}
