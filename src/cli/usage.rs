//! clap's errors in one line that says what to type instead.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::suggest;

/// The line for a usage error. `command` is the whole tree, for hints across commands.
pub fn message(error: &clap::Error, command: &clap::Command) -> String {
    match error.kind() {
        ErrorKind::InvalidSubcommand => no_such_command(&invalid(error, ContextKind::InvalidSubcommand), command),
        ErrorKind::UnknownArgument => no_such_option(&invalid(error, ContextKind::InvalidArg), error, command),
        ErrorKind::InvalidValue => bad_value(error),
        ErrorKind::ValueValidation => {
            let option = option_name(&invalid(error, ContextKind::InvalidArg));
            match std::error::Error::source(error) {
                Some(source) => format!("{option}: {source}"),
                None => first_line(error),
            }
        }
        ErrorKind::ArgumentConflict => {
            let (one, other) = (invalid(error, ContextKind::InvalidArg), invalid(error, ContextKind::PriorArg));
            let (one, other) = (option_name(&one), option_name(&other));
            if one == other {
                format!("{one} is given twice; give it once")
            } else {
                format!("{one} and {other} exclude each other; give one of them")
            }
        }
        ErrorKind::MissingRequiredArgument => {
            format!("{} is missing; see `{} --help`", invalid(error, ContextKind::InvalidArg), called(error, command))
        }
        _ => first_line(error),
    }
}

/// The text of one piece of context; several are joined.
fn invalid(error: &clap::Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::String(s)) => s.clone(),
        Some(ContextValue::Strings(s)) => s.join(", "),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

/// `--format` of `--format <FORMAT>`.
fn option_name(arg: &str) -> String {
    arg.split(" <").next().unwrap_or(arg).split(" [").next().unwrap_or(arg).to_owned()
}

fn first_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

/// `raftscope logs`, read off the usage line that the error carries.
fn called(error: &clap::Error, command: &clap::Command) -> String {
    let usage = match error.get(ContextKind::Usage) {
        Some(ContextValue::StyledStr(usage)) => usage.to_string(),
        _ => String::new(),
    };
    let name = command.get_name();
    let words = usage.split_whitespace().skip_while(|w| *w != name).take(2).collect::<Vec<_>>();
    match words.get(1) {
        Some(sub) if command.find_subcommand(sub).is_some() => format!("{name} {sub}"),
        _ => name.to_owned(),
    }
}

fn no_such_command(typed: &str, command: &clap::Command) -> String {
    let names = || command.get_subcommands().map(clap::Command::get_name);
    let hint = suggest::hint(typed, names());
    if hint.is_empty() && (std::path::Path::new(typed).exists() || typed.contains('/')) {
        return format!(
            "`{typed}` is no command; the command comes first and the path last, as in `raftscope info {typed}`"
        );
    }
    let list = names().filter(|n| *n != "help").collect::<Vec<_>>().join(", ");
    format!("there is no command `{typed}`{}", if hint.is_empty() { format!("; there are {list}") } else { hint })
}

fn no_such_option(typed: &str, error: &clap::Error, command: &clap::Command) -> String {
    let called = called(error, command);
    let sub = called.strip_prefix(command.get_name()).map(str::trim).and_then(|name| command.find_subcommand(name));
    let longs = |c: &clap::Command| {
        c.get_arguments()
            .filter_map(|a| a.get_long().map(|l| format!("--{l}")))
            .chain(["--help".to_owned()])
            .collect::<Vec<_>>()
    };
    let typed = typed.split('=').next().unwrap_or(typed);
    let own = sub.map(longs).unwrap_or_default();
    let mut hint = suggest::hint(typed, own.iter().map(String::as_str));
    if hint.is_empty() || command.get_subcommands().any(|c| longs(c).iter().any(|l| l == typed)) {
        let others: Vec<&str> = command
            .get_subcommands()
            .filter(|c| longs(c).iter().any(|l| l == typed))
            .map(clap::Command::get_name)
            .collect();
        if !others.is_empty() {
            hint = format!("; it is an option of {}", others.join(", "));
        }
    }
    if hint.is_empty() {
        hint = format!("; see `{called} --help`");
    }
    format!("{called} has no option `{typed}`{hint}")
}

fn bad_value(error: &clap::Error) -> String {
    let option = option_name(&invalid(error, ContextKind::InvalidArg));
    let typed = invalid(error, ContextKind::InvalidValue);
    let values = match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(values)) => values.clone(),
        _ => Vec::new(),
    };
    let list = values.join(", ");
    if typed.is_empty() {
        return if list.is_empty() {
            format!("{option} needs a value")
        } else {
            format!("{option} needs a value: {list}")
        };
    }
    let hint = suggest::hint(&typed, values.iter().map(String::as_str));
    let hint = if hint.is_empty() && !list.is_empty() { format!("; it can be {list}") } else { hint };
    format!("{option} cannot be `{typed}`{hint}")
}
