//! The tables of the state for people: the columns that tell rows apart and say how they are.

use crate::render::json_text::members;
use crate::render::{Cell, Column, Row, Shape, Tone};
use crate::rows::Table;

/// The columns of each table; the names are the keys of the row.
pub fn shape(table: Table) -> &'static Shape {
    macro_rules! columns {
        ($($column:expr),*) => {{
            static SHAPE: Shape = Shape { table: &[$($column),*], csv: &[] };
            &SHAPE
        }};
    }
    use Column as C;
    match table {
        Table::Allocs => columns![
            C::text("ID"),
            C::text("Namespace"),
            C::text("JobID"),
            C::text("TaskGroup"),
            C::text("NodeID"),
            C::text("DesiredStatus"),
            C::text("ClientStatus"),
            C::number("CreateIndex"),
            C::number("ModifyIndex")
        ],
        Table::Deployments => columns![
            C::text("ID"),
            C::text("Namespace"),
            C::text("JobID"),
            C::number("JobVersion"),
            C::text("Status"),
            C::text("StatusDescription"),
            C::number("CreateIndex"),
            C::number("ModifyIndex")
        ],
        Table::Evals => columns![
            C::text("ID"),
            C::text("Namespace"),
            C::text("JobID"),
            C::text("Type"),
            C::text("TriggeredBy"),
            C::text("Status"),
            C::number("CreateIndex"),
            C::number("ModifyIndex")
        ],
        Table::Indexes => columns![C::text("Key"), C::number("Value")],
        Table::JobSummaries => columns![
            C::text("Namespace"),
            C::text("JobID"),
            C::text("Children"),
            C::text("Summary"),
            C::number("CreateIndex"),
            C::number("ModifyIndex")
        ],
        Table::JobVersions | Table::Jobs => columns![
            C::text("Namespace"),
            C::text("ID"),
            C::text("Type"),
            C::text("ParentID"),
            C::text("Status"),
            C::text("Stop"),
            C::number("Version"),
            C::number("CreateIndex"),
            C::number("ModifyIndex")
        ],
        Table::Nodes => columns![
            C::text("ID"),
            C::text("Name"),
            C::text("Datacenter"),
            C::text("Status"),
            C::text("SchedulingEligibility"),
            C::number("CreateIndex"),
            C::number("ModifyIndex")
        ],
        Table::PeriodicLaunches => columns![
            C::text("Namespace"),
            C::text("ID"),
            C::text("Launch"),
            C::number("CreateIndex"),
            C::number("ModifyIndex")
        ],
        Table::Namespaces | Table::NodePools => {
            columns![C::text("Name"), C::text("Description"), C::number("CreateIndex"), C::number("ModifyIndex")]
        }
        Table::ACLPolicies | Table::ACLAuthMethods => columns![
            C::text("Name"),
            C::text("Type"),
            C::text("Description"),
            C::number("CreateIndex"),
            C::number("ModifyIndex")
        ],
        Table::ACLTokens => columns![
            C::text("AccessorID"),
            C::text("Name"),
            C::text("Type"),
            C::text("Global"),
            C::text("ExpirationTime"),
            C::number("CreateIndex"),
            C::number("ModifyIndex")
        ],
        Table::ACLBindingRules => columns![
            C::text("ID"),
            C::text("AuthMethod"),
            C::text("BindType"),
            C::text("BindName"),
            C::number("CreateIndex"),
            C::number("ModifyIndex")
        ],
        Table::ACLRoles => columns![
            C::text("ID"),
            C::text("Name"),
            C::text("Description"),
            C::number("CreateIndex"),
            C::number("ModifyIndex")
        ],
        Table::CSIPlugins => columns![
            C::text("ID"),
            C::text("Provider"),
            C::number("ControllersHealthy"),
            C::number("ControllersExpected"),
            C::number("NodesHealthy"),
            C::number("NodesExpected"),
            C::number("CreateIndex"),
            C::number("ModifyIndex")
        ],
        Table::CSIVolumes => columns![
            C::text("Namespace"),
            C::text("ID"),
            C::text("PluginID"),
            C::text("AccessMode"),
            C::text("Schedulable"),
            C::number("CreateIndex"),
            C::number("ModifyIndex")
        ],
        Table::HostVolumes => columns![
            C::text("Namespace"),
            C::text("ID"),
            C::text("Name"),
            C::text("NodeID"),
            C::text("State"),
            C::number("CreateIndex"),
            C::number("ModifyIndex")
        ],
        Table::RootKeys => columns![
            C::text("KeyID"),
            C::text("Algorithm"),
            C::text("State"),
            C::number("CreateIndex"),
            C::number("ModifyIndex")
        ],
        Table::ScalingEvents => {
            columns![C::text("Namespace"), C::text("JobID"), C::text("ScalingEvents"), C::number("ModifyIndex")]
        }
        Table::ScalingPolicies => columns![
            C::text("ID"),
            C::text("Type"),
            C::text("Target"),
            C::number("Min"),
            C::number("Max"),
            C::text("Enabled"),
            C::number("CreateIndex"),
            C::number("ModifyIndex")
        ],
        Table::ServiceRegistrations => columns![
            C::text("Namespace"),
            C::text("ServiceName"),
            C::text("ID"),
            C::text("JobID"),
            C::text("AllocID"),
            C::text("Address"),
            C::number("Port"),
            C::number("CreateIndex"),
            C::number("ModifyIndex")
        ],
        Table::TaskGroupHostVolumeClaims => columns![
            C::text("Namespace"),
            C::text("JobID"),
            C::text("TaskGroupName"),
            C::text("AllocID"),
            C::text("VolumeName"),
            C::number("CreateIndex"),
            C::number("ModifyIndex")
        ],
        Table::Variables => {
            columns![C::text("Namespace"), C::text("Path"), C::number("CreateIndex"), C::number("ModifyIndex")]
        }
        Table::VariablesQuotas => {
            columns![C::text("Namespace"), C::number("Size"), C::number("CreateIndex"), C::number("ModifyIndex")]
        }
        Table::JobSubmissions => columns![
            C::text("Namespace"),
            C::text("JobID"),
            C::number("Version"),
            C::text("Format"),
            C::number("JobModifyIndex")
        ],
        Table::JobRestarts => columns![
            C::text("ID"),
            C::text("Namespace"),
            C::text("JobID"),
            C::text("Status"),
            C::number("BatchSize"),
            C::number("BatchWait"),
            C::number("CreateIndex"),
            C::number("ModifyIndex")
        ],
        Table::ClusterMetadata => columns![C::text("ClusterID"), C::text("CreateTime")],
        Table::OneTimeTokens => {
            columns![C::text("AccessorID"), C::text("ExpiresAt"), C::number("CreateIndex"), C::number("ModifyIndex")]
        }
        Table::SITokenAccessors | Table::VaultAccessors => columns![
            C::text("AllocID"),
            C::text("NodeID"),
            C::text("Accessor"),
            C::text("AccessorID"),
            C::number("CreateIndex")
        ],
        Table::AutopilotConfig | Table::SchedulerConfig => {
            columns![C::number("CreateIndex"), C::number("ModifyIndex")]
        }
    }
}

/// One row, by its columns.
pub struct Line(Vec<Cell>);

impl Line {
    /// The line of a row, given as JSON with its secrets hidden.
    pub fn new(table: Table, json: &[u8]) -> Self {
        let cell = |column: &Column| {
            let is_it = |key: &[u8]| key.get(1..key.len().saturating_sub(1)) == Some(column.name.as_bytes());
            members(json).find(|(key, _)| is_it(key)).map_or_else(Cell::default, |(_, value)| plain(value))
        };
        Line(shape(table).table.iter().map(cell).collect())
    }
}

impl Row for Line {
    fn json(&self, _: &mut Vec<u8>) {}

    fn cells(&self) -> Vec<Cell> {
        self.0.clone()
    }
}

/// A value for people: text as it is, null as a dash, counts as `Pending 1 Running -1`.
fn plain(value: &[u8]) -> Cell {
    match serde_json::from_slice::<serde_json::Value>(value) {
        Ok(serde_json::Value::String(text)) => text.into(),
        Ok(serde_json::Value::Null) => "-".into(),
        Ok(value @ serde_json::Value::Object(_)) => {
            let text = counts(&value);
            let tone = if text.contains(" -") { Tone::Bad } else { Tone::Plain };
            Cell::toned(text, tone)
        }
        Ok(other) => other.to_string().into(),
        Err(_) => String::from_utf8_lossy(value).into_owned().into(),
    }
}

/// The numbers of an object that are not zero, and those of the objects in it behind their names.
fn counts(value: &serde_json::Value) -> String {
    let serde_json::Value::Object(object) = value else { return value.to_string() };
    let mut parts = Vec::new();
    for (key, value) in object {
        match value {
            serde_json::Value::Number(n) if n.as_i64() == Some(0) => {}
            serde_json::Value::Null => parts.push(format!("{key} ?")),
            serde_json::Value::Object(_) => parts.push(format!("{key}: {}", counts(value))),
            other => parts.push(format!("{key} {other}")),
        }
    }
    if parts.is_empty() { "0".into() } else { parts.join(" ") }
}
