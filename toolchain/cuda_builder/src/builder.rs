// SPDX-License-Identifier: MIT OR Apache-2.0
//! The builder: one cargo call that compiles a kernel crate and everything it needs to one PTX file.

use crate::environment::{cargo, is_build_script};
use crate::sources::sources;
use crate::stand_in::{Package, StandIn};
use crate::{BuildError, Chip, Compiler, ptx};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const TARGET: &str = "nvptx64-nvidia-cuda";

/// How much a profiler or sanitizer can say about where in the source it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DebugInfo {
    /// Nothing.
    #[default]
    None,
    /// Source lines; the PTX then holds the paths of the sources.
    LineTables,
}

/// Compiles one kernel crate for one chip.
#[derive(Clone, Debug)]
pub struct CudaBuilder {
    krate: PathBuf,
    arch: Chip,
    release: bool,
    debug: DebugInfo,
    copy_to: Option<PathBuf>,
    target_dir: Option<PathBuf>,
}

/// A compiled kernel crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// The PTX: where [`CudaBuilder::copy_to`] asked for it, else in the build's folder.
    pub ptx: PathBuf,
    /// The version line of the compiler that made it.
    pub compiler: String,
    /// The chip that it is for.
    pub arch: Chip,
    /// Every source and manifest it was made from.
    pub sources: BTreeSet<PathBuf>,
}

impl CudaBuilder {
    /// A builder for the crate in folder `krate`, in release mode, for [`Chip::Sm90a`].
    pub fn new(krate: impl Into<PathBuf>) -> Self {
        Self {
            krate: krate.into(),
            arch: Chip::Sm90a,
            release: true,
            debug: DebugInfo::None,
            copy_to: None,
            target_dir: None,
        }
    }

    /// The chip to compile for.
    pub fn arch(mut self, arch: Chip) -> Self {
        self.arch = arch;
        self
    }

    /// With `false`, overflow checks and debug assertions stop a kernel. It is optimised all the
    /// same: registers and inline assembly depend on that.
    pub fn release(mut self, release: bool) -> Self {
        self.release = release;
        self
    }

    /// What debug information the PTX carries.
    pub fn debug(mut self, debug: DebugInfo) -> Self {
        self.debug = debug;
        self
    }

    /// Copies the PTX to this file.
    pub fn copy_to(mut self, path: impl Into<PathBuf>) -> Self {
        self.copy_to = Some(path.into());
        self
    }

    /// The folder to build in; in a build script the default is `cuda-builder` in the target folder.
    pub fn target_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.target_dir = Some(path.into());
        self
    }

    /// Compiles, and in a build script tells cargo what to watch.
    pub fn build(self) -> Result<Built, BuildError> {
        let krate = self.krate.canonicalize().unwrap_or_else(|_| self.krate.clone());
        if !krate.join("Cargo.toml").is_file() {
            return Err(BuildError::NoCrate { path: krate });
        }
        let found = Compiler::find();
        Compiler::watch(found.as_ref().ok());
        let compiler = found?;
        let shares_core = !compiler.needs_one_chip();
        let (folder, own) = self.folders(&krate, shares_core)?;
        let assembly = own.join(format!("{}.ptx", self.arch));
        let package = Package::read(&krate)?;
        let stand_in = match package.compiles_itself() {
            true => Some(package.stand_in(&own)?),
            false => None,
        };

        let mut output = self.cargo(&krate, &folder, &assembly, &compiler, shares_core, &stand_in);
        if package.root().is_some_and(|root| !declares_no_std(root)) {
            output.arg("-Zcrate-attr=no_std");
        }
        let output = run(output)?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(BuildError::Compile {
                krate: krate.display().to_string(),
                arch: self.arch.name(),
                compiler: compiler.version,
                stderr: stderr.into_owned(),
            });
        }

        let release = folder.join(TARGET).join("release");
        let missing =
            |what: &str| BuildError::Missing { what: what.into(), folder: folder.clone() };
        let manifest = stand_in.map_or(krate.join("Cargo.toml"), |stand_in| stand_in.manifest);
        let library = library(&output.stdout, &manifest).ok_or_else(|| missing("library"))?;
        let ptx = std::fs::read_to_string(&assembly).map_err(|_| missing("PTX"))?;
        let names = ptx::unresolved(&ptx);
        if !names.is_empty() {
            return Err(BuildError::Unresolved { ptx: assembly, names });
        }
        let sources = sources(&release.join(format!("{library}.d")))?;
        if is_build_script() {
            for source in &sources {
                println!("cargo:rerun-if-changed={}", source.display());
            }
            for warning in warnings(&stderr) {
                println!("cargo:warning={}: {warning}", self.arch);
            }
        }
        let limited = ptx::with_register_limits(&ptx);
        let ptx = write_if_changed(self.copy_to.unwrap_or(assembly), &limited)?;
        Ok(Built { ptx, compiler: compiler.version, arch: self.arch, sources })
    }

    /// The folder to build in, one for this mode, and for the chip unless the chips share a `core`; and
    /// in it a folder of this crate's own. Crates share the first, and with it `core`.
    fn folders(&self, krate: &Path, shares_core: bool) -> Result<(PathBuf, PathBuf), BuildError> {
        let root = match &self.target_dir {
            Some(folder) => std::path::absolute(folder).map_err(BuildError::io(folder))?,
            None => outer_target_dir().ok_or(BuildError::NoTargetDir)?.join("cuda-builder"),
        };
        let checks = if self.release { "" } else { "-checked" };
        let lines = if self.debug == DebugInfo::None { "" } else { "-lines" };
        let chip = if shares_core { "all" } else { self.arch.name() };
        let folder = root.join(format!("{chip}{checks}{lines}"));
        // Crates in several places may have one name.
        let mut hasher = DefaultHasher::new();
        krate.hash(&mut hasher);
        let mut name = krate.file_name().unwrap_or("kernels".as_ref()).to_owned();
        name.push(format!("-{:08x}", hasher.finish() as u32));
        let own = folder.join("crates").join(name);
        std::fs::create_dir_all(&own).map_err(BuildError::io(&own))?;
        Ok((folder, own))
    }

    /// The cargo call, which leaves the PTX in `assembly`.
    ///
    /// Most of the time goes into `core`, and link-time optimisation makes one module of one chip of
    /// everything anyway: so, where the compiler lets crates for different chips be linked, only the
    /// kernel crate itself is told the chip, and `core` is compiled once for all chips. The crates
    /// between the two learn it from the variable `CUDA_ARCH`.
    fn cargo(
        &self,
        krate: &Path,
        folder: &Path,
        assembly: &Path,
        compiler: &Compiler,
        shares_core: bool,
        stand_in: &Option<StandIn>,
    ) -> Command {
        let chip = [
            format!("-Ctarget-cpu={}", self.arch),
            format!("-Ctarget-feature=+{}", self.arch.ptx_feature()),
        ];
        let mut rustflags = vec![
            // One module needs no linking, and the target's own linker is not at hand.
            "-Clinker=true".to_owned(),
            // Else a division leaves a call of a panic function that nobody defines.
            "-Zunstable-options".into(),
            "-Cpanic=immediate-abort".into(),
        ];
        if !shares_core {
            rustflags.extend(chip.clone());
        }
        let checks = !self.release;
        let debug = match self.debug {
            DebugInfo::None => "\"none\"",
            DebugInfo::LineTables => "\"line-tables-only\"",
        };
        let mut command = cargo();
        command
            .current_dir(krate)
            .args(["rustc", "--lib", "--crate-type=cdylib", "--release", "-Zbuild-std=core"])
            .arg(format!("--target={TARGET}"))
            .args(["--message-format=json-render-diagnostics", "--color=never"])
            .arg("--target-dir")
            .arg(folder)
            .env("CARGO_BUILD_BUILD_DIR", folder)
            .env("RUSTC", &compiler.rustc)
            // The target, `-Z` flags and the device features are unstable; the compiler is not.
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CUDA_ARCH", self.arch.name())
            .env("CARGO_ENCODED_RUSTFLAGS", rustflags.join("\u{1f}"));
        // The kernel crate may be a member of the workspace whose profiles are for the host.
        for setting in [
            "opt-level=3",
            "codegen-units=1",
            "lto=\"fat\"",
            "panic=\"abort\"",
            &format!("debug={debug}"),
            &format!("debug-assertions={checks}"),
            &format!("overflow-checks={checks}"),
        ] {
            command.arg("--config").arg(format!("profile.release.{setting}"));
        }
        if let Some(StandIn { manifest, features }) = stand_in {
            command.arg("--manifest-path").arg(manifest);
            if let Some(features) = features {
                command
                    .arg("--no-default-features")
                    .arg(format!("--features={}", features.join(",")));
            }
        }
        let mut emit = OsString::from("--emit=asm=");
        emit.push(assembly);
        command.arg("--").arg(emit);
        if shares_core {
            command.args(chip);
        }
        command
    }
}

fn run(mut command: Command) -> Result<Output, BuildError> {
    command.output().map_err(BuildError::io(command.get_program()))
}

/// The target folder of the cargo that runs this build script.
pub(crate) fn outer_target_dir() -> Option<PathBuf> {
    if !is_build_script() {
        return None;
    }
    Some(target_dir_above(Path::new(&std::env::var_os("OUT_DIR")?)).to_owned())
}

/// The folder that holds all of cargo's outputs. Cargo marks it, if it has made it itself; else it is the
/// one with the profiles: `out` is `<profile>/build/<package>/out` in it.
fn target_dir_above(out: &Path) -> &Path {
    let marked = out.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file());
    let is_build = |folder: &Path| folder.file_name() == Some("build".as_ref());
    let profile = out.ancestors().nth(2).filter(|folder| is_build(folder));
    marked.or_else(|| profile?.ancestors().nth(2)).unwrap_or(out)
}

/// Whether a crate's root says itself that it does without `std`; saying so twice is a warning.
fn declares_no_std(root: &Path) -> bool {
    let source = std::fs::read_to_string(root).unwrap_or_default();
    source.lines().any(|line| !line.trim_start().starts_with("//") && line.contains("no_std"))
}

/// The kernel crate's library name, as file names have it, from cargo's messages.
fn library(messages: &[u8], manifest: &Path) -> Option<String> {
    String::from_utf8_lossy(messages)
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .find(|message| {
            message["reason"] == "compiler-artifact"
                && message["manifest_path"].as_str().is_some_and(|path| Path::new(path) == manifest)
                && message["target"]["kind"][0] != "custom-build"
        })
        .and_then(|message| Some(message["target"]["name"].as_str()?.replace('-', "_")))
}

/// The compiler's warnings, one line each with its place.
fn warnings(stderr: &str) -> Vec<String> {
    let lines: Vec<&str> = stderr.lines().map(str::trim).collect();
    lines
        .windows(2)
        .filter(|pair| pair[0].starts_with("warning") && pair[1].starts_with("-->"))
        .map(|pair| format!("{} {}", pair[0], pair[1]))
        .collect()
}

/// Writes `text`, unless the file has it already: a newer file would rebuild what depends on it.
fn write_if_changed(path: PathBuf, text: &str) -> Result<PathBuf, BuildError> {
    if std::fs::read(&path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(path);
    }
    std::fs::write(&path, text).map_err(BuildError::io(&path))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_folder_is_found_marked_or_not() {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("target");
        let out = target.join("debug/build/host-1/out");
        std::fs::create_dir_all(&out).unwrap();
        assert_eq!(target_dir_above(&out), target);
        std::fs::write(root.path().join("CACHEDIR.TAG"), "").unwrap();
        assert_eq!(target_dir_above(&out), root.path());
        let elsewhere = Path::new("/no/such/folder/of/outputs");
        assert_eq!(target_dir_above(elsewhere), elsewhere);
    }

    #[test]
    fn an_attribute_is_seen_and_a_comment_is_not() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (text, declares) in [
            ("#![cfg_attr(target_arch = \"nvptx64\", no_std)]", true),
            ("#![no_std]\nfn f() {}", true),
            ("//! A #![no_std] crate.\n// no_std\nfn f() {}", false),
        ] {
            std::fs::write(file.path(), text).unwrap();
            assert_eq!(declares_no_std(file.path()), declares, "{text}");
        }
        assert!(!declares_no_std(Path::new("/no/such/file.rs")));
    }
}
