//! The parts of a replay, each by itself: `cargo bench --bench parts`.
//!
//! Compare figures of one run with each other; machines differ, and so does one machine from hour to hour. `audit`
//! should stay below 1.3 times `replay`, which is the same loop with nobody listening.

#[path = "support/mod.rs"]
mod support;

use std::ops::ControlFlow;
use std::sync::OnceLock;

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use raftscope::audit::Audit;
use raftscope::entry::json::BodyWriter;
use raftscope::entry::message_type::MessageTypes;
use raftscope::evidence::{self, Evidence, LogType, Record, Scanned};
use raftscope::fsm::Fsm;
use raftscope::fsm::rules::{Rules, Version};
use raftscope::ledger::Ledger;
use raftscope::replay::{Replayed, Subscriber, replay};
use raftscope::timeline::changed_jobs;
use raftscope::types::{Index, Term};

fn main() {
    divan::main();
}

/// Every entry of the log, in memory.
struct Entries {
    evidence: Evidence,
    owned: Vec<(Index, Term, LogType, Vec<u8>)>,
}

fn entries() -> &'static Entries {
    static ENTRIES: OnceLock<Entries> = OnceLock::new();
    ENTRIES.get_or_init(|| {
        let evidence = evidence::open(&support::log(20_000)).unwrap();
        let mut owned = Vec::new();
        scan(&evidence, &mut |record| owned.push((record.index, record.term, record.kind, record.data.to_vec())));
        Entries { evidence, owned }
    })
}

impl Entries {
    fn records(&self) -> impl Iterator<Item = Record<'_>> {
        self.owned.iter().map(|(index, term, kind, data)| Record {
            index: *index,
            term: *term,
            kind: *kind,
            data,
            appended_at: None,
        })
    }

    fn counted<'a, 'b>(&self, bencher: Bencher<'a, 'b>) -> Bencher<'a, 'b> {
        let bytes: usize = self.owned.iter().map(|(.., data)| data.len()).sum();
        bencher.counter(ItemsCount::new(self.owned.len())).counter(BytesCount::new(bytes))
    }
}

fn scan(evidence: &Evidence, sink: &mut dyn FnMut(Record<'_>)) {
    let all = Index(0)..=Index(u64::MAX);
    let scanned = evidence.log.scan(all, &mut |scanned| {
        if let Scanned::Entry(record) = scanned {
            sink(record);
        }
        ControlFlow::Continue(())
    });
    scanned.unwrap();
}

fn fsm() -> Fsm {
    Fsm::new(Rules::for_version(Version::NEWEST))
}

fn replay_for(subscribers: &mut [&mut dyn Subscriber]) -> Fsm {
    let mut fsm = fsm();
    let last = Index(u64::MAX);
    replay(&*entries().evidence.log, &mut fsm, (Index(0), Term(0)), last, &mut (), subscribers).unwrap();
    fsm
}

/// Pages of the tree, and raft's envelopes.
#[divan::bench]
fn page_walk(bencher: Bencher<'_, '_>) {
    entries().counted(bencher).bench(|| {
        let mut bytes = 0;
        scan(&entries().evidence, &mut |record| bytes += record.data.len());
        bytes
    });
}

/// Whether each body can be decoded, as `info --types` asks.
#[divan::bench]
fn check(bencher: Bencher<'_, '_>) {
    entries().counted(bencher).bench(|| {
        entries().records().filter(|record| BodyWriter::check(record.kind, black_box(record.data)).is_err()).count()
    });
}

/// What the state machine needs of each body.
#[divan::bench]
fn decode(bencher: Bencher<'_, '_>) {
    let decoder = fsm().decoder();
    entries().counted(bencher).bench(|| {
        entries().records().filter(|record| decoder.read(black_box(record)).is_some_and(|read| read.is_err())).count()
    });
}

/// The state machine, with bodies decoded beforehand.
#[divan::bench]
fn apply(bencher: Bencher<'_, '_>) {
    let decoder = fsm().decoder();
    let messages: Vec<_> = entries().records().map(|record| (record, decoder.read(&record))).collect();
    entries().counted(bencher).bench(|| {
        let mut fsm = fsm();
        for (record, message) in &messages {
            black_box(fsm.apply(record, message.as_ref()));
        }
        fsm
    });
}

/// The whole loop, with nobody listening.
#[divan::bench(name = "replay")]
fn replay_alone(bencher: Bencher<'_, '_>) {
    entries().counted(bencher).bench(|| replay_for(&mut []));
}

/// The loop with every detector.
#[divan::bench]
fn audit(bencher: Bencher<'_, '_>) {
    entries().counted(bencher).bench(|| {
        let mut audit = Audit::new(MessageTypes::default());
        let fsm = replay_for(&mut [&mut audit]);
        audit.finish(fsm.state()).findings.len()
    });
}

/// Finds the jobs that each entry changed.
#[derive(Default)]
struct Changed(usize);

impl Subscriber for Changed {
    fn entry(&mut self, entry: Replayed<'_>) {
        self.0 += changed_jobs(&entry).len();
    }
}

/// The loop with the rows of the timeline, without printing them.
#[divan::bench]
fn timeline(bencher: Bencher<'_, '_>) {
    entries().counted(bencher).bench(|| {
        let mut changed = Changed::default();
        replay_for(&mut [&mut changed]);
        changed.0
    });
}

/// The loop with a ledger in memory.
#[divan::bench]
fn ledger(bencher: Bencher<'_, '_>) {
    entries().counted(bencher).bench(|| {
        let mut writer = Ledger::in_memory().unwrap().writer(MessageTypes::default()).unwrap();
        replay_for(&mut [&mut writer]);
        writer.finish().unwrap().commit().unwrap();
    });
}
