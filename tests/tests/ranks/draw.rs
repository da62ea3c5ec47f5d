// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random command lines and systems of `host run`, for a number of ranks.

use rand::{Rng, RngExt};
use std::fmt::Write;

/// A command line, and the file of its stencil.
pub struct Drawn {
    /// The arguments, without an output.
    pub line: String,
    /// `weights.toml`.
    pub weights: String,
}

/// Any job that so many ranks can share.
pub fn job(rng: &mut impl Rng, ranks: usize) -> Drawn {
    let dims = rng.random_range(1..=3);
    let size = size(rng, dims, ranks);
    let dtype = ["f16", "bf16", "tf32", "f32", "f64"][rng.random_range(0..5)];
    let steps: usize = rng.random_range(1..=24);
    let (seed, boundary) = (rng.random_range(0..1000), boundary(rng, dims));
    let mut line = format!(
        "run --weights weights.toml --stencil drawn --size {size} --dtype {dtype} --steps {steps} --boundary {boundary} \
         --seed {seed} --engine cpu --quiet"
    );
    if rng.random_bool(0.5) {
        let _ = write!(line, " --chain {}", rng.random_range(1..=steps.min(6)));
    }
    line += ["", " --verify full", " --verify off"][rng.random_range(0..3)];
    Drawn { line, weights: weights(rng, dims) }
}

/// Extents, also smaller than the stencil, of which primes cannot be cut evenly.
fn size(rng: &mut impl Rng, dims: usize, ranks: usize) -> String {
    let longest = [200, 40, 14][dims - 1];
    loop {
        let extents: Vec<usize> = (0..dims).map(|_| rng.random_range(1..=longest)).collect();
        if can_be_cut(&extents, ranks) {
            let extents: Vec<_> = extents.iter().map(usize::to_string).collect();
            return extents.join("x");
        }
    }
}

/// Whether axes can be cut into numbers of slices whose product is that of the ranks.
fn can_be_cut(extents: &[usize], ranks: usize) -> bool {
    let Some((first, rest)) = extents.split_first() else { return ranks == 1 };
    let fits = |slices: &usize| ranks.is_multiple_of(*slices) && *slices <= *first;
    (1..=ranks).filter(fits).any(|slices| can_be_cut(rest, ranks / slices))
}

/// A kind for each side, or one for both, or ends that meet.
fn boundary(rng: &mut impl Rng, dims: usize) -> String {
    let side = |rng: &mut dyn FnMut(usize) -> usize| {
        ["zero", "constant=0.3", "reflect", "symmetric", "edge", "flux=0.125"][rng(6)]
    };
    let mut below = |most: usize| rng.random_range(0..most);
    let axes = ["z", "y", "x"][3 - dims..].iter().map(|axis| match below(5) {
        0 | 1 => format!("{axis}:periodic"),
        _ => format!("{axis}-:{},{axis}+:{}", side(&mut below), side(&mut below)),
    });
    axes.collect::<Vec<_>>().join(",")
}

/// Any stencil of so many axes: a radius for each, also 0, holes, off-centre; absolute weights sum to 1.
fn weights(rng: &mut impl Rng, dims: usize) -> String {
    let most = [7, 4, 2][dims - 1];
    let reach: Vec<i32> = (0..dims).map(|_| rng.random_range(0..=most)).collect();
    let mut offsets: Vec<Vec<i32>> = Vec::new();
    for _ in 0..rng.random_range(1..10) {
        let offset = reach.iter().map(|&reach| rng.random_range(-reach..=reach)).collect();
        if !offsets.contains(&offset) {
            offsets.push(offset);
        }
    }
    let weights: Vec<f64> = offsets.iter().map(|_| rng.random_range(-0.5..1.0)).collect();
    let sum: f64 = weights.iter().map(|weight| weight.abs()).sum();
    let weights: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
    format!("[drawn]\noffsets = {offsets:?}\nweights = {weights:?}\n")
}

/// The file of a system of two fields, u and v, that so many ranks can share: a wave or a reaction, in a medium, with kept
/// points, a source and receivers.
pub fn system(rng: &mut impl Rng, ranks: usize) -> String {
    let dims = rng.random_range(1..=3);
    let size = size(rng, dims, ranks).replace('x', ", ");
    let extents: Vec<usize> = size.split(", ").map(|extent| extent.parse().unwrap()).collect();
    let place = |rng: &mut dyn FnMut(usize) -> usize| {
        let at: Vec<String> = extents.iter().map(|extent| rng(*extent).to_string()).collect();
        at.join(", ")
    };
    let dtype = ["f16", "bf16", "f32", "f64"][rng.random_range(0..4)];
    let steps = rng.random_range(1..=9);
    // Ends that meet do so for all fields: what is read along an axis is cut there only then.
    let own = boundary(rng, dims);
    let (order, seed) = ([2, 4][rng.random_range(0..2)], rng.random_range(0..1000));
    let u = [
        "2*u - prev(u) + c*lap(u)",
        "u + 0.1*c*lap(u) - 0.05*u*v^2",
        "0.9*u + 0.02*lap(c*v) + 0.001*x",
    ][rng.random_range(0..3)];
    let v = ["v + 0.05*lap(v) + 0.05*u*v", "0.5*v + 0.1*tanh(u - prev(v))", "lap(u)"]
        [rng.random_range(0..3)];
    let keep = ["", "keep = \"x < 2\"\n", "keep = \"c > 0.18\"\n"][rng.random_range(0..3)];
    let mut below = |most: usize| rng.random_range(0..most);
    let [source, one, two] = [place(&mut below), place(&mut below), place(&mut below)];
    format!(
        "[grid]\nsize = [{size}]\ndtype = \"{dtype}\"\n[time]\ndt = 0.5\nsteps = {steps}\n\
         [stencils]\nlap = {{ derivative = \"laplace\", order = {order} }}\n\
         [coefficients.c]\nstart = \"0.1 + 0.1*random({seed})\"\nboundary = \"{own}\"\n\
         [fields.u]\nstart = \"sin(0.3*x)*random(1)\"\nboundary = \"{own}\"\n{keep}next = \"{u}\"\n\
         [fields.v]\nstart = \"0.25*random(2)\"\nboundary = \"{own}\"\nnext = \"{v}\"\n\
         [[sources]]\nfield = \"u\"\nat = [{source}]\nadd = \"0.1*sin(t)\"\n\
         [[receivers]]\nfield = \"u\"\nat = [{one}]\n[[receivers]]\nfield = \"v\"\nat = [{two}]\n"
    )
}
