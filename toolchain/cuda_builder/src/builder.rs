// SPDX-License-Identifier: MIT OR Apache-2.0
//! The builder: one cargo call that compiles a kernel crate and everything it needs to one PTX file.

use crate::environment::{cargo, is_build_script};
use crate::sources::sources;
use crate::{BuildError, Chip, Compiler, ptx};
use std::collections::BTreeSet;
use std::ffi::OsString;
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
        let folder = self.folder(&krate, shares_core)?;
        let assembly = folder.join(format!("{}.ptx", self.arch));

        let output = self.cargo(&krate, &folder, &assembly, &compiler, shares_core);
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
        let library = library(&output.stdout, &krate).ok_or_else(|| missing("library"))?;
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

    /// A folder for this crate and mode; also for the chip, unless the chips share a `core`.
    fn folder(&self, krate: &Path, shares_core: bool) -> Result<PathBuf, BuildError> {
        let root = match &self.target_dir {
            Some(folder) => std::path::absolute(folder).map_err(BuildError::io(folder))?,
            None => outer_target_dir().ok_or(BuildError::NoTargetDir)?.join("cuda-builder"),
        };
        let name = krate.file_name().unwrap_or("kernels".as_ref());
        let checks = if self.release { "" } else { "-checked" };
        let lines = if self.debug == DebugInfo::None { "" } else { "-lines" };
        let chip = if shares_core { "all" } else { self.arch.name() };
        Ok(root.join(name).join(format!("{chip}{checks}{lines}")))
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
fn outer_target_dir() -> Option<PathBuf> {
    if !is_build_script() {
        return None;
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR")?);
    // Cargo marks the folder that holds all its outputs.
    let root = out.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file());
    Some(root.unwrap_or(&out).to_owned())
}

/// The kernel crate's library name, as file names have it, from cargo's messages.
fn library(messages: &[u8], krate: &Path) -> Option<String> {
    let manifest = krate.join("Cargo.toml");
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
