//! Nodes, namespaces, pools, the scheduler's configuration, leaders; and entries that no state machine can use.

use serde_json::json;

use super::super::history::LogType;
use super::super::msgpack::Encode;
use super::Wild;

impl Wild {
    pub(super) fn run_cluster(&mut self) {
        let namespace = *self.dice.pick(&["prod", "prod", "ghost", "default"]);
        let pool = *self.dice.pick(&["gpu", "gpu", "all", "edge"]);
        match self.dice.below(13) {
            0..3 => {
                let id = if self.dice.once_in(3) { self.any_node() } else { self.dice.id() };
                self.nodes.push(id.clone());
                let pool = *self.dice.pick(&["", "default", "gpu"]);
                let node =
                    json!({"ID": id, "Name": "client", "Datacenter": "dc1", "Status": "ready", "NodePool": pool});
                self.command(0, &json!({"Node": node, "CreateNodePool": true}));
            }
            3 => {
                let node = self.any_node();
                let status = *self.dice.pick(&["ready", "down"]);
                self.command(2, &json!({"NodeID": node, "Status": status, "UpdatedAt": 0}));
            }
            4 => {
                let node = self.any_node();
                self.command(1, &json!({"NodeID": node}));
            }
            5 => {
                let nodes = [self.any_node(), self.any_node()];
                self.command(31, &json!({"NodeIDs": nodes}));
            }
            6 | 7 => self.command(64, &json!({"Namespaces": [{"Name": namespace, "Description": ""}]})),
            8 => self.command(65, &json!({"Namespaces": [namespace]})),
            9 => self.command(59, &json!({"NodePools": [{"Name": pool, "Description": ""}]})),
            10 => self.command(60, &json!({"Names": [pool]})),
            11 => {
                let paused = !self.dice.once_in(3);
                self.command(30, &json!({"Config": {"PauseEvalBroker": paused, "SchedulerAlgorithm": "binpack"}}));
            }
            _ => {
                self.term += 1;
                self.write(LogType::Noop, Vec::new());
            }
        }
    }

    /// An entry that no state machine, or not every one, can use.
    pub(super) fn damage(&mut self) {
        match self.dice.below(5) {
            // Enterprise types, types that nobody has, types that came late.
            0 | 1 => {
                let number = *self.dice.pick(&[63_u8, 66, 70, 74, 78, 99, 127, 46, 50, 53, 55, 58, 75, 77]);
                let flag = if self.dice.once_in(2) { 0x80 } else { 0 };
                let mut data = vec![number | flag];
                json!({"Name": "anything"}).encode(&mut data);
                self.write(LogType::Command, data);
            }
            2 => self.write(LogType::Command, Vec::new()),
            3 => {
                let number = *self.dice.pick(&[4_u8, 6, 9, 13]);
                self.write(LogType::Command, vec![number]);
            }
            _ => {
                self.register();
                if let Some(entry) = &mut self.written {
                    let length = entry.data.len();
                    entry.data.truncate(2 + self.dice.below(length as u64 / 2) as usize);
                }
            }
        }
    }
}
