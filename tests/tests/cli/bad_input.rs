// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every error text, with its exit code.

use std::fs;

use half::f16;

use super::support::Folder;

const SIZE_HELP: &str = "give --size N for N points on every axis, or one number per axis, slowest \
                         first, such as --size 480x640";
const ARRAY_HELP: &str = "expected a .npy file of floats of 2, 4 or 8 bytes, integers or truth values; in \
                          numpy: np.save(path, array.astype('f4'))";

#[test]
fn unknown_stencils_list_near_matches() {
    let folder = Folder::new();
    let outcome = folder.host("run --stencil stra2d3r --size 8");
    assert_eq!(outcome.code, Some(2));
    let text = "error: there is no stencil named 'stra2d3r'\n  help: did you mean star2d3r";
    assert!(outcome.stderr.starts_with(text), "{}", outcome.stderr);
    assert!(outcome.stderr.ends_with("? `host list` prints every name\n"), "{}", outcome.stderr);
    let nothing_like_it = "error: there is no stencil named '%%%'\n  \
                           help: `host list` prints every name; `--weights FILE` takes your own weights";
    folder.fail("run --stencil %%% --size 8", 2, nothing_like_it);
}

#[test]
fn sizes_that_are_none() {
    let folder = Folder::new();
    for (size, reason) in [
        ("0", "every axis needs at least one point"),
        ("8x0", "every axis needs at least one point"),
        ("abc", "'abc' is not a whole number"),
        ("-5", "'-5' is not a whole number"),
        ("8x", "'' is not a whole number"),
        ("8.5", "'8.5' is not a whole number"),
        ("99999999999999999999", "'99999999999999999999' is too large"),
        ("4294967295x4294967295", "more points than this machine can address"),
        ("2x2x2x2", "4 axes; 1, 2 or 3 are supported"),
    ] {
        let text = format!("error: size '{size}': {reason}\n  help: {SIZE_HELP}");
        folder.fail(&format!("run --stencil star2d1r --size {size}"), 2, &text);
    }
    let text = format!("error: no grid size was given\n  help: {SIZE_HELP}");
    folder.fail("run --stencil star2d1r", 2, &text);
    let text = "error: size 8x8x8 has 3 axes, the stencil has 2\n  \
                help: give --size N for N points on every axis, or 2, such as 64x64";
    folder.fail("run --stencil star2d1r --size 8x8x8", 2, text);
}

#[test]
fn boundaries_that_are_none() {
    let folder = Folder::new();
    let help = "give one kind for all sides, such as --boundary periodic, or kinds for axes and \
                sides, such as --boundary x:periodic,y-:constant=1,y+:reflect";
    for (boundary, reason) in [
        (
            "warp",
            "'warp' is none of zero, constant=V, periodic, reflect, symmetric, edge, flux=G, odd, odd-reflect, robin=A,B,C",
        ),
        ("z:zero", "'z' is none of x, x-, x+, y, y-, y+"),
        ("y+:periodic", "y is periodic on one side only"),
        ("constant=nan", "'nan' is not a finite number"),
    ] {
        let text = format!("error: boundary '{boundary}': {reason}\n  help: {help}");
        let run = format!("run --stencil star2d1r --size 8 --boundary {boundary}");
        folder.fail(&run, 2, &text);
    }
}

#[test]
fn grids_that_do_not_fit() {
    let outcome = Folder::new().host("run --stencil star2d1r --size 1000000000");
    assert_eq!(outcome.code, Some(6));
    let text = "error: a run on 1000000000x1000000000 f16 values with engine cpu needs 3.5 EiB; ";
    assert!(outcome.stderr.starts_with(text), "{}", outcome.stderr);
    let help = " are free\n  help: take a smaller --size, or a --dtype with fewer bytes\n";
    assert!(outcome.stderr.ends_with(help), "{}", outcome.stderr);
}

#[test]
fn a_stencil_is_required() {
    let outcome = Folder::new().host("run --size 8");
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.stderr.contains("Usage: host run"), "{}", outcome.stderr);
}

#[test]
fn numbers_and_names_that_are_none() {
    let folder = Folder::new();
    for (option, value) in [
        ("--steps", "-1"),
        ("--steps", "many"),
        ("--steps", "1.5e0"),
        ("--seed", "-1"),
        ("--dtype", "f8"),
        ("--engine", "warp"),
        ("--verify", "maybe"),
        ("--time", "0"),
        ("--time", "always"),
        ("--seed", "x"),
    ] {
        let outcome = folder.host(&format!("run --stencil star2d1r --size 8 {option} {value}"));
        assert_eq!(outcome.code, Some(2), "{option} {value}");
        assert!(outcome.stderr.starts_with("error: "), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(value), "{}", outcome.stderr);
    }
}

#[test]
fn whole_numbers_that_are_none_are_answered_with_one() {
    let folder = Folder::new();
    for (arguments, text) in [
        (
            "run star2d1r --size 8 --steps 1e-6",
            "'1e-6' for '--steps <S>': give a whole number, such as 1000",
        ),
        (
            "run star2d1r --size 8 --steps -1",
            "'-1' for '--steps <S>': give a whole number, such as 1000",
        ),
        (
            "run star2d1r --size 8 --seed x",
            "'x' for '--seed <N>': give a whole number, such as 1000",
        ),
        (
            "bench --size-limit 1.5",
            "'1.5' for '--size-limit <POINTS>': give a whole number, such as 1000",
        ),
    ] {
        let text = format!("error: invalid value {text}\n\nFor more information, try '--help'.");
        folder.fail(arguments, 2, &text);
    }
}

#[test]
fn pictures_are_not_printed() {
    let text = "error: cannot write -: this cannot be printed; write ./- for a file of that name\n  \
                help: name a file, in a folder that exists";
    let folder = Folder::new();
    folder.fail("plan star2d1r --png -", 5, text);
    let text = "error: --output and --json both name -\n  help: give each a file of its own";
    folder.fail("run star2d1r --size 8 --output - --json -", 2, text);
    assert!(folder.files().is_empty());
}

#[test]
fn what_needs_a_gpu_says_so() {
    let folder = Folder::new();
    let starts = [
        "error: no NVIDIA driver was found on this machine\n  help: install the NVIDIA driver",
        "error: no suitable GPU was found: ",
        "error: the GPU driver refused to ",
        "error: this program was built without GPU kernels: ",
    ];
    for arguments in [
        "run --stencil star2d1r --size 8 --engine sparse",
        "doctor --measure --output machine.json",
    ] {
        let outcome = folder.host(arguments);
        assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
        assert!(starts.iter().any(|start| outcome.stderr.starts_with(start)), "{}", outcome.stderr);
        assert_eq!((outcome.stdout.as_str(), folder.files()), ("", vec![]), "{arguments}");
    }
}

#[test]
fn measurements_are_written_only_where_they_are_made_and_can_be() {
    let folder = Folder::new();
    let outcome = folder.host("doctor --output machine.json");
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.stderr.contains("--measure"), "{}", outcome.stderr);
    let text = "error: cannot write none/m.json: there is no folder none\n  help: mkdir -p none";
    folder.fail("doctor --measure --output none/m.json", 5, text);
}

#[test]
fn jobs_that_an_engine_does_not_do() {
    let text = "error: engine 'emulate' cannot run this: gather multiplies f16, bf16 or tf32, not f64\n  \
                help: `--engine auto` takes an engine that can";
    let run = "run --stencil star2d1r --size 8 --engine emulate --kernel gather --dtype f64";
    Folder::new().fail(run, 2, text);
}

#[test]
fn inputs_of_another_shape() {
    let folder = Folder::new();
    folder.write("line.npy", &[6], &[1.0f32; 6]);
    let text = "error: line.npy holds an array with 1 axes, the stencil has 2\n  \
                help: give an array with 2 axes, or a stencil with as many as the array";
    folder.fail("run --stencil star2d1r --input line.npy", 2, text);

    folder.write("grid.npy", &[2, 3], &[1.0f32; 6]);
    let text = "error: size 3x2 was asked for, but grid.npy holds a grid of 2x3\n  \
                help: leave --size out to take the size of the input";
    folder.fail("run --stencil star2d1r --input grid.npy --size 3x2", 2, text);

    folder.write::<f32>("empty.npy", &[0, 3], &[]);
    let text = format!(
        "error: empty.npy: size '0x3': every axis needs at least one point\n  help: {ARRAY_HELP}"
    );
    folder.fail("run --stencil star2d1r --input empty.npy", 2, &text);
}

#[test]
fn files_that_are_no_arrays() {
    let folder = Folder::new();
    fs::write(folder.path("text.npy"), "1 2 3, and more than ten bytes").unwrap();
    fs::write(folder.path("short.npy"), "").unwrap();
    for name in ["text.npy", "short.npy"] {
        let outcome = folder.host(&format!("run --stencil star2d1r --input {name}"));
        assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
        let start = format!("error: {name}: no .npy array: ");
        assert!(outcome.stderr.starts_with(&start), "{}", outcome.stderr);
        assert!(outcome.stderr.ends_with(&format!("  help: {ARRAY_HELP}\n")), "{}", outcome.stderr);
    }
    folder.write("complex.npy", &[2, 2], &[1i32; 4]);
    let mut bytes = fs::read(folder.path("complex.npy")).unwrap();
    let mark = bytes.windows(3).position(|window| window == b"<i4").unwrap();
    bytes[mark..mark + 3].copy_from_slice(b"<c4");
    fs::write(folder.path("complex.npy"), bytes).unwrap();
    let text = format!(
        "error: complex.npy: element type <c4; floats of 2, 4 and 8 bytes, integers and truth values are \
         supported\n  help: {ARRAY_HELP}"
    );
    folder.fail("run --stencil star2d1r --input complex.npy", 2, &text);

    folder.write("cut.npy", &[2, 2], &[1f64; 4]);
    let bytes = fs::read(folder.path("cut.npy")).unwrap();
    fs::write(folder.path("cut.npy"), &bytes[..bytes.len() - 1]).unwrap();
    let text =
        format!("error: cut.npy: the file ends before its 4 values do\n  help: {ARRAY_HELP}");
    folder.fail("run --stencil star2d1r --input cut.npy", 2, &text);
}

#[test]
fn headers_that_promise_too_much() {
    let folder = Folder::new();
    let write = |name: &str, text: &str| {
        let length = u16::try_from(text.len() + 1).unwrap().to_le_bytes();
        let head = [b"\x93NUMPY\x01\x00".as_slice(), &length, text.as_bytes(), b"\n"];
        fs::write(folder.path(name), head.concat()).unwrap();
    };
    let header =
        |shape: &str| format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({shape}), }}");
    write("huge.npy", &header("1099511627776, 1099511627776"));
    let text =
        format!("error: huge.npy: more points than this machine can address\n  help: {ARRAY_HELP}");
    folder.fail("run --stencil star2d1r --input huge.npy", 2, &text);
    folder.fail("run --weights huge.npy --size 8", 2, &text);

    write("large.npy", &header("1099511627, 1000"));
    let outcome = folder.host("run --stencil star2d1r --input large.npy");
    assert_eq!(outcome.code, Some(6));
    let text = "error: a grid of 1099511627x1000 f32 values needs 4.0 TiB; ";
    assert!(outcome.stderr.starts_with(text), "{}", outcome.stderr);
    let text = format!(
        "error: large.npy: too many weights; at most 40000 are supported\n  help: {ARRAY_HELP}"
    );
    folder.fail("run --weights large.npy --size 8", 2, &text);

    write("nested.npy", &"(".repeat(60_000));
    let outcome = folder.host("run --stencil star2d1r --input nested.npy");
    assert_eq!((outcome.code, outcome.stderr.lines().count()), (Some(2), 2), "{}", outcome.stderr);
}

#[test]
fn files_that_cannot_be_read() {
    let folder = Folder::new();
    let text = "error: cannot read none.npy: No such file or directory (os error 2)\n  \
                help: check the path and its permissions";
    folder.fail("run --stencil star2d1r --input none.npy", 5, text);
    folder.fail("run --weights none.npy --size 8", 5, text);
    fs::create_dir(folder.path("folder")).unwrap();
    let text = "error: cannot read folder: Is a directory (os error 21)\n  \
                help: check the path and its permissions";
    folder.fail("run --stencil star2d1r --input folder", 5, text);
}

#[test]
fn weights_that_make_no_stencil() {
    let folder = Folder::new();
    folder.write("even.npy", &[3, 4], &[0.1f64; 12]);
    let text = "error: even.npy: the weights have shape 3x4; every extent must be odd, so that \
                there is a centre\n  \
                help: pad the weights with a row or column of zeros, so that they have a centre";
    folder.fail("run --weights even.npy --size 8", 2, text);

    let help = "weights are a dense .npy array of 1 to 3 axes with odd extents and finite values; \
                out[y, x] = sum of w[j, i] * in[y + j - r, x + i - r]";
    folder.write("nan.npy", &[1, 3], &[0.1, f64::NAN, 0.1]);
    let text = format!("error: nan.npy: weight 1 is NaN; weights must be finite\n  help: {help}");
    folder.fail("run --weights nan.npy --size 8", 2, &text);
    folder.write("zero.npy", &[3, 3], &[0.0f64; 9]);
    let text = format!("error: zero.npy: the stencil has no weight other than 0\n  help: {help}");
    folder.fail("run --weights zero.npy --size 8", 2, &text);
    folder.write("four.npy", &[1, 1, 1, 1], &[1.0f64]);
    let text = format!(
        "error: four.npy: the weights have 4 axes; 1, 2 or 3 are supported\n  help: {help}"
    );
    folder.fail("run --weights four.npy --size 8", 2, &text);
}

#[test]
fn values_that_are_not_finite() {
    let folder = Folder::new();
    let mut values = [0.5f32; 35];
    values[12] = f32::NAN;
    folder.write("nan.npy", &[7, 5], &values);
    let text = "error: the input holds NaN at (y, x) = (2, 2)\n  \
                help: replace infinities and not-a-numbers in the input";
    folder.fail("run --stencil star2d1r --input nan.npy --engine cpu", 4, text);

    folder.write("grow.npy", &[1, 1], &[1000.0f64]);
    folder.write("one.npy", &[1, 2], &[f16::ZERO, f16::ONE]);
    let help = "the values outgrew the element type: take fewer --steps, a wider --dtype, or \
                weights whose absolute values sum to at most 1";
    let text = format!(
        "warning: the weights of grow sum to 1000.0000; values may pass 65504, the most that f16 holds, \
         from about step 2 of 2 on\nerror: after step 2 the grid holds inf at (y, x) = (0, 1); after \
         step 1 all values were finite\n  help: {help}"
    );
    let run = "run --weights grow.npy --input one.npy --steps 2 --engine cpu --output out.npy";
    folder.fail(run, 4, &text);
    assert!(!folder.path("out.npy").exists());

    // What was finite in the file, but is not in the element type that was asked for.
    folder.write("large.npy", &[1, 2], &[0.0, 1e6]);
    let outcome = folder.host("run --stencil star2d1r --input large.npy --dtype f16 --engine cpu");
    assert_eq!(outcome.code, Some(4));
    let text = "error: the input as f16 holds inf at (y, x) = (0, 1)\n";
    assert!(outcome.stderr.starts_with(text), "{}", outcome.stderr);
}

#[test]
fn outputs_that_cannot_be_written() {
    let folder = Folder::new();
    for option in ["--output", "--json"] {
        let text = "error: cannot write none/out: there is no folder none\n  help: mkdir -p none";
        folder.fail(&format!("run --stencil star2d1r --size 8 {option} none/out"), 5, text);
        fs::create_dir_all(folder.path("folder")).unwrap();
        let text = "error: cannot write folder: is a directory\n  \
                    help: name a file, in a folder that exists";
        folder.fail(&format!("run --stencil star2d1r --size 8 {option} folder"), 5, text);
    }
    assert_eq!(folder.files(), ["folder"]);
}

#[test]
fn weights_that_the_element_type_cannot_hold() {
    let folder = Folder::new();
    folder.write("large.npy", &[1, 3], &[0.1, 0.2, 1e300f64]);
    let text = "error: the stencil as f16 holds inf at offset (z, y, x) = [0, 0, 1]\n  \
                help: the element type cannot hold it: take a wider --dtype, or scale the values down";
    folder.fail("run --weights large.npy --size 8 --dtype f16", 4, text);
}

#[test]
fn two_results_for_one_file() {
    let folder = Folder::new();
    let text = "error: --output and --json both name both\n  help: give each a file of its own";
    folder.fail("run --stencil star2d1r --size 8 --output both --json both", 2, text);
    assert!(folder.files().is_empty());
}

/// Formats that a program may be built without are named with how it is built with them.
#[test]
#[cfg_attr(feature = "zarr", ignore = "nothing was left out")]
fn a_format_that_was_left_out_of_the_build() {
    let text = "error: u.zarr: this program was built without the format zarr\n  help: build it with the format: \
                cargo build --release --features zarr; or write .npy or .vti";
    let run = "run star2d1r --size 9 --steps 1 --engine cpu";
    Folder::new().fail(&format!("{run} -o u.zarr"), 2, text);
    let each = text.replace("u.zarr", "u_000000.zarr");
    Folder::new().fail(&format!("{run} --every 1 -o u_{{step:06}}.zarr"), 2, &each);
}
