//! Whether two values of the wire say the same: a digest that does not depend on the order of map keys, which Go
//! leaves to chance, nor on the width of integers.

use sha2::{Digest as _, Sha256};

use super::msgpack::{DecodeError, MAX_DEPTH, Reader, Result, Token};
use super::wire::Wire;

/// A digest of a whole value; the default is that of nothing, as is nil's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Digest(pub [u8; 16]);

/// Fields that say when and by which entry a row was written, not what it says, and the hash that writers make of
/// the rest.
const BOOKKEEPING: &[&[u8]] = &[b"CreateIndex", b"ModifyIndex", b"CreateTime", b"ModifyTime", b"Hash"];

impl Digest {
    /// The digest of a text; the empty one has that of nothing. For secrets that are only ever
    /// compared: what is kept of them then tells nobody.
    pub fn of_text(text: &str) -> Self {
        if text.is_empty() {
            return Digest::default();
        }
        let mut digest = [0; 16];
        digest.iter_mut().zip(Sha256::digest(text.as_bytes())).for_each(|(ours, byte)| *ours = byte);
        Digest(digest)
    }
}

impl<'a> Wire<'a> for Digest {
    fn read(r: &mut Reader<'a>) -> Result<Self> {
        if r.take_nil() {
            return Ok(Digest::default());
        }
        digest(r, &[], 0)
    }
}

/// A struct of the wire with a digest of what it says, bookkeeping fields left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WithContent<T> {
    /// The struct.
    pub body: T,
    /// What it says.
    pub content: Digest,
}

impl<'a, T: Wire<'a>> Wire<'a> for WithContent<T> {
    fn read(r: &mut Reader<'a>) -> Result<Self> {
        let mut ahead = r.clone();
        let body = T::read(r)?;
        Ok(WithContent { body, content: digest(&mut ahead, BOOKKEEPING, 0)? })
    }
}

/// The digest of the value that `r` stands at, without the keys `except` of its outermost map.
fn digest(r: &mut Reader<'_>, except: &[&[u8]], depth: usize) -> Result<Digest> {
    if depth > MAX_DEPTH {
        return Err(DecodeError::Depth { at: r.position() });
    }
    let mut hash = Sha256::new();
    match r.token()? {
        Token::Nil => hash.update(b"n"),
        Token::Bool(b) => hash.update([b'b', u8::from(b)]),
        Token::Int(n) => hash_int(&mut hash, i128::from(n)),
        Token::Uint(n) => hash_int(&mut hash, i128::from(n)),
        Token::Float(x) => {
            hash.update(b"f");
            hash.update(x.to_bits().to_be_bytes());
        }
        Token::Raw(raw) => {
            hash.update(b"r");
            hash.update(raw);
        }
        Token::Ext(kind, raw) => {
            hash.update(b"e");
            hash.update(kind.to_be_bytes());
            hash.update(raw);
        }
        Token::Array(n) => {
            hash.update(b"a");
            for _ in 0..n {
                hash.update(digest(r, &[], depth + 1)?.0);
            }
        }
        Token::Map(n) => {
            hash.update(b"m");
            let mut pairs = Vec::new();
            for _ in 0..n {
                let mut key = r.clone();
                if let Token::Raw(name) = key.token()?
                    && except.contains(&name)
                {
                    r.skip()?;
                    r.skip()?;
                    continue;
                }
                pairs.push((digest(r, &[], depth + 1)?.0, digest(r, &[], depth + 1)?.0));
            }
            pairs.sort_unstable();
            for (key, value) in pairs {
                hash.update(key);
                hash.update(value);
            }
        }
    }
    let mut out = [0; 16];
    out.copy_from_slice(&hash.finalize()[..16]);
    Ok(Digest(out))
}

fn hash_int(hash: &mut Sha256, n: i128) {
    hash.update(b"i");
    hash.update(n.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8]) -> Digest {
        Digest::read(&mut Reader::new(bytes)).unwrap()
    }

    #[test]
    fn key_order_and_integer_width_say_nothing() {
        let a = of(&[0x82, 0xa1, b'a', 0x05, 0xa1, b'b', 0xc0]);
        assert_eq!(a, of(&[0x82, 0xa1, b'b', 0xc0, 0xa1, b'a', 0xd1, 0, 5]));
        assert_ne!(a, of(&[0x82, 0xa1, b'a', 0x06, 0xa1, b'b', 0xc0]));
        assert_ne!(a, of(&[0x81, 0xa1, b'a', 0x05]));
        assert_eq!(of(&[0xc0]), Digest::default());
    }

    #[test]
    fn bookkeeping_is_no_content() {
        let bare = [&[0x81, 0xa2][..], b"ID", &[0xa1, b'x']].concat();
        let kept = [&[0x82, 0xa2][..], b"ID", &[0xa1, b'x', 0xab], b"ModifyIndex", &[7]].concat();
        let read = |bytes: &[u8]| WithContent::<bool>::read(&mut Reader::new(bytes)).map(|w| w.content);
        // The body's own type does not matter here, only that it reads or fails by itself.
        assert!(read(&bare).is_err());
        let read = |bytes: &[u8]| WithContent::<Digest>::read(&mut Reader::new(bytes)).unwrap();
        assert_eq!(read(&bare).content, read(&kept).content);
        assert_ne!(read(&bare).body, read(&kept).body);
    }
}
