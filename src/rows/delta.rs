//! What changed between two forms of a row, field by field.

use std::fmt::Write;

use super::value::{Object, Value};
use crate::redact::Place;

/// One change, as JSON Patch (RFC 6902) has it. Applied one after the other to the old row, they make the new one.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldChange<'v> {
    /// The field as a JSON pointer into the row: `/TaskGroups/0/Count`.
    pub path: String,
    /// Where the value stands, for what of it is secret.
    pub place: Place,
    /// The value before; `None` for one that is added.
    pub before: Option<&'v Value>,
    /// The value after; `None` for one that is removed.
    pub after: Option<&'v Value>,
}

/// The longest lists that are compared item by item with each other; longer ones are compared by position.
const ALIGNED: usize = 300;

/// The changes from `before` to `after`, two forms of a row whose fields stand at `place`.
pub fn changes<'v>(before: &'v Object, after: &'v Object, place: Place) -> Vec<FieldChange<'v>> {
    let mut found = Vec::new();
    objects(before, after, place, &mut String::new(), &mut found);
    found
}

/// Appends `/` and a key to a JSON pointer.
pub fn push_key(path: &mut String, key: &str) {
    path.push('/');
    for c in key.chars() {
        match c {
            '~' => path.push_str("~0"),
            '/' => path.push_str("~1"),
            c => path.push(c),
        }
    }
}

/// Runs `work` with the key appended to the path.
fn below<T>(path: &mut String, key: &str, work: impl FnOnce(&mut String) -> T) -> T {
    let length = path.len();
    push_key(path, key);
    let result = work(path);
    path.truncate(length);
    result
}

fn objects<'v>(
    before: &'v Object,
    after: &'v Object,
    place: Place,
    path: &mut String,
    found: &mut Vec<FieldChange<'v>>,
) {
    for (key, old) in before.iter() {
        let place = place.value(key.as_bytes()).0;
        below(path, key, |path| match after.get(key) {
            Some(new) => values(old, new, place, path, found),
            None => found.push(FieldChange { path: path.clone(), place, before: Some(old), after: None }),
        });
    }
    for (key, new) in after.iter().filter(|(key, _)| before.get(key).is_none()) {
        let place = place.value(key.as_bytes()).0;
        below(path, key, |path| {
            found.push(FieldChange { path: path.clone(), place, before: None, after: Some(new) });
        });
    }
}

fn values<'v>(before: &'v Value, after: &'v Value, place: Place, path: &mut String, found: &mut Vec<FieldChange<'v>>) {
    match (before, after) {
        _ if before == after => {}
        (Value::Object(old), Value::Object(new)) => objects(old, new, place, path, found),
        (Value::List(old), Value::List(new)) => lists(old, new, place.item(), path, found),
        _ => found.push(FieldChange { path: path.clone(), place, before: Some(before), after: Some(after) }),
    }
}

/// Removes from the end, then adds from the front, then changes: so each index is right when its turn comes.
fn lists<'v>(
    before: &'v [Value],
    after: &'v [Value],
    place: Place,
    path: &mut String,
    found: &mut Vec<FieldChange<'v>>,
) {
    let Aligned { pairs, removed, added } = align(before, after);
    let at = |path: &str, index: usize| {
        let mut at = path.to_owned();
        // Writing to a String cannot fail.
        let _ = write!(at, "/{index}");
        at
    };
    for index in removed.into_iter().rev() {
        found.push(FieldChange { path: at(path, index), place, before: before.get(index), after: None });
    }
    for index in added {
        found.push(FieldChange { path: at(path, index), place, before: None, after: after.get(index) });
    }
    for (old, new) in pairs {
        if let (Some(old), Some(item)) = (before.get(old), after.get(new)) {
            below(path, &new.to_string(), |path| values(old, item, place, path, found));
        }
    }
}

/// Which items of two lists belong together: pairs of positions, and the positions that are left on both sides.
#[derive(Default)]
struct Aligned {
    pairs: Vec<(usize, usize)>,
    removed: Vec<usize>,
    added: Vec<usize>,
}

/// Equal items belong together, and between them those that stand at the same place.
fn align(before: &[Value], after: &[Value]) -> Aligned {
    let mut aligned = Aligned::default();
    let mut from = (0, 0);
    let equal = if before.len().max(after.len()) <= ALIGNED { equal_items(before, after) } else { Vec::new() };
    for (old, new) in equal.into_iter().chain([(before.len(), after.len())]) {
        let both = (old - from.0).min(new - from.1);
        aligned.pairs.extend((0..both).map(|i| (from.0 + i, from.1 + i)));
        aligned.removed.extend(from.0 + both..old);
        aligned.added.extend(from.1 + both..new);
        from = (old + 1, new + 1);
    }
    aligned
}

/// The longest common subsequence, as pairs of positions in order.
fn equal_items(before: &[Value], after: &[Value]) -> Vec<(usize, usize)> {
    let width = after.len() + 1;
    // lengths[i * width + j]: of the longest common subsequence of before[i..] and after[j..].
    let mut lengths = vec![0_u16; (before.len() + 1) * width];
    let at = |lengths: &[u16], i: usize, j: usize| lengths.get(i * width + j).copied().unwrap_or(0);
    for (i, old) in before.iter().enumerate().rev() {
        for (j, new) in after.iter().enumerate().rev() {
            let longest = match old == new {
                true => at(&lengths, i + 1, j + 1) + 1,
                false => at(&lengths, i + 1, j).max(at(&lengths, i, j + 1)),
            };
            if let Some(place) = lengths.get_mut(i * width + j) {
                *place = longest;
            }
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut pairs = Vec::new();
    while let (Some(old), Some(new)) = (before.get(i), after.get(j)) {
        if old == new {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if at(&lengths, i + 1, j) >= at(&lengths, i, j + 1) {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An object with one field `l`, a list of these numbers.
    fn list(items: &[i64]) -> Object {
        let mut object = Object::default();
        object.set("l", Value::List(items.iter().map(|n| Value::Int(*n)).collect()));
        object
    }

    fn told(before: &Object, after: &Object) -> Vec<String> {
        let text = |value: Option<&Value>| value.map(|v| String::from_utf8(v.to_json()).unwrap()).unwrap_or("-".into());
        let changes = changes(before, after, Place::ROW);
        changes.iter().map(|c| format!("{} {} {}", c.path, text(c.before), text(c.after))).collect()
    }

    #[test]
    fn fields_are_replaced_removed_and_added() {
        let (mut before, mut after) = (Object::default(), Object::default());
        before.set("same", 1_i64);
        before.set("a/b~", "x");
        before.set("gone", Value::Null);
        after.set("same", 1_i64);
        after.set("a/b~", "y");
        after.set("new", true);
        assert_eq!(told(&before, &after), [r#"/a~1b~0 "x" "y""#, "/gone null -", "/new - true"]);
    }

    #[test]
    fn a_ring_that_moves_on_loses_one_and_gains_one() {
        assert_eq!(told(&list(&[1, 2, 3]), &list(&[2, 3, 4])), ["/l/0 1 -", "/l/2 - 4"]);
        assert_eq!(told(&list(&[1, 2, 3]), &list(&[1, 9, 3, 4])), ["/l/3 - 4", "/l/1 2 9"]);
        assert_eq!(told(&list(&[1, 2, 3, 4]), &list(&[3])), ["/l/3 4 -", "/l/1 2 -", "/l/0 1 -"]);
        assert_eq!(told(&list(&[]), &list(&[1, 2])), ["/l/0 - 1", "/l/1 - 2"]);
    }
}
