//! Whose log it was: the names under which many clusters' exports lie in one folder.

use std::fmt;
use std::path::{Component, Path};
use std::str::FromStr;

use crate::fsm::state::State;
use crate::fsm::table::{TableName, global};

/// The longest name, in bytes: two of them and an extension are still a file's name everywhere.
const LONGEST: usize = 100;

/// What Nomad calls its own folders and files, and where systems keep them: none says whose they are.
const COMMON: [&str; 20] = [
    "raft",
    "server",
    "wal",
    "snapshots",
    "data",
    "nomad",
    "opt",
    "var",
    "lib",
    "srv",
    "usr",
    "etc",
    "mnt",
    "media",
    "tmp",
    "home",
    "root",
    "private",
    "alloc",
    "local",
];

/// Endings that say how a file was made, and not what it is.
const ENDINGS: [&str; 12] =
    [".gz", ".tgz", ".xz", ".zst", ".tar", ".snap", ".json", ".ndjson", ".db", ".bin", ".wal", ".raft"];

/// The name of a cluster or a server: a value in a column and a part of a file's name. Letters, digits, `.`, `-` and
/// `_`, the first a letter or a digit, since Spark, Hive and Trino pass over files that begin otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name(String);

/// Why a text is no [`Name`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a name has letters, digits, `.`, `-` and `_`, begins with a letter or digit, and has at most {LONGEST} bytes")]
pub struct BadName;

impl FromStr for Name {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        let fits = text.len() <= LONGEST
            && text.starts_with(char::is_alphanumeric)
            && text.chars().all(|c| c.is_alphanumeric() || ".-_".contains(c));
        if fits { Ok(Name(text.to_owned())) } else { Err(BadName) }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Name {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A server of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The cluster.
    pub cluster: Name,
    /// The server.
    pub server: Name,
}

impl Place {
    /// The name of this server's file in the folder of each table.
    pub fn file_name(&self) -> String {
        format!("{}.{}.parquet", self.cluster, self.server)
    }
}

/// What a path tells of whose log it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// The folder above the server's, where it has a name of its own.
    pub cluster: Option<Name>,
    /// The innermost folder or file with a name of its own: `s1` of `prod/s1/server/raft` and of `prod/s1.tar.gz`.
    pub server: Option<Name>,
}

/// Looks for names in a path: evidence of several servers is mostly kept in a folder for each. Nothing is told by
/// the places where servers themselves keep it, which are the same on all of them.
pub fn told_by(path: &Path) -> Told {
    if path == Path::new("-") {
        return Told::default();
    }
    // As it was typed, links and all, unless it goes up somewhere.
    let up = path.components().any(|part| part == Component::ParentDir);
    let path = if up { path.canonicalize() } else { std::path::absolute(path) }.unwrap_or_else(|_| path.to_owned());
    let parts: Vec<&str> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(part) => part.to_str(),
            _ => None,
        })
        .collect();
    let in_snapshots = |at: usize| at.checked_sub(1).and_then(|before| parts.get(before)) == Some(&"snapshots");
    let mut names = parts
        .iter()
        .enumerate()
        .rev()
        .filter(|(at, _)| !in_snapshots(*at))
        .filter_map(|(at, part)| if at + 1 == parts.len() { own(without_endings(part)) } else { own(part) });
    Told { server: names.next(), cluster: names.next() }
}

/// The ID that a cluster gave itself; `None` where the state has none, or what no Nomad makes.
pub fn cluster_id(state: &State) -> Option<Name> {
    let row = state.row(TableName::ClusterMetadata, &global(""))?.cluster()?;
    let id = &*row.cluster_id;
    let is_uuid = id.len() == 36 && id.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    if is_uuid { id.parse().ok() } else { None }
}

fn own(part: &str) -> Option<Name> {
    let common = COMMON.contains(&part) || part == "state";
    if common { None } else { part.parse().ok() }
}

fn without_endings(mut part: &str) -> &str {
    while let Some(stem) = ENDINGS.iter().find_map(|ending| part.strip_suffix(ending)) {
        part = stem;
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(path: &str) -> (Option<String>, Option<String>) {
        let told = told_by(Path::new(path));
        (told.cluster.map(|name| name.to_string()), told.server.map(|name| name.to_string()))
    }

    #[test]
    fn a_folder_for_each_server_names_it() {
        let both = (Some("prod-eu".to_owned()), Some("s1".to_owned()));
        for path in [
            "/evidence/prod-eu/s1",
            "/evidence/prod-eu/s1/server/raft",
            "/evidence/prod-eu/s1/raft.db",
            "/evidence/prod-eu/s1.tar.gz",
            "/evidence/prod-eu/s1.snap",
            "/evidence/prod-eu/s1/raft/snapshots/2-1560-1610940918123",
            "/evidence/prod-eu/s1/raft/snapshots/2-1560-1610940918123/state.bin",
        ] {
            assert_eq!(told(path), both, "{path}");
        }
    }

    #[test]
    fn the_places_where_servers_keep_their_data_name_nobody() {
        for path in ["/opt/nomad/data/server/raft", "/var/lib/nomad/server/raft/raft.db", "/", "-"] {
            assert_eq!(told(path), (None, None), "{path}");
        }
    }

    #[test]
    fn a_name_is_a_part_of_a_file_name_that_engines_read() {
        for good in ["global", "eu-west_1", "nomad-1.eu.example.com", "7", "münchen"] {
            assert!(good.parse::<Name>().is_ok(), "{good}");
        }
        let long = "a".repeat(101);
        for bad in ["", ".hidden", "_temporary", "a/b", "..", "a b", "a\u{1b}[2J", "a=b", &long] {
            assert_eq!(bad.parse::<Name>(), Err(BadName), "{bad}");
        }
    }
}
