//! Values as bytes, to be read again by the program that wrote them: small numbers take one byte; a text, and a value that several rows
//! share, stands once and has a number from then on.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::fsm::id::{Id, Word};
use crate::types::{Index, JobKey, JobName, Term};

/// The bytes are not what was packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what was packed breaks off or is damaged at byte {at}")]
pub struct BadImage {
    /// Where, in bytes.
    pub at: usize,
}

type Result<T, E = BadImage> = std::result::Result<T, E>;

/// FNV-1a over what was digested so far and some bytes: files that declare what is packed, so that
/// what another program packed is known as such.
pub(crate) const fn fnv(so_far: u64, bytes: &[u8]) -> u64 {
    let mut digest = so_far ^ 0xcbf2_9ce4_8422_2325;
    let mut at = 0;
    while at < bytes.len() {
        digest = (digest ^ bytes[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    digest
}

/// How deep shared values may stand in each other. Rows do so twice or thrice; only the rows that
/// jobs take their resources from make longer chains, and those are packed from the oldest on.
const DEEPEST: usize = 64;

/// Packs values.
#[derive(Default)]
pub(crate) struct Packer {
    bytes: Vec<u8>,
    texts: HashMap<Arc<str>, u64, RandomState>,
    /// The same by their address, which is found sooner; the texts are held, so that no other gets it.
    addresses: HashMap<usize, (Arc<str>, u64), RandomState>,
    /// Shared values by their address, which stays the same while the state does.
    shared: HashMap<usize, u64, RandomState>,
}

/// Reads packed values.
pub(crate) struct Unpacker<'a> {
    bytes: &'a [u8],
    at: usize,
    texts: Vec<Arc<str>>,
    words: Vec<Option<Word>>,
    shared: Vec<Arc<dyn Any + Send + Sync>>,
    depth: usize,
}

/// What can be packed.
pub(crate) trait Pack: Sized {
    /// Appends the value.
    fn pack(&self, out: &mut Packer);

    /// Reads the value.
    ///
    /// # Errors
    /// When the bytes are no such value.
    fn unpack(from: &mut Unpacker<'_>) -> Result<Self>;
}

impl Packer {
    /// What was packed.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// A number in groups of seven bits, the lowest first.
    pub(crate) fn number(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.bytes.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.bytes.push(n as u8);
    }

    /// A text: its number where it was there before, else 0 and the text, which gets the next.
    pub(crate) fn text(&mut self, text: &str, shared: impl FnOnce() -> Arc<str>) {
        self.numbered(text, shared);
    }

    /// The same of a text that rows share.
    fn shared_text(&mut self, text: &Arc<str>) {
        let address = Arc::as_ptr(text).addr();
        if let Some(&(_, known)) = self.addresses.get(&address) {
            return self.number(known);
        }
        let number = self.numbered(text, || text.clone());
        self.addresses.insert(address, (text.clone(), number));
    }

    fn numbered(&mut self, text: &str, shared: impl FnOnce() -> Arc<str>) -> u64 {
        if let Some(&known) = self.texts.get(text) {
            self.number(known);
            return known;
        }
        self.number(0);
        self.number(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
        let next = self.texts.len() as u64 + 1;
        self.texts.insert(shared(), next);
        next
    }
}

fn address<T>(value: &Arc<T>) -> usize {
    Arc::as_ptr(value) as usize
}

impl<'a> Unpacker<'a> {
    /// Reads from the beginning.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Unpacker { bytes, at: 0, texts: Vec::new(), words: Vec::new(), shared: Vec::new(), depth: 0 }
    }

    /// The bytes are not what was packed.
    pub(crate) fn bad(&self) -> BadImage {
        BadImage { at: self.at }
    }

    /// All bytes were read.
    pub(crate) fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    fn byte(&mut self) -> Result<u8> {
        let byte = *self.bytes.get(self.at).ok_or(BadImage { at: self.at })?;
        self.at += 1;
        Ok(byte)
    }

    fn take(&mut self, count: u64) -> Result<&'a [u8]> {
        let end = usize::try_from(count).ok().and_then(|n| self.at.checked_add(n)).ok_or(self.bad())?;
        let taken = self.bytes.get(self.at..end).ok_or(self.bad())?;
        self.at = end;
        Ok(taken)
    }

    /// A number.
    pub(crate) fn number(&mut self) -> Result<u64> {
        let mut n = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            n |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(n);
            }
        }
        Err(self.bad())
    }

    /// How many values follow; each takes at least one byte.
    pub(crate) fn count(&mut self) -> Result<usize> {
        let count = self.number()?;
        let left = self.bytes.len() - self.at;
        usize::try_from(count).ok().filter(|n| *n <= left).ok_or(self.bad())
    }

    /// The place of a text among the texts so far.
    fn text(&mut self) -> Result<usize> {
        match self.number()? {
            0 => {
                let length = self.number()?;
                let text = std::str::from_utf8(self.take(length)?).map_err(|_| self.bad())?;
                self.texts.push(text.into());
                self.words.push(None);
                Ok(self.texts.len() - 1)
            }
            known => usize::try_from(known - 1).map_err(|_| self.bad()),
        }
    }
}

impl Pack for u64 {
    fn pack(&self, out: &mut Packer) {
        out.number(*self);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self> {
        from.number()
    }
}

impl Pack for usize {
    fn pack(&self, out: &mut Packer) {
        out.number(*self as u64);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self> {
        from.number()?.try_into().map_err(|_| from.bad())
    }
}

impl Pack for u8 {
    fn pack(&self, out: &mut Packer) {
        out.bytes.push(*self);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self> {
        from.byte()
    }
}

impl Pack for u32 {
    fn pack(&self, out: &mut Packer) {
        out.number(u64::from(*self));
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self> {
        from.number()?.try_into().map_err(|_| from.bad())
    }
}

impl Pack for i64 {
    fn pack(&self, out: &mut Packer) {
        // Small negative numbers are short as well.
        out.number((*self << 1 ^ *self >> 63) as u64);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self> {
        let n = from.number()?;
        Ok((n >> 1) as i64 ^ -((n & 1) as i64))
    }
}

impl Pack for i32 {
    fn pack(&self, out: &mut Packer) {
        i64::from(*self).pack(out);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self> {
        i64::unpack(from)?.try_into().map_err(|_| from.bad())
    }
}

impl Pack for bool {
    fn pack(&self, out: &mut Packer) {
        out.bytes.push(u8::from(*self));
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self> {
        match from.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(from.bad()),
        }
    }
}

impl<T: Pack + Default, const N: usize> Pack for [T; N] {
    fn pack(&self, out: &mut Packer) {
        self.iter().for_each(|value| value.pack(out));
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self> {
        let mut all = std::array::from_fn(|_| T::default());
        for value in &mut all {
            *value = T::unpack(from)?;
        }
        Ok(all)
    }
}

impl Pack for Index {
    fn pack(&self, out: &mut Packer) {
        self.0.pack(out);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self> {
        from.number().map(Index)
    }
}

impl Pack for Term {
    fn pack(&self, out: &mut Packer) {
        self.0.pack(out);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self> {
        from.number().map(Term)
    }
}

impl Pack for Arc<str> {
    fn pack(&self, out: &mut Packer) {
        out.shared_text(self);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self> {
        let at = from.text()?;
        from.texts.get(at).cloned().ok_or(from.bad())
    }
}

impl Pack for Word {
    fn pack(&self, out: &mut Packer) {
        out.text(self.as_str(), || self.as_str().into());
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self> {
        let at = from.text()?;
        let (Some(text), Some(word)) = (from.texts.get(at), from.words.get_mut(at)) else { return Err(from.bad()) };
        Ok(word.get_or_insert_with(|| Word::new(text)).clone())
    }
}

impl Pack for Id {
    fn pack(&self, out: &mut Packer) {
        match self {
            Id::Empty => out.bytes.push(0),
            Id::Uuid(bytes) => {
                out.bytes.push(1);
                bytes.pack(out);
            }
            Id::Text(text) => {
                out.bytes.push(2);
                text.pack(out);
            }
        }
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self> {
        match from.byte()? {
            0 => Ok(Id::Empty),
            1 => Pack::unpack(from).map(Id::Uuid),
            2 => Pack::unpack(from).map(Id::Text),
            _ => Err(from.bad()),
        }
    }
}

impl<T: Pack + Any + Send + Sync> Pack for Arc<T> {
    fn pack(&self, out: &mut Packer) {
        if let Some(&known) = out.shared.get(&address(self)) {
            return out.number(known);
        }
        out.number(0);
        T::pack(self, out);
        // Counted once it is whole: what stands in it was counted before.
        let next = out.shared.len() as u64 + 1;
        out.shared.insert(address(self), next);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self> {
        let known = match from.number()? {
            0 => {
                if from.depth == DEEPEST {
                    return Err(from.bad());
                }
                from.depth += 1;
                let value = Arc::new(T::unpack(from)?);
                from.depth -= 1;
                from.shared.push(value.clone());
                return Ok(value);
            }
            known => usize::try_from(known - 1).map_err(|_| from.bad())?,
        };
        from.shared.get(known).cloned().and_then(|value| value.downcast().ok()).ok_or(from.bad())
    }
}

impl<T: Pack> Pack for Box<T> {
    fn pack(&self, out: &mut Packer) {
        T::pack(self, out);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self> {
        T::unpack(from).map(Box::new)
    }
}

impl<T: Pack + Ord> Pack for BTreeSet<T> {
    fn pack(&self, out: &mut Packer) {
        out.number(self.len() as u64);
        self.iter().for_each(|value| value.pack(out));
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self> {
        let count = from.count()?;
        (0..count).map(|_| T::unpack(from)).collect()
    }
}

impl<K: Pack + Ord, V: Pack> Pack for BTreeMap<K, V> {
    fn pack(&self, out: &mut Packer) {
        out.number(self.len() as u64);
        for (key, value) in self {
            key.pack(out);
            value.pack(out);
        }
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self> {
        let count = from.count()?;
        (0..count).map(|_| Ok((K::unpack(from)?, V::unpack(from)?))).collect()
    }
}

impl<T: Pack> Pack for Option<T> {
    fn pack(&self, out: &mut Packer) {
        self.is_some().pack(out);
        if let Some(value) = self {
            value.pack(out);
        }
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self> {
        Ok(if bool::unpack(from)? { Some(T::unpack(from)?) } else { None })
    }
}

impl<T: Pack> Pack for Vec<T> {
    fn pack(&self, out: &mut Packer) {
        out.number(self.len() as u64);
        self.iter().for_each(|value| value.pack(out));
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self> {
        let count = from.count()?;
        (0..count).map(|_| T::unpack(from)).collect()
    }
}

impl<T: Pack> Pack for Arc<[T]> {
    fn pack(&self, out: &mut Packer) {
        out.number(self.len() as u64);
        self.iter().for_each(|value| value.pack(out));
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self> {
        Vec::unpack(from).map(Into::into)
    }
}

impl<K: Pack + Eq + Hash, V: Pack, S: BuildHasher + Default> Pack for HashMap<K, V, S> {
    fn pack(&self, out: &mut Packer) {
        out.number(self.len() as u64);
        for (key, value) in self {
            key.pack(out);
            value.pack(out);
        }
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self> {
        let count = from.count()?;
        (0..count).map(|_| Ok((K::unpack(from)?, V::unpack(from)?))).collect()
    }
}

impl<T: Pack> Pack for VecDeque<T> {
    fn pack(&self, out: &mut Packer) {
        out.number(self.len() as u64);
        self.iter().for_each(|value| value.pack(out));
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self> {
        Vec::unpack(from).map(Into::into)
    }
}

impl Pack for String {
    fn pack(&self, out: &mut Packer) {
        out.text(self, || self.as_str().into());
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self> {
        Arc::<str>::unpack(from).map(|text| text.to_string())
    }
}

impl<A: Pack, B: Pack, C: Pack> Pack for (A, B, C) {
    fn pack(&self, out: &mut Packer) {
        self.0.pack(out);
        self.1.pack(out);
        self.2.pack(out);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self> {
        Ok((A::unpack(from)?, B::unpack(from)?, C::unpack(from)?))
    }
}

impl<A: Pack, B: Pack> Pack for (A, B) {
    fn pack(&self, out: &mut Packer) {
        self.0.pack(out);
        self.1.pack(out);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self> {
        Ok((A::unpack(from)?, B::unpack(from)?))
    }
}

/// Packs structs field by field; that every field is named, the compiler checks.
macro_rules! pack {
    ($($row:ident { $($field:ident),* $(,)? })*) => {
        $(impl $crate::pack::Pack for $row {
            fn pack(&self, out: &mut $crate::pack::Packer) {
                let $row { $($field),* } = self;
                $($crate::pack::Pack::pack($field, out);)*
            }

            fn unpack(from: &mut $crate::pack::Unpacker<'_>) -> Result<Self, $crate::pack::BadImage> {
                $(let $field = $crate::pack::Pack::unpack(from)?;)*
                Ok($row { $($field),* })
            }
        })*
    };
}
pub(crate) use pack;

/// Packs enums of one value each: a number for the variant, then the value; that every variant is
/// named, the compiler checks.
macro_rules! pack_enum {
    ($($name:ident { $($number:literal $variant:ident($value:ident))* })*) => {
        $(impl $crate::pack::Pack for $name {
            fn pack(&self, out: &mut $crate::pack::Packer) {
                match self {
                    $($name::$variant($value) => {
                        out.number($number);
                        $crate::pack::Pack::pack($value, out);
                    })*
                }
            }

            fn unpack(from: &mut $crate::pack::Unpacker<'_>) -> Result<Self, $crate::pack::BadImage> {
                match from.number()? {
                    $($number => $crate::pack::Pack::unpack(from).map($name::$variant),)*
                    _ => Err(from.bad()),
                }
            }
        })*
    };
}
pub(crate) use pack_enum;

/// Packs enums without values by the names that they have in output, which `$names` lists.
macro_rules! pack_named {
    ($($name:ident from $all:expr),* $(,)?) => {
        $(impl $crate::pack::Pack for $name {
            fn pack(&self, out: &mut $crate::pack::Packer) {
                out.text(self.name(), || self.name().into());
            }

            fn unpack(from: &mut $crate::pack::Unpacker<'_>) -> Result<Self, $crate::pack::BadImage> {
                let name = std::sync::Arc::<str>::unpack(from)?;
                $all.iter().copied().find(|one| one.name() == &*name).ok_or(from.bad())
            }
        })*
    };
}
pub(crate) use pack_named;

pack! {
    JobName { namespace, id }
}

impl Pack for JobKey {
    fn pack(&self, out: &mut Packer) {
        JobName::pack(self, out);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self> {
        Ok(JobName::unpack(from)?.into())
    }
}
