//! What a cluster has one of, or the servers keep for themselves: autopilot, metadata, root keys, variables, Vault and
//! Consul accessors (fsm.md 1, state-rows.md 6.5).

use super::job::Text;
use crate::entry::msgpack::{Reader, Result};
use crate::entry::wire::{Wire, wire_struct};

wire_struct! {
    /// AutopilotSetConfigRequest (24).
    AutopilotSetConfig {
        /// The configuration.
        config: AutopilotBody<'a> = "Config",
        /// Only if the stored ModifyIndex is the configuration's.
        cas: bool = "CAS",
    }
    /// The autopilot configuration, as far as the FSM looks at it.
    AutopilotBody {
        /// The index to compare with.
        modify_index: u64 = "ModifyIndex",
    }
    /// ClusterMetadata (32).
    ClusterMetadata {
        /// The cluster's ID, which never changes.
        cluster_id: Text<'a> = "ClusterID",
    }
    /// A key of the keyring, with or without its wrapped material.
    RootKeyBody {
        /// Its ID.
        key_id: Text<'a> = "KeyID",
        /// `active`, `inactive`, `rekeying`, `prepublished`, `deprecated`.
        state: Text<'a> = "State",
        /// In a snapshot: the entry that made it.
        create_index: u64 = "CreateIndex",
        /// In a snapshot: the entry that changed it last.
        modify_index: u64 = "ModifyIndex",
    }
    /// KeyringUpdateRootKeyMetaRequest (51).
    RootKeyMetaUpsert {
        /// The key, without material.
        key: Option<RootKeyBody<'a>> = "RootKeyMeta",
        /// Everything is to be encrypted anew.
        rekey: bool = "Rekey",
    }
    /// KeyringUpsertWrappedRootKeyRequest (62).
    WrappedRootKeyUpsert {
        /// The key.
        key: Option<RootKeyBody<'a>> = "WrappedRootKeys",
        /// Everything is to be encrypted anew.
        rekey: bool = "Rekey",
    }
    /// KeyringDeleteRootKeyRequest (52).
    RootKeyDelete {
        /// Its ID.
        key_id: Text<'a> = "KeyID",
    }
    /// An encrypted variable.
    VariableBody {
        /// Its namespace.
        namespace: Text<'a> = "Namespace",
        /// Its path.
        path: Text<'a> = "Path",
        /// The lock that somebody holds on it (1.7 and newer).
        lock: Option<LockBody<'a>> = "Lock",
        /// How many bytes its ciphertext has.
        data: Size = "Data",
        /// In a snapshot: the entry that made it.
        create_index: u64 = "CreateIndex",
        /// The index to compare with; in a snapshot the entry that changed it last.
        modify_index: u64 = "ModifyIndex",
    }
    /// A variable's lock.
    LockBody {
        /// Its ID.
        id: Text<'a> = "ID",
    }
    /// VarApplyStateRequest (50).
    VarApplyState {
        /// `set`, `cas`, `delete`, `delete-cas`, `lock-acquire`, `lock-release`.
        op: Text<'a> = "Op",
        /// The variable.
        var: Option<VariableBody<'a>> = "Var",
    }
    /// VaultAccessorsRequest (11, 12) and SITokenAccessorsRequest (33, 34).
    Accessors {
        /// The accessors.
        accessors: Vec<AccessorBody<'a>> = "Accessors",
    }
    /// A Vault or Consul token's accessor, which names its row.
    AccessorBody {
        /// The accessor of a Vault token.
        accessor: Text<'a> = "Accessor",
        /// The accessor of a Consul token.
        accessor_id: Text<'a> = "AccessorID",
        /// In a snapshot: the entry that made it.
        create_index: u64 = "CreateIndex",
    }
    /// A job's source as it was submitted.
    SubmissionBody {
        /// In a snapshot: the namespace.
        namespace: Text<'a> = "Namespace",
        /// In a snapshot: the job.
        job_id: Text<'a> = "JobID",
        /// In a snapshot: the version.
        version: u64 = "Version",
        /// In a snapshot: the entry that brought it.
        job_modify_index: u64 = "JobModifyIndex",
    }
}

/// How many bytes a text or a byte string has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size(pub i64);

impl<'a> Wire<'a> for Size {
    fn read(r: &mut Reader<'a>) -> Result<Self> {
        Ok(Size(r.raw()?.len() as i64))
    }
}
