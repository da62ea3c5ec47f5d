// SPDX-License-Identifier: MIT OR Apache-2.0
//! The search for a device compiler.

use crate::BuildError;
use crate::environment::{is_build_script, scrubbed};
use std::path::{Path, PathBuf};

/// The variable that names a device compiler; nothing else is tried then.
const VARIABLE: &str = "CUDA_DEVICE_RUSTC";
/// Where distributions put theirs.
const DISTRIBUTION: &str = "/usr/bin/rustc";
/// The oldest rustc with everything that kernels and flags use (minor version of 1.x).
const OLDEST_MINOR: u32 = 95;

/// A rustc that compiles for NVIDIA's chips, with the sources of its own `core`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiler {
    /// The program.
    pub rustc: PathBuf,
    /// Its version line (`rustc --version`).
    pub version: String,
}

impl Compiler {
    /// Looks for a device compiler: the one that the variable `CUDA_DEVICE_RUSTC` names; else the
    /// active toolchain's, which has the sources if rustup's component `rust-src` is there; else the
    /// distribution's `/usr/bin/rustc`.
    pub fn find() -> Result<Self, BuildError> {
        if let Some(path) = std::env::var_os(VARIABLE).map(PathBuf::from) {
            return Self::examine(&path)
                .map_err(|reason| BuildError::UnusableCompiler { path, reason });
        }
        let active = std::env::var_os("RUSTC").unwrap_or("rustc".into());
        let mut rejected = Vec::new();
        for rustc in [Path::new(&active), Path::new(DISTRIBUTION)] {
            match Self::examine(rustc) {
                Ok(compiler) => return Ok(compiler),
                Err(reason) => rejected.push(format!("{}: {reason}", rustc.display())),
            }
        }
        Err(BuildError::NoCompiler { rejected })
    }

    /// Checks that `rustc` serves, or says why not.
    fn examine(rustc: &Path) -> Result<Self, String> {
        let sysroot = PathBuf::from(ask(rustc, &["--print=sysroot"])?.trim());
        let source = sysroot.join("lib/rustlib/src/rust");
        let library = source.join("library");
        if !library.join("core/src/lib.rs").is_file() || !library.join("Cargo.lock").is_file() {
            return Err(format!("no library sources in {}", library.display()));
        }
        // A rustup proxy stands for a program in its sysroot; others (distributions') are that one.
        let own = sysroot.join("bin/rustc");
        let rustc = if own.is_file() { own } else { rustc.into() };

        let version = ask(&rustc, &["--version"])?.trim().to_owned();
        let release = version.split(' ').nth(1).unwrap_or_default();
        if minor(release).is_none_or(|minor| minor < OLDEST_MINOR) {
            return Err(format!("{version} is older than 1.{OLDEST_MINOR}"));
        }
        // Distributions' sources say which release they are; rustup keeps the two together.
        if let Ok(of_library) = std::fs::read_to_string(source.join("src/version")) {
            let of_library = of_library.trim();
            if release.split('-').next() != Some(of_library) {
                return Err(format!(
                    "{version}, but the library sources in {} are of {of_library}",
                    library.display()
                ));
            }
        }
        let chips = ask(&rustc, &["--print=target-cpus", "--target=nvptx64-nvidia-cuda"])?;
        if !chips.contains("sm_90a") {
            return Err(format!("{version} was built without NVIDIA's chips"));
        }
        Ok(Self { rustc, version })
    }

    /// Whether crates that are linked must all be compiled for one chip: the rule of
    /// compilers of late 2026 and after, of which the target's description tells.
    pub(crate) fn needs_one_chip(&self) -> bool {
        let target =
            ["--print=target-spec-json", "-Zunstable-options", "--target=nvptx64-nvidia-cuda"];
        // Who does not answer is treated as one that has the rule: slower, but right everywhere.
        ask(&self.rustc, &target).map_or(true, |spec| spec.contains("requires-consistent-cpu"))
    }

    /// Tells cargo when the search may end differently.
    pub(crate) fn watch(found: Option<&Self>) {
        if !is_build_script() {
            return;
        }
        println!("cargo:rerun-if-env-changed={VARIABLE}");
        if let Some(compiler) = found {
            println!("cargo:rerun-if-changed={}", compiler.rustc.display());
            return;
        }
        // Cargo takes a path that does not exist for changed every time; what the installers write
        // down does exist.
        let active = std::env::var_os("RUSTC").unwrap_or("rustc".into());
        let components = ask(Path::new(&active), &["--print=sysroot"])
            .map(|sysroot| Path::new(sysroot.trim()).join("lib/rustlib/components"));
        for list in components.into_iter().chain(["/var/lib/dpkg/status".into()]) {
            if list.is_file() {
                println!("cargo:rerun-if-changed={}", list.display());
            }
        }
    }
}

/// The minor version of a release `1.x.y`.
fn minor(release: &str) -> Option<u32> {
    release.strip_prefix("1.")?.split('.').next()?.parse().ok()
}

/// What `rustc` prints, or why it does not.
fn ask(rustc: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = scrubbed(rustc)
        .args(arguments)
        // For `-Z` flags.
        .env("RUSTC_BOOTSTRAP", "1")
        .output()
        .map_err(|error| format!("it cannot be run ({error})"))?;
    let text = String::from_utf8_lossy;
    if output.status.success() {
        Ok(text(&output.stdout).into_owned())
    } else {
        let stderr = text(&output.stderr);
        Err(format!("{} failed: {}", arguments.join(" "), stderr.lines().next().unwrap_or("?")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_read() {
        assert_eq!(minor("1.96.0"), Some(96));
        assert_eq!(minor("1.98.0-nightly"), Some(98));
        assert_eq!(minor("2.0.0"), None);
    }

    #[test]
    fn what_is_no_compiler_is_rejected_with_the_reason() {
        let reason = Compiler::examine(Path::new("/no/such/rustc")).unwrap_err();
        assert!(reason.starts_with("it cannot be run (No such file"), "{reason}");
        let reason = Compiler::examine(Path::new("/bin/false")).unwrap_err();
        assert!(reason.starts_with("--print=sysroot failed"), "{reason}");
    }

    #[test]
    fn the_error_is_one_line_with_both_remedies() {
        let text = BuildError::NoCompiler { rejected: vec![] }.to_string();
        assert_eq!(text.lines().count(), 1);
        assert!(text.contains("rustup component add rust-src"));
        assert!(text.contains("apt-get install --no-install-recommends rustc-web rust-web-src"));
    }
}
