// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sweeps: the kernel runs in the emulator, and what finishes its sums is read as the other kernels are.

use cuda_driver::{Entry, Extents};
use kernels_gpu::pointwise::Point;
use kernels_gpu::row_window::HALF;
use kernels_gpu::wide2d::finished::{DISTANCE, Emulated, EpilogueInputs, PARAMETER, Parameters};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use std::mem::offset_of;
use std::path::Path;
use std::time::Duration;
use transform::machine::Machine as Gpu;

use ptx_sim::{Memory, Program};

use super::{assemble, cases};
use crate::checked::System;
use crate::examples::find;
use crate::gpu::device::with_sweep;
use crate::gpu::emulated::Emulated as Reader;
use crate::gpu::kernel::{Epilogue, GeneratedKernel};
use crate::gpu::on_target::OnTarget;
use crate::gpu::sweep::FinishedSweep;
use crate::gpu::target::LaunchTarget;
use crate::start::StartValues;
use crate::{Description, FieldText, SystemSimulation};
use compute::device::generated::MOST_ADDRESSES;
use compute::device::{Carried, Chip, Device, Emulator, Launch, MemoryRows, StartOrder, embedded};
use problem::{Dtype, Error};
use transform::{Stencil, Tap};

/// Few multiprocessors, so that blocks take several tiles.
fn gpu() -> Gpu {
    Gpu { multiprocessors: 2, ..Gpu::h200() }
}

/// A system on a sweep.
fn simulation(system: &System) -> (SystemSimulation, FinishedSweep) {
    let beginning = StartValues::new(system).unwrap();
    let system = &system.with_sources_that_count(&beginning);
    let sweep =
        FinishedSweep::new(system, &gpu()).unwrap_or_else(|why| panic!("{why}: {system:?}"));
    let kernel = GeneratedKernel::near_sides(system, sweep.geometry(system)).unwrap();
    let target = Sweeping { machine: Reader::new(&kernel), alone: Alone::new(&sweep.finish) };
    let target = OnTarget::new(system.clone(), kernel, beginning, target).unwrap();
    let session = target.sweeping(sweep.clone()).unwrap();
    (SystemSimulation::with(system, Box::new(session)).unwrap(), sweep)
}

/// How a test names the parameter of a sweep's kernel.
const KERNEL: &str = "alone";
/// Where the operands stand among the parameters of what finishes sums alone, after what a sweep's kernel is given.
const OPERANDS: usize = size_of::<EpilogueInputs>() / 8;
/// Sums, and three words.
const COUNT: usize = 7;

/// What finishes sums, as a kernel of one thread that stores its results at the address after its operands.
#[derive(Clone)]
struct Alone {
    program: Program,
}

impl Alone {
    fn new(finish: &Epilogue) -> Self {
        let names: Vec<String> = (0..4 + COUNT).map(|index| format!("%name{index}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let body =
            finish.of(KERNEL, &names).replace(&format!("{KERNEL}_param_{PARAMETER}"), "parameters");
        let body: Vec<&str> = body.lines().filter(|line| !["{", "}"].contains(line)).collect();
        let digits =
            if finish.has_digits { ptx_writer::functions::digits() } else { String::new() };
        let mut text = format!(
            "{digits}.entry {KERNEL}(.param .align 8 .b8 parameters[4096])\n{{\n.reg .b32 %name<12>;\n"
        );
        let load = |index: usize| {
            format!("ld.param.u64 %name{}, [parameters+{}];\n", 4 + index, 8 * (OPERANDS + index))
        };
        text.extend((0..=COUNT).map(load));
        text += &body.join("\n");
        let store = |index| format!("\nst.global.b32 [%name11+{}], %name{index};", 4 * index);
        text.extend((0..4).map(store));
        text += "\nret;\n}\n";
        Self { program: Program::read(&text) }
    }

    /// Executes it, with arrays that it may read.
    fn finish(
        &self,
        memory: &Memory,
        given: &EpilogueInputs,
        (sums, at): ([f32; 4], Point),
        words: &[[u32; 2]],
    ) -> [f32; 4] {
        let mut memory = memory.clone();
        let placed = (0..).zip(words).flat_map(|(plane, words)| {
            let place = plane * DISTANCE as usize;
            [(place, words[0]), (place + 2 * HALF as usize, words[1])]
        });
        memory.share(placed);
        let results = memory.arrays() - 1;
        memory.begin([results]);
        let mut addresses = [0; OPERANDS + COUNT + 1];
        let first = offset_of!(EpilogueInputs, addresses) / 8;
        addresses[first..first + given.addresses.len()].copy_from_slice(&given.addresses);
        let operands = sums.map(f32::to_bits).into_iter().chain([at.y as u32, at.x as u32, 0]);
        let operands = operands.map(u64::from).chain([Memory::address(results)]);
        addresses[OPERANDS..].iter_mut().zip(operands).for_each(|(to, from)| *to = from);
        self.program.run_block(&mut memory, &addresses, [0, 1]).unwrap();
        let word = |index: usize| memory.bytes(results)[4 * index..][..4].try_into().unwrap();
        std::array::from_fn(|index| f32::from_le_bytes(word(index)))
    }
}

/// A machine that reads kernels, beside an emulator for sweeps.
struct Sweeping {
    machine: Reader,
    alone: Alone,
}

impl LaunchTarget for Sweeping {
    fn allocate(&mut self, what: &'static str, bytes: usize) -> Result<usize, Error> {
        self.machine.allocate(what, bytes)
    }

    fn address(&self, array: usize) -> u64 {
        self.machine.address(array)
    }

    fn write(&mut self, array: usize, rows: MemoryRows, bytes: &[u8]) -> Result<(), Error> {
        self.machine.write(array, rows, bytes)
    }

    fn read(&self, array: usize, rows: MemoryRows, bytes: &mut [u8]) -> Result<(), Error> {
        self.machine.read(array, rows, bytes)
    }

    fn launch(
        &mut self,
        stage: usize,
        extents: Extents,
        addresses: [u64; MOST_ADDRESSES],
    ) -> Result<(), Error> {
        self.machine.launch(stage, extents, addresses)
    }

    /// With the machine's arrays copied to the emulator, and the output back.
    fn sweep(
        &mut self,
        entry: Entry<Parameters>,
        extents: Extents,
        parameters: Parameters,
    ) -> Result<(), Error> {
        let emulator = Emulator::new();
        let arrays = self.machine.arrays();
        let copies: Vec<_> = arrays
            .map(|bytes| {
                let copy = emulator.allocate("an array", bytes.len())?;
                emulator.write(&copy, MemoryRows::first(bytes.len()), bytes)?;
                Ok::<_, Error>(copy)
            })
            .collect::<Result<_, _>>()?;
        let to_copy = |address: usize| {
            let (array, start) = Memory::split(address as u64);
            (
                array,
                std::ptr::with_exposed_provenance_mut::<u16>(
                    (copies[array].address() as usize) + start,
                ),
            )
        };
        let (input, output, words, launch, given) = parameters;
        let mut planes = given.planes;
        for plane in &mut planes[..given.count as usize] {
            *plane = to_copy(plane.addr()).1.cast_const();
        }
        let mut arrays: Vec<Vec<u8>> = self.machine.arrays().map(<[u8]>::to_vec).collect();
        arrays.push(vec![0; 16]);
        let (alone, memory) = (self.alone.clone(), Memory::new(&self.alone.program, arrays));
        let finish = move |sums: [f32; 4], at: Point, words: &[[u32; 2]]| {
            alone.finish(&memory, &given, (sums, at), words)
        };
        let finish: &Emulated = &finish;
        let given = EpilogueInputs {
            planes,
            emulated: (&raw const finish).expose_provenance() as u64,
            ..given
        };
        let operand = self.machine.arrays().nth(Memory::split(words.addr() as u64).0).unwrap();
        let operand = emulator.constants("weights", bytemuck::cast_slice(operand))?;
        let (output_array, output) = to_copy(output.addr());
        let call = entry.with((
            to_copy(input.addr()).1.cast_const(),
            output,
            operand.as_ptr(),
            launch,
            given,
        ));
        emulator.launch(&Launch { call: &call, extents, order: StartOrder::Overlapping })?;
        let mut bytes = vec![0; self.machine.arrays().nth(output_array).unwrap().len()];
        emulator.read(&copies[output_array], MemoryRows::first(bytes.len()), &mut bytes)?;
        self.machine.write(output_array, MemoryRows::first(bytes.len()), &bytes)
    }

    fn time_copies(
        &mut self,
        pair: [usize; 2],
        bytes: usize,
        count: usize,
    ) -> Result<Duration, Error> {
        self.machine.time_copies(pair, bytes, count)
    }

    fn wait(&self) -> Result<(), Error> {
        Ok(())
    }

    fn describe(&self) -> String {
        "an emulator, and a reader of PTX".into()
    }
}

/// A random system that is a sweep.
pub fn draw(seed: u64) -> Description {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let dtype = [Dtype::F16, Dtype::Bf16][random.random_range(0..2)];
    let size = [random.random_range(1..60), random.random_range(1..400)];
    let reach: [i32; 2] = std::array::from_fn(|_| random.random_range(0..=7));
    let whole = random.random_range(0..2) == 0;
    let count = random.random_range(1..=20);
    let mut taps: Vec<Tap> = Vec::new();
    for _ in 0..count {
        let [y, x] = reach.map(|reach| random.random_range(-reach..=reach));
        if taps.iter().all(|tap| tap.offset != [0, y, x]) {
            let weight: f64 = random.random_range(-1.0..1.0);
            let weight = if whole { (weight * 4.0).round() + 0.25 } else { weight };
            taps.push(Tap { offset: [0, y, x], weight: weight / f64::from(4 * count) });
        }
    }
    let sides = ["zero", "reflect", "edge", "constant=0.25", "flux=0.05"];
    let mut axis = |name: &str| match random.random_range(0..3) {
        0 => format!("{name}:periodic"),
        1 => format!("{name}:zero"),
        _ => {
            let [low, high] = [(); 2].map(|()| sides[random.random_range(0..sides.len())]);
            format!("{name}-:{low},{name}+:{high}")
        }
    };
    let boundary = format!("{},{}", axis("y"), axis("x"));
    let terms = [
        "s(u)",
        "0.5*u - 0.25*prev(u) + 0.5*s(u)",
        "c*s(u) + 0.1*sin(x + t)",
        "tanh(2*s(u)) - 0.25*u*u*u",
        "if(s(u) > 0.1, 0.5*u, c) + 0.01*n",
        "max(-1, min(prev(u) - 0.5*s(prev(u))*c, 1))",
        "0.25*u + 0.5*s(u)/(1 + abs(y))",
    ];
    let next = terms[random.random_range(0..terms.len())];
    let field = FieldText::new("u", "2*random(1) - 1", next).boundary(&boundary);
    let field =
        if random.random_range(0..3) == 0 { field.keep("x < 3*hx or y > 20*hy") } else { field };
    let mut drawn = Description::new(&size)
        .dtype(dtype)
        .spacing(0.5)
        .time_step(0.25)
        .stencil("s", Stencil::new("drawn", 2, taps).unwrap())
        .coefficient("c", "0.25 + 0.5*random(2)")
        .field(field);
    for _ in 0..[0, 2, 12][random.random_range(0..3)] {
        let at = size.map(|extent| random.random_range(0..extent));
        drawn = drawn.source("u", &at, "0.1*sin(3*t) + 0.05");
    }
    // A sponge damps earlier values where they are read.
    if !next.contains("s(prev") && random.random_range(0..4) == 0 {
        drawn = drawn.sponge(5, 0.1);
    }
    if random.random_range(0..4) == 0 {
        drawn = drawn.receiver("u", &size.map(|extent| extent / 2));
    }
    drawn
}

#[test]
fn random_sweeps_agree_with_the_oracle() {
    let wrong: Vec<String> = (0..cases(12, 8))
        .into_par_iter()
        .filter_map(|seed| {
            let system = System::new(&draw(seed), Path::new("")).unwrap();
            let (mut simulation, sweep) = simulation(&system);
            let steps = [(); 3].map(|()| simulation.checked_step().map(|_| ()));
            let wrong = steps.into_iter().find_map(Result::err)?;
            Some(format!("seed {seed}, {}: {wrong}: {system:?}", sweep.kernel.entry.name()))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The sweeps with their instructions, by NVIDIA's assembler.
#[test]
fn sweeps_are_assembled_without_spills() {
    let Some(code) = embedded().find(|code| code.chip == Chip::Sm90) else {
        println!("this program has no kernels for sm_90: nothing is assembled");
        return;
    };
    let compiled = Carried::new(code);
    let drawn = (0..cases(6, 4)).map(|seed| (format!("seed {seed}"), draw(seed)));
    let built_in = find("larger-than-life").expect("a built-in system");
    let built_in = Description::parse(built_in.name, built_in.text).unwrap();
    let spills: Vec<String> = drawn
        .chain([("larger-than-life".to_owned(), built_in)])
        .filter_map(|(name, description)| {
            let system = System::new(&description, Path::new("")).unwrap();
            let sweep = FinishedSweep::new(&system, &Gpu::h200()).unwrap();
            let kernel = GeneratedKernel::near_sides(&system, sweep.geometry(&system)).unwrap();
            let name = format!("{name}, {}", sweep.kernel.entry.name());
            let assembled = assemble(&name, &with_sweep(&compiled, &kernel, &sweep), "sm_90a");
            (assembled == Some(false)).then_some(name)
        })
        .collect();
    assert!(spills.is_empty(), "{spills:?}");
}
