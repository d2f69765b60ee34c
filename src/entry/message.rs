//! Messages for the FSM: the type byte decides which body is read (fsm.md 1).

use super::body::{alloc, deployment, eval, job, misc, node};
use super::msgpack::{Reader, Result};
use super::wire::Wire;

macro_rules! messages {
    ($($(#[$meta:meta])* $number:literal $name:ident($body:ty),)*) => {
        /// A decoded command. Types whose bodies decide nothing that is replayed are [`Message::Other`].
        #[derive(Clone, Debug, PartialEq)]
        pub enum Message<'a> {
            $($(#[$meta])* $name($body),)*
            /// A type whose body is not read here.
            Other(u8),
        }

        impl<'a> Message<'a> {
            /// Reads a command's payload: the type byte, with or without the ignore flag, and the
            /// body. Bytes behind the body are ignored, as a server does. `None` without a byte.
            ///
            /// # Errors
            /// When the body is no message of its type.
            pub fn read(data: &'a [u8]) -> Option<Result<Self>> {
                let kind = super::split(data)?.kind;
                let mut body = Reader::at(data, 1);
                Some(match kind {
                    $($number => Wire::read(&mut body).map(Message::$name),)*
                    other => Ok(Message::Other(other)),
                })
            }
        }
    };
}

messages! {
    /// A node joins or changes.
    0 NodeRegister(node::NodeRegister<'a>),
    /// A node goes.
    1 NodeDeregister(node::NodeDeregister<'a>),
    /// A node's status.
    2 NodeUpdateStatus(node::NodeUpdateStatus<'a>),
    /// A node's drain.
    3 NodeUpdateDrain(node::NodeUpdateDrain<'a>),
    /// A job is submitted.
    4 JobRegister(job::JobRegister<'a>),
    /// A job is stopped or purged.
    5 JobDeregister(job::JobDeregister<'a>),
    /// Evaluations are made or changed.
    6 EvalUpdate(eval::EvalUpdate<'a>),
    /// Evaluations and allocations are collected.
    7 EvalDelete(eval::EvalDelete<'a>),
    /// Allocations of old writers.
    8 AllocUpdate(alloc::AllocUpdate<'a>),
    /// What clients report of allocations.
    9 AllocClientUpdate(alloc::AllocUpdate<'a>),
    /// Summaries are computed anew; the body is never read.
    10 ReconcileJobSummaries(Unread),
    /// A scheduler's plan.
    13 ApplyPlanResults(Box<alloc::ApplyPlanResults<'a>>),
    /// A deployment's status.
    14 DeploymentStatusUpdate(deployment::DeploymentStatusUpdate<'a>),
    /// Canaries are promoted.
    15 DeploymentPromote(deployment::DeploymentPromote<'a>),
    /// Health by hand.
    16 DeploymentAllocHealth(deployment::DeploymentAllocHealth<'a>),
    /// Deployments are collected.
    17 DeploymentDelete(deployment::DeploymentDelete<'a>),
    /// A version is marked stable or not.
    18 JobStability(job::JobStability<'a>),
    /// Events of nodes.
    25 UpsertNodeEvents(node::UpsertNodeEvents<'a>),
    /// Many jobs are stopped or purged.
    26 JobBatchDeregister(job::JobBatchDeregister<'a>),
    /// The scheduler is asked to move allocations.
    27 AllocUpdateDesiredTransition(alloc::DesiredTransitions<'a>),
    /// A node's eligibility.
    28 NodeUpdateEligibility(node::NodeUpdateEligibility<'a>),
    /// Drains of many nodes.
    29 BatchNodeUpdateDrain(node::BatchNodeUpdateDrain<'a>),
    /// The scheduler configuration.
    30 SchedulerConfig(misc::SchedulerSetConfig<'a>),
    /// Many nodes go.
    31 NodeBatchDeregister(node::NodeBatchDeregister<'a>),
    /// Node pools are made or changed.
    59 NodePoolUpsert(misc::NodePoolUpsert<'a>),
    /// Node pools go.
    60 NodePoolDelete(misc::NodePoolDelete<'a>),
    /// A job version gets or loses a tag.
    61 JobVersionTag(job::JobApplyTag<'a>),
    /// Namespaces are made or changed.
    64 NamespaceUpsert(misc::NamespaceUpsert<'a>),
    /// Namespaces go.
    65 NamespaceDelete(misc::NamespaceDelete<'a>),
}

/// A body that servers do not look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unread;

impl<'a> Wire<'a> for Unread {
    fn read(_: &mut Reader<'a>) -> Result<Self> {
        Ok(Unread)
    }
}

impl<'a, T: Wire<'a>> Wire<'a> for Box<T> {
    fn read(r: &mut Reader<'a>) -> Result<Self> {
        T::read(r).map(Box::new)
    }
}
