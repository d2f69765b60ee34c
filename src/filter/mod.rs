//! `--filter KEY=VALUE`: which rows are printed (contract.md 1). It never limits the replay.
//!
//! A row is known by its [`Facts`], of which an entry can carry several of a kind. The rules are:
//!
//! - Conditions on different keys must all hold; of several `KEY=` for one key, one must.
//! - `KEY=VALUE` holds where any fact of that key has the value. `parent`, `job`, `namespace` and
//!   `status` together must hold for one and the same job: a plan that touches `a` in one
//!   namespace and `b` in another does not match `a` in the other's.
//! - `KEY!=VALUE` holds where no fact of that key has the value, so also where there is none.
//!   Several of them must all hold.

use std::borrow::Cow;

use crate::entry::message_type::MessageTypes;
use crate::evidence::LogType;
use crate::types::{Index, Term};

pub mod carried;
mod parse;
mod pattern;
mod strangers;

pub use parse::FilterError;
use pattern::{IndexTest, Pattern, TypeSet};

/// What wrote a row: the `type` of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryType {
    /// A command of that message type, without the ignore flag.
    Command(u8),
    /// An entry of raft's own, or a command without a byte.
    Raft(LogType),
    /// The base snapshot.
    Snapshot,
}

/// What a row says of one job. A field is `None` where the row does not know it; empty text is a
/// value, as in the status of a new child.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobFact<'a> {
    /// The job's namespace; an empty one counts as `default`.
    pub namespace: Option<Cow<'a, str>>,
    /// The job's ID.
    pub job: Option<Cow<'a, str>>,
    /// The job's ParentID; empty for a job without a parent.
    pub parent: Option<Cow<'a, str>>,
    /// The job status that the entry carries, or that the row tells.
    pub status: Option<Cow<'a, str>>,
}

/// What a filter can look at in one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts<'a> {
    /// The index of the entry that the row belongs to.
    pub index: Index,
    /// The term of that entry.
    pub term: Term,
    /// What that entry is.
    pub kind: EntryType,
    /// The jobs that the row names.
    pub jobs: Vec<JobFact<'a>>,
    /// The IDs of evaluations that it names.
    pub evals: Vec<Cow<'a, str>>,
    /// The IDs of allocations that it names.
    pub allocs: Vec<Cow<'a, str>>,
    /// The IDs of nodes that it names.
    pub nodes: Vec<Cow<'a, str>>,
    /// The IDs of deployments that it names.
    pub deployments: Vec<Cow<'a, str>>,
}

impl<'a> Facts<'a> {
    /// The facts that need no body.
    pub fn of(index: Index, term: Term, kind: EntryType) -> Self {
        Facts {
            index,
            term,
            kind,
            jobs: Vec::new(),
            evals: Vec::new(),
            allocs: Vec::new(),
            nodes: Vec::new(),
            deployments: Vec::new(),
        }
    }

    /// Adds a job, unless just that was the last one added.
    pub fn add_job(&mut self, job: JobFact<'a>) {
        if self.jobs.last() != Some(&job) {
            self.jobs.push(job);
        }
    }
}

/// A key of which a row can have several values, all text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextKey {
    Parent,
    Job,
    Namespace,
    Status,
    Eval,
    Alloc,
    Node,
    Deployment,
}

impl TextKey {
    /// The value that a job has for the key, for the keys that describe jobs.
    fn of_job<'f>(self, job: &'f JobFact<'_>) -> Option<&'f str> {
        match self {
            TextKey::Parent => job.parent.as_deref(),
            TextKey::Job => job.job.as_deref(),
            TextKey::Namespace => job.namespace.as_deref().map(|n| if n.is_empty() { "default" } else { n }),
            TextKey::Status => job.status.as_deref(),
            TextKey::Eval | TextKey::Alloc | TextKey::Node | TextKey::Deployment => None,
        }
    }

    /// The values that a row has for the key, for the keys that do not describe jobs.
    fn of_row<'f, 'a>(self, facts: &'f Facts<'a>) -> &'f [Cow<'a, str>] {
        match self {
            TextKey::Eval => &facts.evals,
            TextKey::Alloc => &facts.allocs,
            TextKey::Node => &facts.nodes,
            TextKey::Deployment => &facts.deployments,
            TextKey::Parent | TextKey::Job | TextKey::Namespace | TextKey::Status => &[],
        }
    }

    fn describes_job(self) -> bool {
        matches!(self, TextKey::Parent | TextKey::Job | TextKey::Namespace | TextKey::Status)
    }
}

/// All conditions of one key and one sign.
#[derive(Clone, Debug)]
struct TextTest {
    key: TextKey,
    negated: bool,
    patterns: Vec<Pattern>,
    /// The jobs and parents among the patterns that are wanted by their full names.
    names: Vec<strangers::Asked>,
}

impl TextTest {
    fn any(&self, value: &str) -> bool {
        self.patterns.iter().any(|p| p.matches(value))
    }

    fn found_in(&self, facts: &Facts<'_>) -> bool {
        self.key.of_row(facts).iter().any(|v| self.any(v))
            || facts.jobs.iter().filter_map(|j| self.key.of_job(j)).any(|v| self.any(v))
    }
}

/// Everything that `--filter` asked for; the default lets every row through.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    texts: Vec<TextTest>,
    types: Option<TypeSet>,
    not_types: TypeSet,
    terms: Vec<u64>,
    not_terms: Vec<u64>,
    indexes: Vec<IndexTest>,
    not_indexes: Vec<IndexTest>,
}

impl Filter {
    /// The filter of all `KEY=VALUE` and `KEY!=VALUE` arguments; `types` knows the names of types.
    ///
    /// # Errors
    /// When a key, a type, a number or a range is not one; the text says what to type instead.
    pub fn parse<'s>(arguments: impl IntoIterator<Item = &'s str>, types: &MessageTypes) -> Result<Self, FilterError> {
        parse::filter(arguments, types)
    }

    /// True when every row passes.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
            && self.types.is_none()
            && self.not_types.is_empty()
            && self.terms.is_empty()
            && self.not_terms.is_empty()
            && self.indexes.is_empty()
            && self.not_indexes.is_empty()
    }

    /// True when index, term and type do not decide alone: the row's other facts are looked at.
    pub fn needs_body(&self) -> bool {
        !self.texts.is_empty()
    }

    /// True when the type of the entry is asked for.
    pub fn needs_type(&self) -> bool {
        self.types.is_some() || !self.not_types.is_empty()
    }

    /// The first and the last index that can match, given those of the log.
    pub fn index_bounds(&self, first: Index, last: Index) -> (Index, Index) {
        let ends = self.indexes.iter().map(|t| t.ends(last));
        let (mut from, mut to) = (u64::MAX, 0);
        for (a, b) in ends {
            (from, to) = (from.min(a), to.max(b));
        }
        if self.indexes.is_empty() { (first, last) } else { (first.max(Index(from)), last.min(Index(to))) }
    }

    /// The check that needs no body: false where no row of this entry can match. `last` is the
    /// last index of the log, from which `~N` counts.
    pub fn may_match(&self, index: Index, term: Term, kind: EntryType, last: Index) -> bool {
        let at = |tests: &[IndexTest]| tests.iter().any(|t| t.holds(index, last));
        (self.indexes.is_empty() || at(&self.indexes))
            && !at(&self.not_indexes)
            && (self.terms.is_empty() || self.terms.contains(&term.0))
            && !self.not_terms.contains(&term.0)
            && self.types.as_ref().is_none_or(|t| t.contains(kind))
            && !self.not_types.contains(kind)
    }

    /// True when a row with these facts is to be printed.
    pub fn matches(&self, facts: &Facts<'_>, last: Index) -> bool {
        if !self.may_match(facts.index, facts.term, facts.kind, last) {
            return false;
        }
        facts.jobs.iter().for_each(|job| self.meet(job));
        let mut of_one_job = false;
        for test in &self.texts {
            if test.negated {
                if test.found_in(facts) {
                    return false;
                }
            } else if test.key.describes_job() {
                of_one_job = true;
            } else if !test.found_in(facts) {
                return false;
            }
        }
        !of_one_job || facts.jobs.iter().any(|job| self.fits_job(job))
    }

    /// Hears of a job that there is, whether a row tells of it or not.
    pub fn meet(&self, job: &JobFact<'_>) {
        for test in self.texts.iter().filter(|test| !test.names.is_empty()) {
            if let Some(name) = test.key.of_job(job) {
                test.names.iter().for_each(|asked| asked.meet(name));
            }
        }
    }

    /// The names of jobs and parents that were asked for and that no row so far had: the condition, and what comes
    /// nearest to it.
    pub fn strangers(&self) -> Vec<(String, Option<String>)> {
        let key = |test: &TextTest| if test.key == TextKey::Parent { "parent" } else { "job" };
        let of = |test: &TextTest| {
            let strangers = test.names.iter().filter_map(strangers::Asked::stranger);
            strangers.map(|(name, nearest)| (format!("{}={name}", key(test)), nearest)).collect::<Vec<_>>()
        };
        self.texts.iter().flat_map(of).collect()
    }

    /// True when one job has all the values that are asked for.
    fn fits_job(&self, job: &JobFact<'_>) -> bool {
        let mut of_job = self.texts.iter().filter(|t| !t.negated && t.key.describes_job());
        of_job.all(|test| test.key.of_job(job).is_some_and(|v| test.any(v)))
    }
}

#[cfg(test)]
mod tests;
