// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finite-difference weights for any derivative on any nodes.
//!
//! The weights are those of Fornberg, "Generation of finite difference formulas on arbitrarily
//! spaced grids" (1988): the derivative at 0 of the polynomial through the nodes. They are computed
//! from the coefficients of Lagrange's polynomials instead of by his recursion, because on
//! whole-number nodes every product is then a whole number, and each weight is rounded once.

use thiserror::Error;

/// Why nodes do not define a derivative.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum FiniteDifferenceError {
    /// Too few nodes.
    #[error(
        "derivative {derivative} needs at least {} nodes, {nodes} given; add nodes",
        derivative + 1
    )]
    TooFewNodes {
        /// Which derivative.
        derivative: usize,
        /// How many nodes there are.
        nodes: usize,
    },
    /// A node that is given twice.
    #[error("node {0} is given twice; nodes must differ")]
    Repeated(f64),
    /// A node that is infinite or not a number.
    #[error("node {0} is not finite")]
    NotFinite(f64),
}

/// One row of a stencil: (offset, weight) pairs along one axis.
pub type AxisWeights = Vec<(i32, f64)>;

/// The weights `w` with `f⁽ᵐ⁾(0) ≈ Σ w[i] · f(nodes[i])`, exact for polynomials of a degree below
/// the number of nodes. `derivative` 0 interpolates.
///
/// # Errors
/// No more nodes than the derivative's order, a node given twice, or one that is not finite.
pub fn weights(derivative: usize, nodes: &[f64]) -> Result<Vec<f64>, FiniteDifferenceError> {
    if nodes.len() <= derivative {
        return Err(FiniteDifferenceError::TooFewNodes { derivative, nodes: nodes.len() });
    }
    for (index, &node) in nodes.iter().enumerate() {
        if !node.is_finite() {
            return Err(FiniteDifferenceError::NotFinite(node));
        }
        if nodes[..index].contains(&node) {
            return Err(FiniteDifferenceError::Repeated(node));
        }
    }
    let factorial: f64 = (1..=derivative).map(|k| k as f64).product();
    let weight = |own: usize| {
        // Lagrange's polynomial of this node is Π (x − other) / Π (node − other).
        let mut coefficients = vec![1.0];
        let mut denominator = 1.0;
        for (_, &other) in nodes.iter().enumerate().filter(|(index, _)| *index != own) {
            denominator *= nodes[own] - other;
            coefficients.push(0.0);
            for power in (0..coefficients.len()).rev() {
                let lower = if power == 0 { 0.0 } else { coefficients[power - 1] };
                coefficients[power] = lower - other * coefficients[power];
            }
        }
        factorial * coefficients[derivative] / denominator
    };
    Ok((0..nodes.len()).map(weight).collect())
}

/// The derivative on the whole-number offsets `from..=to`, as for upwind formulas.
///
/// # Errors
/// [`weights`] refuses: too few offsets for the derivative.
pub fn on_offsets(
    derivative: usize,
    from: i32,
    to: i32,
) -> Result<AxisWeights, FiniteDifferenceError> {
    shifted(derivative, from, to, 0.0)
}

/// The derivative at `at` (in grid spacings) from the values on the offsets `from..=to`;
/// derivative 0 interpolates, as semi-Lagrangian schemes do.
///
/// # Errors
/// [`weights`] refuses.
pub fn shifted(
    derivative: usize,
    from: i32,
    to: i32,
    at: f64,
) -> Result<AxisWeights, FiniteDifferenceError> {
    let nodes: Vec<f64> = (from..=to).map(|offset| f64::from(offset) - at).collect();
    Ok((from..=to).zip(weights(derivative, &nodes)?).collect())
}

/// The central difference of that derivative and even accuracy order, on the fewest offsets.
///
/// # Panics
/// `derivative` 0, or an accuracy that is 0 or odd.
#[must_use]
pub fn central(derivative: usize, accuracy: usize) -> AxisWeights {
    assert!(
        derivative > 0 && accuracy > 0 && accuracy.is_multiple_of(2),
        "central differences are even"
    );
    let radius = (derivative.div_ceil(2) + accuracy / 2 - 1) as i32;
    on_offsets(derivative, -radius, radius).expect("enough distinct nodes")
}

/// The first derivative half-way between two grid points (Yee's grid), of even accuracy order:
/// offset 0 is half a spacing to the left of where the derivative is taken.
///
/// # Panics
/// An accuracy that is 0 or odd.
#[must_use]
pub fn staggered(accuracy: usize) -> AxisWeights {
    assert!(accuracy > 0 && accuracy.is_multiple_of(2), "staggered differences are even");
    let half = (accuracy / 2) as i32;
    shifted(1, 1 - half, half, 0.5).expect("enough distinct nodes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;
    use proptest::{collection::btree_set, prelude::*};

    #[test]
    fn textbook_rows_are_exact() {
        assert_eq!(central(1, 2), [(-1, -0.5), (0, 0.0), (1, 0.5)]);
        let eighth = [-9.0, 128.0, -1008.0, 8064.0, -14350.0, 8064.0, -1008.0, 128.0, -9.0];
        let eighth = eighth.map(|w| w / 5040.0);
        assert_eq!(central(2, 8).iter().map(|&(_, w)| w).collect::<Vec<_>>(), eighth);
        assert_eq!(
            central(4, 2).iter().map(|&(_, w)| w).collect::<Vec<_>>(),
            [1., -4., 6., -4., 1.]
        );
        let yee = [1.0 / 24.0, -27.0 / 24.0, 27.0 / 24.0, -1.0 / 24.0];
        assert_eq!(staggered(4).iter().map(|&(_, w)| w).collect::<Vec<_>>(), yee);
        let upwind = [1.0 / 6.0, -1.0, 0.5, 1.0 / 3.0];
        assert_eq!(
            on_offsets(1, -2, 1).unwrap().iter().map(|&(_, w)| w).collect::<Vec<_>>(),
            upwind
        );
    }

    #[test]
    fn bad_nodes_are_refused_with_the_reason() {
        let text = |derivative, nodes: &[f64]| weights(derivative, nodes).unwrap_err().to_string();
        assert_eq!(text(2, &[0.0, 1.0]), "derivative 2 needs at least 3 nodes, 2 given; add nodes");
        assert_eq!(text(1, &[0.5, 0.0, 0.5]), "node 0.5 is given twice; nodes must differ");
        assert_eq!(text(0, &[f64::INFINITY]), "node inf is not finite");
    }

    #[test]
    fn central_accuracy_is_the_one_asked_for() {
        // The first power that a formula of order p for derivative m gets wrong is m + p.
        for derivative in 1..=4usize {
            for accuracy in [2, 4, 6, 8] {
                let row = central(derivative, accuracy);
                let moment = |power: usize| -> f64 {
                    row.iter().map(|&(x, w)| w * f64::from(x).powi(power as i32)).sum()
                };
                let scale: f64 = row.iter().map(|&(x, w)| (w * f64::from(x).powi(12)).abs()).sum();
                let exact = |power| if power == derivative { factorial(derivative) } else { 0.0 };
                for power in 0..derivative + accuracy {
                    assert_relative_eq!(
                        moment(power),
                        exact(power),
                        epsilon = 1e-14 * scale.max(1.0)
                    );
                }
                assert!(moment(derivative + accuracy).abs() > 1e-2);
            }
        }
    }

    fn factorial(n: usize) -> f64 {
        (1..=n).map(|k| k as f64).product()
    }

    proptest! {
        #[test]
        fn weights_are_exact_for_polynomials_through_the_nodes(
            nodes in btree_set(-12i32..=12, 1..9),
            derivative in 0usize..5,
            coefficients in prop::array::uniform8(-3.0f64..3.0),
        ) {
            prop_assume!(derivative < nodes.len());
            let nodes: Vec<f64> = nodes.into_iter().map(|n| f64::from(n) / 2.0).collect();
            let weights = weights(derivative, &nodes).unwrap();
            let polynomial = &coefficients[..nodes.len()];
            let value = |x: f64| polynomial.iter().rev().fold(0.0, |sum, c| sum * x + c);
            let found: f64 = weights.iter().zip(&nodes).map(|(w, &x)| w * value(x)).sum();
            let size: f64 = weights.iter().zip(&nodes).map(|(w, &x)| (w * value(x)).abs()).sum();
            let expected = factorial(derivative) * polynomial[derivative];
            // Rounding of the values, each of up to 8 terms.
            let magnitude: f64 = weights.iter().zip(&nodes).map(|(w, x)| {
                w.abs() * polynomial.iter().rev().fold(0.0, |sum, c| sum * x.abs() + c.abs())
            }).sum();
            prop_assert!((found - expected).abs() <= 1e-14 * (size + magnitude + expected.abs()));
        }
    }
}
