//! What can end a run without an answer, and the exit code that each has.

use std::io;

use crate::evidence::EvidenceError;
use crate::exit::Exit;
use crate::export::ExportError;
use crate::ledger::LedgerError;
use crate::rows::RowError;

/// Why a command gave no answer. Each message is one line that names the place and the next step.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The arguments do not say what to do; the text says what to type instead.
    #[error("{0}")]
    Usage(String),
    /// The evidence cannot be read at all.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    /// The ledger that was named cannot be used.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The tables cannot be written.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// The evidence is there but does not reach to what was asked for.
    #[error("{0}")]
    OutOfEvidence(String),
    /// A row of the state cannot be rebuilt from the evidence.
    #[error(transparent)]
    Row(#[from] RowError),
    /// The output could not be written.
    #[error("cannot write the output: {0}")]
    Output(#[source] io::Error),
    /// The `--jq` expression failed on the data; what was printed before stands.
    #[error("--jq: {0}")]
    Jq(String),
    /// The `--jq` expression asked to stop, which it may.
    #[error("--jq: halt({0})")]
    Halt(i32),
    /// A fault of raftscope itself.
    #[error("internal error: {0}; please report it")]
    Internal(String),
}

impl Error {
    /// The exit code that this error ends the program with (contract.md 2). A closed pipe is no
    /// failure: whoever read the output had enough.
    pub fn exit(&self) -> Exit {
        match self {
            Error::OutOfEvidence(_) => Exit::Incomplete,
            Error::Output(e) if e.kind() == io::ErrorKind::BrokenPipe => Exit::Success,
            Error::Halt(0) => Exit::Success,
            _ => Exit::Failure,
        }
    }

    /// True where nothing is to be said: a closed pipe, or a `halt` without a code.
    pub fn is_quiet(&self) -> bool {
        self.exit() == Exit::Success
    }
}
