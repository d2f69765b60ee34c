//! Changes of rows, field by field, as `why` and `diff` print them.

use crate::redact::Redactor;
use crate::render::json_text::Object;
use crate::render::{Cell, Column, Row, Shape, Tone};
use crate::rows::delta::{FieldChange, changes};
use crate::rows::held::RowId;
use crate::rows::value::{self, Value};

/// The columns of changes.
pub static SHAPE: Shape = Shape {
    table: &[
        Column::text("Table"),
        Column::text("Row"),
        Column::text("Change"),
        Column::text("Field"),
        Column::text("Before"),
        Column::text("After"),
    ],
    csv: &["table", "row", "change", "field", "before", "after"],
};

/// A row, or one field of it, before and after; values are JSON with their secrets hidden.
#[derive(Clone, Debug)]
pub struct Line {
    /// The row.
    pub id: RowId,
    /// `created`, `changed` or `deleted`.
    pub change: &'static str,
    /// A JSON pointer into the row; empty for the whole row.
    pub field: String,
    /// The value before.
    pub before: Option<Vec<u8>>,
    /// The value after.
    pub after: Option<Vec<u8>>,
}

impl Line {
    /// The lines for a row before and after: one for a row that came or went, else one for each field.
    pub fn of(
        id: &RowId,
        before: Option<value::Object>,
        after: Option<value::Object>,
        redactor: &mut Redactor,
    ) -> Vec<Self> {
        let place = id.table.place();
        let line = |change, field| Line { id: id.clone(), change, field, before: None, after: None };
        let mut whole = |row: value::Object| {
            let mut json = Vec::new();
            Value::from(row).write(place, redactor, &mut json);
            Some(json)
        };
        match (before, after) {
            (None, None) => Vec::new(),
            (None, Some(row)) => vec![Line { after: whole(row), ..line("created", String::new()) }],
            (Some(row), None) => vec![Line { before: whole(row), ..line("deleted", String::new()) }],
            (Some(before), Some(after)) => {
                let field = |change: FieldChange<'_>| {
                    let mut json = |value: Option<&Value>| {
                        let mut json = Vec::new();
                        value?.write(change.place, redactor, &mut json);
                        Some(json)
                    };
                    Line {
                        before: json(change.before),
                        after: json(change.after),
                        ..line("changed", change.path.clone())
                    }
                };
                changes(&before, &after, place).into_iter().map(field).collect()
            }
        }
    }

    /// It tells only that a row or a table was written.
    pub fn is_index_only(&self) -> bool {
        let field = self.field.rsplit('/').next().unwrap_or_default();
        self.id.table == crate::rows::Table::Indexes
            || (self.change == "changed"
                && matches!(field, "ModifyIndex" | "AllocModifyIndex" | "LastAllocUpdateIndex"))
    }
}

/// A value for people: text without quotes, a whole row by what tells its state.
fn shown(json: Option<&Vec<u8>>, whole: bool) -> String {
    let Some(json) = json else { return String::new() };
    match serde_json::from_slice(json) {
        Ok(serde_json::Value::String(text)) => text,
        Ok(serde_json::Value::Object(row)) if whole => {
            let told = ["Status", "ClientStatus", "State"].iter().find_map(|key| row.get(*key)?.as_str());
            told.unwrap_or_default().to_owned()
        }
        _ => String::from_utf8_lossy(json).into_owned(),
    }
}

impl Row for Line {
    fn json(&self, out: &mut Vec<u8>) {
        let mut row = Object::open(out);
        row.text("table", self.id.table.name());
        row.text("row", &self.id.to_string());
        row.text("change", self.change);
        if !self.field.is_empty() {
            row.text("field", &self.field);
        }
        for (key, value) in [("before", &self.before), ("after", &self.after)] {
            if let Some(value) = value {
                row.key(key).extend_from_slice(value);
            }
        }
        row.close();
    }

    fn cells(&self) -> Vec<Cell> {
        let whole = self.field.is_empty();
        let after = shown(self.after.as_ref(), whole);
        let tone = if after.starts_with('-') && self.field.starts_with("/Children") { Tone::Bad } else { Tone::Plain };
        vec![
            self.id.table.name().into(),
            self.id.to_string().into(),
            self.change.into(),
            self.field.trim_start_matches('/').replace('/', ".").into(),
            shown(self.before.as_ref(), whole).into(),
            Cell::toned(after, tone),
        ]
    }
}
