//! `--min-running N|P%`: how many allocations are to run while a job is restarted, and for how long
//! there were fewer.

use std::str::FromStr;

use super::watch::Sample;
use super::{Below, Member, Moment};
use crate::types::Index;

/// A number of allocations, or a part of what a group wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// So many.
    Number(u64),
    /// So many of a hundred.
    Percent(u64),
}

/// Text that is no amount.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no number of allocations; write a number above 0, or a percentage up to 100 such as 50%")]
pub struct BadAmount(String);

impl FromStr for Amount {
    type Err = BadAmount;

    fn from_str(text: &str) -> Result<Self, BadAmount> {
        let bad = || BadAmount(text.to_owned());
        let (digits, percent) = match text.strip_suffix('%') {
            Some(digits) => (digits, true),
            None => (text, false),
        };
        let number: u64 = digits.trim().parse().map_err(|_| bad())?;
        match (number, percent) {
            (0, _) | (101.., true) => Err(bad()),
            (_, true) => Ok(Amount::Percent(number)),
            (_, false) => Ok(Amount::Number(number)),
        }
    }
}

impl Amount {
    /// The number for `count` allocations; parts are rounded up, as `nomad job restart` does.
    pub fn of(self, count: i64) -> i64 {
        match self {
            Amount::Number(n) => i64::try_from(n).unwrap_or(i64::MAX),
            Amount::Percent(p) => {
                let parts = i128::from(count.max(0)) * i128::from(p);
                i64::try_from((parts + 99) / 100).unwrap_or(i64::MAX)
            }
        }
    }
}

/// What the groups of a restart came to after an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Total {
    pub at: Moment,
    pub running: i64,
    pub starting: i64,
    pub wanted: i64,
}

/// The totals of some groups along the log: one for each entry that changed one of them.
pub(super) fn totals(samples: &[Sample], groups: &[std::sync::Arc<str>]) -> Vec<Total> {
    let mut now: Vec<(i64, i64, i64)> = vec![(0, 0, 0); groups.len()];
    let mut out: Vec<Total> = Vec::new();
    for sample in samples {
        let Some(slot) = groups.iter().position(|g| *g == sample.group).and_then(|i| now.get_mut(i)) else { continue };
        *slot = (sample.running, sample.starting, sample.wanted);
        let mut total = Total { at: sample.at, running: 0, starting: 0, wanted: 0 };
        for (running, starting, wanted) in &now {
            total.running += running;
            total.starting += starting;
            total.wanted += wanted;
        }
        match out.last_mut() {
            Some(last) if last.at.index == sample.at.index => *last = total,
            _ => out.push(total),
        }
    }
    out
}

/// A change in how many tasks of restarted allocations are down, by the clients' events: these tell
/// of falls that were over before the client reported them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dip {
    pub at: Moment,
    /// How many are down from then on.
    pub down: i64,
}

/// The dips of a restart in place, in order of time.
pub(super) fn dips<'m>(members: impl Iterator<Item = &'m Member>) -> Vec<Dip> {
    let mut steps: Vec<(Moment, i64)> = Vec::new();
    for member in members {
        if let Some(down) = member.down {
            steps.push((down, 1));
            steps.extend(member.back.map(|back| (back, -1)));
        }
    }
    // What comes back at the moment at which another goes was not down with it.
    steps.sort_by_key(|(at, step)| (at.time, *step, at.index));
    let mut down = 0;
    steps
        .into_iter()
        .map(|(at, step)| {
            down += step;
            Dip { at, down }
        })
        .collect()
}

/// How long, from `first` on, fewer than the threshold ran. A fall that begins after `last` is no
/// longer the restart's.
pub(super) fn below(
    amount: Amount,
    totals: &[Total],
    dips: &[Dip],
    (first, last): (Index, Index),
    end: Moment,
) -> Option<Below> {
    let start = totals.iter().rev().find(|t| t.at.index < first)?;
    let threshold = amount.of(start.wanted);
    let mut spans: Vec<Span> = Vec::new();
    let mut open: Option<Span> = None;
    for total in totals.iter().filter(|t| t.at.index >= first) {
        let low = total.running < amount.of(total.wanted);
        match (&mut open, low) {
            (Some(span), true) => span.lowest = span.lowest.min(total.running),
            (None, true) if total.at.index <= last => {
                open = Some(Span { from: total.at, until: None, lowest: total.running });
            }
            (Some(_), false) => spans.extend(open.take().map(|s| Span { until: Some(total.at), ..s })),
            (None, _) => {}
        }
    }
    spans.extend(open.take());
    for dip in dips {
        let running = start.running - dip.down;
        match (&mut open, running < threshold) {
            (Some(span), true) => span.lowest = span.lowest.min(running),
            (None, true) => open = Some(Span { from: dip.at, until: None, lowest: running }),
            (Some(_), false) => spans.extend(open.take().map(|s| Span { until: Some(dip.at), ..s })),
            (None, false) => {}
        }
    }
    spans.extend(open);
    let shown = spans.iter().min_by_key(|s| s.from.index)?;
    let until: Option<Vec<Moment>> = spans.iter().map(|s| s.until).collect();
    Some(Below {
        threshold,
        count: start.wanted,
        lowest: spans.iter().map(|s| s.lowest).min()?,
        first: shown.from,
        until: until.and_then(|all| all.into_iter().max_by_key(|m| m.index)),
        longest: spans.iter().filter_map(|s| s.length(end)).max(),
    })
}

/// A time below the threshold.
#[derive(Clone, Copy, Debug)]
struct Span {
    from: Moment,
    until: Option<Moment>,
    lowest: i64,
}

impl Span {
    fn length(&self, end: Moment) -> Option<i64> {
        let until = self.until.unwrap_or(end).time?;
        Some(until.saturating_sub(self.from.time?).max(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_a_number_or_a_percentage_that_rounds_up() {
        assert_eq!("3".parse::<Amount>().unwrap().of(10), 3);
        assert_eq!("50%".parse::<Amount>().unwrap().of(4), 2);
        assert_eq!("50%".parse::<Amount>().unwrap().of(5), 3);
        assert_eq!("100%".parse::<Amount>().unwrap().of(3), 3);
        assert_eq!("1%".parse::<Amount>().unwrap().of(0), 0);
        for bad in ["", "0", "-1", "101%", "0%", "x", "5%%", "1.5"] {
            assert!(bad.parse::<Amount>().is_err(), "{bad}");
        }
    }
}
