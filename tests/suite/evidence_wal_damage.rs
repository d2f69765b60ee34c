//! Real write-ahead logs with bytes flipped, zeroed, cut off and overwritten at seeded places: never a
//! panic, never an entry of a damaged batch, every entry of an undamaged one.

use crate::support::dice::Dice;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};

use raftscope::evidence::{self, DamageKind, Scanned};
use raftscope::types::Index;

/// Where the batch of one entry lies: in which file, and its bytes with the commit; and its payload.
struct Truth {
    file: usize,
    batch: Range<usize>,
    payload: Vec<u8>,
}

/// The undamaged files: the metadata first, then the segments in order.
fn load(dir: &Path, limit: usize) -> Vec<(String, Vec<u8>)> {
    let mut names: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort_by_key(|path| (path.extension().is_some_and(|extension| extension == "wal"), path.clone()));
    let read = |path: PathBuf| {
        let mut bytes = fs::read(&path).unwrap();
        bytes.truncate(limit);
        (path.file_name().unwrap().to_string_lossy().into_owned(), bytes)
    };
    names.into_iter().map(read).collect()
}

/// A walker of undamaged segments that shares no code with the reader. Entries that a later segment voids are dropped.
fn map_entries(files: &[(String, Vec<u8>)]) -> BTreeMap<u64, Truth> {
    let mut truth = BTreeMap::new();
    for (n, (name, bytes)) in files.iter().enumerate().skip(1) {
        let mut index: u64 = name[..20].parse().unwrap();
        truth.split_off(&index);
        let (mut at, mut start, mut batch) = (32, 0, Vec::new());
        while at + 8 <= bytes.len() {
            let len = u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap()) as usize;
            match bytes[at] {
                0 => break,
                3 => {
                    for payload in std::mem::take(&mut batch) {
                        truth.insert(index, Truth { file: n, batch: start..at + 8, payload });
                        index += 1;
                    }
                    start = at + 8;
                    at += 8;
                    continue;
                }
                1 => batch.push(bytes[at + 8..at + 8 + len].to_vec()),
                _ => {}
            }
            at += 8 + len.next_multiple_of(8);
        }
    }
    truth
}

#[derive(Clone, Copy, Debug)]
enum Harm {
    Flip,
    Zero,
    Cut,
    Splice,
}

/// The end of what a file holds, so that harm does not go into the zeros behind it.
fn used(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|&byte| byte != 0).map_or(1, |at| at + 1)
}

fn harm(bytes: &mut Vec<u8>, harm: Harm, dice: &mut Dice) {
    let end = used(bytes);
    let at = dice.below(end);
    let len = (1 + dice.below(512)).min(end - at);
    match harm {
        Harm::Flip => bytes[at] ^= 1 << dice.below(8),
        Harm::Zero => bytes[at..at + len].fill(0),
        Harm::Cut => bytes.truncate(at),
        Harm::Splice => {
            let from = dice.below(end - len + 1);
            bytes.copy_within(from..from + len, at);
        }
    }
}

#[derive(Default)]
struct Tally {
    entries: usize,
    sound: usize,
    read: usize,
}

fn check(
    whole: &[(String, Vec<u8>)],
    damaged: &[(String, Vec<u8>)],
    truth: &BTreeMap<u64, Truth>,
    what: &str,
) -> Tally {
    let same = |file: usize, span: Range<usize>| whole[file].1.get(span.clone()) == damaged[file].1.get(span);
    let header = |file| same(file, 0..32);
    let is_sound = |t: &Truth| header(t.file) && same(t.file, t.batch.clone());
    let sound: BTreeSet<u64> = truth.iter().filter(|(_, t)| is_sound(t)).map(|(index, _)| *index).collect();
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in damaged {
        fs::write(dir.path().join(name), bytes).unwrap();
    }
    let mut tally = Tally { entries: truth.len(), sound: sound.len(), read: 0 };
    let evidence = match evidence::open(dir.path()) {
        Ok(evidence) => evidence,
        Err(error) => {
            assert!(sound.is_empty(), "{what}: {error}");
            return tally;
        }
    };
    let (mut read, mut lost) = (BTreeSet::new(), BTreeSet::new());
    let sink = &mut |met: Scanned<'_>| {
        match met {
            Scanned::Entry(record) => {
                let index = record.index.0;
                assert!(read.last().is_none_or(|last| *last < index), "{what}: {index} is out of order");
                assert!(read.insert(index) && !lost.contains(&index), "{what}: {index}");
                let t = &truth[&index];
                assert!(is_sound(t), "{what}: {index} was read from a damaged batch");
                assert!(
                    t.payload.windows(record.data.len().max(1)).any(|w| w == record.data) || record.data.is_empty()
                );
            }
            Scanned::Damaged(place) => {
                assert!(matches!(place.kind, DamageKind::Checksum | DamageKind::Gap), "{what}: {place:?}");
                let (Some(first), Some(last)) = (place.first, place.last) else { return ControlFlow::Continue(()) };
                for index in first.0..=last.0 {
                    assert!(lost.insert(index) && !read.contains(&index), "{what}: {index} is told twice: {place:?}");
                }
            }
        }
        ControlFlow::Continue(())
    };
    evidence.log.scan(Index(0)..=Index(u64::MAX), sink).unwrap();
    let missed: Vec<_> = sound.difference(&read).collect();
    assert!(missed.is_empty(), "{what}: not read though undamaged: {missed:?}, lost {lost:?}");
    let (first, last) = (read.first().copied().unwrap_or(0), read.last().copied().unwrap_or(0));
    let untold: Vec<_> = (first..last).filter(|index| !read.contains(index) && !lost.contains(index)).collect();
    assert!(untold.is_empty(), "{what}: neither read nor told as lost: {untold:?}");
    for index in read.iter().step_by(29) {
        assert!(evidence.log.data(Index(*index)).unwrap().is_some());
    }
    tally.read = read.len();
    tally
}

fn run(name: &str, whole: &[(String, Vec<u8>)], seeds: u64) {
    let truth = map_entries(whole);
    let untouched = check(whole, whole, &truth, name);
    assert_eq!((untouched.read, untouched.sound), (untouched.entries, untouched.entries));
    for kind in [Harm::Flip, Harm::Zero, Harm::Cut, Harm::Splice] {
        let mut sum = Tally::default();
        for seed in 1..=seeds {
            let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let mut damaged = whole.to_vec();
            for _ in 0..=dice.below(3) {
                // The list of segments is damaged now and then, a segment mostly.
                let file = if dice.below(8) == 0 { 0 } else { 1 + dice.below(whole.len() - 1) };
                if used(&damaged[file].1) > 1 {
                    harm(&mut damaged[file].1, kind, &mut dice);
                }
            }
            let tally = check(whole, &damaged, &truth, &format!("{name} {kind:?} seed {seed}"));
            sum.entries += tally.entries;
            sum.sound += tally.sound;
            sum.read += tally.read;
        }
        let share = 100.0 * sum.read as f64 / sum.entries as f64;
        // Past the test harness, which keeps what a passing test prints to itself.
        let told = writeln!(
            std::io::stderr(),
            "{name} {kind:?}: {share:.1} % recovered: of {} entries {} were read, {} lie in undamaged batches",
            sum.entries,
            sum.read,
            sum.sound
        );
        told.unwrap();
    }
}

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(path)
}

#[test]
fn a_damaged_log_of_two_segments_gives_every_whole_batch() {
    run("wal_and_stale_db", &load(&fixture("wal_and_stale_db/wal"), usize::MAX), 300);
}

#[test]
fn a_damaged_log_of_a_real_server_gives_every_whole_batch() {
    let dir = tempfile::tempdir().unwrap();
    let packed = fs::File::open(fixture("real-2.0.5/s3.tar.gz")).unwrap();
    tar::Archive::new(flate2::read::GzDecoder::new(packed)).unpack(dir.path()).unwrap();
    // The rest of the 64 MiB is zeros.
    run("real-2.0.5 s3", &load(&dir.path().join("s3/wal"), 1 << 20), 15);
}
