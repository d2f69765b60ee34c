//! Service registration requests (47 to 49; fsm.md 1).

use super::job::Text;
use crate::entry::content::WithContent;
use crate::entry::wire::wire_struct;

wire_struct! {
    /// A registration of one service of one allocation.
    ServiceBody {
        /// Its ID, unique within the namespace.
        id: Text<'a> = "ID",
        /// The job's namespace.
        namespace: Text<'a> = "Namespace",
        /// The node it runs on.
        node_id: Text<'a> = "NodeID",
        /// The allocation it belongs to.
        alloc_id: Text<'a> = "AllocID",
        /// In a snapshot: the entry that made it.
        create_index: u64 = "CreateIndex",
        /// In a snapshot: the entry that changed it last.
        modify_index: u64 = "ModifyIndex",
    }
    /// ServiceRegistrationUpsertRequest (47).
    ServiceUpsert {
        /// The registrations.
        services: Vec<WithContent<ServiceBody<'a>>> = "Services",
    }
    /// ServiceRegistrationDeleteByIDRequest (48).
    ServiceDeleteById {
        /// Its ID.
        id: Text<'a> = "ID",
        /// The namespace of the request.
        namespace: Text<'a> = "Namespace",
    }
    /// ServiceRegistrationDeleteByNodeIDRequest (49).
    ServiceDeleteByNode {
        /// The node.
        node_id: Text<'a> = "NodeID",
    }
}
