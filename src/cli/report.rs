//! `report`: the audit as one HTML page for people who do not have raftscope.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::args::ReportArgs;
use super::audit::{self, Asked};
use super::export::cannot_write;
use super::options::{self, Range, Rows};
use super::replaying::{self, Both, Prepared, Replaying, Wanted};
use super::reporter::Reporter;
use super::why::Told;
use crate::audit::finding::{Finding, Severity, Until};
use crate::audit::report::Report;
use crate::error::Error;
use crate::exit::Exit;
use crate::export::partial_file;
use crate::notes::Notes;
use crate::redact::Redactor;
use crate::render::{Row, html};
use crate::report::fit::{self, Found, Room};
use crate::report::track::{Tracks, Wanted as WantedParents};
use crate::report::{Event, EventKind, Explained, parent_of};
use crate::suggest;
use crate::types::{Index, JobKey};
use crate::why::Watch;

/// A page is smaller than this, in bytes, so that it can be sent around.
const LARGEST: usize = 2_000_000;
/// It is tried with all the room that there is, then with half of it, and so on.
const PARTS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
/// So many entries are explained, each with so many rows of so many letters.
const ENTRIES: usize = 60;
const ROWS: usize = 24;
const LETTERS: usize = 160;
/// More marks of one kind than this tell nobody anything.
const MARKS: usize = 1000;

/// What `report` was asked for.
#[derive(Debug)]
struct Options {
    asked: Asked,
    /// List every finding, and draw every parent.
    all: bool,
    jobs: BTreeSet<String>,
    output: PathBuf,
    show_secrets: bool,
}

/// Writes the page.
pub fn run(args: &ReportArgs) -> (Reporter, Result<Exit, Error>) {
    let reporter = options::reporter(&args.feedback, args.color);
    let result = checked(args, &reporter).and_then(|options| report(&options, &reporter));
    (reporter, result)
}

fn checked(args: &ReportArgs, reporter: &Reporter) -> Result<Options, Error> {
    let rows = Rows::new(&args.filter)?;
    may_replace(&args.output)?;
    let asked = Asked {
        path: options::one_path("report", &args.paths)?,
        all: true,
        prove: args.prove,
        preview: false,
        min_running: None,
        fail_on: Severity::Warning,
        baseline: None,
        replaying: Replaying::new(&args.replay, &rows.types, reporter)?.keeping(args.keep.db.as_deref()),
        range: Range::new(&args.range)?,
        rows,
    };
    let jobs = args.job.iter().cloned().collect();
    Ok(Options { asked, all: args.all, jobs, output: args.output.clone(), show_secrets: args.unsafe_show_secrets })
}

/// Checks `-o` before the long run: only a page of ours is written over, so that a slip costs no evidence.
fn may_replace(path: &Path) -> Result<(), Error> {
    let shown = path.display();
    if path == Path::new("-") {
        return Ok(());
    }
    if path.is_dir() {
        return Err(Error::Usage(format!(
            "-o {shown} is a folder; name a file in it, as in {}",
            path.join("report.html").display()
        )));
    }
    match fs::read(path) {
        Ok(content) if content.is_empty() || content.starts_with(html::MARK.as_bytes()) => Ok(()),
        Ok(_) => Err(Error::Usage(format!("-o {shown}: this file is there and is no report; name another"))),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(cannot_write(path, e)),
    }
}

fn report(options: &Options, reporter: &Reporter) -> Result<Exit, Error> {
    let mut notes = reporter;
    let asked = &options.asked;
    let prepared = replaying::prepare(&asked.path, &asked.replaying, &asked.range, Wanted::Findings, reporter)?;
    let found = match prepared {
        Some(mut replay) => made(options, &mut replay)?,
        None => empty(audit::of_nothing(asked)?),
    };
    let complete = found.report.complete;
    let pages = PARTS.iter().map(|parts| html::page(&fit::page(&found, &Room::part(*parts))));
    let mut page = String::new();
    for smaller in pages {
        page = smaller;
        if page.len() < LARGEST {
            break;
        }
    }
    write(&options.output, &page)?;
    if options.output != Path::new("-") {
        notes.note(format!("the report is in {}", options.output.display()));
    }
    if !complete {
        notes.warn("the evidence is incomplete: a fault could hide where it cannot be read");
    }
    Ok(if complete || asked.replaying.allow_incomplete { Exit::Success } else { Exit::Incomplete })
}

/// What there is to say of a log without entries.
fn empty(report: Report) -> Found {
    Found {
        report,
        every: Vec::new(),
        parents: Vec::new(),
        tracks: BTreeMap::new(),
        range: (Index(0), Index(0)),
        terms: Vec::new(),
        events: Vec::new(),
        entries: Vec::new(),
        more_entries: false,
        secrets_shown: false,
    }
}

/// Audits, and replays once more for what the findings are about.
fn made(options: &Options, replay: &mut Prepared<'_>) -> Result<Found, Error> {
    let mut report = audit::replayed(&options.asked, replay)?;
    let every: Vec<Finding> = report.findings.iter().map(|reported| reported.finding.clone()).collect();
    if !options.all {
        report.fold();
    }
    if let Some(limit) = options.asked.rows.limit {
        report.findings.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    }
    let mut parents: Vec<JobKey> = Vec::new();
    let mut known = BTreeSet::new();
    for parent in every.iter().filter(|f| f.severity > Severity::Note).filter_map(parent_of) {
        if known.insert(parent.clone()) {
            parents.push(parent);
        }
    }
    let wanted = WantedParents { all: options.all, parents: known, ids: options.jobs.clone() };
    let mut tracks = Tracks::new(wanted, options.asked.rows.types.clone());
    let (entries, more_entries) = explained(options, &report, replay, &mut tracks)?;
    no_such_job(options, &tracks, replay)?;
    let first = if replay.from_asked { replay.range.0 } else { replay.base.0.max(Index(1)) };
    Ok(Found {
        every,
        parents,
        range: (first, tracks.reached().unwrap_or(first).max(first)),
        terms: tracks.terms().iter().filter(|span| span.last >= first).copied().collect(),
        events: events(&report, &tracks, replay),
        tracks: tracks.into_tracks(),
        entries,
        more_entries,
        secrets_shown: options.show_secrets,
        report,
    })
}

/// Replays once more: keeps the tracks, and stops at each entry behind a finding to explain it.
fn explained(
    options: &Options,
    report: &Report,
    replay: &mut Prepared<'_>,
    tracks: &mut Tracks,
) -> Result<(Vec<Explained>, bool), Error> {
    let (mut indexes, mut more, base) = (BTreeSet::new(), false, replay.base.0);
    // Causes come before what only accompanies them, in case there are too many.
    let causes =
        report.findings.iter().flat_map(|r| [r.finding.cause.as_ref().map(|c| c.at.index), Some(r.finding.at.index)]);
    let beside = report.findings.iter().flat_map(|r| {
        let until = if let Some(Until::Index(until)) = r.finding.until { Some(until) } else { None };
        [r.finding.leader_change.map(|change| change.index), until]
    });
    for index in causes.chain(beside).flatten().filter(|index| *index > base) {
        if indexes.len() < ENTRIES {
            indexes.insert(index);
        } else if !indexes.contains(&index) {
            more = true;
            break;
        }
    }
    let mut redactor = if options.show_secrets { Redactor::showing() } else { Redactor::hiding() };
    let mut entries = Vec::new();
    replay.rewind()?;
    for index in indexes {
        let mut watch = Watch::new(index);
        replay.run_to(index, &mut Both(&mut watch, tracks))?;
        // An entry that is lost or cannot be decoded has a finding that says so.
        let Some(seen) = &watch.seen else { continue };
        let told = Told::new(seen, replay, &options.asked.rows.types, &mut redactor)?;
        let telling: Vec<_> = told.changes.iter().filter(|line| !line.is_index_only()).collect();
        let cells = |line: &&super::changes::Line| line.cells().into_iter().map(|cell| cut(&cell.text)).collect();
        entries.push(Explained {
            index,
            lines: told.lines().iter().map(|line| cut_to(line, 8 * LETTERS)).collect(),
            changes: telling.iter().take(ROWS).map(cells).collect(),
            left_out: telling.len().saturating_sub(ROWS),
        });
    }
    replay.run_to(replay.range.1, tracks)?;
    Ok((entries, more))
}

fn cut(text: &str) -> String {
    cut_to(text, LETTERS)
}

/// At most so many letters of a text.
fn cut_to(text: &str, letters: usize) -> String {
    match text.char_indices().nth(letters) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Refuses a `--job` that is no parent in the log.
fn no_such_job(options: &Options, tracks: &Tracks, replay: &Prepared<'_>) -> Result<(), Error> {
    let is_there = |id: &String| tracks.tracks().keys().any(|key| *key.id == **id);
    let Some(missing) = options.jobs.iter().find(|id| !is_there(id)) else { return Ok(()) };
    let parents: Vec<String> =
        replay.state().jobs().filter(|job| job.is_parent()).map(|job| job.key.id.to_string()).collect();
    let hint = suggest::hint(missing, parents.iter().map(String::as_str));
    Err(Error::Usage(format!("--job: there is no parent `{missing}` in this log{hint}")))
}

/// Snapshots beside the log, reconciles in it, and holes.
fn events(report: &Report, tracks: &Tracks, replay: &Prepared<'_>) -> Vec<Event> {
    let event = |kind| move |index| Event { index, kind };
    let usable = replay.evidence.snapshots.iter().filter(|snapshot| snapshot.is_usable());
    let mut events: Vec<Event> = usable.map(|s| s.info().index).map(event(EventKind::Snapshot)).collect();
    events.extend(tracks.reconciles().iter().copied().map(event(EventKind::Reconcile)).take(MARKS));
    events.extend(report.evidence.gaps.iter().map(|gap| gap.first_index).map(event(EventKind::Gap)));
    events.sort_by_key(|event| event.index);
    events.dedup();
    events.truncate(MARKS);
    events
}

/// Writes the page whole or not at all.
fn write(path: &Path, page: &str) -> Result<(), Error> {
    if path == Path::new("-") {
        return super::print(page.as_bytes()).map(|_| ());
    }
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let partial = partial_file(dir).map_err(|e| cannot_write(dir, e))?;
    let written = fs::File::create(&partial).and_then(|mut file| file.write_all(page.as_bytes()));
    written.and_then(|()| partial.persist(path).map_err(|e| e.error)).map_err(|e| cannot_write(path, e))
}
