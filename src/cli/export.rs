//! `export`: the ledger as a SQLite file, CSV, NDJSON or Parquet.

use std::fs;
use std::path::{Path, PathBuf};

use super::args::{ExportArgs, ExportFormat, RangeArgs};
use super::options::{self, Range};
use super::replaying::{self, Replaying, Wanted};
use super::reporter::Reporter;
use crate::entry::message_type::MessageTypes;
use crate::error::Error;
use crate::exit::Exit;
use crate::export::fleet::{self, Name, Place, Told};
use crate::export::{self, ExportError, Recorder, Text};
use crate::fsm::state::State;
use crate::ledger::{Ledger, LedgerError};
use crate::notes::Notes;

/// What `export` was asked for.
#[derive(Debug)]
struct Options {
    path: PathBuf,
    format: ExportFormat,
    output: PathBuf,
    /// Whose log it is, as far as that was given.
    given: Told,
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
    let path = options::one_path("export", &args.paths)?;
    let given = Told {
        cluster: name("--cluster", args.cluster.as_deref())?,
        server: name("--server", args.server.as_deref())?,
    };
    if args.format == ExportFormat::Parquet {
        check_parquet(&path, &given, &output)?;
    } else if given != Told::default() {
        let text = "--cluster and --server name the rows of many servers in one folder; they go with --format parquet";
        return Err(Error::Usage(text.into()));
    }
    Ok(Options {
        path,
        format: args.format,
        output,
        given,
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
    let partial = export::partial_file(dir).map_err(|e| cannot_write(dir, e))?;
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
        ExportFormat::Parquet => {
            let place = place(options, replay.state())?;
            export::parquet::write(&ledger, &place, dir)?;
            notes.note(format!(
                "the rows are of cluster `{}`, server `{}`; --cluster and --server name others",
                place.cluster, place.server
            ));
        }
    }
    notes.note(format!("the ledger up to entry {} is in {}", ended.reached.index, options.output.display()));
    Ok(replay.judge(&ended))
}

pub(super) fn cannot_write(path: &Path, source: std::io::Error) -> Error {
    Error::Ledger(LedgerError::Io { file: path.display().to_string(), source })
}

/// The name that an option gives.
fn name(option: &str, text: Option<&str>) -> Result<Option<Name>, Error> {
    let parsed = text.map(|text| text.parse().map_err(|e| Error::Usage(format!("{option} {text}: {e}"))));
    parsed.transpose()
}

/// What can be known before the replay: that there is a name for the server, and that no file is in the way.
fn check_parquet(path: &Path, given: &Told, output: &Path) -> Result<(), Error> {
    if !cfg!(feature = "parquet") {
        return Err(ExportError::WithoutParquet.into());
    }
    let told = fleet::told_by(path);
    let Some(server) = given.server.clone().or(told.server) else { return Err(unnamed("--server")) };
    match &given.cluster {
        Some(cluster) => Ok(export::parquet::may_replace(output, &Place { cluster: cluster.clone(), server })?),
        None => Ok(()),
    }
}

/// Whose log it is: as given, else by the ID that the cluster gave itself, else by the folders that it is in.
fn place(options: &Options, state: &State) -> Result<Place, Error> {
    let (given, told) = (options.given.clone(), fleet::told_by(&options.path));
    let cluster = given.cluster.or_else(|| fleet::cluster_id(state)).or(told.cluster);
    Ok(Place {
        cluster: cluster.ok_or_else(|| unnamed("--cluster"))?,
        server: given.server.or(told.server).ok_or_else(|| unnamed("--server"))?,
    })
}

fn unnamed(option: &str) -> Error {
    Error::Usage(format!("--format parquet: neither the path nor the log tells whose it is; give {option} NAME"))
}
