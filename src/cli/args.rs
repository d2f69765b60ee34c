//! The arguments as they are typed, declared for clap. [`super::options`] turns them at once into
//! what the commands use; nothing else looks at these types.
//!
//! A command is added here once it exists: a variant of [`Command`], its arguments and its
//! examples. Groups of options that several commands share are the structs that are flattened.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

mod shared;

pub use shared::{
    AuditFormat, AuditOutputArgs, ColorWhen, FeedbackArgs, FilterArgs, KeepArgs, LookArgs, OutputArgs, RangeArgs,
    ReplayArgs,
};

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
    /// Audit, kept up to date beside a running server.
    Watch(WatchArgs),
    /// The whole server state right after an entry.
    State(StateArgs),
    /// Every index at which a job's status or summary changed.
    Timeline(TimelineArgs),
    /// What changed in the state between two indexes; or between two rule books, at the end.
    Diff(DiffArgs),
    /// One entry explained: what it carried, who sent it, what the FSM did with it, which rows changed.
    Why(WhyArgs),
    /// Which entry each present counter of a parent comes from.
    Blame(BlameArgs),
    /// The first index after which a jq expression over the state is true.
    Find(FindArgs),
    /// Do the servers of one cluster hold the same log, and where do they part.
    Compare(CompareArgs),
    /// The switches in which Nomad versions differ, with pull requests.
    Rules(RulesArgs),
    /// Every job restart in the log: batches, waits, how few allocations ran meanwhile.
    Restarts(RestartsArgs),
    /// The ledger, every entry and every change, as a SQLite file, CSV or NDJSON.
    Export(ExportArgs),
    /// One self-contained HTML page: what is wrong, the counters along the log, the entries behind it.
    Report(ReportArgs),
    /// Print the completion script of a shell.
    Completions(CompletionsArgs),
    /// Print the manual page, of raftscope or of one command.
    Man(ManArgs),
}

/// `completions SHELL`.
#[derive(Args, Debug)]
#[command(before_help = "Examples:
  raftscope completions bash > ~/.local/share/bash-completion/completions/raftscope
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
    /// Count the entries as well that can be carved: from pages of a raft.db that no tree reaches, and from segments of
    /// a write-ahead log where the log does not count them.
    #[arg(long)]
    pub salvage: bool,
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
    /// Find the jobs of entries that name only allocations, evaluations, deployments or job IDs, by a replay.
    #[arg(long)]
    pub resolve: bool,
    /// The rules of the replay of --resolve, as in 1.0.4.
    #[arg(long, value_name = "VERSION", requires = "resolve")]
    pub rules: Vec<String>,
    /// Carve entries as well: from pages of a raft.db that no tree reaches, and from segments of a write-ahead log
    /// where the log does not count them. They are older copies, removed and replaced entries, those of a damaged
    /// file. They come after the log and are marked.
    #[arg(long, conflicts_with = "resolve")]
    pub salvage: bool,
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
#[command(override_usage = "raftscope audit [OPTIONS] [PATH]...")]
#[command(before_help = "Examples:
  raftscope audit server/raft
  raftscope audit s1/raft s2/raft s3/raft
  raftscope audit --all --filter parent=report --rules 1.0.4 server/raft
  raftscope audit --fail-on error --format sarif server/raft > audit.sarif")]
pub struct AuditArgs {
    /// What holds the log; `.` by default. With several, the first is audited, and the logs of the other servers
    /// of its cluster tell what of it was committed.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// List every finding, not only the first of each kind, parent and counter.
    #[arg(long)]
    pub all: bool,
    /// Test each listed cause: replay once more with the guilty entry altered, and see whether the count is right then.
    #[arg(long)]
    pub prove: bool,
    /// Also tell what `nomad system reconcile summaries` would make of the counts now.
    #[arg(long)]
    pub preview_reconcile: bool,
    /// Also find restarts of jobs that left fewer allocations running than this: a number, or a percentage of
    /// the group's count.
    #[arg(long, value_name = "N|P%")]
    pub min_running: Option<String>,
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
    /// Where it is kept.
    #[command(flatten)]
    pub keep: KeepArgs,
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

/// `watch [PATH]`.
#[derive(Args, Debug)]
#[command(override_usage = "raftscope watch [OPTIONS] [PATH]")]
#[command(before_help = "Examples:
  raftscope watch server/raft
  raftscope watch --interval 30s --filter parent=report server/raft
  raftscope watch --format ndjson --baseline known.txt server/raft")]
pub struct WatchArgs {
    /// What holds the log; `.` by default.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// How long to wait between two looks at the log, as in 500ms, 5s or 1m.
    #[arg(long, value_name = "DURATION", default_value = "5s")]
    pub interval: String,
    /// Mark the faults that this file lists as known; the summary does not count them as failures.
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// How to replay.
    #[command(flatten)]
    pub replay: ReplayArgs,
    /// Which findings.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// How to print.
    #[command(flatten)]
    pub output: OutputArgs,
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
    /// Where it is kept.
    #[command(flatten)]
    pub keep: KeepArgs,
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
    /// Where it is kept.
    #[command(flatten)]
    pub keep: KeepArgs,
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

/// `diff A B [PATH]`, and `diff --rules A --rules B [PATH]`.
#[derive(Args, Debug)]
#[command(
    override_usage = "raftscope diff [OPTIONS] A B [PATH]\n       raftscope diff [OPTIONS] --rules A --rules B [PATH]"
)]
#[command(before_help = "Examples:
  raftscope diff 1608 1609 server/raft
  raftscope diff -10 0 --tables Jobs,JobSummaries --json server/raft
  raftscope diff --rules 1.0.3 --rules 2.0.5 server/raft")]
pub struct DiffArgs {
    /// Two indexes, each as in --last-index, and what holds the log, `.` by default. With --rules twice,
    /// only what holds the log.
    #[arg(value_name = "A B PATH", allow_negative_numbers = true)]
    pub operands: Vec<PathBuf>,
    /// Only these tables, as in Jobs,JobSummaries.
    #[arg(long, value_name = "TABLES", value_delimiter = ',')]
    pub tables: Vec<String>,
    /// How to replay.
    #[command(flatten)]
    pub replay: ReplayArgs,
    /// Which entries, with --rules twice.
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

/// `why INDEX [PATH]`.
#[derive(Args, Debug)]
#[command(override_usage = "raftscope why [OPTIONS] INDEX [PATH]")]
#[command(before_help = "Examples:
  raftscope why 1609 server/raft
  raftscope why @2026-11-30T14:05:00Z server/raft
  raftscope why 1609 --jq '.changes[] | select(.table == \"JobSummaries\")' server/raft")]
pub struct WhyArgs {
    /// The entry, as in --last-index, and what holds the log, `.` by default.
    #[arg(value_name = "INDEX PATH", allow_negative_numbers = true)]
    pub operands: Vec<PathBuf>,
    /// Name a message type, as in 78=QuotaUsage; wins over a known number.
    #[arg(long, value_name = "NUMBER=NAME")]
    pub message_type: Vec<String>,
    /// How to replay.
    #[command(flatten)]
    pub replay: ReplayArgs,
    /// How to print.
    #[command(flatten)]
    pub output: OutputArgs,
    /// What to say meanwhile.
    #[command(flatten)]
    pub feedback: FeedbackArgs,
}

/// `blame JOB [PATH]`.
#[derive(Args, Debug)]
#[command(override_usage = "raftscope blame [OPTIONS] JOB [PATH]")]
#[command(before_help = "Examples:
  raftscope blame report server/raft
  raftscope blame report --namespace default --last-index 1700 server/raft
  raftscope blame report --jq '.units[] | select(.counter == \"Running\") | .index' server/raft")]
pub struct BlameArgs {
    /// A parent's ID, and what holds the log, `.` by default.
    #[arg(value_name = "JOB PATH")]
    pub operands: Vec<PathBuf>,
    /// The job's namespace; not needed where only one has a job of that ID.
    #[arg(long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// How to replay.
    #[command(flatten)]
    pub replay: ReplayArgs,
    /// Which entries: the counters are those after the last one; with a first one, only what came since.
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

/// `find EXPR [PATH]`.
#[derive(Args, Debug)]
#[command(override_usage = "raftscope find [OPTIONS] EXPR [PATH]")]
#[command(before_help = "Examples:
  raftscope find '.JobSummaries[] | .Children.Running < 0' server/raft
  raftscope find '.Jobs[] | .ID == \"report\" and .Status == \"dead\"' server/raft
  raftscope find '[.Allocs[] | select(.ClientStatus == \"running\")] | length > 100' server/raft")]
#[command(
    after_help = "The expression sees what `state` prints; it is true when any of its outputs is neither null nor false.

What it costs: an expression that begins with a table's rows, such as `.Jobs[] | …`, is tried only on the rows that
an entry changed, so one pass over the log is all it takes. Any other is tried on whole tables, each time one of
the tables that it names has changed: about as many rows for each such entry as the tables then have. One that
names no table, such as `.[] | length`, is tried after every entry that changed anything. An expression that calls
itself without end is its author's own: when the memory for calls is used up, the run ends."
)]
pub struct FindArgs {
    /// A jq expression, and what holds the log, `.` by default.
    #[arg(value_name = "EXPR PATH")]
    pub operands: Vec<PathBuf>,
    /// How to replay.
    #[command(flatten)]
    pub replay: ReplayArgs,
    /// Which entries: the expression is tried after these.
    #[command(flatten)]
    pub range: RangeArgs,
    /// Which entries, and how many are found: 1 unless --limit says more.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// How to print.
    #[command(flatten)]
    pub output: OutputArgs,
    /// What to say meanwhile.
    #[command(flatten)]
    pub feedback: FeedbackArgs,
}

/// `compare PATH PATH…`.
#[derive(Args, Debug)]
#[command(override_usage = "raftscope compare [OPTIONS] PATH PATH...")]
#[command(before_help = "Examples:
  raftscope compare s1/raft s2/raft s3/raft
  raftscope compare --json s1.tar.gz s2.tar.gz
  raftscope compare --jq '.differences[] | select(.kind == \"corruption\") | .first_index' s1 s2")]
#[command(
    after_help = "Exit codes: 0 the same wherever they overlap, 1 they differ or are of different clusters, 2 no answer,
3 nothing in common to compare, or a part that cannot be read."
)]
pub struct CompareArgs {
    /// What holds the log of each server; each is taken for another voter.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Answer although a part of the evidence is missing; a warning tells what.
    #[arg(long)]
    pub allow_incomplete: bool,
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

/// `restarts --plan`: what `nomad job restart` with these options would do.
#[derive(Args, Debug)]
#[command(next_help_heading = "Plan")]
pub struct PlanArgs {
    /// Tell what `nomad job restart` would do to the state after the last entry; no cluster is touched.
    #[arg(long, conflicts_with_all = ["id", "min_running"], requires = "job")]
    pub plan: bool,
    /// The job to restart.
    #[arg(long, value_name = "JOB", requires = "plan")]
    pub job: Option<String>,
    /// The job's namespace; needed only where several have a job of that name.
    #[arg(long, value_name = "NAMESPACE", requires = "plan")]
    pub namespace: Option<String>,
    /// Only this task group.
    #[arg(long, value_name = "GROUP", requires = "plan")]
    pub group: Option<String>,
    /// How many allocations together: a number, or a percentage of those to be restarted.
    #[arg(long, value_name = "N|P%", requires = "plan")]
    pub batch_size: Option<String>,
    /// The wait between batches, as in 30s or 1m30s.
    #[arg(long, value_name = "DURATION", requires = "plan")]
    pub batch_wait: Option<String>,
    /// Stop and replace allocations instead of restarting their tasks.
    #[arg(long, requires = "plan")]
    pub reschedule: bool,
    /// Print the plan as restart entries of the early design, for --append and --message-type.
    #[arg(long, requires = "plan")]
    pub emit: bool,
    /// With --emit: the restart is cancelled after this batch.
    #[arg(long, value_name = "BATCH", requires = "emit", conflicts_with = "pause_after")]
    pub cancel_after: Option<usize>,
    /// With --emit: the restart is paused after this batch.
    #[arg(long, value_name = "BATCH", requires = "emit")]
    pub pause_after: Option<usize>,
}

/// `restarts [PATH]`.
#[derive(Args, Debug)]
#[command(override_usage = "raftscope restarts [OPTIONS] [PATH]")]
#[command(before_help = "Examples:
  raftscope restarts server/raft
  raftscope restarts --id web@80 server/raft
  raftscope restarts --plan --job web --batch-size 25% --batch-wait 30s server/raft
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
    /// Also list restarts of single allocations, which nothing tells from `nomad alloc restart` and `alloc stop`.
    #[arg(long, conflicts_with = "plan")]
    pub single: bool,
    /// With --id: go on telling, on the directory of a running server, until the restart ends.
    #[arg(long, requires = "id")]
    pub follow: bool,
    /// What to plan.
    #[command(flatten)]
    pub plan: PlanArgs,
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

/// The examples of `export`; those that the program that was built can run.
#[cfg(not(feature = "parquet"))]
const EXPORT_EXAMPLES: &str = "Examples:
  raftscope export -o ledger.db server/raft
  raftscope export --format csv -o tables/ server/raft
  raftscope export --format ndjson --rules 1.0.4 --last-index 2000 -o tables/ server/raft";

/// The examples of `export`.
#[cfg(feature = "parquet")]
const EXPORT_EXAMPLES: &str = "Examples:
  raftscope export -o ledger.db server/raft
  raftscope export --format csv -o tables/ server/raft
  raftscope export --format parquet --cluster prod-eu --server s1 -o fleet/ server/raft
  raftscope export --format ndjson --rules 1.0.4 --last-index 2000 -o tables/ server/raft";

/// `export [PATH]`.
#[derive(Args, Debug)]
#[command(override_usage = "raftscope export [OPTIONS] -o <FILE|DIR> [PATH]")]
#[command(before_help = EXPORT_EXAMPLES)]
pub struct ExportArgs {
    /// What holds the log; `.` by default.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// What to write: one SQLite file, or a folder with a file for each table.
    #[arg(long, value_name = "FORMAT", default_value = "sqlite")]
    pub format: ExportFormat,
    /// The file to write, for sqlite; the folder to write into, for the others. Made where it is not there.
    #[arg(short = 'o', long, value_name = "FILE|DIR")]
    pub output: PathBuf,
    /// With --format parquet: the cluster that the rows are of; by default its ID, or the folder above the server's.
    #[arg(long, value_name = "NAME")]
    pub cluster: Option<String>,
    /// With --format parquet: the server that the rows are of; by default the folder or file that PATH names.
    #[arg(long, value_name = "NAME")]
    pub server: Option<String>,
    /// Name a message type, as in 78=QuotaUsage; wins over a known number.
    #[arg(long, value_name = "NUMBER=NAME")]
    pub message_type: Vec<String>,
    /// How to replay.
    #[command(flatten)]
    pub replay: ReplayArgs,
    /// Stop after this entry: an index, or 0 and -N counted back from the last, or @TIME.
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub last_index: Option<String>,
    /// Stop after the last entry appended at or before this time.
    #[arg(long, value_name = "TIME", conflicts_with = "last_index")]
    pub until: Option<String>,
    /// When to use colours.
    #[arg(long, value_name = "WHEN", default_value = "auto", hide_default_value = true)]
    pub color: ColorWhen,
    /// What to say meanwhile.
    #[command(flatten)]
    pub feedback: FeedbackArgs,
}

/// `report [PATH]`.
#[derive(Args, Debug)]
#[command(override_usage = "raftscope report [OPTIONS] -o <FILE> [PATH]")]
#[command(before_help = "Examples:
  raftscope report -o report.html server/raft
  raftscope report --job report --prove -o report.html server/raft
  raftscope report --all --rules 1.0.4 -o report.html server/raft")]
pub struct ReportArgs {
    /// What holds the log; `.` by default.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// The page to write; `-` writes it to standard output. Only an earlier page is written over.
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: PathBuf,
    /// Draw this parent as well, whether anything is wrong with it or not.
    #[arg(long, value_name = "JOB")]
    pub job: Vec<String>,
    /// Draw every parent, and list every finding and not only the first of each kind, parent and counter.
    #[arg(long)]
    pub all: bool,
    /// Test each listed cause: replay once more with the guilty entry altered, and see whether the count is right then.
    #[arg(long)]
    pub prove: bool,
    /// How to replay.
    #[command(flatten)]
    pub replay: ReplayArgs,
    /// Where it is kept.
    #[command(flatten)]
    pub keep: KeepArgs,
    /// Which entries.
    #[command(flatten)]
    pub range: RangeArgs,
    /// Which findings.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// When to use colours in messages.
    #[arg(long, value_name = "WHEN", default_value = "auto", hide_default_value = true)]
    pub color: ColorWhen,
    /// Show tokens, keys, environments and other secrets.
    #[arg(long)]
    pub unsafe_show_secrets: bool,
    /// What to say meanwhile.
    #[command(flatten)]
    pub feedback: FeedbackArgs,
}

/// What an export writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ExportFormat {
    /// One file, which sqlite3 and Datasette open.
    Sqlite,
    /// A file for each table, with a header; what is not there is empty.
    Csv,
    /// A file for each table, one JSON object a line.
    Ndjson,
    /// A folder for each table, a file for each server: many clusters are one table for DuckDB, Spark, Trino, ClickHouse.
    Parquet,
}
