//! `--rules auto`: of the Nomad versions that the evidence allows, the newest (contract.md 1).
//!
//! The keys of the newest register tell which releases can have written it. A snapshot inside the
//! log tells more where only some of them reproduce it: the log's meaning depends on who reads it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;

use crate::base::{Base, Holdings};
use crate::entry::body::restart;
use crate::entry::message_type::MessageTypes;
use crate::entry::writer::{self, Writer};
use crate::entry::{msgpack, split};
use crate::evidence::{Evidence, EvidenceError, LogType, Scanned};
use crate::fsm::compare::differences;
use crate::fsm::rules::{Rules, Version};
use crate::notes::Level;
use crate::replay::{Replayed, Subscriber, replay};
use crate::start::{self, Later, Start};
use crate::timeline::changed_jobs;
use crate::types::Index;

/// So many entries at the log's end are looked at for the writer, and for the types it knows.
const LOOKED_AT: u64 = 4096;

/// Logs of more entries are not replayed more than once to learn which rules answer alike.
const SMALL: u64 = 5000;

/// The last release of each line, from 0.8 on. Later ones change no rules.
const LINES: &[Version] = &[
    Version::new(0, 8, 7),
    Version::new(0, 9, 7),
    Version::new(0, 10, 9),
    Version::new(0, 11, 8),
    Version::new(0, 12, 12),
    Version::new(1, 0, 18),
    Version::new(1, 1, 18),
    Version::new(1, 2, 16),
    Version::new(1, 3, 16),
    Version::new(1, 4, 14),
    Version::new(1, 5, 17),
    Version::new(1, 6, 10),
    Version::new(1, 7, 7),
    Version::new(1, 8, 4),
    Version::new(1, 9, 7),
    Version::new(1, 10, 5),
    Version::new(1, 11, 3),
    Version::new(2, 0, 5),
];

/// What decided on the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RulesFrom {
    /// They were asked for.
    Flag,
    /// A snapshot inside the log, which not all candidates reproduce.
    Snapshot,
    /// The keys of the newest register.
    Writer,
    /// Nothing in the evidence: the newest version that is known.
    Default,
}

impl RulesFrom {
    /// Its name in output (contract.md 3, `rules_from`).
    pub fn name(self) -> &'static str {
        match self {
            RulesFrom::Flag => "flag",
            RulesFrom::Snapshot => "snapshot",
            RulesFrom::Writer => "writer",
            RulesFrom::Default => "default",
        }
    }
}

/// The rules in force, and why.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The rules.
    pub rules: Rules,
    /// What decided.
    pub from: RulesFrom,
    /// The newest versions of other rules that the evidence allows, newest first.
    pub allowed: Vec<Version>,
    /// Those of them that answer differently; `None` where that was not asked, or would take too long to learn.
    pub also_possible: Option<Vec<Version>>,
}

/// Chooses the rules by the evidence. `types` names message types: a number that is of another table tells nothing.
/// `alternatives` says whether others that answer differently are wanted too, which takes more replays; large logs are
/// not replayed for that.
///
/// # Errors
/// When the log cannot be read at all.
pub fn choose(
    evidence: &Evidence,
    held: &Holdings,
    types: &MessageTypes,
    alternatives: bool,
) -> Result<Chosen, EvidenceError> {
    let (oldest, range) = writer(evidence, types)?;
    let mut candidates = candidates(range);
    let mut from = if range.is_some() { RulesFrom::Writer } else { RulesFrom::Default };
    let trial = Trial { evidence, held, restart_type: types.lookup(restart::NAME) };
    let small = held.bounds.is_none_or(|(first, last)| last.0 - first.0 <= SMALL);
    if let Some(snapshot) = held.oldest().and_then(|base| held.snapshots.iter().find(|index| **index > base.index())) {
        let all = self::candidates(Some((oldest, None)));
        let mut agreeing = trial.agreeing(*snapshot, &candidates)?;
        if agreeing.is_empty() && small {
            // The server that took it may not have been of the version that wrote the last register.
            candidates = all;
            agreeing = trial.agreeing(*snapshot, &candidates)?;
        }
        if agreeing.is_empty() {
            candidates = self::candidates(range);
        } else {
            from = if agreeing.len() < candidates.len() { RulesFrom::Snapshot } else { from };
            candidates = agreeing;
        }
    }
    let Some((newest, others)) = candidates.split_first() else {
        return Ok(Chosen {
            rules: Rules::for_version(Version::NEWEST),
            from: RulesFrom::Default,
            allowed: Vec::new(),
            also_possible: None,
        });
    };
    let also_possible = match alternatives && small {
        true => Some(trial.answering_differently(*newest, others)?),
        false => None,
    };
    Ok(Chosen { rules: Rules::for_version(*newest), from, allowed: others.to_vec(), also_possible })
}

/// The releases that can have written the newest register: the oldest one, and the first that
/// cannot. `None` where no register is near the end of the log.
type Range = Option<(Version, Option<Version>)>;

/// The oldest release that knows every type at the end of the log, and those that can have written the newest register.
fn writer(evidence: &Evidence, types: &MessageTypes) -> Result<(Version, Range), EvidenceError> {
    let Some((first, last)) = evidence.log.bounds() else { return Ok((Version::OLDEST, None)) };
    let from = first.max(Index(last.0.saturating_sub(LOOKED_AT)));
    let mut newest: Option<Writer> = None;
    let mut least = Version::OLDEST;
    evidence.log.scan(from..=last, &mut |scanned| {
        if let Scanned::Entry(record) = scanned
            && record.kind == LogType::Command
            && let Some(command) = split(record.data)
        {
            let since = types.since(command.kind);
            least = least.max(since.and_then(|since| since.parse().ok()).unwrap_or(Version::OLDEST));
            let register = if command.kind == 4 { of_register(command.body) } else { None };
            newest = register.or(newest);
        }
        ControlFlow::Continue(())
    })?;
    let range = newest.map(|writer| {
        let version = |text: Option<&str>| text.and_then(|text| text.parse::<Version>().ok());
        let at_least = version(writer.at_least).unwrap_or(Version::OLDEST).max(least);
        (at_least, version(writer.before).filter(|before| *before > at_least))
    });
    Ok((least, range))
}

fn of_register(body: &[u8]) -> Option<Writer> {
    let decoded: msgpack::Result<Option<Writer>> = writer::of_register(body);
    decoded.ok().flatten()
}

/// The newest version of each set of rules within the range, newest first.
fn candidates(range: Range) -> Vec<Version> {
    let Some((at_least, before)) = range else { return vec![Version::NEWEST] };
    let within = |v: &Version| *v >= at_least && before.is_none_or(|before| *v < before);
    let releases = LINES.iter().flat_map(|line| (0..=line.patch).map(|patch| Version { patch, ..*line }));
    let mut found: Vec<(Version, Rules)> = Vec::new();
    for version in releases.filter(within) {
        let mut rules = Rules::for_version(version);
        rules.version = Version::NEWEST;
        match found.last_mut() {
            Some((last, same)) if *same == rules => *last = version,
            _ => found.push((version, rules)),
        }
    }
    found.into_iter().rev().map(|(version, _)| version).collect()
}

/// Replays to learn what rules make of the evidence.
struct Trial<'e> {
    evidence: &'e Evidence,
    held: &'e Holdings,
    restart_type: Option<u8>,
}

impl Trial<'_> {
    /// The candidates that reproduce the snapshot at that index, which is above the base.
    fn agreeing(&self, snapshot: Index, candidates: &[Version]) -> Result<Vec<Version>, EvidenceError> {
        let Some(base) = self.held.oldest() else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for version in candidates {
            let rules = Rules::for_version(*version);
            let mut start = self.start(base, &rules)?;
            let at = (start.index, start.term);
            let reached = replay(&*self.evidence.log, &mut start.fsm, at, snapshot, &mut (), &mut [])?;
            let kept = self.start(Base::Snapshot(snapshot), &rules)?;
            if reached.index == snapshot && differences(start.fsm.state(), kept.fsm.state()).is_empty() {
                found.push(*version);
            }
        }
        Ok(found)
    }

    /// Those of the others that do not answer as `version` does.
    fn answering_differently(&self, version: Version, others: &[Version]) -> Result<Vec<Version>, EvidenceError> {
        let mut found = Vec::new();
        if !others.is_empty() {
            let answer = self.answers(version)?;
            for other in others {
                if self.answers(*other)? != answer {
                    found.push(*other);
                }
            }
        }
        Ok(found)
    }

    /// A digest of every row of the timeline under a version's rules.
    fn answers(&self, version: Version) -> Result<u64, EvidenceError> {
        let Some(base) = self.held.oldest() else { return Ok(0) };
        let rules = Rules::for_version(version);
        let mut start = self.start(base, &rules)?;
        let mut digest = Digest(DefaultHasher::new());
        let mut later = Later::than(start.index, self.evidence, &rules);
        let (at, last) = ((start.index, start.term), self.held.last().unwrap_or_default());
        replay(&*self.evidence.log, &mut start.fsm, at, last, &mut later, &mut [&mut digest])?;
        Ok(digest.0.finish())
    }

    fn start(&self, base: Base, rules: &Rules) -> Result<Start, EvidenceError> {
        let mut start = start::at(self.evidence, base, rules, Unsaid)?;
        start.fsm.name_restarts(self.restart_type);
        Ok(start)
    }
}

struct Digest(DefaultHasher);

impl Subscriber for Digest {
    fn entry(&mut self, entry: Replayed<'_>) {
        for (job, view) in changed_jobs(&entry) {
            entry.record.index.hash(&mut self.0);
            job.hash(&mut self.0);
            format!("{view:?}").hash(&mut self.0);
        }
    }
}

/// Trial replays have nothing to say.
struct Unsaid;

impl crate::notes::Notes for Unsaid {
    fn add(&mut self, _: Level, _: String) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(at_least: &str, before: Option<&str>) -> Range {
        Some((at_least.parse().unwrap(), before.map(|v| v.parse().unwrap())))
    }

    #[test]
    fn the_newest_candidate_is_the_last_release_before_the_first_that_cannot_be() {
        assert_eq!(candidates(range("0.12.1", Some("1.1.3"))).first(), Some(&Version::new(1, 1, 2)));
        assert_eq!(candidates(range("1.11.0", None)).first(), Some(&Version::NEWEST));
        assert_eq!(candidates(range("1.9.0", Some("1.10.0"))).first(), Some(&Version::new(1, 9, 7)));
    }

    #[test]
    fn each_set_of_rules_stands_once() {
        let found = candidates(range("1.0.0", Some("1.1.3")));
        assert_eq!(found, [Version::new(1, 1, 2), Version::new(1, 0, 18), Version::new(1, 0, 3)]);
    }

    #[test]
    fn without_a_register_the_newest_is_taken() {
        assert_eq!(candidates(None), [Version::NEWEST]);
    }
}
