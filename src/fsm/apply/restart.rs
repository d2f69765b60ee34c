//! Job restarts of the early design: one table, one row for each (the "restart entry").

use super::super::Txn;
use super::super::outcome::{Outcome, Refusal};
use super::super::table::{Plain, TableName, TableRow, global};
use super::Applied;
use crate::entry::body::restart::JobRestart;

impl Txn<'_> {
    /// JobRestart: the row of its ID is made or replaced. The ID's index takes UUIDs only.
    pub(super) fn job_restart(&mut self, request: &JobRestart<'_>) -> Applied {
        if request.id.is_empty() {
            return Err(Refusal::new("the restart has no ID"));
        }
        if !is_uuid(&request.id) {
            return Err(Refusal::new(format!("the restart's ID {:?} is no UUID", request.id)));
        }
        let key = global(&request.id.to_ascii_lowercase());
        let create =
            self.state.row(TableName::JobRestarts, &key).and_then(|r| r.job_restart()).map(|r| r.indexes.create);
        let row = Plain { indexes: self.written(create), origin: self.origin(request.at) };
        self.put_row(TableName::JobRestarts, &key, TableRow::JobRestart(row));
        self.bump("restart");
        Ok(Outcome::Applied)
    }
}

/// 36 characters: hexadecimal digits of either case with dashes between.
fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use super::is_uuid;

    #[test]
    fn only_a_whole_uuid_is_one() {
        for good in ["a716b4e0-de8c-2a19-5ad0-e309f90068e0", "A716B4E0-DE8C-2A19-5AD0-E309F90068E0"] {
            assert!(is_uuid(good));
        }
        for bad in ["", "a716b4e0", "a716b4e0-de8c-2a19-5ad0-e309f90068e", "a716b4e0-de8c-2a19-5ad0-e309f90068eg"] {
            assert!(!is_uuid(bad), "{bad}");
        }
        assert!(!is_uuid("a716b4e00de8c-2a19-5ad0-e309f90068e0"));
    }
}
