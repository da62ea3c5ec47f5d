// SPDX-License-Identifier: MIT OR Apache-2.0
//! The environment of the inner cargo: what the outer cargo, clippy or a test runner set for its own
//! compiler must not reach the device compiler.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// Whether this process is a build script that cargo runs.
pub fn is_build_script() -> bool {
    // Set for build scripts only, unlike OUT_DIR.
    std::env::var_os("CARGO_CFG_TARGET_ARCH").is_some()
}

/// Whether `cargo clippy` runs this build script. Cargo runs it once more for a build, since clippy takes
/// the place of the compiler.
pub fn is_clippy() -> bool {
    std::env::var_os("RUSTC_WORKSPACE_WRAPPER").is_some_and(|path| is_clippy_driver(&path))
}

fn is_clippy_driver(path: impl AsRef<Path>) -> bool {
    path.as_ref().file_stem().is_some_and(|name| name == "clippy-driver")
}

/// Which features of the crate whose build script this is are on; `None` in another process.
pub fn active_features() -> Option<impl Fn(&str) -> bool> {
    is_build_script().then_some(|name: &str| {
        let name = name.to_uppercase().replace('-', "_");
        std::env::var_os(format!("CARGO_FEATURE_{name}")).is_some()
    })
}

/// A command for the cargo that runs us, or the one in the path, in a scrubbed environment.
pub fn cargo() -> Command {
    scrubbed(std::env::var_os("CARGO").unwrap_or("cargo".into()))
}

/// A command for `program` without the outer build's variables.
pub fn scrubbed(program: impl Into<OsString>) -> Command {
    let mut command = Command::new(program.into());
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_outer) {
            command.env_remove(name);
        }
    }
    command
}

/// Whether a variable belongs to the outer build. The user's own settings for cargo's home, network
/// and registries stay, and so do the host's linkers, which procedural macros need.
fn is_outer(name: &str) -> bool {
    let build_script = ["TARGET", "HOST", "OUT_DIR", "PROFILE", "OPT_LEVEL", "DEBUG", "NUM_JOBS"];
    let of_the_user = ["CARGO_HOME", "CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTR"];
    let linker = name.starts_with("CARGO_TARGET_") && name.ends_with("_LINKER");
    let set_by_tools = ["CARGO", "RUSTC", "RUSTFLAGS", "RUSTDOC", "CLIPPY_", "DEP_", "NEXTEST"]
        .iter()
        .any(|prefix| name.starts_with(prefix));
    let kept = linker || of_the_user.iter().any(|prefix| name.starts_with(prefix));
    // Cargo puts the outer toolchain's libraries into LD_LIBRARY_PATH.
    build_script.contains(&name) || name == "LD_LIBRARY_PATH" || (set_by_tools && !kept)
}

#[cfg(test)]
mod tests {
    use super::{is_clippy_driver, is_outer};

    #[test]
    fn clippy_is_known_by_its_driver() {
        assert!(is_clippy_driver("/toolchains/1.95.0/bin/clippy-driver"));
        assert!(!is_clippy_driver("/usr/bin/sccache"));
    }

    #[test]
    fn the_outer_build_is_removed_and_the_user_stays() {
        for name in [
            "RUSTC",
            "RUSTC_WRAPPER",
            "RUSTC_WORKSPACE_WRAPPER",
            "RUSTFLAGS",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_CFG_TARGET_ARCH",
            "CARGO_TARGET_DIR",
            "CARGO_BUILD_TARGET",
            "CARGO_PROFILE_RELEASE_LTO",
            "CLIPPY_ARGS",
            "TARGET",
            "OUT_DIR",
            "LD_LIBRARY_PATH",
        ] {
            assert!(is_outer(name), "{name}");
        }
        for name in [
            "PATH",
            "HOME",
            "CARGO_HOME",
            "CARGO_HTTP_PROXY",
            "CARGO_REGISTRIES_MINE_INDEX",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER",
            "RUSTUP_HOME",
        ] {
            assert!(!is_outer(name), "{name}");
        }
    }
}
