// SPDX-License-Identifier: MIT OR Apache-2.0
//! All checks, in the order in which they are quick to fail.

use crate::gpu_bundle::target;
use crate::{cargo, dist, mpi, setup, step, wheel};
use anyhow::{Context, Result, bail};
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// The chips whose kernels serve every GPU.
pub const ALL_CHIPS: &str = "sm_80,sm_90";
/// Those whose kernels a quick run compiles and audits; the emulator runs the kernels for both.
const QUICK_CHIPS: &str = "sm_90";

/// Test programs that wait for other programs, one after the other: Python, compilers, assemblers. They run beside the other tests, so that
/// no core is idle. Of each the tests, whose names no other has.
const BESIDE: [(&str, &[&str]); 4] = [
    ("python", &["the_package_passes_its_tests"]),
    ("interface", &["kernels_of_rust_cuda_become_ptx"]),
    (
        "rust_on_gpus",
        &[
            "the_page_makes_a_tested_crate_from_nothing",
            "five_commands_make_a_tested_kernel_in_an_empty_folder",
            "the_examples_use_the_toolchain_and_little_else",
            "the_toolchain_uses_nothing_of_the_rest",
        ],
    ),
    (
        "ptx_audit",
        &[
            "no_kernel_uses_local_memory",
            "every_entry_has_a_case",
            "the_unrolled_bodies_have_as_many_products_as_the_stencil_predicts",
            "a_row_takes_as_many_products_as_it_reaches_output_rows",
            "a_row_that_is_finished_has_its_products_and_a_place",
            "a_dense_twin_has_two_products_for_one",
            "a_round_of_a_3d_sweep_has_as_many_products_as_the_layout_predicts",
            "a_round_of_chained_3d_steps_has_two_products_for_each_unit",
            "a_dual_tessellation_has_as_many_products_as_its_paper_counts",
            "a_pair_of_tiles_has_as_many_products_as_its_transforms_take",
            "every_lane_reaches_every_collective",
            "every_build_assembles_without_spills_and_as_pinned",
        ],
    ),
];

/// What clippy is told, in the form in which `cargo clippy` tells it.
const LINTS: &str = "--deny=warnings__CLIPPY_HACKERY__";

/// The compiler that also lints (docs/decisions/0046-lints.md), under a name that build scripts do not take for that of
/// `cargo clippy`, which has no use for kernels.
///
/// # Errors
/// The toolchain has no clippy.
fn linting_compiler() -> Result<PathBuf> {
    let sysroot = step::output(Command::new("rustc").arg("--print=sysroot"));
    let driver =
        Path::new(&sysroot.context("rustc does not tell its sysroot")?).join("bin/clippy-driver");
    if !driver.is_file() {
        bail!("there is no {}; run `rustup component add clippy`", driver.display());
    }
    let link = std::path::absolute(target())?.join("linting-rustc");
    std::fs::create_dir_all(target())?;
    if link.read_link().ok().as_ref() != Some(&driver) {
        match std::fs::remove_file(&link) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => symlink(&driver, &link)?,
        }
    }
    Ok(link)
}

/// Sets up and runs every check; a check that fails ends it, with all of its failures.
pub fn run(thorough: bool) -> Result<()> {
    let start = Instant::now();
    let ptxas = setup::run()?;
    let packages = setup::python_packages()?;
    let has_mpi = match mpi::install() {
        Ok(library) => {
            println!("MPI: {library}");
            true
        }
        Err(error) => {
            println!("MPI: {error:#}; left out: grids that processes share");
            false
        }
    };
    let features =
        ["--workspace", "--features=stencil/zarr,tests/zarr", "--features=stencil/mpi,tests/mpi"];
    let features = &features[..if has_mpi { 3 } else { 2 }];
    let compiler = linting_compiler()?;
    let command = |arguments: &[&str], features: &[&str]| {
        let mut command = cargo();
        // Without these a test that needs the tool skips itself; here it must run.
        command.args(arguments).args(features).env("PTXAS", &ptxas);
        command.env("REQUIRE_DEVICE_COMPILER", "1");
        command.env("RUSTC_WORKSPACE_WRAPPER", &compiler).env("CLIPPY_ARGS", LINTS);
        // Nobody looks at backtraces; where a test panics is told without.
        command.env("CARGO_PROFILE_DEV_DEBUG", "0");
        command.env("HOST_BUILD_CHIPS", if thorough { ALL_CHIPS } else { QUICK_CHIPS });
        if thorough {
            command.env("THOROUGH", "1");
        }
        command.env("PYTHON_PACKAGES", &packages);
        if has_mpi {
            command.env("REQUIRE_MPI", "1");
        }
        command
    };
    step::run("format", &mut command(&["fmt", "--all", "--check"], &[]))?;
    // What no test is built of.
    step::run("lints and programs", &mut command(&["build", "--bins", "--benches"], features))?;
    step::run("lints", &mut command(&["test", "--no-run"], features))?;
    // One run tells of every failure: a build takes longer than all tests.
    let [mut beside, mut others] = [(); 2].map(|()| command(&["test", "--no-fail-fast"], features));
    beside.args(BESIDE.iter().flat_map(|(program, _)| ["--test", program]));
    others.arg("--");
    others.args(BESIDE.iter().flat_map(|(_, tests)| *tests).flat_map(|test| ["--skip", test]));
    let output = target().join("tests-of-one-thread.log");
    step::run_beside(("tests", &mut others), ("tests of one thread", &mut beside), &output)?;
    // What `cargo xtask dist` packs, but for how it is built.
    let archive = dist::pack(
        &target().join("debug/host"),
        &target().join("dist-tested"),
        dist::Packer::Gzip,
    )?;
    dist::check(&archive)?;
    if thorough {
        dist::run(&target().join("dist"), ALL_CHIPS)?;
        wheel::run(&target().join("wheel"), ALL_CHIPS)?;
    }
    println!("all checks passed in {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::BESIDE;
    use std::path::Path;

    /// A test that is renamed would run twice, and one that is added would not be left out.
    #[test]
    fn what_runs_beside_the_others_is_all_of_its_programs() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let folders = ["python", "toolchain/cuda_builder", "tests"];
        for (program, tests) in BESIDE {
            let file = format!("tests/{program}.rs");
            let texts = folders.iter().map(|folder| root.join(folder).join(&file));
            let texts: Vec<String> =
                texts.filter_map(|path| std::fs::read_to_string(path).ok()).collect();
            let [text] = &texts[..] else { panic!("{program} is {} programs", texts.len()) };
            let named = text.split("#[test]\nfn ").skip(1).filter_map(|it| it.split('(').next());
            assert_eq!(named.collect::<Vec<_>>(), tests, "{program}");
        }
    }
}
