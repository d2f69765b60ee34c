//! Which rows of the state are printed: `--filter` on what a row says of itself.

use std::borrow::Cow;

use crate::cli::options::Rows;
use crate::evidence::Log;
use crate::evidence::window::TermSpan;
use crate::filter::{EntryType, Facts, JobFact};
use crate::fsm::state::State;
use crate::rows::Table;
use crate::rows::value::{Object, Value};
use crate::types::{Index, JobKey, Term};

/// Which rows are wanted. `index`, `term` and `type` of a row are those of the entry that changed
/// it last; `parent` and `status` of a row that names a job are that job's.
pub struct Choice<'c> {
    pub rows: &'c Rows,
    /// Only rows that were changed at or after this entry.
    pub since: Option<Index>,
    /// The last index of the log.
    pub last: Index,
    pub log: &'c dyn Log,
    pub terms: &'c [TermSpan],
    pub state: &'c State,
}

impl Choice<'_> {
    /// True when every row is to be printed.
    pub fn wants_all(&self) -> bool {
        self.rows.filter.is_empty() && self.since.is_none()
    }

    /// True when a row is to be printed.
    pub fn wants(&self, table: Table, row: &Object) -> bool {
        if self.wants_all() {
            return true;
        }
        let index = modified(table, row);
        if self.since.is_some_and(|since| index < since) {
            return false;
        }
        self.rows.filter.is_empty() || self.rows.filter.matches(&self.facts(table, row, index), self.last)
    }

    fn facts<'r>(&self, table: Table, row: &'r Object, index: Index) -> Facts<'r> {
        let term =
            self.terms.iter().find(|s| (s.first_index..=s.last_index).contains(&index)).map_or(Term(0), |s| s.term);
        let mut facts = Facts::of(index, term, self.entry_type(index));
        let (namespace, id) = (row.text("Namespace"), row.text("ID"));
        let ids = |key: &str| Some(Cow::Borrowed(row.text(key))).filter(|id| !id.is_empty()).into_iter().collect();
        match table {
            Table::Jobs | Table::JobVersions => facts.jobs.push(JobFact {
                namespace: Some(namespace.into()),
                job: Some(id.into()),
                parent: Some(row.text("ParentID").into()),
                status: Some(row.text("Status").into()),
            }),
            Table::PeriodicLaunches => facts.jobs.push(self.named(namespace, id)),
            Table::JobSummaries => facts.jobs.push(self.named(namespace, row.text("JobID"))),
            Table::Allocs | Table::Evals | Table::Deployments => {
                facts.jobs.push(self.named(namespace, row.text("JobID")));
                let own = if table == Table::Evals { "ID" } else { "EvalID" };
                facts.evals = ids(own);
                facts.allocs = if table == Table::Allocs { ids("ID") } else { Vec::new() };
                facts.deployments = ids(if table == Table::Deployments { "ID" } else { "DeploymentID" });
                facts.nodes = ids("NodeID");
            }
            Table::Nodes => facts.nodes = ids("ID"),
            Table::Namespaces => {
                facts.jobs.push(JobFact { namespace: Some(row.text("Name").into()), ..JobFact::default() });
            }
            Table::ScalingEvents | Table::JobSubmissions | Table::TaskGroupHostVolumeClaims => {
                facts.jobs.push(self.named(namespace, row.text("JobID")));
            }
            Table::ServiceRegistrations => {
                facts.jobs.push(self.named(namespace, row.text("JobID")));
                facts.allocs = ids("AllocID");
                facts.nodes = ids("NodeID");
            }
            Table::ScalingPolicies => {
                let target = row.get("Target").and_then(Value::object);
                let part = |key| target.map_or("", |target| target.text(key));
                facts.jobs.push(self.named(part("Namespace"), part("Job")));
            }
            Table::CSIVolumes | Table::Variables | Table::HostVolumes => {
                facts.jobs.push(JobFact { namespace: Some(namespace.into()), ..JobFact::default() });
            }
            _ => {}
        }
        facts
    }

    /// A job that a row names, with what the state knows of it.
    fn named<'r>(&self, namespace: &'r str, id: &'r str) -> JobFact<'r> {
        let job = self.state.job(&JobKey::new(namespace, id));
        JobFact {
            namespace: Some(namespace.into()),
            job: Some(id.into()),
            parent: Some(job.map(|j| j.parent_id.to_string()).unwrap_or_default().into()),
            status: job.map(|j| j.status.as_str().to_owned().into()),
        }
    }

    /// The type of the entry at an index; of one that is not in the log, the base's.
    fn entry_type(&self, index: Index) -> EntryType {
        if !self.rows.filter.needs_type() {
            return EntryType::Snapshot;
        }
        match self.log.data(index) {
            Ok(Some(data)) => data.first().map_or(EntryType::Snapshot, |byte| EntryType::Command(byte & 0x7f)),
            _ => EntryType::Snapshot,
        }
    }
}

/// The entry that changed a row last.
fn modified(table: Table, row: &Object) -> Index {
    let key = match table {
        Table::Indexes => "Value",
        Table::JobSubmissions => "JobModifyIndex",
        Table::SITokenAccessors | Table::VaultAccessors => "CreateIndex",
        _ => "ModifyIndex",
    };
    Index(u64::try_from(row.int(key)).unwrap_or(0))
}
