//! The sessions in the manual are what the program prints, its links lead somewhere, and its numbers are right.
//!
//! A session is a block of `console`: `$ raftscope …`, and what that prints on standard output; a line `…` stands for
//! lines left out. `; echo $?` behind a command shows its exit code. With BLESS set, what is printed is written into
//! the blocks that leave nothing out.

use std::path::{Path, PathBuf};

use crate::support::run::raftscope;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// README.md and every page in `docs/`.
fn pages() -> Vec<PathBuf> {
    let docs = std::fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> = docs.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    pages.sort();
    pages.insert(0, root().join("README.md"));
    pages
}

/// What a command of a session prints.
fn printed(command: &str) -> String {
    let (command, with_code) = match command.strip_suffix("; echo $?") {
        Some(command) => (command, true),
        None => (command, false),
    };
    let ran = raftscope(words(command.strip_prefix("$ raftscope ").unwrap_or_else(|| panic!("{command}"))));
    if with_code { format!("{}{}\n", ran.stdout, ran.code) } else { ran.stdout }
}

/// Checks one session; gives it back as it should be.
fn session(block: &str, page: &Path) -> String {
    let (command, shown) = block.split_once('\n').unwrap();
    let printed = printed(command);
    if std::env::var_os("BLESS").is_some() && !shown.contains('…') {
        return format!("{command}\n{printed}");
    }
    let mut rest = printed.as_str();
    for part in shown.split("…\n") {
        let at = rest.find(part);
        let at = at.unwrap_or_else(|| panic!("{}: {command}\nno longer prints\n{part}but\n{printed}", page.display()));
        rest = &rest[at + part.len()..];
    }
    assert!(shown.ends_with("…\n") || rest.is_empty(), "{}: {command}\nprints more:\n{rest}", page.display());
    block.to_owned()
}

#[test]
fn every_session_in_the_manual_is_what_the_program_prints() {
    let mut sessions = 0;
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        let mut parts = text.split("```console\n");
        let mut blessed = parts.next().unwrap().to_owned();
        for part in parts {
            let (block, after) = part.split_once("```").unwrap();
            blessed += &format!("```console\n{}```{after}", session(block, &page));
            sessions += 1;
        }
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&page, blessed).unwrap();
        }
    }
    assert!(sessions > 15, "{sessions}");
}

/// A command line's words; single quotes hold one together.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (place, part) in line.split('\'').enumerate() {
        if place % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

#[test]
fn every_page_that_is_named_is_there() {
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.starts_with("http") {
                continue;
            }
            let target = page.parent().unwrap().join(link.split('#').next().unwrap());
            assert!(target.exists(), "{} links to {link}, which is not there", page.display());
        }
        for name in text.split('`').skip(1).step_by(2).filter(|name| name.starts_with("docs/") && !name.contains(' ')) {
            assert!(root().join(name).exists(), "{} names {name}, which is not there", page.display());
        }
    }
}

/// `docs/rules.md` lists the switches as the code has them.
#[test]
fn the_page_of_the_rules_is_made_from_the_switches() {
    use std::collections::BTreeMap;
    use std::fmt::Write;

    use raftscope::fsm::rules::{SWITCHES, Switch, Version};
    let mut releases: BTreeMap<Version, Vec<&Switch>> = BTreeMap::new();
    for switch in SWITCHES {
        releases.entry(switch.since[0]).or_default().push(switch);
    }
    let mut made = String::new();
    for (release, switches) in &releases {
        let _ = write!(
            made,
            "### {release}\n\n| what changed | also in | pull requests | switch |\n| --- | --- | --- | --- |\n"
        );
        for switch in switches {
            let also: Vec<String> = switch.since[1..].iter().map(Version::to_string).collect();
            let cell = |text: String| if text.is_empty() { "-".to_owned() } else { text };
            let (also, requests) = (cell(also.join(", ")), cell(switch.pull_requests.to_owned()));
            let _ = writeln!(made, "| {} | {also} | {requests} | `{}` |", switch.summary, switch.name);
        }
        made.push('\n');
    }
    let page = root().join("docs/rules.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let (head, rest) = text.split_once("<!-- from the switches -->\n\n").unwrap();
    let (there, tail) = rest.split_once("<!-- so far -->").unwrap();
    if std::env::var_os("BLESS").is_some() {
        let blessed = format!("{head}<!-- from the switches -->\n\n{made}<!-- so far -->{tail}");
        std::fs::write(&page, blessed).unwrap();
    } else {
        assert_eq!(there, made, "run this test with BLESS=1");
    }
}

/// How many logs the answers are held against, as README.md says it.
#[test]
fn the_readme_counts_the_recorded_logs_rightly() {
    let folders = std::fs::read_dir(root().join("fixtures")).unwrap().map(|entry| entry.unwrap().path());
    let cases = folders.filter(|path| path.join("case.json").is_file()).count();
    let random = crate::support::cases::random();
    let histories = crate::support::cases::below(random.path()).len();
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let readme = readme.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [format!("{cases} recorded cases"), format!("{histories} random histories")] {
        assert!(readme.contains(&words), "README.md does not say {words:?}");
    }
}
