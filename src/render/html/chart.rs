//! The step charts as SVG: three lanes, one for each counter, above one axis of indexes.
//!
//! Places along the log are percentages of the picture's width, so that text keeps its size at any width. The steps
//! are drawn once, in entries and counts, and shown through a window (`viewBox`) that the script moves to zoom.
//! `data-i` is the index at which something begins, `data-j` the one at which it ends.

use std::fmt::Write;

use maud::{Markup, html};

use super::axis;
use super::{name, signed};
use crate::audit::finding::{Counter, Finding, Kind, Severity, Until};
use crate::report::track::{Change, Span};
use crate::report::{Chart, Event, Page};
use crate::types::Index;

/// Heights in pixels, from the top down.
const TERMS: u32 = 20;
const PINS: u32 = 20;
const EVENTS: u32 = 16;
const LANE: u32 = 46;
const TALL_LANE: u32 = 86;
const GAP: u32 = 8;
const TICKS: u32 = 20;

/// The width that labels are placed for where no script measures the real one, and that of a letter; pixels.
const NOMINAL: f64 = 520.0;
const LETTER: f64 = 6.4;

/// A part of the log as it is shown.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// The first and last index.
    pub range: (Index, Index),
    /// What it shows.
    pub caption: &'static str,
}

impl View {
    /// How far from the left an index stands, in percent.
    fn at(&self, index: Index) -> f64 {
        let (from, to) = self.range;
        let span = (to.0.saturating_sub(from.0) + 1) as f64;
        (index.0 as f64 - from.0 as f64) / span * 100.0
    }

    fn shows(&self, index: Index) -> bool {
        index >= self.range.0 && index <= self.range.1
    }
}

fn percent(at: f64) -> String {
    format!("{at:.3}%")
}

/// The steps of every track, each drawn once, and the area below zero.
pub fn definitions(page: &Page) -> Markup {
    html! {
        svg.definitions width="0" height="0" aria-hidden="true" focusable="false" { defs {
            clipPath id="below" { rect x="-10" y="0" width="1000000000000" height="1000000000000"; }
            // A line at zero is half below it, and no count lies between 0 and -1.
            clipPath id="far-below" { rect x="-10" y="0.5" width="1000000000000" height="1000000000000"; }
            @for (number, chart) in page.found.iter().chain(&page.others).enumerate() {
                @for counter in Counter::ALL {
                    path id=(path_id(number, counter)) vector-effect="non-scaling-stroke" d=(path(page, chart, counter));
                }
            }
        } }
    }
}

fn path_id(number: usize, counter: Counter) -> String {
    format!("path-{number}-{}", counter as usize)
}

fn value(change: &Change, counter: Counter) -> Option<i64> {
    change.counts.and_then(|counts| counts.as_array().get(counter as usize).copied())
}

/// Steps in units of one entry and one child; down is up, as SVG counts. Each run begins and ends on the zero line, so
/// that its inside can be filled.
fn path(page: &Page, chart: &Chart, counter: Counter) -> String {
    let x = |index: Index| index.0.saturating_sub(page.range.0.0);
    let mut d = String::new();
    let mut last: Option<i64> = None;
    for change in &chart.track.changes {
        let (x, now) = (x(change.index), value(change, counter));
        // Writing to a String cannot fail.
        let _ = match (last, now) {
            (None, Some(now)) => write!(d, "M{x} 0V{}", -now),
            (Some(before), Some(now)) if before != now => write!(d, "H{x}V{}", -now),
            (Some(_), None) => write!(d, "H{x}V0"),
            _ => Ok(()),
        };
        last = now;
    }
    if last.is_some() {
        let _ = write!(d, "H{}V0", x(page.range.1) + 1);
    }
    d
}

/// One lane: a counter, and where it stands in the picture.
struct Lane {
    counter: Counter,
    top: u32,
    height: u32,
    low: i64,
    high: i64,
}

impl Lane {
    /// Room above and below the steps, in counts.
    fn pad(&self) -> f64 {
        (self.high - self.low) as f64 * 0.1
    }

    /// How far from the picture's top a count stands, in pixels.
    fn y(&self, count: i64) -> f64 {
        let pad = self.pad();
        let share = (self.high as f64 + pad - count as f64) / ((self.high - self.low) as f64 + 2.0 * pad);
        f64::from(self.top) + share * f64::from(self.height)
    }
}

/// The lowest and the highest count within the view, 0 and 1 included.
fn bounds(chart: &Chart, counter: Counter, view: &View) -> (i64, i64) {
    let changes = &chart.track.changes;
    let first = changes.partition_point(|change| change.index <= view.range.0).saturating_sub(1);
    let shown = changes.iter().skip(first).take_while(|change| change.index <= view.range.1);
    let counts = shown.filter_map(|change| value(change, counter));
    counts.fold((0, 1), |(low, high), count| (low.min(count), high.max(count)))
}

fn lanes(chart: &Chart, every: &[&Finding], view: &View, mut top: u32) -> Vec<Lane> {
    let lane = |counter: Counter| {
        let (low, high) = bounds(chart, counter, view);
        let wrong = low < 0 || every.iter().any(|f| f.counter == Some(counter.name()));
        let height = if wrong { TALL_LANE } else { LANE };
        let lane = Lane { counter, top, height, low, high };
        top += height + GAP;
        lane
    };
    Counter::ALL.map(lane).into()
}

/// A picture with its caption, and the places for what the script adds.
pub fn figure(page: &Page, number: usize, chart: &Chart, every: &[&Finding], view: View) -> Markup {
    let events: Vec<&Event> = page.events.iter().collect();
    let pins = pins(every);
    let pin_row = if pins.is_empty() { 0 } else { PINS };
    let event_row = if events.is_empty() { 0 } else { EVENTS };
    let lanes = lanes(chart, every, &view, TERMS + pin_row + event_row + 4);
    let bottom = lanes.last().map_or(0, |lane| lane.top + lane.height + GAP);
    let height = bottom + TICKS;
    let (from, to) = view.range;
    let label = format!("Pending, Running and Dead of {} from entry {from} to {to}", name(&chart.parent));
    html! {
        figure.chart tabindex="0" aria-label=(label) data-track=(number) data-low=(page.range.0) data-high=(page.range.1)
            data-from=(from) data-to=(to) {
            figcaption {
                span { strong { (view.caption) } ", entries " span.shown { (from) " to " (to) } }
                span.tools hidden {
                    button type="button" data-do="in" aria-label="Zoom in" title="Zoom in (+)" { "+" }
                    button type="button" data-do="out" aria-label="Zoom out" title="Zoom out (-)" { "\u{2212}" }
                    button type="button" data-do="whole" title="Show the whole log (0)" { "whole log" }
                }
            }
            div.plot {
                svg.axis width="84" height=(height) aria-hidden="true" { @for lane in &lanes { (scale(lane)) } }
                svg.area width="100%" height=(height) role="img" aria-label=(label) {
                    title { (label) }
                    (bands(page, &view, bottom))
                    @for lane in &lanes { (steps(page, number, chart, lane, &view)) (intervals(lane, every, &view)) }
                    (rules(page, &pins, &view, bottom))
                    (labels(&pins, &view, f64::from(TERMS) + 14.0))
                    (marks(&events, &view, f64::from(TERMS + pin_row) + 12.0))
                    (ticks(&view, bottom))
                }
            }
            output.readout aria-live="polite" {}
        }
    }
}

/// What stands left of a lane.
fn scale(lane: &Lane) -> Markup {
    let middle = f64::from(lane.top) + f64::from(lane.height) / 2.0 + 4.0;
    let near = |count: i64| (lane.y(count) - lane.y(0)).abs() < 13.0;
    html! {
        g.scale data-lane=(lane.counter as usize) data-top=(lane.top) data-height=(lane.height) {
            text.lane-name x="0" y=(format!("{middle:.1}")) { (lane.counter.name()) }
            text.tick.high x="80" y=(format!("{:.1}", lane.y(lane.high) + 4.0)) { (axis::short(lane.high)) }
            text.tick.zero x="80" y=(format!("{:.1}", lane.y(0) + 4.0)) visibility=[(near(lane.high) || (lane.low < 0 && near(lane.low))).then_some("hidden")] { "0" }
            text.tick.low.bad x="80" y=(format!("{:.1}", lane.y(lane.low) + 4.0)) visibility=[(lane.low == 0).then_some("hidden")] { (axis::short(lane.low)) }
        }
    }
}

/// Terms as bands behind the lanes, each named where there is room.
fn bands(page: &Page, view: &View, bottom: u32) -> Markup {
    let mut free = f64::MIN;
    html! {
        @for (i, span) in page.bands.iter().enumerate() {
            @let (left, right) = (view.at(span.first).clamp(0.0, 100.0), view.at(span.last.next()).clamp(0.0, 100.0));
            @let text = term_label(page, span);
            @let room = (right - left) / 100.0 * NOMINAL;
            @let fits = right > left && room > width(&text) && left / 100.0 * NOMINAL >= free;
            rect.band.(if i % 2 == 0 { "even" } else { "odd" }) data-i=(span.first) data-j=(span.last.next()) x=(percent(left)) y="0"
                width=(percent(right - left)) height=(bottom) visibility=[(right <= left).then_some("hidden")] {}
            text.term data-i=(span.first) data-j=(span.last.next()) data-row="terms" x=(percent(left)) dx="4" y="14"
                visibility=[(!fits).then_some("hidden")] { (text) }
            @if fits { ({ free = left / 100.0 * NOMINAL + width(&text); "" }) }
        }
    }
}

fn term_label(page: &Page, span: &Span) -> String {
    if page.terms.first() == Some(span) {
        format!("term {}", span.term)
    } else {
        format!("term {} from {}", span.term, span.first)
    }
}

fn width(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER + 12.0
}

/// The steps of one counter.
fn steps(page: &Page, number: usize, chart: &Chart, lane: &Lane, view: &View) -> Markup {
    let (from, to) = view.range;
    let x = from.0.saturating_sub(page.range.0.0);
    let (top, pad) = (lane.high as f64 + lane.pad(), lane.pad());
    let span = to.0.saturating_sub(from.0) + 1;
    let window = format!("{x} {:.3} {span} {:.3}", -top, (lane.high - lane.low) as f64 + 2.0 * pad);
    let falls_below = chart.track.changes.iter().any(|change| value(change, lane.counter).is_some_and(|n| n < 0));
    let path = format!("#{}", path_id(number, lane.counter));
    html! {
        svg.lane data-lane=(lane.counter as usize) x="0" y=(lane.top) width="100%" height=(lane.height) viewBox=(window)
            preserveAspectRatio="none" {
            line.zero x1="-10" y1="0" x2="1000000000000" y2="0" vector-effect="non-scaling-stroke" {}
            use.steps.(lane.counter.name().to_lowercase()) href=(path) {}
            @if falls_below {
                use.steps.below href=(path) clip-path="url(#below)" {}
                use.steps.negative href=(path) clip-path="url(#far-below)" {}
            }
        }
    }
}

/// Where the audit says that a counter is wrong, as a bar below its lane.
fn intervals(lane: &Lane, every: &[&Finding], view: &View) -> Markup {
    let of_lane = every.iter().filter(|f| f.counter == Some(lane.counter.name()));
    html! {
        @for finding in of_lane {
            @let end = match finding.until { Some(Until::Index(until)) => until, _ => view.range.1.next() };
            @let left = view.at(finding.at.index).clamp(0.0, 100.0);
            @let right = view.at(end).clamp(0.0, 100.0);
            @let negative = finding.kind == Kind::Negative;
            rect.wrong.(finding.kind.name()) data-i=(finding.at.index) data-j=[matches!(finding.until, Some(Until::Index(_))).then_some(end)]
                x=(percent(left)) width=(percent((right - left).max(0.15))) y=(lane.top + lane.height + if negative { 0 } else { 4 })
                height="3" visibility=[(right <= left).then_some("hidden")] {
                title { (finding.kind.name()) " from " (finding.at.index) }
            }
        }
    }
}

/// The places where findings begin, each with what begins there.
fn pins(every: &[&Finding]) -> Vec<(Index, String)> {
    let mut pins: Vec<(Index, String)> = Vec::new();
    let mut worst: Vec<&&Finding> = every.iter().filter(|f| f.severity > Severity::Note).collect();
    // Where a counter is negative, that it drifts as well is no news.
    worst.sort_by_key(|f| (f.at.index, f.kind, f.counter));
    let mut named: Option<(Index, Option<&str>)> = None;
    for finding in worst {
        let here = (finding.at.index, finding.counter);
        if named == Some(here) {
            continue;
        }
        named = Some(here);
        let what = match (finding.counter, finding.value, finding.stored) {
            (Some(counter), _, Some(stored)) => {
                format!("{counter} {} not {}", signed(stored), signed(finding.recount.unwrap_or_default()))
            }
            (Some(counter), Some(value), None) => format!("{counter} {}", signed(value)),
            _ => finding.kind.name().replace('_', " "),
        };
        match pins.last_mut() {
            Some((index, text)) if *index == finding.at.index => _ = write!(text, ", {what}"),
            _ => pins.push((finding.at.index, format!("{}: {what}", finding.at.index))),
        }
    }
    pins
}

/// The drawn runs that another leader began. The bootstrap entry's own term is no leader's.
fn leader_changes(page: &Page) -> impl Iterator<Item = &Span> {
    let bootstrap = page.terms.first().is_some_and(|span| span.last == Index(1));
    let first = page.terms.get(usize::from(bootstrap)).map_or(Index(0), |span| span.first);
    page.bands.iter().filter(move |span| span.first > first)
}

/// Vertical lines: where a leader took over, and where findings begin.
fn rules(page: &Page, pins: &[(Index, String)], view: &View, bottom: u32) -> Markup {
    let hidden = |index: Index| (!view.shows(index)).then_some("hidden");
    html! {
        @for span in leader_changes(page) {
            line.leader data-i=(span.first) x1=(percent(view.at(span.first))) x2=(percent(view.at(span.first))) y1="0" y2=(bottom)
                visibility=[hidden(span.first)] { title { "leader change at " (span.first) ", term " (span.term) } }
        }
        @for (index, text) in pins {
            line.at data-i=(index) x1=(percent(view.at(*index))) x2=(percent(view.at(*index))) y1=(TERMS + PINS) y2=(bottom)
                visibility=[hidden(*index)] { title { (text) } }
        }
    }
}

/// Texts in one row, those left out that would run into the one before.
fn labels(texts: &[(Index, String)], view: &View, y: f64) -> Markup {
    let mut free = f64::MIN;
    html! {
        @for (index, text) in texts {
            @let at = view.at(*index) / 100.0 * NOMINAL;
            @let turned = at + width(text) > NOMINAL;
            @let left = if turned { at - width(text) } else { at };
            @let fits = view.shows(*index) && left >= free;
            text.pin data-i=(index) data-row="pins" x=(percent(view.at(*index))) dx=(if turned { "-5" } else { "5" }) y=(format!("{y}"))
                text-anchor=(if turned { "end" } else { "start" }) visibility=[(!fits).then_some("hidden")] { (text) }
            @if fits { ({ free = left + width(text); "" }) }
        }
    }
}

/// Snapshots, reconciles and gaps.
fn marks(events: &[&Event], view: &View, y: f64) -> Markup {
    let mut free = f64::MIN;
    html! {
        @for event in events {
            @let text = format!("\u{25c6} {} {}", event.kind.name(), event.index);
            @let at = view.at(event.index) / 100.0 * NOMINAL;
            @let turned = at + width(&text) > NOMINAL;
            @let left = if turned { at - width(&text) } else { at };
            @let fits = view.shows(event.index) && left >= free;
            text.event.(event.kind.name()) data-i=(event.index) data-row="events" x=(percent(view.at(event.index))) dx=(if turned { "4" } else { "-4" })
                y=(format!("{y}")) text-anchor=(if turned { "end" } else { "start" }) visibility=[(!fits).then_some("hidden")] { (text) }
            @if fits { ({ free = left + width(&text); "" }) }
        }
    }
}

/// Indexes along the bottom.
fn ticks(view: &View, bottom: u32) -> Markup {
    let (from, to) = view.range;
    html! {
        g.ticks data-top=(bottom) {
            @for tick in axis::ticks(from.0, to.0, 7) {
                @let at = view.at(Index(tick));
                @if at > 2.0 && at < 97.0 {
                    line.tick x1=(percent(at)) x2=(percent(at)) y1=(bottom) y2=(bottom + 4) {}
                    text.tick x=(percent(at)) y=(bottom + 16) text-anchor="middle" { (tick) }
                }
            }
        }
    }
}
