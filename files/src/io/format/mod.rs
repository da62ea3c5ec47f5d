// SPDX-License-Identifier: MIT OR Apache-2.0
//! The formats that fields are written in. Each is a file here, and a line in [`FORMATS`].

use std::io::{self, Write};
use std::path::Path;

use super::colours::PictureStyle;
use super::content::Content;
use super::rows::SharedFields;
use super::{Output, Staged};
use problem::{Dtype, Error, Region, Shape};

mod nc;
mod npy;
mod png;
mod pvti;
mod vti;
#[cfg(feature = "zarr")]
mod zarr;

pub(crate) use png::{encoder, ends, pixels};
#[cfg(feature = "zarr")]
pub(crate) use zarr::write_chunks;

/// A way to write fields into a file.
pub trait FileFormat: Sync {
    /// How the names of its files end; the first is its own name.
    fn extensions(&self) -> &'static [&'static str];

    /// Whether a file of it can hold several fields.
    fn holds_many(&self) -> bool {
        false
    }

    /// Whether it draws fields, so that it wants two axes.
    fn is_picture(&self) -> bool {
        false
    }

    /// How the name of a file ends that lists a series of these, for the program that opens them.
    fn index(&self) -> Option<&'static str> {
        None
    }

    /// Bytes of a file of so many fields, where they are known before.
    fn bytes(&self, shape: Shape, dtype: Dtype, fields: usize) -> Option<u64>;

    /// Whether it is a folder with files in it, and [`FileFormat::write_folder`] writes it.
    fn is_folder(&self) -> bool {
        false
    }

    /// Writes a folder, which is there and empty.
    ///
    /// # Errors
    /// The system refuses, or those of the content.
    fn write_folder(&self, _content: &mut Content, _folder: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Whether several ranks can write it, each its part: these, of a grid of this shape and type.
    fn has_parts(&self, _shape: Shape, _dtype: Dtype, _parts: &[Region]) -> bool {
        false
    }

    /// Has ranks write it beside its place, each its part.
    ///
    /// # Errors
    /// The system refuses, or a rank; then what was there is as it was.
    fn stage_parts<'a>(
        &self,
        output: &'a Output,
        _shared: &mut SharedFields,
    ) -> Result<Staged<'a>, Error> {
        let source = io::ErrorKind::Unsupported.into();
        Err(Error::Write { path: output.path().to_owned(), source })
    }

    /// Writes it beside its place.
    ///
    /// # Errors
    /// The system refuses, or those of the content.
    fn stage<'a>(
        &self,
        output: &'a Output,
        content: &mut Content,
        look: &PictureStyle,
    ) -> Result<Staged<'a>, Error> {
        if self.is_folder() {
            output.stage_folder(|folder| self.write_folder(content, folder))
        } else {
            output.stage(|to| self.write(content, look, to))
        }
    }

    /// Writes a file.
    ///
    /// # Errors
    /// The system refuses, or those of the content.
    fn write(
        &self,
        content: &mut Content,
        look: &PictureStyle,
        to: &mut dyn Write,
    ) -> io::Result<()>;
}

/// All of them; files without an extension are of the first.
pub static FORMATS: &[&dyn FileFormat] = &[
    &npy::Npy,
    &png::Png,
    &vti::Vti,
    &pvti::Pvti,
    &nc::NetCdf,
    #[cfg(feature = "zarr")]
    &zarr::Zarr,
];

/// Extensions of formats that a program may be built without.
const OPTIONAL: &[&str] = &["zarr"];

/// The format of a file, by its extension.
///
/// # Errors
/// [`Error::Format`]: no format has that extension. [`Error::NotBuilt`]: the program was built without it.
pub fn of(path: &Path) -> Result<&'static dyn FileFormat, Error> {
    let Some(extension) = path.extension() else { return Ok(FORMATS[0]) };
    let extension = extension.to_string_lossy().to_lowercase();
    let known = |format: &&&dyn FileFormat| format.extensions().contains(&extension.as_str());
    let found = FORMATS.iter().find(known).copied();
    if let Some(format) = OPTIONAL.iter().find(|name| found.is_none() && **name == extension) {
        return Err(Error::NotBuilt { path: path.to_owned(), format });
    }
    found.ok_or_else(|| Error::Format {
        path: path.to_owned(),
        known: FORMATS
            .iter()
            .flat_map(|format| format.extensions())
            .map(|e| (*e).to_owned())
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_says_the_format() {
        let name = |path: &str| of(Path::new(path)).map(|format| format.extensions()[0]);
        for (path, format) in [
            ("a.npy", "npy"),
            ("b/a.PNG", "png"),
            ("a.vti", "vti"),
            ("a.pvti", "pvti"),
            ("a", "npy"),
            ("a.b/c", "npy"),
        ] {
            assert_eq!(name(path).unwrap(), format);
        }
        let zarr = name("a.zarr");
        if cfg!(feature = "zarr") {
            assert_eq!(zarr.unwrap(), "zarr");
            return;
        }
        let refused = zarr.unwrap_err().to_string();
        assert_eq!(refused, "a.zarr: this program was built without the format zarr");
        let refused = name("a.jpg").unwrap_err().to_string();
        assert_eq!(
            refused,
            "a.jpg: no format has this extension; there is npy, png, apng, vti, pvti, nc"
        );
    }
}
