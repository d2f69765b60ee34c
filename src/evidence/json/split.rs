//! Finds the objects of a JSON text that is too large to be held, without understanding them.

use std::io;
use std::ops::ControlFlow;

use super::super::file::File;

/// An object longer than this is not held, and so is no entry: a raft log takes none of the size.
pub const LARGEST: usize = 32 << 20;

/// What stands in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object<'t> {
    /// An object that is not inside another: the offset of its first byte, and its text.
    Whole(u64, &'t [u8]),
    /// One that is longer than [`LARGEST`]: its offset.
    TooLong(u64),
    /// One that does not end: its offset.
    Open(u64),
}

/// Calls `found` for each object from the byte `from` on, which is outside of any object, until it breaks off. What
/// stands between them (an array's brackets, commas, line ends) is passed over. So many bytes are read at once.
///
/// # Errors
/// When the system cannot read the file.
pub fn objects(
    file: &File,
    from: u64,
    piece: usize,
    found: &mut dyn FnMut(Object<'_>) -> ControlFlow<()>,
) -> io::Result<()> {
    let mut state = State::default();
    // The part of the file from `held` on, with everything from the open object's start.
    let mut bytes: Vec<u8> = Vec::new();
    let (mut held, mut at) = (from, 0);
    let mut start: Option<usize> = None;
    // The object that is too long to be held.
    let mut too_long: Option<u64> = None;
    loop {
        if at == bytes.len() {
            let keep = start.unwrap_or(at);
            bytes.drain(..keep);
            held += keep as u64;
            at -= keep;
            start = start.map(|_| 0);
            if start.is_some() && bytes.len() > LARGEST {
                too_long.get_or_insert(held);
                held += bytes.len() as u64;
                bytes.clear();
                at = 0;
            }
            let more = file.read_up_to(held + at as u64, piece)?;
            if more.is_empty() {
                let open = too_long.or_else(|| start.map(|_| held));
                open.map(|offset| found(Object::Open(offset)));
                return Ok(());
            }
            bytes.reserve_exact(more.len());
            bytes.extend(more);
        }
        let rest = bytes.get(at..).unwrap_or_default();
        if start.is_none() {
            let Some(skip) = rest.iter().position(|byte| *byte == b'{') else {
                at = bytes.len();
                continue;
            };
            start = Some(at + skip);
            state = State { depth: 1, ..State::default() };
            at += skip + 1;
            continue;
        }
        let (taken, ended) = state.advance(rest);
        at += taken;
        if ended {
            let object = match (too_long.take(), start.take()) {
                (Some(offset), _) => Object::TooLong(offset),
                (None, from) => {
                    let from = from.unwrap_or(at);
                    Object::Whole(held + from as u64, bytes.get(from..at).unwrap_or_default())
                }
            };
            if found(object).is_break() {
                return Ok(());
            }
        }
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
    /// Goes through the bytes up to the one that closes the outermost object: how many were taken, and whether that
    /// one was among them.
    fn advance(&mut self, bytes: &[u8]) -> (usize, bool) {
        let mut at = 0;
        while at < bytes.len() {
            if std::mem::take(&mut self.escaped) {
                at += 1;
                continue;
            }
            let rest = bytes.get(at..).unwrap_or_default();
            let mark = |byte: &u8| match self.in_string {
                true => matches!(byte, b'"' | b'\\'),
                false => matches!(byte, b'"' | b'{' | b'}' | b'[' | b']'),
            };
            let Some(skip) = rest.iter().position(mark) else { return (bytes.len(), false) };
            at += skip + 1;
            match rest.get(skip) {
                Some(b'"') => self.in_string = !self.in_string,
                Some(b'\\') => self.escaped = true,
                Some(b'{' | b'[') => self.depth += 1,
                _ => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return (at, true);
                    }
                }
            }
        }
        (bytes.len(), false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIECE: usize = 1 << 20;

    /// The whole objects, and where one does not end or is too long.
    fn found(text: &str, piece: usize) -> (Vec<(u64, String)>, Vec<u64>) {
        let (mut all, mut rest) = (Vec::new(), Vec::new());
        let file = File::from_memory("logs.json", text.as_bytes().to_vec());
        objects(&file, 0, piece, &mut |object| {
            match object {
                Object::Whole(at, text) => all.push((at, String::from_utf8(text.to_vec()).unwrap())),
                Object::TooLong(at) | Object::Open(at) => rest.push(at),
            }
            ControlFlow::Continue(())
        })
        .unwrap();
        (all, rest)
    }

    #[test]
    fn arrays_lines_and_objects_in_a_row_are_split_alike() {
        for text in ["[{\"a\":1},\n {\"b\":[{}]}]\n", "{\"a\":1}\n{\"b\":[{}]}\n", "{\"a\":1}{\"b\":[{}]}"] {
            for piece in [1, 2, 3, PIECE] {
                let (all, rest) = found(text, piece);
                let texts: Vec<&str> = all.iter().map(|(_, text)| text.as_str()).collect();
                assert_eq!((texts, rest), (vec![r#"{"a":1}"#, r#"{"b":[{}]}"#], vec![]));
                for (at, object) in all {
                    assert!(text[at as usize..].starts_with(&object));
                }
            }
        }
    }

    #[test]
    fn braces_in_text_do_not_count_and_an_open_end_is_told() {
        for piece in [1, 2, 5, PIECE] {
            let (all, rest) = found(r#"{"a":"}\"{\\"} {"b":"#, piece);
            assert_eq!(all, [(0, r#"{"a":"}\"{\\"}"#.to_string())]);
            assert_eq!(rest, [15]);
        }
    }

    #[test]
    fn objects_across_pieces_are_found_whole() {
        let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(PIECE + 10));
        let (all, rest) = found(&format!("{long}\n{long}\n"), PIECE);
        assert_eq!((all.len(), rest.len()), (2, 0));
        assert_eq!(all[1], (long.len() as u64 + 1, long));
    }

    #[test]
    fn an_object_too_long_to_be_held_is_passed_over() {
        let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(LARGEST + 3 * PIECE));
        let (all, rest) = found(&format!("[{{}},{long},{{\"b\":1}}]"), PIECE);
        assert_eq!(all.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), ["{}", r#"{"b":1}"#]);
        assert_eq!(rest, [4]);
        assert_eq!(found(&long[..long.len() - 1], PIECE).1, [0]);
    }
}
