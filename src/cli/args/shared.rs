//! Groups of options that several commands share.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::progress::When;
use crate::render::Format;

/// How to replay.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Replay")]
pub struct ReplayArgs {
    /// Replay as this Nomad would have, as in 1.0.4; as the newest that the evidence allows (auto, the default); or
    /// with a variation that no Nomad has: reset-child-status, under which every register starts without a status.
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
    /// Replay only up to the last entry that the evidence proves to be committed: a snapshot holds its effect, a
    /// later entry mentions it as applied, or, with the logs of several servers, a majority holds it.
    #[arg(long, conflicts_with = "append")]
    pub committed_only: bool,
    /// Answer although a part of the evidence is missing; a warning tells what.
    #[arg(long)]
    pub allow_incomplete: bool,
}

/// Where what is replayed is kept.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Ledger")]
pub struct KeepArgs {
    /// Keep what every entry was and changed in this SQLite file. One that is there is extended by what is new; one
    /// of another log, base or rules is refused.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["skip", "patch", "append"])]
    pub db: Option<PathBuf>,
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
    /// Print what this jq expression makes of the JSON document, or of each row with --format ndjson. One that calls
    /// itself without end is its author's own: when the memory for calls is used up, the run ends.
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
    /// Print straight to the terminal, and not through $RAFTSCOPE_PAGER, $PAGER or less where the output is longer.
    #[arg(long)]
    pub no_pager: bool,
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
