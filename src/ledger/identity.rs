//! Whether a kept ledger belongs to a log, and what of it still holds (contract.md 4).

use std::ops::ControlFlow;

use rusqlite::{Connection, OptionalExtension, params};

use super::rows::int;
use super::{Ledger, LedgerError};
use crate::evidence::{Log, Scanned};
use crate::types::{Index, Term};

/// Where a replay starts and by which rules it goes: a ledger holds the history of one such replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Basis {
    /// `empty` for a server before its first entry, `snapshot`, or `nothing` where entries are
    /// applied to a state that is not known.
    pub base: &'static str,
    /// The index that the base stands at.
    pub index: Index,
    /// Its term; 0 where there is none.
    pub term: Term,
    /// The rules, and whatever else decides what entries do.
    pub rules: String,
}

/// What a ledger and a log have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Joined {
    /// The last entry that both hold; `None` for a new ledger.
    pub last: Option<(Index, Term)>,
    /// The entries that were taken out of the ledger because the log has others there now: the
    /// first and the last.
    pub rolled_back: Option<(Index, Index)>,
}

/// An entry as far as identity asks: its term and the hash of its payload.
type Known = (Term, u64);

impl Ledger {
    /// Holds the ledger against a log that it is to be extended by. A tail that the log has
    /// replaced since, as followers do, is taken out of the ledger.
    ///
    /// # Errors
    /// When the ledger is of another log, base or rules, and when the log cannot be read.
    pub fn join(&mut self, log: &dyn Log, basis: &Basis) -> Result<Joined, LedgerError> {
        self.ask(|conn| if conn.is_autocommit() { conn.execute_batch("BEGIN IMMEDIATE") } else { Ok(()) })?;
        let Some(kept) = self.basis()? else {
            self.write_basis(basis)?;
            return Ok(Joined::default());
        };
        if kept.rules != basis.rules {
            let differs = format!("its rules are {}, those of this run {}", kept.rules, basis.rules);
            return Err(self.other(differs, "give the same --rules"));
        }
        self.check_base(&kept, basis)?;
        let Some((first, last)) = self.bounds()? else { return Ok(Joined::default()) };
        let end = self.last_common(log, first, last)?;
        if end == last {
            let term = self.known(last)?.map_or(Term(0), |(term, _)| term);
            return Ok(Joined { last: Some((last, term)), rolled_back: None });
        }
        self.roll_back(end)?;
        let term = self.known(end)?.map_or(Term(0), |(term, _)| term);
        Ok(Joined { last: Some((end, term)), rolled_back: Some((end.next(), last)) })
    }

    /// The first and last entry in the ledger.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn bounds(&self) -> Result<Option<(Index, Index)>, LedgerError> {
        self.ask(|conn| {
            // Asked for in one query without the other, each is one look-up and not a walk over all rows.
            let bounds = "SELECT (SELECT min(idx) FROM entry), (SELECT max(idx) FROM entry)";
            conn.query_row(bounds, [], |row| Ok(row.get::<_, Option<i64>>(0)?.zip(row.get::<_, Option<i64>>(1)?)))
        })
        .map(|bounds| bounds.map(|(first, last)| (index(first), index(last))))
    }

    /// The replay that the ledger holds; `None` for a new one.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn basis(&self) -> Result<Option<Basis>, LedgerError> {
        let text = |key: &str| self.ask(|conn| meta::<String>(conn, key));
        let number = |key: &str| self.ask(|conn| meta::<i64>(conn, key));
        let Some(rules) = text("rules")? else { return Ok(None) };
        let base = match text("base_kind")?.as_deref() {
            Some("empty") => "empty",
            Some("snapshot") => "snapshot",
            _ => "nothing",
        };
        let at = number("base_idx")?.map(index).unwrap_or_default();
        let term = Term(number("base_term")?.and_then(|n| u64::try_from(n).ok()).unwrap_or_default());
        Ok(Some(Basis { base, index: at, term, rules }))
    }

    fn write_basis(&self, basis: &Basis) -> Result<(), LedgerError> {
        self.ask(|conn| {
            put_meta(conn, "raftscope", env!("CARGO_PKG_VERSION"))?;
            put_meta(conn, "rules", &basis.rules)?;
            put_meta(conn, "base_kind", basis.base)?;
            put_meta(conn, "base_idx", int(basis.index.0))?;
            put_meta(conn, "base_term", int(basis.term.0))
        })
    }

    /// A base may move up when the log is compacted: the ledger then knows more than the evidence.
    fn check_base(&self, kept: &Basis, now: &Basis) -> Result<(), LedgerError> {
        let same = (kept.base, kept.index, kept.term) == (now.base, now.index, now.term);
        if same || now.index > kept.index {
            return Ok(());
        }
        let name = |basis: &Basis| match basis.base {
            "empty" => "the first entry".to_owned(),
            "snapshot" => format!("the snapshot at index {} (term {})", basis.index, basis.term),
            _ => format!("an unknown state at index {}", basis.index),
        };
        let differs = format!("it starts from {}, this evidence from {}", name(kept), name(now));
        Err(self.other(differs, ""))
    }

    /// The last entry that the ledger and the log both hold.
    fn last_common(&self, log: &dyn Log, first: Index, last: Index) -> Result<Index, LedgerError> {
        let Some((log_first, log_last)) = log.bounds() else {
            return Err(self.other("this log is empty".into(), ""));
        };
        let start = first.max(log_first);
        if start > last || log_last < first {
            let differs = format!("it ends at index {last} and this log begins at {log_first}, with no entry in both");
            return Err(self.other(differs, ""));
        }
        if let Some(differs) = self.difference(log, start)? {
            return Err(self.other(differs, ""));
        }
        let end = last.min(log_last);
        let Some(differs) = self.difference(log, end)? else {
            if log_last < last {
                let differs = format!("it knows the entries up to {last} and this log ends at {log_last}");
                return Err(self.other(differs, "take the newer copy of the log"));
            }
            return Ok(end);
        };
        if self.same_term(log, end)? {
            return Err(self.other(differs, ""));
        }
        // Logs of one cluster that agree at an index agree in all before it (raft's Log Matching).
        let (mut low, mut high) = (start, end);
        while low.next() < high {
            let middle = Index(low.0 + (high.0 - low.0) / 2);
            match self.difference(log, middle)? {
                None => low = middle,
                Some(_) => high = middle,
            }
        }
        Ok(low)
    }

    /// How the log's entry differs from the ledger's; `None` where the two are the same.
    fn difference(&self, log: &dyn Log, at: Index) -> Result<Option<String>, LedgerError> {
        let (ours, theirs) = (self.known(at)?, entry(log, at)?);
        Ok(match (ours, theirs) {
            (Some(ours), Some(theirs)) if ours == theirs => None,
            (Some((ours, _)), Some((theirs, _))) if ours == theirs => {
                Some(format!("entry {at} has other content, in the same term {ours}"))
            }
            (Some((ours, _)), Some((theirs, _))) => {
                Some(format!("entry {at} is of term {ours} in it and of term {theirs} in this log"))
            }
            (None, _) => Some(format!("it has no entry {at}")),
            (_, None) => Some(format!("entry {at} cannot be read in this log")),
        })
    }

    fn same_term(&self, log: &dyn Log, at: Index) -> Result<bool, LedgerError> {
        let (ours, theirs) = (self.known(at)?, entry(log, at)?);
        Ok(ours.zip(theirs).is_none_or(|((ours, _), (theirs, _))| ours == theirs))
    }

    /// An entry of the ledger.
    fn known(&self, at: Index) -> Result<Option<Known>, LedgerError> {
        self.ask(|conn| {
            let mut statement = conn.prepare_cached("SELECT term, hash FROM entry WHERE idx = ?")?;
            let found = statement.query_row([int(at.0)], |row| {
                let hash = u64::from_str_radix(&row.get::<_, String>(1)?, 16).unwrap_or_default();
                Ok((Term(row.get::<_, i64>(0)?.unsigned_abs()), hash))
            });
            found.optional()
        })
    }

    /// Takes everything behind an entry out of the ledger; what it ended is in force again.
    pub(super) fn roll_back(&self, to: Index) -> Result<(), LedgerError> {
        let to = int(to.0);
        self.ask(|conn| {
            for table in ["entry", "count_change", "job_change", "group_change", "snapshot", "image"] {
                conn.execute(&format!("DELETE FROM {table} WHERE idx > ?"), [to])?;
            }
            for table in ["count_change", "job_change", "group_change"] {
                conn.execute(&format!("UPDATE {table} SET until_idx = NULL WHERE until_idx > ?"), [to])?;
            }
            // Findings are judged anew at the end of every run.
            conn.execute("DELETE FROM finding", [])?;
            conn.execute("DELETE FROM term_span WHERE first_idx > ?", [to])?;
            conn.execute(
                "UPDATE term_span SET last_idx = ?1, entries =
                     (SELECT count(*) FROM entry WHERE idx BETWEEN term_span.first_idx AND ?1)
                  WHERE last_idx > ?1",
                [to],
            )
            .map(drop)
        })
    }

    /// The refusal; `next` is what else can be done than to name another file.
    pub(super) fn other(&self, differs: String, next: &str) -> LedgerError {
        let next = match next {
            "" => "name another --db file for it".to_owned(),
            next => format!("{next}, or name another --db file"),
        };
        LedgerError::OtherLog { file: self.name.clone(), differs, next }
    }
}

fn index(n: i64) -> Index {
    Index(u64::try_from(n).unwrap_or_default())
}

/// An entry of the log; `None` where it cannot be read.
fn entry(log: &dyn Log, at: Index) -> Result<Option<Known>, LedgerError> {
    let mut found = None;
    log.scan(at..=at, &mut |met| {
        if let Scanned::Entry(record) = met {
            found = Some((record.term, record.hash()));
        }
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

fn meta<T: rusqlite::types::FromSql>(conn: &Connection, key: &str) -> rusqlite::Result<Option<T>> {
    conn.query_row("SELECT value FROM meta WHERE key = ?", [key], |row| row.get(0)).optional()
}

/// Writes one value of `meta`.
pub(super) fn put_meta(conn: &Connection, key: &str, value: impl rusqlite::ToSql) -> rusqlite::Result<()> {
    conn.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", params![key, value]).map(drop)
}
