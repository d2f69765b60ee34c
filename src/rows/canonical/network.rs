//! Defaults of a network that a group or a task asks for.

use super::{Object, default_text, empty_to_null};

/// Canonicalizes one network.
pub(super) fn network(network: &mut Object) {
    empty_to_null(network, &["ReservedPorts", "DynamicPorts"]);
    for ports in ["ReservedPorts", "DynamicPorts"] {
        for port in network.objects_mut(ports) {
            default_text(port, "HostNetwork", "default");
        }
    }
}
