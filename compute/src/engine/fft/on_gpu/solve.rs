// SPDX-License-Identifier: MIT OR Apache-2.0
//! Solves on a GPU, by the launches of a jump: in f64 for grids of f64, in f32 for all others.

use kernels_gpu::element::{Bf16, F16, F32, F64};
use transform::spectral::{Axis, LeftOut, Lengths, Powers};

use super::jump::{Constants, Jump, Launches};
use super::spectra::{LONGEST_COLUMN, Spectra, most_values};
use super::torus::Torus;
use super::{part_bytes, unit};
use crate::device::plane::layout;
use crate::device::{Device, Memory, Plane};
use crate::engine::fft::solve::Solve;
use problem::memory::Bytes;
use problem::{Dtype, Error, Shape};

/// A solve on a device: of what one plane holds, into another one.
pub struct OnDevice {
    launches: Box<dyn Launches>,
    /// What is solved for, and the solution.
    planes: [Plane; 2],
    spectra: Memory,
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
                "a solve on a GPU transforms periods of an even number of points along x, of factors 2, 3, 5 and 7 \
                 along all axes, of which a line fits {} of shared memory; that along {} has {length}",
                Bytes(shared_bytes.into()),
                ["z", "y", "x"][axis]
            )
        })
    };
    let axes = [axis(0)?, axis(1)?, axis(2)?];
    let spectra = Spectra::new(axes, solve.shape.dims(), dtype, shared_bytes);
    let left_out = LeftOut::below(unit(dtype), &solve.stencil, [0.0; 3], 1);
    Ok(Torus { spectra, steps: 1, kept: None, slabs: Vec::new(), left_out })
}

/// Bytes of a GPU's memory that a solve takes: two planes, spectra, and a factor for each wave.
///
/// # Errors
/// Why a GPU with so much shared memory for a block does not solve it.
pub fn bytes(solve: &Solve, dtype: Dtype, shared_bytes: u32) -> Result<u128, String> {
    let torus = torus(solve, dtype, shared_bytes)?;
    let planes = 2 * layout(solve.shape).elements() as u128 * dtype.bytes() as u128;
    let numbers = 2 * torus.spectra.values() + torus.factors(&solve.stencil);
    Ok(planes + numbers as u128 * part_bytes(dtype) as u128)
}

impl OnDevice {
    /// Makes all that a solve needs.
    ///
    /// # Errors
    /// The device refuses, or does not solve it ([`bytes`]).
    pub fn new(device: &dyn Device, solve: &Solve, dtype: Dtype) -> Result<Self, Error> {
        let torus = torus(solve, dtype, device.shared_bytes())
            .map_err(|reason| Error::Unsupported { engine: "cuda", reason })?;
        let plane = || Plane::new(device, solve.shape, dtype);
        let planes = [plane()?, plane()?];
        let spectra = torus.spectra.values() * 2 * part_bytes(dtype);
        let spectra = device.allocate("spectra", spectra.max(16))?;
        let powers = Powers::inverse(&solve.stencil, torus.spectra.lengths());
        let (shape, besides) = (solve.shape, (Constants::none(), Vec::new()));
        let launches: Box<dyn Launches> = match dtype {
            Dtype::F64 => {
                Box::new(Jump::<F64>::multiplying(device, shape, torus, &powers, besides)?)
            }
            Dtype::F32 | Dtype::Tf32 => {
                Box::new(Jump::<F32>::multiplying(device, shape, torus, &powers, besides)?)
            }
            Dtype::F16 => {
                Box::new(Jump::<F16>::multiplying(device, shape, torus, &powers, besides)?)
            }
            Dtype::Bf16 => {
                Box::new(Jump::<Bf16>::multiplying(device, shape, torus, &powers, besides)?)
            }
        };
        Ok(Self { launches, planes, spectra })
    }

    /// Points of its grid.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.planes[0].shape()
    }

    /// The plane of what is solved for.
    #[must_use]
    pub fn given(&self) -> &Plane {
        &self.planes[0]
    }

    /// The plane of the solution.
    #[must_use]
    pub fn solution(&self) -> &Plane {
        &self.planes[1]
    }

    /// Queues that it is solved.
    ///
    /// # Errors
    /// The device refuses.
    pub fn launch(&self, device: &dyn Device) -> Result<(), Error> {
        let [given, solution] = &self.planes;
        self.launches.launch(device, [given, solution], &self.spectra)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Emulator;
    use crate::engine::fft::solve::Solver;
    use problem::boundary::Side;
    use problem::region::Region;
    use problem::values::Element;
    use problem::{Boundary, Grid, Values, with_values};
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
        let sides = [Side::Periodic, Side::Symmetric, Side::Zero];
        for (number, extents) in shapes.into_iter().enumerate() {
            let shape = Shape::new(extents).unwrap();
            for side in sides {
                for (dtype, unit) in [(Dtype::F64, 1e-13), (Dtype::F32, 2e-5)] {
                    let centre = -2.0 * shape.dims() as f64;
                    let stencil = star(shape.dims(), centre - 0.25 * (number % 2) as f64);
                    let boundary = Boundary { sides: [[side; 2]; 3] };
                    let solve = Solve { stencil, boundary, shape };
                    let Ok(mut on_device) = OnDevice::new(device, &solve, dtype) else {
                        // Odd lengths of rows, and those with other factors.
                        assert!(bytes(&solve, dtype, device.shared_bytes()).is_err());
                        continue;
                    };
                    let f: Vec<f64> =
                        (0..shape.points()).map(|at| ((at * 37 % 101) as f64).sin()).collect();
                    let values = match dtype {
                        Dtype::F64 => Values::F64(f.clone()),
                        _ => Values::F32(f.iter().map(|value| *value as f32).collect()),
                    };
                    on_device.planes[0].upload(device, &Grid { shape, values }).unwrap();
                    on_device.launch(device).unwrap();
                    device.wait().unwrap();
                    let solution = on_device.solution();
                    let found = solution.read(device, Region::whole(shape)).unwrap();
                    let mut expected = vec![0.0; f.len()];
                    let nx = shape.extents()[2];
                    let read = |row: usize, to: &mut [f64]| {
                        to.copy_from_slice(&f[row * nx..][..nx]);
                    };
                    let write = |_: usize, from: &[f64], to: &mut [f64]| to.copy_from_slice(from);
                    let solver = Solver::new(&solve).unwrap();
                    solver.solve(&mut Vec::new(), &read, &mut expected, write);
                    let largest = expected.iter().fold(0.0f64, |most, it| most.max(it.abs()));
                    let found: Vec<f64> = with_values!(&found, values => {
                        values.iter().map(|value| Element::to_f64(*value)).collect()
                    });
                    for (found, expected) in found.iter().zip(&expected) {
                        let off = (found - expected).abs();
                        assert!(off <= unit * largest, "{shape} {side} {dtype}: {off:e}");
                    }
                }
            }
        }
    }
}
