//! Why a ledger cannot be used.

use rusqlite::ErrorCode;

use crate::evidence::EvidenceError;

/// Why a ledger cannot be used; each message names the file and the next step.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// SQLite failed.
    #[error("{file}: {source}")]
    Sqlite {
        /// The file.
        file: String,
        /// What it said.
        source: rusqlite::Error,
    },
    /// Another process works on the file.
    #[error("{file}: the ledger is in use by another process; try again when that is done, or name another --db file")]
    Busy {
        /// The file.
        file: String,
    },
    /// The operating system refused.
    #[error("{file}: {source}")]
    Io {
        /// The file.
        file: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is something else.
    #[error("{file}: this is no ledger of raftscope ({found}); and it is left as it is; name another file")]
    NotALedger {
        /// The file.
        file: String,
        /// What it is instead.
        found: String,
    },
    /// A newer raftscope made it.
    #[error(
        "{file}: the ledger has schema version {found}, this raftscope knows up to {known}; use a newer raftscope or another --db file"
    )]
    Newer {
        /// The file.
        file: String,
        /// Its version.
        found: i64,
        /// The newest version known here.
        known: i64,
    },
    /// An older raftscope made it, with tables of another shape.
    #[error(
        "{file}: the ledger has schema version {found}, which this raftscope no longer extends; it can still be read with sqlite3; remove it, or use another --db file"
    )]
    Older {
        /// The file.
        file: String,
        /// Its version.
        found: i64,
    },
    /// It is of another log, base or rules.
    #[error("{file}: the ledger is not of this log: {differs}; {next}")]
    OtherLog {
        /// The file.
        file: String,
        /// What differs.
        differs: String,
        /// What to do.
        next: String,
    },
    /// The log cannot be read.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
}

impl LedgerError {
    /// What SQLite said about a file.
    pub(super) fn sqlite(file: &str, source: rusqlite::Error) -> Self {
        let file = file.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => LedgerError::Busy { file },
            Some(ErrorCode::NotADatabase) => LedgerError::NotALedger { file, found: "not a SQLite file".into() },
            _ => LedgerError::Sqlite { file, source },
        }
    }
}
