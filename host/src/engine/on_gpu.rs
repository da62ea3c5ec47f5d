// SPDX-License-Identifier: MIT OR Apache-2.0
//! A grid on a GPU, advanced by launches of whatever kernels an engine chose.

use super::Session;
use crate::device::{Gpu, Pass, Plane};
use crate::{Dtype, Error, Grid, Shape};
use std::time::Duration;

/// The largest extent: coordinates in a launch are 32-bit and signed.
const LARGEST: usize = 1 << 30;

/// Checks that launches can address a grid.
///
/// # Errors
/// [`Error::Unsupported`] with the extent.
pub fn check_extents(engine: &'static str, shape: Shape) -> Result<(), Error> {
    if shape.extents().into_iter().any(|extent| extent > LARGEST) {
        let reason = format!("an axis of {shape} is longer than {LARGEST}");
        return Err(Error::Unsupported { engine, reason });
    }
    Ok(())
}

/// Launches that together advance the grid by a number of time steps: the first writes the whole
/// grid, the others points that it could not compute, all from the same input.
pub struct Advance {
    /// Time steps.
    pub steps: usize,
    /// The launches.
    pub passes: Vec<Box<dyn Pass>>,
}

/// A grid on a GPU.
pub struct OnGpu {
    shape: Shape,
    dtype: Dtype,
    arithmetic: &'static str,
    /// Those of most steps first; the last takes one step.
    advances: Vec<Advance>,
    kernel: Option<String>,
    fuse: usize,
    chain: usize,
    planes: [Plane; 2],
    /// The input, for [`Session::restart`].
    saved: Plane,
    /// For [`Session::copy`].
    scratch: Option<[Plane; 2]>,
    /// The plane that holds the grid.
    current: usize,
    // Dropped last: everything else lives on it.
    gpu: Gpu,
}

impl OnGpu {
    /// With zeros in all planes.
    ///
    /// # Errors
    /// Not enough memory.
    ///
    /// # Panics
    /// Where not every number of steps can be made of `advances`.
    pub fn new(
        gpu: Gpu,
        shape: Shape,
        dtype: Dtype,
        arithmetic: &'static str,
        mut advances: Vec<Advance>,
    ) -> Result<Self, Error> {
        advances.sort_by_key(|advance| std::cmp::Reverse(advance.steps));
        assert!(advances.last().is_some_and(|last| last.steps == 1), "any number of steps");
        let plane = || Plane::new(&gpu, shape, dtype);
        let (planes, saved) = ([plane()?, plane()?], plane()?);
        Ok(Self {
            shape,
            dtype,
            arithmetic,
            advances,
            kernel: None,
            fuse: 1,
            chain: 1,
            planes,
            saved,
            scratch: None,
            current: 0,
            gpu,
        })
    }

    /// The same, saying that launches of this kernel take so many steps.
    pub fn by(self, kernel: String, fuse: usize, chain: usize) -> Self {
        Self { kernel: Some(kernel), fuse, chain, ..self }
    }
}

impl Session for OnGpu {
    fn device(&self) -> String {
        self.gpu.describe()
    }

    fn arithmetic(&self) -> &'static str {
        self.arithmetic
    }

    fn fuse(&self) -> usize {
        self.fuse
    }

    fn chain(&self) -> usize {
        self.chain
    }

    fn kernel(&self) -> Option<String> {
        self.kernel.clone()
    }

    fn sweeps(&self, steps: usize) -> usize {
        let mut left = steps;
        let sweeps = |advance: &Advance| {
            let sweeps = left / advance.steps;
            left %= advance.steps;
            sweeps
        };
        self.advances.iter().map(sweeps).sum()
    }

    fn load(&mut self, input: &Grid) -> Result<(), Error> {
        self.saved.upload(input)?;
        self.planes[1].poison()?;
        self.restart()
    }

    fn restart(&mut self) -> Result<(), Error> {
        self.planes[0].clone_from(&self.gpu, &self.saved)?;
        self.current = 0;
        self.gpu.wait()
    }

    fn advance(&mut self, steps: usize) -> Result<Duration, Error> {
        let Self { advances, planes, current, gpu, .. } = self;
        gpu.time(|| {
            let mut left = steps;
            for Advance { steps, passes } in &*advances {
                let count = left / steps;
                left %= steps;
                if let [pass] = &**passes {
                    pass.repeat(gpu, [&planes[*current], &planes[1 - *current]], count)?;
                    *current = (*current + count) % 2;
                    continue;
                }
                for _ in 0..count {
                    let (from, to) = (&planes[*current], &planes[1 - *current]);
                    passes.iter().try_for_each(|pass| pass.launch(gpu, from, to))?;
                    *current = 1 - *current;
                }
            }
            Ok(())
        })
    }

    fn store(&mut self) -> Result<Grid, Error> {
        self.planes[self.current].download()
    }

    fn copy(&mut self, count: usize) -> Result<Duration, Error> {
        if self.scratch.is_none() {
            let plane = || Plane::new(&self.gpu, self.shape, self.dtype);
            let mut first = plane()?;
            first.clone_from(&self.gpu, &self.saved)?;
            self.scratch = Some([first, plane()?]);
        }
        let [first, second] = self.scratch.as_ref().expect("set above");
        let time = self.gpu.time(|| {
            (0..count).try_for_each(|turn| {
                let (from, to) = if turn % 2 == 0 { (first, second) } else { (second, first) };
                Plane::copy_points(&self.gpu, from, to)
            })
        })?;
        Ok(time / count as u32)
    }
}
