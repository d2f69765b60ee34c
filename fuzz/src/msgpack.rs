//! The payload of one entry: a message type and a body. It is decoded as the state machine does, checked, printed, and
//! asked for what a filter looks at.

use std::cell::RefCell;

use raftscope::entry::configuration;
use raftscope::entry::json::BodyWriter;
use raftscope::entry::message::Message;
use raftscope::entry::raft_log;
use raftscope::evidence::{LogType, Record};
use raftscope::filter::carried;
use raftscope::redact::Redactor;
use raftscope::types::{Index, Term};

use super::look::is_json;

thread_local! {
    static KEPT: RefCell<(BodyWriter, Vec<u8>)> = RefCell::default();
}

/// Takes the bytes for the payload of a command, and the body for one of raft's own and for an envelope.
pub fn run(data: &[u8]) {
    let _ = Message::read(data);
    let _ = Message::read_restart(data);
    KEPT.with_borrow_mut(|(writer, out)| {
        out.clear();
        let mut redactor = Redactor::hiding();
        let printed = writer.record(LogType::Command, data, &mut redactor, out);
        let checked = BodyWriter::check(LogType::Command, data);
        assert_eq!(printed.is_ok(), checked.is_ok(), "printing and checking disagree: {printed:?} {checked:?}");
        match printed {
            Ok(true) => is_json(out),
            _ => assert!(out.is_empty(), "something is printed of what cannot be decoded"),
        }
    });
    let record = Record { index: Index(1), term: Term(1), kind: LogType::Command, data, appended_at: None };
    let _ = carried::facts(&record);
    let body = data.get(1..).unwrap_or_default();
    let _ = configuration::servers(body);
    let _ = raft_log::decode(body);
}
