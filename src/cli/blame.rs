//! `blame`: which entry each present counter of a parent comes from.

use std::io::Write;
use std::path::PathBuf;

use super::args::BlameArgs;
use super::operands;
use super::options::{self, Output, Range, Rows};
use super::replaying::{self, Prepared, Replaying, Wanted};
use super::reporter::Reporter;
use crate::blame::{Blame, Unit};
use crate::error::Error;
use crate::exit::Exit;
use crate::filter::{EntryType, Facts, JobFact};
use crate::fsm::row::Children;
use crate::fsm::state::State;
use crate::notes::Notes;
use crate::render::json_text::Object;
use crate::render::{self, Cell, Column, Format, Row, Shape, Tone};
use crate::replay::{Rebased, Replayed, Subscriber};
use crate::suggest;
use crate::types::{Index, JobKey, Term};

static SHAPE: Shape = Shape {
    table: &[
        Column::text("Counter"),
        Column::number("Change"),
        Column::number("Index"),
        Column::number("Term"),
        Column::text("Entry"),
        Column::text("Child"),
        Column::text("Child now"),
    ],
    csv: &["counter", "change", "index", "term", "entry", "child", "child_status"],
};

/// What `blame` was asked for.
#[derive(Debug)]
struct Options {
    job: String,
    namespace: Option<String>,
    path: PathBuf,
    replaying: Replaying,
    range: Range,
    rows: Rows,
    output: Output,
}

/// Blames.
pub fn run(args: &BlameArgs) -> (Reporter, Result<Exit, Error>) {
    let reporter = options::reporter(&args.feedback, args.output.look.color);
    let result = checked(args, &reporter).and_then(|options| blame(&options, &reporter));
    (reporter, result)
}

fn checked(args: &BlameArgs, reporter: &Reporter) -> Result<Options, Error> {
    let ([job], path) = operands::split("blame", &args.operands, ["JOB"])?;
    let rows = Rows::new(&args.filter)?;
    Ok(Options {
        job,
        namespace: args.namespace.clone(),
        path,
        replaying: Replaying::new(&args.replay, &rows.types, reporter)?,
        range: Range::new(&args.range)?,
        rows,
        output: Output::new(&args.output, Format::Table, reporter)?,
    })
}

/// Follows every parent of the wanted ID until the namespace is clear.
struct Namesakes<'o> {
    options: &'o Options,
    found: Vec<Blame>,
    names: Vec<JobKey>,
}

impl Namesakes<'_> {
    fn meet(&mut self, key: &JobKey) {
        let wanted = *key.id == *self.options.job
            && self.options.namespace.as_ref().is_none_or(|namespace| **namespace == *key.namespace);
        if wanted && !self.names.contains(key) {
            self.names.push(key.clone());
            self.found.push(Blame::new(key.clone(), self.options.rows.types.clone()));
        }
    }
}

impl Subscriber for Namesakes<'_> {
    fn base(&mut self, state: &State, index: Index, term: Term) {
        for (key, _) in state.summaries() {
            self.meet(key);
        }
        self.found.iter_mut().for_each(|blame| blame.base(state, index, term));
    }

    fn entry(&mut self, entry: Replayed<'_>) {
        for row in &entry.net.summaries {
            self.meet(row.key);
        }
        self.found.iter_mut().for_each(|blame| blame.entry(entry));
    }

    fn rebase(&mut self, rebased: Rebased<'_>) {
        self.base(rebased.state, rebased.index, rebased.term);
    }
}

fn blame(options: &Options, reporter: &Reporter) -> Result<Exit, Error> {
    let replay = replaying::prepare(&options.path, &options.replaying, &options.range, Wanted::History, reporter)?;
    let mut replay = replay.ok_or_else(|| Error::OutOfEvidence("there are no entries to blame".into()))?;
    let mut namesakes = Namesakes { options, found: Vec::new(), names: Vec::new() };
    let ended = replay.run(&mut namesakes)?;
    let chosen = choose(&namesakes.names, options, replay.state())?;
    let (Some(name), Some(blame)) = (namesakes.names.get(chosen), namesakes.found.get(chosen)) else {
        return Err(Error::Internal("a chosen job is not there".into()));
    };
    let children = replay.state().summary(name).and_then(|summary| summary.children);
    if children.is_none() {
        let mut notes = reporter;
        notes.note(format!("{name} has no children counts after the last entry"));
    }
    let from = if replay.from_asked { replay.range.0 } else { Index(0) };
    let mut units = blame.units(replay.state());
    units.retain(|unit| unit.at.index >= from && wants(options, name, unit, &replay));
    units.truncate(usize::try_from(options.rows.limit.unwrap_or(u64::MAX)).unwrap_or(usize::MAX));
    print(options, name, children, &units)?;
    Ok(replay.judge(&ended))
}

/// The one job that is meant: of those that are there at the end, else of those that once were.
fn choose(names: &[JobKey], options: &Options, state: &State) -> Result<usize, Error> {
    let there: Vec<usize> =
        (0..names.len()).filter(|i| names.get(*i).is_some_and(|n| state.summary(n).is_some())).collect();
    let once: Vec<usize> = (0..names.len()).collect();
    let candidates = if there.is_empty() { once } else { there };
    match candidates.as_slice() {
        [one] => Ok(*one),
        [] => {
            let parents: Vec<String> =
                state.jobs().filter(|job| job.is_parent()).map(|j| j.key.id.to_string()).collect();
            let elsewhere = state.jobs().filter(|job| job.is_parent() && *job.key.id == *options.job);
            let elsewhere: Vec<String> = elsewhere.map(|job| job.key.namespace.to_string()).collect();
            let hint = match elsewhere.as_slice() {
                [] => suggest::hint(&options.job, parents.iter().map(String::as_str)),
                spaces => format!("; it is in namespace {}", spaces.join(", ")),
            };
            let place = options.namespace.as_ref().map(|n| format!(" in namespace {n}")).unwrap_or_default();
            // Tables show `prod/report`, and so it is typed.
            let apart = options.job.split_once('/').filter(|(namespace, id)| {
                state.jobs().any(|job| *job.key.namespace == **namespace && *job.key.id == **id)
            });
            let hint = match apart {
                Some((namespace, id)) => format!("; did you mean `{id} --namespace {namespace}`?"),
                None => hint,
            };
            Err(Error::Usage(format!("blame: there is no job `{}`{place} in this log{hint}", options.job)))
        }
        several => {
            let spaces = several.iter().filter_map(|i| names.get(*i)).map(|n| n.namespace.to_string());
            let spaces = spaces.collect::<Vec<_>>().join(", ");
            Err(Error::Usage(format!(
                "blame: several namespaces have a job `{}`: {spaces}; name one with --namespace",
                options.job
            )))
        }
    }
}

fn wants(options: &Options, parent: &JobKey, unit: &Unit, replay: &Prepared<'_>) -> bool {
    let rows = &options.rows;
    if rows.filter.is_empty() {
        return true;
    }
    let kind = rows.types.lookup(&unit.at.entry).map_or(EntryType::Snapshot, EntryType::Command);
    let mut facts = Facts::of(unit.at.index, unit.at.term, kind);
    facts.jobs.push(JobFact {
        namespace: Some((&*parent.namespace).into()),
        job: unit.child.as_deref().map(Into::into),
        parent: Some((&*parent.id).into()),
        status: unit.child_status.as_deref().map(Into::into),
    });
    rows.filter.matches(&facts, replay.last())
}

fn print(options: &Options, name: &JobKey, children: Option<Children>, units: &[Unit]) -> Result<(), Error> {
    let style = &options.output.style;
    match style.format {
        Format::Json => {
            let mut json = Vec::new();
            let mut out = Object::open(&mut json);
            out.display("schema_version", 1);
            out.text("namespace", &name.namespace);
            out.text("job", &name.id);
            if let Some(children) = children {
                let mut object = Object::open(out.key("children"));
                object.display("Pending", children.pending);
                object.display("Running", children.running);
                object.display("Dead", children.dead);
                object.close();
            }
            // A unit has only text keys and plain values, so this cannot fail.
            let _ = serde_json::to_writer(out.key("units"), units);
            out.close();
            return render::document(style, &json, options.output.stdout());
        }
        Format::Table => {
            let counts = match children {
                Some(c) => format!("Pending {}, Running {}, Dead {}", c.pending, c.running, c.dead),
                None => "no children counts".into(),
            };
            let heading = format!("{}: {counts}\n\n", crate::render::text::visible(&name.to_string()));
            options.output.stdout().write_all(heading.as_bytes()).map_err(Error::Output)?;
        }
        Format::Ndjson | Format::Csv => {}
    }
    let mut out = render::rows(style, &SHAPE, options.output.stdout());
    for unit in units {
        out.row(unit)?;
    }
    out.finish()
}

impl Row for Unit {
    fn json(&self, out: &mut Vec<u8>) {
        // As above.
        let _ = serde_json::to_writer(out, self);
    }

    fn cells(&self) -> Vec<Cell> {
        let tone = if self.change < 0 { Tone::Bad } else { Tone::Plain };
        vec![
            self.counter.into(),
            Cell::toned(format!("{:+}", self.change), tone),
            self.at.index.to_string().into(),
            self.at.term.to_string().into(),
            crate::entry::message_type::short(&self.at.entry).into(),
            self.child.clone().unwrap_or_else(|| "not known".into()).into(),
            match (&self.child, &self.child_status) {
                (_, Some(status)) => status.as_str().into(),
                (Some(_), None) => Cell::toned("(gone)", Tone::Dim),
                (None, None) => Cell::default(),
            },
        ]
    }
}
