// SPDX-License-Identifier: MIT OR Apache-2.0
//! PTX that was made before, in any checkout: kept for this user by what it was made from.
//!
//! ```text
//! <cache>/cuda-builder/<hash of compiler, chip, options, group, crates of the registry>/
//!     <hash of the sources>.json        the sources, relative to the kernel crate, each with its hash
//!     <hash of the sources>.ptx.zlib    the PTX
//! ```
//!
//! Which sources a group is made of is known once it was compiled: an entry counts if all that it lists are what they were.

use crate::environment::is_build_script;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde_json::{Value, json};
use sha1_smol::Sha1;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

/// The variable that names the folder; empty, nothing is kept.
const VARIABLE: &str = "CUDA_BUILDER_CACHE";
/// Entries of a group that are kept: as many branches as somebody goes to and fro between.
const MOST: usize = 6;

/// The folder of this user; none where nothing is to be kept.
pub fn folder() -> Option<PathBuf> {
    if is_build_script() {
        println!("cargo:rerun-if-env-changed={VARIABLE}");
    }
    let set = |name| std::env::var_os(name).filter(|folder| !folder.is_empty());
    match std::env::var_os(VARIABLE) {
        Some(folder) if folder.is_empty() => None,
        Some(folder) => Some(folder.into()),
        None => match set("XDG_CACHE_HOME") {
            Some(folder) => Some(Path::new(&folder).join("cuda-builder")),
            None => Some(Path::new(&set("HOME")?).join(".cache/cuda-builder")),
        },
    }
}

/// What is kept of a group of kernels.
pub struct PtxCache {
    folder: PathBuf,
    krate: PathBuf,
}

/// PTX, and what it was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedPtx {
    /// The PTX.
    pub ptx: String,
    /// Every source and manifest.
    pub sources: BTreeSet<PathBuf>,
}

impl PtxCache {
    /// In a folder, of a crate, what was made with all that a key tells.
    pub fn new(folder: &Path, krate: &Path, key: &str) -> Self {
        Self { folder: folder.join(hash(key.as_bytes())), krate: krate.to_owned() }
    }

    /// What was made of the sources as they are now.
    pub fn find(&self) -> Option<CachedPtx> {
        let mut hashes = BTreeMap::new();
        let entries = fs::read_dir(&self.folder).ok()?.flatten().map(|entry| entry.path());
        let lists = entries.filter(|path| path.extension().is_some_and(|it| it == "json"));
        lists.into_iter().find_map(|list| self.read(&list, &mut hashes))
    }

    /// An entry, if its sources are what they were.
    fn read(&self, list: &Path, hashes: &mut BTreeMap<PathBuf, String>) -> Option<CachedPtx> {
        let known: Value = serde_json::from_slice(&fs::read(list).ok()?).ok()?;
        let mut sources = BTreeSet::new();
        for (path, hashed) in known.as_object()? {
            let path = self.krate.join(path);
            if !hashes.contains_key(&path) {
                hashes.insert(path.clone(), hash(&fs::read(&path).ok()?));
            }
            if hashed.as_str() != Some(&hashes[&path]) {
                return None;
            }
            sources.insert(normal(&path));
        }
        let mut ptx = String::new();
        let packed = fs::File::open(list.with_extension("ptx.zlib")).ok()?;
        ZlibDecoder::new(packed).read_to_string(&mut ptx).ok()?;
        // Which entry was used last decides which ones are dropped.
        let now = fs::FileTimes::new().set_modified(std::time::SystemTime::now());
        let _ = fs::File::options().append(true).open(list).and_then(|file| file.set_times(now));
        Some(CachedPtx { ptx, sources })
    }

    /// Keeps what was made. Who cannot keep it compiles it again.
    pub fn keep(&self, made: &CachedPtx) {
        let _ = self.try_keep(made);
    }

    fn try_keep(&self, made: &CachedPtx) -> io::Result<()> {
        let mut known = BTreeMap::new();
        for source in made.sources.iter().filter(|source| counts(source)) {
            known.insert(relative(source, &self.krate), hash(&fs::read(source)?));
        }
        let list = serde_json::to_vec_pretty(&json!(known))?;
        fs::create_dir_all(&self.folder)?;
        let path = self.folder.join(hash(&list)).with_extension("json");
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(made.ptx.as_bytes())?;
        self.publish(&path.with_extension("ptx.zlib"), &packed.finish()?)?;
        // The list last: whoever finds it finds all.
        self.publish(&path, &list)?;
        self.drop_old()
    }

    /// Writes a file in one step.
    fn publish(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let draft = self.folder.join(format!(".{}-{name}", std::process::id()));
        let written = fs::write(&draft, bytes).and_then(|()| fs::rename(&draft, path));
        if written.is_err() {
            let _ = fs::remove_file(&draft);
        }
        written
    }

    /// Removes the entries that were used longest ago, if there are too many.
    fn drop_old(&self) -> io::Result<()> {
        let mut lists = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if entry.path().extension().is_some_and(|it| it == "json") {
                lists.push((entry.metadata()?.modified()?, entry.path()));
            }
        }
        lists.sort();
        let surplus = lists.len().saturating_sub(MOST);
        for (_, list) in &lists[..surplus] {
            fs::remove_file(list)?;
            fs::remove_file(list.with_extension("ptx.zlib"))?;
        }
        Ok(())
    }
}

/// Whether a source decides what the PTX is. Of a lock file the key has what kernels may use, and of a workspace's
/// manifest the packages have what they take.
fn counts(source: &Path) -> bool {
    let beside = source.with_file_name("Cargo.lock");
    let is_manifest = source.file_name().is_some_and(|name| name == "Cargo.toml");
    let is_workspace = || {
        beside.is_file()
            && fs::read_to_string(source).is_ok_and(|text| text.starts_with("[workspace]"))
    };
    source != beside && !(is_manifest && is_workspace())
}

fn hash(bytes: &[u8]) -> String {
    Sha1::from(bytes).digest().to_string()
}

/// A path as seen from a folder, both of which are absolute.
fn relative(path: &Path, folder: &Path) -> String {
    let shared = path.components().zip(folder.components()).take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(shared).map(|_| Component::ParentDir);
    let all: PathBuf = up.chain(path.components().skip(shared)).collect();
    all.to_string_lossy().into_owned()
}

/// A path without `..`.
fn normal(path: &Path) -> PathBuf {
    let mut all = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => _ = all.pop(),
            other => all.push(other),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A checkout with a kernel crate, and a crate beside it that it uses.
    fn checkout(root: &Path, name: &str) -> (PathBuf, BTreeSet<PathBuf>) {
        let krate = root.join(name).join("kernels");
        let files = [krate.join("src/lib.rs"), root.join(name).join("helper/src/lib.rs")];
        for file in &files {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "// version 0").unwrap();
        }
        (krate, files.into())
    }

    #[test]
    fn another_checkout_of_the_same_sources_finds_it() {
        let root = tempfile::tempdir().unwrap();
        let cache = root.path().join("cache");
        let (one, sources) = checkout(root.path(), "one");
        let (other, others) = checkout(root.path(), "two/deep");
        let made = CachedPtx { ptx: ".version 8.6".into(), sources };
        let kept = PtxCache::new(&cache, &one, "sm_90");
        assert_eq!(kept.find(), None);
        kept.keep(&made);
        assert_eq!(kept.find(), Some(made.clone()));
        let there = PtxCache::new(&cache, &other, "sm_90");
        assert_eq!(there.find(), Some(CachedPtx { sources: others, ..made.clone() }));
        // For another chip nothing was made.
        assert_eq!(PtxCache::new(&cache, &one, "sm_80").find(), None);
        // A change of a source counts, also outside of the kernel crate, and so does its end.
        let helper = root.path().join("one/helper/src/lib.rs");
        fs::write(&helper, "// version 1").unwrap();
        assert_eq!(kept.find(), None);
        let changed = CachedPtx { ptx: ".version 8.7".into(), ..made.clone() };
        kept.keep(&changed);
        assert_eq!((kept.find(), there.find().map(|it| it.ptx)), (Some(changed), Some(made.ptx)));
        fs::remove_file(&helper).unwrap();
        assert_eq!(kept.find(), None);
    }

    #[test]
    fn what_was_used_longest_ago_goes() {
        let root = tempfile::tempdir().unwrap();
        let (krate, sources) = checkout(root.path(), "one");
        let kept = PtxCache::new(&root.path().join("cache"), &krate, "sm_90");
        for version in 0..2 * MOST {
            fs::write(krate.join("src/lib.rs"), format!("// version {version}")).unwrap();
            kept.keep(&CachedPtx { ptx: version.to_string(), sources: sources.clone() });
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let found = |version: usize| {
            fs::write(krate.join("src/lib.rs"), format!("// version {version}")).unwrap();
            kept.find().map(|made| made.ptx)
        };
        assert_eq!((found(MOST - 1), found(MOST)), (None, Some(MOST.to_string())));
        assert_eq!(fs::read_dir(&kept.folder).unwrap().count(), 2 * MOST);
    }

    #[test]
    fn a_cut_file_is_no_entry() {
        let root = tempfile::tempdir().unwrap();
        let (krate, sources) = checkout(root.path(), "one");
        let kept = PtxCache::new(&root.path().join("cache"), &krate, "sm_90");
        kept.keep(&CachedPtx { ptx: "text ".repeat(1000), sources });
        for entry in fs::read_dir(&kept.folder).unwrap() {
            let path = entry.unwrap().path();
            let whole = fs::read(&path).unwrap();
            fs::write(&path, &whole[..whole.len() / 2]).unwrap();
            assert_eq!(kept.find(), None, "{}", path.display());
            fs::write(&path, whole).unwrap();
            assert!(kept.find().is_some());
        }
    }
}
