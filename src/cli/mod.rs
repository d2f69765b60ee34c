//! The command line: arguments in, one command run, an exit code out.
//!
//! [`args`] declares what can be typed, [`options`] is what it comes to, and each command has a
//! file of its own. Nothing outside this room sees clap's matches, prints, or decides an exit code.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use clap::{CommandFactory, FromArgMatches};

use crate::error::Error;
use crate::exit::Exit;

mod args;
mod audit;
mod blame;
mod changes;
mod compare;
mod completions;
mod diff;
mod export;
mod find;
mod index_expr;
mod info;
mod logs;
mod man;
mod onedash;
mod operands;
mod options;
mod pager;
mod replaying;
mod report;
mod reporter;
mod restarts;
mod rules;
mod state;
mod timeline;
mod usage;
mod what_if;
mod why;

use args::{Cli, Command};
use reporter::Reporter;

pub use index_expr::{BadIndex, IndexExpr};

/// How deep a jq expression may call itself is up to its author, and jaq keeps its calls on the stack. Of this much, in
/// bytes, only what is used costs memory.
const STACK: usize = 256 << 20;

/// All that can be typed: what the completions and the manual are made from.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs the program with its arguments, of which the first is its own name.
pub fn main(args: impl IntoIterator<Item = OsString>) -> Exit {
    let args: Vec<OsString> = args.into_iter().collect();
    let again = args.clone();
    match thread::Builder::new().name("raftscope".into()).stack_size(STACK).spawn(|| guarded(args)) {
        Ok(running) => running.join().unwrap_or(Exit::Failure),
        // Where so much address space is not to be had, the stack that there is must do.
        Err(_) => guarded(again),
    }
}

fn guarded(args: Vec<OsString>) -> Exit {
    match catch_unwind(AssertUnwindSafe(|| parse_and_run(args))) {
        Ok(exit) => exit,
        Err(_) => ended(&Reporter::plain_settings(), Err(Error::Internal("see the message above".into()))),
    }
}

fn parse_and_run(args: Vec<OsString>) -> Exit {
    let command = self::command();
    let args = onedash::doubled(args, &command);
    let parsed = command.clone().try_get_matches_from(args).and_then(|m| Cli::from_arg_matches(&m));
    let reporter = Reporter::plain_settings();
    match parsed {
        Ok(cli) => run(cli.command),
        Err(e) if !e.use_stderr() => ended(&reporter, print(e.render().to_string().as_bytes())),
        Err(e) if e.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            reporter.help(&e.render().to_string());
            Exit::Failure
        }
        Err(e) => ended(&reporter, Err(Error::Usage(usage::message(&e, &command)))),
    }
}

/// Runs one command. Each command makes its own reporter, since its options say what is shown.
fn run(command: Command) -> Exit {
    let (reporter, result) = match command {
        Command::Info(args) => info::run(&args),
        Command::Logs(args) => logs::run(&args),
        Command::Audit(args) => audit::run(&args),
        Command::Watch(args) => audit::watch::run(&args),
        Command::State(args) => state::run(&args),
        Command::Timeline(args) => timeline::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Why(args) => why::run(&args),
        Command::Blame(args) => blame::run(&args),
        Command::Find(args) => find::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Rules(args) => rules::run(&args),
        Command::Restarts(args) => restarts::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Completions(args) => (Reporter::plain_settings(), completions::run(&args, self::command())),
        Command::Man(args) => (Reporter::plain_settings(), man::run(&args, self::command())),
    };
    let result = result.and_then(|exit| pager::finish().map_err(Error::Output).map(|()| exit));
    ended(&reporter, result)
}

/// Reports what ended a run, if anything is to be said.
fn ended(reporter: &Reporter, result: Result<Exit, Error>) -> Exit {
    // What was printed before an error stands before it.
    let _ = pager::finish();
    result.unwrap_or_else(|e| {
        reporter.error(&e);
        e.exit()
    })
}

/// Writes `text` to stdout; used for what is made in one piece.
fn print(text: &[u8]) -> Result<Exit, Error> {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    out.write_all(text).and_then(|()| out.flush()).map_err(Error::Output)?;
    Ok(Exit::Success)
}
