// SPDX-License-Identifier: MIT OR Apache-2.0
//! Solves on a GPU, by the launches of a jump: in f64 for grids of f64, in f32 for all others.

use kernels_gpu::element::{Bf16, F16, F32, F64};
use transform::spectral::{Axis, Lengths, Powers, TruncationLimit};

use super::jump::{Constants, DeviceJump, Launches};
use super::spectra::{LONGEST_COLUMN, Spectra, most_values};
use super::torus::Torus;
use super::transforms::PointLayout;
use super::{part_bytes, unit};
use crate::device::{Device, Memory, MemoryRows};
use crate::engine::fft::solve::{Solve, Solver};
use problem::memory::Bytes;
use problem::{Dtype, Error};

/// A solve on a device: of what one array holds, into another one whose points lie as those of the first.
pub struct DeviceSolve {
    launches: Box<dyn Launches>,
    spectra: Memory,
    dtype: Dtype,
    /// Bytes from row to row, and from plane to plane.
    pitches: [usize; 2],
}

/// The torus of a solve, at lengths that kernels transform.
///
/// # Errors
/// A side that no torus imitates, or a length that kernels do not transform.
fn torus(solve: &Solve, dtype: Dtype, shared_bytes: u32) -> Result<Torus, String> {
    let ends = solve.ends()?;
    let extents = solve.shape.extents();
    let longest = 2 * (most_values(dtype, shared_bytes) - 1);
    let axis = |axis: usize| {
        let lengths = match axis {
            2 => Lengths::Smooth { multiple: 2, most: longest },
            _ => Lengths::Smooth { multiple: 1, most: LONGEST_COLUMN },
        };
        Axis::of(extents[axis], [1 << 40; 2], ends[axis], lengths).ok_or_else(|| {
            let length = Axis::new(extents[axis], [1 << 40; 2], ends[axis]).length;
            format!(
                "a solve on a GPU needs periods that are products of 2, 3, 5 and 7, even along x, and whose lines fit {} of shared memory; the period along {} is {length}",
                Bytes(shared_bytes.into()),
                ["z", "y", "x"][axis]
            )
        })
    };
    let axes = [axis(0)?, axis(1)?, axis(2)?];
    let spectra = Spectra::new(axes, solve.shape.dims(), dtype, shared_bytes);
    let left_out = TruncationLimit::below(unit(dtype), &solve.stencil, [0.0; 3], 1);
    Ok(Torus { spectra, steps: 1, kept: None, slabs: Vec::new(), left_out })
}

/// Bytes of a GPU's memory that a solve takes: spectra, a factor for each wave, and what constants at sides add.
///
/// # Errors
/// Why a GPU with so much shared memory for a block does not solve it.
pub fn bytes(solve: &Solve, dtype: Dtype, shared_bytes: u32) -> Result<u128, String> {
    let torus = torus(solve, dtype, shared_bytes)?;
    let added = if solve.has_constants() { solve.shape.points() } else { 0 };
    let numbers = 2 * torus.spectra.values() + torus.factors(&solve.stencil) + added;
    Ok(numbers as u128 * part_bytes(dtype) as u128)
}

impl DeviceSolve {
    /// Makes all that a solve needs, between arrays whose points lie in such rows.
    ///
    /// # Errors
    /// The device refuses, or does not solve it ([`bytes`]).
    ///
    /// # Panics
    /// With rows that do not hold pairs of values.
    pub fn new(
        device: &dyn Device,
        solve: &Solve,
        (dtype, rows): (Dtype, MemoryRows),
    ) -> Result<Self, Error> {
        let unsupported = |reason| Error::Unsupported { engine: "cuda", reason };
        let torus = torus(solve, dtype, device.shared_bytes()).map_err(unsupported)?;
        let spectra = torus.spectra.values() * 2 * part_bytes(dtype);
        let spectra = device.allocate("spectra", spectra.max(16))?;
        let powers = Powers::inverse(&solve.stencil, torus.spectra.lengths());
        let pitches = [rows.row_pitch, rows.plane_pitch];
        let constants = match solve.has_constants() {
            false => Constants::none(),
            true => {
                let solver = Solver::new(solve).map_err(unsupported)?;
                let added = solver.added().expect("constants add something");
                let of = [pitches[0] / dtype.bytes(), pitches[1] / pitches[0]];
                Constants::field(device, added, (solve.shape, dtype), of.map(|it| it as u32))?
            }
        };
        let (shape, besides) = (solve.shape, (constants, Vec::new()));
        let launches: Box<dyn Launches> = match dtype {
            Dtype::F64 => {
                Box::new(DeviceJump::<F64>::multiplying(device, shape, torus, &powers, besides)?)
            }
            Dtype::F32 | Dtype::Tf32 => {
                Box::new(DeviceJump::<F32>::multiplying(device, shape, torus, &powers, besides)?)
            }
            Dtype::F16 => {
                Box::new(DeviceJump::<F16>::multiplying(device, shape, torus, &powers, besides)?)
            }
            Dtype::Bf16 => {
                Box::new(DeviceJump::<Bf16>::multiplying(device, shape, torus, &powers, besides)?)
            }
        };
        Ok(Self { launches, spectra, dtype, pitches })
    }

    /// Queues that it is solved: of what lies in these rows of one array, into those of another.
    ///
    /// # Errors
    /// The device refuses.
    ///
    /// # Panics
    /// With other rows than it was made for, or one array.
    pub fn launch(
        &self,
        device: &dyn Device,
        [given, solution]: [&Memory; 2],
        rows: MemoryRows,
    ) -> Result<(), Error> {
        assert_eq!([rows.row_pitch, rows.plane_pitch], self.pitches, "the rows it was made for");
        assert_ne!(given.address(), solution.address(), "f and the solution are two arrays");
        let bytes = self.dtype.bytes();
        let points = [given, solution].map(|array| PointLayout::in_rows(array, rows, bytes));
        self.launches.transform(device, points, &self.spectra)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Emulator;
    use half::{bf16, f16};
    use problem::boundary::Side;
    use problem::{Boundary, Shape};
    use transform::{Stencil, Tap};

    fn star(dims: usize, centre: f64) -> Stencil {
        let mut taps = vec![Tap { offset: [0; 3], weight: centre }];
        for axis in 3 - dims..3 {
            for step in [-1, 1] {
                let mut offset = [0; 3];
                offset[axis] = step;
                taps.push(Tap { offset, weight: 1.0 });
            }
        }
        Stencil::new("star", dims, taps).unwrap()
    }

    #[test]
    fn kernels_solve_as_the_cores_do() {
        let device: &dyn Device = &Emulator::new();
        let shapes: [&[usize]; 4] = [&[24], &[10, 14], &[9, 15], &[4, 6, 8]];
        let sides = [Side::Periodic, Side::Symmetric, Side::Zero, Side::Constant(300.5)];
        for (number, extents) in shapes.into_iter().enumerate() {
            let shape = Shape::new(extents).unwrap();
            for side in sides {
                let types = [
                    (Dtype::F64, 1e-13),
                    (Dtype::F32, 2e-5),
                    (Dtype::F16, 1e-3),
                    (Dtype::Bf16, 8e-3),
                ];
                // Two bytes with one side of each kind: images and constants.
                let count = if matches!(side, Side::Periodic | Side::Zero) { 2 } else { 4 };
                for (dtype, unit) in types.into_iter().take(count) {
                    let centre = -2.0 * shape.dims() as f64;
                    let stencil = star(shape.dims(), centre - 0.25 * (number % 2) as f64);
                    let boundary = Boundary { sides: [[side; 2]; 3] };
                    let solve = Solve { stencil, boundary, shape };
                    // As arrays of steps lie: some values before the first point, and gaps between rows.
                    let [nz, ny, nx] = shape.extents();
                    let (size, pitch) = (dtype.bytes(), nx.next_multiple_of(2) + 2 * number);
                    let rows = MemoryRows {
                        start: 6 * size,
                        width: nx * size,
                        rows: ny,
                        row_pitch: pitch * size,
                        planes: nz,
                        plane_pitch: (ny + number % 2) * pitch * size,
                    };
                    let Ok(on_device) = DeviceSolve::new(device, &solve, (dtype, rows)) else {
                        // Odd lengths of rows, and those with other factors.
                        assert!(bytes(&solve, dtype, device.shared_bytes()).is_err());
                        continue;
                    };
                    let rounded = |value: f64| match dtype {
                        Dtype::F16 => f16::from_f64(value).to_f64(),
                        Dtype::Bf16 => bf16::from_f64(value).to_f64(),
                        _ => value,
                    };
                    let f = (0..shape.points()).map(|at| rounded(((at * 37 % 101) as f64).sin()));
                    let f: Vec<f64> = f.collect();
                    let arrays = ["f", "w"].map(|name| {
                        device.allocate(name, rows.start + nz * rows.plane_pitch).unwrap()
                    });
                    let written: Vec<u8> = match dtype {
                        Dtype::F64 => f.iter().flat_map(|value| value.to_ne_bytes()).collect(),
                        Dtype::F16 => {
                            f.iter().flat_map(|it| f16::from_f64(*it).to_ne_bytes()).collect()
                        }
                        Dtype::Bf16 => {
                            f.iter().flat_map(|it| bf16::from_f64(*it).to_ne_bytes()).collect()
                        }
                        _ => f.iter().flat_map(|value| (*value as f32).to_ne_bytes()).collect(),
                    };
                    device.write(&arrays[0], rows, &written).unwrap();
                    on_device.launch(device, arrays.each_ref(), rows).unwrap();
                    device.wait().unwrap();
                    let mut found = vec![0; written.len()];
                    device.read(&arrays[1], rows, &mut found).unwrap();
                    let found: Vec<f64> = match dtype {
                        Dtype::F64 => bytemuck::pod_collect_to_vec(&found),
                        Dtype::F16 | Dtype::Bf16 => {
                            let bits: Vec<u16> = bytemuck::pod_collect_to_vec(&found);
                            let value = |bits| match dtype {
                                Dtype::F16 => f16::from_bits(bits).to_f64(),
                                _ => bf16::from_bits(bits).to_f64(),
                            };
                            bits.into_iter().map(value).collect()
                        }
                        _ => {
                            let single: Vec<f32> = bytemuck::pod_collect_to_vec(&found);
                            single.into_iter().map(f64::from).collect()
                        }
                    };
                    let mut expected = vec![0.0; f.len()];
                    let read = |row: usize, to: &mut [f64]| {
                        to.copy_from_slice(&f[row * nx..][..nx]);
                    };
                    let write = |_: usize, from: &[f64], to: &mut [f64]| to.copy_from_slice(from);
                    let solver = Solver::new(&solve).unwrap();
                    solver.solve(&mut Vec::new(), &read, &mut expected, write);
                    let largest = expected.iter().fold(0.0f64, |most, it| most.max(it.abs()));
                    for (found, expected) in found.iter().zip(&expected) {
                        let off = (found - expected).abs();
                        assert!(off <= unit * largest, "{shape} {side} {dtype}: {off:e}");
                    }
                }
            }
        }
    }
}
