//! Names in a filter that no row has: most likely slips of the finger.

use std::cell::{Cell, RefCell};

/// One name that was asked for, and what came nearest to it.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    name: String,
    met: Cell<bool>,
    nearest: RefCell<Option<(f64, String)>>,
    last: RefCell<String>,
}

/// As alike as this, and it may be what was meant.
const LIKE_ENOUGH: f64 = 0.8;

impl Asked {
    pub(super) fn new(name: &str) -> Self {
        Asked { name: name.to_owned(), met: Cell::new(false), nearest: RefCell::default(), last: RefCell::default() }
    }

    /// A row has this name.
    pub(super) fn meet(&self, name: &str) {
        if self.met.get() || *self.last.borrow() == name {
            return;
        }
        if name == self.name {
            self.met.set(true);
            return;
        }
        name.clone_into(&mut self.last.borrow_mut());
        let likeness = strsim::jaro_winkler(&name.to_lowercase(), &self.name.to_lowercase());
        let mut nearest = self.nearest.borrow_mut();
        if likeness >= LIKE_ENOUGH && nearest.as_ref().is_none_or(|(best, _)| likeness > *best) {
            *nearest = Some((likeness, name.to_owned()));
        }
    }

    /// The name, and the one most like it, where no row has it.
    pub(super) fn stranger(&self) -> Option<(&str, Option<String>)> {
        (!self.met.get()).then(|| (self.name.as_str(), self.nearest.borrow().as_ref().map(|(_, name)| name.clone())))
    }
}
