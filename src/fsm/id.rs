//! Compact values for rows: IDs, which are nearly always UUIDs, and words out of small vocabularies.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The ID of an evaluation, allocation, deployment or node.
///
/// A canonical lower-case UUID is kept as its 16 bytes; any other text as it is. Order and
/// equality are those of the text.
#[derive(Clone, PartialEq, Eq, Default)]
pub enum Id {
    /// The empty text, which stands for "none".
    #[default]
    Empty,
    /// `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` in lower case.
    Uuid([u8; 16]),
    /// Anything else.
    Text(Arc<str>),
}

impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Id::Empty => {}
            // One number is hashed faster than sixteen bytes of which the count is to be told.
            Id::Uuid(bytes) => state.write_u128(u128::from_ne_bytes(*bytes)),
            Id::Text(text) => text.hash(state),
        }
    }
}

impl Id {
    /// The ID of that text.
    pub fn new(text: &str) -> Self {
        if text.is_empty() {
            return Id::Empty;
        }
        parse_uuid(text.as_bytes()).map_or_else(|| Id::Text(text.into()), Id::Uuid)
    }

    /// True for the empty text.
    pub fn is_empty(&self) -> bool {
        matches!(self, Id::Empty)
    }
}

fn nibble(c: u8) -> Option<u8> {
    match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'a'..=b'f' => Some(c - b'a' + 10),
        _ => None,
    }
}

fn parse_uuid(text: &[u8]) -> Option<[u8; 16]> {
    if text.len() != 36 || [8, 13, 18, 23].iter().any(|&i| text[i] != b'-') {
        return None;
    }
    let mut out = [0; 16];
    let mut digits = text.iter().enumerate().filter(|(i, _)| !matches!(i, 8 | 13 | 18 | 23));
    for byte in &mut out {
        let (_, high) = digits.next()?;
        let (_, low) = digits.next()?;
        *byte = nibble(*high)? << 4 | nibble(*low)?;
    }
    Some(out)
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Id::Empty => Ok(()),
            Id::Text(text) => f.write_str(text),
            Id::Uuid(bytes) => {
                for (i, byte) in bytes.iter().enumerate() {
                    let dash = if matches!(i, 4 | 6 | 8 | 10) { "-" } else { "" };
                    write!(f, "{dash}{byte:02x}")?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl PartialOrd for Id {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Id {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Id::Uuid(a), Id::Uuid(b)) => a.cmp(b),
            _ => self.to_string().cmp(&other.to_string()),
        }
    }
}

/// A word out of a vocabulary, such as a status: known words cost no memory.
#[derive(Clone)]
pub enum Word {
    /// One of [`WORDS`].
    Known(&'static str),
    /// Any other.
    Other(Arc<str>),
}

/// The words that Nomad writes for statuses, job types and triggers, by their length in bytes.
const WORDS: &[&[&str]] = &[
    &[""],
    &[],
    &[],
    &["run"],
    &["dead", "lost", "stop", "down"],
    &["evict", "batch", "_core", "ready"],
    &["failed", "system", "paused"],
    &["pending", "running", "unknown", "blocked", "service"],
    &["complete", "canceled", "sysbatch", "eligible"],
    &["cancelled", "scheduled", "reconnect"],
    &["successful", "unblocking", "ineligible", "node-drain", "alloc-stop", "preemption"],
    &["node-update", "job-scaling"],
    &["initializing", "disconnected", "job-register", "periodic-job"],
    &["alloc-failure", "queued-allocs"],
    &["job-deregister", "rolling-update"],
    &[],
    &["failed-follow-up"],
    &["max-plan-attempts"],
    &["deployment-watcher"],
    &[],
    &[],
    &[],
    &["max-disconnect-timeout"],
];

impl Word {
    /// The empty word.
    pub const EMPTY: Word = Word::Known("");
    /// The job, allocation and evaluation status `pending`.
    pub const PENDING: Word = Word::Known("pending");
    /// The job, allocation and deployment status `running`.
    pub const RUNNING: Word = Word::Known("running");
    /// The job status `dead`.
    pub const DEAD: Word = Word::Known("dead");

    /// The word of that text.
    pub fn new(text: &str) -> Self {
        let of_that_length = WORDS.get(text.len()).copied().unwrap_or_default();
        match of_that_length.iter().find(|w| **w == text) {
            Some(word) => Word::Known(word),
            None => Word::Other(text.into()),
        }
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        match self {
            Word::Known(text) => text,
            Word::Other(text) => text,
        }
    }
}

impl Default for Word {
    fn default() -> Self {
        Word::EMPTY
    }
}

impl PartialEq for Word {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Word {}

impl PartialEq<str> for Word {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Word {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_stands_under_its_length() {
        for (length, words) in WORDS.iter().enumerate() {
            for word in *words {
                assert_eq!(word.len(), length);
                assert!(matches!(Word::new(word), Word::Known(known) if known == *word));
            }
        }
        for other in ["complet", "completed", "a word that is longer than every one of them"] {
            assert!(matches!(Word::new(other), Word::Other(text) if *text == *other));
        }
    }

    #[test]
    fn an_id_prints_as_it_was_written() {
        for text in ["", "8beab86a-50b2-f8ef-dd7b-1c81ab8d2d16", "8BEAB86A-50b2-f8ef-dd7b-1c81ab8d2d16", "node-1"] {
            assert_eq!(Id::new(text).to_string(), text);
        }
    }

    #[test]
    fn ids_order_as_their_texts_do() {
        let mut texts = ["b0000000-0000-0000-0000-000000000000", "b", "a0000000-0000-0000-0000-000000000001", "", "zz"];
        let mut ids: Vec<Id> = texts.iter().map(|t| Id::new(t)).collect();
        ids.sort();
        texts.sort_unstable();
        assert_eq!(ids.iter().map(Id::to_string).collect::<Vec<_>>(), texts);
    }
}
