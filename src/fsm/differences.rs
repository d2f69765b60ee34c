//! In what two rule books differ: switches, message types and named variations, as rows for people.

use std::borrow::Cow;

use super::rules::{Rules, SWITCHES, Switch, Version};
use crate::entry::message_type::KNOWN;

/// One thing that some versions do and others do not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The switch, `message_type_N` for a message type, or the name of a variation.
    pub name: Cow<'static, str>,
    /// The release that it came with, then the patch releases of older lines that got it as well;
    /// empty for a variation, which no release has.
    pub since: Vec<String>,
    /// Its pull requests, with the `#`.
    pub pull_requests: Vec<&'static str>,
    /// What those that have it do.
    pub summary: Cow<'static, str>,
}

impl Difference {
    fn of_switch(switch: &Switch) -> Self {
        Difference {
            name: Cow::Borrowed(switch.name),
            since: switch.since.iter().map(Version::to_string).collect(),
            pull_requests: switch.pull_requests.split(", ").filter(|pr| !pr.is_empty()).collect(),
            summary: Cow::Borrowed(switch.summary),
        }
    }
}

/// Every switch, in the order in which they came (fsm.md 4).
pub fn switches() -> Vec<Difference> {
    SWITCHES.iter().map(Difference::of_switch).collect()
}

/// Whether the rules have each of [`switches`], in the same order.
pub fn has_switches(rules: &Rules) -> Vec<bool> {
    SWITCHES.iter().map(|switch| switch.is_on(rules.version)).collect()
}

/// What one of two rule books has and the other lacks: the difference, and whether `a` and `b` have it.
pub fn between(a: &Rules, b: &Rules) -> Vec<(Difference, bool, bool)> {
    let switches = switches().into_iter().zip(has_switches(a)).zip(has_switches(b));
    let switches = switches.map(|((difference, in_a), in_b)| (difference, in_a, in_b));
    let types = KNOWN.iter().map(|known| {
        let difference = Difference {
            name: Cow::Owned(format!("message_type_{}", known.number)),
            since: vec![known.since.to_owned()],
            pull_requests: Vec::new(),
            summary: Cow::Owned(format!(
                "{} is known; a server that lacks it crashes on one without the ignore flag.",
                known.name
            )),
        };
        (difference, a.knows_type(known.number), b.knows_type(known.number))
    });
    let variation = Difference {
        name: Cow::Borrowed("reset_child_status"),
        since: Vec::new(),
        pull_requests: vec!["#10145"],
        summary: Cow::Borrowed("A register always starts with an empty status; no version does so."),
    };
    let variations = [(variation, a.reset_child_status, b.reset_child_status)];
    switches.chain(types).chain(variations).filter(|(_, in_a, in_b)| in_a != in_b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str) -> Rules {
        Rules::for_version(text.parse().unwrap())
    }

    fn names(a: &Rules, b: &Rules) -> Vec<(String, bool, bool)> {
        between(a, b).into_iter().map(|(d, a, b)| (d.name.into_owned(), a, b)).collect()
    }

    #[test]
    fn the_fix_of_the_double_count_is_all_that_1_0_4_changed() {
        assert_eq!(names(&rules("1.0.3"), &rules("1.0.4")), [("new_job_status_kept".into(), false, true)]);
        assert_eq!(names(&rules("1.0.4"), &rules("1.0.3")), [("new_job_status_kept".into(), true, false)]);
        assert_eq!(names(&rules("1.0.4"), &rules("1.0.6")), []);
    }

    #[test]
    fn message_types_and_variations_count_as_differences() {
        let new = names(&rules("1.4.9"), &rules("1.5.0"));
        assert_eq!(
            new.iter().map(|(name, ..)| &name[..]).collect::<Vec<_>>(),
            [55, 56, 57, 58].map(|n| format!("message_type_{n}"))
        );
        let backported = names(&rules("1.4.14"), &rules("1.5.0"));
        assert_eq!(backported[0], ("cancel_takes_time".into(), true, false));
        let mut varied = rules("2.0.5");
        varied.reset_child_status = true;
        assert_eq!(names(&rules("2.0.5"), &varied), [("reset_child_status".into(), false, true)]);
    }

    #[test]
    fn a_switch_names_each_pull_request() {
        let all = switches();
        let fix = all.iter().find(|d| d.name == "new_job_status_kept").unwrap();
        assert_eq!(fix.pull_requests, ["#9768", "#9884"]);
        assert_eq!(fix.since, ["1.0.4"]);
        assert!(all.iter().all(|d| !d.since.is_empty()));
    }
}
