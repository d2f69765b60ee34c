//! `KEY=VALUE` and `KEY!=VALUE`, read and checked.

use super::pattern::{IndexTest, Pattern, TypeSet};
use super::strangers::Asked;
use super::{EntryType, Filter, TextKey, TextTest};
use crate::entry::message_type::{KNOWN, MAX_NUMBER, MessageTypes, short};
use crate::evidence::LogType;
use crate::suggest;

/// Why a `--filter` is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--filter {given}: {detail}")]
pub struct FilterError {
    /// The argument as it was typed.
    pub given: String,
    /// What is wrong and what to type instead.
    pub detail: String,
}

const KEYS: [&str; 11] =
    ["parent", "job", "namespace", "type", "term", "index", "status", "eval", "alloc", "node", "deployment"];

const RAFT_TYPES: [LogType; 5] = [
    LogType::Noop,
    LogType::AddPeerDeprecated,
    LogType::RemovePeerDeprecated,
    LogType::Barrier,
    LogType::Configuration,
];

pub(super) fn filter<'s>(
    arguments: impl IntoIterator<Item = &'s str>,
    types: &MessageTypes,
) -> Result<Filter, FilterError> {
    let mut filter = Filter::default();
    for given in arguments {
        add(&mut filter, given, types).map_err(|detail| FilterError { given: given.to_owned(), detail })?;
    }
    Ok(filter)
}

/// Key, whether it is negated, and value.
fn split(given: &str) -> Result<(&str, bool, &str), String> {
    let Some((key, value)) = given.split_once('=') else {
        return Err("there is no `=`; write KEY=VALUE or KEY!=VALUE, as in parent=report".into());
    };
    let (key, negated) = match key.strip_suffix('!') {
        Some(key) => (key, true),
        None => (key, false),
    };
    let key = key.trim();
    if value.starts_with('=') {
        return Err(format!("write one `=`, as in {key}={}", value.trim_start_matches('=').trim_start()));
    }
    if !KEYS.contains(&key) {
        let hint = suggest::hint(key, KEYS);
        let hint = if hint.is_empty() { format!("; there are {}", KEYS.join(", ")) } else { hint };
        return Err(format!("there is no key `{key}`{hint}"));
    }
    Ok((key, negated, value))
}

fn add(filter: &mut Filter, given: &str, types: &MessageTypes) -> Result<(), String> {
    let (key, negated, value) = split(given)?;
    let text_key = match key {
        "parent" => TextKey::Parent,
        "job" => TextKey::Job,
        "namespace" => TextKey::Namespace,
        "status" => TextKey::Status,
        "eval" => TextKey::Eval,
        "alloc" => TextKey::Alloc,
        "node" => TextKey::Node,
        "deployment" => TextKey::Deployment,
        "term" => {
            let term = value.parse().map_err(|_| format!("`{value}` is no term; a term is a number"))?;
            if negated { &mut filter.not_terms } else { &mut filter.terms }.push(term);
            return Ok(());
        }
        "index" => {
            let test = index_test(value)?;
            if negated { &mut filter.not_indexes } else { &mut filter.indexes }.push(test);
            return Ok(());
        }
        _ => {
            let set = if negated { &mut filter.not_types } else { filter.types.get_or_insert_default() };
            return add_types(set, value, types);
        }
    };
    let pattern = Pattern::new(value);
    let by_name = !negated && !value.is_empty() && matches!(text_key, TextKey::Job | TextKey::Parent);
    let name = Some(value).filter(|_| by_name && matches!(pattern, Pattern::Exact(_))).map(Asked::new);
    match filter.texts.iter_mut().find(|t| t.key == text_key && t.negated == negated) {
        Some(test) => {
            test.patterns.push(pattern);
            test.names.extend(name);
        }
        None => {
            let (patterns, names) = (vec![pattern], name.into_iter().collect());
            filter.texts.push(TextTest { key: text_key, negated, patterns, names });
        }
    }
    Ok(())
}

/// `5`, `5..9`, `5..`, `..9`, `~10`.
fn index_test(value: &str) -> Result<IndexTest, String> {
    let bad = || format!("`{value}` is no index or range; write 5, 5..9, 5.., ..9 or ~10 (the last ten)");
    let number = |text: &str| text.parse::<u64>().map_err(|_| bad());
    if let Some(n) = value.strip_prefix('~') {
        return Ok(IndexTest::Last(number(n)?));
    }
    let Some((from, to)) = value.split_once("..") else {
        let n = number(value)?;
        return Ok(IndexTest::Range(n, n));
    };
    // Ranges contain both ends; `5..=9` is how some would stress that.
    let to = to.strip_prefix('=').unwrap_or(to);
    if from.is_empty() && to.is_empty() {
        return Err(bad());
    }
    let from = if from.is_empty() { 0 } else { number(from)? };
    let to = if to.is_empty() { u64::MAX } else { number(to)? };
    if from > to {
        return Err(format!("`{value}` runs backwards; write {to}..{from}"));
    }
    Ok(IndexTest::Range(from, to))
}

fn add_types(set: &mut TypeSet, value: &str, types: &MessageTypes) -> Result<(), String> {
    if value.contains('*') {
        return add_type_pattern(set, value, types);
    }
    if let Some(number) = types.lookup(value) {
        set.add(EntryType::Command(number));
        return Ok(());
    }
    if value.parse::<u64>().is_ok() {
        return Err(format!("{value} is no message type; they run from 0 to {MAX_NUMBER}"));
    }
    if let Some(raft) = RAFT_TYPES.into_iter().find(|t| raft_names(*t).iter().any(|n| n.eq_ignore_ascii_case(value))) {
        set.add(EntryType::Raft(raft));
        return Ok(());
    }
    match value.to_ascii_lowercase().as_str() {
        "snapshot" => set.add(EntryType::Snapshot),
        "logcommand" | "command" => set.add_all_commands(),
        _ => {
            let raft: Vec<String> = RAFT_TYPES.iter().flat_map(|t| raft_names(*t)).collect();
            let known = KNOWN.iter().map(|k| short(k.name)).chain(raft.iter().map(String::as_str));
            let hint = suggest::hint(value, known);
            let hint =
                if hint.is_empty() { "; `raftscope info --types` lists those of a log".to_owned() } else { hint };
            return Err(format!("there is no type `{value}`{hint}"));
        }
    }
    Ok(())
}

/// With and without `Log`.
fn raft_names(t: LogType) -> [String; 2] {
    let name = t.name();
    [name.trim_start_matches("Log").to_owned(), name]
}

fn add_type_pattern(set: &mut TypeSet, value: &str, types: &MessageTypes) -> Result<(), String> {
    let pattern = Pattern::new(value);
    let before = set.clone();
    for number in 0..=MAX_NUMBER {
        let name = types.name(number);
        if pattern.matches(&name) || pattern.matches(short(&name)) {
            set.add(EntryType::Command(number));
        }
    }
    for raft in RAFT_TYPES {
        if raft_names(raft).iter().any(|n| pattern.matches(n)) {
            set.add(EntryType::Raft(raft));
        }
    }
    if value == "*" {
        set.add(EntryType::Snapshot);
        set.add_all_commands();
    }
    if *set == before && before.is_empty() {
        return Err(format!("no type is named like `{value}`; `*` stands for any run of characters, as in Job*"));
    }
    Ok(())
}
