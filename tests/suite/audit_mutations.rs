//! Histories that the audit has not seen before: healthy ones, of which it says nothing, and such as hold one fault of
//! a known mechanism at a random place, whose entry it names.
//!
//! A quick sample by default; `RAFTSCOPE_EVERY_VERSION=1` replays a thousand healthy ones and a hundred of each
//! mechanism. A failure names the seed.

use std::collections::BTreeMap;

use crate::support::memory::Memory;
use crate::support::synth::history::{Fault, History, Mechanism, Planted, Plot};
use raftscope::audit::Audit;
use raftscope::audit::finding::{Finding, Kind, Rule};
use raftscope::entry::message_type::MessageTypes;
use raftscope::evidence::Log;
use raftscope::fsm::Fsm;
use raftscope::fsm::rules::Rules;
use raftscope::replay::replay;
use raftscope::types::{Index, Term};

/// How many entries a history has.
const LENGTH: usize = 240;

/// `whole` where everything is asked for, else a few.
fn how_many(whole: u64) -> u64 {
    if std::env::var_os("RAFTSCOPE_EVERY_VERSION").is_some() { whole } else { whole / 20 }
}

fn rules(version: &str) -> Rules {
    Rules::for_version(version.parse().unwrap())
}

/// A history of its own for each seed.
fn plot(seed: u64, fault: Option<Mechanism>) -> Plot {
    let parents = [2, 4, 6, 8][(seed % 4) as usize];
    let services = (seed / 4 % 3) as usize;
    // Some place in the first half, so that what follows from it can still show.
    let fault = fault.map(|mechanism| Fault { mechanism, from: 40 + seed * 7919 % 90 });
    Plot { seed, parents, services, fault, varied: true, atomic: true }
}

/// The state behind an entry.
fn state_behind(log: &dyn Log, rules: &Rules, index: Index) -> (Fsm, (Index, Term)) {
    let mut fsm = Fsm::new(rules.clone());
    let reached = replay(log, &mut fsm, (Index(0), Term(0)), index, &mut (), &mut []).unwrap();
    (fsm, (reached.index, reached.term))
}

fn audited(log: &dyn Log, (mut fsm, base): (Fsm, (Index, Term))) -> Vec<Finding> {
    let mut audit = Audit::new(MessageTypes::new());
    replay(log, &mut fsm, base, Index(u64::MAX), &mut (), &mut [&mut audit]).unwrap();
    audit.finish(fsm.state()).findings
}

fn from_the_start(log: &dyn Log, rules: &Rules) -> Vec<Finding> {
    audited(log, (Fsm::new(rules.clone()), (Index(0), Term(0))))
}

fn told(findings: &[Finding]) -> String {
    serde_json::to_string_pretty(findings).unwrap()
}

#[test]
fn of_a_healthy_history_nothing_is_said() {
    let versions = ["1.0.4", "1.9.5", "1.11.2", "2.0.5"];
    for seed in 0..how_many(1_000) {
        let mut plot = plot(seed, None);
        let mut version = versions[(seed % 4) as usize];
        match seed % 10 {
            // Nobody is anybody's namesake: a reconcile harms no one.
            7 => plot.parents = 1,
            // Launches of two entries, which those before 1.0.4 count right too.
            8 => (plot.atomic, version) = (false, "1.0.3"),
            9 => plot.atomic = false,
            _ => {}
        }
        let log = Memory(History::new(plot).take(LENGTH * 2 / 3).collect());
        let found = from_the_start(&log, &rules(version));
        assert!(found.is_empty(), "seed {seed} under {version}: {}", told(&found));
    }
}

/// A history with one fault in it, and the fault.
fn planted(seed: u64, mechanism: Mechanism) -> (Memory, Planted) {
    let plot = Plot { atomic: mechanism != Mechanism::DoublePending, ..plot(seed, Some(mechanism)) };
    let mut history = History::new(plot);
    let log = Memory(history.by_ref().take(LENGTH).collect());
    let planted = history.planted().unwrap_or_else(|| panic!("{mechanism:?} found no place with seed {seed}")).clone();
    (log, planted)
}

/// Plants a mechanism in history after history and looks at what is blamed. `base` begins the audit behind the fault.
fn name_the_planted(mechanism: Mechanism, rule: Rule, versions: &[&str]) {
    let cases = how_many(100);
    let (mut named, mut unexplained) = (0, 0);
    for seed in 0..cases {
        let version = versions[(seed as usize / 4) % versions.len()];
        let rules = rules(version);
        let (log, planted) = planted(seed, mechanism);
        let (found, guilty) = match rule {
            Rule::Base => {
                let last = log.0.last().unwrap().index;
                let base = Index(planted.index + 1 + seed * 31 % (last - planted.index - 1));
                (audited(&log, state_behind(&log, &rules, base)), base)
            }
            _ => (from_the_start(&log, &rules), Index(planted.index)),
        };
        let label = || format!("seed {seed} under {version}, planted {planted}: {}", told(&found));
        let mut is_named = false;
        for finding in found.iter().filter(|finding| matches!(finding.kind, Kind::Negative | Kind::Drift)) {
            let cause = finding.cause.as_ref().unwrap();
            match cause.rule == rule && cause.at.index == guilty {
                true => is_named = true,
                false => assert_eq!(cause.rule, Rule::Unexplained, "a wrong accusation; {}", label()),
            }
            if mechanism != Mechanism::ReconcileMergedNamespaces {
                let parent = (finding.namespace.as_deref().unwrap(), finding.parent.as_deref().unwrap());
                assert_eq!(parent, (&*planted.parent.0, &*planted.parent.1), "{}", label());
            }
        }
        assert!(!found.is_empty(), "{}", label());
        named += u64::from(is_named);
        unexplained += u64::from(!is_named);
    }
    println!("{}: {named} of {cases} named, {unexplained} unexplained", rule.name());
    assert!(named * 100 >= cases * 99, "{}: only {named} of {cases} are named", rule.name());
}

/// Every version of which the status rules differ.
const ANY: [&str; 4] = ["1.0.4", "1.9.5", "1.11.2", "2.0.5"];

#[test]
fn register_with_status_is_named() {
    name_the_planted(Mechanism::RegisterWithStatus, Rule::RegisterWithStatus, &ANY);
}

#[test]
fn double_pending_is_named() {
    name_the_planted(Mechanism::DoublePending, Rule::DoublePending, &["1.0.3"]);
}

#[test]
fn parent_recreated_is_named() {
    name_the_planted(Mechanism::ParentRecreated, Rule::ParentRecreated, &ANY);
}

#[test]
fn status_without_count_is_named() {
    // Before 1.9.6 a stop alone made no job dead.
    name_the_planted(Mechanism::StatusWithoutCount, Rule::StatusWithoutCount, &["1.9.6", "1.11.3", "2.0.5"]);
}

#[test]
fn child_reregistered_is_named() {
    name_the_planted(Mechanism::ChildReregistered, Rule::ChildReregistered, &ANY);
}

#[test]
fn reconcile_merged_namespaces_is_named() {
    name_the_planted(Mechanism::ReconcileMergedNamespaces, Rule::ReconcileMergedNamespaces, &ANY);
}

#[test]
fn lost_parent_is_named() {
    name_the_planted(Mechanism::LostParent, Rule::LostParent, &ANY);
}

#[test]
fn what_was_wrong_before_the_base_is_laid_to_the_base() {
    name_the_planted(Mechanism::LostParent, Rule::Base, &ANY);
}

#[test]
fn what_no_rule_describes_accuses_nobody() {
    let mut rules_named = BTreeMap::new();
    for seed in 0..how_many(100) {
        let mut plot = plot(seed, Some(Mechanism::Adopted));
        plot.services = 1;
        let mut history = History::new(plot);
        let log = Memory(history.by_ref().take(LENGTH).collect());
        assert!(history.planted().is_some(), "seed {seed}");
        for finding in from_the_start(&log, &rules("2.0.5")) {
            if let Some(cause) = finding.cause {
                *rules_named.entry(cause.rule).or_insert(0) += 1;
            }
        }
    }
    assert_eq!(rules_named.keys().collect::<Vec<_>>(), [&Rule::Unexplained], "{rules_named:?}");
}
