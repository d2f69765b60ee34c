//! How much of its input an expression looks at, read off its form: so that whoever tries it again and again knows
//! when trying is of use.

use std::collections::BTreeSet;

use jaq_core::load::parse::{BinaryOp, Term};
use jaq_core::path::Part;

/// What of an input object an expression looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The items of the list under this key, each by itself: on `{key: [item, …]}` the expression yields what it yields
    /// on the object of each single item, one after the other.
    Rows(String),
    /// The values under these keys and nothing else.
    Keys(BTreeSet<String>),
    /// More than can be told from its form.
    Everything,
}

/// The reach of an expression.
pub(super) fn of(term: &Term<&str>) -> Reach {
    if let Some(key) = rows(term) {
        return Reach::Rows(key.to_owned());
    }
    let mut keys = BTreeSet::new();
    if looks_at(term, &mut keys) { Reach::Keys(keys) } else { Reach::Everything }
}

/// The key whose items the expression looks at one by one: `.Key[]`, with a path behind it, before a `|`, or beside an
/// operator with a constant.
fn rows<'t>(term: &Term<&'t str>) -> Option<&'t str> {
    match term {
        Term::BinOp(left, BinaryOp::Pipe(None), right) if !reads_elsewhere(right) => rows(left),
        Term::BinOp(left, op, right) if is_plain(op) => match (is_constant(left), is_constant(right)) {
            (false, true) => rows(left),
            (true, false) => rows(right),
            _ => None,
        },
        Term::Neg(inner) => rows(inner),
        Term::Path(head, path) if matches!(**head, Term::Id) => {
            let mut parts = path.0.iter().map(|(part, _)| part);
            let key = parts.next().and_then(literal)?;
            let each = matches!(parts.next(), Some(Part::Range(None, None)));
            // A subscript that is computed is computed from the whole input.
            let literal = parts.all(|part| matches!(part, Part::Range(None, None)) || literal(part).is_some());
            (each && literal).then_some(key)
        }
        _ => None,
    }
}

/// Operators that take one value of each side: not pipes, commas, alternatives or updates.
fn is_plain(op: &BinaryOp<&str>) -> bool {
    matches!(op, BinaryOp::Math(_) | BinaryOp::Cmp(_) | BinaryOp::And | BinaryOp::Or)
}

fn is_constant(term: &Term<&str>) -> bool {
    match term {
        Term::Num(_) => true,
        Term::Str(None, parts) => parts.iter().all(|part| !matches!(part, jaq_core::load::lex::StrPart::Term(_))),
        Term::Neg(inner) => is_constant(inner),
        Term::Call(name, args) => args.is_empty() && matches!(*name, "null" | "true" | "false"),
        _ => false,
    }
}

/// Calls `see` with the name of each filter that is called anywhere; a form that is not known counts as a call of `input`.
fn each_call(term: &Term<&str>, see: &mut dyn FnMut(&str)) {
    match term {
        Term::Id | Term::Recurse | Term::Num(_) | Term::Var(_) | Term::Break(_) => {}
        Term::Str(_, parts) => {
            for part in parts {
                if let jaq_core::load::lex::StrPart::Term(term) = part {
                    each_call(term, see);
                }
            }
        }
        Term::Arr(inner) => inner.iter().for_each(|term| each_call(term, see)),
        Term::Obj(pairs) => {
            for (key, value) in pairs {
                each_call(key, see);
                value.iter().for_each(|value| each_call(value, see));
            }
        }
        Term::Neg(inner) | Term::Label(_, inner) => each_call(inner, see),
        Term::BinOp(left, _, right) => {
            each_call(left, see);
            each_call(right, see);
        }
        Term::TryCatch(tried, caught) => {
            each_call(tried, see);
            caught.iter().for_each(|term| each_call(term, see));
        }
        Term::IfThenElse(cases, otherwise) => {
            for (condition, then) in cases {
                each_call(condition, see);
                each_call(then, see);
            }
            otherwise.iter().for_each(|term| each_call(term, see));
        }
        Term::Call(name, args) => {
            see(name);
            args.iter().for_each(|term| each_call(term, see));
        }
        Term::Path(head, path) => {
            each_call(head, see);
            for (part, _) in &path.0 {
                match part {
                    Part::Index(term) => each_call(term, see),
                    Part::Range(from, to) => from.iter().chain(to).for_each(|term| each_call(term, see)),
                }
            }
        }
        Term::Fold(_, source, _, rest) => {
            each_call(source, see);
            rest.iter().for_each(|term| each_call(term, see));
        }
        Term::Def(..) => see("input"),
    }
}

/// Notes the keys of the input that a term looks at; false where it looks at more than keys that are named.
fn looks_at(term: &Term<&str>, keys: &mut BTreeSet<String>) -> bool {
    match term {
        Term::Num(_) => true,
        Term::Str(_, parts) => parts.iter().all(|part| match part {
            jaq_core::load::lex::StrPart::Term(term) => looks_at(term, keys),
            _ => true,
        }),
        Term::Arr(inner) => inner.iter().all(|term| looks_at(term, keys)),
        Term::Obj(pairs) => pairs.iter().all(|(key, value)| {
            // A key without a value is the key of the input.
            value.as_ref().is_some_and(|value| looks_at(key, keys) && looks_at(value, keys))
        }),
        Term::Neg(inner) => looks_at(inner, keys),
        // What stands behind a pipe sees what comes out of it, which is made of no more than was looked at.
        Term::BinOp(left, BinaryOp::Pipe(None), right) => looks_at(left, keys) && !reads_elsewhere(right),
        Term::BinOp(left, op, right) if is_plain(op) || matches!(op, BinaryOp::Comma | BinaryOp::Alt) => {
            looks_at(left, keys) && looks_at(right, keys)
        }
        Term::IfThenElse(cases, otherwise) => {
            // Without an else the input itself comes out.
            cases.iter().all(|(condition, then)| looks_at(condition, keys) && looks_at(then, keys))
                && otherwise.as_ref().is_some_and(|term| looks_at(term, keys))
        }
        Term::Call(name, args) => match (*name, args.as_slice()) {
            ("null" | "true" | "false" | "empty", []) => true,
            ("any" | "all", [source, condition]) => looks_at(source, keys) && !reads_elsewhere(condition),
            ("first" | "last" | "isempty", [source]) => looks_at(source, keys),
            ("limit", [count, source]) => looks_at(count, keys) && looks_at(source, keys),
            _ => false,
        },
        Term::Path(head, path) => {
            let own = match **head {
                Term::Id => {
                    path.0.first().and_then(|(part, _)| literal(part)).map(|key| _ = keys.insert(key.to_owned()))
                }
                _ => looks_at(head, keys).then_some(()),
            };
            own.is_some() && path.0.iter().all(|(part, _)| is_literal(part))
        }
        _ => false,
    }
}

/// Reads from somewhere else than its input, or ends the run.
fn reads_elsewhere(term: &Term<&str>) -> bool {
    let mut found = false;
    each_call(term, &mut |name| found |= matches!(name, "input" | "inputs" | "halt" | "halt_error"));
    found
}

fn is_literal(part: &Part<Term<&str>>) -> bool {
    literal(part).is_some() || matches!(part, Part::Range(None, None) | Part::Index(Term::Num(_)))
}

/// The key of a subscript that is plain text.
fn literal<'t>(part: &Part<Term<&'t str>>) -> Option<&'t str> {
    match part {
        Part::Index(Term::Str(None, parts)) => match parts.as_slice() {
            [jaq_core::load::lex::StrPart::Str(key)] => Some(key),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jq::Program;

    fn reach(code: &str) -> Reach {
        Program::compile(code, |_| {}).unwrap_or_else(|e| panic!("{code}: {e}")).reach().clone()
    }

    #[test]
    fn an_expression_over_the_rows_of_one_table_is_told() {
        for code in [
            ".Jobs[] | .Status == \"dead\"",
            ".Jobs[] | select(.Status == \"dead\") | .ID",
            ".Jobs[]",
            ".Jobs[].Status == \"dead\"",
            "0 > .Jobs[].Children.Running",
            ".Jobs[] | . as $job | $job.Status == \"dead\"",
            ".Jobs[].Status == \"dead\" | not",
            "-.Jobs[].Version == -1",
        ] {
            assert_eq!(reach(code), Reach::Rows("Jobs".into()), "{code}");
        }
    }

    #[test]
    fn other_expressions_look_at_the_keys_that_they_name() {
        let keys = |names: &[&str]| Reach::Keys(names.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(reach("[.Jobs[] | select(.Status == \"dead\")] | length > 2"), keys(&["Jobs"]));
        assert_eq!(reach("(.Jobs | length) < (.Allocs | length)"), keys(&["Allocs", "Jobs"]));
        assert_eq!(reach("any(.Jobs[]; .Status == \"dead\")"), keys(&["Jobs"]));
        assert_eq!(reach(".Jobs[0].Status == \"dead\""), keys(&["Jobs"]));
        assert_eq!(reach("first(.Jobs[]) | .ID"), keys(&["Jobs"]));
        assert_eq!(reach("if .Jobs == [] then .Evals else null end"), keys(&["Evals", "Jobs"]));
    }

    #[test]
    fn what_could_look_anywhere_looks_at_everything() {
        for code in
            [".", "keys", ".[] | length", "..", "{Jobs}", ".Jobs[.Evals | length]", "map_values(length)", "def f: .; f"]
        {
            assert_eq!(reach(code), Reach::Everything, "{code}");
        }
    }
}
