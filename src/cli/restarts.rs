//! `restarts`: every job restart in the log.

use std::path::PathBuf;

use super::args::RestartsArgs;
use super::options::{self, Output, Range, Rows};
use super::replaying::{self, Prepared, Replaying, Wanted};
use super::reporter::Reporter;
use crate::error::Error;
use crate::exit::Exit;
use crate::filter::{EntryType, Facts, JobFact};
use crate::notes::Notes;
use crate::render::Format;
use crate::restarts::threshold::Amount;
use crate::restarts::{Collector, Kind, Restart};
use crate::types::{Index, Term};

/// What `--filter type=` sees of a restart that has no entry of its own: the report in which it shows.
const IN_REPORTS: u8 = 9;

/// The same for one with `-reschedule`: the transitions.
const IN_TRANSITIONS: u8 = 27;

mod follow;
mod plan;
mod print;

use plan::Planning;

/// What `restarts` was asked for.
#[derive(Debug)]
struct Options {
    path: PathBuf,
    id: Option<String>,
    follow: bool,
    single: bool,
    planning: Option<Planning>,
    min_running: Option<Amount>,
    replaying: Replaying,
    range: Range,
    rows: Rows,
    output: Output,
}

/// Prints the restarts.
pub fn run(args: &RestartsArgs) -> (Reporter, Result<Exit, Error>) {
    let reporter = options::reporter(&args.feedback, args.output.look.color);
    let result = checked(args, &reporter).and_then(|options| print(&options, &reporter));
    (reporter, result)
}

fn checked(args: &RestartsArgs, reporter: &Reporter) -> Result<Options, Error> {
    let rows = Rows::new(&args.filter)?;
    Ok(Options {
        path: options::one_path("restarts", &args.paths)?,
        id: args.id.clone(),
        follow: args.follow,
        single: args.single,
        planning: Planning::new(&args.plan)?,
        min_running: args.min_running.as_deref().map(options::min_running).transpose()?,
        replaying: Replaying::new(&args.replay, &rows.types, reporter)?,
        range: Range::new(&args.range)?,
        rows,
        output: Output::new(&args.output, Format::Table, reporter)?,
    })
}

fn print(options: &Options, reporter: &Reporter) -> Result<Exit, Error> {
    if let Some(planning) = &options.planning {
        return plan::run(options, planning, reporter);
    }
    if let Some(id) = options.id.as_ref().filter(|_| options.follow) {
        return follow::run(options, id, reporter);
    }
    let mut notes = reporter;
    let Some(mut replay) =
        replaying::prepare(&options.path, &options.replaying, &options.range, Wanted::History, reporter)?
    else {
        return match &options.id {
            Some(id) => Err(no_such(id, &[])),
            None => print::list(&[], &options.output).map(|()| Exit::Success),
        };
    };
    let mut collector = Collector::new();
    let ended = replay.run(&mut collector)?;
    let mut found = collector.finish(options.min_running);
    if let Some(id) = &options.id {
        found.restarts.append(&mut found.singles);
        let restart = by_id(&found.restarts, id)?;
        found.notes.iter().chain(&restart.notes).for_each(|n| notes.note(n.as_str()));
        print::story(restart, &options.output)?;
        return Ok(replay.judge(&ended));
    }
    let mut restarts = found.restarts;
    found.singles.retain(|r| wanted(r, options, &replay));
    if options.single {
        restarts.append(&mut found.singles);
        restarts.sort_by(|a, b| (a.first, &a.job).cmp(&(b.first, &b.job)));
    } else if let [first, ..] = found.singles.as_slice() {
        let what = match found.singles.len() {
            1 => format!("a restart of a single allocation, {}, is", first.id),
            n => format!("{n} restarts of single allocations, the first {}, are", first.id),
        };
        notes.note(format!(
            "{what} not listed: nothing tells it from `nomad alloc restart` or `nomad alloc stop`; --single lists it"
        ));
    }
    restarts.retain(|r| wanted(r, options, &replay));
    if let Some(limit) = options.rows.limit {
        restarts.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    }
    found.notes.iter().for_each(|n| notes.note(n.as_str()));
    for restart in &restarts {
        restart.notes.iter().for_each(|n| notes.note(format!("{}: {n}", restart.id)));
    }
    print::list(&restarts, &options.output)?;
    options.rows.tell_strangers_to(replay.state(), reporter);
    Ok(replay.judge(&ended))
}

/// The restart of that ID, or the only one whose ID begins so.
fn by_id<'r>(restarts: &'r [Restart], id: &str) -> Result<&'r Restart, Error> {
    if let Some(exact) = restarts.iter().find(|r| r.id == id) {
        return Ok(exact);
    }
    let begin: Vec<&Restart> = restarts.iter().filter(|r| r.id.starts_with(id)).collect();
    match begin.as_slice() {
        [one] => Ok(one),
        [] => Err(no_such(id, restarts)),
        several => {
            let ids = several.iter().map(|r| r.id.as_str()).collect::<Vec<_>>().join(", ");
            Err(Error::Usage(format!("--id: `{id}` is the beginning of several: {ids}")))
        }
    }
}

fn no_such(id: &str, restarts: &[Restart]) -> Error {
    const SHOWN: usize = 5;
    let mut ids: Vec<&str> = restarts.iter().map(|r| r.id.as_str()).take(SHOWN).collect();
    if restarts.len() > SHOWN {
        ids.push("…");
    }
    let there =
        if ids.is_empty() { "there is none in this log".to_owned() } else { format!("there are {}", ids.join(", ")) };
    Error::Usage(format!("--id: no restart `{id}`; {there}"))
}

/// Whether the range and the filter let a restart through.
fn wanted(restart: &Restart, options: &Options, replay: &Prepared<'_>) -> bool {
    if replay.from_asked && restart.last < replay.range.0 {
        return false;
    }
    let filter = &options.rows.filter;
    if filter.is_empty() {
        return true;
    }
    let parent = replay.state().job(&restart.job).map(|j| j.parent_id.to_string()).unwrap_or_default();
    let number = match restart.kind {
        Kind::InPlace => Some(IN_REPORTS),
        Kind::Reschedule => Some(IN_TRANSITIONS),
        Kind::Entry => options.rows.types.lookup("JobRestart"),
    };
    let term = restart.batches.first().and_then(|b| b.members.first()).map_or(Term(0), |m| m.asked.term);
    let mut facts = Facts::of(restart.first, term, number.map_or(EntryType::Snapshot, EntryType::Command));
    facts.add_job(JobFact {
        namespace: Some((&*restart.job.namespace).into()),
        job: Some((&*restart.job.id).into()),
        parent: Some(parent.into()),
        status: Some(restart.status.name().into()),
    });
    for member in restart.batches.iter().flat_map(|b| &b.members) {
        facts.allocs.push(member.alloc.to_string().into());
        facts.allocs.extend(member.replacement.as_ref().map(|r| r.to_string().into()));
    }
    let last: Index = replay.last();
    filter.matches(&facts, last)
}
