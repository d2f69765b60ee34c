//! Which Nomad wrote an entry: the log stores no version, but every release writes all the fields
//! that it knows, so the keys of a job's register give it away (fsm.md 3).

use serde::Serialize;

use super::msgpack::{Reader, Result, Token};

/// What one register says of the Nomad that wrote it, which is the leader's of its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Writer {
    /// The oldest release that writes all the keys that are there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<&'static str>,
    /// The oldest release that would have written a key that is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<&'static str>,
}

/// A key and the release that brought it, by age.
static KEYS: [(Part, &[u8], &str); 9] = [
    (Part::Request, b"PreserveCounts", "0.12.0"),
    (Part::Request, b"Eval", "0.12.1"),
    (Part::Job, b"DispatchIdempotencyToken", "1.1.3"),
    (Part::Request, b"EvalPriority", "1.2.4"),
    (Part::Job, b"NodePool", "1.6.0"),
    (Part::Job, b"UI", "1.8.0"),
    (Part::Job, b"VersionTag", "1.9.0"),
    // The one key that went away: its absence is what tells.
    (Part::Gone, b"VaultToken", "1.10.0"),
    (Part::Request, b"PreserveResources", "1.11.0"),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Request,
    Job,
    /// A key of the job that releases from this one on no longer write.
    Gone,
}

/// The writer of a JobRegister, by its body. `None` when it carries no job.
///
/// # Errors
/// When the body cannot be decoded.
pub fn of_register(body: &[u8]) -> Result<Option<Writer>> {
    let mut seen = [false; KEYS.len()];
    let mut has_job = false;
    let mut mark = |part: &[Part], key: &[u8]| {
        for (seen, (of, name, _)) in seen.iter_mut().zip(&KEYS) {
            if *name == key {
                *seen |= part.contains(of);
            }
        }
    };
    Reader::new(body).fields(|key, r| {
        mark(&[Part::Request], key);
        if key != b"Job" {
            return r.skip();
        }
        has_job = r.fields(|key, r| {
            mark(&[Part::Job, Part::Gone], key);
            r.skip()
        })?;
        Ok(())
    })?;
    if !has_job {
        return Ok(None);
    }
    let signs = || KEYS.iter().zip(seen).map(|((of, _, since), seen)| (seen != (*of == Part::Gone), *since));
    // A release between two signs has the older and not the newer one. Forks and field-by-field
    // rewrites can mix them; then the newest sign that is there wins.
    let newest = signs().enumerate().filter(|(_, (there, _))| *there).map(|(i, _)| i).next_back();
    let at_least = newest.and_then(|i| signs().nth(i)).map(|(_, since)| since);
    let before = signs().skip(newest.map_or(0, |i| i + 1)).map(|(_, since)| since).next();
    Ok(Some(Writer { at_least, before }))
}

/// Whether the body of a JobRegister carries a job, so that [`of_register`] knows its writer; a hundredth of its work.
/// False where the body cannot be decoded.
pub fn is_known(body: &[u8]) -> bool {
    let mut reader = Reader::new(body);
    let Ok(Token::Map(fields)) = reader.token() else { return false };
    for _ in 0..fields {
        match reader.raw() {
            Ok(b"Job") => return matches!(reader.token(), Ok(Token::Map(_))),
            Ok(_) if reader.skip().is_ok() => {}
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A msgpack map of nils with these keys, and `Job` with those.
    fn register(request: &[&str], job: &[&str]) -> Vec<u8> {
        let map = |keys: &[&str], out: &mut Vec<u8>| {
            for key in keys {
                out.push(0xa0 | key.len() as u8);
                out.extend_from_slice(key.as_bytes());
                out.push(0xc0);
            }
        };
        let mut out = vec![0x80 | (request.len() + 1) as u8];
        map(request, &mut out);
        out.extend_from_slice(b"\xa3Job");
        out.push(0x80 | job.len() as u8);
        map(job, &mut out);
        out
    }

    #[test]
    fn keys_tell_the_release() {
        let of = |request: &[&str], job: &[&str]| of_register(&register(request, job)).unwrap().unwrap();
        let v1_0 = of(&["PreserveCounts", "Eval"], &["VaultToken"]);
        assert_eq!(v1_0, Writer { at_least: Some("0.12.1"), before: Some("1.1.3") });
        let all = ["PreserveCounts", "Eval", "EvalPriority", "PreserveResources"];
        let newest = of(&all, &["DispatchIdempotencyToken", "NodePool", "UI", "VersionTag"]);
        assert_eq!(newest, Writer { at_least: Some("1.11.0"), before: None });
        let oldest = of(&[], &["VaultToken"]);
        assert_eq!(oldest, Writer { at_least: None, before: Some("0.12.0") });
    }

    #[test]
    fn a_register_without_a_job_tells_nothing() {
        assert_eq!(of_register(b"\x81\xa3Job\xc0"), Ok(None));
    }
}
