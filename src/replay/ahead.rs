//! Reads and decodes a log on a thread of its own, ahead of the replay that applies it.
//!
//! Entries travel in batches, in order, each with what was decoded of it; a batch that has been applied goes back,
//! and its memory is used again. At most [`IN_FLIGHT`] batches wait, so that a log of any length takes little memory.

use std::ops::{ControlFlow, Range, RangeInclusive};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread;

use jiff::Timestamp;
use self_cell::self_cell;

use crate::entry::message::Message;
use crate::entry::msgpack::Result as Decoded;
use crate::evidence::{Damage, DamageKind, EvidenceError, Log, LogType, Record, Scanned};
use crate::fsm::Decoder;
use crate::types::{Index, Term};

/// Ranges of fewer entries are not worth a thread.
const LEAST: u64 = 1024;

/// Entries of one batch, at most.
const ENTRIES: usize = 512;

/// A batch is handed over when its payloads have this many bytes.
const BYTES: usize = 1 << 20;

/// Payload buffers that grew beyond this for one large entry are not kept.
const KEPT_BYTES: usize = 4 * BYTES;

/// Batches that wait to be applied.
const IN_FLIGHT: usize = 2;

/// An entry without its payload.
struct Head {
    index: Index,
    term: Term,
    kind: LogType,
    appended_at: Option<Timestamp>,
    data: Range<usize>,
    hash: Option<u64>,
}

/// Entries that follow each other, and the damage behind them if there is any.
#[derive(Default)]
struct Batch {
    heads: Vec<Head>,
    bytes: Vec<u8>,
    damage: Option<Damage>,
}

impl Batch {
    fn push(&mut self, record: &Record<'_>, hash: Option<u64>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(record.data);
        let Record { index, term, kind, appended_at, .. } = *record;
        self.heads.push(Head { index, term, kind, appended_at, data: start..self.bytes.len(), hash });
    }

    fn is_full(&self) -> bool {
        self.heads.len() >= ENTRIES || self.bytes.len() >= BYTES
    }

    fn is_empty(&self) -> bool {
        self.heads.is_empty() && self.damage.is_none()
    }

    fn record(&self, head: &Head) -> Record<'_> {
        let data = self.bytes.get(head.data.clone()).unwrap_or_default();
        Record { index: head.index, term: head.term, kind: head.kind, data, appended_at: head.appended_at }
    }

    fn decoded(self, decoder: Decoder) -> Read {
        Read::new(self, |batch| batch.heads.iter().map(|head| decoder.read(&batch.record(head))).collect())
    }

    /// The same memory without what was in it.
    fn emptied(mut self) -> Self {
        self.heads.clear();
        self.bytes.clear();
        if self.bytes.capacity() > KEPT_BYTES {
            self.bytes = Vec::new();
        }
        self.damage = None;
        self
    }
}

/// What was decoded of each entry of a batch.
type Messages<'a> = Vec<Option<Decoded<Message<'a>>>>;

self_cell!(
    /// A batch with the messages that borrow from it.
    struct Read {
        owner: Batch,
        #[covariant]
        dependent: Messages,
    }
);

/// True where reading ahead pays: there is much to read, and a processor for it.
pub(super) fn pays(log: &dyn Log, range: &RangeInclusive<Index>) -> bool {
    let Some((_, last)) = log.bounds() else { return false };
    let entries = last.min(*range.end()).0.saturating_sub(range.start().0);
    entries >= LEAST && thread::available_parallelism().is_ok_and(|n| n.get() > 1)
}

/// What the sink of [`scan`] is called with.
pub(super) enum Met<'a, 'm> {
    /// An entry with its message, `None` for what is no command, and its hash, `None` where nobody asks.
    Entry(Record<'a>, Option<&'m Decoded<Message<'a>>>, Option<u64>),
    /// Damage. The scan ends here unless it is an entry that cannot be decoded.
    Damaged(Damage),
}

/// As [`Log::scan`], with the reading and decoding done on another thread, and the hashing where `hashes` asks for it.
/// The scan ends at the first hole.
///
/// # Errors
/// As [`Log::scan`]; after the entries that could be read.
pub(super) fn scan(
    log: &dyn Log,
    range: RangeInclusive<Index>,
    (decoder, hashes): (Decoder, bool),
    sink: &mut dyn FnMut(Met<'_, '_>) -> ControlFlow<()>,
) -> Result<(), EvidenceError> {
    let (full, batches) = sync_channel(IN_FLIGHT);
    let (back, used) = channel();
    thread::scope(|scope| {
        let reader =
            scope.spawn(move || Reader { full, used, decoder, hashes, batch: Batch::default() }.read(log, range));
        let mut flow = ControlFlow::Continue(());
        for batch in batches.iter() {
            flow = take(&batch, sink);
            if flow.is_break() {
                break;
            }
            // The reader may have ended already.
            let _ = back.send(batch);
        }
        // A reader that still has something to hand over ends when nobody takes it.
        drop(batches);
        match reader.join() {
            // What lies behind the last entry that was asked for does not matter.
            Ok(_) if flow.is_break() => Ok(()),
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn take(batch: &Read, sink: &mut dyn FnMut(Met<'_, '_>) -> ControlFlow<()>) -> ControlFlow<()> {
    batch.with_dependent(|batch, messages| {
        for (head, message) in batch.heads.iter().zip(messages) {
            sink(Met::Entry(batch.record(head), message.as_ref(), head.hash))?;
        }
        batch.damage.clone().map_or(ControlFlow::Continue(()), |damage| sink(Met::Damaged(damage)))
    })
}

/// The thread that reads.
struct Reader {
    full: SyncSender<Read>,
    used: Receiver<Read>,
    decoder: Decoder,
    hashes: bool,
    batch: Batch,
}

impl Reader {
    fn read(mut self, log: &dyn Log, range: RangeInclusive<Index>) -> Result<(), EvidenceError> {
        let result = log.scan(range, &mut |scanned| match scanned {
            Scanned::Entry(record) => {
                self.batch.push(&record, self.hashes.then(|| record.hash()));
                if self.batch.is_full() { self.hand_over() } else { ControlFlow::Continue(()) }
            }
            Scanned::Damaged(damage) => {
                let is_hole = damage.kind != DamageKind::UndecodableEntry;
                self.batch.damage = Some(damage);
                self.hand_over()?;
                if is_hole { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            }
        });
        if !self.batch.is_empty() {
            // Nobody takes it where the replay has ended.
            let _ = self.hand_over();
        }
        result
    }

    fn hand_over(&mut self) -> ControlFlow<()> {
        let next = self.used.try_recv().map_or_else(|_| Batch::default(), |used| used.into_owner().emptied());
        let batch = std::mem::replace(&mut self.batch, next);
        match self.full.send(batch.decoded(self.decoder)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}
