//! `--rules auto`: of the Nomad versions that the evidence allows, the newest (contract.md 1).
//!
//! The keys of the newest register tell which releases can have written it. A snapshot inside the
//! log tells more where only some of them reproduce it: the log's meaning depends on who reads it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;

use crate::base::Holdings;
use crate::entry::message_type::known_type;
use crate::entry::writer::{self, Writer};
use crate::entry::{msgpack, split};
use crate::evidence::{Evidence, EvidenceError, LogType, Scanned};
use crate::fsm::compare::differences;
use crate::fsm::rules::{Rules, Version};
use crate::notes::Level;
use crate::replay::{Replayed, Subscriber, replay};
use crate::start::{self, Later};
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
    /// The newest versions of other rules that the evidence allows and that answer differently.
    pub also_possible: Vec<Version>,
}

/// Chooses the rules by the evidence. `alternatives` says whether others that answer differently
/// are wanted too, which takes more replays; large logs are not replayed for that.
///
/// # Errors
/// When the log cannot be read at all.
pub fn choose(evidence: &Evidence, held: &Holdings, alternatives: bool) -> Result<Chosen, EvidenceError> {
    let range = writer(evidence)?;
    let mut candidates = candidates(range);
    let mut from = if range.is_some() { RulesFrom::Writer } else { RulesFrom::Default };
    if let Some(agreeing) = agreeing(evidence, held, &candidates)? {
        if agreeing.len() < candidates.len() {
            from = RulesFrom::Snapshot;
        }
        candidates = agreeing;
    }
    let Some((newest, others)) = candidates.split_first() else {
        return Ok(Chosen {
            rules: Rules::for_version(Version::NEWEST),
            from: RulesFrom::Default,
            also_possible: Vec::new(),
        });
    };
    let mut chosen = Chosen { rules: Rules::for_version(*newest), from, also_possible: Vec::new() };
    let entries = held.bounds.map_or(0, |(first, last)| last.0 - first.0);
    if alternatives && entries <= SMALL && range.is_some() {
        let answer = answers(evidence, held, *newest)?;
        for other in others {
            if answers(evidence, held, *other)? != answer {
                chosen.also_possible.push(*other);
            }
        }
    }
    Ok(chosen)
}

/// The releases that can have written the newest register: the oldest one, and the first that
/// cannot. `None` where no register is near the end of the log.
type Range = Option<(Version, Option<Version>)>;

fn writer(evidence: &Evidence) -> Result<Range, EvidenceError> {
    let Some((first, last)) = evidence.log.bounds() else { return Ok(None) };
    let from = first.max(Index(last.0.saturating_sub(LOOKED_AT)));
    let mut newest: Option<Writer> = None;
    let mut least = Version::OLDEST;
    evidence.log.scan(from..=last, &mut |scanned| {
        if let Scanned::Entry(record) = scanned
            && record.kind == LogType::Command
            && let Some(command) = split(record.data)
        {
            let since = known_type(command.kind).and_then(|known| known.since.parse().ok());
            least = least.max(since.unwrap_or(Version::OLDEST));
            let register = if command.kind == 4 { of_register(command.body) } else { None };
            newest = register.or(newest);
        }
        ControlFlow::Continue(())
    })?;
    Ok(newest.map(|writer| {
        let version = |text: Option<&str>| text.and_then(|text| text.parse::<Version>().ok());
        let at_least = version(writer.at_least).unwrap_or(Version::OLDEST).max(least);
        (at_least, version(writer.before).filter(|before| *before > at_least))
    }))
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

/// The candidates that reproduce the first snapshot above the base; `None` where there is none to
/// reproduce, or none does.
fn agreeing(
    evidence: &Evidence,
    held: &Holdings,
    candidates: &[Version],
) -> Result<Option<Vec<Version>>, EvidenceError> {
    let Some(base) = held.oldest() else { return Ok(None) };
    let Some(snapshot) = held.snapshots.iter().copied().find(|index| *index > base.index()) else { return Ok(None) };
    if candidates.len() < 2 {
        return Ok(None);
    }
    let mut found = Vec::new();
    for version in candidates {
        let rules = Rules::for_version(*version);
        let mut start = start::at(evidence, base, &rules, Unsaid)?;
        let reached = replay(&*evidence.log, &mut start.fsm, (start.index, start.term), snapshot, &mut (), &mut [])?;
        let kept = start::at(evidence, crate::base::Base::Snapshot(snapshot), &rules, Unsaid)?;
        if reached.index == snapshot && differences(start.fsm.state(), kept.fsm.state()).is_empty() {
            found.push(*version);
        }
    }
    Ok((!found.is_empty()).then_some(found))
}

/// A digest of every row of the timeline under a version's rules.
fn answers(evidence: &Evidence, held: &Holdings, version: Version) -> Result<u64, EvidenceError> {
    let Some(base) = held.oldest() else { return Ok(0) };
    let rules = Rules::for_version(version);
    let mut start = start::at(evidence, base, &rules, Unsaid)?;
    let mut digest = Digest(DefaultHasher::new());
    let mut later = Later::than(start.index, evidence, &rules);
    let last = held.last().unwrap_or_default();
    replay(&*evidence.log, &mut start.fsm, (start.index, start.term), last, &mut later, &mut [&mut digest])?;
    Ok(digest.0.finish())
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
