//! How far a long run has come: a bar on a terminal, elsewhere a plain line every ten seconds.
//!
//! Work that takes less than half a second shows nothing. The replay calls [`Progress::tick`] for
//! each entry, which costs a comparison; the clock is read once in a few hundred calls.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::types::Index;

/// Nothing is shown before this has passed.
const QUIET_START: Duration = Duration::from_millis(500);
/// How often a plain line is written where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// How often the bar moves.
const BAR_EVERY: Duration = Duration::from_millis(100);
/// Calls between two looks at the clock.
const LOOK_EVERY: u32 = 256;

/// When progress is shown (`--progress`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum When {
    /// A bar when stderr is a terminal, else a line every ten seconds.
    #[default]
    Auto,
    /// As auto, but where there is no terminal the first line comes after half a second.
    Always,
    /// Nothing.
    Never,
}

/// Where progress goes; the command line decides it.
pub trait Target {
    /// True when a bar can be drawn.
    fn is_terminal(&self) -> bool;

    /// True while somebody else draws on the terminal.
    fn is_taken(&self) -> bool {
        false
    }

    /// Writes one line.
    fn line(&self, text: &str);
}

enum Look {
    Off,
    Bar(Option<ProgressBar>),
    Lines { next: Duration },
}

/// What a pass goes over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Entries,
    Rows,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Unit::Entries => "entries",
            Unit::Rows => "rows",
        }
    }
}

/// The progress of one pass over a log, or over the rows of a state.
pub struct Progress<'t> {
    look: Look,
    target: &'t dyn Target,
    what: &'static str,
    first: Index,
    last: Index,
    /// What is counted.
    unit: Unit,
    done: u64,
    calls: u32,
    started: Instant,
    next_look: Duration,
}

impl std::fmt::Debug for Progress<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Progress").field("what", &self.what).field("done", &self.done).finish_non_exhaustive()
    }
}

impl<'t> Progress<'t> {
    /// A pass over the entries from `first` to `last`; `what` is a verb such as "reading".
    pub fn new(when: When, target: &'t dyn Target, what: &'static str, first: Index, last: Index) -> Self {
        let look = match when {
            When::Never => Look::Off,
            _ if target.is_terminal() => Look::Bar(None),
            When::Always => Look::Lines { next: QUIET_START },
            When::Auto => Look::Lines { next: LINE_EVERY },
        };
        let started = Instant::now();
        let unit = Unit::Entries;
        Progress { look, target, what, first, last, unit, done: 0, calls: 0, started, next_look: QUIET_START }
    }

    /// A pass over so many rows; [`Progress::tick`] counts them from 1.
    pub fn of_rows(when: When, target: &'t dyn Target, what: &'static str, rows: u64) -> Self {
        let mut progress = Self::new(when, target, what, Index(1), Index(rows));
        progress.unit = Unit::Rows;
        progress
    }

    /// Tells that the entry at `index` has been dealt with. Indexes may skip, but not go back.
    #[inline]
    pub fn tick(&mut self, index: Index) {
        self.calls = self.calls.wrapping_add(1);
        if self.calls.is_multiple_of(LOOK_EVERY) {
            self.done = index.0.saturating_sub(self.first.0).saturating_add(1);
            self.look_at(self.started.elapsed());
        }
    }

    /// Tells how many entries have been dealt with where several threads do so; looks at the clock each time.
    pub fn told(&mut self, done: u64) {
        self.done = self.done.max(done);
        self.look_at(self.started.elapsed());
    }

    /// The work is over, or goes on in another way: the bar is taken away.
    pub fn finish(&mut self) {
        if let Look::Bar(Some(bar)) = &self.look {
            bar.finish_and_clear();
        }
        self.look = Look::Off;
    }

    fn total(&self) -> u64 {
        self.last.0.saturating_sub(self.first.0).saturating_add(1)
    }

    fn look_at(&mut self, elapsed: Duration) {
        if elapsed < self.next_look {
            return;
        }
        if self.target.is_taken() {
            return self.finish();
        }
        let (total, what, unit) = (self.total(), self.what, self.unit);
        match &mut self.look {
            Look::Off => {}
            Look::Bar(bar) => {
                bar.get_or_insert_with(|| new_bar(what, unit, total, elapsed)).set_position(self.done.min(total));
                self.next_look = elapsed + BAR_EVERY;
            }
            Look::Lines { next } => {
                if elapsed < *next {
                    self.next_look = *next;
                    return;
                }
                *next = elapsed + LINE_EVERY;
                self.next_look = *next;
                self.target.line(&line(what, unit, self.done, total, self.last, elapsed));
            }
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        self.finish();
    }
}

fn new_bar(what: &'static str, unit: Unit, total: u64, elapsed: Duration) -> ProgressBar {
    // The template is ours and known to be right; the plain style stands in should it ever not be.
    let template =
        format!("{{msg}} [{{wide_bar}}] {{human_pos}}/{{human_len}} {}, {{per_sec}}, {{eta}} left", unit.name());
    let style =
        ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> ");
    ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr())
        .with_style(style)
        .with_message(what)
        .with_elapsed(elapsed)
}

/// `reading: 120000 of 500000 entries (24 %) up to index 500000, 40000 a second, 10 s left`; of rows without the index.
fn line(what: &str, unit: Unit, done: u64, total: u64, last: Index, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64().max(0.001);
    let rate = done as f64 / seconds;
    let left = total.saturating_sub(done) as f64 / rate.max(0.001);
    let percent = done.min(total).saturating_mul(100).checked_div(total).unwrap_or(100);
    let (name, up_to) =
        (unit.name(), if unit == Unit::Entries { format!(" up to index {last}") } else { String::new() });
    format!("{what}: {done} of {total} {name} ({percent} %){up_to}, {rate:.0} a second, {left:.0} s left")
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    struct Page(RefCell<Vec<String>>);

    impl Target for Page {
        fn is_terminal(&self) -> bool {
            false
        }

        fn line(&self, text: &str) {
            self.0.borrow_mut().push(text.to_owned());
        }
    }

    /// The lines that a run of `seconds` writes which is asked ten times a second.
    fn lines(when: When, seconds: u64) -> Vec<String> {
        let page = Page(RefCell::default());
        let mut progress = Progress::new(when, &page, "reading", Index(1), Index(1000));
        for tenth in 0..seconds * 10 {
            progress.done = tenth;
            progress.look_at(Duration::from_millis(tenth * 100));
        }
        drop(progress);
        page.0.into_inner()
    }

    #[test]
    fn without_a_terminal_a_line_is_written_every_ten_seconds() {
        assert_eq!(lines(When::Auto, 9).len(), 0);
        assert_eq!(lines(When::Auto, 31).len(), 3);
        assert_eq!(lines(When::Always, 1).len(), 1);
        assert_eq!(lines(When::Never, 100).len(), 0);
        let all = lines(When::Auto, 31);
        assert_eq!(all[0], "reading: 100 of 1000 entries (10 %) up to index 1000, 10 a second, 90 s left");
    }

    #[test]
    fn rows_are_counted_without_an_index() {
        let page = Page(RefCell::default());
        let mut progress = Progress::of_rows(When::Always, &page, "printing", 2000);
        progress.done = 500;
        progress.look_at(Duration::from_secs(1));
        drop(progress);
        assert_eq!(page.0.into_inner(), ["printing: 500 of 2000 rows (25 %), 500 a second, 3 s left"]);
    }

    #[test]
    fn ticks_cost_no_look_at_the_clock_each() {
        let page = Page(RefCell::default());
        let mut progress = Progress::new(When::Auto, &page, "reading", Index(10), Index(5000));
        for i in 10..500 {
            progress.tick(Index(i));
        }
        assert_eq!(progress.done, 256);
    }
}
