//! The `raftscope` program: parse, run, exit code.

fn main() {}
