// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions of one's own, in Rust: written once for any [`Number`], they compute in f64, and of [`Formula`]s they make the
//! expression that equations are written in.

use std::fmt::{self, Display};
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::rc::Rc;

/// What a function of one's own computes with: f64, or a [`Formula`].
///
/// ```
/// # mod stencil { pub use systems as system; }
/// use stencil::system::{Formula, Number};
///
/// /// Growth that a harvest slows down.
/// fn growth<N: Number>(u: &N, harvest: f64) -> N {
///     let grown = u.clone() * (N::from(1.0) - u.clone());
///     u.less_than(&N::from(0.25), &grown, &(grown.clone() - harvest))
/// }
///
/// assert_eq!(growth(&0.5, 0.125), 0.125);
/// let text = growth(&Formula::named("u"), 0.125).to_string();
/// assert_eq!(text, "if((u < 0.25), (u * (1.0 - u)), ((u * (1.0 - u)) - 0.125))");
/// ```
pub trait Number:
    Clone
    + From<f64>
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
    + Div<f64, Output = Self>
{
    /// Its magnitude.
    #[must_use]
    fn abs(&self) -> Self;
    /// Its square root.
    #[must_use]
    fn sqrt(&self) -> Self;
    /// e to its power.
    #[must_use]
    fn exp(&self) -> Self;
    /// Its natural logarithm.
    #[must_use]
    fn ln(&self) -> Self;
    /// Its sine.
    #[must_use]
    fn sin(&self) -> Self;
    /// Its cosine.
    #[must_use]
    fn cos(&self) -> Self;
    /// Its hyperbolic tangent.
    #[must_use]
    fn tanh(&self) -> Self;
    /// The next whole number below.
    #[must_use]
    fn floor(&self) -> Self;
    /// The angle of the point (`x`, this), from -π to π.
    #[must_use]
    fn atan2(&self, x: &Self) -> Self;
    /// The smaller one.
    #[must_use]
    fn min(&self, other: &Self) -> Self;
    /// The larger one.
    #[must_use]
    fn max(&self, other: &Self) -> Self;
    /// Its power of a whole number.
    #[must_use]
    fn powi(&self, power: i32) -> Self;
    /// `then` where it is less than `limit`, else `otherwise`. Both are computed: neither ends the other's trouble.
    #[must_use]
    fn less_than(&self, limit: &Self, then: &Self, otherwise: &Self) -> Self;
}

/// An expression of fields, coefficients and whatever else has a name in a system. It shows as the text that equations are
/// given as, so it stands wherever one does: `FieldText::new("u", start, formula)`.
///
/// What is used twice is written twice. A function that uses large parts often gives them a name, by
/// [`Description::term`](crate::Description::term).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formula(Rc<str>);

impl Formula {
    /// What has this name: a field, a coefficient, a constant, a term, a coordinate.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self(name.into())
    }

    /// A stencil, a derivative, or any other function of the language, of these: `Formula::call("laplace", &[&u])`.
    #[must_use]
    pub fn call(function: &str, arguments: &[&Self]) -> Self {
        let texts: Vec<&str> = arguments.iter().map(|argument| &*argument.0).collect();
        Self(format!("{function}({})", texts.join(", ")).into())
    }

    fn joined(&self, operator: &str, other: &Self) -> Self {
        Self(format!("({self} {operator} {other})").into())
    }
}

impl Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<f64> for Formula {
    /// In as many digits as say which number it is. One that is infinite or not a number is an unknown name to the system.
    fn from(value: f64) -> Self {
        let text = format!("{value:?}");
        Self(if value.is_sign_negative() { format!("({text})").into() } else { text.into() })
    }
}

impl Neg for Formula {
    type Output = Self;

    fn neg(self) -> Self {
        Self(format!("(-{self})").into())
    }
}

macro_rules! operators {
    ($($trait:ident $function:ident $text:literal)*) => {$(
        impl $trait for Formula {
            type Output = Self;

            fn $function(self, other: Self) -> Self {
                self.joined($text, &other)
            }
        }

        impl $trait<f64> for Formula {
            type Output = Self;

            fn $function(self, other: f64) -> Self {
                self.joined($text, &other.into())
            }
        }

        impl $trait<Formula> for f64 {
            type Output = Formula;

            fn $function(self, other: Formula) -> Formula {
                Formula::from(self).joined($text, &other)
            }
        }
    )*};
}
operators! {
    Add add "+"
    Sub sub "-"
    Mul mul "*"
    Div div "/"
}

macro_rules! functions {
    ($($one:ident)*; $($two:ident)*) => {
        impl Number for f64 {
            $(fn $one(&self) -> Self {
                f64::$one(*self)
            })*

            $(fn $two(&self, other: &Self) -> Self {
                f64::$two(*self, *other)
            })*

            fn powi(&self, power: i32) -> Self {
                f64::powi(*self, power)
            }

            fn less_than(&self, limit: &Self, then: &Self, otherwise: &Self) -> Self {
                if self < limit { *then } else { *otherwise }
            }
        }

        impl Number for Formula {
            $(fn $one(&self) -> Self {
                Self::call(stringify!($one), &[self])
            })*

            $(fn $two(&self, other: &Self) -> Self {
                Self::call(stringify!($two), &[self, other])
            })*

            fn powi(&self, power: i32) -> Self {
                match power {
                    // The language has no power 0 of 0, and needs none.
                    0 => 1.0.into(),
                    _ => self.joined("^", &Self(format!("({power})").into())),
                }
            }

            fn less_than(&self, limit: &Self, then: &Self, otherwise: &Self) -> Self {
                Self::call("if", &[&self.joined("<", limit), then, otherwise])
            }
        }
    };
}
functions!(abs sqrt exp ln sin cos tanh floor; atan2 min max);

#[cfg(test)]
mod tests;
