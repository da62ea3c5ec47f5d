// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which kernels of a crate one compiler makes at a time. The compiler optimises all of them on one thread, so groups are
//! what several cores compile at once; and a group whose sources did not change is not compiled again.
//!
//! The crate's manifest says which there are; without, all kernels are one group:
//!
//! ```toml
//! [package.metadata.cuda_builder]
//! groups = [
//!     { features = ["sweeps"], kernels = ["sweep2d_", "sweep3d_"] },
//!     { features = ["filters"], kernels = ["blur"] },
//! ]
//! ```

use crate::BuildError;
use serde_json::Value;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

/// A group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The features that are on; none if the crate's defaults are.
    pub features: Option<Vec<String>>,
    /// What the names of its kernels begin with; nothing if it has all of them.
    pub kernels: Vec<String>,
}

impl Group {
    /// Of a crate without groups.
    pub fn of_all(features: Option<Vec<String>>) -> Self {
        Self { features, kernels: Vec::new() }
    }

    /// The groups in a package's metadata; none if it does not say.
    ///
    /// # Errors
    /// It says so in another form.
    pub fn read(metadata: &Value, manifest: &Path) -> Result<Vec<Self>, BuildError> {
        let texts = |value: &Value| -> Option<Vec<String>> {
            let texts = value.as_array()?.iter().map(|text| text.as_str().map(str::to_owned));
            texts.collect()
        };
        let group = |group: &Value| {
            let kernels = texts(&group["kernels"]).filter(|kernels| !kernels.is_empty())?;
            Some(Self { features: Some(texts(&group["features"])?), kernels })
        };
        let Some(groups) = metadata["cuda_builder"].get("groups") else { return Ok(Vec::new()) };
        let read = groups.as_array().and_then(|groups| groups.iter().map(group).collect());
        read.ok_or_else(|| BuildError::Manifest {
            path: manifest.to_owned(),
            reason: "package.metadata.cuda_builder.groups: give a list of groups such as \
                     { features = [\"sweeps\"], kernels = [\"sweep2d_\"] }"
                .into(),
        })
    }

    /// The name of the package that it is compiled as: of the crate's and of what is in the group.
    pub fn package(&self, krate: &str) -> String {
        if self.kernels.is_empty() {
            return krate.to_owned();
        }
        let mut hasher = DefaultHasher::new();
        (&self.features, &self.kernels).hash(&mut hasher);
        let first = self.kernels[0].trim_matches('_').replace('_', "-");
        format!("{krate}-{first}-{:08x}", hasher.finish() as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn groups_are_read_or_refused() {
        let read = |metadata| Group::read(&metadata, Path::new("/k/Cargo.toml"));
        assert_eq!(read(Value::Null).unwrap(), []);
        assert_eq!(read(json!({"docs": {}})).unwrap(), []);
        let all = json!({"cuda_builder": {"groups": [{"features": [], "kernels": ["a_"]}]}});
        let group = Group { features: Some(vec![]), kernels: vec!["a_".into()] };
        assert_eq!(read(all).unwrap(), [group]);
        for wrong in [json!({"a": 1}), json!([{"features": []}]), json!([{"kernels": ["a"]}])] {
            let error = read(json!({"cuda_builder": {"groups": wrong}})).unwrap_err().to_string();
            assert!(error.starts_with("/k/Cargo.toml: package.metadata.cuda_builder.groups: "));
        }
    }

    #[test]
    fn packages_of_other_groups_have_other_names() {
        let group = |kernels: &[&str], features: &[&str]| {
            let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
            Group { features: Some(texts(features)), kernels: texts(kernels) }.package("k")
        };
        let names = [group(&["a_"], &[]), group(&["a_", "b"], &[]), group(&["a_"], &["f"])];
        assert!(names.iter().all(|name| name.starts_with("k-a-")), "{names:?}");
        assert!(names[0] != names[1] && names[0] != names[2], "{names:?}");
        assert_eq!(Group::of_all(None).package("k"), "k");
    }
}
