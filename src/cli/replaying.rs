//! What every command that replays has in common: rules, base, progress, and what was left unsure.

use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::args::ReplayArgs;
use super::options::Range;
use super::reporter::Reporter;
use super::what_if::WhatIf;
use crate::audit::preview::{self, Preview};
use crate::auto::{self, Chosen, RulesFrom};
use crate::base::{Base, Holdings, Hole};
use crate::committed::Known;
use crate::entry::body::restart;
use crate::entry::message_type::MessageTypes;
use crate::error::Error;
use crate::evidence::snapshot::Verdict;
use crate::evidence::{self, Damage, DamageKind, Evidence, EvidenceError};
use crate::exit::Exit;
use crate::fsm::Fsm;
use crate::fsm::outcome::Outcome;
use crate::fsm::rules::{Rules, Version};
use crate::fsm::state::State;
use crate::ledger::Ledger;
use crate::notes::{Level, Notes};
use crate::progress::Progress;
use crate::replay::{self, Reached, Rebased, Replayed, Subscriber};
use crate::rows::LogBodies;
use crate::start::{self, Later};
use crate::suggest;
use crate::types::{Index, Term};

mod commitment;
mod keeping;

/// Leaves the choice of the rules to the evidence (contract.md 1).
const AUTO: &str = "auto";

/// The named variation (contract.md 1).
const RESET_CHILD_STATUS: &str = "reset-child-status";

/// How to replay, checked.
#[derive(Debug)]
pub struct Replaying {
    /// The rules that were asked for; `None` leaves the choice to the evidence.
    rules: Option<Rules>,
    /// An unsure answer ends with 0 as well.
    pub allow_incomplete: bool,
    /// What is not proven to be committed is left out (`--committed-only`).
    committed_only: bool,
    /// Where the logs of the other servers are.
    others: Vec<PathBuf>,
    what_if: WhatIf,
    /// The file that the ledger is kept in.
    db: Option<PathBuf>,
    types: MessageTypes,
}

impl Replaying {
    /// Checks the options. `types` names the message types: a number that is named
    /// `JobRestartRequestType` is replayed as one.
    ///
    /// # Errors
    /// When `--rules` names no version.
    pub fn new(args: &ReplayArgs, types: &MessageTypes, notes: &Reporter) -> Result<Self, Error> {
        let rules = match args.rules.as_slice() {
            [] => None,
            [text] if text == AUTO => None,
            [text] => Some(rules("--rules", text, notes)?),
            _ => return Err(Error::Usage("--rules is given twice; only `diff` compares two".into())),
        };
        Ok(Replaying {
            rules,
            allow_incomplete: args.allow_incomplete,
            committed_only: args.committed_only,
            others: Vec::new(),
            what_if: WhatIf::new(args, notes)?,
            types: types.clone(),
            db: None,
        })
    }

    /// The same, with a ledger kept in a file (`--db`).
    pub fn keeping(self, db: Option<&Path>) -> Self {
        Replaying { db: db.map(Path::to_owned), ..self }
    }

    /// The same, with the logs of other servers of the cluster, which tell what was committed.
    pub fn beside(self, others: &[PathBuf]) -> Self {
        Replaying { others: others.to_vec(), ..self }
    }
}

/// The rules that `text` names; `what` is the option or command that it was given to.
///
/// # Errors
/// When it names no version and no variation.
pub fn rules(what: &str, text: &str, mut notes: &Reporter) -> Result<Rules, Error> {
    if text == RESET_CHILD_STATUS {
        let mut rules = Rules::for_version(Version::NEWEST);
        rules.reset_child_status = true;
        return Ok(rules);
    }
    if text == AUTO {
        return Err(Error::Usage(format!("{what}: `{AUTO}` needs a log; name a version, such as {}", Version::NEWEST)));
    }
    let version: Version = text.parse().map_err(|e| {
        let hint = suggest::hint(text, [RESET_CHILD_STATUS]);
        Error::Usage(format!("{what}: {e}{}", if hint.is_empty() { ", or reset-child-status" } else { &hint }))
    })?;
    if version > Version::NEWEST {
        notes.warn(format!(
            "Nomad {version} is newer than the rules that are known; those of {} are used",
            Version::NEWEST
        ));
    }
    if version < Version::OLDEST {
        notes.warn(format!(
            "Nomad {version} is older than the rules that are known; those of {} are used",
            Version::OLDEST
        ));
    }
    Ok(Rules::for_version(version.clamp(Version::OLDEST, Version::NEWEST)))
}

/// A replay that is ready to run.
pub struct Prepared<'r> {
    /// The evidence.
    pub evidence: Arc<Evidence>,
    /// The index and term that the replay starts from; 0 for a server before its first entry.
    pub base: (Index, Term),
    /// The first entry whose rows are printed, and the last that is replayed.
    pub range: (Index, Index),
    /// There was no state to start from, so the replay started from nothing.
    pub blind: bool,
    /// The range was asked to begin before the base, where nothing can be found.
    pub begins_before_base: bool,
    /// Rows from the range's beginning are wanted, without the base's (`--from-index`, `--since`).
    pub from_asked: bool,
    /// The range goes on to wherever the log ends: damage behind its last entry matters.
    to_the_end: bool,
    /// What was altered, a phrase each: with anything in it, what comes of the replay is no evidence.
    pub altered: Vec<String>,
    /// The rules in force, and why.
    pub chosen: Chosen,
    /// What the replay starts from.
    pub base_kind: Base,
    /// What else than its own entries tells what of the log was committed.
    pub known: Known,
    /// The holes in the log, those below the base included; only looked for where there are snapshots.
    pub holes: Vec<Hole>,
    db: Option<PathBuf>,
    /// The kept ledger until the findings are in it, and whether it has grown.
    ledger: Option<(Ledger, bool)>,
    types: MessageTypes,
    /// Never dropped: a command ends with its replay, and to give back a large state row by row takes longer than to
    /// find what is wrong in it.
    fsm: ManuallyDrop<Fsm>,
    /// The index and term that the replay has come to.
    at: (Index, Term),
    last: Index,
    reporter: &'r Reporter,
    allow_incomplete: bool,
}

/// Which base a replay wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The longest history: the oldest base.
    History,
    /// The same, with a word on other rules that would answer differently.
    Findings,
    /// The state at the range's end: the newest base below it.
    State,
}

impl Chosen {
    /// The name of the rules: a version, or that of a variation.
    pub fn name(&self) -> String {
        if self.rules.reset_child_status { RESET_CHILD_STATUS.to_owned() } else { self.rules.version.to_string() }
    }
}

/// Opens the evidence and finds the base and the range. `None`, with a note, for an empty range.
///
/// # Errors
/// When nothing can be read, or no base reaches what is asked for.
pub fn prepare<'r>(
    path: &Path,
    options: &Replaying,
    range: &Range,
    wanted: Wanted,
    reporter: &'r Reporter,
) -> Result<Option<Prepared<'r>>, Error> {
    let mut notes = reporter;
    let evidence = evidence::open(path)?;
    evidence.window.notes.iter().for_each(|n| notes.note(n.as_str()));
    let (mut evidence, known) = commitment::known(path, evidence, &options.others, reporter)?;
    if options.committed_only {
        commitment::cut(&mut evidence, &known, reporter)?;
    }
    let altered = options.what_if.alter(&mut evidence, &options.types, reporter)?;
    let held = start::holdings(&evidence, notes)?;
    let Some(last) = held.last() else {
        if let Some(Verdict::Bad(why)) = evidence.snapshots.last().map(|snapshot| snapshot.verify()) {
            let path = evidence.window.path.clone();
            let detail = format!("there is no log, and no snapshot that can be used: {why}");
            return Err(EvidenceError::Unreadable { path, detail }.into());
        }
        evidence::check_empty(&*evidence.log, &evidence.window.path)?;
        notes.note(format!("{}: the log is empty", evidence.window.path));
        return Ok(None);
    };
    let chosen = choose(&evidence, &held, options, wanted, notes)?;
    let Some(oldest) = held.oldest() else {
        let open = Open { evidence, known, altered, last, chosen };
        return blind(open, options, range, reporter);
    };
    let least = if wanted == Wanted::State { held.reachable().first().map(|run| run.0) } else { None };
    let least = least.unwrap_or(oldest.index()).max(Index(1));
    let Some(found) = range.resolve(&*evidence.log, least, last, notes)? else { return Ok(None) };
    let base = match wanted {
        Wanted::History | Wanted::Findings => oldest,
        // A kept ledger holds the whole history, wherever this run's answer lies in it.
        Wanted::State if options.db.is_some() => oldest,
        Wanted::State => held.newest_for(found.1).map_or_else(|| out_of_reach(&held, found.1, oldest), Ok)?,
    };
    if let Base::Snapshot(index) = base {
        notes.note(format!("the replay starts from the snapshot at index {index}"));
    }
    let begins_before_base = wanted == Wanted::Findings && range.begins_before(&*evidence.log, base.index(), last)?;
    let mut start = start::at(&evidence, base, &chosen.rules, notes)?;
    start.fsm.name_restarts(options.types.lookup(restart::NAME));
    Ok(Some(Prepared {
        evidence: Arc::new(evidence),
        base: (start.index, start.term),
        at: (start.index, start.term),
        base_kind: base,
        holes: held.holes,
        range: found,
        blind: false,
        begins_before_base,
        from_asked: range.has_from(),
        to_the_end: range.is_open(last),
        altered,
        chosen,
        known,
        db: options.db.clone(),
        ledger: None,
        types: options.types.clone(),
        fsm: ManuallyDrop::new(start.fsm),
        last,
        reporter,
        allow_incomplete: options.allow_incomplete,
    }))
}

/// The bodies that rows of the state are rebuilt from.
pub fn bodies(evidence: &Evidence) -> LogBodies<'_> {
    LogBodies::new(&*evidence.log).with_snapshots(&evidence.snapshots)
}

/// The rules that were asked for, or those that the evidence speaks for.
fn choose(
    evidence: &Evidence,
    held: &Holdings,
    options: &Replaying,
    wanted: Wanted,
    mut notes: &Reporter,
) -> Result<Chosen, Error> {
    if let Some(rules) = &options.rules {
        let (rules, from) = (rules.clone(), RulesFrom::Flag);
        return Ok(Chosen { rules, from, allowed: Vec::new(), also_possible: None });
    }
    let chosen = auto::choose(evidence, held, &options.types, wanted == Wanted::Findings)?;
    notes.note(format!("{}; --rules names others", said(&chosen)));
    Ok(chosen)
}

/// Which rules were chosen and why, and which others are possible.
fn said(chosen: &Chosen) -> String {
    let why = match chosen.from {
        RulesFrom::Snapshot => "the newest that reproduce the snapshot in the log, which others do not",
        RulesFrom::Writer => "the newest version that can have written the last register",
        RulesFrom::Flag | RulesFrom::Default => "the newest version, as no register tells of its writer",
    };
    let listed = |versions: &[Version]| versions.iter().map(Version::to_string).collect::<Vec<_>>().join(", ");
    let others = match &chosen.also_possible {
        Some(others) if others.is_empty() => String::new(),
        Some(others) => format!("; those of {} are possible too and answer differently", listed(others)),
        None if chosen.allowed.is_empty() => String::new(),
        None => format!("; those of {} are possible too", listed(&chosen.allowed)),
    };
    format!("the rules of Nomad {} are used ({why}){others}", chosen.rules.version)
}

/// No base reaches the index: behind a hole the replay still comes as far as the hole, else the
/// answer names what can be had.
fn out_of_reach(held: &Holdings, wanted: Index, oldest: Base) -> Result<Base, Error> {
    let runs = held.reachable();
    if held.snapshots.is_empty() && runs.iter().all(|(_, end)| *end < wanted) {
        return Ok(oldest);
    }
    let runs: Vec<String> =
        runs.iter().map(|(a, b)| if a == b { a.to_string() } else { format!("{a} to {b}") }).collect();
    Err(Error::OutOfEvidence(format!(
        "the state at index {wanted} is not in the evidence, which holds the states at {}",
        runs.join(", ")
    )))
}

/// Evidence that is opened, altered where that was asked for, and known to its last index.
struct Open {
    evidence: Evidence,
    known: Known,
    altered: Vec<String>,
    last: Index,
    chosen: Chosen,
}

/// A log that begins above 1 without a snapshot below it is replayed from nothing, if that is asked for.
fn blind<'r>(
    Open { evidence, known, altered, last, chosen }: Open,
    options: &Replaying,
    range: &Range,
    reporter: &'r Reporter,
) -> Result<Option<Prepared<'r>>, Error> {
    let mut notes = reporter;
    let first = evidence.log.bounds().map_or(last, |(first, _)| first);
    let text = format!(
        "{}: the log begins at index {first} and there is no state to start from below it",
        evidence.window.path
    );
    if !options.allow_incomplete {
        return Err(Error::OutOfEvidence(format!("{text}; --allow-incomplete starts from nothing")));
    }
    notes.warn(format!("{text}; the replay starts from nothing, so counts and statuses may be wrong"));
    let Some(found) = range.resolve(&*evidence.log, first, last, notes)? else { return Ok(None) };
    let mut fsm = Fsm::new(chosen.rules.clone());
    fsm.tolerate_missing();
    fsm.name_restarts(options.types.lookup(restart::NAME));
    Ok(Some(Prepared {
        evidence: Arc::new(evidence),
        base: (first.prev(), Term(0)),
        at: (first.prev(), Term(0)),
        base_kind: Base::Empty,
        holes: Vec::new(),
        range: found,
        blind: true,
        begins_before_base: false,
        from_asked: range.has_from(),
        to_the_end: range.is_open(last),
        altered,
        chosen,
        known,
        db: options.db.clone(),
        ledger: None,
        types: options.types.clone(),
        fsm: ManuallyDrop::new(fsm),
        last,
        reporter,
        allow_incomplete: options.allow_incomplete,
    }))
}

impl Prepared<'_> {
    /// Where remarks go.
    pub fn reporter(&self) -> &Reporter {
        self.reporter
    }

    /// The last index that the evidence knows of.
    pub fn last(&self) -> Index {
        self.last
    }

    /// Replays up to the end of the range.
    ///
    /// # Errors
    /// When the log cannot be read at all.
    pub fn run(&mut self, subscriber: &mut dyn Subscriber) -> Result<Ended, Error> {
        if self.db.is_some() {
            // The state is what the replay from the base comes to.
            self.extend_with_findings(true)?;
            self.rewind()?;
        }
        let mut ended = self.run_to(self.range.1, subscriber)?;
        self.look_behind(&mut ended, subscriber)?;
        Ok(ended)
    }

    /// Where a replay came to the end of the log and was to do so, tells of entries that are lost behind it.
    fn look_behind(&self, ended: &mut Ended, subscriber: &mut dyn Subscriber) -> Result<(), Error> {
        let log = &*self.evidence.log;
        let at_end = log.bounds().is_some_and(|(_, last)| last == ended.reached.index);
        if !at_end || !self.to_the_end || ended.reached.stopped_by.is_some() {
            return Ok(());
        }
        for damage in evidence::behind_the_end(log)? {
            subscriber.damage(&damage);
            match (damage.kind, damage.first) {
                (DamageKind::UndecodableEntry, Some(index)) => ended.unsure.undecodable.push(index),
                _ if ended.reached.stopped_by.is_none() => ended.reached.stopped_by = Some(damage),
                _ => {}
            }
        }
        Ok(())
    }

    /// Replays up to and with `to`; a further run goes on from there.
    ///
    /// # Errors
    /// As [`Prepared::run`].
    pub fn run_to(&mut self, to: Index, subscriber: &mut dyn Subscriber) -> Result<Ended, Error> {
        let mut watch =
            Watch { progress: self.reporter.progress("replaying", self.at.0.next(), to), unsure: Unsure::default() };
        let rules = self.fsm.rules().clone();
        let mut later = Later::than(self.at.0, &self.evidence, &rules);
        let subscribers: &mut [&mut dyn Subscriber] = &mut [&mut watch, subscriber];
        let reached = replay::replay(&*self.evidence.log, &mut self.fsm, self.at, to, &mut later, subscribers)?;
        watch.progress.finish();
        self.at = (reached.index, reached.term);
        Ok(Ended { reached, unsure: watch.unsure })
    }

    /// The same replay at its base once more.
    ///
    /// # Errors
    /// When the base's snapshot cannot be read.
    pub fn again(&self) -> Result<(Fsm, (Index, Term)), Error> {
        if self.blind {
            let mut fsm = Fsm::new(self.fsm.rules().clone());
            fsm.tolerate_missing();
            fsm.name_restarts(self.fsm.restart_type());
            return Ok((fsm, self.base));
        }
        self.again_from(self.base_kind)
    }

    /// The same replay at that base, or at a snapshot along the log.
    ///
    /// # Errors
    /// When the snapshot cannot be read.
    pub fn again_from(&self, base: Base) -> Result<(Fsm, (Index, Term)), Error> {
        // What is to be said of the snapshot was said when it was read first.
        let said: Vec<(Level, String)> = Vec::new();
        let mut start = start::at(&self.evidence, base, self.fsm.rules(), said)?;
        start.fsm.name_restarts(self.fsm.restart_type());
        Ok((start.fsm, (start.index, start.term)))
    }

    /// Goes back to the base: the next run begins there.
    ///
    /// # Errors
    /// As [`Prepared::again`].
    pub fn rewind(&mut self) -> Result<(), Error> {
        (*self.fsm, self.at) = self.again()?;
        Ok(())
    }

    /// What a reconcile right after the replay would change.
    ///
    /// # Errors
    /// As [`preview::preview`].
    pub fn preview_reconcile(&mut self) -> Result<Vec<Preview>, Error> {
        Ok(preview::preview(&mut self.fsm, self.at)?)
    }

    /// The state as the replay left it.
    pub fn state(&self) -> &State {
        self.fsm.state()
    }

    /// Tells what makes the answer unsure, and the exit code of an answer that has no findings.
    pub fn judge(&self, ended: &Ended) -> Exit {
        let mut notes = self.reporter;
        let texts = ended.reasons();
        for text in &texts {
            notes.warn(text.as_str());
        }
        if texts.is_empty() || self.allow_incomplete { Exit::Success } else { Exit::Incomplete }
    }
}

/// How a replay ended.
#[derive(Debug)]
pub struct Ended {
    /// How far it came.
    pub reached: Reached,
    /// Entries of which the effect is not known.
    pub unsure: Unsure,
}

/// Entries of which the effect is not known.
#[derive(Clone, Debug, Default)]
pub struct Unsure {
    /// Bodies that cannot be decoded, and commands without a byte.
    pub undecodable: Vec<Index>,
    /// Message types that the rules do not know and that have no ignore flag.
    pub unknown_type: Vec<Index>,
}

impl Unsure {
    /// True when the effect of every entry is known.
    pub fn is_empty(&self) -> bool {
        self.undecodable.is_empty() && self.unknown_type.is_empty()
    }
}

impl Ended {
    /// The reasons for which the answer is not sure, a sentence each.
    fn reasons(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        let list = |indexes: &[Index]| {
            const SHOWN: usize = 5;
            let shown: Vec<String> = indexes.iter().take(SHOWN).map(ToString::to_string).collect();
            let more = indexes.len().saturating_sub(SHOWN);
            format!("{}{}", shown.join(", "), if more > 0 { format!(" and {more} more") } else { String::new() })
        };
        if !self.unsure.undecodable.is_empty() {
            let indexes = list(&self.unsure.undecodable);
            reasons.push(format!(
                "entries that cannot be decoded, at index {indexes}: what they did is not in the answer"
            ));
        }
        if !self.unsure.unknown_type.is_empty() {
            let indexes = list(&self.unsure.unknown_type);
            reasons.push(format!(
                "entries of a type that these rules do not know, at index {indexes}: what they did is not in the answer"
            ));
        }
        if let Some(hole) = &self.reached.stopped_by {
            reasons.push(format!("the replay ends at index {}: {}", self.reached.index, hole.detail));
        }
        reasons
    }
}

/// Two at once: an asker, and behind it one that takes in the whole, such as the ledger's writer.
pub struct Both<'a>(pub &'a mut dyn Subscriber, pub &'a mut dyn Subscriber);

impl Subscriber for Both<'_> {
    fn base(&mut self, state: &State, index: Index, term: Term) {
        self.0.base(state, index, term);
        self.1.base(state, index, term);
    }

    fn entry(&mut self, entry: Replayed<'_>) {
        // An asker that has enough ends nothing: the ledger takes in the rest.
        if !self.0.is_done() {
            self.0.entry(entry);
        }
        self.1.entry(entry);
    }

    fn rebase(&mut self, rebased: Rebased<'_>) {
        self.0.rebase(rebased);
        self.1.rebase(rebased);
    }

    fn damage(&mut self, damage: &Damage) {
        self.0.damage(damage);
        self.1.damage(damage);
    }

    fn is_done(&self) -> bool {
        self.1.is_done()
    }
}

/// Moves the progress and notes what is unsure.
struct Watch<'p> {
    progress: Progress<'p>,
    unsure: Unsure,
}

impl Subscriber for Watch<'_> {
    fn entry(&mut self, entry: Replayed<'_>) {
        let index = entry.record.index;
        self.progress.tick(index);
        match entry.step.outcome {
            Outcome::Undecodable(_) | Outcome::Empty => self.unsure.undecodable.push(index),
            Outcome::UnknownType { ignored: false } => self.unsure.unknown_type.push(index),
            _ => {}
        }
    }

    fn damage(&mut self, damage: &Damage) {
        match (damage.kind, damage.first) {
            (DamageKind::UndecodableEntry, Some(index)) => self.unsure.undecodable.push(index),
            _ => self.progress.finish(),
        }
    }
}
