// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why there is no PTX.

use std::fmt;
use std::path::PathBuf;

/// Why a kernel crate was not compiled. `{:?}` is the text, too, so that `unwrap` in a build script shows it as the compiler
/// has written it.
#[derive(thiserror::Error)]
pub enum BuildError {
    /// No device compiler was found. The text is one line with the remedies.
    #[error(
        "no compiler for GPU kernels (a rustc with the sources of its own `core`): run \
         `rustup component add rust-src`, or on Debian \
         `apt-get install --no-install-recommends rustc-web rust-web-src`"
    )]
    NoCompiler {
        /// Where the search looked, and why each place did not serve.
        rejected: Vec<String>,
    },
    /// `CUDA_DEVICE_RUSTC` names a compiler that does not serve.
    #[error("CUDA_DEVICE_RUSTC={path}: {reason}; correct or unset it", path = .path.display())]
    UnusableCompiler {
        /// The variable's value.
        path: PathBuf,
        /// Why it does not serve.
        reason: String,
    },
    /// The kernel crate's folder holds no manifest.
    #[error("no kernel crate: {path}/Cargo.toml does not exist", path = .path.display())]
    NoCrate {
        /// The folder.
        path: PathBuf,
    },
    /// Cargo does not understand the kernel crate's manifest.
    #[error("{path}: {reason}", path = .path.display())]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// What cargo wrote.
        reason: String,
    },
    /// The kernel crate has neither a library nor a single program.
    #[error(
        "{path}: which file has the kernels? Put them into src/lib.rs, or leave one program only",
        path = .path.display()
    )]
    NoRoot {
        /// The manifest.
        path: PathBuf,
    },
    /// Outside of a build script there is no folder to build in.
    #[error("no folder to build in: outside of a build script call `CudaBuilder::target_dir`")]
    NoTargetDir,
    /// The kernel crate does not compile.
    #[error("{krate} does not compile for {arch} with {compiler}:\n{stderr}")]
    Compile {
        /// The kernel crate's folder.
        krate: String,
        /// The chip.
        arch: &'static str,
        /// The device compiler's version line.
        compiler: String,
        /// Everything that cargo and rustc wrote.
        stderr: String,
    },
    /// The PTX calls functions that no device has; the driver would refuse to load it.
    #[error(
        "{ptx} calls functions that do not exist on the device: {names}; \
         look for panics and library calls in the kernels that were not compiled away",
        ptx = .ptx.display(), names = .names.join(", ")
    )]
    Unresolved {
        /// The PTX file.
        ptx: PathBuf,
        /// The functions' names.
        names: Vec<String>,
    },
    /// Several groups of a kernel crate have the same kernels.
    #[error(
        "{krate}/Cargo.toml: two groups of package.metadata.cuda_builder have the kernels {names}; \
         let no group's beginning be that of another's kernels",
        krate = .krate.display(), names = .names.join(", ")
    )]
    Repeated {
        /// The kernel crate's folder.
        krate: PathBuf,
        /// The kernels' names.
        names: Vec<String>,
    },
    /// A kernel takes the address of a static in shared memory where it means that of the memory.
    #[error(
        "{ptx} takes the address of `#[address_space(shared)]` statics, which are names and not the memory: {names}; \
         write `&raw mut *NAME` instead of `&raw mut NAME`",
        ptx = .ptx.display(), names = .names.join(", ")
    )]
    SharedAddress {
        /// The PTX file.
        ptx: PathBuf,
        /// The statics' names.
        names: Vec<String>,
    },
    /// Several modules were asked for what only one has.
    #[error(
        "{krate}/Cargo.toml has {groups} groups of kernels, each of which is a module: leave out `{option}`, or \
         package.metadata.cuda_builder",
        krate = .krate.display()
    )]
    SeveralModules {
        /// The kernel crate's folder.
        krate: PathBuf,
        /// How many.
        groups: usize,
        /// What asks for one.
        option: &'static str,
    },
    /// Cargo succeeded, but what it should have left is not there.
    #[error("cargo left no {what} in {folder}; remove that folder and build again",
        folder = .folder.display())]
    Missing {
        /// What was expected.
        what: String,
        /// The build's folder.
        folder: PathBuf,
    },
    /// A file or program could not be used.
    #[error("{path}: {source}", path = .path.display())]
    Io {
        /// The file or program.
        path: PathBuf,
        /// The operating system's answer.
        source: std::io::Error,
    },
}

impl fmt::Debug for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl BuildError {
    /// For `map_err`: an input/output error at `path`.
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}
