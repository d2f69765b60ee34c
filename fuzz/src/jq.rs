//! `--jq` expressions.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use raftscope::jq::{Program, Value};

/// As much as the program gives to the thread that runs expressions.
const STACK: usize = 256 << 20;

/// Outputs that are looked at.
const SOME: usize = 100;

/// A row of each kind.
const ROW: &[u8] = br#"{"Index":1609,"Term":3,"LogType":"LogCommand","CommandType":"JobRegisterRequestType",
    "Body":{"Job":{"ID":"report/periodic-1","ParentID":"report","Status":"","Count":null,"TaskGroups":[{"Name":"a","Count":2.5}]}}}"#;

/// How long an expression runs is up to its author. These words can make it run for ever or make much of little, so
/// what has one of them is compiled and not run; the same goes for large numbers, which can be the index in an array.
const ENDLESS: &[&str] =
    &["def", "repeat", "recurse", "range", "until", "while", "limit", "infinite", "..", "*", "combinations", "inputs"];

/// Takes the bytes for an expression, which is compiled and, where it is sure to end, run on a row and on none.
pub fn run(data: &[u8]) {
    let Ok(code) = std::str::from_utf8(data) else { return };
    RUNNER.with(|runner| runner.run(code.to_owned()));
}

thread_local! {
    static RUNNER: Runner = Runner::new();
}

/// A thread with a large stack that is kept: a new one for each input would cost more than most inputs do.
struct Runner {
    code: SyncSender<String>,
    ended: Receiver<thread::Result<()>>,
}

impl Runner {
    fn new() -> Self {
        let (code, codes) = sync_channel::<String>(0);
        let (end, ended) = sync_channel(0);
        let each = move || {
            for code in codes {
                if end.send(catch_unwind(AssertUnwindSafe(|| try_it(&code)))).is_err() {
                    break;
                }
            }
        };
        thread::Builder::new().stack_size(STACK).spawn(each).unwrap();
        Runner { code, ended }
    }

    fn run(&self, code: String) {
        self.code.send(code).unwrap();
        if let Err(panic) = self.ended.recv().unwrap() {
            resume_unwind(panic);
        }
    }
}

fn try_it(code: &str) {
    let Ok(program) = Program::compile(code, |_| {}) else { return };
    let _ = (program.streams_rows(), program.reach());
    if !ends(code) {
        return;
    }
    let row = Value::parse(ROW).unwrap();
    for input in [row.clone(), Value::array(vec![row]), Value::array(Vec::new())] {
        let (mut outputs, mut out) = (0, Vec::new());
        let _ = program.run(input, |value| {
            out.clear();
            value.write_json(&mut out);
            super::look::is_json(&out);
            let _ = (value.is_true(), value.as_text());
            outputs += 1;
            if outputs < SOME { Ok(()) } else { Err(raftscope::error::Error::Halt(0)) }
        });
    }
}

fn ends(code: &str) -> bool {
    let digits = code.as_bytes().windows(4).any(|four| four.iter().filter(|byte| byte.is_ascii_digit()).count() == 4);
    let exponent = code.as_bytes().windows(2).any(|two| two[0].is_ascii_digit() && matches!(two[1], b'e' | b'E'));
    !digits && !exponent && ENDLESS.iter().all(|word| !code.contains(word))
}
