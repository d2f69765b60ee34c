//! Replays with a kept ledger (`--db`): whoever asks, the ledger takes in all that is new, with the
//! findings of an audit, and what it knows already is not replayed again.

use std::path::Path;

use super::{Ended, Prepared, Unsure, Watch};
use crate::audit::Audit;
use crate::audit::finding::Finding;
use crate::base::Base;
use crate::error::Error;
use crate::ledger::kept::{APART, Plan};
use crate::ledger::{Basis, Ledger};
use crate::notes::Notes;
use crate::replay::{Checkpoints, Replayed, Subscriber};
use crate::start::Later;
use crate::types::Index;

/// The state is asked for only at the end.
struct Silent;

impl Subscriber for Silent {
    fn entry(&mut self, _: Replayed<'_>) {}
}

impl Prepared<'_> {
    /// Replays up to the end of the range for an audit; with a kept ledger, only what that does not
    /// know. [`Prepared::keep_findings`] has to follow. `stateless`: the state is not looked at, and is left at the base
    /// where the audit's answer is known without a replay.
    ///
    /// # Errors
    /// When the log cannot be read, or the ledger is not of this log or cannot be written.
    pub fn run_audit(&mut self, audit: &mut Audit<'_>, stateless: bool) -> Result<Ended, Error> {
        let mut ended = match self.db.clone() {
            Some(path) => self.extend(&path, audit, stateless),
            None => self.run_to(self.range.1, audit),
        }?;
        self.look_behind(&mut ended, audit)?;
        Ok(ended)
    }

    /// Comes to the state at the end of the range; with a kept ledger, from one that is near.
    ///
    /// # Errors
    /// As [`Prepared::run_audit`].
    pub fn run_to_state(&mut self) -> Result<Ended, Error> {
        if self.db.is_some() { self.extend_with_findings(false) } else { self.run(&mut Silent) }
    }

    /// Puts the findings of an audit into the kept ledger, if there is one, and closes it.
    ///
    /// # Errors
    /// When the file cannot be written; it is then as it was before.
    pub fn keep_findings(&mut self, findings: &[Finding]) -> Result<(), Error> {
        let Some((mut ledger, grown)) = self.ledger.take() else { return Ok(()) };
        if grown {
            ledger.put_findings(findings)?;
        }
        Ok(ledger.commit()?)
    }

    /// Extends the ledger for an asker that is no audit; `stateless` as in [`Prepared::run_audit`].
    pub(super) fn extend_with_findings(&mut self, stateless: bool) -> Result<Ended, Error> {
        let evidence = self.evidence.clone();
        let bodies = super::bodies(&evidence);
        let mut audit = Audit::new(self.types.clone()).naming_senders(&bodies);
        audit.know(self.known.clone());
        let ended = self.run_audit(&mut audit, stateless)?;
        let audited = audit.finish(self.fsm.state());
        self.keep_findings(&audited.findings)?;
        Ok(ended)
    }

    fn extend(&mut self, path: &Path, audit: &mut Audit<'_>, stateless: bool) -> Result<Ended, Error> {
        let mut notes = self.reporter;
        let (evidence, rules, to) = (self.evidence.clone(), self.fsm.rules().clone(), self.range.1);
        let basis = self.basis();
        let snapshots: Vec<Index> = Later::than(self.base.0, &evidence, &rules).indexes().collect();
        let (types, snapshots) = (self.types.clone(), &*snapshots);
        let plan = Plan { basis: &basis, to, types, snapshots, apart: APART, stateless };
        let later = |from| Box::new(Later::than(from, &evidence, &rules)) as Box<dyn Checkpoints>;
        let mut watch =
            Watch { progress: self.reporter.progress("replaying", self.base.0.next(), to), unsure: Unsure::default() };
        let ledger = Ledger::open(path)?;
        let start = (&mut *self.fsm, self.base);
        let extended = ledger.extend(&*evidence.log, start, &plan, later, audit, &mut watch)?;
        watch.progress.finish();
        if let Some((first, last)) = extended.joined.rolled_back {
            notes.note(format!(
                "{}: entries {first} to {last} were replaced in the log since, and are taken out",
                path.display()
            ));
        }
        if extended.from > self.base.0 {
            notes.detail(format!("{}: the replay goes on from entry {}", path.display(), extended.from));
        }
        let mut unsure = Unsure::default();
        if !extended.sure {
            let before = extended.ledger.unsure_up_to(extended.from)?;
            unsure = Unsure { undecodable: before.undecodable, unknown_type: before.unknown_type };
        }
        unsure.undecodable.append(&mut watch.unsure.undecodable);
        unsure.unknown_type.append(&mut watch.unsure.unknown_type);
        self.at = (extended.reached.index, extended.reached.term);
        self.ledger = Some((extended.ledger, extended.grown));
        Ok(Ended { reached: extended.reached, unsure })
    }

    /// Where the history starts and by which rules, whatever else decides what entries do included.
    pub fn basis(&self) -> Basis {
        let base = match self.base_kind {
            _ if self.blind => "nothing",
            Base::Empty => "empty",
            Base::Snapshot(_) => "snapshot",
        };
        let mut rules = self.chosen.name();
        if let Some(number) = self.fsm.restart_type() {
            rules += &format!(", {number}={}", crate::entry::body::restart::NAME);
        }
        for altered in &self.altered {
            rules += &format!(", {altered}");
        }
        Basis { base, index: self.base.0, term: self.base.1, rules }
    }
}
