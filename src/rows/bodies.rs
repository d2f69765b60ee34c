//! Where rows get the bodies that their origins point to.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::shape::{self, Shape, shape};
use super::value::{Object, Value};
use crate::entry::msgpack::{DecodeError, Reader};
use crate::evidence::snapshot::Snapshot;
use crate::evidence::{EvidenceError, Log};
use crate::fsm::row::{Origin, Source};
use crate::types::Index;

/// Bytes with a place in them.
#[derive(Clone, Debug)]
pub struct Body {
    /// The payload of an entry, or a record of a snapshot.
    pub bytes: Arc<[u8]>,
    /// Where the value begins.
    pub offset: usize,
}

/// Why a row could not be rebuilt.
#[derive(Debug, thiserror::Error)]
pub enum RowError {
    /// The evidence cannot be read again.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    /// The evidence does not hold it any more.
    #[error("{0} held a row's body and cannot be found again; if the log belongs to a running server, run on a copy")]
    Missing(String),
    /// The body cannot be decoded.
    #[error("the body of a row in {place} cannot be read: {error}")]
    Decode {
        /// The entry or the snapshot.
        place: String,
        /// What is wrong.
        error: DecodeError,
    },
}

/// Hands out the values that rows were made from.
pub trait Bodies {
    /// The msgpack value at `origin`.
    ///
    /// # Errors
    /// When the evidence does not hold it, or cannot be read.
    fn body(&self, origin: Origin) -> Result<Body, RowError>;
}

fn place(source: Source) -> String {
    match source {
        Source::Entry(index) => format!("entry {index}"),
        Source::Snapshot(index) => format!("the snapshot at index {index}"),
    }
}

/// Payloads remembered for the next row that points into them: at most this many bytes.
const REMEMBERED: usize = 32 << 20;

#[derive(Default)]
struct Recent {
    payloads: HashMap<Index, Arc<[u8]>>,
    order: VecDeque<Index>,
    bytes: usize,
}

/// Bodies out of a log and the snapshots beside it, read again when they are asked for.
pub struct LogBodies<'a> {
    log: &'a dyn Log,
    snapshots: &'a [Snapshot],
    recent: RefCell<Recent>,
}

impl<'a> LogBodies<'a> {
    /// Bodies out of `log`.
    pub fn new(log: &'a dyn Log) -> Self {
        LogBodies { log, snapshots: &[], recent: RefCell::default() }
    }

    /// The same, and out of `snapshots`.
    pub fn with_snapshots(self, snapshots: &'a [Snapshot]) -> Self {
        LogBodies { snapshots, ..self }
    }

    /// The value at `offset` of the state of the snapshot at `index`.
    fn in_snapshot(&self, index: Index, offset: u64) -> Result<Body, RowError> {
        let there = self.snapshots.iter().filter(|snapshot| snapshot.info().index == index);
        let usable = there.clone().find(|snapshot| snapshot.is_usable());
        // One that is damaged still answers for what of it is whole.
        let snapshot = usable.or_else(|| there.clone().next());
        let snapshot = snapshot.ok_or_else(|| RowError::Missing(place(Source::Snapshot(index))))?;
        Ok(Body { bytes: snapshot.value_at(offset)?.into(), offset: 0 })
    }

    fn payload(&self, index: Index) -> Result<Arc<[u8]>, RowError> {
        if let Some(payload) = self.recent.borrow().payloads.get(&index) {
            return Ok(payload.clone());
        }
        let data = self.log.data(index)?.ok_or_else(|| RowError::Missing(place(Source::Entry(index))))?;
        let payload: Arc<[u8]> = data.into();
        let mut recent = self.recent.borrow_mut();
        recent.bytes += payload.len();
        recent.payloads.insert(index, payload.clone());
        recent.order.push_back(index);
        while recent.bytes > REMEMBERED {
            let Some(oldest) = recent.order.pop_front() else { break };
            let freed = recent.payloads.remove(&oldest).map_or(0, |p| p.len());
            recent.bytes = recent.bytes.saturating_sub(freed);
        }
        Ok(payload)
    }
}

impl Bodies for LogBodies<'_> {
    fn body(&self, origin: Origin) -> Result<Body, RowError> {
        match origin.source {
            Source::Entry(index) => {
                Ok(Body { bytes: self.payload(index)?, offset: usize::try_from(origin.offset).unwrap_or(usize::MAX) })
            }
            Source::Snapshot(index) => self.in_snapshot(index, origin.offset),
        }
    }
}

/// The reading of one value at an origin.
fn read<T>(
    bodies: &dyn Bodies,
    origin: Origin,
    read: impl FnOnce(&mut Reader<'_>) -> Result<T, DecodeError>,
) -> Result<T, RowError> {
    let body = bodies.body(origin)?;
    let mut reader = Reader::at(&body.bytes, body.offset);
    read(&mut reader).map_err(|error| RowError::Decode { place: place(origin.source), error })
}

fn named(name: &str) -> Shape {
    // Every name in this room is in the table, which the tests of the rows show.
    shape(name).unwrap_or_else(Shape::empty)
}

/// The struct `name` at `origin`.
pub(super) fn object(bodies: &dyn Bodies, name: &str, origin: Origin) -> Result<Object, RowError> {
    read(bodies, origin, |r| named(name).read(r))
}

/// The field `field` of the struct `name` at `origin`.
pub(super) fn field(bodies: &dyn Bodies, name: &str, field: &str, origin: Origin) -> Result<Value, RowError> {
    read(bodies, origin, |r| named(name).read_field(r, field))
}

/// The list of structs `name` at `origin`.
pub(super) fn list(bodies: &dyn Bodies, name: &str, origin: Origin) -> Result<Value, RowError> {
    read(bodies, origin, |r| named(name).read_list(r))
}

/// The value at `origin` without knowing its struct.
pub(super) fn any(bodies: &dyn Bodies, origin: Origin) -> Result<Value, RowError> {
    read(bodies, origin, shape::any)
}
