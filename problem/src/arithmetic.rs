// SPDX-License-Identifier: MIT OR Apache-2.0
//! How an engine computes: what rounding it does.

use std::fmt;

use crate::Dtype;

/// What happens to values in a product with a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactorRounding {
    /// Nothing: they are multiplied as they are stored.
    Stored,
    /// They are rounded to tf32 first.
    Tf32,
    /// Values and weights are split into pieces of bf16, and some products of pieces are left out
    /// (`transform::split`).
    Split,
}

/// How products are summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SumPrecision {
    /// In f32, rounded to the nearest.
    F32,
    /// In f32 on tensor cores, which cut off what does not fit.
    CutF32,
    /// In f64, rounded to the nearest.
    F64,
    /// In f64, many steps at once by Fourier transforms, which are stored once (`transform::spectral`).
    Spectral,
    /// In f32, many steps at once by Fourier transforms, which are stored once.
    SpectralF32,
}

impl SumPrecision {
    /// Whether steps are taken by Fourier transforms.
    #[must_use]
    pub fn is_spectral(self) -> bool {
        matches!(self, Self::Spectral | Self::SpectralF32)
    }
}

/// How an engine computes a step. Prints as in `f16 storage, f16 products, f32 sums`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arithmetic {
    /// The type of the grid, which says what weights are rounded to, too.
    pub dtype: Dtype,
    /// Values in products.
    pub factor: FactorRounding,
    /// Their sums.
    pub sum: SumPrecision,
    /// Time steps in one sum.
    pub fuse: usize,
}

impl Arithmetic {
    /// On vector units of CPUs and CUDA cores: values as they are stored, rounded sums, of one step.
    #[must_use]
    pub fn on_cores(dtype: Dtype) -> Self {
        let sum = if dtype == Dtype::F64 { SumPrecision::F64 } else { SumPrecision::F32 };
        Self { dtype, factor: FactorRounding::Stored, sum, fuse: 1 }
    }

    /// By Fourier transforms in f64.
    #[must_use]
    pub fn spectral(dtype: Dtype) -> Self {
        Self { dtype, factor: FactorRounding::Stored, sum: SumPrecision::Spectral, fuse: 1 }
    }

    /// By Fourier transforms on a GPU: in f64 for grids of f64, in f32 for all others.
    #[must_use]
    pub fn spectral_on_gpu(dtype: Dtype) -> Self {
        let sum =
            if dtype == Dtype::F64 { SumPrecision::Spectral } else { SumPrecision::SpectralF32 };
        Self { sum, ..Self::spectral(dtype) }
    }

    /// On tensor cores, so many steps in one sum; those of f32 are split, those of f64 are as on other cores.
    #[must_use]
    pub fn on_tensor_cores(dtype: Dtype, fuse: usize) -> Self {
        let factor = match dtype {
            Dtype::Tf32 => FactorRounding::Tf32,
            Dtype::F32 => FactorRounding::Split,
            _ => FactorRounding::Stored,
        };
        let sum = if dtype == Dtype::F64 { SumPrecision::F64 } else { SumPrecision::CutF32 };
        Self { dtype, factor, sum, fuse }
    }
}

impl fmt::Display for Arithmetic {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { dtype, factor, sum, .. } = self;
        let stored = dtype.stored();
        if sum.is_spectral() {
            let inside = if *sum == SumPrecision::Spectral { "f64" } else { "f32" };
            return write!(f, "{stored} storage, spectral, {inside} transforms");
        }
        let products = match (factor, dtype) {
            (FactorRounding::Split, _) => "split bf16 products".to_owned(),
            (FactorRounding::Tf32, _) => "tf32 products".to_owned(),
            (FactorRounding::Stored, Dtype::Tf32) => "f32 products of tf32 weights".to_owned(),
            (FactorRounding::Stored, _) => format!("{stored} products"),
        };
        let sums = if *sum == SumPrecision::F64 { "f64" } else { "f32" };
        write!(f, "{stored} storage, {products}, {sums} sums")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_prints_storage_products_and_sums() {
        for (arithmetic, text) in [
            (Arithmetic::on_cores(Dtype::F16), "f16 storage, f16 products, f32 sums"),
            (
                Arithmetic::on_cores(Dtype::Tf32),
                "f32 storage, f32 products of tf32 weights, f32 sums",
            ),
            (Arithmetic::on_cores(Dtype::F64), "f64 storage, f64 products, f64 sums"),
            (Arithmetic::on_tensor_cores(Dtype::Bf16, 1), "bf16 storage, bf16 products, f32 sums"),
            (Arithmetic::on_tensor_cores(Dtype::Tf32, 3), "f32 storage, tf32 products, f32 sums"),
            (Arithmetic::on_tensor_cores(Dtype::F64, 32), "f64 storage, f64 products, f64 sums"),
            (Arithmetic::spectral(Dtype::Tf32), "f32 storage, spectral, f64 transforms"),
            (Arithmetic::spectral_on_gpu(Dtype::F16), "f16 storage, spectral, f32 transforms"),
            (
                Arithmetic::on_tensor_cores(Dtype::F32, 1),
                "f32 storage, split bf16 products, f32 sums",
            ),
        ] {
            assert_eq!(arithmetic.to_string(), text);
        }
    }
}
