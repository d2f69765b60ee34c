//! `export`: the ledger as a SQLite file, CSV or NDJSON.

use std::fs;
use std::path::{Path, PathBuf};

use super::args::{ExportArgs, ExportFormat, RangeArgs};
use super::options::{self, Range};
use super::replaying::{self, Replaying, Wanted};
use super::reporter::Reporter;
use crate::entry::message_type::MessageTypes;
use crate::error::Error;
use crate::exit::Exit;
use crate::export::{self, Recorder, Text};
use crate::ledger::{Ledger, LedgerError};
use crate::notes::Notes;

/// What `export` was asked for.
#[derive(Debug)]
struct Options {
    path: PathBuf,
    format: ExportFormat,
    output: PathBuf,
    types: MessageTypes,
    replaying: Replaying,
    range: Range,
}

/// Writes the ledger.
pub fn run(args: &ExportArgs) -> (Reporter, Result<Exit, Error>) {
    let reporter = options::reporter(&args.feedback, args.color);
    let result = checked(args, &reporter).and_then(|options| export(&options, &reporter));
    (reporter, result)
}

fn checked(args: &ExportArgs, reporter: &Reporter) -> Result<Options, Error> {
    let (last_index, until) = (args.last_index.clone(), args.until.clone());
    let range = RangeArgs { from_index: None, since: None, last_index, until };
    let output = args.output.clone();
    let types = options::message_types(&args.message_type)?;
    match args.format {
        ExportFormat::Sqlite => Ledger::may_replace(&output)?,
        _ if output.exists() && !output.is_dir() => {
            let output = output.display();
            let text = "-o names a file, but each table becomes a file of its own; name a folder";
            return Err(Error::Usage(format!("{output}: {text}")));
        }
        _ => {}
    }
    Ok(Options {
        path: options::one_path("export", &args.paths)?,
        format: args.format,
        output,
        replaying: Replaying::new(&args.replay, &types, reporter)?,
        types,
        range: Range::new(&range)?,
    })
}

fn export(options: &Options, reporter: &Reporter) -> Result<Exit, Error> {
    let mut notes = reporter;
    let prepared = replaying::prepare(&options.path, &options.replaying, &options.range, Wanted::History, reporter)?;
    let Some(mut replay) = prepared else {
        return Err(Error::OutOfEvidence(format!("{}: there is nothing to export", options.path.display())));
    };
    // A file of another name until it is whole: whoever watches the output never sees half a ledger.
    let dir = match options.format {
        ExportFormat::Sqlite => options.output.parent().filter(|dir| !dir.as_os_str().is_empty()),
        _ => {
            fs::create_dir_all(&options.output).map_err(|e| cannot_write(&options.output, e))?;
            Some(&*options.output)
        }
    };
    let dir = dir.unwrap_or(Path::new("."));
    let partial = partial_file(dir)?;
    let mut ledger = Ledger::open(&partial)?;
    ledger.join(&*replay.evidence.log, &replay.basis())?;
    let evidence = replay.evidence.clone();
    let bodies = replaying::bodies(&evidence);
    let mut recorder = Recorder::new(ledger, &options.types, &bodies)?;
    let ended = replay.run(&mut recorder)?;
    let ledger = recorder.finish(replay.state())?;
    match options.format {
        ExportFormat::Sqlite => {
            drop(ledger);
            partial.persist(&options.output).map_err(|e| cannot_write(&options.output, e.error))?;
        }
        ExportFormat::Csv => export::write_tables(&ledger, Text::Csv, dir)?,
        ExportFormat::Ndjson => export::write_tables(&ledger, Text::Ndjson, dir)?,
    }
    notes.note(format!("the ledger up to entry {} is in {}", ended.reached.index, options.output.display()));
    Ok(replay.judge(&ended))
}

/// A file in the folder that goes away unless it is renamed, with the permissions of any new file.
pub(super) fn partial_file(dir: &Path) -> Result<tempfile::TempPath, Error> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".raftscope-").suffix(".partial");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = builder.tempfile_in(dir).map_err(|e| cannot_write(dir, e))?;
    Ok(file.into_temp_path())
}

pub(super) fn cannot_write(path: &Path, source: std::io::Error) -> Error {
    Error::Ledger(LedgerError::Io { file: path.display().to_string(), source })
}
