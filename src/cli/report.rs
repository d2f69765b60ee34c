//! `report`: the audit as one HTML page for people who do not have raftscope.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::args::ReportArgs;
use super::audit::{self, Asked};
use super::export::{cannot_write, partial_file};
use super::options::{self, Range, Rows};
use super::replaying::{self, Both, Prepared, Replaying, Wanted};
use super::reporter::Reporter;
use super::why::Told;
use crate::audit::finding::{Finding, Severity, Until};
use crate::audit::report::Report;
use crate::audit::words;
use crate::error::Error;
use crate::exit::Exit;
use crate::notes::Notes;
use crate::redact::Redactor;
use crate::render::{Row, html};
use crate::report::thin::{Thinned, thin};
use crate::report::track::{Change, Tracks, Wanted as WantedParents};
use crate::report::{Chart, Event, EventKind, Explained, Page, parent_of};
use crate::suggest;
use crate::types::{Index, JobKey};
use crate::why::Watch;

/// So many parents with findings are drawn, and so many others; more would be more than a page.
const FOUND: usize = 24;
const OTHERS: usize = 150;
/// So many changes are drawn in all, and so many of one parent.
const CHANGES: usize = 12_000;
const CHANGES_OF_ONE: usize = 4_000;
/// So many findings are listed, and so many entries explained, each with so many rows of so many letters.
const FINDINGS: usize = 250;
const ENTRIES: usize = 60;
const ROWS: usize = 24;
const LETTERS: usize = 160;

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
    let page = match prepared {
        Some(mut replay) => made(options, &mut replay)?,
        None => empty(audit::of_nothing(asked)?),
    };
    let complete = page.report.complete;
    write(&options.output, &html::page(&page))?;
    if options.output != Path::new("-") {
        notes.note(format!("the report is in {}", options.output.display()));
    }
    if !complete {
        notes.warn("the evidence is incomplete: a fault could hide where it cannot be read");
    }
    Ok(if complete || asked.replaying.allow_incomplete { Exit::Success } else { Exit::Incomplete })
}

/// The page on a log without entries.
fn empty(report: Report) -> Page {
    Page {
        counts: words::counts(&report),
        report,
        every: Vec::new(),
        range: (Index(0), Index(0)),
        found: Vec::new(),
        others: Vec::new(),
        terms: Vec::new(),
        events: Vec::new(),
        entries: Vec::new(),
        left_out: Vec::new(),
    }
}

/// Audits, and replays once more for what the findings are about.
fn made(options: &Options, replay: &mut Prepared<'_>) -> Result<Page, Error> {
    let mut report = audit::replayed(&options.asked, replay)?;
    let every: Vec<Finding> = report.findings.iter().map(|reported| reported.finding.clone()).collect();
    if !options.all {
        report.fold();
    }
    let counts = words::counts(&report);
    let mut left_out = Vec::new();
    let limit =
        options.asked.rows.limit.map_or(FINDINGS, |limit| usize::try_from(limit).unwrap_or(FINDINGS).min(FINDINGS));
    if report.findings.len() > limit {
        left_out.push(format!(
            "{} findings are not listed here; `raftscope audit` lists them.",
            report.findings.len() - limit
        ));
        report.findings.truncate(limit);
    }
    let mut parents: Vec<JobKey> = Vec::new();
    for parent in every.iter().filter(|f| f.severity > Severity::Note).filter_map(parent_of) {
        if !parents.contains(&parent) {
            parents.push(parent);
        }
    }
    if parents.len() > FOUND {
        let more = parents.len() - FOUND;
        left_out.push(format!("{more} more parents with findings are not drawn; `--filter parent=NAME` draws one."));
        parents.truncate(FOUND);
    }
    let wanted =
        WantedParents { all: options.all, parents: parents.iter().cloned().collect(), ids: options.jobs.clone() };
    let mut tracks = Tracks::new(wanted, options.asked.rows.types.clone());
    let entries = explained(options, &report, replay, &mut tracks, &mut left_out)?;
    no_such_job(options, &tracks, replay)?;
    let (found, others) = charts(&parents, &every, &tracks, replay, &mut left_out);
    let first = if replay.from_asked { replay.range.0 } else { replay.base.0.max(Index(1)) };
    Ok(Page {
        every,
        range: (first, tracks.reached().unwrap_or(first).max(first)),
        found,
        others,
        terms: tracks.terms().iter().filter(|span| span.last >= first).copied().collect(),
        events: events(&report, &tracks, replay),
        entries,
        left_out,
        counts,
        report,
    })
}

/// Replays once more: keeps the tracks, and stops at each entry behind a finding to explain it.
fn explained(
    options: &Options,
    report: &Report,
    replay: &mut Prepared<'_>,
    tracks: &mut Tracks,
    left_out: &mut Vec<String>,
) -> Result<Vec<Explained>, Error> {
    let (mut indexes, base) = (BTreeSet::new(), replay.base.0);
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
            left_out.push(format!(
                "Of the entries behind the findings {ENTRIES} are explained; `raftscope why INDEX` explains the others."
            ));
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
    Ok(entries)
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

/// The charts of the parents with findings, and of the others, each thinned to its share.
fn charts(
    parents: &[JobKey],
    every: &[Finding],
    tracks: &Tracks,
    replay: &Prepared<'_>,
    left_out: &mut Vec<String>,
) -> (Vec<Chart>, Vec<Chart>) {
    let from = if replay.from_asked { replay.range.0 } else { Index(0) };
    let mut others: Vec<&JobKey> = tracks.tracks().keys().filter(|key| !parents.contains(key)).collect();
    if others.len() > OTHERS {
        left_out.push(format!(
            "{} more parents without findings are not drawn; `--job NAME` draws one.",
            others.len() - OTHERS
        ));
        others.truncate(OTHERS);
    }
    let share = (CHANGES / (parents.len() + others.len()).max(1)).min(CHANGES_OF_ONE);
    let mut chart = |parent: &JobKey| -> Option<Chart> {
        let all = tracks.tracks().get(parent)?;
        let first = all.partition_point(|change: &Change| change.index <= from).saturating_sub(1);
        let keep =
            every.iter().filter(|f| parent_of(f).as_ref() == Some(parent)).flat_map(places).take(share / 4).collect();
        let track = thin(all.get(first..).unwrap_or_default(), &keep, share);
        left_out.extend(thinned(parent, &track));
        Some(Chart { parent: parent.clone(), track })
    };
    (parents.iter().filter_map(&mut chart).collect(), others.into_iter().filter_map(&mut chart).collect())
}

/// The places of a finding that no thinning may lose.
fn places(finding: &Finding) -> Vec<Index> {
    let until = if let Some(Until::Index(until)) = finding.until { Some(until) } else { None };
    [Some(finding.at.index), until, finding.cause.as_ref().map(|c| c.at.index)].into_iter().flatten().collect()
}

/// What was thinned, in words.
fn thinned(parent: &JobKey, track: &Thinned) -> Option<String> {
    (track.stretches > 0).then(|| {
        format!(
            "Of the {} changes of {} the chart shows {}: of each of {} equally long stretches of the log the first, the last, \
             and the lowest and the highest of each counter, and those at which the first findings begin and end. \
             `raftscope timeline --filter job={}` prints all.",
            track.of,
            parent.id,
            track.changes.len(),
            track.stretches,
            parent.id
        )
    })
}

/// Snapshots beside the log, reconciles in it, and holes.
fn events(report: &Report, tracks: &Tracks, replay: &Prepared<'_>) -> Vec<Event> {
    /// More marks than this tell nobody anything.
    const MARKS: usize = 200;
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
    let partial = partial_file(dir)?;
    let written = fs::File::create(&partial).and_then(|mut file| file.write_all(page.as_bytes()));
    written.and_then(|()| partial.persist(path).map_err(|e| e.error)).map_err(|e| cannot_write(path, e))
}
