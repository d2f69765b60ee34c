//! Remarks for the person at the terminal, as data.
//!
//! Library code collects them; only the command line prints them, on stderr (contract.md 2).

/// How much a remark matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// How the answer came about; shown only with `-v`.
    Detail,
    /// Good to know; `--quiet` drops it.
    Note,
    /// The answer may not be what it seems; always shown.
    Warning,
}

impl Level {
    /// The word before the text, which colour never replaces.
    pub fn word(self) -> &'static str {
        match self {
            Level::Detail => "detail",
            Level::Note => "note",
            Level::Warning => "warning",
        }
    }
}

/// Takes remarks where they come up.
pub trait Notes {
    /// Takes one remark: a sentence without its full stop, which names file, index or option.
    fn add(&mut self, level: Level, text: String);

    /// Takes a detail.
    fn detail(&mut self, text: impl Into<String>)
    where
        Self: Sized,
    {
        self.add(Level::Detail, text.into());
    }

    /// Takes a note.
    fn note(&mut self, text: impl Into<String>)
    where
        Self: Sized,
    {
        self.add(Level::Note, text.into());
    }

    /// Takes a warning.
    fn warn(&mut self, text: impl Into<String>)
    where
        Self: Sized,
    {
        self.add(Level::Warning, text.into());
    }
}

/// Keeps remarks in the order in which they came.
impl<N: Notes> Notes for &mut N {
    fn add(&mut self, level: Level, text: String) {
        (**self).add(level, text);
    }
}

impl Notes for Vec<(Level, String)> {
    fn add(&mut self, level: Level, text: String) {
        self.push((level, text));
    }
}
