// SPDX-License-Identifier: MIT OR Apache-2.0
//! What this GPU really does: the numbers that the planner works with.
//!
//! The copy, the sparse f16 products, the f32 multiply-adds and the clock under that load are
//! measured; each result is checked. The other rates follow by the ratios of the H200, which all
//! chips of its generation share, because no kernel of ours measures them.

use std::time::Duration;

use cuda_driver::cust::function::Function;
use cuda_driver::cust::launch;
use cuda_driver::cust::memory::{CopyDestination, DeviceBuffer, DeviceMemory};
use cuda_mma::emulate::mma_sp_m16n8k32_f16;
use cuda_mma::fragment::{LANES, M, M16N8K32, N};
use kernels_gpu::rates;
use transform::machine::{Machine, Rates};

use super::{DeviceInfo, Gpu, Plane, failed, refused};
use crate::{Dtype, Error, Shape};

/// Extent of the grid that is copied: 512 MiB, far more than any cache holds.
const EXTENT: u32 = 16_384;
/// Copies, launches and rounds of a sample, each a few milliseconds or more.
const COPIES: usize = 10;
const LAUNCHES: usize = 2000;
const PRODUCT_ROUNDS: u32 = 40_000;
const ADD_ROUNDS: u32 = 40_000;
/// Samples after one that warms up, of which the median counts.
const SAMPLES: usize = 7;

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Bytes in a second that a copy reads and writes together.
    pub copy_bytes_per_s: f64,
    /// flop in a second of sparse f16 products, as [`Rates::sparse`] counts them.
    pub sparse_half: f64,
    /// flop in a second of f32 multiply-adds.
    pub cuda_single: f64,
    /// Cycles in a second, under the load of the products.
    pub clock_hz: f64,
    /// Time from launch to launch of a kernel that does nothing.
    pub launch_seconds: f64,
}

/// Measures the GPU; takes a second or two.
///
/// # Errors
/// Not enough memory, the driver refuses, or a result is wrong.
pub fn measure(gpu: &Gpu) -> Result<Measured, Error> {
    let copy_bytes_per_s = copy(gpu)?;
    let bench = Bench::new(gpu)?;
    let launch = median(|| gpu.time(|| (0..LAUNCHES).try_for_each(|_| bench.products(0))))?;

    let adds = median(|| gpu.time(|| bench.multiply_adds(ADD_ROUNDS)))?;
    bench.check("multiply-adds of CUDA cores", &sums_of_multiply_adds())?;
    let products = median(|| gpu.time(|| bench.products(PRODUCT_ROUNDS)))?;
    bench.check("products of tensor cores", &sums_of_products())?;

    let threads = f64::from(bench.blocks) * f64::from(rates::THREADS);
    let warps = threads / LANES as f64;
    let product = (2 * M * N * M16N8K32.k) as f64;
    let per_second = |rounds: u32, in_a_round: u32, work: f64, seconds: f64| {
        f64::from(rounds) * f64::from(in_a_round) * work / seconds
    };
    Ok(Measured {
        copy_bytes_per_s,
        sparse_half: per_second(PRODUCT_ROUNDS, rates::PRODUCTS, warps * product, products),
        cuda_single: per_second(ADD_ROUNDS, rates::MULTIPLY_ADDS, threads * 2.0, adds),
        clock_hz: bench.cycles()? / products,
        launch_seconds: launch / LAUNCHES as f64,
    })
}

impl Measured {
    /// The GPU as the planner sees it.
    #[must_use]
    pub fn machine(&self, info: &DeviceInfo) -> Machine {
        let known = Machine::h200();
        let tensor = self.sparse_half / known.half.sparse.unwrap_or(known.half.dense);
        let cuda = self.cuda_single / known.single.cuda;
        let scaled = |rates: Rates| Rates {
            cuda: rates.cuda * cuda,
            dense: rates.dense * tensor,
            sparse: rates.sparse.map(|rate| rate * tensor),
        };
        Machine {
            name: info.name.clone(),
            source:
                "measured: copy, clock, sparse f16, CUDA cores f32; the others by the ratios of \
                     the H200"
                    .into(),
            compute_capability: info.compute_capability,
            multiprocessors: info.multiprocessors as usize,
            clock_hz: self.clock_hz,
            shared_bytes_per_block: info.shared_bytes_per_block,
            memory_bytes: info.memory_bytes,
            l2_bytes: info.l2_bytes as f64,
            copy_bytes_per_s: self.copy_bytes_per_s,
            launch_s: self.launch_seconds,
            half: scaled(known.half),
            single: scaled(known.single),
            double: scaled(known.double),
        }
    }
}

fn copy(gpu: &Gpu) -> Result<f64, Error> {
    let shape = Shape::new(&[EXTENT as usize, EXTENT as usize])?;
    let plane = || Plane::new(gpu, shape, Dtype::F16);
    let planes = [plane()?, plane()?];
    let seconds = median(|| {
        gpu.time(|| {
            (0..COPIES)
                .try_for_each(|i| Plane::copy_points(gpu, &planes[i % 2], &planes[1 - i % 2]))
        })
    })?;
    // Two bytes read and two written for each point.
    let bytes = 4.0 * f64::from(EXTENT) * f64::from(EXTENT);
    Ok(COPIES as f64 * bytes / seconds)
}

/// The kernels of [`rates`] with their results, one block on each multiprocessor.
struct Bench<'a> {
    gpu: &'a Gpu,
    products: Function<'a>,
    multiply_adds: Function<'a>,
    blocks: u32,
    cycles: DeviceBuffer<u32>,
    sums: DeviceBuffer<u32>,
}

impl<'a> Bench<'a> {
    fn new(gpu: &'a Gpu) -> Result<Self, Error> {
        let kernel = |name| gpu.modules.function(name);
        let words = |count| DeviceBuffer::zeroed(count).map_err(refused("allocate results"));
        let blocks = gpu.info().multiprocessors;
        let bench = Self {
            gpu,
            products: kernel("rate_mma_sp_f16")?,
            multiply_adds: kernel("rate_fma_f32")?,
            blocks,
            cycles: words(blocks as usize)?,
            sums: words((blocks * rates::THREADS) as usize)?,
        };
        super::plane::settle()?;
        Ok(bench)
    }

    fn products(&self, rounds: u32) -> Result<(), Error> {
        let (kernel, stream) = (&self.products, &self.gpu.stream);
        // SAFETY: as the kernel's contract demands: its threads, a word for each and for each block.
        unsafe {
            launch!(kernel<<<self.blocks, rates::THREADS, 0, stream>>>(
                rounds,
                self.cycles.as_raw_ptr(),
                self.sums.as_raw_ptr()
            ))
        }
        .map_err(failed("launch a measurement"))
    }

    fn multiply_adds(&self, rounds: u32) -> Result<(), Error> {
        let (kernel, stream) = (&self.multiply_adds, &self.gpu.stream);
        // SAFETY: as the kernel's contract demands: its threads, a word for each and for each block.
        unsafe {
            launch!(kernel<<<self.blocks, rates::THREADS, 0, stream>>>(
                rounds,
                FACTOR,
                TERM,
                self.cycles.as_raw_ptr(),
                self.sums.as_raw_ptr()
            ))
        }
        .map_err(failed("launch a measurement"))
    }

    /// Compares what the last launch computed with the sums of a warp, bit by bit.
    fn check(&self, what: &str, expected: &[f32; LANES]) -> Result<(), Error> {
        let sums = download(&self.sums)?;
        let wrong = sums.iter().enumerate().find(|(i, sum)| **sum != expected[i % LANES].to_bits());
        wrong.map_or(Ok(()), |(i, sum)| {
            let (found, expected) = (f32::from_bits(*sum), expected[i % LANES]);
            let reason = format!("thread {i} has {found}, {expected} is right");
            Err(Error::Driver { action: format!("compute {what}"), reason })
        })
    }

    /// Cycles of the last launch: those of its slowest block.
    fn cycles(&self) -> Result<f64, Error> {
        let most = download(&self.cycles)?.into_iter().max();
        Ok(f64::from(most.unwrap_or(0)))
    }
}

fn download(words: &DeviceBuffer<u32>) -> Result<Vec<u32>, Error> {
    let mut values = vec![0; words.len()];
    words.copy_to(&mut values).map_err(failed("download results"))?;
    Ok(values)
}

/// Median seconds.
fn median(mut run: impl FnMut() -> Result<Duration, Error>) -> Result<f64, Error> {
    run()?;
    let mut times = (0..SAMPLES).map(|_| run()).collect::<Result<Vec<_>, _>>()?;
    times.sort();
    Ok(times[times.len() / 2].as_secs_f64())
}

/// Of the multiply-adds: x becomes 1 - x, and x again.
const FACTOR: f32 = -1.0;
const TERM: f32 = 1.0;

/// The sums of a warp's lanes after [`rates::rate_mma_sp_f16`].
fn sums_of_products() -> [f32; LANES] {
    let words = |first: u32| {
        std::array::from_fn(|lane| {
            std::array::from_fn(|i| rates::operand(lane as u32, first + i as u32))
        })
    };
    let zeros = [[0.0; 4]; LANES];
    let product = mma_sp_m16n8k32_f16(&words(0), &[rates::METADATA; LANES], &words(4), &zeros)
        .expect("the metadata is ordered");
    let chains = rates::PRODUCT_CHAINS as f32;
    // Every chain has the product, and i in each of its four elements.
    product.map(|of_a_lane| chains * of_a_lane.iter().sum::<f32>() + 2.0 * chains * (chains - 1.0))
}

/// The sums of a warp's lanes after [`rates::rate_fma_f32`].
fn sums_of_multiply_adds() -> [f32; LANES] {
    let starts = |lane: usize| (0..rates::ADD_CHAINS).map(move |i| (i + lane) as f32);
    std::array::from_fn(|lane| starts(lane).map(|x| x * FACTOR + TERM).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuda_sim::{Buffer, Config, Memory};

    /// Runs a kernel of two blocks in the emulator; returns its sums.
    fn emulated(name: &str, kernel: impl Fn(*mut u32, *mut u32)) -> Vec<f32> {
        const BLOCKS: u32 = 2;
        let mut memory = Memory::new();
        let cycles: Buffer<u32> = memory.output("cycles", BLOCKS as usize);
        let sums: Buffer<u32> = memory.output("sums", (BLOCKS * rates::THREADS) as usize);
        let config = Config {
            blocks: BLOCKS,
            threads: rates::THREADS,
            shared_bytes: 0,
            seed: 1,
            registers: kernels_gpu::MOST_REGISTERS,
            cooperative: false,
        };
        let (to_cycles, to_sums) = (cycles.as_mut_ptr(), sums.as_mut_ptr());
        cuda_sim::launch(name, config, &mut memory, || kernel(to_cycles, to_sums))
            .unwrap_or_else(|fault| panic!("{fault}"));
        assert!(memory.read(cycles).iter().all(|cycles| *cycles > 0), "the clock goes on");
        memory.read(sums).into_iter().map(f32::from_bits).collect()
    }

    #[test]
    fn results_do_not_depend_on_the_number_of_rounds() {
        for rounds in [0, 1, 3] {
            // SAFETY: the emulator checks every access.
            let products = emulated("rate_mma_sp_f16", |cycles, sums| unsafe {
                rates::rate_mma_sp_f16(rounds, cycles, sums);
            });
            assert!(products.chunks(LANES).all(|warp| warp == sums_of_products()));
            // SAFETY: the emulator checks every access.
            let sums = emulated("rate_fma_f32", |cycles, sums| unsafe {
                rates::rate_fma_f32(rounds, FACTOR, TERM, cycles, sums);
            });
            assert!(sums.chunks(LANES).all(|warp| warp == sums_of_multiply_adds()));
        }
        assert!(sums_of_products().iter().any(|sum| sum.fract() != 0.0), "numbers that can differ");
    }

    #[test]
    fn a_gpu_as_fast_as_the_known_one_has_its_rates() {
        let known = Machine::h200();
        let info = DeviceInfo {
            name: known.name.clone(),
            compute_capability: known.compute_capability,
            memory_bytes: known.memory_bytes,
            multiprocessors: 132,
            l2_bytes: known.l2_bytes as u64,
            shared_bytes_per_block: known.shared_bytes_per_block,
            clock_hz: known.clock_hz,
            memory_bytes_per_s: 0.0,
            driver_version: String::new(),
        };
        let measured = Measured {
            copy_bytes_per_s: known.copy_bytes_per_s,
            sparse_half: known.half.sparse.unwrap(),
            cuda_single: known.single.cuda,
            clock_hz: known.clock_hz,
            launch_seconds: known.launch_s,
        };
        let machine = measured.machine(&info);
        assert_eq!(Machine { source: known.source.clone(), ..machine }, known);
        let slower = Measured { sparse_half: measured.sparse_half / 2.0, ..measured };
        let machine = slower.machine(&info);
        assert_eq!(machine.single.sparse, known.single.sparse.map(|rate| rate / 2.0));
        assert_eq!(machine.single.cuda, known.single.cuda);
    }
}
