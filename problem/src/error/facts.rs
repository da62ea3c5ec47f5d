// SPDX-License-Identifier: MIT OR Apache-2.0
//! Facts that errors state.

use std::fmt;

use crate::Dtype;

/// What holds a value that is infinite or not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueLocation {
    /// The grid that a run starts from.
    Input,
    /// That grid, rounded to an element type.
    InputAs(Dtype),
    /// The weights of the stencil, rounded to an element type.
    StencilAs(Dtype),
    /// The grid that a run ends with.
    Result,
}

impl fmt::Display for ValueLocation {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Input => f.write_str("the input"),
            Self::InputAs(dtype) => write!(f, "the input as {dtype}"),
            Self::StencilAs(dtype) => write!(f, "the stencil as {dtype}"),
            Self::Result => f.write_str("the result"),
        }
    }
}

/// What was asked for of an engine that does not do such a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnsupportedRequest {
    /// Several steps at once.
    Depths,
    /// Many steps at once by Fourier transforms.
    Jump,
    /// A family of kernels.
    Family,
}

impl fmt::Display for UnsupportedRequest {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::Depths => "it takes one step at a time, neither fused nor chained",
            Self::Jump => "it makes no jumps of many steps",
            Self::Family => "it has no kernels of the family that was asked for",
        })
    }
}

/// What may have been meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// This, in place of the part that is wrong.
    Meant(String),
    /// This, of a place that was named by a word of pictures; x is the last axis.
    Place(String),
    /// One of the two parts: they are for the same sides.
    Twice,
    /// These parts in this order, the general before the special.
    Order([String; 2]),
    /// The kind `reflect`, by a name that others have for it.
    Reflect,
    /// A slope, mostly of 0: `edge`, `reflect` or `flux=G`.
    Slope,
    /// A side that lets waves out, which is none of the kinds.
    Open,
    /// A fixed value: `zero`, or `constant=V`.
    Fixed,
    /// A wider element type, or a smaller constant.
    Wider,
}

impl Hint {
    /// What the kind of side does that was meant, where one sentence says it all.
    #[must_use]
    pub fn side(&self) -> Option<&'static str> {
        match self {
            Self::Reflect => Some(
                "did you mean reflect? It mirrors about the last point, which is not repeated; with symmetric it is",
            ),
            Self::Slope => Some(
                "did you mean edge? It repeats the last point, so that nothing flows through half a point beyond it; \
                 with reflect that is at the point itself. For another slope: flux=G",
            ),
            Self::Open => Some(
                "no kind lets waves out: zero is a wall that reflects them. A layer in a system of fields absorbs them: \
                 [pml] or [sponge] in docs/reference/system-files.md",
            ),
            Self::Fixed => {
                Some("did you mean zero? For another value: constant=V, such as constant=1.5")
            }
            _ => None,
        }
    }
}

/// What a request put an end to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterruptedWork {
    /// Before there was a result.
    Computing,
    /// There was a result, but it was not verified.
    Verifying,
    /// There was a result, but its speed was not measured.
    Measuring,
}

/// What is said of an end: nothing of one without a result, which is what everybody expects.
impl fmt::Display for InterruptedWork {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::Computing => "",
            Self::Verifying => " while the result was being verified",
            Self::Measuring => " while the speed was being measured",
        })
    }
}
