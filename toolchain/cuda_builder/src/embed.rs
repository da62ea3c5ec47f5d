// SPDX-License-Identifier: MIT OR Apache-2.0
//! The whole of a build script: kernels for several chips, where the program finds them.

use crate::builder::outer_target_dir;
use crate::environment::is_clippy;
use crate::{BuildError, Built, Chip, CudaBuilder};
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
    if let Err(error) = try_embed(krate.as_ref(), chips) {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

fn try_embed(krate: &Path, chips: &[Chip]) -> Result<(), BuildError> {
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).ok_or(BuildError::NoTargetDir)?;
    let mut compiler = "the build script asked for no chip".to_owned();
    let mut code = String::new();
    let chips = if is_clippy() { &[] } else { chips };
    let chips: Vec<Chip> = Chip::ALL.into_iter().filter(|chip| chips.contains(chip)).collect();
    for (chip, built) in chips.iter().zip(build_all(krate, &chips, &out)) {
        match built {
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

/// The kernels for all chips at the same time. Each has a folder of its own, because cargo lets only one build into a
/// folder: `core` is then compiled for each, which takes seconds, where large kernels take minutes.
fn build_all(krate: &Path, chips: &[Chip], out: &Path) -> Vec<Result<Built, BuildError>> {
    let build = |chip: Chip| {
        let builder = CudaBuilder::new(krate).arch(chip).copy_to(out.join(format!("{chip}.ptx")));
        match outer_target_dir() {
            Some(folder) if chips.len() > 1 => {
                builder.target_dir(folder.join("cuda-builder").join(chip.name())).build()
            }
            _ => builder.build(),
        }
    };
    std::thread::scope(|scope| {
        let builds: Vec<_> = chips.iter().map(|chip| scope.spawn(|| build(*chip))).collect();
        builds.into_iter().map(|one| one.join().expect("a build reports its errors")).collect()
    })
}
