//! Directories, on disk or inside of a parcel (a tar), read alike.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use super::EvidenceError;
use super::file::File;

/// More entries of one directory than this are not listed.
const MOST_ENTRIES: usize = 20_000;

/// The files of a tar by their paths in it, which have neither `.` nor `..` in them.
#[derive(Debug)]
pub struct Parcel {
    /// The name of the tar, for messages.
    pub name: String,
    /// Regular files.
    pub files: BTreeMap<String, File>,
}

/// A directory.
#[derive(Clone, Debug)]
pub enum Dir {
    /// On disk.
    Disk(PathBuf),
    /// A path inside of a parcel; the empty one is its top.
    Parcel(Arc<Parcel>, String),
}

/// What a directory holds under a name.
#[derive(Clone, Debug)]
pub enum Entry {
    /// A regular file, or a link to one.
    File(PlacedFile),
    /// A directory; on disk never a link to one, which may lead round in circles.
    Dir(Dir),
}

/// A file that is not yet open.
#[derive(Clone, Debug)]
pub enum PlacedFile {
    /// On disk.
    Disk(PathBuf),
    /// In a parcel.
    Parcel(File),
}

impl PlacedFile {
    /// The path for messages.
    pub fn shown(&self) -> String {
        match self {
            PlacedFile::Disk(path) => path.display().to_string(),
            PlacedFile::Parcel(file) => file.path().to_string(),
        }
    }

    /// Its length in bytes; 0 where it cannot be had.
    pub fn len(&self) -> u64 {
        match self {
            PlacedFile::Disk(path) => fs::metadata(path).map_or(0, |about| about.len()),
            PlacedFile::Parcel(file) => file.len(),
        }
    }

    /// True when it holds no byte, or cannot be looked at.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Opens it.
    ///
    /// # Errors
    /// As [`File::open`].
    pub fn open(&self) -> Result<File, EvidenceError> {
        match self {
            PlacedFile::Disk(path) => File::open(path),
            PlacedFile::Parcel(file) => Ok(file.clone()),
        }
    }
}

impl Dir {
    /// The path for messages.
    pub fn shown(&self) -> String {
        match self {
            Dir::Disk(path) => path.display().to_string(),
            Dir::Parcel(parcel, path) if path.is_empty() => parcel.name.clone(),
            Dir::Parcel(parcel, path) => format!("{}/{path}", parcel.name),
        }
    }

    /// Its own name, without the path to it.
    pub fn name(&self) -> String {
        match self {
            Dir::Disk(path) => path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            Dir::Parcel(_, path) => path.rsplit('/').next().unwrap_or_default().to_string(),
        }
    }

    /// The directory that it lies in.
    pub fn parent(&self) -> Option<Dir> {
        match self {
            Dir::Disk(path) => path.parent().map(|path| Dir::Disk(path.to_path_buf())),
            Dir::Parcel(parcel, path) => {
                let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
                (!path.is_empty()).then(|| Dir::Parcel(Arc::clone(parcel), parent.into()))
            }
        }
    }

    /// A directory in it, if there is one.
    pub fn dir(&self, name: &str) -> Option<Dir> {
        match self {
            Dir::Disk(path) => Some(path.join(name)).filter(|path| path.is_dir()).map(Dir::Disk),
            Dir::Parcel(parcel, path) => {
                let inner = join(path, name);
                let prefix = format!("{inner}/");
                let first = parcel.files.range(prefix.clone()..).next();
                first.filter(|(path, _)| path.starts_with(&prefix)).map(|_| Dir::Parcel(Arc::clone(parcel), inner))
            }
        }
    }

    /// A file in it, if there is one.
    pub fn file(&self, name: &str) -> Option<PlacedFile> {
        match self {
            Dir::Disk(path) => Some(path.join(name)).filter(|path| path.is_file()).map(PlacedFile::Disk),
            Dir::Parcel(parcel, path) => parcel.files.get(&join(path, name)).cloned().map(PlacedFile::Parcel),
        }
    }

    /// True where the system does not let it be listed.
    pub fn is_closed(&self) -> bool {
        match self {
            Dir::Disk(path) => fs::read_dir(path).is_err_and(|e| e.kind() == std::io::ErrorKind::PermissionDenied),
            Dir::Parcel(..) => false,
        }
    }

    /// What it holds, in order of name; nothing where it cannot be read, which is no failure.
    pub fn list(&self) -> Vec<(String, Entry)> {
        let mut entries = match self {
            Dir::Disk(path) => list_disk(path),
            Dir::Parcel(parcel, path) => list_parcel(parcel, path),
        };
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        entries
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.into() } else { format!("{path}/{name}") }
}

fn list_disk(path: &std::path::Path) -> Vec<(String, Entry)> {
    let Ok(entries) = fs::read_dir(path) else { return Vec::new() };
    let entry = |entry: fs::DirEntry| {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if fs::symlink_metadata(&path).ok()?.is_dir() {
            return Some((name, Entry::Dir(Dir::Disk(path))));
        }
        path.is_file().then_some((name, Entry::File(PlacedFile::Disk(path))))
    };
    entries.take(MOST_ENTRIES).flatten().filter_map(entry).collect()
}

fn list_parcel(parcel: &Arc<Parcel>, path: &str) -> Vec<(String, Entry)> {
    let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
    let mut out: Vec<(String, Entry)> = Vec::new();
    let inside = parcel.files.range(prefix.clone()..).take_while(|(path, _)| path.starts_with(&prefix));
    for (path, file) in inside {
        let rest = path.get(prefix.len()..).unwrap_or_default();
        let entry = match rest.split_once('/') {
            None => (rest.to_string(), Entry::File(PlacedFile::Parcel(file.clone()))),
            // All files of one directory stand together.
            Some((name, _)) if out.last().is_some_and(|(last, _)| last == name) => continue,
            Some((name, _)) => {
                (name.to_string(), Entry::Dir(Dir::Parcel(Arc::clone(parcel), format!("{prefix}{name}"))))
            }
        };
        out.push(entry);
        if out.len() >= MOST_ENTRIES {
            break;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parcel_lists_like_a_directory() {
        let file = |path: &str| (path.to_string(), File::from_memory(path, vec![1]));
        let files = ["a/b/one", "a/b/two", "a/b-c", "a/d/three", "top"].map(file).into_iter().collect();
        let top = Dir::Parcel(Arc::new(Parcel { name: "case.tar".into(), files }), String::new());
        let names = |dir: &Dir| dir.list().into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(" ");
        assert_eq!(names(&top), "a top");
        let a = top.dir("a").unwrap();
        assert_eq!(names(&a), "b b-c d");
        let b = a.dir("b").unwrap();
        assert_eq!((b.shown().as_str(), b.name().as_str(), names(&b).as_str()), ("case.tar/a/b", "b", "one two"));
        assert!(a.dir("b-c").is_none() && a.file("b").is_none() && a.file("b-c").is_some() && a.dir("x").is_none());
        assert_eq!(b.parent().unwrap().parent().unwrap().shown(), "case.tar");
        assert!(top.parent().is_none());
    }
}
