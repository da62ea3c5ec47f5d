// SPDX-License-Identifier: MIT OR Apache-2.0
//! The criteria of "Do we need tensor cores for stencil computations?" for several steps of a shape, from the
//! shape alone: what steps as one sum cost more (α, §3.2.3), how much of a scheme's matrix is not zero (S, §2.2.2),
//! and with these the scenario (§4.1). The roofs themselves are those of [`roofline`](mod@crate::roofline).

use crate::catalogue::{Family, Shape};
use crate::machine::{Machine, Precision};
use crate::roofline::{Roofline, TensorSweep};

/// Several steps of a shape in one sweep: CUDA cores take them one after the other (§3.2.2), tensor cores as one
/// sum (§3.2.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FusedCase {
    /// The shape of one step.
    pub shape: Shape,
    /// Steps in a sweep: t, at least 1.
    pub steps: usize,
    /// What the grid is stored in.
    pub precision: Precision,
}

/// How a sum becomes the matrix that tensor cores multiply. It fixes S, of which the paper says that there is no
/// universal formula (§3.2.3): here it is derived from what each scheme multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Dual tessellation, which multiplies two triangles for each window of its kernel: S = 0.5 of a box
    /// (Table 2, rows 5 to 8).
    ConvStencil,
    /// A matrix for each row of 2R + 1 weights, 2R + 2 outputs high, its 4R + 2 columns filled up to 4R + 4:
    /// S = (2R + 1) / (4R + 4), of R = 7 0.47 (Table 2, rows 9 and 10).
    Spider,
    /// The Toeplitz matrix of 16 outputs of a line, the halo R rounded up to 8 on both sides:
    /// S = (2R + 1) / (16 + 2 · 8⌈R / 8⌉). The paper has none such.
    Toeplitz,
}

impl FusedCase {
    /// Neighbours of a point in one step: K.
    #[must_use]
    pub fn points(&self) -> usize {
        neighbours(self.shape, 1)
    }

    /// Neighbours of a point in the sum of all steps: the K of the fused kernel (equation 9). No weight cancels.
    #[must_use]
    pub fn fused_points(&self) -> usize {
        neighbours(self.shape, self.steps)
    }

    /// How many times the arithmetic of single steps their sum takes: α (equation 9; of a box equation 10).
    #[must_use]
    pub fn redundancy(&self) -> f64 {
        self.fused_points() as f64 / (self.steps * self.points()) as f64
    }

    /// The fraction of the scheme's matrix that is not zero: S (equation 2). The schemes multiply all of the box
    /// around the sum, so what it lacks of that counts as zeros.
    #[must_use]
    pub fn sparsity(&self, scheme: Scheme) -> f64 {
        let radius = self.shape.radius() * self.steps;
        let width = (2 * radius + 1) as f64;
        let of_box = match scheme {
            Scheme::ConvStencil => 0.5,
            Scheme::Spider => width / (4 * radius + 4) as f64,
            Scheme::Toeplitz => width / (16 + 2 * radius.next_multiple_of(8)) as f64,
        };
        of_box * self.fused_points() as f64 / width.powi(self.shape.dims() as i32)
    }

    /// A unit of tensor cores of the given peak (flop/s) against the CUDA cores of a machine (equations 8 to 13).
    #[must_use]
    pub fn on_tensor_cores(&self, machine: &Machine, peak: f64, scheme: Scheme) -> Roofline {
        let product = TensorSweep {
            steps: self.steps,
            fused_points: self.fused_points(),
            fraction: self.sparsity(scheme),
            peak,
        };
        product.against_cuda_cores(machine, self.precision, self.points())
    }
}

/// Offsets that so many steps of a shape reach.
fn neighbours(shape: Shape, steps: usize) -> usize {
    let (radius, dims) = (shape.radius(), shape.dims());
    let reach = radius * steps;
    let width = 2 * reach + 1;
    // The steps that it takes along an axis to get as far, or on it the distance.
    let (part, most): (fn(usize, usize) -> usize, usize) = match shape.family() {
        Family::Box => return width.pow(dims as u32),
        Family::Star => (usize::div_ceil, steps),
        Family::Diamond => (|distance, _| distance, reach),
    };
    let taken = |offset: usize| part(offset.abs_diff(reach), radius);
    // How many offsets of the axes so far take each number; those of one more axis are sums.
    let mut counts = vec![0; most + 1];
    counts[0] = 1;
    for _ in 0..dims {
        let mut next = vec![0; most + 1];
        for offset in 0..width {
            for before in 0..=most - taken(offset) {
                next[before + taken(offset)] += counts[before];
            }
        }
        counts = next;
    }
    counts.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuse::fuse;
    use crate::roofline::Scenario;

    fn case(name: &str, steps: usize, precision: Precision) -> FusedCase {
        FusedCase { shape: name.parse().unwrap(), steps, precision }
    }

    #[test]
    fn neighbours_are_those_of_the_fused_stencil() {
        for name in
            ["star1d2r", "star2d1r", "box2d1r", "diamond2d2r", "star2d2r", "star3d1r", "box3d1r"]
        {
            for steps in 1..=3 {
                let case = case(name, steps, Precision::Double);
                let fused = fuse(&case.shape.stencil(), steps).unwrap();
                assert_eq!(case.fused_points(), fused.taps().len(), "{name}, {steps} steps");
            }
        }
    }

    /// Equation 10: α = (2rt + 1)ᵈ / (t (2r + 1)ᵈ); Table 2 prints 1.81 and 3.57, §5.3 has 343 / 81.
    #[test]
    fn redundancy_of_boxes_is_that_of_the_paper() {
        for (name, steps, alpha) in [
            ("box2d1r", 3, 49.0 / 27.0),
            ("box2d1r", 7, 225.0 / 63.0),
            ("box2d7r", 1, 1.0),
            ("box3d1r", 3, 343.0 / 81.0),
        ] {
            let found = case(name, steps, Precision::Double).redundancy();
            assert!((found - alpha).abs() < 1e-12, "{name}: {found}");
        }
    }

    /// Table 3 on the A100: intensities, ridges, what limits, scenarios, and where §5.3 says so the sweet spot.
    ///
    /// Two of its numbers are not those of its equations. Case 4 has 21.58 for CUDA cores, where Equation 8, and
    /// Table 2, give 56.25. Case 6 has 1795.21, of S = 0.47; cases 3 and 4 have 120.00, of S = 15/32, which is
    /// taken here and gives 1800.
    #[test]
    fn table_3_is_reproduced() {
        let machine = Machine::a100();
        let (double, single) = (Precision::Double, Precision::Single);
        let (conv, spider) = (Scheme::ConvStencil, Scheme::Spider);
        for (name, steps, precision, scheme, intensities, scenario, sweet) in [
            ("box2d1r", 3, double, conv, [3.375, 12.25], Scenario::Loses, false),
            ("box2d3r", 1, double, conv, [6.125, 12.25], Scenario::Depends, true),
            ("box2d1r", 7, single, spider, [15.75, 120.0], Scenario::Wins, true),
            ("box2d7r", 1, single, spider, [56.25, 120.0], Scenario::Wins, true),
            ("box3d1r", 3, double, conv, [10.125, 85.75], Scenario::Depends, false),
        ] {
            let rates = machine.rates(precision);
            let peak = if scheme == spider { rates.sparse.unwrap() } else { rates.dense };
            let found = case(name, steps, precision).on_tensor_cores(&machine, peak, scheme);
            let roofs = [found.cuda, found.tensor];
            assert!((roofs[0].intensity - intensities[0]).abs() < 1e-9, "{name}: {found:?}");
            assert!((roofs[1].intensity - intensities[1]).abs() < 1e-9, "{name}: {found:?}");
            let ridges = if precision == double { [5.0, 10.0] } else { [10.0, 161.0] };
            assert_eq!(roofs.map(|roof| roof.ridge.round()), ridges, "{name}");
            assert_eq!((found.scenario, found.in_sweet_spot()), (scenario, sweet), "{name}");
        }
        let last = case("box3d1r", 7, single);
        let peak = machine.single.sparse.unwrap();
        let found = last.on_tensor_cores(&machine, peak, spider);
        assert!((found.cuda.intensity - 47.25).abs() < 1e-9);
        assert!((found.tensor.intensity - 1800.0).abs() < 1e-9);
        assert!((found.tensor.intensity * 15.0 / 32.0 / 0.47 - 1795.21).abs() < 0.01);
        assert_eq!((found.scenario, found.in_sweet_spot()), (Scenario::Depends, false));
    }

    /// Case 2 lies at the edge of the sweet spot: equation 18 gives about 1.
    #[test]
    fn the_edge_of_the_sweet_spot_is_near_1() {
        let machine = Machine::a100();
        let case = case("box2d3r", 1, Precision::Double);
        let found = case.on_tensor_cores(&machine, machine.double.dense, Scheme::ConvStencil);
        assert!((found.speedup - 1.005).abs() < 1e-3, "{}", found.speedup);
    }

    /// Table 4: on dense tensor cores arithmetic is the limit, on sparse ones memory.
    #[test]
    fn table_4_is_reproduced() {
        let machine = Machine::a100();
        let case = case("box2d1r", 7, Precision::Single);
        let on = |peak| case.on_tensor_cores(&machine, peak, Scheme::Spider).tensor;
        let (dense, sparse) = (on(machine.single.dense), on(machine.single.sparse.unwrap()));
        assert_eq!([dense, sparse].map(|roof| roof.intensity), [120.0; 2]);
        assert_eq!([dense, sparse].map(|roof| roof.ridge.round()), [81.0, 161.0]);
        assert_eq!([dense, sparse].map(|roof| roof.memory_bound), [false, true]);
    }

    /// A star's sum fills a part of its box only, and the schemes multiply the box.
    #[test]
    fn what_a_star_lacks_of_its_box_is_multiplied() {
        let [star, full] = ["star2d1r", "box2d1r"].map(|name| case(name, 3, Precision::Half));
        for scheme in [Scheme::ConvStencil, Scheme::Spider, Scheme::Toeplitz] {
            let executed = |case: FusedCase| case.fused_points() as f64 / case.sparsity(scheme);
            assert!((executed(star) - executed(full)).abs() < 1e-9, "{scheme:?}");
        }
        // 32 steps as 16 × 80 (docs/explanation/dense-f64.md).
        let line = case("star1d1r", 32, Precision::Double);
        assert_eq!(line.sparsity(Scheme::Toeplitz), 65.0 / 80.0);
    }
}
