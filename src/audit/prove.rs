//! Tests causes: the log is replayed once more with the guilty entry altered as its rule suggests, and the counter looked
//! at where the finding stands (contract.md 3, `cause.proof`).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::cause::unexplained;
use super::children::{is_child_of, slot};
use super::finding::{Cause, Counter, Finding, Kind, Proof, Rule};
use crate::error::Error;
use crate::evidence::Log;
use crate::fsm::Fsm;
use crate::fsm::state::State;
use crate::replay::{Replayed, Subscriber, replay};
use crate::types::{Index, JobKey, Term};
use crate::whatif::{Altered, Expression};

/// A replay at its base: the machine, and the index and term that it stands at.
pub type Start = (Fsm, (Index, Term));

/// What is to be altered to take a cause away.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Alteration {
    /// The entry does not happen.
    Skip(Index),
    /// The entry carries something else.
    Patch(Index, String),
}

impl Alteration {
    /// The alteration that a cause's rule suggests; `None` for a cause without an entry.
    fn of(finding: &Finding, cause: &Cause) -> Option<Self> {
        let index = cause.at.index;
        Some(match cause.rule {
            Rule::RegisterWithStatus => Alteration::Patch(index, ".Job.Status = \"\"".into()),
            Rule::DoublePending => Alteration::Patch(index, ".Eval = null".into()),
            Rule::LostParent => {
                let parent = serde_json::to_string(finding.parent.as_deref()?).ok()?;
                Alteration::Patch(index, format!(".Job.ParentID = {parent}"))
            }
            Rule::ParentRecreated
            | Rule::StatusWithoutCount
            | Rule::ChildReregistered
            | Rule::ReconcileMergedNamespaces => Alteration::Skip(index),
            Rule::Base | Rule::Unexplained => return None,
        })
    }

    fn apply<L: Log>(&self, log: &mut Altered<L>) -> Result<(), Error> {
        match self {
            Alteration::Skip(index) => log.skip(*index)?,
            Alteration::Patch(index, code) => {
                let expression = Expression::compile(code, |_| {});
                log.patch(*index, &expression.map_err(|error| Error::Internal(error.to_string()))?)?;
            }
        }
        Ok(())
    }

    fn told(&self) -> String {
        match self {
            Alteration::Skip(index) => format!("skip {index}"),
            Alteration::Patch(index, code) => format!("patch {index}: {code}"),
        }
    }
}

/// A counter to be looked at after an entry.
struct Question {
    /// The finding's place in the list.
    finding: usize,
    parent: JobKey,
    counter: Counter,
    negative: bool,
}

/// Findings whose causes can be taken away in one replay, since no two of them concern one parent.
#[derive(Default)]
struct Round {
    alterations: BTreeSet<Alteration>,
    parents: HashMap<JobKey, Alteration>,
    questions: BTreeMap<Index, Vec<Question>>,
}

/// Gives each cause that can be tested its proof. One that does not survive becomes `unexplained`. `findings` are those
/// of `log`. `rebased` has the snapshots that the replay went on from, in order of index: `start` makes a replay at one of
/// them, or at the base.
///
/// # Errors
/// When the log cannot be read, or an entry cannot be altered.
pub fn prove<'f>(
    log: &dyn Log,
    rebased: &[Index],
    mut start: impl FnMut(Option<Index>) -> Result<Start, Error>,
    findings: impl IntoIterator<Item = &'f mut Finding>,
) -> Result<(), Error> {
    let mut findings: Vec<&mut Finding> = findings.into_iter().collect();
    for (from, round) in rounds(&findings, rebased) {
        let mut altered = Altered::new(log);
        round.alterations.iter().try_for_each(|alteration| alteration.apply(&mut altered))?;
        let last = round.questions.keys().next_back().copied().unwrap_or_default();
        let mut answers = Answers { questions: round.questions, right: HashSet::new(), asked: HashSet::new() };
        let (mut fsm, base) = start(from)?;
        replay(&altered, &mut fsm, base, last, &mut (), &mut [&mut answers])?;
        for place in answers.asked {
            let Some(finding) = findings.get_mut(place) else { continue };
            conclude(finding, answers.right.contains(&place));
        }
    }
    Ok(())
}

/// All causes of one rule in as few replays as it takes that no parent has two of them in one; each with the snapshot
/// that it starts from, where a replay from the base would lead elsewhere.
fn rounds(findings: &[&mut Finding], rebased: &[Index]) -> Vec<(Option<Index>, Round)> {
    let mut by_rule: BTreeMap<(Rule, Option<Index>), Vec<Round>> = BTreeMap::new();
    for (place, finding) in findings.iter().enumerate() {
        let Some((parent, counter)) = subject(finding) else { continue };
        let Some(cause) = &finding.cause else { continue };
        let Some(alteration) = Alteration::of(finding, cause) else { continue };
        let from = rebased.iter().rfind(|index| **index < cause.at.index).copied();
        let rounds = by_rule.entry((cause.rule, from)).or_default();
        let fits = |round: &Round| round.parents.get(&parent).is_none_or(|known| *known == alteration);
        let at = rounds.iter().position(fits).unwrap_or(rounds.len());
        if at == rounds.len() {
            rounds.push(Round::default());
        }
        let Some(round) = rounds.get_mut(at) else { continue };
        round.parents.insert(parent.clone(), alteration.clone());
        round.alterations.insert(alteration);
        let question = Question { finding: place, parent, counter, negative: finding.kind == Kind::Negative };
        round.questions.entry(finding.at.index).or_default().push(question);
    }
    by_rule.into_iter().flat_map(|((_, from), rounds)| rounds.into_iter().map(move |round| (from, round))).collect()
}

/// The parent and the counter of a finding about one.
fn subject(finding: &Finding) -> Option<(JobKey, Counter)> {
    if !matches!(finding.kind, Kind::Negative | Kind::Drift) {
        return None;
    }
    let parent = JobKey::new(finding.namespace.clone()?, finding.parent.clone()?);
    let counter = Counter::ALL.into_iter().find(|counter| Some(counter.name()) == finding.counter)?;
    Some((parent, counter))
}

fn conclude(finding: &mut Finding, gone: bool) {
    let Some(cause) = &finding.cause else { return };
    let Some(altered) = Alteration::of(finding, cause).map(|alteration| alteration.told()) else { return };
    if gone {
        if let Some(cause) = &mut finding.cause {
            cause.proof = Some(Proof { altered, symptom: "gone" });
        }
        return;
    }
    let (rule, index) = (cause.rule.name(), cause.at.index);
    let mut refuted = unexplained(&finding.at);
    refuted.detail = format!(
        "None of the known mechanisms explains it: {rule} at entry {index} was tested, and with \"{altered}\" the \
         count stays wrong."
    );
    finding.cause = Some(refuted);
}

/// Looks at counters along an altered replay.
struct Answers {
    questions: BTreeMap<Index, Vec<Question>>,
    /// Findings whose counter is right.
    right: HashSet<usize>,
    /// Findings that the replay came to.
    asked: HashSet<usize>,
}

impl Subscriber for Answers {
    fn entry(&mut self, entry: Replayed<'_>) {
        for question in self.questions.remove(&entry.record.index).unwrap_or_default() {
            self.asked.insert(question.finding);
            if is_right(&question, entry.state) {
                self.right.insert(question.finding);
            }
        }
    }
}

fn is_right(question: &Question, state: &State) -> bool {
    let Some(children) = state.summary(&question.parent).and_then(|summary| summary.children) else { return true };
    let stored = match question.counter {
        Counter::Pending => children.pending,
        Counter::Running => children.running,
        Counter::Dead => children.dead,
    };
    if question.negative {
        return stored >= 0;
    }
    let counted = state.children(&question.parent).filter(|job| is_child_of(job, &question.parent));
    let counted = counted.filter(|job| slot(job.status.as_str()) == Some(question.counter as usize)).count() as i64;
    match question.counter {
        // Purged children stay counted as dead.
        Counter::Dead => stored >= counted,
        _ => stored == counted,
    }
}
