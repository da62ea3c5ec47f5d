// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that appear whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

use crate::Error;

/// A file to be written later, in a folder that is known to take it.
#[derive(Debug)]
pub struct Output {
    /// As the user gave it, for messages.
    path: PathBuf,
    /// Where links lead.
    target: PathBuf,
}

impl Output {
    /// Checks that the file can be written, before anything is computed.
    ///
    /// # Errors
    /// The folder does not exist, or nothing can be written there.
    pub fn new(path: &Path) -> Result<Self, Error> {
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let output = Self { path: path.to_owned(), target };
        let folder = output.folder();
        if !folder.is_dir() {
            return Err(Error::NoFolder { path: path.to_owned(), folder: folder.to_owned() });
        }
        if output.target.is_dir() {
            return Err(output.failed(io::ErrorKind::IsADirectory.into()));
        }
        if !output.is_special() {
            output.temporary().map_err(|source| output.failed(source))?;
        }
        Ok(output)
    }

    /// The file as the user named it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the file beside its place, then moves it there in one step.
    ///
    /// # Errors
    /// The system refuses, such as for want of space; then an existing file is as it was.
    pub fn write(&self, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
        self.try_write(fill).map_err(|source| self.failed(source))
    }

    fn try_write(&self, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        if self.is_special() {
            return fill(&mut File::create(&self.target)?);
        }
        let mut writer = BufWriter::new(self.temporary()?);
        fill(&mut writer)?;
        let file = writer.into_inner()?;
        file.as_file().sync_all()?;
        file.persist(&self.target)?;
        Ok(())
    }

    /// Devices and pipes are written to, not replaced.
    #[must_use]
    pub fn is_special(&self) -> bool {
        fs::metadata(&self.target).is_ok_and(|metadata| !metadata.is_file())
    }

    fn folder(&self) -> &Path {
        let parent = self.target.parent().filter(|parent| !parent.as_os_str().is_empty());
        parent.unwrap_or(Path::new("."))
    }

    /// Removed when dropped, unless it is moved into place.
    fn temporary(&self) -> io::Result<NamedTempFile> {
        let mut builder = Builder::new();
        builder.prefix(".host-");
        #[cfg(unix)]
        {
            // What a new file gets, less the user's umask.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        builder.tempfile_in(self.folder())
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::Write { path: self.path.clone(), source }
    }
}

#[cfg(test)]
mod tests {
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
}
