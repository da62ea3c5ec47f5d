// SPDX-License-Identifier: MIT OR Apache-2.0
//! The files of one command: nothing that it reads is replaced, and no two results share a file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Failure;
use files::io::{Output, folder, follow, is_stream};
use problem::Error;

/// The files that a command line has named so far.
#[derive(Debug, Default)]
pub struct CommandFiles {
    known: Vec<NamedFile>,
}

/// Where a result goes that may be printed instead.
#[derive(Debug)]
pub enum Destination {
    /// Standard output, asked for as `-`.
    Stdout,
    /// A file.
    File(Output),
}

/// A file with the option that names it.
#[derive(Debug)]
struct NamedFile {
    option: &'static str,
    path: PathBuf,
    place: PathTarget,
    written: bool,
}

/// What a path stands for, by whatever name.
#[derive(Debug)]
enum PathTarget {
    Stdout,
    /// Takes whatever is written, by any number of writers: `/dev/null`, a terminal.
    Device,
    /// A file, a pipe, or one that does not exist yet.
    File {
        target: PathBuf,
        /// Device and number, which its hard links share.
        #[cfg(unix)]
        id: Option<(u64, u64)>,
    },
}

impl CommandFiles {
    /// Notes a file that is read, if there is one.
    ///
    /// # Errors
    /// [`Failure::SameFile`]: it is one that is to be written.
    pub fn reads(&mut self, option: &'static str, path: Option<&Path>) -> Result<(), Failure> {
        // Standard input is no file.
        let path = path.filter(|path| !is_stream(path));
        path.map_or(Ok(()), |path| self.add(option, path, PathTarget::of(path), false))
    }

    /// Checks that a file can be written, before anything is computed, and that no other option names
    /// it.
    ///
    /// # Errors
    /// [`Failure::SameFile`], and those of [`Output::new`].
    pub fn writes(
        &mut self,
        option: &'static str,
        path: Option<&Path>,
    ) -> Result<Option<Output>, Failure> {
        let Some(path) = path else { return Ok(None) };
        self.writes_by(option, path, Output::new)
    }

    /// Checks a file that is to be written by `check`, before anything is computed, and that no other option names
    /// it.
    ///
    /// # Errors
    /// [`Failure::SameFile`], those of the check, and [`Error::Write`] if the path is `-`.
    pub fn writes_by(
        &mut self,
        option: &'static str,
        path: &Path,
        check: impl FnOnce(&Path) -> Result<Output, Error>,
    ) -> Result<Option<Output>, Failure> {
        if is_stream(path) {
            let reason = "this cannot be printed; write ./- for a file of that name";
            let source = io::Error::new(io::ErrorKind::InvalidInput, reason);
            return Err(Error::Write { path: path.to_owned(), source }.into());
        }
        self.add(option, path, PathTarget::of(path), true)?;
        Ok(Some(check(path)?))
    }

    /// Checks that a file can be written, before anything is computed, and that no other option names it. The path
    /// `-` stands for stdout, which one option may name.
    ///
    /// # Errors
    /// [`Failure::SameFile`], and those of [`Output::new`].
    pub fn writes_or_prints(
        &mut self,
        option: &'static str,
        path: Option<&Path>,
    ) -> Result<Option<Destination>, Failure> {
        if let Some(path) = path.filter(|path| is_stream(path)) {
            self.add(option, path, PathTarget::Stdout, true)?;
            return Ok(Some(Destination::Stdout));
        }
        Ok(self.writes(option, path)?.map(Destination::File))
    }

    /// Checks that a file that is to be written is none of those that are read.
    ///
    /// # Errors
    /// [`Failure::SameFile`]: it is one.
    pub fn check_not_read(&self, option: &'static str, path: &Path) -> Result<(), Failure> {
        let place = PathTarget::of(path);
        match self.known.iter().find(|known| !known.written && known.place.is(&place)) {
            None => Ok(()),
            Some(known) => Err(Failure::SameFile {
                options: [known.option, option],
                paths: [known.path.clone(), path.to_owned()],
                read: true,
            }),
        }
    }

    /// Notes that a result goes to standard output.
    ///
    /// # Errors
    /// [`Failure::SameFile`]: another one does.
    pub fn streams(
        &mut self,
        option: &'static str,
        path: &Path,
    ) -> Result<Option<Output>, Failure> {
        self.add(option, path, PathTarget::Stdout, true)?;
        Ok(Some(Output::stream()))
    }

    fn add(
        &mut self,
        option: &'static str,
        path: &Path,
        place: PathTarget,
        written: bool,
    ) -> Result<(), Failure> {
        let clash = |known: &&NamedFile| (known.written || written) && known.place.is(&place);
        if let Some(known) = self.known.iter().find(clash) {
            return Err(Failure::SameFile {
                options: [known.option, option],
                paths: [known.path.clone(), path.to_owned()],
                read: !(known.written && written),
            });
        }
        self.known.push(NamedFile { option, path: path.to_owned(), place, written });
        Ok(())
    }
}

impl PathTarget {
    fn of(path: &Path) -> Self {
        let target = follow(path);
        let found = fs::metadata(&target).ok();
        #[cfg(unix)]
        {
            use std::os::unix::fs::{FileTypeExt, MetadataExt};
            if found.as_ref().is_some_and(|found| found.file_type().is_char_device()) {
                return Self::Device;
            }
            let id = found.as_ref().map(|found| (found.dev(), found.ino()));
            Self::File { target: canonical(target), id }
        }
        #[cfg(not(unix))]
        Self::File { target: canonical(target) }
    }

    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Stdout, Self::Stdout) => true,
            #[cfg(unix)]
            (Self::File { target: one, id: first }, Self::File { target: other, id: second }) => {
                one == other || first.is_some() && first == second
            }
            #[cfg(not(unix))]
            (Self::File { target: one }, Self::File { target: other }) => one == other,
            _ => false,
        }
    }
}

/// A path by its folder's own name, if there is the folder: that of a file that does not exist yet.
fn canonical(target: PathBuf) -> PathBuf {
    match (fs::canonicalize(folder(&target)), target.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => target,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two options for two paths of a folder with a file `old`, of which the second is written.
    fn clash(first: &str, first_written: bool, second: &str) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("old"), "precious").unwrap();
        fs::create_dir(at("sub")).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::symlink;
            symlink("old", at("link")).unwrap();
            symlink("new", at("dangling")).unwrap();
            symlink(folder.path(), at("sub/up")).unwrap();
        }
        fs::hard_link(at("old"), at("hard")).unwrap();
        let mut files = CommandFiles::default();
        let first = at(first);
        if first_written {
            files.writes("--first", Some(&first)).unwrap();
        } else {
            files.reads("--first", Some(&first)).unwrap();
        }
        let outcome = files.writes("--second", Some(&at(second)));
        assert_eq!(fs::read_to_string(at("old")).unwrap(), "precious");
        match outcome {
            Ok(_) => false,
            Err(Failure::SameFile { options, read, .. }) => {
                assert_eq!((options, read), (["--first", "--second"], !first_written));
                true
            }
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn no_file_is_named_twice_by_whatever_name() {
        for written in [false, true] {
            for (first, second) in [
                ("old", "old"),
                ("old", "./old"),
                ("old", "sub/../old"),
                ("old", "hard"),
                ("new", "sub/../new"),
            ] {
                assert!(clash(first, written, second), "{first} {second}");
                assert!(clash(second, written, first), "{second} {first}");
            }
            assert!(!clash("old", written, "new"));
            assert!(!clash("old", written, "sub/old"));
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_are_what_they_lead_to() {
        for (first, second) in
            [("old", "link"), ("hard", "link"), ("new", "dangling"), ("new", "sub/up/new")]
        {
            for written in [false, true] {
                assert!(clash(first, written, second), "{first} {second}");
                assert!(clash(second, written, first), "{second} {first}");
            }
        }
    }

    #[test]
    fn what_is_only_read_may_be_read_twice() {
        let mut files = CommandFiles::default();
        files.reads("--weights", Some(Path::new("both.npy"))).unwrap();
        files.reads("--input", Some(Path::new("both.npy"))).unwrap();
    }

    #[test]
    fn standard_output_takes_one_result() {
        let mut files = CommandFiles::default();
        let dash = Some(Path::new("-"));
        assert!(matches!(files.writes_or_prints("--json", dash), Ok(Some(Destination::Stdout))));
        assert!(matches!(files.writes_or_prints("--csv", dash), Err(Failure::SameFile { .. })));
        let refused = CommandFiles::default().writes("--output", dash).unwrap_err().to_string();
        assert_eq!(
            refused,
            "cannot write -: this cannot be printed; write ./- for a file of that name"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_device_takes_any_number_of_results() {
        let mut files = CommandFiles::default();
        let null = Some(Path::new("/dev/null"));
        files.writes("--output", null).unwrap();
        files.writes("--json", null).unwrap();
    }
}
