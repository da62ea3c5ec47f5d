// SPDX-License-Identifier: MIT OR Apache-2.0
//! The list of a series of `.vti` files, which ParaView opens as one that changes in time: a `.pvd`.

use std::fmt::Write;
use std::fs;
use std::io::ErrorKind;
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

    /// The index that lies at the place of this one, as [`Index::write`] has written it; of what is none, one without files.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(&self) -> Result<Self, Error> {
        let path = self.path.clone();
        let text = match fs::read(&path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(source) if source.kind() == ErrorKind::NotFound => String::new(),
            Err(source) => return Err(Error::Read { path, source }),
        };
        Ok(Self { path, entries: text.lines().filter_map(entry).collect() })
    }

    /// The time of a file, if it is named.
    pub fn time(&self, file: &Path) -> Option<f64> {
        let name = self.name(file);
        self.entries.iter().find(|(_, known)| *known == name).map(|(time, _)| *time)
    }

    /// A file as it is seen from the list.
    fn name(&self, file: &Path) -> String {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        file.strip_prefix(folder).unwrap_or(file).display().to_string()
    }

    /// Adds a file, in the order of times.
    pub fn add(&mut self, time: f64, file: &Path) {
        let name = self.name(file);
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

/// The time and the file of a line, if it has some.
fn entry(line: &str) -> Option<(f64, String)> {
    let of = |name: &str| line.split_once(name)?.1.split_once('"').map(|(value, _)| value);
    let name = of("file=\"")?;
    let name = name.replace("&quot;", "\"").replace("&lt;", "<").replace("&amp;", "&");
    Some((of("timestep=\"")?.parse().ok()?, name))
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

    #[test]
    fn times_are_read_to_the_last_bit() {
        let folder = tempfile::tempdir().unwrap();
        let mut index = Index::new(folder.path().join("u.pvd"));
        let times = [0.0, 1.0 / 3.0, 1e-300, 0.1 + 0.2, 7e22];
        let file = |number: usize| folder.path().join(format!("a&\"<b_{number}.vti"));
        assert_eq!(index.read().unwrap().entries, []);
        times.iter().enumerate().for_each(|(number, time)| index.add(*time, &file(number)));
        index.write().unwrap();
        let read = index.read().unwrap();
        for (number, time) in times.into_iter().enumerate() {
            assert_eq!(read.time(&file(number)), Some(time));
        }
        assert_eq!(read.time(&file(9)), None);
        assert_eq!(read.entries, index.entries);
    }
}
