//! The exit codes of the `raftscope` program (contract.md 2).
//!
//! Scripts and pipelines decide by them, so a code never changes its meaning, and it does not
//! depend on `--format`.

use std::process::ExitCode;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    /// 0: it worked, and where a question was asked nothing is wrong.
    Success = 0,
    /// 1: there are findings about Nomad's state, or what was compared differs.
    Findings = 1,
    /// 2: no answer could be given (wrong usage, nothing readable, an internal error), or `logs`
    /// and `info` printed the rest of a damaged log.
    Failure = 2,
    /// 3: the evidence does not reach far enough for a sure answer.
    Incomplete = 3,
    /// 130: interrupted.
    Interrupted = 130,
}

impl Exit {
    /// The number that the shell sees.
    pub fn code(self) -> u8 {
        self as u8
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}
