// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that appear whole or not at all.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile, TempDir, TempPath};

use super::content::unpacked;
use super::leftovers;
use problem::Error;

/// A file to be written later, in a folder that is known to take it.
#[derive(Debug)]
pub struct Output {
    /// As the user gave it, for messages.
    path: PathBuf,
    /// Where links lead.
    target: PathBuf,
    /// Whether it is a folder with files in it.
    is_folder: bool,
}

/// What a folder has that may be replaced: the file in which zarr describes a group.
const MARK: &str = "zarr.json";

impl Output {
    /// Standard output.
    #[must_use]
    pub fn stream() -> Self {
        Self { path: "-".into(), target: "-".into(), is_folder: false }
    }

    /// Checks that the file can be written, before anything is computed.
    ///
    /// # Errors
    /// The folder does not exist, nothing can be written there, the path names no file, or a file
    /// that may not be written to.
    pub fn new(path: &Path) -> Result<Self, Error> {
        let output = Self { path: path.to_owned(), target: follow(path), is_folder: false };
        match fs::metadata(&output.target) {
            Ok(existing) if existing.is_dir() => {
                return Err(output.failed(io::ErrorKind::IsADirectory.into()));
            }
            Ok(existing) if !existing.is_file() => return Ok(output),
            Ok(existing) => output.check_replaceable(&existing)?,
            Err(missing) if missing.kind() == io::ErrorKind::NotFound => output.check_name()?,
            Err(other) => return Err(output.failed(other)),
        }
        output.temporary().map_err(|source| output.failed(source))?;
        Ok(output)
    }

    /// An output that is a folder with files in it. One that is there is replaced only if it is empty, or was written
    /// so.
    ///
    /// # Errors
    /// As [`Output::new`]; or a file is there, or a folder with something else in it.
    pub fn folder_of_files(path: &Path) -> Result<Self, Error> {
        let output = Self { path: path.to_owned(), target: follow(path), is_folder: true };
        let refused = |kind, reason: &str| Err(output.failed(io::Error::new(kind, reason)));
        let has_entries = |mut entries: fs::ReadDir| entries.next().is_some();
        match fs::read_dir(&output.target).map(has_entries) {
            Ok(true) if !output.target.join(MARK).is_file() => {
                let reason = "there is a folder of that name with other files; remove it, or give another name";
                return refused(io::ErrorKind::AlreadyExists, reason);
            }
            Ok(_) => {}
            Err(missing) if missing.kind() == io::ErrorKind::NotFound => output.check_name()?,
            Err(other) if other.kind() == io::ErrorKind::NotADirectory => {
                let reason = "there is a file of that name, and this is written as a folder; remove the file, or give another name";
                return refused(io::ErrorKind::AlreadyExists, reason);
            }
            Err(other) => return Err(output.failed(other)),
        }
        output.temporary().map_err(|source| output.failed(source))?;
        Ok(output)
    }

    /// Writes the folder beside its place, to be moved there later, or removed.
    ///
    /// # Errors
    /// The system refuses; then what was there is as it was.
    pub fn stage_folder(
        &self,
        fill: impl FnOnce(&Path) -> io::Result<()>,
    ) -> Result<Staged<'_>, Error> {
        let beside = || {
            let mut builder = Builder::new();
            let prefix = leftovers::prefix();
            builder.prefix(&prefix);
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                builder.permissions(fs::Permissions::from_mode(0o777));
            }
            let folder = builder.tempdir_in(self.folder())?;
            fill(folder.path())?;
            sync(folder.path())?;
            Ok(folder)
        };
        let folder = beside().map_err(|source| unpacked(source, |source| self.failed(source)))?;
        Ok(Staged { output: self, beside: StagedOutput::Folder(folder) })
    }

    /// The file as the user named it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the file beside its place, then moves it there in one step. A file that was there
    /// leaves its permissions, and where the system allows its owner, to the new one.
    ///
    /// # Errors
    /// The system refuses, such as for want of space, or the file has become read-only; then an
    /// existing file is as it was.
    pub fn write(&self, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
        self.stage(fill)?.publish()
    }

    /// Writes the file beside its place, to be moved there later, or removed. Devices and pipes get it
    /// at once.
    ///
    /// # Errors
    /// As [`Output::write`].
    pub fn stage(
        &self,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<Staged<'_>, Error> {
        let file = self
            .try_stage(fill)
            .map_err(|source| unpacked(source, |source| self.failed(source)))?;
        Ok(Staged { output: self, beside: file.map_or(StagedOutput::Nothing, StagedOutput::File) })
    }

    /// Where links lead.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Makes a file beside its place, empty.
    ///
    /// # Errors
    /// The system refuses.
    pub fn make(self) -> Result<TemporaryFile, Error> {
        let made = || {
            let file = self.temporary()?;
            if let Ok(existing) = fs::metadata(&self.target) {
                keep(file.as_file(), &existing)?;
            }
            Ok(file)
        };
        // Closed: there may be more ranks than files that a process may have open.
        let path = made().map_err(|source| self.failed(source))?.into_temp_path();
        Ok(TemporaryFile { output: self, path })
    }

    /// Makes a file beside its place, and writes it.
    ///
    /// # Errors
    /// As [`Output::write`].
    pub fn make_with(
        self,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<TemporaryFile, Error> {
        let made = self.make()?;
        let file = made.open()?;
        let write = || buffered(&file, fill)?.sync_all();
        write().map_err(|source| unpacked(source, |source| made.output.failed(source)))?;
        Ok(made)
    }

    /// Writes the file beside its place, to be moved there after the pieces that it lists.
    ///
    /// # Errors
    /// As [`Output::write`].
    pub fn stage_with(
        &self,
        pieces: Vec<TemporaryFile>,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<Staged<'_>, Error> {
        let Staged { output, beside } = self.stage(fill)?;
        Ok(Staged { output, beside: StagedOutput::Pieces(pieces, Box::new(beside)) })
    }

    /// Makes the file beside its place for others to write into, by its name.
    ///
    /// # Errors
    /// The system refuses, or those of `fill`; then an existing file is as it was.
    pub fn stage_by(
        &self,
        fill: impl FnOnce(&mut File, &Path) -> Result<(), Error>,
    ) -> Result<Staged<'_>, Error> {
        let failed = |source| self.failed(source);
        let mut temporary = self.temporary().map_err(failed)?;
        if let Ok(existing) = fs::metadata(&self.target) {
            keep(temporary.as_file(), &existing).map_err(failed)?;
        }
        let path = absolute(temporary.path());
        fill(temporary.as_file_mut(), &path)?;
        temporary.as_file().sync_all().map_err(failed)?;
        Ok(Staged { output: self, beside: StagedOutput::File(temporary) })
    }

    fn try_stage(
        &self,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<Option<NamedTempFile>> {
        if is_stream(&self.path) {
            let mut stream = io::stdout().lock();
            fill(&mut stream)?;
            stream.flush()?;
            return Ok(None);
        }
        if self.is_special() {
            fill(&mut File::create(&self.target)?)?;
            return Ok(None);
        }
        let temporary = self.temporary()?;
        if let Ok(existing) = fs::metadata(&self.target) {
            keep(temporary.as_file(), &existing)?;
        }
        let file = buffered(temporary, fill)?;
        file.as_file().sync_all()?;
        Ok(Some(file))
    }

    /// Whether what is written replaces what is there: of files and folders, not of streams, devices and pipes.
    #[must_use]
    pub fn is_replaced(&self) -> bool {
        !is_stream(&self.path) && !self.is_special()
    }

    /// Devices and pipes are written to, not replaced.
    #[must_use]
    pub fn is_special(&self) -> bool {
        !self.is_folder && fs::metadata(&self.target).is_ok_and(|metadata| !metadata.is_file())
    }

    /// A rename asks for no permission of the file that it replaces, so this does. The superuser may
    /// write to any file, but whoever made it read-only did not want that.
    fn check_replaceable(&self, existing: &Metadata) -> Result<(), Error> {
        if existing.permissions().readonly() {
            return Err(Error::ReadOnly { path: self.path.clone() });
        }
        match OpenOptions::new().write(true).open(&self.target) {
            Ok(_) => Ok(()),
            Err(source) => Err(self.failed(source)),
        }
    }

    /// Checks that a file that is not there yet has a name and a folder.
    fn check_name(&self) -> Result<(), Error> {
        let folder = self.folder();
        if !folder.is_dir() {
            let (path, folder) = (self.path.clone(), folder.to_owned());
            return Err(Error::NoFolder { path, folder });
        }
        let text = self.target.as_os_str().to_string_lossy();
        if self.target.file_name().is_none() || text.ends_with(std::path::is_separator) {
            let reason = io::Error::new(io::ErrorKind::InvalidInput, "that names no file");
            return Err(self.failed(reason));
        }
        Ok(())
    }

    fn folder(&self) -> &Path {
        folder(&self.target)
    }

    /// Removed when dropped, unless it is moved into place.
    fn temporary(&self) -> io::Result<NamedTempFile> {
        let (mut builder, prefix) = (Builder::new(), leftovers::prefix());
        builder.prefix(&prefix);
        #[cfg(unix)]
        {
            // What a new file gets, less the user's umask.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        leftovers::sweep_once(&absolute(self.folder()));
        builder.tempfile_in(self.folder())
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::Write { path: self.path.clone(), source }
    }
}

/// A file that is written, but not in its place. Dropped, it is gone.
#[derive(Debug)]
pub struct Staged<'a> {
    output: &'a Output,
    beside: StagedOutput,
}

/// A file beside its place, for whoever knows its name to write into. Dropped, it is gone.
#[derive(Debug)]
pub struct TemporaryFile {
    output: Output,
    path: TempPath,
}

impl TemporaryFile {
    /// It, to be written.
    ///
    /// # Errors
    /// The system refuses.
    pub fn open(&self) -> Result<File, Error> {
        let file = OpenOptions::new().write(true).open(&self.path);
        file.map_err(|source| self.output.failed(source))
    }

    /// Its name, wherever a process was started.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        absolute(&self.path)
    }

    /// Moves it to its place.
    ///
    /// # Errors
    /// As [`Staged::publish`].
    pub fn publish(self) -> Result<(), Error> {
        let Self { output, path } = self;
        if let Ok(existing) = fs::metadata(&output.target) {
            output.check_replaceable(&existing)?;
        }
        path.persist(&output.target).map_err(|refused| output.failed(refused.error))
    }
}

/// What was written beside a place.
#[derive(Debug)]
enum StagedOutput {
    /// It is in its place: nothing is replaced.
    Nothing,
    File(NamedTempFile),
    Folder(TempDir),
    /// Files, and what lists them.
    Pieces(Vec<TemporaryFile>, Box<StagedOutput>),
}

impl Staged<'_> {
    /// Moves the file to its place.
    ///
    /// # Errors
    /// The system refuses, or the file that was there has become read-only; then it is as it was.
    pub fn publish(self) -> Result<(), Error> {
        let Self { output, beside } = self;
        let file = match beside {
            StagedOutput::Nothing => return Ok(()),
            StagedOutput::Folder(folder) => {
                return replace(folder, &output.target).map_err(|source| output.failed(source));
            }
            StagedOutput::Pieces(pieces, list) => {
                pieces.into_iter().try_for_each(TemporaryFile::publish)?;
                return Staged { output, beside: *list }.publish();
            }
            StagedOutput::File(file) => file,
        };
        if let Ok(existing) = fs::metadata(&output.target) {
            output.check_replaceable(&existing)?;
        }
        file.persist(&output.target).map_err(|refused| output.failed(refused.error))?;
        Ok(())
    }
}

/// Writes in large pieces, down to the last: what the system refuses is an error, also of bytes that waited to the end.
fn buffered<W: Write>(to: W, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<W> {
    let mut writer = BufWriter::new(to);
    fill(&mut writer)?;
    writer.into_inner().map_err(io::IntoInnerError::into_error)
}

/// Moves a folder to its place. One that is there changes places with it, and is removed.
fn replace(new: TempDir, target: &Path) -> io::Result<()> {
    match fs::rename(new.path(), target) {
        Ok(()) => {
            // There is nothing to remove any more.
            let _ = new.keep();
            Ok(())
        }
        Err(_) if target.is_dir() => exchange(new, target),
        Err(other) => Err(other),
    }
}

/// In one step: at no moment is there none.
#[cfg(target_os = "linux")]
fn exchange(new: TempDir, target: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, new.path(), CWD, target, RenameFlags::EXCHANGE)?;
    new.close()
}

/// In two steps.
#[cfg(not(target_os = "linux"))]
fn exchange(new: TempDir, target: &Path) -> io::Result<()> {
    let old = Builder::new().prefix(&leftovers::prefix()).tempdir_in(folder(target))?;
    fs::rename(target, old.path().join("old"))?;
    fs::rename(new.keep(), target)?;
    old.close()
}

/// Makes sure that all files of a folder are on the disk.
fn sync(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync(&entry.path())?;
        } else {
            File::open(entry.path())?.sync_all()?;
        }
    }
    Ok(())
}

/// Gives a new file the permissions of the one that it is to replace, and its owner and group as far
/// as the system lets this user.
fn keep(new: &File, existing: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let own = new.metadata()?;
        // One by one: a user may give a file to a group, but not to another user.
        if own.gid() != existing.gid() {
            let _ = fchown(new, None, Some(existing.gid()));
        }
        if own.uid() != existing.uid() {
            let _ = fchown(new, Some(existing.uid()), None);
        }
    }
    new.set_permissions(existing.permissions())
}

/// Whether a path stands for standard input or output.
#[must_use]
pub fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Where links lead, also one to a file that does not exist yet.
pub fn follow(path: &Path) -> PathBuf {
    /// As many as Linux follows.
    const MOST_LINKS: usize = 40;
    if let Ok(target) = fs::canonicalize(path) {
        return target;
    }
    let mut target = path.to_owned();
    // What cannot be resolved, but opened, such as /dev/stdout, is no link to a missing file.
    for _ in 0..MOST_LINKS {
        match fs::read_link(&target) {
            Ok(next) if fs::metadata(&target).is_err() => target = folder(&target).join(next),
            _ => break,
        }
    }
    target
}

/// A path as every process of a machine understands it, wherever it was started.
#[must_use]
pub fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The folder that a path lies in.
pub fn folder(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests;
