//! One restart, entry by entry: what the early design's `-attach` would have shown.

use serde::Serialize;

use super::json::rfc3339;
use super::{Kind, Member, Moment, Restart};
use crate::types::{Index, Term};

/// One step of a restart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// The entry that shows it.
    pub index: Index,
    /// Its term.
    pub term: Term,
    /// When it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// The batch, counted from 1; absent for the entries of the early design.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<usize>,
    /// The allocation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alloc: Option<String>,
    /// What happened.
    pub what: String,
}

/// The steps of a restart, in order of the entries, and within one of time.
pub fn story(restart: &Restart) -> Vec<Step> {
    let mut steps: Vec<(Moment, Step)> = Vec::new();
    for (i, batch) in restart.batches.iter().enumerate() {
        for member in &batch.members {
            for (moment, what) in told(member, restart.kind) {
                let alloc = Some(member.alloc.to_string());
                steps.push((moment, step(moment, Some(i + 1), alloc, what)));
            }
        }
    }
    for entry in &restart.recorded {
        let what = match entry.restarted.len() {
            0 => format!("recorded as {}", entry.status),
            1 => format!("recorded as {}, 1 allocation restarted", entry.status),
            n => format!("recorded as {}, {n} allocations restarted", entry.status),
        };
        steps.push((entry.at, step(entry.at, None, None, what)));
    }
    steps.sort_by_key(|(at, _)| (at.index, at.time));
    steps.into_iter().map(|(_, step)| step).collect()
}

fn step(at: Moment, batch: Option<usize>, alloc: Option<String>, what: String) -> Step {
    Step { index: at.index, term: at.term, time: at.time.map(rfc3339), batch, alloc, what }
}

fn told(member: &Member, kind: Kind) -> Vec<(Moment, String)> {
    let mut told = Vec::new();
    let mut add = |moment: Option<Moment>, what: String| told.extend(moment.map(|m| (m, what)));
    let new = member.replacement.as_ref().map(ToString::to_string).unwrap_or_default();
    let stops = kind == Kind::Reschedule || member.planned.is_some();
    if member.inferred {
        add(Some(member.asked), "restarted, by its number of restarts; its events are lost".into());
    } else if stops {
        add(Some(member.asked), "asked to stop".into());
        add(member.planned, if new.is_empty() { "stopped by a plan".into() } else { format!("replaced by {new}") });
        add(member.down, "ended".into());
        add(member.back, format!("{new} runs"));
        add(member.healthy, format!("{new} is healthy"));
    } else {
        add(Some(member.asked), "asked to restart".into());
        add(member.down, "its tasks ended".into());
        add(member.back, "runs again".into());
    }
    if member.failed {
        let last = member.down.or(member.planned).unwrap_or(member.asked);
        told.push((last, "failed, and did not come back".into()));
    }
    told
}
