//! Scalars as JSON text, the way Go's encoder writes them (state-rows.md 1.1).

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// What Go's encoder does with each byte of text: 0 leaves it, else the letter after the backslash, `u` for a code.
const ESCAPE: [u8; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 0x20 {
        table[i] = b'u';
        i += 1;
    }
    table[0x08] = b'b';
    table[0x0c] = b'f';
    table[b'\n' as usize] = b'n';
    table[b'\r' as usize] = b'r';
    table[b'\t' as usize] = b't';
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table[b'<' as usize] = b'u';
    table[b'>' as usize] = b'u';
    table[b'&' as usize] = b'u';
    // The first byte of U+2028 and U+2029; what follows decides.
    table[0xe2] = 1;
    table
};

/// Appends `text` as a JSON string. `<`, `>`, `&`, U+2028 and U+2029 become codes, so that the text can stand in
/// HTML and in JavaScript.
pub fn string(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    if is_plain(bytes) {
        return quoted(out, bytes);
    }
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    let mut from = 0;
    for (i, &byte) in bytes.iter().enumerate() {
        let escape = ESCAPE[usize::from(byte)];
        if escape == 0 {
            continue;
        }
        if escape == 1 && !matches!(bytes.get(i + 1..i + 3), Some([0x80, 0xa8 | 0xa9])) {
            continue;
        }
        out.extend_from_slice(bytes.get(from..i).unwrap_or_default());
        from = i + 1;
        match escape {
            1 => {
                let last = bytes.get(i + 2).copied().unwrap_or_default();
                out.extend_from_slice(if last == 0xa8 { b"\\u2028" } else { b"\\u2029" });
                from = i + 3;
            }
            b'u' => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                let digits = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&digits);
            }
            letter => out.extend_from_slice(&[b'\\', letter]),
        }
    }
    out.extend_from_slice(bytes.get(from..).unwrap_or_default());
    out.push(b'"');
}

/// Appends `raw` as a JSON string in standard, padded base64.
pub fn base64(out: &mut Vec<u8>, raw: &[u8]) {
    out.push(b'"');
    // In pieces whose length divides by three, so that only the last is padded and nothing is allocated.
    for piece in raw.chunks(768) {
        let mut text = [0; 1024];
        if let Ok(n) = STANDARD.encode_slice(piece, &mut text) {
            out.extend_from_slice(text.get(..n).unwrap_or_default());
        }
    }
    out.push(b'"');
}

/// ASCII that stands in a JSON string as it is, which most text is. Without an early exit, so that it runs in wide steps.
fn is_plain(raw: &[u8]) -> bool {
    let special = |b: u8| !(0x20..0x80).contains(&b) | matches!(b, b'"' | b'\\' | b'<' | b'>' | b'&');
    !raw.iter().fold(false, |any, &b| any | special(b))
}

fn quoted(out: &mut Vec<u8>, raw: &[u8]) {
    out.reserve(raw.len() + 2);
    out.push(b'"');
    out.extend_from_slice(raw);
    out.push(b'"');
}

/// Appends `raw` as text if it is UTF-8, else as base64.
pub fn string_or_base64(out: &mut Vec<u8>, raw: &[u8]) {
    if is_plain(raw) {
        return quoted(out, raw);
    }
    match std::str::from_utf8(raw) {
        Ok(text) => string(out, text),
        Err(_) => base64(out, raw),
    }
}

/// Appends an integer.
pub fn integer(out: &mut Vec<u8>, n: i64) {
    if n < 0 {
        out.push(b'-');
    }
    unsigned(out, n.unsigned_abs());
}

/// Appends an unsigned integer.
pub fn unsigned(out: &mut Vec<u8>, mut n: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends a float: the shortest form that reads back the same, with an exponent only below 1e-6 and from 1e21.
/// NaN and the infinities, which JSON cannot tell, become `null`.
pub fn float(out: &mut Vec<u8>, x: f64) {
    let size = x.abs();
    // Writing to a Vec cannot fail.
    let _ = if !x.is_finite() {
        out.write_all(b"null")
    } else if size == 0.0 || (1e-6..1e21).contains(&size) {
        write!(out, "{x}")
    } else if size >= 1e21 {
        write!(out, "{}", format!("{x:e}").replace('e', "e+"))
    } else {
        write!(out, "{x:e}")
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn text_is_escaped_as_go_does_and_reads_back_the_same() {
        let hard = "a\"b\\c\n\r\t\u{8}\u{c}\u{1}\u{1f}<&>\u{2028}\u{2029}\u{2027}â€é日本\u{10ffff}\u{7f}";
        let json = text(|out| string(out, hard));
        assert_eq!(
            json,
            "\"a\\\"b\\\\c\\n\\r\\t\\b\\f\\u0001\\u001f\\u003c\\u0026\\u003e\\u2028\\u2029\u{2027}â€é日本\u{10ffff}\u{7f}\""
        );
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), hard);
    }

    #[test]
    fn numbers_print_as_go_prints_them() {
        for (x, want) in [
            (0.0, "0"),
            (1.5, "1.5"),
            (-2.0, "-2"),
            (1e-6, "0.000001"),
            (1.5e-7, "1.5e-7"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (0.18518518518518517, "0.18518518518518517"),
            (f64::NAN, "null"),
        ] {
            assert_eq!(text(|out| float(out, x)), want);
        }
        assert_eq!(text(|out| integer(out, i64::MIN)), i64::MIN.to_string());
        assert_eq!(text(|out| unsigned(out, u64::MAX)), u64::MAX.to_string());
        assert_eq!(text(|out| unsigned(out, 0)), "0");
    }

    #[test]
    fn long_bytes_are_one_base64() {
        let raw: Vec<u8> = (0..2000u32).map(|i| i as u8).collect();
        assert_eq!(text(|out| base64(out, &raw)), format!("\"{}\"", STANDARD.encode(&raw)));
        assert_eq!(text(|out| base64(out, b"")), "\"\"");
    }
}
