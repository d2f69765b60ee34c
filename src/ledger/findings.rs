//! What the audit found, as rows of `finding`.

use rusqlite::{Result, params};

use super::insert::Insert;
use super::rows::int;
use super::{Ledger, LedgerError};
use crate::audit::finding::{Cause, Finding, Until};
use crate::committed::Committed;

const COLUMNS: [&str; 33] = [
    "kind",
    "severity",
    "namespace",
    "parent",
    "job",
    "task_group",
    "counter",
    "value",
    "min_value",
    "stored",
    "recount",
    "final_value",
    "idx",
    "term",
    "entry",
    "until_idx",
    "until_entry",
    "lasts",
    "last_idx",
    "partial",
    "detail",
    "committed",
    "leader_idx",
    "leader_term",
    "cause_rule",
    "cause_idx",
    "cause_term",
    "cause_entry",
    "cause_namespace",
    "cause_job",
    "cause_status",
    "cause_by",
    "cause_detail",
];

impl Ledger {
    /// Puts findings in the place of those that the ledger has.
    ///
    /// # Errors
    /// When the ledger cannot be written.
    pub fn put_findings(&self, findings: &[Finding]) -> std::result::Result<(), LedgerError> {
        let marks = vec!["?"; COLUMNS.len()].join(", ");
        let sql = format!("INSERT INTO finding ({}) VALUES ({marks})", COLUMNS.join(", "));
        self.ask(|conn| {
            conn.execute("DELETE FROM finding", params![])?;
            let mut insert = Insert::new(conn, &sql)?;
            findings.iter().try_for_each(|finding| {
                symptom(finding, &mut insert)?;
                cause(finding.cause.as_ref(), &mut insert)?;
                insert.run()
            })
        })
    }
}

fn symptom(finding: &Finding, insert: &mut Insert<'_>) -> Result<()> {
    insert.bind(1, finding.kind.name())?;
    insert.bind(2, finding.severity.name())?;
    insert.bind(3, finding.namespace.as_deref())?;
    insert.bind(4, finding.parent.as_deref())?;
    insert.bind(5, finding.job.as_deref())?;
    insert.bind(6, finding.group.as_deref())?;
    insert.bind(7, finding.counter)?;
    insert.bind(8, finding.value)?;
    insert.bind(9, finding.min_value)?;
    insert.bind(10, finding.stored)?;
    insert.bind(11, finding.recount)?;
    insert.bind(12, finding.final_value)?;
    insert.bind(13, int(finding.at.index.0))?;
    insert.bind(14, int(finding.at.term.0))?;
    insert.bind(15, Some(&*finding.at.entry).filter(|entry| !entry.is_empty()))?;
    let until = match finding.until {
        Some(Until::Index(index)) => Some(int(index.0)),
        _ => None,
    };
    insert.bind(16, until)?;
    insert.bind(17, finding.until_entry.as_deref())?;
    insert.bind(18, finding.until == Some(Until::Never))?;
    insert.bind(19, finding.last_index.map(|index| int(index.0)))?;
    insert.bind(20, finding.partial)?;
    insert.bind(21, finding.detail.as_deref())?;
    let committed = finding.committed.map(|committed| match committed {
        Committed::Proven => "proven",
        Committed::Inferred => "inferred",
        Committed::Unknown => "unknown",
        Committed::Refuted => "refuted",
    });
    insert.bind(22, committed)?;
    insert.bind(23, finding.leader_change.map(|change| int(change.index.0)))?;
    insert.bind(24, finding.leader_change.map(|change| int(change.term.0)))
}

fn cause(cause: Option<&Cause>, insert: &mut Insert<'_>) -> Result<()> {
    insert.bind(25, cause.map(|c| c.rule.name()))?;
    insert.bind(26, cause.map(|c| int(c.at.index.0)))?;
    insert.bind(27, cause.map(|c| int(c.at.term.0)))?;
    insert.bind(28, cause.map(|c| &*c.at.entry))?;
    insert.bind(29, cause.and_then(|c| c.namespace.as_deref()))?;
    insert.bind(30, cause.and_then(|c| c.job.as_deref()))?;
    insert.bind(31, cause.and_then(|c| c.status.as_deref()))?;
    insert.bind(32, cause.and_then(|c| c.by.as_deref()))?;
    insert.bind(33, cause.map(|c| c.detail.as_str()))
}
