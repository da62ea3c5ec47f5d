// SPDX-License-Identifier: MIT OR Apache-2.0
//! The language of equations: `2*u - prev(u) + (c*dt)^2*laplace(u)`.
//!
//! A text becomes tokens (`lex`), a tree (`parse`), and with what its names mean a checked tree
//! (`scope`, [`Node`]), in which what is constant is computed already.

mod composed;
mod function;
mod lex;
mod node;
mod parse;
mod reduction;
mod scope;
mod show;

pub use function::{Function, NAMED, Type};
pub use node::{Array, Node};
pub use parse::{Syntax, SyntaxKind, parse};
pub use reduction::{Fold, Reduction};
pub use scope::{CoordinateScope, Purpose, Scope, is_name, is_taken, is_value, names_in};
pub use show::show;

#[cfg(test)]
mod tests;
