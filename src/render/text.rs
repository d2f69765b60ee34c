//! Other people's text made safe to look at: job names come from whoever may submit a job.

use std::borrow::Cow;
use std::fmt::Write;

use unicode_width::UnicodeWidthStr;

/// True for characters that move the cursor, hide text or turn its direction round.
fn is_tricky(c: char) -> bool {
    matches!(c,
        '\0'..='\x1f' | '\x7f'..='\u{9f}'      // C0, DEL and C1 controls
        | '\u{ad}'                             // soft hyphen
        | '\u{61c}' | '\u{200b}'..='\u{200f}'  // zero width and direction marks
        | '\u{2028}'..='\u{202e}'              // line separators, bidirectional embedding and override
        | '\u{2060}'..='\u{206f}'              // invisible operators, bidirectional isolates
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' // byte order mark, interlinear annotation
        | '\u{e0000}'..='\u{e007f}') // tags
}

/// `text` with control, invisible and bidirectional characters written as escapes, so that it can
/// neither steer a terminal nor look like another text. Backslashes of the text stay as they are.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_tricky) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_tricky(c) => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// `text` in lines of at most `width` columns, broken between words; one line where no width is given.
pub fn wrapped(text: &str, width: Option<usize>) -> Vec<String> {
    let Some(width) = width else { return vec![text.to_owned()] };
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let Some(line) = lines.last_mut() else { break };
        if !line.is_empty() && line.width() + 1 + word.width() > width {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

/// The same, with every line but the first set in.
pub fn hanging(text: &str, width: Option<usize>) -> Vec<String> {
    const INDENT: usize = 4;
    let mut lines = wrapped(text, width.map(|width| width.saturating_sub(INDENT).max(20)));
    lines.iter_mut().skip(1).for_each(|line| line.insert_str(0, &" ".repeat(INDENT)));
    lines
}

#[cfg(test)]
mod tests {
    use super::{visible, wrapped};

    #[test]
    fn lines_break_between_words_and_words_stay_whole() {
        assert_eq!(wrapped("a bb ccc dddddddd e", Some(5)), ["a bb", "ccc", "dddddddd", "e"]);
        assert_eq!(wrapped("a bb ccc", None), ["a bb ccc"]);
    }

    #[test]
    fn control_and_bidirectional_characters_become_visible() {
        assert_eq!(visible("a\x1b[31mb\u{202e}c\nd\u{9b}"), "a\\u{1b}[31mb\\u{202e}c\\nd\\u{9b}");
    }

    #[test]
    fn letters_of_any_script_stay() {
        assert!(matches!(visible("jöb-名-שלום"), std::borrow::Cow::Borrowed(_)));
    }
}
