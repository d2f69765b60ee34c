//! `rules`: the switches in which Nomad versions differ.

use super::args::RulesArgs;
use super::options::{self, Output};
use super::replaying;
use super::reporter::Reporter;
use crate::error::Error;
use crate::exit::Exit;
use crate::fsm::differences::{self, Difference};
use crate::notes::Notes;
use crate::render::json_text::{self, Object};
use crate::render::{self, Cell, Column, Format, Row, Shape, Tone};

static LIST: Shape = Shape {
    table: &[Column::text("Switch"), Column::text("Since"), Column::text("Pull requests"), Column::text("What")],
    csv: &["switch", "since", "pull_requests", "summary"],
};

static ONE: Shape = Shape {
    table: &[
        Column::text("Switch"),
        Column::text("On"),
        Column::text("Since"),
        Column::text("Pull requests"),
        Column::text("What"),
    ],
    csv: &["switch", "a", "since", "pull_requests", "summary"],
};

static TWO: Shape = Shape {
    table: &[
        Column::text("Switch"),
        Column::text("A"),
        Column::text("B"),
        Column::text("Since"),
        Column::text("Pull requests"),
        Column::text("What"),
    ],
    csv: &["switch", "a", "b", "since", "pull_requests", "summary"],
};

/// Prints the switches, those of one version, or those in which two differ.
pub fn run(args: &RulesArgs) -> (Reporter, Result<Exit, Error>) {
    let reporter = options::reporter(&args.feedback, args.output.look.color);
    let result = print(args, &reporter);
    (reporter, result)
}

fn print(args: &RulesArgs, reporter: &Reporter) -> Result<Exit, Error> {
    let mut notes = reporter;
    let output = Output::new(&args.output, Format::Table, reporter)?;
    let versions = args.versions.iter().map(|text| replaying::rules("rules", text, reporter));
    let versions = versions.collect::<Result<Vec<_>, _>>()?;
    let (shape, rows) = match versions.as_slice() {
        [] => (&LIST, differences::switches().into_iter().map(|d| Line(d, Vec::new())).collect()),
        [a] => {
            let on = differences::has_switches(a);
            (&ONE, differences::switches().into_iter().zip(on).map(|(d, on)| Line(d, vec![on])).collect())
        }
        [a, b, ..] => {
            let differences = differences::between(a, b);
            if differences.is_empty() {
                notes.note(format!("{} and {} replay every log alike", args.versions[0], args.versions[1]));
            }
            (&TWO, differences.into_iter().map(|(d, a, b)| Line(d, vec![a, b])).collect::<Vec<_>>())
        }
    };
    let mut out = render::rows(&output.style, shape, output.stdout());
    for row in &rows {
        out.row(row)?;
    }
    out.finish()?;
    Ok(Exit::Success)
}

/// A difference, with whether each version that was asked for has it.
struct Line(Difference, Vec<bool>);

/// A list of plain words as JSON.
fn list<'t>(texts: impl Iterator<Item = &'t str>, out: &mut Vec<u8>) {
    out.push(b'[');
    for (i, text) in texts.enumerate() {
        if i > 0 {
            out.push(b',');
        }
        json_text::string(out, text);
    }
    out.push(b']');
}

impl Row for Line {
    fn json(&self, out: &mut Vec<u8>) {
        let Line(difference, on) = self;
        let mut row = Object::open(out);
        row.text("switch", &difference.name);
        for (key, on) in ["a", "b"].iter().zip(on) {
            row.display(key, on);
        }
        list(difference.since.iter().map(String::as_str), row.key("since"));
        list(difference.pull_requests.iter().copied(), row.key("pull_requests"));
        row.text("summary", &difference.summary);
        row.close();
    }

    fn cells(&self) -> Vec<Cell> {
        let Line(difference, on) = self;
        let mut cells = vec![Cell::from(&*difference.name)];
        cells.extend(on.iter().map(|on| if *on { Cell::from("yes") } else { Cell::toned("no", Tone::Dim) }));
        cells.push(difference.since.join(", ").into());
        cells.push(difference.pull_requests.join(", ").into());
        cells.push((&*difference.summary).into());
        cells
    }
}
