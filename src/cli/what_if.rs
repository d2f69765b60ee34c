//! `--skip`, `--patch` and `--append` of every command that replays.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use super::args::ReplayArgs;
use super::index_expr::IndexExpr;
use super::reporter::Reporter;
use crate::entry::message_type::MessageTypes;
use crate::error::Error;
use crate::evidence::{Evidence, Log, NoLog};
use crate::notes::Notes;
use crate::types::Index;
use crate::whatif::{Altered, Expression};

/// What is to be altered, checked.
#[derive(Debug)]
pub struct WhatIf {
    skip: Vec<IndexExpr>,
    patch: Vec<Patch>,
    append: Vec<PathBuf>,
}

#[derive(Debug)]
struct Patch {
    at: IndexExpr,
    expression: Expression,
}

impl Patch {
    fn parse(text: &str, reporter: &Reporter) -> Result<Self, Error> {
        let fault = |detail: String| Error::Usage(format!("--patch {text:?}: {detail}"));
        // A time has colons of its own, so the longest index in front of one counts.
        let mut cuts = text.match_indices(':').filter_map(|(cut, _)| {
            let (index, code) = text.split_at(cut);
            Some((index.parse::<IndexExpr>().ok()?, code.get(1..)?.trim()))
        });
        let (at, code) = cuts.next_back().ok_or_else(|| {
            fault("it has to be an index, a colon and a jq expression, as in '1609: .Job.Status = \"\"'".into())
        })?;
        let say = reporter.clone();
        let expression = Expression::compile(code, move |text| say.plain(text));
        Ok(Patch { at, expression: expression.map_err(|error| fault(error.to_string()))? })
    }
}

impl WhatIf {
    /// Checks the options; files are looked for, not yet read.
    ///
    /// # Errors
    /// When an option is not what it has to be.
    pub fn new(args: &ReplayArgs, reporter: &Reporter) -> Result<Self, Error> {
        let index = |text: &String| text.parse().map_err(|error| Error::Usage(format!("--skip: {error}")));
        for file in &args.append {
            if !file.is_file() {
                return Err(Error::Usage(format!("--append: there is no file {}", file.display())));
            }
        }
        Ok(WhatIf {
            skip: args.skip.iter().map(index).collect::<Result<_, _>>()?,
            patch: args.patch.iter().map(|text| Patch::parse(text, reporter)).collect::<Result<_, _>>()?,
            append: args.append.clone(),
        })
    }

    /// Puts the altered log in the place of the evidence's own, with a warning. `types` names the message types. What was altered comes back, a phrase
    /// each; nothing where nothing was asked for.
    ///
    /// # Errors
    /// When an entry is not there, a patch fails, or a file holds no entries.
    pub fn alter(
        &self,
        evidence: &mut Evidence,
        types: &MessageTypes,
        reporter: &Reporter,
    ) -> Result<Vec<String>, Error> {
        let mut notes = reporter;
        if self.skip.is_empty() && self.patch.is_empty() && self.append.is_empty() {
            return Ok(Vec::new());
        }
        let log = std::mem::replace(&mut evidence.log, Box::new(NoLog));
        let mut altered = Altered::new(log);
        for file in &self.append {
            let name = file.display().to_string();
            let open = File::open(file).map_err(|error| Error::Usage(format!("--append: {name}: {error}")))?;
            altered.append(&name, BufReader::new(open), types)?;
        }
        for at in &self.skip {
            altered.skip(resolve("--skip", *at, &altered, reporter)?)?;
        }
        for Patch { at, expression } in &self.patch {
            altered.patch(resolve("--patch", *at, &altered, reporter)?, expression)?;
        }
        // What a server kept further on belongs to the history that did happen.
        if let Some(first) = altered.first() {
            evidence.snapshots.retain(|snapshot| snapshot.info().index < first);
        }
        let told = altered.told().to_vec();
        notes.warn(format!("this history did not happen ({}); what is printed is no evidence", told.join("; ")));
        evidence.log = Box::new(altered);
        Ok(told)
    }
}

/// The entry that is meant. Past the end no entry is: the last one is not taken for it.
fn resolve(option: &str, at: IndexExpr, log: &dyn Log, notes: &Reporter) -> Result<Index, Error> {
    match (at, log.bounds()) {
        (IndexExpr::At(index), _) => Ok(Index(index)),
        (at, Some((first, last))) => at.resolve(log, first, last, notes),
        (at, None) => Err(Error::Usage(format!("{option} {at}: the log is empty"))),
    }
}
