// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stencils from TOML files.

use std::fs;

use super::support::Folder;

const FILE: &str = "\
[smooth]
dense = [[0, 0.125, 0], [0.125, 0.5, 0.125], [0, 0.125, 0]]

[drift]
offsets = [[-1], [0]]
weights = [0.25, 0.5]

[spread]
dense = [1, 1, 1]
";

fn folder() -> Folder {
    let folder = Folder::new();
    fs::write(folder.path("mine.toml"), FILE).unwrap();
    folder
}

#[test]
fn a_stencil_is_chosen_by_name_and_has_the_documented_sense() {
    let folder = folder();
    folder.write("in.npy", &[4], &[1.0, 10.0, 100.0, 1000.0]);
    let run = "run --weights mine.toml --stencil drift --input in.npy --engine cpu --output o.npy";
    folder.succeed(run);
    // out[x] = in[x-1] / 4 + in[x] / 2
    assert_eq!(folder.read::<f64>("o.npy"), (vec![4], vec![0.5, 5.25, 52.5, 525.0]));
    for which in ["drift --weights mine.toml", "--weights mine.toml --stencil drift"] {
        let plan = folder.succeed(&format!("plan {which} --size 4096")).stdout;
        assert!(plan.starts_with("drift on 4096 in f16, for NVIDIA H200\n"), "{plan}");
    }
}

#[test]
fn the_only_stencil_of_a_file_needs_no_name() {
    let folder = Folder::new();
    fs::write(folder.path("ONE.TOML"), "[only]\ndense = [0, 1, 0]\n").unwrap();
    let report = folder.succeed("run --weights ONE.TOML --size 9 --engine cpu").stdout;
    assert!(report.starts_with("stencil    only, boundary zero\n"), "{report}");
}

#[test]
fn names_that_choose_nothing() {
    let folder = folder();
    let text = "error: mine.toml holds 3 stencils\n  \
                help: choose one with --stencil: smooth, drift, spread";
    folder.fail("run --weights mine.toml --size 8", 2, text);
    folder.fail("plan --weights mine.toml", 2, text);
    let text = "error: mine.toml holds no stencil named 'smoth'\n  \
                help: did you mean smooth? It holds smooth, drift, spread";
    folder.fail("run --weights mine.toml --stencil smoth --size 8", 2, text);
    // A name of the catalogue is none of the file.
    let text = "error: mine.toml holds no stencil named 'box2d1r'\n  \
                help: it holds smooth, drift, spread";
    folder.fail("plan box2d1r --weights mine.toml", 2, text);
}

#[test]
fn a_name_beside_an_array_is_one_too_many() {
    let text = "error: both 'star2d1r' and w.npy name a stencil\n  \
                help: leave one of them out; only in a .toml file does --stencil choose one";
    Folder::new().fail("run --stencil star2d1r --weights w.npy --size 8", 2, text);
    Folder::new().fail("plan star2d1r --weights w.npy", 2, text);
}

#[test]
fn mistakes_are_told_with_line_and_column() {
    let folder = Folder::new();
    let help = "  help: a stencil is a table, such as [smooth], with dense = [[0, 0.125, 0], \
                [0.125, 0.5, 0.125], [0, 0.125, 0]], or with offsets = [[0, -1], [0, 1]] and weights = [0.5, 0.5]";
    let refused = |text: &[u8], message: &str| {
        fs::write(folder.path("bad.toml"), text).unwrap();
        let text = format!("error: bad.toml: {message}\n{help}");
        folder.fail("run --weights bad.toml --size 8", 2, &text);
        folder.fail("plan --weights bad.toml", 2, &text);
    };
    refused(
        b"[a]\noffsets = [[1], [2]]\nweights = [1]\n",
        "line 3, column 11: stencil 'a': 2 offsets and 1 weights; give one weight for each offset",
    );
    refused(
        b"[a]\ndense = [[1, 2, 3],\n  [1, 2]]\n",
        "line 3, column 3: stencil 'a': this row has 2 entries, the one before has 3; make all rows \
         as long",
    );
    refused(
        b"",
        "line 1, column 1: the file has no stencil; add a table under its name, such as [smooth], \
         with 'offsets' and 'weights', or with 'dense'",
    );
    refused(
        b"[a]\nwight = [1]\n",
        "line 2, column 1: unknown field `wight`, expected one of `offsets`, `weights`, `dense`",
    );
    fs::write(folder.path("bad.toml"), b"[a]\n\xff = 1\n").unwrap();
    let outcome = folder.host("plan --weights bad.toml");
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.stderr.starts_with("error: bad.toml: line 2, column 1: "), "{outcome:?}");

    let text = "error: cannot read none.toml: No such file or directory (os error 2)\n  \
                help: check the path and its permissions";
    folder.fail("run --weights none.toml --size 8", 5, text);
}

#[test]
fn numbers_that_no_shape_has_are_told() {
    let help = "  help: shapes are star, box or diamond, dimensions and radius, such as star2d3r; \
                `--weights FILE` takes your own weights";
    for (name, wrong) in [
        ("star2d17r", "'star2d17r' has radius 17; 1 to 16 are supported"),
        ("box3d0r", "'box3d0r' has radius 0; 1 to 16 are supported"),
        ("diamond4d1r", "'diamond4d1r' has 4 dimensions; 1, 2 or 3 are supported"),
    ] {
        let text = format!("error: {wrong}\n{help}");
        Folder::new().fail(&format!("run --stencil {name} --size 8"), 2, &text);
        Folder::new().fail(&format!("plan {name}"), 2, &text);
    }
}
