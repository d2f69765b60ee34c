//! Findings about the evidence itself: lost entries, and terms that go down.

use super::finding::{Finding, Kind, Place, Severity};
use super::{Detector, Findings};
use crate::evidence::{Damage, DamageKind};
use crate::fsm::state::State;
use crate::pack::{BadImage, Pack, Packer, Unpacker, pack};
use crate::replay::Replayed;
use crate::types::{Index, Term};

/// Watches the order of terms and takes in what the evidence tells of damage.
#[derive(Default)]
pub(super) struct DamageDetector {
    last: Option<(Index, Term)>,
}

pack! { DamageDetector { last } }

impl Detector for DamageDetector {
    fn base(&mut self, _: &State, at: &Place, _: &mut Findings) {
        if at.index > Index(0) {
            self.last = Some((at.index, at.term));
        }
    }

    fn entry(&mut self, entry: &Replayed<'_>, at: &Place, findings: &mut Findings) {
        let (index, term) = (entry.record.index, entry.record.term);
        if let Some((before, higher)) = self.last.filter(|(_, last)| *last > term) {
            let mut finding = Finding::new(Kind::TermRegression, Severity::Error, at.clone());
            finding.detail = Some(format!(
                "term {term} follows term {higher} of entry {before}; terms never go down in a log that one server wrote"
            ));
            findings.add(finding);
        }
        self.last = Some((index, term));
    }

    fn damage(&mut self, damage: &Damage, findings: &mut Findings) {
        let kind = match damage.kind {
            DamageKind::Gap => Kind::Gap,
            DamageKind::KeyMismatch => Kind::KeyMismatch,
            DamageKind::Checksum => Kind::Checksum,
            DamageKind::UndecodableEntry => Kind::UndecodableEntry,
        };
        let (before, term) = self.last.unwrap_or_default();
        let index = damage.first.unwrap_or(before.next());
        let at = Place { index, term, entry: "".into() };
        let mut finding = Finding::new(kind, Severity::Error, at);
        finding.last_index = damage.last;
        finding.detail = Some(damage.detail.clone());
        findings.add(finding);
    }

    fn save(&self, out: &mut Packer) {
        self.pack(out);
    }

    fn load(&mut self, from: &mut Unpacker<'_>) -> Result<(), BadImage> {
        *self = Pack::unpack(from)?;
        Ok(())
    }
}
