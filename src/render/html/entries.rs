//! The entries behind the findings, explained as `raftscope why` does.

use maud::{Markup, html};

use super::anchor;
use crate::render::text::visible;
use crate::report::{Explained, Page};

const COLUMNS: [&str; 6] = ["Table", "Row", "Change", "Field", "Before", "After"];

/// All of them, in order of index.
pub fn section(page: &Page) -> Markup {
    html! {
        @if !page.entries.is_empty() {
            section id="entries" {
                h2 { "The entries behind it" span.quiet { " as " code { "raftscope why" } " explains them" @if !page.secrets_shown { "; secrets are hidden" } } }
                @for entry in &page.entries { (one(entry)) }
            }
        }
    }
}

fn one(entry: &Explained) -> Markup {
    let mut lines = entry.lines.iter();
    let heading = lines.next().map(|line| visible(line)).unwrap_or_default();
    html! {
        article.entry.find id=(anchor(entry)) tabindex="-1" {
            h3 { (heading) }
            ul { @for line in lines { li { (visible(line)) } } }
            @if entry.changes.is_empty() {
                p.quiet { "It changed nothing." }
            } @else {
                div.wide tabindex="0" role="region" aria-label=(format!("What entry {} changed", entry.index)) { table {
                    thead { tr { @for column in COLUMNS { th { (column) } } } }
                    tbody { @for row in &entry.changes { tr { @for cell in row { td { (visible(cell)) } } } } }
                } }
            }
            @if entry.left_out > 0 {
                p.quiet { (entry.left_out) " more changes: " code { "raftscope why " (entry.index) } }
            }
        }
    }
}
