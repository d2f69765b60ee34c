//! The entry that an early, unreleased design of job restarts wrote (issue hashicorp/nomad#698, draft
//! PR #11533). It never had a number of its own in a release.

use super::job::Text;
use crate::entry::msgpack::{DecodeError, Reader, Result, Token};
use crate::entry::time::GoTime;
use crate::entry::wire::{Wire, wire_struct};

/// The name that `--message-type NUMBER=NAME` gives its number.
pub const NAME: &str = "JobRestartRequestType";

/// The keys that such a body has and no other.
const KEYS: [&[u8]; 10] = [
    b"ID",
    b"JobID",
    b"BatchSize",
    b"BatchWait",
    b"Status",
    b"RestartedAllocs",
    b"StartedAt",
    b"UpdatedAt",
    b"CreateIndex",
    b"ModifyIndex",
];

/// The keys that every request can have (fsm.md 1).
const USUAL: [&[u8]; 5] = [b"Region", b"Namespace", b"AuthToken", b"IdempotencyToken", b"Forwarded"];

wire_struct! {
    /// JobRestartRequest.
    JobRestart {
        /// Its ID, a UUID.
        id: Text<'a> = "ID",
        /// The job's namespace.
        namespace: Text<'a> = "Namespace",
        /// The job.
        job_id: Text<'a> = "JobID",
        /// How many allocations are restarted together.
        batch_size: i64 = "BatchSize",
        /// The wait between batches; see [`JobRestart::wait_nanos`].
        batch_wait: i64 = "BatchWait",
        /// `running`, `complete`, `cancelled`, `paused`.
        status: Text<'a> = "Status",
        /// The allocations that were restarted by then.
        restarted: Vec<Text<'a>> = "RestartedAllocs",
        /// When the restart began.
        started_at: Instant = "StartedAt",
        /// When the entry was written.
        updated_at: Instant = "UpdatedAt",
    }
}

/// The smallest wait that is taken for nanoseconds: a million of seconds would be eleven days.
const NANOSECONDS_FROM: i64 = 1_000_000;

impl JobRestart<'_> {
    /// The wait between batches in nanoseconds. The known entries have whole seconds in the field; a
    /// value of a million or more is a Go duration.
    pub fn wait_nanos(&self) -> i64 {
        match self.batch_wait {
            wait if wait < NANOSECONDS_FROM => wait.saturating_mul(1_000_000_000),
            wait => wait,
        }
    }
}

/// A time that is one of Go's, or text as JSON prints it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Instant(pub GoTime);

impl Instant {
    /// Unix nanoseconds; `None` where the time is not set.
    pub fn nanos(self) -> Option<i64> {
        (!self.0.is_zero()).then(|| self.0.unix_nanos())
    }
}

impl<'a> Wire<'a> for Instant {
    fn read(r: &mut Reader<'a>) -> Result<Self> {
        let text = match r.clone().token()? {
            Token::Raw(raw) => std::str::from_utf8(raw).ok().and_then(|t| t.parse::<jiff::Timestamp>().ok()),
            _ => None,
        };
        match text.and_then(|time| i64::try_from(time.as_nanosecond()).ok()) {
            Some(nanos) => {
                r.skip()?;
                Ok(Instant(GoTime::from_unix_nanos(nanos)))
            }
            None => GoTime::read(r).map(Instant),
        }
    }
}

/// Whether a command's body, without its type byte, has exactly the keys of such an entry.
pub fn is_its_shape(body: &[u8]) -> bool {
    has_its_keys(body).unwrap_or(false)
}

fn has_its_keys(body: &[u8]) -> Result<bool> {
    let mut r = Reader::new(body);
    let Some(pairs) = r.map()? else { return Ok(false) };
    let most = KEYS.len() + USUAL.len();
    if !(KEYS.len()..=most).contains(&(pairs as usize)) {
        return Ok(false);
    }
    let mut found = [false; KEYS.len()];
    for _ in 0..pairs {
        let at = r.position();
        let Token::Raw(key) = r.token()? else {
            return Err(DecodeError::Type { at, wanted: "text", found: "another key" });
        };
        match KEYS.iter().position(|k| *k == key) {
            Some(place) => found[place] = true,
            None if USUAL.contains(&key) => {}
            None => return Ok(false),
        }
        r.skip()?;
    }
    Ok(found.iter().all(|f| *f))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(keys: &[&[u8]]) -> Vec<u8> {
        let mut out = vec![0xde, 0, keys.len() as u8];
        for key in keys {
            out.push(0xa0 | key.len() as u8);
            out.extend_from_slice(key);
            out.push(0xc0);
        }
        out
    }

    #[test]
    fn only_exactly_its_keys_are_its_shape() {
        let own: Vec<&[u8]> = KEYS.to_vec();
        let with_usual: Vec<&[u8]> = KEYS.iter().chain(&USUAL).copied().collect();
        assert!(is_its_shape(&body(&own)) && is_its_shape(&body(&with_usual)));
        let mut more = own.clone();
        more.push(b"Services");
        assert!(!is_its_shape(&body(&more)));
        assert!(!is_its_shape(&body(&own[1..])));
        assert!(!is_its_shape(&body(&USUAL)));
        assert!(!is_its_shape(&[]) && !is_its_shape(&[0xc0]) && !is_its_shape(&body(&own)[..20]));
    }

    #[test]
    fn a_wait_is_in_seconds_unless_it_is_a_go_duration() {
        let wait = |n| JobRestart { batch_wait: n, ..JobRestart::default() }.wait_nanos();
        assert_eq!((wait(30), wait(0), wait(1_500_000_000)), (30_000_000_000, 0, 1_500_000_000));
    }
}
