//! Stands in for the Parquet export where the program was built without it, and says so.

use std::path::Path;

use super::ExportError;
use super::fleet::Place;
use crate::ledger::Ledger;

/// Nothing can be replaced, since nothing can be written.
///
/// # Errors
/// Always.
pub fn may_replace(_: &Path, _: &Place) -> Result<(), ExportError> {
    Err(ExportError::WithoutParquet)
}

/// Nothing can be written.
///
/// # Errors
/// Always.
pub fn write(_: &Ledger, _: &Place, _: &Path) -> Result<(), ExportError> {
    Err(ExportError::WithoutParquet)
}
