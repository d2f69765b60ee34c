//! Rows of the state as `nomad operator raft state` prints them, rebuilt from the entries that supplied them.
//!
//! A row of the FSM keeps what decides statuses and counts, and where the rest of it stands in the evidence
//! ([`Origin`](crate::fsm::row::Origin)). Here the body is read again, put into the newest Nomad's shape, given the
//! defaults that the FSM fills in, and overlaid with what the FSM changed since.

pub mod acl;
pub mod alloc;
pub mod bodies;
pub mod canonical;
pub mod csi;
pub mod delta;
pub mod eval;
pub mod held;
pub mod job;
pub mod node;
pub mod other;
pub mod scaling;
pub mod shape;
pub mod value;

use std::io::{self, Write};

pub use bodies::{Bodies, LogBodies, RowError};

use crate::entry::json::text;
use crate::fsm::state::State;
use crate::fsm::table::{RowKey, TableName, TableRow};
use crate::redact::{Owner, Place, Redactor};
use value::{Object, Value};

macro_rules! tables {
    ($($(#[$meta:meta])* $name:ident,)*) => {
        /// A table of the state, under Nomad's name for it, in the order in which they are printed (state-rows.md 1.1).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Table {
            $($(#[$meta])* $name,)*
        }

        impl Table {
            /// Every table in the order of output: Nomad's by name, then ours.
            pub const ALL: &[Table] = &[$(Table::$name,)*];

            /// Its key in the document.
            pub fn name(self) -> &'static str {
                match self {
                    $(Table::$name => stringify!($name),)*
                }
            }
        }
    };
}

tables! {
    /// ACL policies.
    ACLPolicies,
    /// ACL tokens.
    ACLTokens,
    /// Allocations.
    Allocs,
    /// CSI plugins.
    CSIPlugins,
    /// CSI volumes.
    CSIVolumes,
    /// Deployments.
    Deployments,
    /// Evaluations.
    Evals,
    /// The last index of each of the server's own tables.
    Indexes,
    /// Summaries of jobs.
    JobSummaries,
    /// Every kept version of each job.
    JobVersions,
    /// Jobs.
    Jobs,
    /// Nodes.
    Nodes,
    /// The last launch of each periodic job.
    PeriodicLaunches,
    /// Keys of the keyring, without their material.
    RootKeys,
    /// Scaling events of jobs.
    ScalingEvents,
    /// Scaling policies.
    ScalingPolicies,
    /// Namespaces; Nomad's tool does not print them.
    Namespaces,
    /// Node pools; Nomad's tool does not print them.
    NodePools,
    /// Job restarts of the early design.
    JobRestarts,
    /// Accessors of Consul tokens, which Nomad's tool printed up to 1.9.
    SITokenAccessors,
    /// Accessors of Vault tokens, which Nomad's tool printed up to 1.9.
    VaultAccessors,
    /// ACL auth methods; from here on only where they are asked for by name.
    ACLAuthMethods,
    /// ACL binding rules.
    ACLBindingRules,
    /// ACL roles.
    ACLRoles,
    /// The autopilot configuration.
    AutopilotConfig,
    /// The cluster's ID.
    ClusterMetadata,
    /// Dynamic host volumes.
    HostVolumes,
    /// Submitted sources of jobs.
    JobSubmissions,
    /// One-time tokens.
    OneTimeTokens,
    /// The scheduler configuration.
    SchedulerConfig,
    /// Service registrations.
    ServiceRegistrations,
    /// Claims of host volumes by task groups.
    TaskGroupHostVolumeClaims,
    /// Variables, encrypted.
    Variables,
    /// Bytes of variables by namespace.
    VariablesQuotas,
}

impl Table {
    /// The table of that name, in any case.
    pub fn parse(name: &str) -> Option<Self> {
        Table::ALL.iter().copied().find(|table| table.name().eq_ignore_ascii_case(name.trim()))
    }

    /// It is a part of the state where no tables are asked for by name.
    pub fn is_default(self) -> bool {
        self < Table::ACLAuthMethods
    }

    /// Where its rows stand, for what of them is secret.
    pub fn place(self) -> Place {
        Place::Fields(match self {
            Table::SITokenAccessors | Table::VaultAccessors => Owner::Accessor,
            Table::ACLAuthMethods => Owner::AuthMethod,
            Table::JobSubmissions => Owner::Submission,
            Table::Variables => Owner::Variable,
            _ => Owner::Any,
        })
    }

    /// The table under which the rows of one of the FSM's shared tables are printed.
    pub fn of(shared: TableName) -> Option<Self> {
        Table::ALL.iter().copied().find(|table| table.name() == shared.name())
    }

    /// The table of the FSM that holds its rows, for those that share one map.
    fn shared(self) -> Option<TableName> {
        TableName::ALL.iter().copied().find(|table| table.name() == self.name())
    }
}

/// A row of one of the tables that share one map.
fn shared_row(key: &RowKey, row: &TableRow, bodies: &dyn Bodies) -> Result<Object, RowError> {
    match row {
        TableRow::Policy(row) => acl::policy(row, bodies),
        TableRow::Plain(row) => acl::plain(row.origin, row.indexes, bodies),
        TableRow::JobRestart(row) => other::job_restart(row, bodies),
        TableRow::Token(row) => acl::token(row, bodies),
        TableRow::Role(row) => acl::plain(row.origin, row.indexes, bodies),
        TableRow::AuthMethod(row) => acl::plain(row.origin, row.indexes, bodies),
        TableRow::BindingRule(row) => acl::plain(row.origin, row.indexes, bodies),
        TableRow::OneTimeToken(row) => acl::plain(row.origin, row.indexes, bodies),
        TableRow::Cluster(row) => acl::as_carried(row.origin, bodies),
        TableRow::Scheduler(row) => other::scheduler(row, bodies),
        TableRow::RootKey(row) => acl::root_key(&key.id, row, bodies),
        TableRow::Variable(row) => other::variable(row, bodies),
        TableRow::Quota(row) => Ok(other::quota(key, row)),
        TableRow::Service(row) => acl::plain(row.origin, row.indexes, bodies),
        TableRow::ScalingEvents(row) => scaling::events(key, row, bodies),
        TableRow::ScalingPolicy(row) => scaling::policy(row, bodies),
        TableRow::Plugin(row) => csi::plugin(row, bodies),
        TableRow::Volume(row) => csi::volume(row, bodies),
        TableRow::HostVolume(row) => other::host_volume(row, bodies),
        TableRow::VolumeClaim(row) => Ok(other::volume_claim(key, row)),
        TableRow::Submissions(_) => Ok(Object::default()),
    }
}

/// Why a state could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A row could not be rebuilt.
    #[error(transparent)]
    Row(#[from] RowError),
    /// The output refused.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Writes the tables `wanted` of the whole state as one JSON object of lists of rows, compact, row by row. Tables
/// come in their own order, whatever that of `wanted`; ours ([`Table::Namespaces`] and on) only when they have rows.
///
/// # Errors
/// When a row cannot be rebuilt, or the output refuses.
pub fn write(
    state: &State,
    bodies: &dyn Bodies,
    wanted: &[Table],
    redactor: &mut Redactor,
    out: &mut dyn Write,
) -> Result<(), WriteError> {
    let mut buffer = vec![b'{'];
    let mut first_table = true;
    for &table in Table::ALL.iter().filter(|table| wanted.contains(table)) {
        let mut first = true;
        let open = |buffer: &mut Vec<u8>, first_table: &mut bool| {
            if !std::mem::take(first_table) {
                buffer.push(b',');
            }
            text::string(buffer, table.name());
            buffer.extend_from_slice(b":[");
        };
        for (_, row) in held::all(table, state) {
            if std::mem::take(&mut first) {
                open(&mut buffer, &mut first_table);
            } else {
                buffer.push(b',');
            }
            Value::from(row.build(bodies)?).write(table.place(), redactor, &mut buffer);
            if buffer.len() >= FLUSH {
                out.write_all(&buffer)?;
                buffer.clear();
            }
        }
        if first && table < Table::Namespaces {
            open(&mut buffer, &mut first_table);
            first = false;
        }
        if !first {
            buffer.push(b']');
        }
    }
    buffer.push(b'}');
    out.write_all(&buffer)?;
    Ok(())
}

/// Bytes gathered before they go to the output.
const FLUSH: usize = 256 << 10;
