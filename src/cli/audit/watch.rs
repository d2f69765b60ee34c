//! `watch`: an audit that is kept up to date beside a running server.
//!
//! Whenever the log has grown it is audited anew from the start, with the code of `audit`, and the
//! findings that were not there before are printed. Ctrl-C ends it with the summary.

use std::collections::HashSet;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use super::{Asked, Options, made, print, text};
use crate::audit::finding::{Fingerprint, Severity};
use crate::audit::report::{Report, Reported};
use crate::cli::args::WatchArgs;
use crate::cli::options::{self, Output, Range, Rows};
use crate::cli::pager;
use crate::cli::replaying::Replaying;
use crate::cli::reporter::Reporter;
use crate::error::Error;
use crate::evidence;
use crate::exit::Exit;
use crate::notes::Notes;
use crate::render::{self, Format};
use crate::types::{Index, Term};

/// Audits until Ctrl-C.
pub fn run(args: &WatchArgs) -> (Reporter, Result<Exit, Error>) {
    let reporter = options::reporter(&args.feedback, args.output.look.color);
    let result = checked(args, &reporter).and_then(|(options, interval)| watch(&options, interval, &reporter));
    (reporter, result)
}

fn checked(args: &WatchArgs, reporter: &Reporter) -> Result<(Options, Duration), Error> {
    let output = Output::new(&args.output, Format::Table, reporter)?;
    if matches!(output.style.format, Format::Json | Format::Csv) {
        return Err(Error::Usage("watch prints findings as they come: use --format table or ndjson".into()));
    }
    pager::never();
    if args.filter.limit.is_some() {
        return Err(Error::Usage("watch ends on Ctrl-C and not after some rows: leave --limit out".into()));
    }
    let rows = Rows::new(&args.filter)?;
    let asked = Asked {
        path: options::one_path("watch", &args.paths)?,
        all: true,
        prove: false,
        preview: false,
        min_running: None,
        fail_on: Severity::Warning,
        baseline: args.baseline.as_deref().map(super::baseline).transpose()?,
        replaying: Replaying::new(&args.replay, &rows.types, reporter)?,
        range: Range::whole(),
        rows,
    };
    let options = Options { asked, exit_zero: false, write_baseline: None, special: None, output };
    Ok((options, interval(&args.interval)?))
}

/// `2s`, `500ms`, `1m30s`.
fn interval(text: &str) -> Result<Duration, Error> {
    let parsed = text.parse::<jiff::SignedDuration>().ok().and_then(|d| Duration::try_from(d).ok());
    parsed
        .filter(|d| *d >= Duration::from_millis(10))
        .ok_or_else(|| Error::Usage(format!("--interval {text}: give a time of 10 ms or more, as in 500ms, 5s or 1m")))
}

/// Hears of Ctrl-C. A second one does not wait for the audit that is running.
pub fn interrupts() -> Result<Receiver<()>, Error> {
    static ASKED: AtomicBool = AtomicBool::new(false);
    let (tell, hear) = mpsc::channel();
    let handler = move || {
        if ASKED.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(Exit::Interrupted.code()));
        }
        // The receiver lives until the program ends.
        let _ = tell.send(());
    };
    ctrlc::set_handler(handler).map_err(|e| Error::Internal(format!("Ctrl-C cannot be listened for: {e}")))?;
    Ok(hear)
}

fn watch(options: &Options, interval: Duration, reporter: &Reporter) -> Result<Exit, Error> {
    let mut notes = reporter;
    let interrupts = interrupts()?;
    let mut told = HashSet::new();
    let mut seen = evidence::last_entry(&options.asked.path)?;
    let mut report = made(&options.asked, reporter)?;
    tell_new(&report, &mut told, options)?;
    notes.note("waiting for new entries; Ctrl-C ends with the summary");
    // What the first audit had to say about the evidence is not said again.
    let (quiet, mut failure) = (reporter.quieter(), None);
    loop {
        match interrupts.recv_timeout(interval) {
            Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
        let again = evidence::last_entry(&options.asked.path).map_err(Error::from).and_then(|now| {
            let grown = (now != seen).then(|| made(&options.asked, &quiet)).transpose()?;
            Ok((now, grown))
        });
        match again {
            Ok((now, grown)) => {
                (seen, failure) = (now, None);
                if let Some(grown) = grown {
                    report = grown;
                    tell_new(&report, &mut told, options)?;
                }
            }
            // A server that restarts, or writes too fast for one read, is looked at again.
            Err(error) => {
                let words = error.to_string();
                if failure.as_ref() != Some(&words) {
                    notes.warn(format!("{words}; it is tried again"));
                }
                failure = Some(words);
            }
        }
    }
    summary(&report, options, reporter)?;
    Ok(Exit::Interrupted)
}

/// Prints the findings that were not told before: another fault, or the same one at another place.
fn tell_new(report: &Report, told: &mut HashSet<(Fingerprint, Index, Term)>, options: &Options) -> Result<(), Error> {
    let is_new = |r: &&Reported| told.insert((r.finding.fingerprint(), r.finding.at.index, r.finding.at.term));
    let new: Vec<&Reported> = report.findings.iter().filter(is_new).collect();
    if new.is_empty() {
        return Ok(());
    }
    let output = &options.output;
    if output.style.format == Format::Table {
        return write(&text::findings(new, &output.style), output);
    }
    let mut out = render::rows(&output.style, &print::SHAPE, output.stdout());
    for reported in new {
        out.row(reported)?;
    }
    out.finish()
}

/// The verdict on the log as it was last seen: on stdout in words, else on stderr, since each line of
/// stdout is a finding.
fn summary(report: &Report, options: &Options, mut notes: &Reporter) -> Result<(), Error> {
    let output = &options.output;
    if output.style.format == Format::Table {
        return write(&text::summary(report, options.asked.fail_on, &output.style), output);
    }
    let plain = render::Style { format: Format::Table, pretty: false, raw: false, color: false, width: None, jq: None };
    text::summary(report, options.asked.fail_on, &plain).lines().for_each(|line| notes.note(line));
    Ok(())
}

fn write(text: &str, output: &Output) -> Result<(), Error> {
    let mut out = output.stdout();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Error::Output)
}
