//! The one place that writes to stderr: notes, warnings, errors and progress.

use std::io::{IsTerminal, Write};

use super::args::FeedbackArgs;
use super::pager;
use crate::error::Error;
use crate::notes::{Level, Notes};
use crate::progress::{Progress, Target, When};
use crate::render::text::visible;
use crate::types::Index;

/// Prints remarks and errors on stderr.
#[derive(Clone, Debug)]
pub struct Reporter {
    /// The least level that is shown.
    least: Level,
    color: bool,
    progress: When,
    muted: bool,
}

impl Reporter {
    /// A reporter for these settings.
    pub fn new(feedback: &FeedbackArgs, color: bool) -> Self {
        let least = match (feedback.quiet, feedback.verbose) {
            (true, _) => Level::Warning,
            (_, true) => Level::Detail,
            _ => Level::Note,
        };
        let progress = if feedback.quiet { When::Never } else { feedback.progress };
        Reporter { least, color, progress, muted: false }
    }

    /// A reporter for what goes wrong before the settings are known.
    pub fn plain_settings() -> Self {
        Reporter { least: Level::Note, color: false, progress: When::Never, muted: false }
    }

    /// One that says nothing, for a second run over the same evidence.
    pub fn muted(&self) -> Self {
        Reporter { muted: true, progress: When::Never, ..self.clone() }
    }

    /// The same one without notes and progress; warnings and errors stay.
    pub fn quieter(&self) -> Self {
        Reporter { least: Level::Warning, progress: When::Never, ..self.clone() }
    }

    /// The progress of a pass over the entries from `first` to `last`; `what` is a verb.
    pub fn progress(&self, what: &'static str, first: Index, last: Index) -> Progress<'_> {
        Progress::new(self.progress, self, what, first, last)
    }

    /// The progress of a pass over so many rows; `what` is a verb.
    pub fn progress_of_rows(&self, what: &'static str, rows: u64) -> Progress<'_> {
        Progress::of_rows(self.progress, self, what, rows)
    }

    /// Prints the error that ends the run, unless it is one that needs no words.
    pub fn error(&self, error: &Error) {
        if !error.is_quiet() {
            self.write("error", "1;31", &error.to_string());
        }
    }

    /// Prints a line of other people's making, harmless but else as it is.
    pub fn plain(&self, text: &str) {
        say(&visible(text));
    }

    /// Prints help where no command was given.
    pub fn help(&self, text: &str) {
        let _ = write!(std::io::stderr(), "{text}");
    }

    fn write(&self, word: &str, code: &str, text: &str) {
        let text = visible(text);
        say(&if self.color { format!("\x1b[{code}m{word}\x1b[0m: {text}") } else { format!("{word}: {text}") });
    }
}

/// Writes a line on stderr; behind the output, where a pager holds that.
fn say(line: &str) {
    if !pager::keeps(line) {
        // Nobody is left to tell when stderr is closed.
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}

impl Notes for &Reporter {
    fn add(&mut self, level: Level, text: String) {
        let code = match level {
            Level::Detail => "2",
            Level::Note => "36",
            Level::Warning => "33",
        };
        if level >= self.least && !self.muted {
            self.write(level.word(), code, &text);
        }
    }
}

impl Target for Reporter {
    fn is_terminal(&self) -> bool {
        std::io::stderr().is_terminal()
    }

    fn is_taken(&self) -> bool {
        pager::is_running()
    }

    fn line(&self, text: &str) {
        self.plain(text);
    }
}
