//! Judgement: detectors watch the changes of each entry and say what is wrong, since when, and
//! which entry did it.
//!
//! A detector is one file with one type that implements [`Detector`]; [`Audit::new`] lists them.

pub mod baseline;
pub mod finding;
pub mod preview;
pub mod prove;
pub mod report;
pub mod restarts;
pub mod words;

mod cause;
mod children;
mod damage;
mod groups;
mod orphan;
mod outcomes;
mod resume;
mod senders;
mod shape;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::committed::{self, Committed, Known};
use crate::entry::message_type::MessageTypes;
use crate::evidence::{Damage, DamageKind, LogType, Record};
use crate::fsm::compare::Difference;
use crate::fsm::state::State;
use crate::pack::{BadImage, Packer, Unpacker};
use crate::replay::{Rebased, Replayed, Subscriber};
use crate::rows::Bodies;
use crate::types::{Index, JobKey, Term};
use finding::{Finding, Kind, LeaderChange, Place, Severity, Until};
use senders::Senders;

/// Watches a replay for one kind of fault, or a few that belong together.
trait Detector {
    /// The state that the replay starts from.
    fn base(&mut self, state: &State, at: &Place, findings: &mut Findings) {
        let _ = (state, at, findings);
    }

    /// An entry was replayed; `at` is its place.
    fn entry(&mut self, entry: &Replayed<'_>, at: &Place, findings: &mut Findings);

    /// Entries are lost here.
    fn damage(&mut self, damage: &Damage, findings: &mut Findings) {
        let _ = (damage, findings);
    }

    /// The replay is over; `state` is what it came to.
    fn finish(&mut self, state: &State, findings: &mut Findings) {
        let _ = (state, findings);
    }

    /// Packs what it knows.
    fn save(&self, out: &mut Packer);

    /// Takes over what it knew.
    fn load(&mut self, from: &mut Unpacker<'_>) -> Result<(), BadImage>;
}

/// Collects findings; what lasts is opened, and closed later.
#[derive(Default)]
struct Findings<'b> {
    list: Vec<Finding>,
    leader_change: Option<LeaderChange>,
    senders: Senders<'b>,
}

/// A finding that is still open.
type Open = usize;

impl Findings<'_> {
    fn add(&mut self, mut finding: Finding) -> Open {
        finding.leader_change = self.leader_change;
        self.list.push(finding);
        self.list.len() - 1
    }

    fn open(&mut self, mut finding: Finding) -> Open {
        finding.until = Some(Until::Never);
        self.add(finding)
    }

    fn get(&mut self, open: Open) -> Option<&mut Finding> {
        self.list.get_mut(open)
    }

    /// Closes whatever is open.
    fn close_all(&mut self, at: &Place) {
        let open: Vec<Open> = (0..self.list.len()).filter(|i| self.list[*i].until == Some(Until::Never)).collect();
        for open in open {
            self.close(open, at);
        }
    }

    fn close(&mut self, open: Open, at: &Place) {
        if let Some(finding) = self.list.get_mut(open) {
            finding.until = Some(Until::Index(at.index));
            finding.until_entry = Some(at.entry.clone());
        }
    }
}

/// Subscribes to a replay and judges it.
pub struct Audit<'b> {
    detectors: Vec<Box<dyn Detector>>,
    findings: Findings<'b>,
    names: Names,
    term: Term,
    first_term: Option<Term>,
    /// The first entry of the term that the replay is in.
    term_start: Index,
    entries: u64,
    last: Index,
    /// The last entry that the replay has shown to be committed.
    proven: Index,
    /// What else is known of that.
    known: Known,
    undecodable: u64,
    rejected: u64,
    /// The parents there are at the end, where that is known without the state.
    parents: Option<Vec<JobKey>>,
}

/// Every detector, in the order in which they look at an entry.
fn detectors() -> Vec<Box<dyn Detector>> {
    vec![
        Box::new(children::ChildrenDetector::default()),
        Box::new(groups::GroupDetector::default()),
        Box::new(outcomes::OutcomeDetector),
        Box::new(shape::ShapeDetector::default()),
        Box::new(orphan::OrphanDetector::default()),
        Box::new(damage::DamageDetector::default()),
    ]
}

impl<'b> Audit<'b> {
    /// An audit with every detector. `types` names the message types. Whoever sent a guilty entry is named only where
    /// [`Audit::naming_senders`] says how to read the rows of tokens.
    pub fn new(types: MessageTypes) -> Self {
        Audit {
            detectors: detectors(),
            findings: Findings::default(),
            names: Names::new(types),
            term: Term(0),
            first_term: None,
            term_start: Index(0),
            entries: 0,
            last: Index(0),
            proven: Index(0),
            known: Known::default(),
            undecodable: 0,
            rejected: 0,
            parents: None,
        }
    }

    /// Takes in what is known of the log besides what its own entries prove to be committed.
    pub fn know(&mut self, known: Known) {
        self.known = known;
    }

    /// The same, which names the senders of guilty entries; `bodies` are those of the log that is replayed.
    pub fn naming_senders(mut self, bodies: &'b dyn Bodies) -> Self {
        self.findings.senders = Senders::out_of(bodies);
        self
    }

    fn note_term(&mut self, record: &Record<'_>) {
        // The bootstrap entry's own term is no leader's, so the first election changes none.
        let bootstrap = record.index == Index(1);
        if record.term > self.term {
            self.term = record.term;
            self.term_start = record.index;
            if self.first_term.is_some() {
                self.findings.leader_change = Some(LeaderChange { index: record.index, term: record.term });
            }
        }
        if self.first_term.is_none() && !bootstrap {
            self.first_term = Some(record.term);
        }
    }

    /// Everything that the replay showed, in order of index.
    pub fn finish(mut self, state: &State) -> Audited {
        for detector in &mut self.detectors {
            detector.finish(state, &mut self.findings);
        }
        let mut findings = std::mem::take(&mut self.findings.list);
        for finding in &mut findings {
            finding.committed = self.committed(&finding.at);
        }
        let named = findings.iter();
        let named = named.filter_map(|f| Some(JobKey::new(f.namespace.clone()?, f.parent.clone()?)));
        let there = self.parents.take().unwrap_or_else(|| parents(state).collect());
        let parents = named.chain(there).collect::<BTreeSet<_>>().into_iter().collect();
        findings.sort_by(|a, b| {
            (a.at.index, &a.namespace, &a.parent, &a.job, a.kind, a.counter).cmp(&(
                b.at.index,
                &b.namespace,
                &b.parent,
                &b.job,
                b.kind,
                b.counter,
            ))
        });
        Audited { findings, entries: self.entries, undecodable: self.undecodable, rejected: self.rejected, parents }
    }

    /// How sure it is that the entry at a place was committed, by what the replay has shown so far.
    pub fn committed(&self, at: &Place) -> Option<Committed> {
        if at.index > self.last {
            return None;
        }
        Some(self.known.of(at.index, self.proven, self.last))
    }
}

/// What an audit found.
#[derive(Clone, Debug)]
pub struct Audited {
    /// Every finding, in order of index.
    pub findings: Vec<Finding>,
    /// How many entries were replayed.
    pub entries: u64,
    /// How many of them could not be decoded.
    pub undecodable: u64,
    /// How many of them the FSM refused.
    pub rejected: u64,
    /// Every parent: those there are at the end, and those of findings; in order.
    pub parents: Vec<JobKey>,
}

/// The parents that there are.
fn parents(state: &State) -> impl Iterator<Item = JobKey> {
    state.jobs().filter(|job| job.is_parent()).map(|job| job.key.clone())
}

impl Subscriber for Audit<'_> {
    fn base(&mut self, state: &State, index: Index, term: Term) {
        let at = Place { index, term, entry: "snapshot".into() };
        self.term = term;
        if index > Index(0) {
            self.first_term = Some(term);
            self.proven = index;
            self.last = index;
        }
        for detector in &mut self.detectors {
            detector.base(state, &at, &mut self.findings);
        }
    }

    fn entry(&mut self, entry: Replayed<'_>) {
        use crate::fsm::outcome::Outcome;
        self.note_term(entry.record);
        self.parents = None;
        self.entries += 1;
        self.last = entry.record.index;
        let term_start = self.term_start;
        if let Some(proven) = committed::proves(entry.record, entry.message, || Some(term_start)) {
            self.proven = self.proven.max(proven);
        }
        match entry.step.outcome {
            Outcome::Undecodable(_) | Outcome::Empty => self.undecodable += 1,
            Outcome::Refused(_) | Outcome::PartiallyApplied(_) => self.rejected += 1,
            _ => {}
        }
        let at = Place { index: entry.record.index, term: entry.record.term, entry: self.names.of(entry.record) };
        for detector in &mut self.detectors {
            detector.entry(&entry, &at, &mut self.findings);
        }
    }

    fn rebase(&mut self, rebased: Rebased<'_>) {
        let at = Place { index: rebased.index, term: rebased.term, entry: "snapshot".into() };
        self.findings.close_all(&at);
        let mut finding = Finding::new(Kind::SnapshotMismatch, Severity::Error, at.clone());
        finding.detail = Some(mismatch(rebased.differences));
        self.findings.add(finding);
        // The detectors know a history that led elsewhere; the snapshot is a new beginning.
        self.detectors = detectors();
        for detector in &mut self.detectors {
            detector.base(rebased.state, &at, &mut self.findings);
        }
    }

    fn damage(&mut self, damage: &Damage) {
        self.undecodable += u64::from(damage.kind == DamageKind::UndecodableEntry);
        for detector in &mut self.detectors {
            detector.damage(damage, &mut self.findings);
        }
    }
}

/// The first few differences to a snapshot, and how many there are.
fn mismatch(differences: &[Difference]) -> String {
    const SHOWN: usize = 3;
    let shown: Vec<String> = differences.iter().take(SHOWN).map(ToString::to_string).collect();
    let more = differences.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!(
        "the replay (here) and the snapshot (there) differ in {} rows: {}{more}. Other rules may have been in force; \
         the replay goes on from the snapshot",
        differences.len(),
        shown.join("; ")
    )
}

/// The names of entries, each made once.
struct Names {
    types: MessageTypes,
    commands: Vec<Option<Arc<str>>>,
}

impl Names {
    fn new(types: MessageTypes) -> Self {
        Names { types, commands: vec![None; 128] }
    }

    fn of(&mut self, record: &Record<'_>) -> Arc<str> {
        match (record.kind, crate::entry::split(record.data)) {
            (LogType::Command, Some(command)) => {
                let Some(slot) = self.commands.get_mut(usize::from(command.kind)) else { return "".into() };
                slot.get_or_insert_with(|| self.types.name(command.kind).as_ref().into()).clone()
            }
            (kind, _) => kind.name().into(),
        }
    }
}
