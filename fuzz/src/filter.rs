//! `--filter` expressions.

use std::borrow::Cow;

use raftscope::entry::message_type::MessageTypes;
use raftscope::evidence::LogType;
use raftscope::filter::{EntryType, Facts, Filter, JobFact};
use raftscope::types::{Index, Term};

/// Takes each line for one expression; all are asked for together, of a few rows.
pub fn run(data: &[u8]) {
    thread_local!(static TYPES: MessageTypes = MessageTypes::new());
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(filter) = TYPES.with(|types| Filter::parse(text.lines(), types)) else { return };
    let last = Index(1_000);
    for kind in [EntryType::Command(4), EntryType::Raft(LogType::Noop), EntryType::Snapshot] {
        let mut facts = Facts::of(Index(7), Term(2), kind);
        assert!(filter.may_match(facts.index, facts.term, kind, last) || !filter.matches(&facts, last));
        facts.add_job(JobFact {
            namespace: Some(Cow::Borrowed("")),
            job: Some(Cow::Borrowed("Ærger/periodic-1")),
            parent: Some(Cow::Borrowed("Ærger")),
            status: None,
        });
        facts.add_job(JobFact { job: Some(Cow::Borrowed("web*[a-c]?")), ..JobFact::default() });
        facts.evals.push(Cow::Borrowed("b17c1a34-0000-0000-0000-000000000000"));
        facts.nodes.push(Cow::Borrowed(""));
        let _ = filter.matches(&facts, last);
    }
    let _ = filter.index_bounds(Index(1), last);
    let _ = filter.index_bounds(Index(u64::MAX), Index(0));
    let _ = filter.strangers();
    let _ = (filter.is_empty(), filter.needs_body(), filter.needs_type());
}
