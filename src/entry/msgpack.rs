//! A reader for the msgpack that Nomad and raft write, which borrows from the entry.
//!
//! The writers use the old raw family for text and for bytes, but every newer form is
//! accepted as well (storage.md 3.3). nil stands for the zero value of any type. Nothing
//! here allocates from a length that the input claims: every claim is first held against
//! the bytes that are left.

use std::borrow::Cow;

/// Why bytes are not the msgpack that was expected, with the offset at which it showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The input ends inside a value.
    #[error("the data ends early, at byte {at}")]
    Eof {
        /// Offset from the start of the reader's buffer.
        at: usize,
    },
    /// A value has another type than its field.
    #[error("byte {at} holds {found} where {wanted} belongs")]
    Type {
        /// Offset of the value's first byte.
        at: usize,
        /// What the field holds.
        wanted: &'static str,
        /// What the value is.
        found: &'static str,
    },
    /// The one byte that msgpack never uses (0xc1).
    #[error("byte {at} is no msgpack")]
    Invalid {
        /// Offset of the byte.
        at: usize,
    },
    /// Values are nested deeper than [`MAX_DEPTH`].
    #[error("values are nested deeper than {MAX_DEPTH} at byte {at}")]
    Depth {
        /// Offset of the value that is one too deep.
        at: usize,
    },
}

/// The deepest nesting that recursive readers follow. Nomad's deepest bodies stay below 30.
pub const MAX_DEPTH: usize = 128;

/// By head, the bytes of a value whose head alone tells them; 0 for all others.
const SIZES: [u8; 256] = {
    let mut sizes = [0; 256];
    let mut head = 0;
    while head < 256 {
        sizes[head] = match head {
            0x00..=0x7f | 0xc0 | 0xc2 | 0xc3 | 0xe0..=0xff => 1,
            0xa0..=0xbf => 1 + (head as u8 & 0x1f),
            0xcc | 0xd0 => 2,
            0xcd | 0xd1 | 0xd4 => 3,
            0xd5 => 4,
            0xca | 0xce | 0xd2 => 5,
            0xd6 => 6,
            0xcb | 0xcf | 0xd3 => 9,
            0xd7 => 10,
            0xd8 => 18,
            _ => 0,
        };
        head += 1;
    }
    sizes
};

/// One msgpack head, with the content of scalars; the items of containers follow in the input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Token<'a> {
    /// nil, which is the zero value of every type.
    Nil,
    /// A boolean.
    Bool(bool),
    /// A negative integer, or any that was written as a signed one.
    Int(i64),
    /// An integer above the signed range or written as unsigned.
    Uint(u64),
    /// A float of either width.
    Float(f64),
    /// Text or bytes: raw, str and bin families alike.
    Raw(&'a [u8]),
    /// An array of that many values.
    Array(u32),
    /// A map of that many pairs.
    Map(u32),
    /// An extension: its type and its content.
    Ext(i8, &'a [u8]),
}

impl Token<'_> {
    fn name(&self) -> &'static str {
        match self {
            Token::Nil => "nil",
            Token::Bool(_) => "a boolean",
            Token::Int(_) | Token::Uint(_) => "an integer",
            Token::Float(_) => "a float",
            Token::Raw(_) => "text",
            Token::Array(_) => "an array",
            Token::Map(_) => "a map",
            Token::Ext(..) => "an extension",
        }
    }
}

/// What a decoding function returns.
pub type Result<T> = std::result::Result<T, DecodeError>;

/// A cursor over msgpack bytes.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    buf: &'a [u8],
    pos: usize,
}

impl<'a> Reader<'a> {
    /// A reader at the start of `buf`.
    pub fn new(buf: &'a [u8]) -> Self {
        Reader { buf, pos: 0 }
    }

    /// A reader at `offset` of `buf`; an offset past the end reads as an early end.
    pub fn at(buf: &'a [u8], offset: usize) -> Self {
        Reader { buf, pos: offset.min(buf.len()) }
    }

    /// Offset of the next byte from the start of the buffer.
    pub fn position(&self) -> usize {
        self.pos
    }

    /// True when every byte has been read.
    pub fn is_empty(&self) -> bool {
        self.pos >= self.buf.len()
    }

    /// The bytes between two positions of this reader.
    pub fn between(&self, from: usize, to: usize) -> &'a [u8] {
        self.buf.get(from..to).unwrap_or_default()
    }

    fn remaining(&self) -> usize {
        self.buf.len() - self.pos
    }

    fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        if n > self.remaining() {
            return Err(DecodeError::Eof { at: self.buf.len() });
        }
        let bytes = &self.buf[self.pos..self.pos + n];
        self.pos += n;
        Ok(bytes)
    }

    fn be<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self.take(N)?;
        let mut out = [0; N];
        out.copy_from_slice(bytes);
        Ok(out)
    }

    /// `n` items of at least `each` bytes must fit into what is left.
    fn fits(&self, n: u32, each: usize) -> Result<u32> {
        if (n as usize).saturating_mul(each) > self.remaining() {
            return Err(DecodeError::Eof { at: self.buf.len() });
        }
        Ok(n)
    }

    fn ext(&mut self, len: usize) -> Result<Token<'a>> {
        let [kind] = self.be::<1>()?;
        Ok(Token::Ext(kind as i8, self.take(len)?))
    }

    /// The next head, moved past; what a container holds comes next.
    ///
    /// # Errors
    /// [`DecodeError::Eof`] where the input ends or a claimed length does not fit, and
    /// [`DecodeError::Invalid`] on 0xc1.
    pub fn token(&mut self) -> Result<Token<'a>> {
        let at = self.pos;
        let [head] = self.be::<1>()?;
        Ok(match head {
            0x00..=0x7f => Token::Int(i64::from(head)),
            0x80..=0x8f => Token::Map(self.fits(u32::from(head & 0x0f), 2)?),
            0x90..=0x9f => Token::Array(self.fits(u32::from(head & 0x0f), 1)?),
            0xa0..=0xbf => Token::Raw(self.take(usize::from(head & 0x1f))?),
            0xc0 => Token::Nil,
            0xc1 => return Err(DecodeError::Invalid { at }),
            0xc2 => Token::Bool(false),
            0xc3 => Token::Bool(true),
            0xc4 | 0xd9 => {
                let [n] = self.be::<1>()?;
                Token::Raw(self.take(usize::from(n))?)
            }
            0xc5 | 0xda => {
                let n = u16::from_be_bytes(self.be()?);
                Token::Raw(self.take(usize::from(n))?)
            }
            0xc6 | 0xdb => {
                let n = u32::from_be_bytes(self.be()?);
                Token::Raw(self.take(n as usize)?)
            }
            0xc7 => {
                let [n] = self.be::<1>()?;
                self.ext(usize::from(n))?
            }
            0xc8 => {
                let n = u16::from_be_bytes(self.be()?);
                self.ext(usize::from(n))?
            }
            0xc9 => {
                let n = u32::from_be_bytes(self.be()?);
                self.ext(n as usize)?
            }
            0xca => Token::Float(f64::from(f32::from_be_bytes(self.be()?))),
            0xcb => Token::Float(f64::from_be_bytes(self.be()?)),
            0xcc => Token::Uint(u64::from(u8::from_be_bytes(self.be()?))),
            0xcd => Token::Uint(u64::from(u16::from_be_bytes(self.be()?))),
            0xce => Token::Uint(u64::from(u32::from_be_bytes(self.be()?))),
            0xcf => Token::Uint(u64::from_be_bytes(self.be()?)),
            0xd0 => Token::Int(i64::from(i8::from_be_bytes(self.be()?))),
            0xd1 => Token::Int(i64::from(i16::from_be_bytes(self.be()?))),
            0xd2 => Token::Int(i64::from(i32::from_be_bytes(self.be()?))),
            0xd3 => Token::Int(i64::from_be_bytes(self.be()?)),
            0xd4 => self.ext(1)?,
            0xd5 => self.ext(2)?,
            0xd6 => self.ext(4)?,
            0xd7 => self.ext(8)?,
            0xd8 => self.ext(16)?,
            0xdc => {
                let n = u16::from_be_bytes(self.be()?);
                Token::Array(self.fits(u32::from(n), 1)?)
            }
            0xdd => {
                let n = u32::from_be_bytes(self.be()?);
                Token::Array(self.fits(n, 1)?)
            }
            0xde => {
                let n = u16::from_be_bytes(self.be()?);
                Token::Map(self.fits(u32::from(n), 2)?)
            }
            0xdf => {
                let n = u32::from_be_bytes(self.be()?);
                Token::Map(self.fits(n, 2)?)
            }
            0xe0..=0xff => Token::Int(i64::from(head as i8)),
        })
    }

    /// Moves past one whole value, however deep, without recursion.
    ///
    /// # Errors
    /// As [`Reader::token`].
    #[inline]
    pub fn skip(&mut self) -> Result<()> {
        if self.skip_fixed() { Ok(()) } else { self.skip_other() }
    }

    fn skip_other(&mut self) -> Result<()> {
        let mut pending: u64 = 1;
        while pending > 0 {
            pending -= 1;
            if self.skip_fixed() {
                continue;
            }
            match self.token()? {
                Token::Array(n) => pending += u64::from(n),
                Token::Map(n) => pending += 2 * u64::from(n),
                _ => {}
            }
        }
        Ok(())
    }

    /// Moves past one whole value as [`Reader::skip`] does, where recursive readers could follow it.
    ///
    /// # Errors
    /// As [`Reader::token`], and [`DecodeError::Depth`].
    pub fn skip_nested(&mut self) -> Result<()> {
        match self.end_of_plain() {
            Some(end) => {
                self.pos = end;
                Ok(())
            }
            None => self.skip_counted(),
        }
    }

    /// Where the next value ends, if it has no more containers than may be nested; `None` also where it is no whole value.
    /// Of a value that [`Reader::skip_counted`] takes too it is the faster way: no container is remembered, and most heads
    /// are told apart by branches, which a processor foresees better than it waits for a table.
    fn end_of_plain(&self) -> Option<usize> {
        let (mut pos, mut left, mut containers) = (self.pos, 1_u64, 0);
        while left > 0 {
            left -= 1;
            let head = *self.buf.get(pos)?;
            match head {
                0xa0..=0xbf => pos += 1 + usize::from(head & 0x1f),
                0x00..=0x7f | 0xc0 | 0xc2 | 0xc3 | 0xe0..=0xff => pos += 1,
                0x80..=0x9f => {
                    let items = u64::from(head & 0x0f);
                    left += if head < 0x90 { 2 * items } else { items };
                    containers += 1;
                    pos += 1;
                }
                _ if SIZES[usize::from(head)] != 0 => pos += usize::from(SIZES[usize::from(head)]),
                _ => {
                    let mut rest = Reader { buf: self.buf, pos };
                    match rest.token().ok()? {
                        Token::Array(n) => (left, containers) = (left + u64::from(n), containers + 1),
                        Token::Map(n) => (left, containers) = (left + 2 * u64::from(n), containers + 1),
                        _ => {}
                    }
                    pos = rest.pos;
                }
            }
        }
        (containers <= MAX_DEPTH && pos <= self.buf.len()).then_some(pos)
    }

    /// As [`Reader::skip_nested`], with each open container remembered.
    fn skip_counted(&mut self) -> Result<()> {
        // The values that are left in each open container; in the innermost one, `left`.
        let mut outer = [0_u64; MAX_DEPTH];
        let (mut depth, mut left) = (0, 1_u64);
        loop {
            let at = self.pos;
            if !self.skip_fixed() {
                let inside = match self.token()? {
                    Token::Array(n) => u64::from(n),
                    Token::Map(n) => 2 * u64::from(n),
                    _ => 0,
                };
                if inside > 0 {
                    *outer.get_mut(depth).ok_or(DecodeError::Depth { at })? = left;
                    (depth, left) = (depth + 1, inside);
                    continue;
                }
            }
            left -= 1;
            while left == 0 {
                let Some(above) = depth.checked_sub(1) else { return Ok(()) };
                (depth, left) = (above, outer[above] - 1);
            }
        }
    }

    /// Moves past a value whose head alone tells its length; false, and stays, at any other and at one that is cut off.
    #[inline]
    fn skip_fixed(&mut self) -> bool {
        let size = self.buf.get(self.pos).map_or(0, |head| usize::from(SIZES[usize::from(*head)]));
        let fits = size != 0 && size <= self.remaining();
        if fits {
            self.pos += size;
        }
        fits
    }

    fn wrong<T>(at: usize, wanted: &'static str, found: &Token<'_>) -> Result<T> {
        Err(DecodeError::Type { at, wanted, found: found.name() })
    }

    /// Bytes or text; nil is empty.
    ///
    /// # Errors
    /// When the value is of another type or ends early; so for all typed readers below.
    pub fn raw(&mut self) -> Result<&'a [u8]> {
        if let Some(bytes) = self.short_raw() {
            return Ok(bytes);
        }
        let at = self.pos;
        match self.token()? {
            Token::Raw(bytes) => Ok(bytes),
            Token::Nil => Ok(&[]),
            other => Self::wrong(at, "text", &other),
        }
    }

    /// Text, with what is not UTF-8 replaced by U+FFFD, as Nomad prints it (state-rows.md 1.1).
    ///
    /// # Errors
    /// As [`Reader::raw`].
    pub fn text(&mut self) -> Result<Cow<'a, str>> {
        let bytes = self.raw()?;
        Ok(std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed))
    }

    /// A signed integer of any width; nil is 0, and an integer above the range wraps as Go's conversion does.
    ///
    /// # Errors
    /// As [`Reader::raw`].
    pub fn int(&mut self) -> Result<i64> {
        let at = self.pos;
        if let Some(head @ 0..=0x7f) = self.buf.get(at) {
            self.pos += 1;
            return Ok(i64::from(*head));
        }
        match self.token()? {
            Token::Int(n) => Ok(n),
            Token::Uint(n) => Ok(n as i64),
            Token::Nil => Ok(0),
            other => Self::wrong(at, "an integer", &other),
        }
    }

    /// An unsigned integer of any width; nil is 0.
    ///
    /// # Errors
    /// As [`Reader::raw`].
    pub fn uint(&mut self) -> Result<u64> {
        Ok(self.int()? as u64)
    }

    /// A boolean; nil is false, and 0 and 1 count as well (storage.md 3.3).
    ///
    /// # Errors
    /// As [`Reader::raw`].
    pub fn bool(&mut self) -> Result<bool> {
        Ok(self.opt_bool()?.unwrap_or(false))
    }

    /// A boolean behind a pointer: nil is `None`.
    ///
    /// # Errors
    /// As [`Reader::raw`].
    pub fn opt_bool(&mut self) -> Result<Option<bool>> {
        let at = self.pos;
        match self.token()? {
            Token::Bool(b) => Ok(Some(b)),
            Token::Nil => Ok(None),
            Token::Int(n @ 0..=1) => Ok(Some(n == 1)),
            other => Self::wrong(at, "a boolean", &other),
        }
    }

    /// True, and moved past it, when the next value is nil.
    pub fn take_nil(&mut self) -> bool {
        let nil = self.buf.get(self.pos) == Some(&0xc0);
        if nil {
            self.pos += 1;
        }
        nil
    }

    /// The number of pairs of a map; `None` for nil.
    ///
    /// # Errors
    /// As [`Reader::raw`].
    pub fn map(&mut self) -> Result<Option<u32>> {
        let at = self.pos;
        match self.token()? {
            Token::Map(n) => Ok(Some(n)),
            Token::Nil => Ok(None),
            other => Self::wrong(at, "a map", &other),
        }
    }

    /// The number of items of an array; `None` for nil.
    ///
    /// # Errors
    /// As [`Reader::raw`].
    pub fn array(&mut self) -> Result<Option<u32>> {
        let at = self.pos;
        match self.token()? {
            Token::Array(n) => Ok(Some(n)),
            Token::Nil => Ok(None),
            other => Self::wrong(at, "an array", &other),
        }
    }

    /// Calls `field` for each pair of a struct's map with the reader at the value, which it must
    /// read or skip. Pairs whose key is no text are skipped. False when the value was nil.
    ///
    /// # Errors
    /// Those of the reader and of `field`.
    pub fn fields(&mut self, mut field: impl FnMut(&'a [u8], &mut Self) -> Result<()>) -> Result<bool> {
        let Some(n) = self.map()? else { return Ok(false) };
        for _ in 0..n {
            match self.key()? {
                Some(key) => field(key, self)?,
                None => self.skip()?,
            }
        }
        Ok(true)
    }

    /// Calls `item` for each value of an array, which it must read or skip. False when it was nil.
    ///
    /// # Errors
    /// Those of the reader and of `item`.
    pub fn items(&mut self, mut item: impl FnMut(&mut Self) -> Result<()>) -> Result<bool> {
        let Some(n) = self.array()? else { return Ok(false) };
        for _ in 0..n {
            item(self)?;
        }
        Ok(true)
    }

    /// A map's key if it is text, else `None` with the key skipped.
    #[inline]
    fn key(&mut self) -> Result<Option<&'a [u8]>> {
        match self.short_raw() {
            Some(key) => Ok(Some(key)),
            None => self.other_key(),
        }
    }

    /// The next value if it is text of up to 31 bytes, as nearly all keys and most texts are; else `None`, and stays.
    #[inline]
    fn short_raw(&mut self) -> Option<&'a [u8]> {
        let head = *self.buf.get(self.pos)?;
        let start = self.pos + 1;
        let bytes = self.buf.get(start..start + usize::from(head & 0x1f)).filter(|_| head & 0xe0 == 0xa0)?;
        self.pos = start + bytes.len();
        Some(bytes)
    }

    fn other_key(&mut self) -> Result<Option<&'a [u8]>> {
        let start = self.pos;
        match self.token()? {
            Token::Raw(key) => Ok(Some(key)),
            Token::Array(_) | Token::Map(_) => {
                self.pos = start;
                self.skip()?;
                Ok(None)
            }
            _ => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claimed_length_beyond_the_input_ends_early() {
        for bytes in [&[0xdf, 0xff, 0xff, 0xff, 0xff][..], &[0xdd, 0x10, 0, 0, 0], &[0xdb, 0xff, 0xff, 0xff, 0xff, 1]] {
            assert!(matches!(Reader::new(bytes).skip(), Err(DecodeError::Eof { .. })), "{bytes:x?}");
        }
    }

    #[test]
    fn skip_moves_past_nested_values_and_no_further() {
        let bytes = [0x82, 0xa1, b'a', 0x92, 0x01, 0xc0, 0x81, 0xa1, b'k', 0x01, 0x02, 0x07];
        let mut r = Reader::new(&bytes);
        r.skip().unwrap();
        assert_eq!(r.int(), Ok(7));
        assert!(r.is_empty());
    }

    /// Random bytes, nested and cut off at random.
    fn any_bytes() -> impl proptest::strategy::Strategy<Value = Vec<u8>> {
        use proptest::prelude::*;
        let head = prop_oneof![0x80_u8..0x84, 0x90_u8..0x94, 0xa0_u8..0xa4, 0xc0_u8..0xe0, any::<u8>()];
        proptest::collection::vec(head, 0..40)
    }

    proptest::proptest! {
        #[test]
        fn skipping_ends_where_reading_token_by_token_does(bytes in any_bytes()) {
            let mut slow = Reader::new(&bytes);
            let mut pending: u64 = 1;
            let read = loop {
                if pending == 0 {
                    break Ok(slow.position());
                }
                pending -= 1;
                match slow.token() {
                    Ok(Token::Array(n)) => pending += u64::from(n),
                    Ok(Token::Map(n)) => pending += 2 * u64::from(n),
                    Ok(_) => {}
                    Err(error) => break Err(error),
                }
            };
            let (mut skip, mut nested) = (Reader::new(&bytes), Reader::new(&bytes));
            proptest::prop_assert_eq!(skip.skip().map(|()| skip.position()), read);
            proptest::prop_assert_eq!(nested.skip_nested().map(|()| nested.position()), read);
        }
    }

    #[test]
    fn nesting_that_readers_cannot_follow_is_told_by_its_place() {
        let nested = |depth: usize| [vec![0x91; depth], vec![0xc0]].concat();
        assert_eq!(Reader::new(&nested(MAX_DEPTH)).skip_nested(), Ok(()));
        let too_deep = nested(MAX_DEPTH + 1);
        assert_eq!(Reader::new(&too_deep).skip_nested(), Err(DecodeError::Depth { at: MAX_DEPTH }));
        assert_eq!(Reader::new(&too_deep).skip(), Ok(()));
    }

    #[test]
    fn a_map_keyed_by_maps_is_read_past() {
        let bytes = [0x81, 0x81, 0xa1, b'a', 0x01, 0xa1, b'v', 0x2a];
        let mut r = Reader::new(&bytes);
        assert_eq!(r.fields(|_, _| panic!("no key is text")), Ok(true));
        assert_eq!(r.int(), Ok(42));
    }

    #[test]
    fn integers_of_every_form_read_alike() {
        for bytes in
            [&[0x05][..], &[0xcc, 5], &[0xd1, 0, 5], &[0xcf, 0, 0, 0, 0, 0, 0, 0, 5], &[0xd3, 0, 0, 0, 0, 0, 0, 0, 5]]
        {
            assert_eq!(Reader::new(bytes).int(), Ok(5));
            assert_eq!(Reader::new(bytes).uint(), Ok(5));
        }
    }

    #[test]
    fn nil_is_the_zero_value_of_every_type() {
        let nil = [0xc0];
        assert_eq!(Reader::new(&nil).int(), Ok(0));
        assert_eq!(Reader::new(&nil).raw(), Ok(&[][..]));
        assert_eq!(Reader::new(&nil).bool(), Ok(false));
        assert_eq!(Reader::new(&nil).opt_bool(), Ok(None));
        assert_eq!(Reader::new(&nil).map(), Ok(None));
    }

    #[test]
    fn a_value_of_another_type_says_which_and_where() {
        let bytes = [0x81, 0xa1, b'a', 0xa1, b'b'];
        let got = Reader::new(&bytes).fields(|_, r| r.int().map(|_| ()));
        assert_eq!(got, Err(DecodeError::Type { at: 3, wanted: "an integer", found: "text" }));
    }
}
