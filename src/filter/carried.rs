//! What an entry itself carries: its jobs, evaluations, allocations, nodes and deployments.
//!
//! Only the keys that a filter can ask for are read; everything else is skipped. Facts of a body
//! that ends early are those that stand before the fault.

use std::borrow::Cow;

use super::{EntryType, Facts, JobFact};
use crate::entry::body::restart::{JobRestart, is_its_shape};
use crate::entry::msgpack::{DecodeError, Reader, Result, Token};
use crate::entry::wire::Wire;
use crate::evidence::{LogType, Record};

/// The facts of an entry, and why its body could not be read to the end.
///
/// The second part is `None` for an entry that was read; the command without a byte has the type
/// [`EntryType::Raft`] of [`LogType::Command`].
pub fn facts<'a>(record: &Record<'a>) -> (Facts<'a>, Option<DecodeError>) {
    let kind = entry_type(record);
    let mut facts = Facts::of(record.index, record.term, kind);
    let error = match (kind, record.data.get(1..)) {
        (EntryType::Command(number), Some(body)) if MAY_BE_RESTARTS.contains(&number) && is_its_shape(body) => {
            job_restart(&mut Reader::new(body), &mut facts).err()
        }
        (EntryType::Command(number), Some(body)) => request(number, &mut Reader::new(body), &mut facts).err(),
        _ => None,
    };
    (facts, error)
}

/// The type of an entry: of a command the low seven bits of its first byte (fsm.md 1).
pub fn entry_type(record: &Record<'_>) -> EntryType {
    match (record.kind, record.data.first()) {
        (LogType::Command, Some(byte)) => EntryType::Command(byte & 0x7f),
        (kind, _) => EntryType::Raft(kind),
    }
}

/// What can stand behind a key and has facts in it.
#[derive(Clone, Copy)]
enum Shape {
    Job,
    Eval,
    Alloc,
    Deployment,
    Node,
    /// Something that lies in a namespace and may name a job, an allocation, a node: a service
    /// registration, a volume claim, an accessor, a host volume, a variable.
    Thing,
    EvalId,
    AllocId,
    NodeId,
    DeploymentId,
    /// The name of a namespace.
    Namespace,
}

/// The keys of requests, with what they hold. Where a key holds an array or a map, each item or
/// each key is meant (fsm.md 3, storage.md 4).
fn of_request(number: u8, key: &[u8]) -> Option<Shape> {
    Some(match (number, key) {
        (7, b"Evals") => Shape::EvalId,
        (7 | 27, b"Allocs") => Shape::AllocId,
        (_, b"Job") => Shape::Job,
        (_, b"Eval" | b"Evals" | b"PreemptionEvals") => Shape::Eval,
        (_, b"EvalID") => Shape::EvalId,
        (_, b"Alloc" | b"AllocsStopped" | b"AllocsUpdated" | b"AllocsPreempted" | b"NodePreemptions") => Shape::Alloc,
        (_, b"HealthyAllocationIDs" | b"UnhealthyAllocationIDs") => Shape::AllocId,
        (_, b"Deployment" | b"DeploymentUpdate" | b"DeploymentUpdates") => Shape::Deployment,
        (_, b"Deployments" | b"DeploymentID") => Shape::DeploymentId,
        (0, b"Node") => Shape::Node,
        (_, b"NodeID" | b"NodeIDs" | b"NodeEvents" | b"IneligibleNodes") => Shape::NodeId,
        (29, b"Updates") => Shape::NodeId,
        (64, b"Namespaces") => Shape::Thing,
        (65, b"Namespaces") => Shape::Namespace,
        (11 | 12 | 33 | 34, b"Accessors") | (47, b"Services") | (39, b"Claims") | (75, b"Volume") | (50, b"Var") => {
            Shape::Thing
        }
        (35, b"Volumes") => Shape::Thing,
        (37, b"AllocationID") => Shape::AllocId,
        _ => return None,
    })
}

/// True for requests whose own `JobID` and `Namespace` name a job.
fn names_a_job(number: u8) -> bool {
    matches!(number, 5 | 18 | 38 | 61)
}

/// Numbers that builds with another table can have given to job restarts: those behind the releases of before.
const MAY_BE_RESTARTS: std::ops::RangeInclusive<u8> = 41..=127;

/// A job restart of the early design: known by its keys, since its number is not fixed.
fn job_restart<'a>(r: &mut Reader<'a>, facts: &mut Facts<'a>) -> Result<()> {
    let restart = JobRestart::read(r)?;
    restart.restarted.into_iter().for_each(|id| push(&mut facts.allocs, id));
    facts.add_job(JobFact { namespace: Some(restart.namespace), job: Some(restart.job_id), ..JobFact::default() });
    Ok(())
}

fn request<'a>(number: u8, r: &mut Reader<'a>, facts: &mut Facts<'a>) -> Result<()> {
    let mut own = JobFact::default();
    r.fields(|key, r| {
        if names_a_job(number) && key == b"JobID" {
            own.job = Some(text(r)?);
            return Ok(());
        }
        if names_a_job(number) && key == b"Namespace" {
            own.namespace = Some(text(r)?);
            return Ok(());
        }
        match of_request(number, key) {
            Some(shape) => each(shape, r, facts),
            None if number == 26 && key == b"Jobs" => job_keys(r, facts),
            None => r.skip(),
        }
    })?;
    if own.job.is_some() {
        facts.add_job(own);
    }
    Ok(())
}

fn text<'a>(r: &mut Reader<'a>) -> Result<Cow<'a, str>> {
    r.text()
}

/// One value of a shape, or each item of an array of them.
fn each<'a>(shape: Shape, r: &mut Reader<'a>, facts: &mut Facts<'a>) -> Result<()> {
    match r.clone().token()? {
        Token::Array(_) => r.items(|r| one(shape, r, facts)).map(|_| ()),
        _ => one(shape, r, facts),
    }
}

/// One value of a shape, or each key of a map of IDs. Whatever has another form is skipped.
fn one<'a>(shape: Shape, r: &mut Reader<'a>, facts: &mut Facts<'a>) -> Result<()> {
    let mut ahead = r.clone();
    match ahead.token()? {
        Token::Map(n) => match shape {
            Shape::Job => job(r, facts),
            Shape::Eval => eval(r, facts),
            Shape::Alloc => alloc(r, facts),
            Shape::Deployment => deployment(r, facts),
            Shape::Node => node(r, facts),
            Shape::Thing => thing(r, facts),
            // Maps by ID: node events, drain updates, desired transitions.
            Shape::EvalId | Shape::AllocId | Shape::NodeId | Shape::DeploymentId | Shape::Namespace => {
                *r = ahead;
                for _ in 0..n {
                    id(shape, text(r)?, facts);
                    r.skip()?;
                }
                Ok(())
            }
        },
        Token::Raw(_) => {
            id(shape, text(r)?, facts);
            Ok(())
        }
        _ => r.skip(),
    }
}

/// Text where a shape stands: an ID, for the shapes that are IDs.
fn id<'a>(shape: Shape, id: Cow<'a, str>, facts: &mut Facts<'a>) {
    match shape {
        Shape::EvalId => push(&mut facts.evals, id),
        Shape::AllocId => push(&mut facts.allocs, id),
        Shape::NodeId => push(&mut facts.nodes, id),
        Shape::DeploymentId => push(&mut facts.deployments, id),
        Shape::Namespace => facts.add_job(JobFact { namespace: Some(id), ..JobFact::default() }),
        Shape::Job | Shape::Eval | Shape::Alloc | Shape::Deployment | Shape::Node | Shape::Thing => {}
    }
}

/// Adds an ID; empty ones name nothing.
fn push<'a>(ids: &mut Vec<Cow<'a, str>>, id: Cow<'a, str>) {
    if !id.is_empty() && ids.last() != Some(&id) {
        ids.push(id);
    }
}

fn job<'a>(r: &mut Reader<'a>, facts: &mut Facts<'a>) -> Result<()> {
    let empty = || Some(Cow::Borrowed(""));
    let mut job = JobFact { namespace: empty(), job: None, parent: empty(), status: empty() };
    r.fields(|key, r| {
        match key {
            b"ID" => job.job = Some(text(r)?),
            b"Namespace" => job.namespace = Some(text(r)?),
            b"ParentID" => job.parent = Some(text(r)?),
            b"Status" => job.status = Some(text(r)?),
            _ => r.skip()?,
        }
        Ok(())
    })?;
    facts.add_job(job);
    Ok(())
}

fn eval<'a>(r: &mut Reader<'a>, facts: &mut Facts<'a>) -> Result<()> {
    let mut job = JobFact::default();
    r.fields(|key, r| {
        match key {
            b"ID" => push(&mut facts.evals, text(r)?),
            b"JobID" => job.job = Some(text(r)?),
            b"Namespace" => job.namespace = Some(text(r)?),
            b"NodeID" => push(&mut facts.nodes, text(r)?),
            b"DeploymentID" => push(&mut facts.deployments, text(r)?),
            _ => r.skip()?,
        }
        Ok(())
    })?;
    add_named(facts, job);
    Ok(())
}

/// Adds what names a job by its ID; an omitted namespace is an empty one.
fn add_named<'a>(facts: &mut Facts<'a>, mut job: JobFact<'a>) {
    if job.job.as_deref().is_some_and(|id| !id.is_empty()) {
        job.namespace.get_or_insert_default();
        facts.add_job(job);
    }
}

fn alloc<'a>(r: &mut Reader<'a>, facts: &mut Facts<'a>) -> Result<()> {
    let mut job = JobFact::default();
    r.fields(|key, r| {
        match key {
            b"ID" => push(&mut facts.allocs, text(r)?),
            b"EvalID" => push(&mut facts.evals, text(r)?),
            b"NodeID" => push(&mut facts.nodes, text(r)?),
            b"DeploymentID" => push(&mut facts.deployments, text(r)?),
            b"JobID" => job.job = Some(text(r)?),
            b"Namespace" => job.namespace = Some(text(r)?),
            // The copy's status is as old as the copy and says nothing of the job (nomad #9386).
            b"Job" => {
                r.fields(|key, r| {
                    match key {
                        b"ParentID" => job.parent = Some(text(r)?),
                        _ => r.skip()?,
                    }
                    Ok(())
                })?;
            }
            _ => r.skip()?,
        }
        Ok(())
    })?;
    add_named(facts, job);
    Ok(())
}

fn deployment<'a>(r: &mut Reader<'a>, facts: &mut Facts<'a>) -> Result<()> {
    let mut job = JobFact::default();
    r.fields(|key, r| {
        match key {
            b"ID" | b"DeploymentID" => push(&mut facts.deployments, text(r)?),
            b"JobID" => job.job = Some(text(r)?),
            b"Namespace" => job.namespace = Some(text(r)?),
            _ => r.skip()?,
        }
        Ok(())
    })?;
    add_named(facts, job);
    Ok(())
}

fn node<'a>(r: &mut Reader<'a>, facts: &mut Facts<'a>) -> Result<()> {
    r.fields(|key, r| {
        match key {
            b"ID" => push(&mut facts.nodes, text(r)?),
            _ => r.skip()?,
        }
        Ok(())
    })?;
    Ok(())
}

fn thing<'a>(r: &mut Reader<'a>, facts: &mut Facts<'a>) -> Result<()> {
    let mut job = JobFact::default();
    let mut name = None;
    r.fields(|key, r| {
        match key {
            b"JobID" => job.job = Some(text(r)?),
            b"Namespace" => job.namespace = Some(text(r)?),
            b"Name" => name = Some(text(r)?),
            b"AllocID" | b"AllocationID" => push(&mut facts.allocs, text(r)?),
            b"NodeID" => push(&mut facts.nodes, text(r)?),
            _ => r.skip()?,
        }
        Ok(())
    })?;
    if facts.kind == EntryType::Command(64) {
        job.namespace = name;
    }
    if job.namespace.is_some() || job.job.is_some() {
        facts.add_job(job);
    }
    Ok(())
}

/// The keys of a batch deregister's jobs: maps of ID and Namespace (storage.md 4.2).
fn job_keys<'a>(r: &mut Reader<'a>, facts: &mut Facts<'a>) -> Result<()> {
    let Some(n) = r.map()? else { return Ok(()) };
    for _ in 0..n {
        let mut named = JobFact::default();
        r.fields(|key, r| {
            match key {
                b"ID" => named.job = Some(text(r)?),
                b"Namespace" => named.namespace = Some(text(r)?),
                _ => r.skip()?,
            }
            Ok(())
        })?;
        add_named(facts, named);
        r.skip()?;
    }
    Ok(())
}
