// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the user can do about a failure, in one line.

mod boundary;
mod digits;
mod growth;
mod library;

use super::Failure;
use crate::bench::BenchError;
use problem::similar_names::near;
use systems::examples::{self, EXAMPLES};
use transform::plan::PlanError;

pub use digits::{of_lost_digits, of_rounded_coefficient};
pub use growth::{of_growth, of_values};
pub use library::{of_error, of_stale_speeds};

/// How a program gets MPI.
pub const BUILD_WITH_MPI: &str = "build it with MPI: `cargo xtask setup --mpi` installs what that needs, then cargo build \
                                  --release --features mpi";

/// What to do about a failure.
#[must_use]
pub fn remedy(failure: &Failure) -> String {
    match failure {
        Failure::Library(error) => of_error(error),
        Failure::Bench(error) => of_benchmark(error),
        Failure::Interrupted { during, .. } => library::of_end(*during).into(),
        Failure::Unfinished { .. } => {
            "the table, and the files of --json and --csv, hold the measurements that were made".into()
        }
        Failure::UnknownStencil { name, .. } if let Some(example) = examples::find(name) => {
            let name = example.name;
            format!(
                "it is a system of fields: `host example {name}` computes it, and with --write {name}.toml it \
                 writes its file, which run and plan take"
            )
        }
        Failure::UnknownStencil { name, near } if near.is_empty() && !of_examples(name).is_empty() => {
            let near = of_examples(name).join(", ");
            format!("did you mean the system {near}? `host example` computes it; `host list` prints the stencils")
        }
        Failure::UnknownStencil { near, .. } if near.is_empty() => {
            "`host list` prints every name; `--weights FILE` takes your own weights".into()
        }
        Failure::NotListed { near, .. } if near.is_empty() => {
            "`host list` prints all of them".into()
        }
        Failure::UnknownStencil { near, .. } | Failure::NotListed { near, .. } => {
            format!("did you mean {}? `host list` prints every name", near.join(", "))
        }
        Failure::Shape(_) => {
            "shapes are star, box or diamond, dimensions and radius, such as star2d3r; \
             `--weights FILE` takes your own weights"
                .into()
        }
        Failure::TwoStencils { .. } => {
            "leave one of them out; only in a .toml file does --stencil choose one".into()
        }
        Failure::ManyStencils { names, .. } => {
            format!("choose one with --stencil: {}", names.join(", "))
        }
        Failure::NotInFile { near, names, .. } if near.is_empty() => {
            format!("it holds {}", names.join(", "))
        }
        Failure::NotInFile { near, names, .. } => {
            format!("did you mean {}? It holds {}", near.join(", "), names.join(", "))
        }
        Failure::NobodyShares { .. } => {
            "name the GPUs with --gpus, or start several processes with mpirun".into()
        }
        Failure::GpusOfProcesses => {
            "leave it out: each process takes the GPU of its number on its machine".into()
        }
        Failure::NotOnGpus { .. } => {
            "leave out --engine, or share the cores of machines with mpirun".into()
        }
        Failure::Split { dims, .. } => {
            let example = ["", "2", "2x1", "2x2x1"][*dims];
            format!("slices are numbers with an x between, slowest axis first, such as {example}")
        }
        Failure::NoSize => library::SIZE.into(),
        Failure::SizeDisagrees { .. } => "leave --size out to take the size of the input".into(),
        Failure::NoTarget(_) => {
            "plan for another machine: --machine h200, h100, a100, or a file that describes a GPU; `host doctor` shows \
             what is missing here"
                .into()
        }
        Failure::NotOf { instead, .. } | Failure::NotASum { instead, .. } => (*instead).into(),
        Failure::OneFile { .. } => {
            "let {field} stand for the name, such as --output last-{field}.npy".into()
        }
        Failure::OneFileForAll { option, path, name } => {
            let (stem, end) = (path.with_extension(""), path.extension());
            let end = end.map_or(String::new(), |end| format!(".{}", end.display()));
            format!("let {{{name}}} stand for the value: {option} {}-{{{name}}}{end}", stem.display())
        }
        Failure::NoStep { .. } => {
            "let {step} stand for the steps that were taken, such as --output u_{step:06}.npy; a .png without it \
             is an animation"
                .into()
        }
        Failure::FilmResumed { .. } => {
            "write a file for each step, such as --output u_{step:06}.png; the first run has written none".into()
        }
        Failure::OnTheWay(_) => {
            "the files of earlier steps are written; of a run with --checkpoint the rest can be computed, too".into()
        }
        Failure::Kept { failure, path, .. } => match &**failure {
            Failure::Interrupted { .. } => {
                format!("go on with the same command line and --resume {}", path.display())
            }
            other if other.exit_code() == 4 => remedy(other),
            other if other.exit_code() == 7 => {
                format!(
                    "go on with the same command line and --resume {}, on any number of ranks",
                    path.display()
                )
            }
            other => format!("{}; then go on with --resume {}", remedy(other), path.display()),
        },
        Failure::Pattern { .. } => {
            "{step} stands for the steps that were taken, {step:06} for the same with zeros before, {field} for \
             the name of a field"
                .into()
        }
        Failure::NoField { fields, .. } => {
            let named: Vec<String> =
                fields.iter().map(|field| format!("{field}=FILE")).collect();
            format!("give a file for each that is to start from one: --input {}", named.join(","))
        }
        Failure::NoReceivers => {
            "a system's file has them under [[receivers]]: field = \"u\", at = [y, x]".into()
        }
        Failure::NoTotals => "a system's file has them under [totals]: mass = \"sum(u)*h^2\"".into(),
        Failure::UnknownExample { near, .. } if near.is_empty() => {
            "`host example --list` names them".into()
        }
        Failure::UnknownExample { near, .. } => {
            format!("did you mean {}? `host example --list` names them", near.join(", "))
        }
        Failure::RunFile { near, .. } if near.is_empty() => {
            "keys are options of `host run --help` without their dashes, with text, numbers, true or false".into()
        }
        Failure::RunFile { near, .. } => {
            format!("did you mean {}? Keys are options of `host run --help` without their dashes", near.join(", "))
        }
        Failure::UnknownCommand { near, .. } if near.is_empty() => {
            "`host --help` prints all commands".into()
        }
        Failure::UnknownCommand { near, .. } => {
            format!("did you mean {}? `host --help` prints all commands", near.join(", "))
        }
        Failure::SameFile { read: true, .. } => {
            "give the result a file of its own; a file that is read is not replaced".into()
        }
        Failure::SameFile { .. } => "give each a file of its own".into(),
        Failure::WithoutMpi(launch) => format!(
            "{BUILD_WITH_MPI}; or start one process; if it is to be alone, unset {}",
            launch.variable
        ),
        Failure::Apart { library, .. } => format!(
            "start it with the mpirun of {library}, or with srun --mpi=pmix; `host doctor` names the library"
        ),
        Failure::NotShared { .. } => "start it by itself, without mpirun or srun".into(),
        Failure::Layout(PlanError::NoLayout { .. }) => {
            "take a smaller stencil, or fewer steps with --fuse; `--engine cpu` runs any".into()
        }
        Failure::Layout(PlanError::Broken { .. }) => {
            "this is a fault of the program; please report it with the command line".into()
        }
    }
}

/// Built-in systems whose names look alike.
fn of_examples(name: &str) -> Vec<String> {
    near(name, EXAMPLES.iter().map(|example| (example.name, example.name)))
}

fn of_benchmark(error: &BenchError) -> String {
    match error {
        BenchError::Run(error) => return of_error(error),
        BenchError::Failed { .. } => {
            "the reasons stand below the table; `host run` repeats a single one, and `host \
             doctor` shows the state of the GPU"
        }
        BenchError::Worse { .. } => {
            "they are marked in the table; measure again before you believe a small difference, \
             or allow more with --threshold"
        }
        BenchError::NothingLeft | BenchError::NothingLeftOf { .. } => {
            "leave out one of --stencil, --dtype, --mode, --size-limit"
        }
        BenchError::NoAblation { .. } => {
            "name a 2D stencil of radius 1 to 7, and one of --dtype f16, bf16 or, up to radius 3, \
             tf32, such as `host bench box2d3r --ablation --dtype tf32`"
        }
        BenchError::NothingInCommon { .. } => {
            "measurements are the same if stencil, shape, dtype, mode and steps are; --quick and \
             --steps change them"
        }
        BenchError::File { .. } => "expected a file that `host bench --json FILE` wrote",
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::super::named;
    use super::*;
    use systems::examples::Example;

    #[test]
    fn systems_are_told_from_stencils() {
        let help = |name: &str| remedy(&named(name).unwrap_err());
        let is_no_stencil = |example: &&Example| named(example.name).is_err();
        assert!(EXAMPLES.iter().filter(is_no_stencil).count() > 5);
        for Example { name, .. } in EXAMPLES.iter().filter(is_no_stencil) {
            let start = format!("it is a system of fields: `host example {name}` computes it, ");
            assert!(help(name).starts_with(&start), "{}", help(name));
        }
        let near = "did you mean the system gray-scott? `host example` computes it; ";
        assert!(help("grayscott").starts_with(near), "{}", help("grayscott"));
        assert!(help("qqqqqq").starts_with("`host list` prints every name; "));
    }

    #[test]
    fn a_plan_without_a_gpu_is_one_for_another_machine() {
        let reason = "none".to_owned();
        let failure = Failure::NoTarget(problem::Error::NoDriver { reason });
        assert_eq!(failure.exit_code(), 3);
        let help = remedy(&failure);
        assert!(help.starts_with("plan for another machine: --machine h200, "), "{help}");
        // An option of `host run`.
        assert!(!help.contains("--engine"), "{help}");
    }
}
