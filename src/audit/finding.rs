//! What the audit found, and why (contract.md 3, audit).

use std::sync::Arc;

use serde::Serialize;
use serde::ser::Serializer;

use crate::committed::Committed;
use crate::types::{Index, JobKey, Term};

/// What is wrong, as contract.md 3 names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A children counter is below zero.
    Negative,
    /// A children counter differs from the children that there are.
    Drift,
    /// A task group's counter differs from its allocations.
    GroupDrift,
    /// The replay disagrees with a later snapshot.
    SnapshotMismatch,
    /// Committed, but the FSM refuses it.
    RejectedEntry,
    /// The body is no message of its type, or there is none.
    UndecodableEntry,
    /// A type that the rules do not know.
    UnknownType,
    /// Entries are missing.
    Gap,
    /// The term goes down along the log.
    TermRegression,
    /// An entry stands under another index than its own.
    KeyMismatch,
    /// A checksum does not fit.
    Checksum,
    /// A parent is dead but was not stopped.
    StatusMismatch,
    /// A summary lacks what its job needs.
    SummaryShape,
    /// A restart of a job left fewer allocations running than were asked for.
    RestartBelowThreshold,
    /// Something waits for what never comes.
    Orphan,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 15] = [
        Kind::Negative,
        Kind::Drift,
        Kind::GroupDrift,
        Kind::SnapshotMismatch,
        Kind::RejectedEntry,
        Kind::UndecodableEntry,
        Kind::UnknownType,
        Kind::Gap,
        Kind::TermRegression,
        Kind::KeyMismatch,
        Kind::Checksum,
        Kind::StatusMismatch,
        Kind::SummaryShape,
        Kind::RestartBelowThreshold,
        Kind::Orphan,
    ];

    /// Its name in output.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Negative => "negative",
            Kind::Drift => "drift",
            Kind::GroupDrift => "group_drift",
            Kind::SnapshotMismatch => "snapshot_mismatch",
            Kind::RejectedEntry => "rejected_entry",
            Kind::UndecodableEntry => "undecodable_entry",
            Kind::UnknownType => "unknown_type",
            Kind::Gap => "gap",
            Kind::TermRegression => "term_regression",
            Kind::KeyMismatch => "key_mismatch",
            Kind::Checksum => "checksum",
            Kind::StatusMismatch => "status_mismatch",
            Kind::SummaryShape => "summary_shape",
            Kind::RestartBelowThreshold => "restart_below_threshold",
            Kind::Orphan => "orphan",
        }
    }
}

/// How much a finding matters. Ordered: a note is the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Good to know.
    Note,
    /// Something is off.
    Warning,
    /// Something is wrong.
    Error,
}

impl Severity {
    /// Its name in output.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// A children counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Counter {
    /// Children waiting.
    Pending,
    /// Children at work.
    Running,
    /// Children that ended.
    Dead,
}

impl Counter {
    /// All three, in the order of `[pending, running, dead]`.
    pub const ALL: [Counter; 3] = [Counter::Pending, Counter::Running, Counter::Dead];

    /// Its name in output, as Nomad writes it.
    pub fn name(self) -> &'static str {
        match self {
            Counter::Pending => "Pending",
            Counter::Running => "Running",
            Counter::Dead => "Dead",
        }
    }
}

/// The mechanism behind a wrong count (contract.md 3, `cause.rule`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// A new child arrived with a status already set (#10145).
    RegisterWithStatus,
    /// The status was computed twice at the create index (#8435, rules up to 1.0.3).
    DoublePending,
    /// The parent was purged and registered again while children lived.
    ParentRecreated,
    /// An existing child's status changed without its parent hearing of it.
    StatusWithoutCount,
    /// A child came back under its ID after its evaluations were collected.
    ChildReregistered,
    /// A reconcile counted the children of a namesake in another namespace.
    ReconcileMergedNamespaces,
    /// A child was registered again without its ParentID.
    LostParent,
    /// Already so in the oldest usable snapshot.
    Base,
    /// None of the others.
    Unexplained,
}

impl Rule {
    /// Every mechanism.
    pub const ALL: [Rule; 9] = [
        Rule::RegisterWithStatus,
        Rule::DoublePending,
        Rule::ParentRecreated,
        Rule::StatusWithoutCount,
        Rule::ChildReregistered,
        Rule::ReconcileMergedNamespaces,
        Rule::LostParent,
        Rule::Base,
        Rule::Unexplained,
    ];

    /// Its name in output.
    pub fn name(self) -> &'static str {
        match self {
            Rule::RegisterWithStatus => "register_with_status",
            Rule::DoublePending => "double_pending",
            Rule::ParentRecreated => "parent_recreated",
            Rule::StatusWithoutCount => "status_without_count",
            Rule::ChildReregistered => "child_reregistered",
            Rule::ReconcileMergedNamespaces => "reconcile_merged_namespaces",
            Rule::LostParent => "lost_parent",
            Rule::Base => "base",
            Rule::Unexplained => "unexplained",
        }
    }
}

/// An entry by its place in the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Its index.
    pub index: Index,
    /// Its term.
    pub term: Term,
    /// Its message type's name; the log type's for raft's own entries, `snapshot` for the base, and
    /// empty for entries that are lost.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub entry: Arc<str>,
}

/// The entry that made a symptom inevitable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// The mechanism.
    pub rule: Rule,
    /// The guilty entry.
    #[serde(flatten)]
    pub at: Place,
    /// The namespace of `job`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Arc<str>>,
    /// The job that the entry is about: the child, or the purged parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<Arc<str>>,
    /// The status that the child arrived with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Arc<str>>,
    /// Who sent the entry: an ACL token's name, else its accessor ID.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Arc<str>>,
    /// What happened and what can be done, for people.
    pub detail: String,
    /// What a replay with the entry altered showed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
}

/// A replay of a history in which the guilty entry was different.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Proof {
    /// What was altered: `skip N` or `patch N: EXPR`.
    pub altered: String,
    /// `gone` or `stays`.
    pub symptom: &'static str,
}

/// The election before a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LeaderChange {
    /// The first entry of the term.
    pub index: Index,
    /// The term.
    pub term: Term,
}

/// One finding. Which fields are there depends on the kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// What is wrong.
    pub kind: Kind,
    /// How much it matters.
    pub severity: Severity,
    /// The namespace of the job that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Arc<str>>,
    /// The parent whose counters are wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<Arc<str>>,
    /// The job, where it is not about a parent's counters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<Arc<str>>,
    /// The task group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<Arc<str>>,
    /// The counter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counter: Option<&'static str>,
    /// The stored counter for `negative`; stored minus counted for a drift; both at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<i64>,
    /// The lowest value while it lasted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_value: Option<i64>,
    /// What the summary says, at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored: Option<i64>,
    /// What was counted, at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recount: Option<i64>,
    /// The drift at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub final_value: Option<i64>,
    /// Where the symptom shows.
    #[serde(flatten)]
    pub at: Place,
    /// The first entry at which it is gone; null while it lasts. Only for what lasts.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "until_index")]
    pub until: Option<Until>,
    /// That entry's message type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_entry: Option<Arc<str>>,
    /// The message type's number, for an unknown one.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub message_type: Option<u8>,
    /// The ignore flag of an unknown type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignore_flag: Option<bool>,
    /// A part of a refused entry took effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<bool>,
    /// The last index that is lost, for damage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_index: Option<Index>,
    /// What is wrong, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// How sure it is that the entry was committed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub committed: Option<Committed>,
    /// The election before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leader_change: Option<LeaderChange>,
    /// The entry that made it inevitable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
}

/// When something that lasts ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// It lasts.
    Never,
    /// Gone at that entry.
    Index(Index),
}

// serde asks for this signature.
fn until_index<S: Serializer>(until: &Option<Until>, serializer: S) -> Result<S::Ok, S::Error> {
    match until {
        Some(Until::Index(index)) => serializer.serialize_some(index),
        _ => serializer.serialize_none(),
    }
}

impl Finding {
    /// A finding with nothing but its kind, severity and place.
    pub fn new(kind: Kind, severity: Severity, at: Place) -> Self {
        Finding {
            kind,
            severity,
            namespace: None,
            parent: None,
            job: None,
            group: None,
            counter: None,
            value: None,
            min_value: None,
            stored: None,
            recount: None,
            final_value: None,
            at,
            until: None,
            until_entry: None,
            message_type: None,
            ignore_flag: None,
            partial: None,
            last_index: None,
            detail: None,
            committed: None,
            leader_change: None,
            cause: None,
        }
    }

    /// The same about a parent's counters.
    pub fn about_parent(mut self, parent: &JobKey) -> Self {
        self.namespace = Some(parent.namespace.clone());
        self.parent = Some(parent.id.clone());
        self
    }

    /// The same about a job.
    pub fn about_job(mut self, job: &JobKey) -> Self {
        self.namespace = Some(job.namespace.clone());
        self.job = Some(job.id.clone());
        self
    }

    /// It tells about the evidence and not about Nomad's state: by itself it never makes the exit
    /// code 1 (contract.md 2).
    pub fn is_about_evidence(&self) -> bool {
        match self.kind {
            Kind::Gap | Kind::UndecodableEntry | Kind::TermRegression | Kind::KeyMismatch | Kind::Checksum => true,
            Kind::UnknownType => self.ignore_flag != Some(true),
            _ => false,
        }
    }

    /// What stays the same when the same fault is found in another log or another run.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint {
            kind: self.kind,
            namespace: self.namespace.clone(),
            subject: self.parent.clone().or_else(|| self.job.clone()),
            counter: self.counter,
        }
    }
}

/// A fault without its place: never an index, which a compaction would change (contract.md 3).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    /// What is wrong.
    pub kind: Kind,
    /// The namespace.
    pub namespace: Option<Arc<str>>,
    /// The parent, or the job.
    pub subject: Option<Arc<str>>,
    /// The counter.
    pub counter: Option<&'static str>,
}
