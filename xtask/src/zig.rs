// SPDX-License-Identifier: MIT OR Apache-2.0
//! What links programs and libraries for machines with older C libraries
//! ([why](../../docs/decisions/0045-dist.md)), and what is checked of them.

use crate::{setup, step};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The oldest C library that they run with: that of RHEL 8; Ubuntu 20.04 and Debian 11 have later ones.
pub const C_LIBRARY: (u32, u32) = (2, 28);
/// What an archive or a wheel may weigh.
const MOST_BYTES: u64 = 30_000_000;
/// The linker, and the tools that build with it.
const PACKAGES: [&str; 3] = ["ziglang==0.17.1", "cargo-zigbuild==0.24.1", "maturin==1.16.0"];

/// `cargo-zigbuild` or `maturin`, which find `zig`; installed if it is missing.
pub fn tool(name: &str) -> Result<Command> {
    let folder = std::path::absolute(setup::VENV)?.join("zig");
    if !PACKAGES.iter().all(|package| setup::is_installed(&folder, package)) {
        if folder.exists() {
            // Of other versions pip would leave files behind.
            fs::remove_dir_all(&folder)
                .with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        let mut pip = setup::pip()?;
        pip.args(["install", "--quiet", "--root-user-action=ignore", "--upgrade", "--target"]);
        step::run("linker", pip.arg(&folder).args(PACKAGES))?;
    }
    let mut tool = Command::new(folder.join("bin").join(name));
    tool.env("CARGO_ZIGBUILD_ZIG_PATH", folder.join("ziglang/zig"));
    Ok(tool)
}

/// Checks that a program or library asks for no newer symbols of the C library.
pub fn check_symbols(program: &Path) -> Result<()> {
    let needed = newest_symbol(&fs::read(program)?);
    ensure!(
        needed.is_some_and(|needed| needed <= C_LIBRARY),
        "{} asks for {needed:?} of the C library, not for {C_LIBRARY:?}",
        program.display()
    );
    Ok(())
}

/// Checks that an archive is not too large; returns its bytes.
pub fn check_size(archive: &Path) -> Result<u64> {
    let bytes = fs::metadata(archive)?.len();
    let most = MOST_BYTES / 1_000_000;
    ensure!(bytes <= MOST_BYTES, "{} has {bytes} bytes, more than {most} MB", archive.display());
    Ok(bytes)
}

/// The newest version of the C library that a program asks for, by the names of its symbols' versions.
fn newest_symbol(program: &[u8]) -> Option<(u32, u32)> {
    const PREFIX: &[u8] = b"GLIBC_";
    let places = program.windows(PREFIX.len()).enumerate().filter(|(_, it)| *it == PREFIX);
    let version = |(at, _): (usize, &[u8])| {
        let text =
            program[at + PREFIX.len()..].split(|byte| !b"0123456789.".contains(byte)).next()?;
        let mut numbers = std::str::from_utf8(text).ok()?.split('.').map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    };
    places.filter_map(version).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_of_other_versions_are_not_those_that_are_asked_for() {
        let folder = std::env::temp_dir().join(format!("xtask-zig-{}", std::process::id()));
        fs::create_dir_all(folder.join("cargo_zigbuild-0.24.1.dist-info")).unwrap();
        assert!(setup::is_installed(&folder, "cargo-zigbuild==0.24.1"));
        assert!(!setup::is_installed(&folder, "cargo-zigbuild==0.24.2"));
        assert!(!setup::is_installed(&folder, "maturin==0.24.1"));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn the_newest_symbol_counts() {
        assert_eq!(newest_symbol(b"\0GLIBC_2.2.5\0GLIBC_2.17\0GLIBC_2.9\0"), Some((2, 17)));
        assert_eq!(newest_symbol(b"GLIBC_PRIVATE\0GLIBCXX_3.4"), None);
        assert_eq!(newest_symbol(b"GLIBC_2.34"), Some((2, 34)));
    }
}
