// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every product of a warpgroup that `cuda_std` has compiles for Hopper, and NVIDIA's assembler takes it;
//! for another chip the build ends with a name that says why. Needs a device compiler; the assembler's
//! path is in `PTXAS`.

use cuda_builder::{BuildError, Chip, Compiler, CudaBuilder};
use std::path::Path;
use std::process::Command;

const TYPES: [&str; 7] = ["F16", "Bf16", "Tf32", "E4m3", "E5m2", "E4m3E5m2", "E5m2E4m3"];
const SUMS: [usize; 10] = [4, 8, 16, 32, 48, 64, 80, 96, 112, 128];

fn source() -> String {
    let mut source = String::from(
        "
use cuda_std::shared::Shared;
use cuda_std::wgmma::*;
use cuda_std::{global, kernel};

struct Store(*mut f32);

impl EachPair for Store {
    #[inline(always)]
    fn pair(&mut self, _: usize, word: usize, [low, high]: [f32; 2]) {
        unsafe {
            global::store_f32(self.0.add(word), low);
            global::store_f32(self.0.add(word + 1), high);
        }
    }
}

#[inline(always)]
unsafe fn all<F: Product<R>, const R: usize>(out: *mut f32, words: [u32; 5])
where
    [f32; R]: Registers,
{
    unsafe {
        let [a, b] = [0, 8192].map(|at| SharedOperand::rows(Shared(at), Swizzle::Bytes128));
        let mut open = Sums::<R>::zeros().fence_with(words);
        open.multiply::<F>(0, a, b);
        open.multiply_held::<F>(0, 0, b);
        open.multiply_sparse::<F, 0>(0, a, 4, b);
        open.multiply_sparse_held::<F, 0>(0, 0, 4, b);
        open.commit().wait().each_pair(&mut Store(out));
    }
}
",
    );
    for sums in SUMS {
        for types in TYPES {
            source += &format!(
                "
/// # Safety
/// It is not run.
#[kernel]
pub unsafe fn {}_{sums}(out: *mut f32, a: u32, b: u32, c: u32, d: u32, e: u32) {{
    unsafe {{ all::<{types}, {sums}>(out, [a, b, c, d, e]) }}
}}
",
                types.to_lowercase()
            );
        }
    }
    source
}

#[test]
fn all_products_are_instructions_of_hopper_alone() {
    if let Err(error) = Compiler::find() {
        assert!(std::env::var_os("REQUIRE_DEVICE_COMPILER").is_none(), "{error}");
        eprintln!("skipped: {error}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let krate = folder.path().join("products");
    std::fs::create_dir_all(krate.join("src")).unwrap();
    let toolchain = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let manifest = format!(
        "[package]\nname = \"products\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
         [dependencies]\ncuda_std = {{ package = \"cuda_std_rustc\", path = {:?} }}\n[workspace]\n",
        toolchain.join("cuda_std")
    );
    std::fs::write(krate.join("Cargo.toml"), manifest).unwrap();
    std::fs::write(krate.join("src/lib.rs"), source()).unwrap();
    // The versions that this workspace has.
    let lock = toolchain.parent().unwrap().join("Cargo.lock");
    std::fs::copy(lock, krate.join("Cargo.lock")).unwrap();
    let builder = CudaBuilder::new(&krate).target_dir(folder.path().join("target"));
    let builder = builder.kept_in(folder.path().join("kept"));

    let built = builder.clone().arch(Chip::Sm90a).build().unwrap_or_else(|error| panic!("{error}"));
    let ptx = std::fs::read_to_string(&built.ptx).unwrap();
    assert!(ptx.contains(".target sm_90a"));
    assert!(!ptx.contains(".local"), "sums are in registers");
    let count = |text: &str| ptx.matches(text).count();
    let kernels = TYPES.len() * SUMS.len();
    assert_eq!(count("wgmma.mma_async.sync.aligned"), 2 * kernels);
    assert_eq!(count("wgmma.mma_async.sp.sync.aligned"), 2 * kernels);
    if let Some(ptxas) = std::env::var_os("PTXAS") {
        let mut command = Command::new(ptxas);
        let cubin = folder.path().join("products.cubin");
        command.args(["-arch=sm_90a", "-v", "-o"]).arg(cubin).arg(&built.ptx);
        let output = command.output().unwrap();
        let report = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{report}");
        assert!(!report.contains("serialized"), "{report}");
    }

    let error = builder.arch(Chip::Sm90).build().unwrap_err();
    let BuildError::Unresolved { names, .. } = &error else { panic!("{error}") };
    assert_eq!(names, &["wgmma_is_for_sm_90a_only"]);
}
