// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reading PTX, to check what the compiler made of the kernels.
//!
//! | module | what |
//! | --- | --- |
//! | [`parse`] | text to kernels and instructions |
//! | [`flow`] | basic blocks, immediate post-dominators |
//! | [`divergence`] | collectives that not all lanes may reach |

pub mod divergence;
pub mod flow;
pub mod parse;

pub use divergence::{Scope, Violation, violations};
pub use parse::{PtxInstruction, PtxKernel, kernels};
