//! The first entries after which a jq expression over the state is true.

use std::collections::BTreeMap;

use crate::error::Error;
use crate::fsm::state::State;
use crate::jq::{Program, Reach, Value};
use crate::redact::Redactor;
use crate::replay::Replayed;
use crate::rows::held::{self, Held, Placed, RowId};
use crate::rows::value;
use crate::rows::{Bodies, Table};

/// What made an expression true.
#[derive(Clone, Debug)]
pub struct Found {
    /// The row that makes it true, where it is tried row by row.
    pub row: Option<RowId>,
    /// The first output that is neither null nor false, as JSON.
    pub value: Vec<u8>,
}

/// Tries an expression on a state that changes.
pub struct Finder<'f> {
    program: &'f Program,
    bodies: &'f dyn Bodies,
    redactor: Redactor,
    tables: Vec<Table>,
    /// Tried on the rows of one table, one by one.
    by_row: bool,
    /// Tables without rows are left out, as `state` leaves ours out.
    optional: bool,
    /// Every row of the tables; only where whole tables are tried.
    rows: BTreeMap<RowId, Value>,
    begun: bool,
}

impl<'f> Finder<'f> {
    /// A finder for an expression. The rows that it sees have their secrets hidden by `redactor`.
    ///
    /// # Errors
    /// The name that the expression uses for a table and that is none.
    pub fn new(program: &'f Program, bodies: &'f dyn Bodies, redactor: Redactor) -> Result<Self, String> {
        let table = |name: &String| Table::ALL.iter().copied().find(|t| t.name() == name).ok_or_else(|| name.clone());
        let (tables, by_row) = match program.reach() {
            Reach::Rows(name) => (vec![table(name)?], true),
            Reach::Keys(names) => (names.iter().map(table).collect::<Result<_, _>>()?, false),
            Reach::Everything => (Table::ALL.iter().copied().filter(|t| t.is_default()).collect(), false),
        };
        let optional = *program.reach() == Reach::Everything;
        Ok(Finder { program, bodies, redactor, tables, by_row, optional, rows: BTreeMap::new(), begun: false })
    }

    /// Takes the state that the replay starts from, or goes on from.
    ///
    /// # Errors
    /// When a row cannot be rebuilt.
    pub fn start(&mut self, state: &State) -> Result<(), Error> {
        self.begun = false;
        self.rows.clear();
        if self.by_row {
            return Ok(());
        }
        for table in self.tables.clone() {
            for (id, row) in held::all(table, state) {
                let value = self.value(&id, &row)?;
                self.rows.insert(id, value);
            }
        }
        Ok(())
    }

    /// Takes what an entry changed, and tries the expression if it is wanted and can have come true.
    ///
    /// # Errors
    /// When a row cannot be rebuilt, or the expression fails.
    pub fn entry(&mut self, entry: &Replayed<'_>, wanted: bool) -> Result<Vec<Found>, Error> {
        let mut changed: Vec<Placed> = Vec::new();
        let mut any = false;
        for touched in held::touched_in(&self.tables, entry.step, entry.state) {
            any = true;
            if !self.by_row {
                if let Some((id, _)) = &touched.before {
                    self.rows.remove(id);
                }
                if let Some((id, row)) = &touched.after {
                    let value = self.value(id, row)?;
                    self.rows.insert(id.clone(), value);
                }
            }
            changed.extend(touched.after);
        }
        match wanted && (any || !self.begun) {
            true if self.by_row && self.begun => self.try_rows(changed),
            true => self.try_all(entry.state),
            false => Ok(Vec::new()),
        }
    }

    /// Tries the expression on the state as it is.
    ///
    /// # Errors
    /// As [`Finder::entry`].
    pub fn try_all(&mut self, state: &State) -> Result<Vec<Found>, Error> {
        self.begun = true;
        if self.by_row {
            let rows = self.tables.first().map(|table| held::all(*table, state)).unwrap_or_default();
            return self.try_rows(rows);
        }
        let mut lists: BTreeMap<Table, Vec<Value>> = self.tables.iter().map(|table| (*table, Vec::new())).collect();
        for (id, row) in &self.rows {
            lists.entry(id.table).or_default().push(row.clone());
        }
        let printed =
            |(table, list): &(Table, Vec<Value>)| !self.optional || *table < Table::Namespaces || !list.is_empty();
        let pairs = lists.into_iter().filter(printed).map(|(table, list)| (table.name(), Value::array(list)));
        let found = self.run(Value::object(pairs))?;
        Ok(found.into_iter().map(|value| Found { row: None, value }).collect())
    }

    fn try_rows(&mut self, rows: Vec<Placed>) -> Result<Vec<Found>, Error> {
        let mut found = Vec::new();
        for (id, row) in rows {
            let value = self.value(&id, &row)?;
            let document = Value::object([(id.table.name(), Value::array(vec![value]))]);
            found.extend(self.run(document)?.map(|value| Found { row: Some(id), value }));
        }
        Ok(found)
    }

    /// The first true output of the expression.
    fn run(&self, document: Value) -> Result<Option<Vec<u8>>, Error> {
        let mut found = None;
        let ran = self.program.run(document, |output| {
            if found.is_none() && output.is_true() {
                let mut json = Vec::new();
                output.write_json(&mut json);
                found = Some(json);
            }
            Ok(())
        });
        match found {
            // What failed behind it does not matter any more.
            Some(json) => Ok(Some(json)),
            None => ran.map(|()| None),
        }
    }

    fn value(&mut self, id: &RowId, row: &Held) -> Result<Value, Error> {
        let row = value::Value::from(row.build(self.bodies)?);
        let mut json = Vec::new();
        row.write(id.table.place(), &mut self.redactor, &mut json);
        Value::parse(&json)
    }
}
