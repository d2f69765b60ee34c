//! Looks at evidence in most of the ways in which a command does.

use std::ops::ControlFlow;

use raftscope::audit::Audit;
use raftscope::entry::json::BodyWriter;
use raftscope::entry::message_type::MessageTypes;
use raftscope::evidence::file::File;
use raftscope::evidence::salvage::{self, Carver};
use raftscope::evidence::snapshot::Snapshot;
use raftscope::evidence::{self, Evidence, Log, Scanned};
use raftscope::fsm::Fsm;
use raftscope::fsm::restore::Restore;
use raftscope::fsm::rules::{Rules, Version};
use raftscope::fsm::state::State;
use raftscope::redact::Redactor;
use raftscope::replay::replay;
use raftscope::rows::{self, LogBodies, Table};
use raftscope::types::{Index, Term};

/// Every index.
pub const ALL: std::ops::RangeInclusive<Index> = Index(0)..=Index(u64::MAX);

/// So many entries of one log are looked at more closely; a small file cannot hold more that differ.
const SOME: usize = 64;

/// The input behind its first byte, and that byte: by bit 0 it says whether `mend` puts sums right first, since few changes
/// leave one that fits.
pub fn mended(data: &[u8], mend: fn(&mut [u8])) -> Option<(u8, Vec<u8>)> {
    let (how, bytes) = data.split_first()?;
    let mut bytes = bytes.to_vec();
    if how & 1 != 0 {
        mend(&mut bytes);
    }
    Some((*how, bytes))
}

/// Looks at what a file of that name and these bytes holds, and carves.
pub fn at_file(name: &str, bytes: Vec<u8>) {
    let Ok((evidence, carver)) = salvage::open_file(File::from_memory(name, bytes)) else { return };
    at_evidence(&evidence, carver.as_ref());
}

/// Reads the log in order, single entries of it, and carves; replays and audits it, and prints the state.
pub fn at_evidence(evidence: &Evidence, carver: Option<&Carver>) {
    at_log(&*evidence.log, carver);
    evidence.snapshots.iter().for_each(at_snapshot);
    let rules = Rules::for_version(Version::NEWEST);
    let mut fsm = Fsm::new(rules);
    let mut audit = Audit::new(MessageTypes::new());
    let replayed = replay(&*evidence.log, &mut fsm, (Index(0), Term(0)), Index(u64::MAX), &mut (), &mut [&mut audit]);
    if replayed.is_ok() {
        audit.finish(fsm.state());
        at_state(fsm.state(), &*evidence.log, &evidence.snapshots);
    }
}

/// Reads a log in order, whose entries come in order and inside of its bounds; then single entries, and carves.
pub fn at_log(log: &dyn Log, carver: Option<&Carver>) {
    let mut last = None;
    let mut some = Vec::new();
    let mut out = Vec::new();
    let (mut writer, mut redactor) = (BodyWriter::new(), Redactor::hiding());
    let scanned = log.scan(ALL, &mut |scanned| {
        if let Scanned::Entry(record) = scanned {
            assert!(last.is_none_or(|last| last < record.index), "entry {} comes after {last:?}", record.index);
            let bounds = log.bounds().map(|(first, last)| first..=last);
            assert!(
                bounds.is_some_and(|bounds| bounds.contains(&record.index)),
                "entry {} is not in bounds",
                record.index
            );
            last = Some(record.index);
            if some.len() < SOME {
                some.push((record.index, record.data.to_vec()));
                out.clear();
                let _ = writer.record(record.kind, record.data, &mut redactor, &mut out);
            }
        }
        ControlFlow::Continue(())
    });
    if scanned.is_ok() {
        for (index, data) in &some {
            // Past damage an entry may be out of reach by itself, which is told.
            if let Ok(there) = log.data(*index) {
                assert!(there.as_ref() == Some(data), "entry {index} by itself is another one");
            }
        }
    }
    let _ = evidence::check_empty(log, "log");
    let _ = evidence::behind_the_end(log);
    if let Some(carver) = carver {
        let mut before = None;
        let _ = carver.carve(log, ALL, &mut |carved| {
            let place = (carved.record.index, carved.record.term);
            assert!(before.is_none_or(|before| before <= place), "{place:?} is carved after {before:?}");
            before = Some(place);
            ControlFlow::Continue(())
        });
    }
}

/// Restores a snapshot and prints its state.
pub fn at_snapshot(snapshot: &Snapshot) {
    let _ = snapshot.verify();
    let rules = Rules::for_version(Version::NEWEST);
    let mut restore = Restore::new(&rules, snapshot.info().index);
    let read = snapshot.records(&mut |record| {
        restore.record(record.kind, record.offset, record.value);
        ControlFlow::Continue(())
    });
    let restored = restore.finish();
    if read.is_ok() {
        at_state(&restored.state, &evidence::NoLog, std::slice::from_ref(snapshot));
    }
}

/// Prints every table.
fn at_state(state: &State, log: &dyn Log, snapshots: &[Snapshot]) {
    let bodies = LogBodies::new(log).with_snapshots(snapshots);
    let mut out = Vec::new();
    if rows::write(state, &bodies, Table::ALL, &mut Redactor::hiding(), &mut out).is_ok() {
        is_json(&out);
    }
}

/// What is printed as JSON is JSON.
pub fn is_json(text: &[u8]) {
    let read = serde_json::from_slice::<serde::de::IgnoredAny>(text);
    assert!(read.is_ok(), "{}: {}", read.unwrap_err(), String::from_utf8_lossy(text));
}
