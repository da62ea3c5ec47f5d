// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that are whole or not there, also when something fails.

use super::*;

#[test]
fn a_failed_write_leaves_the_old_file_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old");
    fs::write(&path, "precious").unwrap();
    let output = Output::new(&path).unwrap();
    let full = |to: &mut dyn Write| {
        to.write_all(b"half")?;
        Err(io::ErrorKind::StorageFull.into())
    };
    assert!(matches!(output.write(full), Err(Error::Write { .. })));
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    output.write(|to| to.write_all(b"new")).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
}

/// A disk with room for so many bytes.
struct Disk(usize);

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        if taken == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(taken) }
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_error_however_few_bytes_were_left_to_write() {
    for bytes in [1, 100, 8191, 8192, 8193, 100_000] {
        for piece in [1, 4096, 100_000] {
            let fill = |to: &mut dyn Write| {
                vec![7; bytes].chunks(piece).try_for_each(|piece| to.write_all(piece))
            };
            assert_eq!(buffered(Disk(bytes), fill).unwrap().0, 0, "{bytes}");
            for room in [0, bytes / 2, bytes - 1] {
                let refused = buffered(Disk(room), fill).map(|_| ()).unwrap_err();
                assert_eq!(refused.kind(), io::ErrorKind::StorageFull, "{bytes} in {room}");
            }
        }
    }
}

#[test]
fn what_is_staged_replaces_nothing_until_it_is_published() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old");
    fs::write(&path, "precious").unwrap();
    let output = Output::new(&path).unwrap();
    drop(output.stage(|to| to.write_all(b"wrong")).unwrap());
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let staged = output.stage(|to| to.write_all(b"new")).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    staged.publish().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_folder_is_replaced_whole_and_only_one_that_was_written_so() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("u.zarr");
    let write = |text: &str| {
        let output = Output::folder_of_files(&path)?;
        output
            .stage_folder(|folder| {
                fs::create_dir(folder.join("u"))?;
                fs::write(folder.join("u/chunk"), text)?;
                fs::write(folder.join(MARK), "{}")
            })?
            .publish()
    };
    let read = || fs::read_to_string(path.join("u/chunk")).unwrap();
    let names = || fs::read_dir(place.path()).unwrap().count();
    write("first").unwrap();
    assert_eq!((read(), names()), ("first".into(), 1));
    write("second").unwrap();
    assert_eq!((read(), names()), ("second".into(), 1));
    let output = Output::folder_of_files(&path).unwrap();
    assert!(output.stage_folder(|_| Err(io::ErrorKind::StorageFull.into())).is_err());
    drop(output.stage_folder(|folder| fs::write(folder.join("half"), "")).unwrap());
    assert_eq!((read(), names()), ("second".into(), 1));
    fs::remove_file(path.join(MARK)).unwrap();
    let refused = write("third").unwrap_err().to_string();
    assert!(refused.contains("a folder of that name with other files"), "{refused}");
    assert_eq!(read(), "second");
    fs::remove_dir_all(&path).unwrap();
    fs::write(&path, "a file").unwrap();
    let refused = write("fourth").unwrap_err().to_string();
    assert!(refused.contains("a file of that name"), "{refused}");
}

#[cfg(unix)]
#[test]
fn a_file_that_has_become_read_only_is_kept() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old");
    fs::write(&path, "precious").unwrap();
    let output = Output::new(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    let refused = output.write(|to| to.write_all(b"new"));
    assert!(matches!(refused, Err(Error::ReadOnly { .. })));
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn folders_are_checked_first() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing").join("file");
    assert!(matches!(Output::new(&missing), Err(Error::NoFolder { .. })));
    assert!(matches!(Output::new(folder.path()), Err(Error::Write { .. })));
    Output::new(&folder.path().join("file")).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[cfg(unix)]
#[test]
fn devices_are_written_to_and_links_followed() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let null = Path::new("/dev/null");
    Output::new(null).unwrap().write(|to| to.write_all(b"gone")).unwrap();
    assert!(fs::metadata(null).unwrap().file_type().is_char_device());

    let folder = tempfile::tempdir().unwrap();
    let (target, link) = (folder.path().join("target"), folder.path().join("link"));
    fs::write(&target, "old").unwrap();
    symlink(&target, &link).unwrap();
    Output::new(&link).unwrap().write(|to| to.write_all(b"new")).unwrap();
    assert_eq!(fs::read_to_string(&target).unwrap(), "new");
}
