// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of a grid that two emulated GPUs share: each makes, reads and writes its part.

use std::fs;

use super::support::Folder;

const TWO: &str = "--gpus 2";

/// A run on one emulated GPU, or as many as `more` says.
fn run(more: &str) -> String {
    format!(
        "run star2d1r --size 64x128 --dtype f16 --steps 8 --engine emulate --quiet --verify off {more}"
    )
}

fn same(folder: &Folder, one: &str, other: &str) {
    let [a, b] = [one, other].map(|name| fs::read(folder.path(name)).unwrap());
    assert!(a == b, "{one} is not {other}");
}

#[test]
fn each_gpu_reads_and_writes_its_part() {
    let folder = Folder::new();
    folder.succeed(&run("--output one.npy --gpus 1"));
    folder.succeed(&run("--output two.npy --gpus 2"));
    same(&folder, "one.npy", "two.npy");
    // What it starts from, as a file.
    let start = "run star2d1r --size 64x128 --dtype f16 --steps 0 --engine cpu --quiet --verify off --time off";
    folder.succeed(&format!("{start} --output start.npy"));
    folder.succeed(&run("--input start.npy --output read.npy --gpus 2"));
    same(&folder, "read.npy", "two.npy");
    // A slice and a stride go through rank 0.
    folder.succeed(&run("--output thin-one.npy --stride 3 --gpus 1"));
    folder.succeed(&run("--output thin-two.npy --stride 3 --gpus 2"));
    same(&folder, "thin-one.npy", "thin-two.npy");
    folder.succeed(&run("--output u_{step}.npy --every 4 --gpus 2"));
    same(&folder, "u_8.npy", "two.npy");
    folder.succeed(&run("--output u_{step}.pvti --every 4 --gpus 2"));
    for name in ["u_0.pvti", "u_4_rank0.vti", "u_4_rank1.vti", "u_8.pvti", "u_8_rank1.vti"] {
        assert!(folder.path(name).exists(), "{name}");
    }
    let list = fs::read_to_string(folder.path("u.pvd")).unwrap();
    assert!(list.contains("file=\"u_4.pvti\"") && list.contains("file=\"u_8.pvti\""), "{list}");
}

#[test]
fn values_that_are_not_finite_are_told_with_their_place() {
    let folder = Folder::new();
    let mut values = [0.5f32; 64 * 128];
    values[60 * 128 + 7] = f32::NAN;
    folder.write("nan.npy", &[64, 128], &values);
    let text = "error: the input holds NaN at (y, x) = (60, 7)\n  \
                help: replace infinities and not-a-numbers in the input";
    folder.fail(&run("--input nan.npy --gpus 2"), 4, text);
}

#[test]
fn a_checkpoint_of_two_is_gone_on_with_by_any_number() {
    let folder = Folder::new();
    folder.succeed(&run("--output last.npy --gpus 2"));
    let keep = "--checkpoint state --checkpoint-every 4";
    folder.succeed(&run(&format!("--output kept.npy {keep} {TWO}")));
    let parts = |folder: &Folder| -> Vec<String> {
        let files = folder.files().into_iter();
        files.filter(|name| name.starts_with("state")).collect()
    };
    assert_eq!(parts(&folder), ["state", "state.8.0", "state.8.1"]);
    // Of the steps before a checkpoint, as a run that ends there.
    let half = |options: &str| run(options).replace("--steps 8", "--steps 4");
    folder.succeed(&half(&format!("{keep} {TWO}")));
    assert_eq!(parts(&folder), ["state", "state.4.0", "state.4.1"]);
    for (gpus, name) in [("--gpus 2", "two.npy"), ("--gpus 1", "one.npy"), ("", "alone.npy")] {
        // That another kernel may go on is warned of.
        let outcome = folder.host(&run(&format!("--resume state --output {name} {gpus}")));
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    }
    same(&folder, "two.npy", "kept.npy");
    same(&folder, "one.npy", "kept.npy");
    // Of one, which is a single file, by two.
    folder.succeed(&run(&format!("--output single.npy {keep} --gpus 1")));
    folder.succeed(&half(&format!("{keep} --gpus 1")));
    assert_eq!(parts(&folder), ["state"]);
    folder.succeed(&run("--resume state --output two.npy --gpus 2"));
    same(&folder, "two.npy", "single.npy");
    // A part that is missing.
    folder.succeed(&half(&format!("{keep} {TWO}")));
    fs::remove_file(folder.path("state.4.1")).unwrap();
    let outcome = folder.host(&run("--resume state --gpus 2"));
    assert_eq!(outcome.code, Some(5), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("state.4.1: "), "{}", outcome.stderr);
}
