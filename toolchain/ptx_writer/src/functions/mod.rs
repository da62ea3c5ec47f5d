// SPDX-License-Identifier: MIT OR Apache-2.0
//! exp, ln, sin, cos, tanh, atan2 and powers as instructions: GPUs compute them only roughly by themselves.
//!
//! All take any number: infinite ones, subnormal ones, and what is not a number. Their errors are at most 3 roundings of f32,
//! 5 of f64.

mod angle;
mod arithmetic;
mod atan2;
mod digits;
mod exp;
mod ln;
mod power;
mod tanh;

pub use angle::{cos, sin};
pub use arithmetic::Arithmetic;
pub use atan2::atan2;
pub use digits::table as digits;
pub use exp::exp;
pub use ln::ln;
pub use power::power;
pub use tanh::tanh;
