// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::bench::{BenchCase, DepthMode, Measurement, Outcome, Row, Workload};
use compute::engine::EngineRequest;
use problem::Shape;

/// A row of box2d1r: 9 points, so 18 FLOP for each point and step.
fn row(dtype: Dtype, mode: DepthMode, [speed, gb, fraction]: [f64; 3], device: &str) -> Row {
    let case = BenchCase {
        workload: Workload::named("box2d1r").unwrap(),
        shape: Shape::new(&[500, 500]).unwrap(),
        dtype,
        mode,
        steps: 48,
        engine: None,
    };
    let outcome = Outcome::Measured(Measurement {
        engine: "cuda".into(),
        kernel: None,
        device: device.into(),
        fuse: 1,
        chain: 1,
        gstencils_per_s: speed,
        predicted_gstencils_per_s: None,
        effective_gb_per_s: gb,
        fraction_of_copy: fraction,
        rel_l2_err: 0.0,
        verified: true,
        same_as: None,
        note: None,
    });
    Row { case, outcome }
}

fn results(rows: Vec<Row>) -> Results {
    let (version, origin, engine) = Default::default();
    Results { version, origin, engine, complete: true, rows }
}

const H200: &str = "NVIDIA H200, CUDA 13.0, sm_90 kernels";

#[test]
fn a_copy_and_arithmetic_limit_what_is_drawn() {
    // A copy of 4000 GB/s; one step a sweep of 8 bytes a point, then four.
    let rows = vec![
        row(Dtype::F32, DepthMode::Step, [450.0, 3600.0, 0.9], H200),
        row(Dtype::F32, DepthMode::Auto, [1000.0, 2000.0, 0.5], H200),
    ];
    let results = results(rows);
    let picture = Picture::new(&results, true);
    let groups = bars::groups(&picture, Dtype::F32);
    assert_eq!(groups.len(), 1);
    assert_eq!(groups[0].limit(), Some(4000.0 / 8.0));
    let points = roofline::points(&picture, Dtype::F32);
    let [single, several] = [points[0].1, points[1].1];
    assert_eq!([single.gflops, several.gflops], [450.0 * 18.0, 1000.0 * 18.0]);
    assert_eq!([single.intensity, several.intensity], [18.0 / 8.0, 4.0 * 18.0 / 8.0]);
    let roofs = roofline::roofs(&picture, Dtype::F32);
    assert_eq!(roofs.len(), 1);
    assert_eq!(roofs[0].copy, 4000.0);
    // The CPU beside it has a limit of its own, which is not that of the fastest.
    let beside = row(Dtype::F32, DepthMode::Fused, [4.0, 16.0, 0.5], "CPU, 2 threads");
    let both = self::results(results.rows.iter().cloned().chain([beside]).collect());
    let groups = bars::groups(&Picture::new(&both, true), Dtype::F32);
    assert_eq!(groups[0].limit(), Some(4000.0 / 8.0));
    // How far a point lies below the slope is what the table says.
    assert_eq!(several.gflops / (several.intensity * roofs[0].copy), 0.5);
    assert_eq!(roofs[0].peaks.len(), 1, "tensor cores take no f32: {:?}", roofs[0]);
}

#[test]
fn units_have_peaks_where_they_take_the_type() {
    for (dtype, units) in [(Dtype::F16, 3), (Dtype::Tf32, 3), (Dtype::F64, 2)] {
        let results = results(vec![row(dtype, DepthMode::Step, [450.0, 3600.0, 0.9], H200)]);
        let roofs = roofline::roofs(&Picture::new(&results, true), dtype);
        assert_eq!(roofs[0].peaks.len(), units, "{dtype}");
        assert!(roofs[0].peaks.is_sorted_by(|low, high| low.1 <= high.1), "{dtype}");
    }
    let results =
        results(vec![row(Dtype::F16, DepthMode::Step, [4.0, 16.0, 0.5], "CPU, 2 threads")]);
    let roofs = roofline::roofs(&Picture::new(&results, true), Dtype::F16);
    assert_eq!(roofs, [roofline::Roof { copy: 32.0, peaks: Vec::new() }]);
}

#[test]
fn engines_side_by_side_have_colours_of_their_own() {
    let by = |engine| {
        let mut row = row(Dtype::F16, DepthMode::Auto, [450.0, 3600.0, 0.9], H200);
        row.case.engine = Some(engine);
        row
    };
    let results = results(vec![by(EngineRequest::Cuda), by(EngineRequest::Sparse)]);
    let svg = String::from_utf8(render(&results, ImageFormat::Svg)).unwrap();
    for text in ["cuda", "sparse", "box2d1r", "500^2", "f16, GStencil/s", H200] {
        assert!(svg.contains(&format!("\n{text}\n")), "no '{text}' in {svg}");
    }
    let series = series::of(&results);
    assert_ne!(series[0].color, series[1].color);
}

#[test]
fn a_chart_of_nothing_says_so() {
    let svg = String::from_utf8(render(&results(Vec::new()), ImageFormat::Svg)).unwrap();
    assert!(svg.contains("nothing was measured"), "{svg}");
    assert!(rooflines(&results(Vec::new())).contains("nothing was measured"));
}

/// Width, height and points of a PNG.
fn decoded(file: &[u8]) -> ([usize; 2], Vec<[u8; 3]>) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut bytes).unwrap();
    assert_eq!(frame.color_type, png::ColorType::Rgb);
    ([frame.width as usize, frame.height as usize], bytes.as_chunks().0.to_vec())
}

#[test]
fn pixels_are_twice_those_of_the_svg_and_have_letters() {
    let results = results(vec![row(Dtype::F64, DepthMode::Step, [250.0, 3600.0, 0.9], H200)]);
    let svg = String::from_utf8(render(&results, ImageFormat::Svg)).unwrap();
    let ([width, height], pixels) = decoded(&render(&results, ImageFormat::Png));
    let size = format!("width=\"{}\" height=\"{}\"", width / 2, height / 2);
    assert!(svg.contains(&size), "no {size} in {}", &svg[..200]);
    // The head has nothing dark but letters and the line of the legend.
    let head = &pixels[..56 * width];
    let letters = head.iter().filter(|[red, ..]| *red < 100).count();
    assert!((300..20_000).contains(&letters), "{letters} dark pixels");
}

#[test]
fn the_extension_says_which_picture() {
    for (name, format) in [
        ("a.svg", Some(ImageFormat::Svg)),
        ("b/c.PNG", Some(ImageFormat::Png)),
        ("d.jpg", None),
        ("e", None),
    ] {
        assert_eq!(ImageFormat::of(Path::new(name)).ok(), format, "{name}");
    }
}
