//! `logs` and `info` on recorded logs.

use crate::common;

use crate::common::{check_schema, fixture, refused, run_to};
use serde_json::{Value, json};

#[test]
fn the_list_of_the_investigation_is_printed() {
    let hey = fixture("horizontal_hey");
    let filters = ["logs", "--filter", "parent=horizontal_hey", "--filter", "type=JobRegister", "--format", "ndjson"];
    let rows = run_to(0, &[&filters[..], &[&hey]].concat()).ndjson();
    let of = |term: u64, status: &str| {
        rows.iter().filter(|r| r["Term"] == term && r["Body"]["Job"]["Status"] == status).count()
    };
    assert_eq!((rows.len(), of(2, ""), of(3, "running")), (30, 12, 18));
    let first_wrong = rows.iter().find(|r| r["Term"] == 3).unwrap();
    assert_eq!(first_wrong["Index"], 1609);
}

#[test]
fn the_jq_filter_of_the_investigation_prints_the_same_list() {
    let hey = fixture("horizontal_hey");
    let filter = r#".[] | select(.CommandType == "JobRegisterRequestType") | select(.Body.Job.ParentID == "horizontal_hey") | [.Term, .Index, .Body.Job.Status]"#;
    let rows = run_to(0, &["logs", "--jq", filter, &hey]).ndjson();
    assert_eq!(rows.len(), 30);
    assert!(rows.contains(&json!([3, 1609, "running"])));
    let whole = run_to(0, &["logs", "--jq", &format!("[{filter}]"), &hey]).json();
    assert_eq!(whole, Value::from(rows));
}

#[test]
fn the_four_formats_say_the_same() {
    let case = fixture("unknown_types");
    let json = run_to(2, &["logs", "--json", "--quiet", &case]).json();
    check_schema("logs", &json);
    let ndjson = run_to(2, &["logs", "--format", "ndjson", &case]).ndjson();
    assert_eq!(json, Value::from(ndjson));
    let csv = run_to(2, &["logs", "--format", "csv", &case]).stdout;
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let records: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(records.len(), json.as_array().unwrap().len());
    for (record, row) in records.iter().zip(json.as_array().unwrap()) {
        assert_eq!(record[2], row["Index"].to_string());
        match row.get("Body") {
            Some(body) => assert_eq!(serde_json::from_str::<Value>(&record[6]).unwrap(), *body),
            None => assert_eq!(&record[6], ""),
        }
    }
    let table = run_to(2, &["logs", &case]).stdout;
    assert_eq!(table.lines().count(), records.len() + 1);
    let pretty = run_to(2, &["logs", "-pretty", &case]).json();
    assert_eq!(pretty, json);
}

#[test]
fn what_cannot_be_decoded_is_listed_and_ends_with_2() {
    let rows = run_to(2, &["logs", "--format", "ndjson", &fixture("unknown_types")]).ndjson();
    let at = |index: u64| rows.iter().find(|r| r["Index"] == index).unwrap();
    assert_eq!(at(12)["CommandType"], "78");
    assert_eq!(at(13)["CommandType"], "72");
    assert_eq!(at(13)["IgnoreUnknownTypeFlag"], true);
    assert!(at(17)["Error"].as_str().unwrap().contains("no byte"));
    assert!(at(19)["Error"].as_str().unwrap().contains("ends early"));
    assert!(at(19).get("Body").is_none());
    // Left out by a filter that would have had to read it: told, and no success.
    let filtered = run_to(2, &["logs", "--filter", "job=nothing", &fixture("unknown_types")]);
    assert!(filtered.stderr.contains("cannot be decoded") && filtered.stderr.contains("19"), "{}", filtered.stderr);
    // A filter that needs no body is not unsure.
    run_to(0, &["logs", "--filter", "type=EvalUpdate", &fixture("unknown_types")]);
}

#[test]
fn a_message_type_can_be_named() {
    let case = fixture("unknown_types");
    let args = ["logs", "--message-type", "78=QuotaUsage", "--filter", "type=QuotaUsage", "--format", "ndjson", &case];
    let rows = run_to(0, &args).ndjson();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["CommandType"], "QuotaUsage");
    refused(&["logs", "--message-type", "78", &case], &["--message-type", "NUMBER=NAME"]);
}

#[test]
fn ranges_mean_what_nomad_documents() {
    let case = fixture("last_index");
    let indexes = |args: &[&str], code: i32| -> Vec<u64> {
        let all = [&["logs", "--format", "ndjson"], args, &[&case]].concat();
        run_to(code, &all).ndjson().iter().map(|r| r["Index"].as_u64().unwrap()).collect()
    };
    let all = indexes(&[], 0);
    let last = *all.last().unwrap();
    assert_eq!(indexes(&["-last-index=5"], 0), [1, 2, 3, 4, 5]);
    assert_eq!(indexes(&["-last-index", "-3"], 0).last(), Some(&(last - 3)));
    assert_eq!(indexes(&["--last-index", "0"], 0), all);
    assert_eq!(indexes(&["--last-index", "99999"], 0), all);
    assert_eq!(indexes(&["--from-index", "0"], 0), [last]);
    assert_eq!(indexes(&["--from-index", "-2", "--last-index", "-1"], 0), [last - 2, last - 1]);
    assert_eq!(indexes(&["--filter", "index=~2"], 0), [last - 1, last]);
    assert_eq!(indexes(&["--filter", "index=3..4", "--limit", "1"], 0), [3]);
    assert_eq!(indexes(&["--limit", "0"], 0), [0_u64; 0]);
    assert_eq!(indexes(&["--last-index", "-99999"], 3), [0_u64; 0]);
    refused(&["logs", "--from-index", "9", "--last-index", "5", &case], &["exchange"]);
    let past = run_to(0, &["logs", "--last-index", "99999", &case]);
    assert!(past.stderr.starts_with("note: "), "{}", past.stderr);
    assert_eq!(run_to(0, &["logs", "--quiet", "--last-index", "99999", &case]).stderr, "");
}

#[test]
fn times_find_entries_where_the_log_knows_them() {
    let case = fixture("unknown_types");
    let rows = run_to(0, &["logs", "--format", "ndjson", "--last-index", "@2026-02-03T03:50:00Z", &case]).ndjson();
    assert_eq!(rows.last().unwrap()["Index"], 10);
    let since = run_to(2, &["logs", "--format", "ndjson", "--since", "2026-02-03T04:00:01Z", &case]).ndjson();
    assert_eq!(since[0]["Index"], 15);
    let all = run_to(2, &["logs", "--format", "ndjson", "--since", "2020-01-01T00:00:00Z", &case]).ndjson();
    assert_eq!(all[0]["Index"], 2, "the first entry of a cluster never has a time");
    let old = run_to(3, &["logs", "--until", "2021-01-18T03:00:00Z", &fixture("horizontal_hey")]);
    assert!(old.stderr.contains("give an index"), "{}", old.stderr);
}

#[test]
fn secrets_are_markers_unless_they_are_asked_for() {
    let case = fixture("secrets");
    let hidden = run_to(2, &["logs", "--format", "ndjson", &case]).stdout;
    let shown = run_to(2, &["logs", "--format", "ndjson", "--unsafe-show-secrets", &case]).stdout;
    assert!(hidden.contains("[AuthToken#"), "{hidden}");
    assert!(!shown.contains("[AuthToken#"));
    let token = shown.lines().map(|l| serde_json::from_str::<Value>(l).unwrap());
    let tokens: Vec<String> =
        token.filter_map(|r| r["Body"]["AuthToken"].as_str().map(str::to_owned)).filter(|t| !t.is_empty()).collect();
    assert!(!tokens.is_empty());
    for token in tokens {
        assert!(!hidden.contains(&token), "{token}");
    }
    // A jq expression sees what would be printed.
    let jq = run_to(0, &["logs", "-r", "--jq", ".[] | .Body.AuthToken? // empty", "--last-index", "20", &case]).stdout;
    assert!(jq.lines().all(|l| l.is_empty() || l.starts_with('[')), "{jq}");
}

#[test]
fn mistakes_are_told_what_to_type_instead() {
    let hey = fixture("horizontal_hey");
    refused(&["log", &hey], &["`logs`"]);
    refused(&["logs", "--fitler", "x=y", &hey], &["`--filter`"]);
    refused(&["logs", "--types", &hey], &["info"]);
    refused(&["logs", "--filter", "parnet=x", &hey], &["`parent`"]);
    refused(&["logs", "--filter", "type=JobRegistr", &hey], &["`JobRegister`"]);
    refused(&["logs", "--format", "jsn", &hey], &["`json`"]);
    refused(&["logs", "--format", "table", "--jq", ".", &hey], &["--jq needs JSON"]);
    refused(&["logs", "--jq", ".[] | lenght", &hey], &["column 7", "`length`"]);
    refused(&["logs", "-r", &hey], &["--jq"]);
    refused(&["logs", &hey, &hey], &["one PATH"]);
    refused(&["logs", "1609", &hey], &["--last-index"]);
    refused(&["logs", "--last-index", &hey, &hey], &["a file, not an index"]);
    refused(&["logs", "--since", "yesterday", &hey], &["RFC 3339"]);
    refused(&["logs", "--json", "--format", "csv", &hey], &["--json", "--format"]);
    refused(&["logs", "-lst-index=5", &hey], &["`--last-index`"]);
    refused(&["logs", "--limit", "x", &hey], &["--limit"]);
}

#[test]
fn what_holds_no_log_gets_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("empty"), "").unwrap();
    std::fs::write(path("text.db"), "this is no database\n").unwrap();
    std::fs::create_dir(path("sub")).unwrap();
    for command in ["info", "logs"] {
        refused(&[command, &path("nothing")], &["nothing", "no such file"]);
        refused(&[command, &path("sub")], &["sub", "no raft log"]);
        refused(&[command, &path("empty")], &["empty", "the file is empty"]);
        refused(&[command, &path("text.db")], &["text.db", "text file"]);
        refused(&[command, &fixture("wal_and_stale_db/wal/wal-meta.db")], &["wal-meta.db"]);
    }
}

#[test]
fn a_runtime_error_of_jq_comes_after_the_output_before_it() {
    let ran = run_to(
        2,
        &["logs", "--jq", ".[] | .Index, (if .Index == 3 then error(\"three\") else empty end)", &fixture("healthy")],
    );
    assert_eq!(ran.stdout, "1\n2\n3\n");
    assert_eq!(ran.stderr, "error: --jq: three\n");
}

#[test]
fn colour_is_used_only_where_it_is_wanted() {
    let case = fixture("unknown_types");
    assert!(!run_to(2, &["logs", &case]).stdout.contains('\u{1b}'));
    assert!(run_to(2, &["logs", "--color", "always", &case]).stdout.contains('\u{1b}'));
}

#[test]
fn info_tells_what_a_log_is() {
    let s2 = fixture("real-1.0.4/s2");
    let info = run_to(0, &["info", "--json", "--types", &s2]).json();
    check_schema("info", &info);
    assert_eq!((&info["store"], &info["first_index"], &info["last_index"]), (&json!("boltdb"), &json!(1), &json!(302)));
    assert_eq!(info["terms"][2], json!({"term": 4, "first_index": 136, "last_index": 302}));
    assert_eq!(info["writer"]["at_least"], "0.12.1");
    assert_eq!(info["writer"]["before"], "1.1.3");
    assert_eq!(info["servers"]["servers"].as_array().unwrap().len(), 3);
    let entries: u64 = info["types"].as_array().unwrap().iter().map(|t| t["entries"].as_u64().unwrap()).sum();
    assert_eq!(entries, 302);
    assert_eq!(
        info["largest"][0],
        json!({"index": 280, "term": 4, "entry": "AllocClientUpdateRequestType", "bytes": 69663})
    );
    let types = run_to(0, &["info", "--types", "--format", "ndjson", &s2]).ndjson();
    assert_eq!(Value::from(types), info["types"]);
    let table = run_to(0, &["info", "--types", &s2]).stdout;
    assert!(table.contains("before 1.1.3") && table.contains("ReconcileJobSummaries"), "{table}");
    let damaged = run_to(2, &["info", "--json", &fixture("unknown_types")]).json();
    check_schema("info", &damaged);
    assert_eq!(damaged["undecodable_first"], json!([17, 19, 20]));
}

#[test]
fn entries_that_name_only_ids_are_resolved_through_the_state() {
    let hey = fixture("horizontal_hey");
    let list = |args: &[&str]| -> Vec<(u64, String)> {
        let filter = ["logs", "--format", "ndjson", "--filter", "job=horizontal_hey/periodic-1610940918"];
        let rows = run_to(0, &[&filter[..], args, &[&hey]].concat()).ndjson();
        rows.iter().map(|r| (r["Index"].as_u64().unwrap(), r["CommandType"].as_str().unwrap().to_owned())).collect()
    };
    let (plain, resolved) = (list(&[]), list(&["--resolve"]));
    let client_updates = |rows: &[(u64, String)]| rows.iter().filter(|r| r.1 == "AllocClientUpdateRequestType").count();
    assert_eq!(client_updates(&plain), 0);
    assert!(client_updates(&resolved) > 0, "{resolved:?}");
    assert!(plain.iter().all(|row| resolved.contains(row)));
    let children = [
        "logs",
        "--resolve",
        "--filter",
        "parent=horizontal_hey",
        "--filter",
        "type=AllocClientUpdate",
        "--limit",
        "3",
    ];
    assert_eq!(run_to(0, &[&children[..], &["--format", "ndjson", &hey]].concat()).ndjson().len(), 3);
    let table = run_to(0, &[&children[..], &[&hey]].concat()).stdout;
    assert!(table.contains("horizontal_hey/periodic-"), "{table}");
    // Without a filter nothing is lost, also where a replay cannot go on.
    for case in ["horizontal_hey", "unknown_types"] {
        let rows =
            |more: &[&str]| common::run(&[&["logs", "--format", "ndjson"], more, &[&fixture(case)]].concat()).stdout;
        assert!(rows(&["--resolve"]) == rows(&[]), "{case}");
    }
    refused(&["logs", "--rules", "1.0.4", &hey], &["--resolve"]);
}
