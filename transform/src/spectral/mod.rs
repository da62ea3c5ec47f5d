// SPDX-License-Identifier: MIT OR Apache-2.0
//! Any number of steps at once: on a torus a step multiplies the wave `e^{iθ·p}` by the symbol
//! `λ(θ) = Σ weight · e^{iθ·offset}`, so T steps multiply its part of a grid by `λ(θ)^T` (FlashFFTStencil §3).
//!
//! | module | what |
//! | --- | --- |
//! | [`axis`](mod@axis) | which boundaries a torus imitates exactly, what it is filled with, how long it is |
//! | [`power`] | `λ^T` and `1 + λ + … + λ^(T−1)` for all waves of a torus, to the last digits |
//! | [`coupled`] | powers of small matrices: several fields, earlier levels |
//! | [`double`] | numbers of twice the digits, which these are made of |
//! | [`inverse`](mod@inverse) | `1 / λ`: which waves have none, and how large it is |
//! | [`error`] | what rounding can cause |
//! | [`spread`](mod@spread) | how far many steps carry a value, but for less than rounding |
//! | [`smooth`] | lengths that transforms are fast at |
//!
//! No transforms here: whoever has some fills the torus by the axes' sources, transforms, multiplies, transforms
//! back, and keeps the points of the grid.

pub mod axis;
pub mod coupled;
pub mod double;
pub mod error;
pub mod inverse;
pub mod power;
pub mod smooth;
pub mod spread;

pub use axis::{Axis, End, Lengths, Side, ends};
pub use inverse::Inverse;
pub use power::{LinePowers, Powers};
pub use spread::{TruncationLimit, WaveDecay, spread};
