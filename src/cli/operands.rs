//! A command's own operands, which come first, and PATH, which comes last (contract.md 1).

use std::path::PathBuf;

use super::index_expr::IndexExpr;
use super::options;
use super::replaying::Prepared;
use super::reporter::Reporter;
use crate::error::Error;
use crate::types::Index;

/// Takes the operands that `names` tells apart from the path behind them.
///
/// # Errors
/// When one is missing or is no text, or more than one path is given.
pub fn split<const N: usize>(
    command: &str,
    given: &[PathBuf],
    names: [&str; N],
) -> Result<([String; N], PathBuf), Error> {
    let usage = || format!("write `raftscope {command} {} [PATH]`", names.join(" "));
    let Some((own, paths)) = given.split_at_checked(N) else {
        let missing = names.get(given.len()..).unwrap_or_default().join(" and ");
        return Err(Error::Usage(format!("{command}: {missing} is missing; {}", usage())));
    };
    let mut operands = [const { String::new() }; N];
    for ((operand, own), name) in operands.iter_mut().zip(own).zip(names) {
        let text = own.to_str().ok_or_else(|| Error::Usage(format!("{command}: {name} is no text; {}", usage())))?;
        text.clone_into(operand);
    }
    Ok((operands, options::one_path(command, paths)?))
}

/// An index among the operands.
///
/// # Errors
/// When the text names no entry.
pub fn index(command: &str, name: &str, text: &str) -> Result<IndexExpr, Error> {
    text.parse().map_err(|error| Error::Usage(format!("{command}: {name}: {error}")))
}

/// The entry that is meant, of those from the replay's base on.
///
/// # Errors
/// As [`IndexExpr::resolve`].
pub fn resolve(at: IndexExpr, replay: &Prepared<'_>, notes: &Reporter) -> Result<Index, Error> {
    at.resolve(&*replay.evidence.log, replay.base.0.max(Index(1)), replay.last(), notes)
}
