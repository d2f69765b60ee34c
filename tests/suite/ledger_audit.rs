//! An audit that goes on in the middle of a log, out of a kept ledger, finds what one of the whole log finds.

use crate::support;

use std::path::PathBuf;

use raftscope::audit::{Audit, Audited};
use raftscope::base::Base;
use raftscope::entry::message_type::MessageTypes;
use raftscope::evidence::{self, Evidence};
use raftscope::fsm::rules::Rules;
use raftscope::ledger::kept::{Extended, Plan};
use raftscope::ledger::{Basis, Ledger};
use raftscope::notes::{Level, Notes};
use raftscope::replay::{Replayed, Subscriber};
use raftscope::start::{self, Later};
use raftscope::types::Index;

struct Quiet;

impl Notes for Quiet {
    fn add(&mut self, _: Level, _: String) {}
}

struct Nobody;

impl Subscriber for Nobody {
    fn entry(&mut self, _: Replayed<'_>) {}
}

/// Every folder of evidence in the fixtures, with the rules that its case is replayed by.
fn folders() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for case in support::cases::all() {
        let rules = case.description["nomad_rules"].as_str().unwrap_or("2.0.5").to_owned();
        for dir in [None, Some("s1"), Some("s2")].map(|s| s.map_or(case.dir.clone(), |s| case.dir.join(s))) {
            if ["raft.db", "wal", "snapshots"].iter().any(|store| dir.join(store).exists()) {
                found.push((dir, rules.clone()));
            }
        }
    }
    assert!(found.len() > 40);
    found
}

/// Audits up to an entry, on top of what a ledger knows.
fn audit(evidence: &Evidence, rules: &Rules, ledger: Ledger, to: Index) -> (Ledger, Audited, Index) {
    audit_as(evidence, rules, ledger, to, false)
}

/// The same, `stateless` where nobody but the audit asks.
fn audit_as(
    evidence: &Evidence,
    rules: &Rules,
    ledger: Ledger,
    to: Index,
    stateless: bool,
) -> (Ledger, Audited, Index) {
    let held = start::holdings(evidence, Quiet).unwrap();
    let base = held.oldest().unwrap();
    let mut start = start::at(evidence, base, rules, Quiet).unwrap();
    let kind = if base == Base::Empty { "empty" } else { "snapshot" };
    let basis = Basis { base: kind, index: start.index, term: start.term, rules: rules.version.to_string() };
    let snapshots: Vec<Index> = held.snapshots.iter().copied().filter(|index| *index > start.index).collect();
    let plan = Plan { basis: &basis, to, types: MessageTypes::new(), snapshots: &snapshots, apart: 40, stateless };
    let later = |from| Box::new(Later::than(from, evidence, rules)) as Box<_>;
    let mut audit = Audit::new(MessageTypes::new());
    let base = (start.index, start.term);
    let extended =
        ledger.extend(&*evidence.log, (&mut start.fsm, base), &plan, later, &mut audit, &mut Nobody).unwrap();
    let Extended { mut ledger, from, .. } = extended;
    let audited = audit.finish(start.fsm.state());
    ledger.put_findings(&audited.findings).unwrap();
    ledger.commit().unwrap();
    (ledger, audited, from)
}

fn counts(audited: &Audited) -> (u64, u64, u64) {
    (audited.entries, audited.undecodable, audited.rejected)
}

#[test]
fn an_audit_goes_on_where_a_kept_ledger_ends() {
    let (mut resumed, mut known) = (0, 0);
    for (dir, rules) in folders() {
        let evidence = evidence::open(&dir).unwrap();
        let Some((first, last)) = evidence.log.bounds() else { continue };
        let rules = Rules::for_version(rules.parse().unwrap());
        let (_, whole, begun) = audit(&evidence, &rules, Ledger::in_memory().unwrap(), last);
        let mut ledger = Ledger::in_memory().unwrap();
        for part in 1..=5 {
            let to = Index(first.0 + (last.0 - first.0) * part / 5).max(begun.next());
            let (kept, audited, from) = audit(&evidence, &rules, ledger, to);
            // Asked again, and for nothing but its answer, it has that without a replay.
            let (kept, again, from_known) = audit_as(&evidence, &rules, kept, to, true);
            known += u64::from(from_known == to);
            assert_eq!((&again.findings, &again.parents), (&audited.findings, &audited.parents), "{}", dir.display());
            assert_eq!(counts(&again), counts(&audited), "{} up to {to}", dir.display());
            ledger = kept;
            resumed += u64::from(from > begun);
            let (_, fresh, _) = audit(&evidence, &rules, Ledger::in_memory().unwrap(), to);
            assert_eq!(audited.findings, fresh.findings, "{} up to {to}", dir.display());
            assert_eq!(audited.parents, fresh.parents);
            assert_eq!(counts(&audited), counts(&fresh), "{} up to {to}", dir.display());
        }
        let rows = ledger.connection().query_row("SELECT count(*) FROM finding", [], |row| row.get::<_, i64>(0));
        assert_eq!(rows.unwrap() as usize, whole.findings.len(), "{}", dir.display());
    }
    assert!(resumed > 100 && known > 100, "{resumed} {known}");
}
