//! States as bytes, to go on from later without replaying what led to them.
//!
//! An image holds rows as they are at an index: all of them, or those that were written since
//! another image, which it is then put on top of. It is for the program that made it: its first
//! bytes name the shape of all rows, and one of another shape is not read.

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::{State, Versions};
use crate::fsm::id::Id;
use crate::fsm::outcome::Change;
use crate::fsm::row::{Alloc, Deployment, Eval, Job, Launch, Named, Node, Summary};
use crate::fsm::table::{RowKey, TableName, TableRow};
use crate::pack::{BadImage, Pack, Packer, Unpacker, fnv};
use crate::types::{Index, JobKey};

/// The shape of the rows: a digest of the files that declare them.
const SHAPE: u64 = {
    let mut digest = fnv(0, include_bytes!("../row.rs"));
    digest = fnv(digest, include_bytes!("../row/job.rs"));
    digest = fnv(digest, include_bytes!("../row/node.rs"));
    digest = fnv(digest, include_bytes!("../row/work.rs"));
    digest = fnv(digest, include_bytes!("../table.rs"));
    digest = fnv(digest, include_bytes!("../csi.rs"));
    digest = fnv(digest, include_bytes!("../../pack.rs"));
    fnv(digest, include_bytes!("rows.rs"))
};

type Rows<K, R> = Vec<(K, Option<R>)>;

/// Rows of a state at an index; `None` for one that is gone. They share their memory with the
/// state's, and can be packed on another thread. Of several rows of one name the last counts.
#[derive(Debug, Default)]
pub struct Image {
    jobs: Rows<JobKey, Arc<Job>>,
    versions: Rows<(JobKey, u64), Arc<Job>>,
    summaries: Rows<JobKey, Arc<Summary>>,
    evals: Rows<Id, Arc<Eval>>,
    allocs: Rows<Id, Arc<Alloc>>,
    deployments: Rows<Id, Arc<Deployment>>,
    nodes: Rows<Id, Arc<Node>>,
    launches: Rows<JobKey, Launch>,
    namespaces: Rows<Arc<str>, Named>,
    node_pools: Rows<Arc<str>, Named>,
    rows: Rows<(TableName, RowKey), Arc<TableRow>>,
    /// Several rows can have one name.
    repeats: bool,
    /// All of them: there are few.
    table_indexes: Vec<(Cow<'static, str>, Index)>,
}

/// The rows that were written since an image, each as often as it was written.
#[derive(Debug, Default)]
pub struct Written(Image);

impl Written {
    /// Notes the row of a change, as it is in the state now.
    pub fn note(&mut self, change: &Change, state: &State) {
        let Written(image) = self;
        match change {
            Change::Job { key, .. } => image.jobs.push((key.clone(), state.job(key).cloned())),
            Change::Version { key, version, .. } => {
                let row = state.versions.get(key).and_then(|versions| versions.get(*version));
                image.versions.push(((key.clone(), *version), row.cloned()));
            }
            Change::Summary { key, .. } => image.summaries.push((key.clone(), state.summary(key).cloned())),
            Change::Eval { id, .. } => image.evals.push((id.clone(), state.evals.get(id).cloned())),
            Change::Alloc { id, .. } => image.allocs.push((id.clone(), state.allocs.get(id).cloned())),
            Change::Deployment { id, .. } => image.deployments.push((id.clone(), state.deployments.get(id).cloned())),
            Change::Node { id, .. } => image.nodes.push((id.clone(), state.nodes.get(id).cloned())),
            Change::Launch { key, .. } => image.launches.push((key.clone(), state.launches.get(key).copied())),
            Change::Namespace { name, .. } => {
                image.namespaces.push((name.clone(), state.namespaces.get(name).copied()));
            }
            Change::NodePool { name, .. } => image.node_pools.push((name.clone(), state.node_pools.get(name).copied())),
            Change::Row { table, key, .. } => {
                let row = state.rows.get(table).and_then(|rows| rows.get(key));
                image.rows.push(((*table, key.clone()), row.cloned()));
            }
            Change::TableIndex { .. } => {}
        }
    }

    /// Notes the rows of an image.
    pub fn note_all(&mut self, image: &Image) {
        let Written(noted) = self;
        noted.jobs.extend_from_slice(&image.jobs);
        noted.versions.extend_from_slice(&image.versions);
        noted.summaries.extend_from_slice(&image.summaries);
        noted.evals.extend_from_slice(&image.evals);
        noted.allocs.extend_from_slice(&image.allocs);
        noted.deployments.extend_from_slice(&image.deployments);
        noted.nodes.extend_from_slice(&image.nodes);
        noted.launches.extend_from_slice(&image.launches);
        noted.namespaces.extend_from_slice(&image.namespaces);
        noted.node_pools.extend_from_slice(&image.node_pools);
        noted.rows.extend_from_slice(&image.rows);
    }

    /// The rows as they are now; `state` is the one that all of them were written in.
    pub fn into_image(self, state: &State) -> Image {
        let Written(mut image) = self;
        image.repeats = true;
        image.table_indexes = state.table_indexes.iter().map(|(table, index)| (table.clone(), *index)).collect();
        image
    }
}

/// The last row of each name, of rows in which names can be repeated.
fn latest<K: Eq + Hash, R>(rows: &Rows<K, R>, repeats: bool) -> Vec<&(K, Option<R>)> {
    if !repeats {
        return rows.iter().collect();
    }
    let mut seen: HashSet<&K, RandomState> = HashSet::with_capacity_and_hasher(rows.len(), RandomState::default());
    rows.iter().rev().filter(|(name, _)| seen.insert(name)).collect()
}

impl State {
    /// Every row.
    pub fn image(&self) -> Image {
        // That no table is forgotten, the compiler checks.
        let State {
            cells,
            folded: _,
            versions,
            evals,
            blocked: _,
            allocs,
            deployments,
            nodes,
            launches,
            namespaces,
            node_pools,
            rows,
            services_of_allocs: _,
            policies_of_jobs: _,
            table_indexes,
            journal: _,
            moves: _,
        } = self;
        let version = |(key, rows): (&JobKey, &Versions)| {
            rows.iter().map(|(version, job)| ((key.clone(), version), Some(job.clone()))).collect::<Vec<_>>()
        };
        Image {
            jobs: self.jobs().map(|job| (job.key.clone(), Some(job.clone()))).collect(),
            versions: versions.iter().flat_map(version).collect(),
            summaries: cells.iter().filter_map(|(k, c)| Some((k.clone(), Some(c.summary.clone()?)))).collect(),
            evals: evals.iter().map(|(id, row)| (id.clone(), Some(row.clone()))).collect(),
            allocs: allocs.iter().map(|(id, row)| (id.clone(), Some(row.clone()))).collect(),
            deployments: deployments.iter().map(|(id, row)| (id.clone(), Some(row.clone()))).collect(),
            nodes: nodes.iter().map(|(id, row)| (id.clone(), Some(row.clone()))).collect(),
            launches: launches.iter().map(|(key, row)| (key.clone(), Some(*row))).collect(),
            namespaces: namespaces.iter().map(|(name, row)| (name.clone(), Some(*row))).collect(),
            node_pools: node_pools.iter().map(|(name, row)| (name.clone(), Some(*row))).collect(),
            rows: rows
                .iter()
                .flat_map(|(table, rows)| rows.iter().map(|(key, row)| ((*table, key.clone()), Some(row.clone()))))
                .collect(),
            repeats: false,
            table_indexes: table_indexes.iter().map(|(table, index)| (table.clone(), *index)).collect(),
        }
    }

    /// A state without any row, to put images on.
    pub fn blank() -> Self {
        let mut state = State::new(false);
        (state.namespaces, state.table_indexes) = Default::default();
        state
    }

    /// Puts the rows of an image in the place of those that are there.
    pub fn put_image(&mut self, image: Image) {
        self.cells.reserve(image.jobs.len());
        self.versions.reserve(image.versions.len());
        self.evals.reserve(image.evals.len());
        self.allocs.reserve(image.allocs.len());
        self.put_all(image.jobs, |state, key, row| state.put_job(&key, row));
        self.put_all(image.versions, |state, (key, version), row| state.put_version(&key, version, row));
        self.put_all(image.summaries, |state, key, row| state.put_summary(&key, row));
        self.put_all(image.evals, |state, id, row| state.put_eval(&id, row));
        self.put_all(image.allocs, |state, id, row| state.put_alloc(&id, row));
        self.put_all(image.deployments, |state, id, row| state.put_deployment(&id, row));
        self.put_all(image.nodes, |state, id, row| state.put_node(&id, row));
        self.put_all(image.launches, |state, key, row| state.put_launch(&key, row));
        self.put_all(image.namespaces, |state, name, row| state.put_namespace(&name, row));
        self.put_all(image.node_pools, |state, name, row| state.put_node_pool(&name, row));
        self.put_all(image.rows, |state, (table, key), row| state.put_row(table, &key, row));
        self.table_indexes = image.table_indexes.into_iter().collect();
    }

    /// Nothing of it is undone, so the journal is emptied again and again.
    fn put_all<K, R>(&mut self, rows: Rows<K, R>, put: impl Fn(&mut State, K, Option<R>)) {
        for (name, row) in rows {
            put(self, name, row);
            self.journal.clear();
        }
    }
}

impl Image {
    /// How many rows it has, each as often as it was written.
    pub fn len(&self) -> usize {
        let few = self.deployments.len() + self.nodes.len() + self.launches.len() + self.rows.len();
        let named = self.namespaces.len() + self.node_pools.len();
        self.jobs.len()
            + self.versions.len()
            + self.summaries.len()
            + self.evals.len()
            + self.allocs.len()
            + few
            + named
    }

    /// True when it has no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The image as bytes. They hold no text of an entry but names and IDs: bodies stay where they
    /// are in the evidence.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Packer::default();
        SHAPE.pack(&mut out);
        let repeats = self.repeats;
        let (jobs, versions) = (latest(&self.jobs, repeats), latest(&self.versions, repeats));
        pack_sources(&mut out, jobs.iter().map(|(_, job)| job).chain(versions.iter().map(|(_, job)| job)));
        pack_all(&mut out, &jobs);
        pack_all(&mut out, &versions);
        pack_rows(&mut out, &latest(&self.summaries, repeats));
        pack_rows(&mut out, &latest(&self.evals, repeats));
        pack_rows(&mut out, &latest(&self.allocs, repeats));
        pack_rows(&mut out, &latest(&self.deployments, repeats));
        pack_rows(&mut out, &latest(&self.nodes, repeats));
        pack_all(&mut out, &latest(&self.launches, repeats));
        pack_all(&mut out, &latest(&self.namespaces, repeats));
        pack_all(&mut out, &latest(&self.node_pools, repeats));
        pack_rows(&mut out, &latest(&self.rows, repeats));
        out.number(self.table_indexes.len() as u64);
        for (table, index) in &self.table_indexes {
            out.text(table, || (&**table).into());
            index.pack(&mut out);
        }
        out.into_bytes()
    }

    /// The image of some bytes.
    ///
    /// # Errors
    /// When they were made by another raftscope, or are damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BadImage> {
        let mut from = Unpacker::new(bytes);
        if from.number()? != SHAPE {
            return Err(BadImage { at: 0 });
        }
        Vec::<Arc<Job>>::unpack(&mut from)?;
        let image = Image {
            jobs: Pack::unpack(&mut from)?,
            versions: Pack::unpack(&mut from)?,
            summaries: unpack_rows(&mut from)?,
            evals: unpack_rows(&mut from)?,
            allocs: unpack_rows(&mut from)?,
            deployments: unpack_rows(&mut from)?,
            nodes: unpack_rows(&mut from)?,
            launches: Pack::unpack(&mut from)?,
            namespaces: Pack::unpack(&mut from)?,
            node_pools: Pack::unpack(&mut from)?,
            rows: unpack_rows(&mut from)?,
            repeats: false,
            table_indexes: Vec::<(Arc<str>, Index)>::unpack(&mut from)?
                .into_iter()
                .map(|(table, index)| (Cow::Owned(table.to_string()), index))
                .collect(),
        };
        if !from.is_at_end() {
            return Err(from.bad());
        }
        Ok(image)
    }
}

/// Packs rows as they are.
fn pack_all<K: Pack, R: Pack>(out: &mut Packer, rows: &[&(K, Option<R>)]) {
    out.number(rows.len() as u64);
    rows.iter().for_each(|row| row.pack(out));
}

/// Packs rows of which no two share one.
fn pack_rows<K: Pack, R: Pack>(out: &mut Packer, rows: &[&(K, Option<Arc<R>>)]) {
    out.number(rows.len() as u64);
    for (key, row) in rows {
        key.pack(out);
        row.is_some().pack(out);
        if let Some(row) = row {
            R::pack(row, out);
        }
    }
}

fn unpack_rows<K: Pack, R: Pack>(from: &mut Unpacker<'_>) -> Result<Rows<K, Arc<R>>, BadImage> {
    let count = from.count()?;
    let mut row = || Ok((K::unpack(from)?, Option::<R>::unpack(from)?.map(Arc::new)));
    (0..count).map(|_| row()).collect()
}

/// Packs the jobs that others take their resources from, which can be a long chain: each behind the
/// one that it takes them from itself.
fn pack_sources<'r>(out: &mut Packer, jobs: impl Iterator<Item = &'r Option<Arc<Job>>>) {
    let mut sources: Vec<&Arc<Job>> = Vec::new();
    let mut seen = HashSet::new();
    for job in jobs.flatten() {
        let mut chain = Vec::new();
        let mut next = job.resources_from.as_ref();
        while let Some(job) = next.filter(|job| seen.insert(Arc::as_ptr(job))) {
            chain.push(job);
            next = job.resources_from.as_ref();
        }
        sources.extend(chain.into_iter().rev());
    }
    out.number(sources.len() as u64);
    sources.into_iter().for_each(|job| job.pack(out));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fmt::Debug;
    use std::path::Path;

    use super::*;
    use crate::entry::message::Message;
    use crate::evidence::{self, LogType, Scanned};
    use crate::fsm::Fsm;
    use crate::fsm::rules::{Rules, Version};

    /// Everything in a state, its lookups as well, in an order of its own.
    fn all(state: &State) -> Vec<BTreeSet<String>> {
        fn sorted<T: Debug>(values: impl IntoIterator<Item = T>) -> BTreeSet<String> {
            values.into_iter().map(|value| format!("{value:?}")).collect()
        }
        let cell = |(key, cell): (&JobKey, &super::super::Cell)| {
            let ids = (sorted(cell.allocs.ids()), sorted(cell.evals.ids()), sorted(cell.deployments.ids()));
            let ids = (ids, sorted(cell.children.iter()));
            let live = (cell.allocs.live(), cell.evals.live(), cell.deployments.live());
            format!("{key} {:?} {:?} {ids:?} {live:?}", cell.job, cell.summary)
        };
        let folded = state.folded().iter().map(|(key, ids)| format!("{key} {:?}", sorted(ids)));
        let blocked = state.blocked.iter().map(|(key, ids)| format!("{key} {:?}", sorted(ids)));
        vec![
            sorted(state.cells.iter().map(cell)),
            sorted(folded),
            sorted(&state.versions),
            sorted(&state.evals),
            sorted(blocked),
            sorted(&state.allocs),
            sorted(&state.deployments),
            sorted(&state.nodes),
            sorted(&state.launches),
            sorted(&state.namespaces),
            sorted(&state.node_pools),
            sorted(&state.rows),
            sorted(&state.services_of_allocs),
            sorted(&state.policies_of_jobs),
            sorted(&state.table_indexes),
        ]
    }

    /// A state with the rows of an image that was packed and unpacked.
    fn again_from(mut state: State, image: &Image) -> State {
        state.put_image(Image::from_bytes(&image.to_bytes()).unwrap());
        state
    }

    /// Replays a fixture, and hands out the state after each entry.
    fn replayed(name: &str, rules: Version, mut look: impl FnMut(u64, &State, &[Change])) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
        let evidence = evidence::open(&path).unwrap();
        let mut fsm = Fsm::new(Rules::for_version(rules));
        let all = Index(0)..=Index(u64::MAX);
        let scanned = evidence.log.scan(all, &mut |met| {
            if let Scanned::Entry(record) = met {
                let message = (record.kind == LogType::Command).then(|| Message::read(record.data)).flatten();
                let step = fsm.apply(&record, message.as_ref());
                look(record.index.0, fsm.state(), &step.changes);
            }
            std::ops::ControlFlow::Continue(())
        });
        scanned.unwrap();
    }

    #[test]
    fn a_state_comes_back_from_its_image_with_all_lookups() {
        for name in ["real-2.0.5/s1", "horizontal_hey", "secrets", "switch_prefix_purge", "restart_inplace"] {
            replayed(name, Version::NEWEST, |index, state, _| {
                if index % 37 == 0 {
                    let again = again_from(State::blank(), &state.image());
                    for (ours, theirs) in all(&again).iter().zip(&all(state)) {
                        assert_eq!(ours, theirs, "{name} at {index}");
                    }
                }
            });
        }
    }

    #[test]
    fn what_was_written_since_an_image_goes_on_top_of_it() {
        for name in ["real-2.0.5/s1", "secrets", "switch_prefix_purge", "child_comes_back"] {
            let (mut kept, mut written) = (State::new(true), Written::default());
            replayed(name, Version::NEWEST, |index, state, changes| {
                changes.iter().for_each(|change| written.note(change, state));
                if index % 23 == 0 {
                    let image = std::mem::take(&mut written).into_image(state);
                    kept = again_from(std::mem::replace(&mut kept, State::blank()), &image);
                    for (ours, theirs) in all(&kept).iter().zip(&all(state)) {
                        assert_eq!(ours, theirs, "{name} at {index}");
                    }
                }
            });
        }
    }

    #[test]
    fn what_rows_share_they_share_again() {
        replayed("real-2.0.5/s1", Version::NEWEST, |index, state, _| {
            if index % 100 != 0 {
                return;
            }
            let shared = |state: &State| {
                let same = |job: &&Arc<Job>| {
                    let version = state.versions(&super::super::fold(&job.key)).and_then(|v| v.get(job.version));
                    version.is_some_and(|version| Arc::ptr_eq(version, job))
                };
                state.jobs().filter(same).count()
            };
            let again = again_from(State::blank(), &state.image());
            assert_eq!(shared(&again), shared(state));
        });
    }

    #[test]
    fn no_secret_is_in_an_image() {
        replayed("secrets", Version::NEWEST, |index, state, _| {
            let image = state.image().to_bytes();
            for secret in ["SECRET-", "5ec2e700-feed"] {
                let found = image.windows(secret.len()).position(|window| window == secret.as_bytes());
                assert_eq!(found, None, "{secret} after entry {index}");
            }
        });
    }

    #[test]
    fn a_damaged_image_is_an_error() {
        let mut image = Vec::new();
        replayed("real-2.0.5/s1", Version::NEWEST, |index, state, _| {
            if index == 100 {
                image = state.image().to_bytes();
            }
        });
        assert!(Image::from_bytes(&[]).is_err());
        for cut in (0..image.len()).step_by(7) {
            assert!(Image::from_bytes(&image[..cut]).is_err());
        }
        for at in 0..image.len() {
            let mut damaged = image.clone();
            damaged[at] ^= 0x55;
            // Another ID or number may be read; nothing may panic.
            let _ = Image::from_bytes(&damaged);
        }
        image[0] ^= 1;
        assert_eq!(Image::from_bytes(&image).unwrap_err(), BadImage { at: 0 });
    }
}
