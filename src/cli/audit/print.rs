//! The audit's report in each format.

use std::io::Write;

use super::{Options, Special, text};
use crate::audit::report::{Report, Reported};
use crate::error::Error;
use crate::render::{self, Cell, Format, Row, Shape, junit, sarif};

/// The columns of an audit.
pub static SHAPE: Shape = Shape {
    table: &[],
    csv: &[
        "kind",
        "severity",
        "namespace",
        "parent",
        "job",
        "group",
        "counter",
        "value",
        "min_value",
        "stored",
        "recount",
        "final_value",
        "index",
        "term",
        "entry",
        "until",
        "until_entry",
        "type",
        "ignore_flag",
        "partial",
        "last_index",
        "detail",
        "committed",
        "leader_change",
        "cause",
        "more",
    ],
};

/// Prints the report. NDJSON and CSV have a row for each finding.
pub fn report(report: &Report, options: &Options) -> Result<(), Error> {
    let output = &options.output;
    match (options.special, output.style.format) {
        (Some(Special::Sarif), _) => {
            let json = serde_json::to_vec(&sarif::log(report, options.asked.baseline.is_some()))
                .map_err(|e| Error::Internal(e.to_string()))?;
            render::document(&output.style, &json, output.stdout())
        }
        (Some(Special::Junit), _) => {
            let mut out = output.stdout();
            junit::write(report, &options.asked.judging(), &mut out).and_then(|()| out.flush()).map_err(Error::Output)
        }
        (None, Format::Json) => {
            let json = serde_json::to_vec(report).map_err(|e| Error::Internal(e.to_string()))?;
            render::document(&output.style, &json, output.stdout())
        }
        (None, Format::Ndjson | Format::Csv) => {
            let mut out = render::rows(&output.style, &SHAPE, output.stdout());
            for finding in &report.findings {
                out.row(finding)?;
            }
            out.finish()
        }
        (None, Format::Table) => {
            let text = text::report(report, options.asked.fail_on, &output.style);
            let mut out = output.stdout();
            out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Error::Output)
        }
    }
}

impl Row for Reported {
    fn json(&self, out: &mut Vec<u8>) {
        // A finding has only text keys and plain values, so this cannot fail.
        let _ = serde_json::to_writer(out, self);
    }

    fn cells(&self) -> Vec<Cell> {
        Vec::new()
    }
}
