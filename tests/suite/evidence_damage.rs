//! A real raft.db with bytes flipped, zeroed, cut off and overwritten at seeded places: never a
//! panic, never a wrong entry, every entry on undamaged pages is read, every missing index told once.

use crate::support::dice::Dice;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;

use raftscope::entry::raft_log;
use raftscope::evidence::{self, DamageKind, Scanned};
use raftscope::types::Index;

const PAGE: usize = 4096;

/// Where one entry lies in the undamaged file.
struct Truth {
    /// Every page from the root to the leaf, with the leaf's overflow.
    pages: BTreeSet<usize>,
    /// The bytes of its value.
    value: std::ops::Range<usize>,
}

fn u64_at(file: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(file[at..at + 8].try_into().unwrap())
}

fn u32_at(file: &[u8], at: usize) -> usize {
    u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize
}

/// A walker of undamaged files that shares no code with the reader.
fn map_entries(file: &[u8]) -> BTreeMap<u64, Truth> {
    let meta = if u64_at(file, 64) > u64_at(file, PAGE + 64) { 0 } else { PAGE };
    let root = u64_at(file, meta + 32) as usize;
    let mut logs = 0;
    each_leaf(file, root, &BTreeSet::new(), &mut |key, value, _| {
        if &file[key] == b"logs" {
            logs = u64_at(file, value.start) as usize;
        }
    });
    let mut entries = BTreeMap::new();
    each_leaf(file, logs, &BTreeSet::from([0, 1, root]), &mut |key, value, pages| {
        let index = u64::from_be_bytes(file[key].try_into().unwrap());
        entries.insert(index, Truth { pages: pages.clone(), value });
    });
    entries
}

type Span = std::ops::Range<usize>;

fn each_leaf(file: &[u8], page: usize, above: &BTreeSet<usize>, found: &mut dyn FnMut(Span, Span, &BTreeSet<usize>)) {
    let at = page * PAGE;
    let mut pages = above.clone();
    pages.extend(page..=page + u32_at(file, at + 12));
    for n in 0..usize::from(u16::from_le_bytes([file[at + 10], file[at + 11]])) {
        let element = at + 16 + 16 * n;
        if file[at + 8] == 1 {
            each_leaf(file, u64_at(file, element + 8) as usize, &pages, found);
        } else {
            let key = element + u32_at(file, element + 4);
            let value = key + u32_at(file, element + 8);
            found(key..value, value..value + u32_at(file, element + 12), &pages);
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Harm {
    Flip,
    ZeroPage,
    ZeroBytes,
    Cut,
    Splice,
    SpliceWithItsId,
}

const HARMS: [Harm; 6] = [Harm::Flip, Harm::ZeroPage, Harm::ZeroBytes, Harm::Cut, Harm::Splice, Harm::SpliceWithItsId];

fn harm(file: &mut Vec<u8>, harm: Harm, dice: &mut Dice) {
    let pages = file.len() / PAGE;
    let at = dice.below(file.len());
    match harm {
        Harm::Flip => file[at] ^= 1 << dice.below(8),
        Harm::ZeroPage => file[at / PAGE * PAGE..][..PAGE].fill(0),
        Harm::ZeroBytes => {
            let end = (at + 1 + dice.below(64)).min(file.len());
            file[at..end].fill(0);
        }
        Harm::Cut => file.truncate(at),
        Harm::Splice | Harm::SpliceWithItsId => {
            let to = at / PAGE;
            let source = dice.below(pages) * PAGE;
            file.copy_within(source..source + PAGE, to * PAGE);
            if matches!(harm, Harm::SpliceWithItsId) {
                file[to * PAGE..to * PAGE + 8].copy_from_slice(&(to as u64).to_le_bytes());
            }
        }
    }
}

/// What a damaged file gave: how many entries of how many, and those of them that lie on undamaged pages.
#[derive(Default)]
struct Tally {
    files: usize,
    refused: usize,
    entries: usize,
    read: usize,
    undamaged: usize,
}

fn check(whole: &[u8], truth: &BTreeMap<u64, Truth>, damaged: &[u8], path: &Path, what: &str, tally: &mut Tally) {
    let same = |span: Span| whole.get(span.clone()) == damaged.get(span);
    let touched: BTreeSet<usize> =
        (0..whole.len() / PAGE).filter(|page| !same(page * PAGE..(page + 1) * PAGE)).collect();
    let sound: BTreeSet<u64> =
        truth.iter().filter(|(_, t)| t.pages.is_disjoint(&touched)).map(|(index, _)| *index).collect();
    tally.files += 1;
    tally.entries += truth.len();
    tally.undamaged += sound.len();
    fs::write(path, damaged).unwrap();
    let evidence = match evidence::open(path) {
        Ok(evidence) => evidence,
        Err(error) => {
            assert!(sound.is_empty(), "{what}: {error}");
            tally.refused += 1;
            return;
        }
    };
    let (mut read, mut lost) = (BTreeSet::new(), BTreeSet::new());
    let walked = evidence.log.scan(Index(0)..=Index(u64::MAX), &mut |met| {
        match met {
            Scanned::Entry(record) => {
                let index = record.index.0;
                assert!(read.last().is_none_or(|last| *last < index), "{what}: {index} is out of order");
                assert!(lost.last().is_none_or(|last| *last < index), "{what}: {index} follows damage behind it");
                read.insert(index);
                let value =
                    truth.get(&index).unwrap_or_else(|| panic!("{what}: there is no entry {index}")).value.clone();
                if same(value.clone()) {
                    let true_record = raft_log::decode(&whole[value]).unwrap();
                    assert_eq!(
                        (record.term, record.kind, record.data),
                        (true_record.term, true_record.kind, true_record.data)
                    );
                }
            }
            Scanned::Damaged(place) => {
                let (Some(first), Some(last)) = (place.first, place.last) else { return ControlFlow::Continue(()) };
                assert!(first <= last, "{what}: {place:?}");
                for index in first.0..=last.0.min(first.0 + 100_000) {
                    assert!(lost.insert(index), "{what}: {index} is told twice: {place:?}");
                    assert!(!read.contains(&index), "{what}: {index} is read and lost: {place:?}");
                }
                assert!(place.kind != DamageKind::Checksum);
            }
        }
        ControlFlow::Continue(())
    });
    if let Err(error) = walked {
        assert!(sound.is_empty(), "{what}: {error}");
        tally.refused += 1;
        return;
    }
    let missed: Vec<_> = sound.difference(&read).collect();
    assert!(missed.is_empty(), "{what}: not read though undamaged: {missed:?}; lost: {lost:?}");
    let (first, last) = (read.first().copied().unwrap_or(0), read.last().copied().unwrap_or(0));
    let untold: Vec<_> = (first..last).filter(|index| !read.contains(index) && !lost.contains(index)).collect();
    assert!(untold.is_empty(), "{what}: neither read nor told as lost: {untold:?}");
    tally.read += read.len();
    for index in read.iter().step_by(37).chain(lost.iter().take(3)) {
        // An answer or an error, and for what was read the answer.
        let data = evidence.log.data(Index(*index));
        assert!(!read.contains(index) || matches!(data, Ok(Some(_))), "{what}: {index}: {data:?}");
    }
}

fn run(file: &str, seeds: u64) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(file);
    let whole = fs::read(path).unwrap();
    let truth = map_entries(&whole);
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("raft.db");
    for kind in HARMS {
        let mut tally = Tally::default();
        for seed in 1..=seeds {
            let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let mut damaged = whole.clone();
            for _ in 0..=dice.below(4) {
                harm(&mut damaged, kind, &mut dice);
            }
            check(&whole, &truth, &damaged, &target, &format!("{file} {kind:?} seed {seed}"), &mut tally);
        }
        let share = 100.0 * tally.read as f64 / tally.entries as f64;
        // Past the test harness, which keeps what a passing test prints to itself.
        let told = writeln!(
            std::io::stderr(),
            "{file} {kind:?}: {share:.1} % recovered: of {} entries in {} files {} were read, {} lie on undamaged pages; \
             {} files refused",
            tally.entries,
            tally.files,
            tally.read,
            tally.undamaged,
            tally.refused
        );
        told.unwrap();
    }
}

#[test]
fn a_damaged_log_of_a_real_server_gives_what_is_whole() {
    run("real-1.0.4/s2/raft.db", 30);
}

#[test]
fn a_damaged_log_of_several_levels_gives_what_is_whole() {
    run("horizontal_hey/raft.db", 10);
}

#[test]
fn a_damaged_log_of_few_entries_gives_what_is_whole() {
    run("healthy/raft.db", 200);
}
