//! `completions SHELL`.

use super::args::CompletionsArgs;
use crate::error::Error;
use crate::exit::Exit;

/// Prints the completion script of a shell.
pub fn run(args: &CompletionsArgs, mut command: clap::Command) -> Result<Exit, Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "raftscope", &mut script);
    super::print(&script)
}
