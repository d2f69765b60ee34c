//! `why`: one entry explained.

use std::io::Write;
use std::path::PathBuf;

use super::args::WhyArgs;
use super::changes::{self, Line};
use super::index_expr::IndexExpr;
use super::operands;
use super::options::{self, Output, Range};
use super::replaying::{self, Prepared, Replaying, Wanted};
use super::reporter::Reporter;
use crate::entry::json::BodyWriter;
use crate::entry::message_type::{MessageTypes, short};
use crate::error::Error;
use crate::exit::Exit;
use crate::filter::{Facts, JobFact, carried};
use crate::fsm::outcome::CountMove;
use crate::redact::{Place, Redactor};
use crate::render::json_text::{self, Object};
use crate::render::text::{hanging, visible};
use crate::render::{self, Format};
use crate::why::{Seen, Sender, Watch, sender};

/// What `why` was asked for.
#[derive(Debug)]
struct Options {
    at: IndexExpr,
    path: PathBuf,
    types: MessageTypes,
    replaying: Replaying,
    output: Output,
}

/// Explains an entry.
pub fn run(args: &WhyArgs) -> (Reporter, Result<Exit, Error>) {
    let reporter = options::reporter(&args.feedback, args.output.look.color);
    let result = checked(args, &reporter).and_then(|options| explain(&options, &reporter));
    (reporter, result)
}

fn checked(args: &WhyArgs, reporter: &Reporter) -> Result<Options, Error> {
    let ([at], path) = operands::split("why", &args.operands, ["INDEX"])?;
    let types = options::message_types(&args.message_type)?;
    Ok(Options {
        at: operands::index("why", "INDEX", &at)?,
        path,
        replaying: Replaying::new(&args.replay, &types, reporter)?,
        types,
        output: Output::new(&args.output, Format::Table, reporter)?,
    })
}

fn explain(options: &Options, reporter: &Reporter) -> Result<Exit, Error> {
    let nothing = || Error::OutOfEvidence("there is no entry to explain".into());
    let replay = replaying::prepare(&options.path, &options.replaying, &Range::whole(), Wanted::History, reporter)?;
    let mut replay = replay.ok_or_else(nothing)?;
    let at = operands::resolve(options.at, &replay, reporter)?;
    let mut watch = Watch::new(at);
    let ended = replay.run_to(at, &mut watch)?;
    let Some(seen) = watch.seen else {
        let why = ended.reached.stopped_by.as_ref().map(|damage| format!(": {}", damage.detail)).unwrap_or_default();
        return Err(Error::OutOfEvidence(format!("the replay does not come to entry {at}{why}")));
    };
    let told = Told::new(&seen, &replay, &options.types, &mut options.output.redactor())?;
    told.print(options)?;
    Ok(replay.judge(&ended))
}

/// Everything there is to tell of an entry, its secrets hidden.
pub(super) struct Told<'s> {
    seen: &'s Seen,
    name: String,
    facts: Facts<'s>,
    /// The body as JSON; empty without one.
    body: Vec<u8>,
    sender: Option<Sender>,
    /// The unknown sender's token, hidden.
    token: String,
    /// The rows that it changed, field by field.
    pub changes: Vec<Line>,
    altered: &'s [String],
}

impl<'s> Told<'s> {
    /// What there is to tell of an entry that the replay has just come to.
    ///
    /// # Errors
    /// When a row that it touched cannot be read again.
    pub fn new(
        seen: &'s Seen,
        replay: &'s Prepared<'_>,
        types: &MessageTypes,
        redactor: &mut Redactor,
    ) -> Result<Self, Error> {
        let bodies = replaying::bodies(&replay.evidence);
        let mut body = Vec::new();
        // Where the body cannot be decoded, the outcome says so.
        let _ = BodyWriter::new().record(seen.kind, &seen.data, redactor, &mut body);
        let sender = sender(&seen.data, replay.state(), &bodies)?;
        let mut changes = Vec::new();
        for touched in &seen.touched {
            let Some(id) = touched.id() else { continue };
            let (before, after) = touched.build(&bodies)?;
            changes.extend(Line::of(id, before, after, redactor));
        }
        let name = match seen.data.first().filter(|_| seen.kind == crate::evidence::LogType::Command) {
            Some(byte) => types.name(byte & 0x7f).into_owned(),
            None => seen.kind.name(),
        };
        let token = match &sender {
            Some(Sender::Unknown { secret }) => hidden(secret, redactor),
            _ => String::new(),
        };
        let mut facts = carried::facts(&seen.record()).0;
        facts.jobs = merged(facts.jobs);
        Ok(Told { seen, name, facts, body, sender, token, changes, altered: &replay.altered })
    }

    fn print(&self, options: &Options) -> Result<(), Error> {
        let style = &options.output.style;
        match style.format {
            Format::Json => render::document(style, &self.json(), options.output.stdout()),
            Format::Table => {
                let mut out = options.output.stdout();
                out.write_all(self.text(style.width).as_bytes()).and_then(|()| out.flush()).map_err(Error::Output)?;
                drop(out);
                if self.changes.is_empty() { Ok(()) } else { self.rows(options) }
            }
            Format::Ndjson | Format::Csv => self.rows(options),
        }
    }

    fn rows(&self, options: &Options) -> Result<(), Error> {
        let mut out = render::rows(&options.output.style, &changes::SHAPE, options.output.stdout());
        for line in &self.changes {
            out.row(line)?;
        }
        out.finish()
    }

    fn json(&self) -> Vec<u8> {
        let mut json = Vec::new();
        let mut out = Object::open(&mut json);
        out.display("schema_version", 1);
        out.display("index", self.seen.index);
        out.display("term", self.seen.term);
        out.text("log_type", &self.seen.kind.name());
        out.text("entry", &self.name);
        if let Some(at) = self.seen.appended_at {
            out.text("appended_at", &at.to_string());
        }
        out.display("bytes", self.seen.data.len());
        out.text("outcome", self.seen.outcome.word());
        if let Some(detail) = &self.seen.detail {
            out.text("detail", detail);
        }
        if let Some(sender) = &self.sender {
            let mut by = Object::open(out.key("by"));
            match sender {
                Sender::Token { accessor, name } => {
                    by.text("accessor_id", accessor);
                    by.text("name", name);
                }
                Sender::Unknown { .. } => by.text("token", &self.token),
            }
            by.close();
        }
        carries(&self.facts, out.key("carries"));
        each(&self.changes, out.key("changes"), render::Row::json);
        each(&self.seen.moves, out.key("counters"), counter);
        if !self.body.is_empty() {
            out.key("body").extend_from_slice(&self.body);
        }
        if !self.altered.is_empty() {
            each(self.altered, out.key("altered"), |text, out| json_text::string(out, text));
        }
        out.close();
        json
    }

    /// What stands above the table of changes.
    fn text(&self, width: Option<usize>) -> String {
        let end = if self.changes.is_empty() { "changed: nothing\n" } else { "\n" };
        let lines = self.lines();
        let told = lines.iter().flat_map(|line| hanging(&visible(line), width)).map(|line| format!("{line}\n"));
        told.chain([end.to_owned()]).collect()
    }

    /// What is told in sentences: the entry itself first, then its sender, what it carries and what became of it.
    pub fn lines(&self) -> Vec<String> {
        let seen = self.seen;
        let at = seen.appended_at.map(|at| format!(", appended {at}")).unwrap_or_default();
        let (name, bytes) = (short(&self.name), seen.data.len());
        let mut lines = vec![format!("entry {}, term {}: {name}, {bytes} bytes{at}", seen.index, seen.term)];
        lines.push(match &self.sender {
            None => "sent by: no token".into(),
            Some(Sender::Token { accessor, name }) if name.is_empty() => format!("sent by: token {accessor}"),
            Some(Sender::Token { accessor, name }) => format!("sent by: token {name:?} ({accessor})"),
            Some(Sender::Unknown { .. }) => format!("sent by: a token that the state does not know, {}", self.token),
        });
        let carried = carried_words(&self.facts);
        if !carried.is_empty() {
            lines.push(format!("carries: {carried}"));
        }
        let detail = seen.detail.iter().map(|detail| format!(": {detail}")).collect::<String>();
        lines.push(format!("outcome: {}{detail}", seen.outcome.word()));
        for count in &seen.moves {
            let (from, to) = (count.old.as_str(), count.new.as_str());
            let from = if from.is_empty() { "none" } else { from };
            let [pending, running, dead] = count.after.as_array();
            let purged = if count.purged { ", purged" } else { "" };
            lines.push(format!(
                "counted: {} leaves {from} for {to}{purged}; {} has Pending {pending}, Running {running}, Dead {dead}",
                count.child, count.parent
            ));
        }
        lines
    }
}

/// A token as it may be shown.
fn hidden(secret: &str, redactor: &mut Redactor) -> String {
    let marker = redactor.hide(Place::Secret("AuthToken"), secret.as_bytes());
    marker.map_or_else(|| secret.to_owned(), |marker| marker.to_string())
}

/// What an entry says of one job in several places, as with a register and its evaluation, taken together.
fn merged(jobs: Vec<JobFact<'_>>) -> Vec<JobFact<'_>> {
    let mut merged: Vec<JobFact<'_>> = Vec::new();
    for job in jobs {
        let same = |known: &&mut JobFact<'_>| {
            let space = |fact: &JobFact<'_>| fact.namespace.as_deref().filter(|n| !n.is_empty()).map(str::to_owned);
            known.job == job.job && (space(known) == space(&job) || space(known).is_none() || space(&job).is_none())
        };
        match merged.iter_mut().find(same) {
            Some(known) => {
                known.namespace = known.namespace.take().filter(|n| !n.is_empty()).or(job.namespace);
                known.parent = known.parent.take().or(job.parent);
                known.status = known.status.take().or(job.status);
            }
            None => merged.push(job),
        }
    }
    merged
}

fn each<T>(items: &[T], out: &mut Vec<u8>, mut write: impl FnMut(&T, &mut Vec<u8>)) {
    out.push(b'[');
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        write(item, out);
    }
    out.push(b']');
}

fn counter(count: &CountMove, out: &mut Vec<u8>) {
    let mut row = Object::open(out);
    row.text("namespace", &count.parent.namespace);
    row.text("parent", &count.parent.id);
    row.text("child", &count.child.id);
    row.text("from", count.old.as_str());
    row.text("to", count.new.as_str());
    row.display("purged", count.purged);
    let [pending, running, dead] = count.after.as_array();
    let mut after = Object::open(row.key("after"));
    after.display("Pending", pending);
    after.display("Running", running);
    after.display("Dead", dead);
    after.close();
    row.close();
}

fn carries(facts: &Facts<'_>, out: &mut Vec<u8>) {
    let mut row = Object::open(out);
    each(&facts.jobs, row.key("jobs"), |job, out| {
        let mut row = Object::open(out);
        let fields =
            [("namespace", &job.namespace), ("job", &job.job), ("parent", &job.parent), ("status", &job.status)];
        for (key, value) in fields {
            if let Some(value) = value {
                row.text(key, value);
            }
        }
        row.close();
    });
    let ids = [
        ("evals", &facts.evals),
        ("allocs", &facts.allocs),
        ("deployments", &facts.deployments),
        ("nodes", &facts.nodes),
    ];
    for (key, ids) in ids {
        each(ids, row.key(key), |id, out| json_text::string(out, id));
    }
    row.close();
}

/// `job report/periodic-1 (child of report, status "running"), eval 1a2b3c4d, 3 allocs`.
fn carried_words(facts: &Facts<'_>) -> String {
    let mut words = Vec::new();
    for job in &facts.jobs {
        let Some(id) = &job.job else { continue };
        let namespace = job.namespace.as_deref().filter(|n| !matches!(*n, "" | "default"));
        let parent = job.parent.as_deref().filter(|p| !p.is_empty()).map(|p| format!("child of {p}"));
        let status = job.status.as_deref().map(|s| format!("status {s:?}"));
        let more = parent.into_iter().chain(status).collect::<Vec<_>>().join(", ");
        let more = if more.is_empty() { more } else { format!(" ({more})") };
        words.push(format!("job {}{id}{more}", namespace.map(|n| format!("{n}/")).unwrap_or_default()));
    }
    let ids =
        [("eval", &facts.evals), ("alloc", &facts.allocs), ("deployment", &facts.deployments), ("node", &facts.nodes)];
    for (what, ids) in ids {
        match ids.as_slice() {
            [] => {}
            [id] => words.push(format!("{what} {id}")),
            [id, rest @ ..] => words.push(format!("{what} {id} and {} more", rest.len())),
        }
    }
    words.join(", ")
}
