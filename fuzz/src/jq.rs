//! `--jq` expressions.

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
    let code = code.to_owned();
    let ran = thread::Builder::new().stack_size(STACK).spawn(move || try_it(&code));
    if let Err(panic) = ran.unwrap().join() {
        std::panic::resume_unwind(panic);
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
