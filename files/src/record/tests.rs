// SPDX-License-Identifier: MIT OR Apache-2.0
//! Those who look at a computation: what they write, when, and what is there when something fails.

use std::fs::{self, File};
use std::io::BufReader;
use std::ops::ControlFlow;
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::*;
use crate::io::colours::{ColourRange, Colours, PictureStyle, entry};
use crate::io::{Output, checkpoint};
use problem::error::InterruptedWork;
use problem::observe::{ArrayName, ComputedBy, Observer, Snapshot};
use problem::{Clock, Dtype, Error, Grid, Region, Shape, Values};

/// Somebody asked for an end.
const STOPPED: Error = Error::Stopped { during: InterruptedWork::Computing };

/// A field of 2 × 3 points.
struct Field(Grid);

impl Field {
    fn of(value: f64) -> Self {
        Self(
            Grid::new(&[2, 3], (0..6).map(|at| value + f64::from(at)).collect::<Vec<_>>()).unwrap(),
        )
    }
}

impl Snapshot for Field {
    fn shape(&self) -> Shape {
        self.0.shape
    }
    fn arrays(&self) -> Vec<ArrayName> {
        vec![ArrayName { field: "u".into(), level: 0 }]
    }
    fn by(&self) -> ComputedBy {
        ComputedBy { engine: "cpu".into(), how: String::new() }
    }
    fn read(&mut self, _: usize, region: Region) -> Result<Values, Error> {
        Ok(self.0.read(region))
    }
    fn check_finite(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

/// Files of this name, of all points.
fn wish(path: &Path) -> RecordingRequest {
    RecordingRequest {
        pattern: Pattern::new(path).unwrap(),
        slice: None,
        stride: 1,
        fields: None,
        look: PictureStyle::default(),
    }
}

/// What is written of a field into files of this name.
fn recording(path: &Path) -> Recording {
    recording_of(wish(path), Dtype::F64)
}

/// A recording of a field `u` of 2x3 values of a type, with what is to be written.
fn recording_of(wish: RecordingRequest, dtype: Dtype) -> Recording {
    let fields = ["u".to_owned()];
    let shape = Shape::new(&[2, 3]).unwrap();
    Recording::new(wish, shape, dtype, &fields, Units::default()).unwrap()
}

/// The entries of each picture of a film, of which a field is looked at every so many steps of `last`, where a
/// computation ends after `end` steps.
fn film(
    look: PictureStyle,
    every: usize,
    [end, last]: [usize; 2],
    field: impl Fn(usize) -> Field,
) -> Vec<[u8; 6]> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("u.png");
    let recording = recording_of(RecordingRequest { look, ..wish(&path) }, field(0).0.dtype());
    let mut snapshots = Snapshots::new(recording, every, 0, last).unwrap();
    for done in 0..=end {
        assert_eq!(snapshots.look(done, &mut field(done)).unwrap(), ControlFlow::Continue(()));
    }
    let (films, _) = snapshots.finish(end, &mut field(end)).unwrap();
    let output = Output::new(&path).unwrap();
    for (_, film) in films {
        film.stage(&output).unwrap().publish().unwrap();
    }
    let file = BufReader::new(File::open(&path).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let told = reader.info().animation_control().unwrap().num_frames;
    let mut picture = || {
        let mut pixels = [0; 6];
        reader.next_frame(&mut pixels).map(|_| pixels)
    };
    let pictures = (0..told).map(|_| picture().unwrap()).collect();
    assert!(picture().is_err(), "more than {told} pictures");
    pictures
}

#[test]
fn a_film_has_each_step_once_wherever_a_computation_ends() {
    for every in 1..=4 {
        for end in 0..=8 {
            let expected = (0..=end).filter(|step| step % every == 0 || *step == end).count();
            for last in [end, end + 1, 100] {
                // Pictures that wait for the others, and pictures that are drawn at once.
                let range = [ColourRange::Auto, ColourRange::Each][(end + last) % 2];
                let look = PictureStyle { range, ..PictureStyle::default() };
                let found = film(look, every, [end, last], |_| Field::of(0.0)).len();
                assert_eq!(found, expected, "every {every}, {end} of {last} steps, {range:?}");
            }
        }
    }
}

/// A value has one colour throughout a film, unless each picture is to have a range of its own.
#[test]
fn colours_of_a_film_span_all_its_pictures() {
    // Rises and falls, so that the range is that of no picture, first, last or between.
    let value = |step: usize, at: usize| [0.0, 8.0, -24.0, 4.0][step] + at as f64;
    for dtype in [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64] {
        let field = |step: usize| {
            let values: Vec<f64> = (0..6).map(|at| value(step, at)).collect();
            let Grid { shape, values } = Grid::new(&[2, 3], values).unwrap();
            Field(Grid { shape, values: values.cast(dtype) })
        };
        for (colours, all) in [(Colours::Viridis, [-24.0, 13.0]), (Colours::BlueRed, [-24.0, 24.0])]
        {
            let ranges = [(ColourRange::Auto, Some(all)), (ColourRange::Each, None)];
            for (range, ends) in
                ranges.into_iter().chain([(ColourRange::Fixed(0.0, 5.0), Some([0.0, 5.0]))])
            {
                let found = film(PictureStyle { colours, range }, 1, [3, 3], field);
                let expected = (0..4).map(|step| {
                    let own = || ColourRange::Auto.of([value(step, 0), value(step, 5)], colours);
                    std::array::from_fn(|at| entry(value(step, at), ends.unwrap_or_else(own)))
                });
                assert_eq!(
                    found,
                    expected.collect::<Vec<[u8; 6]>>(),
                    "{dtype}, {colours}, {range:?}"
                );
            }
        }
    }
}

#[test]
fn a_series_has_each_step_but_the_end_and_only_those_that_are_due() {
    for every in 1..=4 {
        for end in 0..=8 {
            let folder = tempfile::tempdir().unwrap();
            let recording = recording(&folder.path().join("u_{step}.npy"));
            let mut snapshots = Snapshots::new(recording, every, 0, end).unwrap();
            for done in 0..=end {
                assert_eq!(
                    snapshots.look(done, &mut Field::of(0.0)).unwrap(),
                    ControlFlow::Continue(())
                );
            }
            snapshots.finish(end, &mut Field::of(0.0)).unwrap();
            let there = |step: &usize| folder.path().join(format!("u_{step}.npy")).exists();
            let found: Vec<usize> = (0..=end).filter(there).collect();
            let expected: Vec<usize> = (0..end).step_by(every).collect();
            assert_eq!(found, expected, "every {every} of {end} steps");
        }
    }
}

#[test]
fn what_changes_is_the_average_of_a_step_however_seldom_somebody_looks() {
    for every in [1, 2, 5, 100, 1000] {
        for slope in [0.5, -0.25] {
            for (tolerance, is_enough) in [(0.2, false), (0.6, true)] {
                let mut steady = SteadyEnd::new(tolerance, every);
                let mut flow = ControlFlow::Continue(());
                for look in 0..=2 {
                    assert_eq!(flow, ControlFlow::Continue(()));
                    let step = look * every;
                    assert_eq!(steady.next(step), Some(step + every));
                    flow = steady.look(step, &mut Field::of(slope * step as f64)).unwrap();
                    if look == 0 {
                        assert_eq!(steady.change(), None);
                    } else {
                        assert_eq!(steady.change(), Some(slope.abs()), "every {every}");
                        assert_eq!(flow == ControlFlow::Break(()), is_enough, "every {every}");
                        break;
                    }
                }
                assert_eq!(steady.is_reached(), is_enough);
            }
        }
    }
}

/// Checkpoints in a folder, every so many steps of 10, after these files.
fn checkpoints(path: &Path, every: usize, files: &WriteCounter) -> Checkpoints {
    let (output, every) = (Output::new(path).unwrap(), CheckpointInterval::Steps(every));
    Checkpoints::new(output, every, "title".into(), "problem".into(), [0, 10])
        .after(Some(files.clone()))
}

/// Whoever goes on from a checkpoint writes no files of earlier steps, so these are there before it is.
#[test]
fn a_checkpoint_is_not_there_before_the_files_of_earlier_steps() {
    type Moment = fn(&mut Checkpoints);
    let due: Moment = |own| assert!(own.look(4, &mut Field::of(1.0)).is_ok());
    let stopped: Moment = |own| own.ends(5, &mut Field::of(1.0), &STOPPED);
    let finished: Moment = |own| own.finishes(10, &mut Field::of(1.0));
    for (moment, step) in [(due, 4), (stopped, 5), (finished, 10)] {
        let (folder, files) = (tempfile::tempdir().unwrap(), WriteCounter::default());
        let path = folder.path().join("state");
        let mut own = checkpoints(&path, 2, &files);
        files.expect_one();
        thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let _one = files.one();
                thread::sleep(Duration::from_millis(60));
                path.exists()
            });
            moment(&mut own);
            assert!(!writer.join().unwrap(), "a checkpoint of step {step} was there");
        });
        assert!(own.failed().is_none());
        assert_eq!(checkpoint::look(&path).unwrap().step, step);
    }
}

#[test]
fn a_checkpoint_that_cannot_be_written_leaves_the_one_before() {
    let (folder, files) = (tempfile::tempdir().unwrap(), WriteCounter::default());
    let path = folder.path().join("state");
    let mut own = checkpoints(&path, 2, &files);
    let flow = own.look(2, &mut Field::of(1.0)).unwrap();
    assert_eq!(flow, ControlFlow::Continue(()));
    let before = fs::read(&path).unwrap();
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).unwrap();
    assert!(own.look(4, &mut Field::of(2.0)).is_err());
    own.ends(5, &mut Field::of(2.0), &STOPPED);
    assert!(own.failed().is_some());
    own.finishes(10, &mut Field::of(2.0));
    assert!(own.failed().is_some() && own.failed().is_none());
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(own.written(), Some((path, 2)));
}

#[test]
fn the_end_is_always_kept() {
    let files = WriteCounter::default();
    for every in [1, 3, 5, 7, 10, 100] {
        for end in [0, 1, 5, 9, 10] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("state");
            let mut own = checkpoints(&path, every, &files);
            for done in 0..=end {
                assert!(own.look(done, &mut Field::of(done as f64)).is_ok());
            }
            let due = (1..=end.min(9)).rev().find(|step| step % every == 0);
            assert_eq!(own.written().map(|(_, step)| step), due, "every {every}, {end} steps");
            own.finishes(end, &mut Field::of(end as f64));
            assert!(own.failed().is_none());
            let read = checkpoint::read(&path).unwrap();
            assert_eq!(read.header.step, end, "every {every}");
            assert_eq!(read.arrays[0].1, Field::of(end as f64).0);
        }
    }
}

/// The numbers of an attribute in a header of VTK.
fn attribute(text: &str, name: &str) -> Vec<f64> {
    let (_, rest) = text.split_once(&format!(" {name}=\"")).unwrap_or_else(|| panic!("{text}"));
    rest.split('"').next().unwrap().split(' ').map(|number| number.parse().unwrap()).collect()
}

/// Values that are the sum of a point's coordinates come back from what a file says of its points, in C order.
#[test]
fn files_say_where_points_lie_whatever_slice_and_stride_are_written() {
    const SPACING: [f64; 3] = [30.0, 2.0, 0.5];
    let folder = tempfile::tempdir().unwrap();
    for (size, slices) in [
        (&[9][..], &[None][..]),
        (&[5, 9], &[None, Some("y=3"), Some("x")]),
        (&[4, 5, 9], &[None, Some("z=1"), Some("y"), Some("x=8")]),
    ] {
        let shape = Shape::new(size).unwrap();
        let [_, ny, nx] = shape.extents();
        let place = |i: usize| [i / nx / ny, i / nx % ny, i % nx];
        let sum = |at: [usize; 3]| (0..3).map(|axis| at[axis] as f64 * SPACING[axis]).sum::<f64>();
        let values: Vec<f64> = (0..shape.points()).map(|i| sum(place(i))).collect();
        let mut field = Field(Grid::new(size, values).unwrap());
        for (slice, stride) in slices.iter().flat_map(|slice| [1, 2, 4].map(|k| (slice, k))) {
            for (name, image) in [("u.vti", "u.vti"), ("u.pvti", "u_rank0.vti")] {
                let path = folder.path().join(name);
                let slice = slice.map(|slice| slice.parse().unwrap());
                let wish = RecordingRequest { slice, stride, ..wish(&path) };
                let units = Units { time: RecordingClock::Counted, spacing: SPACING };
                let recording =
                    Recording::new(wish, shape, Dtype::F64, &["u".into()], units).unwrap();
                let target = &recording.targets(0)[0];
                let output = recording.output(&path).unwrap();
                let staged = recording.stage_snapshot(target, &output, 0, &mut field);
                staged.unwrap().publish().unwrap();
                let bytes = fs::read(folder.path().join(image)).unwrap();
                let start = bytes.windows(5).position(|window| window == b"\n   _").unwrap() + 5;
                let text = String::from_utf8_lossy(&bytes[..start]).into_owned();
                if name == "u.pvti" {
                    let list = fs::read_to_string(&path).unwrap();
                    for name in ["Origin", "Spacing", "WholeExtent"] {
                        assert_eq!(attribute(&list, name), attribute(&text, name), "{list}");
                    }
                }
                let (origin, spacing) = (attribute(&text, "Origin"), attribute(&text, "Spacing"));
                let extent = attribute(&text, "WholeExtent");
                let count = |axis: usize| extent[2 * axis + 1] as usize + 1;
                let at = |axis: usize, i: usize| origin[axis] + i as f64 * spacing[axis];
                let expected = (0..count(2)).flat_map(|z| {
                    (0..count(1)).flat_map(move |y| (0..count(0)).map(move |x| [x, y, z]))
                });
                let expected: Vec<f64> =
                    expected.map(|[x, y, z]| at(0, x) + at(1, y) + at(2, z)).collect();
                let found: Vec<f64> = bytes[start + 8..][..expected.len() * 8]
                    .chunks(8)
                    .map(|value| f64::from_le_bytes(value.try_into().unwrap()))
                    .collect();
                assert_eq!(found, expected, "{text}");
            }
        }
    }
}

/// A field with the clock of its steps.
struct Timed(Field, Clock);

impl Snapshot for Timed {
    fn shape(&self) -> Shape {
        self.0.shape()
    }
    fn arrays(&self) -> Vec<ArrayName> {
        self.0.arrays()
    }
    fn by(&self) -> ComputedBy {
        self.0.by()
    }
    fn read(&mut self, array: usize, region: Region) -> Result<Values, Error> {
        self.0.read(array, region)
    }
    fn check_finite(&mut self) -> Result<(), Error> {
        Ok(())
    }
    fn clock(&self) -> Option<Clock> {
        Some(self.1)
    }
}

/// Steps of a length that grows: 0.1 before step 3, then 0.25. Files, and the list of a run that was gone on with, have the times of
/// the clock.
#[test]
fn files_of_steps_of_any_length_have_their_times() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("u_{step}.vti");
    let after = |step: usize| {
        let clock = match step {
            0..3 => Clock { step: 0, time: 0.0, dt: 0.1, until: 3 },
            _ => Clock { step: 3, time: 0.3, dt: 0.25, until: 100 },
        };
        Timed(Field::of(step as f64), clock)
    };
    let shape = Shape::new(&[2, 3]).unwrap();
    let units = Units { time: RecordingClock::Told, ..Units::default() };
    let recording =
        || Recording::new(wish(&path), shape, Dtype::F64, &["u".to_owned()], units).unwrap();
    let list = folder.path().join("u.pvd");
    // A run that ends after step 5, and one that goes on from a checkpoint of step 4.
    for (done, end) in [(0, 5), (4, 7)] {
        let mut snapshots = Snapshots::new(recording(), 2, done, 100).unwrap();
        for step in done..=end {
            let _ = snapshots.look(step, &mut after(step)).unwrap();
        }
        snapshots.finish(end, &mut after(end)).unwrap();
    }
    // The last one is written by whoever checks it.
    let (recording, mut last) = (recording(), after(7));
    for target in recording.targets(7) {
        let output = recording.output(&target.path).unwrap();
        recording.stage_snapshot(&target, &output, 7, &mut last).unwrap().publish().unwrap();
    }
    recording.list(2, recording.moment(7, &last)).unwrap();
    let text = fs::read_to_string(&list).unwrap();
    let expected: Vec<f64> = [0, 2, 4, 6, 7].map(|step| after(step).1.at(step as f64)).into();
    let times: Vec<f64> = text
        .split("timestep=\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(times, expected, "{text}");
    for (step, time) in [0, 2, 4, 6, 7].into_iter().zip(expected) {
        let bytes = fs::read(folder.path().join(format!("u_{step}.vti"))).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.contains(&format!("format=\"ascii\">{time}</DataArray>")), "{text}");
    }
}
