// SPDX-License-Identifier: MIT OR Apache-2.0
//! The speeds of the cores as they are kept for this user: a file for each processor, number of threads and version of
//! the program, so that none goes stale. Who finds none measures; of several who do so at once the first counts.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{env, fs, io};

use etcetera::{BaseStrategy, choose_base_strategy};
use sysinfo::{CpuRefreshKind, RefreshKind, System};

use super::{Cores, measure};
use crate::engine::cpu;
use problem::Error;

/// The variable that names the folder; empty, nothing is kept.
const FOLDER: &str = "HOST_CACHE";

/// The speeds of this machine's cores: those that are kept, else measured now and kept. Where nothing can be kept they
/// are [built in](Cores::built_in), so that a job has the one plan here as well.
#[must_use]
pub fn here() -> &'static Cores {
    static HERE: OnceLock<Cores> = OnceLock::new();
    HERE.get_or_init(|| {
        // Unit tests leave the user's files alone, and do not depend on them.
        let folder = if cfg!(test) { None } else { folder() };
        folder
            .and_then(|folder| kept_in(&folder.join(file_name()), measure::measure))
            .unwrap_or_else(Cores::built_in)
    })
}

/// The folder that the user names, or the usual one.
fn folder() -> Option<PathBuf> {
    match env::var_os(FOLDER) {
        Some(named) if named.is_empty() => None,
        Some(named) => Some(named.into()),
        None => Some(choose_base_strategy().ok()?.cache_dir().join("host-stencil")),
    }
}

/// A name for each machine and program that differ in speed.
fn file_name() -> String {
    let what = RefreshKind::nothing().with_cpu(CpuRefreshKind::nothing());
    let system = System::new_with_specifics(what);
    let model = system.cpus().first().map(|cpu| cpu.brand().trim()).unwrap_or_default();
    let build = if cfg!(debug_assertions) { "-debug" } else { "" };
    let (vectors, threads) = (cpu::vectors(), rayon::current_num_threads());
    let name =
        format!("cores {model} {vectors} {threads} threads {}{build}", env!("CARGO_PKG_VERSION"));
    let letter = |letter: char| match letter {
        '.' => '.',
        letter if letter.is_alphanumeric() => letter.to_ascii_lowercase(),
        _ => '-',
    };
    name.chars().map(letter).collect::<String>() + ".json"
}

/// What the file holds; else what is measured, if the file can be written. None where that is not possible.
fn kept_in(path: &Path, measure: impl FnOnce() -> Result<Cores, Error>) -> Option<Cores> {
    if let Some(kept) = read(path) {
        return Some(kept);
    }
    let folder = path.parent()?;
    fs::create_dir_all(folder).ok()?;
    // Nobody waits for a measurement that cannot be kept.
    tempfile::tempfile_in(folder).ok()?;
    let measured = measure().ok().filter(Cores::is_whole)?;
    write(path, folder, &measured).ok()?;
    // Of several who measured at once, all take the file.
    read(path)
}

/// The speeds in a file, if it is there and whole.
fn read(path: &Path) -> Option<Cores> {
    let cores: Cores = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    let source = format!("speeds of this machine's cores, measured once: {}", path.display());
    cores.is_whole().then_some(Cores { source, ..cores })
}

/// Writes them in one step, unless somebody else did in the meantime.
fn write(path: &Path, folder: &Path, cores: &Cores) -> io::Result<()> {
    let text = serde_json::to_string_pretty(cores).expect("they are plain data") + "\n";
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    if path.exists() && read(path).is_none() {
        // What is there is of no use.
        return file.persist(path).map(drop).map_err(Into::into);
    }
    match file.persist_noclobber(path) {
        Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::thread;

    /// Others, by which they can be told.
    fn cores(jump: f64) -> Cores {
        Cores { jump, ..Cores::built_in() }
    }

    #[test]
    fn a_machine_is_measured_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deeper/cores.json");
        let measured = Cell::new(0);
        let take = || {
            let measure = || {
                measured.set(measured.get() + 1);
                Ok(cores(measured.get().into()))
            };
            kept_in(&path, measure).unwrap()
        };
        let first = take();
        for _ in 0..3 {
            assert_eq!(take(), first);
        }
        assert_eq!((measured.get(), first.jump), (1, 1.0));
        assert!(first.source.ends_with("cores.json"), "{}", first.source);
        // A file that is cut, or of another version's fields, is made again.
        for broken in ["", "{\"pass_s\": 1}", "{\"pass_s\": "] {
            fs::write(&path, broken).unwrap();
            let before = measured.get();
            assert_eq!(take(), take(), "{broken}");
            assert_eq!(measured.get(), before + 1, "{broken}");
        }
        let left: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }

    #[test]
    fn all_who_measure_at_once_take_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = &folder.path().join("cores.json");
        let taken: Vec<Cores> = thread::scope(|scope| {
            let each = |at: u32| scope.spawn(move || kept_in(path, || Ok(cores(at.into()))));
            let all: Vec<_> = (1..9).map(each).collect();
            all.into_iter().map(|one| one.join().unwrap().unwrap()).collect()
        });
        assert!(taken.iter().all(|one| *one == taken[0]), "{taken:?}");
    }

    #[test]
    fn without_a_place_nothing_is_measured() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "not a folder").unwrap();
        let path = file.join("cores.json");
        assert_eq!(kept_in(&path, || unreachable!("it cannot be kept")), None);
        // Nor in tests, which take what is built in.
        assert_eq!(here(), &Cores::built_in());
    }

    #[test]
    fn the_name_tells_threads_and_version() {
        let name = file_name();
        let threads = format!("-{}-threads-", rayon::current_num_threads());
        assert!(name.starts_with("cores-") && name.contains(&threads), "{name}");
        assert!(name.contains(env!("CARGO_PKG_VERSION")) && !name.contains('/'), "{name}");
    }
}
