//! Entries, applied to a state that holds something of most kinds, under the rules of several versions.

use std::ops::{ControlFlow, RangeInclusive};

use raftscope::audit::Audit;
use raftscope::entry::message_type::MessageTypes;
use raftscope::evidence::file::File;
use raftscope::evidence::{EvidenceError, Log, LogType, Record, Scanned, salvage};
use raftscope::fsm::Fsm;
use raftscope::fsm::rules::Rules;
use raftscope::fsm::state::{Image, State, Written};
use raftscope::redact::Redactor;
use raftscope::replay::{Replayed, Subscriber, replay};
use raftscope::rows::value::Value;
use raftscope::rows::{LogBodies, held};
use raftscope::types::{Index, Term};

use super::look::{ALL, is_json};

/// Logs whose entries, one after the other, make the state that is there before.
const PREPARED: [&[u8]; 3] = [
    include_bytes!("../../fixtures/secrets/raft.db"),
    include_bytes!("../../fixtures/dispatch_running/raft.db"),
    include_bytes!("../../fixtures/switch_register_deployment/raft.db"),
];

const VERSIONS: [&str; 4] = ["2.0.5", "1.0.4", "1.9.5", "1.11.2"];

/// More entries than these are left out: each may be short.
const MOST: usize = 64;

struct Prepared {
    entries: Vec<Vec<u8>>,
    /// For each version its rules and the state after the entries.
    states: Vec<(Rules, State)>,
}

thread_local!(static PREPARED_ONCE: Prepared = Prepared::new());

impl Prepared {
    fn new() -> Self {
        let mut entries = Vec::new();
        for log in PREPARED {
            let (evidence, _) = salvage::open_file(File::from_memory("raft.db", log.to_vec())).unwrap();
            let scanned = evidence.log.scan(ALL, &mut |scanned| {
                if let Scanned::Entry(record) = scanned
                    && record.kind == LogType::Command
                {
                    entries.push(record.data.to_vec());
                }
                ControlFlow::Continue(())
            });
            scanned.unwrap();
        }
        let log = Entries { prepared: &entries, given: Vec::new() };
        let state = |version: &str| {
            let rules = Rules::for_version(version.parse().unwrap());
            let mut fsm = Fsm::new(rules.clone());
            replay(&log, &mut fsm, (Index(0), Term(0)), Index(u64::MAX), &mut (), &mut []).unwrap();
            (rules, fsm.go_on_from(State::blank()))
        };
        let states = VERSIONS.map(state).into();
        Prepared { entries, states }
    }
}

/// The prepared entries and those of the input behind them.
struct Entries<'a> {
    prepared: &'a [Vec<u8>],
    given: Vec<&'a [u8]>,
}

impl Entries<'_> {
    fn get(&self, index: Index) -> Option<Record<'_>> {
        let at = usize::try_from(index.0.checked_sub(1)?).ok()?;
        let given = || self.given.get(at.checked_sub(self.prepared.len())?).copied();
        let data = self.prepared.get(at).map(Vec::as_slice).or_else(given)?;
        Some(Record { index, term: Term(1), kind: LogType::Command, data, appended_at: None })
    }
}

impl Log for Entries<'_> {
    fn bounds(&self) -> Option<(Index, Index)> {
        Some((Index(1), Index((self.prepared.len() + self.given.len()) as u64)))
    }

    fn scan(
        &self,
        range: RangeInclusive<Index>,
        sink: &mut dyn FnMut(Scanned<'_>) -> ControlFlow<()>,
    ) -> Result<(), EvidenceError> {
        let records = (range.start().0.max(1)..=range.end().0).map_while(|index| self.get(Index(index)));
        for record in records {
            if sink(Scanned::Entry(record)).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn data(&self, index: Index) -> Result<Option<Vec<u8>>, EvidenceError> {
        Ok(self.get(index).map(|record| record.data.to_vec()))
    }
}

/// Prints each row that an entry touched, before and after.
struct Printer<'a> {
    bodies: LogBodies<'a>,
    redactor: Redactor,
    out: Vec<u8>,
    written: Written,
}

impl Subscriber for Printer<'_> {
    fn entry(&mut self, entry: Replayed<'_>) {
        entry.step.changes.iter().for_each(|change| self.written.note(change, entry.state));
        let _ = entry.step.outcome.detail(entry.rules);
        for (id, row) in held::touched(entry.step, entry.state).into_iter().filter_map(|row| row.after) {
            if let Ok(object) = row.build(&self.bodies) {
                self.out.clear();
                Value::from(object).write(id.table.place(), &mut self.redactor, &mut self.out);
                is_json(&self.out);
            }
        }
    }
}

/// The first byte chooses the rules. Then come entries, each behind its length in two bytes, the low one first; the last
/// one may be shorter than that.
pub fn run(data: &[u8]) {
    let Some((version, mut rest)) = data.split_first() else { return };
    PREPARED_ONCE.with(|prepared| {
        let mut given = Vec::new();
        while let Some((&[low, high], behind)) = rest.split_first_chunk()
            && given.len() < MOST
        {
            let len = usize::from(u16::from_le_bytes([low, high])).min(behind.len());
            let (entry, behind) = behind.split_at(len);
            given.push(entry);
            rest = behind;
        }
        let (rules, before) = &prepared.states[usize::from(*version) % VERSIONS.len()];
        apply(&Entries { prepared: &prepared.entries, given }, rules, before);
    });
}

fn apply(log: &Entries<'_>, rules: &Rules, before: &State) {
    let mut state = State::blank();
    state.put_image(before.image());
    let mut fsm = Fsm::from_state(rules.clone(), state);
    let mut audit = Audit::new(MessageTypes::new());
    let mut printer = Printer {
        bodies: LogBodies::new(log),
        redactor: Redactor::hiding(),
        out: Vec::new(),
        written: Written::default(),
    };
    let base = (Index(log.prepared.len() as u64), Term(1));
    replay(log, &mut fsm, base, Index(u64::MAX), &mut (), &mut [&mut audit, &mut printer]).unwrap();
    let state = fsm.state();
    let image = printer.written.into_image(state);
    let again = Image::from_bytes(&image.to_bytes()).unwrap();
    // Each row once.
    assert!(again.len() <= image.len());
    assert_eq!(Image::from_bytes(&again.to_bytes()).unwrap().len(), again.len());
    audit.finish(state);
}
