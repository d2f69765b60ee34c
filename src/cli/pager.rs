//! What is longer than the terminal goes through a pager; nothing else does.
//!
//! Rows are held back until there is more than a screenful, so that a short answer stays on the screen as it is.
//! While a pager runs the terminal is its own: what is to be said meanwhile is said when it has ended.
//!
//! There is one standard output, so there is one of these, and it is the program's and not a command's.

use std::io::{self, IsTerminal, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where the output goes.
enum Way {
    /// Straight to standard output.
    Straight,
    /// Held back until it is longer than the screen.
    Held { text: Vec<u8>, lines: usize, screen: usize },
    /// To the pager.
    Pager(Child),
}

struct Page {
    way: Way,
    /// What was to be said meanwhile.
    said: Vec<String>,
}

static PAGE: Mutex<Page> = Mutex::new(Page { way: Way::Straight, said: Vec::new() });

fn page() -> MutexGuard<'static, Page> {
    PAGE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets output that is longer than the screen go through a pager, where standard output is a terminal.
pub fn allow() {
    let out = io::stdout();
    let screen = terminal_size::terminal_size_of(&out).map_or(0, |(_, height)| usize::from(height.0));
    let mut page = page();
    if out.is_terminal() && screen > 0 && program().is_some() && matches!(page.way, Way::Straight) {
        page.way = Way::Held { text: Vec::new(), lines: 0, screen };
    }
}

/// For output that goes on for as long as somebody looks.
pub fn never() {
    page().way = Way::Straight;
}

/// The pager that the user wants: `RAFTSCOPE_PAGER`, `PAGER`, else `less`; none where the first of these that is set
/// is empty or `cat`.
fn program() -> Option<String> {
    if cfg!(windows) {
        return None;
    }
    let wanted = ["RAFTSCOPE_PAGER", "PAGER"].into_iter().find_map(|name| std::env::var(name).ok());
    let wanted = wanted.unwrap_or_else(|| "less".to_owned());
    Some(wanted).filter(|program| !matches!(program.trim(), "" | "cat"))
}

fn start() -> Option<Child> {
    let mut command = Command::new("sh");
    command.args(["-c", &program()?]).stdin(Stdio::piped());
    // Leave at once what fits, keep colours, and leave the text on the screen.
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    let child = command.spawn().ok()?;
    // Ctrl-C is the pager's, which goes on; whoever has seen enough quits it, and that ends the program as well.
    let _ = ctrlc::set_handler(|| {});
    Some(child)
}

/// Standard output, or the pager before it.
#[derive(Debug)]
pub struct Out;

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut page = page();
        if let Way::Held { text, lines, screen } = &mut page.way {
            text.extend_from_slice(bytes);
            *lines += bytes.iter().filter(|byte| **byte == b'\n').count();
            if *lines < *screen {
                return Ok(bytes.len());
            }
            let text = std::mem::take(text);
            page.way = start().map_or(Way::Straight, Way::Pager);
            page.way.pass_on(&text)?;
            return Ok(bytes.len());
        }
        page.way.pass_on(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut page().way {
            Way::Straight => io::stdout().flush(),
            Way::Held { .. } => Ok(()),
            Way::Pager(child) => child.stdin.as_mut().map_or(Ok(()), Write::flush),
        }
    }
}

impl Way {
    fn pass_on(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Way::Pager(child) => child.stdin.as_mut().map_or(Ok(()), |pipe| pipe.write_all(bytes)),
            _ => io::stdout().write_all(bytes),
        }
    }
}

/// True while the terminal is the pager's.
pub fn is_running() -> bool {
    matches!(page().way, Way::Pager(_))
}

/// Keeps a line for standard error until what was written before it is seen; false where it can be said at once.
pub fn keeps(line: &str) -> bool {
    let mut page = page();
    let later = match &page.way {
        Way::Straight => false,
        Way::Held { text, .. } => !text.is_empty(),
        Way::Pager(_) => true,
    };
    if later {
        page.said.push(line.to_owned());
    }
    later
}

/// Prints what is held back, or waits for the pager to be left; then says what was kept.
///
/// # Errors
/// When the output cannot be written.
pub fn finish() -> io::Result<()> {
    // Not held while the pager runs: whoever asks meanwhile must get an answer.
    let way = std::mem::replace(&mut page().way, Way::Straight);
    let written = match way {
        Way::Straight => Ok(()),
        Way::Held { text, .. } => {
            let mut out = io::stdout();
            out.write_all(&text).and_then(|()| out.flush())
        }
        Way::Pager(mut child) => {
            drop(child.stdin.take());
            child.wait().map(|_| ())
        }
    };
    for line in std::mem::take(&mut page().said) {
        // Nobody is left to tell when stderr is closed.
        let _ = writeln!(io::stderr(), "{line}");
    }
    written
}
