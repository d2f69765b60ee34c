//! How a request body becomes a struct: one trait for values, one macro for structs.
//!
//! A struct names the wire keys it wants; every other key is skipped without being decoded, and a
//! missing key is the zero value, since versions only add and remove keys (storage.md 4.2).

use std::borrow::Cow;

use super::msgpack::{DecodeError, Reader, Result, Token};

/// A value that can be read from msgpack; nil reads as the zero value.
pub trait Wire<'a>: Sized {
    /// Reads one whole value.
    ///
    /// # Errors
    /// When the bytes end early or hold another type.
    fn read(r: &mut Reader<'a>) -> Result<Self>;
}

impl<'a> Wire<'a> for Cow<'a, str> {
    fn read(r: &mut Reader<'a>) -> Result<Self> {
        r.text()
    }
}

impl<'a> Wire<'a> for i64 {
    fn read(r: &mut Reader<'a>) -> Result<Self> {
        r.int()
    }
}

impl<'a> Wire<'a> for u64 {
    fn read(r: &mut Reader<'a>) -> Result<Self> {
        r.uint()
    }
}

impl<'a> Wire<'a> for bool {
    fn read(r: &mut Reader<'a>) -> Result<Self> {
        r.bool()
    }
}

impl<'a, T: Wire<'a>> Wire<'a> for Option<T> {
    fn read(r: &mut Reader<'a>) -> Result<Self> {
        if r.take_nil() { Ok(None) } else { T::read(r).map(Some) }
    }
}

impl<'a, T: Wire<'a>> Wire<'a> for Vec<T> {
    fn read(r: &mut Reader<'a>) -> Result<Self> {
        let mut out = Vec::new();
        r.items(|r| {
            out.push(T::read(r)?);
            Ok(())
        })?;
        Ok(out)
    }
}

/// A map as its pairs in the order of the wire; keys may be of any type that reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairs<K, V>(pub Vec<(K, V)>);

impl<K, V> Default for Pairs<K, V> {
    fn default() -> Self {
        Pairs(Vec::new())
    }
}

impl<'a, K: Wire<'a>, V: Wire<'a>> Wire<'a> for Pairs<K, V> {
    fn read(r: &mut Reader<'a>) -> Result<Self> {
        let mut out = Vec::new();
        for _ in 0..r.map()?.unwrap_or(0) {
            let key = K::read(r)?;
            out.push((key, V::read(r)?));
        }
        Ok(Pairs(out))
    }
}

/// True where the wire holds a map or list with something in it; its content is skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NotEmpty(pub bool);

impl<'a> Wire<'a> for NotEmpty {
    fn read(r: &mut Reader<'a>) -> Result<Self> {
        let at = r.position();
        let full = match r.clone().token()? {
            Token::Nil => false,
            Token::Map(n) | Token::Array(n) => n > 0,
            _ => return Err(DecodeError::Type { at, wanted: "a map or an array", found: "a scalar" }),
        };
        r.skip()?;
        Ok(NotEmpty(full))
    }
}

/// Where a value of any type starts, counted in bytes from the start of the reader's buffer; `None` where it is nil.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place(pub Option<u64>);

impl<'a> Wire<'a> for Place {
    fn read(r: &mut Reader<'a>) -> Result<Self> {
        if r.take_nil() {
            return Ok(Place(None));
        }
        let at = r.position() as u64;
        r.skip()?;
        Ok(Place(Some(at)))
    }
}

/// Declares structs that are read from the wire: `field: type = "Key"`. Each also gets `at`, the
/// offset of its map in the entry's payload, from which rows are rebuilt later.
macro_rules! wire_struct {
    ($($(#[$meta:meta])* $name:ident { $($(#[$fmeta:meta])* $field:ident: $ty:ty = $key:literal),* $(,)? })*) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name<'a> {
            /// Offset of this map in the entry's payload, in bytes.
            pub at: u64,
            $($(#[$fmeta])* pub $field: $ty,)*
            #[doc(hidden)]
            pub borrows: std::marker::PhantomData<&'a ()>,
        }

        impl<'a> $crate::entry::wire::Wire<'a> for $name<'a> {
            fn read(r: &mut $crate::entry::msgpack::Reader<'a>) -> $crate::entry::msgpack::Result<Self> {
                let mut out = Self { at: r.position() as u64, ..Self::default() };
                r.fields(|key, r| {
                    match key {
                        $(key if key == $key.as_bytes() => out.$field = $crate::entry::wire::Wire::read(r)?,)*
                        _ => r.skip()?,
                    }
                    Ok(())
                })?;
                Ok(out)
            }
        }
    )*};
}
pub(crate) use wire_struct;
