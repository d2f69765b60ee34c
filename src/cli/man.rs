//! `man [COMMAND]`.

use super::args::ManArgs;
use crate::error::Error;
use crate::exit::Exit;
use crate::suggest;

/// Prints the manual page of raftscope or of one command, as roff.
pub fn run(args: &ManArgs, mut command: clap::Command) -> Result<Exit, Error> {
    command.build();
    let page = match &args.command {
        None => command,
        Some(name) => {
            let names = command.get_subcommands().map(clap::Command::get_name);
            let hint = suggest::hint(name, names);
            let found = command.find_subcommand(name).cloned();
            found.ok_or_else(|| Error::Usage(format!("man: there is no command `{name}`{hint}")))?
        }
    };
    let examples = page.get_before_help().map(examples).unwrap_or_default();
    let mut roff = Vec::new();
    clap_mangen::Man::new(page).render(&mut roff).map_err(Error::Output)?;
    roff.extend_from_slice(examples.as_bytes());
    super::print(&roff)
}

/// The section of the examples that `--help` begins with, which clap_mangen leaves out: each on lines of its own.
fn examples(help: &clap::builder::StyledStr) -> String {
    let mut section = ".SH EXAMPLES\n.nf\n".to_owned();
    // Its first line is the heading.
    for line in help.to_string().lines().skip(1) {
        // `\&` keeps a line from being taken for a request.
        section += "\\&";
        section +=
            &line.strip_prefix("  ").unwrap_or(line).replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
        section.push('\n');
    }
    section + ".fi\n"
}
