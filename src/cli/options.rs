//! What the arguments come to: checked once, before any file is opened.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use jiff::Timestamp;

use super::args::{ColorWhen, FeedbackArgs, FilterArgs, LookArgs, OutputArgs, RangeArgs};
use super::index_expr::{self, IndexExpr};
use super::pager::{self, Out};
use super::reporter::Reporter;
use crate::entry::message_type::MessageTypes;
use crate::error::Error;
use crate::evidence::Log;
use crate::filter::{Filter, JobFact};
use crate::fsm::state::State;
use crate::jq::Program;
use crate::notes::Notes;
use crate::redact::Redactor;
use crate::render::{Format, Style};
use crate::restarts::threshold::Amount;
use crate::types::Index;

/// An error that says what to type instead.
fn usage(text: impl std::fmt::Display) -> Error {
    Error::Usage(text.to_string())
}

/// The one path that a command takes; `.` where none is given.
pub fn one_path(command: &str, paths: &[PathBuf]) -> Result<PathBuf, Error> {
    match paths {
        [] => Ok(PathBuf::from(".")),
        [path] => Ok(path.clone()),
        [first, second, ..] => {
            let (a, b) = (first.display(), second.display());
            let is_index =
                |path: &PathBuf| !path.exists() && path.to_str().is_some_and(|t| t.parse::<IndexExpr>().is_ok());
            if is_index(first) && is_index(second) {
                let range = format!("--from-index {a} --last-index {b}");
                return Err(usage(format!("{command} takes no indexes before the path; write {range}")));
            }
            if is_index(first) {
                return Err(usage(format!("{command} takes no index before the path; write --last-index {a} {b}")));
            }
            if !first.exists() && first.to_str().is_some_and(|t| t.contains('=')) {
                return Err(usage(format!("{command} takes one PATH; to filter, write --filter {a} {b}")));
            }
            if !first.exists() && second.exists() && !matches!(command, "info" | "export") {
                let hint = format!("to see one job only, write --filter job={a} {b}");
                return Err(usage(format!("{command} takes one PATH, and `{a}` is none; {hint}")));
            }
            Err(usage(format!("{command} takes one PATH, but `{a}` and `{b}` are given; run it once for each")))
        }
    }
}

/// Checks that no path of several is another one once more.
pub fn all_different(command: &str, paths: &[PathBuf]) -> Result<(), Error> {
    let mut known = std::collections::BTreeSet::new();
    match paths.iter().find(|path| !known.insert(path.canonicalize().unwrap_or_else(|_| path.to_path_buf()))) {
        Some(path) => {
            Err(usage(format!("{} is given twice; {command} takes one PATH for each server", path.display())))
        }
        None => Ok(()),
    }
}

/// How to print.
#[derive(Debug)]
pub struct Output {
    /// The look of the output.
    pub style: Style,
    /// Whether secrets are shown.
    pub show_secrets: bool,
}

impl Output {
    /// Checks the options; `default` is the command's format where none is asked for.
    pub fn new(args: &OutputArgs, default: Format, reporter: &Reporter) -> Result<Self, Error> {
        let asked = if args.json { Some(Format::Json) } else { args.format };
        Self::of_format(asked, &args.look, default, reporter)
    }

    /// Checks what goes with the format that was `asked` for.
    pub fn of_format(
        asked: Option<Format>,
        look: &LookArgs,
        default: Format,
        reporter: &Reporter,
    ) -> Result<Self, Error> {
        let jq = match &look.jq {
            Some(code) => {
                let say = reporter.clone();
                Some(Program::compile(code, move |text| say.plain(text)).map_err(|e| usage(format!("--jq: {e}")))?)
            }
            None => None,
        };
        let json_asked = look.pretty || jq.is_some();
        let format = asked.unwrap_or(if json_asked { Format::Json } else { default });
        if json_asked && matches!(format, Format::Table | Format::Csv) {
            let option = if jq.is_some() { "--jq" } else { "--pretty" };
            return Err(usage(format!("{option} needs JSON; leave --format out, or use --format json or ndjson")));
        }
        if !look.no_pager {
            pager::allow();
        }
        let style = Style {
            format,
            pretty: look.pretty,
            raw: look.raw_output,
            color: use_color(look.color, std::io::stdout().is_terminal()),
            width: terminal_width(),
            jq,
        };
        Ok(Output { style, show_secrets: look.unsafe_show_secrets })
    }

    /// What hides secrets in this output.
    pub fn redactor(&self) -> Redactor {
        if self.show_secrets { Redactor::showing() } else { Redactor::hiding() }
    }

    /// Standard output, buffered.
    pub fn stdout(&self) -> Box<dyn Write> {
        const BUFFER: usize = 256 * 1024;
        Box::new(std::io::BufWriter::with_capacity(BUFFER, Out))
    }
}

/// The width of the terminal that stdout is; `None` when it is none.
fn terminal_width() -> Option<usize> {
    let out = std::io::stdout();
    if !out.is_terminal() {
        return None;
    }
    let columns = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok()).filter(|c| *c > 0);
    columns.or_else(|| terminal_size::terminal_size_of(out).map(|(w, _)| usize::from(w.0))).or(Some(80))
}

/// Whether a stream gets colours. An option wins over the environment, NO_COLOR over the rest.
pub fn use_color(when: ColorWhen, terminal: bool) -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty() && v != "0");
    match when {
        ColorWhen::Always => true,
        ColorWhen::Never => false,
        ColorWhen::Auto if std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty()) => false,
        ColorWhen::Auto if set("CLICOLOR_FORCE") => true,
        ColorWhen::Auto => {
            let dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
            let off = std::env::var_os("CLICOLOR").is_some_and(|v| v == "0");
            terminal && !dumb && !off
        }
    }
}

/// The reporter of a command.
pub fn reporter(feedback: &FeedbackArgs, color: ColorWhen) -> Reporter {
    Reporter::new(feedback, use_color(color, std::io::stderr().is_terminal()))
}

/// Which rows are printed.
#[derive(Debug)]
pub struct Rows {
    /// What must hold for a row.
    pub filter: Filter,
    /// At most so many rows.
    pub limit: Option<u64>,
    /// The names of message types.
    pub types: MessageTypes,
}

impl Rows {
    /// Checks the options.
    pub fn new(args: &FilterArgs) -> Result<Self, Error> {
        let types = message_types(&args.message_type)?;
        let filter = Filter::parse(args.filter.iter().map(String::as_str), &types).map_err(usage)?;
        Ok(Rows { filter, limit: args.limit, types })
    }
}

impl Rows {
    /// Tells of jobs and parents in the filter that there are none of; to be called behind the last row.
    pub fn tell_strangers(&self, mut notes: impl Notes) {
        for (condition, nearest) in self.filter.strangers() {
            match nearest {
                Some(name) => {
                    notes.warn(format!("--filter {condition}: no job here fits that; did you mean `{name}`?"))
                }
                None => notes.note(format!("--filter {condition}: no job here fits that")),
            }
        }
    }

    /// The same, for rows that only some jobs have: those of the state after the last entry are known as well.
    pub fn tell_strangers_to(&self, state: &State, notes: impl Notes) {
        if self.filter.is_empty() {
            return;
        }
        for job in state.jobs() {
            self.filter.meet(&JobFact {
                namespace: Some(job.key.namespace.as_ref().into()),
                job: Some(job.key.id.as_ref().into()),
                parent: job.parent().map(|parent| parent.id.to_string().into()),
                status: None,
            });
        }
        self.tell_strangers(notes);
    }
}

/// The threshold of `--min-running`.
pub fn min_running(text: &str) -> Result<Amount, Error> {
    text.parse().map_err(|e| usage(format!("--min-running: {e}")))
}

/// The names of message types with those of `--message-type`.
pub fn message_types(given: &[String]) -> Result<MessageTypes, Error> {
    let mut types = MessageTypes::new();
    for argument in given {
        types.parse_override(argument).map_err(|e| usage(format!("--message-type: {e}")))?;
    }
    Ok(types)
}

/// One end of a range as it was asked for.
#[derive(Clone, Copy, Debug)]
enum End {
    Index(IndexExpr),
    Time(Timestamp),
}

/// From where to where, before the log is known.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    from: Option<End>,
    to: Option<End>,
}

impl Range {
    /// Checks the options.
    pub fn new(args: &RangeArgs) -> Result<Self, Error> {
        let index = |option: &str, text: &Option<String>| {
            let parse = |t: &String| t.parse().map(End::Index).map_err(|e| usage(format!("{option}: {e}")));
            text.as_ref().map(parse).transpose()
        };
        let time = |option: &str, text: &Option<String>| {
            let parse = |t: &String| index_expr::time_of(t).map(End::Time).map_err(|e| usage(format!("{option}: {e}")));
            text.as_ref().map(parse).transpose()
        };
        Ok(Range {
            from: index("--from-index", &args.from_index)?.or(time("--since", &args.since)?),
            to: index("--last-index", &args.last_index)?.or(time("--until", &args.until)?),
        })
    }

    /// The whole log.
    pub fn whole() -> Self {
        Range { from: None, to: None }
    }

    /// True where the range goes on to wherever the log ends, and does not name an entry up to `last` as its end.
    pub fn is_open(&self, last: Index) -> bool {
        !matches!(self.to, Some(End::Index(IndexExpr::At(n))) if n <= last.0)
    }

    /// True when a first entry was asked for.
    pub fn has_from(&self) -> bool {
        self.from.is_some()
    }

    /// True when the range was asked to begin before `base`: what happened up to there is not in the evidence.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn begins_before(&self, log: &dyn Log, base: Index, last: Index) -> Result<bool, Error> {
        match self.from {
            _ if base == Index(0) => Ok(false),
            Some(End::Index(IndexExpr::At(n))) => Ok(n < base.0),
            Some(End::Time(time)) => index_expr::is_before(log, time, base.next(), last),
            // What counts back from the end and does not reach is an error before it comes to this.
            Some(End::Index(_)) | None => Ok(false),
        }
    }

    /// The ends where they are plain indexes or left open, which need no log to be known.
    pub fn plain(&self) -> Option<(Index, Index)> {
        let plain = |end: Option<End>, open: u64| match end {
            None => Some(Index(open)),
            Some(End::Index(IndexExpr::At(n))) => Some(Index(n)),
            Some(_) => None,
        };
        Some((plain(self.from, 0)?, plain(self.to, u64::MAX)?))
    }

    /// The first and last entry that are meant in a log that reaches from `oldest` (the base of a
    /// replay, else the first entry) to `last`. `None` when all entries are older than `--since`.
    ///
    /// # Errors
    /// When an end is not in the evidence, or the range runs backwards.
    pub fn resolve(
        &self,
        log: &dyn Log,
        oldest: Index,
        last: Index,
        mut notes: impl Notes,
    ) -> Result<Option<(Index, Index)>, Error> {
        let to = match self.to {
            None => last,
            Some(End::Index(expr)) => expr.resolve(log, oldest, last, &mut notes)?,
            Some(End::Time(time)) => IndexExpr::Time(time).resolve(log, oldest, last, &mut notes)?,
        };
        let from = match self.from {
            None => oldest,
            Some(End::Index(IndexExpr::At(n))) if n < oldest.0 => {
                notes.note(format!("there is nothing before index {oldest}; it is taken for --from-index {n}"));
                oldest
            }
            Some(End::Index(expr)) => expr.resolve(log, oldest, last, &mut notes)?,
            Some(End::Time(time)) => match index_expr::first_since(log, time, oldest, last, &mut notes)? {
                Some(index) => index,
                None => {
                    notes.note(format!("all entries were appended before {time}"));
                    return Ok(None);
                }
            },
        };
        if from > to {
            return match (self.from, self.to) {
                (Some(End::Index(IndexExpr::At(_))), Some(End::Index(IndexExpr::At(_)))) => {
                    Err(usage(format!("--from-index {from} lies after --last-index {to}; exchange them")))
                }
                _ => {
                    notes.note(format!("the range is empty: it begins at index {from} and ends at {to}"));
                    Ok(None)
                }
            };
        }
        Ok(Some((from, to)))
    }
}
