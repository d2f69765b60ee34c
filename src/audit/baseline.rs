//! Known faults: a file that lists them, so that a pipeline fails only on what is new
//! (contract.md 1, `--baseline`, `--write-baseline`).

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::finding::Fingerprint;
use super::report::Report;

/// Version of the file's shape.
const SCHEMA_VERSION: u32 = 1;

/// A set of known faults. A fault is known by kind, namespace, parent or job, and counter, so that
/// it stays known after a compaction has made it one of the base.
#[derive(Clone, Debug, Default)]
pub struct Baseline(HashSet<Known>);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
struct Known {
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    namespace: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counter: Option<String>,
}

impl From<Fingerprint> for Known {
    fn from(f: Fingerprint) -> Self {
        Known {
            kind: f.kind.name().into(),
            namespace: f.namespace,
            parent: f.subject,
            counter: f.counter.map(Into::into),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct File {
    schema_version: u32,
    findings: Vec<Known>,
}

/// Why a text is no baseline.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// It is not the JSON that [`Baseline::of`] writes.
    #[error("it is no baseline of raftscope ({0}); make one with --write-baseline")]
    Shape(#[from] serde_json::Error),
    /// A later raftscope wrote it.
    #[error("it has version {0} of the baseline's shape, and this raftscope reads version {SCHEMA_VERSION}")]
    Newer(u32),
}

impl Baseline {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// When it is no baseline, or one of a later shape.
    pub fn parse(text: &str) -> Result<Self, BaselineError> {
        let file: File = serde_json::from_str(text)?;
        if file.schema_version > SCHEMA_VERSION {
            return Err(BaselineError::Newer(file.schema_version));
        }
        Ok(Baseline(file.findings.into_iter().collect()))
    }

    /// Every fault of a report, as the text of a file. The same faults give the same text.
    ///
    /// # Errors
    /// Never for a report of an audit; kept for the writer's sake.
    pub fn of(report: &Report) -> Result<String, serde_json::Error> {
        let mut findings: Vec<Known> =
            report.findings.iter().map(|reported| reported.finding.fingerprint().into()).collect();
        findings.sort();
        findings.dedup();
        let mut text = serde_json::to_string_pretty(&File { schema_version: SCHEMA_VERSION, findings })?;
        text.push('\n');
        Ok(text)
    }

    /// Whether a fault is a known one.
    pub fn knows(&self, fault: &Fingerprint) -> bool {
        !self.0.is_empty() && self.0.contains(&fault.clone().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::finding::Kind;

    fn fault(parent: &str) -> Fingerprint {
        Fingerprint {
            kind: Kind::Negative,
            namespace: Some("default".into()),
            subject: Some(parent.into()),
            counter: Some("Running"),
        }
    }

    #[test]
    fn a_fault_is_known_by_its_parent_and_counter_and_not_by_its_index() {
        let text = r#"{"schema_version":1,"findings":[{"kind":"negative","namespace":"default","parent":"a","counter":"Running"}]}"#;
        let baseline = Baseline::parse(text).unwrap();
        assert!(baseline.knows(&fault("a")));
        assert!(!baseline.knows(&fault("b")));
    }

    #[test]
    fn a_file_of_a_later_shape_or_of_another_program_says_so() {
        assert!(matches!(Baseline::parse(r#"{"schema_version":2,"findings":[]}"#), Err(BaselineError::Newer(2))));
        assert!(matches!(Baseline::parse("[]"), Err(BaselineError::Shape(_))));
    }
}
