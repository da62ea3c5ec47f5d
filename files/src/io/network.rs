// SPDX-License-Identifier: MIT OR Apache-2.0
//! Descriptions of what connects GPUs, as TOML.

use std::fs;
use std::path::Path;

use transform::network::Network;

use problem::Error;

/// Reads the description of a network.
///
/// # Errors
/// The file cannot be read, is no such description, or has a number that no network has.
pub fn read(path: &Path) -> Result<Network, Error> {
    let bad = |reason| Error::Network { path: path.to_owned(), reason };
    let bytes = fs::read(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    let text = String::from_utf8(bytes).map_err(|error| bad(error.to_string()))?;
    Network::parse(&text).map_err(|error| bad(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_read_and_others_are_refused_with_their_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("network.toml");
        let text = toml::to_string(&Network::h200_ndr()).unwrap();
        fs::write(&path, &text).unwrap();
        assert_eq!(read(&path).unwrap(), Network::h200_ndr());
        let refused = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            read(&path).unwrap_err().to_string()
        };
        let error = refused(text.replace("message_s", "message").as_bytes());
        assert!(error.contains("network.toml: line 7, column 1: unknown field"), "{error}");
        assert!(refused(&[0xff]).contains("invalid utf-8"));
        fs::remove_file(&path).unwrap();
        assert!(matches!(read(&path), Err(Error::Read { .. })));
    }
}
