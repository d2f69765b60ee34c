//! Namespaces, node pools and the scheduler configuration (fsm.md 2.0, 2.1, 2.9).

use super::job::Text;
use crate::entry::wire::wire_struct;

wire_struct! {
    /// Anything that is known by its name.
    Named {
        /// The name.
        name: Text<'a> = "Name",
    }
    /// NamespaceUpsertRequest (64).
    NamespaceUpsert {
        /// The namespaces.
        namespaces: Vec<Named<'a>> = "Namespaces",
    }
    /// NamespaceDeleteRequest (65).
    NamespaceDelete {
        /// The names.
        namespaces: Vec<Text<'a>> = "Namespaces",
    }
    /// NodePoolUpsertRequest (59).
    NodePoolUpsert {
        /// The pools.
        pools: Vec<Named<'a>> = "NodePools",
    }
    /// NodePoolDeleteRequest (60).
    NodePoolDelete {
        /// The names.
        names: Vec<Text<'a>> = "Names",
    }
    /// SchedulerSetConfigRequest (30).
    SchedulerSetConfig {
        /// The configuration.
        config: SchedulerConfigBody<'a> = "Config",
        /// Only if the stored ModifyIndex is the configuration's.
        cas: bool = "CAS",
    }
    /// The scheduler configuration, as far as the FSM looks at it.
    SchedulerConfigBody {
        /// Evaluations may be deleted by hand while it is set (1.3.2 and newer).
        pause_eval_broker: bool = "PauseEvalBroker",
        /// The index to compare with.
        modify_index: u64 = "ModifyIndex",
    }
}
