//! Message bodies as JSON, straight from msgpack (contract.md 3, fsm.md 6).
//!
//! The layout is that of `nomad operator raft logs`, keys sorted bytewise, without its weaknesses: bytes are base64
//! and not mangled, only times become times, and nothing that the entry carries is dropped.
//!
//! Two passes over the bytes: the first checks the whole body and notes where each container ends and whether its
//! keys are in order, the second writes. So an unreadable body writes nothing, and sorting costs only where it is due.

pub mod text;

use std::borrow::Cow;
use std::io::Write;

use super::msgpack::{DecodeError, MAX_DEPTH, Reader, Result, Token};
use super::time::GoTime;
use crate::evidence::LogType;
use crate::redact::{Form, Marker, Place, Redactor};

/// One container that holds something, in the order in which containers begin.
#[derive(Clone, Copy, Debug)]
struct Span {
    /// Offset of the first byte after it.
    end: usize,
    /// Position in the list of spans of the first container after it.
    next: usize,
    /// A map whose keys are text, in rising order.
    sorted: bool,
}

/// Writes bodies as JSON; holds what can be used again from body to body.
#[derive(Debug, Default)]
pub struct BodyWriter {
    spans: Vec<Span>,
}

impl BodyWriter {
    /// A writer with nothing remembered.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends the payload of a raft entry, as in [`Record::data`](crate::evidence::Record), as one JSON value to
    /// `out`. False, with nothing written, where the entry has no body to print.
    ///
    /// # Errors
    /// When the payload cannot be decoded, or a command is empty; nothing is written then, and no secret is in the text.
    pub fn record(&mut self, kind: LogType, data: &[u8], redactor: &mut Redactor, out: &mut Vec<u8>) -> Result<bool> {
        match kind {
            LogType::Command => {
                let command = super::split(data).ok_or(DecodeError::Eof { at: 0 })?;
                // A reconcile's body is never decoded by Nomad, so an empty one is as good as any.
                if command.kind == 10 && command.body.is_empty() {
                    return Ok(false);
                }
                self.command(command.kind, command.body, redactor, out)?;
            }
            _ if data.is_empty() => return Ok(false),
            // Configurations are a map with the list Servers, old peer changes a list of addresses.
            _ => self.value(data, Place::ROW, redactor, out)?,
        }
        Ok(true)
    }

    /// Checks that [`BodyWriter::record`] could write the payload, and writes nothing.
    ///
    /// # Errors
    /// As [`BodyWriter::record`].
    pub fn check(kind: LogType, data: &[u8]) -> Result<()> {
        let value = match kind {
            LogType::Command => {
                let command = super::split(data).ok_or(DecodeError::Eof { at: 0 })?;
                if command.kind == 10 && command.body.is_empty() {
                    return Ok(());
                }
                command.body
            }
            _ if data.is_empty() => return Ok(()),
            _ => data,
        };
        Reader::new(value).skip_nested()
    }

    /// Appends the body of a command of message type `kind` to `out`.
    ///
    /// # Errors
    /// When it cannot be decoded; nothing is written then.
    pub fn command(&mut self, kind: u8, body: &[u8], redactor: &mut Redactor, out: &mut Vec<u8>) -> Result<()> {
        self.value(body, Place::message(kind), redactor, out)
    }

    /// Appends the msgpack value at the start of `bytes`, which stands at `place`, to `out`.
    ///
    /// # Errors
    /// When it cannot be decoded; nothing is written then.
    pub fn value(&mut self, bytes: &[u8], place: Place, redactor: &mut Redactor, out: &mut Vec<u8>) -> Result<()> {
        self.value_in((place, Form::Plain), bytes, redactor, out)
    }

    /// As [`BodyWriter::value`], for a value whose field has a form.
    ///
    /// # Errors
    /// As [`BodyWriter::value`].
    pub fn value_in(
        &mut self,
        (place, form): (Place, Form),
        bytes: &[u8],
        redactor: &mut Redactor,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        self.spans.clear();
        self.measure(&mut Reader::new(bytes), 0)?;
        let mut writer = Writer { bytes, spans: &self.spans, redactor, out, in_key: false };
        writer.value(&mut Cursor { reader: Reader::new(bytes), span: 0 }, place, form)
    }

    /// The key of a map, given as msgpack, as it is printed: a job's key, which is a map, as `namespace.id`.
    ///
    /// # Errors
    /// When it cannot be decoded.
    pub fn key(&mut self, bytes: &[u8], redactor: &mut Redactor) -> Result<String> {
        self.spans.clear();
        self.measure(&mut Reader::new(bytes), 0)?;
        let mut out = Vec::new();
        let mut writer = Writer { bytes, spans: &self.spans, redactor, out: &mut out, in_key: false };
        let key = writer.key(&mut Cursor { reader: Reader::new(bytes), span: 0 })?;
        Ok(String::from_utf8_lossy(&key).into_owned())
    }

    /// Notes the spans of one value and moves past it.
    fn measure(&mut self, r: &mut Reader<'_>, depth: usize) -> Result<()> {
        let at = r.position();
        let (items, is_map) = match r.token()? {
            Token::Array(n) if n > 0 => (n, false),
            Token::Map(n) if n > 0 => (n, true),
            _ => return Ok(()),
        };
        if depth == MAX_DEPTH {
            return Err(DecodeError::Depth { at });
        }
        let own = self.spans.len();
        self.spans.push(Span { end: 0, next: 0, sorted: is_map });
        let mut sorted = is_map;
        let mut last: Option<&[u8]> = None;
        for _ in 0..items {
            if is_map {
                let mut ahead = r.clone();
                match ahead.token()? {
                    // Keys that are not plain ASCII may print differently from how they sort.
                    Token::Raw(key) if key.is_ascii() && last.is_none_or(|last| last < key) => {
                        last = Some(key);
                        *r = ahead;
                    }
                    _ => {
                        sorted = false;
                        self.measure(r, depth + 1)?;
                    }
                }
            }
            self.measure(r, depth + 1)?;
        }
        let next = self.spans.len();
        if let Some(span) = self.spans.get_mut(own) {
            *span = Span { end: r.position(), next, sorted };
        }
        Ok(())
    }
}

/// A place in the bytes and the span of the next container from there on.
#[derive(Clone)]
struct Cursor<'a> {
    reader: Reader<'a>,
    span: usize,
}

/// One pair of a map that has to be sorted: its printed key and where its value is.
struct Pair<'a> {
    key: Cow<'a, [u8]>,
    at: Cursor<'a>,
}

struct Writer<'a, 'o> {
    bytes: &'a [u8],
    spans: &'o [Span],
    redactor: &'o mut Redactor,
    out: &'o mut Vec<u8>,
    /// What is written becomes a key.
    in_key: bool,
}

impl<'a> Writer<'a, '_> {
    fn value(&mut self, c: &mut Cursor<'a>, place: Place, form: Form) -> Result<()> {
        match c.reader.token()? {
            Token::Nil => self.out.extend_from_slice(b"null"),
            Token::Bool(true) => self.out.extend_from_slice(b"true"),
            Token::Bool(false) => self.out.extend_from_slice(b"false"),
            Token::Int(n) => match self.redactor.hide_number(place, n) {
                None => text::integer(self.out, n),
                Some(marker) => self.marker(marker),
            },
            Token::Uint(n) => match self.redactor.hide_number(place, n) {
                None => text::unsigned(self.out, n),
                Some(marker) => self.marker(marker),
            },
            Token::Float(x) => match self.redactor.hide_number(place, x) {
                None => text::float(self.out, x),
                Some(marker) => self.marker(marker),
            },
            Token::Raw(raw) => self.raw(raw, place, form),
            Token::Ext(kind, raw) => {
                match (self.redactor.hide(place, raw), GoTime::from_raw(raw).and_then(GoTime::printable)) {
                    (Some(marker), _) => self.marker(marker),
                    (None, Some(time)) if kind == -1 => self.time(time),
                    (None, _) => text::base64(self.out, raw),
                }
            }
            Token::Array(0) => self.out.extend_from_slice(b"[]"),
            Token::Map(0) => self.out.extend_from_slice(b"{}"),
            Token::Array(n) => {
                c.span += 1;
                for i in 0..n {
                    self.out.push(if i == 0 { b'[' } else { b',' });
                    self.value(c, place.item(), form)?;
                }
                self.out.push(b']');
            }
            Token::Map(n) => {
                let span = self.spans.get(c.span).copied();
                c.span += 1;
                match span {
                    Some(span) if !span.sorted => self.unsorted(c, n, span, place)?,
                    _ => {
                        for i in 0..n {
                            let key = c.reader.raw()?;
                            self.pair(i == 0, key, place, c)?;
                        }
                    }
                }
                self.out.push(b'}');
            }
        }
        Ok(())
    }

    fn pair(&mut self, first: bool, key: &[u8], place: Place, value: &mut Cursor<'a>) -> Result<()> {
        self.out.push(if first { b'{' } else { b',' });
        text::string_or_base64(self.out, key);
        self.out.push(b':');
        let (place, form) = place.value(key);
        self.value(value, place, form)
    }

    /// A map whose keys need sorting. Of equal keys the last one counts, as for Nomad's decoder.
    fn unsorted(&mut self, c: &mut Cursor<'a>, n: u32, span: Span, place: Place) -> Result<()> {
        let mut pairs = Vec::new();
        for _ in 0..n {
            let key = self.key(c)?;
            pairs.push(Pair { key, at: c.clone() });
            self.skip(c)?;
        }
        pairs.sort_by(|a, b| a.key.cmp(&b.key));
        let mut first = true;
        let mut rest = pairs.into_iter().peekable();
        while let Some(mut pair) = rest.next() {
            if rest.peek().is_some_and(|next| next.key == pair.key) {
                continue;
            }
            self.pair(first, &pair.key, place, &mut pair.at)?;
            first = false;
        }
        *c = Cursor { reader: Reader::at(self.bytes, span.end), span: span.next };
        Ok(())
    }

    /// A key as it is printed: text as it is, a number in decimal, a job's key as `namespace.id`, anything else as JSON.
    /// In what becomes a key itself, a key that is a container is its msgpack in base64: as JSON in a text in a text, it
    /// would double with each level.
    fn key(&mut self, c: &mut Cursor<'a>) -> Result<Cow<'a, [u8]>> {
        let from = c.clone();
        let mut json = Vec::new();
        match c.reader.token()? {
            Token::Raw(raw) if std::str::from_utf8(raw).is_ok() => return Ok(Cow::Borrowed(raw)),
            Token::Raw(raw) => text::base64(&mut json, raw),
            Token::Array(_) | Token::Map(_) if self.in_key => {
                *c = from.clone();
                self.skip(c)?;
                text::base64(&mut json, from.reader.between(from.reader.position(), c.reader.position()));
            }
            Token::Map(_) => {
                let (mut namespace, mut id) = (None, None);
                let mut fields = from.reader.clone();
                // Keys of another kind fail here and are written as JSON below.
                let read = fields.fields(|key, r| {
                    match key {
                        b"Namespace" => namespace = Some(r.text()?),
                        b"ID" => id = Some(r.text()?),
                        _ => r.skip()?,
                    }
                    Ok(())
                });
                *c = from;
                if let (Ok(_), Some(namespace), Some(id)) = (read, namespace, id) {
                    self.skip(c)?;
                    return Ok(Cow::Owned(format!("{namespace}.{id}").into_bytes()));
                }
                self.nested(c, &mut json)?;
            }
            _ => {
                *c = from;
                self.nested(c, &mut json)?;
            }
        }
        if json.first() == Some(&b'"') {
            json.remove(0);
            json.pop();
        }
        Ok(Cow::Owned(json))
    }

    /// Writes the value at `c` into `out` instead of the output.
    fn nested(&mut self, c: &mut Cursor<'a>, out: &mut Vec<u8>) -> Result<()> {
        let mut writer = Writer { bytes: self.bytes, spans: self.spans, redactor: self.redactor, out, in_key: true };
        writer.value(c, Place::ROW, Form::Plain)
    }

    /// Moves past one value.
    fn skip(&self, c: &mut Cursor<'a>) -> Result<()> {
        match c.reader.token()? {
            Token::Array(1..) | Token::Map(1..) => {
                if let Some(span) = self.spans.get(c.span) {
                    *c = Cursor { reader: Reader::at(self.bytes, span.end), span: span.next };
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn marker(&mut self, marker: Marker) {
        // Writing to a Vec cannot fail.
        let _ = write!(self.out, "\"{marker}\"");
    }

    fn time(&mut self, time: GoTime) {
        self.out.push(b'"');
        time.write(self.out);
        self.out.push(b'"');
    }

    fn raw(&mut self, raw: &[u8], place: Place, form: Form) {
        if form == Form::Payload {
            let payload = decompressed(raw);
            return match self.redactor.hide(place, &payload) {
                Some(marker) => self.marker(marker),
                None => text::base64(self.out, &payload),
            };
        }
        if let Some(marker) = self.redactor.hide(place, raw) {
            return self.marker(marker);
        }
        match form {
            Form::Bytes => text::base64(self.out, raw),
            Form::Time | Form::Plain | Form::Payload => match (time_at(raw, form), place) {
                (Some(time), _) => self.time(time),
                (None, Place::Url(name)) => {
                    let url = String::from_utf8_lossy(raw);
                    text::string(self.out, &self.redactor.url(name, &url));
                }
                (None, _) => text::string_or_base64(self.out, raw),
            },
        }
    }
}

/// The time that `raw` holds in a field of this form, if it is one.
fn time_at(raw: &[u8], form: Form) -> Option<GoTime> {
    if form != Form::Time || raw.iter().all(|b| (0x20..0x7f).contains(b)) {
        return time_anywhere(raw);
    }
    GoTime::from_raw(raw).and_then(GoTime::printable)
}

/// A time outside the fields that are known to hold one: Go's form of the years 1904 to 2448, or its zero time.
/// No text begins with those bytes (storage.md 3.3).
pub fn time_anywhere(raw: &[u8]) -> Option<GoTime> {
    match raw {
        [1, 0, 0, 0, 0x0e..=0x11, ..] | [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ..] if raw.len() == 15 => {
            GoTime::from_raw(raw).and_then(GoTime::printable)
        }
        _ => None,
    }
}

/// A dispatch payload out of snappy's block format; the bytes as they are where they are no such block.
fn decompressed(raw: &[u8]) -> Cow<'_, [u8]> {
    // A block can claim any length up front; none holds more than 64 bytes for one of its own.
    let claimed = snap::raw::decompress_len(raw).unwrap_or(usize::MAX);
    if claimed > raw.len().saturating_mul(64) {
        return Cow::Borrowed(raw);
    }
    snap::raw::Decoder::new().decompress_vec(raw).map_or(Cow::Borrowed(raw), Cow::Owned)
}

#[cfg(test)]
mod tests;
