// SPDX-License-Identifier: MIT OR Apache-2.0
//! What this GPU really does: the numbers that the planner works with.
//!
//! The copy, the sparse f16 products, the f32 multiply-adds and the clock under the load of products are
//! measured; each result is checked. The other rates follow by the ratios of the H200, which all
//! chips of its generation share, because no kernel of ours measures them. Plans take the clock that the
//! driver states: products of all tensor cores at once slow an H100 down to 1.83 GHz, stencils do not.

use std::time::Duration;

use cuda_driver::{AnyCall, Entry, Extents};
use cuda_mma::emulate::mma_sp_m16n8k32_f16;
use cuda_mma::fragment::{LANES, M, M16N8K32, N};
use kernels_gpu::rates;
use transform::machine::Machine;

use super::{Device, DeviceInfo, Launch, Memory, MemoryRows, Plane, StartOrder};
use problem::{Dtype, Error, Shape};

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
    /// flop in a second of sparse f16 products, as [`Rates::sparse`](transform::machine::Rates::sparse) counts them.
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
pub fn measure(device: &dyn Device) -> Result<Measured, Error> {
    let copy_bytes_per_s = copy(device)?;
    let bench = Bench::new(device)?;
    let launch = median(|| device.time(&mut || (0..LAUNCHES).try_for_each(|_| bench.products(0))))?;

    let adds = median(|| device.time(&mut || bench.multiply_adds(ADD_ROUNDS)))?;
    bench.check("multiply-adds of CUDA cores", &sums_of_multiply_adds())?;
    let products = median(|| device.time(&mut || bench.products(PRODUCT_ROUNDS)))?;
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
        Machine {
            source:
                "measured: copy, launches, sparse f16, CUDA cores f32; the others by the ratios of \
                     the H200"
                    .into(),
            copy_bytes_per_s: self.copy_bytes_per_s,
            launch_s: self.launch_seconds,
            ..info.like_h200([cuda, tensor])
        }
    }
}

fn copy(device: &dyn Device) -> Result<f64, Error> {
    let shape = Shape::new(&[EXTENT as usize, EXTENT as usize])?;
    let plane = || Plane::new(device, shape, Dtype::F16);
    let planes = [plane()?, plane()?];
    let seconds = median(|| {
        device.time(&mut || {
            (0..COPIES)
                .try_for_each(|i| Plane::copy_points(device, &planes[i % 2], &planes[1 - i % 2]))
        })
    })?;
    // Two bytes read and two written for each point.
    let bytes = 4.0 * f64::from(EXTENT) * f64::from(EXTENT);
    Ok(COPIES as f64 * bytes / seconds)
}

/// The kernels of [`rates`] with their results, one block on each multiprocessor.
struct Bench<'a> {
    device: &'a dyn Device,
    blocks: u32,
    cycles: Memory,
    sums: Memory,
}

impl<'a> Bench<'a> {
    fn new(device: &'a dyn Device) -> Result<Self, Error> {
        let blocks = device.multiprocessors();
        let words = |count: u32| device.allocate("results", count as usize * size_of::<u32>());
        let (cycles, sums) = (words(blocks)?, words(blocks * rates::THREADS)?);
        Ok(Self { device, blocks, cycles, sums })
    }

    fn products(&self, rounds: u32) -> Result<(), Error> {
        let (cycles, sums) = (self.cycles.as_mut_ptr(), self.sums.as_mut_ptr());
        self.launch(&Entry::of::<rates::rate_mma_sp_f16>().with((rounds, cycles, sums)))
    }

    fn multiply_adds(&self, rounds: u32) -> Result<(), Error> {
        let (cycles, sums) = (self.cycles.as_mut_ptr(), self.sums.as_mut_ptr());
        self.launch(&Entry::of::<rates::rate_fma_f32>().with((rounds, FACTOR, TERM, cycles, sums)))
    }

    /// As the kernels' contracts demand: their threads, a word for each and for each block.
    fn launch(&self, call: &dyn AnyCall) -> Result<(), Error> {
        let extents = Extents { blocks: self.blocks, threads: rates::THREADS, shared_bytes: 0 };
        self.device.launch(&Launch { call, extents, order: StartOrder::After })
    }

    /// Compares what the last launch computed with the sums of a warp, bit by bit.
    fn check(&self, what: &str, expected: &[f32; LANES]) -> Result<(), Error> {
        let sums = self.download(&self.sums)?;
        let wrong = sums.iter().enumerate().find(|(i, sum)| **sum != expected[i % LANES].to_bits());
        wrong.map_or(Ok(()), |(i, sum)| {
            let (found, expected) = (f32::from_bits(*sum), expected[i % LANES]);
            let reason = format!("thread {i} has {found}, {expected} is right");
            Err(Error::Driver { action: format!("compute {what}"), reason })
        })
    }

    /// Cycles of the last launch: those of its slowest block.
    fn cycles(&self) -> Result<f64, Error> {
        let most = self.download(&self.cycles)?.into_iter().max();
        Ok(f64::from(most.unwrap_or(0)))
    }

    fn download(&self, words: &Memory) -> Result<Vec<u32>, Error> {
        let mut values = vec![0; words.bytes() / size_of::<u32>()];
        let rows = MemoryRows::first(words.bytes());
        self.device.read(words, rows, bytemuck::cast_slice_mut(&mut values))?;
        Ok(values)
    }
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
    use crate::Emulator;

    #[test]
    fn results_do_not_depend_on_the_number_of_rounds() {
        let emulator = Emulator::new().with_multiprocessors(2);
        let bench = Bench::new(&emulator).unwrap();
        for rounds in [0, 1, 3] {
            bench.products(rounds).unwrap();
            bench.check("products", &sums_of_products()).unwrap();
            bench.multiply_adds(rounds).unwrap();
            bench.check("multiply-adds", &sums_of_multiply_adds()).unwrap();
            assert!(
                bench.check("multiply-adds", &sums_of_products()).is_err(),
                "a check that checks"
            );
        }
        let cycles = bench.download(&bench.cycles).unwrap();
        assert!(cycles.iter().all(|cycles| *cycles > 0), "the clock goes on");
        assert!(sums_of_products().iter().any(|sum| sum.fract() != 0.0), "numbers that can differ");
    }

    #[test]
    fn a_gpu_as_fast_as_the_known_one_has_its_rates() {
        let known = Machine::h200();
        let info = DeviceInfo::of(&known, "");
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
