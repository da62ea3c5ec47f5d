// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each rank makes, reads and writes its part: the values and files are those of one rank, whoever goes on with them.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use files::io::checkpoint::{self, index};
use files::io::colours::PictureStyle;
use files::io::{Output, StartSource};
use files::record::{Pattern, Recording, RecordingRequest, Units};
use problem::observe::{ArrayName, ComputedBy, PartContent, PartFile, Snapshot};
use problem::{Error, Values};
use rand_chacha::rand_core::Rng as _;

/// Threads that share a job.
fn team(job: &Job, partition: Partition) -> Box<dyn SumSession> {
    let launch = if let Depth::Steps(depth) = job.chain { depth } else { 1 };
    let rhythm = ExchangeInterval { period: 2 * launch, edges: false };
    engine(RankEngine::Cpu, partition, rhythm).prepare(job).unwrap()
}

/// A session as those see it who write.
struct SessionSnapshot(Box<dyn SumSession>);

impl Snapshot for SessionSnapshot {
    fn shape(&self) -> Shape {
        self.0.shape()
    }
    fn arrays(&self) -> Vec<ArrayName> {
        vec![ArrayName { field: "u".into(), level: 0 }]
    }
    fn by(&self) -> ComputedBy {
        ComputedBy { engine: "cpu".into(), how: String::new() }
    }
    fn read(&mut self, _: usize, region: Region) -> Result<Values, Error> {
        self.0.read(0, State::Now, region)
    }
    fn check_finite(&mut self) -> Result<(), Error> {
        Ok(())
    }
    fn parts(&self) -> Option<Vec<Region>> {
        self.0.parts()
    }
    fn write_parts(&mut self, files: &[PartFile]) -> Result<Vec<String>, Error> {
        self.0.write_parts(files)
    }
}

fn loaded(session: &mut dyn SumSession) -> Grid {
    let shape = session.shape();
    let values = session.read(0, State::Loaded, Region::whole(shape)).unwrap();
    Grid { shape, values }
}

/// A `.npy` file of values that any type holds.
fn array(path: &Path, shape: Shape, descr: &str, fortran: bool, seed: u64) -> StartSource {
    let extents: Vec<String> = shape.axes().iter().map(|extent| format!("{extent},")).collect();
    let order = if fortran { "True" } else { "False" };
    let text = format!(
        "{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({}), }}\n",
        extents.join(" ")
    );
    let mut bytes = [b"\x93NUMPY\x01\x00", &(text.len() as u16).to_le_bytes()[..]].concat();
    bytes.extend(text.as_bytes());
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for _ in 0..shape.points() {
        let value = rng.next_u32() as u8 % 100;
        match descr {
            "|u1" => bytes.push(value),
            ">f4" => bytes.extend((f32::from(value) / 8.0).to_be_bytes()),
            _ => bytes.extend((f64::from(value) / 8.0).to_le_bytes()),
        }
    }
    fs::write(path, bytes).unwrap();
    StartSource::Array(path.to_owned())
}

#[test]
fn each_rank_makes_or_reads_its_part() {
    let folder = tempfile::tempdir().unwrap();
    for seed in 0..60 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (job, partition) = job(&mut rng);
        let path = folder.path().join("a.npy");
        let initial = match seed % 6 {
            0 => StartSource::Random(seed),
            1 => StartSource::Constant(0.75),
            2 => StartSource::Gauss,
            3 => array(&path, job.shape, "|u1", false, seed),
            4 => array(&path, job.shape, ">f4", true, seed),
            _ => array(&path, job.shape, "<f8", false, seed),
        };
        let whole = initial.grid(job.shape, job.dtype).unwrap();
        let mut one = Cpu.prepare(&job).unwrap();
        let expected = run(&mut *one, &whole, &[job.steps]);
        let mut team = team(&job, partition);
        assert!(team.start(&initial).unwrap());
        assert_eq!(loaded(&mut *team), expected[1], "{seed}: {initial:?} {job:?}");
        team.advance(job.steps).unwrap();
        assert_eq!(team.store().unwrap(), expected[0], "{seed}: {initial:?} {job:?}");
    }
}

/// A job on a grid of 3 axes that is cut along two of them.
fn cut_twice(dtype: Dtype) -> (Job, Partition) {
    let stencil = transform::catalogue::find("star3d1r").unwrap();
    let mut job = Job::new(stencil, "6x7x9".parse().unwrap(), dtype, 5);
    job.boundary = Boundary::parse("y:periodic", 3).unwrap();
    let partition = Partition::new(job.shape, [1, 3, 2], [1; 3]).unwrap();
    (job, partition)
}

#[test]
fn of_values_that_are_not_finite_the_first_is_told_with_its_place_in_the_whole_grid() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    let (job, partition) = cut_twice(Dtype::F16);
    for (bad, text) in [
        (vec![(377, f64::NAN)], "the input holds NaN at (z, y, x) = (5, 6, 8)"),
        (vec![(377, f64::NAN), (20, 1e9)], "the input holds NaN at (z, y, x) = (5, 6, 8)"),
        (vec![(377, 1e9), (64, -1e9)], "the input as f16 holds -inf at (z, y, x) = (1, 0, 1)"),
    ] {
        let initial = array(&path, job.shape, "<f8", false, 1);
        let mut bytes = fs::read(&path).unwrap();
        let start = bytes.len() - 378 * 8;
        for (place, value) in bad {
            bytes[start + place * 8..][..8].copy_from_slice(&f64::to_le_bytes(value));
        }
        fs::write(&path, bytes).unwrap();
        let alone = initial.grid(job.shape, job.dtype).unwrap_err().to_string();
        let error = team(&job, partition.clone()).start(&initial).unwrap_err();
        assert_eq!([alone, error.to_string()], [text, text]);
    }
    let error =
        team(&job, partition).start(&StartSource::Array(folder.path().join("none"))).unwrap_err();
    assert!(error.to_string().contains("rank 0"), "{error}");
    assert!(error.to_string().contains("none"), "{error}");
}

/// What is written of a session into a file.
fn write(
    session: Box<dyn SumSession>,
    path: &Path,
    dtype: Dtype,
) -> Result<Box<dyn SumSession>, Error> {
    let mut still = SessionSnapshot(session);
    let wish = RecordingRequest {
        pattern: Pattern::new(path).unwrap(),
        slice: None,
        stride: 1,
        fields: None,
        look: PictureStyle::default(),
    };
    let recording = Recording::new(wish, still.shape(), dtype, &["u".into()], Units::default())?;
    let target = &recording.targets(5)[0];
    let output = recording.output(path)?;
    recording.stage_snapshot(target, &output, 5, &mut still)?.publish()?;
    Ok(still.0)
}

#[test]
fn arrays_have_the_bytes_of_one_rank() {
    let folder = tempfile::tempdir().unwrap();
    let [one, all] = ["one.npy", "all.npy"].map(|name| folder.path().join(name));
    for seed in 0..40 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (job, partition) = job(&mut rng);
        let initial = StartSource::Random(seed);
        let mut alone = Cpu.prepare(&job).unwrap();
        alone.load(&initial.grid(job.shape, job.dtype).unwrap()).unwrap();
        let mut team = team(&job, partition);
        team.start(&initial).unwrap();
        for (session, path) in [(alone, &one), (team, &all)] {
            let mut session = session;
            session.advance(job.steps).unwrap();
            write(session, path, job.dtype).unwrap();
        }
        assert!(fs::read(&one).unwrap() == fs::read(&all).unwrap(), "{seed}: {job:?}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}

#[test]
fn a_rank_that_cannot_write_is_named_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    fs::write(&path, "precious").unwrap();
    let (job, partition) = cut_twice(Dtype::F32);
    let mut team = team(&job, partition);
    team.start(&StartSource::Gauss).unwrap();
    let there = folder.path().join("there");
    fs::write(&there, "").unwrap();
    let file = |rank: usize| {
        let path = if rank == 4 { folder.path().join("elsewhere") } else { there.clone() };
        PartFile { name: "a.state".into(), path, what: PartContent::State }
    };
    let files: Vec<PartFile> = (0..6).map(file).collect();
    let error = team.write_parts(&files).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("rank 4 (CPU"), "{text}");
    assert!(
        text.contains("cannot write a.state: ")
            && text.contains("elsewhere, but this rank does not find it"),
        "{text}"
    );
    assert_eq!(error.kind(), problem::ErrorKind::File);
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    team.advance(3).unwrap();
    let before = team.store().unwrap();
    let mut team = write(team, &path, Dtype::F32).unwrap();
    assert_eq!(files::io::npy::read_grid(&path, 3).unwrap(), before);
    team.advance(2).unwrap();
}

/// The values of a piece, behind its header.
fn image(path: &Path) -> Vec<f32> {
    let bytes = fs::read(path).unwrap();
    let start = bytes.windows(5).position(|window| window == b"\n   _").unwrap() + 5;
    let length = u64::from_le_bytes(bytes[start..start + 8].try_into().unwrap()) as usize;
    let values = &bytes[start + 8..][..length];
    assert!(bytes[start + 8 + length..].ends_with(b"</VTKFile>\n"));
    values.chunks(4).map(|value| f32::from_le_bytes(value.try_into().unwrap())).collect()
}

#[test]
fn images_in_pieces_have_a_piece_of_each_rank_which_ends_with_its_neighbours_points() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("u.pvti");
    let (job, partition) = cut_twice(Dtype::F16);
    let mut team = team(&job, partition.clone());
    team.start(&StartSource::Random(3)).unwrap();
    team.advance(4).unwrap();
    let grid = team.store().unwrap();
    write(team, &path, Dtype::F16).unwrap();
    let list = fs::read_to_string(&path).unwrap();
    for rank in 0..6 {
        let mut of = partition.own(rank);
        for axis in 0..3 {
            of.high[axis] = (of.high[axis] + 1).min([6, 7, 9][axis]);
        }
        let name = format!("u_rank{rank}.vti");
        let Region { low, high } = of;
        let extent = format!(
            "{} {} {} {} {} {}",
            low[2],
            high[2] - 1,
            low[1],
            high[1] - 1,
            low[0],
            high[0] - 1
        );
        let line = format!("<Piece Extent=\"{extent}\" Source=\"{name}\"/>");
        assert!(list.contains(&line), "{list}\n{line}");
        let piece = folder.path().join(name);
        let expected = grid.read(of).cast(Dtype::F32);
        assert_eq!(Values::F32(image(&piece)), expected, "{rank}");
        assert!(String::from_utf8_lossy(&fs::read(&piece).unwrap()).contains(&extent));
    }
    // Of one rank it is one piece.
    let mut alone = Cpu.prepare(&job).unwrap();
    alone.load(&grid).unwrap();
    write(alone, &path, Dtype::F16).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap().matches("<Piece").count(), 1);
    let piece = image(&folder.path().join("u_rank0.vti"));
    assert_eq!(Values::F32(piece), grid.values.cast(Dtype::F32));
}

/// Writes a checkpoint of a session as it stands.
fn keep(session: Box<dyn SumSession>, path: &Path, step: usize) -> Box<dyn SumSession> {
    let mut still = SessionSnapshot(session);
    let output = Output::new(path).unwrap();
    checkpoint::write(&output, "title", "problem", (step, None), &mut still).unwrap();
    still.0
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn any_number_of_ranks_goes_on_from_a_checkpoint_of_any_other() {
    for seed in 0..40 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (job, partition) = job(&mut rng);
        let most = job.shape.extents().into_iter().max().unwrap().min(4);
        let other = Partition::for_ranks(job.shape, rng.random_range(1..=most), [1; 3]);
        let whole = StartSource::Random(seed).grid(job.shape, job.dtype).unwrap();
        let mut one = Cpu.prepare(&job).unwrap();
        let half = job.steps / 2;
        let expected = run(&mut *one, &whole, &[half, job.steps - half]);
        // By one rank, or several.
        let mut first = match seed % 3 {
            0 => Cpu.prepare(&job).unwrap(),
            _ => team(&job, partition),
        };
        first.load(&whole).unwrap();
        first.advance(half).unwrap();
        let state = first.store().unwrap();
        drop(keep(first, &path, half));
        let read = checkpoint::read(&path).unwrap();
        assert_eq!((read.header.step, &read.arrays[0].1), (half, &state), "{seed}: {job:?}");
        assert_eq!(checkpoint::look(&path).unwrap(), read.header);
        let Ok(other) = other else { continue };
        let mut second = team(&job, other);
        assert!(second.start(&StartSource::Checkpoint(path)).unwrap());
        assert_eq!(loaded(&mut *second), state, "{seed}: {job:?}");
        second.advance(job.steps - half).unwrap();
        assert_eq!(second.store().unwrap(), expected[0], "{seed}: {job:?}");
    }
}

/// A session after some steps with a checkpoint of it, and its grid.
fn kept(path: &Path) -> (Box<dyn SumSession>, Grid) {
    let (job, partition) = cut_twice(Dtype::F64);
    let mut team = team(&job, partition);
    team.start(&StartSource::Random(9)).unwrap();
    team.advance(2).unwrap();
    let mut team = keep(team, path, 2);
    let grid = team.store().unwrap();
    (team, grid)
}

#[test]
fn whatever_moment_a_run_is_killed_at_the_last_checkpoint_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    let own = folder.path().join("state.1.7");
    fs::write(&own, "no part of a checkpoint").unwrap();
    let (mut team, before) = kept(&path);
    let parts = |step: &str| (0..6).map(|rank| format!("state.{step}.{rank}")).collect::<Vec<_>>();
    let expected = |step| [vec!["state".to_owned(), "state.1.7".to_owned()], parts(step)].concat();
    assert_eq!(names(folder.path()), expected("2"));
    // Of another step, and again of the same one: killed when all parts are there.
    for (step, advance) in [(4, 2), (2, 0)] {
        team.advance(advance).unwrap();
        let mut still = SessionSnapshot(team);
        let output = Output::new(&path).unwrap();
        let header = checkpoint::Header { step, ..checkpoint::look(&path).unwrap() };
        index::write_parts(&output, header, &mut still).unwrap();
        team = still.0;
        let read = checkpoint::read(&path).unwrap();
        assert_eq!((read.header.step, &read.arrays[0].1), (2, &before));
    }
    let all =
        [&["state".to_owned(), "state.1.7".to_owned()][..], &parts("2"), &parts("2b"), &parts("4")];
    assert_eq!(names(folder.path()), all.concat());
    // The next one leaves nothing of the others, but what is none of its own.
    team = keep(team, &path, 5);
    assert_eq!(names(folder.path()), expected("5"));
    assert_eq!(checkpoint::read(&path).unwrap().arrays[0].1, team.store().unwrap());
    let (job, _) = cut_twice(Dtype::F64);
    let mut alone = Cpu.prepare(&job).unwrap();
    alone.load(&before).unwrap();
    keep(alone, &path, 6);
    assert_eq!(names(folder.path()), ["state", "state.1.7"]);
}

#[test]
fn a_checkpoint_that_cannot_be_replaced_is_still_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    let (mut team, before) = kept(&path);
    let read_only = |is: bool| {
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(is);
        fs::set_permissions(&path, permissions).unwrap();
    };
    // The index may not be replaced, or a file lies where the third part of the next one belongs.
    let foreign = folder.path().join("state.7.2");
    for (step, index) in [(4, true), (2, true), (7, false)] {
        team.advance(1).unwrap();
        let (mut still, output) = (SessionSnapshot(team), Output::new(&path).unwrap());
        if index {
            read_only(true);
        } else {
            fs::write(&foreign, "no part of a checkpoint").unwrap();
        }
        let refused = checkpoint::write(&output, "title", "problem", (step, None), &mut still);
        assert_eq!(refused.unwrap_err().kind(), problem::ErrorKind::File, "{step}");
        read_only(false);
        team = still.0;
        let read = checkpoint::read(&path).unwrap();
        assert_eq!((read.header.step, &read.arrays[0].1), (2, &before), "{step}");
    }
    fs::remove_file(foreign).unwrap();
    // The next one that is written leaves nothing of those.
    let _ = keep(team, &path, 8);
    assert_eq!(names(folder.path()).len(), 7);
}

#[test]
fn what_is_cut_or_damaged_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    let (_, before) = kept(&path);
    let (job, partition) = cut_twice(Dtype::F64);
    let initial = StartSource::Checkpoint(path.clone());
    let refused = |what: &dyn Fn(&Path), file: &PathBuf, looks: bool| {
        let good = fs::read(file).unwrap();
        what(file);
        assert_eq!(checkpoint::look(&path).is_err(), looks);
        assert!(checkpoint::read(&path).is_err());
        let error = team(&job, partition.clone()).start(&initial).unwrap_err();
        fs::write(file, good).unwrap();
        error.to_string()
    };
    let part = folder.path().join("state.2.3");
    let flip = |at: usize| {
        move |file: &Path| {
            let mut bytes = fs::read(file).unwrap();
            let at = at.min(bytes.len() - 1);
            bytes[at] ^= 4;
            fs::write(file, bytes).unwrap();
        }
    };
    let text = refused(&flip(100), &part, false);
    assert!(text.contains("state.2.3: the checkpoint is damaged: its checksum"), "{text}");
    for at in [3, usize::MAX] {
        let text = refused(&flip(at), &part, true);
        assert!(text.contains("this part is another one"), "{text}");
    }
    for at in [30, 200, usize::MAX] {
        let text = refused(&flip(at), &path, true);
        assert!(text.contains("state: the checkpoint is damaged"), "{text}");
    }
    let cut = |file: &Path| {
        let bytes = fs::read(file).unwrap();
        fs::write(file, &bytes[..bytes.len() - 1]).unwrap();
    };
    assert!(refused(&cut, &part, true).contains("is incomplete"));
    let text = refused(&|file| fs::remove_file(file).unwrap(), &part, true);
    assert!(text.contains("cannot read") && text.contains("state.2.3"), "{text}");
    assert_eq!(checkpoint::read(&path).unwrap().arrays[0].1, before);
}

#[cfg(feature = "zarr")]
#[test]
fn each_rank_writes_chunks_that_nobody_else_has_points_of() {
    use zarrs::array::Array;
    use zarrs::filesystem::FilesystemStore;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("u.zarr");
    // Cuts at 3 and 6 of 9 and at 4 of 9: chunks at the ends are not full.
    for (size, counts, chunk) in [
        ("6x9x9", [1, 3, 2], [6, 3, 4]),
        ("6x7x9", [1, 3, 2], [6, 2, 4]),
        ("4x4x7", [2, 2, 1], [2, 2, 7]),
    ] {
        let stencil = transform::catalogue::find("star3d1r").unwrap();
        let job = Job::new(stencil, size.parse().unwrap(), Dtype::F64, 5);
        let partition = Partition::new(job.shape, counts, [1; 3]).unwrap();
        let mut team = team(&job, partition);
        team.start(&StartSource::Random(4)).unwrap();
        let grid = team.store().unwrap();
        write(team, &path, Dtype::F64).unwrap();
        let store = std::sync::Arc::new(FilesystemStore::new(&path).unwrap());
        let array = Array::open(store, "/u").unwrap();
        let about = fs::read(path.join("u/zarr.json")).unwrap();
        let about: serde_json::Value = serde_json::from_slice(&about).unwrap();
        let found = &about["chunk_grid"]["configuration"]["chunk_shape"];
        assert_eq!(*found, serde_json::json!(chunk), "{size}");
        let values: Vec<f64> = array.retrieve_array_subset(&array.subset_all()).unwrap();
        assert_eq!(Values::F64(values), grid.values, "{size}");
    }
}
