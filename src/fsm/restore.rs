//! A state out of the records of a snapshot, each as it is (fsm.md 5, Restore). Nothing is recomputed: a count that
//! was wrong when the snapshot was taken is wrong after it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Txn;
use super::apply::accessor_key;
use super::csi::{Half, JobShares, Plugin};
use super::id::{Id, Word};
use super::row::{Children, Deployment, GroupSummary, Indexes, LastDrain, Launch, Named, NodeEvent, Source, Summary};
use super::rules::Rules;
use super::state::{State, fold};
use super::table::{
    Cluster, Plain, Quota, RowKey, ScalingEvent, ScalingEvents, Scheduler, Submission, TableName, TableRow, Token,
    global,
};
use crate::entry::body::Text;
use crate::entry::body::acl::{AuthMethodBody, BindingRuleBody, PolicyBody, RoleBody, TokenBody};
use crate::entry::body::alloc::AllocBody;
use crate::entry::body::cluster::{AccessorBody, ClusterMetadata, RootKeyBody, SubmissionBody, VariableBody};
use crate::entry::body::deployment::DeploymentBody;
use crate::entry::body::eval::EvalBody;
use crate::entry::body::job::{JobBody, ScalingBody};
use crate::entry::body::misc::SchedulerConfigBody;
use crate::entry::body::node::NodeBody;
use crate::entry::body::service::ServiceBody;
use crate::entry::body::snapshot::{
    IndexBody, IndexedBody, JobSummaryBody, PeriodicLaunchBody, ScalingEventsBody, VariablesQuotaBody,
};
use crate::entry::body::volume::{CsiInfoBody, CsiPluginBody, CsiVolumeBody, HostVolumeBody, JobDescriptionBody};
use crate::entry::content::WithContent;
use crate::entry::msgpack::{DecodeError, Reader, Result as Decoded};
use crate::entry::wire::{Pairs, Wire};
use crate::types::{Index, JobKey};

/// Fills a state from the records of a snapshot.
#[derive(Debug)]
pub struct Restore<'r> {
    rules: &'r Rules,
    index: Index,
    restored: Restored,
}

/// What a snapshot's records came to.
#[derive(Debug)]
pub struct Restored {
    /// The state.
    pub state: State,
    /// How many records were read.
    pub records: u64,
    /// Records of types that no community release writes, counted by type: they are left out.
    pub unknown: BTreeMap<u8, u64>,
    /// Records of types that servers of these rules do not know, counted by type: such a server refuses the
    /// snapshot. They are restored all the same, where their type is known at all.
    pub too_new: BTreeMap<u8, u64>,
    /// Records that are not what their type says: the type, the offset in the stream, what is wrong. They are left
    /// out, where a server refuses the snapshot.
    pub undecodable: Vec<(u8, u64, DecodeError)>,
}

impl Restored {
    /// Whether a server of the rules takes the snapshot.
    pub fn is_accepted(&self) -> bool {
        self.unknown.is_empty() && self.too_new.is_empty() && self.undecodable.is_empty()
    }
}

impl<'r> Restore<'r> {
    /// A restore of the snapshot at `index` into a fresh state.
    pub fn new(rules: &'r Rules, index: Index) -> Self {
        let restored = Restored {
            state: State::new(rules.node_pools),
            records: 0,
            unknown: BTreeMap::new(),
            too_new: BTreeMap::new(),
            undecodable: Vec::new(),
        };
        Restore { rules, index, restored }
    }

    /// Takes one record: its type byte, the offset of its value in the stream, and the value.
    pub fn record(&mut self, kind: u8, offset: u64, value: &[u8]) {
        let mut txn = Txn {
            state: &mut self.restored.state,
            rules: self.rules,
            index: self.index,
            source: Source::Snapshot(self.index),
            start: offset,
            blind: false,
        };
        let known = txn.restore(kind, value);
        self.restored.state.take_journal();
        self.restored.records += 1;
        match known {
            Ok(true) if self.rules.knows_record(kind) => {}
            Ok(true) => *self.restored.too_new.entry(kind).or_default() += 1,
            Ok(false) => *self.restored.unknown.entry(kind).or_default() += 1,
            Err(error) => self.restored.undecodable.push((kind, offset, error)),
        }
    }

    /// Ends the restore: active deployments whose job is gone are cancelled, as a server does.
    pub fn finish(mut self) -> Restored {
        let state = &mut self.restored.state;
        let modify = state.table_indexes().get("deployment").copied();
        let leaked: Vec<Arc<Deployment>> =
            state.deployments().filter(|d| d.is_active() && state.job(&d.job).is_none()).cloned().collect();
        for deployment in leaked {
            let mut row = Deployment::clone(&deployment);
            row.status = Word::new("cancelled");
            row.description = "Cancelled because job is stopped".into();
            row.indexes.modify = modify.unwrap_or_default();
            state.put_deployment(&deployment.id, Some(Arc::new(row)));
        }
        state.take_journal();
        self.restored
    }
}

fn read<'a, T: Wire<'a>>(value: &'a [u8]) -> Decoded<T> {
    T::read(&mut Reader::new(value))
}

fn indexes(create: u64, modify: u64) -> Indexes {
    Indexes { create: Index(create), modify: Index(modify) }
}

impl Txn<'_> {
    /// Restores one record; false for a type that is not known.
    fn restore(&mut self, kind: u8, value: &[u8]) -> Decoded<bool> {
        match kind {
            0 => self.restore_node(&read(value)?),
            1 => self.restore_job(&read(value)?),
            2 => self.restore_index(&read(value)?),
            3 => self.restore_eval(&read(value)?),
            4 => self.restore_alloc(&read(value)?),
            // The time table held moments of entries; newer servers have none.
            5 => {}
            6 => self.restore_launch(&read(value)?),
            7 => self.restore_summary(&read(value)?),
            8 => self.restore_accessor(TableName::VaultAccessors, &read(value)?),
            15 => self.restore_accessor(TableName::SiTokenAccessors, &read(value)?),
            9 => self.restore_version(&read(value)?),
            10 => self.restore_deployment(&read(value)?),
            16 => self.restore_policy(&read(value)?),
            17 => self.restore_plugin(&read(value)?),
            18 => self.restore_volume(&read(value)?),
            19 => self.restore_scaling_events(&read(value)?),
            28 | 64 => self.restore_named(kind, &read(value)?),
            29 => self.restore_submission(&read(value)?),
            _ => return self.restore_other(kind, value),
        }
        Ok(true)
    }

    fn restore_other(&mut self, kind: u8, value: &[u8]) -> Decoded<bool> {
        let (table, key, row) = match kind {
            11 => self.restored_acl_policy(&read(value)?),
            12 => self.restored_token(&read(value)?),
            13 => self.restored_scheduler_config(&read(value)?, &read(value)?),
            14 => self.restored_cluster(&read(value)?),
            21 => self.restored_service(&read(value)?),
            22 => self.restored_variable(&read(value)?),
            23 => self.restored_quota(&read(value)?),
            24 | 30 => self.restored_root_key(&read(value)?),
            25 => self.restored_role(&read(value)?),
            26 => self.restored_auth_method(&read(value)?),
            27 => self.restored_binding_rule(&read(value)?),
            31 => self.restored_host_volume(&read(value)?),
            _ => return Ok(false),
        };
        self.put_row(table, &key, row);
        Ok(true)
    }

    fn restore_node(&mut self, body: &NodeBody<'_>) {
        let mut row = self.new_node_row(body);
        row.indexes = indexes(body.create_index, body.modify_index);
        let event = |event: &crate::entry::body::node::NodeEventBody<'_>| NodeEvent::Carried {
            origin: self.origin(event.at),
            create_index: Index(event.create_index),
        };
        row.events = body.events.iter().map(event).collect();
        row.last_drain = body.last_drain.as_ref().map(|last| LastDrain {
            started_at: last.started_at,
            updated_at: last.updated_at,
            status: Word::new(&last.status),
            accessor_id: (*last.accessor_id).into(),
            meta: last.meta.0.map(|at| self.origin(at)),
        });
        self.state.put_node(&row.id.clone(), Some(Arc::new(row)));
    }

    fn restore_job(&mut self, body: &JobBody<'_>) {
        let mut row = self.job_row(body, true);
        if self.rules.node_pools && row.node_pool.is_empty() {
            row.node_pool = "default".into();
        }
        self.state.put_job(&row.key.clone(), Some(Arc::new(row)));
    }

    fn restore_version(&mut self, body: &JobBody<'_>) {
        let row = self.job_row(body, false);
        self.state.put_version(&fold(&row.key), row.version, Some(Arc::new(row)));
    }

    fn restore_index(&mut self, body: &IndexBody<'_>) {
        self.state.put_table_index(body.key.clone().into_owned().into(), Some(Index(body.value)));
    }

    fn restore_eval(&mut self, body: &EvalBody<'_>) {
        let mut row = self.eval_row(body);
        row.indexes = indexes(body.create_index, body.modify_index);
        self.state.put_eval(&row.id.clone(), Some(Arc::new(row)));
    }

    fn restore_alloc(&mut self, body: &AllocBody<'_>) {
        let mut row = self.alloc_row(body, None);
        row.indexes = indexes(body.create_index, body.modify_index);
        row.alloc_modify_index = Index(body.alloc_modify_index);
        row.task_states = body.task_states.0.map(|_| row.origin);
        self.state.put_alloc(&row.id.clone(), Some(Arc::new(row)));
    }

    fn restore_launch(&mut self, body: &PeriodicLaunchBody<'_>) {
        let row = Launch { launch: Some(body.launch), indexes: indexes(body.create_index, body.modify_index) };
        self.state.put_launch(&JobKey::new(&*body.namespace, &*body.id), Some(row));
    }

    fn restore_summary(&mut self, body: &JobSummaryBody<'_>) {
        let mut groups: Vec<(Arc<str>, GroupSummary)> = body
            .groups
            .0
            .iter()
            .map(|(name, g)| {
                let numbers = GroupSummary {
                    queued: Some(g.queued),
                    complete: g.complete,
                    failed: g.failed,
                    running: g.running,
                    starting: g.starting,
                    lost: g.lost,
                    unknown: g.unknown,
                };
                ((**name).into(), numbers)
            })
            .collect();
        groups.sort_by(|a, b| a.0.cmp(&b.0));
        let children = body.children.as_ref();
        let row = Summary {
            groups,
            children: children.map(|c| Children { pending: c.pending, running: c.running, dead: c.dead }),
            indexes: indexes(body.create_index, body.modify_index),
        };
        self.state.put_summary(&JobKey::new(&*body.namespace, &*body.job_id), Some(Arc::new(row)));
    }

    fn restore_accessor(&mut self, table: TableName, body: &AccessorBody<'_>) {
        if !self.rules.accessors_ignored {
            let row = Plain { indexes: indexes(body.create_index, body.create_index), origin: self.origin(body.at) };
            self.put_row(table, &accessor_key(table, body), TableRow::Plain(row));
        }
    }

    fn restore_deployment(&mut self, body: &DeploymentBody<'_>) {
        let mut row = self.deployment_row(body);
        row.indexes = indexes(body.create_index, body.modify_index);
        self.state.put_deployment(&row.id.clone(), Some(Arc::new(row)));
    }

    fn restore_policy(&mut self, body: &ScalingBody<'_>) {
        let mut row = self.scaling_row(body, None);
        if row.kind.is_empty() {
            row.kind = "horizontal".into();
        }
        self.put_row(TableName::ScalingPolicies, &global(&row.id.clone()), TableRow::ScalingPolicy(Arc::new(row)));
    }

    fn restore_scaling_events(&mut self, body: &ScalingEventsBody<'_>) {
        let group = |(name, events): &(Text<'_>, Vec<crate::entry::body::snapshot::ScalingEventBody<'_>>)| {
            let events = events
                .iter()
                .map(|event| ScalingEvent { origin: self.origin(event.at), create_index: Index(event.create_index) });
            ((**name).into(), events.collect())
        };
        let mut groups: Vec<(Arc<str>, Vec<ScalingEvent>)> = body.events.0.iter().map(group).collect();
        groups.sort_by(|a, b| a.0.cmp(&b.0));
        let row = ScalingEvents { groups, modify_index: Index(body.modify_index) };
        let key = RowKey::new(&*body.namespace, &*body.job_id);
        self.put_row(TableName::ScalingEvents, &key, TableRow::ScalingEvents(row));
    }

    fn restore_plugin(&mut self, body: &CsiPluginBody<'_>) {
        let half =
            |infos: &Pairs<Text<'_>, CsiInfoBody<'_>>, jobs: &Pairs<Text<'_>, Shares<'_>>, numbers: (i64, i64)| Half {
                infos: infos.0.iter().map(|(node, info)| (Id::new(node), self.csi_info(info))).collect(),
                jobs: shares(jobs),
                healthy: numbers.0,
                expected: numbers.1,
            };
        let controllers = (body.controllers_healthy, body.controllers_expected);
        let nodes = (body.nodes_healthy, body.nodes_expected);
        let row = Plugin {
            id: (*body.id).into(),
            provider: (*body.provider).into(),
            version: (*body.version).into(),
            controller_required: body.controller_required,
            controllers: half(&body.controllers, &body.controller_jobs, controllers),
            nodes: half(&body.nodes, &body.node_jobs, nodes),
            indexes: indexes(body.create_index, body.modify_index),
            times: Some((body.create_time, body.modify_time)),
        };
        self.put_row(TableName::CsiPlugins, &global(&body.id), TableRow::Plugin(row));
    }

    fn restore_volume(&mut self, body: &CsiVolumeBody<'_>) {
        let row = self.volume_row(body, indexes(body.create_index, body.modify_index));
        self.put_row(TableName::CsiVolumes, &RowKey::new(&*body.namespace, &*body.id), TableRow::Volume(row));
    }

    fn restore_named(&mut self, kind: u8, body: &IndexedBody<'_>) {
        let row = Named { indexes: indexes(body.create_index, body.modify_index), origin: Some(self.origin(body.at)) };
        let name = Arc::from(&*body.name);
        match kind {
            28 => self.state.put_node_pool(&name, Some(row)),
            _ => self.state.put_namespace(&name, Some(row)),
        }
    }

    fn restore_submission(&mut self, body: &SubmissionBody<'_>) {
        let key = RowKey::new(&*body.namespace, &*body.job_id);
        let row = self.state.row(TableName::JobSubmissions, &key).and_then(|r| r.submissions());
        let mut row = row.cloned().unwrap_or_default();
        let origin = self.origin(body.at);
        row.0.push(Submission { version: body.version, job_modify_index: Index(body.job_modify_index), origin });
        row.0.sort_by_key(|s| std::cmp::Reverse((s.job_modify_index, s.version)));
        self.put_row(TableName::JobSubmissions, &key, TableRow::Submissions(row));
    }

    fn restored_acl_policy(&self, body: &PolicyBody<'_>) -> (TableName, RowKey, TableRow) {
        let row = Plain { indexes: indexes(body.create_index, body.modify_index), origin: self.origin(body.at) };
        (TableName::AclPolicies, global(&body.name), TableRow::Policy(row))
    }

    fn restored_token(&self, body: &TokenBody<'_>) -> (TableName, RowKey, TableRow) {
        let origin = self.origin(body.at);
        let row = Token { indexes: indexes(body.create_index, body.modify_index), origin, identity: origin };
        (TableName::AclTokens, global(&body.accessor_id), TableRow::Token(row))
    }

    fn restored_scheduler_config(
        &self,
        body: &SchedulerConfigBody<'_>,
        indexed: &IndexedBody<'_>,
    ) -> (TableName, RowKey, TableRow) {
        let row = Scheduler {
            pause_eval_broker: body.pause_eval_broker,
            indexes: indexes(indexed.create_index, indexed.modify_index),
            origin: self.origin(body.at),
        };
        (TableName::SchedulerConfig, global(""), TableRow::Scheduler(row))
    }

    fn restored_cluster(&self, body: &ClusterMetadata<'_>) -> (TableName, RowKey, TableRow) {
        let row = Cluster { cluster_id: (*body.cluster_id).into(), origin: self.origin(body.at) };
        (TableName::ClusterMetadata, global(""), TableRow::Cluster(row))
    }

    fn restored_service(&self, service: &WithContent<ServiceBody<'_>>) -> (TableName, RowKey, TableRow) {
        let body = &service.body;
        let row = self.service_row(service, indexes(body.create_index, body.modify_index));
        (TableName::ServiceRegistrations, RowKey::new(&*body.namespace, &*body.id), row)
    }

    fn restored_variable(&self, body: &VariableBody<'_>) -> (TableName, RowKey, TableRow) {
        let row = self.variable_row(body, indexes(body.create_index, body.modify_index));
        (TableName::Variables, RowKey::new(&*body.namespace, &*body.path), TableRow::Variable(row))
    }

    fn restored_quota(&self, body: &VariablesQuotaBody<'_>) -> (TableName, RowKey, TableRow) {
        let row = Quota { size: body.size, indexes: indexes(body.create_index, body.modify_index) };
        (TableName::VariablesQuotas, global(&body.namespace), TableRow::Quota(row))
    }

    fn restored_root_key(&self, body: &RootKeyBody<'_>) -> (TableName, RowKey, TableRow) {
        let row = self.root_key_row(body, indexes(body.create_index, body.modify_index));
        (TableName::RootKeys, global(&body.key_id), TableRow::RootKey(row))
    }

    fn restored_role(&self, role: &WithContent<RoleBody<'_>>) -> (TableName, RowKey, TableRow) {
        let body = &role.body;
        let row = self.role_row(role, indexes(body.create_index, body.modify_index));
        (TableName::AclRoles, global(&body.id), row)
    }

    fn restored_auth_method(&self, method: &WithContent<AuthMethodBody<'_>>) -> (TableName, RowKey, TableRow) {
        let body = &method.body;
        let row = self.auth_method_row(method, indexes(body.create_index, body.modify_index));
        (TableName::AclAuthMethods, global(&body.name), row)
    }

    fn restored_binding_rule(&self, rule: &WithContent<BindingRuleBody<'_>>) -> (TableName, RowKey, TableRow) {
        let body = &rule.body;
        let row = self.binding_rule_row(rule, indexes(body.create_index, body.modify_index));
        (TableName::AclBindingRules, global(&body.id), row)
    }

    fn restored_host_volume(&self, body: &HostVolumeBody<'_>) -> (TableName, RowKey, TableRow) {
        let row = self.host_volume_row(body, indexes(body.create_index, body.modify_index));
        (TableName::HostVolumes, RowKey::new(&*body.namespace, &*body.id), TableRow::HostVolume(row))
    }
}

type Shares<'a> = Pairs<Text<'a>, JobDescriptionBody<'a>>;

fn shares(jobs: &Pairs<Text<'_>, Shares<'_>>) -> JobShares {
    let inner = |jobs: &Shares<'_>| jobs.0.iter().map(|(id, share)| ((**id).into(), share.expected)).collect();
    jobs.0.iter().map(|(namespace, jobs)| ((**namespace).into(), inner(jobs))).collect()
}
