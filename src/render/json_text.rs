//! JSON as text: rows travel as bytes, so that an entry's body is written once and never becomes a
//! tree of values on its way to the output.

/// Appends `text` as a JSON string.
pub fn string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut from = 0;
    for (at, &b) in bytes.iter().enumerate() {
        let escape: &[u8] = match b {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            0x08 => b"\\b",
            0x0c => b"\\f",
            0..=0x1f | 0x7f => b"",
            _ => continue,
        };
        out.extend_from_slice(&bytes[from..at]);
        from = at + 1;
        if escape.is_empty() {
            out.extend_from_slice(format!("\\u{b:04x}").as_bytes());
        } else {
            out.extend_from_slice(escape);
        }
    }
    out.extend_from_slice(&bytes[from..]);
    out.push(b'"');
}

/// Writes one JSON object, member by member, into a buffer.
#[derive(Debug)]
pub struct Object<'a> {
    out: &'a mut Vec<u8>,
    first: bool,
}

impl<'a> Object<'a> {
    /// Opens an object at the end of `out`.
    pub fn open(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        Object { out, first: true }
    }

    /// Writes a key and hands out the buffer, into which exactly one JSON value must be written.
    pub fn key(&mut self, key: &str) -> &mut Vec<u8> {
        if !std::mem::take(&mut self.first) {
            self.out.push(b',');
        }
        string(self.out, key);
        self.out.push(b':');
        self.out
    }

    /// A member that holds text.
    pub fn text(&mut self, key: &str, value: &str) {
        string(self.key(key), value);
    }

    /// A member that holds a number or anything else whose `Display` is JSON.
    pub fn display(&mut self, key: &str, value: impl std::fmt::Display) {
        use std::io::Write;
        // Writing to a Vec cannot fail.
        let _ = write!(self.key(key), "{value}");
    }

    /// Closes the object.
    pub fn close(self) {
        self.out.push(b'}');
    }
}

/// The length of the JSON value that `json` starts with, which must be compact and well formed.
fn value_len(json: &[u8]) -> usize {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (at, &b) in json.iter().enumerate() {
        if in_string {
            match b {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => {
                    in_string = false;
                    if depth == 0 {
                        return at + 1;
                    }
                }
                _ => {}
            }
            continue;
        }
        match b {
            b'"' => in_string = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return at,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            b',' | b':' if depth == 0 => return at,
            _ => {}
        }
    }
    json.len()
}

/// The members of a compact JSON object: key as JSON text with its quotes, value as JSON text.
pub fn members(json: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut rest = json.strip_prefix(b"{").unwrap_or_default();
    std::iter::from_fn(move || {
        if !rest.starts_with(b"\"") {
            return None;
        }
        let (key, tail) = rest.split_at(value_len(rest));
        let tail = tail.strip_prefix(b":")?;
        let (value, tail) = tail.split_at(value_len(tail));
        rest = tail.strip_prefix(b",").unwrap_or_default();
        Some((key, value))
    })
}

/// Appends compact JSON with line breaks and two spaces for each level, as jq does; `level` is the
/// depth at which the value stands.
pub fn indent(json: &[u8], out: &mut Vec<u8>, level: usize) {
    let mut depth = level;
    let (mut in_string, mut escaped) = (false, false);
    for (at, &b) in json.iter().enumerate() {
        if in_string {
            out.push(b);
            match b {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match b {
            b'{' | b'[' => {
                out.push(b);
                if !matches!(json.get(at + 1), Some(b'}' | b']')) {
                    depth += 1;
                    line(out, depth);
                }
            }
            b'}' | b']' => {
                if !matches!(at.checked_sub(1).and_then(|i| json.get(i)), Some(b'{' | b'[')) {
                    depth = depth.saturating_sub(1);
                    line(out, depth);
                }
                out.push(b);
            }
            b',' => {
                out.push(b);
                line(out, depth);
            }
            b':' => out.extend_from_slice(b": "),
            b'"' => {
                in_string = true;
                out.push(b);
            }
            b => out.push(b),
        }
    }
}

fn line(out: &mut Vec<u8>, depth: usize) {
    out.push(b'\n');
    out.extend(std::iter::repeat_n(b' ', 2 * depth));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(f: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        f(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn strings_read_back_as_they_were() {
        for s in ["", "plain", "q\"b\\s/", "line\nfeed\ttab\r\u{8}\u{c}\u{0}\u{1f}\u{7f}", "ü\u{2028}名"] {
            let json = text_of(|out| string(out, s));
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), s);
        }
    }

    #[test]
    fn an_object_is_written_member_by_member() {
        let json = text_of(|out| {
            let mut o = Object::open(out);
            o.text("a\"", "x");
            o.display("n", 18446744073709551615_u64);
            o.close();
        });
        assert_eq!(json, r#"{"a\"":"x","n":18446744073709551615}"#);
        assert_eq!(text_of(|out| Object::open(out).close()), "{}");
    }

    #[test]
    fn members_are_told_apart_whatever_their_text_holds() {
        let json = br#"{"a":"x,}\"{","b":{"c":[1,"]"]},"d":[],"e":null,"f":-1.5e3}"#;
        let got: Vec<_> = members(json)
            .map(|(k, v)| (String::from_utf8_lossy(k).into_owned(), String::from_utf8_lossy(v).into_owned()))
            .collect();
        let want = [
            (r#""a""#, r#""x,}\"{""#),
            (r#""b""#, r#"{"c":[1,"]"]}"#),
            (r#""d""#, "[]"),
            (r#""e""#, "null"),
            (r#""f""#, "-1.5e3"),
        ];
        assert_eq!(got, want.map(|(k, v)| (k.to_owned(), v.to_owned())));
        assert_eq!(members(b"{}").count(), 0);
    }

    #[test]
    fn indenting_equals_what_serde_json_prints() {
        for json in [r#"{"a":[1,{"b":"x:,{}"},[],{}],"c":"\\\""}"#, "[]", "{}", "3", r#"[[[1]],""]"#] {
            let value: serde_json::Value = serde_json::from_str(json).unwrap();
            let got = text_of(|out| indent(json.as_bytes(), out, 0));
            assert_eq!(got, serde_json::to_string_pretty(&value).unwrap());
        }
    }
}
