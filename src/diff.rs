//! What changed in the state between two moments, as JSON Patch (RFC 6902) on what `state` prints.

use std::cmp::Ordering;

use crate::fsm::state::State;
use crate::redact::Redactor;
use crate::rows::delta::{changes, push_key};
use crate::rows::held::{self, Held, Placed, RowId};
use crate::rows::value::{Object, Value};
use crate::rows::{Bodies, RowError, Table};

/// The wanted rows of one table, in Nomad's order.
#[derive(Clone, Debug)]
pub struct Rows {
    /// The table.
    pub table: Table,
    /// Its rows.
    pub rows: Vec<Placed>,
}

/// The wanted rows of a state, table by table.
///
/// # Errors
/// What `wants` returns.
pub fn rows<E>(
    state: &State,
    tables: &[Table],
    mut wants: impl FnMut(Table, &Held) -> Result<bool, E>,
) -> Result<Vec<Rows>, E> {
    let mut all = Vec::with_capacity(tables.len());
    for &table in tables {
        let mut rows = Vec::new();
        for row in held::all(table, state) {
            if wants(table, &row.1)? {
                rows.push(row);
            }
        }
        all.push(Rows { table, rows });
    }
    Ok(all)
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Something is added.
    Add,
    /// Something is taken away.
    Remove,
    /// A value becomes another.
    Replace,
}

impl Kind {
    /// Its name in JSON Patch.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Add => "add",
            Kind::Remove => "remove",
            Kind::Replace => "replace",
        }
    }
}

/// One operation of a JSON Patch. Values are JSON with their secrets hidden.
#[derive(Clone, Debug)]
pub struct Operation {
    /// What it does.
    pub kind: Kind,
    /// The JSON pointer into the document of `state`.
    pub path: String,
    /// The row; `None` where a whole table comes or goes, which has no rows at that moment.
    pub row: Option<RowId>,
    /// The pointer within the row; empty for a whole row.
    pub field: String,
    /// The value before.
    pub before: Option<Vec<u8>>,
    /// The value after.
    pub after: Option<Vec<u8>>,
}

/// The operations that, applied one after the other to the document of the first state, make that of the second.
///
/// # Errors
/// When a row cannot be built, or what `sink` returns.
pub fn operations<E: From<RowError>>(
    before: &[Rows],
    after: &[Rows],
    bodies: &dyn Bodies,
    redactor: &mut Redactor,
    sink: &mut dyn FnMut(Operation) -> Result<(), E>,
) -> Result<(), E> {
    for (before, after) in before.iter().zip(after) {
        Compared { table: after.table, bodies, redactor }.table(&before.rows, &after.rows, sink)?;
    }
    Ok(())
}

struct Compared<'c> {
    table: Table,
    bodies: &'c dyn Bodies,
    redactor: &'c mut Redactor,
}

/// Rows of the first list only and of the second list only, and pairs of both; each by position.
#[derive(Default)]
struct Merged {
    gone: Vec<usize>,
    new: Vec<usize>,
    both: Vec<(usize, usize)>,
}

fn merge(before: &[Placed], after: &[Placed]) -> Merged {
    let mut merged = Merged::default();
    let (mut i, mut j) = (0, 0);
    loop {
        let order = match (before.get(i), after.get(j)) {
            (None, None) => return merged,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(a), Some(b)) => a.0.cmp(&b.0),
        };
        match order {
            Ordering::Less => merged.gone.push(i),
            Ordering::Greater => merged.new.push(j),
            Ordering::Equal => merged.both.push((i, j)),
        }
        i += usize::from(order != Ordering::Greater);
        j += usize::from(order != Ordering::Less);
    }
}

impl Compared<'_> {
    /// Removes from the end, adds from the front, then changes: so each position is right when its turn comes.
    fn table<E: From<RowError>>(
        &mut self,
        before: &[Placed],
        after: &[Placed],
        sink: &mut dyn FnMut(Operation) -> Result<(), E>,
    ) -> Result<(), E> {
        let merged = merge(before, after);
        for index in merged.gone.into_iter().rev() {
            let Some((id, row)) = before.get(index) else { continue };
            let row = Some(self.whole(row.build(self.bodies)?));
            sink(Operation { before: row, ..self.operation(Kind::Remove, index, Some(id)) })?;
        }
        // Our own tables are not in the document while they have no rows.
        let optional = self.table >= Table::Namespaces;
        if optional && before.is_empty() && !after.is_empty() {
            sink(Operation { after: Some(b"[]".to_vec()), ..self.whole_table(Kind::Add) })?;
        }
        for index in merged.new {
            let Some((id, row)) = after.get(index) else { continue };
            let row = Some(self.whole(row.build(self.bodies)?));
            sink(Operation { after: row, ..self.operation(Kind::Add, index, Some(id)) })?;
        }
        if optional && after.is_empty() && !before.is_empty() {
            sink(Operation { before: Some(b"[]".to_vec()), ..self.whole_table(Kind::Remove) })?;
        }
        for (i, j) in merged.both {
            let (Some((_, old)), Some((id, new))) = (before.get(i), after.get(j)) else { continue };
            if !old.is_same(new) {
                self.fields(j, id, &old.build(self.bodies)?, &new.build(self.bodies)?, sink)?;
            }
        }
        Ok(())
    }

    fn fields<E>(
        &mut self,
        index: usize,
        id: &RowId,
        before: &Object,
        after: &Object,
        sink: &mut dyn FnMut(Operation) -> Result<(), E>,
    ) -> Result<(), E> {
        for change in changes(before, after, self.table.place()) {
            let kind = match (change.before, change.after) {
                (None, _) => Kind::Add,
                (_, None) => Kind::Remove,
                _ => Kind::Replace,
            };
            let mut json = |value: Option<&Value>| {
                let mut json = Vec::new();
                value?.write(change.place, self.redactor, &mut json);
                Some(json)
            };
            let (before, after) = (json(change.before), json(change.after));
            let mut operation = self.operation(kind, index, Some(id));
            operation.path.push_str(&change.path);
            sink(Operation { field: change.path, before, after, ..operation })?;
        }
        Ok(())
    }

    fn whole(&mut self, row: Object) -> Vec<u8> {
        let mut json = Vec::new();
        Value::from(row).write(self.table.place(), self.redactor, &mut json);
        json
    }

    fn operation(&self, kind: Kind, index: usize, row: Option<&RowId>) -> Operation {
        let mut operation = self.whole_table(kind);
        push_key(&mut operation.path, &index.to_string());
        Operation { row: row.cloned(), ..operation }
    }

    fn whole_table(&self, kind: Kind) -> Operation {
        let mut path = String::new();
        push_key(&mut path, self.table.name());
        Operation { kind, path, row: None, field: String::new(), before: None, after: None }
    }
}
