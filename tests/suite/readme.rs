//! The sessions in the README are what the program prints; a line `…` stands for lines left out.

use crate::support::run::raftscope;

#[test]
fn every_session_in_the_readme_is_what_the_program_prints() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let sessions: Vec<_> = readme.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(!sessions.is_empty());
    for session in sessions {
        let (command, shown) = session.split_once('\n').unwrap();
        let arguments = words(command.strip_prefix("$ raftscope ").unwrap());
        let printed = raftscope(&arguments).stdout;
        let mut rest = printed.as_str();
        for part in shown.split("…\n") {
            let at = rest.find(part).unwrap_or_else(|| panic!("{command}\nno longer prints\n{part}but\n{printed}"));
            rest = &rest[at + part.len()..];
        }
        assert!(shown.ends_with("…\n") || rest.is_empty(), "{command}\nprints more:\n{rest}");
    }
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
