//! `report`: what stands on the page, whatever shows it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use raftscope::audit::Audited;
use raftscope::audit::finding::{Finding, Kind, Place, Severity, Until};
use raftscope::audit::report::{Base, EvidenceSummary, Judging, Report};
use raftscope::fsm::row::Children;
use raftscope::render::html;
use raftscope::report::fit::{self, Found, Room};
use raftscope::report::track::{Change, Span};
use raftscope::report::{Event, EventKind};
use raftscope::types::{Index, JobKey, Term};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{fixture, planted_secrets, refused, run, run_to};

/// The page of a log, made with these further arguments.
#[track_caller]
fn page(code: i32, path: &str, more: &[&str]) -> String {
    run_to(code, &[&["report", "-o", "-", path], more].concat()).stdout
}

/// The text of a page: no tags, no scripts, entities resolved.
fn text(page: &str) -> String {
    let mut rest = page.to_owned();
    for element in ["script", "style"] {
        while let Some(from) = rest.find(&format!("<{element}")) {
            let to = rest[from..].find(&format!("</{element}>")).unwrap() + from;
            rest.replace_range(from..to, "");
        }
    }
    let text: String =
        rest.split('<').skip(1).filter_map(|part| part.split_once('>')).map(|(_, after)| format!("{after} ")).collect();
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A log in which a child of `parent` is registered with a status under a new leader.
pub fn log_of(parent: &str) -> (TempDir, String) {
    let register = |index: u64, term: u64, id: &str, parent: &str, status: &str| {
        let periodic = if parent.is_empty() {
            json!({"Enabled": true, "Spec": "@hourly", "SpecType": "cron"})
        } else {
            Value::Null
        };
        let job = json!({"ID": id, "Name": id, "Namespace": "default", "Type": "batch", "Status": status, "ParentID": parent,
                         "Periodic": periodic, "TaskGroups": [{"Name": "g", "Count": 1, "Tasks": [{"Name": "t"}]}]});
        json!({"LogType": "LogCommand", "CommandType": "JobRegisterRequestType", "Index": index, "Term": term,
               "Body": {"Job": job, "Namespace": "default"}})
    };
    let entries = [
        register(1, 1, parent, "", ""),
        json!({"LogType": "LogNoop", "Index": 2, "Term": 2}),
        register(3, 2, &format!("{parent}/periodic-1"), parent, "running"),
    ];
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("logs.ndjson");
    fs::write(&file, entries.iter().map(|entry| format!("{entry}\n")).collect::<String>()).unwrap();
    (dir, file.to_str().unwrap().to_owned())
}

#[test]
fn the_page_says_what_the_audit_says_and_links_to_the_entries() {
    let page = page(0, &fixture("horizontal_hey"), &[]);
    let text = text(&page);
    let audit = run_to(1, &["audit", &fixture("horizontal_hey")]).stdout;
    let findings = audit.split("\nfindings: ").next().unwrap();
    for line in findings.lines().filter(|line| !line.is_empty()) {
        let line = line.trim().trim_start_matches("error: ").trim_end_matches("; --all lists every one");
        assert!(text.contains(line), "{line}\nis not on the page");
    }
    for expected in [
        "fixtures/horizontal_hey/raft.db (boltdb)",
        "3045 replayed, of 1 to 3045",
        "1.1.2 (writer); 1.0.3 would answer otherwise",
        "term 3 from 1561",
        "1609: Running −1",
        "entry 1609, term 3: JobRegister, 1771 bytes",
        "carries: job horizontal_hey/periodic-1610940918 (child of horizontal_hey, status \"running\")",
    ] {
        assert!(text.contains(expected), "{expected}");
    }
    for link in page.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert_eq!(page.matches(&format!("id=\"{link}\"")).count(), 1, "{link}");
    }
    assert_eq!(run_to(0, &["report", "-o", "-", &fixture("horizontal_hey")]).stdout, page, "the same each time");
}

#[test]
fn nothing_on_the_page_points_outside_of_it() {
    // The name of SVG's elements looks like an address, and is never asked for.
    let page = page(0, &fixture("real-2.0.5/s1"), &["--all"]).replace("\"http://www.w3.org/2000/svg\"", "");
    for forbidden in
        ["http:", "https:", "url(h", "@import", "<iframe", "<object", "<base", " style=", " onclick=", " src="]
    {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    assert!(page.contains("default-src 'none'"));
    // Parents without a finding are there on demand, and folded.
    assert!(page.contains("<h2>Parents without a finding</h2>"));
}

#[test]
fn a_hostile_name_is_text_and_nothing_else() {
    let name = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u{202e}evil\u{1b}[31m";
    let (_dir, path) = log_of(name);
    let page = page(0, &path, &["--rules", "1.0.4"]);
    assert_eq!(page.matches("<script").count(), 3, "the terms, one track, the script");
    assert!(!page.contains("<img") && !page.contains("alert(1)</script><img"), "{page}");
    assert!(!page.contains('\u{202e}') && !page.contains('\u{1b}'));
    assert!(
        text(&page)
            .contains("</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\\u{202e}evil\\u{1b}[31m")
    );
}

#[test]
fn no_secret_of_the_secrets_case_is_on_the_page() {
    let secrets = planted_secrets();
    // Every entry is explained somewhere below.
    let last = run(&["info", "--jq", ".last_index", &fixture("secrets")]).stdout.trim().parse::<u64>().unwrap();
    let mut shown = page(3, &fixture("secrets"), &["--all"]);
    for index in 1..=last {
        shown += &run(&["why", &index.to_string(), "--allow-incomplete", &fixture("secrets")]).stdout;
    }
    for secret in secrets {
        assert!(!shown.contains(&secret), "{secret}");
    }
}

#[test]
fn no_secret_of_the_secrets_case_is_in_any_text() {
    let (secrets, path) = (planted_secrets(), fixture("secrets"));
    let mut lines: Vec<Vec<&str>> =
        vec![vec!["info", "--types"], vec!["info", "--json"], vec!["report", "--all", "-o", "-"]];
    for format in ["table", "json", "ndjson", "csv"] {
        for command in ["logs", "state", "audit", "timeline", "restarts"] {
            lines.push(vec![command, "--format", format]);
        }
        lines.push(vec!["diff", "1", "0", "--format", format]);
        lines.push(vec!["find", ".Jobs[] | .ID != \"\"", "--format", format]);
    }
    lines.push(vec!["audit", "--format", "sarif"]);
    lines.push(vec!["audit", "--format", "junit"]);
    lines.push(vec!["logs", "--resolve"]);
    // What an expression fails on is told in the message.
    lines.push(vec!["logs", "--jq", ".[] | .Body | tojson | error"]);
    lines.push(vec!["state", "--jq", "tojson | error"]);
    lines.push(vec!["state", "--tables", "ACLTokens,Variables,RootKeys,JobSubmissions,CSIVolumes"]);
    for line in lines {
        let mut words = line.clone();
        words.extend(["--allow-incomplete"].iter().filter(|_| !matches!(line[0], "info" | "logs")));
        words.push(&path);
        let ran = run(&words);
        assert!(!ran.stdout.is_empty() || !ran.stderr.is_empty(), "{line:?}");
        for secret in &secrets {
            assert!(!ran.stdout.contains(secret) && !ran.stderr.contains(secret), "{line:?}: {secret}");
        }
    }
    let shown = page(3, &path, &["--all", "--unsafe-show-secrets"]);
    assert!(text(&shown).contains("With secrets."), "a page that shows them says so");
}

#[test]
fn other_parents_are_drawn_on_demand_and_a_slip_in_a_name_is_told() {
    let path = fixture("horizontal_hey");
    let drawn = page(0, &path, &["--job", "invoice_mailer"]);
    assert!(text(&drawn).contains("Parents without a finding prod/invoice_mailer"), "{}", text(&drawn));
    assert!(!text(&page(0, &path, &[])).contains("invoice_mailer"));
    refused(
        &["report", "-o", "-", "--job", "invoice_mialer", &path],
        &["--job: there is no parent", "did you mean `invoice_mailer`?"],
    );
}

#[test]
fn only_an_earlier_page_is_written_over() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (out, evidence) = (file("report.html"), file("raft.db"));
    fs::copy(fixture("healthy/raft.db"), &evidence).unwrap();
    run_to(0, &["report", "-o", &out, &evidence]);
    let first = fs::read(&out).unwrap();
    assert!(first.starts_with(html::MARK.as_bytes()));
    run_to(0, &["report", "-o", &out, &evidence]);
    assert_eq!(fs::read(&out).unwrap(), first);
    let before = fs::read(&evidence).unwrap();
    refused(&["report", "-o", &evidence, &evidence], &["is no report; name another"]);
    assert_eq!(fs::read(&evidence).unwrap(), before);
    refused(&["report", "-o", dir.path().to_str().unwrap(), &evidence], &["is a folder", "report.html"]);
    let names: BTreeSet<PathBuf> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(names.len(), 2, "no half page is left: {names:?}");
}

#[test]
fn a_page_of_nothing_wrong_says_so_and_one_of_half_a_log_does_not() {
    assert!(text(&page(0, &fixture("healthy"), &[])).contains("Nothing is wrong"));
    let unknown = text(&page(3, &fixture("unknown_types"), &[]));
    assert!(!unknown.contains("Nothing is wrong") && unknown.contains("Not complete."), "{unknown}");
    let altered = text(&page(0, &fixture("horizontal_hey"), &["--skip", "1609"]));
    assert!(altered.contains("Not evidence."), "{altered}");
}

fn summary(entries: u64) -> EvidenceSummary {
    EvidenceSummary {
        path: "raft.db".into(),
        store: "boltdb".into(),
        first_index: Some(Index(1)),
        last_index: Some(Index(entries)),
        entries,
        base: Base { kind: "empty", index: Index(0), term: Term(0) },
        gaps: Vec::new(),
        undecodable: 0,
        rejected: 0,
        rules: "2.0.5".into(),
        rules_from: "default".into(),
        rules_also_possible: Vec::new(),
        altered: Vec::new(),
    }
}

/// Running of the first parent below zero, for one entry.
fn negative(index: u64) -> Finding {
    let at = Place { index: Index(index), term: Term(1), entry: "JobRegisterRequestType".into() };
    let mut finding =
        Finding::new(Kind::Negative, Severity::Error, at).about_parent(&JobKey::new("default", "parent-0"));
    (finding.counter, finding.value, finding.until) = (Some("Running"), Some(-1), Some(Until::Index(Index(index + 1))));
    finding
}

#[test]
fn a_hundred_thousand_changes_make_less_than_two_megabytes() {
    const CHANGES: u64 = 100_000;
    let change = |i: u64| Change {
        index: Index(10 * i + 1),
        entry: ["JobRegister", "ApplyPlanResults", "AllocClientUpdate"][i as usize % 3].into(),
        child: Some(format!("a_parent_with_a_long_name/periodic-{}", 1_610_000_000 + i / 3).into()),
        counts: Some(Children {
            pending: i64::from(i.is_multiple_of(3)),
            running: -((i / 7) as i64),
            dead: (i / 3) as i64,
        }),
    };
    let changes: Vec<Change> = (0..CHANGES).map(change).collect();
    let last = Index(10 * CHANGES);
    let audited = Audited { findings: Vec::new(), entries: last.0, undecodable: 0, rejected: 0, parents: Vec::new() };
    let judging = Judging { fail_on: Severity::Warning, all: false, baseline: None };
    let every: Vec<Finding> = (0..20_000).map(|i| negative(10 * i + 1)).collect();
    let found = Found {
        report: Report::new(summary(last.0), audited, &judging, true),
        every,
        parents: (0..40).map(|n| JobKey::new("default", format!("parent-{n}"))).collect(),
        tracks: (0..200).map(|n| (JobKey::new("default", format!("parent-{n}")), changes.clone())).collect(),
        range: (Index(1), last),
        terms: (0..20_000)
            .map(|t| Span { term: Term(t + 1), first: Index(50 * t + 1), last: Index(50 * (t + 1)) })
            .collect(),
        events: (0..5000).map(|i| Event { index: Index(200 * i + 1), kind: EventKind::Reconcile }).collect(),
        entries: Vec::new(),
        more_entries: true,
        secrets_shown: false,
    };
    let page = fit::page(&found, &Room::part(1));
    assert_eq!((page.found.len(), page.others.len()), (24, 150));
    let told = page.left_out.join("\n");
    for words in [
        "parents with findings are not drawn",
        "parents without",
        "the chart shows",
        "are marked in its charts",
        "terms the charts show",
        "are explained",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let sizes: Vec<usize> = [1, 2, 4, 8].map(|parts| html::page(&fit::page(&found, &Room::part(parts))).len()).into();
    assert!(sizes.is_sorted_by(|a, b| a > b) && sizes[0] < 4_000_000 && sizes[1] < 2_000_000, "{sizes:?}");
    // The usual case: one parent of that length.
    let found =
        Found { parents: found.parents[..1].to_vec(), tracks: found.tracks.into_iter().take(1).collect(), ..found };
    let page = html::page(&fit::page(&found, &Room::part(1)));
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
}

/// A real run of that length; the page has to say what it left out.
#[test]
fn a_long_log_makes_no_large_page_and_what_is_thinned_is_told() {
    use crate::support::synth::bolt::Layout;
    use crate::support::synth::history::{Fault, History, Mechanism, Plot};
    let long = std::env::var_os("RAFTSCOPE_EVERY_VERSION").is_some();
    let entries = if long { 60_000 } else { 12_000 };
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("raft.db");
    let fault = Fault { mechanism: Mechanism::RegisterWithStatus, from: entries / 2 };
    let mut history =
        History::new(Plot { seed: 3, parents: 1, services: 0, varied: false, atomic: true, fault: Some(fault) });
    crate::support::synth::write_bolt(&file, Layout::default(), &mut history, entries).unwrap();
    let page = page(0, file.to_str().unwrap(), &["--rules", "1.0.4"]);
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    let says = |words: &str| text(&page).contains(words);
    assert!(says("the chart shows") && says("prints all."), "{}", &text(&page)[..1000]);
    let at = history.planted().unwrap().index;
    assert!(
        says(&format!("cause: register_with_status: entry {at} (")) && page.contains(&format!("id=\"entry-{at}\"")),
        "{at}"
    );
}

#[test]
fn the_page_is_written_for_every_case() {
    for entry in fs::read_dir(fixture("")).unwrap() {
        let path = entry.unwrap().path();
        if Path::new(&path).join("raft.db").is_file() {
            let ran = run(&["report", "-o", "-", path.to_str().unwrap()]);
            assert!(
                [0, 3].contains(&ran.code) && ran.stdout.ends_with("</html>"),
                "{}: {}",
                path.display(),
                ran.stderr
            );
        }
    }
}
