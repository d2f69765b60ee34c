//! `restarts --id ID --follow`: a restart as it goes on, beside the server that writes the log.

use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use super::{Options, by_id, print};
use crate::cli::audit::watch::interrupts;
use crate::cli::pager;
use crate::cli::replaying::{self, Wanted};
use crate::cli::reporter::Reporter;
use crate::error::Error;
use crate::evidence;
use crate::exit::Exit;
use crate::notes::Notes;
use crate::render::Format;
use crate::restarts::story::{Step, story};
use crate::restarts::{Collector, Restart, Status};

/// How often the log is looked at.
const INTERVAL: Duration = Duration::from_millis(500);

/// Prints the steps of the restart as they come, until it ends or Ctrl-C.
pub fn run(options: &Options, id: &str, reporter: &Reporter) -> Result<Exit, Error> {
    pager::never();
    if !matches!(options.output.style.format, Format::Table | Format::Ndjson) {
        return Err(Error::Usage("--follow prints steps as they come: use --format table or ndjson".into()));
    }
    let interrupts = interrupts()?;
    let mut notes = reporter;
    // Looked at first, so that what comes in between is looked at again.
    let mut seen = evidence::last_entry(&options.path)?;
    let (mut restart, mut exit) = looked(options, id, reporter)?;
    let mut told: Vec<Step> = Vec::new();
    tell(&restart, &mut told, options)?;
    let quiet = reporter.quieter();
    while goes_on(&restart) {
        match interrupts.recv_timeout(INTERVAL) {
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return Ok(Exit::Interrupted),
            Err(RecvTimeoutError::Timeout) => {}
        }
        // A server that restarts, or writes too fast for one read, is looked at again.
        let Ok(now) = evidence::last_entry(&options.path) else { continue };
        if now == seen {
            continue;
        }
        if let Ok(again) = looked(options, &restart.id, &quiet) {
            seen = now;
            (restart, exit) = again;
            tell(&restart, &mut told, options)?;
        }
    }
    notes.note(format!("{}: {}", restart.id, restart.status.name()));
    Ok(exit)
}

/// A paused restart may go on as well.
fn goes_on(restart: &Restart) -> bool {
    matches!(restart.status, Status::Running | Status::Paused)
}

/// The restart as the log has it now.
fn looked(options: &Options, id: &str, reporter: &Reporter) -> Result<(Restart, Exit), Error> {
    let replay = replaying::prepare(&options.path, &options.replaying, &options.range, Wanted::History, reporter)?;
    let Some(mut replay) = replay else { return Err(super::no_such(id, &[])) };
    let mut collector = Collector::new();
    let ended = replay.run(&mut collector)?;
    let mut found = collector.finish(options.min_running);
    found.restarts.append(&mut found.singles);
    let restart = by_id(&found.restarts, id)?.clone();
    Ok((restart, replay.judge(&ended)))
}

/// Prints the steps that were not printed before.
fn tell(restart: &Restart, told: &mut Vec<Step>, options: &Options) -> Result<(), Error> {
    let steps: Vec<Step> = story(restart).into_iter().filter(|step| !told.contains(step)).collect();
    if !steps.is_empty() {
        print::more_steps(&steps, &options.output)?;
        told.extend(steps);
    }
    Ok(())
}
