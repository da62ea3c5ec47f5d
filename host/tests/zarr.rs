// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the program writes as zarr, read by `zarrs` and, where `HOST_TEST_PYTHON` names a Python that has zarr 3 and
//! numpy, by zarr-python:
//! `HOST_TEST_PYTHON=…/bin/python cargo test -p stencil --features zarr --test zarr -- --nocapture`.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::{env, fs};

use serde_json::{Value, json};
use tempfile::TempDir;
use zarrs::array::Array;
use zarrs::filesystem::FilesystemStore;

const SCRIPT: &str = r#"
import sys
import numpy as np
import zarr

print("zarr", zarr.__version__, "numpy", np.__version__)
for name in sys.argv[1:]:
    group = zarr.open_group(f"{name}.zarr", mode="r", zarr_format=3)
    array, expected = group["u"], np.load(f"{name}.npy")
    assert array.metadata.zarr_format == 3
    assert array.shape == expected.shape and array.dtype == expected.dtype, (name, array.info)
    assert (array[:] == expected).all(), name
    assert array.metadata.dimension_names == ("z", "y", "x")[3 - array.ndim:], array.metadata
    assert group.attrs["step"] == array.attrs["step"] == 6, dict(group.attrs)
    print(name, array.shape, array.dtype, "chunks", array.chunks)
for step in (0, 5, 10):
    group = zarr.open_group(f"s_{step:03}.zarr", mode="r")
    assert sorted(group.array_keys()) == ["u", "v"] and group.attrs["step"] == step
    assert group.attrs["time"] == 0 if step == 0 else group.attrs["time"] > 0
last = zarr.open_group("s_010.zarr", mode="r")
for field in ("u", "v"):
    assert (last[field][:] == np.load(f"{field}.npy")).all()
print("right")
"#;

fn host(folder: &Path, arguments: &str) -> (bool, String) {
    let mut host = Command::new(env!("CARGO_BIN_EXE_host"));
    host.args(arguments.split_whitespace()).current_dir(folder).env("CUDA_VISIBLE_DEVICES", "");
    let outcome = host.output().unwrap();
    (outcome.status.success(), String::from_utf8_lossy(&outcome.stderr).into_owned())
}

fn succeed(folder: &TempDir, arguments: &str) {
    let (success, text) = host(folder.path(), arguments);
    assert!(success, "{arguments}: {text}");
}

/// Runs each of several cases twice, once into a zarr group and once into a file of numpy; returns the cases' names.
/// The last group has two chunks along an axis, the second not full.
fn write(folder: &TempDir) -> Vec<&'static str> {
    let runs = [
        ("line", "--stencil star1d1r --size 3000000 --dtype f32"),
        ("half", "--stencil star2d1r --size 30x40 --dtype f16"),
        ("brain", "--stencil star2d1r --size 30x40 --dtype bf16"),
        ("ball", "--stencil star3d1r --size 7x8x9 --dtype f64"),
        ("thin", "--stencil star3d1r --size 2x3x1500000 --dtype f64"),
        ("plate", "--stencil star2d1r --size 1500x1000 --dtype f64"),
    ];
    for (name, options) in runs {
        for kind in ["zarr", "npy"] {
            let output = format!("--output {name}.{kind}");
            succeed(
                folder,
                &format!("run {options} --steps 6 --engine cpu --verify off --quiet {output}"),
            );
        }
    }
    runs.map(|(name, _)| name).to_vec()
}

#[test]
fn arrays_hold_what_files_of_numpy_hold() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder);
    let open = |name: &str| {
        let store = FilesystemStore::new(folder.path().join(name)).unwrap();
        Array::open(Arc::new(store), "/u").unwrap()
    };
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    // Behind the header numpy's files have the values as they are.
    fn ends_with<T: bytemuck::Pod>(file: &[u8], values: &[T]) -> bool {
        file.len() > 100 && file.ends_with(bytemuck::cast_slice(values))
    }
    for name in ["plate", "thin", "ball"] {
        let array = open(&format!("{name}.zarr"));
        let values: Vec<f64> = array.retrieve_array_subset(&array.subset_all()).unwrap();
        assert!(ends_with(&read(&format!("{name}.npy")), &values), "{name}");
    }
    let array = open("plate.zarr");
    assert_eq!(array.shape(), [1500, 1000]);
    assert_eq!(fs::read_dir(folder.path().join("plate.zarr/u/c")).unwrap().count(), 2);
    let array = open("line.zarr");
    let values: Vec<f32> = array.retrieve_array_subset(&array.subset_all()).unwrap();
    assert!(ends_with(&read("line.npy"), &values));
}

/// A system whose points are 30 apart along z, 2 along y and 0.5 along x.
const SYSTEM: &str = r#"
grid = { size = [5, 6, 9], spacing = [30, 2, 0.5] }
time = { dt = 0.25, steps = 2 }
fields.u = { start = "x + y + z", next = "u" }
"#;

#[test]
fn attributes_say_where_points_lie() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("system.toml"), SYSTEM).unwrap();
    for (options, names, origin, spacing, slice) in [
        ("", json!(["z", "y", "x"]), json!([0.0, 0.0, 0.0]), json!([30.0, 2.0, 0.5]), json!(null)),
        (
            "--stride 4",
            json!(["z", "y", "x"]),
            json!([0.0, 0.0, 0.0]),
            json!([120.0, 8.0, 2.0]),
            json!(null),
        ),
        (
            "--slice z=3",
            json!(["y", "x"]),
            json!([0.0, 0.0]),
            json!([2.0, 0.5]),
            json!({"z": 90.0}),
        ),
        (
            "--slice y=4 --stride 2",
            json!(["z", "x"]),
            json!([0.0, 0.0]),
            json!([60.0, 1.0]),
            json!({"y": 8.0}),
        ),
        (
            "--slice x=5",
            json!(["z", "y"]),
            json!([0.0, 0.0]),
            json!([30.0, 2.0]),
            json!({"x": 2.5}),
        ),
    ] {
        succeed(&folder, &format!("run system.toml --engine cpu --quiet -o u.zarr {options}"));
        let text = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        let read = |name: &str| serde_json::from_str::<Value>(&text(name)).unwrap();
        let array = read("u.zarr/u/zarr.json");
        assert_eq!(array["dimension_names"], names, "{options}");
        for about in [&array, &read("u.zarr/zarr.json")] {
            let attributes = &about["attributes"];
            assert_eq!(attributes["origin"], origin, "{options}");
            assert_eq!(attributes["spacing"], spacing, "{options}");
            assert_eq!(attributes["slice"], slice, "{options}");
            assert_eq!(attributes["time"], 0.5, "{options}");
        }
    }
}

#[test]
fn a_group_is_replaced_and_another_folder_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let run = "run --stencil star2d1r --size 30x40 --engine cpu --verify off --quiet --output u.zarr --steps";
    succeed(&folder, &format!("{run} 1"));
    succeed(&folder, &format!("{run} 2"));
    let text = fs::read_to_string(folder.path().join("u.zarr/zarr.json")).unwrap();
    assert!(text.contains("\"step\": 2"), "{text}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    fs::create_dir(folder.path().join("mine.zarr")).unwrap();
    fs::write(folder.path().join("mine.zarr/thesis.tex"), "years").unwrap();
    let (success, text) = host(folder.path(), &format!("{run} 1").replace("u.zarr", "mine.zarr"));
    assert!(!success && text.contains("a folder of that name with other files"), "{text}");
    assert!(folder.path().join("mine.zarr/thesis.tex").exists());
}

#[test]
fn zarr_of_python_opens_them() {
    let Some(python) = env::var_os("HOST_TEST_PYTHON") else {
        println!("skipped: HOST_TEST_PYTHON names no Python with zarr and numpy");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let names = write(&folder);
    let spots = "example gray-scott --size 30x40 --dtype f32 --steps 10 --engine cpu --quiet";
    succeed(&folder, &format!("{spots} --every 5 --output s_{{step:03}}.zarr"));
    succeed(&folder, &format!("{spots} --output {{field}}.npy"));
    let mut python = Command::new(python);
    python.args(["-c", SCRIPT]).args(names).current_dir(folder.path());
    let status = python.status().unwrap();
    assert!(status.success(), "{status}");
}
