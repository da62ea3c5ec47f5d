// SPDX-License-Identifier: MIT OR Apache-2.0
//! Room on disks.

use std::path::{Path, PathBuf};

use super::output::folder;
use problem::Error;
use problem::bytes::Bytes;

/// Makes sure that there is room for files of so many bytes beside what is there, if the system tells.
///
/// # Errors
/// [`Error::DiskSpace`], with a folder of them, what they need and what is free.
pub fn require(files: &[(PathBuf, u64)]) -> Result<(), Error> {
    let mut disks: Vec<(u64, u64, &Path, u64)> = Vec::new();
    for (path, bytes) in files {
        let folder = folder(path);
        let Some((disk, free)) = room(folder) else { continue };
        match disks.iter_mut().find(|(known, ..)| *known == disk) {
            Some((.., need)) => *need = need.saturating_add(*bytes),
            None => disks.push((disk, free, folder, *bytes)),
        }
    }
    match disks.into_iter().find(|(_, free, _, need)| need > free) {
        None => Ok(()),
        Some((_, free, folder, need)) => Err(Error::DiskSpace {
            folder: folder.to_owned(),
            need: Bytes(need),
            free: Bytes(free),
        }),
    }
}

/// Which disk a folder is on, and the bytes that are free there for this user.
#[cfg(unix)]
fn room(folder: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let disk = std::fs::metadata(folder).ok()?.dev();
    let room = rustix::fs::statvfs(folder).ok()?;
    Some((disk, room.f_bavail.saturating_mul(room.f_frsize)))
}

/// Nobody tells.
#[cfg(not(unix))]
fn room(_: &Path) -> Option<(u64, u64)> {
    None
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use super::*;

    #[cfg(unix)]
    #[test]
    fn files_of_one_disk_are_counted_together() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| folder.path().join(name));
        let (_, free) = room(folder.path()).unwrap();
        require(&[(one.clone(), free / 4), (two.clone(), free / 4)]).unwrap();
        let large = free / 4 * 3;
        let error = require(&[(one, large), (two, large)]).unwrap_err();
        assert!(matches!(error, Error::DiskSpace { .. }), "{error}");
        require(&[(folder.path().join("missing/file"), u64::MAX)]).unwrap();
    }
}
