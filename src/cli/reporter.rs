//! The one place that writes to stderr: notes, warnings and errors, a line each.

use std::cell::Cell;
use std::io::Write;

use crate::error::Error;
use crate::notes::{Level, Notes};
use crate::render::text::visible;

/// Prints remarks and errors on stderr.
#[derive(Clone, Debug, Default)]
pub struct Reporter {
    /// Drops notes; warnings and errors are always shown.
    pub quiet: bool,
    /// May the first word be coloured.
    pub color: bool,
    /// Warnings so far.
    warned: Cell<u64>,
}

impl Reporter {
    /// A reporter for these settings.
    pub fn new(quiet: bool, color: bool) -> Self {
        Reporter { quiet, color, warned: Cell::new(0) }
    }

    /// Prints a remark.
    pub fn say(&self, level: Level, text: &str) {
        if level == Level::Note && self.quiet {
            return;
        }
        if level == Level::Warning {
            self.warned.set(self.warned.get() + 1);
        }
        let code = if level == Level::Warning { "33" } else { "36" };
        self.line(level.word(), code, text);
    }

    /// Prints the error that ends the run, unless it is one that needs no words.
    pub fn error(&self, error: &Error) {
        if !error.is_quiet() {
            self.line("error", "1;31", &error.to_string());
        }
    }

    /// Prints a line of other people's making as it is, but harmless.
    pub fn plain(&self, text: &str) {
        // Nobody is left to tell when stderr is closed.
        let _ = writeln!(std::io::stderr(), "{}", visible(text));
    }

    /// Prints help where no command was given.
    pub fn help(&self, text: &str) {
        let _ = write!(std::io::stderr(), "{text}");
    }

    fn line(&self, word: &str, code: &str, text: &str) {
        let text = visible(text);
        let _ = if self.color {
            writeln!(std::io::stderr(), "\x1b[{code}m{word}\x1b[0m: {text}")
        } else {
            writeln!(std::io::stderr(), "{word}: {text}")
        };
    }
}

impl Notes for &Reporter {
    fn add(&mut self, level: Level, text: String) {
        self.say(level, &text);
    }
}
