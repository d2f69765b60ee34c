//! The jq expression of a patch. It gets bodies as they are stored, so what it says and how it fails is told of the
//! body with its secrets replaced.

use crate::error::Error;
use crate::jq::{CompileError, Program, Value};

/// A compiled expression.
#[derive(Debug)]
pub struct Expression {
    code: String,
    /// Runs on what is stored; nobody hears it.
    mute: Program,
    /// Runs on what may be shown.
    heard: Program,
}

impl Expression {
    /// Compiles `code`. What `debug` and `stderr` say of a body without its secrets goes to `say`.
    ///
    /// # Errors
    /// When it is no jq.
    pub fn compile(code: &str, say: impl Fn(&str) + 'static) -> Result<Self, CompileError> {
        let (mute, heard) = (Program::compile(code, |_| {})?, Program::compile(code, say)?);
        Ok(Expression { code: code.to_owned(), mute, heard })
    }

    /// Its text.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// What it makes of a body, as JSON; `hidden` is the body with its secrets replaced.
    ///
    /// # Errors
    /// A phrase, when it fails or yields more or less than one value.
    pub(super) fn apply(&self, body: &[u8], hidden: &[u8]) -> Result<Vec<u8>, String> {
        let shown = one_output(&self.heard, hidden);
        one_output(&self.mute, body).map_err(|_| match shown {
            Err(error) => error,
            Ok(_) => "the expression fails on a value that is hidden".to_owned(),
        })
    }
}

/// The one value that the program yields for a JSON text, as JSON.
fn one_output(program: &Program, json: &[u8]) -> Result<Vec<u8>, String> {
    let mut outputs = 0_u64;
    let mut out = Vec::new();
    let input = Value::parse(json).map_err(|error| error.to_string())?;
    let ran = program.run(input, |value| {
        outputs += 1;
        out.clear();
        value.write_json(&mut out);
        Ok(())
    });
    match (ran, outputs) {
        (Err(Error::Jq(error)), _) => Err(format!("the expression fails: {error}")),
        (Err(error), _) => Err(error.to_string()),
        (Ok(()), 1) => Ok(out),
        (Ok(()), n) => Err(format!("the expression yields {n} values; it has to yield one body")),
    }
}
