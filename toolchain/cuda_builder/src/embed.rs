// SPDX-License-Identifier: MIT OR Apache-2.0
//! The whole of a build script: kernels for several chips, where the program finds them.

use crate::environment::is_clippy;
use crate::{BuildError, Chip, CudaBuilder};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Compiles the kernels of the crate in folder `krate` for each of `chips`, and leaves them where the
/// macro `cuda_driver::kernels!` finds them. A build script needs nothing else; one that compiles its own
/// crate says `embed(".", …)`.
///
/// Kernels that do not compile end the script with the compiler's message. Without a device compiler the
/// program is built without kernels, cargo shows a warning, and the program can say why. Clippy reads no
/// PTX and gets none.
///
/// In `OUT_DIR` it leaves `kernels.rs`, a Rust expression of the type `(&str, &[(&str, &str)])`: the
/// compiler's version line, or how to get one, and the name of each chip with the PTX, oldest first.
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
    for chip in Chip::ALL.into_iter().filter(|chip| chips.contains(chip)) {
        let file = format!("{chip}.ptx");
        match CudaBuilder::new(krate).arch(chip).copy_to(out.join(&file)).build() {
            Ok(built) => {
                compiler = built.compiler;
                let _ = writeln!(code, "    ({:?}, include_str!({file:?})),", chip.name());
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
