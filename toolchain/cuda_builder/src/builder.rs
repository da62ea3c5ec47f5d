// SPDX-License-Identifier: MIT OR Apache-2.0
//! The builder: one cargo call that compiles the groups of a kernel crate and everything they need, and one PTX file of
//! all of them.

use crate::arithmetic::Arithmetic;
use crate::environment::{cargo, is_build_script};
use crate::group::Group;
use crate::kept::{self, CachedPtx, PtxCache};
use crate::sources::sources;
use crate::stand_in::{Package, StandIn};
use crate::{BuildError, Chip, Compiler, ptx, shared};
use std::collections::BTreeSet;
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
    /// Source lines; the PTX then holds the paths of the sources. The crate must not be divided into groups.
    LineTables,
}

/// Compiles one kernel crate for one chip.
#[derive(Clone, Debug)]
pub struct CudaBuilder {
    krate: PathBuf,
    arch: Chip,
    release: bool,
    debug: DebugInfo,
    arithmetic: Arithmetic,
    build_args: Vec<String>,
    copy_to: Option<PathBuf>,
    final_module: Option<PathBuf>,
    target_dir: Option<PathBuf>,
    kept_in: Option<PathBuf>,
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
    /// A builder for the crate in folder `krate`, in release mode, for [`Chip::Sm80`] and everything later.
    pub fn new(krate: impl Into<PathBuf>) -> Self {
        Self {
            krate: krate.into(),
            arch: Chip::Sm80,
            release: true,
            debug: DebugInfo::None,
            arithmetic: Arithmetic::default(),
            build_args: Vec::new(),
            copy_to: None,
            final_module: None,
            target_dir: None,
            kept_in: None,
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

    /// With `true`, as [`DebugInfo::LineTables`].
    pub fn generate_line_info(self, generate_line_info: bool) -> Self {
        self.debug(if generate_line_info { DebugInfo::LineTables } else { DebugInfo::None })
    }

    /// With `true`, f32 below the normal range are 0, as `nvcc -ftz=true` has it. Inline assembly is not changed, here and in
    /// the options that follow.
    pub fn ftz(mut self, ftz: bool) -> Self {
        self.arithmetic.ftz = ftz;
        self
    }

    /// With `true`, square roots of f32 are approximate, as `nvcc -prec-sqrt=false` has them.
    pub fn fast_sqrt(mut self, fast_sqrt: bool) -> Self {
        self.arithmetic.fast_sqrt = fast_sqrt;
        self
    }

    /// With `true`, quotients and reciprocals of f32 are approximate, as `nvcc -prec-div=false` has them.
    pub fn fast_div(mut self, fast_div: bool) -> Self {
        self.arithmetic.fast_div = fast_div;
        self
    }

    /// With `true`, a product and a sum may be computed as one and rounded once. The default is what Rust says, `false`; that
    /// of rust-cuda is `true`.
    pub fn fma_contraction(mut self, fma_contraction: bool) -> Self {
        self.arithmetic.fma_contraction = fma_contraction;
        self
    }

    /// More arguments for `cargo build`, such as `--features=fast`.
    pub fn build_args(mut self, args: &[impl AsRef<str>]) -> Self {
        self.build_args.extend(args.iter().map(|it| it.as_ref().to_owned()));
        self
    }

    /// Copies the LLVM IR that becomes the PTX to this file. The crate must not be divided into groups.
    pub fn final_module_path(mut self, path: impl AsRef<Path>) -> Self {
        self.final_module = Some(path.as_ref().to_owned());
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

    /// The folder where PTX is kept by what it was made from, for later builds of any checkout; the default is
    /// `cuda-builder` in the user's cache. The variable `CUDA_BUILDER_CACHE` names another one, or, empty, none.
    pub fn kept_in(mut self, path: impl Into<PathBuf>) -> Self {
        self.kept_in = Some(path.into());
        self
    }

    /// Compiles what is not [kept](Self::kept_in) from before, and in a build script tells cargo what to watch.
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
        let package = Package::read(&krate)?;
        let inner = Inner { builder: &self, krate, folder, own, compiler, shares_core, package };
        let (mut texts, mut sources) = (Vec::new(), BTreeSet::new());
        for CachedPtx { ptx, sources: of } in inner.all()? {
            texts.push(ptx);
            sources.extend(of);
        }
        sources.extend(inner.package.lock());
        if is_build_script() {
            for source in &sources {
                println!("cargo:rerun-if-changed={}", source.display());
            }
        }
        let text = ptx::with_register_limits(&ptx::merged(&texts));
        let text = self.arithmetic.applied(ptx::with_memcmp(ptx::without_address_index(text)));
        let assembly = inner.own.join(format!("{}.ptx", self.arch));
        let path = self.copy_to.clone().unwrap_or(assembly);
        let text = shared::moved(&text)
            .map_err(|names| BuildError::SharedAddress { ptx: path.clone(), names })?;
        let names = ptx::unresolved(&text);
        if !names.is_empty() {
            return Err(BuildError::Unresolved { ptx: path, names });
        }
        let names = ptx::repeated(&text);
        if !names.is_empty() {
            return Err(BuildError::Repeated { krate: inner.krate, names });
        }
        let ptx = write_if_changed(path, &text)?;
        Ok(Built { ptx, compiler: inner.compiler.version, arch: self.arch, sources })
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

    /// What all crates are compiled with. The kernel crate may be a member of a workspace whose profiles are for the host.
    fn profile(&self) -> String {
        let checks = !self.release;
        let debug = match self.debug {
            DebugInfo::None => "none",
            DebugInfo::LineTables => "line-tables-only",
        };
        format!(
            "opt-level = 3\ncodegen-units = 1\nlto = \"fat\"\npanic = \"abort\"\ndebug = \"{debug}\"\n\
             debug-assertions = {checks}\noverflow-checks = {checks}\n"
        )
    }
}

/// A build on its way.
struct Inner<'a> {
    builder: &'a CudaBuilder,
    krate: PathBuf,
    folder: PathBuf,
    own: PathBuf,
    compiler: Compiler,
    shares_core: bool,
    package: Package,
}

/// A group that nothing is kept of.
struct Missing {
    stand_in: StandIn,
    group: Group,
    assembly: PathBuf,
}

impl Inner<'_> {
    /// The PTX of each group, in their order.
    fn all(&self) -> Result<Vec<CachedPtx>, BuildError> {
        let groups = self.package.groups()?;
        let final_module = self.builder.final_module.as_ref();
        let options = [
            (final_module.is_some(), "final_module_path"),
            (self.builder.debug != DebugInfo::None, "generate_line_info"),
        ];
        if let Some((_, option)) = options.iter().find(|(is_asked, _)| *is_asked)
            && groups.len() > 1
        {
            let (krate, groups) = (self.krate.clone(), groups.len());
            return Err(BuildError::SeveralModules { krate, groups, option });
        }
        // Of what is kept there is no module.
        let is_kept = final_module.is_none();
        let folder = self.builder.kept_in.clone().or_else(kept::folder).filter(|_| is_kept);
        let kept =
            |group: &Group| Some(PtxCache::new(folder.as_ref()?, &self.krate, &self.key(group)));
        let mut made: Vec<Option<CachedPtx>> =
            groups.iter().map(|group| kept(group).and_then(|kept| kept.find())).collect();
        let missing: Vec<usize> = (0..groups.len()).filter(|&at| made[at].is_none()).collect();
        if !missing.is_empty() {
            let all: Vec<Missing> = missing.iter().map(|&at| self.missing(&groups[at])).collect();
            self.compile(&all)?;
            for (at, missing) in missing.into_iter().zip(&all) {
                let new = self.made(missing)?;
                if let Some(kept) = kept(&groups[at]) {
                    kept.keep(&new);
                }
                made[at] = Some(new);
            }
        }
        Ok(made.into_iter().map(|made| made.expect("made above")).collect())
    }

    /// All that decides what becomes of sources.
    fn key(&self, group: &Group) -> String {
        let Self { builder, compiler, package, .. } = self;
        let (version, arch) = (&compiler.version, builder.arch);
        let (profile, lock) = (builder.profile(), package.locked());
        let args = match &*builder.build_args {
            [] => String::new(),
            args => format!("\n{args:?}"),
        };
        format!("1\n{version}\n{arch} {}\n{profile}{group:?}\n{lock:?}{args}", arch.ptx_feature())
    }

    fn missing(&self, group: &Group) -> Missing {
        let name = group.package(self.package.name());
        let arch = self.builder.arch;
        let assembly = self.own.join(format!("{name}.{arch}.ptx"));
        let mut rustflags = vec![format!("--emit=asm={}", assembly.display())];
        if self.builder.final_module.is_some() {
            rustflags.push(format!("--emit=llvm-ir={}", assembly.with_extension("ll").display()));
        }
        // Most of the time goes into `core`, and link-time optimisation makes one module of one chip of
        // everything anyway: so, where the compiler lets crates for different chips be linked, only the
        // kernel crate itself is told the chip, and `core` is compiled once for all chips. The crates
        // between the two learn it from the variable `CUDA_ARCH`.
        if self.shares_core {
            rustflags.extend(self.chip());
        }
        if self.package.root().is_some_and(|root| !declares_no_std(root)) {
            rustflags.push("-Zcrate-attr=no_std".into());
        }
        if !group.kernels.is_empty() {
            // What other groups use.
            rustflags.push("-Aunused".into());
        }
        let stand_in = StandIn { package: name, kernels: group.kernels.clone(), rustflags };
        Missing { stand_in, group: group.clone(), assembly }
    }

    fn chip(&self) -> [String; 2] {
        let arch = self.builder.arch;
        [format!("-Ctarget-cpu={arch}"), format!("-Ctarget-feature=+{}", arch.ptx_feature())]
    }

    /// One cargo call, which leaves the PTX of each group where it is expected.
    fn compile(&self, all: &[Missing]) -> Result<(), BuildError> {
        let Self { builder, krate, folder, own, compiler, shares_core, package } = self;
        let mut rustflags = vec![
            // One module needs no linking, and the target's own linker is not at hand.
            "-Clinker=true".to_owned(),
            // Else a division leaves a call of a panic function that nobody defines.
            "-Zunstable-options".into(),
            "-Cpanic=immediate-abort".into(),
        ];
        if !shares_core {
            rustflags.extend(self.chip());
        }
        let kernels = |missing: &Missing| {
            let StandIn { package, kernels, .. } = &missing.stand_in;
            (!kernels.is_empty()).then(|| format!("{package}={}", kernels.join(",")))
        };
        let kernels: Vec<String> = all.iter().filter_map(kernels).collect();
        let stand_ins: Vec<(StandIn, Group)> =
            all.iter().map(|it| (it.stand_in.clone(), it.group.clone())).collect();
        package.stand_in(own, &stand_ins, &builder.profile())?;
        let mut command = cargo();
        command
            .current_dir(own)
            .args(["build", "--release", "--workspace", "-Zbuild-std=core", "-Zprofile-rustflags"])
            .arg(format!("--target={TARGET}"))
            .arg("--color=never")
            .args(&builder.build_args)
            .arg("--target-dir")
            .arg(folder)
            .env("CARGO_BUILD_BUILD_DIR", folder)
            .env("RUSTC", &compiler.rustc)
            // The target, `-Z` flags and the device features are unstable; the compiler is not.
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CUDA_ARCH", builder.arch.name())
            .env("CARGO_ENCODED_RUSTFLAGS", rustflags.join("\u{1f}"));
        match kernels.is_empty() {
            true => command.env_remove("CUDA_KERNELS"),
            false => command.env("CUDA_KERNELS", kernels.join(";")),
        };
        let output = run(command)?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(BuildError::Compile {
                krate: krate.display().to_string(),
                arch: builder.arch.name(),
                compiler: compiler.version.clone(),
                stderr: stderr.into_owned(),
            });
        }
        if is_build_script() {
            // Each group has those of the files that it shares with others.
            for warning in warnings(&stderr).into_iter().collect::<BTreeSet<String>>() {
                println!("cargo:warning={}: {warning}", builder.arch);
            }
        }
        Ok(())
    }

    /// What a group has become.
    fn made(&self, Missing { stand_in, assembly, .. }: &Missing) -> Result<CachedPtx, BuildError> {
        let missing = |_| BuildError::Missing { what: "PTX".into(), folder: self.folder.clone() };
        let ptx = std::fs::read_to_string(assembly).map_err(missing)?;
        if let Some(path) = &self.builder.final_module {
            let module = assembly.with_extension("ll");
            std::fs::copy(&module, path).map_err(BuildError::io(path))?;
        }
        let release = self.folder.join(TARGET).join("release");
        let mut sources = sources(&release.join(stand_in.library()).with_extension("d"))?;
        // The manifests of the packages in the crate's place are made of the crate's own.
        sources.retain(|source| !source.starts_with(&self.own));
        sources.insert(self.krate.join("Cargo.toml"));
        Ok(CachedPtx { ptx, sources })
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
