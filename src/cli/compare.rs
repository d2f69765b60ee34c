//! `compare`: do the servers of one cluster hold the same log, and where do they part.

use std::path::PathBuf;

use super::args::CompareArgs;
use super::options::{self, Output};
use super::reporter::Reporter;
use crate::compare::{
    self, Comparison, Difference, DifferenceKind, Given, Group, Proof, ServerSummary, Standing, Verdict, Why,
};
use crate::error::Error;
use crate::evidence;
use crate::exit::Exit;
use crate::notes::Notes;
use crate::render::text::visible;
use crate::render::{self, Cell, Format, Row, Shape};

static SHAPE: Shape = Shape { table: &[], csv: &["kind", "first_index", "last_index", "groups", "detail"] };

/// So many differences are told in sentences.
const SHOWN: usize = 20;

/// What `compare` was asked for.
#[derive(Debug)]
struct Options {
    paths: Vec<PathBuf>,
    allow_incomplete: bool,
    output: Output,
}

/// Compares the logs of several servers.
pub fn run(args: &CompareArgs) -> (Reporter, Result<Exit, Error>) {
    let reporter = options::reporter(&args.feedback, args.output.look.color);
    let result = checked(args, &reporter).and_then(|options| print(&options, &reporter));
    (reporter, result)
}

fn checked(args: &CompareArgs, reporter: &Reporter) -> Result<Options, Error> {
    if args.paths.len() < 2 {
        return Err(Error::Usage("compare takes two or more PATHs, one for each server".into()));
    }
    options::all_different("compare", &args.paths)?;
    Ok(Options {
        paths: args.paths.clone(),
        allow_incomplete: args.allow_incomplete,
        output: Output::new(&args.output, Format::Table, reporter)?,
    })
}

fn print(options: &Options, reporter: &Reporter) -> Result<Exit, Error> {
    let mut notes = reporter;
    let mut given = Vec::new();
    for path in &options.paths {
        let evidence = evidence::open(path)?;
        evidence.window.notes.iter().for_each(|n| notes.note(format!("{}: {n}", path.display())));
        given.push(Given { name: path.display().to_string().into(), evidence });
    }
    let bounds = || given.iter().filter_map(|given| given.evidence.log.bounds());
    let first = bounds().map(|(first, _)| first).min().unwrap_or_default();
    let last = bounds().map(|(_, last)| last).max().unwrap_or_default();
    let mut progress = reporter.progress("comparing", first, last);
    let comparison = compare::compare(&given, &mut |index| progress.tick(index))?;
    progress.finish();
    tell(&comparison, options, reporter);
    match (&options.output.style.jq, options.output.style.format) {
        (_, Format::Json) => {
            let json = serde_json::to_vec(&comparison).map_err(|e| Error::Internal(e.to_string()))?;
            render::document(&options.output.style, &json, options.output.stdout())?;
        }
        (None, Format::Table) => write_text(&text(&comparison), options)?,
        _ => {
            let mut rows = render::rows(&options.output.style, &SHAPE, options.output.stdout());
            for difference in &comparison.differences {
                rows.row(difference)?;
            }
            rows.finish()?;
        }
    }
    Ok(comparison.exit(options.allow_incomplete))
}

/// What limits the answer, for stderr.
fn tell(comparison: &Comparison, options: &Options, reporter: &Reporter) {
    let mut notes = reporter;
    for server in &comparison.servers {
        if !server.content_compared {
            notes.note(format!(
                "{}: `nomad operator raft logs` does not print all of an entry; only its term and type are compared",
                server.path
            ));
        }
        for damage in &server.damage {
            notes.warn(format!("{}: {damage}", server.path));
        }
        for hole in server.missing.iter().filter(|m| m.why == Why::Hole) {
            let (first, last) = (hole.first_index, hole.last_index);
            notes.warn(format!(
                "{}: entries {first} to {last} are missing and no snapshot stands for them",
                server.path
            ));
        }
    }
    if comparison.differences_left_out > 0 {
        notes.note(format!("{} more differences are not listed", comparison.differences_left_out));
    }
    if !comparison.complete {
        let alone = comparison.servers.iter().filter(|server| server.shared_entries == 0);
        let alone: Vec<&str> = alone.map(|server| &*server.path).collect();
        let what = if alone.is_empty() {
            "the evidence is incomplete: a difference could hide where it cannot be read".to_owned()
        } else {
            format!("no other log overlaps with that of {}; give one that reaches into it", alone.join(", "))
        };
        let allowed = if options.allow_incomplete { "" } else { " (--allow-incomplete accepts that)" };
        notes.warn(format!("{what}{allowed}"));
    }
}

fn write_text(text: &str, options: &Options) -> Result<(), Error> {
    use std::io::Write;
    let mut out = options.output.stdout();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Error::Output)
}

impl Row for Difference {
    fn json(&self, out: &mut Vec<u8>) {
        // The row has only text keys and plain values, so this cannot fail.
        let _ = serde_json::to_writer(out, self);
    }

    fn cells(&self) -> Vec<Cell> {
        // The table of a comparison is sentences, not rows.
        Vec::new()
    }
}

/// The comparison in sentences.
fn text(comparison: &Comparison) -> String {
    let mut lines = Vec::new();
    lines.push(match comparison.verdict {
        Verdict::Same => "The logs are the same where they overlap.".to_owned(),
        Verdict::Differ => "The logs differ.".to_owned(),
        Verdict::DifferentClusters => "These are logs of different clusters.".to_owned(),
        Verdict::NotComparable => "The logs cannot be compared: they do not overlap.".to_owned(),
    });
    for difference in comparison.differences.iter().take(SHOWN) {
        lines.push(String::new());
        lines.push(format!("{}: {}", word(difference.kind), visible(&difference.detail)));
        if difference.last_index > difference.first_index && difference.kind == DifferenceKind::Divergence {
            lines.push(format!("  apart from {} to {}", difference.first_index, difference.last_index));
        }
        lines.extend(difference.groups.iter().map(group));
    }
    if let Some(more) = comparison.differences.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        lines.push(String::new());
        lines.push(format!("And {more} more, which --format ndjson lists."));
    }
    lines.push(String::new());
    lines.extend(comparison.servers.iter().map(server));
    lines.push(String::new());
    match &comparison.shared {
        Some(shared) => lines.push(format!(
            "Shared: {} to {}; {} entries on at least two servers, {} of them equal, {} on all.",
            shared.first_index, shared.last_index, shared.entries, shared.equal, shared.on_all
        )),
        None => lines.push("Shared: nothing.".into()),
    }
    if let Some(newest) = &comparison.most_up_to_date {
        let who = newest.servers.iter().map(|s| visible(s)).collect::<Vec<_>>().join(", ");
        lines.push(format!("Most up to date: {who} (term {}, index {}).", newest.last_term, newest.last_index));
    }
    if let Some(configuration) = &comparison.configuration {
        let from = configuration.index;
        lines.push(format!(
            "Voters: {}, of entry {from}; {} are a majority.",
            configuration.voters, configuration.majority
        ));
    }
    lines.push(committed(comparison));
    lines.push(String::new());
    lines.join("\n")
}

fn word(kind: DifferenceKind) -> &'static str {
    match kind {
        DifferenceKind::Divergence => "Divergence",
        DifferenceKind::Corruption => "Corruption",
        DifferenceKind::LogMatching => "Corruption",
        DifferenceKind::Bootstrap => "Note",
        DifferenceKind::DifferentClusters => "Different clusters",
    }
}

fn group(group: &Group) -> String {
    let who = group.servers.iter().map(|s| visible(s)).collect::<Vec<_>>().join(", ");
    let mut text = format!("  {who}: term {}", group.term);
    if let Some(kind) = &group.log_type {
        text.push_str(&format!(", {kind}"));
    }
    if let Some(bytes) = group.bytes {
        text.push_str(&format!(", {bytes} bytes"));
    }
    if let Some(sum) = group.sha256.as_ref().and_then(|sum| sum.get(..12)) {
        text.push_str(&format!(", SHA-256 {sum}…"));
    }
    text.push_str(match group.standing {
        Some(Standing::Proven) => "; proven: committed",
        Some(Standing::Refuted) => "; refuted: never committed",
        Some(Standing::Unknown) => "; not known which is committed",
        None => "",
    });
    text
}

fn server(server: &ServerSummary) -> String {
    let mut text = match (server.first_index, server.last_index) {
        (Some(first), Some(last)) => format!("{}: {first} to {last}", visible(&server.path)),
        _ => format!("{}: no log", visible(&server.path)),
    };
    if let Some(term) = server.last_term {
        text.push_str(&format!(", last term {term}"));
    }
    if let Some(snapshot) = server.snapshot_index {
        text.push_str(&format!(", snapshot at {snapshot}"));
    }
    for missing in &server.missing {
        let why = match missing.why {
            Why::Compacted => "compacted",
            Why::Behind => "behind",
            Why::Snapshot => "covered by a snapshot",
            Why::Hole => "missing",
        };
        let (first, last) = (missing.first_index, missing.last_index);
        let range = if first == last { first.to_string() } else { format!("{first} to {last}") };
        text.push_str(&format!("; {why}: {range}"));
    }
    text
}

fn committed(comparison: &Comparison) -> String {
    let committed = &comparison.committed;
    let mut text = match committed.by {
        Some(Proof::Majority) => format!("Committed: proven up to {}, by a majority.", committed.proven_to),
        Some(Proof::Snapshot) => format!("Committed: proven up to {}, by a snapshot.", committed.proven_to),
        None => "Committed: nothing is proven.".to_owned(),
    };
    if let Some(detail) = &committed.detail {
        text.push_str(&format!(" No more, since {}.", visible(detail)));
    }
    text
}
