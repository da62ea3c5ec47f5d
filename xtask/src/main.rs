// SPDX-License-Identifier: MIT OR Apache-2.0
//! The project's own commands: `cargo xtask setup`, `test`, `fuzz`, `mutants`, `bench`, `dist`, `wheel`,
//! `package` and `gpu-bundle`.

#[cfg(test)]
mod book;
#[cfg(test)]
mod circles;
mod dist;
mod fuzz;
mod gpu_bundle;
mod licences;
mod mpi;
mod mutants;
mod package;
mod setup;
mod step;
mod test;
mod tool;
mod wheel;
mod zig;

use anyhow::{Context, Result};
use clap::Parser;
use std::path::PathBuf;
use std::process::Command;

/// The project's own commands
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Task {
    /// Install what the tests need: a device compiler, ptxas into .venv
    Setup {
        /// Also what a program is built and started with whose grid several processes share: an MPI library, libclang
        #[arg(long)]
        mpi: bool,
    },
    /// Set up, then format check, lints and all tests, the fuzz targets' seeds among them
    Test {
        /// All drawn cases of every kernel, and the kernels of all chips assembled
        #[arg(long)]
        thorough: bool,
    },
    /// Run the fuzz targets on everything that reads input, with cargo-fuzz in target/tools
    Fuzz {
        /// For how long, each target
        #[arg(long, default_value_t = 60)]
        seconds: u32,
    },
    /// Change the sources in small ways, one at a time, and list what no test notices
    Mutants {
        /// Only a part of them, such as 0/40 for the first of 40: some minutes on 2 cores
        #[arg(long, value_name = "K/N")]
        shard: Option<mutants::Shard>,
        /// Only mutants whose description matches one of these regular expressions, such as window
        only: Vec<String>,
    },
    /// Run the benchmarks of the host code
    Bench {
        /// Arguments for criterion, such as a filter
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Pack the program `host` for machines without Rust, with manual, completions and licences: any x86-64 Linux
    Dist {
        /// The folder that the archive is made in
        #[arg(long, value_name = "DIR", default_value = "target/dist")]
        output: PathBuf,
        /// The chips that the kernels are compiled for, such as sm_90
        #[arg(long, value_name = "CHIPS", default_value = test::ALL_CHIPS)]
        chips: String,
    },
    /// Build a wheel of the Python package for any x86-64 Linux without Rust, and run the tests in Python with it
    Wheel {
        /// The folder that it is built into, and tried in
        #[arg(long, value_name = "DIR", default_value = "target/wheel")]
        output: PathBuf,
        /// The chips that the kernels are compiled for, such as sm_90
        #[arg(long, value_name = "CHIPS", default_value = test::ALL_CHIPS)]
        chips: String,
    },
    /// Pack the crates of the toolchain, build each from its package, and document it; publishes nothing
    Package {
        /// The folder that it is done in
        #[arg(long, value_name = "DIR", default_value = "target/packages")]
        output: PathBuf,
        /// The address of the public repository, which the packages name
        #[arg(long, value_name = "URL")]
        repository: Option<String>,
    },
    /// Pack the programs for a machine that has a GPU but no Rust: the GPU suite and the benchmarks
    GpuBundle {
        /// The folder to fill; the archive comes beside it
        #[arg(long, value_name = "DIR", default_value = "target/gpu-bundle")]
        output: PathBuf,
        /// The chips that the kernels are compiled for, such as sm_90
        #[arg(long, value_name = "CHIPS", default_value = test::ALL_CHIPS)]
        chips: String,
    },
}

fn main() -> Result<()> {
    let task = Task::parse();
    let root = root()?;
    std::env::set_current_dir(&root).with_context(|| format!("cannot enter {}", root.display()))?;
    match task {
        Task::Setup { mpi } => {
            setup::run()?;
            if mpi {
                println!("MPI: {}", mpi::install()?);
            }
            Ok(())
        }
        Task::Test { thorough } => test::run(thorough),
        Task::Fuzz { seconds } => fuzz::run(&fuzz::setup()?, seconds),
        Task::Mutants { shard, only } => mutants::run(shard, &only),
        Task::Bench { arguments } => step::run(
            "benchmarks",
            cargo().args(["bench", "--package=benches", "--"]).args(arguments),
        ),
        Task::Dist { output, chips } => dist::run(&output, &chips),
        Task::Wheel { output, chips } => wheel::run(&output, &chips),
        Task::Package { output, repository } => {
            let packages = package::run(&root, &output, repository.as_deref(), true)?;
            let tree = output.join("tree");
            println!("{} packages; nothing is published: {}", packages.len(), packages.join(" "));
            println!(
                "whoever may publish does it in {}, by `cargo publish --workspace`",
                tree.display()
            );
            Ok(())
        }
        Task::GpuBundle { output, chips } => gpu_bundle::run(&output, &chips),
    }
}

/// The repository's root.
fn root() -> Result<PathBuf> {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").context("start me by `cargo xtask`")?;
    Ok(PathBuf::from(here).parent().context("xtask has no parent folder")?.into())
}

/// The cargo that runs us.
fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Task::command().debug_assert();
    }
}
