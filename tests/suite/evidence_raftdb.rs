//! Real servers' raft.db files, whole and damaged.

use std::fs;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use raftscope::evidence::{self, Evidence, Scanned};
use raftscope::types::Index;

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(path)
}

/// One entry: index, term, length of the payload, time of appending in milliseconds.
type Row = (u64, u64, usize, Option<i64>);

/// Each entry, and the damage between them as text.
fn walk(evidence: &Evidence) -> (Vec<Row>, Vec<String>) {
    let (mut entries, mut damage) = (Vec::new(), Vec::new());
    evidence
        .log
        .scan(Index(0)..=Index(u64::MAX), &mut |met| {
            match met {
                Scanned::Entry(record) => {
                    let at = record.appended_at.map(|at| at.as_millisecond());
                    entries.push((record.index.0, record.term.0, record.data.len(), at));
                }
                Scanned::Damaged(place) => damage.push(format!("{place:?}")),
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    (entries, damage)
}

/// The same from the recording beside the file.
fn recorded(case: &Path) -> Vec<Row> {
    let mut text = String::new();
    match fs::File::open(case.join("entries.ndjson.gz")) {
        Ok(file) => flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap(),
        Err(_) => fs::File::open(case.join("entries.ndjson")).unwrap().read_to_string(&mut text).unwrap(),
    };
    text.lines()
        .map(|line| {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            let number = |key: &str| row[key].as_u64().unwrap_or(0);
            let at = row["appended_at"].as_str().map(|at| at.parse::<jiff::Timestamp>().unwrap().as_millisecond());
            (number("i"), number("t"), number("data_len") as usize, at)
        })
        .collect()
}

#[test]
fn every_entry_of_each_recorded_case_is_read() {
    let mut cases = 0;
    for entry in fs::read_dir(fixture("")).unwrap() {
        let case = entry.unwrap().path();
        if !case.join("raft.db").is_file() || case.join("wal").exists() {
            continue;
        }
        cases += 1;
        let evidence = evidence::open(&case).unwrap();
        let (entries, damage) = walk(&evidence);
        assert_eq!(entries, recorded(&case), "{}", case.display());
        assert_eq!(damage, [""; 0], "{}", case.display());
    }
    assert!(cases > 40, "{cases}");
}

/// Every byte of the log is what raft handed out: payloads by index equal those of the walk.
#[test]
fn an_entry_asked_for_by_index_equals_the_walks() {
    let evidence = evidence::open(&fixture("real-1.0.4/s2/raft.db")).unwrap();
    let mut all = Vec::new();
    evidence
        .log
        .scan(Index(0)..=Index(u64::MAX), &mut |met| {
            if let Scanned::Entry(record) = met {
                all.push((record.index, record.data.to_vec()));
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(all.len() > 250);
    for (index, data) in &all {
        assert_eq!(evidence.log.data(*index).unwrap().as_ref(), Some(data), "{index}");
    }
    let (first, last) = evidence.log.bounds().unwrap();
    assert_eq!((first, last), (all[0].0, all[all.len() - 1].0));
    assert_eq!(evidence.log.data(last.next()).unwrap(), None);
}

#[test]
fn a_scan_of_a_range_begins_and_ends_there() {
    let evidence = evidence::open(&fixture("horizontal_hey")).unwrap();
    for (from, to) in [(1, 1), (1609, 1700), (3045, 3045), (3045, 9000), (5000, 9000), (7, 6)] {
        let mut seen = Vec::new();
        let sink = &mut |met: Scanned<'_>| {
            if let Scanned::Entry(record) = met {
                seen.push(record.index.0);
            }
            ControlFlow::Continue(())
        };
        evidence.log.scan(Index(from)..=Index(to), sink).unwrap();
        assert_eq!(seen, (from..=to.min(3045)).collect::<Vec<_>>());
    }
}

#[test]
fn terms_and_servers_are_known_without_a_walk() {
    let window = evidence::open(&fixture("horizontal_hey")).unwrap().window;
    let terms: Vec<_> = window.terms.iter().map(|span| (span.term.0, span.first_index.0, span.last_index.0)).collect();
    assert_eq!(terms, [(1, 1, 1), (2, 2, 1560), (3, 1561, 3045)]);
    let real = evidence::open(&fixture("real-1.0.4/s2")).unwrap().window;
    assert_eq!(real.servers.unwrap().servers.len(), 3);
    assert!(real.stable.current_term >= real.terms.last().map(|span| span.term));
}
