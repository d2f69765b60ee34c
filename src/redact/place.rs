//! Where in a message or a row a value stands, which decides whether it is secret and how its bytes are shown.
//!
//! One table for everything that is printed: message bodies, rows of `state`, and messages that no release knows.

use std::sync::LazyLock;

/// Whose fields a map holds, where a field's meaning depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// Any of Nomad's structs.
    Any,
    /// `ParameterizedJob`, whose Payload is a word.
    Parameterized,
    /// An ACL auth method.
    AuthMethod,
    /// A job's submission.
    Submission,
    /// An encrypted variable.
    Variable,
    /// Vault's and Consul's old token accessors.
    Accessor,
    /// A request with settings for operators (message types 24 and 30).
    Operator,
    /// Something that no community release knows; holds for all that is below it.
    Unknown,
    /// A task driver's configuration.
    Driver,
    /// The wrapped keys of a root key.
    Keyring,
}

/// Where a value stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a struct, whose keys are Nomad's field names.
    Fields(Owner),
    /// In a map or list of structs, whose keys are names that people chose.
    Named,
    /// In free text that is no secret; keys mean nothing.
    Open,
    /// In a secret: all text and numbers are hidden, under this name.
    Secret(&'static str),
    /// A field that is a map of secrets in one struct and a list of structs in another.
    Secrets,
    /// In the list of the same.
    SecretList,
    /// All text is hidden, under this name, but for fields that the table opens.
    Closed(Owner, &'static str),
    /// A URL: only what could be a credential in it is hidden.
    Url(&'static str),
}

/// How the content of a raw value is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As text if it is text, as a time if it can be nothing else, or as base64.
    Plain,
    /// As base64: the field is bytes in Nomad.
    Bytes,
    /// As a time.
    Time,
    /// As base64 of what snappy's block format holds: a dispatch payload.
    Payload,
}

impl Place {
    /// The body of a message of this type.
    pub fn message(kind: u8) -> Self {
        Place::Fields(match kind {
            24 | 30 => Owner::Operator,
            _ if crate::entry::message_type::known_type(kind).is_some() => Owner::Any,
            _ => Owner::Unknown,
        })
    }

    /// A row of `state`, or any other struct of Nomad's.
    pub const ROW: Place = Place::Fields(Owner::Any);

    /// The place and form of the value under `key` of a map that stands here.
    #[inline]
    pub fn value(self, key: &[u8]) -> (Place, Form) {
        match self {
            Place::Fields(owner) => match find(owner, key).or_else(|| find(Owner::Any, key)) {
                Some(rule) if owner == Owner::Unknown && rule.place.hides_text().is_none() => (self, rule.form),
                Some(rule) => (rule.place, rule.form),
                None if owner == Owner::Unknown => (self, Form::Plain),
                None => (Place::ROW, Form::Plain),
            },
            Place::Closed(owner, _) => find(owner, key).map_or((self, Form::Plain), |rule| (rule.place, rule.form)),
            Place::Named => (Place::ROW, Form::Plain),
            Place::SecretList => Place::ROW.value(key),
            Place::Secrets => (Place::Secret("Secrets"), Form::Plain),
            Place::Open | Place::Secret(_) | Place::Url(_) => (self, Form::Plain),
        }
    }

    /// The place of an item of a list that stands here.
    #[inline]
    pub fn item(self) -> Place {
        match self {
            Place::Named => Place::ROW,
            Place::Secrets => Place::SecretList,
            other => other,
        }
    }

    /// The name under which text that stands here is hidden; `None` when it is shown. [`Place::Url`] is shown in part.
    #[inline]
    pub fn hides_text(self) -> Option<&'static str> {
        match self {
            Place::Secret(name) | Place::Closed(_, name) => Some(name),
            Place::Secrets | Place::SecretList => Some("Secrets"),
            Place::Fields(_) | Place::Named | Place::Open | Place::Url(_) => None,
        }
    }

    /// The same for a number.
    #[inline]
    pub fn hides_number(self) -> Option<&'static str> {
        match self {
            Place::Closed(..) => None,
            other => other.hides_text(),
        }
    }
}

struct Rule {
    owner: Owner,
    key: &'static str,
    place: Place,
    form: Form,
}

const fn rule(owner: Owner, key: &'static str, place: Place, form: Form) -> Rule {
    Rule { owner, key, place, form }
}
const fn secret(key: &'static str) -> Rule {
    rule(Owner::Any, key, Place::Secret(key), Form::Plain)
}
const fn secret_of(owner: Owner, key: &'static str) -> Rule {
    rule(owner, key, Place::Secret(key), Form::Plain)
}
const fn key_bytes(key: &'static str) -> Rule {
    rule(Owner::Keyring, key, Place::Secret(key), Form::Bytes)
}
const fn open(owner: Owner, key: &'static str) -> Rule {
    rule(owner, key, Place::Open, Form::Plain)
}
const fn fields(key: &'static str, owner: Owner) -> Rule {
    rule(Owner::Any, key, Place::Fields(owner), Form::Plain)
}
const fn named(key: &'static str) -> Rule {
    rule(Owner::Any, key, Place::Named, Form::Plain)
}
const fn bytes(key: &'static str) -> Rule {
    rule(Owner::Any, key, Place::ROW, Form::Bytes)
}
const fn time(key: &'static str) -> Rule {
    rule(Owner::Any, key, Place::ROW, Form::Time)
}

/// What is secret (contract.md 5, storage.md 7.13), what is bytes and what is a time (state-rows.md 1.4, 1.5, 10).
/// A field that is not named here is shown. An owner's own rule wins over that of [`Owner::Any`].
static RULES: &[Rule] = &[
    // Tokens and secret ids.
    secret("AuthToken"),
    secret("SecretID"),
    secret("OneTimeSecretID"),
    secret("BootstrapSecret"),
    secret("IdempotencyToken"),
    secret("DispatchIdempotencyToken"),
    secret("VaultToken"),
    secret("ConsulToken"),
    secret("LeaderACL"),
    secret("SignedIdentities"),
    secret("SignedIdentity"),
    fields("Accessors", Owner::Accessor),
    secret_of(Owner::Accessor, "Accessor"),
    secret_of(Owner::Accessor, "AccessorID"),
    // Login methods.
    fields("AuthMethods", Owner::AuthMethod),
    rule(Owner::AuthMethod, "Config", Place::ROW, Form::Plain),
    secret("OIDCClientSecret"),
    secret("PrivateKey"),
    secret("PemKey"),
    // The keyring, and the variables that it encrypts.
    rule(Owner::Any, "WrappedKeys", Place::Closed(Owner::Keyring, "WrappedKeys"), Form::Plain),
    key_bytes("KeyEncryptionKey"),
    key_bytes("Ciphertext"),
    key_bytes("Iv"),
    key_bytes("Hmac"),
    key_bytes("Plaintext"),
    key_bytes("ClientData"),
    key_bytes("Key"),
    key_bytes("WrappedKey"),
    open(Owner::Keyring, "Provider"),
    open(Owner::Keyring, "ProviderID"),
    open(Owner::Keyring, "KeyId"),
    open(Owner::Keyring, "HmacKeyId"),
    fields("Var", Owner::Variable),
    rule(Owner::Variable, "Data", Place::Secret("Data"), Form::Bytes),
    // What jobs carry.
    secret("Env"),
    secret("Meta"),
    secret("CanaryMeta"),
    secret("EmbeddedTmpl"),
    secret("Args"),
    secret("Header"),
    secret("DriverState"),
    secret("Body"),
    secret("GetterHeaders"),
    secret("GetterOptions"),
    rule(Owner::Any, "GetterSource", Place::Url("GetterSource"), Form::Plain),
    rule(Owner::Any, "Payload", Place::Secret("Payload"), Form::Payload),
    fields("ParameterizedJob", Owner::Parameterized),
    rule(Owner::Parameterized, "Payload", Place::ROW, Form::Plain),
    fields("Submission", Owner::Submission),
    secret_of(Owner::Submission, "Source"),
    secret_of(Owner::Submission, "Variables"),
    secret_of(Owner::Submission, "VariableFlags"),
    // A driver's configuration: what it may say is the driver's business, so only what is known to be harmless is shown.
    rule(Owner::Any, "Config", Place::Closed(Owner::Driver, "Config"), Form::Plain),
    rule(Owner::Operator, "Config", Place::ROW, Form::Plain),
    rule(Owner::Driver, "image", Place::Url("image"), Form::Plain),
    open(Owner::Driver, "ports"),
    open(Owner::Driver, "network_mode"),
    secret_of(Owner::Driver, "args"),
    secret_of(Owner::Driver, "auth"),
    secret_of(Owner::Driver, "env"),
    secret_of(Owner::Driver, "environment"),
    secret_of(Owner::Driver, "password"),
    secret_of(Owner::Driver, "token"),
    secret_of(Owner::Driver, "secret"),
    // Volumes.
    rule(Owner::Any, "Secrets", Place::Secrets, Form::Plain),
    secret("MountOptions"),
    secret("MountFlags"),
    // Enterprise's messages are read without knowing them.
    secret_of(Owner::Unknown, "License"),
    secret_of(Owner::Unknown, "Signed"),
    secret_of(Owner::Unknown, "Blob"),
    secret_of(Owner::Unknown, "Policy"),
    secret_of(Owner::Unknown, "Source"),
    secret_of(Owner::Unknown, "Variables"),
    secret_of(Owner::Unknown, "VariableFlags"),
    secret_of(Owner::Unknown, "Data"),
    secret_of(Owner::Unknown, "Key"),
    secret_of(Owner::Unknown, "Secret"),
    secret_of(Owner::Unknown, "Token"),
    secret_of(Owner::Unknown, "Password"),
    key_material("KeyEncryptionKey"),
    key_material("WrappedDataEncryptionKey"),
    key_material("WrappedRSAKey"),
    // Maps whose keys are names, and maps that mean nothing to Nomad.
    named("Tasks"),
    named("TaskStates"),
    named("TaskResources"),
    named("TaskLifecycles"),
    named("TaskGroups"),
    named("Summary"),
    named("Allocs"),
    named("Jobs"),
    named("Updates"),
    named("NodeEvents"),
    named("Drivers"),
    named("HostVolumes"),
    named("HostNetworks"),
    named("Volumes"),
    named("CSIControllerPlugins"),
    named("CSINodePlugins"),
    named("ScalingEvents"),
    named("FailedTGAllocs"),
    named("ResourcesExhausted"),
    named("DesiredTGUpdates"),
    named("ReadClaims"),
    named("WriteClaims"),
    named("PastClaims"),
    named("Controllers"),
    open(Owner::Any, "Attributes"),
    open(Owner::Any, "Links"),
    open(Owner::Any, "Details"),
    open(Owner::Any, "Target"),
    open(Owner::Any, "Policy"),
    open(Owner::Any, "QueuedAllocations"),
    open(Owner::Any, "ClassEligibility"),
    // Bytes and times.
    bytes("Hash"),
    bytes("Distances"),
    rule(Owner::Any, "Nodes", Place::Named, Form::Bytes),
    time("CreateTime"),
    time("ModifyTime"),
    time("ForceDeadline"),
    time("StartedAt"),
    time("FinishedAt"),
    time("LastRestart"),
    time("UpdatedAt"),
    time("UpdateTime"),
    time("Timestamp"),
    time("Time"),
    time("WaitUntil"),
    time("RequireProgressBy"),
    time("ExpirationTime"),
    time("ExpiresAt"),
    time("ResourceExhausted"),
    time("Launch"),
];

const fn key_material(key: &'static str) -> Rule {
    rule(Owner::Any, key, Place::Secret(key), Form::Bytes)
}

const BUCKETS: usize = 512;

fn bucket(key: &[u8]) -> usize {
    let at = |i: usize| key.get(i).copied().map_or(0, usize::from);
    (key.len() * 31 + at(0) * 7 + at(2) * 3 + at(key.len().wrapping_sub(1))) % BUCKETS
}

/// The table by bucket: most keys fall into an empty one.
static BY_KEY: LazyLock<Vec<Vec<&'static Rule>>> = LazyLock::new(|| {
    let mut buckets = vec![Vec::new(); BUCKETS];
    for rule in RULES {
        if let Some(bucket) = buckets.get_mut(bucket(rule.key.as_bytes())) {
            bucket.push(rule);
        }
    }
    buckets
});

fn find(owner: Owner, key: &[u8]) -> Option<&'static Rule> {
    BY_KEY.get(bucket(key))?.iter().find(|rule| rule.owner == owner && rule.key.as_bytes() == key).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(root: Place, path: &[&str]) -> (Place, Form) {
        path.iter().fold((root, Form::Plain), |(place, _), key| match *key {
            "[]" => (place.item(), Form::Plain),
            key => place.value(key.as_bytes()),
        })
    }

    #[test]
    fn no_field_has_two_rules_of_one_owner() {
        for (i, rule) in RULES.iter().enumerate() {
            assert!(
                !RULES[i + 1..].iter().any(|other| other.owner == rule.owner && other.key == rule.key),
                "{} stands twice",
                rule.key
            );
        }
    }

    #[test]
    fn a_fields_meaning_depends_on_where_it_stands() {
        let job = Place::message(4);
        assert_eq!(at(job, &["Job", "Payload"]), (Place::Secret("Payload"), Form::Payload));
        assert_eq!(at(job, &["Job", "ParameterizedJob", "Payload"]).0, Place::ROW);
        assert_eq!(at(Place::message(30), &["Config", "SchedulerAlgorithm"]).0, Place::ROW);
        let task = ["Job", "TaskGroups", "[]", "Tasks", "[]"];
        let config = at(job, &[&task[..], &["Config"]].concat()).0;
        assert_eq!(config.value(b"image").0, Place::Url("image"));
        assert_eq!(at(config, &["auth", "[]", "username"]).0.hides_text(), Some("auth"));
        assert_eq!(at(config, &["mount", "[]", "source"]).0.hides_text(), Some("Config"));
        assert_eq!(config.value(b"privileged").0.hides_number(), None);
        assert_eq!(at(Place::message(55), &["AuthMethods", "[]", "Config", "OIDCDiscoveryURL"]).0, Place::ROW);
        assert_eq!(
            at(Place::message(55), &["AuthMethods", "[]", "Config", "OIDCClientSecret"]).0.hides_text(),
            Some("OIDCClientSecret")
        );
    }

    #[test]
    fn secrets_of_volumes_are_hidden_and_those_of_tasks_keep_their_names() {
        assert_eq!(at(Place::message(35), &["Volumes", "[]", "Secrets", "key"]).0.hides_text(), Some("Secrets"));
        let task = at(Place::message(4), &["Job", "TaskGroups", "[]", "Tasks", "[]", "Secrets", "[]"]).0;
        assert_eq!(task.value(b"Provider").0.hides_text(), None);
        assert_eq!(task.value(b"Env").0.hides_text(), Some("Env"));
        assert_eq!(task.hides_text(), Some("Secrets"));
    }

    #[test]
    fn a_task_called_like_a_field_is_still_a_task() {
        let states = at(Place::message(9), &["Alloc", "[]", "TaskStates", "Meta", "State"]);
        assert_eq!(states.0, Place::ROW);
    }

    #[test]
    fn unknown_messages_hide_every_known_secret_at_any_depth() {
        let unknown = Place::message(70);
        for path in
            [&["License", "Signed"][..], &["X", "[]", "Y", "Secret"], &["A", "AuthToken"], &["B", "Config", "x"]]
        {
            assert!(at(unknown, path).0.hides_text().is_some(), "{path:?}");
        }
        assert_eq!(at(unknown, &["Quotas", "[]", "Name"]).0.hides_text(), None);
    }
}
