//! `--jq`: jq expressions over what would be printed, run by jaq (contract.md 1).
//!
//! An expression is compiled before any file is opened. It sees no environment, no files and no
//! further inputs; secrets have been replaced before it gets a value.

use std::fmt;
use std::sync::OnceLock;

use jaq_core::data::HasLut;
use jaq_core::load::parse::{BinaryOp, Term};
use jaq_core::load::{self, Arena, File, Loader};
use jaq_core::path::Part;
use jaq_core::{Ctx, DataT, Lut, Vars, compile, native};
use jaq_json::Val;

use crate::error::Error;

mod compile_error;
mod reach;
mod value;

pub use compile_error::CompileError;
use compile_error::{load_error, undefined};
pub use reach::Reach;
pub use value::Value;
use value::{text_of, unsigned, write_value};

/// jq's own definitions that jaq's library lacks.
const PRELUDE: &str = r#"
def @csv: [.[] | if . == null then "" elif isstring then "\"" + gsub("\""; "\"\"") + "\""
  elif isarray or isobject then error("\(type) is not valid in a csv row") else tostring end] | join(",");
def @tsv: [.[] | if . == null then "" elif isstring then gsub("\\\\"; "\\\\") | gsub("\t"; "\\t") | gsub("\n"; "\\n") | gsub("\r"; "\\r")
  elif isarray or isobject then error("\(type) is not valid in a tsv row") else tostring end] | join("\t");
def IN(s): any(s == .; .);
def IN(src; s): any(src == s; .);
def INDEX(stream; f): reduce stream as $row ({}; .[$row | f | tostring] = $row);
def INDEX(f): INDEX(.[]; f);
def toarray: if isarray then . else [.] end;
def leaf_paths: paths(scalars);
def ascii: [.] | implode;
def date: todate;
"#;

/// What jaq runs on: its JSON values, and a place for what `debug` and `stderr` say.
struct Kind;

struct Data {
    lut: Lut<Kind>,
    say: Box<dyn Fn(&str)>,
}

impl DataT for Kind {
    type V<'a> = Val;
    type Data<'a> = &'a Data;
}

impl<'a> HasLut<'a, Kind> for &'a Data {
    fn lut(&self) -> &'a Lut<Kind> {
        &self.lut
    }
}

/// The functions of the library, without `env`, with `debug` and `stderr` speaking through us, and a `fromjson` whose
/// numbers are JSON's.
fn functions() -> impl Iterator<Item = native::Fun<Kind>> {
    let kept = |fun: &native::Fun<Kind>| !matches!(fun.0, "env" | "debug_empty" | "stderr_empty" | "fromjson");
    let debug: jaq_core::RunPtr<Kind> = |(cx, value)| {
        let mut text = b"[\"DEBUG:\",".to_vec();
        write_value(&value, &mut text);
        text.push(b']');
        (cx.data().say)(&String::from_utf8_lossy(&text));
        Box::new(std::iter::empty())
    };
    let stderr: jaq_core::RunPtr<Kind> = |(cx, value)| {
        (cx.data().say)(&text_of(&value));
        Box::new(std::iter::empty())
    };
    let fromjson: jaq_core::RunPtr<Kind> = |(_, value)| {
        let text = match &value {
            Val::TStr(text) | Val::BStr(text) => text,
            _ => return Box::new(std::iter::once(Err(jaq_core::Error::typ(value, "string").into()))),
        };
        let fail =
            |error| jaq_core::Exn::from(jaq_core::Error::str(format_args!("cannot parse {value} as JSON: {error}")));
        let parsed = jaq_json::read::parse_many(text).map(|parsed| parsed.map(unsigned).map_err(fail));
        // Behind an error the parser tells it again and again.
        let mut values = Vec::new();
        for value in parsed {
            let ended = value.is_err();
            values.push(value);
            if ended {
                break;
            }
        }
        Box::new(values.into_iter())
    };
    let ours: [native::Filter<jaq_core::RunPtr<Kind>>; 3] = [
        ("debug_empty", native::v(0), debug),
        ("stderr_empty", native::v(0), stderr),
        ("fromjson", native::v(0), fromjson),
    ];
    let theirs = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs()).filter(kept);
    theirs.chain(ours.into_iter().map(|fun| native::run::<Kind>(fun)))
}

/// The definitions of the library and ours, parsed once: whoever compiles many expressions spends most of the time on them.
fn definitions() -> impl Iterator<Item = load::parse::Def<&'static str>> {
    static PARSED: OnceLock<Vec<load::parse::Def<&'static str>>> = OnceLock::new();
    let parsed = PARSED.get_or_init(|| {
        let ours = load::parse(PRELUDE, |p| p.defs()).unwrap_or_default();
        jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs()).chain(ours).collect()
    });
    parsed.iter().cloned()
}

/// A compiled expression.
pub struct Program {
    entry: compile::TermId,
    data: Data,
    streams: bool,
    reach: Reach,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("streams", &self.streams).finish_non_exhaustive()
    }
}

impl Program {
    /// Compiles `code`. What `debug`, `stderr` and `halt_error` say goes to `say`, a line each.
    ///
    /// # Errors
    /// When it is no jq, or names something that is not there; the error points at the place.
    pub fn compile(code: &str, say: impl Fn(&str) + 'static) -> Result<Self, CompileError> {
        let arena = Arena::default();
        let modules = Loader::new(definitions())
            .load(&arena, File { code, path: () })
            .map_err(|errors| load_error(code, errors))?;
        load::import(&modules, |_| Err(String::new())).map_err(|errors| load_error(code, errors))?;
        let filter = jaq_core::Compiler::default()
            .with_funs(functions())
            .compile(modules)
            .map_err(|errors| undefined(code, errors))?;
        let term = load::parse(code, |p| p.term());
        let streams = term.as_ref().is_some_and(begins_with_each);
        let reach = term.as_ref().map_or(Reach::Everything, reach::of);
        Ok(Program { entry: filter.id, data: Data { lut: filter.lut, say: Box::new(say) }, streams, reach })
    }

    /// True where running on `[row]` for each row yields what running on the array of all rows
    /// does: the expression begins with `.[]`, alone or before the first `|`.
    pub fn streams_rows(&self) -> bool {
        self.streams
    }

    /// What of its input the expression looks at.
    pub fn reach(&self) -> &Reach {
        &self.reach
    }

    /// Runs on one input and hands each output to `sink`.
    ///
    /// # Errors
    /// [`Error::Jq`] when the expression fails, [`Error::Halt`] when it halts, after the outputs
    /// before; and what `sink` returns.
    pub fn run(&self, input: Value, mut sink: impl FnMut(&Value) -> Result<(), Error>) -> Result<(), Error> {
        let cx = Ctx::<Kind>::new(&self.data, Vars::new([]));
        for output in self.entry.run((cx, input.0)) {
            match output {
                Ok(value) => sink(&Value(value))?,
                Err(exception) => return Err(failure(exception)),
            }
        }
        Ok(())
    }
}

fn failure(exception: jaq_core::Exn<'_, Val>) -> Error {
    const SHOWN: usize = 300;
    match exception.get_err() {
        Ok(error) => {
            let text = text_of(&error.into_val());
            Error::Jq(match text.char_indices().nth(SHOWN) {
                Some((cut, _)) => format!("{}…", &text[..cut]),
                None => text,
            })
        }
        Err(other) => match other.get_halt() {
            Ok(code) => Error::Halt(code),
            Err(_) => Error::Internal("the jq expression ended in an unknown way".into()),
        },
    }
}

/// `.[]`, `.[].a[]`, and either before a `|`. Subscripts that are computed do not count: they are
/// computed from the whole input. `def`, `as`, `,` and the rest bind the whole input as well.
fn begins_with_each(term: &Term<&str>) -> bool {
    match term {
        Term::BinOp(left, BinaryOp::Pipe(None), _) => begins_with_each(left),
        Term::Path(head, path) => {
            let each = |part: &Part<Term<&str>>| matches!(part, Part::Range(None, None));
            let named = |part: &Part<Term<&str>>| matches!(part, Part::Index(Term::Str(None, _) | Term::Num(_)));
            matches!(**head, Term::Id)
                && path.0.first().is_some_and(|(part, _)| each(part))
                && path.0.iter().all(|(part, _)| each(part) || named(part))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
