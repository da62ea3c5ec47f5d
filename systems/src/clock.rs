// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long steps are. They are all as long as each other, or their length follows from the values: then it is
//! found anew after every so many steps, and an end time is met by steps of one length that end there.

use serde::{Deserialize, Serialize};

use super::expression::{Node, Purpose, Scope};
use super::integrate::Method;
use super::text::Text;
use problem::error::Mistake;

/// After how many steps a length that follows from totals is found anew, unless somebody says it.
pub const EVERY: usize = 10;

/// A length of steps that follows from the values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepLength {
    /// How it does.
    pub rule: Rule,
    /// The time at which a run ends, if it does.
    pub end: Option<f64>,
}

/// How the length of steps follows from the values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Rule {
    /// It is made of reductions, and found anew after every so many steps.
    Follows(Node, usize),
    /// So that what a step is off by stays within a tolerance.
    Within {
        /// What it is off by over what is tolerated, made of reductions.
        off: Node,
        /// The work fields of what fields are off by.
        estimates: std::ops::Range<usize>,
        /// The length of the first step.
        first: f64,
    },
}

impl Rule {
    /// Steps that are off by no more than a tolerance, an expression of constants; the first one is so long. What a step is off
    /// by is not known yet: the tolerance is in its place.
    ///
    /// # Errors
    /// The tolerance is no number above 0, or the method has no estimate of what it is off by.
    pub fn within(text: &Text, method: Method, first: f64, scope: &Scope) -> Result<Self, Mistake> {
        if method.off().is_none() {
            let what = format!("'{method}' has no error estimate");
            return Err(text.wrong(what).hint("take method = \"rk45\", or no tolerance"));
        }
        match scope.number(text, Purpose::Constant)? {
            off @ Node::Number(tolerance) if tolerance > 0.0 => {
                Ok(Self::Within { off, estimates: 0..0, first })
            }
            _ => Err(text.wrong("a tolerance is a number above 0")),
        }
    }
}
