//! The fuzz targets for a bounded time: every input that fuzzing kept, and changed ones of them, the same in each run.
//!
//! `fuzz/README.md` says how to fuzz for as long as one likes.

use std::fs::{self, File};
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lzma_rust2::XzReader;

use crate::fuzz_targets::TARGETS;
use crate::support::dice::Dice;

/// As long as fuzzing itself lets one input take, in a build that is slower.
const TIME: Duration = Duration::from_secs(10);

/// Runs a target on each kept input, and on `changed` inputs made of them; three times as many where all is to be tried.
fn run(target: &str, changed: usize) {
    let (_, body) = *TARGETS.iter().find(|(name, _)| *name == target).unwrap();
    let kept = kept(target);
    assert!(!kept.is_empty());
    kept.iter().for_each(|(name, input)| tried(body, name, input));
    let changed = if std::env::var_os("RAFTSCOPE_EVERY_VERSION").is_some() { changed * 3 } else { changed };
    let mut dice = Dice(0x5eed);
    for n in 0..changed {
        let (name, input) = &kept[dice.below(kept.len())];
        let other = &kept[dice.below(kept.len())].1;
        let mut input = input.clone();
        for _ in 0..=dice.below(4) {
            change(&mut input, other, &mut dice);
        }
        tried(body, &format!("change {n} of {name}"), &input);
    }
}

/// Runs a target on one input. Where it panics or takes too long, the input is kept.
fn tried(body: fn(&[u8]), name: &str, input: &[u8]) {
    let begun = Instant::now();
    let ended = catch_unwind(AssertUnwindSafe(|| body(input)));
    if ended.is_ok() && begun.elapsed() < TIME {
        return;
    }
    let path = std::env::temp_dir().join(format!("raftscope-fuzzed-{}", name.replace([' ', '/'], "-")));
    fs::write(&path, input).unwrap();
    eprintln!("{name} fails after {:?}; it is kept as {}", begun.elapsed(), path.display());
    match ended {
        Err(panic) => resume_unwind(panic),
        Ok(()) => panic!("it takes too long"),
    }
}

/// The inputs of a target, in order of name.
fn kept(target: &str) -> Vec<(String, Vec<u8>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpora").join(format!("{target}.tar.xz"));
    let packed = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut kept = Vec::new();
    for entry in tar::Archive::new(XzReader::new(packed, false)).entries().unwrap() {
        let mut entry = entry.unwrap();
        if entry.header().entry_type().is_file() {
            let mut input = Vec::new();
            entry.read_to_end(&mut input).unwrap();
            kept.push((entry.path().unwrap().display().to_string(), input));
        }
    }
    kept.sort();
    kept
}

/// Changes an input in one place, as `other` gives reason to.
fn change(input: &mut Vec<u8>, other: &[u8], dice: &mut Dice) {
    /// Values at which sums and comparisons go wrong.
    const EDGES: [u64; 8] = [0, 1, 0x7f, 0xff, 0x7fff_ffff, 0xffff_ffff, i64::MAX as u64, u64::MAX];
    let at = dice.below(input.len() + 1);
    let len = dice.below(16) + 1;
    let end = (at + len).min(input.len());
    match dice.below(7) {
        0 if at < input.len() => input[at] ^= 1 << dice.below(8),
        1 if at < input.len() => input[at] = dice.below(256) as u8,
        2 => {
            let (edge, width) = (EDGES[dice.below(EDGES.len())], 1 << dice.below(4));
            let bytes = if dice.below(2) == 0 { edge.to_be_bytes() } else { edge.to_le_bytes() };
            let written = input[at..].iter_mut().zip(bytes).take(width);
            written.for_each(|(to, from)| *to = from);
        }
        3 => {
            input.drain(at..end);
        }
        4 => {
            let again = input[at..end].to_vec();
            input.splice(at..at, again);
        }
        5 if !other.is_empty() => {
            let from = dice.below(other.len());
            let to = (from + 1 + dice.below(64)).min(other.len());
            input.splice(at..end, other[from..to].iter().copied());
        }
        _ => input.truncate(at.max(1)),
    }
}

/// What fuzzing found once, each made as small as it gets: `fuzz/found/TARGET-what-it-was`.
#[test]
fn nothing_that_fuzzing_found_comes_back() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/found");
    let mut found: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    assert!(!found.is_empty());
    for path in found {
        let name = path.file_name().unwrap().to_str().unwrap();
        let target = TARGETS.iter().find(|(target, _)| name.split('-').next() == Some(target));
        let (_, body) = target.unwrap_or_else(|| panic!("{name} is of no target"));
        tried(*body, name, &fs::read(&path).unwrap());
    }
}

macro_rules! bounded {
    ($($test:ident: $target:ident $changed:literal,)*) => {$(
        #[test]
        fn $test() {
            run(stringify!($target), $changed);
        }
    )*};
}

bounded! {
    no_entry_breaks_the_state_machine: apply 4_000,
    no_archive_breaks_its_reader: archive 3_000,
    no_bolt_file_breaks_its_reader: bolt 3_000,
    no_filter_breaks_the_parser: filter 20_000,
    no_expression_breaks_jq: jq 1_000,
    no_json_breaks_its_reader: json 5_000,
    no_payload_breaks_its_decoder: msgpack 20_000,
    no_state_of_a_snapshot_breaks_its_reader: snapshot 4_000,
    no_segment_breaks_its_reader: wal 8_000,
}

#[test]
fn every_target_has_its_inputs() {
    TARGETS.iter().for_each(|(name, _)| assert!(kept(name).len() > 3, "{name}"));
}
