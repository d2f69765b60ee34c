//! The command line: arguments in, one command run, an exit code out.
//!
//! [`args`] declares what can be typed, [`options`] is what it comes to, and each command has a
//! file of its own. Nothing outside this room sees clap, prints, or decides an exit code.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::panic::{AssertUnwindSafe, catch_unwind};

use clap::{CommandFactory, FromArgMatches};

use crate::error::Error;
use crate::exit::Exit;

mod args;
mod completions;
mod man;
mod onedash;
mod reporter;
mod usage;

use args::{Cli, Command};
use reporter::Reporter;

/// Runs the program with its arguments, of which the first is its own name.
pub fn main(args: impl IntoIterator<Item = OsString>) -> Exit {
    let args: Vec<OsString> = args.into_iter().collect();
    match catch_unwind(AssertUnwindSafe(|| parse_and_run(args))) {
        Ok(exit) => exit,
        Err(_) => {
            Reporter::default().error(&Error::Internal("see the message above".into()));
            Exit::Failure
        }
    }
}

fn parse_and_run(args: Vec<OsString>) -> Exit {
    let command = Cli::command();
    let args = onedash::doubled(args, &command);
    let parsed = command.clone().try_get_matches_from(args).and_then(|m| Cli::from_arg_matches(&m));
    let reporter = Reporter::new(false, std::io::stderr().is_terminal());
    match parsed {
        Ok(cli) => run(cli.command, &reporter),
        Err(e) if !e.use_stderr() => printed(e.render().to_string().as_bytes(), &reporter),
        Err(e) if e.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            reporter.help(&e.render().to_string());
            Exit::Failure
        }
        Err(e) => {
            reporter.error(&Error::Usage(usage::message(&e, &command)));
            Exit::Failure
        }
    }
}

/// Runs one command and reports what ended it.
fn run(command: Command, reporter: &Reporter) -> Exit {
    let result = match command {
        Command::Completions(args) => completions::run(&args, Cli::command()),
        Command::Man(args) => man::run(&args, Cli::command()),
    };
    match result {
        Ok(exit) => exit,
        Err(e) => {
            reporter.error(&e);
            e.exit()
        }
    }
}

/// Writes `text` to stdout; used for what is made in one piece.
fn print(text: &[u8]) -> Result<Exit, Error> {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    out.write_all(text).and_then(|()| out.flush()).map_err(Error::Output)?;
    Ok(Exit::Success)
}

fn printed(text: &[u8], reporter: &Reporter) -> Exit {
    print(text).unwrap_or_else(|e| {
        reporter.error(&e);
        e.exit()
    })
}
