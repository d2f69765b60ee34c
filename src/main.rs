//! The `raftscope` program: parse, run, exit code.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    raftscope::cli::main(std::env::args_os()).into()
}
