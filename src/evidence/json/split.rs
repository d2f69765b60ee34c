//! Finds the objects of a JSON text that is too large to be held, without understanding them.

use std::io;

use super::super::file::File;

/// Bytes read at once.
const PIECE: usize = 1 << 20;

/// Calls `found` with the offset and the text of each object that is not inside another. What
/// stands between them (an array's brackets, commas, line ends) is passed over. The result is
/// the offset of an object that does not end.
///
/// # Errors
/// When the system cannot read the file.
pub fn objects(file: &File, found: &mut dyn FnMut(u64, &[u8])) -> io::Result<Option<u64>> {
    let mut start = None;
    let mut state = State::default();
    // The part of the file from `held` on, with everything from the open object's start.
    let mut bytes: Vec<u8> = Vec::new();
    let mut held = 0_u64;
    let mut at = 0;
    loop {
        if at == bytes.len() {
            let keep = start.unwrap_or(at);
            bytes.drain(..keep);
            held += keep as u64;
            at -= keep;
            start = start.map(|_| 0);
            let more = file.read_up_to(held + at as u64, PIECE)?;
            if more.is_empty() {
                return Ok(start.map(|_| held));
            }
            bytes.extend(more);
        }
        let Some(&byte) = bytes.get(at) else { continue };
        match (start, byte) {
            (None, b'{') => {
                start = Some(at);
                state = State { depth: 1, ..State::default() };
            }
            (None, _) => {}
            (Some(from), _) => {
                if state.step(byte) {
                    found(held + from as u64, bytes.get(from..=at).unwrap_or_default());
                    start = None;
                }
            }
        }
        at += 1;
    }
}

/// How deep a scan is in braces and brackets, and whether it is in a string.
#[derive(Default)]
struct State {
    depth: u64,
    in_string: bool,
    escaped: bool,
}

impl State {
    /// True when the byte closes the outermost one.
    fn step(&mut self, byte: u8) -> bool {
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return false;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                return self.depth == 0;
            }
            _ => {}
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> (Vec<(u64, String)>, Option<u64>) {
        let mut all = Vec::new();
        let file = File::from_memory("logs.json", text.as_bytes().to_vec());
        let rest = objects(&file, &mut |at, text| all.push((at, String::from_utf8(text.to_vec()).unwrap()))).unwrap();
        (all, rest)
    }

    #[test]
    fn arrays_lines_and_objects_in_a_row_are_split_alike() {
        for text in ["[{\"a\":1},\n {\"b\":[{}]}]\n", "{\"a\":1}\n{\"b\":[{}]}\n", "{\"a\":1}{\"b\":[{}]}"] {
            let (all, rest) = found(text);
            assert_eq!(all.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), [r#"{"a":1}"#, r#"{"b":[{}]}"#]);
            assert_eq!(rest, None);
            for (at, object) in all {
                assert!(text[at as usize..].starts_with(&object));
            }
        }
    }

    #[test]
    fn braces_in_text_do_not_count_and_an_open_end_is_told() {
        let (all, rest) = found(r#"{"a":"}\"{"} {"b":"#);
        assert_eq!(all, [(0, r#"{"a":"}\"{"}"#.to_string())]);
        assert_eq!(rest, Some(13));
    }

    #[test]
    fn objects_across_pieces_are_found_whole() {
        let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(PIECE + 10));
        let (all, rest) = found(&format!("{long}\n{long}\n"));
        assert_eq!((all.len(), rest), (2, None));
        assert_eq!(all[1], (long.len() as u64 + 1, long));
    }
}
