// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels that make a mistake where `wrong` is not 0. All take the same, so that a table of them can be launched: 1,000
//! numbers to read, 1,000 to write, both of which nobody else uses. A comment marks the line of each mistake; where two
//! accesses meet, both lines.

pub mod atomics;
pub mod blocks;
pub mod copies;
pub mod plain;
pub mod products;
pub mod warps;
