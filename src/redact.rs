//! Secrets are replaced by markers before anything is printed (contract.md 5).
//!
//! A marker is `[Name#N]`: the field in which the secret first appeared in this output, and one running number for
//! all secrets, in order of first appearance. Equal secrets get the same marker wherever they stand, so a token
//! and the requests made with it can still be told to belong together, and the same input gives the same output.

pub mod place;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use foldhash::fast::FixedState;
use sha2::{Digest, Sha256};

pub use place::{Form, Owner, Place};

/// What stands in a secret's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker {
    name: &'static str,
    number: u32,
}

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}#{}]", self.name, self.number)
    }
}

/// Decides, for one output, what is hidden, and numbers what is.
#[derive(Debug)]
pub struct Redactor {
    show: bool,
    seen: HashMap<Box<[u8]>, Marker, FixedState>,
}

/// Secrets up to this many bytes are remembered as they are, longer ones by their hash.
const SHORT: usize = 64;

impl Redactor {
    /// One that hides secrets.
    pub fn hiding() -> Self {
        Redactor { show: false, seen: HashMap::with_hasher(FixedState::default()) }
    }

    /// One that lets everything through (`--unsafe-show-secrets`).
    pub fn showing() -> Self {
        Redactor { show: true, ..Self::hiding() }
    }

    /// True when nothing is hidden.
    pub fn shows(&self) -> bool {
        self.show
    }

    /// The marker for a secret that is about to be printed; the first one for it gives its name.
    pub fn marker(&mut self, name: &'static str, secret: &[u8]) -> Marker {
        let digest;
        let key = if secret.len() <= SHORT {
            secret
        } else {
            digest = Sha256::digest(secret);
            digest.as_slice()
        };
        if let Some(&marker) = self.seen.get(key) {
            return marker;
        }
        let number = u32::try_from(self.seen.len() + 1).unwrap_or(u32::MAX);
        let marker = Marker { name, number };
        self.seen.insert(key.into(), marker);
        marker
    }

    /// The marker for text at `place`, or `None` when it is shown. Empty text stays empty.
    #[inline]
    pub fn hide(&mut self, place: Place, text: &[u8]) -> Option<Marker> {
        if self.show || text.is_empty() {
            return None;
        }
        place.hides_text().map(|name| self.marker(name, text))
    }

    /// The marker for a number at `place`, or `None` when it is shown. 0 stays 0.
    #[inline]
    pub fn hide_number(&mut self, place: Place, number: impl fmt::Display) -> Option<Marker> {
        if self.show {
            return None;
        }
        let name = place.hides_number()?;
        let text = number.to_string();
        (text != "0").then(|| self.marker(name, text.as_bytes()))
    }

    /// A URL as it may be printed: the part before `@` and the values of unknown query keys are hidden.
    pub fn url<'a>(&mut self, name: &'static str, url: &'a str) -> Cow<'a, str> {
        if self.show || !url.contains(['@', '?']) {
            return Cow::Borrowed(url);
        }
        let (front, query) = url.split_once('?').map_or((url, None), |(front, query)| (front, Some(query)));
        let mut out = String::with_capacity(url.len());
        match front.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.rsplit_once('@')?))) {
            Some((scheme, (user, rest))) => {
                let marker = self.marker(name, user.as_bytes());
                out.push_str(&format!("{scheme}://{marker}@{rest}"));
            }
            None => out.push_str(front),
        }
        for (i, pair) in query.into_iter().flat_map(|q| q.split('&')).enumerate() {
            out.push(if i == 0 { '?' } else { '&' });
            match pair.split_once('=') {
                Some((key, value)) if !value.is_empty() && !HARMLESS.contains(&key) => {
                    let marker = self.marker(name, value.as_bytes());
                    out.push_str(&format!("{key}={marker}"));
                }
                _ => out.push_str(pair),
            }
        }
        Cow::Owned(out)
    }
}

/// Query keys of an artifact's URL that say what to fetch and not who fetches it.
const HARMLESS: &[&str] = &["ref", "depth", "archive", "checksum", "filename", "region", "version"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_numbered_in_order_and_equal_ones_stay_equal() {
        let mut r = Redactor::hiding();
        let token = Place::Secret("AuthToken");
        assert_eq!(r.hide(token, b"one").unwrap().to_string(), "[AuthToken#1]");
        assert_eq!(r.hide(Place::Secret("Env"), b"two").unwrap().to_string(), "[Env#2]");
        assert_eq!(r.hide(Place::Secret("SecretID"), b"one").unwrap().to_string(), "[AuthToken#1]");
        let long = [b'x'; 500];
        assert_eq!(r.hide(token, &long).unwrap().to_string(), "[AuthToken#3]");
        assert_eq!(r.hide(token, &long).unwrap().to_string(), "[AuthToken#3]");
        assert_eq!(r.hide(token, b""), None);
        assert_eq!(r.hide(Place::ROW, b"one"), None);
        assert_eq!(Redactor::showing().hide(token, b"one"), None);
    }

    #[test]
    fn numbers_are_hidden_only_where_they_are_the_secret() {
        let mut r = Redactor::hiding();
        assert_eq!(r.hide_number(Place::Secret("auth"), 1234).unwrap().to_string(), "[auth#1]");
        assert_eq!(r.hide_number(Place::Secret("auth"), 0), None);
        assert_eq!(r.hide_number(Place::Closed(Owner::Driver, "Config"), 1234), None);
    }

    #[test]
    fn credentials_in_a_url_are_hidden_and_the_rest_stays() {
        let mut r = Redactor::hiding();
        for (url, want) in [
            ("https://example.test/a.zip", "https://example.test/a.zip"),
            ("git::https://me:pw@example.test/r.git?ref=v1", "git::https://[GetterSource#1]@example.test/r.git?ref=v1"),
            (
                "s3::https://b/k?aws_access_key_secret=k&archive=zip&x=",
                "s3::https://b/k?aws_access_key_secret=[GetterSource#2]&archive=zip&x=",
            ),
            ("git@github.test:a/b", "git@github.test:a/b"),
            ("https://me:p@ss@h/?", "https://[GetterSource#3]@h/?"),
        ] {
            assert_eq!(r.url("GetterSource", url), want);
        }
    }
}
