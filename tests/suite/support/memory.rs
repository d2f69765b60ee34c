//! A log in memory: the replay of a short history costs no file.

use std::fmt::{self, Debug, Formatter};
use std::ops::{ControlFlow, RangeInclusive};

use super::synth::history::{Entry, LogType as Kind};
use raftscope::evidence::{EvidenceError, Log, LogType, Record, Scanned};
use raftscope::types::{Index, Term};

/// Entries without a gap.
#[derive(Clone)]
pub struct Memory(pub Vec<Entry>);

impl Debug for Memory {
    /// As few words as a failing case can be read in.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let told = |entry: &Entry| format!("{} {:?} type {:?}", entry.index, entry.kind, entry.data.first());
        f.debug_list().entries(self.0.iter().map(told)).finish()
    }
}

impl Memory {
    fn record(entry: &Entry) -> Record<'_> {
        let kind = match entry.kind {
            Kind::Command => LogType::Command,
            Kind::Noop => LogType::Noop,
            Kind::Barrier => LogType::Barrier,
            Kind::Configuration => LogType::Configuration,
        };
        let (index, term) = (Index(entry.index), Term(entry.term));
        Record { index, term, kind, data: &entry.data, appended_at: None }
    }
}

impl Log for Memory {
    fn bounds(&self) -> Option<(Index, Index)> {
        Some((Index(self.0.first()?.index), Index(self.0.last()?.index)))
    }

    fn scan(
        &self,
        range: RangeInclusive<Index>,
        sink: &mut dyn FnMut(Scanned<'_>) -> ControlFlow<()>,
    ) -> Result<(), EvidenceError> {
        for entry in self.0.iter().filter(|entry| range.contains(&Index(entry.index))) {
            if sink(Scanned::Entry(Self::record(entry))).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn data(&self, index: Index) -> Result<Option<Vec<u8>>, EvidenceError> {
        Ok(self.0.iter().find(|entry| entry.index == index.0).map(|entry| entry.data.clone()))
    }
}
