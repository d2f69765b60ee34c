//! The arguments as they are typed, declared for clap. [`super::options`] turns them at once into
//! what the commands use; nothing else sees these types.
//!
//! A command is added here once it exists: a variant of [`Command`], its arguments, its examples.

use clap::{Args, Parser, Subcommand};

const EXAMPLES: &str = "\
Three examples:
  raftscope audit server/raft                      which entry made a count wrong?
  raftscope logs --filter parent=report --filter type=JobRegister server/raft
  raftscope state --last-index 1608 server/raft    the state right after entry 1608";

/// Replay and forensics for the raft data of HashiCorp Nomad servers.
#[derive(Debug, Parser)]
#[command(
    name = "raftscope",
    version,
    before_help = EXAMPLES,
    max_term_width = 110,
    arg_required_else_help = true,
    after_help = "PATH is a Nomad data dir, its server/ or server/raft/ dir, or a raft.db under any name; `.` by default.\n\
                  Exit codes: 0 fine, 1 findings, 2 no answer, 3 not enough evidence for a sure answer."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands that exist.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Print the completion script of a shell.
    Completions(CompletionsArgs),
    /// Print the manual page, of raftscope or of one command.
    Man(ManArgs),
}

/// `completions SHELL`.
#[derive(Args, Debug)]
#[command(before_help = "Examples:
  raftscope completions bash > /etc/bash_completion.d/raftscope
  raftscope completions zsh > ~/.zfunc/_raftscope
  raftscope completions fish > ~/.config/fish/completions/raftscope.fish")]
pub struct CompletionsArgs {
    /// The shell that is to complete.
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

/// `man [COMMAND]`.
#[derive(Args, Debug)]
#[command(before_help = "Examples:
  raftscope man | man -l -
  raftscope man audit | man -l -
  raftscope man logs > raftscope-logs.1")]
pub struct ManArgs {
    /// The command to describe.
    #[arg(value_name = "COMMAND")]
    pub command: Option<String>,
}
