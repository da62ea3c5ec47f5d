// SPDX-License-Identifier: MIT OR Apache-2.0
//! The list of a series of `.vti` files, which ParaView opens as one that changes in time: a `.pvd`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::io::Output;
use problem::Error;

/// A list that grows by a file at a time.
pub struct Index {
    path: PathBuf,
    /// The time of each, and its name as seen from the list.
    entries: Vec<(f64, String)>,
}

impl Index {
    /// One at a place, without files.
    pub fn new(path: PathBuf) -> Self {
        Self { path, entries: Vec::new() }
    }

    /// Adds a file, in the order of times.
    pub fn add(&mut self, time: f64, file: &Path) {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let name = file.strip_prefix(folder).unwrap_or(file).display().to_string();
        self.entries.retain(|(_, known)| *known != name);
        let place = self.entries.partition_point(|(known, _)| *known <= time);
        self.entries.insert(place, (time, name));
    }

    /// Writes the list anew.
    ///
    /// # Errors
    /// The system refuses.
    pub fn write(&self) -> Result<(), Error> {
        let text = self.text();
        Output::new(&self.path)?.write(|to| to.write_all(text.as_bytes()))
    }

    fn text(&self) -> String {
        let mut text = String::from(
            "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"0.1\" \
             byte_order=\"LittleEndian\">\n  <Collection>\n",
        );
        for (time, name) in &self.entries {
            let name = name.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
            writeln!(text, "    <DataSet timestep=\"{time}\" part=\"0\" file=\"{name}\"/>")
                .expect("a string takes any text");
        }
        text + "  </Collection>\n</VTKFile>\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_as_seen_from_the_list() {
        let mut index = Index::new("out/u.pvd".into());
        index.add(0.0, Path::new("out/u_0.vti"));
        index.add(0.5, Path::new("out/a&b.vti"));
        index.add(0.0, Path::new("out/u_0.vti"));
        let text = index.text();
        assert!(text.contains("timestep=\"0\" part=\"0\" file=\"u_0.vti\"/>"), "{text}");
        assert!(text.contains("timestep=\"0.5\" part=\"0\" file=\"a&amp;b.vti\"/>"), "{text}");
        assert_eq!(text.matches("DataSet").count(), 2);
    }
}
