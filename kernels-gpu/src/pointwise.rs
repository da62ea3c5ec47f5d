// SPDX-License-Identifier: MIT OR Apache-2.0
//! What becomes of a sum before it is stored: a function of a user's own, compiled into a kernel.
//!
//! A term that is not linear, u' = S(u) + dt·u·(1 − u), costs no pass of its own:
//!
//! ```ignore
//! #[derive(Clone, Copy)]
//! struct Reaction { dt: f32 }
//!
//! impl Pointwise for Reaction {
//!     fn apply(self, sum: f32, centre: f32, _: Point) -> f32 {
//!         sum + self.dt * centre * (1.0 - centre)
//!     }
//! }
//!
//! #[kernel(registers = 96)]
//! pub unsafe fn reaction(step: AppliedStep, dt: f32) {
//!     unsafe { sweep2d::step::<F16, 1, _>(&step, Reaction { dt }) }
//! }
//! ```
//!
//! `examples/reaction` is the whole of such a program.

/// A point of a grid. Also those are asked for that lie just outside; what becomes of them is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Its row.
    pub y: i32,
    /// Its column.
    pub x: i32,
}

/// A function of a weighted sum. A value has what the kernel is given besides: the length of a time step, a
/// pointer to a coefficient.
pub trait Pointwise: Copy {
    /// Whether it looks at the centre. If not, the kernel does not load it, and `centre` is 0.
    const READS_CENTRE: bool = true;

    /// The new value of a point, which is then rounded to the stored type, of the weighted `sum` and of its value
    /// before the step, the `centre`. It is called once for each point, by any lane, in any order; lanes may
    /// diverge in it, but not wait for each other.
    fn apply(self, sum: f32, centre: f32, at: Point) -> f32;
}

/// The sum itself.
#[derive(Clone, Copy, Debug)]
pub struct Identity;

impl Pointwise for Identity {
    const READS_CENTRE: bool = false;

    #[inline(always)]
    fn apply(self, sum: f32, _: f32, _: Point) -> f32 {
        sum
    }
}
