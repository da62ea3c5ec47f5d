// SPDX-License-Identifier: MIT OR Apache-2.0
//! The mistakes, and how each is launched: in the emulator and on a GPU.

use crate::kernels::{atomics::*, blocks::*, copies::*, plain::*, products::*, warps::*};
use cuda_driver::{Error, Extents, Gpu, Kernel, Slice, SliceMut};
use cuda_sim::{Buffer, LaunchConfig, Memory, Module};
use std::fmt;

/// Numbers to read, and to write.
const NUMBERS: u32 = 1000;

/// Blocks and threads of each launch: more than there are numbers.
const BLOCKS: u32 = 8;
const THREADS: u32 = 128;

/// How a kernel takes its numbers.
type Emulate =
    fn(&Module, LaunchConfig, &mut Memory, [Buffer<f32>; 2], u32) -> Result<(), cuda_sim::Fault>;
type Run = fn(&Gpu, Extents, &[f32], u32) -> Result<Vec<f32>, Error>;

/// A planted mistake.
pub struct Planted {
    pub number: u32,
    pub what: &'static str,
    shared_bytes: u32,
    emulate: Emulate,
    run: Run,
}

/// What the emulator says.
#[derive(Debug)]
pub enum EmulatorReport {
    Fault(cuda_sim::Fault),
    /// The host reads what no thread has written: which number.
    Unwritten(usize),
}

impl EmulatorReport {
    /// What it is and in which line, without the thread.
    pub fn in_short(&self) -> String {
        let Self::Fault(fault) = self else { return self.to_string() };
        let (source, kind) = (fault.site.location, fault.kind.to_string());
        let file = source.file().rsplit('/').next().unwrap_or_default();
        let what = kind.split(':').next().unwrap_or_default();
        format!("{file}:{}: {what}", source.line())
    }
}

impl fmt::Display for EmulatorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(fault) => fault.fmt(f),
            Self::Unwritten(at) => write!(f, "unwritten: the host reads number {at} of the output"),
        }
    }
}

impl Planted {
    /// Runs it in the emulator, in the order of events of a seed.
    pub fn emulate(
        &self,
        module: &Module,
        seed: u64,
        is_wrong: bool,
    ) -> Result<(), EmulatorReport> {
        let mut memory = Memory::new();
        let input = memory.input("input", &numbers());
        let output = memory.output("output", NUMBERS as usize);
        let (blocks, threads, shared_bytes) = (BLOCKS, THREADS, self.shared_bytes);
        let config = LaunchConfig {
            blocks,
            threads,
            shared_bytes,
            seed,
            steps: 1 << 16,
            ..LaunchConfig::default()
        };
        (self.emulate)(module, config, &mut memory, [input, output], u32::from(is_wrong))
            .map_err(EmulatorReport::Fault)?;
        match memory.unwritten(output) {
            Some(at) => Err(EmulatorReport::Unwritten(at)),
            None => Ok(()),
        }
    }

    /// Runs it on a GPU.
    pub fn run(&self, gpu: &Gpu, is_wrong: bool) -> Result<Vec<f32>, Error> {
        let extents = Extents { blocks: BLOCKS, threads: THREADS, shared_bytes: self.shared_bytes };
        (self.run)(gpu, extents, &numbers(), u32::from(is_wrong))
    }
}

fn numbers() -> Vec<f32> {
    (0..NUMBERS).map(|i| i as f32 * 0.5 - 100.0).collect()
}

fn emulate<K>(
    module: &Module,
    config: LaunchConfig,
    memory: &mut Memory,
    [input, output]: [Buffer<f32>; 2],
    wrong: u32,
) -> Result<(), cuda_sim::Fault>
where
    K: Kernel<Parameters = (*const f32, *mut f32, u32, u32)>,
{
    let parameters = (input.as_ptr(), output.as_mut_ptr(), NUMBERS, wrong);
    module.launch::<K>(config, memory, parameters).map(drop)
}

fn run<K>(gpu: &Gpu, extents: Extents, numbers: &[f32], wrong: u32) -> Result<Vec<f32>, Error>
where
    K: Kernel<Parameters = (*const f32, *mut f32, u32, u32)>,
{
    let kernels = gpu.load(cuda_driver::kernels!())?;
    let input = gpu.upload(numbers)?;
    // Nothing writes it before the kernel.
    let mut output = gpu.uninit::<f32>(numbers.len())?;
    let parameters = (input.as_ptr(), output.as_mut_ptr(), NUMBERS, wrong);
    // SAFETY: what is wrong here is the point; the process ends after it.
    unsafe { kernels.launch::<K>(extents, parameters)? };
    output.read()
}

/// As the others, of slices.
fn emulate_slices(
    module: &Module,
    config: LaunchConfig,
    memory: &mut Memory,
    [input, output]: [Buffer<f32>; 2],
    wrong: u32,
) -> Result<(), cuda_sim::Fault> {
    let (input, output) = slices(input.as_ptr(), output.as_mut_ptr());
    module.launch::<fault_04>(config, memory, (input, output, NUMBERS, wrong)).map(drop)
}

fn run_slices(gpu: &Gpu, extents: Extents, numbers: &[f32], wrong: u32) -> Result<Vec<f32>, Error> {
    let kernels = gpu.load(cuda_driver::kernels!())?;
    let input = gpu.upload(numbers)?;
    let mut output = gpu.uninit::<f32>(numbers.len())?;
    let (from, to) = slices(input.as_ptr(), output.as_mut_ptr());
    // SAFETY: as in `run`.
    unsafe { kernels.launch::<fault_04>(extents, (from, to, NUMBERS, wrong))? };
    output.read()
}

fn slices(input: *const f32, output: *mut f32) -> (Slice<f32>, SliceMut<f32>) {
    let len = NUMBERS as usize;
    (Slice { start: input, len }, SliceMut { start: output, len })
}

macro_rules! table {
    ($($number:literal $kernel:ident $shared_bytes:literal $what:literal;)*) => {
        vec![$(Planted {
            number: $number,
            what: $what,
            shared_bytes: $shared_bytes,
            emulate: emulate::<$kernel>,
            run: run::<$kernel>,
        }),*]
    };
}

/// All of them.
pub fn table() -> Vec<Planted> {
    let mut all = table! {
        1 fault_01 0 "store beyond the output";
        2 fault_02 0 "load beyond the input";
        3 fault_03 0 "store before the output";
        5 fault_05 0 "misaligned store";
        6 fault_06 0 "load from nowhere";
        7 fault_07 0 "load of what nothing has written";
        8 fault_08 0 "output left unwritten";
        9 fault_09 0 "race of blocks: two stores";
        10 fault_10 0 "race of threads: update in place";
        11 fault_11 0 "load beyond a local array";
        12 fault_12 0 "endless loop";
        13 fault_13 0 "missing barrier before a load";
        14 fault_14 0 "missing barrier before a store";
        15 fault_15 0 "store beyond a shared array";
        16 fault_16 0 "load from the next shared array";
        17 fault_17 0 "shared load of what nothing has written";
        18 fault_18 0 "barrier in a branch";
        19 fault_19 0 "return before a barrier";
        20 fault_20 0 "race in a histogram";
        21 fault_21 512 "store beyond dynamic shared memory";
        22 fault_22 0 "shuffle: the mask leaves out lanes";
        23 fault_23 0 "shuffle from lane 32";
        24 fault_24 0 "shuffle in a branch";
        25 fault_25 0 "shuffle from a lane outside the mask";
        26 fault_26 0 "missing barrier of a warp";
        27 fault_27 0 "vote in a loop that lanes have left";
        28 fault_28 0 "flag without an order";
        29 fault_29 0 "wait for what never comes";
        30 fault_30 0 "atomic and ordinary changes";
        31 fault_31 0 "counter without fences";
        32 fault_32 1024 "copies without a wait";
        33 fault_33 1024 "misaligned copy";
        34 fault_34 1024 "copy that nobody announced";
        35 fault_35 1024 "barrier hidden from the copy engine";
        36 fault_36 1024 "missing proxy fence";
        37 fault_37 1024 "source overwritten while copied";
        38 fault_38 1024 "wait for bytes that never come";
        39 fault_39 0 "half of D is not stored";
        40 fault_40 1024 "misaligned rows of a matrix";
        41 fault_41 0 "metadata out of order";
        42 fault_42 0 "product in a branch";
    };
    let what = "index beyond a slice";
    let (emulate, run) = (emulate_slices, run_slices);
    all.push(Planted { number: 4, what, shared_bytes: 0, emulate, run });
    all.sort_by_key(|planted| planted.number);
    all
}
