//! Restarts of jobs that fell below a threshold, as findings (`audit --min-running`).

use std::sync::Arc;

use super::finding::{Finding, Kind, Place, Severity, Until};
use crate::entry::message_type::MessageTypes;
use crate::restarts::{Moment, Restart};

/// One finding for each restart during which fewer allocations ran than were asked for. `types` names
/// the message types.
pub fn findings(restarts: &[Restart], types: &MessageTypes) -> Vec<Finding> {
    restarts.iter().filter_map(|restart| finding(restart, types)).collect()
}

fn finding(restart: &Restart, types: &MessageTypes) -> Option<Finding> {
    let below = restart.below.as_ref()?;
    let name = |at: &Moment| -> Arc<str> { at.command.map_or_else(|| "".into(), |n| types.name(n).as_ref().into()) };
    let first = &below.first;
    let at = Place { index: first.index, term: first.term, entry: name(first) };
    let mut finding = Finding::new(Kind::RestartBelowThreshold, Severity::Warning, at).about_job(&restart.job);
    finding.group = match restart.groups.as_slice() {
        [one] => Some(one.clone()),
        _ => None,
    };
    finding.value = Some(below.lowest);
    finding.min_value = Some(below.lowest);
    finding.until = Some(below.until.as_ref().map_or(Until::Never, |until| Until::Index(until.index)));
    finding.until_entry = below.until.as_ref().map(name);
    let longest = match below.longest {
        Some(nanos) => format!(", for up to {:.1} seconds at a time", nanos as f64 / 1e9),
        None => String::new(),
    };
    finding.detail = Some(format!(
        "the {} restart {} left {} of {} allocations running where {} were asked for{longest}",
        restart.kind.name().replace('_', " "),
        restart.id,
        below.lowest,
        below.count,
        below.threshold
    ));
    Some(finding)
}
