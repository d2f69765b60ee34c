//! The clocks of client nodes. Events carry the client's clock; how far off it is shows where a
//! report arrives: the server stamps it with its own.

use std::collections::HashMap;

use crate::fsm::id::Id;

/// Nanoseconds of a second.
pub(super) const SECOND: i64 = 1_000_000_000;

/// A report is on its way for up to about a second: clients gather updates for a fifth of one, and
/// wait for a busy server. A node whose fastest report seems quicker or slower than this has a
/// clock that is off.
const USUAL: std::ops::RangeInclusive<i64> = -SECOND..=3 * SECOND;

/// How long the fastest reports take.
const LATENCY: i64 = SECOND * 3 / 10;

/// What is known of the nodes' clocks.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    /// The smallest difference seen between the server's time of a report and the newest event in it.
    fastest: HashMap<Id, i64>,
}

impl Clocks {
    /// Notes a report: the server took it at `server`, its newest event is of `client`.
    pub(super) fn note(&mut self, node: &Id, server: i64, client: i64) {
        let delay = server.saturating_sub(client);
        self.fastest.entry(node.clone()).and_modify(|d| *d = delay.min(*d)).or_insert(delay);
    }

    /// What is to be added to the node's times to come to the server's; `None` where its clock is right.
    pub(super) fn correction(&self, node: &Id) -> Option<i64> {
        let delay = *self.fastest.get(node)?;
        (!USUAL.contains(&delay)).then(|| delay.saturating_sub(LATENCY))
    }

    /// A node's time as the server's clock would have it.
    pub(super) fn corrected(&self, node: &Id, time: i64) -> i64 {
        time.saturating_add(self.correction(node).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_corrected_only_where_its_fastest_report_is_out_of_the_usual() {
        let mut clocks = Clocks::default();
        let (right, behind, ahead) = (Id::new("right"), Id::new("behind"), Id::new("ahead"));
        clocks.note(&right, 100 * SECOND, 40 * SECOND);
        clocks.note(&right, 100 * SECOND, 99 * SECOND);
        clocks.note(&behind, 100 * SECOND, 70 * SECOND);
        clocks.note(&ahead, 100 * SECOND, 160 * SECOND);
        assert_eq!(clocks.correction(&right), None);
        assert_eq!(clocks.corrected(&behind, 70 * SECOND), 100 * SECOND - LATENCY);
        assert_eq!(clocks.corrected(&ahead, 160 * SECOND), 100 * SECOND - LATENCY);
        assert_eq!(clocks.corrected(&Id::new("unheard"), 5), 5);
    }
}
