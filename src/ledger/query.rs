//! Named queries.

use std::io;

use rusqlite::types::ValueRef;

use super::rows::int;
use super::{Ledger, LedgerError};
use crate::types::Index;

/// Entries whose effect is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unsure {
    /// Bodies that cannot be decoded, and commands without a byte.
    pub undecodable: Vec<Index>,
    /// Message types that the rules do not know and that have no ignore flag.
    pub unknown_type: Vec<Index>,
}

impl Ledger {
    /// The entries up to and with an index whose effect is not known: a run that goes on behind them
    /// does not hear of them.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn unsure_up_to(&self, index: Index) -> Result<Unsure, LedgerError> {
        // Each of these has a detail, which most entries have not, and that is quicker to see than a word.
        let sql = "SELECT idx, outcome, detail FROM entry WHERE idx <= ? AND detail IS NOT NULL
                    AND outcome IN ('undecodable', 'empty', 'unknown_type') ORDER BY idx";
        let mut unsure = Unsure::default();
        self.ask(|conn| {
            let mut statement = conn.prepare(sql)?;
            let mut rows = statement.query([int(index.0)])?;
            while let Some(row) = rows.next()? {
                let index = Index(row.get::<_, i64>(0)?.unsigned_abs());
                if row.get_ref(1)?.as_str()? != "unknown_type" {
                    unsure.undecodable.push(index);
                } else if row.get::<_, Option<String>>(2)?.is_some_and(|detail| !detail.ends_with("to be ignored")) {
                    unsure.unknown_type.push(index);
                }
            }
            Ok(())
        })?;
        Ok(unsure)
    }

    /// Hands out a table's rows in order of their keys: the names of its columns, first with no
    /// values and then with those of each row, until `sink` fails. Outside, what became of the
    /// ledger; inside, what became of the sink.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn each_row(
        &self,
        table: &str,
        mut sink: impl FnMut(&[String], Option<&[ValueRef<'_>]>) -> io::Result<()>,
    ) -> Result<io::Result<()>, LedgerError> {
        self.ask(|conn| {
            let mut statement = conn.prepare(&format!("SELECT * FROM {table} ORDER BY 1"))?;
            let names: Vec<String> = statement.column_names().into_iter().map(Into::into).collect();
            if let Err(e) = sink(&names, None) {
                return Ok(Err(e));
            }
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let values = (0..names.len()).map(|at| row.get_ref(at)).collect::<rusqlite::Result<Vec<_>>>()?;
                if let Err(e) = sink(&names, Some(&values)) {
                    return Ok(Err(e));
                }
            }
            Ok(Ok(()))
        })
    }
}
