// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pictures in and out, arrays of other types, streams.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use png::ColorType;

use super::support::{Folder, Picture, ProgramOutput};

const NO_STEP: &str = "run star2d1r --engine cpu --steps 0 --quiet --verify off";

impl Folder {
    fn picture(&self, name: &str) -> Picture {
        self.pictures(name).remove(0)
    }

    /// Writes a black picture of 4 by 4 points.
    fn write_black(&self, name: &str, colours: ColorType) {
        let mut encoder = png::Encoder::new(fs::File::create(self.path(name)).unwrap(), 4, 4);
        encoder.set_color(colours);
        encoder.write_header().unwrap().write_image_data(&vec![0; 16 * colours.samples()]).unwrap();
    }
}

#[test]
fn a_grid_becomes_a_picture_and_a_grey_picture_a_grid() {
    let folder = Folder::new();
    folder.write("in.npy", &[2, 3], &[0.0, 1.0, 0.2, 0.4, 0.6, 0.8]);
    folder.succeed(&format!("{NO_STEP} --input in.npy -o grey.png --colours grey"));
    let grey = folder.picture("grey.png");
    assert_eq!(grey.points, [0, 255, 51, 102, 153, 204]);
    folder.succeed(&format!("{NO_STEP} --input grey.png --output back.npy"));
    let back = vec![0.0f32, 1.0, 0.2, 0.4, 0.6, 0.8];
    assert_eq!(folder.read::<f32>("back.npy"), (vec![2, 3], back));

    folder.succeed(&format!("{NO_STEP} --input in.npy -o v.png --range 0:2"));
    let coloured = folder.picture("v.png");
    // The ends of the map and its middle, as matplotlib prints them.
    assert_eq!(coloured.points[..3], [68, 1, 84]);
    folder.succeed(&format!("{NO_STEP} --input in.npy -o v.png --range -1:1 --colors blue-red"));
    let coloured = folder.picture("v.png");
    let [white, red] = [&coloured.points[..3], &coloured.points[3..6]];
    assert!(white.iter().all(|part| *part > 235), "{white:?}");
    assert!(red[0] > 90 && red[1] < 10 && red[2] < 40, "{red:?}");
}

#[test]
fn a_slice_and_a_stride_choose_points() {
    let folder = Folder::new();
    let values: Vec<f32> = (0..3 * 4 * 6).map(|index| index as f32).collect();
    folder.write("in.npy", &[3, 4, 6], &values);
    let run = "run star3d1r --engine cpu --steps 0 --quiet --verify off --input in.npy";
    folder.succeed(&format!("{run} -o middle.png --colours grey --range 0:255"));
    let middle = folder.picture("middle.png");
    let expected: Vec<u8> = (24..48).collect();
    assert_eq!(middle.points, expected);
    folder.succeed(&format!("{run} -o y.npy --slice y=3 --stride 2"));
    let expected = vec![18.0, 20.0, 22.0, 66.0, 68.0, 70.0];
    assert_eq!(folder.read::<f32>("y.npy"), (vec![2, 3], expected));

    let text = "error: slice z=3 of a grid of 3x4x6: its points there are 0 to 2\n  \
                help: give an axis and a place on it, such as --slice z=16";
    folder.fail(&format!("{run} -o y.npy --slice z=3"), 2, text);
    let zarr = if cfg!(feature = "zarr") { ", zarr" } else { "" };
    let text = format!(
        "error: y.jpg: no format has this extension; there is npy, png, apng, vti, pvti, nc{zarr}\n  \
         help: name a file that ends with one of them; without an extension it is a .npy array"
    );
    folder.fail(&format!("{run} -o y.jpg"), 2, &text);
    let text = "error: y.png: a picture has two axes, and this is a grid of 9\n  \
                help: write it as .npy or .vti, or draw a slice of a 3D grid, such as --slice z=16";
    folder.fail("run star1d1r --size 9 -o y.png", 2, text);
}

#[test]
fn pictures_that_are_not_grey_are_refused() {
    let folder = Folder::new();
    folder.write_black("in.png", ColorType::Rgb);
    let help = "help: expected a grey PNG of 8 or 16 bits a point; with ImageMagick: convert photo.jpg \
                -colorspace gray photo.png";
    let text = format!("error: in.png: it has colours\n  {help}");
    folder.fail(&format!("{NO_STEP} --input in.png"), 2, &text);
    folder.write_black("in.png", ColorType::Grayscale);
    let bytes = fs::read(folder.path("in.png")).unwrap();
    fs::write(folder.path("in.png"), &bytes[..bytes.len() / 2]).unwrap();
    let outcome = folder.host(&format!("{NO_STEP} --input in.png"));
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(outcome.stderr.ends_with(&format!("{help}\n")), "{}", outcome.stderr);
}

#[test]
fn integers_are_converted_and_what_follows_is_told() {
    let folder = Folder::new();
    let run = |name: &str| {
        folder.succeed(&format!("{NO_STEP} --input {name} --output out.npy"));
    };
    folder.write("in.npy", &[2, 2], &[0u8, 1, 200, 255]);
    run("in.npy");
    assert_eq!(folder.read::<f32>("out.npy").1, [0.0, 1.0, 200.0, 255.0]);
    folder.write("in.npy", &[2, 2], &[-3i64, 1, 1 << 40, 5]);
    run("in.npy");
    assert_eq!(folder.read::<f64>("out.npy").1, [-3.0, 1.0, (1u64 << 40) as f64, 5.0]);
    run("in.npy --dtype f32");
    assert_eq!(folder.read::<f32>("out.npy").1[2], (1u64 << 40) as f32);

    let mut file = fs::OpenOptions::new().append(true).open(folder.path("in.npy")).unwrap();
    file.write_all(b"twelve bytes").unwrap();
    let outcome = folder.host(&format!("{NO_STEP} --input in.npy --output out.npy"));
    let text = "warning: in.npy: 12 bytes follow the array, and are not looked at\n";
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), text));
}

#[test]
fn arrays_stream_in_and_out() {
    let folder = Folder::new();
    folder.write("in.npy", &[4, 5], &[0.5f32; 20]);
    let line = "run star2d1r --engine cpu --steps 0 --input - --output - --verify off --time off";
    let mut command = folder.command(line);
    command.stdin(fs::File::open(folder.path("in.npy")).unwrap());
    let output = command.stdout(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    fs::write(folder.path("out.npy"), &output.stdout).unwrap();
    assert_eq!(folder.read::<f32>("out.npy"), folder.read::<f32>("in.npy"));
    let report = String::from_utf8(output.stderr).unwrap();
    assert!(report.starts_with("stencil    star2d1r"), "{report}");
    let mut command = folder.command(&format!("{line} --quiet --json report.json"));
    command.stdin(fs::File::open(folder.path("in.npy")).unwrap());
    let output = command.output().unwrap();
    assert_eq!((output.stdout.len(), output.stderr.len()), (128 + 80, 0));
    let report = fs::read_to_string(folder.path("report.json")).unwrap();
    assert!(report.contains("\"output\": \"-\""), "{report}");
    let mut command = folder.command(line);
    let outcome = ProgramOutput::from(command.stdin(Stdio::null()).output().unwrap());
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    let text = "error: -: no .npy array: the file ends within the header\n";
    assert!(outcome.stderr.starts_with(text), "{}", outcome.stderr);
}
