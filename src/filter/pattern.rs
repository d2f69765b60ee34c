//! The values that a condition can ask for.

use super::EntryType;
use crate::evidence::LogType;
use crate::types::Index;

/// Text to compare with: exactly, or with `*` for any run of characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    Exact(String),
    /// The pieces between the stars, of which there is at least one.
    Pieces(Vec<String>),
}

impl Pattern {
    pub(super) fn new(value: &str) -> Self {
        if value.contains('*') {
            Pattern::Pieces(value.split('*').map(str::to_owned).collect())
        } else {
            Pattern::Exact(value.to_owned())
        }
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        match self {
            Pattern::Exact(exact) => exact == text,
            Pattern::Pieces(pieces) => {
                let Some((first, rest)) = pieces.split_first() else { return text.is_empty() };
                let Some((last, middle)) = rest.split_last() else { return first == text };
                let Some(mut text) = text.strip_prefix(first.as_str()) else { return false };
                for piece in middle {
                    let Some(at) = text.find(piece.as_str()) else { return false };
                    text = text.get(at + piece.len()..).unwrap_or_default();
                }
                text.ends_with(last.as_str())
            }
        }
    }
}

/// Indexes to compare with; the ends belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IndexTest {
    Range(u64, u64),
    /// The last so many of the log.
    Last(u64),
}

impl IndexTest {
    pub(super) fn ends(self, last: Index) -> (u64, u64) {
        match self {
            IndexTest::Range(from, to) => (from, to),
            IndexTest::Last(n) => (last.0.saturating_sub(n).saturating_add(1), if n == 0 { 0 } else { last.0 }),
        }
    }

    pub(super) fn holds(self, index: Index, last: Index) -> bool {
        let (from, to) = self.ends(last);
        (from..=to).contains(&index.0)
    }
}

/// A set of entry types.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TypeSet {
    /// One bit for each message type.
    commands: u128,
    /// One bit for each of raft's own types 0 to 5; 0 is a command without a byte.
    raft: u8,
    snapshot: bool,
}

impl TypeSet {
    pub(super) fn is_empty(&self) -> bool {
        *self == TypeSet::default()
    }

    pub(super) fn add(&mut self, kind: EntryType) {
        match kind {
            EntryType::Command(n) => self.commands |= 1 << (n & 0x7f),
            EntryType::Raft(t) => self.raft |= bit(t),
            EntryType::Snapshot => self.snapshot = true,
        }
    }

    pub(super) fn add_all_commands(&mut self) {
        self.commands = u128::MAX;
        self.raft |= bit(LogType::Command);
    }

    pub(super) fn contains(&self, kind: EntryType) -> bool {
        match kind {
            EntryType::Command(n) => self.commands & (1 << (n & 0x7f)) != 0,
            EntryType::Raft(t) => self.raft & bit(t) != 0,
            EntryType::Snapshot => self.snapshot,
        }
    }
}

fn bit(t: LogType) -> u8 {
    match t {
        LogType::Command => 1,
        LogType::Noop => 2,
        LogType::AddPeerDeprecated => 4,
        LogType::RemovePeerDeprecated => 8,
        LogType::Barrier => 16,
        LogType::Configuration => 32,
        LogType::Other(_) => 0,
    }
}
