// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of what is written beside its place, and the removal of what processes left that were killed meanwhile.
//!
//! The name says which process it is of: where process numbers are counted (the machine since it was started, and the
//! container), and the number. Another process of that place can tell whether it is still there; of another place nothing
//! is known, and nothing is touched.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// How the names of all begin.
const START: &str = ".host-";

/// How the name of what this process writes begins.
pub fn prefix() -> String {
    let own = std::process::id();
    place().map_or(START.to_owned(), |place| format!("{START}{place}-{own}-"))
}

/// Removes what processes that are gone left in a folder, named by its absolute path; once in the life of a process.
/// What cannot be removed is in nobody's way.
pub fn sweep_once(folder: &Path) {
    static SWEPT: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);
    let mut swept = SWEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if swept.get_or_insert_default().insert(folder.to_owned()) {
        drop(swept);
        sweep(folder);
    }
}

/// Removes what processes that are gone left in a folder.
fn sweep(folder: &Path) {
    let (Some(place), Ok(entries)) = (place(), fs::read_dir(folder)) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| process_of(name, &place));
        if process.is_none_or(is_there) {
            continue;
        }
        let Ok(kind) = entry.file_type() else { continue };
        if !is_own(&entry.path()) {
            continue;
        }
        let _ = match kind.is_dir() {
            true => fs::remove_dir_all(entry.path()),
            false => fs::remove_file(entry.path()),
        };
    }
}

/// The process of this place that a name is of.
fn process_of(name: &str, place: &str) -> Option<u32> {
    let rest = name.strip_prefix(START)?.strip_prefix(place)?.strip_prefix('-')?;
    let (process, _) = rest.split_once('-')?;
    process.parse().ok()
}

/// Where process numbers are counted, as digits; none, if the system does not tell, or does not tell which there are.
fn place() -> Option<String> {
    let started = fs::read("/proc/sys/kernel/random/boot_id").ok()?;
    let container = fs::read_link("/proc/self/ns/pid").ok()?;
    fs::metadata(format!("/proc/{}", std::process::id())).ok()?;
    let mut hash = blake3::Hasher::new();
    hash.update(&started).update(container.as_os_str().as_encoded_bytes());
    Some(hash.finalize().to_hex()[..12].to_owned())
}

/// Whether there is a process of this place with this number.
fn is_there(process: u32) -> bool {
    fs::exists(format!("/proc/{process}")).unwrap_or(true)
}

/// Whether it is of this user, of whom the system tells all processes.
#[cfg(unix)]
fn is_own(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let owner = |path: &Path| fs::symlink_metadata(path).map(|about| about.uid());
    owner(path).is_ok_and(|uid| owner(Path::new("/proc/self")).is_ok_and(|own| own == uid))
}

/// Whether it is of this user.
#[cfg(not(unix))]
fn is_own(_: &Path) -> bool {
    false
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::process::Command;

    /// The number of a process that is gone.
    fn gone() -> u32 {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        child.id()
    }

    #[test]
    fn what_is_left_by_those_who_are_gone_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let place = place().unwrap();
        let mut sleeper = Command::new("sleep").arg("60").spawn().unwrap();
        let (gone, other) = (gone(), sleeper.id());
        let left = [format!("{START}{place}-{gone}-aB3"), format!("{START}{place}-{gone}-x-y")];
        let kept = [
            format!("{}aB3", prefix()),
            format!("{START}{place}-{other}-aB3"),
            format!("{START}0123456789ab-{gone}-aB3"),
            format!("{START}{place}-{gone}"),
            format!("{START}{place}-x{gone}-aB3"),
            format!("{START}aB3dEf"),
            format!("u{START}{place}-{gone}-aB3"),
            "u.npy".to_owned(),
        ];
        for name in left.iter().chain(&kept) {
            fs::write(folder.path().join(name), "values").unwrap();
        }
        let inner = folder.path().join(format!("{START}{place}-{gone}-folder"));
        fs::create_dir_all(inner.join("u")).unwrap();
        fs::write(inner.join("u/chunk"), "values").unwrap();
        // No link leads to what is removed.
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join("precious"), "values").unwrap();
        let link = folder.path().join(format!("{START}{place}-{gone}-link"));
        std::os::unix::fs::symlink(elsewhere.path(), link).unwrap();
        sweep(folder.path());
        let entries = fs::read_dir(folder.path()).unwrap();
        let mut found: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        let mut expected = kept.to_vec();
        found.sort();
        expected.sort();
        assert_eq!(found, expected);
        assert!(elsewhere.path().join("precious").exists());
    }

    #[test]
    fn a_folder_is_looked_through_once() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(format!("{START}{}-{}-aB3", place().unwrap(), gone()));
        for is_there in [false, true] {
            fs::write(&left, "values").unwrap();
            sweep_once(folder.path());
            assert_eq!(left.exists(), is_there);
        }
    }
}
