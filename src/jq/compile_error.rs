//! Why an expression does not compile, and where.

use std::collections::BTreeSet;
use std::fmt;

use jaq_core::{compile, load};

use super::{definitions, functions};

/// Why an expression does not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError {
    /// The line, counted from 1; told only where the expression has several.
    pub line: Option<usize>,
    /// The column in characters, counted from 1.
    pub column: usize,
    /// What is wrong there and, where it can be guessed, what was meant.
    pub detail: String,
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}, ")?;
        }
        write!(f, "column {}: {}", self.column, self.detail)
    }
}

impl std::error::Error for CompileError {}

impl CompileError {
    /// An error at `at`, a slice of `code` (or something foreign, which stands for the end).
    fn at(code: &str, at: &str, detail: String) -> Self {
        let start = code.as_ptr() as usize;
        let offset = (at.as_ptr() as usize).checked_sub(start).filter(|o| *o <= code.len()).unwrap_or(code.len());
        let before = code.get(..offset).unwrap_or(code);
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        let line = code.contains('\n').then(|| before.matches('\n').count() + 1);
        CompileError { line, column, detail }
    }
}

pub(super) fn load_error(code: &str, errors: load::Errors<&str, ()>) -> CompileError {
    let found = |at: &str| match at.chars().next() {
        Some(c) if at.len() > 24 => format!("what begins with `{c}`"),
        Some(_) => format!("`{at}`"),
        None => "the end".to_owned(),
    };
    for (_, error) in errors {
        match error {
            load::Error::Lex(errors) => {
                if let Some((expected, at)) = errors.into_iter().next() {
                    let next = at.chars().next().map_or("the end".to_owned(), |c| format!("`{c}`"));
                    return CompileError::at(code, at, format!("expected a {}, found {next}", expected.as_str()));
                }
            }
            load::Error::Parse(errors) => {
                if let Some((expected, at)) = errors.into_iter().next() {
                    let wanted = match expected {
                        load::parse::Expect::Just(s) => format!("`{s}`"),
                        load::parse::Expect::Nothing => "an operator or the end".to_owned(),
                        other => format!("a {}", other.as_str()),
                    };
                    return CompileError::at(code, at, format!("expected {wanted}, found {}", found(at)));
                }
            }
            load::Error::Io(errors) => {
                if let Some((path, _)) = errors.into_iter().next() {
                    return CompileError::at(code, path, "modules and data files cannot be loaded here".into());
                }
            }
        }
    }
    CompileError::at(code, "", "this is no jq expression".into())
}

pub(super) fn undefined(code: &str, errors: compile::Errors<&str, ()>) -> CompileError {
    let Some((name, what)) = errors.into_iter().flat_map(|(_, errors)| errors).next() else {
        return CompileError::at(code, "", "this is no jq expression".into());
    };
    let detail = match what {
        compile::Undefined::Filter(_) if matches!(name, "env" | "input" | "inputs" | "input_filename") => {
            format!("there is no `{name}` here: the expression sees only what would be printed")
        }
        compile::Undefined::Filter(arity) => {
            let known = known_filters();
            let arities: Vec<_> = known.iter().filter(|(n, _)| *n == name).map(|(_, a)| a.to_string()).collect();
            if arities.is_empty() {
                let near = crate::suggest::nearest(name, known.iter().map(|(n, _)| *n));
                let hint = near.map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
                format!("there is no filter `{name}`{hint}")
            } else {
                format!("`{name}` takes {} argument(s), not {arity}", arities.join(" or "))
            }
        }
        compile::Undefined::Var if name == "$ENV" => "there is no `$ENV` here".to_owned(),
        other => format!("there is no {} `{name}`", other.as_str()),
    };
    CompileError::at(code, name, detail)
}

/// Name and number of arguments of every filter, without the internal ones.
fn known_filters() -> BTreeSet<(&'static str, usize)> {
    let defs = definitions().map(|def| (def.name, def.args.len())).collect::<Vec<_>>();
    let funs = functions().map(|(name, args, _)| (name, args.len())).collect::<Vec<_>>();
    let internal = |name: &str| name.ends_with("_empty") || name.ends_with('_') || name.starts_with('!');
    defs.into_iter().chain(funs).filter(|(name, _)| !internal(name)).collect()
}
