//! Gathers what each index shows while the logs are walked.

use std::sync::Arc;

use super::walk::{Content, Print};
use super::{Difference, DifferenceKind, Given, Group, Shared};
use crate::evidence::LogType;
use crate::types::{Index, Term};

/// More differences than this are counted and not listed.
const MOST_LISTED: usize = 1000;

/// What two servers have in common; the lower number comes first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pair {
    /// Indexes that both hold.
    pub shared: u64,
    /// Commands and configurations above entry 1 that both hold, by index.
    pub telling: u64,
    /// Those of them that are equal.
    pub equal: u64,
    /// Since when they are apart, and the place of that divergence in the list.
    parted: Option<(Index, usize)>,
}

/// The last index at which so many servers hold the same entry.
#[derive(Clone, Debug)]
pub struct Held {
    /// The index.
    pub index: Index,
    /// The term there.
    pub term: Term,
    /// Who holds it.
    pub members: Vec<usize>,
}

/// What the walk has shown so far.
pub struct Tally {
    names: Vec<Arc<str>>,
    last_terms: Vec<Term>,
    applied: Vec<Index>,
    /// Index each server showed last, and where it went on after its last hole.
    seen: Vec<(Option<Index>, Index)>,
    shared_by: Vec<u64>,
    votes: Vec<bool>,
    pairs: Vec<Pair>,
    /// What at least two hold.
    pub shared: Option<Shared>,
    /// The differences, by first index.
    pub differences: Vec<Difference>,
    /// How many more there are.
    pub left_out: u64,
    /// By number of holders: the last index that so many hold.
    pub held: Vec<Option<Held>>,
    /// As `held`, of those that nobody without them can supersede, as far as the given servers go.
    pub safe: Vec<Option<Held>>,
}

impl Tally {
    /// Nothing seen yet. `positions` are the last term and index of each server.
    pub fn new(given: &[Given], positions: &[Option<(Term, Index)>]) -> Self {
        let n = given.len();
        Tally {
            names: given.iter().map(|given| given.name.clone()).collect(),
            last_terms: positions.iter().map(|position| position.map_or(Term(0), |(term, _)| term)).collect(),
            applied: given.iter().map(Given::applied).collect(),
            seen: vec![(None, Index(0)); n],
            shared_by: vec![0; n],
            votes: given.iter().map(Given::shows_what_it_holds).collect(),
            pairs: vec![Pair::default(); n * n],
            shared: None,
            differences: Vec::new(),
            left_out: 0,
            held: vec![None; n + 1],
            safe: vec![None; n + 1],
        }
    }

    /// What two servers have in common; `a` is the lower number.
    pub fn pair(&self, a: usize, b: usize) -> Pair {
        self.pairs.get(a * self.names.len() + b).copied().unwrap_or_default()
    }

    /// How many indexes of a server another has too.
    pub fn shared_by(&self, n: usize) -> u64 {
        self.shared_by.get(n).copied().unwrap_or_default()
    }

    fn pair_mut(&mut self, a: usize, b: usize) -> Option<&mut Pair> {
        self.pairs.get_mut(a * self.names.len() + b)
    }

    /// Takes what each server holds at an index.
    pub fn row(&mut self, index: Index, row: &[Option<Print>]) {
        for (seen, print) in self.seen.iter_mut().zip(row) {
            if print.as_ref().is_some_and(|print| print.content.is_some()) {
                if seen.0.is_some_and(|last| index > last.next()) {
                    seen.1 = index;
                }
                seen.0 = Some(index);
            }
        }
        let there: Vec<(usize, &Print)> = row.iter().enumerate().filter_map(|(n, p)| Some((n, p.as_ref()?))).collect();
        let groups = groups(&there);
        self.hold(index, &groups);
        if there.len() < 2 {
            return;
        }
        let shared = self.shared.get_or_insert(Shared {
            first_index: index,
            last_index: index,
            entries: 0,
            equal: 0,
            on_all: 0,
        });
        for (n, _) in &there {
            if let Some(count) = self.shared_by.get_mut(*n) {
                *count += 1;
            }
        }
        shared.last_index = index;
        shared.entries += 1;
        shared.equal += u64::from(groups.len() == 1);
        shared.on_all += u64::from(there.len() == row.len());
        self.count_pairs(index, &there);
        self.part(index, &there, &groups);
        self.find_corruption(index, &groups);
    }

    fn count_pairs(&mut self, index: Index, there: &[(usize, &Print)]) {
        for (n, (a, left)) in there.iter().enumerate() {
            for (b, right) in there.iter().skip(n + 1) {
                let Some(pair) = self.pair_mut(*a, *b) else { continue };
                pair.shared += 1;
                let (Some(x), Some(y)) = (&left.content, &right.content) else { continue };
                // A new leader's empty entry says nothing about whose it is, and neither does the bootstrap.
                let telling = |c: &Content| c.bytes > 0 && matches!(c.kind, LogType::Command | LogType::Configuration);
                if index > Index(1) && telling(x) && telling(y) {
                    pair.telling += 1;
                    pair.equal += u64::from(left.term == right.term && x.is_same(y));
                }
            }
        }
    }

    /// Notes how many hold the same.
    fn hold(&mut self, index: Index, groups: &[Same<'_>]) {
        for group in groups {
            // A term with two contents is damaged on one side or the other.
            if groups.iter().any(|other| other.term == group.term && other.members != group.members) {
                continue;
            }
            let votes = |n: &&usize| self.votes.get(**n).is_some_and(|votes| *votes);
            let members: Vec<usize> = group.members.iter().filter(votes).copied().collect();
            let count = members.len();
            let held = || Some(Held { index, term: group.term, members: members.clone() });
            let rival = |n: usize| {
                let above = self.last_terms.get(n).is_some_and(|last| *last > group.term);
                !group.members.contains(&n) && above && self.applied.get(n).is_none_or(|applied| *applied < index)
            };
            let safe = !(0..self.names.len()).any(rival);
            if let Some(place) = self.held.get_mut(count) {
                *place = held();
            }
            if let Some(place) = self.safe.get_mut(count).filter(|_| safe) {
                *place = held();
            }
        }
    }

    /// Notes where pairs part, and where they meet again although they must not.
    fn part(&mut self, index: Index, there: &[(usize, &Print)], groups: &[Same<'_>]) {
        let mut parting = Vec::new();
        let mut meeting = Vec::new();
        for (n, (a, left)) in there.iter().enumerate() {
            for (b, right) in there.iter().skip(n + 1) {
                match self.pair(*a, *b).parted {
                    None if left.term != right.term => parting.push((*a, *b)),
                    Some((_, place)) if left.term != right.term => {
                        if let Some(difference) = self.differences.get_mut(place) {
                            difference.last_index = index;
                        }
                    }
                    Some((since, _)) => {
                        // What lies before a hole may be stale and proves nothing (storage.md 7, 2).
                        let resumed = [a, b].iter().any(|n| self.seen.get(**n).is_some_and(|seen| seen.1 > since));
                        if !resumed {
                            meeting.extend([*a, *b]);
                        }
                        if let Some(pair) = self.pair_mut(*a, *b) {
                            pair.parted = None;
                        }
                    }
                    None => {}
                }
            }
        }
        if !parting.is_empty() {
            let terms: Vec<String> = groups.iter().map(|g| format!("term {} on {}", g.term, self.list(g))).collect();
            let detail = format!("they part at index {index}: {}", terms.join("; "));
            let place = self.add(DifferenceKind::Divergence, index, groups, detail);
            for (a, b) in parting {
                if let Some(pair) = self.pair_mut(a, b) {
                    pair.parted = Some((index, place));
                }
            }
        }
        if !meeting.is_empty() {
            let together: Vec<Same<'_>> =
                groups.iter().filter(|g| g.members.iter().any(|m| meeting.contains(m))).cloned().collect();
            let detail = format!(
                "index {index} has the same term again after the logs had parted, which raft rules out: an earlier \
                 entry was altered"
            );
            self.add(DifferenceKind::LogMatching, index, &together, detail);
        }
    }

    /// Notes entries of one term that do not carry the same.
    fn find_corruption(&mut self, index: Index, groups: &[Same<'_>]) {
        let mut told: Vec<Term> = Vec::new();
        for group in groups {
            let same_term: Vec<Same<'_>> = groups.iter().filter(|g| g.term == group.term).cloned().collect();
            if same_term.len() < 2 || told.contains(&group.term) {
                continue;
            }
            told.push(group.term);
            let is_configuration = |same: &Same<'_>| {
                same.content.is_some_and(|c| matches!(c.kind, LogType::Configuration | LogType::AddPeerDeprecated))
            };
            if index == Index(1) && same_term.iter().all(is_configuration) {
                let detail = "entry 1, the bootstrap configuration, is written by each server itself and may differ";
                self.add(DifferenceKind::Bootstrap, index, &same_term, detail.into());
            } else {
                let who: Vec<String> = same_term.iter().map(|g| self.list(g)).collect();
                let detail = format!(
                    "entry {index} of term {} is not the same on {}, which raft rules out: one of them is corrupted",
                    group.term,
                    who.join(" as on ")
                );
                self.add(DifferenceKind::Corruption, index, &same_term, detail);
            }
        }
    }

    fn list(&self, same: &Same<'_>) -> String {
        same.members.iter().filter_map(|n| self.names.get(*n)).map(|name| &**name).collect::<Vec<_>>().join(", ")
    }

    /// Adds a difference; its place in the list, which has no such place once it is full.
    fn add(&mut self, kind: DifferenceKind, index: Index, groups: &[Same<'_>], detail: String) -> usize {
        if self.differences.len() >= MOST_LISTED {
            self.left_out += 1;
            return usize::MAX;
        }
        let groups = groups.iter().map(|same| Group {
            servers: same.members.iter().filter_map(|n| self.names.get(*n).cloned()).collect(),
            members: same.members.clone(),
            term: same.term,
            log_type: same.content.map(|c| c.kind.name()),
            bytes: same.content.filter(|c| c.sha256.is_some()).map(|c| c.bytes),
            sha256: same.content.and_then(|c| c.sha256).map(|sum| sum.iter().map(|b| format!("{b:02x}")).collect()),
            standing: None,
        });
        let groups = groups.collect();
        self.differences.push(Difference { kind, first_index: index, last_index: index, groups, detail });
        self.differences.len() - 1
    }
}

/// Servers that hold the same entry at one index.
#[derive(Clone, Debug)]
struct Same<'p> {
    term: Term,
    content: Option<&'p Content>,
    members: Vec<usize>,
}

/// Puts servers together that hold the same. What tells most of itself comes first, so that an entry of
/// which only the term or type is known joins the first that it can be.
fn groups<'p>(there: &[(usize, &'p Print)]) -> Vec<Same<'p>> {
    let mut ordered = there.to_vec();
    ordered.sort_by_key(|(_, print)| match &print.content {
        Some(content) if content.sha256.is_some() => 0,
        Some(_) => 1,
        None => 2,
    });
    let mut groups: Vec<Same<'p>> = Vec::new();
    for (n, print) in ordered {
        let fits = |same: &&mut Same<'_>| {
            same.term == print.term
                && match (same.content, &print.content) {
                    (Some(a), Some(b)) => a.is_same(b),
                    _ => true,
                }
        };
        match groups.iter_mut().find(fits) {
            Some(same) => same.members.push(n),
            None => groups.push(Same { term: print.term, content: print.content.as_ref(), members: vec![n] }),
        }
    }
    for same in &mut groups {
        same.members.sort_unstable();
    }
    groups.sort_by(|a, b| a.members.cmp(&b.members));
    groups
}
