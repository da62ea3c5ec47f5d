// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machine code has the bits of blocks that are executed step by step, and steps that are taken together have those of single
//! ones.

use std::borrow::Cow;
use std::path::Path;

use half::{bf16, f16};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::stored::StoredType;
use super::together::{fitting, rows_of_a_step};
use super::watch::Watch;
use super::{Cpu, check_together, stored};
use crate::adjoint::{Adjoint, GradientVariables, Misfit};
use crate::checked::System;
use crate::start::StartValues;
use crate::tests::draw::{in_stages, many, of_axes, of_axes_in_stages, system};
use crate::tests::tier::cases;
use crate::text::Text;
use crate::{Description, FieldText};
use problem::{Dtype, Grid, Region};

/// Random systems.
const CASES: u64 = 120;

fn begun<T: StoredType>(system: &System) -> Cpu<T> {
    Cpu::new(system.clone(), StartValues::new(system).unwrap())
}

fn bits<T: StoredType>(values: &[T]) -> Vec<u64> {
    values.iter().map(|it| it.to_f64().to_bits()).collect()
}

/// All levels of all fields have the same bits.
fn same<T: StoredType, U: StoredType>(a: &Cpu<T>, b: &Cpu<U>, what: &str) {
    let whole = Region::whole(a.system.shape);
    let levels = a.system.fields.iter().map(|it| it.levels);
    let fields = a.arrays.fields.iter().zip(&b.arrays.fields).zip(levels);
    for (field, ((a, b), levels)) in fields.enumerate() {
        let levels = a.iter().zip(b).take(levels).enumerate();
        for (level, (a, b)) in levels {
            let (a, b) = (bits(&a.get(whole)), bits(&b.get(whole)));
            assert!(a == b, "{what}: field {field}, level {level}");
        }
    }
}

/// Whether there was machine code to compare.
fn compared<T: StoredType>(system: &System, seed: u64) -> bool {
    let [mut compiled, mut executed] = [(); 2].map(|()| begun::<T>(system));
    if executed.stages.iter_mut().any(|stage| stage.compiled.take().is_none()) {
        return false;
    }
    executed.follows = false;
    for step in 0..4 {
        compiled.pass(1, None, &Watch::nothing()).unwrap();
        executed.pass(1, None, &Watch::nothing()).unwrap();
        same(&compiled, &executed, &format!("seed {seed}, step {step}"));
    }
    true
}

/// Whether steps were taken together.
fn together<T: StoredType>(system: &System, random: &mut ChaCha8Rng, what: &str) -> bool {
    let [mut several, mut single] = [(); 2].map(|()| begun::<T>(system));
    let [_, rows, _] = system.shape.extents();
    let most = fitting(rows, rows_of_a_step(system), 7);
    if most == 1 || check_together(system).is_err() {
        return false;
    }
    single.follows = false;
    for _ in 0..3 {
        let steps = random.random_range(if system.is_staged() { 1 } else { 2 }..=most);
        several.pass(steps, None, &Watch::nothing()).unwrap();
        (0..steps).for_each(|_| single.pass(1, None, &Watch::nothing()).unwrap());
        same(&several, &single, &format!("{what}, {steps} steps"));
    }
    true
}

#[test]
fn machine_code_has_the_bits_of_steps() {
    let of_case = |seed: &u64| {
        let description = match seed % 8 {
            7 => many(*seed),
            5 | 6 => in_stages(*seed, 3),
            _ => system(*seed),
        };
        let system = System::new(&description, Path::new("")).unwrap();
        match stored(&system) {
            Dtype::F64 => compared::<f64>(&system, *seed),
            Dtype::F16 => compared::<f16>(&system, *seed),
            Dtype::Bf16 => compared::<bf16>(&system, *seed),
            _ => compared::<f32>(&system, *seed),
        }
    };
    let cases = cases(CASES, 80);
    let taken = (0..cases).filter(of_case).count();
    println!("{taken} of {cases} systems");
    assert!(taken > cases as usize * 9 / 10 || !cfg!(target_arch = "x86_64"), "{taken}");
}

/// Whether a system's values were kept in two bytes and in four.
fn kept_in_two_bytes<T: StoredType>(system: &System, seed: u64) -> bool {
    let (mut narrow, mut wide) = (begun::<T>(system), begun::<f32>(system));
    for step in 0..4 {
        narrow.pass(1, None, &Watch::nothing()).unwrap();
        wide.pass(1, None, &Watch::nothing()).unwrap();
        same(&narrow, &wide, &format!("seed {seed}, step {step}"));
    }
    true
}

#[test]
fn values_of_two_bytes_have_the_bits_of_those_kept_as_f32() {
    let of_case = |seed: &u64| {
        let mut description = match seed % 8 {
            7 => many(*seed),
            // Rows of several windows.
            6 => of_axes(1, *seed, 2),
            5 => in_stages(*seed, 3),
            _ => system(*seed),
        };
        if seed % 8 == 6 {
            description.size = vec![3000 + *seed as usize];
        }
        description.dtype = [Dtype::F16, Dtype::Bf16][(seed / 8 % 2) as usize];
        let Ok(system) = System::new(&description, Path::new("")) else { return false };
        match stored(&system) {
            Dtype::F16 => kept_in_two_bytes::<f16>(&system, *seed),
            Dtype::Bf16 => kept_in_two_bytes::<bf16>(&system, *seed),
            _ => false,
        }
    };
    let cases = cases(CASES, 80);
    let taken = (0..cases).filter(of_case).count();
    println!("{taken} of {cases} systems");
    assert!(taken > cases as usize / 4, "{taken}");
}

/// Equations that read no array are computed in long parts of rows, too.
#[test]
fn what_reads_nothing_has_blocks() {
    let description = Description::new(&[3000]).dtype(Dtype::F16);
    let description = description.field(FieldText::new("u", "0", "sin(x + n)"));
    let system = System::new(&description, Path::new("")).unwrap();
    let [_, _, columns] = begun::<f16>(&system).stages[0].windows.as_ref().unwrap().block;
    assert!(columns > 1000, "{columns}");
    assert!(kept_in_two_bytes::<f16>(&system, 0));
}

#[test]
fn steps_that_are_taken_together_have_the_bits_of_single_ones() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let of_case = |seed: &u64| {
        let mut random = ChaCha8Rng::seed_from_u64(*seed);
        let axes = if seed.is_multiple_of(8) { 3 } else { 2 };
        let reach = random.random_range(1..=4);
        let mut description = match seed % 3 {
            1 => of_axes_in_stages(axes, *seed, reach),
            _ => of_axes(axes, *seed, reach),
        };
        description.size = vec![random.random_range(2..120), random.random_range(1..90)];
        if axes == 3 {
            description.size.insert(0, 1);
        }
        description.sources.clear();
        description.receivers.clear();
        for number in 0..random.random_range(0..9) {
            let at: Vec<usize> =
                description.size.iter().map(|extent| random.random_range(0..*extent)).collect();
            let add = ["0.125*sin(3*t)", "0.5", "n/64"][number % 3];
            description = description.source("u0", &at, add);
        }
        let system = System::new(&description, Path::new("")).unwrap();
        let what = format!("seed {seed}");
        pool.install(|| match stored(&system) {
            Dtype::F64 => together::<f64>(&system, &mut random, &what),
            Dtype::F16 => together::<f16>(&system, &mut random, &what),
            Dtype::Bf16 => together::<bf16>(&system, &mut random, &what),
            _ => together::<f32>(&system, &mut random, &what),
        })
    };
    let cases = cases(CASES, 80);
    let taken = (0..cases).filter(of_case).count();
    println!("{taken} of {cases} systems");
    assert!(taken > cases as usize / 2 || !cfg!(target_arch = "x86_64"), "{taken}");
}

/// A wave in layers at these sides, of two axes or three.
fn layered(size: &[usize], sides: &[&str], frequency: Option<&str>) -> System {
    let description = Description::new(size).dtype(Dtype::F64).time_step("0.3");
    let description =
        description.derivative("laplace", "laplace", 4).coefficient("c", "1 + 0.1*sin(x)");
    let start =
        if size.len() == 1 { "exp(-(x - 9)^2/8)" } else { "exp(-(x - 9)^2/8 - (y - 8)^2/8)" };
    let field = FieldText::new("p", start, "2*p - prev(p) + (c*dt)^2*laplace(p)");
    let mut description = description.field(field).pml(4, 1.2);
    let pml = description.pml.as_mut().unwrap();
    pml.sides = sides.iter().map(|side| Text::new("a side", side)).collect();
    pml.frequency = frequency.map(|text| Text::new("the frequency", text));
    System::new(&description, Path::new("")).unwrap()
}

/// How far two runs of so many steps are apart that differ in what they know of arrays that vanish, in fields that do not.
fn apart(system: &System, steps: usize) -> f64 {
    let whole = System { vanishing: Vec::new(), ..system.clone() };
    let [mut by_places, mut everywhere] = [system, &whole].map(begun::<f64>);
    assert!(
        by_places.stages.iter().any(|stage| stage.inner.is_some()),
        "no stage has an inner one"
    );
    assert!(everywhere.stages.iter().all(|stage| stage.inner.is_none()));
    let mut far = 0.0f64;
    for _ in 0..steps {
        by_places.pass(1, None, &Watch::nothing()).unwrap();
        everywhere.pass(1, None, &Watch::nothing()).unwrap();
    }
    let region = Region::whole(system.shape);
    for field in (0..system.fields.len()).filter(|field| system.zeros(*field).is_none()) {
        let [own, other] =
            [&by_places, &everywhere].map(|it| it.arrays.fields[field][0].get(region));
        let largest = other.iter().map(|it| it.abs()).fold(0.0, f64::max);
        let off = own.iter().zip(&other).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(largest > 0.0, "{}", system.fields[field].name);
        far = far.max(off / largest);
    }
    far
}

#[test]
fn layers_and_their_adjoints_are_computed_where_they_lie() {
    for (size, sides) in [
        (&[26, 30][..], &[][..]),
        (&[26, 30], &["x-", "y+"]),
        (&[9, 40], &["x+"]),
        (&[17, 18, 19], &[]),
        (&[60], &["x-"]),
    ] {
        for frequency in [None, Some("0.05")] {
            let system = layered(size, sides, frequency);
            let off = apart(&system, 30);
            assert!(off < 1e-12, "{size:?}, {sides:?}: {off:e}");
            let by = GradientVariables { coefficients: vec!["c".into()], parameters: vec![] };
            let misfit = Misfit::unsaid(&system, 30);
            let mut back = Adjoint::new(&system, &by, (0, 30), &misfit).unwrap().system;
            // The adjoint of the wave begins with something, and so does the wave that it is given.
            let held =
                |name: &str| back.fields.iter().position(|field| field.name == name).unwrap();
            for field in ["adjoint_p", "p"].map(held) {
                back.fields[field].start = system.fields[0].start.clone();
            }
            let off = apart(&back, 30);
            assert!(off < 1e-12, "{size:?}, {sides:?}, backwards: {off:e}");
        }
    }
}

/// Where a state comes from elsewhere, what a layer remembers is 0 outside of it.
#[test]
fn a_memory_is_zero_outside_of_its_layer() {
    let system = layered(&[20, 22], &["x-"], None);
    let memory = system.fields.iter().position(|field| field.is_memory).unwrap();
    let given = Grid::new(&[20, 22], vec![1.0; 20 * 22]).unwrap();
    let taken = system.with_zeros(memory, &given);
    let ones = (0..given.shape.points()).filter(|index| taken.get(*index) == 1.0);
    assert_eq!(ones.count(), 20 * 4);
    assert!(matches!(system.with_zeros(0, &given), Cow::Borrowed(_)));
    assert!(matches!(system.with_zeros(memory, &taken), Cow::Borrowed(_)));
}
