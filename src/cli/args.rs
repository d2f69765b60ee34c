//! The arguments as they are typed, declared for clap. [`super::options`] turns them at once into
//! what the commands use; nothing else looks at these types.
//!
//! A command is added here once it exists: a variant of [`Command`], its arguments and its
//! examples. Groups of options that several commands share are the structs that are flattened.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::progress::When;
use crate::render::Format;

const EXAMPLES: &str = "\
Three examples:
  raftscope audit server/raft          is any count wrong, since when, and which entry did it?
  raftscope logs --filter parent=report --filter type=JobRegister server/raft
                                       the registers of the children of `report`
  raftscope state --last-index 1608 server/raft
                                       the whole state right after entry 1608";

/// Replay and forensics for the raft data of HashiCorp Nomad servers.
#[derive(Debug, Parser)]
#[command(
    name = "raftscope",
    version,
    before_help = EXAMPLES,
    max_term_width = 110,
    arg_required_else_help = true,
    after_help = "PATH is a Nomad data dir, its server/ or server/raft/ dir, or a raft.db under any name; `.` by default.\n\
                  Exit codes: 0 fine, 1 findings, 2 no answer, 3 not enough evidence for a sure answer, 130 interrupted."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands that exist.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// What evidence is this: store, first and last index, terms, servers, writer version.
    Info(InfoArgs),
    /// The entries of the log, decoded.
    Logs(LogsArgs),
    /// Is any count wrong, where first, and which entry did it.
    Audit(AuditArgs),
    /// The whole server state right after an entry.
    State(StateArgs),
    /// Every index at which a job's status or summary changed.
    Timeline(TimelineArgs),
    /// The switches in which Nomad versions differ, with pull requests.
    Rules(RulesArgs),
    /// Every job restart in the log: batches, waits, how few allocations ran meanwhile.
    Restarts(RestartsArgs),
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
  raftscope man logs | man -l -
  raftscope man logs > raftscope-logs.1")]
pub struct ManArgs {
    /// The command to describe.
    #[arg(value_name = "COMMAND")]
    pub command: Option<String>,
}

/// `info [PATH]`.
#[derive(Args, Debug)]
#[command(override_usage = "raftscope info [OPTIONS] [PATH]")]
#[command(before_help = "Examples:
  raftscope info server/raft
  raftscope info --types --json server/raft
  raftscope info --jq '.terms[].term' server/raft")]
pub struct InfoArgs {
    /// What holds the log; `.` by default.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Count the entries and their sizes by type, and list the largest; reads the whole log.
    #[arg(long)]
    pub types: bool,
    /// Name a message type, as in 78=QuotaUsage; wins over a known number.
    #[arg(long, value_name = "NUMBER=NAME")]
    pub message_type: Vec<String>,
    /// How to print.
    #[command(flatten)]
    pub output: OutputArgs,
    /// What to say meanwhile.
    #[command(flatten)]
    pub feedback: FeedbackArgs,
}

/// `logs [PATH]`.
#[derive(Args, Debug)]
#[command(override_usage = "raftscope logs [OPTIONS] [PATH]")]
#[command(before_help = "Examples:
  raftscope logs --filter parent=report --filter type=JobRegister server/raft
  raftscope logs --from-index 1600 --last-index 1612 --format ndjson server/raft
  raftscope logs --jq '.[] | select(.CommandType == \"JobRegisterRequestType\") | [.Index, .Body.Job.ID]' server/raft")]
pub struct LogsArgs {
    /// What holds the log; `.` by default.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Which entries.
    #[command(flatten)]
    pub range: RangeArgs,
    /// Which rows.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// How to print.
    #[command(flatten)]
    pub output: OutputArgs,
    /// What to say meanwhile.
    #[command(flatten)]
    pub feedback: FeedbackArgs,
}

/// `audit [PATH]`.
#[derive(Args, Debug)]
#[command(override_usage = "raftscope audit [OPTIONS] [PATH]")]
#[command(before_help = "Examples:
  raftscope audit server/raft
  raftscope audit --all --filter parent=report --rules 1.0.4 server/raft
  raftscope audit --fail-on error --format sarif server/raft > audit.sarif")]
pub struct AuditArgs {
    /// What holds the log; `.` by default.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// List every finding, not only the first of each kind, parent and counter.
    #[arg(long)]
    pub all: bool,
    /// End with 0 whatever is found.
    #[arg(long)]
    pub exit_zero: bool,
    /// The least severity that counts as a failure.
    #[arg(long, value_name = "SEVERITY", default_value = "warning")]
    pub fail_on: FailOn,
    /// Do not fail on the faults that this file lists.
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Write the faults that were found to this file, for --baseline.
    #[arg(long, value_name = "FILE")]
    pub write_baseline: Option<PathBuf>,
    /// How to replay.
    #[command(flatten)]
    pub replay: ReplayArgs,
    /// Which entries.
    #[command(flatten)]
    pub range: RangeArgs,
    /// Which findings.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// How to print.
    #[command(flatten)]
    pub output: AuditOutputArgs,
    /// What to say meanwhile.
    #[command(flatten)]
    pub feedback: FeedbackArgs,
}

/// The least severity that counts as a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Only errors.
    Error,
    /// Warnings and errors.
    Warning,
    /// Everything.
    Note,
}

/// `state [PATH]`.
#[derive(Args, Debug)]
#[command(override_usage = "raftscope state [OPTIONS] [PATH]")]
#[command(before_help = "Examples:
  raftscope state --last-index 1608 server/raft
  raftscope state --tables Jobs,JobSummaries --filter job=report --format table server/raft
  raftscope state --jq '.JobSummaries[] | select(.Children.Running < 0) | .JobID' server/raft")]
pub struct StateArgs {
    /// What holds the log; `.` by default.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Only these tables, as in Jobs,JobSummaries.
    #[arg(long, value_name = "TABLES", value_delimiter = ',')]
    pub tables: Vec<String>,
    /// How to replay.
    #[command(flatten)]
    pub replay: ReplayArgs,
    /// Which entries: the state is that after the last one; with a first one, only rows changed since.
    #[command(flatten)]
    pub range: RangeArgs,
    /// Which rows.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// How to print.
    #[command(flatten)]
    pub output: OutputArgs,
    /// What to say meanwhile.
    #[command(flatten)]
    pub feedback: FeedbackArgs,
}

/// `timeline [PATH]`.
#[derive(Args, Debug)]
#[command(override_usage = "raftscope timeline [OPTIONS] [PATH]")]
#[command(before_help = "Examples:
  raftscope timeline --filter job=report server/raft
  raftscope timeline --filter parent=report --from-index 1600 --limit 20 server/raft
  raftscope timeline --format ndjson --rules 1.0.4 server/raft")]
pub struct TimelineArgs {
    /// What holds the log; `.` by default.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// How to replay.
    #[command(flatten)]
    pub replay: ReplayArgs,
    /// Which entries.
    #[command(flatten)]
    pub range: RangeArgs,
    /// Which rows.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// How to print.
    #[command(flatten)]
    pub output: OutputArgs,
    /// What to say meanwhile.
    #[command(flatten)]
    pub feedback: FeedbackArgs,
}

/// `rules [A [B]]`.
#[derive(Args, Debug)]
#[command(override_usage = "raftscope rules [OPTIONS] [A [B]]")]
#[command(before_help = "Examples:
  raftscope rules
  raftscope rules 1.0.3 1.0.4
  raftscope rules 1.9.5 2.0.5 --jq '.[].pull_requests[]' -r")]
pub struct RulesArgs {
    /// With one version, which switches it has; with two, in which they differ. A version is as in
    /// --rules: 1.0.4, or reset-child-status.
    #[arg(value_name = "VERSION", num_args = 0..=2)]
    pub versions: Vec<String>,
    /// How to print.
    #[command(flatten)]
    pub output: OutputArgs,
    /// What to say meanwhile.
    #[command(flatten)]
    pub feedback: FeedbackArgs,
}

/// `restarts [PATH]`.
#[derive(Args, Debug)]
#[command(override_usage = "raftscope restarts [OPTIONS] [PATH]")]
#[command(before_help = "Examples:
  raftscope restarts server/raft
  raftscope restarts --id web@80 server/raft
  raftscope restarts --min-running 75% --filter job=web --format json server/raft")]
pub struct RestartsArgs {
    /// What holds the log; `.` by default.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Tell this one step by step: its ID or the beginning of it, as the list shows it.
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// Tell how long fewer allocations ran than this: a number, or a percentage of the group's count.
    #[arg(long, value_name = "N|P%")]
    pub min_running: Option<String>,
    /// How to replay.
    #[command(flatten)]
    pub replay: ReplayArgs,
    /// Which entries.
    #[command(flatten)]
    pub range: RangeArgs,
    /// Which rows.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// How to print.
    #[command(flatten)]
    pub output: OutputArgs,
    /// What to say meanwhile.
    #[command(flatten)]
    pub feedback: FeedbackArgs,
}

/// How to replay.
#[derive(Args, Debug)]
#[command(next_help_heading = "Replay")]
pub struct ReplayArgs {
    /// Replay as this Nomad would have, as in 1.0.4, or with the variation reset-child-status.
    #[arg(long, value_name = "VERSION")]
    pub rules: Vec<String>,
    /// Replay as if this entry had not been: an index, or 0 and -N counted back from the last, or @TIME.
    #[arg(long, value_name = "INDEX", allow_hyphen_values = true)]
    pub skip: Vec<String>,
    /// Replay with what a jq expression makes of an entry's body, as in '1609: .Job.Status = ""'. It sees the
    /// body as it is stored, secrets included.
    #[arg(long, value_name = "INDEX: JQ", allow_hyphen_values = true)]
    pub patch: Vec<String>,
    /// Replay these entries behind the last: lines of `logs --unsafe-show-secrets --format ndjson`.
    #[arg(long, value_name = "FILE")]
    pub append: Vec<PathBuf>,
    /// Answer although a part of the evidence is missing; a warning tells what.
    #[arg(long)]
    pub allow_incomplete: bool,
}

/// From where to where.
#[derive(Args, Debug)]
#[command(next_help_heading = "Range")]
pub struct RangeArgs {
    /// Print from this entry on: an index, or 0 and -N counted back from the last, or @TIME.
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub from_index: Option<String>,
    /// Stop after this entry: an index, or 0 and -N counted back from the last, or @TIME.
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub last_index: Option<String>,
    /// Print from the first entry appended at or after this time on.
    #[arg(long, value_name = "TIME", conflicts_with = "from_index")]
    pub since: Option<String>,
    /// Stop after the last entry appended at or before this time.
    #[arg(long, value_name = "TIME", conflicts_with = "last_index")]
    pub until: Option<String>,
}

/// Which rows are printed.
#[derive(Args, Debug)]
#[command(next_help_heading = "Rows")]
pub struct FilterArgs {
    /// Print only rows for which this holds: KEY=VALUE or KEY!=VALUE; `*` is a wildcard. Several must all
    /// hold; the same key twice means either. Keys: parent, job, namespace, type, term, index (5, 5..9, 5..,
    /// ..9, ~10), status, eval, alloc, node, deployment.
    #[arg(long, value_name = "KEY=VALUE", verbatim_doc_comment)]
    pub filter: Vec<String>,
    /// Print at most so many rows.
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
    /// Name a message type, as in 78=QuotaUsage; wins over a known number.
    #[arg(long, value_name = "NUMBER=NAME")]
    pub message_type: Vec<String>,
}

/// How to print.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// What the output looks like.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,
    /// Short for --format json.
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// What goes with any format.
    #[command(flatten)]
    pub look: LookArgs,
}

/// How to print an audit.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
pub struct AuditOutputArgs {
    /// What the output looks like.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<AuditFormat>,
    /// Short for --format json.
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// What goes with any format.
    #[command(flatten)]
    pub look: LookArgs,
}

/// The formats of an audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AuditFormat {
    /// Sentences for people.
    Table,
    /// One JSON document.
    Json,
    /// One JSON object a line, one line a finding.
    Ndjson,
    /// Comma-separated values with a header line.
    Csv,
    /// SARIF 2.1.0, for code-scanning views.
    Sarif,
    /// JUnit XML, one test case for each parent.
    Junit,
}

/// What goes with any format.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
pub struct LookArgs {
    /// Indent JSON.
    #[arg(long)]
    pub pretty: bool,
    /// Print what this jq expression makes of the JSON document, or of each row with --format ndjson.
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    pub jq: Option<String>,
    /// Print strings that --jq yields without quotes.
    #[arg(short = 'r', long, requires = "jq")]
    pub raw_output: bool,
    /// When to use colours.
    #[arg(long, value_name = "WHEN", default_value = "auto", hide_default_value = true)]
    pub color: ColorWhen,
    /// Show tokens, keys, environments and other secrets.
    #[arg(long)]
    pub unsafe_show_secrets: bool,
}

/// What to say on stderr.
#[derive(Args, Debug)]
#[command(next_help_heading = "Messages")]
pub struct FeedbackArgs {
    /// When to show progress.
    #[arg(long, value_name = "WHEN", default_value = "auto", hide_default_value = true)]
    pub progress: When,
    /// No notes and no progress; warnings and errors stay.
    #[arg(short = 'q', long)]
    pub quiet: bool,
    /// Tell more of what is done.
    #[arg(short = 'v', long, conflicts_with = "quiet")]
    pub verbose: bool,
}

/// When colours are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    /// On a terminal, unless NO_COLOR is set; CLICOLOR_FORCE forces them.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}
