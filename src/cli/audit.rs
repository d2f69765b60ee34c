//! `audit`: is any count wrong, where first, and which entry did it.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::args::{AuditArgs, AuditFormat, AuditOutputArgs, FailOn};
use super::options::{self, Output, Range, Rows};
use super::replaying::{self, Both, Ended, Prepared, Replaying, Wanted};
use super::reporter::Reporter;
use crate::audit::baseline::Baseline;
use crate::audit::finding::{Finding, Kind, Severity};
use crate::audit::report::{Base, EvidenceSummary, Gap, Judging, Report};
use crate::audit::{Audit, Audited, prove};
use crate::auto::RulesFrom;
use crate::error::Error;
use crate::evidence::{self, DamageKind};
use crate::exit::Exit;
use crate::filter::{EntryType, Facts, JobFact};
use crate::fsm::rules::Version;
use crate::notes::Notes;
use crate::render::Format;
use crate::restarts::Collector;
use crate::restarts::threshold::Amount;
use crate::types::{Index, Term};

mod print;
mod text;
pub mod watch;

/// What is to be audited, and how it is judged; whatever becomes of the report.
#[derive(Debug)]
pub(super) struct Asked {
    /// What holds the log.
    pub path: PathBuf,
    /// List every finding.
    pub all: bool,
    /// Test the causes.
    pub prove: bool,
    /// Tell what a reconcile would change.
    pub preview: bool,
    /// Find restarts that left fewer allocations running.
    pub min_running: Option<Amount>,
    /// The least severity that counts as a failure.
    pub fail_on: Severity,
    /// Faults that are known.
    pub baseline: Option<Baseline>,
    /// How to replay.
    pub replaying: Replaying,
    /// Which entries.
    pub range: Range,
    /// Which findings.
    pub rows: Rows,
}

/// What `audit` was asked for.
#[derive(Debug)]
struct Options {
    asked: Asked,
    exit_zero: bool,
    write_baseline: Option<PathBuf>,
    special: Option<Special>,
    output: Output,
}

/// Audits the log.
pub fn run(args: &AuditArgs) -> (Reporter, Result<Exit, Error>) {
    let reporter = options::reporter(&args.feedback, args.output.look.color);
    let result = checked(args, &reporter).and_then(|options| audit(&options, &reporter));
    (reporter, result)
}

/// The formats that only an audit has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Special {
    Sarif,
    Junit,
}

/// The format, as one that every command has or one of an audit's own.
fn output(args: &AuditOutputArgs, reporter: &Reporter) -> Result<(Option<Special>, Output), Error> {
    let (special, format) = match args.format {
        _ if args.json => (None, Some(Format::Json)),
        None => (None, None),
        Some(AuditFormat::Table) => (None, Some(Format::Table)),
        Some(AuditFormat::Json) => (None, Some(Format::Json)),
        Some(AuditFormat::Ndjson) => (None, Some(Format::Ndjson)),
        Some(AuditFormat::Csv) => (None, Some(Format::Csv)),
        Some(AuditFormat::Sarif) => (Some(Special::Sarif), Some(Format::Json)),
        Some(AuditFormat::Junit) => (Some(Special::Junit), Some(Format::Table)),
    };
    if special.is_some() && args.look.jq.is_some() {
        return Err(Error::Usage("--jq needs raftscope's own JSON; use --format json or ndjson".into()));
    }
    Ok((special, Output::of_format(format, &args.look, Format::Table, reporter)?))
}

/// Checks `--write-baseline` before the long run: only a baseline is ever written over, so that a
/// slip costs no evidence.
fn to_be_written(path: &Path) -> Result<PathBuf, Error> {
    let overwritten = !path.exists() || std::fs::read_to_string(path).is_ok_and(|text| Baseline::parse(&text).is_ok());
    if !overwritten {
        let path = path.display();
        return Err(Error::Usage(format!(
            "--write-baseline {path}: this file is there and is no baseline; name another"
        )));
    }
    Ok(path.to_owned())
}

/// What to do about a baseline that is not there.
fn hint(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::NotFound => "; --write-baseline makes one",
        _ => "",
    }
}

/// Reads `--baseline`.
fn baseline(path: &Path) -> Result<Baseline, Error> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| Error::Usage(format!("--baseline {}: {e}{}", path.display(), hint(&e))))?;
    Baseline::parse(&text).map_err(|e| Error::Usage(format!("--baseline {}: {e}", path.display())))
}

fn checked(args: &AuditArgs, reporter: &Reporter) -> Result<Options, Error> {
    let (special, output) = output(&args.output, reporter)?;
    let rows = Rows::new(&args.filter)?;
    let (path, others) = servers(&args.paths)?;
    let asked = Asked {
        path,
        all: args.all,
        prove: args.prove,
        preview: args.preview_reconcile,
        min_running: args.min_running.as_deref().map(options::min_running).transpose()?,
        fail_on: match args.fail_on {
            FailOn::Error => Severity::Error,
            FailOn::Warning => Severity::Warning,
            FailOn::Note => Severity::Note,
        },
        baseline: args.baseline.as_deref().map(baseline).transpose()?,
        replaying: Replaying::new(&args.replay, &rows.types, reporter)?.keeping(args.keep.db.as_deref()).beside(others),
        range: Range::new(&args.range)?,
        rows,
    };
    let write_baseline = args.write_baseline.as_deref().map(to_be_written).transpose()?;
    Ok(Options { asked, exit_zero: args.exit_zero, write_baseline, special, output })
}

/// The log that is audited, and those of other servers that tell what of it was committed.
fn servers(paths: &[PathBuf]) -> Result<(PathBuf, &[PathBuf]), Error> {
    let Some((first, others)) = paths.split_first().filter(|(_, others)| !others.is_empty()) else {
        return Ok((options::one_path("audit", paths)?, &[]));
    };
    // What is not there is more likely an operand of another command.
    if let Some(missing) = paths.iter().find(|path| path.as_os_str() != "-" && !path.exists()) {
        let there = paths.iter().find(|path| path.exists()).unwrap_or(first);
        options::one_path("audit", &[missing.clone(), there.clone()])?;
    }
    if paths.iter().any(|path| path.as_os_str() == "-") {
        return Err(Error::Usage("audit: with several servers each PATH is a file or directory, not `-`".into()));
    }
    options::all_different("audit", paths)?;
    Ok((first.clone(), others))
}

impl Asked {
    /// How findings are weighed.
    fn judging(&self) -> Judging<'_> {
        Judging { fail_on: self.fail_on, all: self.all, baseline: self.baseline.as_ref() }
    }
}

/// The report on the evidence as it is now.
fn made(asked: &Asked, reporter: &Reporter) -> Result<Report, Error> {
    match replaying::prepare(&asked.path, &asked.replaying, &asked.range, Wanted::Findings, reporter)? {
        Some(mut replay) => replayed(asked, &mut replay),
        None => of_nothing(asked),
    }
}

fn audit(options: &Options, reporter: &Reporter) -> Result<Exit, Error> {
    let mut notes = reporter;
    let mut report = made(&options.asked, reporter)?;
    if let Some(path) = &options.write_baseline {
        let text = Baseline::of(&report).map_err(|e| Error::Internal(e.to_string()))?;
        std::fs::write(path, text).map_err(|e| Error::Usage(format!("--write-baseline {}: {e}", path.display())))?;
        notes.note(format!("{} faults are listed in {}", report.findings.len(), path.display()));
    }
    let exit = if options.exit_zero { Exit::Success } else { report.exit(options.asked.replaying.allow_incomplete) };
    if options.asked.replaying.allow_incomplete && !report.complete {
        notes.warn("the evidence is incomplete: a fault could hide where it cannot be read");
    }
    if let Some(limit) = options.asked.rows.limit {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let left_out = report.findings.len().saturating_sub(limit);
        if left_out > 0 {
            notes.note(format!("{left_out} findings are not listed because of --limit"));
        }
        report.findings.truncate(limit);
    }
    print::report(&report, options)?;
    Ok(exit)
}

/// Replays, and keeps the findings that were asked for.
pub(super) fn replayed(asked: &Asked, replay: &mut Prepared<'_>) -> Result<Report, Error> {
    let evidence = replay.evidence.clone();
    let bodies = replaying::bodies(&evidence);
    let mut audit = Audit::new(asked.rows.types.clone()).naming_senders(&bodies);
    let mut collector = Collector::new();
    audit.know(replay.known.clone());
    let ended = match asked.min_running {
        None => replay.run_audit(&mut audit, !asked.preview && asked.rows.filter.is_empty())?,
        Some(_) => replay.run(&mut Both(&mut audit, &mut collector))?,
    };
    let mut below = Vec::new();
    if asked.min_running.is_some() {
        let found = collector.finish(asked.min_running);
        below = crate::audit::restarts::findings(&found.restarts, &asked.rows.types);
        below.iter_mut().for_each(|finding| finding.committed = audit.committed(&finding.at));
    }
    let mut audited = audit.finish(replay.state());
    replay.keep_findings(&audited.findings)?;
    audited.findings.append(&mut below);
    audited.findings.sort_by_key(|finding| finding.at.index);
    let (from, last) = (if replay.from_asked { replay.range.0 } else { Index(0) }, replay.last());
    let wanted = |f: &Finding| f.at.index >= from && (f.is_about_evidence() || matches(&asked.rows, f, last));
    // Damage before the range is not listed, and yet a fault in the range could hide behind it.
    let damaged = audited.findings.iter().find(|f| f.is_about_evidence() && f.at.index < from);
    if let Some(finding) = damaged {
        let (kind, index) = (finding.kind.name().replace('_', " "), finding.at.index);
        let text = format!("{kind} at index {index}, before the range: a fault in the range could hide behind it");
        replay.reporter().warn(text);
    }
    let sound = damaged.is_none() && ended.unsure.is_empty() && ended.reached.stopped_by.is_none();
    let mismatches = audited.findings.iter().filter(|f| f.kind == Kind::SnapshotMismatch);
    let rebased: Vec<Index> = mismatches.map(|f| f.at.index).collect();
    audited.findings.retain(wanted);
    if !asked.rows.filter.is_empty() {
        asked.rows.tell_strangers_to(replay.state(), replay.reporter());
    }
    let summary = summary(replay, &audited, &ended);
    let reaches = sound && !replay.blind && !replay.begins_before_base;
    let mut report = Report::new(summary, audited, &asked.judging(), reaches);
    if asked.prove {
        let findings = report.findings.iter_mut().map(|reported| &mut reported.finding);
        let start = |from: Option<Index>| match from {
            Some(index) => replay.again_from(crate::base::Base::Snapshot(index)),
            None => replay.again(),
        };
        prove::prove(&*replay.evidence.log, &rebased, start, findings)?;
    }
    if asked.preview {
        report.preview = Some(replay.preview_reconcile()?);
    }
    Ok(report)
}

/// The report on a log, or a range of it, without entries.
pub(super) fn of_nothing(asked: &Asked) -> Result<Report, Error> {
    let window = evidence::open(&asked.path)?.window;
    let summary = EvidenceSummary {
        path: window.path.clone(),
        store: store(window.store),
        first_index: window.first_index,
        last_index: window.last_index,
        entries: 0,
        base: Base { kind: "empty", index: Index(0), term: Term(0) },
        gaps: Vec::new(),
        undecodable: 0,
        rejected: 0,
        rules: Version::NEWEST.to_string(),
        rules_from: RulesFrom::Default.name().to_owned(),
        rules_also_possible: Vec::new(),
        altered: Vec::new(),
    };
    let audited = Audited { findings: Vec::new(), entries: 0, undecodable: 0, rejected: 0, parents: Vec::new() };
    Ok(Report::new(summary, audited, &asked.judging(), true))
}

/// The name of a store as JSON shows it.
fn store(kind: evidence::window::StoreKind) -> String {
    let value = serde_json::to_value(kind).ok();
    value.and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}

fn summary(replay: &Prepared<'_>, audited: &Audited, ended: &Ended) -> EvidenceSummary {
    let window = &replay.evidence.window;
    let hole = |first_index, last_index| Gap { first_index, last_index };
    let stopped = ended.reached.stopped_by.iter().filter(|d| d.kind == DamageKind::Gap);
    let mut gaps: Vec<Gap> = replay.holes.iter().map(|h| hole(h.first, h.last)).collect();
    gaps.extend(stopped.filter_map(|d| Some(hole(d.first?, d.last?))));
    gaps.dedup();
    EvidenceSummary {
        path: window.path.clone(),
        store: store(window.store),
        first_index: window.first_index,
        last_index: window.last_index,
        entries: audited.entries,
        base: base(replay),
        gaps,
        undecodable: audited.undecodable,
        rejected: audited.rejected,
        rules: replay.chosen.name(),
        rules_from: replay.chosen.from.name().to_owned(),
        rules_also_possible: replay.chosen.also_possible.iter().flatten().map(ToString::to_string).collect(),
        altered: replay.altered.clone(),
    }
}

fn base(replay: &Prepared<'_>) -> Base {
    let kind = match replay.base_kind {
        crate::base::Base::Empty => "empty",
        crate::base::Base::Snapshot(_) => "snapshot",
    };
    Base { kind, index: replay.base.0, term: replay.base.1 }
}

/// Whether the filter lets a finding through: by its parent or job, or by the job of its cause.
fn matches(rows: &Rows, finding: &Finding, last: Index) -> bool {
    if rows.filter.is_empty() {
        return true;
    }
    let kind = rows.types.lookup(&finding.at.entry).map_or(EntryType::Snapshot, EntryType::Command);
    let mut facts = Facts::of(finding.at.index, finding.at.term, kind);
    fn text(t: &Option<Arc<str>>) -> Option<Cow<'_, str>> {
        t.as_deref().map(Cow::Borrowed)
    }
    facts.add_job(JobFact {
        namespace: text(&finding.namespace),
        job: text(&finding.job).or_else(|| text(&finding.parent)),
        parent: text(&finding.parent),
        status: None,
    });
    if let Some(cause) = &finding.cause {
        facts.add_job(JobFact {
            namespace: text(&cause.namespace),
            job: text(&cause.job),
            parent: text(&finding.parent),
            status: text(&cause.status),
        });
    }
    rows.filter.matches(&facts, last)
}
