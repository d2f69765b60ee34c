//! `diff --rules A --rules B`: one log under two rule books.

use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;

use super::super::args::{DiffArgs, ReplayArgs};
use super::super::options::{self, Output, Range, Rows};
use super::super::replaying::{self, Ended, Prepared, Replaying, Wanted};
use super::super::reporter::Reporter;
use super::super::timeline::groups;
use crate::error::Error;
use crate::exit::Exit;
use crate::filter::{EntryType, Facts, JobFact};
use crate::parting::{self, At, Differing, Parting, Teller};
use crate::render::json_text::Object;
use crate::render::{self, Cell, Column, Format, Row, Shape};
use crate::timeline::JobView;
use crate::types::{Index, JobKey};

static SHAPE: Shape = Shape {
    table: &[Column::text("Job"), Column::number("Since"), Column::text("Entry"), Column::text("A"), Column::text("B")],
    csv: &["namespace", "job", "since", "a", "b"],
};

/// Entries that one replay may be ahead of the other.
const AHEAD: usize = 1024;

/// What `diff --rules A --rules B` was asked for.
struct Options {
    path: PathBuf,
    replaying: [Replaying; 2],
    range: Range,
    rows: Rows,
    output: Output,
}

/// Replays one log under both rule books and prints where they part.
pub fn run(args: &DiffArgs, reporter: &Reporter) -> Result<Exit, Error> {
    let [a, b] = args.replay.rules.as_slice() else {
        return Err(Error::Usage("diff: --rules is given more than twice; give it twice".into()));
    };
    if !args.tables.is_empty() {
        return Err(Error::Usage("diff: with --rules twice jobs are compared; leave --tables out".into()));
    }
    let rows = Rows::new(&args.filter)?;
    let silent = reporter.muted();
    let one = |rules: &String, reporter| {
        let rules = vec![rules.clone()];
        let ReplayArgs { skip, patch, append, committed_only, allow_incomplete, .. } = &args.replay;
        let (skip, patch, append) = (skip.clone(), patch.clone(), append.clone());
        let (committed_only, allow_incomplete) = (*committed_only, *allow_incomplete);
        let replay = ReplayArgs { rules, skip, patch, append, committed_only, allow_incomplete };
        Replaying::new(&replay, &rows.types, reporter)
    };
    let options = Options {
        path: options::one_path("diff --rules A --rules B", &args.operands)?,
        replaying: [one(a, reporter)?, one(b, &silent)?],
        range: Range::new(&args.range)?,
        rows,
        output: Output::new(&args.output, Format::Table, reporter)?,
    };
    let [first, second] = &options.replaying;
    let first = replaying::prepare(&options.path, first, &options.range, Wanted::History, reporter)?;
    let second = replaying::prepare(&options.path, second, &options.range, Wanted::History, &silent)?;
    let (Some(mut first), Some(mut second)) = (first, second) else {
        return Err(Error::OutOfEvidence("there are no entries to compare".into()));
    };
    let (parting, ended) = compare(&mut first, &mut second, &options)?;
    let names = [first.chosen.name(), second.chosen.name()];
    print(&parting, &first, &names, &options)?;
    let judged = first.judge(&ended);
    Ok(if parting.first.is_some() { Exit::Findings } else { judged })
}

/// Both replays at once, each on a thread of its own. What the first left unsure comes back.
fn compare(first: &mut Prepared<'_>, second: &mut Prepared<'_>, options: &Options) -> Result<(Parting, Ended), Error> {
    let types = &options.rows.types;
    let replay = |replay: &mut Prepared<'_>, to| replay.run(&mut Teller::new(to, types.clone()));
    thread::scope(|scope| {
        let ((to_a, from_a), (to_b, from_b)) = (mpsc::sync_channel(AHEAD), mpsc::sync_channel(AHEAD));
        let a = scope.spawn(|| replay(first, to_a));
        let b = scope.spawn(|| replay(second, to_b));
        let parting = parting::compare(from_a, from_b);
        let done = |result: thread::Result<Result<Ended, Error>>| match result {
            Ok(result) => result,
            Err(_) => Err(Error::Internal("a replay ended early".into())),
        };
        let (a, b) = (done(a.join()), done(b.join()));
        b?;
        Ok((parting, a?))
    })
}

/// A job that differs at the end.
struct Line<'p> {
    job: &'p JobKey,
    differing: &'p Differing,
}

fn place(at: &At, out: &mut Vec<u8>) {
    // A place has only text keys and plain values, so this cannot fail.
    let _ = serde_json::to_writer(out, at);
}

impl Row for Line<'_> {
    fn json(&self, out: &mut Vec<u8>) {
        let mut row = Object::open(out);
        row.text("namespace", &self.job.namespace);
        row.text("job", &self.job.id);
        place(&self.differing.since, row.key("since"));
        for (key, view) in [("a", &self.differing.a), ("b", &self.differing.b)] {
            // As above.
            let _ = serde_json::to_writer(row.key(key), view);
        }
        row.close();
    }

    fn cells(&self) -> Vec<Cell> {
        let Differing { since, a, b } = self.differing;
        let job = if &*self.job.namespace == "default" { self.job.id.to_string() } else { self.job.to_string() };
        let entry = crate::entry::message_type::short(&since.entry);
        let (a_words, b_words) = (words(a, b), words(b, a));
        vec![job.into(), since.index.to_string().into(), entry.into(), a_words.into(), b_words.into()]
    }
}

/// What of a job differs from its other form.
fn words(view: &Option<JobView>, other: &Option<JobView>) -> String {
    let Some(view) = view else { return "not there".into() };
    let mut words = Vec::new();
    let other = other.as_ref();
    if other.is_none_or(|other| other.status != view.status) {
        words.push(view.status.to_string());
    }
    if other.is_none_or(|other| other.children != view.children) {
        words.push(match view.children {
            Some(c) => format!("Pending {}, Running {}, Dead {}", c.pending, c.running, c.dead),
            None => "no children".into(),
        });
    }
    if other.is_none_or(|other| other.groups != view.groups) {
        words.push(groups(view));
    }
    words.join("; ")
}

fn print(parting: &Parting, replay: &Prepared<'_>, names: &[String; 2], options: &Options) -> Result<(), Error> {
    let (filter, last) = (&options.rows.filter, replay.last());
    let wanted = |line: &Line<'_>| {
        let At { index, term, entry } = &line.differing.since;
        let kind = options.rows.types.lookup(entry).map_or(EntryType::Snapshot, EntryType::Command);
        let mut facts = Facts::of(*index, *term, kind);
        facts.jobs.push(JobFact {
            namespace: Some((&*line.job.namespace).into()),
            job: Some((&*line.job.id).into()),
            parent: replay.state().job(line.job).map(|job| job.parent_id.to_string().into()),
            status: line.differing.a.as_ref().map(|view| view.status.as_str().into()),
        });
        filter.is_empty() || filter.matches(&facts, last)
    };
    let limit = usize::try_from(options.rows.limit.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    let lines = parting.jobs.iter().map(|(job, differing)| Line { job, differing });
    let lines: Vec<Line<'_>> = lines.filter(wanted).take(limit).collect();
    let style = &options.output.style;
    let [a, b] = names;
    if style.format == Format::Json {
        return render::document(style, &document(parting, &lines, names, last), options.output.stdout());
    }
    if style.format == Format::Table {
        let heading = match &parting.first {
            None => format!("{a} and {b} come to the same statuses and counts after every entry\n"),
            Some(at) => format!(
                "A is {a}, B is {b}; they part at {}, and {} at the end\n",
                super::entry_words(at.index, &at.entry),
                match parting.jobs.len() {
                    0 => "come together again".to_owned(),
                    1 => "1 job differs".to_owned(),
                    n => format!("{n} jobs differ"),
                }
            ),
        };
        options.output.stdout().write_all(heading.as_bytes()).map_err(Error::Output)?;
        if lines.is_empty() {
            return Ok(());
        }
        options.output.stdout().write_all(b"\n").map_err(Error::Output)?;
    }
    let mut out = render::rows(style, &SHAPE, options.output.stdout());
    for line in &lines {
        out.row(line)?;
    }
    out.finish()
}

fn document(parting: &Parting, lines: &[Line<'_>], [a, b]: &[String; 2], last: Index) -> Vec<u8> {
    let mut json = Vec::new();
    let mut out = Object::open(&mut json);
    out.display("schema_version", 1);
    out.text("a", a);
    out.text("b", b);
    match &parting.first {
        Some(at) => place(at, out.key("first")),
        None => out.key("first").extend_from_slice(b"null"),
    }
    out.display("last_index", last);
    let list = out.key("jobs");
    list.push(b'[');
    for (i, line) in lines.iter().enumerate() {
        if i > 0 {
            list.push(b',');
        }
        line.json(list);
    }
    list.push(b']');
    out.close();
    json
}
