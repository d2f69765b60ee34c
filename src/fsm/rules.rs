//! The one place that knows Nomad's versions: named switches, each with the releases at which it
//! came, and one function from a version to the set of them (fsm.md 4).

use std::fmt;
use std::str::FromStr;

use crate::entry::message_type::KNOWN;

/// A Nomad version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Major.
    pub major: u16,
    /// Minor.
    pub minor: u16,
    /// Patch.
    pub patch: u16,
}

impl Version {
    /// The newest version whose behaviour is known.
    pub const NEWEST: Version = Version::new(2, 0, 5);

    /// The oldest version whose behaviour is described.
    pub const OLDEST: Version = Version::new(0, 8, 0);

    /// A version of the three parts.
    pub const fn new(major: u16, minor: u16, patch: u16) -> Self {
        Version { major, minor, patch }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// Text that is no version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no Nomad version; write it like 1.6.2")]
pub struct VersionError(String);

impl FromStr for Version {
    type Err = VersionError;

    /// `1.6.2`, also with a leading `v` and with `+ent`, `-rc1` and the like behind it.
    fn from_str(text: &str) -> Result<Self, VersionError> {
        let plain = text.strip_prefix('v').unwrap_or(text);
        let plain = plain.split(['-', '+']).next().unwrap_or_default();
        let mut parts = plain.split('.').map(|p| p.parse().ok());
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(Some(major)), Some(Some(minor)), Some(Some(patch)), None) => Ok(Version::new(major, minor, patch)),
            _ => Err(VersionError(text.to_owned())),
        }
    }
}

/// One difference between versions.
#[derive(Clone, Copy, Debug)]
pub struct Switch {
    /// Its name, that of the field in [`Rules`].
    pub name: &'static str,
    /// The release it came with, then the patch releases of older lines that got it as well.
    pub since: &'static [Version],
    /// Pull requests, empty where none is known.
    pub pull_requests: &'static str,
    /// What the newer versions do.
    pub summary: &'static str,
}

impl Switch {
    /// Whether a version has it: it is at or above the first release, or in the line of a later
    /// patch release and not below that.
    pub fn is_on(&self, version: Version) -> bool {
        has_come(version, self.since)
    }
}

macro_rules! switches {
    ($(#[doc = $doc:literal] $name:ident: [$(($a:literal, $b:literal, $c:literal)),*], $prs:literal;)*) => {
        /// What the FSM of one version does: a set of switches, each on where that version has it.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Rules {
            /// The version it stands for.
            pub version: Version,
            /// A named variation, which no version has: a register always starts with an empty
            /// status. The authors of #10145 weighed it and left committed entries as they were.
            pub reset_child_status: bool,
            known_types: u128,
            known_records: u128,
            $(#[doc = $doc] pub $name: bool,)*
        }

        impl Rules {
            /// The rules of a version.
            pub fn for_version(version: Version) -> Self {
                let mut switches = SWITCHES.iter();
                let mut next = || switches.next().is_some_and(|s| s.is_on(version));
                Rules { version, reset_child_status: false, known_types: known_types(version), known_records: known_records(version), $($name: next(),)* }
            }
        }

        /// Every switch, in the order in which they came.
        pub const SWITCHES: &[Switch] = &[$(Switch {
            name: stringify!($name),
            since: &[$(Version::new($a, $b, $c)),*],
            pull_requests: $prs,
            summary: $doc.trim_ascii_start(),
        },)*];
    };
}

switches! {
    /// A register's version number is kept where it is above the existing job's.
    incoming_version_kept: [(0, 12, 0)], "";
    /// A register or deregister applies the evaluation that it carries.
    eval_in_register: [(0, 12, 1)], "#8435";
    /// Namespaces are rows, and a job needs its namespace to exist.
    namespaces: [(1, 0, 0)], "";
    /// A new job keeps the version number that it arrives with.
    first_version_kept: [(1, 0, 0)], "";
    /// A client update carries the network status.
    network_status: [(1, 0, 0)], "";
    /// A new job's status change counts from the status it arrived with, not from none.
    new_job_status_kept: [(1, 0, 4)], "#9768, #9884";
    /// A node remembers its last drain.
    last_drain: [(1, 1, 0)], "";
    /// Jobs of type sysbatch are known to the scheduler inside a reconcile.
    sysbatch: [(1, 2, 0)], "#9160";
    /// A deregister can skip the shutdown delay of the job's allocations.
    no_shutdown_delay: [(1, 2, 4)], "#11596";
    /// A desired transition moves an allocation's AllocModifyIndex.
    transition_moves_alloc_index: [(1, 2, 4)], "";
    /// The client status unknown is counted, and a plan may set it.
    unknown_client_status: [(1, 3, 0)], "#12476";
    /// A purge moves the index of the CSI plugins only where the job uses one.
    purge_keeps_csi_index: [(1, 3, 0)], "";
    /// An operator's delete of evaluations needs the eval broker paused.
    eval_delete_by_user: [(1, 3, 2)], "#13492";
    /// A plan marks nodes ineligible that rejected too many plans.
    plan_marks_nodes: [(1, 3, 2)], "";
    /// A delete that finds nothing leaves the tables' indexes alone.
    empty_delete_keeps_indexes: [(1, 3, 2)], "";
    /// Evaluations can be deleted by filter, without a status recompute.
    eval_delete_by_filter: [(1, 4, 3)], "#15117";
    /// AllocUpdate (8) is ignored.
    alloc_update_ignored: [(1, 4, 3)], "#15117";
    /// A register applies the deployment that it carries.
    deployment_in_register: [(1, 5, 0), (1, 4, 5), (1, 3, 10)], "";
    /// A node remembers the index of its last allocation report and of its last missed heartbeat.
    node_tracks_reports: [(1, 5, 0), (1, 4, 5), (1, 3, 10)], "";
    /// A canceled blocked evaluation gets the time of the one that completed.
    cancel_takes_time: [(1, 6, 0), (1, 5, 6), (1, 4, 10), (1, 3, 15)], "";
    /// Node pools are rows, and a job needs its pool to exist.
    node_pools: [(1, 6, 0)], "";
    /// The source of a job is kept beside its versions.
    job_submissions: [(1, 6, 0)], "";
    /// A stop takes over the request's submit time.
    stop_sets_submit_time: [(1, 6, 4), (1, 5, 11)], "";
    /// A purge completes the job's pending evaluations and deletes its allocations and deployments.
    purge_cleans_up: [(1, 8, 0), (1, 7, 3), (1, 6, 6), (1, 5, 13)], "#19609";
    /// A refused delete of a namespace returns its error.
    namespace_delete_errors: [(1, 8, 0), (1, 7, 3), (1, 6, 6), (1, 5, 13)], "#19609";
    /// Deleting a deployment that is not there is no error.
    deployment_delete_skips_missing: [(1, 8, 0), (1, 7, 3), (1, 6, 6), (1, 5, 13)], "#19609";
    /// A plan's allocations keep their job as the plan has it.
    plan_jobs_as_written: [(1, 8, 0), (1, 7, 5), (1, 6, 8), (1, 5, 15)], "#19937";
    /// A batch deregister has no evaluations; those in older entries are ignored.
    batch_deregister_without_evals: [(1, 8, 0)], "#20510";
    /// A terminal or deleted allocation takes its service registrations with it.
    services_end_with_allocs: [(1, 8, 0)], "";
    /// Versions can be tagged, and tagged ones are never pruned.
    version_tags: [(1, 9, 0)], "#24055";
    /// Keys of the keyring are in the state with their material, and their table has another name.
    wrapped_root_keys: [(1, 9, 0)], "";
    /// A deployment keeps the time of its last change.
    deployment_modify_time: [(1, 9, 2)], "";
    /// A stopped job without evaluations is dead, and ended allocations alone make none dead.
    stop_is_dead: [(1, 9, 6), (1, 8, 10)], "#24974";
    /// The row of a job's version follows its status.
    version_row_follows_status: [(1, 9, 6), (1, 8, 10)], "#24974, #25081";
    /// Accessors of Vault and Consul tokens are ignored.
    accessors_ignored: [(1, 10, 0)], "";
    /// Task groups claim the host volumes that they stay with.
    sticky_volumes: [(1, 10, 0)], "";
    /// A reconnecting allocation cancels its follow-up evaluation.
    reconnect_cancels_eval: [(1, 10, 2)], "#25923";
    /// A plan's update keeps an allocation's NextAllocation.
    next_allocation_kept: [(1, 10, 2)], "#25923";
    /// A stop disables the job's scaling policies.
    stop_disables_scaling: [(1, 10, 2)], "";
    /// A register's request to keep counts or resources is resolved by the FSM.
    preserve_in_fsm: [(1, 11, 0)], "#26841";
    /// A node's status update carries the key that signed its identity.
    node_identity: [(1, 11, 0)], "";
    /// A plan applies updates before stops, ignores the old lists, and a stop overwrites AllocStates.
    plan_updates_first: [(1, 11, 1)], "#27129";
    /// A plan's new allocations of stopped or missing jobs are left out.
    allocs_of_stopped_jobs_skipped: [(1, 11, 2)], "#27419";
    /// A second dispatch with the same idempotency token has no effect.
    idempotency_in_fsm: [(1, 11, 2), (1, 10, 8), (1, 8, 20)], "#27353";
    /// A job's evaluations are found by its exact ID, not by prefix as since the switch stop_is_dead.
    exact_job_evals: [(1, 11, 3), (1, 10, 9), (1, 8, 21)], "#27516";
    /// A plan keeps the counters of a deployment that clients own, and may not take back a promotion.
    deployment_counters_merged: [(1, 11, 3)], "";
    /// A register with EnforceIndex is refused where the index does not fit.
    enforce_index_in_fsm: [(2, 0, 1)], "#27832";
    /// An active deployment keeps its job running.
    deployment_keeps_running: [(2, 0, 1)], "#27852";
    /// A client update computes statuses once, after all its allocations, and forces none to running.
    client_updates_batched: [(2, 0, 1)], "#27852";
    /// A version tag can name the latest version.
    tag_latest_version: [(2, 0, 1)], "";
    /// A deployment's status update starts its progress deadline anew.
    status_update_resets_deadline: [(2, 0, 1)], "#27804";
    /// Only an update to running or paused does so.
    deadline_reset_when_unfinished: [(2, 0, 5)], "#28225";
}

impl Rules {
    /// Whether a server of this version knows a message type, given without the ignore flag. On
    /// one that it does not know and that lacks the flag it crashes (fsm.md 1).
    pub fn knows_type(&self, number: u8) -> bool {
        self.known_types >> (number & 0x7f) & 1 == 1
    }

    /// Whether a server of this version takes a message of that type and does nothing with it, not even read it
    /// (fsm.md 1).
    pub fn ignores_type(&self, number: u8) -> bool {
        match number & 0x7f {
            8 => self.alloc_update_ignored,
            11 | 12 | 33 | 34 => self.accessors_ignored,
            41..=43 => true,
            _ => false,
        }
    }
}

impl Rules {
    /// Whether a server of this version can read a snapshot record of this type. One that it cannot read makes it
    /// refuse the snapshot (fsm.md 5).
    pub fn knows_record(&self, kind: u8) -> bool {
        kind < 128 && self.known_records >> kind & 1 == 1
    }
}

/// The types of snapshot records, each with the releases from which on it can be read: the first, then the patch
/// releases of older lines (fsm.md 5). Event sinks (20) were never written, and restoring one fails.
const RECORDS: &[(&[u8], &[Version])] = &[
    (&[0, 1, 2, 3, 4, 5, 6], &[Version::new(0, 1, 0)]),
    (&[7], &[Version::new(0, 4, 1)]),
    (&[8], &[Version::new(0, 5, 0)]),
    (&[9, 10], &[Version::new(0, 6, 0)]),
    (&[11, 12], &[Version::new(0, 7, 0)]),
    (&[13], &[Version::new(0, 9, 0)]),
    (&[14, 15], &[Version::new(0, 10, 4)]),
    (&[16, 17, 18, 19], &[Version::new(0, 11, 0)]),
    (&[64], &[Version::new(1, 0, 0)]),
    (&[21], &[Version::new(1, 3, 0)]),
    (&[22, 23, 24, 25], &[Version::new(1, 4, 0)]),
    (&[26, 27], &[Version::new(1, 5, 0)]),
    (&[28], &[Version::new(1, 6, 0)]),
    (&[29], &[Version::new(1, 8, 0), Version::new(1, 7, 3), Version::new(1, 6, 6)]),
    (&[30], &[Version::new(1, 9, 0)]),
    (&[31], &[Version::new(1, 10, 0)]),
];

/// A bit for each type of snapshot record that a version can read.
fn known_records(version: Version) -> u128 {
    let known = RECORDS.iter().filter(|(_, since)| has_come(version, since)).flat_map(|(kinds, _)| kinds.iter());
    known.fold(0, |records, kind| records | 1 << kind)
}

/// Whether a version is at or above the first release, or in the line of a later patch release and not below that.
fn has_come(version: Version, since: &[Version]) -> bool {
    since
        .iter()
        .enumerate()
        .any(|(i, since)| version >= *since && (i == 0 || (version.major, version.minor) == (since.major, since.minor)))
}

/// A bit for each message type that a version knows.
fn known_types(version: Version) -> u128 {
    let known = KNOWN.iter().filter(|t| since(t.since).is_none_or(|since| version >= since));
    known.fold(0, |types, t| types | 1 << t.number)
}

/// The release that a type came with, which can lack its patch number: `0.8`.
fn since(text: &str) -> Option<Version> {
    let mut parts = text.split('.').map(|p| p.parse().ok());
    Some(Version::new(parts.next()??, parts.next()??, parts.next().flatten().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str) -> Rules {
        Rules::for_version(text.parse().unwrap())
    }

    #[test]
    fn a_backport_holds_in_its_own_line_only() {
        assert!(rules("1.7.3").purge_cleans_up);
        assert!(!rules("1.7.2").purge_cleans_up);
        assert!(!rules("1.4.14").purge_cleans_up);
        assert!(rules("1.8.0").purge_cleans_up);
        assert!(rules("1.8.10").stop_is_dead && !rules("1.9.5").stop_is_dead && rules("1.9.6").stop_is_dead);
    }

    #[test]
    fn a_version_reads_with_its_decorations() {
        assert_eq!("v1.10.9+ent".parse(), Ok(Version::new(1, 10, 9)));
        assert_eq!("2.0.0-beta.1".parse(), Ok(Version::new(2, 0, 0)));
        for bad in ["", "1", "1.2", "1.2.3.4", "a.b.c", "1.-2.3", "1.+2.3"] {
            assert!(bad.parse::<Version>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_type_is_known_from_its_release_on() {
        assert!(rules("1.0.4").knows_type(4) && rules("1.0.4").knows_type(64));
        assert!(!rules("1.5.0").knows_type(59) && rules("1.6.0").knows_type(59));
        for enterprise in [63, 66, 78, 127] {
            assert!(!rules("2.0.5").knows_type(enterprise));
        }
    }

    #[test]
    fn a_snapshot_record_is_read_from_its_release_on() {
        assert!(!rules("1.2.0").knows_record(28) && rules("1.6.0").knows_record(28));
        assert!(rules("1.6.6").knows_record(29) && !rules("1.7.0").knows_record(29));
        assert!(
            !rules("2.0.5").knows_record(20) && !rules("2.0.5").knows_record(65) && !rules("2.0.5").knows_record(200)
        );
    }

    #[test]
    fn every_switch_names_a_release_first_and_older_lines_behind_it() {
        for switch in SWITCHES {
            assert!(switch.since.windows(2).all(|w| w[0] > w[1]), "{}", switch.name);
            assert!(!switch.since.is_empty() && !switch.summary.is_empty(), "{}", switch.name);
        }
    }
}
