//! Nomad's message types: the first byte of a command (fsm.md 1, storage.md 4.1).

use std::borrow::Cow;
use std::collections::BTreeMap;

/// One known message type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// The low seven bits of the command's first byte.
    pub number: u8,
    /// The newest community constant's name, which `CommandType` and `entry` show (contract.md 3).
    pub name: &'static str,
    /// The first Nomad release that has it.
    pub since: &'static str,
    /// A name that older releases used, also understood when asked for by name; else empty.
    pub was: &'static str,
}

const fn known(number: u8, name: &'static str, since: &'static str) -> Known {
    Known { number, name, since, was: "" }
}

const fn renamed(number: u8, name: &'static str, since: &'static str, was: &'static str) -> Known {
    Known { number, name, since, was }
}

/// Every message type that a community release has named and a log can hold, by number.
///
/// 63 was never given away, 66 to 74 and 78 are Enterprise's, and 127 never reaches a log: they stay numbers.
pub const KNOWN: &[Known] = &[
    known(0, "NodeRegisterRequestType", "0.1.0"),
    known(1, "NodeDeregisterRequestType", "0.1.0"),
    known(2, "NodeUpdateStatusRequestType", "0.1.0"),
    known(3, "NodeUpdateDrainRequestType", "0.1.0"),
    known(4, "JobRegisterRequestType", "0.1.0"),
    known(5, "JobDeregisterRequestType", "0.1.0"),
    known(6, "EvalUpdateRequestType", "0.1.0"),
    known(7, "EvalDeleteRequestType", "0.1.0"),
    known(8, "AllocUpdateRequestType", "0.1.0"),
    known(9, "AllocClientUpdateRequestType", "0.1.0"),
    known(10, "ReconcileJobSummariesRequestType", "0.4.1"),
    known(11, "VaultAccessorRegisterRequestType", "0.5.0"),
    renamed(12, "VaultAccessorDeregisterRequestType", "0.5.0", "VaultAccessorDegisterRequestType"),
    known(13, "ApplyPlanResultsRequestType", "0.6.0"),
    known(14, "DeploymentStatusUpdateRequestType", "0.6.0"),
    known(15, "DeploymentPromoteRequestType", "0.6.0"),
    known(16, "DeploymentAllocHealthRequestType", "0.6.0"),
    known(17, "DeploymentDeleteRequestType", "0.6.0"),
    known(18, "JobStabilityRequestType", "0.6.0"),
    known(19, "ACLPolicyUpsertRequestType", "0.7.0"),
    known(20, "ACLPolicyDeleteRequestType", "0.7.0"),
    known(21, "ACLTokenUpsertRequestType", "0.7.0"),
    known(22, "ACLTokenDeleteRequestType", "0.7.0"),
    known(23, "ACLTokenBootstrapRequestType", "0.7.0"),
    known(24, "AutopilotRequestType", "0.8.0"),
    known(25, "UpsertNodeEventsType", "0.8.0"),
    known(26, "JobBatchDeregisterRequestType", "0.8.0"),
    known(27, "AllocUpdateDesiredTransitionRequestType", "0.8.0"),
    known(28, "NodeUpdateEligibilityRequestType", "0.8.0"),
    known(29, "BatchNodeUpdateDrainRequestType", "0.8.0"),
    known(30, "SchedulerConfigRequestType", "0.9.0"),
    known(31, "NodeBatchDeregisterRequestType", "0.9.4"),
    known(32, "ClusterMetadataRequestType", "0.10.4"),
    known(33, "ServiceIdentityAccessorRegisterRequestType", "0.10.4"),
    known(34, "ServiceIdentityAccessorDeregisterRequestType", "0.10.4"),
    known(35, "CSIVolumeRegisterRequestType", "0.11.0"),
    known(36, "CSIVolumeDeregisterRequestType", "0.11.0"),
    known(37, "CSIVolumeClaimRequestType", "0.11.0"),
    known(38, "ScalingEventRegisterRequestType", "0.11.0"),
    known(39, "CSIVolumeClaimBatchRequestType", "0.11.2"),
    known(40, "CSIPluginDeleteRequestType", "0.11.2"),
    known(41, "EventSinkUpsertRequestType", "1.0.0"),
    known(42, "EventSinkDeleteRequestType", "1.0.0"),
    known(43, "BatchEventSinkUpdateProgressType", "1.0.0"),
    known(44, "OneTimeTokenUpsertRequestType", "1.1.0"),
    known(45, "OneTimeTokenDeleteRequestType", "1.1.0"),
    known(46, "OneTimeTokenExpireRequestType", "1.1.0"),
    known(47, "ServiceRegistrationUpsertRequestType", "1.3.0"),
    known(48, "ServiceRegistrationDeleteByIDRequestType", "1.3.0"),
    known(49, "ServiceRegistrationDeleteByNodeIDRequestType", "1.3.0"),
    known(50, "VarApplyStateRequestType", "1.4.0"),
    known(51, "RootKeyMetaUpsertRequestType", "1.4.0"),
    renamed(52, "WrappedRootKeysDeleteRequestType", "1.4.0", "RootKeyMetaDeleteRequestType"),
    known(53, "ACLRolesUpsertRequestType", "1.4.0"),
    known(54, "ACLRolesDeleteByIDRequestType", "1.4.0"),
    known(55, "ACLAuthMethodsUpsertRequestType", "1.5.0"),
    known(56, "ACLAuthMethodsDeleteRequestType", "1.5.0"),
    known(57, "ACLBindingRulesUpsertRequestType", "1.5.0"),
    known(58, "ACLBindingRulesDeleteRequestType", "1.5.0"),
    known(59, "NodePoolUpsertRequestType", "1.6.0"),
    known(60, "NodePoolDeleteRequestType", "1.6.0"),
    known(61, "JobVersionTagRequestType", "1.9.0"),
    known(62, "WrappedRootKeysUpsertRequestType", "1.9.0"),
    known(64, "NamespaceUpsertRequestType", "1.0.0"),
    known(65, "NamespaceDeleteRequestType", "1.0.0"),
    known(75, "HostVolumeRegisterRequestType", "1.10.0"),
    known(76, "HostVolumeDeleteRequestType", "1.10.0"),
    known(77, "TaskGroupHostVolumeClaimDeleteRequestType", "1.10.0"),
];

/// The largest message type: the byte's top bit is the ignore flag.
pub const MAX_NUMBER: u8 = 127;

/// The table's row of a number; `None` for a number that no community release has named.
pub fn known_type(number: u8) -> Option<&'static Known> {
    KNOWN.binary_search_by_key(&number, |k| k.number).ok().and_then(|i| KNOWN.get(i))
}

/// A constant's name without its ending: `JobRegister` from `JobRegisterRequestType`,
/// `UpsertNodeEvents` from `UpsertNodeEventsType`. Other text stays as it is.
pub fn short(name: &str) -> &str {
    name.strip_suffix("RequestType").or_else(|| name.strip_suffix("Type")).unwrap_or(name)
}

/// A name in lower case without its ending, for comparing.
fn bare(name: &str) -> String {
    let mut name = name.to_ascii_lowercase();
    let cut = name.strip_suffix("requesttype").or_else(|| name.strip_suffix("type")).map_or(name.len(), str::len);
    name.truncate(cut);
    name
}

/// The names of message types, with the user's own on top (`--message-type NUMBER=NAME`).
#[derive(Clone, Debug, Default)]
pub struct MessageTypes {
    overrides: BTreeMap<u8, String>,
}

/// What is wrong with a `--message-type` argument.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{given:?} names no message type: {detail}; write NUMBER=NAME with a number from 0 to 127, as in 78=QuotaUsage"
)]
pub struct BadOverride {
    given: String,
    detail: &'static str,
}

impl MessageTypes {
    /// The names of the newest Nomad, none overridden.
    pub fn new() -> Self {
        Self::default()
    }

    /// Names `number` anew; a later name for the same number wins.
    ///
    /// # Errors
    /// When the number is above [`MAX_NUMBER`] or the name is empty or only digits, which would read as a number.
    pub fn rename(&mut self, number: u8, name: &str) -> Result<(), BadOverride> {
        let bad = |detail| Err(BadOverride { given: format!("{number}={name}"), detail });
        let name = name.trim();
        if number > MAX_NUMBER {
            return bad("the number is too large");
        }
        if name.is_empty() {
            return bad("the name is empty");
        }
        if name.bytes().all(|b| b.is_ascii_digit()) {
            return bad("the name is a number");
        }
        self.overrides.insert(number, name.to_owned());
        Ok(())
    }

    /// Takes one `NUMBER=NAME` argument.
    ///
    /// # Errors
    /// When it has not that form, and as [`MessageTypes::rename`].
    pub fn parse_override(&mut self, argument: &str) -> Result<(), BadOverride> {
        let bad = |detail| BadOverride { given: argument.to_owned(), detail };
        let (number, name) = argument.split_once('=').ok_or_else(|| bad("there is no '='"))?;
        let number = number.trim().parse().map_err(|_| bad("what stands before '=' is no such number"))?;
        self.rename(number, name).map_err(|e| bad(e.detail))
    }

    /// What `CommandType` and `entry` show for a number: the user's name, the newest constant, or the number itself.
    pub fn name(&self, number: u8) -> Cow<'_, str> {
        match (self.overrides.get(&number), known_type(number)) {
            (Some(name), _) => Cow::Borrowed(name),
            (None, Some(known)) => Cow::Borrowed(known.name),
            (None, None) => Cow::Owned(number.to_string()),
        }
    }

    /// The release that a number came with. None where no community release has it, or the user has given it another
    /// name: then it is of a build with another table, and tells nothing of a release (fsm.md 8).
    pub fn since(&self, number: u8) -> Option<&'static str> {
        let known = known_type(number)?;
        let same = |name: &String| [known.name, known.was].iter().any(|known| bare(known) == bare(name));
        self.overrides.get(&number).is_none_or(same).then_some(known.since)
    }

    /// [`MessageTypes::name`] without its ending, for tables.
    pub fn short_name(&self, number: u8) -> Cow<'_, str> {
        match self.name(number) {
            Cow::Borrowed(name) => Cow::Borrowed(short(name)),
            Cow::Owned(name) => Cow::Owned(name),
        }
    }

    /// The number that `text` means: a number up to [`MAX_NUMBER`], or a name with or without its ending, in any case.
    /// The user's own names are tried first, then the newest names, then names that were given up.
    pub fn lookup(&self, text: &str) -> Option<u8> {
        let text = text.trim();
        if let Ok(number) = text.parse::<u8>() {
            return (number <= MAX_NUMBER).then_some(number);
        }
        let wanted = bare(text);
        if wanted.is_empty() {
            return None;
        }
        let means = |name: &str| bare(name) == wanted;
        let given = self.overrides.iter().find(|(_, name)| means(name)).map(|(&number, _)| number);
        let newest = || KNOWN.iter().find(|k| !self.overrides.contains_key(&k.number) && means(k.name));
        let older = || KNOWN.iter().find(|k| !k.was.is_empty() && means(k.was));
        given.or_else(|| newest().or_else(older).map(|k| k.number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_of_number() {
        assert!(KNOWN.windows(2).all(|w| w[0].number < w[1].number));
    }

    #[test]
    fn numbers_without_a_community_name_stay_numbers() {
        let types = MessageTypes::new();
        for number in [63, 66, 70, 74, 78, 127] {
            assert_eq!(types.name(number), number.to_string());
            assert_eq!(types.short_name(number), number.to_string());
        }
        assert_eq!(types.name(51), "RootKeyMetaUpsertRequestType");
        assert_eq!(types.name(52), "WrappedRootKeysDeleteRequestType");
    }

    #[test]
    fn endings_are_cut_for_short_names() {
        let types = MessageTypes::new();
        assert_eq!(types.short_name(4), "JobRegister");
        assert_eq!(types.short_name(25), "UpsertNodeEvents");
        assert_eq!(types.short_name(43), "BatchEventSinkUpdateProgress");
    }

    #[test]
    fn a_type_is_found_by_either_name_in_any_case_and_by_number() {
        let types = MessageTypes::new();
        for text in ["JobRegister", "JobRegisterRequestType", "jobregister", "JOBREGISTERREQUESTTYPE", "4", " 4 "] {
            assert_eq!(types.lookup(text), Some(4), "{text}");
        }
        assert_eq!(types.lookup("UpsertNodeEvents"), Some(25));
        assert_eq!(types.lookup("upsertnodeeventstype"), Some(25));
        assert_eq!(types.lookup("RootKeyMetaDelete"), Some(52));
        assert_eq!(types.lookup("78"), Some(78));
        for text in ["", "RequestType", "Type", "Job", "128", "-1", "256"] {
            assert_eq!(types.lookup(text), None, "{text}");
        }
    }

    #[test]
    fn a_users_name_wins_over_a_known_number() {
        let mut types = MessageTypes::new();
        types.parse_override("78=QuotaUsageRequestType").unwrap();
        types.parse_override("4=Mine").unwrap();
        assert_eq!(types.name(78), "QuotaUsageRequestType");
        assert_eq!(types.short_name(78), "QuotaUsage");
        assert_eq!(types.name(4), "Mine");
        assert_eq!(types.lookup("quotausage"), Some(78));
        assert_eq!(types.lookup("mine"), Some(4));
        types.parse_override("47=JobRestartRequestType").unwrap();
        types.parse_override("50=varapplystate").unwrap();
        assert_eq!([47, 50, 78, 6].map(|number| types.since(number)), [None, Some("1.4.0"), None, Some("0.1.0")]);
        for bad in ["78", "=x", "128=x", "300=x", "7=", "7= ", "7=8", "x=y"] {
            assert!(types.parse_override(bad).is_err(), "{bad}");
        }
    }
}
