//! `compare`: real servers are the same where they overlap; what is made to differ is told once, as what it is.

use std::path::{Path, PathBuf};

use crate::common::{check_schema, fixture, refused, run, run_to};
use crate::support::cases;
use crate::support::synth::bolt::Layout;
use crate::support::synth::history::{Entry, History, Plot};
use crate::support::synth::write_entries;
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

/// The servers of a real case, with what keeps them unpacked.
fn servers(case: &str) -> (Vec<String>, Vec<Option<TempDir>>) {
    let case = cases::below(&cases::fixtures()).into_iter().find(|c| c.name == case).unwrap();
    ["s1", "s2", "s3"]
        .iter()
        .map(|server| {
            let (path, unpacked) = case.evidence(Some(server));
            (path.to_str().unwrap().to_owned(), unpacked)
        })
        .unzip()
}

/// A `raft.db` of these entries, on a server that has seen `current_term`.
fn write(dir: &Path, name: &str, entries: &[Entry], current_term: u64) -> String {
    let path: PathBuf = dir.join(name);
    write_entries(&path, Layout::default(), entries, current_term).unwrap();
    path.to_str().unwrap().to_owned()
}

fn history(count: usize) -> Vec<Entry> {
    History::new(Plot::default()).take(count).collect()
}

/// The document that a comparison prints, which fits the schema, and whose rows are those of NDJSON.
fn compare(code: i32, paths: &[&str]) -> Value {
    let document = run_to(code, &[&["compare", "--json"], paths].concat()).json();
    check_schema("compare", &document);
    let rows = run_to(code, &[&["compare", "--format", "ndjson"], paths].concat()).ndjson();
    assert_eq!(document["differences"], Value::from(rows));
    document
}

/// Kind, first and last index of each difference.
fn told(document: &Value) -> Vec<(String, u64, u64)> {
    let number = |d: &Value, key: &str| d[key].as_u64().unwrap();
    let differences = document["differences"].as_array().unwrap().iter();
    differences
        .map(|d| (d["kind"].as_str().unwrap().to_owned(), number(d, "first_index"), number(d, "last_index")))
        .collect()
}

/// The standing of each path in the first difference.
fn standing(document: &Value, path: &str) -> String {
    let groups = document["differences"][0]["groups"].as_array().unwrap();
    let group = groups.iter().find(|g| g["servers"].as_array().unwrap().contains(&json!(path))).unwrap();
    group["standing"].as_str().unwrap().to_owned()
}

#[test]
fn the_servers_of_a_real_cluster_are_the_same_where_they_overlap() {
    let (paths, _unpacked) = servers("real-2.0.5");
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let document = compare(0, &paths);
    assert_eq!((&document["verdict"], &document["complete"]), (&json!("same"), &json!(true)));
    let shared = &document["shared"];
    assert_eq!((&shared["entries"], &shared["equal"]), (&json!(303), &json!(303)));
    let compacted = json!([{"first_index": 1, "last_index": 252, "why": "compacted"}]);
    assert_eq!(document["servers"][1]["missing"], compacted);
    assert_eq!(document["most_up_to_date"]["servers"], json!(paths));
    assert_eq!(document["committed"], json!({"proven_to": 303, "by": "majority", "majority_to": 303}));
    let table = run_to(0, &[&["compare"], &paths[..]].concat()).stdout;
    assert!(table.starts_with("The logs are the same where they overlap.\n"), "{table}");

    let (paths, _unpacked) = servers("real-1.0.4");
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    assert_eq!(compare(0, &paths)["verdict"], "same");
}

#[test]
fn logs_of_different_clusters_are_not_called_corrupted() {
    let (new, old) = (fixture("real-2.0.5/s1"), fixture("real-1.0.4/s2"));
    for other in [old, fixture("horizontal_hey")] {
        let document = compare(1, &[&new, &other]);
        assert_eq!(document["verdict"], "different_clusters");
        assert_eq!(document["differences"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn a_tail_of_another_term_is_one_divergence_and_refuted_by_a_majority() {
    let dir = tempdir().unwrap();
    let mut all = history(1_200);
    let term = all[1_199].term;
    // The others went on under a new leader; the old one kept what nobody else has.
    let old = write(dir.path(), "old.db", &all[..1_100], term);
    all[1_000..].iter_mut().for_each(|entry| entry.term = term + 1);
    let first = all[1_000].index;
    let a = write(dir.path(), "a.db", &all, term + 1);
    let b = write(dir.path(), "b.db", &all[..1_150], term + 1);
    let document = compare(1, &[&old, &a, &b]);
    assert_eq!(told(&document), [("divergence".into(), first, first + 99)]);
    assert_eq!((standing(&document, &old), standing(&document, &a)), ("refuted".into(), "proven".into()));
    assert_eq!(document["committed"]["proven_to"], all[1_149].index);
    assert_eq!(document["most_up_to_date"]["servers"], json!([a]));
    let behind = json!([{"first_index": all[1_150].index, "last_index": all[1_199].index, "why": "behind"}]);
    assert_eq!(document["servers"][2]["missing"], behind);

    // Two of three that disagree prove nothing: the third may have gone along with either.
    let document = compare(1, &[&old, &a]);
    assert_eq!((standing(&document, &old), standing(&document, &a)), ("unknown".into(), "unknown".into()));
}

#[test]
fn a_majority_of_an_older_term_is_no_proof_while_a_later_one_may_win() {
    let dir = tempdir().unwrap();
    let mut all = history(300);
    let term = all[299].term;
    let a = write(dir.path(), "a.db", &all, term + 1);
    let b = write(dir.path(), "b.db", &all[..290], term + 1);
    all[250..].iter_mut().for_each(|entry| entry.term = term + 1);
    let later = write(dir.path(), "later.db", &all[..260], term + 1);
    let document = compare(1, &[&a, &b, &later]);
    assert_eq!(standing(&document, &a), "unknown");
    let committed = &document["committed"];
    assert_eq!((&committed["proven_to"], &committed["majority_to"]), (&json!(all[249].index), &json!(all[289].index)));
    assert_eq!(document["most_up_to_date"]["servers"], json!([later]));
}

#[test]
fn other_content_under_one_term_is_corruption_except_in_the_bootstrap_entry() {
    let dir = tempdir().unwrap();
    let mut all = history(600);
    let sound = write(dir.path(), "sound.db", &all, all[599].term);
    all[0].data.push(0xc0);
    let at = all.iter().position(|entry| entry.index > 400 && entry.data.len() > 20).unwrap();
    *all[at].data.last_mut().unwrap() ^= 1;
    // The clock is part of the envelope, which each server writes for itself.
    all.iter_mut().for_each(|entry| entry.appended_at = None);
    let altered = write(dir.path(), "altered.db", &all, all[599].term);
    let document = compare(1, &[&sound, &altered]);
    let index = all[at].index;
    assert_eq!(told(&document), [("bootstrap".into(), 1, 1), ("corruption".into(), index, index)]);

    *all[at].data.last_mut().unwrap() ^= 1;
    let bootstrap = write(dir.path(), "bootstrap.db", &all, all[599].term);
    assert_eq!(told(&compare(0, &[&sound, &bootstrap])), [("bootstrap".into(), 1, 1)]);
}

#[test]
fn an_altered_term_between_equal_ones_is_no_superseded_tail() {
    let dir = tempdir().unwrap();
    let mut all = history(200);
    let sound = write(dir.path(), "sound.db", &all, all[199].term);
    all[150].term += 1;
    let altered = write(dir.path(), "altered.db", &all, all[199].term);
    let index = all[150].index;
    let document = compare(1, &[&sound, &altered]);
    assert_eq!(told(&document), [("divergence".into(), index, index), ("log_matching".into(), index + 1, index + 1)]);
}

#[test]
fn what_cannot_be_compared_is_not_called_the_same() {
    let dir = tempdir().unwrap();
    let all = history(5_000);
    let term = all[4_999].term;
    let whole = write(dir.path(), "whole.db", &all, term);
    let head = write(dir.path(), "head.db", &all[..100], term);
    let tail = write(dir.path(), "tail.db", &all[4_500..], term);
    let apart = compare(3, &[&head, &tail]);
    assert_eq!((&apart["verdict"], &apart["complete"]), (&json!("not_comparable"), &json!(false)));
    assert!(run(&["compare", "--allow-incomplete", &head, &tail]).code == 0);
    assert_eq!(compare(0, &[&head, &tail, &whole])["verdict"], "same");

    let holed: Vec<Entry> = all.iter().filter(|e| !(500..600).contains(&e.index)).cloned().collect();
    let holed = write(dir.path(), "holed.db", &holed, term);
    let document = compare(3, &[&whole, &holed]);
    assert_eq!(document["servers"][1]["missing"], json!([{"first_index": 500, "last_index": 599, "why": "hole"}]));
}

#[test]
fn what_raft_logs_printed_is_compared_by_term_and_type_and_is_no_vote() {
    let dir = tempdir().unwrap();
    let text = cases::read_text(&cases::fixtures().join("real-2.0.5/s1.logs.ndjson"));
    let printed = dir.path().join("s1.ndjson");
    std::fs::write(&printed, text).unwrap();
    let printed = printed.to_str().unwrap();
    let document = compare(0, &[&fixture("real-2.0.5/s1"), printed]);
    assert_eq!(document["servers"][1]["content_compared"], false);
    assert_eq!(document["committed"]["proven_to"], 0);
}

#[test]
fn each_server_is_given_once() {
    let healthy = fixture("healthy");
    refused(&["compare", &healthy], &["two or more"]);
    refused(&["compare", &healthy, &healthy], &["twice"]);
}
