//! The audit as bytes, so that it can go on in the middle of a log (contract.md 4).

use std::sync::Arc;

use super::finding::{Cause, Finding, Kind, LeaderChange, Place, Proof, Rule, Severity, Until};
use super::{Audit, Findings, detectors, parents};
use crate::committed::Committed;
use crate::fsm::state::State;
use crate::ledger::kept::Resume;
use crate::pack::{BadImage, Pack, Packer, Unpacker, fnv, pack, pack_named};
use crate::types::{Index, JobKey};

/// The judgement: a digest of the files that it is made of. What another one knew is not taken over.
const SHAPE: u64 = {
    let mut digest = fnv(0, include_bytes!("mod.rs"));
    digest = fnv(digest, include_bytes!("finding.rs"));
    digest = fnv(digest, include_bytes!("cause.rs"));
    digest = fnv(digest, include_bytes!("children.rs"));
    digest = fnv(digest, include_bytes!("damage.rs"));
    digest = fnv(digest, include_bytes!("groups.rs"));
    digest = fnv(digest, include_bytes!("orphan.rs"));
    digest = fnv(digest, include_bytes!("outcomes.rs"));
    digest = fnv(digest, include_bytes!("shape.rs"));
    digest = fnv(digest, include_bytes!("senders.rs"));
    digest = fnv(digest, include_bytes!("resume.rs"));
    digest = fnv(digest, include_bytes!("../committed.rs"));
    digest = fnv(digest, include_bytes!("../fsm/row/job.rs"));
    fnv(digest, include_bytes!("../pack.rs"))
};

impl Resume for Audit<'_> {
    fn save(&self) -> Vec<u8> {
        self.packed(None)
    }

    fn save_end(&self, state: &State) -> Vec<u8> {
        self.packed(Some(parents(state).collect()))
    }

    fn is_sure(&self) -> bool {
        let unsure = |finding: &Finding| matches!(finding.kind, Kind::UndecodableEntry | Kind::UnknownType);
        self.undecodable == 0 && !self.findings.list.iter().any(unsure)
    }

    fn load(&mut self, bytes: &[u8]) -> bool {
        self.unpack(&mut Unpacker::new(bytes), false).is_ok()
    }

    fn load_end(&mut self, bytes: &[u8]) -> bool {
        self.unpack(&mut Unpacker::new(bytes), true).is_ok()
    }
}

impl Audit<'_> {
    /// What it knows; `parents` are those there are at the end, where it is one.
    fn packed(&self, parents: Option<Vec<JobKey>>) -> Vec<u8> {
        // That nothing is forgotten, the compiler checks.
        let Audit {
            detectors,
            findings,
            names: _,
            term,
            first_term,
            term_start,
            entries,
            last,
            proven,
            known: _,
            undecodable,
            rejected,
            parents: _,
        } = self;
        let mut out = Packer::default();
        SHAPE.pack(&mut out);
        detectors.iter().for_each(|detector| detector.save(&mut out));
        // Senders are looked up anew.
        let Findings { list, leader_change, senders: _ } = findings;
        list.pack(&mut out);
        leader_change.pack(&mut out);
        ((*term, *first_term), (*last, *proven)).pack(&mut out);
        term_start.pack(&mut out);
        (*entries, *undecodable, *rejected).pack(&mut out);
        parents.pack(&mut out);
        out.into_bytes()
    }

    fn unpack(&mut self, from: &mut Unpacker<'_>, with_end: bool) -> Result<(), BadImage> {
        if from.number()? != SHAPE {
            return Err(from.bad());
        }
        let mut detectors = detectors();
        detectors.iter_mut().try_for_each(|detector| detector.load(from))?;
        let (list, leader_change) = (Pack::unpack(from)?, Pack::unpack(from)?);
        let ((term, first_term), (last, proven)) = Pack::unpack(from)?;
        let term_start = Pack::unpack(from)?;
        let (entries, undecodable, rejected) = Pack::unpack(from)?;
        let parents = Option::unpack(from)?;
        if !from.is_at_end() || with_end && parents.is_none() {
            return Err(from.bad());
        }
        self.parents = parents.filter(|_| with_end);
        self.detectors = detectors;
        (self.findings.list, self.findings.leader_change) = (list, leader_change);
        (self.term, self.first_term, self.last, self.proven) = (term, first_term, last, proven);
        self.term_start = term_start;
        (self.entries, self.undecodable, self.rejected) = (entries, undecodable, rejected);
        Ok(())
    }
}

pack! {
    LeaderChange { index, term }
    Place { index, term, entry }
}

pack_named! {
    Kind from Kind::ALL,
    Severity from [Severity::Note, Severity::Warning, Severity::Error],
    Rule from Rule::ALL,
}

/// The names of counters, of parents and of groups.
const COUNTERS: [&str; 5] = ["Pending", "Running", "Dead", "Starting", "Unknown"];

impl Pack for Until {
    fn pack(&self, out: &mut Packer) {
        match self {
            Until::Never => None::<Index>.pack(out),
            Until::Index(index) => Some(*index).pack(out),
        }
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self, BadImage> {
        Ok(Option::unpack(from)?.map_or(Until::Never, Until::Index))
    }
}

impl Pack for Cause {
    fn pack(&self, out: &mut Packer) {
        let Cause { rule, at, namespace, job, status, by, detail, proof } = self;
        rule.pack(out);
        at.pack(out);
        namespace.pack(out);
        job.pack(out);
        status.pack(out);
        by.pack(out);
        detail.pack(out);
        // Proofs are made when the replay is over.
        let _: &Option<Proof> = proof;
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self, BadImage> {
        Ok(Cause {
            rule: Pack::unpack(from)?,
            at: Pack::unpack(from)?,
            namespace: Pack::unpack(from)?,
            job: Pack::unpack(from)?,
            status: Pack::unpack(from)?,
            by: Pack::unpack(from)?,
            detail: Pack::unpack(from)?,
            proof: None,
        })
    }
}

impl Pack for Finding {
    fn pack(&self, out: &mut Packer) {
        let Finding {
            kind,
            severity,
            namespace,
            parent,
            job,
            group,
            counter,
            value,
            min_value,
            stored,
            recount,
            final_value,
            at,
            until,
            until_entry,
            message_type,
            ignore_flag,
            partial,
            last_index,
            detail,
            committed,
            leader_change,
            cause,
        } = self;
        kind.pack(out);
        severity.pack(out);
        namespace.pack(out);
        parent.pack(out);
        job.pack(out);
        group.pack(out);
        counter.map(Arc::<str>::from).pack(out);
        (*value, *min_value).pack(out);
        (*stored, *recount, *final_value).pack(out);
        at.pack(out);
        until.pack(out);
        until_entry.pack(out);
        message_type.pack(out);
        (*ignore_flag, *partial).pack(out);
        last_index.pack(out);
        detail.pack(out);
        // How sure an entry is, is known when the replay is over.
        let _: &Option<Committed> = committed;
        leader_change.pack(out);
        cause.pack(out);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self, BadImage> {
        let (kind, severity) = Pack::unpack(from)?;
        let (namespace, parent) = Pack::unpack(from)?;
        let (job, group) = Pack::unpack(from)?;
        let counter = match Option::<Arc<str>>::unpack(from)? {
            Some(name) => Some(COUNTERS.into_iter().find(|known| *known == &*name).ok_or(from.bad())?),
            None => None,
        };
        let (value, min_value) = Pack::unpack(from)?;
        let (stored, recount, final_value) = Pack::unpack(from)?;
        let (at, until, until_entry) = Pack::unpack(from)?;
        let message_type = Pack::unpack(from)?;
        let (ignore_flag, partial) = Pack::unpack(from)?;
        let (last_index, detail) = Pack::unpack(from)?;
        let (leader_change, cause) = Pack::unpack(from)?;
        Ok(Finding {
            kind,
            severity,
            namespace,
            parent,
            job,
            group,
            counter,
            value,
            min_value,
            stored,
            recount,
            final_value,
            at,
            until,
            until_entry,
            message_type,
            ignore_flag,
            partial,
            last_index,
            detail,
            committed: None,
            leader_change,
            cause,
        })
    }
}
