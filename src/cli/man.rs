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
    let mut roff = Vec::new();
    clap_mangen::Man::new(page).render(&mut roff).map_err(Error::Output)?;
    super::print(&roff)
}
