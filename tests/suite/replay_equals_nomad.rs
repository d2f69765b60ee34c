//! The replay loop, without the program around it, equals what real Nomad state machines answered: every row and every
//! refusal, for every recorded version, on the built cases, the real clusters and the random histories.

use crate::support::answers::{Bounds, Row, differences, printed, recorded, recorded_refusal};
use crate::support::cases::{self, Case, Recording, Store};
use raftscope::evidence::{self, LogType};
use raftscope::fsm::Fsm;
use raftscope::fsm::outcome::Outcome;
use raftscope::fsm::rules::Rules;
use raftscope::replay::{Replayed, Subscriber, replay};
use raftscope::timeline::{TimelineRow, changed_jobs};
use raftscope::types::{Index, Term};

/// The message type of a reconcile.
const RECONCILE: u8 = 10;

/// What a replay is to be compared by.
#[derive(Default)]
struct Watch {
    rows: Vec<Row>,
    refusals: Vec<(u64, &'static str)>,
    first_reconcile: Option<u64>,
}

impl Subscriber for Watch {
    fn entry(&mut self, entry: Replayed<'_>) {
        let (index, term) = (entry.record.index, entry.record.term);
        if entry.record.kind == LogType::Command && entry.record.data.first() == Some(&RECONCILE) {
            self.first_reconcile.get_or_insert(index.0);
        }
        for (job, view) in changed_jobs(&entry) {
            let row = TimelineRow { index, term, entry: String::new(), job, view };
            self.rows.push(printed(&serde_json::to_value(row).unwrap()));
        }
        let kind = match entry.step.outcome {
            Outcome::Refused(_) | Outcome::PartiallyApplied(_) => "rejected_entry",
            Outcome::Undecodable(_) | Outcome::Empty => "undecodable_entry",
            Outcome::UnknownType { ignored: false } => "unknown_type",
            _ => return,
        };
        self.refusals.push((index.0, kind));
    }
}

#[test]
fn built_cases_and_real_clusters_replay_as_recorded() {
    compare_all(&cases::all(), false);
}

#[test]
fn random_histories_replay_as_recorded() {
    let random = cases::random();
    compare_all(&cases::below(random.path()), !every_version());
}

/// `RAFTSCOPE_EVERY_VERSION` replays each random history under all its versions, as CI does; without it each is replayed
/// under two, other ones from history to history.
fn every_version() -> bool {
    std::env::var_os("RAFTSCOPE_EVERY_VERSION").is_some()
}

fn compare_all(cases: &[Case], sample: bool) {
    let mut compared = 0;
    let mut failures = Vec::new();
    let recordings = cases.iter().enumerate().flat_map(|(place, case)| {
        let all = case.recordings().into_iter().enumerate();
        all.filter(move |(version, _)| !sample || (version + place).is_multiple_of(3)).map(|(_, recording)| recording)
    });
    for recording in recordings.filter(|recording| recording.stores == [Store::Bolt]) {
        compared += 1;
        if let Some(first) = compare(&recording).into_iter().next() {
            failures.push(format!("{} under {}:\n{first}", recording.label, recording.rules));
        }
    }
    assert!(failures.is_empty(), "{} of {compared} replays differ\n{}", failures.len(), failures.join("\n"));
    assert!(compared > 0 || std::env::var_os("RAFTSCOPE_CASE").is_some(), "nothing was compared");
}

fn compare(recording: &Recording) -> Vec<String> {
    let evidence = evidence::open(&recording.evidence).unwrap();
    let mut fsm = Fsm::new(Rules::for_version(recording.rules.parse().unwrap()));
    let mut watch = Watch::default();
    let start = (Index(0), Term(0));
    replay(&*evidence.log, &mut fsm, start, Index(u64::MAX), &mut (), &mut [&mut watch]).unwrap();

    let bounds = Bounds { base: 0, first_reconcile: watch.first_reconcile };
    let mut told = differences(recording.rows().iter().map(recorded).collect(), watch.rows, bounds);
    let refusals: Vec<_> = recording.results().iter().filter_map(recorded_refusal).collect();
    if refusals != watch.refusals {
        let missing: Vec<_> = refusals.iter().filter(|refusal| !watch.refusals.contains(refusal)).collect();
        let extra: Vec<_> = watch.refusals.iter().filter(|refusal| !refusals.contains(refusal)).collect();
        told.push(format!("  refusals not met: {missing:?}\n  refusals not expected: {extra:?}"));
    }
    told
}
