// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engine that runs the tensor-core path in software: the same fragments, metadata and order of
//! K as on the GPU, with `mma.sp` emulated.

use super::{Engine, Job, Session, sparse};
use crate::{Dtype, Error, Grid, Shape, Values};
use half::f16;
use rayon::prelude::*;
use std::time::{Duration, Instant};
use transform::emulate::{Lanes, mma_sp_m16n8k32_f16, pack_f16};
use transform::encode::Encoded;
use transform::fragment::{self, LANES};
use transform::window::{CHUNK, ROWS, SHIFT};

/// Columns of a strip: the 8 chunks of one product.
const STRIP: usize = fragment::N * CHUNK;

/// More points than this take minutes.
const MOST_POINTS: usize = 1 << 24;

/// The transformed path on the CPU.
pub struct Emulate;

impl Engine for Emulate {
    fn name(&self) -> &'static str {
        "emulate"
    }

    fn reject(&self, job: &Job) -> Option<Error> {
        if job.shape.points() > MOST_POINTS {
            let reason =
                format!("{} points are too many; it takes {MOST_POINTS}", job.shape.points());
            return Some(Error::Unsupported { engine: self.name(), reason });
        }
        sparse::window(self.name(), job).err()
    }

    fn prepare(&self, job: &Job) -> Result<Box<dyn Session>, Error> {
        let window = sparse::window(self.name(), job)?;
        let encoded = window.encode_f16();
        let empty = Field::new(job.shape, window.radius);
        let input = vec![f16::NAN; job.shape.points()];
        Ok(Box::new(InSoftware { encoded, radius: window.radius, input, field: empty }))
    }
}

/// A grid inside a frame of zeros, wide enough for every window.
#[derive(Clone)]
struct Field {
    shape: Shape,
    radius: usize,
    pitch: usize,
    values: Vec<f16>,
}

impl Field {
    fn new(shape: Shape, radius: usize) -> Self {
        let [_, ny, nx] = shape.extents();
        let pitch = nx.next_multiple_of(STRIP) + 2 * CHUNK;
        let rows = ny.next_multiple_of(ROWS) + 2 * radius;
        Self { shape, radius, pitch, values: vec![f16::ZERO; pitch * rows] }
    }

    fn row(&self, y: usize) -> &[f16] {
        &self.values[y * self.pitch..][..self.pitch]
    }

    /// Where row `y` of the grid starts in `values`.
    fn start(&self, y: usize) -> usize {
        (y + self.radius) * self.pitch + SHIFT
    }

    fn set(&mut self, values: &[f16]) {
        let [_, _, nx] = self.shape.extents();
        for (y, row) in values.chunks(nx).enumerate() {
            let start = self.start(y);
            self.values[start..][..nx].copy_from_slice(row);
        }
    }

    fn get(&self) -> Vec<f16> {
        let [_, ny, nx] = self.shape.extents();
        (0..ny).flat_map(|y| &self.values[self.start(y)..][..nx]).copied().collect()
    }
}

struct InSoftware {
    encoded: Encoded,
    radius: usize,
    input: Vec<f16>,
    field: Field,
}

impl InSoftware {
    /// One step: row pairs in parallel, strips one after another.
    fn step(&self) -> Vec<f16> {
        let [_, ny, nx] = self.field.shape.extents();
        let mut output = vec![f16::NAN; ny * nx];
        output.par_chunks_mut(ROWS * nx).enumerate().for_each(|(pair, rows)| {
            for x in (0..nx).step_by(STRIP) {
                let sums = self.strip(ROWS * pair, x);
                for (lane, sums) in sums.iter().enumerate() {
                    for (word, sum) in sums.iter().enumerate() {
                        let (m, chunk) = fragment::c(lane, word);
                        let (y, x) = (m / CHUNK, x + chunk * CHUNK + m % CHUNK);
                        if x < nx && y * nx < rows.len() {
                            rows[y * nx + x] = f16::from_f32(*sum);
                        }
                    }
                }
            }
        });
        output
    }

    /// The sums of two rows of 64 outputs, as the lanes hold them.
    fn strip(&self, y: usize, x: usize) -> Lanes<[f32; 4]> {
        let mut sums = [[0.0; 4]; LANES];
        for step in 0..self.encoded.steps {
            let a = std::array::from_fn(|lane| {
                std::array::from_fn(|word| self.encoded.word(step, word)[lane])
            });
            let metadata = std::array::from_fn(|lane| self.encoded.word(step, 4)[lane]);
            let rows = std::array::from_fn(|lane| {
                let (g, t) = (lane / 4, lane % 4);
                let row = self.field.row(y + ROWS * step + t / 2);
                let chunk = &row[x + (g + t % 2) * CHUNK..][..CHUNK];
                std::array::from_fn(|word| {
                    let pair = 2 * (word ^ (t / 2 * 2));
                    pack_f16(chunk[pair], chunk[pair + 1])
                })
            });
            sums = mma_sp_m16n8k32_f16(&a, &metadata, &rows, &sums)
                .expect("the encoder orders its metadata");
        }
        sums
    }
}

impl Session for InSoftware {
    fn device(&self) -> String {
        format!("CPU, {} threads, emulating mma.sp", rayon::current_num_threads())
    }

    fn arithmetic(&self) -> &'static str {
        "f16 storage, f16 products, f32 sums"
    }

    fn load(&mut self, input: &Grid) -> Result<(), Error> {
        let Values::F16(values) = &input.values else {
            let reason = format!("it stores {}, but was given {}", Dtype::F16, input.dtype());
            return Err(Error::Unsupported { engine: Emulate.name(), reason });
        };
        self.input.clone_from(values);
        self.restart()
    }

    fn restart(&mut self) -> Result<(), Error> {
        self.field = Field::new(self.field.shape, self.radius);
        self.field.set(&self.input);
        Ok(())
    }

    fn advance(&mut self, steps: usize) -> Result<Duration, Error> {
        let start = Instant::now();
        for _ in 0..steps {
            let output = self.step();
            self.field.set(&output);
        }
        Ok(start.elapsed())
    }

    fn store(&mut self) -> Result<Grid, Error> {
        Ok(Grid { shape: self.field.shape, values: Values::F16(self.field.get()) })
    }

    fn copy(&mut self) -> Result<Duration, Error> {
        let start = Instant::now();
        let copy = self.input.par_iter().copied().collect::<Vec<_>>();
        std::hint::black_box(copy);
        Ok(start.elapsed())
    }
}
