//! Nomad's one-dash options: `-last-index=5`, `-last-index 5`, `-json`, `-pretty`.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;

/// The long options of all commands, and the short ones with whether they take a value.
struct Known {
    /// Name and whether a value follows.
    long: HashMap<String, bool>,
    short: HashMap<char, bool>,
}

impl Known {
    fn of(command: &clap::Command) -> Self {
        let mut known =
            Known { long: HashMap::from([("help".into(), false), ("version".into(), false)]), short: HashMap::new() };
        known.collect(command);
        known
    }

    fn collect(&mut self, command: &clap::Command) {
        for arg in command.get_arguments() {
            let valued = arg.get_action().takes_values();
            for name in arg.get_long_and_visible_aliases().unwrap_or_default() {
                self.long.insert(name.to_owned(), valued);
            }
            for short in arg.get_short_and_visible_aliases().unwrap_or_default() {
                self.short.insert(short, valued);
            }
        }
        for sub in command.get_subcommands() {
            self.collect(sub);
        }
    }

    /// True where the letters after one dash can be short options: flags, of which the last may
    /// have a value attached.
    fn is_cluster(&self, letters: &str) -> bool {
        for c in letters.chars() {
            match self.short.get(&c) {
                Some(true) => return true,
                Some(false) => {}
                None => return false,
            }
        }
        true
    }
}

/// The arguments with one-dash long options written with two.
///
/// A word is changed when it is one dash and a name of two or more letters that is a known long
/// option, or that cannot be a group of short options (so that a slip gets the long options'
/// did-you-mean). `-`, `-r`, `-vq`, negative numbers and the values of options stay as they are,
/// and so does everything after `--`.
pub fn doubled(args: impl IntoIterator<Item = OsString>, command: &clap::Command) -> Vec<OsString> {
    let known = Known::of(command);
    let mut seen_end = false;
    let mut value_next = false;
    let mut out = Vec::new();
    for (i, arg) in args.into_iter().enumerate() {
        let text = arg.to_str().unwrap_or_default().to_owned();
        if i == 0 || seen_end || std::mem::take(&mut value_next) {
            out.push(arg);
            continue;
        }
        seen_end = text == "--";
        let double =
            one_dash_name(&text).is_some_and(|name| known.long.contains_key(name) || !known.is_cluster(&text[1..]));
        let arg = if double { OsString::from(format!("-{text}")) } else { arg };
        value_next = takes_next(arg.to_str().unwrap_or_default(), &known);
        out.push(arg);
    }
    out
}

/// The name in `-name` and `-name=value`, if it has two letters or more and begins with a letter.
fn one_dash_name(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('-')?;
    let name = rest.split('=').next()?;
    let letter = name.starts_with(|c: char| c.is_ascii_alphabetic());
    (letter && name.chars().nth(1).is_some()).then_some(name)
}

/// True where the word after `arg` is its value, whatever that looks like.
fn takes_next(arg: &str, known: &Known) -> bool {
    if let Some(name) = arg.strip_prefix("--") {
        return !name.contains('=') && known.long.get(name).copied().unwrap_or(false);
    }
    let Some(letters) = arg.strip_prefix('-') else { return false };
    let valued: HashSet<char> = known.short.iter().filter(|(_, v)| **v).map(|(c, _)| *c).collect();
    letters.chars().last().is_some_and(|c| valued.contains(&c))
        && letters.chars().filter(|c| valued.contains(c)).count() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command() -> clap::Command {
        let flag = |name: &'static str, short: char| {
            clap::Arg::new(name).long(name).short(short).action(clap::ArgAction::SetTrue)
        };
        clap::Command::new("t").subcommand(
            clap::Command::new("state")
                .arg(clap::Arg::new("last-index").long("last-index"))
                .arg(clap::Arg::new("jq").long("jq"))
                .arg(clap::Arg::new("json").long("json").action(clap::ArgAction::SetTrue))
                .arg(clap::Arg::new("out").long("out").short('o'))
                .arg(flag("raw", 'r'))
                .arg(flag("verbose", 'v')),
        )
    }

    fn doubled_words(line: &str) -> String {
        let args = line.split(' ').map(OsString::from);
        doubled(args, &command()).iter().map(|a| a.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn nomads_one_dash_forms_become_long_options() {
        assert_eq!(doubled_words("t state -last-index=5 -json"), "t state --last-index=5 --json");
        assert_eq!(doubled_words("t state -last-index 5 p"), "t state --last-index 5 p");
        assert_eq!(doubled_words("t state -help"), "t state --help");
    }

    #[test]
    fn short_options_values_and_dashes_stay() {
        for line in [
            "t state -r -v -rv -",
            "t state --last-index -3 -v",
            "t state --last-index=-3",
            "t state --jq -json",
            "t state -- -json",
            "t state -ofile -o -json",
            "t state -vofile",
            "t state -3",
        ] {
            assert_eq!(doubled_words(line), line);
        }
        assert_eq!(doubled_words("t state -last-index -3"), "t state --last-index -3");
    }

    #[test]
    fn a_slip_in_a_one_dash_option_is_read_as_a_long_one() {
        assert_eq!(doubled_words("t state -lst-index=5"), "t state --lst-index=5");
    }
}
