// SPDX-License-Identifier: MIT OR Apache-2.0
//! The whole of a build script: kernels for several chips, where the program finds them.

use crate::environment::is_clippy;
use crate::{BuildError, Chip, CudaBuilder, DebugInfo};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Compiles the kernels of the crate in folder `krate` for each of `chips`, and leaves them where the
/// macro `cuda_driver::kernels!` finds them. A build script needs nothing else; one that compiles its own
/// crate says `embed(".", …)`.
///
/// Kernels that do not compile end the script with the compiler's message. Without a device compiler the
/// program is built without kernels, cargo shows a warning, and the program can say why. Clippy reads no
/// PTX and gets none.
///
/// In `OUT_DIR` it leaves the PTX for each chip, such as `sm_90.ptx`, and `kernels.rs`, a Rust expression of the
/// type `(&str, &[(&str, &[u8])])`: the compiler's version line, or how to get one, and the name of each chip with
/// the PTX, oldest first, compressed as zlib does, because it is some eight times as large as text.
pub fn embed(krate: impl AsRef<Path>, chips: &[Chip]) {
    embed_or(krate, chips, "the build script asked for no chip");
}

/// As [`embed`]; `reason` is what the program says of its kernels where there are no chips.
pub fn embed_or(krate: impl AsRef<Path>, chips: &[Chip], reason: &str) {
    if let Err(error) = try_embed(krate.as_ref(), chips, reason) {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

fn try_embed(krate: &Path, chips: &[Chip], reason: &str) -> Result<(), BuildError> {
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).ok_or(BuildError::NoTargetDir)?;
    let mut compiler = reason.to_owned();
    let mut code = String::new();
    let chips = if is_clippy() { &[] } else { chips };
    let chips: Vec<Chip> = Chip::ALL.into_iter().filter(|chip| chips.contains(chip)).collect();
    for chip in chips {
        // One chip after the other: the groups of each keep all cores busy, and they share `core`.
        match CudaBuilder::new(krate).arch(chip).copy_to(out.join(format!("{chip}.ptx"))).build() {
            Ok(built) => {
                compiler = built.compiler;
                let packed = pack(&built.ptx)?;
                let _ = writeln!(code, "    ({:?}, include_bytes!({packed:?})),", chip.name());
            }
            Err(reason @ BuildError::NoCompiler { .. }) => {
                compiler = reason.to_string();
                println!("cargo::warning=built without GPU kernels: {compiler}");
                break;
            }
            Err(reason) => return Err(reason),
        }
    }
    let list = out.join("kernels.rs");
    std::fs::write(&list, format!("({compiler:?}, &[\n{code}])\n")).map_err(BuildError::io(list))
}

/// Compiles the kernels of the crate in folder `krate` with their lines, for `cuda_sim::module!`, which runs this PTX in
/// the emulator. A build script says so beside [`embed`].
///
/// In `OUT_DIR` it leaves the PTX and `lines.rs`, a Rust expression of the type `Result<&str, &str>`: the PTX, or why there
/// is none.
pub fn embed_lines(krate: impl AsRef<Path>, chip: Chip) {
    if let Err(error) = try_embed_lines(krate.as_ref(), chip) {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

fn try_embed_lines(krate: &Path, chip: Chip) -> Result<(), BuildError> {
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).ok_or(BuildError::NoTargetDir)?;
    let (ptx, list) = (out.join(format!("{chip}.lines.ptx")), out.join("lines.rs"));
    let builder = CudaBuilder::new(krate).arch(chip).debug(DebugInfo::LineTables).copy_to(&ptx);
    let code = match if is_clippy() { None } else { Some(builder.build()) } {
        None => "Err(\"clippy compiles no kernels\")".to_owned(),
        Some(Ok(_)) => format!("Ok(include_str!({ptx:?}))"),
        Some(Err(reason @ BuildError::NoCompiler { .. })) => {
            println!("cargo::warning=built without GPU kernels: {reason}");
            format!("Err({:?})", reason.to_string())
        }
        Some(Err(reason)) => return Err(reason),
    };
    std::fs::write(&list, code + "\n").map_err(BuildError::io(list))
}

/// Compresses a file and gives the path of what it leaves beside it.
fn pack(ptx: &Path) -> Result<PathBuf, BuildError> {
    let packed = ptx.with_extension("ptx.zlib");
    let text = std::fs::read(ptx).map_err(BuildError::io(ptx))?;
    // Build scripts are not optimised, and what a higher level saves is little.
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    let bytes = encoder.write_all(&text).and_then(|()| encoder.finish());
    let written = bytes.and_then(|bytes| std::fs::write(&packed, bytes));
    written.map_err(BuildError::io(&packed))?;
    Ok(packed)
}
